"""The command `tinytail bench`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tinytail import bench as benches
from tinytail.cli import INTERRUPTED, OK, RUN_FAILED
from tinytail.errors import TinytailError
from tinytail.flags import JsonPath
from tinytail.output import checked_output, console_beside, print_error, stderr, write_output
from tinytail.render import bench_view
from tinytail.serving import bench as serving_bench


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
    done: list[dict[str, Any]] = []
    error: TinytailError | None = None
    interrupted = False
    try:
        for name in names:
            messages.print(f"{name}: running", markup=False)
            done.append(benches.run_apart(name))
    except TinytailError as failure:
        error = failure
    except KeyboardInterrupt:
        interrupted = True
    partial = len(done) < len(names)
    write_error = write_output(output, lambda: benches.to_json(done, partial=partial))
    console = console_beside(output)
    console.print(bench_view(done))
    if interrupted:
        console.print(f"PARTIAL: interrupted after {len(done)} of {len(names)} cases")
    for problem in (error, write_error):
        if problem is not None:
            print_error(str(problem))
    if interrupted:
        return INTERRUPTED
    return RUN_FAILED if error is not None or write_error is not None else OK
