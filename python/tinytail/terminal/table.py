"""Tables and lists of facts, as every command shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tinytail import units

GAP = 2
# How much of a table is shown where a ratio stands under its value.
STACKED = -1
# A space that no line ends at: the pattern of those before a unit, and what stands in their place.
_UNIT = re.compile(r"(\d) (%|µs|ms|s\b|times\b)")
_TOGETHER = "\ue000"


def list_table(*headings: str) -> Table:
    """A table without lines between its rows: what stands in the first column is not broken."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for position, heading in enumerate(headings):
        if position == 0:
            table.add_column(heading, no_wrap=True)
        else:
            table.add_column(heading, overflow="fold")
    return table


def facts_view(document: Mapping[str, Any]) -> Table:
    """Facts of a trace or an image, one a line; nested ones under the name of their group."""
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in _flatten(document):
        grid.add_row(Text(label, "dim"), Text(value))
    return grid


def _flatten(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{units.words(key)} ")
        elif key.endswith("_percent") and isinstance(value, int | float):
            yield f"{prefix}{units.words(key.removesuffix('_percent'))}", units.percent(value)
        else:
            yield f"{prefix}{units.words(key)}", units.value(value)


def wrapped(text: Text, width: int, *, indent: int = 0) -> list[Text]:
    """A text in lines of at most so many columns; those that follow the first are indented.

    A number and its unit stay together.
    """
    text = text.copy()
    text.plain = _UNIT.sub(rf"\1{_TOGETHER}\2", text.plain)
    width = max(1, width)
    indent = indent if width > 4 * indent else 0
    console = Console(width=width)
    lines = list(text.wrap(console, width)) or [Text()]
    if len(lines) > 1:
        # What follows the first line is wrapped again, to the width that the indent leaves.
        rest = text.plain[len(lines[0].plain) :]
        following = text[len(text) - len(rest.lstrip()) :]
        lines[1:] = following.wrap(console, width - indent)
        for line in lines[1:]:
            line.pad_left(indent)
    for line in lines:
        line.plain = line.plain.replace(_TOGETHER, " ")
        line.rstrip()
    return lines


@dataclass(frozen=True, slots=True)
class Row:
    """A row: a value for each column, with its margin and its ratio to another where known."""

    label: str
    values: list[str]
    ratios: list[str] = field(default_factory=list)
    # How far values may be off.
    margins: list[str] = field(default_factory=list)
    starts_section: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """The cells of a design, in parts that are aligned each for itself."""

    title: str
    values: list[str]
    margins: list[str]
    ratios: list[str]

    def parts(self, level: int) -> list[list[str]]:
        """The parts that are shown: values, with ratios from 1 on, and with margins at 2."""
        if level == STACKED:
            return [self.values]
        shown = [self.values, self.margins, self.ratios][: level + 1]
        if level == 1:
            shown = [self.values, self.ratios]
        return [part for part in shown if any(part)]

    def body(self, level: int) -> int:
        """The width of its cells without its title."""
        if level == STACKED:
            return max(map(cell_len, self.values + self.ratios))
        widths = [max(map(cell_len, part)) for part in self.parts(level)]
        return sum(widths) + len(widths) - 1


def laid_out(
    rows: Sequence[Row], columns: list[Column], width: int, *, ruled: bool = False
) -> list[Text]:
    """The columns beside the labels of the rows, in as many tables as the width asks for.

    Where they do not fit, margins are left out first, and then ratios. A table that is `ruled` has
    a line below its head, and each ratio, where need be under its value.
    """
    label = min(max(cell_len(row.label) for row in rows), max(1, width // 2))
    lines: list[Text] = []
    for group, level in _groups(columns, width - label, ruled=ruled):
        if lines:
            lines.append(Text())
        lines += _lines(rows, group, label, width, level, ruled=ruled)
    return lines


def _groups(columns: list[Column], room: int, *, ruled: bool) -> list[tuple[list[Column], int]]:
    """The columns, all beside each other if they fit, if need be in fewer parts; else in groups."""
    for level in (2, STACKED) if ruled else (2, 1, 0):
        if sum(_width(column, room, level) + GAP for column in columns) <= room:
            return [(columns, level)]
    least = STACKED if ruled else 0
    groups: list[list[Column]] = []
    used = 0
    for column in columns:
        taken = _width(column, room, least) + GAP
        if not groups or used + taken > room:
            groups.append([])
            used = 0
        groups[-1].append(column)
        used += taken
    return [(group, least) for group in groups]


def _width(column: Column, room: int, level: int) -> int:
    """The width of a column: of its cells, and of the longest part of its title."""
    parts = _title(column.title, max(1, room - GAP))
    return min(max(1, room - GAP), max(column.body(level), *map(cell_len, parts)))


def _title(title: str, width: int) -> list[str]:
    """A title in lines, broken before its plus signs and wherever it is too long."""
    first, *overlays = title.split("+")
    parts = [first, *(f"+{overlay}" for overlay in overlays)]
    return [piece for part in parts for piece in chop_cells(part, width)]


def _lines(
    rows: Sequence[Row],
    columns: Sequence[Column],
    label: int,
    width: int,
    level: int,
    *,
    ruled: bool,
) -> list[Text]:
    room = width - label
    widths = [_width(column, room, level) for column in columns]
    left = room - sum(each + GAP for each in widths)
    titles = []
    for position, column in enumerate(columns):
        # A title that fits in one line has one, if there is room left.
        missing = max(0, cell_len(column.title) - widths[position])
        if missing <= left:
            widths[position] += missing
            left -= missing
        whole = cell_len(column.title) <= widths[position]
        titles.append([column.title] if whole else _title(column.title, widths[position]))
    height = max(map(len, titles))
    titles = [[""] * (height - len(title)) + title for title in titles]
    lines = []
    for step in range(height):
        cells = (right(title[step], each) for title, each in zip(titles, widths, strict=True))
        lines.append(Text(_joined("", label, cells), "bold"))
    bodies = [_cells(column, each, level) for column, each in zip(columns, widths, strict=True)]
    if ruled:
        lines.append(Text("─" * (label + sum(each + GAP for each in widths))))
    for index, row in enumerate(rows):
        if row.starts_section and index:
            lines.append(Text())
        name = chop_cells(row.label, label)[0]
        line = Text(_joined(name, label, (body[index] for body in bodies)))
        if row.starts_section and not row.label.startswith(" "):
            line.stylize("bold", 0, len(name))
        lines.append(line)
        if level == STACKED and any(row.ratios):
            below = (
                right(column.ratios[index], each)
                for column, each in zip(columns, widths, strict=True)
            )
            lines.append(Text(_joined("", label, below)))
    for line in lines:
        line.rstrip()
    return lines


def _cells(column: Column, width: int, level: int) -> list[str]:
    parts = column.parts(level)
    widths = [max(map(cell_len, part)) for part in parts]
    return [right(" ".join(map(right, cells, widths)), width) for cells in zip(*parts, strict=True)]


def _joined(label: str, width: int, cells: Iterable[str]) -> str:
    return label + " " * (width - cell_len(label)) + "".join(" " * GAP + cell for cell in cells)


def right(text: str, width: int) -> str:
    """A text at the right end of so many columns."""
    return " " * (width - cell_len(text)) + text
