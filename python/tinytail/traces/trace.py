"""Looks into traces and writes them, from files and from pipes, and heeds Ctrl-C meanwhile."""

from __future__ import annotations

import os
from functools import cache
from typing import Annotated, Any, Unpack

from tinytail.engine import arguments, catalog, native
from tinytail.engine.answers import ConvertedTrace, TraceDescription
from tinytail.engine.declared import Whole, checked
from tinytail.engine.jobs import ProgressCallback, run_one
from tinytail.engine.options import TraceKeywords, TraceOptions, Transform
from tinytail.files.text import read_as
from tinytail.inputs import conflicts, tables
from tinytail.inputs.pipes import spooled


def describe_trace(
    path: str | os.PathLike[str],
    *,
    transform: Transform | None = None,
    progress: ProgressCallback | None = None,
    **trace: Unpack[TraceKeywords],
) -> TraceDescription:
    """The characteristics of a block I/O trace: its format, size, mix, rate, span and locality.

    Args:
        path: the trace, plain or compressed with zstd, gzip, bzip2 or xz; `"-"` is standard input.
            Or a workload that plays one trace, by its name or its file.
        transform: what is done to the requests before they are measured.
        progress: called about ten times a second, in this thread.
        trace: how it is read, by the options of `TraceOptions`.

    Raises:
        UsageError: an argument of the wrong type.
        WorkloadError: the file is not a trace that can be read; says where and why.
    """
    options = TraceOptions(**trace)
    changes = checked("transform", Transform() if transform is None else transform, Transform)
    name = arguments.file(path)
    with spooled(name, options, progress) as content:
        info = run_one(
            lambda control: native.describe_trace(name, options, changes, control, content),
            name,
            progress,
        )
    drives = [
        {"name": drive, "logical_bytes": size, "holds": info["end_bytes"] <= size}
        for drive, size in _stock_drives()
    ]
    return read_as(TraceDescription, info | {"drives": drives})


@cache
def _stock_drives() -> tuple[tuple[str, int], ...]:
    """The stock drives and how many bytes each has for the host."""
    return tuple(
        (entry.name, catalog.logical_bytes(entry.name)) for entry in catalog.list_devices()
    )


def convert_trace(
    workload: tables.Named,
    output: str | os.PathLike[str],
    *,
    transform: Transform | None = None,
    requests: Annotated[int, Whole(1, arguments.U64_MAX)] | None = None,
    seed: int = 1,
    force: bool = False,
    settings: arguments.Settings | None = None,
    progress: ProgressCallback | None = None,
    **trace: Unpack[TraceKeywords],
) -> ConvertedTrace:
    """Writes the requests of a workload as a trace with a sidecar file, which is read back as is.

    Args:
        workload: path of a trace or of a workload file, or name of an open-loop workload; `"-"`
            is a trace on standard input. A trace in closed loop stays so.
        output: the trace to be written; compressed if its name ends in `.zst`, `.gz`, `.bz2` or
            `.xz`.
        transform: what is done to the requests.
        requests: how many requests are written at most; all if not given.
        seed: seed of whatever is random.
        force: replace files that are there.
        settings: values that replace those of a workload's file, by section and key.
        progress: called about ten times a second, in this thread.
        trace: how a trace is read, by the options of `TraceOptions`.

    Returns:
        What was written.

    Raises:
        UsageError: an argument of the wrong type.
        WorkloadError: the workload cannot be read or written as a trace, or a file is there
            already.
        RunError: the files cannot be written.
    """
    options = TraceOptions(**trace)
    changes = checked("transform", Transform() if transform is None else transform, Transform)
    name, out = tables.workload(workload), arguments.file(output)
    if requests is not None:
        requests = arguments.whole_number("requests", requests, 1, arguments.U64_MAX)
    seed = arguments.whole_number("seed", seed, 0, arguments.U64_MAX)
    force = arguments.flag("force", force)
    words = arguments.settings(settings)
    conflicts.check([("OUT", out)])
    more: dict[str, Any] = {"requests": requests, "seed": seed, "force": force, "settings": words}
    with spooled(name, options, progress) as content:
        written = run_one(
            lambda control: native.convert_trace(
                name, out, options, changes, control, content, **more
            ),
            name,
            progress,
        )
    return read_as(ConvertedTrace, written)
