"""What is drawn of a comparison, as plain data: the same for the page and for the paper.

Latencies and times are in seconds here, so that axes can choose between µs, ms and s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tinytail import units
from tinytail.verdict.causes import holder, human_name
from tinytail.verdict.measurements import MEASURED
from tinytail.verdict.percentiles import SAMPLES_BEYOND

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult
    from tinytail.engine.results import Measured, Series, SlowestRequests

US = 1e-6

# Colours that most eyes tell apart (P. Okabe and K. Ito), and dashes once they have been used up.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot")

# The percentiles that a tail scale marks; on it each step is a tenth of what was left.
MARKED = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
FINEST = MARKED[-1]
# Percentiles are decimal fractions, which are not exact in binary ones.
ROUNDING = 1e-9
# Of so many shares of the slowest reads there are pictures.
SHARES_MAX = 3
USUAL_SHARE_PERCENT = 0.1
# How far beyond the last percentile the slowest request stands: its name must not touch the last.
MAX_GAP = 1.0
# How much of a logarithmic axis lies beyond its values at each end.
LOG_MARGIN = 0.05
# More windows than a picture is wide would only make a page slow.
WINDOWS_DRAWN_MAX = 500
# A cause that is nowhere so much of a bar stands among the others.
CAUSE_SHOWN_PERCENT = 1.0


@dataclass(frozen=True, slots=True)
class Style:
    """How a design's lines look, and its bars: hatched from the eighth design on."""

    colour: str
    dash: str
    hatched: bool


def style(position: int) -> Style:
    """The style of the design at a position; the first 28 differ.

    >>> style(0), style(7)  # doctest: +NORMALIZE_WHITESPACE
    (Style(colour='#0072b2', dash='solid', hatched=False),
     Style(colour='#0072b2', dash='dash', hatched=True))
    """
    turn, colour = divmod(position, len(COLOURS))
    return Style(COLOURS[colour], DASHES[turn % len(DASHES)], hatched=turn > 0)


def tail_scale(percent: float) -> float:
    """Where a percentile below 100 lies on a tail scale: the nines that it has.

    >>> round(tail_scale(90.0), 9), round(tail_scale(99.9), 9), round(tail_scale(50.0), 3)
    (1.0, 3.0, 0.301)
    """
    return -math.log10(1 - percent / 100)


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or steps: None in `y` is a gap."""

    design: str
    style: Style
    x: list[float]
    y: list[float | None]


@dataclass(frozen=True, slots=True)
class Tail:
    """Latencies of one design by percentile, and the slowest request."""

    design: str
    style: Style
    percent: list[float]
    seconds: list[float]
    max_seconds: float

    @property
    def x(self) -> list[float]:
        """The percentiles on the tail scale."""
        return [tail_scale(percent) for percent in self.percent]


def tails(comparison: Comparison, kind: Literal["read", "write"]) -> list[Tail]:
    """The latencies of each design that has such requests, and those measured in the trace.

    Percentiles that a run has too few requests for are the slowest request over again; they are
    left out.
    """
    runs: list[tuple[str, DesignResult | Measured]]
    runs = [(result.design, result) for result in comparison.results]
    measured = next((result.measured for result in comparison.results if result.measured), None)
    if measured is not None:
        runs.append((MEASURED, measured))
    found = []
    for position, (name, run) in enumerate(runs):
        latency = run.read if kind == "read" else run.write
        if not latency.count or latency.max_us is None:
            continue
        columns = run.distribution
        column = columns.read_us if kind == "read" else columns.write_us
        # Of n requests, the share 1/n at the top is the slowest one alone.
        finest = 100 * (1 - 1 / latency.count) + ROUNDING
        points = [
            (percent, us * US)
            for percent, us in zip(columns.percent, column, strict=True)
            if us is not None and percent <= min(finest, FINEST)
        ]
        found.append(
            Tail(
                name,
                style(position),
                [percent for percent, _ in points],
                [seconds for _, seconds in points],
                latency.max_us * US,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of latency as a part of bars: its name, its colour, and whether it is hatched."""

    key: str
    name: str
    colour: str
    hatched: bool


