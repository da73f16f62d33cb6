"""Draws results as tables that fit the width they are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.comparison.curve import curve
from tinytail.verdict import states
from tinytail.verdict.causes import human_name
from tinytail.verdict.findings import has_ratio, usable_reference
from tinytail.verdict.noise import margin
from tinytail.verdict.percentiles import SAMPLES_BEYOND, Kind, latency_of
from tinytail.verdict.sentences import warnings

if TYPE_CHECKING:
    from tinytail.analysis.page_layout import PageLayout
    from tinytail.analysis.rate_matching import Curves, RateMatching
    from tinytail.analysis.rotation import Analysis, Rotation
    from tinytail.comparison.result import Comparison, DesignResult
    from tinytail.engine.native import Claim, Description, Entry
    from tinytail.power import PowerCuts

# The figures of latencies, each with one request in how many beyond it: a percentile that fewer
# than ten lie beyond says nothing. 0: whatever their number.
LATENCY_ROWS = {
    "mean": ("mean_us", 0),
    "p50": ("p50_us", 2),
    "p90": ("p90_us", 10),
    "p95": ("p95_us", 20),
    "p99": ("p99_us", 100),
    "p99.9": ("p999_us", 1000),
    "p99.99": ("p9999_us", 10_000),
    "max": ("max_us", 0),
}

COLUMN_GAP = 2
ATTRIBUTION_SHOWN_PERCENT = 0.5

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

    def figure(name: str, one_in: int) -> Callable[[DesignResult], Figure]:
        def of(result: DesignResult) -> Figure:
            latency = latency_of(result, kind)
            if not latency.count or (one_in and latency.count // one_in < SAMPLES_BEYOND):
                return None
            value: float | None = getattr(latency, name)
            return value

        return of

    rows = [_Row(f"{kind}s", count, units.count, has_ratio=False, starts_section=True)]
    rows += [
        _Row(
            f"  {label}",
            figure(*figures),
            units.latency,
            has_ratio=True,
            name=f"{kind}.{figures[0]}",
        )
        for label, figures in LATENCY_ROWS.items()
    ]
    return rows


def _number(value: float | None) -> str:
    return units.MISSING if value is None else units.number(value)


def _of_bursts(name: str) -> Callable[[DesignResult], Figure]:
    def of(result: DesignResult) -> Figure:
        value: Figure = getattr(result.bursts, name, None)
        return value

    return of


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

    Those of bursts only where there are bursts, those of planes only where dies have several.
    """
    rows = _BURST_ROWS + _ROWS if any(result.bursts for result in results) else _ROWS
    utilized = [result.plane_utilization_during_gc_percent for result in results]
    several = any(percent is not None and percent < ALL_PLANES for percent in utilized)
    return rows + _PLANE_ROWS if several else rows


def comparison_view(comparison: Comparison, width: int) -> RenderableType:
    """A comparison: what was run, one table, and where the slowest reads spent their time."""
    parts: list[RenderableType] = [_header(comparison)]
    if comparison.results:
        parts.append(Text())
        parts += _tables(comparison, width)
        drawn = curve(comparison, width)
        parts += [Text(), *drawn] if drawn else []
        parts.append(_attribution(comparison))
    return Group(*parts)


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


def _header(comparison: Comparison) -> RenderableType:
    grid = Table.grid(padding=(0, COLUMN_GAP))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    found = [("finding", str(warning)) for warning in warnings(comparison)]
    for label, fact in [*found, *facts(comparison)]:
        style = "bold yellow" if label in ("PARTIAL", "STOPPED") else "dim"
        grid.add_row(Text(label, style), Text(fact))
    return grid


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


def _tables(comparison: Comparison, width: int) -> list[RenderableType]:
    """One table; more than one only if the designs do not fit side by side at all."""
    results = list(comparison.results)
    reference = usable_reference(comparison)
    rows = _rows(results)
    label_width = max(cell_len(row.label) for row in rows)
    width_max = max(1, width - label_width - COLUMN_GAP)
    for stacked in (False, True):
        title_width = width_max if stacked else None
        columns = [_Column(rows, result, reference, title_width) for result in results]
        if label_width + sum(column.width + COLUMN_GAP for column in columns) <= width:
            return [_table(rows, columns)]
    tables: list[RenderableType] = []
    group: list[_Column] = []
    used = label_width
    for column in columns:
        if group and used + column.width + COLUMN_GAP > width:
            tables.append(_table(rows, group))
            group, used = [], label_width
        group.append(column)
        used += column.width + COLUMN_GAP
    return [*tables, _table(rows, group)]


