"""What a sweep returns: its points as a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tinytail.engine import arguments
from tinytail.inputs.libraries import library, require
from tinytail.sweeps import cells
from tinytail.sweeps.axes import Axis, Grid
from tinytail.sweeps.cells import Cell, Panel
from tinytail.sweeps.dataset import read_definition, read_table
from tinytail.sweeps.plan import Plan
from tinytail.sweeps.rows import columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plot = Literal["lines", "heat", "front"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sweep:
    """The points of a sweep.

    Attributes:
        axes: What was varied: the axes, of zipped ones the first, and `design`.
        seeds: With how many seeds each point was run.
        folder: The folder of the dataset; None if nothing was kept.
        partial: Whether points are missing, since Ctrl-C ended it.
    """

    axes: tuple[Axis, ...]
    seeds: int
    folder: str | None
    partial: bool
    _table: Any

    @classmethod
    def of(cls, folder: str, plan: Plan, *, partial: bool, is_kept: bool) -> Sweep:
        """The points of a sweep that was run."""
        axes = plan.grid.axes
        pa = library("pyarrow", "a sweep")
        table = read_table(folder, axes, _names(axes, with_results=not is_kept))
        # In the order of the sweep, whatever ended first.
        at = {each: position for position, each in enumerate(table["point"].to_pylist())}
        order = [at[point.id] for point in plan if point.id in at]
        table = table.take(pa.array(order, pa.int64()))
        varied = _varied(plan.grid, plan.designs)
        return cls(varied, plan.seeds, folder if is_kept else None, partial, table)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        failed = self.failed
        named = ", ".join(axis.name for axis in self.axes if len(axis.values) > 1)
        said = f", {failed:,} failed" if failed else ""
        return f"<Sweep of {named}: {len(self):,} points{said}{', partial' * self.partial}>"

    @property
    def failed(self) -> int:
        """How many points failed."""
        return len(self._table) - int(self._table["error"].null_count)

    def headline(self) -> str:
        """The figure that the sweep is judged by: the deepest percentile that most points have."""
        return cells.headline(self._table)

    def cells(self, figure: str) -> list[Cell]:
        """A figure at each combination, over the seeds, with how far it may be off.

        Args:
            figure: its name, such as `"read.p99_us"` or `"erases"`.

        Raises:
            UsageError: there is no such figure.
        """
        return cells.cells(self._table, self.axes, cells.check_figure(figure))

    def panels(
        self,
        figure: str,
        *,
        x: str | None = None,
        by: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Panel]:
        """A figure along two axes, for each combination of the others.

        Args:
            figure: its name.
            x: the axis along each panel; that with the most numbers if not given.
            by: the axis with a line for each value; the designs, if not given.
            where: values of axes, of which alone panels are made.

        Raises:
            UsageError: there is no such figure, axis or value.
        """
        return cells.panels(self.axes, self.cells(figure), x, by, where or {})

    def to_dict(self, figure: str, panels: Sequence[Panel]) -> dict[str, Any]:
        """Panels as a document."""
        return {
            "figure": figure,
            "seeds": self.seeds,
            "partial": self.partial,
            "cells": [
                {
                    "place": dict(cell.place),
                    **{name: getattr(cell, name) for name in ("mean", "low", "high")},
                    **{name: getattr(cell, name) for name in ("runs", "failed")},
                    "findings": list(cell.findings),
                }
                for panel in panels
                for cell in panel.cells.values()
            ],
        }

    def table(self, figure: str | None = None, width: int = 100) -> str:
        """A figure along its axes as plain text of at most `width` columns.

        Raises:
            UsageError: there is no such figure.
        """
        from tinytail.sweeps.view import sweep_view
        from tinytail.terminal.console import plain_text

        return plain_text(sweep_view(self, width, figure=figure), width)

    def plot(
        self,
        kind: Plot = "lines",
        figure: str | None = None,
        *,
        x: str | None = None,
        by: str | None = None,
        where: Mapping[str, Any] | None = None,
        against: str = "erases",
    ) -> Figure:
        """Draws the sweep by matplotlib, a panel for each combination of what is not `x` or `by`.

        Args:
            kind: `"lines"`: the figure along `x`, a line with its interval for each value of `by`;
                `"heat"`: the figure by colour along `x` and `by`; `"front"`: every combination by
                the figure and another one, with those that no other one is better than.
            figure: its name; the sweep's headline if not given.
            x: the axis along each panel.
            by: the axis of lines or rows.
            where: values of axes, of which alone panels are drawn.
            against: the other figure of `"front"`.

        Raises:
            UsageError: there is no such kind, figure, axis or value; matplotlib is missing.
        """
        require("plot", "matplotlib")
        from tinytail.sweeps import pictures

        arguments.choice("kind", kind, ("lines", "heat", "front"))
        figure = figure or self.headline()
        if kind == "front":
            return pictures.front(self, cells.check_figure(figure), cells.check_figure(against))
        shown = self.panels(figure, x=x, by=by, where=where)
        return pictures.lines(shown, figure) if kind == "lines" else pictures.heat(shown, figure)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the sweep as one HTML page that needs no network.

        Raises:
            UsageError: `path` is not a path, or a library that draws is missing.
            OutputError: the page cannot be written. A file that was there is unaltered.
        """
        from tinytail.sweeps.page import write

        write(self, arguments.name("path", path))

    def to_arrow(self) -> Any:
        """The points as `pyarrow.Table`, a row for each; docs/guides/sweep.md has the columns."""
        return self._table

    def to_polars(self) -> Any:
        """The points as `polars.DataFrame`.

        Raises:
            UsageError: a library is missing.
        """
        return library("polars", "to_polars").from_arrow(self._table)

    def to_pandas(self) -> Any:
        """The points as `pandas.DataFrame`.

        Raises:
            UsageError: a library is missing.
        """
        require("to_pandas", "pandas")
        return self._table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The points for any library that takes Arrow's C stream, without a copy."""
        return self._table.__arrow_c_stream__(requested_schema)


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Reads the dataset of a sweep, whether it came to its end or not.

    Args:
        folder: what `sweep` had as `out`.

    Raises:
        UsageError: a library is missing.
        ResultsError: the folder holds no dataset, or one that is damaged or of another version.
    """
    definition = read_definition(folder)
    axes = definition.grid.axes
    table = read_table(folder, axes, _names(axes, with_results=False))
    varied = _varied(definition.grid, definition.designs)
    table = _newest(table, [axis.name for axis in varied])
    return Sweep(varied, definition.seeds, os.fspath(folder), False, table)


def _varied(grid: Grid, designs: tuple[str, ...]) -> tuple[Axis, ...]:
    return (*grid.varied, Axis("design", designs)) if designs else grid.varied


def _newest(table: Any, axes: Sequence[str]) -> Any:
    """The rows without those that later ones of the same combination and seed replace.

    A design that is added may bound the addresses of the others, whose points are then run again.
    """
    names = dict.fromkeys([*axes, "device", "workload", "seed"])
    columns = [table[name].to_pylist() for name in names]
    last = {place: position for position, place in enumerate(zip(*columns, strict=True))}
    return table if len(last) == len(table) else table.take(sorted(last.values()))


def _names(axes: tuple[Axis, ...], *, with_results: bool) -> list[str]:
    """The columns that are read at once: whole results are large."""
    return [column.name for column in columns(axes) if with_results or column.name != "result"]
