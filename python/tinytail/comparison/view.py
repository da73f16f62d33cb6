"""Draws a comparison's verdict: sentences, one table, a bar for each design; a screen of text.

Every line is laid out by hand, so that their number and their width are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from tinytail import units
from tinytail.inputs.tables import design_label
from tinytail.terminal import bars
from tinytail.terminal.table import GAP, Column, Row, laid_out, right, wrapped
from tinytail.verdict import causes, measurements
from tinytail.verdict.causes import COLOURS, Family
from tinytail.verdict.findings import has_ratio, quotient, same, usable_reference
from tinytail.verdict.noise import margin
from tinytail.verdict.percentiles import (
    PERCENTILES,
    Kind,
    Percentile,
    headline,
    latency_of,
    out_of_reach,
)
from tinytail.verdict.rows import meets_unmapped
from tinytail.verdict.sentences import Tone, measured, sentences, warnings

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

# What is shown of three designs fits a screen of 80 columns.
LINES_MAX = 23
WARNINGS_MAX = 5
GROUPS_MAX = len(bars.SHADES) - 1
OTHERS = "other"
BAR_MIN = 12
# Below this width labels are shorter.
NARROW = 60
# The percentiles of the table; that of the headline is among them in any case.
SHOWN = ("p50", "p99", "p99.9", "p99.99")
# A latency of writes that differs less between designs is not shown.
WRITES_DIFFER = 1.05

_TONES: dict[Tone, str] = {"better": "green", "worse": "red", "doubtful": "yellow", "plain": ""}


def verdict_view(comparison: Comparison, width: int, *, unicode: bool) -> RenderableType:
    """The verdict in lines of at most `width` columns, findings first."""
    described = _sentences(comparison, width)
    table = _table(comparison, width)
    tails = _tails(comparison, width, unicode=unicode)
    are_any = any(map(measured, comparison.results))
    found = warnings(comparison, briefly=True) if are_any else []
    used = len(described) + len(table) + len(tails) + 1
    shown: list[Text] = []
    number = 0
    for warning in found:
        lines = wrapped(Text.assemble(("! ", "bold yellow"), warning.text), width, indent=2)
        has_room = number < WARNINGS_MAX and used + len(shown) + len(lines) <= LINES_MAX
        if number and not has_room and not warning.is_decisive:
            break
        shown += lines
        number += 1
    parts = [shown + described, table, _measured(comparison, width), tails]
    blank = used + len(shown) + 2 <= LINES_MAX
    lines = []
    for part in parts:
        if lines and part and blank:
            lines.append(Text())
        lines += part
    return Group(*lines, *_footer(comparison, len(found) - number, width))


def _footer(comparison: Comparison, hidden: int, width: int) -> list[Text]:
    seeds = units.seeds(comparison.seed, comparison.seeds)
    word = "seed" if comparison.seeds == 1 else "seeds"
    about = f"{comparison.device}, {comparison.workload.name}, {word} {seeds}."
    more = "More: --details" if not hidden else f"{hidden} more and all else: --details"
    lines = wrapped(Text(f"{about} {more}", "dim"), width)
    deeper = out_of_reach(comparison)
    notes = [_device_note(comparison), None if deeper is None else f"{deeper}."]
    said = [line for note in notes if note for line in wrapped(Text(note, "dim"), width)]
    return [*said, *lines]


def _device_note(comparison: Comparison) -> str | None:
    """What the device's file says beside every answer."""
    for item in comparison.configuration:
        for setting in item.settings:
            if (item.kind, setting.section, setting.key) == ("device", "defaults", "note"):
                return f"Note: {setting.value}."
    return None


def _sentences(comparison: Comparison, width: int) -> list[Text]:
    lines = []
    for sentence in sentences(comparison):
        text = Text.assemble(
            (design_label(sentence.design), "bold"), ": ", (sentence.text, _TONES[sentence.tone])
        )
        lines += wrapped(text, width, indent=2)
    return lines


def _table(comparison: Comparison, width: int) -> list[Text]:
    results = list(comparison.results)
    rows = _rows(
        comparison, amplification="write amp." if width < NARROW else "write amplification"
    )
    if not rows:
        return []
    columns = [
        Column(
            design_label(result.design) + " (partial)" * (result.partial and len(results) > 1),
            [row.values[index] for row in rows],
            [row.margins[index] if row.margins else "" for row in rows],
            [row.ratios[index] if row.ratios else "" for row in rows],
        )
        for index, result in enumerate(results)
    ]
    return laid_out(rows, columns, width)


