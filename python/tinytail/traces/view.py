"""What a trace is like, on one screen: two sentences, histograms, and the drives that hold it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.text import Text

from tinytail import units
from tinytail.terminal import bars

WIDTH_MAX = 80
WIDTH_MIN = 30
GAP = 3
# Rows of a histogram. What is beyond goes into the first and the last.
ROWS_MAX = 8
LABEL = 9
FIGURE = 5
DEVICES_SHOWN = 4
NAMES_SHOWN = 10
DETAILS = "--details shows all of it, with how it was read; --json FILE keeps it."
# What text without Unicode has in place of what else there is.
ASCII = str.maketrans({"µ": "u", "≤": "<", "×": "x", "–": "-", "’": "'"})

Info = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Class:
    """The requests, or the times between them, up to a bound."""

    bound: float
    counts: tuple[int, ...]

    def with_counts_of(self, other: _Class) -> _Class:
        pairs = zip(self.counts, other.counts, strict=True)
        return _Class(max(self.bound, other.bound), tuple(a + b for a, b in pairs))


def trace_view(info: Info, console: Console) -> Text:
    """A screen of at most 80 columns that says what a trace is and which drives hold it."""
    given = console.width if console.width >= WIDTH_MIN else WIDTH_MAX
    width, unicode = min(given, WIDTH_MAX), bars.can_draw(console)
    wide = width >= 72
    sizes_width = (width - GAP) * 3 // 5 if wide else width
    other_width = width - GAP - sizes_width if wide else width
    sizes = _sizes(info, sizes_width, unicode)
    gaps = _gaps(info, other_width, unicode)
    hottest = _hottest(info, sizes_width, unicode)
    devices = _devices(info, other_width)
    findings = [f"Finding: {finding['message']}." for finding in info["findings"]]
    lines = _paragraphs([_sentence(info), _load(info), *findings, _how_read(info)], width)
    for left, right in ((sizes, gaps), (hottest, devices)):
        shown = _beside(left, right, sizes_width) if wide else [*left, *right]
        lines += ["", *shown] if shown else []
    lines += ["", *_paragraphs([*_drives(info), DETAILS], width)]
    text = "\n".join(line.rstrip() for line in lines)
    return Text(text if unicode else text.translate(ASCII))


def _paragraphs(sentences: Iterable[str], width: int) -> list[str]:
    # Paths and options are never broken.
    wrapped = (
        textwrap.wrap(sentence, width, break_long_words=False, break_on_hyphens=False)
        for sentence in sentences
    )
    return [line for lines in wrapped for line in lines]


def _sentence(info: Info) -> str:
    if not info["requests"]:
        return f"{info['path']}: no request is left to be played."
    kinds = [_kind(info, kind, f"{kind}s") for kind in ("read", "write", "trim")]
    seconds = info["duration_s"]
    time = f" in {_duration(seconds)}" if seconds else ""
    moved = [
        f"{verb} {_exact_bytes(1024 * info[kind]['requests'] * info[kind]['mean_kib'])}"
        for kind, verb in (("read", "read"), ("write", "write"), ("trim", "trim"))
        if info[kind]["requests"]
    ]
    return (
        f"{info['path']}: {units.counted(info['requests'], 'request')}{time}, "
        f"{_listed([kind for kind in kinds if kind])}. "
        f"They {_listed(moved)}, span {_bytes(info['span_gib'] * 2**30)} and touch "
        f"{_bytes(info['footprint_mib'] * 2**20)} of it."
    )


def _kind(info: Info, kind: str, plural: str) -> str:
    share = 100 * info[kind]["requests"] / max(1, info["requests"])
    if not share:
        return ""
    return f"{_share(share)} {plural} of {_bytes(info[kind]['mean_kib'] * 1024)} on average"


def _load(info: Info) -> str:
    before = (
        f"{_share(info['sequential_percent'])} begin where one before ended; "
        f"{_share(info['overwrite_percent'])} of the pages written had been written before."
    )
    if not info["iops_mean"]:
        return f"Load: no rate, in closed loop, at one instant, or of one request; {before}"
    peak = info["iops_peak"] / info["iops_mean"]
    busiest = f", in the busiest second {units.number(peak)} times that" if peak > 1 else ""
    return (
        f"Load: {_rate(info['iops_mean'])} requests/s and "
        f"{_bare(info['mb_per_s_mean'])} MB/s on average{busiest}; {before}"
    )


def _how_read(info: Info) -> str:
    described = f"as {info['columns']}" if info["columns"] else f"as {info['format']}"
    read = [f"addresses in {info['address_unit']}"]
    if info["time_unit"] is not None:
        read.insert(0, f"times in {info['time_unit']}")
    if info["compression"] != "none":
        read.append(info["compression"])
    skipped = [note for note in info["notes"] if note.startswith("not played: ")]
    return f"Read {described}: {', '.join(read)}." + "".join(
        [f" Skipped: {note.removeprefix('not played: ')}." for note in skipped]
        + [f" Doubtful: {note}." for note in info["doubts"]]
    )


def _sizes(info: Info, width: int, unicode: bool) -> list[str]:
    kinds = [kind for kind in ("read", "write", "trim") if info[kind]["requests"]]
    counts: dict[float, dict[str, int]] = {}
    for kind in kinds:
        for each in info[kind]["sizes"]:
            counts.setdefault(each["up_to_kib"], {})[kind] = each["requests"]
    classes = [
        _Class(bound, tuple(found.get(kind, 0) for kind in kinds))
        for bound, found in sorted(counts.items())
    ]
    rows = [(f"≤ {_bytes(each.bound * 1024)}", each.counts) for each in _few(classes)]
    totals = [info[kind]["requests"] for kind in kinds]
    return _histogram("size", [f"{kind}s" for kind in kinds], rows, totals, width, unicode)


def _gaps(info: Info, width: int, unicode: bool) -> list[str]:
    found = info["interarrival"]
    classes = [_Class(each["up_to_us"], (each["gaps"],)) for each in found]
    rows = [
        (f"≤ {_time(each.bound)}" if each.bound else "at once", each.counts)
        for each in _few(classes)
    ]
    total = sum(each["gaps"] for each in found)
    return _histogram("next", ["requests after"], rows, [total], width, unicode)


def _few(classes: Sequence[_Class]) -> list[_Class]:
    """The classes, the smaller end of which joins its neighbour until they are few enough."""
    few = list(classes)
    while len(few) > ROWS_MAX:
        if sum(few[0].counts) <= sum(few[-1].counts):
            few[:2] = [few[0].with_counts_of(few[1])]
        else:
            few[-2:] = [few[-2].with_counts_of(few[-1])]
    return few


def _histogram(
    label: str,
    heads: Sequence[str],
    rows: Sequence[tuple[str, Sequence[int]]],
    totals: Sequence[int],
    width: int,
    unicode: bool,
) -> list[str]:
    """A line for each class, with a bar and a share of its total for each column."""
    if not rows:
        return []
    label_width = max(LABEL, *(len(name) for name, _ in rows))
    column = (width - label_width) // len(heads) - 1
    bar_width = max(1, column - FIGURE - 1)
    longest = max(
        count / total for _, counts in rows for count, total in zip(counts, totals, strict=True)
    )
    lines = [label.ljust(label_width) + "".join(f" {head.ljust(column)}" for head in heads)]
    for name, counts in rows:
        line = name.ljust(label_width)
        for count, total in zip(counts, totals, strict=True):
            drawn = bars.bar(count / total / longest, bar_width, unicode=unicode)
            figure = _share(100 * count / total) if count else ""
            line += f" {drawn.ljust(bar_width)} {figure.rjust(FIGURE)}"
        lines.append(line)
    return lines


def _hottest(info: Info, width: int, unicode: bool) -> list[str]:
    locality = info["locality"]
    if not locality["hottest"]:
        return []
    sampled = " (sampled)" if locality["sampled"] else ""
    lines = [f"{'hottest'.ljust(LABEL)} share of accesses{sampled}"]
    bar_width = max(1, width - LABEL - FIGURE - 2)
    for each in locality["hottest"]:
        share = each["accesses_percent"]
        drawn = bars.bar(share / 100, bar_width, unicode=unicode)
        name = f"{each['pages_percent']} %".rjust(5).ljust(LABEL)
        lines.append(f"{name} {drawn.ljust(bar_width)} {_share(share).rjust(FIGURE)}")
    return lines


def _devices(info: Info, width: int) -> list[str]:
    devices = info["devices"]
    if len(devices) < 2:
        return []
    busiest = sorted(devices, key=lambda device: -device["requests"])[:DEVICES_SHOWN]
    lines = [f"{units.count(len(devices))} devices, side by side"]
    for device in busiest:
        share = _share(100 * device["requests"] / sum(each["requests"] for each in devices))
        name, size = str(device["device"]), _bytes(device["end_byte"])
        room = width - FIGURE - len(size) - 2
        shown = name if len(name) <= room else name[: max(1, room - 1)] + "…"
        lines.append(f"{shown.ljust(room)} {share.rjust(FIGURE)} {size}")
    return lines


def _drives(info: Info) -> list[str]:
    if not info["requests"]:
        return []
    drives = sorted(info["drives"], key=lambda drive: drive["logical_bytes"])
    holding = [drive["name"] for drive in drives if drive["holds"]]
    smaller = [drive for drive in drives if not drive["holds"]]
    needed = _bytes(info["end_bytes"])
    fold = "--fit fold folds its addresses into a drive"
    if len(info["devices"]) > 1:
        fold += ", and --trace-device NAME keeps one device"
    if not smaller:
        return [f"It needs {needed}: every stock drive holds it."]
    if not holding:
        largest = drives[-1]
        return [
            f"It needs {needed}, more than any stock drive has ({largest['name']}: "
            f"{_bytes(largest['logical_bytes'])}): {fold}."
        ]
    names = ", ".join(holding[:NAMES_SHOWN])
    more = f" and {len(holding) - NAMES_SHOWN} more" if len(holding) > NAMES_SHOWN else ""
    return [
        f"It needs {needed}: {len(holding)} of {len(drives)} stock drives hold it, {names}{more}. "
        f"For smaller ones, {fold}."
    ]


def _beside(left: Sequence[str], right: Sequence[str], left_width: int) -> list[str]:
    pairs = zip_longest(left, right, fillvalue="")
    return [one.ljust(left_width + GAP) + other if other else one for one, other in pairs]


def _rate(per_second: float) -> str:
    """Requests per second: those of slow traces with their decimals.

    >>> _rate(423.4), _rate(51_463.0), _rate(0.0012)
    ('423', '51,500', '0.0012')
    """
    return f"{float(f'{per_second:.3g}'):,.0f}" if per_second >= 100 else _bare(per_second)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _share(percent: float) -> str:
    """A share without decimals; one that is not nothing does not look so, nor one below all.

    >>> _share(0.2), _share(12.4), _share(99.7), _share(100.0), _share(0.0)
    ('<1 %', '12 %', '>99 %', '100 %', '0 %')
    """
    if 0 < percent < 0.5:
        return "<1 %"
    if 99.5 <= percent < 100:
        return ">99 %"
    return f"{percent:.0f} %"


def _bytes(size_bytes: float) -> str:
    """A size as people write it: two digits after the point at most, and no zeroes there.

    >>> _bytes(512), _bytes(4096), _bytes(55.6 * 1024), _bytes(2**40)
    ('512 B', '4 KiB', '55.6 KiB', '1 TiB')
    """
    names = iter(["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
    unit = next(names)
    while size_bytes >= 1023.5 and unit != "EiB":
        size_bytes /= 1024
        unit = next(names)
    return f"{_bare(size_bytes)} {unit}"


def _exact_bytes(size_bytes: float) -> str:
    """A size with six significant digits, to be held against what is known from elsewhere.

    >>> _exact_bytes(512), _exact_bytes(1_234_567_890), _exact_bytes(1024**2 - 0.1)
    ('512 B', '1.14978 GiB', '1 MiB')
    """
    names = iter(["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
    unit = next(names)
    while float(f"{size_bytes:.6g}") >= 1024 and unit != "EiB":
        size_bytes /= 1024
        unit = next(names)
    return f"{size_bytes:.6g} {unit}"


def _bare(value: float) -> str:
    """A number without zeroes after the point."""
    number = units.number(value)
    return number.rstrip("0").rstrip(".") if "." in number else number


def _time(us: float) -> str:
    """A bound of a class of times, a power of ten.

    >>> _time(0.01), _time(10.0), _time(100_000.0), _time(1e8)
    ('10 ns', '10 µs', '100 ms', '100 s')
    """
    for unit, scale in (("ns", 1e3), ("µs", 1.0), ("ms", 1e-3)):
        if us * scale < 999.5:
            return f"{us * scale:.0f} {unit}"
    return f"{us / 1e6:.0f} s"


def _duration(seconds: float) -> str:
    """How long a trace lasts, with six significant digits.

    >>> _duration(0.136), _duration(23.4567891), _duration(9000.0), _duration(597_000.0)
    ('136 ms', '23.4568 s', '2.5 hours', '6.90972 days')
    """
    for unit, scale in (("µs", 1e6), ("ms", 1e3), ("s", 1.0), ("hours", 1 / 3600)):
        if float(f"{seconds * scale:.6g}") < {"s": 7200, "hours": 48}.get(unit, 1000):
            return f"{seconds * scale:.6g} {unit}"
    return f"{seconds / 86_400:.6g} days"
