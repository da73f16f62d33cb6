"""What a notebook shows of a comparison, in one piece of HTML: sentences, table, bars and curve.

Nothing is fetched and no script runs. Text has the colour of the notebook, so that dark ones are
legible. What is shown is bounded: of very many designs it has the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Literal

from tinytail import units
from tinytail.pictures import data
from tinytail.verdict import measurements
from tinytail.verdict.noise import margin
from tinytail.verdict.percentiles import PERCENTILES, latency_of
from tinytail.verdict.sentences import failures, sentences, warnings

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

DESIGNS_MAX = 12
NOTES_MAX = 5
NAME_CHARACTERS_MAX = 40
# Pixels.
WIDTH, CURVE_HEIGHT, BAR_HEIGHT, LINE_HEIGHT = 720, 300, 20, 18
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 24, 40
NAMES_WIDTH = 200
TEXT = 'font-family="sans-serif" font-size="11" fill="currentColor"'
FAINT = 'stroke="currentColor" stroke-opacity="0.2"'
# The share of the slowest reads that bars are drawn of.
SHARE_PERCENT = 0.1
LEGEND_COLUMNS = 2


def html(comparison: Comparison) -> str:
    """The comparison as HTML that needs nothing else."""
    shown = replace(comparison, results=comparison.results[:DESIGNS_MAX])
    parts = [
        _sentences(comparison),
        _table(shown),
        _left_out(comparison),
        _measured(shown),
        _bars(shown),
        _curve(shown),
    ]
    return f'<div class="tinytail">{"".join(parts)}</div>'


def _name(design: str) -> str:
    if len(design) > NAME_CHARACTERS_MAX:
        design = f"…{design[-NAME_CHARACTERS_MAX:]}"
    return escape(design)


def _sentences(comparison: Comparison) -> str:
    said = sentences(comparison)
    items = [f"<li><b>{_name(each.design)}</b>: {escape(each.text)}</li>" for each in said]
    notes = warnings(comparison, briefly=True)
    noted = [f"<li><i>{escape(note.text)}</i></li>" for note in notes[:NOTES_MAX]]
    if len(notes) > NOTES_MAX:
        noted.append(f"<li><i>and {len(notes) - NOTES_MAX} more findings</i></li>")
    what = f"{comparison.workload.name} on {comparison.device}"
    why = [f"<li>{escape(each)}</li>" for each in failures(comparison)]
    listed = "".join([*items[:DESIGNS_MAX], *why[:DESIGNS_MAX], *noted])
    return f"<p>{escape(what)}</p><ul>{listed}</ul>"


def _left_out(comparison: Comparison) -> str:
    more = len(comparison.results) - DESIGNS_MAX
    return f"<p>and {more} more designs, which to_polars() has</p>" if more > 0 else ""


def _table(comparison: Comparison) -> str:
    if not comparison.results:
        return ""
    kinds: list[Literal["read", "write"]] = ["read", "write"]
    heads = ["<th></th>"]
    rows = [
        [f'<th style="text-align:left">{_name(result.design)}</th>']
        for result in comparison.results
    ]

    def column(head: str, cells: Sequence[str]) -> None:
        heads.append(f'<th style="text-align:right">{head}</th>')
        for row, cell in zip(rows, cells, strict=True):
            row.append(f'<td style="text-align:right;white-space:nowrap">{cell}</td>')

    for kind in kinds:
        if not any(latency_of(result, kind).count for result in comparison.results):
            continue
        for percentile in PERCENTILES:
            values = [percentile.of(latency_of(result, kind)) for result in comparison.results]
            if any(value is not None for value in values) and percentile.name != "p90":
                name = f"{kind}.{percentile.key}"
                cells = [
                    _latency(result, name, value)
                    for result, value in zip(comparison.results, values, strict=True)
                ]
                column(f"{kind}s {percentile.name}", cells)
        slowest = [units.latency(latency_of(r, kind).max_us) for r in comparison.results]
        column(f"{kind}s max", slowest)
    amplification = [result.write_amplification for result in comparison.results]
    column(
        "write ampl.",
        [units.MISSING if each is None else units.number(each) for each in amplification],
    )
    column("erases", [units.count(result.erases) for result in comparison.results])
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    return f'<table style="font-size:small">{head}<tbody>{body}</tbody></table>'


def _measured(comparison: Comparison) -> str:
    parts = []
    for table in measurements.tables(comparison):
        rows = [("", table.percentiles), *table.rows]
        cells = [
            f'<tr><th style="text-align:left">{_name(name)}</th>'
            + "".join(f'<td style="text-align:right">{cell}</td>' for cell in each)
            + "</tr>"
            for name, each in rows
        ]
        parts.append(f'<table style="font-size:small">{"".join(cells)}</table>')
    return "".join([*parts, f"<p>{escape(measurements.meaning(comparison))}</p>"]) if parts else ""


def _latency(result: DesignResult, name: str, value: float | None) -> str:
    """A latency and how far it may be off; the ends of its interval are shown on pointing at it."""
    shown = units.latency(value)
    interval = None if value is None else result.intervals.get(name)
    if interval is None:
        return shown
    ends = f"{units.latency(interval.low)} – {units.latency(interval.high)}"
    title = f"{ends}: {interval.level_percent:g} % interval from {interval.n} {interval.method}"
    return f'{shown} <small title="{title}">{margin(result, name)}</small>'


def _svg(height: float, label: str, parts: Iterator[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}" style="max-width:100%" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.4g}" y="{y:.4g}" text-anchor="{anchor}" {TEXT}>{text}</text>'


def _curve(comparison: Comparison) -> str:
    tails = data.tails(comparison, "read")
    kind = "reads" if tails else "writes"
    tails = tails or data.tails(comparison, "write")
    if not tails:
        return ""
    height = CURVE_HEIGHT + LINE_HEIGHT * len(tails)
    return _svg(height, f"latency of {kind} by percentile", _curve_parts(tails, kind))


def _curve_parts(tails: Sequence[data.Tail], kind: str) -> Iterator[str]:
    seconds = [each for tail in tails for each in (*tail.seconds, tail.max_seconds) if each > 0]
    ticks, labels = data.log_ticks(seconds, 10)
    furthest = max(1.0, *(x for tail in tails for x in tail.x))
    end = furthest + data.MAX_GAP
    place = _log_scale([*ticks, *seconds], CURVE_HEIGHT - BOTTOM, TOP)

    def across(x: float) -> float:
        return LEFT + x / (end + 0.2) * (WIDTH - LEFT - RIGHT)

    yield _text(LEFT, TOP - 10, f"latency of {kind} by percentile")
    for tick, label in zip(ticks, labels, strict=True):
        y = place(tick)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" {FAINT}/>'
        yield _text(LEFT - 6, y + 4, label, "end")
    marked = [p for p in data.MARKED if data.tail_scale(p) <= furthest + data.ROUNDING]
    places = [(data.tail_scale(percent), f"p{percent:g}") for percent in marked]
    for x, label in [*places, (end, "max")]:
        yield f'<path d="M{across(x):.1f} {TOP}V{CURVE_HEIGHT - BOTTOM}" {FAINT}/>'
        yield _text(across(x), CURVE_HEIGHT - BOTTOM + 16, label, "middle")
    for position, tail in enumerate(tails):
        colour = tail.style.colour
        dash = {"dash": ' stroke-dasharray="7 4"', "dot": ' stroke-dasharray="2 3"'}
        stroke = f'stroke="{colour}" stroke-width="2" fill="none"{dash.get(tail.style.dash, "")}'
        points = " ".join(
            f"{across(x):.1f},{place(y):.1f}" for x, y in zip(tail.x, tail.seconds, strict=True)
        )
        yield f'<polyline points="{points}" {stroke}/>'
        x, y = across(end), place(tail.max_seconds)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        y = CURVE_HEIGHT + LINE_HEIGHT * position
        yield f'<path d="M{LEFT} {y - 4}h28" {stroke}/>'
        yield _text(LEFT + 36, y, _name(tail.design))


def _log_scale(values: Sequence[float], bottom: float, top: float) -> Callable[[float], float]:
    positive = [math.log10(value) for value in values if value > 0]
    low, high = min(positive, default=0.0), max(positive, default=1.0)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        share = (math.log10(value) - low) / span if value > 0 else 0.0
        return bottom - share * (bottom - top)

    return place


def _bars(comparison: Comparison) -> str:
    causes, tails = data.attribution(comparison)
    tail = next((tail for tail in tails if tail.share_percent == SHARE_PERCENT), None)
    if tail is None:
        return ""
    used = [cause for cause in causes if any(cause.key in bar.parts for bar in tail.bars)]
    rows = -(-len(used) // LEGEND_COLUMNS)
    height = TOP + BAR_HEIGHT * len(tail.bars) + 10 + LINE_HEIGHT * rows
    label = f"where the slowest {SHARE_PERCENT:g} % of reads spent their time"
    return _svg(height, label, _bars_parts(tail, used))


def _bars_parts(tail: data.AttributionTail, causes: Sequence[data.Cause]) -> Iterator[str]:
    longest = max(bar.mean_seconds for bar in tail.bars) or data.US
    scale = (WIDTH - NAMES_WIDTH - 90) / longest
    yield _text(0, TOP - 10, f"{tail.title}, mean time of a read")
    for row, bar in enumerate(tail.bars):
        y, x = TOP + BAR_HEIGHT * row, float(NAMES_WIDTH)
        yield _text(NAMES_WIDTH - 8, y + 12, _name(bar.design), "end")
        for cause in causes:
            width = bar.parts.get(cause.key, 0.0) * scale
            if width > 0:
                share = 100 * bar.parts[cause.key] / bar.mean_seconds
                title = f"{escape(cause.name)}: {share:.1f} %"
                yield f"{_box(x, y, width, cause)}<title>{title}</title></rect>"
                x += width
        yield _text(x + 6, y + 12, units.latency(bar.mean_seconds / data.US))
    top = TOP + BAR_HEIGHT * len(tail.bars) + 4
    for position, cause in enumerate(causes):
        row, place = divmod(position, LEGEND_COLUMNS)
        x, y = place * WIDTH / LEGEND_COLUMNS, top + LINE_HEIGHT * row
        yield f"{_box(x, y, 12, cause)}</rect>"
        yield _text(x + 18, y + 12, escape(cause.name))


def _box(x: float, y: float, width: float, cause: data.Cause) -> str:
    """A part of a bar, left open. What waits for a channel is paler than what waits for a die."""
    pale = ' fill-opacity="0.55"' if cause.hatched else ""
    return (
        f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.2f}" height="14" fill="{cause.colour}"'
        f'{pale} stroke="#8c8c8c" stroke-width="0.3">'
    )