def _measured(comparison: Comparison, width: int) -> list[Text]:
    """What was measured in the trace, below what a screen shows in any case."""
    lines: list[Text] = []
    for table in measurements.tables(comparison):
        empty = [""] * len(table.rows)
        columns = [
            Column(percentile, [cells[index] for _, cells in table.rows], empty, empty)
            for index, percentile in enumerate(table.percentiles)
        ]
        lines += [Text()] if lines else []
        lines += laid_out([Row(name, []) for name, _ in table.rows], columns, width)
    meaning = measurements.meaning(comparison)
    return lines + wrapped(Text(meaning, "dim"), width) if meaning else lines


def _rows(comparison: Comparison, amplification: str) -> list[Row]:
    """The rows of the table: of the kind that is judged all, of the other what differs."""
    results = comparison.results
    if not any(map(measured, results)):
        return []
    judged_by = headline(results)
    kind: Kind = judged_by.kind if judged_by is not None else "read"
    if not any(latency_of(result, kind).count for result in results):
        kind = "write" if kind == "read" else "read"
    reference = usable_reference(comparison)
    rows = []
    for percentile in PERCENTILES:
        is_headline = judged_by is not None and percentile is judged_by.percentile
        if percentile.name in SHOWN or is_headline:
            rows += _percentile_row(results, reference, kind, percentile)
    rows += _latency_row(
        f"{kind}s max", results, reference, lambda result: latency_of(result, kind).max_us
    )
    rows += _other_kind(results, reference, "write" if kind == "read" else "read")
    if any(map(meets_unmapped, results)):
        shares = [units.percent(result.unmapped_read_percent) for result in results]
        rows.append(Row("reads without data", shares))
    if comparison.workload.pacing in ("open", "bounded"):
        arrivals = [units.rate(result.throughput.arrivals_per_second) for result in results]
        rows.append(Row("arriving/s", arrivals))
    rows += _host_waits(results)
    rows.append(Row("IOPS, MB/s", [_rates(result) for result in results]))
    rows += _amplification(results, amplification)
    erases = [units.count(result.erases) for result in results]
    rows.append(Row("erases", erases, margins=[margin(each, "erases") for each in results]))
    return rows


def _percentile_row(
    results: Sequence[DesignResult],
    reference: DesignResult | None,
    kind: Kind,
    percentile: Percentile,
) -> list[Row]:
    def figure(result: DesignResult) -> float | None:
        return percentile.of(latency_of(result, kind))

    rows = _latency_row(f"{kind}s {percentile.name}", results, reference, figure)
    margins = [margin(result, f"{kind}.{percentile.key}") for result in results]
    return [replace(row, margins=margins) for row in rows]


def _latency_row(
    label: str,
    results: Sequence[DesignResult],
    reference: DesignResult | None,
    figure: Callable[[DesignResult], float | None],
) -> list[Row]:
    """A row of latencies with ratios where they say something; none where no design has one."""
    values = [figure(result) for result in results]
    if all(value is None for value in values):
        return []
    ratios = []
    for result, value in zip(results, values, strict=True):
        is_compared = reference is not None and has_ratio(result, reference)
        was = figure(reference) if reference is not None and is_compared else None
        ratio = quotient(value, was)
        ratios.append("" if ratio is None or same(ratio) else units.ratio(value, was))
    return [Row(label, [units.latency(value) for value in values], ratios)]


def _other_kind(
    results: Sequence[DesignResult], reference: DesignResult | None, kind: Kind
) -> list[Row]:
    rows = []
    for percentile in PERCENTILES:
        if percentile.name not in ("p99", "p99.99"):
            continue
        values = [percentile.of(latency_of(result, kind)) for result in results]
        known = [value for value in values if value is not None]
        differ = len(results) == 1 or (known and max(known) > WRITES_DIFFER * min(known))
        if known and differ:
            rows += _percentile_row(results, reference, kind, percentile)
    return rows


def _host_waits(results: Sequence[DesignResult]) -> list[Row]:
    """How many requests waited in the host for others, and how long; only where any may."""
    waits = [result.host_waits for result in results]
    if not any(waits):
        return []
    shares = [
        units.MISSING if each is None else units.percent(each.waited_percent) for each in waits
    ]
    lengths = [
        units.MISSING
        if each is None
        else f"{units.latency(each.wait.mean_us)}, {units.latency(each.wait.max_us)}"
        for each in waits
    ]
    return [Row("waited in host", shares), Row("wait mean, max", lengths)]


def _rates(result: DesignResult) -> str:
    rate = result.throughput.makespan_mb_per_second
    megabytes = units.MISSING if rate is None else units.number(rate)
    return f"{units.rate(result.throughput.served_per_second)}, {megabytes}"


