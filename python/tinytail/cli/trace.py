"""The commands of `tinytail trace`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from cyclopts import App, Parameter

from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.facts import show_facts
from tinytail.cli.flags import (
    NO_TRACE_FLAGS,
    NO_TRANSFORM_FLAGS,
    JsonPath,
    PositiveOrNone,
    Seed,
    SetWords,
    TraceFlags,
    TransformFlags,
)
from tinytail.engine.declared import values
from tinytail.engine.options import TraceOptions
from tinytail.files.text import json_text
from tinytail.inputs import conflicts
from tinytail.terminal.console import checked_output, show_results, stderr, stdout
from tinytail.terminal.progress import reporter
from tinytail.terminal.table import facts_view
from tinytail.traces.trace import convert_trace, describe_trace
from tinytail.traces.view import trace_view

trace = App(name="trace", help="Look into block I/O traces, and write them.")


@trace.command
def info(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    options: TraceFlags = NO_TRACE_FLAGS,
    transform: TransformFlags = NO_TRANSFORM_FLAGS,
    details: bool = False,
    json: JsonPath = None,
) -> int:
    """Show what a trace is like: two sentences, histograms, and which stock drives hold it.

    Parameters
    ----------
    file
        The trace, plain or compressed with zstd or gzip; - is standard input.
    details
        Show everything that is known, a line each.
    json
        File for the characteristics as JSON; - is standard output.
    """
    conflicts.check([("--json", json)], [("FILE", file), ("FILE", f"{file}.toml")])
    output = checked_output(json)
    with reporter(stderr()) as progress:
        document = describe_trace(
            file, transform=transform, progress=progress, **values(options, TraceOptions)
        )
    if details:
        return show_facts(document, output)
    text = partial(json_text, document)
    return OK if show_results(output, text, partial(trace_view, document)) else RUN_FAILED


@trace.command
def convert(
    workload: Annotated[str, Parameter(name="IN", allow_leading_hyphen=True)],
    output: Annotated[str, Parameter(name="OUT")],
    /,
    *,
    requests: PositiveOrNone = None,
    seed: Seed = 1,
    force: bool = False,
    settings: SetWords = None,
    options: TraceFlags = NO_TRACE_FLAGS,
    transform: TransformFlags = NO_TRANSFORM_FLAGS,
) -> int:
    """Write the requests of a trace, transformed or not, as a trace that needs no options.

    The lines are those of MQSim, in ns and sectors; a sidecar file beside the trace says so.

    Parameters
    ----------
    workload
        A trace, a workload file, or the name of an open-loop workload; - is a trace on standard
        input.
    output
        The trace to be written; compressed if its name ends in .zst or .gz.
    requests
        How many requests are written at most; all if not given.
    seed
        Seed of whatever is random.
    force
        Replace files that are there.
    settings
        A value that replaces one of the workload's file, as SECTION.KEY=VALUE, such as
        synthetic.read_share=0.5; may be given several times.
    """
    with reporter(stderr()) as progress:
        document = convert_trace(
            workload,
            output,
            transform=transform,
            requests=requests,
            seed=seed,
            force=force,
            settings=settings,
            progress=progress,
            **values(options, TraceOptions),
        )
    stdout().print(facts_view(document))
    return OK
