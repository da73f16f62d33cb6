"""The commands of `tinytail analyze`."""

from __future__ import annotations

from cyclopts import App

from tinytail.analysis.page_layout import analyze_page_layout, pages_of, read_page_times
from tinytail.analysis.rate_match import analyze_rate_matching
from tinytail.analysis.rotation import analyze_rotation
from tinytail.analysis.view import page_layout_view, rate_matching_view, rotation_view
from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import JsonPath, PositiveOrNone
from tinytail.cli.function import Given, command_of
from tinytail.errors import TinytailError
from tinytail.inputs import conflicts
from tinytail.pictures import check_figures, drawing, write_figures
from tinytail.terminal.console import checked_output, print_error, show_results

analyze = App(name="analyze", help="Work out what follows from a device without running it.")


@analyze.command(name="rotation")
@command_of(analyze_rotation)
def analyze_rotation_command(given: Given, *, json: JsonPath = None) -> int:
    """Work out how wide stripes may be under rotating GC, and the least RAM."""
    conflicts.check([("--json", json)], [("--device", given["device"])])
    output = checked_output(json)
    rotation = analyze_rotation(**given)
    shown = show_results(output, rotation.to_json, lambda _: rotation_view(rotation))
    return OK if shown else RUN_FAILED


@analyze.command(name="rate-matching")
@command_of(analyze_rate_matching)
def analyze_rate_matching_command(
    given: Given, *, json: JsonPath = None, figures: str | None = None
) -> int:
    """Work out what fast or slow pages for GC are worth under sustained load.

    Parameters
    ----------
    figures
        Folder for a figure of the curves, as SVG and as PDF.
    """
    conflicts.check([("--json", json), ("--figures", figures)], [("--device", given["device"])])
    output = checked_output(json)
    if figures is not None:
        check_figures(figures)
    found = analyze_rate_matching(**given)
    done = show_results(output, found.to_json, lambda _: rate_matching_view(found))
    if figures is not None:
        try:
            with drawing():
                from tinytail.pictures import paper

                write_figures(figures, paper.draw_rate_matching(found))
        except TinytailError as error:
            print_error(str(error))
            done = False
    return OK if done else RUN_FAILED


@analyze.command(name="page-layout")
def analyze_page_layout_command(
    file: str,
    /,
    *,
    pages_per_block: PositiveOrNone = None,
    json: JsonPath = None,
) -> int:
    """Name the layout of fast and slow pages that the times of a block's pages show.

    As The Harey Tortoise (section 2.2) does it: page reads and programs follow the same pattern, so
    that a few reads, or the programs of one block, tell which of the known layouts a chip has.

    Parameters
    ----------
    file
        CSV file with a line `page,time` for each read, or each program, in any unit; or with a time
        for each page of a block, in order.
    pages_per_block
        Pages of a block; needed unless every page has a time.
    json
        File for the layout as JSON; - is standard output.
    """
    conflicts.check([("--json", json)], [("FILE", file)])
    output = checked_output(json)
    times = read_page_times(file)
    found = analyze_page_layout(times, pages_per_block or pages_of(times))
    shown = show_results(output, found.to_json, lambda _: page_layout_view(found))
    return OK if shown else RUN_FAILED
