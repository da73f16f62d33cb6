"""The command `tinytail diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tinytail.cli.codes import DIFFERENT, OK
from tinytail.comparison.difference import difference
from tinytail.comparison.difference_view import difference_view
from tinytail.comparison.read_folder import open_results
from tinytail.comparison.read_json import read_document
from tinytail.comparison.write_folder import RESULTS
from tinytail.terminal.console import stdout


def diff(before: str, after: str, /, *, details: bool = False) -> int:
    """Say what changed between two results that were kept.

    What was configured differently stands first, then the figures that differ: every value of the
    two documents is compared. The exit code is 0 if nothing differs and 1 if something does. How
    fast the simulator was and where files were written does not count.

    Parameters
    ----------
    before
        A file that `tinytail compare --json` wrote, or a folder of `--out`.
    after
        Another.
    details
        Print every setting and figure that differs, and what techniques did.
    """
    found = difference(_read(before), _read(after))
    console = stdout()
    console.print(difference_view(found, console.width, details=details))
    return DIFFERENT if found else OK


def _read(path: str) -> dict[str, Any]:
    if not Path(path).is_dir():
        return read_document(path)
    open_results(path).check([])
    return read_document(str(Path(path, RESULTS)))
