"""Draws the papers' figures from runs, with matplotlib if it is there.

- `cdf`: the share of reads up to each latency, one line for each design; with a single design, one
  for each experiment. With `hit` it is of the reads that the experiment's log counts as hit.
- `tails`: the latency at each of `percents`, a panel for each experiment and kind of `requests`.
  `marks` are values of the paper's: request, percent, us and design.
- `bars`: one value for each design of each experiment: `mean_ms` of all requests or `mean_read_ms`,
  `erases`, `burst_write_mb_s`, `throughput_mb_s` by the time that passes, `gc_affected_percent`,
  `plane_utilization_percent` during GC, or `blocked_percent`, which stands on GC-blocked reads with
  the queue-blocked ones above. With a `measure`, whose arguments but `experiments` and `design` are
  beside its name, it is one of those that the measure finds.
- `curves`: a value over `x`, which are numbers of the experiments, one line for each design; or,
  with `curves`, numbers of the designs that each of them names in order. The value is one that
  bars may have, `writes`, or `preferred_percent`, the preferences for fast and slow pages that were
  met.
- `timeline`: a column of the series over time, `read_p99_ms`, `read_max_ms` or a column's own name.

The panels are experiments with their titles. `relative_to` makes a design 100 %. `levels` are the
paper's values, drawn across bars and curves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tinytail.comparison.result import DesignResult
from tinytail.errors import ConfigError, suggestion
from tinytail.reproduction import logs
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import preferences_met_percent
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Figure, Paper
from tinytail.reproduction.store import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Format = Literal["svg", "png"]

# Colours that most eyes tell apart (P. Okabe and K. Ito), and lines that greys do.
COLOURS = ("#d55e00", "#e69f00", "#56b4e9", "#009e73", "#000000", "#cc79a7")
STYLES = ("-", "--", "-.", "-", ":", "--")
HATCHES = ("", "//", "..")
PANELS_IN_A_ROW = 3


def draw_all(
    paper: Paper, lab: Lab, experiments: Sequence[str], folder: Path, format: Format
) -> list[dict[str, Any]]:
    """Draws each figure of which something was run; returns what was drawn, and what it lacks."""
    drawn = []
    for figure in paper.figures:
        found, lacking = _outcomes(figure, lab, experiments)
        if not found:
            continue
        heights = _heights(figure, lab, found) if figure.kind == "bars" else {}
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{figure.name}.{format}"
        _draw(figure, found, heights, file)
        drawn.append(
            {
                "paper": paper.name,
                "name": figure.name,
                "title": figure.title,
                "file": f"{paper.name}/{file.name}",
                "lacks": lacking,
                "inputs": sorted(
                    {
                        outcome.result.workload.name
                        for panel in found.values()
                        for outcome in panel.values()
                    }
                ),
            }
        )
    return drawn


_Panels = dict[str, dict[str, Outcome]]
_Heights = dict[tuple[str, str], tuple[float, float]]


def _outcomes(figure: Figure, lab: Lab, experiments: Sequence[str]) -> tuple[_Panels, list[str]]:
    """What there is to draw, by experiment and design, and what is missing."""
    found: _Panels = {}
    lacking = []
    # What is 100 % need not be drawn itself.
    whole = () if figure.relative_to is None else (figure.relative_to,)
    for experiment in figure.panels:
        if experiment not in experiments:
            lacking.append(experiment)
            continue
        for design in dict.fromkeys((*figure.designs, *whole)):
            if design not in lab.paper.experiments[experiment].designs:
                continue
            look = lab.ending if figure.kind == "tails" else lab.outcome
            try:
                found.setdefault(experiment, {})[design] = look(experiment, design)
            except Unavailable:
                lacking.append(f"{experiment} {design}")
    return {name: panel for name, panel in found.items() if panel}, lacking


def _heights(figure: Figure, lab: Lab, panels: _Panels) -> _Heights:
    """The bars of experiments and designs, and what stands on them, as far as they can be told."""
    heights: _Heights = {}
    for experiment, panel in panels.items():
        for design, outcome in panel.items():
            if figure.measure is None:
                bar = _bar(figure, outcome.result)
                if figure.relative_to is not None:
                    whole = panel.get(figure.relative_to)
                    of, _ = (0.0, 0.0) if whole is None else _bar(figure, whole.result)
                    if not of:
                        continue
                    bar = (100 * bar[0] / of, 0.0)
                heights[experiment, design] = bar
                continue
            given = dict(figure.measure)
            measure = lab.paper.measures[given.pop("use")]
            try:
                found = measure(lab, experiments=[experiment], design=design, **given)
            except Unavailable:
                continue
            value = found.get(figure.value)
            if isinstance(value, int | float):
                heights[experiment, design] = (float(value), 0.0)
    return heights


def _draw(figure: Figure, panels: _Panels, heights: _Heights, file: Path) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    # The same file for the same data, whoever draws it.
    with mpl.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 9}):
        alone = figure.kind == "bars" or (figure.kind == "cdf" and len(figure.designs) == 1)
        alone = alone or (figure.kind == "curves" and not figure.curves)
        count = len(panels) * (len(figure.requests) if figure.kind == "tails" else 1)
        columns = 1 if alone else min(PANELS_IN_A_ROW, count)
        rows = 1 if alone else -(-count // columns)
        width = 7.5 if alone else 3.4 * columns + 0.6
        drawing, axes = pyplot.subplots(
            rows, columns, figsize=(width, 3.0 * rows + 0.6), squeeze=False, layout="constrained"
        )
        flat = list(axes.flat)
        kinds: dict[str, Callable[[Figure, _Panels, list[Axes]], None]] = {
            "cdf": _cdf,
            "bars": partial(_bars, heights),
            "tails": _tails,
            "timeline": _timeline,
            "curves": _curves,
        }
        kinds[figure.kind](figure, panels, flat)
        for unused in flat[1 if alone else count :]:
            unused.set_visible(False)
        # A design that the first panel lacks may be in another.
        named = {
            label: handle
            for axis in flat
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        across = max(1, int(width / 1.8))  # inches that most labels fit into
        drawing.legend(
            named.values(), named.keys(), loc="outside lower center", ncols=across, frameon=False
        )
        metadata = {"Date": None} if file.suffix == ".svg" else None
        drawing.savefig(file, dpi=120, metadata=metadata)
        pyplot.close(drawing)


def _label(figure: Figure, design: str) -> str:
    return figure.labels.get(design, design.replace("@", ""))


def _cdf(figure: Figure, panels: _Panels, axes: list[Axes]) -> None:
    single = len(figure.designs) == 1
    for position, (experiment, panel) in enumerate(panels.items()):
        axis = axes[0 if single else position]
        for line, (design, outcome) in enumerate(panel.items()):
            index = position if single else figure.designs.index(design)
            percent, us = _distribution(figure, outcome)
            axis.plot(
                [each / 1000 for each in us],
                percent,
                color=COLOURS[index % len(COLOURS)],
                linestyle=STYLES[index % len(STYLES)],
                linewidth=1.3,
                zorder=10 - line,
                label=figure.panels[experiment] if single else _label(figure, design),
                drawstyle="steps-post",
            )
        axis.set_title("" if single else figure.panels[experiment], fontsize=9)
        axis.set_xlim(0, figure.x_max_ms)
        axis.set_ylim(figure.y_from_percent, 100)
        axis.set_xlabel("read latency (ms)")
        axis.set_ylabel("reads (%)")
        axis.grid(visible=True, linewidth=0.3)


def _distribution(figure: Figure, outcome: Outcome) -> tuple[list[float], list[float]]:
    """Percentiles of the reads' latencies, in microseconds, without those of noise."""
    if figure.hit:
        if outcome.log is None:
            raise ConfigError(f"{figure.name} needs a log of its runs")
        hits = outcome.log.hit
        total = sum(hits.counts)
        percent = [100 * count / total for count in itertools.accumulate(hits.counts)]
        return percent, list(hits.below_us)
    if figure.leave_out_sectors is not None:
        if outcome.log is None:
            raise ConfigError(f"{figure.name} needs a log of its runs")
        sizes = [size for size in outcome.log.reads_us if size != figure.leave_out_sectors]
        return logs.PERCENTS, list(outcome.log.reads_us[sizes[0]])
    columns = outcome.result.distribution
    pairs = [(p, us) for p, us in zip(columns.percent, columns.read_us, strict=True) if us]
    return [p for p, _ in pairs], [us for _, us in pairs]


