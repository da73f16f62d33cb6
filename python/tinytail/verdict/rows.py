"""What is shown of a comparison, row by row, with nothing drawn: the table, and facts beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tinytail import units
from tinytail.verdict import states
from tinytail.verdict.findings import has_ratio, usable_reference
from tinytail.verdict.noise import margin
from tinytail.verdict.percentiles import LATENCIES, Kind, Percentile, latency_of, out_of_reach

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult
    from tinytail.engine.results import HostWaits

Figure = float | int | None


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    figure: Callable[[DesignResult], Figure]
    show: Callable[[Any], str]
    has_ratio: bool
    starts_section: bool = False
    # Name of the figure's interval.
    name: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of the comparison's table: a value for each design, and its ratio to the reference.

    A ratio that has no meaning is empty, and so is a margin that is not known.
    """

    label: str
    values: list[str]
    margins: list[str]
    ratios: list[str]
    starts_section: bool


def _latency_rows(kind: Kind) -> list[_Row]:
    def count(result: DesignResult) -> Figure:
        return latency_of(result, kind).count

    def figure(of: Percentile) -> Callable[[DesignResult], Figure]:
        return lambda result: of.of(latency_of(result, kind))

    rows = [_Row(f"{kind}s", count, units.count, has_ratio=False, starts_section=True)]
    rows += [
        _Row(
            f"  {each.name}",
            figure(each),
            units.latency,
            has_ratio=True,
            name=f"{kind}.{each.key}",
        )
        for each in LATENCIES
        if each.name != "p99.999"
    ]
    return rows


def _number(value: float | None) -> str:
    return units.MISSING if value is None else units.number(value)


def _of_bursts(name: str) -> Callable[[DesignResult], Figure]:
    def of(result: DesignResult) -> Figure:
        value: Figure = getattr(result.bursts, name, None)
        return value

    return of


def _of_host_waits(
    of: Callable[[HostWaits, DesignResult], Figure],
) -> Callable[[DesignResult], Figure]:
    return lambda result: None if result.host_waits is None else of(result.host_waits, result)


def _host_wait_rows() -> list[_Row]:
    def figure(of: Percentile) -> Callable[[DesignResult], Figure]:
        return _of_host_waits(lambda waits, _: of.of(waits.wait))

    def seconds(of: Callable[[HostWaits, DesignResult], float]) -> Callable[[DesignResult], Figure]:
        return _of_host_waits(lambda waits, result: 1e6 * of(waits, result))

    waited = _of_host_waits(lambda waits, _: waits.waited)
    percent = _of_host_waits(lambda waits, _: waits.waited_percent)
    came = seconds(lambda waits, _: waits.arrivals_seconds)
    served = seconds(lambda _, result: result.throughput.makespan_seconds)
    return [
        _Row("waited in host", waited, units.count, has_ratio=False, starts_section=True),
        _Row("  of requests", percent, units.percent, has_ratio=False),
        *(
            _Row(f"  {each.name}", figure(each), units.latency, has_ratio=True)
            for each in LATENCIES
            if each.name != "p99.999"
        ),
        _Row("  all came in", came, units.latency, has_ratio=False),
        _Row("  all were served in", served, units.latency, has_ratio=True),
    ]


ALL_PLANES = 100.0
_BURST_ROWS = [
    _Row("bursts", _of_bursts("count"), units.count, has_ratio=False, starts_section=True),
    _Row("  mean", _of_bursts("mean_us"), units.latency, has_ratio=True),
    _Row("  written, MB/s", _of_bursts("write_mb_per_second"), _number, has_ratio=True),
    _Row("  read, MB/s", _of_bursts("read_mb_per_second"), _number, has_ratio=True),
]
_PLANE_ROWS = [
    _Row(
        "GC-affected reads, mean",
        lambda result: result.gc_affected.reads.mean_us,
        units.latency,
        has_ratio=True,
        starts_section=True,
    ),
    _Row(
        "GC-affected writes, mean",
        lambda result: result.gc_affected.writes.mean_us,
        units.latency,
        has_ratio=True,
    ),
    _Row(
        "planes busy during GC",
        lambda result: result.plane_utilization_during_gc_percent,
        units.percent,
        has_ratio=False,
    ),
    _Row(
        "MB/s by device busy time",
        lambda result: result.throughput.device_busy_mb_per_second,
        _number,
        has_ratio=True,
    ),
]
# Reads of pages that hold no data; beyond this share a result has a finding of them.
UNMAPPED_PERCENT = 1.0
_UNMAPPED_ROW = _Row(
    "reads without data",
    lambda result: result.unmapped_read_percent,
    units.percent,
    has_ratio=False,
)
_ROWS = [
    *_latency_rows("read"),
    *_latency_rows("write"),
    _Row(
        "requests/s arriving",
        lambda result: result.throughput.arrivals_per_second,
        units.rate,
        has_ratio=False,
        starts_section=True,
    ),
    _Row(
        "requests/s served",
        lambda result: result.throughput.served_per_second,
        units.rate,
        has_ratio=True,
    ),
    _Row(
        "MB/s served",
        lambda result: result.throughput.makespan_mb_per_second,
        _number,
        has_ratio=True,
    ),
    _Row(
        "GC-blocked reads",
        lambda result: result.gc_blocked_read_percent,
        units.percent,
        has_ratio=False,
        starts_section=True,
    ),
    _Row(
        "queue-blocked reads",
        lambda result: result.queue_blocked_read_percent,
        units.percent,
        has_ratio=False,
    ),
    _Row(
        "write amplification",
        lambda result: result.write_amplification,
        _number,
        has_ratio=False,
        name="write_amplification",
    ),
    _Row("erases", lambda result: result.erases, units.count, has_ratio=False, name="erases"),
    _Row(
        "drift, pages",
        lambda result: result.erased.drift_pages,
        lambda pages: units.signed(pages, units.count),
        has_ratio=False,
    ),
    _Row(
        "drift, of host pages",
        lambda result: result.erased.drift_percent,
        lambda percent: units.signed(percent, units.percent),
        has_ratio=False,
    ),
    _UNMAPPED_ROW,
    _Row("GCs", lambda result: result.gc_count, units.count, has_ratio=False, name="gc_count"),
    _Row(
        "requests/CPU-second",
        lambda result: result.requests_per_cpu_second,
        units.rate,
        has_ratio=False,
    ),
]


