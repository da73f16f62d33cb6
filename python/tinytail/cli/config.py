"""The commands of `tinytail config`."""

from __future__ import annotations

from cyclopts import App
from rich.text import Text

from tinytail.cli.codes import OK
from tinytail.engine import catalog
from tinytail.files.schema import Kind, read_schema
from tinytail.files.text import json_text
from tinytail.terminal.console import JsonOutput, stdout

KINDS: tuple[Kind, ...] = ("device", "design", "workload")

config = App(name="config", help="Check configuration files.")


@config.command
def check(file: str, /) -> int:
    """Check a device, design or workload file, or a job file of fio.

    A device whose values no known drive has is valid; each of them is told after a "!".

    Policies from files that a design names are read, and none of their code runs. Only a run shows
    all of their faults.

    Parameters
    ----------
    file
        The file.
    """
    checked = catalog.check_config(file)
    stdout().print(f"{file}: a valid {checked.kind} file", soft_wrap=True, markup=False)
    for finding in checked.findings:
        stdout().print(Text.assemble(("! ", "bold yellow"), finding), soft_wrap=True)
    return OK


@config.command
def schema() -> int:
    """Print the JSON Schema of device, design and workload files."""
    JsonOutput("-").write(json_text({kind: read_schema(kind) for kind in KINDS}))
    return OK
