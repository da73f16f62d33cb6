"""Figures for a paper, each as SVG and PDF, drawn by matplotlib: same data, same bytes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from tinytail import units
from tinytail.analysis.rate_match import PLACEMENTS, RateMatching
from tinytail.files.controls import visible
from tinytail.inputs.tables import design_label
from tinytail.pictures import data

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison

# Inches: what fits across the two columns of a page, and what fits into one.
WIDE, NARROW = 7.0, 3.4
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
NAME_CHARACTERS_MAX = 40
BARS_MAX = 12

STYLE: Any = {
    "axes.edgecolor": "#4d4d4d",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "hatch.color": "#ffffff",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    # Letters stay letters, so that a figure can be searched and edited.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    # Names of elements would be random otherwise.
    "svg.hashsalt": "tinytail",
    # A dollar sign in a name is one.
    "text.parse_math": False,
}


def draw(comparison: Comparison) -> Iterator[tuple[str, bytes]]:
    """Names and contents of files; a figure of which there is nothing is left out."""
    drawers: dict[str, Callable[[], Figure | None]] = {
        "latency-read": lambda: _latency(data.tails(comparison, "read"), "read latency"),
        "latency-write": lambda: _latency(data.tails(comparison, "write"), "write latency"),
        "attribution": lambda: _attribution(comparison),
        "over-time": lambda: _over_time(comparison),
        "wear": lambda: _wear(comparison),
    }
    for name, drawer in drawers.items():
        yield from files(name, drawer)


def inline(comparison: Comparison) -> Iterator[str]:
    """SVG to stand in a page: where the slowest reads spent their time, and the tail."""
    reads = data.tails(comparison, "read")
    tails = reads or data.tails(comparison, "write")
    label = "read latency" if reads else "write latency"
    drawers: tuple[Callable[[], Figure | None], ...] = (
        lambda: _attribution(comparison, alone=True),
        lambda: _latency(tails, label, WIDE),
    )
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    for drawer in drawers:
        with mpl.rc_context(STYLE):
            figure = drawer()
            if figure is not None:
                svg = _saved(figure, "svg", nothing).decode()
                yield svg[svg.index("<svg") :]


def draw_rate_matching(found: RateMatching) -> Iterator[tuple[str, bytes]]:
    """Names and contents of files: Fig. 6 of The Harey Tortoise, in both forms of its model."""
    yield from files("rate-matching", lambda: _rate_matching(found))


def files(name: str, drawer: Callable[[], Figure | None]) -> Iterator[tuple[str, bytes]]:
    """A figure as SVG and as PDF, with the names of the files; nothing if there is no figure."""
    with mpl.rc_context(STYLE):
        figure = drawer()
        if figure is None:
            return
        # What lies where is worked out once for both.
        with _any_glyph():
            figure.draw_without_rendering()
        figure.set_layout_engine("none")
        svg = _saved(figure, "svg", {"Date": None})
        pdf = _saved(figure, "pdf", {"CreationDate": None})
    yield f"{name}.svg", svg
    yield f"{name}.pdf", pdf


def _saved(figure: Figure, format: str, metadata: dict[str, Any]) -> bytes:
    content = io.BytesIO()
    with _any_glyph():
        figure.savefig(content, format=format, metadata=metadata)
    # A name may have control characters, which XML forbids.
    return visible(content.getvalue().decode()).encode() if format == "svg" else content.getvalue()


@contextmanager
def _any_glyph() -> Iterator[None]:
    """Let no character of a name be warned of, as the font may lack any of another script."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of so many inches, which no window shows."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def short(name: str) -> str:
    """A name, shortened if it is long, as paths are."""
    name = design_label(name)
    return name if len(name) <= NAME_CHARACTERS_MAX else f"…{name[-NAME_CHARACTERS_MAX:]}"


def _log_axis(axis: Axes, values: Sequence[float], labels_max: int) -> None:
    """Makes the y axis logarithmic, of latencies in seconds."""
    axis.set_yscale("log")
    axis.yaxis.set_minor_locator(NullLocator())
    found = data.log_axis(values, labels_max)
    if found is not None:
        axis.set_ylim(found.low, found.high)
        axis.yaxis.set_major_locator(FixedLocator(found.ticks))
        axis.yaxis.set_major_formatter(FixedFormatter(found.labels))