class _Column:
    """The cells of one design, aligned by hand so that units and ratios line up.

    With a width for its title it is stacked: a ratio stands under its value instead of beside it,
    and a long name is broken at its plus signs, and wherever it is longer than that width.
    """

    def __init__(
        self,
        rows: Sequence[_Row],
        result: DesignResult,
        reference: DesignResult | None,
        title_width: int | None,
    ) -> None:
        values = [row.show(row.figure(result)) for row in rows]
        margins = [_margin(row, result) for row in rows]
        room = max(map(cell_len, margins))
        if room and title_width is None:
            pairs = zip(values, margins, strict=True)
            values = [f"{value} {_right(found, room)}" for value, found in pairs]
        ratios = [_ratio(row, result, reference) for row in rows]
        title = [result.design]
        if title_width is not None:
            first, *overlays = result.design.split("+")
            names = [first, *(f"+{overlay}" for overlay in overlays)]
            title = [part for name in names for part in chop_cells(name, title_width)]
        value_width = max(map(cell_len, values))
        ratio_width = max(map(cell_len, ratios))
        if title_width is not None:
            self.width = max(value_width, ratio_width, *map(cell_len, title))
            self.cells = [
                "\n".join(_right(part, self.width) for part in (value, ratio) if part)
                for value, ratio in zip(values, ratios, strict=True)
            ]
        else:
            gap = 1 if ratio_width else 0
            body_width = value_width + gap + ratio_width
            self.width = max(body_width, *map(cell_len, title))
            self.cells = [
                _right(
                    _right(value, value_width) + " " * gap + _right(ratio, ratio_width), self.width
                )
                for value, ratio in zip(values, ratios, strict=True)
            ]
        self.title = "\n".join(_right(part, self.width) for part in title)


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _table(rows: Sequence[_Row], columns: Sequence[_Column]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, COLUMN_GAP - 1, 0, 0), show_edge=False
    )
    table.add_column("", no_wrap=True)
    for column in columns:
        # Where not even one design has room, figures are broken and not cut.
        table.add_column(Text(column.title), overflow="fold")
    for index, row in enumerate(rows):
        style = "bold" if row.starts_section and not row.label.startswith(" ") else ""
        if row.starts_section and index:
            table.add_row()
        table.add_row(Text(row.label, style), *(Text(column.cells[index]) for column in columns))
    return table


def _attribution(comparison: Comparison) -> RenderableType:
    parts: list[RenderableType] = [Text()]
    shares = [result.attribution.slowest_reads.share_percent for result in comparison.results]
    share = f"{shares[0]:g}" if shares[0] is not None else "0.1"
    parts.append(
        Text(f"Where the slowest {share} % of reads spent their time (mean per read)", "bold")
    )
    for result in comparison.results:
        parts.append(_design_attribution(result))
    return Group(*parts)


def _design_attribution(result: DesignResult) -> RenderableType:
    slowest = result.attribution.slowest_reads
    title = Text.assemble((result.design, "bold"))
    if not slowest.count:
        title.append(": no reads")
        return title
    title.append(f": {units.count(slowest.count)} reads")
    if slowest.latency_us_from is not None:
        title.append(f" from {units.latency(slowest.latency_us_from)} on")
    title.append(f", mean {units.latency(slowest.mean_us)}")
    grid = Table.grid(padding=(0, COLUMN_GAP))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    ranked = slowest.ranked()
    shown = [cause for cause in ranked if cause.percent >= ATTRIBUTION_SHOWN_PERCENT]
    rest = ranked[len(shown) :]
    for cause in shown:
        grid.add_row(
            f"  {units.percent(cause.percent)}",
            units.latency(cause.mean_us),
            Text(human_name(cause.cause)),
        )
    if rest:
        grid.add_row(
            f"  {units.percent(sum(cause.percent for cause in rest))}",
            units.latency(sum(cause.mean_us for cause in rest)),
            Text(f"{len(rest)} smaller causes" if len(rest) > 1 else human_name(rest[0].cause)),
        )
    parts: list[RenderableType] = [title, grid]
    if slowest.queue_blocked:
        share = units.percent(slowest.host_queue_percent)
        reads = units.count(slowest.queue_blocked)
        parts.append(
            Text(f"  {share} of it in the host: the device queue was full for {reads} reads")
        )
    acted = [f"{name} {units.count(n)}" for name, n in result.techniques.items() if n > 0]
    if acted:
        parts.append(Text(f"  techniques acted: {', '.join(acted)}"))
    return Group(*parts)


