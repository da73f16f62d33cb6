"""What a notebook shows of a comparison, in one piece of HTML: sentences, table, bars and curve.

Nothing is fetched and no script runs. Text has the colour of the notebook, and pictures have a
white ground, so that dark ones are legible. What is shown is bounded: of very many designs it has
the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Literal

from tinytail import units
from tinytail.errors import installation
from tinytail.inputs import libraries
from tinytail.inputs.tables import design_label
from tinytail.verdict import measurements
from tinytail.verdict.noise import margin
from tinytail.verdict.percentiles import PERCENTILES, latency_of
from tinytail.verdict.sentences import failures, sentences, warnings

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

DESIGNS_MAX = 12
NOTES_MAX = 5
NAME_CHARACTERS_MAX = 40


def html(comparison: Comparison) -> str:
    """The comparison as HTML that needs nothing else."""
    shown = replace(comparison, results=comparison.results[:DESIGNS_MAX])
    parts = [
        _sentences(comparison),
        _table(shown),
        _left_out(comparison),
        _measured(shown),
        _pictures(shown),
    ]
    return f'<div class="tinytail">{"".join(parts)}</div>'


def _name(design: str) -> str:
    design = design_label(design)
    if len(design) > NAME_CHARACTERS_MAX:
        design = f"…{design[-NAME_CHARACTERS_MAX:]}"
    return escape(design)


def _sentences(comparison: Comparison) -> str:
    said = sentences(comparison)
    items = [f"<li><b>{_name(each.design)}</b>: {escape(each.text)}</li>" for each in said]
    notes = warnings(comparison, briefly=True)
    noted = [f"<li><i>{escape(note.text)}</i></li>" for note in notes[:NOTES_MAX]]
    if len(notes) > NOTES_MAX:
        noted.append(f"<li><i>and {units.counted(len(notes) - NOTES_MAX, 'more finding')}</i></li>")
    what = f"{comparison.workload.name} on {comparison.device}"
    why = [f"<li>{escape(each)}</li>" for each in failures(comparison)]
    listed = "".join([*items[:DESIGNS_MAX], *why[:DESIGNS_MAX], *noted])
    return f"<p>{escape(what)}</p><ul>{listed}</ul>"


def _left_out(comparison: Comparison) -> str:
    more = len(comparison.results) - DESIGNS_MAX
    return (
        f"<p>and {units.counted(more, 'more design')}, which to_polars() has</p>"
        if more > 0
        else ""
    )


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
    meaning = measurements.meaning(comparison)
    return "".join([*parts, f"<p>{escape(meaning)}</p>" if meaning else ""])


def _latency(result: DesignResult, name: str, value: float | None) -> str:
    """A latency and how far it may be off; the ends of its interval are shown on pointing at it."""
    shown = units.latency(value)
    interval = None if value is None else result.intervals.get(name)
    if interval is None:
        return shown
    ends = f"{units.latency(interval.low)} – {units.latency(interval.high)}"
    title = f"{ends}: {interval.level_percent:g} % interval from {interval.n} {interval.method}"
    return f'{shown} <small title="{title}">{margin(result, name)}</small>'


def _pictures(comparison: Comparison) -> str:
    """Where the slowest reads spent their time, and the curve of the tail, as SVG in the page."""
    if not comparison.results:
        return ""
    if not libraries.are_there("matplotlib"):
        remedy = escape(installation("matplotlib"))
        return f"<p>Pictures need matplotlib; to install: {remedy}</p>"
    from tinytail.pictures import paper

    return "".join(f"<div>{svg}</div>" for svg in paper.inline(comparison))
