"""A sweep on a terminal: one table for each panel, and what makes its figures mean less."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.inputs.libraries import library
from tinytail.sweeps import cells
from tinytail.sweeps.axes import Axis
from tinytail.sweeps.cells import Cell, Panel
from tinytail.sweeps.rows import shown
from tinytail.terminal.table import list_table, wrapped

if TYPE_CHECKING:
    from tinytail.sweeps.result import Sweep

PANELS_MAX = 12
# So many values of the axes of a table have a row or a column.
ROWS_MAX = 100
COLUMNS_MAX = 20
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
    along, lines, rest = cells.arranged(sweep.axes, x, by)
    panels, count = _panels(sweep, figure, along, lines, rest)
    parts: list[RenderableType] = [*wrapped(Text(_head(sweep, figure)), width)]
    for panel in panels:
        parts.append(Text())
        if panel.title:
            parts += wrapped(Text(panel.title, "bold"), width)
        parts.append(_table(panel, figure, sweep.seeds))
    cut = [
        f"{units.counted(len(axis.values) - most, 'more value')} of {axis.name}"
        for axis, most in ((along, ROWS_MAX), (lines, COLUMNS_MAX))
        if axis is not None and len(axis.values) > most
    ]
    cut += [units.counted(count - len(panels), "more table")] * (count > len(panels))
    if cut:
        parts += [Text(), *wrapped(Text(f"and {', '.join(cut)}; {_all_of(sweep)}"), width)]
    notes = [*sweep.notes(), *_findings(sweep), *_adjusted(sweep), *errors(sweep)]
    if notes:
        parts.append(Text())
    for note in notes:
        parts += wrapped(Text(note), width, indent=2)
    return Group(*parts)


def _panels(
    sweep: Sweep, figure: str, along: Axis, lines: Axis | None, rest: Sequence[Axis]
) -> tuple[list[Panel], int]:
    """The first panels, with their first rows and columns, and how many panels there are."""
    compute = library("pyarrow.compute", "a sweep")
    pa = library("pyarrow", "a sweep")
    # Of no axis all rows are at one place.
    rows = sweep.to_rows(["point", *(axis.name for axis in rest)])
    place = cells.places_of(rows, [(axis,) for axis in rest])
    places = sorted(compute.unique(place).to_pylist())
    is_shown = compute.is_in(place, value_set=pa.array(places[:PANELS_MAX], pa.int64()))
    bounds = {along.name: ROWS_MAX} | ({} if lines is None else {lines.name: COLUMNS_MAX})
    axes = tuple(cells.first(axis, bounds.get(axis.name)) for axis in sweep.axes)
    few = sweep.at(axes, is_shown)
    by = None if lines is None else lines.name
    return few.panels(figure, x=along.name, by=by), len(places)


def _all_of(sweep: Sweep) -> str:
    """How all of a sweep is seen, where a table has not all of it."""
    if sweep.folder is None:
        return "only() has the points of some values, cells() has all"
    command = f"tinytail sweep show {shlex.quote(sweep.folder)}"
    return f"all of it: `{command} --json -`; one value: `{command} --where AXIS=VALUE`"


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
    return _stars(Counter(code for cell in found for code in cell.findings))


def _findings(sweep: Sweep) -> list[str]:
    """The same of all cells of a sweep, of which a table may have the first ones."""
    pa = library("pyarrow", "a sweep")
    compute = library("pyarrow.compute", "a sweep")
    rows = sweep.to_rows([*(axis.name for axis in sweep.axes), "findings"])
    place = cells.places_of(rows, [(axis,) for axis in sweep.axes])
    codes = rows["findings"].combine_chunks()
    of_code = place.take(compute.list_parent_indices(codes))
    found = pa.table({"code": compute.list_flatten(codes), "place": of_code})
    # The seeds of a cell count once.
    each = found.group_by(["code", "place"], use_threads=False).aggregate([])
    counts = Counter(each["code"].to_pylist())
    del counts[cells.TOLD]
    return _stars(counts)


def _stars(counts: Counter[str]) -> list[str]:
    if not counts:
        return []
    listed = ", ".join(f"{code} ({units.count(number)})" for code, number in counts.most_common())
    return [f"* means less than it seems: {listed}; the command of a point says why"]


def _adjusted(sweep: Sweep) -> list[str]:
    compute = library("pyarrow.compute", "a sweep")
    lengths = compute.list_value_length(sweep.to_rows(["adjusted"])["adjusted"])
    adjusted = compute.sum(compute.greater(lengths, 0)).as_py()
    if not adjusted:
        return []
    count = f"{units.count(adjusted)} of {units.counted(len(sweep), 'point')}"
    return [f"something of the design follows the drive in {count}; the column adjusted says what"]


def errors(sweep: Sweep) -> list[str]:
    """Why points failed, and how many did."""
    found = sweep.to_rows(["error"])["error"].drop_null().value_counts().to_pylist()
    counts = Counter({each["values"]: each["counts"] for each in found}).most_common()
    said = [f"{units.count(number)} failed: {message}" for message, number in counts[:ERRORS_MAX]]
    left = len(counts) - ERRORS_MAX
    return [*said, f"and {units.counted(left, 'more sort')} of errors"] if left > 0 else said