def stroke(style: data.Style) -> dict[str, Any]:
    """The colour and the dashes of a line."""
    return {"color": style.colour, "linestyle": DASHES[style.dash]}


def _legend_below(figure: Figure, axis: Axes, columns: int) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def draw_tail(axis: Axes, tails: list[data.Tail], label: str) -> None:
    """Draws latencies by percentile, and the slowest request apart from them at the end."""
    furthest = max([1.0, *(x for tail in tails for x in tail.x)])
    marked = [p for p in data.MARKED if data.tail_scale(p) <= furthest + data.ROUNDING]
    end = furthest + data.MAX_GAP
    for tail in tails:
        axis.plot(tail.x, tail.seconds, label=short(tail.design), **stroke(tail.style))
        axis.plot([end], [tail.max_seconds], "D", color=tail.style.colour, markersize=4)
    axis.set_xticks([*map(data.tail_scale, marked), end], [*(f"{p:g}" for p in marked), "max"])
    axis.set_xlim(0, end + 0.25)
    axis.set_xlabel("percentile")
    axis.set_ylabel(label)
    values = [each for tail in tails for each in (*tail.seconds, tail.max_seconds)]
    _log_axis(axis, values, 12)


def _latency(tails: list[data.Tail], label: str, width: float = NARROW) -> Figure | None:
    if not tails:
        return None
    figure = new_figure(width, 2.7)
    axis = figure.subplots()
    draw_tail(axis, tails, label)
    _legend_below(figure, axis, 2)
    return figure


