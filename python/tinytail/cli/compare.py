"""The command `tinytail compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

from rich.console import Group
from rich.text import Text

from tinytail.cli.codes import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import (
    DESIGNS,
    NO_TRACE_FLAGS,
    NO_TRANSFORM_FLAGS,
    DeviceName,
    JsonPath,
    SetWords,
    TraceFlags,
    TransformFlags,
    WorkloadName,
    flags,
)
from tinytail.comparison.details import comparison_view
from tinytail.comparison.plan import ComparisonOptions, Plan
from tinytail.comparison.result import Comparison
from tinytail.comparison.run import execute
from tinytail.comparison.view import verdict_view
from tinytail.engine.arguments import state_from_words
from tinytail.engine.declared import values
from tinytail.errors import OutputError, TinytailError
from tinytail.inputs.designs import designs_or_own
from tinytail.pictures import Pictures
from tinytail.terminal.bars import can_draw
from tinytail.terminal.console import View, checked_output, print_error, stderr, tell
from tinytail.terminal.progress import reporter

if TYPE_CHECKING:
    ComparisonFlags: TypeAlias = ComparisonOptions
else:
    ComparisonFlags = flags(ComparisonOptions)
NO_COMPARISON_FLAGS = ComparisonOptions()


def compare(
    designs: Annotated[list[str] | None, DESIGNS] = None,
    /,
    *,
    device: DeviceName,
    workload: WorkloadName,
    json: JsonPath = None,
    details: bool = False,
    state: list[str] | None = None,
    settings: SetWords = None,
    report: str | None = None,
    figures: str | None = None,
    beside: list[str] | None = None,
    options: ComparisonFlags = NO_COMPARISON_FLAGS,
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
    json
        File for all results as JSON; - is standard output, and the table then goes to standard
        error.
    details
        Print all figures too: the whole table, every cause, the curve of the tail, what each
        technique did, and the starting state.
    state
        A value of the starting state that replaces the device's, as KEY=VALUE, such as
        live_percent=80; may be given several times.
    settings
        A value that replaces one of the files of device, designs and workload, as
        SECTION.KEY=VALUE, such as gc.write_points=4; may be given several times. One of a design
        goes for each design.
    report
        File for the results as one HTML page of pictures, tables and the whole configuration.
    figures
        Folder for figures for a paper, each as SVG and as PDF.
    beside
        A design that is not run, and whose capacity bounds the workload's addresses as if it were;
        may be given several times.
    """
    plan = Plan(
        **values(options, ComparisonOptions),
        designs=designs_or_own(designs or (), device),
        device=device,
        workload=workload,
        state=state_from_words(state or []),
        trace=trace,
        settings=tuple(settings or ()),
        beside=tuple(beside or ()),
        transform=transform,
    )
    plan.check([("--json", json), ("--report", report), ("--figures", figures)])
    output = checked_output(json)
    pictures = Pictures(report, figures)
    pictures.check()
    fit = plan.fit(pictures.size_bytes)
    if fit.note is not None:
        _note(fit.note)
        plan = replace(plan, jobs=fit.jobs)
    with reporter(stderr()) as progress:
        comparison = execute(plan, progress, _note)
    views: list[View] = [
        lambda console: verdict_view(comparison, console.width, unicode=can_draw(console))
    ]
    if details:
        views.append(lambda console: Group(Text(), comparison_view(comparison, console.width)))
    errors: list[TinytailError] = [*tell(output, comparison.to_json, *views)]
    if comparison.out is not None and comparison.out.error is not None:
        errors.append(OutputError(comparison.out.error))
    if comparison.results:
        errors += pictures.write(comparison)
    return _report_outcome(comparison, errors)


def _note(what: str) -> None:
    stderr().print(f"note: {what}", soft_wrap=True, markup=False)


def _report_outcome(comparison: Comparison, write_errors: Sequence[TinytailError]) -> int:
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
