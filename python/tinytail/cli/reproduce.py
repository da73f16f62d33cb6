"""The command `tinytail reproduce`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tinytail.cli.codes import INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import JsonPath, PositiveOrNone
from tinytail.engine.arguments import by_name
from tinytail.errors import UsageError, installation
from tinytail.files.text import json_text
from tinytail.inputs import conflicts, libraries
from tinytail.reproduction import pages, session
from tinytail.reproduction.judge import NO_CAUSE
from tinytail.reproduction.paper_files import select
from tinytail.reproduction.records import Paper, Row, Tier
from tinytail.reproduction.reproduce import wanted
from tinytail.terminal.console import (
    JsonOutput,
    checked_output,
    print_error,
    stderr,
    stdout,
    tell,
)
from tinytail.terminal.progress import reporter
from tinytail.units import counted

Chosen = Sequence[tuple[Paper, Row]]


def reproduce(
    rows: Annotated[list[str] | None, Parameter(name="ROW")] = None,
    /,
    *,
    tier: Tier = "quick",
    json: JsonPath = None,
    list_rows: Annotated[bool, Parameter(name="--list")] = False,
    figures: str | None = None,
    docs: str | None = None,
    trace: list[str] | None = None,
    jobs: PositiveOrNone = None,
    fresh: bool = False,
    kept: bool = False,
    details: bool = False,
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
    details
        Show every row, however many there are; else more than 20 are summed up.
    """
    conflicts.check(
        [("--json", json), ("--docs", docs), ("--figures", figures)],
        [("--trace", word.partition("=")[2]) for word in trace or ()],
    )
    output = checked_output(json)
    chosen = select(tuple(rows or ()))
    if list_rows:
        return _list(chosen, output)
    folder = _folder(chosen, figures, docs)
    wished = wanted(
        tuple(rows or ()),
        tier=tier,
        traces=by_name("--trace", trace or (), "NAME=FILE, such as dtrs=dtrs.toml"),
        figures=folder if libraries.are_there("matplotlib") else None,
        jobs=jobs,
        fresh=fresh,
        kept=kept,
    )
    with reporter(stderr()) as report:
        document = session.execute(wished, report)
    problems = tell(
        output,
        lambda: json_text(document),
        lambda console: pages.results_view(document, console.width, details=details),
    )
    if docs is not None and not document["partial"]:
        pages.write(document, Path(docs))
    if figures is not None:
        _say_what_is_not_drawn(wished, document)
    for problem in problems:
        print_error(str(problem))
    if document["partial"]:
        return INTERRUPTED
    # What deviates for a known cause is no fault.
    unexplained = [row["id"] for row in document["rows"] if is_unexplained(row)]
    if unexplained:
        print_error(f"these deviate, and nothing says why: {', '.join(unexplained)}")
    return RUN_FAILED if problems or unexplained else OK


def is_unexplained(row: Mapping[str, Any]) -> bool:
    """Whether a row deviates, and no cause is known."""
    return row["verdict"] == "deviates" and str(row["cause"]).startswith(NO_CAUSE)


def _list(rows: Chosen, output: JsonOutput | None) -> int:
    """Shows the rows and runs nothing."""
    if output is not None:
        output.write(json_text(pages.list_document(rows)))
    if output is None or not output.is_stdout:
        console = stdout()
        console.print(pages.list_view(rows, console.width))
    return OK


def _say_what_is_not_drawn(wished: session.Wanted, document: Mapping[str, Any]) -> None:
    if wished.figures is None:
        print_error(f"figures need matplotlib; to install: {installation('matplotlib')}")
    elif not document["figures"]:
        stderr().print(
            f"note: nothing was drawn into {wished.figures}: {_why_nothing(wished, document)}",
            soft_wrap=True,
            markup=False,
        )


def _why_nothing(wished: session.Wanted, document: Mapping[str, Any]) -> str:
    """Why there is no figure of the rows that were asked for, and what draws one."""
    folder = shlex.quote(str(wished.figures))
    said = []
    for paper in wished.papers():
        rows = wished.rows_of(paper)
        for beginning, command in paper.drawn_by.items():
            if any(row.id.startswith(beginning) for row in rows):
                said.append(f"`{command} --figures {folder}` draws what {beginning} has")
        experiments = wished.experiments_of(paper)
        figures = [each for each in paper.figures if set(each.panels) & set(experiments)]
        of_figures = {name for each in figures for name in each.panels}
        looking = {row.id for row in rows if of_figures & set(paper.experiments_of(row))}
        causes = Counter(
            row["cause"]
            for row in document["rows"]
            if row["id"] in looking and row["verdict"] == "not-run"
        )
        if figures and wished.tier == "quick":
            words = " ".join(wished.words) or paper.prefix
            said.append(
                f"the figures of {paper.prefix} need the full tier: "
                f"`tinytail reproduce {words} --tier full --figures {folder}`"
            )
        elif figures and causes:
            said.append(f"{paper.prefix}: {causes.most_common(1)[0][0]}")
        elif not figures and paper.figures and not said:
            said.append(
                f"{paper.prefix} has no figure of these rows; of all of its rows "
                f"`tinytail reproduce {paper.prefix} --tier full --figures {folder}` draws "
                f"{counted(len(paper.figures), 'figure')}"
            )
    return "; ".join(said) or "nothing was run of which the papers have a figure"


def _folder(rows: Chosen, figures: str | None, docs: str | None) -> Path | None:
    """Where figures go, checked before anything runs.

    Raises:
        UsageError: options contradict each other, pages lack rows, or no folder can be there.
    """
    if docs is not None:
        if figures is not None:
            raise UsageError("--docs has its own figures: --figures goes with other output only")
        for paper in {paper.name: paper for paper, _ in rows}.values():
            if sum(of is paper for of, _ in rows) < len(paper.rows):
                raise UsageError(
                    f"--docs needs all rows of a paper: tinytail reproduce {paper.prefix}"
                )
        libraries.require("--docs", "matplotlib")
    folder = figures if docs is None else docs
    if folder is not None and Path(folder).exists() and not Path(folder).is_dir():
        raise UsageError(f"{folder} is not a folder")
    return None if folder is None else Path(folder)
