"""The commands of `tinytail verify`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail.cli.codes import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import DESIGNS, DeviceName, JsonPath, PositiveOrNone, Seed, SetWords, whole
from tinytail.inputs import conflicts
from tinytail.power import CUTS, PowerCutPlan, PowerCuts, execute
from tinytail.terminal.console import (
    checked_output,
    console_beside,
    print_error,
    stderr,
    write_output,
)
from tinytail.terminal.progress import reporter

verify = App(name="verify", help="Verify what no design may break.")


@verify.command(
    name="power-cut",
    usage="Usage: tinytail verify power-cut [DESIGN... --device D] [OPTIONS]",
)
def verify_power_cut_command(
    designs: Annotated[list[str] | None, DESIGNS] = None,
    /,
    *,
    device: DeviceName | None = None,
    cuts: Annotated[int, whole(1)] = CUTS,
    seed: Seed = 1,
    jobs: PositiveOrNone = None,
    settings: SetWords = None,
    json: JsonPath = None,
) -> int:
    """Cut the power at random events, and read everything back after each recovery.

    A host reads, writes and trims at random. After each loss of power the drive's map is made anew
    from out-of-band data, and every page must hold what was written last; then the drive goes on.
    Exit code 1 if anything is lost or stale.

    Parameters
    ----------
    designs
        Designs whose power is cut; overlays are added with plus signs, as in ttflash+level-wear.
        Without any, every design and overlay, each on a small drive of its paper.
    device
        Name of a drive (see `tinytail devices`) or path of its file, for the designs named.
    cuts
        Losses of power, shared evenly by the designs.
    seed
        Seed of whatever is random; the same seed gives the same results.
    jobs
        How many designs may run at once; as many as there are processors if not given.
    settings
        A value that replaces one of the files of device and designs, as SECTION.KEY=VALUE, such as
        gc.write_points=4; may be given several times.
    json
        File for all results as JSON; - is standard output, and the table then goes to standard
        error.
    """
    words = tuple(settings or ())
    plan = PowerCutPlan.of(designs or (), device, cuts=cuts, seed=seed, jobs=jobs, settings=words)
    read = conflicts.files_read(device=device, designs=designs or ())
    conflicts.check([("--json", json)], read)
    output = checked_output(json)
    with reporter(stderr()) as progress:
        found = execute(plan, progress)
    problem = write_output(output, found.to_json)
    console_beside(output).print(power_cuts_view(found))
    for error in found.errors:
        print_error(f"{error.design}: {error.message}")
    for result in found.results:
        if result.mismatch is not None:
            print_error(f"{result.design}: {result.mismatch}")
    if problem is not None:
        print_error(str(problem))
    return _code(found, failed=problem is not None)


def _code(found: PowerCuts, *, failed: bool) -> int:
    if found.partial:
        return INTERRUPTED
    if any(error.kind == "config" for error in found.errors):
        return BAD_INPUT
    return OK if found.holds and not failed else RUN_FAILED


def power_cuts_view(found: PowerCuts) -> RenderableType:
    """What came of the losses of power, design by design."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("design", overflow="fold")
    for column in ("cuts", "torn", "lost", "stale", "p50 ms", "p99 ms", "max ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for result in found.results:
        times = result.recovery
        table.add_row(
            Text(result.design),
            str(result.cuts),
            str(result.torn_pages + result.torn_blocks),
            str(result.lost),
            str(result.stale),
            *(f"{ms:.1f}" for ms in (times.p50_ms, times.p99_ms, times.max_ms)),
        )
    acknowledged = sum(result.completed for result in found.results)
    pages = sum(result.pages_read_back for result in found.results)
    verdict = (
        f"{found.cuts} losses of power after {acknowledged} requests, {pages} pages read back: "
        f"{found.lost} lost, {found.stale} stale."
    )
    return Group(table, Text(verdict))