def entries_view(entries: Iterable[Entry]) -> Table:
    """A list of devices, designs or workloads."""
    entries = list(entries)
    with_kind = any(entry.kind is not None for entry in entries)
    table = _list_table("name", *(["kind"] if with_kind else []), "summary")
    for entry in entries:
        name = f"+{entry.name}" if entry.kind == "overlay" else entry.name
        kind = [entry.kind or ""] if with_kind else []
        table.add_row(*(Text(cell) for cell in (name, *kind, entry.summary)))
    return table


def description_view(description: Description) -> RenderableType:
    """A device, design or workload in full, each value with its source."""
    parts: list[RenderableType] = [
        Text.assemble((description.name, "bold"), f": {description.summary}")
    ]
    if description.alone is not None:
        parts.append(Text(f"alone: {description.alone}"))
    if description.settings:
        table = _list_table("section", "key", "value", "source")
        section = None
        for setting in description.settings:
            shown = setting.section if setting.section != section else ""
            section = setting.section
            table.add_row(
                *(Text(cell) for cell in (shown, setting.key, setting.value, setting.source))
            )
        parts.append(table)
    if description.derived:
        table = _list_table("derived", "value")
        for key, value in description.derived:
            table.add_row(Text(key), Text(value))
        parts.append(table)
    return Group(*parts)


