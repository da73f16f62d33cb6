"""Reproducing papers from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinytail.engine import arguments
from tinytail.engine.jobs import ProgressCallback
from tinytail.errors import UsageError
from tinytail.inputs import tables
from tinytail.reproduction.conditions import Value
from tinytail.reproduction.judge import Input, Verdict
from tinytail.reproduction.paper_files import select
from tinytail.reproduction.records import EvidenceKind, Tier
from tinytail.reproduction.session import Wanted, check_traces, execute
from tinytail.reproduction.store import Store, default_store


@dataclass(frozen=True, slots=True)
class ReproducedRow:
    """A number of a paper beside what was measured.

    Args:
        id: the name of the row, such as `"ttflash.table2.dtrs.p99"`.
        quantity: what the number is of.
        paper_value: the number, as the paper has it.
        unit: its unit.
        measured: what was measured; several values by their names, None if it was not run.
        acceptance: what counts as reproduced.
        input: whether requests were recorded, made by rule, or made to be like recorded ones.
        evidence: what a match is evidence of: a `"performance"` figure of the paper, a `"relation"`
            of designs, or nothing of the mechanism: a `"definition"`, or a row that inputs were
            `"calibrated"` by.
        verdict: what came of it.
        cause: why it deviates, or was not run.
    """

    id: str
    quantity: str
    paper_value: str
    unit: str
    measured: Value | Mapping[str, Value]
    acceptance: str
    input: Input
    evidence: EvidenceKind
    verdict: Verdict
    cause: str


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Rows of papers, each with its verdict.

    Args:
        rows: the rows that were asked for.
        partial: whether it was interrupted: rows that lack a run are not run.
        document: all of it, as `tinytail reproduce --json` writes it.
    """

    rows: tuple[ReproducedRow, ...]
    partial: bool
    document: Mapping[str, Any]

    def row(self, id: str) -> ReproducedRow:
        """A row by its name.

        Raises:
            KeyError: it was not asked for.
        """
        for each in self.rows:
            if each.id == id:
                return each
        raise KeyError(id)


def wanted(
    rows: Sequence[str],
    *,
    tier: Tier,
    traces: Mapping[str, str],
    figures: Path | None,
    jobs: int | None,
    fresh: bool,
    kept: bool,
) -> Wanted:
    """What `reproduce` is asked for, checked before anything runs.

    Raises:
        UsageError: as `reproduce` does.
    """
    words = arguments.names("rows", rows)
    arguments.choice("tier", tier, ("quick", "full"))
    if jobs is not None:
        arguments.whole_number("jobs", jobs, 1)
    if arguments.flag("fresh", fresh) and arguments.flag("kept", kept):
        raise UsageError("fresh runs everything again, and kept nothing: only one of them")
    chosen = select(words)
    check_traces(traces, [paper for paper, _ in chosen])
    return Wanted(
        rows=chosen,
        tier=tier,
        store=Store(default_store(), fresh=fresh),
        words=words,
        traces=traces,
        jobs=jobs,
        kept_only=kept,
        figures=figures,
    )


def reproduce(
    rows: Sequence[str] = (),
    *,
    tier: Tier = "quick",
    traces: Mapping[str, tables.Named] | None = None,
    figures: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    kept: bool = False,
    progress: ProgressCallback | None = None,
) -> Reproduction:
    """Holds the papers' numbers against runs: row by row, with a verdict and its cause.

    What has been run is kept under the user's cache folder and not run again while engine, data
    and traces are the same. Ctrl-C ends the runs; the reproduction is then `partial`.

    Args:
        rows: names of rows or what these begin with, such as `"ttflash.table2"`; all if none.
        tier: `"quick"` leaves out what takes longer than seconds; `"full"` leaves out nothing.
        traces: workloads to be played instead of a paper's stand-ins, by the names of the paper's
            traces: paths, or tables as in `compare`.
        figures: folder to draw the papers' figures into.
        jobs: how many runs may go on at once; as many as there are processors if not given.
        fresh: run everything again.
        kept: judge by the runs that are kept from before, and make none that takes longer than a
            probe.
        progress: called about ten times a second, in this thread.

    Raises:
        UsageError: an argument of the wrong type, an unknown row or trace, or two arguments that
            contradict each other.
        ConfigError, WorkloadError: a trace that cannot be read.
    """
    given = {name: tables.workload(each) for name, each in (traces or {}).items()}
    folder = None if figures is None else Path(arguments.file(figures))
    wished = wanted(
        rows, tier=tier, traces=given, figures=folder, jobs=jobs, fresh=fresh, kept=kept
    )
    document = execute(wished, progress)
    keys = ReproducedRow.__dataclass_fields__
    found = tuple(ReproducedRow(**{key: row[key] for key in keys}) for row in document["rows"])
    return Reproduction(found, document["partial"], document)
