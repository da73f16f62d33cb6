"""Draws what changed between two results: a sentence for each design, then what differs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail.comparison.difference import Change, Difference
from tinytail.comparison.view import LINES_MAX
from tinytail.terminal.table import GAP, wrapped

# Of what was configured differently, so much is shown at first.
CONFIGURATION_MAX = 8
VALUE_MAX = 28


def difference_view(found: Difference, width: int, *, details: bool) -> RenderableType:
    """What changed, in at most a screen of lines unless all details are wanted."""
    lines: list[RenderableType] = []
    for sentence in found.sentences:
        lines += wrapped(Text(sentence), width, indent=2)
    configuration = list(found.configuration)
    figures = [change for change in found.figures if details or change.is_main]
    shown = configuration if details else configuration[:CONFIGURATION_MAX]
    if shown:
        lines += [Text(), _table("configured", shown, width)]
    room = LINES_MAX - len(lines) - len(shown) - 3
    listed = figures if details else figures[: max(3, room)]
    if listed:
        lines += [Text(), _table("figure", listed, width)]
    hidden = len(configuration) - len(shown) + len(found.figures) - len(listed)
    if hidden:
        lines.append(Text(f"{hidden} more: --details", "dim"))
    return Group(*lines)


def _table(title: str, changes: Sequence[Change], width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_edge=False)
    of = {change.of for change in changes if change.of}
    with_design = len(of) > 1 or (title == "configured" and bool(of))
    if with_design:
        table.add_column("of", overflow="fold")
    table.add_column(title, overflow="fold")
    numbers = title == "figure"
    for heading in ("before", "after"):
        table.add_column(heading, overflow="fold", justify="right" if numbers else "left")
    if numbers:
        table.add_column("", justify="right", no_wrap=True)
        table.add_column("")
    for change in changes:
        cells = [change.of] if with_design else []
        values = [_short(change.before, width), _short(change.after, width)]
        cells += [change.what, *values]
        if numbers:
            cells += [change.ratio, change.note]
        table.add_row(*map(Text, cells))
    return table


def _short(value: str, width: int) -> str:
    most = max(VALUE_MAX, width // 3)
    return value if cell_len(value) <= most else f"{value[: most - 4]} ..."
