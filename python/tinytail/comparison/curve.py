"""Draws latencies over percentiles as text: each nine more is one step to the right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from tinytail import units
from tinytail.inputs.tables import design_label
from tinytail.verdict.measurements import MEASURED
from tinytail.verdict.percentiles import PERCENTILES, Kind, headline

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison
    from tinytail.engine.results import Distribution, Latency, Measured

HEIGHT = 10
PLOT_MIN = 16
PLOT_MAX = 90
# A design is drawn by the digit that stands before its name, and what a trace holds by a letter.
MARKS = "123456789"
MEASURED_MARK = "m"


def curve(comparison: Comparison, width: int) -> list[Text]:
    """The tails of up to nine designs, to the deepest percentile that all have samples for.

    Latencies that were measured in the trace are one curve more.
    """
    judged_by = headline(comparison.results)
    if judged_by is None:
        return []
    kind, depth = judged_by.kind, math.log10(judged_by.percentile.one_in)
    results = comparison.results[: len(MARKS)]
    columns = [_column(result.distribution, kind) for result in results]
    legend = [
        f"{mark} {design_label(each.design)}" for mark, each in zip(MARKS, results, strict=False)
    ]
    marks = MARKS[: len(results)]
    measured = next((each.measured for each in results if each.measured), None)
    if measured is not None and judged_by.percentile.of(_latency(measured, kind)) is not None:
        columns.append(_column(measured.distribution, kind))
        legend.append(f"{MEASURED_MARK} {MEASURED}")
        marks += MEASURED_MARK
    values = [us for column in columns for _, us in column if us > 0]
    if not values or depth <= 0:
        return []
    low, high = math.log10(min(values)), math.log10(max(values))
    labels = {0: _label(high), HEIGHT // 2: _label((low + high) / 2), HEIGHT - 1: _label(low)}
    margin = max(map(cell_len, labels.values())) + 2
    plot = min(PLOT_MAX, width - margin)
    if plot < PLOT_MIN:
        return []
    rows = [[" "] * plot for _ in range(HEIGHT)]
    for mark, column in zip(marks, columns, strict=True):
        for x in range(plot):
            us = _at(column, 100 * (1 - 10 ** (-depth * x / (plot - 1))))
            if us > 0:
                y = (high - math.log10(us)) / (high - low or 1) * (HEIGHT - 1)
                rows[round(y)][x] = mark if rows[round(y)][x] == " " else "*"
    lines = [Text(f"Latency of {kind}s by percentile, log scale", "bold")]
    for index, row in enumerate(rows):
        label = labels.get(index, "")
        before = " " * (margin - 2 - cell_len(label)) + label
        lines.append(Text(f"{before} |{''.join(row)}".rstrip()))
    lines.append(Text(" " * margin + _axis(plot, depth)))
    several = ["* several"] if any("*" in row for row in rows) else []
    lines.append(Text("  ".join([*legend, *several])))
    return lines


def _latency(measured: Measured, kind: Kind) -> Latency:
    return measured.read if kind == "read" else measured.write


def _column(found: Distribution, kind: Kind) -> list[tuple[float, float]]:
    values = found.read_us if kind == "read" else found.write_us
    return [
        (percent, us) for percent, us in zip(found.percent, values, strict=True) if us is not None
    ]


def _at(column: Sequence[tuple[float, float]], percent: float) -> float:
    """The latency of the first percentile that is not below one; 0 if there is none."""
    return next((us for each, us in column if each >= percent - 1e-9), 0.0)


def _label(exponent: float) -> str:
    return units.latency(10**exponent)


def _axis(plot: int, depth: float) -> str:
    line = ""
    for percentile in PERCENTILES:
        at = round(math.log10(percentile.one_in) / depth * (plot - 1))
        start = max(0, min(at - len(percentile.name) // 2, plot - len(percentile.name)))
        if at < plot and start >= len(line) + (1 if line else 0):
            line += " " * (start - len(line)) + percentile.name
    return line