def _tails(figure: Figure, panels: _Panels, axes: list[Axes]) -> None:
    from matplotlib import ticker

    class Plain(ticker.LogFormatter):
        """Numbers in full: powers of ten would round 0.14 and 0.12 to the same."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    kinds = [(experiment, kind) for experiment in panels for kind in figure.requests]
    places = list(range(len(figure.percents)))
    for axis, (experiment, kind) in zip(axes, kinds, strict=False):
        for design, outcome in panels[experiment].items():
            index = figure.designs.index(design)
            columns = outcome.result.distribution
            us = columns.read_us if kind == "read" else columns.write_us
            found = dict(zip(columns.percent, us, strict=True))
            # A run that got stuck has a tail that nobody has seen the end of.
            stuck = outcome.result.stuck is not None
            points = [
                (place, found[percent])
                for place, percent in zip(places, figure.percents, strict=True)
                if found.get(percent)
            ]
            axis.plot(
                [x for x, _ in points],
                [us / 1000 for _, us in points if us is not None],
                color=COLOURS[index % len(COLOURS)],
                linestyle=STYLES[index % len(STYLES)],
                marker="x" if stuck else "o",
                markersize=3.0,
                linewidth=1.2,
                label=_label(figure, design) + (" (stalled)" if stuck else ""),
            )
        for mark in figure.marks:
            if mark["request"] == kind:
                index = figure.designs.index(mark["design"])
                axis.plot(
                    [figure.percents.index(mark["percent"])],
                    [mark["us"] / 1000],
                    color=COLOURS[index % len(COLOURS)],
                    marker="D",
                    markersize=7.0,
                    markerfacecolor="none",
                    linestyle="none",
                    label=f"{_label(figure, mark['design'])}, paper",
                )
        axis.set_title(f"{figure.panels[experiment]}, {kind}s", fontsize=9)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        # Within a decade, and only there, marks between the powers of ten have numbers.
        axis.yaxis.set_minor_formatter(Plain(minor_thresholds=(1, 0.5)))
        names = ["max" if percent == 100 else f"{percent:g}" for percent in figure.percents]
        axis.set_xticks(places, names, rotation=30 if len(names) > 5 else 0)
        axis.set_xlabel("percentile")
        axis.set_ylabel(f"{kind} latency (ms)")
        axis.grid(visible=True, linewidth=0.3)


def _bars(all_heights: _Heights, figure: Figure, panels: _Panels, axes: list[Axes]) -> None:
    axis = axes[0]
    width = 0.8 / len(figure.designs)
    for index, design in enumerate(figure.designs):
        places, heights, tops = [], [], []
        for position, experiment in enumerate(panels):
            if (experiment, design) not in all_heights:
                continue
            low, high = all_heights[experiment, design]
            places.append(position + width * (index - (len(figure.designs) - 1) / 2))
            heights.append(low)
            tops.append(high)
        colour = COLOURS[index % len(COLOURS)]
        hatch = HATCHES[index // len(COLOURS) % len(HATCHES)]
        axis.bar(places, heights, width, color=colour, hatch=hatch, label=_label(figure, design))
        if any(tops):
            axis.bar(places, tops, width, bottom=heights, color=colour, alpha=0.4)
    axis.set_xticks(range(len(panels)), [figure.panels[name] for name in panels])
    axis.set_ylabel(figure.y_label)
    if figure.log_scale:
        axis.set_yscale("log")
    _levels(figure, axis)
    axis.grid(visible=True, axis="y", linewidth=0.3)
    axis.set_axisbelow(True)


def _levels(figure: Figure, axis: Axes) -> None:
    """The paper's values, across the whole axis."""
    for index, (label, value) in enumerate(figure.levels.items()):
        style = ("--", ":", "-.")[index % 3]
        axis.axhline(value, color="#666666", linestyle=style, linewidth=1.0, label=label)


