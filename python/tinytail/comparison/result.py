"""What a comparison returns: what results can do. What they are made of is in `engine.results`.

Latencies are in microseconds, shares in percent and attributed time in nanoseconds. A figure that
has no meaning, such as the mean of no requests, is None.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tinytail import units
from tinytail.comparison.frames import Tables
from tinytail.engine import arguments, catalog, results as types
from tinytail.engine.catalog import Description, Kind
from tinytail.engine.results import (
    ComparedFinding,
    ComparedWorkload,
    Configured,
    Improvement,
    Setting,
)
from tinytail.errors import NoResultError
from tinytail.files.text import json_text, plain, read_as
from tinytail.inputs.libraries import require
from tinytail.inputs.tables import design_label
from tinytail.verdict import findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tinytail.pictures.axes import Plot

SCHEMA_VERSION = 3


@dataclass(frozen=True, slots=True)
class ResultsFolder:
    """The folder in which results were kept, as given. `error` says why they were not."""

    path: str
    error: str | None


@dataclass(frozen=True, slots=True, repr=False)
class DesignResult(types.DesignResult, Tables):
    """What one design did.

    Its figures are those of `engine.results.DesignResult`, which explains them. `document` is the
    result as the engine gave it.
    """

    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<DesignResult of {design_label(self.design)} on {self.device}: {_described(self)}>"

    def _repr_html_(self) -> str:
        return Comparison.of(self)._repr_html_()

    def _results(self) -> tuple[DesignResult]:
        return (self,)

    def plot(
        self, kind: Plot = "tail", *, ax: Axes | None = None, column: str = "read_p99_us"
    ) -> Axes:
        """Draws the result on axes of matplotlib; see `Comparison.plot`.

        Raises:
            UsageError: there is no such kind, nothing to draw, or matplotlib is missing.
        """
        return Comparison.of(self).plot(kind, ax=ax, column=column)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run early."""
        return self.partial and self.stuck is None and self.unread is None

    def figure(self, name: str) -> float | None:
        """A figure by its name in `intervals`, such as `"read.p99_us"` or `"erases"`.

        Raises:
            KeyError: there is no such figure.
        """
        value: Any = self.document
        for part in name.split("."):
            value = value[part]
        return None if value is None else float(value)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> DesignResult:
        """Reads a result document, which is kept unaltered in `document`."""
        return read_as(cls, {**document, "document": document})


def configured_designs(
    device: str, designs: Iterable[str], state: Mapping[str, object], settings: Sequence[str]
) -> tuple[Configured, ...]:
    """A device and designs in full; `state` are values of the device's that runs were told."""
    drive = catalog.describe_device(device, settings=settings)
    each = (catalog.describe_design(design, settings=settings) for design in designs)
    return (configured("device", drive, state), *(configured("design", about) for about in each))


