"""Draws a comparison's verdict: sentences, one table, a bar for each design; a screen of text.

Every line is laid out by hand, so that their number and their width are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.console import Console, Group, RenderableType
from rich.text import Text

from tinytail import units
from tinytail.terminal import bars
from tinytail.verdict import causes, measurements
from tinytail.verdict.causes import COLOURS, Family
from tinytail.verdict.findings import has_ratio, quotient, same, usable_reference
from tinytail.verdict.noise import margin
from tinytail.verdict.percentiles import PERCENTILES, Kind, Percentile, headline, latency_of
from tinytail.verdict.sentences import Tone, measured, sentences, warnings

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

# What is shown of three designs fits a screen of 80 columns.
LINES_MAX = 23
WARNINGS_MAX = 5
GAP = 2
GROUPS_MAX = len(bars.SHADES) - 1
OTHERS = "other"
BAR_MIN = 12
# Below this width labels are shorter.
NARROW = 60
# The percentiles of the table; that of the headline is among them in any case.
SHOWN = ("p50", "p99", "p99.9", "p99.99")
# A latency of writes that differs less between designs is not shown.
WRITES_DIFFER = 1.05

# A space that no line ends at: the pattern of those before a unit, and what stands in their place.
_UNIT = re.compile(r"(\d) (%|µs|ms|s\b|times\b)")
_TOGETHER = "\ue000"
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
    about = f"{comparison.device}, {comparison.workload.name}, seed {seeds}."
    more = "More: --details" if not hidden else f"{hidden} more and all else: --details"
    lines = wrapped(Text(f"{about} {more}", "dim"), width)
    note = _device_note(comparison)
    return lines if note is None else [*wrapped(Text(note, "dim"), width), *lines]


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
            (sentence.design, "bold"), ": ", (sentence.text, _TONES[sentence.tone])
        )
        lines += wrapped(text, width, indent=2)
    return lines


def wrapped(text: Text, width: int, *, indent: int = 0) -> list[Text]:
    """A text in lines of at most so many columns; those that follow the first are indented.

    A number and its unit stay together.
    """
    text = text.copy()
    text.plain = _UNIT.sub(rf"\1{_TOGETHER}\2", text.plain)
    width = max(1, width)
    indent = indent if width > 4 * indent else 0
    console = Console(width=width)
    lines = list(text.wrap(console, width)) or [Text()]
    if len(lines) > 1:
        # What follows the first line is wrapped again, to the width that the indent leaves.
        rest = text.plain[len(lines[0].plain) :]
        following = text[len(text) - len(rest.lstrip()) :]
        lines[1:] = following.wrap(console, width - indent)
        for line in lines[1:]:
            line.pad_left(indent)
    for line in lines:
        line.plain = line.plain.replace(_TOGETHER, " ")
        line.rstrip()
    return lines


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    values: list[str]
    ratios: list[str] = field(default_factory=list)
    # How far values may be off.
    margins: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Column:
    """The cells of a design, in parts that are aligned each for itself."""

    title: str
    values: list[str]
    margins: list[str]
    ratios: list[str]

    def parts(self, level: int) -> list[list[str]]:
        """The parts that are shown: values, with ratios from 1 on, and with margins at 2."""
        shown = [self.values, self.margins, self.ratios][: level + 1]
        if level == 1:
            shown = [self.values, self.ratios]
        return [part for part in shown if any(part)]

    def body(self, level: int) -> int:
        """The width of its cells without its title."""
        widths = [max(map(cell_len, part)) for part in self.parts(level)]
        return sum(widths) + len(widths) - 1


def _table(comparison: Comparison, width: int) -> list[Text]:
    results = list(comparison.results)
    rows = _rows(
        comparison, amplification="write amp." if width < NARROW else "write amplification"
    )
    if not rows:
        return []
    columns = [
        _Column(
            f"{result.design} (partial)" if result.partial and len(results) > 1 else result.design,
            [row.values[index] for row in rows],
            [row.margins[index] if row.margins else "" for row in rows],
            [row.ratios[index] if row.ratios else "" for row in rows],
        )
        for index, result in enumerate(results)
    ]
    return _laid_out(rows, columns, width)


def _laid_out(rows: Sequence[_Row], columns: list[_Column], width: int) -> list[Text]:
    """The columns beside the labels of the rows, in as many tables as the width asks for."""
    label = min(max(cell_len(row.label) for row in rows), max(1, width // 2))
    lines: list[Text] = []
    for group, level in _groups(columns, width - label):
        if lines:
            lines.append(Text())
        lines += _lines(rows, group, label, width, level)
    return lines


def _measured(comparison: Comparison, width: int) -> list[Text]:
    """What was measured in the trace, below what a screen shows in any case."""
    lines: list[Text] = []
    for table in measurements.tables(comparison):
        empty = [""] * len(table.rows)
        columns = [
            _Column(percentile, [cells[index] for _, cells in table.rows], empty, empty)
            for index, percentile in enumerate(table.percentiles)
        ]
        lines += [Text()] if lines else []
        lines += _laid_out([_Row(name, []) for name, _ in table.rows], columns, width)
    return lines + wrapped(Text(measurements.meaning(comparison), "dim"), width) if lines else []


def _groups(columns: list[_Column], room: int) -> list[tuple[list[_Column], int]]:
    """The columns, all beside each other if they fit, if need be in fewer parts; else in groups."""
    for level in (2, 1, 0):
        if sum(_width(column, room, level) + GAP for column in columns) <= room:
            return [(columns, level)]
    groups: list[list[_Column]] = []
    used = 0
    for column in columns:
        taken = _width(column, room, 0) + GAP
        if not groups or used + taken > room:
            groups.append([])
            used = 0
        groups[-1].append(column)
        used += taken
    return [(group, 0) for group in groups]


def _width(column: _Column, room: int, level: int) -> int:
    """The width of a column: of its cells, and of the longest part of its title."""
    parts = _title(column.title, max(1, room - GAP))
    return min(max(1, room - GAP), max(column.body(level), *map(cell_len, parts)))


def _title(title: str, width: int) -> list[str]:
    """A title in lines, broken before its plus signs and wherever it is too long."""
    first, *overlays = title.split("+")
    parts = [first, *(f"+{overlay}" for overlay in overlays)]
    return [piece for part in parts for piece in chop_cells(part, width)]


def _lines(
    rows: Sequence[_Row], columns: Sequence[_Column], label: int, width: int, level: int
) -> list[Text]:
    room = width - label
    widths = [_width(column, room, level) for column in columns]
    left = room - sum(each + GAP for each in widths)
    titles = []
    for position, column in enumerate(columns):
        # A title that fits in one line has one, if there is room left.
        missing = max(0, cell_len(column.title) - widths[position])
        if missing <= left:
            widths[position] += missing
            left -= missing
        whole = cell_len(column.title) <= widths[position]
        titles.append([column.title] if whole else _title(column.title, widths[position]))
    height = max(map(len, titles))
    titles = [[""] * (height - len(title)) + title for title in titles]
    lines = []
    for step in range(height):
        cells = (_right(title[step], each) for title, each in zip(titles, widths, strict=True))
        lines.append(Text(_joined("", label, cells), "bold"))
    bodies = [_cells(column, each, level) for column, each in zip(columns, widths, strict=True)]
    for index, row in enumerate(rows):
        name = chop_cells(row.label, label)[0]
        lines.append(Text(_joined(name, label, (body[index] for body in bodies))))
    for line in lines:
        line.rstrip()
    return lines


def _cells(column: _Column, width: int, level: int) -> list[str]:
    parts = column.parts(level)
    widths = [max(map(cell_len, part)) for part in parts]
    return [
        _right(" ".join(map(_right, cells, widths)), width) for cells in zip(*parts, strict=True)
    ]


def _joined(label: str, width: int, cells: Iterable[str]) -> str:
    return label + " " * (width - cell_len(label)) + "".join(" " * GAP + cell for cell in cells)


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _rows(comparison: Comparison, amplification: str) -> list[_Row]:
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
    if comparison.workload.pacing == "open":
        arrivals = [units.rate(result.throughput.arrivals_per_second) for result in results]
        rows.append(_Row("arriving/s", arrivals))
    rows.append(_Row("IOPS, MB/s", [_rates(result) for result in results]))
    rows += _amplification(results, amplification)
    erases = [units.count(result.erases) for result in results]
    rows.append(_Row("erases", erases, margins=[margin(each, "erases") for each in results]))
    return rows


def _percentile_row(
    results: Sequence[DesignResult],
    reference: DesignResult | None,
    kind: Kind,
    percentile: Percentile,
) -> list[_Row]:
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
) -> list[_Row]:
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
    return [_Row(label, [units.latency(value) for value in values], ratios)]


def _other_kind(
    results: Sequence[DesignResult], reference: DesignResult | None, kind: Kind
) -> list[_Row]:
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


def _rates(result: DesignResult) -> str:
    rate = result.throughput.makespan_mb_per_second
    megabytes = units.MISSING if rate is None else units.number(rate)
    return f"{units.rate(result.throughput.served_per_second)}, {megabytes}"


def _amplification(results: Sequence[DesignResult], label: str) -> list[_Row]:
    """Write amplification; where it has no meaning, the pages that GC copied say more."""
    values = [result.write_amplification for result in results]
    rows = []
    if any(value is not None for value in values):
        shown = [units.MISSING if value is None else units.number(value) for value in values]
        margins = [margin(result, "write_amplification") for result in results]
        rows.append(_Row(label, shown, margins=margins))
    copied = [result.techniques.get("gc: copied pages", 0) for result in results]
    if any(value is None and pages for value, pages in zip(values, copied, strict=True)):
        rows.append(_Row("pages GC copied", [units.count(pages) for pages in copied]))
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
    names = sorted(
        {name for each in shares for name in each},
        key=lambda name: (-max(each.get(name, 0.0) for each in shares), name),
    )[:GROUPS_MAX]
    families = {causes.group(cause): causes.family(cause) for _, ns, _ in spent for cause in ns}
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
        text.append(" " * GAP + _right(end, end_width))
        lines.append(text)
    return lines


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
