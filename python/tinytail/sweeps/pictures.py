"""Pictures of a sweep by matplotlib: lines with intervals, heat maps, and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullLocator

from tinytail import units
from tinytail.errors import UsageError
from tinytail.pictures import data, paper
from tinytail.sweeps import cells
from tinytail.sweeps.axes import Axis
from tinytail.sweeps.cells import Panel
from tinytail.sweeps.rows import shown

if TYPE_CHECKING:
    from tinytail.sweeps.result import Sweep

COLUMNS_MAX = 3
# Notes below a figure: their size in points, and how many characters an inch has room for.
NOTE_SIZE, NOTE_CHARACTERS_PER_INCH = 6, 20
NUMBERS_MAX = 60
# Inches: a field of a heat map with its number, what stands beside the fields, and the widest map.
FIELD_WIDTH, HEAT_BESIDE, HEAT_WIDTH_MAX = 0.55, 2.0, 12.0


def lines(panels: Sequence[Panel], figure: str, notes: Sequence[str] = ()) -> Figure:
    """A figure along an axis, with a line and its interval for each value of another.

    Below stands what is to be known of the axes.
    """
    picture, axes = _grid(panels)
    with mpl.rc_context(paper.STYLE):
        values = [c.mean for panel in panels for c in panel.cells.values() if c.mean is not None]
        is_log = cells.spans_decades(values)
        for panel, axis in zip(panels, axes, strict=False):
            for position, value in enumerate(_lines(panel)):
                _line(axis, panel, value, data.style(position))
            _x_axis(axis, panel.x)
            if is_log:
                axis.set_yscale("log")
            axis.yaxis.set_major_formatter(_formatter(figure))
            axis.set_ylabel(figure)
            axis.set_title(panel.title)
            axis.grid(visible=True, alpha=0.4)
        by = panels[0].by
        if by is not None and len(by.values) > 1:
            axes[0].legend(title=by.name, frameon=False)
        _add_notes(picture, notes)
    return picture


def _add_notes(picture: Figure, notes: Sequence[str]) -> None:
    """Puts notes below a figure, in lines that its width has room for."""
    if notes:
        columns = int(picture.get_figwidth() * NOTE_CHARACTERS_PER_INCH)
        said = [line for note in notes for line in wrap(note, columns)]
        picture.supxlabel("\n".join(said), fontsize=NOTE_SIZE, x=0.0, ha="left")


def _lines(panel: Panel) -> Sequence[Any]:
    return (None,) if panel.by is None else panel.by.values


def _line(axis: Axes, panel: Panel, value: Any, style: data.Style) -> None:
    found = [
        (x, cell)
        for x, cell in zip(cells.places(panel.x), panel.column(value), strict=True)
        if cell is not None and cell.mean is not None
    ]
    if not found:
        return
    x = [place for place, _ in found]
    axis.plot(
        x,
        [cell.mean or 0.0 for _, cell in found],
        marker="o",
        markersize=3,
        label=None if panel.by is None else paper.short(shown(value)),
        **paper.stroke(style),
    )
    known = [
        (place, cell.low, cell.high)
        for place, cell in found
        if cell.low is not None and cell.high is not None
    ]
    if known:
        where, low, high = zip(*known, strict=True)
        axis.fill_between(where, low, high, color=style.colour, alpha=0.15, linewidth=0)


def heat(panels: Sequence[Panel], figure: str, notes: Sequence[str] = ()) -> Figure:
    """A figure by its colour, along two axes, and below what is to be known of these.

    Raises:
        UsageError: one axis alone was varied.
    """
    if panels[0].by is None:
        raise UsageError(f"a heat map needs two axes; only {panels[0].x.name} was varied")
    fields = len(panels[0].x.values)
    width = min(HEAT_WIDTH_MAX, max(paper.WIDE / 2, HEAT_BESIDE + FIELD_WIDTH * fields))
    picture, axes = _grid(panels, width)
    with mpl.rc_context(paper.STYLE):
        rows = [[panel.column(value) for value in _lines(panel)] for panel in panels]
        means = [
            [[math.nan if c is None or c.mean is None else c.mean for c in row] for row in each]
            for each in rows
        ]
        known = [c for each in means for row in each for c in row if not math.isnan(c)]
        is_log = cells.spans_decades(known)
        kind = mpl.colors.LogNorm if is_log else mpl.colors.Normalize
        norm = kind(min(known, default=0.1), max(known, default=1))
        image = None
        for panel, axis, each in zip(panels, axes, means, strict=False):
            image = axis.imshow(each, norm=norm, cmap="viridis_r", origin="lower", aspect="auto")
            _numbers(axis, each, norm, figure)
            for ticks, of in ((axis.xaxis, panel.x), (axis.yaxis, panel.by)):
                assert of is not None
                ticks.set_major_locator(FixedLocator(list(range(len(of.values)))))
                ticks.set_major_formatter(
                    FixedFormatter([paper.short(shown(v)) for v in of.values])
                )
            axis.set_xlabel(panel.x.title)
            axis.set_ylabel("" if panel.by is None else panel.by.title)
            axis.set_title(panel.title)
            axis.grid(visible=False)
        assert image is not None
        bar = picture.colorbar(image, ax=list(axes), label=figure, format=_formatter(figure))
        bar.ax.yaxis.set_minor_locator(NullLocator())
        _add_notes(picture, notes)
    return picture


def _numbers(axis: Axes, rows: Sequence[Sequence[float]], norm: Any, figure: str) -> None:
    """The figure in each field, where there is room."""
    if len(rows) * len(rows[0]) > NUMBERS_MAX:
        return
    for y, row in enumerate(rows):
        for x, mean in enumerate(row):
            if not math.isnan(mean):
                ink = "white" if norm(mean) > 0.5 else "black"
                axis.text(x, y, _words(mean, figure), ha="center", va="center", color=ink, size=6)


def front(sweep: Sweep, y: str, x: str) -> Figure:
    """Every combination by two figures, with its front, and with a mark at what can't be on it.

    Raises:
        UsageError: no point has both figures.
    """
    found = sweep.choices(x, y)
    if not found:
        raise UsageError(f"no point has both {x} and {y}")
    picture, axes = _grid(found)
    with mpl.rc_context(paper.STYLE):
        points = [point for choices in found for point in choices.points]
        if cells.spans_decades([point[1] for point in points]):
            # Before the formatters, which a new scale replaces.
            axes[0].set_yscale("log")
        names = _designs(sweep.axes)
        entries: dict[str, Any] = {}
        for choices, axis in zip(found, axes, strict=True):
            for position, name in enumerate(names):
                for is_refuted, marker in ((False, "o"), (True, "x")):
                    chosen = [
                        choices.points[at]
                        for at, cell in enumerate(choices.x)
                        if (name is None or cell.place["design"] == name)
                        and (at in choices.refuted) is is_refuted
                    ]
                    if not chosen:
                        continue
                    named = "points" if name is None else paper.short(name)
                    label = f"{named}, {choices.why}" if is_refuted else named
                    axis.plot(
                        *zip(*chosen, strict=True),
                        linestyle="none",
                        marker=marker,
                        markersize=4,
                        color=data.style(position).colour,
                        label=label,
                    )
                    entries.setdefault(label, axis.lines[-1])
            best = [choices.points[position] for position in choices.best]
            if best:
                [ends] = axis.step(
                    *zip(*best, strict=True),
                    where="post",
                    color="#4d4d4d",
                    marker="o",
                    markersize=8,
                    markerfacecolor="none",
                    label="front",
                )
                entries.setdefault("front", ends)
            axis.set_title(choices.title)
            axis.set_xlabel(x)
            axis.set_ylabel(y)
            axis.xaxis.set_major_formatter(_formatter(x))
            axis.yaxis.set_major_formatter(_formatter(y))
        axes[0].legend(entries.values(), entries.keys(), frameon=False)
    return picture


def _designs(axes: Sequence[Axis]) -> Sequence[str | None]:
    return next((axis.values for axis in axes if axis.name == "design"), (None,))


def _grid(panels: Sequence[Any], width: float = paper.WIDE / 2) -> tuple[Figure, Sequence[Axes]]:
    """A figure with a place of so many inches for each panel."""
    if not panels:
        raise UsageError("there is nothing to draw")
    if len(panels) > cells.PANELS_MAX:
        raise UsageError(
            f"{len(panels)} panels are too many: choose values by --where, from Python by only()"
        )
    columns = min(COLUMNS_MAX, len(panels))
    rows = math.ceil(len(panels) / columns)
    with mpl.rc_context(paper.STYLE):
        picture = paper.new_figure(width * columns, 2.9 * rows)
        made = picture.subplots(rows, columns, squeeze=False, sharey=True).flatten()
    for left in made[len(panels) :]:
        left.set_visible(False)
    return picture, list(made[: len(panels)])


def _x_axis(axis: Axes, of: Axis) -> None:
    axis.set_xlabel(of.title)
    if cells.has_equal_ratios(of):
        axis.set_xscale("log")
    if not cells.is_of_numbers(of) or len(of.values) <= 10:
        axis.xaxis.set_major_locator(FixedLocator(cells.places(of)))
        names = [paper.short(shown(value)) for value in of.values]
        axis.xaxis.set_major_formatter(FixedFormatter(names))
        axis.xaxis.set_minor_locator(NullLocator())


def _words(value: float, figure: str) -> str:
    return units.latency(value) if figure.endswith("_us") else units.number(value)


def _formatter(figure: str) -> FuncFormatter:
    return FuncFormatter(lambda value, _: _words(value, figure))


def draw(
    sweep: Sweep, figure: str, panels: Sequence[Panel], against: str
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of files: the pictures of a sweep, each as SVG and PDF."""
    drawers: dict[str, Callable[[], Figure]] = {}
    if any(cell.mean is not None for panel in panels for cell in panel.cells.values()):
        notes = sweep.notes()
        drawers["lines"] = lambda: lines(panels, figure, notes)
        if panels[0].by is not None:
            drawers["heat"] = lambda: heat(panels, figure, notes)
    if sweep.choices(against, figure):
        drawers["front"] = lambda: front(sweep, figure, against)
    for name, drawer in drawers.items():
        yield from paper.files(name, drawer)
