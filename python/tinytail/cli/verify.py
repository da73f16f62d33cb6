"""The commands of `tinytail verify`."""

from __future__ import annotations

from cyclopts import App
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.cli.codes import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import JsonPath
from tinytail.cli.function import Given, command_of
from tinytail.inputs import conflicts
from tinytail.power import PowerCutPlan, PowerCuts, execute, verify_power_cut
from tinytail.terminal.console import checked_output, print_error, stderr, tell
from tinytail.terminal.progress import reporter

verify = App(name="verify", help="Verify what no design may break.")


@verify.command(
    name="power-cut",
    usage="Usage: tinytail verify power-cut [DESIGN... --device D] [OPTIONS]",
)
@command_of(verify_power_cut)
def verify_power_cut_command(given: Given, *, json: JsonPath = None) -> int:
    """Cut the power at random events, and read everything back after each recovery.

    A host reads, writes and trims at random. After each loss of power the drive's map is made anew
    from out-of-band data, and every page must hold what was written last; then the drive goes on.
    Exit code 1 if anything is lost or stale.
    """
    plan = PowerCutPlan.of(**given)
    read = conflicts.files_read(device=given["device"], designs=given["designs"])
    conflicts.check([("--json", json)], read)
    output = checked_output(json)
    with reporter(stderr()) as progress:
        found = execute(plan, progress)
    problems = tell(output, found.to_json, lambda _: power_cuts_view(found))
    for error in found.errors:
        print_error(f"{error.design}: {error.message}")
    for result in found.results:
        if result.mismatch is not None:
            print_error(f"{result.design}: {result.mismatch}")
    for problem in problems:
        print_error(str(problem))
    return _code(found, failed=bool(problems))


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
    cuts = units.counted(found.cuts, "loss") + " of power"
    verdict = (
        f"{cuts} after {units.counted(acknowledged, 'request')}, "
        f"{units.counted(pages, 'page')} read back: "
        f"{found.lost} lost, {found.stale} stale."
    )
    return Group(table, Text(verdict))
