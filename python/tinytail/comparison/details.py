"""Draws all details of a comparison: facts, one table that fits the width, and causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.comparison.curve import curve
from tinytail.terminal.table import COLUMN_GAP
from tinytail.verdict.causes import human_name
from tinytail.verdict.rows import TableRow, facts, table_rows
from tinytail.verdict.sentences import warnings

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

ATTRIBUTION_SHOWN_PERCENT = 0.5


def comparison_view(comparison: Comparison, width: int) -> RenderableType:
    """A comparison: what was run, one table, and where the slowest reads spent their time."""
    parts: list[RenderableType] = [_header(comparison)]
    if comparison.results:
        parts.append(Text())
        parts += _tables(comparison, width)
        drawn = curve(comparison, width)
        parts += [Text(), *drawn] if drawn else []
        parts.append(_attribution(comparison))
    return Group(*parts)


def _header(comparison: Comparison) -> RenderableType:
    grid = Table.grid(padding=(0, COLUMN_GAP))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    found = [("finding", str(warning)) for warning in warnings(comparison)]
    for label, fact in [*found, *facts(comparison)]:
        style = "bold yellow" if label in ("PARTIAL", "STOPPED") else "dim"
        grid.add_row(Text(label, style), Text(fact))
    return grid


def _tables(comparison: Comparison, width: int) -> list[RenderableType]:
    """One table; more than one only if the designs do not fit side by side at all."""
    rows = table_rows(comparison)
    label_width = max(cell_len(row.label) for row in rows)
    width_max = max(1, width - label_width - COLUMN_GAP)
    for stacked in (False, True):
        title_width = width_max if stacked else None
        columns = [
            _Column(result.design, rows, index, title_width)
            for index, result in enumerate(comparison.results)
        ]
        if label_width + sum(column.width + COLUMN_GAP for column in columns) <= width:
            return [_table(rows, columns)]
    tables: list[RenderableType] = []
    group: list[_Column] = []
    used = label_width
    for column in columns:
        if group and used + column.width + COLUMN_GAP > width:
            tables.append(_table(rows, group))
            group, used = [], label_width
        group.append(column)
        used += column.width + COLUMN_GAP
    return [*tables, _table(rows, group)]


class _Column:
    """The cells of one design, aligned by hand so that units and ratios line up.

    With a width for its title it is stacked: a ratio stands under its value instead of beside it,
    and a long name is broken at its plus signs, and wherever it is longer than that width.
    """

    def __init__(
        self,
        design: str,
        rows: Sequence[TableRow],
        index: int,
        title_width: int | None,
    ) -> None:
        values = [row.values[index] for row in rows]
        margins = [row.margins[index] for row in rows]
        room = max(map(cell_len, margins))
        if room and title_width is None:
            pairs = zip(values, margins, strict=True)
            values = [f"{value} {_right(found, room)}" for value, found in pairs]
        ratios = [row.ratios[index] for row in rows]
        title = [design]
        if title_width is not None:
            first, *overlays = design.split("+")
            names = [first, *(f"+{overlay}" for overlay in overlays)]
            title = [part for name in names for part in chop_cells(name, title_width)]
        value_width = max(map(cell_len, values))
        ratio_width = max(map(cell_len, ratios))
        if title_width is not None:
            self.width = max(value_width, ratio_width, *map(cell_len, title))
            self.cells = [
                "\n".join(_right(part, self.width) for part in (value, ratio) if part)
                for value, ratio in zip(values, ratios, strict=True)
            ]
        else:
            gap = 1 if ratio_width else 0
            body_width = value_width + gap + ratio_width
            self.width = max(body_width, *map(cell_len, title))
            self.cells = [
                _right(
                    _right(value, value_width) + " " * gap + _right(ratio, ratio_width), self.width
                )
                for value, ratio in zip(values, ratios, strict=True)
            ]
        self.title = "\n".join(_right(part, self.width) for part in title)


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _table(rows: Sequence[TableRow], columns: Sequence[_Column]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, COLUMN_GAP - 1, 0, 0), show_edge=False
    )
    table.add_column("", no_wrap=True)
    for column in columns:
        # Where not even one design has room, figures are broken and not cut.
        table.add_column(Text(column.title), overflow="fold")
    for index, row in enumerate(rows):
        style = "bold" if row.starts_section and not row.label.startswith(" ") else ""
        if row.starts_section and index:
            table.add_row()
        table.add_row(Text(row.label, style), *(Text(column.cells[index]) for column in columns))
    return table


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
    title = Text.assemble((result.design, "bold"))
    if not slowest.count:
        title.append(": no reads")
        return title
    title.append(f": {units.count(slowest.count)} reads")
    if slowest.latency_us_from is not None:
        title.append(f" from {units.latency(slowest.latency_us_from)} on")
    title.append(f", mean {units.latency(slowest.mean_us)}")
    grid = Table.grid(padding=(0, COLUMN_GAP))
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
            Text(f"{len(rest)} smaller causes" if len(rest) > 1 else human_name(rest[0].cause)),
        )
    parts: list[RenderableType] = [title, grid]
    if slowest.queue_blocked:
        share = units.percent(slowest.host_queue_percent)
        reads = units.count(slowest.queue_blocked)
        parts.append(
            Text(f"  {share} of it in the host: the device queue was full for {reads} reads")
        )
    acted = [f"{name} {units.count(n)}" for name, n in result.techniques.items() if n > 0]
    if acted:
        parts.append(Text(f"  techniques acted: {', '.join(acted)}"))
    return Group(*parts)