def claims_view(claims: Iterable[Claim]) -> Table:
    """What a stand-in claims to be like, and what it is like."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("characteristic", no_wrap=True)
    for heading in ("claimed", "within", "found"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for claim in claims:
        table.add_row(
            Text(claim.name),
            units.exact_number(claim.value),
            f"{claim.tolerance_percent:g} %",
            units.exact_number(claim.found),
            "holds" if claim.holds else Text("does not hold", "bold red"),
        )
    return table


def facts_view(document: Mapping[str, Any]) -> Table:
    """Facts of a trace or an image, one a line; nested ones under the name of their group."""
    grid = Table.grid(padding=(0, COLUMN_GAP))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in _flatten(document):
        grid.add_row(Text(label, "dim"), Text(value))
    return grid


def _flatten(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{units.words(key)} ")
        elif key.endswith("_percent") and isinstance(value, int | float):
            yield f"{prefix}{units.words(key.removesuffix('_percent'))}", units.percent(value)
        else:
            yield f"{prefix}{units.words(key)}", units.value(value)


def cache_view(found: Mapping[str, Any], now_unix_s: float) -> RenderableType:
    """The aged drives that are kept."""
    entries = found["entries"]
    limit = units.memory(found["limit_bytes"])
    if not entries:
        return Text(f"No aged drives, of {limit} at most, in {found['folder']}")
    kept = "1 aged drive" if len(entries) == 1 else f"{len(entries)} aged drives"
    head = Text(f"{kept}, {units.memory(found['bytes'])} of {limit}, in {found['folder']}")
    table = _list_table("device", "design", "live", "aged by", "seed", "size", "made", "used")
    for entry in entries:
        table.add_row(*(Text(cell) for cell in _kept_drive(entry, now_unix_s)))
    return Group(head, table)


def _kept_drive(entry: Mapping[str, Any], now_unix_s: float) -> list[str]:
    size = units.memory(entry["bytes"])
    used = _ago(now_unix_s - entry["used_unix_s"])
    if "recipe" not in entry:
        return [entry["file"], "damaged", "", "", "", size, "", used]
    state = entry["recipe"]["state"]
    live = units.percent(state["live_percent"])
    ageing = f"{state['ageing']} {units.percent(state['overwrite_percent'])}"
    made = _ago(now_unix_s - entry["made_unix_s"])
    device, design, seed = entry["device"], entry["design"], str(entry["seed"])
    return [device, design, live, ageing, seed, size, made, used]


def _ago(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "now"


# Figures that a table of bench cases has columns for within 80 characters.
BENCH_COLUMNS_MAX = 5


def bench_view(cases: Iterable[Mapping[str, Any]]) -> Table:
    """The results of bench cases: a column for each figure, or a line where these are many."""
    columns: list[tuple[str, str, Callable[[Any], str]]] = [
        ("requests_per_cpu_second", "requests/\nCPU-s", units.rate),
        ("ns_per_event", "ns/event", units.number),
        ("floor_ratio", "× floor", units.number),
        ("log_cpu_ratio", "log:\nCPU", units.number),
        ("log_wall_ratio", "log:\nwall", units.number),
        ("keeping_cpu_ratio", "kept:\nCPU", units.number),
        ("keeping_wall_ratio", "kept:\nwall", units.number),
        ("cpu_seconds", "CPU-s", units.number),
        ("growth_ratio", "growth", units.number),
        ("iops", "IOPS", units.rate),
        ("late_us_depth_1", "late:\nQD 1", units.latency),
        ("late_us_depth_16", "late:\nQD 16", units.latency),
        ("peak_memory_bytes", "peak\nmemory", units.memory),
    ]
    rows = list(cases)
    shown = [column for column in columns if any(case.get(column[0]) is not None for case in rows)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("case", no_wrap=True)
    if len(shown) > BENCH_COLUMNS_MAX:
        table.add_column("figures", overflow="fold")
        for case in rows:
            figures = [
                heading.replace("/\n", "/").replace("\n", " ") + f" {words(case[key])}"
                for key, heading, words in shown
                if case.get(key) is not None
            ]
            table.add_row(Text(case["name"]), Text(", ".join(figures)))
        return table
    for _, heading, _ in shown:
        table.add_column(heading, justify="right", no_wrap=True)
    for case in rows:
        values = ((case.get(key), words) for key, _, words in shown)
        cells = (units.MISSING if value is None else words(value) for value, words in values)
        table.add_row(Text(case["name"]), *cells)
    return table


def _list_table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for position, heading in enumerate(headings):
        if position == 0:
            table.add_column(heading, no_wrap=True)
        else:
            table.add_column(heading, overflow="fold")
    return table


def rotation_view(rotation: Rotation) -> RenderableType:
    """The calculation of Appendix A: what was assumed, then every value of each form."""
    facts = Table.grid(padding=(0, COLUMN_GAP))
    for name, value in (
        ("device", rotation.device),
        ("drive writes per day", f"{rotation.dwpd:g} in {rotation.day_hours:g} h"),
        ("which are", f"{rotation.device_mib_s:.4g} MiB/s for the whole drive"),
        ("valid share of a victim", f"{rotation.valid:g}"),
        (
            "stripe width N for parity and RAM",
            f"{rotation.width} ({rotation.parity_percent:g} % of the pages are parity)",
        ),
        ("most that the host may write", f"{rotation.write_mib_s:.4g} MiB/s"),
    ):
        facts.add_row(Text(name), Text(value))
    parts: list[RenderableType] = [facts]
    for analysis in rotation.analyses:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(f"{analysis.form}, {analysis.load}")
        table.add_column("value", justify="right")
        table.add_column("unit")
        table.add_column("formula")
        for step in analysis.steps:
            shown = "no limit" if math.isinf(step.value) else f"{step.value:.4g}"
            table.add_row(step.symbol, shown, step.unit, step.formula)
        parts += [Text(), table, Text(f"{analysis.form}: {_limit(rotation, analysis)}")]
    return Group(*parts)


def _limit(rotation: Rotation, analysis: Analysis) -> str:
    if math.isinf(analysis.bound):
        limit = "no limit"
    elif analysis.form == "self-consistent":
        widest = f"at most {analysis.n_max}" if analysis.n_max else "none"
        limit = (
            f"N < {analysis.bound:.4g} with the parity of N = {rotation.width}, "
            f"{widest} with its own"
        )
    else:
        limit = f"N < {analysis.bound:.4g}, at most {analysis.n_max}"
    return f"{limit}; RAM of at least {analysis.ram_mib:.4g} MiB"


def rate_matching_view(found: RateMatching) -> RenderableType:
    """The curves of The Harey Tortoise's Fig. 6 in both forms, at every tenth percent."""
    array = found.array
    facts = Table.grid(padding=(0, COLUMN_GAP))
    for name, value in (
        ("device", found.device),
        ("chips", f"{array.chips}, of blocks of {array.pages_per_block} x {array.page_bytes} B"),
        ("spare", f"{array.spare_percent:g} % of the physical pages"),
        ("program, fast and slow", f"{_us(array.program_fast_ns)}, {_us(array.program_slow_ns)}"),
        ("program and read, mean", f"{_us(array.program_ns)}, {_us(array.read_ns)}"),
        ("erase", _us(array.erase_ns)),
    ):
        facts.add_row(Text(name), Text(value))
    parts: list[RenderableType] = [facts]
    for curves in found.forms:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("locality %", justify="right")
        for column in ("pages moved", "baseline", "FGC", "SGC", "FGC ratio", "SGC ratio"):
            table.add_column(column, justify="right")
        for point in curves.points[::10]:
            rates = (point.baseline, point.fgc, point.sgc)
            gains = (point.gain("fgc"), point.gain("sgc"))
            table.add_row(
                f"{point.locality_percent:g}",
                f"{point.moved:.4g}",
                *(f"{each.mb_s:.2f}" for each in rates),
                *("" if gain is None else f"{gain:.3f}" for gain in gains),
            )
        title = f"{curves.form} form, MB/s: GC_BW = page x {curves.formula}"
        parts += [Text(), Text(title), table, Text(f"{curves.form} form: {_crossover(curves)}")]
    return Group(*parts)