def _curves(figure: Figure, panels: _Panels, axes: list[Axes]) -> None:
    if figure.curves:
        for axis, (experiment, panel) in zip(axes, panels.items(), strict=False):
            lines = {
                label: [panel.get(design) for design in designs]
                for label, designs in figure.curves.items()
            }
            whole = panel.get(figure.relative_to or "")
            _lines(figure, axis, lines, [whole] * len(figure.x))
            axis.set_title(figure.panels[experiment], fontsize=9)
        return
    columns = [panels.get(experiment, {}) for experiment in figure.panels]
    lines = {
        _label(figure, design): [panel.get(design) for panel in columns]
        for design in figure.designs
    }
    _lines(figure, axes[0], lines, [panel.get(figure.relative_to or "") for panel in columns])


def _lines(
    figure: Figure,
    axis: Axes,
    lines: dict[str, list[Outcome | None]],
    wholes: Sequence[Outcome | None],
) -> None:
    for index, (label, outcomes) in enumerate(lines.items()):
        points = []
        for x, outcome, whole in zip(figure.x, outcomes, wholes, strict=True):
            if outcome is None or (figure.relative_to is not None and whole is None):
                continue
            y, _ = _bar(figure, outcome.result)
            if whole is not None and figure.relative_to is not None:
                y *= 100 / _bar(figure, whole.result)[0]
            points.append((x, y))
        axis.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=COLOURS[index % len(COLOURS)],
            linestyle=STYLES[index // len(COLOURS) % len(STYLES)],
            marker="o",
            markersize=3.0,
            linewidth=1.2,
            label=label,
        )
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(figure.x), [f"{x:g}" for x in figure.x])
    axis.minorticks_off()
    axis.set_xlabel(figure.x_label)
    axis.set_ylabel(figure.y_label)
    _levels(figure, axis)
    axis.grid(visible=True, linewidth=0.3)


