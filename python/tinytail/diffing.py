"""What changed between two comparisons that were kept: the configuration, then the figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinytail import humanize
from tinytail.findings import quotient, requests_per_second, same
from tinytail.headline import PERCENTILES, Kind, headline, latency_of
from tinytail.noise import compare_within_noise
from tinytail.result_types import Configured
from tinytail.results import Comparison, DesignResult
from tinytail.verdict import times

KINDS: tuple[Kind, Kind] = ("read", "write")
ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Change:
    """Something that is not as it was.

    `is_main` says of a figure that it is one of those that a verdict shows; `note` what chance has
    to do with it, if that is known of such figures.
    """

    of: str
    what: str
    before: str
    after: str
    ratio: str = ""
    is_main: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that changed: sentences, then the configuration, then figures by design."""

    sentences: tuple[str, ...]
    configuration: tuple[Change, ...]
    figures: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.configuration or self.figures)


def difference(before: Comparison, after: Comparison) -> Difference:
    """What changed from one comparison to another.

    Designs are compared with those of the same name; if each has one left, these two against each
    other. Left out are the simulator's own speed and where files were written.
    """
    pairs = _pairs(before, after)
    figures = [change for pair in pairs for change in _figures(*pair)]
    configuration = list(_configuration(before, after, pairs))
    described = [_sentence(*pair) for pair in pairs]
    if not figures and not configuration:
        described = [_nothing(len(pairs))]
    return Difference(tuple(described), tuple(configuration), tuple(figures))


def _nothing(designs: int) -> str:
    if not designs:
        return "The same, and neither has a result."
    return f"The same: {designs} design{'s' * (designs > 1)}, event for event."


Pair = tuple[DesignResult, DesignResult]


def _pairs(before: Comparison, after: Comparison) -> list[Pair]:
    later = {result.design: result for result in after.results}
    pairs = [(result, later[result.design]) for result in before.results if result.design in later]
    known = {result.design for result, _ in pairs}
    left = [result for result in before.results if result.design not in known]
    right = [result for result in after.results if result.design not in known]
    if len(left) == len(right) == 1:
        pairs.append((left[0], right[0]))
    return pairs


def _name(before: DesignResult, after: DesignResult) -> str:
    if before.design == after.design:
        return before.design
    return f"{before.design} to {after.design}"


def _sentence(before: DesignResult, after: DesignResult) -> str:
    name = _name(before, after)
    if before.event_hash == after.event_hash:
        return f"{name}: the same run, event for event."
    if before.partial or after.partial:
        return f"{name}: a run that ended early is not compared."
    judged_by = headline([before, after])
    was = None if judged_by is None else judged_by.of(before)
    value = None if judged_by is None else judged_by.of(after)
    if judged_by is None or was is None or value is None:
        return f"{name}: too few requests for a percentile."
    shown = f"{humanize.latency(was)} became {humanize.latency(value)}"
    ratio = quotient(value, was)
    figure = f"{judged_by.kind}.{judged_by.percentile.key}"
    noise = compare_within_noise(after, before, figure)
    if ratio is None:
        change = ""
    elif noise:
        change = ", within noise"
    elif same(ratio):
        change = ", which is the same"
    elif noise is None:
        change = ", which may be chance: how far one run may be off is not known (--seeds tells)"
    else:
        change = f", {times(ratio)} {'worse' if ratio > 1 else 'better'}"
    return f"{name}: {judged_by.percentile.name} of {judged_by.kind}s {shown}{change}."


def _configuration(
    before: Comparison, after: Comparison, pairs: Sequence[Pair]
) -> Iterator[Change]:
    for what, was, became in (
        ("device", before.device, after.device),
        ("workload", before.workload.name, after.workload.name),
        ("played", before.workload.detail, after.workload.detail),
        ("requests issued", before.workload.pacing, after.workload.pacing),
        ("seed", before.seed, after.seed),
        ("seeds", before.seeds, after.seeds),
        ("tinytail", before.version, after.version),
        ("interrupted", before.partial, after.partial),
    ):
        if was != became:
            yield Change("", what, humanize.value(was), humanize.value(became))
    pairs_of_names = {(one.design, other.design) for one, other in pairs}
    yield from _designs(before, after, pairs_of_names)
    yield from _settings(before.configuration, after.configuration, pairs_of_names)
    for one, other in pairs:
        left, right = one.document["state"], other.document["state"]
        for key in sorted({*left, *right}):
            was, became = left.get(key), right.get(key)
            shown = None if was == became else _exactly(was, became)
            if shown is not None:
                yield Change(_name(one, other), f"state: {humanize.words(key)}", *shown)