# Families of causes have families of colours: own work is grey, other work of the host blue, parity
# green, GC orange to brown, queues and lack of space purple.
_CAUSES = {
    "array": "#4d4d4d",
    "transfer": "#8c8c8c",
    "command": "#bdbdbd",
    "overhead": "#d9d9d9",
    "link": "#a6a6a6",
    "compute": "#737373",
    "buffer": "#e6e6e6",
    "die_host_read": "#56b4e9",
    "channel_host_read": "#56b4e9",
    "die_host_program": "#0072b2",
    "channel_host_program": "#0072b2",
    "die_host_program_suspend": "#4fa3d9",
    "die_flush": "#00476f",
    "channel_flush": "#00476f",
    "die_flush_suspend": "#33658a",
    "die_read_modify_write": "#7f9fd1",
    "channel_read_modify_write": "#7f9fd1",
    "die_parity": "#009e73",
    "channel_parity": "#009e73",
    "die_reconstruction": "#66c2a5",
    "channel_reconstruction": "#66c2a5",
    "die_gc_read": "#f0b94a",
    "channel_gc_read": "#f0b94a",
    "channel_locked_gc_read": "#f7dfa5",
    "die_gc_program": "#d55e00",
    "channel_gc_program": "#d55e00",
    "channel_locked_gc_program": "#f09a5f",
    "die_erase": "#7a2f00",
    "channel_erase": "#7a2f00",
    "die_gc_lock": "#c9a27e",
    "channel_locked_gc_other": "#c9a27e",
    "controller_gc": "#4f1c00",
    "die_gc_suspend": "#a87b00",
    "die_suspend": "#b3a100",
    "die_background": "#f0e442",
    "channel_background": "#f0e442",
    "overhead_wait": "#cc79a7",
    "buffer_wait": "#b0578d",
    "buffer_full": "#882d72",
    "space": "#5b2a86",
    "placement": "#7a5195",
    "assembly": "#9c6fb0",
    "link_wait": "#e3b7d3",
    "policy": "#b39ddb",
}
OTHERS = Cause("", "smaller causes", "#ffffff", hatched=False)


def _cause(key: str) -> Cause:
    # A wait for space in the write buffer has the colour of what its pages waited for.
    waited_for = holder(key)
    alike = next((each for each in (key, f"die_{waited_for}", waited_for) if each in _CAUSES), "")
    hatched = key.startswith("channel") or (waited_for != key and key.startswith("buffer"))
    return Cause(key, human_name(key), _CAUSES.get(alike, "#999933"), hatched=hatched)


@dataclass(frozen=True, slots=True)
class Bar:
    """Where the slowest reads of a design spent their time: mean seconds for each cause drawn."""

    design: str
    reads: int
    seconds_from: float | None
    mean_seconds: float
    parts: dict[str, float]


@dataclass(frozen=True, slots=True)
class AttributionTail:
    """The bars of one share of the slowest reads, one for each design that has reads."""

    share_percent: float
    bars: list[Bar]

    @property
    def title(self) -> str:
        """Which reads they are of, and how many."""
        many = units.counts(bar.reads for bar in self.bars)
        return f"slowest {self.share_percent:g} % of reads ({many})"


