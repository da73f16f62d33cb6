"""Draws all details of a comparison: facts, one table that fits the width, and causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.comparison.curve import curve
from tinytail.inputs.tables import design_label
from tinytail.terminal.table import GAP, Column, Row, laid_out
from tinytail.verdict.causes import human_name, together
from tinytail.verdict.rows import facts, table_rows
from tinytail.verdict.sentences import warnings

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

ATTRIBUTION_SHOWN_PERCENT = 0.5


def comparison_view(comparison: Comparison, width: int) -> RenderableType:
    """A comparison: what was run, one table, and where the slowest reads spent their time."""
    parts: list[RenderableType] = [_header(comparison)]
    if comparison.results:
        parts.append(Text())
        parts += _table(comparison, width)
        drawn = curve(comparison, width)
        parts += [Text(), *drawn] if drawn else []
        parts.append(_attribution(comparison))
    return Group(*parts)


def _header(comparison: Comparison) -> RenderableType:
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    found = [("finding", str(warning)) for warning in warnings(comparison)]
    for label, fact in [*found, *facts(comparison)]:
        style = "bold yellow" if label in ("PARTIAL", "STOPPED") else "dim"
        grid.add_row(Text(label, style), Text(fact))
    return grid


def _table(comparison: Comparison, width: int) -> list[Text]:
    rows = [
        Row(row.label, row.values, row.ratios, row.margins, starts_section=row.starts_section)
        for row in table_rows(comparison)
    ]
    columns = [
        Column(
            design_label(result.design),
            [row.values[index] for row in rows],
            [row.margins[index] for row in rows],
            [row.ratios[index] for row in rows],
        )
        for index, result in enumerate(comparison.results)
    ]
    return laid_out(rows, columns, width, ruled=True)


def _attribution(comparison: Comparison) -> RenderableType:
    parts: list[RenderableType] = [Text()]
    shares = [result.attribution.slowest_reads.share_percent for result in comparison.results]
    share = f"{shares[0]:g}" if shares[0] is not None else "0.1"
    parts.append(
        Text(f"Where the slowest {share} % of reads spent their time (mean per read)", "bold")
    )
    for result in comparison.results:
        parts.append(_design_attribution(result))
    return Group(*parts)


def _design_attribution(result: DesignResult) -> RenderableType:
    slowest = result.attribution.slowest_reads
    title = Text.assemble((design_label(result.design), "bold"))
    if not slowest.count:
        title.append(": no reads")
        return title
    title.append(f": {units.counted(slowest.count, 'read')}")
    if slowest.latency_us_from is not None:
        title.append(f" from {units.latency(slowest.latency_us_from)} on")
    title.append(f", mean {units.latency(slowest.mean_us)}")
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    ranked = slowest.ranked()
    shown = [cause for cause in ranked if cause.percent >= ATTRIBUTION_SHOWN_PERCENT]
    rest = ranked[len(shown) :]
    for cause in shown:
        grid.add_row(
            f"  {units.percent(cause.percent)}",
            units.latency(cause.mean_us),
            Text(human_name(cause.cause)),
        )
    if rest:
        grid.add_row(
            f"  {units.percent(sum(cause.percent for cause in rest))}",
            units.latency(sum(cause.mean_us for cause in rest)),
            Text(together([cause.cause for cause in rest])),
        )
    parts: list[RenderableType] = [title, grid]
    if slowest.queue_blocked:
        share = units.percent(slowest.host_queue_percent)
        reads = units.counted(slowest.queue_blocked, "read")
        parts.append(Text(f"  {share} of it in the host: the device queue was full for {reads}"))
    acted = [f"{name} {units.count(n)}" for name, n in result.techniques.items() if n > 0]
    if acted:
        parts.append(Text(f"  techniques acted: {', '.join(acted)}"))
    return Group(*parts)