def _designs(
    before: Comparison, after: Comparison, pairs: set[tuple[str, str]]
) -> Iterator[Change]:
    left, right = ({one for one, _ in pairs}, {other for _, other in pairs})
    for result in before.results:
        if result.design not in left:
            yield Change(result.design, "result", "there", ABSENT)
    for result in after.results:
        if result.design not in right:
            yield Change(result.design, "result", ABSENT, "there")
    failed = {error.design: error.message for error in before.errors}
    fails = {error.design: error.message for error in after.errors}
    for design in sorted({*failed, *fails}):
        was, became = failed.get(design, ABSENT), fails.get(design, ABSENT)
        if was != became:
            yield Change(design, "error", was.splitlines()[0], became.splitlines()[0])


def _settings(
    before: Sequence[Configured], after: Sequence[Configured], pairs: set[tuple[str, str]]
) -> Iterator[Change]:
    """Values that differ between devices, between workloads, and between designs that are paired.

    Of a device or workload that has another name every value is another one's; it has been named.
    """
    later = {(item.kind, item.name): item for item in after}
    renamed = dict(pairs)
    for item in before:
        name = renamed.get(item.name, item.name) if item.kind == "design" else item.name
        other = later.get((item.kind, name))
        if other is None:
            continue
        was, became = _values(item), _values(other)
        for key in [*was, *(key for key in became if key not in was)]:
            if was.get(key) != became.get(key):
                title = item.name if name == item.name else f"{item.name} to {name}"
                yield Change(title, key, was.get(key, ABSENT), became.get(key, ABSENT))


def _values(item: Configured) -> dict[str, str]:
    return {f"[{row.section}] {row.key}": row.value for row in item.settings}


def _figures(before: DesignResult, after: DesignResult) -> Iterator[Change]:
    if before.event_hash == after.event_hash and not (before.partial or after.partial):
        return
    name = _name(before, after)
    changes = [*_latencies(name, before, after), *_others(name, before, after)]
    if before.event_hash != after.event_hash and not changes:
        hashes = before.event_hash, after.event_hash
        changes.append(Change(name, "event hash", *hashes, is_main=False))
    yield from changes


def _exactly(was: Any, became: Any) -> tuple[str, str] | None:
    """Two values with the digits in which they differ; None if they differ by under 0.1 %."""
    if isinstance(was, float) and isinstance(became, float):
        if math.isclose(was, became, rel_tol=0.001):
            return None
        shown = humanize.value(was), humanize.value(became)
        return shown if shown[0] != shown[1] else (f"{was:.5g}", f"{became:.5g}")
    return humanize.value(was), humanize.value(became)


def _latencies(name: str, before: DesignResult, after: DesignResult) -> Iterator[Change]:
    for kind in KINDS:
        was, became = latency_of(before, kind), latency_of(after, kind)
        if was.count != became.count:
            counts = humanize.count(was.count), humanize.count(became.count)
            yield Change(name, f"{kind}s", *counts, is_main=False)
        figures = [("mean", "mean_us", was.mean_us, became.mean_us, False)]
        figures += [
            (each.name, each.key, each.of(was), each.of(became), each.name != "p90")
            for each in PERCENTILES
        ]
        figures.append(("max", "max_us", was.max_us, became.max_us, True))
        for label, key, one, other, is_main in figures:
            if one != other:
                noise = compare_within_noise(after, before, f"{kind}.{key}")
                note = {True: "within noise", False: "", None: "may be chance"}[noise]
                yield Change(
                    name,
                    f"{kind}s {label}",
                    humanize.latency(one),
                    humanize.latency(other),
                    "" if one is None or other is None else humanize.ratio(other, one),
                    is_main=is_main,
                    note=note,
                )


Shown = Callable[[Any], str]


def _others(name: str, before: DesignResult, after: DesignResult) -> Iterator[Change]:
    def number(value: float | None) -> str:
        return humanize.MISSING if value is None else humanize.number(value)

    figures: list[tuple[str, Callable[[DesignResult], Any], Shown, bool]] = [
        ("IOPS", requests_per_second, humanize.rate, True),
        ("MB/s", lambda result: result.throughput.makespan_mb_per_second, number, True),
        ("write amplification", lambda result: result.write_amplification, number, True),
        ("erases", lambda result: result.erases, humanize.count, True),
        ("GCs", lambda result: result.gc_count, humanize.count, False),
        (
            "GC-blocked reads",
            lambda result: result.gc_blocked_read_percent,
            humanize.percent,
            False,
        ),
        (
            "queue-blocked reads",
            lambda result: result.queue_blocked_read_percent,
            humanize.percent,
            False,
        ),
    ]
    for label, figure, show, is_main in figures:
        was, became = figure(before), figure(after)
        if was != became:
            ratio = "" if label.endswith("reads") else humanize.ratio(became, was)
            yield Change(name, label, show(was), show(became), ratio, is_main=is_main)
    yield from _techniques(name, before.techniques, after.techniques)


def _techniques(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Change]:
    for key in sorted({*before, *after}):
        was, became = before.get(key), after.get(key)
        if was != became and (was or became):
            counts = humanize.count(was), humanize.count(became)
            yield Change(name, key, *counts, humanize.ratio(became, was), is_main=False)