def attribution(comparison: Comparison) -> tuple[list[Cause], list[AttributionTail]]:
    """Where the slowest reads spent their time, by share, and the causes in the order of stacking.

    The shares are the three smallest that ten reads of a design belong to; a design of which fewer
    reads do has no bar there. Causes that are small everywhere are summed under `OTHERS`.
    """
    groups: dict[float, list[tuple[str, SlowestRequests]]] = {}
    for result in comparison.results:
        for tail in result.attribution.tails:
            if tail.count >= SAMPLES_BEYOND:
                groups.setdefault(tail.share_percent, []).append((result.design, tail))
    groups = {percent: groups[percent] for percent in sorted(groups)[:SHARES_MAX]}
    shown = {
        share.cause
        for bars in groups.values()
        for _, tail in bars
        for share in tail.ranked()
        if share.percent >= CAUSE_SHOWN_PERCENT
    }
    order = list(_CAUSES)
    keys = sorted(shown, key=lambda key: (order.index(key) if key in order else len(order), key))
    tails = [
        AttributionTail(percent, [_bar(design, tail, keys) for design, tail in bars])
        for percent, bars in sorted(groups.items(), reverse=True)
    ]
    causes = [_cause(key) for key in keys]
    if any(OTHERS.key in bar.parts for tail in tails for bar in tail.bars):
        causes.append(OTHERS)
    return causes, tails


def usual_tail(tails: Sequence[AttributionTail]) -> AttributionTail | None:
    """The one that stands alone: of the slowest 0.1 %, or of the smallest share with ten reads."""
    usual = (tail for tail in tails if tail.share_percent == USUAL_SHARE_PERCENT)
    return next(usual, tails[-1] if tails else None)


def _bar(design: str, tail: SlowestRequests, keys: Sequence[str]) -> Bar:
    parts = {key: tail.ns[key] / 1e9 / tail.count for key in keys if tail.ns.get(key)}
    rest_ns = sum(ns for key, ns in tail.ns.items() if key not in parts)
    if rest_ns:
        parts[OTHERS.key] = rest_ns / 1e9 / tail.count
    return Bar(
        design=design,
        reads=tail.count,
        seconds_from=None if tail.latency_us_from is None else tail.latency_us_from * US,
        mean_seconds=sum(tail.ns.values()) / 1e9 / tail.count,
        parts=parts,
    )


