"""The runs of a search: those that the dataset has, and those that are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from tinytail.comparison.result import DesignResult
from tinytail.engine import memory, native
from tinytail.engine.jobs import DesignProgress, ProgressCallback
from tinytail.sweeps.cells import DOUBTFUL, Cell, cell
from tinytail.sweeps.dataset import Dataset, read_table
from tinytail.sweeps.plan import Plan, Point
from tinytail.sweeps.rows import FIGURES, row
from tinytail.sweeps.run import Tally, run_here
from tinytail.verdict.findings import is_bound, lacks_gc

_COLUMNS = ("point", "error", "findings", "event_hash", *(each.name for each in FIGURES))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the runs of one combination, or of a design as it is.

    Attributes:
        points: The points, in the order of their seeds.
        cells: Its figures over the seeds.
        hashes: The hashes of all events.
        doubts: Why its figures are not those of the design: codes of findings, and `bound` if it
            has no GC, or one that takes no time.
        error: Why it failed; None if it did not.
    """

    points: tuple[str, ...]
    cells: Mapping[str, Cell]
    hashes: tuple[str, ...]
    doubts: tuple[str, ...]
    error: str | None

    def figure(self, name: str) -> float | None:
        """A figure, the mean over the seeds."""
        return self.cells[name].mean


class Runs:
    """The runs of a search: those that the dataset has, and those that are made."""

    def __init__(
        self,
        dataset: Dataset,
        folder: str,
        plan: Plan,
        fit: memory.Fit,
        progress: ProgressCallback | None,
        say: Callable[[str], None],
    ) -> None:
        self._dataset = dataset
        self._axes = plan.grid.axes
        self._jobs = fit.jobs
        self._progress = progress
        self._say = say
        self._shared = native.share([], holds_last=fit.holds)
        table = read_table(folder, self._axes, [*_COLUMNS, "result"])
        self._known = {each["point"]: _distilled(each) for each in _rows(table)}
        self._ended: list[DesignProgress] = []

    def make(self, points: Sequence[Point], tally: Tally) -> None:
        """Runs those points that are not there yet.

        Raises:
            KeyboardInterrupt: by Ctrl-C. What has ended is kept.
        """
        missing = {each.id: each for each in points if each.id not in self._known}
        tally.ended += len({each.id for each in points}) - len(missing)

        def keep(record: dict[str, Any]) -> None:
            self._dataset.add(record)
            self._known[record["point"]] = _distilled(row(record, self._axes))

        def tell(parts: Sequence[DesignProgress]) -> None:
            if self._progress is not None:
                self._progress([*self._ended, *parts])

        run = iter(missing.values())
        if not run_here(run, self._jobs, keep, tally, tell, self._say, self._shared):
            raise KeyboardInterrupt

    def end_stage(self, tally: Tally) -> None:
        """Ends a part of the search."""
        self._ended.append(replace(tally.progress(), status="finished"))

    def outcome(self, points: Sequence[Point]) -> Outcome:
        """What came of some points, of which each has another seed."""
        rows = [self._known[each.id] for each in points]
        return Outcome(
            tuple(each.id for each in points),
            {name: cell({}, rows, name) for name in _figures()},
            tuple(each["event_hash"] or "" for each in rows),
            tuple(dict.fromkeys(chain(*(each["doubts"] for each in rows)))),
            next((each["error"] for each in rows if each["error"] is not None), None),
        )


def _figures() -> Iterator[str]:
    return (each.name for each in FIGURES if not each.name.endswith((".low", ".high")))


def _rows(table: Any) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=100):
        yield from batch.to_pylist()


def _distilled(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept at hand of a row: results are large."""
    found = {name: row.get(name) for name in _COLUMNS}
    doubts = [code for code in row.get("findings") or () if code in DOUBTFUL]
    text = row.get("result")
    if text is not None:
        result = DesignResult.from_dict(json.loads(text))
        doubts += ["no_gc"] * lacks_gc(result) + ["bound"] * is_bound(result)
    return found | {"doubts": doubts}