def _amplification(results: Sequence[DesignResult], label: str) -> list[Row]:
    """Write amplification; where it has no meaning, the pages that GC copied say more."""
    values = [result.write_amplification for result in results]
    rows = []
    if any(value is not None for value in values):
        shown = [units.MISSING if value is None else units.number(value) for value in values]
        margins = [margin(result, "write_amplification") for result in results]
        rows.append(Row(label, shown, margins=margins))
    copied = [result.techniques.get("gc: copied pages", 0) for result in results]
    if any(value is None and pages for value, pages in zip(values, copied, strict=True)):
        rows.append(Row("pages GC copied", [units.count(pages) for pages in copied]))
    return rows


def _tails(comparison: Comparison, width: int, *, unicode: bool) -> list[Text]:
    """A bar for each design of where the headline's tail spent its time, below what shades mean."""
    judged_by = headline(comparison.results)
    if judged_by is None:
        return []
    tails = [(result, judged_by.tail(result)) for result in comparison.results]
    tails = [(result, tail) for result, tail in tails if tail.count and sum(tail.ns.values())]
    spent = [(result.design, tail.ns, units.latency(tail.mean_us)) for result, tail in tails]
    if not spent:
        return []
    name, many = judged_by.tail_name, units.counts(tail.count for _, tail in tails)
    title = f"{name[0].upper()}{name[1:]} ({many}), mean:"
    return cause_bars(title, spent, width, unicode=unicode)


def cause_bars(
    title: str, spent: Sequence[tuple[str, Mapping[str, int], str]], width: int, *, unicode: bool
) -> list[Text]:
    """Stacked bars of equal length, one for each name with its time by cause; empty for none.

    Args:
        title: stands before the legend.
        spent: names, nanoseconds by cause, and what stands behind the bar.
        width: columns that there are.
        unicode: whether block characters can be shown.
    """
    if not spent:
        return []
    shares = [_shares(ns) for _, ns, _ in spent]
    families = {causes.group(cause): causes.family(cause) for _, ns, _ in spent for cause in ns}
    names = _in_order(shares, families)
    lines = _legend(title, names, shares, families, width, unicode=unicode)
    end_width = max(cell_len(end) for _, _, end in spent)
    name_width = max(cell_len(name) for name, _, _ in spent)
    room = width - end_width - name_width - 2 * GAP
    for (name, _, end), share in zip(spent, shares, strict=True):
        parts = [share.get(each, 0.0) for each in names]
        parts.append(max(0.0, 1.0 - sum(parts)))
        text = Text(no_wrap=True)
        if room >= BAR_MIN:
            text.append(name + " " * (name_width - cell_len(name) + GAP))
        else:
            lines += wrapped(Text(name), width)
        length = room if room >= BAR_MIN else width - end_width - GAP
        for index, piece in enumerate(bars.stacked(parts, max(1, length), unicode=unicode)):
            family = families.get(names[index], "other") if index < len(names) else "other"
            text.append(piece, COLOURS[family])
        text.append(" " * GAP + right(end, end_width))
        lines.append(text)
    return lines


def _in_order(shares: Sequence[dict[str, float]], families: Mapping[str, Family]) -> list[str]:
    """The largest groups, those of one family beside each other, the largest family first."""
    size = {name: max(each.get(name, 0.0) for each in shares) for each in shares for name in each}
    largest = sorted(size, key=lambda name: (-size[name], name))[:GROUPS_MAX]

    def family_size(family: Family) -> float:
        return max(
            sum(share for name, share in each.items() if families[name] == family)
            for each in shares
        )

    def place(name: str) -> tuple[float, str, float, str]:
        return -family_size(families[name]), families[name], -size[name], name

    return sorted(largest, key=place)


def _legend(
    title: str,
    names: Sequence[str],
    shares: Sequence[dict[str, float]],
    families: dict[str, Family],
    width: int,
    *,
    unicode: bool,
) -> list[Text]:
    shades = bars.SHADES if unicode else bars.SHADES_ASCII
    shown = list(names)
    if any(set(each) - set(names) for each in shares):
        shown.append(OTHERS)
    lines = wrapped(Text(title, "bold"), width)
    for shade, name in zip(shades, shown, strict=False):
        entry = Text(no_wrap=True)
        entry.append(shade, COLOURS[families.get(name, "other")])
        entry.append(f" {name}")
        if lines[-1].cell_len + GAP + entry.cell_len <= width:
            lines[-1] = Text.assemble(lines[-1], " " * GAP, entry)
        else:
            lines += wrapped(entry, width)
    return lines


def _shares(spent: Mapping[str, int]) -> dict[str, float]:
    total = sum(spent.values())
    shares: dict[str, float] = {}
    for cause, ns in spent.items():
        if ns:
            name = causes.group(cause)
            shares[name] = shares.get(name, 0.0) + ns / total
    return shares
