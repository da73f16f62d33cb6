"""The command `tinytail search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Group
from rich.text import Text

from tinytail import units
from tinytail.cli.codes import INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import JsonPath, PositiveOrNone
from tinytail.cli.sweep import folder_of, note
from tinytail.comparison.details import comparison_view
from tinytail.errors import TinytailError
from tinytail.files.text import json_text
from tinytail.inputs import conflicts
from tinytail.pictures import Pictures, drawing, write_figures
from tinytail.searches import execute, planned
from tinytail.searches.goals import GOALS
from tinytail.searches.view import search_view
from tinytail.sweeps.file import read_call
from tinytail.terminal.bars import can_draw
from tinytail.terminal.console import (
    View,
    checked_output,
    console_beside,
    print_error,
    stderr,
    tell,
)
from tinytail.terminal.progress import reporter


def search(
    file: Annotated[str, Parameter(name="SEARCH.toml")],
    /,
    *,
    out: str | None = None,
    jobs: PositiveOrNone = None,
    retry_failed: bool = False,
    details: bool = False,
    json: JsonPath = None,
    report: str | None = None,
    figures: str | None = None,
) -> int:
    """Search the combinations of values for the best under constraints.

    The file says axes, objectives, constraints, and all that is the same for each run. Short runs
    try combinations, long ones confirm the best. Each combination on the front is written as a
    design file into the folder designs of the dataset.

    Parameters
    ----------
    file
        The file of the search; docs/guides/search.md says what stands in it.
    out
        The folder of the dataset, in which what has been run is not run again; if not given, that
        of the file's name without its ending.
    jobs
        How many runs are made at once; as many as there are processors if not given, or fewer if no
        more fit into the memory that is free.
    retry_failed
        Make runs again that failed before.
    details
        Print a line for each combination that was refuted or left out, and all figures of the front
        beside those of the designs that it is held against.
    json
        File for all combinations that were tried as JSON, each with its verdict or the reason why
        it was left out; - is standard output, and everything else then goes to standard error.
    report
        File for the front beside these designs as one HTML page of pictures and tables.
    figures
        Folder for figures of the same for a paper, and of the front, each as SVG and as PDF.
    """
    folder = folder_of(file, out)
    written = [("--json", json), ("--report", report)]
    conflicts.check(written, [("SEARCH.toml", file)], [("--out", folder), ("--figures", figures)])
    output = checked_output(json)
    pictures = Pictures(report, figures)
    pictures.check()
    plan, goals = read_call(file, planned, GOALS)
    with reporter(stderr()) as progress:
        found = execute(
            plan,
            goals,
            folder,
            jobs=jobs,
            retry_failed=retry_failed,
            progress=progress,
            say=note,
        )
    comparison = found.comparison
    views: list[View] = [
        lambda console: search_view(
            found, console.width, unicode=can_draw(console), details=details
        )
    ]
    if details and comparison is not None and not found.partial:
        views.append(lambda console: Group(Text(), comparison_view(comparison, console.width)))
    errors: list[TinytailError] = [*tell(output, lambda: json_text(found.to_dict()), *views)]
    if found.partial:
        tried = units.counted(found.tried, "combination")
        said = f"{tried} tried; the same command goes on from there"
        stderr().print(f"interrupted: {said}", soft_wrap=True, markup=False)
        for problem in errors:
            print_error(str(problem))
        return INTERRUPTED
    try:
        paths = found.write_designs(Path(folder) / "designs")
        console = console_beside(output)
        console.print()
        for each, path in zip(found.front, paths, strict=True):
            console.print(f"{each.name}: {path}", soft_wrap=True, markup=False)
    except TinytailError as error:
        errors.append(error)
    if comparison is not None:
        errors += pictures.write(comparison)
    if figures is not None and found.candidates:
        try:
            with drawing():
                from tinytail.pictures import paper

                write_figures(figures, paper.files("front", found.plot))
        except TinytailError as error:
            errors.append(error)
    for problem in errors:
        print_error(str(problem))
    return RUN_FAILED if errors else OK
