"""Holds what was measured against what counts as reproduced, row by row."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tinytail import units
from tinytail.reproduction import conditions
from tinytail.reproduction.conditions import Value
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Evidence, Paper, Reading, Row

Verdict = Literal["reproduced", "deviates", "not-run"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Input = Literal["real", "synthetic", "stand-in", "context"]

# How papers and rows write units, and how they are shown.
SPELLINGS = {"us": "µs", "K IOPS": "KIOPS"}
# Units that say nothing beside a number.
NO_UNIT = ("-", "count", "rule", "formula", "ratio", "mixed")
NO_CAUSE = "not explained yet"


@dataclass(frozen=True, slots=True)
class RowResult:
    """What came of one row. `measured` is None if it was not run; `cause` then says why."""

    row: Row
    evidence: Evidence
    measured: Mapping[str, Value] | None
    input: Input
    verdict: Verdict
    cause: str
    workloads: tuple[str, ...]

    def to_dict(self, commit: str) -> dict[str, Any]:
        """The row as it stands in the results."""
        return {
            **self.row.to_dict(),
            **self.evidence.to_dict(),
            "measured": _plain(self.measured),
            "input": self.input,
            "workloads": list(self.workloads),
            "verdict": self.verdict,
            "cause": self.cause,
            "commit": commit,
        }


def _plain(values: Mapping[str, Value] | None) -> Any:
    """One value as it is, several by their names; to six digits, as far as anything is known."""
    if values is None:
        return None
    rounded = {name: _rounded(value) for name, value in values.items()}
    return rounded["value"] if list(rounded) == ["value"] else rounded


def _rounded(value: Value) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def shown(measured: Any, unit: str) -> str:
    """What was measured, for people.

    >>> shown(1.024, "x"), shown({"p99": [1.0, 1.25], "most": 2}, "x"), shown(None, "x")
    ('1.024 x', 'p99 1, 1.25; most 2', '–')
    """
    if measured is None:
        return units.MISSING
    if isinstance(measured, dict):
        return "; ".join(f"{name} {_figure(value)}" for name, value in measured.items())
    return with_unit(_figure(measured), unit)


def with_unit(value: str, unit: str) -> str:
    """A figure with its unit, unless its text says the unit already.

    >>> with_unit("80", "%"), with_unit("80% at OP 20%", "%"), with_unit("1.5", "us")
    ('80 %', '80% at OP 20%', '1.5 µs')
    >>> with_unit("64.5 / 7.4", "% / KB")
    '64.5 % / 7.4 KB'
    """
    value, unit = spelled(value), spelled(unit)
    values, parts = value.split(" / "), unit.split(" / ")
    if len(parts) > 1 and len(values) == len(parts):
        return " / ".join(map(with_unit, values, parts))
    is_said = re.search(rf"(?<![^\W\d]){re.escape(unit)}(?![^\W\d])", value)
    return value if unit in NO_UNIT or is_said else f"{value} {unit}"


def spelled(text: str) -> str:
    """A text in which each unit has one spelling.

    >>> spelled("0.8 K IOPS at 200 us, 3 us each"), spelled("read.p99_us")
    ('0.8 KIOPS at 200 µs, 3 µs each', 'read.p99_us')
    """
    for known, spelling in SPELLINGS.items():
        text = re.sub(rf"(?<![^\W\d]){known}\b", spelling, text)
    return text


def _figure(value: Any) -> str:
    match value:
        case None:
            return units.MISSING
        case list():
            return ", ".join(map(_figure, value)) or units.MISSING
        case float() if value == int(value) and abs(value) < 1e6:
            return f"{int(value)}"
        case float() if 0 < abs(value) < 1e-4:
            return f"{value:.1e}"
        case float() if abs(value) >= 100:
            return f"{value:,.1f}"
        case float():
            return f"{value:.3g}" if abs(value) < 1 else f"{value:.4g}"
        case _:
            return str(value)


def evaluate(paper: Paper, row: Row, lab: Lab) -> RowResult:
    """Measures a row and judges it. A row whose needs are not there is not run, and says why."""
    if row.measure is None:
        what = "context: " if row.input == "context" else "needs "
        return _not_run(paper, row, lab, f"{what}{row.lacks}")
    lab.used.clear()
    try:
        measured = _measured(paper, row.measure, lab)
    except Unavailable as missing:
        return _not_run(paper, row, lab, str(missing))
    verdict = _judged(row, measured)
    workloads = {outcome.result.workload for outcome in lab.seen()}
    inputs = {workload.input for workload in workloads}
    kind: Input = "synthetic"
    if row.input == "trace":
        # What is known of a workload alone is measured without a run of it.
        looked: Input = "stand-in" if "stand-in" in inputs else "real"
        kind = looked if inputs else _expected_input(paper, row, lab)
    return RowResult(
        row=row,
        evidence=paper.evidence[row.id],
        measured=measured,
        input=kind,
        verdict=verdict,
        cause=_cause(paper, row, lab) if verdict == "deviates" else "",
        workloads=tuple(sorted(w.name for w in workloads)) if row.input == "trace" else (),
    )


def _judged(row: Row, measured: Mapping[str, Value]) -> Verdict:
    holds = all(conditions.holds(condition, measured) for condition in row.accept)
    return "reproduced" if holds else "deviates"


def read_otherwise(paper: Paper, reading: Reading, lab: Lab) -> list[dict[str, Any]]:
    """The rows of another reading, as they stand in the results: measured and judged under it.

    It moves no verdict of the rows themselves.
    """
    found: list[dict[str, Any]] = []
    for name in reading.rows:
        row = paper.rows[name]
        assert row.measure is not None
        entry = {"row": name, "measured": None, "verdict": "not-run", "lacks": ""}
        try:
            with lab.under(reading):
                measured = _measured(paper, row.measure, lab)
        except Unavailable as missing:
            entry["lacks"] = str(missing)
        else:
            entry["measured"] = _plain(measured)
            entry["verdict"] = _judged(row, measured)
        found.append(entry)
    return found


def _cause(paper: Paper, row: Row, lab: Lab) -> str:
    """Why a row deviates, with the figures of its measure in the text."""
    deviation = paper.deviations.get(row.id)
    if deviation is None:
        return NO_CAUSE
    if deviation.measure is None:
        return deviation.cause
    try:
        values = _measured(paper, deviation.measure, lab)
    except Unavailable as missing:
        return f"{NO_CAUSE}: {missing}"
    return deviation.cause.format(**{name: _figure(value) for name, value in values.items()})


def _measured(paper: Paper, measure: Mapping[str, Any], lab: Lab) -> Mapping[str, Value]:
    arguments = {key: value for key, value in measure.items() if key != "use"}
    return paper.measures[measure["use"]](lab, **arguments)


def _not_run(paper: Paper, row: Row, lab: Lab, cause: str) -> RowResult:
    kind = _expected_input(paper, row, lab)
    return RowResult(row, paper.evidence[row.id], None, kind, "not-run", cause, ())


def _expected_input(paper: Paper, row: Row, lab: Lab) -> Input:
    """The input that a row would have had."""
    if row.input != "trace":
        return row.input
    # A row without a measure would look at any of them.
    for name in paper.experiments_of(row) or paper.experiments:
        workload = paper.experiments[name].workload
        if isinstance(workload, str) and workload.startswith("@"):
            trace = paper.traces[workload[1:]]
            if lab.inputs.is_stand_in(trace):
                return "stand-in"
    return "real"