def _attribution(comparison: Comparison, *, alone: bool = False) -> Figure | None:
    causes, tails = data.attribution(comparison)
    tail = data.usual_tail(tails)
    if alone and tail is not None:
        tails = [tail]
    if not tails:
        return None
    bars = [len(tail.bars) for tail in tails]
    legend_rows = -(-len(causes) // 2)
    figure = new_figure(WIDE, 0.32 * sum(bars) + 0.3 * len(tails) + 0.17 * legend_rows + 0.7)
    axes = figure.subplots(
        len(tails), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": bars}
    )
    longest = max(bar.mean_seconds for tail in tails for bar in tail.bars) or data.US
    for axis, tail in zip(axes[:, 0], tails, strict=True):
        draw_bars(axis, causes, tail, longest)
    unit, _ = data.time_unit(longest)
    axes[-1, 0].set_xlabel(f"mean time per read ({unit})")
    figure.legend(handles=patches(causes), loc="outside lower center", ncols=2)
    return figure


def draw_bars(
    axis: Axes,
    causes: Sequence[data.Cause],
    tail: data.AttributionTail,
    longest_seconds: float,
) -> None:
    """Draws where a share of the slowest reads spent their time: a stacked bar for each design."""
    _, unit_seconds = data.time_unit(longest_seconds)
    longest = longest_seconds / unit_seconds
    for position, bar in enumerate(tail.bars):
        left = 0.0
        for cause in causes:
            width = bar.parts.get(cause.key, 0.0) / unit_seconds
            axis.barh(position, width, 0.7, left=left, **_fill(cause))
            left += width
    axis.set_title(tail.title)
    # Beside the name there is room for the mean, however narrow the axes are.
    means = [units.latency(bar.mean_seconds / data.US) for bar in tail.bars]
    names = [f"{short(bar.design)}, {mean}" for bar, mean in zip(tail.bars, means, strict=True)]
    axis.set_yticks(range(len(tail.bars)), names)
    axis.set_ylim(len(tail.bars) - 0.5, -0.5)
    axis.set_xlim(0, 1.02 * longest)
    axis.grid(visible=False, axis="y")


def patches(causes: Sequence[data.Cause]) -> list[Patch]:
    """The legend of bars."""
    return [Patch(label=cause.name, **_fill(cause)) for cause in causes]


def _fill(cause: data.Cause) -> dict[str, Any]:
    return {
        "facecolor": cause.colour,
        "edgecolor": "#ffffff" if cause.key else "#8c8c8c",
        "linewidth": 0.4,
        "hatch": "////" if cause.hatched else "",
    }


def _over_time(comparison: Comparison) -> Figure | None:
    rows = data.over_time(comparison)
    if not comparison.results or not any(line.x for line in rows[0].lines):
        return None
    figure = new_figure(WIDE, 1.05 * len(rows) + 0.6)
    axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    unit = data.time_unit(max(result.simulated_seconds for result in comparison.results))
    for axis, row in zip(axes, rows, strict=True):
        for line in row.lines:
            draw_line(axis, line, unit[1], 1.0, short(line.design))
        for line in row.second:
            draw_line(axis, line, unit[1], 0.5, "")
        axis.set_title(
            f"{row.title} (thick: least, thin: {row.second_title})" if row.second else row.title
        )
        values = [y for line in row.lines for y in line.y if y]
        if row.is_log and values:
            _log_axis(axis, values, 5)
        else:
            if row.from_zero:
                axis.set_ylim(bottom=0, top=1 if row.is_zero else None)
            axis.yaxis.set_major_locator(MaxNLocator(4))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes[-1].set_xlabel(f"simulated time ({unit[0]})")
    figure.align_ylabels(list(axes))
    _legend_below(figure, axes[0], 3)
    return figure


def draw_line(axis: Axes, line: data.Line, unit: float, width: float, label: str) -> None:
    """Draws a line that may have gaps."""
    gaps = [float("nan") if y is None else y for y in line.y]
    around = [None, *line.y, None]
    # A line has no length between gaps.
    alone = [
        position
        for position, y in enumerate(line.y)
        if y is not None and around[position] is None and around[position + 2] is None
    ]
    axis.plot(
        [x / unit for x in line.x],
        gaps,
        linewidth=width,
        label=label,
        marker=".",
        markersize=2 * width,
        markevery=alone,
        **stroke(line.style),
    )


def _wear(comparison: Comparison) -> Figure | None:
    lines = [line for line in data.wear(comparison) if line.x]
    if not lines:
        return None
    figure = new_figure(NARROW, 2.4)
    axis = figure.subplots()
    distinct = sorted({x for line in lines for x in line.x})
    width = 0.8 / len(lines)
    for index, line in enumerate(lines):
        blocks = [y or 0.0 for y in line.y]
        if len(distinct) <= BARS_MAX:
            shift = width * (index - (len(lines) - 1) / 2)
            places = [x + shift for x in line.x]
            axis.bar(
                places,
                blocks,
                width,
                facecolor=line.style.colour,
                edgecolor="#ffffff",
                linewidth=0,
                hatch="////" if line.style.hatched else "",
                label=short(line.design),
            )
        else:
            axis.step(line.x, blocks, where="mid", label=short(line.design), **stroke(line.style))
    axis.set_yscale("log")
    axis.set_ylim(bottom=0.7)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axis.set_xlabel("erases of a block")
    axis.set_ylabel("blocks")
    _legend_below(figure, axis, 2)
    return figure


def _rate_matching(found: RateMatching) -> Figure:
    figure = new_figure(WIDE, 2.7)
    axes = figure.subplots(1, 2, sharey=True)
    names = {"baseline": "no preference", "fgc": "fast pages to GC", "sgc": "slow pages to GC"}
    for axis, curves in zip(axes, found.forms, strict=True):
        localities = [point.locality_percent for point in curves.points]
        for position, placement in enumerate(PLACEMENTS):
            rates = [getattr(point, placement).mb_s for point in curves.points]
            style = data.style(position)
            axis.plot(localities, rates, label=names[placement], **stroke(style))
        crossover = curves.crossover
        if crossover is not None:
            axis.plot([crossover.locality_percent], [crossover.fgc.mb_s], "k.", markersize=5)
            axis.annotate(
                f"{crossover.locality_percent:.4g} %",
                (crossover.locality_percent, crossover.fgc.mb_s),
                (-4, 4),
                textcoords="offset points",
                ha="right",
            )
        axis.set_title(f"{found.device}: {curves.form} form")
        axis.set_xlabel("locality (% of a block invalidated by the host)")
        axis.set_xlim(0, 100)
    axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel("host writes (MB/s)")
    _legend_below(figure, axes[0], 3)
    return figure
