"""The commands of `tinytail trace`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from cyclopts import App, Parameter

from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import JsonPath
from tinytail.cli.function import Given, command_of
from tinytail.files.text import json_text
from tinytail.inputs import conflicts
from tinytail.terminal.console import checked_output, show_facts, show_results, stderr, stdout
from tinytail.terminal.progress import reporter
from tinytail.terminal.table import facts_view
from tinytail.traces.trace import convert_trace, describe_trace
from tinytail.traces.view import trace_view

trace = App(name="trace", help="Look into block I/O traces, and write them.")


@trace.command
@command_of(describe_trace, path=Annotated[str, Parameter(name="FILE", allow_leading_hyphen=True)])
def info(given: Given, *, details: bool = False, json: JsonPath = None) -> int:
    """Show what a trace is like: two sentences, histograms, and which stock drives hold it.

    Parameters
    ----------
    details
        Show everything that is known, a line each.
    """
    file = given.pop("path")
    conflicts.check([("--json", json)], [("FILE", file), ("FILE", f"{file}.toml")])
    output = checked_output(json)
    with reporter(stderr()) as progress:
        document = describe_trace(file, **given, progress=progress).to_dict()
    if details:
        return OK if show_facts(output, document) else RUN_FAILED
    text = partial(json_text, document)
    return OK if show_results(output, text, partial(trace_view, document)) else RUN_FAILED


@trace.command
@command_of(
    convert_trace,
    workload=Annotated[str, Parameter(name="IN", allow_leading_hyphen=True)],
    output=Annotated[str, Parameter(name="OUT")],
)
def convert(given: Given) -> int:
    """Write the requests of a trace, transformed or not, as a trace that needs no options.

    The lines are those of MQSim, in ns and sectors; a sidecar file beside the trace says so.
    """
    with reporter(stderr()) as progress:
        document = convert_trace(
            given.pop("workload"), given.pop("output"), **given, progress=progress
        )
    stdout().print(facts_view(document.to_dict()))
    return OK
