"""The picture of a search by matplotlib: the front beside what it is held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from tinytail.errors import UsageError
from tinytail.pictures import data, paper
from tinytail.sweeps.cells import spans_decades
from tinytail.sweeps.view import value

if TYPE_CHECKING:
    from tinytail.searches.result import Candidate, Search


def front(search: Search, x: str, y: str) -> Figure:
    """Everything that was confirmed or refuted, and what it is held against, by two figures.

    Raises:
        UsageError: nothing has both figures.
    """
    rest = [each for each in search.candidates if not each.is_best]
    kinds = [
        ("front", search.front, "o"),
        ("confirmed", [each for each in rest if not each.faults], "o"),
        ("refuted", [each for each in rest if each.faults], "x"),
    ]
    kinds += [(each.name, [each], "D") for each in search.references]
    with mpl.rc_context(paper.STYLE):
        picture = paper.new_figure(paper.WIDE, 3.4)
        axes = picture.subplots()
        shown: list[tuple[float, float]] = []
        for position, (name, chosen, marker) in enumerate(kinds):
            points = _points(chosen, x, y)
            if not points:
                continue
            shown += points
            axes.plot(
                *zip(*points, strict=True),
                linestyle="none",
                marker=marker,
                markersize=7 if name == "front" else 5,
                markerfacecolor="none" if name == "confirmed" else None,
                color=data.style(position).colour,
                label=paper.short(name),
            )
        for each in search.front:
            for point in _points([each], x, y):
                axes.annotate(
                    each.name, point, xytext=(5, 5), textcoords="offset points", fontsize=7
                )
        if not shown:
            raise UsageError(f"nothing that was confirmed has both {x} and {y}")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        if spans_decades([point[0] for point in shown]):
            axes.set_xscale("log")
        if spans_decades([point[1] for point in shown]):
            axes.set_yscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: value(at, x)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: value(at, y)))
        axes.grid(visible=True, alpha=0.4)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture


def _points(chosen: Sequence[Candidate], x: str, y: str) -> list[tuple[float, float]]:
    pairs = [(each.figures[x].mean, each.figures[y].mean) for each in chosen]
    return [(a, b) for a, b in pairs if a is not None and b is not None]
