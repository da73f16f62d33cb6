"""What a trace says of the latencies of its requests, beside what designs made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from tinytail import units
from tinytail.verdict.percentiles import PERCENTILES, Kind, Percentile

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison
    from tinytail.engine.results import Latency, Measured, PercentileRatios

# The percentiles that are compared, and their keys among the ratios.
_SHOWN = {each: each.key.removesuffix("_us") for each in PERCENTILES if each.one_in <= 1000}


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """Reads or writes: what was measured of them, and each design as so many times that.

    Attributes:
        kind: Of which requests.
        percentiles: The names of the columns.
        rows: A cell for each, by the name of the row: what was measured, then each design.
    """

    kind: Kind
    percentiles: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def tables(comparison: Comparison) -> list[MeasuredTable]:
    """One for reads and one for writes, as far as the trace has latencies of so many of them."""
    found = [(each.design, each.measured) for each in comparison.results if each.measured]
    made = []
    for kind in get_args(Kind):
        shown = [each for each in _SHOWN if found and each.of(_latency(found[0][1], kind))]
        if shown:
            made.append(_table(kind, shown, found))
    return made


def _table(
    kind: Kind, shown: Sequence[Percentile], found: Sequence[tuple[str, Measured]]
) -> MeasuredTable:
    measured = _latency(found[0][1], kind)
    rows = [
        (f"{kind}s measured in the trace", [units.latency(each.of(measured)) for each in shown])
    ]
    for design, each in found:
        ratio = _ratios(each, kind)
        rows.append((design, [units.ratio(getattr(ratio, _SHOWN[p]), 1.0) for p in shown]))
    return MeasuredTable(
        kind,
        tuple(each.name for each in shown),
        tuple((name, tuple(cells)) for name, cells in rows),
    )


def meaning(comparison: Comparison) -> str:
    """From where to where latencies were measured, and what ratios to them do not mean."""
    found = next((each.measured for each in comparison.results if each.measured), None)
    if found is None:
        return ""
    caveats = "; ".join(found.caveats)
    sentences = [
        f"Measured {found.scope}.",
        f"{caveats[:1].upper()}{caveats[1:]}." if caveats else "",
    ]
    return " ".join(filter(None, sentences))


def _latency(measured: Measured, kind: Kind) -> Latency:
    return measured.read if kind == "read" else measured.write


def _ratios(measured: Measured, kind: Kind) -> PercentileRatios:
    return measured.ratio.read if kind == "read" else measured.ratio.write
