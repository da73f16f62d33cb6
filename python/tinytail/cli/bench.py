"""The command `tinytail bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.cli import bench_cases as benches
from tinytail.cli.codes import INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import JsonPath
from tinytail.errors import kind_of
from tinytail.server import speed as serving_bench
from tinytail.terminal.console import (
    checked_output,
    console_beside,
    print_error,
    stderr,
    tell,
)
from tinytail.terminal.progress import reporter
from tinytail.terminal.table import list_table


def bench(
    cases: Annotated[list[str] | None, Parameter(name="CASE")] = None,
    /,
    *,
    json: JsonPath = None,
) -> int:
    """Measure the simulator's own speed and memory.

    Where `perf` is installed and may sample, each case shows what share of its time each room of
    the engine took, its starting state included.

    Parameters
    ----------
    cases
        Cases to run, one after the other; without any, those that are quick, and `serve` where fio
        is installed. By name alone run ageing, statistical-layout, image, drive-sizes,
        drive-dies and run-lengths.
    json
        File for the results as JSON; - is standard output, and the table then goes to standard
        error.
    """
    names = benches.check(cases or [])
    messages = stderr()
    missing = serving_bench.lacks()
    if not cases and missing is not None:
        messages.print(f"{serving_bench.NAME}: left out: {missing}", markup=False)
        names.remove(serving_bench.NAME)
    output = checked_output(json)
    with reporter(messages) as progress:
        jobs, finished = benches.run(names, progress)
    done = [job.result for job in jobs if job.result is not None]
    partial = len(done) < len(names)
    problems = tell(
        output, lambda: benches.to_json(done, partial=partial), lambda _: bench_view(done)
    )
    console = console_beside(output)
    for case in done:
        if case.get("room_percent"):
            console.print(rooms_line(case), markup=False, soft_wrap=True)
    errors = [str(problem) for problem in problems]
    if finished:
        errors += [kind_of(job.error)[1] for job in jobs if job.error is not None]
    else:
        console.print(
            f"PARTIAL: interrupted after {len(done)} of {units.counted(len(names), 'case')}"
        )
    for error in errors:
        print_error(error)
    if not finished:
        return INTERRUPTED
    return RUN_FAILED if errors else OK


def rooms_line(case: Mapping[str, Any]) -> str:
    """The share of a case's time in each room, in one line."""
    shares = ", ".join(f"{room} {share:.0f}" for room, share in case["room_percent"].items())
    return f"{case['name']}, % of time by room: {shares}"


# Figures that a table of bench cases has columns for within 80 characters.
BENCH_COLUMNS_MAX = 5


def bench_view(cases: Iterable[Mapping[str, Any]]) -> Table:
    """The results of bench cases: a column for each figure, or a line where these are many."""
    columns: list[tuple[str, str, Callable[[Any], str]]] = [
        ("requests_per_cpu_second", "requests/\nCPU-s", units.rate),
        ("ns_per_event", "ns/event", units.number),
        ("floor_ratio", "× floor", units.number),
        ("log_cpu_ratio", "log:\nCPU", units.number),
        ("log_wall_ratio", "log:\nwall", units.number),
        ("keeping_cpu_ratio", "kept:\nCPU", units.number),
        ("keeping_wall_ratio", "kept:\nwall", units.number),
        ("cpu_seconds", "CPU-s", units.number),
        ("growth_ratio", "growth", units.number),
        ("iops", "IOPS", units.rate),
        ("late_us_depth_1", "late:\nQD 1", units.latency),
        ("late_us_depth_16", "late:\nQD 16", units.latency),
        ("peak_memory_bytes", "peak\nmemory", units.memory),
    ]
    rows = list(cases)
    shown = [column for column in columns if any(case.get(column[0]) is not None for case in rows)]
    if len(shown) > BENCH_COLUMNS_MAX:
        table = list_table("case", "figures")
        for case in rows:
            figures = [
                heading.replace("/\n", "/").replace("\n", " ") + f" {words(case[key])}"
                for key, heading, words in shown
                if case.get(key) is not None
            ]
            table.add_row(Text(case["name"]), Text(", ".join(figures)))
        return table
    table = list_table("case")
    for _, heading, _ in shown:
        table.add_column(heading, justify="right", no_wrap=True)
    for case in rows:
        values = ((case.get(key), words) for key, _, words in shown)
        cells = (units.MISSING if value is None else words(value) for value, words in values)
        table.add_row(Text(case["name"]), *cells)
    return table