def _rows(results: Sequence[DesignResult]) -> list[_Row]:
    """The rows that a table of these results has.

    Those of bursts only where there are bursts, those of waits in the host only where a bound may
    cause them, those of planes only where dies have several, that of reads without data only where
    a result has enough of them.
    """
    rows = _BURST_ROWS + _ROWS if any(result.bursts for result in results) else _ROWS
    if not any(map(meets_unmapped, results)):
        rows = [row for row in rows if row is not _UNMAPPED_ROW]
    rows = rows + _host_wait_rows() if any(result.host_waits for result in results) else rows
    utilized = [result.plane_utilization_during_gc_percent for result in results]
    several = any(percent is not None and percent < ALL_PLANES for percent in utilized)
    return rows + _PLANE_ROWS if several else rows


def meets_unmapped(result: DesignResult) -> bool:
    """Whether so many of its reads met pages without data that it is to be known."""
    return result.unmapped_read_percent > UNMAPPED_PERCENT


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """What is to be known with a comparison's figures, as pairs of a label and a fact."""
    workload = comparison.workload
    known = [("device", comparison.device)]
    name = workload.name if workload.input is None else f"{workload.name} ({workload.input})"
    known.append(("workload", f"{name}: {workload.detail}" if workload.detail else name))
    known += states.facts(comparison)
    seeds = units.seeds(comparison.seed, comparison.seeds)
    known.append(("seed", f"{seeds}, tinytail {comparison.version}"))
    if len(comparison.results) > 1:
        reference = usable_reference(comparison)
        if reference is None:
            why = "it has no whole result, so that there are no ratios"
        elif reference.design == comparison.reference:
            why = "× is the ratio to it"
        else:
            why = f"it has no whole result: × is the ratio to {reference.design}"
        known.append(("reference", f"{comparison.reference} ({why})"))
    verified = [
        f"{units.count(result.verified_page_reads)} ({result.design})"
        for result in comparison.results
        if result.verified_page_reads is not None
    ]
    if verified:
        known.append(("verified", "reads: " + ", ".join(verified)))
    deeper = out_of_reach(comparison)
    known += [("deeper", deeper)] if deeper is not None else []
    known += [("note", note) for note in _notes(comparison.results)]
    stopped = [result.design for result in comparison.results if result.stuck is not None]
    if stopped:
        why = "requests stopped completing"
        known.append(("STOPPED", f"{why}; {', '.join(stopped)} served only a part of the workload"))
    if comparison.partial:
        known.append(("PARTIAL", _partial(comparison)))
    return known


def table_rows(comparison: Comparison) -> list[TableRow]:
    """The comparison's table, row by row."""
    results = comparison.results
    reference = usable_reference(comparison)
    return [
        TableRow(
            row.label,
            [row.show(row.figure(result)) for result in results],
            [_margin(row, result) for result in results],
            [_ratio(row, result, reference) for result in results],
            starts_section=row.starts_section,
        )
        for row in _rows(results)
    ]


def _margin(row: _Row, result: DesignResult) -> str:
    shown = bool(row.name) and row.figure(result) is not None
    return margin(result, row.name) if shown else ""


def _ratio(row: _Row, result: DesignResult, reference: DesignResult | None) -> str:
    if reference is None or not row.has_ratio or not has_ratio(result, reference):
        return ""
    return units.ratio(row.figure(result), row.figure(reference))


def _notes(results: Sequence[DesignResult]) -> list[str]:
    """Every note once; one that does not hold for all designs is marked with those it holds for."""
    designs_by_note: dict[str, list[str]] = {}
    for result in results:
        for note in result.notes:
            designs_by_note.setdefault(note, []).append(result.design)
    return [
        note if len(designs) == len(results) else f"{', '.join(designs)}: {note}"
        for note, designs in designs_by_note.items()
    ]


def _partial(comparison: Comparison) -> str:
    cut = [result.design for result in comparison.results if result.interrupted]
    if not cut:
        return "interrupted before every design was run"
    return f"interrupted; {', '.join(cut)} served only a part of the workload"
