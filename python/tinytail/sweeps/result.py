"""What a sweep returns: its points as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from tinytail import units
from tinytail.engine import arguments
from tinytail.errors import UsageError
from tinytail.inputs.libraries import library, require
from tinytail.sweeps import cells, inert, judged
from tinytail.sweeps.axes import Axis
from tinytail.sweeps.cells import Cell, Choices, Panel
from tinytail.sweeps.dataset import Definition, Files, Rows, read_definition

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
        partial: Whether points are missing: it was interrupted, killed or is under way.
    """

    axes: tuple[Axis, ...]
    seeds: int
    folder: str | None
    partial: bool
    _table: Rows
    _judged: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: str, of: Definition, without: Set[str], *, is_kept: bool) -> Sweep:
        """The points of a sweep that was run.

        Args:
            folder: the dataset.
            of: what the sweep is.
            without: points of the dataset that are none of the sweep's, such as those of a design
                that bounds the addresses no more.
            is_kept: whether the dataset stays; otherwise all of it is read.
        """
        files = Files(folder, of.grid.axes)
        names = [name for name in files.schema.names if name != "result"]
        if is_kept:
            return cls._made(files.read, names, of, folder, without)
        return cls._made(files.read(files.schema.names).select, files.schema.names, of, None, ())

    @classmethod
    def _made(
        cls,
        read: Callable[[Sequence[str]], Any],
        names: Sequence[str],
        of: Definition,
        folder: str | None,
        without: Iterable[str],
    ) -> Sweep:
        """A sweep of those rows of a table that are its points, in their order.

        Of rows at the same place the last counts: a design that was added later may bound the
        addresses of the others, whose points were then run again. The short runs of a search are
        none of its points.
        """
        compute = library("pyarrow.compute", "a sweep")
        pa = library("pyarrow", "a sweep")
        groups = [*of.grid.groups]
        if of.designs:
            groups.append((Axis("design", of.designs),))
        groups.append((Axis("seed", tuple(range(of.seed, of.seed + of.seeds))),))
        asked_for = {axis.name: None for group in groups for axis in group} | {"requests": None}
        table = read(list(asked_for))
        place = cells.places_of(table, groups)
        kept = compute.is_valid(place)
        if all(axis.name != "requests" for axis in of.grid.axes):
            asked, column = of.fixed.get("requests"), table["requests"]
            has_asked = compute.is_null(column) if asked is None else compute.equal(column, asked)
            kept = compute.and_(kept, compute.fill_null(has_asked, fill_value=False))
        if left_out := list(without):
            of_others = compute.is_in(
                read(["point"])["point"], value_set=pa.array(left_out, pa.string())
            )
            kept = compute.and_not(kept, of_others)
        rows = pa.table({"place": place, "row": pa.array(range(len(table)), pa.int64())})
        last = rows.filter(kept).group_by("place").aggregate([("row", "max")]).sort_by("place")
        expected = len(of.grid) * max(1, len(of.designs)) * of.seeds
        varied = of.grid.varied
        if of.designs:
            varied = (*varied, Axis("design", of.designs))
        order = last["row_max"].combine_chunks()
        return cls(varied, of.seeds, folder, len(order) < expected, Rows(read, names, order))

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        failed = self.failed
        named = ", ".join(axis.name for axis in self.axes if len(axis.values) > 1)
        said = f", {failed:,} failed" if failed else ""
        points = units.counted(len(self), "point")
        return f"<Sweep of {named}: {points}{said}{', partial' * self.partial}>"

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

    def notes(self) -> list[str]:
        """Which axes changed nothing, so that all their values gave the same runs, and why."""
        return inert.notes(self)

    def choices(self, x: str, y: str) -> list[Choices]:
        """The combinations by two figures with their front, apart for each workload.

        In the folder of a search the front is the one that the search found.

        Args:
            x: a figure.
            y: another one.

        Raises:
            UsageError: there is no such figure.
        """
        names = cells.check_figure(x), cells.check_figure(y)
        return cells.choices(self._table, self.axes, *names, self._judged)

    def only(self, where: Mapping[str, Any]) -> Sweep:
        """The points at some values of axes alone.

        Args:
            where: a value for each of some axes.

        Raises:
            UsageError: an axis that was not varied, or a value that it does not have.
        """
        return self.at(cells.narrowed(self.axes, where))

    def at(self, axes: tuple[Axis, ...], mask: Any = True) -> Sweep:
        """The points at values of axes that have fewer of them, of those that `mask` has."""
        compute = library("pyarrow.compute", "a sweep")
        place = cells.places_of(
            self.to_rows([axis.name for axis in axes]), [(axis,) for axis in axes]
        )
        kept = compute.indices_nonzero(compute.and_(compute.is_valid(place), mask))
        return replace(self, axes=axes, _table=self._table.at(kept))

    def to_rows(self, names: Sequence[str]) -> Any:
        """Some columns of the points as `pyarrow.Table`."""
        return self._table.select(names)

    def panels(self, figure: str, *, x: str | None = None, by: str | None = None) -> list[Panel]:
        """A figure along two axes, for each combination of the others.

        Args:
            figure: its name.
            x: the axis along each panel; that with the most numbers if not given.
            by: the axis with a line for each value; the designs, if not given.

        Raises:
            UsageError: there is no such figure or axis.
        """
        return cells.panels(self.axes, self.cells(figure), x, by)

    def to_dict(self, figure: str, panels: Sequence[Panel]) -> dict[str, Any]:
        """Panels as a document."""
        return {
            "figure": figure,
            "seeds": self.seeds,
            "partial": self.partial,
            "notes": self.notes(),
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
            against: the other figure of `"front"`, which takes neither `x` nor `by`. Of throughput
                more is better, of all others less.

        Raises:
            UsageError: there is no such kind, figure, axis or value; matplotlib is missing.
        """
        require("plot", "matplotlib")
        from tinytail.sweeps import pictures

        arguments.choice("kind", kind, ("lines", "heat", "front"))
        figure = figure or self.headline()
        if kind == "front":
            if x is not None or by is not None:
                raise UsageError("a front has neither x nor by; its axes are the two figures")
            return pictures.front(self, cells.check_figure(figure), cells.check_figure(against))
        shown = self.panels(figure, x=x, by=by)
        drawer = pictures.lines if kind == "lines" else pictures.heat
        return drawer(shown, figure, self.notes())

    def report(
        self,
        path: str | os.PathLike[str],
        figure: str | None = None,
        *,
        x: str | None = None,
        by: str | None = None,
    ) -> None:
        """Writes the sweep as one HTML page that needs no network.

        Args:
            path: the file.
            figure: what it shows first; the sweep's headline if not given.
            x: the axis along each panel, as for `panels`.
            by: the axis of lines, as for `panels`.

        Raises:
            UsageError: `path` is not a path, a library that draws is missing, or there is no such
                figure or axis.
            OutputError: the page cannot be written. A file that was there is unaltered.
        """
        from tinytail.sweeps.page import write

        name = cells.check_figure(figure or self.headline())
        write(self, arguments.name("path", path), name, x, by)

    def to_arrow(self) -> Any:
        """The points as `pyarrow.Table`, a row for each; docs/guides/sweep.md has the columns."""
        return self._table.select(self._table.column_names)

    def to_polars(self) -> Any:
        """The points as `polars.DataFrame`.

        Raises:
            UsageError: a library is missing.
        """
        return library("polars", "to_polars").from_arrow(self.to_arrow())

    def to_pandas(self) -> Any:
        """The points as `pandas.DataFrame`.

        Raises:
            UsageError: a library is missing.
        """
        require("to_pandas", "pandas")
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The points for any library that takes Arrow's C stream, without a copy."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Reads the dataset of a sweep, whether it came to its end or not.

    Args:
        folder: what `sweep` had as `out`.

    Raises:
        UsageError: a library is missing.
        ResultsError: the folder holds no dataset, or one that is damaged or of another version.
    """
    name = arguments.name("folder", folder)
    definition = read_definition(name)
    files = Files(name, definition.grid.axes)
    names = [each for each in files.schema.names if each != "result"]
    made = Sweep._made(files.read, names, definition, name, ())
    return replace(made, _judged=judged.read(name))