def _bar(figure: Figure, result: DesignResult) -> tuple[float, float]:
    """The height of a bar and of what stands on it."""
    match figure.value:
        case "mean_ms":
            both = (result.read, result.write)
            count = sum(each.count for each in both)
            total_us = sum(each.count * (each.mean_us or 0.0) for each in both)
            return total_us / count / 1000 if count else 0.0, 0.0
        case "gc_affected_percent":
            return result.gc_affected.percent or 0.0, 0.0
        case "plane_utilization_percent":
            return result.plane_utilization_during_gc_percent or 0.0, 0.0
        case "throughput_mb_s":
            return result.throughput.makespan_mb_per_second or 0.0, 0.0
        case "mean_read_ms":
            return (result.read.mean_us or 0.0) / 1000, 0.0
        case "erases":
            return float(result.erases), 0.0
        case "burst_write_mb_s":
            bursts = result.bursts
            return (bursts.write_mb_per_second or 0.0) if bursts is not None else 0.0, 0.0
        case "writes":
            return float(result.write.count), 0.0
        case "preferred_percent":
            return preferences_met_percent(result) or 0.0, 0.0
        case "blocked_percent":
            queue = result.queue_blocked_read_percent or 0.0
            return result.gc_blocked_read_percent or 0.0, queue
        case other:
            allowed = ["mean_ms", "mean_read_ms", "erases", "blocked_percent", "burst_write_mb_s"]
            allowed += ["gc_affected_percent", "plane_utilization_percent", "throughput_mb_s"]
            allowed += ["writes", "preferred_percent"]
            raise ConfigError(
                f'{figure.name}: unknown value "{other}"' + suggestion(other, allowed)
            )


def _timeline(figure: Figure, panels: _Panels, axes: list[Axes]) -> None:
    name, per = figure.value, 1.0
    if name.endswith("_ms"):
        name, per = f"{name.removesuffix('_ms')}_us", 1000.0
    for axis, (experiment, panel) in zip(axes, panels.items(), strict=False):
        for design, outcome in panel.items():
            index = figure.designs.index(design)
            series = outcome.result.series
            column: Sequence[float | None] = getattr(series, name)
            points = [
                (start, value / per)
                for start, value in zip(series.start_seconds, column, strict=True)
                if value is not None
            ]
            axis.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=COLOURS[index % len(COLOURS)],
                linestyle=STYLES[index % len(STYLES)],
                linewidth=1.0,
                label=_label(figure, design),
            )
        axis.set_title(figure.panels[experiment], fontsize=9)
        axis.set_xlabel("time (s)")
        axis.set_ylabel(figure.y_label)
        if figure.log_scale:
            axis.set_yscale("log")
        axis.grid(visible=True, linewidth=0.3)
