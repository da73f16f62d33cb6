"""The commands of `tinytail trace`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from tinytail import conflicts, engine
from tinytail.cli import OK
from tinytail.commands.facts import show_facts
from tinytail.flags import JsonPath, PositiveOrNone, Seed, TraceFlags, TransformOptions
from tinytail.output import checked_output, stdout
from tinytail.render import facts_view
from tinytail.tracing import NOTHING_SAID
from tinytail.transforms import Transform

trace = App(name="trace", help="Look into block I/O traces, and write them.")


@trace.command
def info(
    file: str,
    /,
    *,
    options: TraceFlags = NOTHING_SAID,
    transform: TransformOptions = Transform(),  # noqa: B008
    json: JsonPath = None,
) -> int:
    """Show the characteristics of a trace: format, size, mix, rate, span and locality.

    Parameters
    ----------
    file
        The trace, plain or compressed with zstd or gzip.
    transform
        What is done to the requests before they are measured.
    json
        File for the characteristics as JSON; - is standard output.
    """
    conflicts.check([("--json", json)], [("FILE", file), ("FILE", f"{file}.toml")])
    output = checked_output(json)
    return show_facts(engine.describe_trace(file, options, transform), output)


@trace.command
def convert(
    workload: Annotated[str, Parameter(name="IN")],
    output: Annotated[str, Parameter(name="OUT")],
    /,
    *,
    requests: PositiveOrNone = None,
    seed: Seed = 1,
    force: bool = False,
    options: TraceFlags = NOTHING_SAID,
    transform: TransformOptions = Transform(),  # noqa: B008
) -> int:
    """Write the requests of a trace, transformed or not, as a trace that needs no options.

    The lines are those of MQSim, in ns and sectors; a sidecar file beside the trace says so.

    Parameters
    ----------
    workload
        A trace, a workload file, or the name of an open-loop workload.
    output
        The trace to be written; compressed if its name ends in .zst or .gz.
    requests
        How many requests are written at most; all if not given.
    seed
        Seed of whatever is random.
    force
        Replace files that are there.
    transform
        What is done to the requests.
    """
    document = engine.convert_trace(
        workload, output, options, transform, requests=requests, seed=seed, force=force
    )
    stdout().print(facts_view(document))
    return OK
