"""Finds, before anything runs, files that a command would both read and write, or write twice."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tinytail.engine import catalog
from tinytail.errors import OutputError, TinytailError, UsageError
from tinytail.inputs.names import without_multiplier
from tinytail.inputs.pipes import is_trace
from tinytail.inputs.policy_files import files as policy_files

# Options by their names, each with a path; None where the option was not given.
Named = Iterable[tuple[str, str | None]]
TRACES = "TINYTAIL_TRACES"
COMPRESSED = (".zst", ".gz")


def check(outputs: Named, inputs: Named = (), folders: Named = ()) -> None:
    """Makes sure that every file written has a place, and is one of its own.

    Args:
        outputs: what is written; `-` is standard output, and pipes and devices are nobody's.
        inputs: what is read.
        folders: folders that are whole in themselves, so that nothing else is written there.

    Raises:
        UsageError: two options write the same file, one writes what another one reads, or one
            writes into such a folder.
        OutputError: the directory of a file is not there.
    """
    outputs = list(outputs)
    kept = [(option, os.path.realpath(path)) for option, path in folders if path]
    read = {_identity(path): option for option, path in inputs if path and Path(path).is_file()}
    written: dict[object, str] = {}
    for option, path in outputs:
        if not path or path == "-":
            continue
        identity = _identity(path)
        if identity is None:
            continue
        if identity in written:
            raise UsageError(f"{written[identity]} and {option} would both be {path}")
        if identity in read:
            raise UsageError(f"{option} would overwrite {path}, which is read for {read[identity]}")
        for whole, folder in kept:
            if option != whole and Path(os.path.realpath(path)).is_relative_to(folder):
                raise UsageError(f"{option} would write {path} into the folder of {whole}")
        written[identity] = option
    for option, path in outputs:
        parent = Path(os.path.realpath(path or ".")).parent
        if path not in (None, "", "-") and not parent.is_dir():
            raise OutputError(f"cannot write {path} ({option}): there is no directory {parent}")


def files_read(
    *,
    device: str | None = None,
    designs: Sequence[str] = (),
    workload: str | None = None,
    image: str | None = None,
) -> list[tuple[str, str | None]]:
    """The files that a run may read, by the options that name them; not all of them are there.

    `DESIGN` stands for the words in which a command is told of designs.
    """
    named = [("--device", device), ("--image", image)]
    parts = [part for design in designs for part in design.split("+")]
    named += [("DESIGN", path) for path in [*parts, *policy_files(parts)]]
    if workload is not None:
        named += [("--workload", path) for path in _workload_files(workload)]
    return named


def _workload_files(workload: str) -> list[str]:
    """A workload's own file, the trace that it names, and what lies beside the trace."""
    found = [workload, without_multiplier(workload)]
    # What is wrong with a workload, the run says. A trace names no other file, and may be large.
    if is_trace(workload):
        return _with_sidecars(found)
    with suppress(TinytailError):
        for setting in catalog.describe_workload(workload).settings:
            if (setting.section, setting.key) == ("trace", "file"):
                folder = Path(workload).parent
                folders = [folder, Path(os.environ.get(TRACES) or folder)]
                found += [str(folder / setting.value) for folder in folders]
    return _with_sidecars(found)


def _with_sidecars(paths: Sequence[str]) -> list[str]:
    """Traces and what may lie beside them."""
    found = [*paths]
    for path in paths:
        found += [f"{path}.toml", *(f"{path.removesuffix(end)}.toml" for end in COMPRESSED)]
    return found


def _identity(path: str) -> object:
    """What is the same of two paths if they are the same file; None of what is no plain file."""
    real = os.path.realpath(path)
    try:
        status = Path(real).stat()
    except OSError:
        return real
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return None
    return (status.st_dev, status.st_ino)
