"""The command `tinytail reproduce`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from tinytail.cli.flags import JsonPath, PositiveOrNone
from tinytail.inputs import conflicts
from tinytail.reproduction import command
from tinytail.terminal.console import checked_output


def reproduce(
    rows: Annotated[list[str] | None, Parameter(name="ROW")] = None,
    /,
    *,
    tier: Literal["quick", "full"] = "quick",
    json: JsonPath = None,
    list_rows: Annotated[bool, Parameter(name="--list")] = False,
    figures: str | None = None,
    docs: str | None = None,
    trace: list[str] | None = None,
    jobs: PositiveOrNone = None,
    fresh: bool = False,
    kept: bool = False,
) -> int:
    """Hold the papers' numbers against runs: row by row, with a verdict and its cause.

    What has been run is kept under the user's cache folder and not run again while engine, data and
    traces are the same.

    Parameters
    ----------
    rows
        Rows by their names or what these begin with, as in ttflash, ttflash.table2 or
        ttflash.table2.dtrs.p99; all if none is named.
    tier
        quick leaves out what takes longer than seconds.
    json
        File for the results as JSON; - is standard output, and the table then goes to standard
        error.
    list_rows
        List the rows and run nothing.
    figures
        Folder to draw the papers' figures into.
    docs
        Folder for results.json, a page for each paper, and figures.
    trace
        The recording of one of a paper's workloads, to be played instead of its stand-in, as
        NAME=FILE, such as exchange=exchange.toml; may be given several times.
    jobs
        How many runs may go on at once; as many as there are processors if not given.
    fresh
        Run everything again.
    kept
        Judge by the runs that are kept from before, and make none that takes longer than a probe;
        rows that lack one are not run.
    """
    conflicts.check(
        [("--json", json), ("--docs", docs), ("--figures", figures)],
        [("--trace", word.partition("=")[2]) for word in trace or ()],
    )
    output = checked_output(json)
    chosen = command.Options(
        rows=tuple(rows or ()),
        tier=tier,
        figures=figures,
        docs=docs,
        traces=tuple(trace or ()),
        jobs=jobs,
        fresh=fresh,
        kept=kept,
    )
    if list_rows:
        return command.list_rows(chosen, output)
    return command.reproduce(chosen, output)
