"""The command `tinytail compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from rich.console import Group
from rich.text import Text

from tinytail import fitting
from tinytail.arguments import state_from_words
from tinytail.bars import can_draw
from tinytail.cli import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.comparing import SEEDS_MAX, Plan
from tinytail.errors import OutputError
from tinytail.flags import (
    DESIGNS,
    NO_RUN_FLAGS,
    NO_TRACE_FLAGS,
    NO_TRANSFORM_FLAGS,
    DeviceName,
    JsonPath,
    PositiveOrNone,
    RunFlags,
    SetWords,
    TraceFlags,
    TransformFlags,
    WorkloadName,
    whole,
)
from tinytail.keeping import REQUEST_TIMELINES_MAX, request_timelines_wanted
from tinytail.option_types import RunOptions
from tinytail.options import values
from tinytail.output import checked_output, console_beside, print_error, stderr, write_output
from tinytail.progress import reporter
from tinytail.render import comparison_view
from tinytail.reporting import Pictures
from tinytail.results import Comparison
from tinytail.side_by_side import execute
from tinytail.verdict_view import verdict_view


def compare(
    designs: Annotated[list[str] | None, DESIGNS] = None,
    /,
    *,
    device: DeviceName,
    workload: WorkloadName,
    seeds: Annotated[int, whole(1, SEEDS_MAX)] = 1,
    jobs: PositiveOrNone = None,
    json: JsonPath = None,
    details: bool = False,
    reference: str | None = None,
    state: list[str] | None = None,
    settings: SetWords = None,
    image: str | None = None,
    log: str | None = None,
    report: str | None = None,
    figures: str | None = None,
    out: str | None = None,
    request_timelines: Annotated[int | None, whole(0, REQUEST_TIMELINES_MAX)] = None,
    timeline: str | None = None,
    timeline_window: str | None = None,
    no_cache: bool = False,
    strict: bool = False,
    beside: list[str] | None = None,
    options: RunFlags = NO_RUN_FLAGS,
    trace: TraceFlags = NO_TRACE_FLAGS,
    transform: TransformFlags = NO_TRANSFORM_FLAGS,
) -> int:
    """Run designs on the same workload, side by side, on drives aged alike.

    Prints what makes the figures mean less than they seem to, a sentence for each design, one
    table, and where the tail spent its time.

    Parameters
    ----------
    designs
        Designs to compare; overlays are added with plus signs, as in base+no-gc. Without any, the
        design that the device names as its own.
    device
        Name of a drive (see `tinytail devices`) or path of its file.
    workload
        Name of a workload (see `tinytail workloads`), path of its file or of a job file of fio
        (*.fio), or path of a trace; - is a trace on standard input.
    seeds
        With how many seeds each design is run, from --seed on. Figures are then means over the
        seeds, with intervals from how the seeds differ; else intervals are from blocks of the run.
    jobs
        How many designs may run at once; as many as there are processors if not given, or
        fewer if no more fit into the memory that is free.
    json
        File for all results as JSON; - is standard output, and the table then goes to standard
        error.
    details
        Print all figures too: the whole table, every cause, the curve of the tail, what each
        technique did, and the starting state.
    reference
        The design that ratios are taken to; the first one if not given.
    state
        A value of the starting state that replaces the device's, as KEY=VALUE, such as
        live_percent=80; may be given several times.
    settings
        A value that replaces one of the files of device, designs and workload, as
        SECTION.KEY=VALUE, such as gc.write_points=4; may be given several times. One of a design
        goes for each design.
    image
        An image to start from instead of ageing; see `tinytail image create`.
    log
        File for a log of every request, in Parquet. With several designs each puts its name before
        the file's ending; in a directory, each log is named after its design.
    report
        File for the results as one HTML page of pictures, tables and the whole configuration.
    figures
        Folder for figures for a paper, each as SVG and as PDF.
    out
        Folder to keep everything in that `tinytail explain` needs: results, logs of every request
        and timelines of the slowest. One with earlier results is replaced when all went well.
    request_timelines
        Of how many of the slowest reads, and of how many writes, --out keeps timelines; 1000 if not
        given.
    timeline
        File for a timeline that opens in Perfetto (ui.perfetto.dev), commonly ending in .pftrace.
        Several designs and directories as for the log.
    timeline_window
        The simulated time that the timeline is of, as FROM..TO, such as 2s..2.1s; all of the
        measured part if not given.
    no_cache
        Age the drives anew, and keep none of them for later runs; see `tinytail image cache`.
    strict
        Refuse designs of which something follows the drive; without it, that is done and named.
    beside
        A design that is not run, and whose capacity bounds the workload's addresses as if it were;
        may be given several times.
    """
    plan = Plan(
        **values(options, RunOptions),
        designs=fitting.designs_or_own(designs or (), device),
        device=device,
        workload=workload,
        seeds=seeds,
        jobs=jobs,
        reference=reference,
        state=state_from_words(state or []),
        image=image,
        trace=trace,
        log=log,
        out=out,
        request_timelines=request_timelines_wanted(request_timelines, out),
        timeline=timeline,
        timeline_window=timeline_window,
        no_cache=no_cache,
        settings=tuple(settings or ()),
        strict=strict,
        beside=tuple(beside or ()),
        transform=transform,
    )
    plan.check([("--json", json), ("--report", report), ("--figures", figures)])
    output = checked_output(json)
    pictures = Pictures(report, figures)
    pictures.check()
    fit = plan.fit()
    if fit.note is not None:
        _note(fit.note)
        plan = replace(plan, jobs=fit.jobs)
    with reporter(stderr()) as progress:
        comparison = execute(plan, progress, _note)
    write_error = write_output(output, comparison.to_json)
    console = console_beside(output)
    console.print(verdict_view(comparison, console.width, unicode=can_draw(console)))
    if details:
        console.print(Group(Text(), comparison_view(comparison, console.width)))
    errors = [] if write_error is None else [write_error]
    if comparison.out is not None and comparison.out.error is not None:
        errors.append(OutputError(comparison.out.error))
    return _report_outcome(comparison, errors + pictures.write(comparison))


def _note(what: str) -> None:
    stderr().print(f"note: {what}", soft_wrap=True, markup=False)


def _report_outcome(comparison: Comparison, write_errors: Sequence[OutputError]) -> int:
    designs_by_message: dict[str, list[str]] = {}
    for error in comparison.errors:
        designs_by_message.setdefault(error.message, []).append(error.design)
    for message, designs in designs_by_message.items():
        print_error(f"{', '.join(designs)}: {message}")
    for write_error in write_errors:
        print_error(str(write_error))
    if comparison.partial:
        return INTERRUPTED
    if any(error.kind in ("config", "workload") for error in comparison.errors):
        return BAD_INPUT
    return RUN_FAILED if comparison.errors or write_errors else OK
