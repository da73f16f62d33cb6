"""What a trace says of the latencies of its requests, beside what designs made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from tinytail import units
from tinytail.verdict.percentiles import PERCENTILES, Kind, Percentile

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult
    from tinytail.engine.results import Latency, Measured, PercentileRatios

# The percentiles that are compared, and their keys among the ratios.
_SHOWN = {each: each.key.removesuffix("_us") for each in PERCENTILES if each.one_in <= 1000}

# How the note begins that says why the latencies of a trace are left out.
LEFT_OUT = "the latencies that were measured of these requests are left out: "

# What the line and the row of the measured latencies are called.
MEASURED = "measured in the trace"


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """Reads or writes: what was measured of them, and what each design made of them.

    Attributes:
        kind: Of which requests.
        percentiles: The names of the columns.
        rows: A cell for each, by the name of the row: what was measured, then each design, with
            the ratio to what was measured.
    """

    kind: Kind
    percentiles: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def tables(comparison: Comparison) -> list[MeasuredTable]:
    """One for reads and one for writes, as far as the trace has latencies of so many of them."""
    found = [(each, each.measured) for each in comparison.results if each.measured]
    made = []
    for kind in get_args(Kind):
        shown = [each for each in _SHOWN if found and each.of(_latency(found[0][1], kind))]
        if shown:
            made.append(_table(kind, shown, found))
    return made


def _table(
    kind: Kind, shown: Sequence[Percentile], found: Sequence[tuple[DesignResult, Measured]]
) -> MeasuredTable:
    measured = _latency(found[0][1], kind)
    rows = [(f"{kind}s {MEASURED}", [units.latency(each.of(measured)) for each in shown])]
    for result, each in found:
        latency, ratio = _latency(result, kind), _ratios(each, kind)
        cells = [_cell(p.of(latency), getattr(ratio, _SHOWN[p])) for p in shown]
        rows.append((result.design, cells))
    return MeasuredTable(
        kind,
        tuple(each.name for each in shown),
        tuple((name, tuple(cells)) for name, cells in rows),
    )


def _cell(latency_us: float | None, ratio: float | None) -> str:
    """A latency of a design, and how many times what was measured it is."""
    times = units.ratio(ratio, 1.0)
    return times if latency_us is None else f"{units.latency(latency_us)} ({times})"


def meaning(comparison: Comparison) -> str:
    """From where to where latencies were measured, and what ratios to them do not mean.

    Where the trace holds latencies of another load than the one that ran, that is the sentence.
    """
    found = next((each.measured for each in comparison.results if each.measured), None)
    if found is None:
        notes = (note for each in comparison.results for note in each.notes)
        left_out = next((note for note in notes if note.startswith(LEFT_OUT)), "")
        return f"{left_out[:1].upper()}{left_out[1:]}." if left_out else ""
    caveats = "; ".join(found.caveats)
    sentences = [
        f"Measured {found.scope}.",
        f"{caveats[:1].upper()}{caveats[1:]}." if caveats else "",
    ]
    return " ".join(filter(None, sentences))


def _latency(measured: Measured | DesignResult, kind: Kind) -> Latency:
    return measured.read if kind == "read" else measured.write


def _ratios(measured: Measured, kind: Kind) -> PercentileRatios:
    return measured.ratio.read if kind == "read" else measured.ratio.write