def power_cuts_view(found: PowerCuts) -> RenderableType:
    """What came of the losses of power, design by design."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("design", overflow="fold")
    for column in ("cuts", "torn", "lost", "stale", "p50 ms", "p99 ms", "max ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for result in found.results:
        times = result.recovery
        table.add_row(
            Text(result.design),
            str(result.cuts),
            str(result.torn_pages + result.torn_blocks),
            str(result.lost),
            str(result.stale),
            *(f"{ms:.1f}" for ms in (times.p50_ms, times.p99_ms, times.max_ms)),
        )
    acknowledged = sum(result.completed for result in found.results)
    pages = sum(result.pages_read_back for result in found.results)
    verdict = (
        f"{found.cuts} losses of power after {acknowledged} requests, {pages} pages read back: "
        f"{found.lost} lost, {found.stale} stale."
    )
    return Group(table, Text(verdict))


def _us(ns: float) -> str:
    return f"{ns / 1000:g} us"


def _crossover(curves: Curves) -> str:
    crossover = curves.crossover
    if crossover is None:
        return "all pages are alike, so that no preference changes anything"
    words = (
        f"FGC and SGC both write {crossover.fgc.mb_s:.2f} MB/s at a locality of "
        f"{crossover.locality_percent:.4g} %; FGC writes more below, SGC above"
    )
    matched = curves.matched_reads_crossover_percent
    if matched is not None and matched != crossover.locality_percent:
        words += f" (at {matched:.4g} % if moves read pages of the kind that they program)"
    return words


def page_layout_view(found: PageLayout) -> RenderableType:
    """A layout told from times, and what a device file says of it."""
    facts = Table.grid(padding=(0, COLUMN_GAP))
    rule = (
        "none: all pages are alike" if found.rule is None else f'page_class_layout = "{found.rule}"'
    )
    for name, value in (
        ("layout", found.name),
        ("in a device file", rule),
        ("pages of a block", f"{found.pages_per_block}"),
        ("median times, fastest class first", ", ".join(f"{each:g}" for each in found.class_times)),
        ("times of another class", f"{found.outliers} of {found.samples}"),
    ):
        facts.add_row(Text(name), Text(value))
    return facts
