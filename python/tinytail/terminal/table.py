"""Tables and lists of facts, as every command shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from tinytail import units

COLUMN_GAP = 2


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
    grid = Table.grid(padding=(0, COLUMN_GAP))
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