Merge = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure over time: its title, the lines of the designs, and what its values are.

    `second` are further lines, drawn thinner, of what `second_title` says.
    """

    title: str
    values: Literal["seconds", "count"]
    is_log: bool
    lines: list[Line]
    from_zero: bool = True
    second_title: str = ""
    second: tuple[Line, ...] = ()

    @property
    def is_zero(self) -> bool:
        """Whether nothing that it shows is above 0."""
        return not any(y for line in self.lines for y in line.y)


def mean(values: Sequence[float]) -> float:
    """The mean of some values."""
    return sum(values) / len(values)


def over_time(comparison: Comparison) -> list[Row]:
    """The run over simulated time: percentiles, GCs, free blocks and load, all on one axis."""

    def lines(column: str, merge: Merge, per: float = 1.0) -> list[Line]:
        return [
            line_over_time(result, style(position), column, merge, per)
            for position, result in enumerate(comparison.results)
        ]

    percentiles = {"p50": "p50", "p99": "p99", "p99.9": "p999", "slowest": "max"}
    rows = [
        Row(
            f"{name} of reads" if name != "slowest" else "slowest read",
            "seconds",
            is_log=True,
            lines=lines(f"read_{column}_us", max, US),
        )
        for name, column in percentiles.items()
    ]
    # Windows of few reads have the slowest one as p99.9, and even as p99: that is drawn once.
    slowest = rows.pop()
    rows = [*(row for row in rows if row.lines != slowest.lines), slowest]
    gcs = [_gcs(result, style(position)) for position, result in enumerate(comparison.results)]
    rows.append(Row("GCs completed per second", "count", is_log=False, lines=gcs))
    rows.append(
        Row(
            "erased blocks of a plane",
            "count",
            is_log=False,
            lines=lines("free_blocks_min", min),
            from_zero=False,
            second_title="mean of all planes",
            second=tuple(lines("free_blocks_mean", mean)),
        )
    )
    load = lines("requests_per_second", mean)
    rows.append(Row("requests per second", "count", is_log=False, lines=load))
    return rows


def windows_merged(series: Series) -> int:
    """How many windows of a series are drawn as one."""
    return max(1, math.ceil(len(series.reads) / WINDOWS_DRAWN_MAX))


def line_over_time(
    result: DesignResult, style: Style, column: str, merge: Merge, per: float
) -> Line:
    """A column over simulated time, several windows as one where there are very many."""
    series = result.series
    values: tuple[float | None, ...] = getattr(series, column)
    step = windows_merged(series)
    x, y = [], []
    for first in range(0, len(values), step):
        known = [value * per for value in values[first : first + step] if value is not None]
        x.append(first * series.window_seconds)
        y.append(merge(known) if known else None)
    return Line(result.design, style, x, y)


def _gcs(result: DesignResult, style: Style) -> Line:
    """GCs per second: windows may be of one length for one design and of another for the next."""
    line = line_over_time(result, style, "gcs", sum, 1.0)
    ends = [*line.x[1:], result.simulated_seconds]
    lengths = [end - start for start, end in zip(line.x, ends, strict=False)]
    y = [
        count / length if count is not None and length > 0 else None
        for count, length in zip(line.y, lengths, strict=True)
    ]
    return replace(line, y=y)


def wear(comparison: Comparison) -> list[Line]:
    """How many blocks each design erased how often."""
    return [
        Line(
            result.design,
            style(position),
            [float(erases) for erases in result.wear.blocks.erases],
            [float(blocks) for blocks in result.wear.blocks.blocks],
        )
        for position, result in enumerate(comparison.results)
    ]


def time_unit(longest_seconds: float) -> tuple[str, float]:
    """The unit in which an axis up to a time has handy numbers, and its length in seconds.

    >>> time_unit(0.07), time_unit(300.0), time_unit(0.0)
    (('ms', 0.001), ('s', 1.0), ('µs', 1e-06))
    """
    for name, seconds in (("s", 1.0), ("ms", 1e-3)):
        if longest_seconds >= 2 * seconds:
            return name, seconds
    return "µs", US


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis of latencies: its ends, and its ticks with what they say."""

    low: float
    high: float
    ticks: list[float]
    labels: list[str]


def log_axis(seconds: Sequence[float], labels_max: int) -> LogAxis | None:
    """A logarithmic axis for some latencies; None if none is above 0.

    Ticks stand at 1, 2 and 5 of each decade, at 1 alone where those would be too many. Two ticks at
    least are on the axis, which reaches beyond the values where need be: one tick has no scale.

    >>> log_axis([0.0004, 0.003], 9).labels, log_axis([0.00041, 0.00048], 9).labels
    (['500 µs', '1 ms', '2 ms'], ['200 µs', '500 µs'])
    """
    positive = [each for each in seconds if each > 0]
    if not positive:
        return None
    low, high = min(positive), max(positive)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    margin = (high / low) ** LOG_MARGIN
    for steps in ((1, 2, 5), (1,)):
        ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
        inside = [tick for tick in ticks if low / margin <= tick <= high * margin]
        if len(inside) <= labels_max:
            break
    if len(inside) < 2:
        low = max(tick for tick in ticks if tick <= low)
        high = min(tick for tick in ticks if tick >= high and tick > low)
        margin = (high / low) ** LOG_MARGIN
        inside = [low, high]
    return LogAxis(low / margin, high * margin, inside, [tick_label(tick) for tick in inside])


def tick_label(seconds: float) -> str:
    """A round time with its unit.

    >>> [tick_label(each) for each in (0.0, 2e-8, 5e-6, 0.001, 0.02, 10.0)]
    ['0', '20 ns', '5 µs', '1 ms', '20 ms', '10 s']
    """
    if seconds == 0:
        return "0"
    lengths = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
    name, length = next(
        (unit for unit in lengths if seconds >= unit[1] * (1 - ROUNDING)), lengths[-1]
    )
    return f"{seconds / length:.4g} {name}"
