"""The commands `tinytail sweep` and `tinytail sweep show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from tinytail import units
from tinytail.cli.codes import INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import JsonPath, PositiveOrNone
from tinytail.errors import UsageError
from tinytail.files.text import json_text
from tinytail.files.whole import FileOutput
from tinytail.inputs import conflicts
from tinytail.inputs.libraries import require
from tinytail.pictures import check_figures, drawing, write_figures
from tinytail.sweeps import Stopped, execute, read_sweep
from tinytail.sweeps.cells import arranged, check_figure
from tinytail.sweeps.file import read_plan
from tinytail.sweeps.view import sweep_view
from tinytail.terminal.console import checked_output, show_results, stderr, stdout
from tinytail.terminal.progress import reporter

sweep = App(
    name="sweep",
    help="Run designs at every combination of values, and show what came of it.",
    usage="Usage: tinytail sweep SWEEP.toml [OPTIONS]",
)


@sweep.default
def run(
    file: Annotated[str, Parameter(name="SWEEP.toml")],
    /,
    *,
    out: str | None = None,
    jobs: PositiveOrNone = None,
    cluster: str | None = None,
    retry_failed: bool = False,
) -> int:
    """Run every point of a sweep that its dataset does not have yet.

    The file says axes and all that is the same for each point. The dataset is a folder: a call
    that is interrupted or killed goes on where it ended when it is made again.

    Parameters
    ----------
    file
        The file of the sweep; docs/guides/sweep.md says what stands in it.
    out
        The folder of the dataset; if not given, that of the file's name without its ending.
    jobs
        How many points run at once; as many as there are processors if not given, or fewer if no
        more fit into the memory that is free.
    cluster
        The address of a scheduler of Dask, such as tcp://10.0.0.1:8786, whose workers run the
        points in place of this machine.
    retry_failed
        Run points again that failed before.
    """
    plan = read_plan(file)
    folder = folder_of(file, out)
    try:
        with reporter(stderr()) as progress:
            found = execute(
                plan,
                folder,
                jobs=jobs,
                cluster=cluster,
                retry_failed=retry_failed,
                progress=progress,
                say=note,
                reads_interrupted=False,
            )
    except Stopped as stopped:
        print_again(folder, stopped.ended, len(plan))
        return INTERRUPTED
    console = stdout()
    console.print(sweep_view(found, console.width))
    console.print()
    console.print(f"`tinytail sweep show {folder}` shows more", soft_wrap=True, markup=False)
    return RUN_FAILED if found.failed else OK


def folder_of(file: str, out: str | None) -> str:
    """The folder of the dataset of a sweep or search, which its file may name.

    Raises:
        UsageError: it does not.
    """
    folder = str(Path(file).with_suffix("")) if out is None else out
    if folder == file:
        raise UsageError(f"{file} has no ending to leave out: name the dataset by --out")
    return folder


def note(what: str) -> None:
    """Says something beside the results."""
    stderr().print(f"note: {what}", soft_wrap=True, markup=False)


def print_again(folder: str, ended: int, points: int) -> None:
    """Says how an interrupted sweep goes on."""
    kept = f"{ended:,} of {units.counted(points, 'point')} in {folder}"
    shown = f"`tinytail sweep show {folder}` shows them"
    said = f"{kept}; the same command goes on from there; {shown}"
    stderr().print(f"interrupted: {said}", soft_wrap=True, markup=False)


@sweep.command
def show(
    folder: Annotated[str, Parameter(name="DIR")],
    /,
    *,
    figure: str | None = None,
    x: str | None = None,
    by: str | None = None,
    where: list[str] | None = None,
    against: str = "erases",
    json: JsonPath = None,
    report: str | None = None,
    figures: str | None = None,
) -> int:
    """Show the dataset of a sweep: tables, pictures, or a page.

    Parameters
    ----------
    folder
        The folder of the dataset.
    figure
        What is shown, such as read.p99_us or erases; the deepest percentile that most points have
        if not given.
    x
        The axis along each table and picture; that with the most numbers if not given.
    by
        The axis with a column, or a line, for each value; the designs if not given.
    where
        A value of an axis, as AXIS=VALUE, that alone is shown; may be given several times.
    against
        The other figure of the picture of the front. Of throughput more is better, of all others
        less.
    json
        File for the cells of the tables as JSON; - is standard output.
    report
        File for the same, and more figures, as one HTML page of pictures and tables.
    figures
        Folder for figures for a paper: lines, heat maps and the front, each as SVG and as PDF.
    """
    written = [("--json", json), ("--report", report)]
    conflicts.check(written, folders=[("DIR", folder), ("--figures", figures)])
    output = checked_output(json)
    page_file = None if report is None else FileOutput(report, "--report")
    if page_file is not None:
        require("a report", "plotly", "jinja2")
        page_file.check()
    if figures is not None:
        check_figures(figures)
    found = read_sweep(folder)
    wanted = {}
    for word in where or ():
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f'--where must be AXIS=VALUE, not "{word}"')
        if name.strip() in wanted:
            raise UsageError(f"--where gives {name.strip()} twice")
        wanted[name.strip()] = value.strip()
    check_figure(against)
    found = found.only(wanted)
    name = check_figure(figure or found.headline())
    arranged(found.axes, x, by)
    shown = show_results(
        output,
        lambda: json_text(found.to_dict(name, found.panels(name, x=x, by=by))),
        lambda console: sweep_view(found, console.width, figure=name, x=x, by=by),
    )
    with drawing():
        if page_file is not None:
            from tinytail.sweeps import page

            page_file.write(page.html(found, name, x=x, by=by).encode())
        if figures is not None:
            from tinytail.sweeps import pictures

            panels = found.panels(name, x=x, by=by)
            write_figures(figures, pictures.draw(found, name, panels, against))
    return OK if shown else RUN_FAILED
