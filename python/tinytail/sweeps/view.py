"""A sweep on a terminal: one table for each panel, and what makes its figures mean less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.sweeps.cells import Cell, Panel
from tinytail.sweeps.rows import shown
from tinytail.terminal.table import list_table, wrapped

if TYPE_CHECKING:
    from tinytail.sweeps.result import Sweep

PANELS_MAX = 12
ERRORS_MAX = 5


def sweep_view(
    sweep: Sweep,
    width: int,
    *,
    figure: str | None = None,
    x: str | None = None,
    by: str | None = None,
) -> RenderableType:
    """A figure of a sweep along two axes, in a table for each combination of the others.

    Raises:
        UsageError: there is no such figure or axis.
    """
    figure = figure or sweep.headline()
    panels = sweep.panels(figure, x=x, by=by)
    parts: list[RenderableType] = [*wrapped(Text(_head(sweep, figure)), width)]
    for panel in panels[:PANELS_MAX]:
        parts.append(Text())
        if panel.title:
            parts += wrapped(Text(panel.title, "bold"), width)
        parts.append(_table(panel, figure, sweep.seeds))
    if len(panels) > PANELS_MAX:
        more = len(panels) - PANELS_MAX
        parts += [
            Text(),
            Text(f"and {units.counted(more, 'more table')}; --where AXIS=VALUE shows one"),
        ]
    found = [cell for panel in panels for cell in panel.cells.values()]
    notes = [*findings(found), *_adjusted(sweep), *errors(sweep)]
    if notes:
        parts.append(Text())
    for note in notes:
        parts += wrapped(Text(note), width, indent=2)
    return Group(*parts)


def _head(sweep: Sweep, figure: str) -> str:
    what = f"{figure}, mean of {sweep.seeds} seeds" if sweep.seeds > 1 else figure
    said = f"{what}: {units.counted(len(sweep), 'point')}"
    return said + (", PARTIAL" if sweep.partial else "")


def _table(panel: Panel, figure: str, seeds: int) -> Table:
    by = (None,) if panel.by is None else panel.by.values
    heads = [figure if panel.by is None else shown(value) for value in by]
    table = list_table(panel.x.title)
    for head in heads:
        table.add_column(Text(head), justify="right", overflow="fold")
    columns = [panel.column(value) for value in by]
    for position, value in enumerate(panel.x.values):
        table.add_row(
            Text(shown(value)), *(Text(told(column[position], figure, seeds)) for column in columns)
        )
    return table


def told(cell: Cell | None, figure: str, seeds: int) -> str:
    """A cell in words: its figure, how far that may be off, and its seeds, if some lack."""
    if cell is None:
        return ""
    if cell.mean is None:
        return "failed" if cell.failed else units.MISSING
    of = f" ({cell.runs} of {seeds})" if cell.runs < seeds else ""
    return value(cell.mean, figure) + margin(cell) + of + "*" * bool(cell.findings)


def value(mean: float, figure: str) -> str:
    """A figure in words."""
    return units.latency(mean) if figure.endswith("_us") else units.number(mean)


def margin(cell: Cell) -> str:
    """How far a figure may be off: the longer side of its interval in percent, or nothing."""
    if cell.low is None or cell.high is None or not cell.mean:
        return ""
    percent = 100 * max(cell.high - cell.mean, cell.mean - cell.low) / abs(cell.mean)
    return " >±100 %" if percent > 100 else f" ±{max(1.0, percent):.0f} %"


def findings(found: Sequence[Cell]) -> list[str]:
    """What the star at a figure means, if one has it."""
    counts = Counter(code for cell in found for code in cell.findings)
    if not counts:
        return []
    listed = ", ".join(f"{code} ({units.count(number)})" for code, number in counts.most_common())
    return [f"* means less than it seems: {listed}; the command of a point says why"]


def _adjusted(sweep: Sweep) -> list[str]:
    adjusted = [bool(each) for each in sweep.to_arrow()["adjusted"].to_pylist()]
    if not any(adjusted):
        return []
    count = f"{units.count(sum(adjusted))} of {units.counted(len(adjusted), 'point')}"
    return [f"something of the design follows the drive in {count}; the column adjusted says what"]


def errors(sweep: Sweep) -> list[str]:
    """Why points failed, and how many did."""
    found = [each for each in sweep.to_arrow()["error"].to_pylist() if each is not None]
    counts = Counter(found).most_common()
    said = [f"{units.count(number)} failed: {message}" for message, number in counts[:ERRORS_MAX]]
    left = len(counts) - ERRORS_MAX
    return [*said, f"and {units.counted(left, 'more sort')} of errors"] if left > 0 else said