def configured(
    kind: Kind,
    description: Description,
    replaced: Mapping[str, object] = MappingProxyType({}),
) -> Configured:
    """A configuration; `replaced` are values of a device's state that the run was told."""
    kept = [
        setting
        for setting in description.settings
        if setting.section != "state" or setting.key not in replaced
    ]
    described = [
        Setting("state", key, arguments.state_word(value), "--state")
        for key, value in replaced.items()
    ]
    return Configured(kind, description.name, description.summary, (*kept, *described))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(types.Comparison, Tables):
    """Designs that served the same workload, on drives aged alike.

    Its attributes are those of `engine.results.Comparison`, which explains them. `out` tells what
    became of the folder in which the results were to be kept; None if there was to be none. `cause`
    is what a design's own policy raised first, if one did.
    """

    results: tuple[DesignResult, ...]
    out: ResultsFolder | None = None
    cause: BaseException | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        described = [
            f"{design_label(result.design)}: {_described(result)}" for result in self.results
        ]
        described += [f"{design_label(error.design)}: {error.kind} error" for error in self.errors]
        what = f"{self.workload.name} on {self.device}"
        return f"<Comparison under {what}; {'; '.join(described)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, a table, bars and the curve of the tail."""
        from tinytail.pictures import notebook

        return notebook.html(self)

    def _results(self) -> tuple[DesignResult, ...]:
        return self.results

    @classmethod
    def of(cls, result: DesignResult) -> Comparison:
        """A comparison that has one result alone, of which the command is not known."""
        return cls(
            version=result.version,
            command="",
            device=result.device,
            workload=compared_workload(result),
            state=result.document["state"],
            seed=result.seed,
            partial=result.interrupted,
            reference=result.design,
            configuration=(),
            results=(result,),
            errors=(),
            seeds=max(1, len(result.replicates)),
        )

    def plot(
        self, kind: Plot = "tail", *, ax: Axes | None = None, column: str = "read_p99_us"
    ) -> Axes:
        """Draws the comparison on axes of matplotlib, which it returns.

        Args:
            kind: `"tail"`: latencies of reads by percentile, and the slowest; `"write_tail"`: the
                same of writes; `"attribution"`: where the slowest 0.1 % of reads spent their time;
                `"series"`: a column of `Series` over simulated time.
            ax: the axes to draw on; None for new ones.
            column: the column of `"series"`.

        Raises:
            UsageError: there is no such kind, nothing to draw, or matplotlib is missing.
        """
        require("plot", "matplotlib")
        from tinytail.pictures.axes import plot

        return plot(self, kind, ax, column)

    def result(self, design: str) -> DesignResult:
        """The result of one design.

        Raises:
            NoResultError: the design has none; says why. It is a KeyError as well.
        """
        for result in self.results:
            if result.design == design:
                return result
        failures = {error.design: error.message for error in self.errors}
        raise NoResultError.of(design, [result.design for result in self.results], failures)

    def improvements(self) -> list[Improvement]:
        """By how many percent each design's GC-affected requests are faster than the reference's.

        Those that a garbage collection made wait in the one are compared with those that it made
        wait in the other, by their mean latencies. None where one of them has none.
        """
        reference = findings.usable_reference(self)

        def gain(mean_us: float | None, reference_us: float | None) -> float | None:
            return 100.0 * (1.0 - mean_us / reference_us) if mean_us and reference_us else None

        return [
            Improvement(
                result.design,
                gain(result.gc_affected.reads.mean_us, reference.gc_affected.reads.mean_us),
                gain(result.gc_affected.writes.mean_us, reference.gc_affected.writes.mean_us),
            )
            for result in self.results
            if reference is not None and result is not reference
        ]

    def findings(self) -> list[ComparedFinding]:
        """What makes the comparison mean less than it seems to, and what is worse than expected.

        They concern several results together; each result has findings of its own.
        """
        return findings.compared(self)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as a document that follows `tinytail.read_schema("compare")`."""
        own = {each.name: getattr(self, each.name) for each in fields(types.Comparison)}
        return {
            "schema_version": SCHEMA_VERSION,
            **plain(own | {"results": [result.document for result in self.results]}),
            "improvements": plain(self.improvements()),
            "findings": plain(self.findings()),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Comparison:
        """Reads a document of `to_dict`."""
        results = [{**result, "document": result} for result in document["results"]]
        return read_as(cls, {**document, "results": results})

    def to_json(self) -> str:
        """The document of `to_dict` as JSON text."""
        return json_text(self.to_dict())

    def verdict(self, width: int = 80) -> str:
        """What the comparison says, as plain text of at most `width` columns.

        A sentence for each design, one table, and where the tail spent its time; what makes the
        figures mean less stands first, and why a run stopped, with what helps, last.
        """
        from rich.console import Group
        from rich.text import Text

        from tinytail.comparison.view import verdict_view
        from tinytail.terminal.console import plain_text
        from tinytail.terminal.table import wrapped
        from tinytail.verdict.sentences import failures

        lines = [line for why in failures(self) for line in wrapped(Text(why), width, indent=2)]
        return plain_text(Group(verdict_view(self, width, unicode=True), *lines), width)

    def table(self, width: int = 100) -> str:
        """All figures of the comparison as plain text of at most `width` columns."""
        from tinytail.comparison.details import comparison_view
        from tinytail.terminal.console import plain_text

        return plain_text(comparison_view(self, width), width)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the comparison as one HTML page that needs no network.

        Raises:
            UsageError: `path` is not a path, or a library that draws is missing.
            OutputError: the page cannot be written. A file that was there is unaltered.
        """
        self._draw(report=arguments.name("path", path))

    def figures(self, folder: str | os.PathLike[str]) -> None:
        """Draws figures for a paper into a folder, which is made if need be, as SVG and as PDF.

        Raises:
            UsageError: `folder` is not a path, or the library that draws is missing.
            OutputError: a figure cannot be written.
        """
        self._draw(figures=arguments.name("folder", folder))

    def _draw(self, report: str | None = None, figures: str | None = None) -> None:
        from tinytail.pictures import Pictures

        pictures = Pictures(report, figures)
        pictures.check()
        for error in pictures.write(self):
            raise error


def _described(result: DesignResult) -> str:
    """Requests and tail of a result, in a few words."""
    described = [
        f"{units.count(latency.count)} {kind}s, p99 {units.latency(latency.p99_us)}, "
        f"max {units.latency(latency.max_us)}"
        for kind, latency in (("read", result.read), ("write", result.write))
        if latency.count
    ]
    return ", ".join([*described, *(["partial"] if result.partial else [])]) or "no requests"


def compared_workload(result: DesignResult) -> ComparedWorkload:
    """The workload of a result as that of its comparison."""
    found = result.workload
    return ComparedWorkload(found.name, found.input, found.detail, found.pacing)
