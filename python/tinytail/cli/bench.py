"""The command `tinytail bench`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tinytail.cli import bench_cases as benches
from tinytail.cli.codes import INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import JsonPath
from tinytail.comparison.details import bench_view
from tinytail.errors import kind_of
from tinytail.server import speed as serving_bench
from tinytail.terminal.console import (
    checked_output,
    console_beside,
    print_error,
    stderr,
    write_output,
)
from tinytail.terminal.progress import reporter


def bench(
    cases: Annotated[list[str] | None, Parameter(name="CASE")] = None,
    /,
    *,
    json: JsonPath = None,
) -> int:
    """Measure the simulator's own speed and memory.

    Parameters
    ----------
    cases
        Cases to run, one after the other; without any, those that are quick, and `serve` where fio
        is installed. By name alone run ageing, statistical-layout, image, drive-sizes and
        run-lengths.
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
    problem = write_output(output, lambda: benches.to_json(done, partial=partial))
    console = console_beside(output)
    console.print(bench_view(done))
    errors = [] if problem is None else [str(problem)]
    if finished:
        errors += [kind_of(job.error)[1] for job in jobs if job.error is not None]
    else:
        console.print(f"PARTIAL: interrupted after {len(done)} of {len(names)} cases")
    for error in errors:
        print_error(error)
    if not finished:
        return INTERRUPTED
    return RUN_FAILED if errors else OK
