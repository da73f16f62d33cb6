"""What changed between two comparisons that were kept: the configuration, then the figures.

Every value of the two documents is compared, by walking both. What differs between runs that are
the same, such as the time that they took, is declared with the schema of results, as `x-varies`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tinytail import units
from tinytail.comparison.result import Comparison, DesignResult
from tinytail.engine.results import Configured
from tinytail.files.schema import read_schema
from tinytail.verdict.findings import quotient, same
from tinytail.verdict.noise import compare_within_noise
from tinytail.verdict.percentiles import PERCENTILES, Kind, headline
from tinytail.verdict.sentences import times

Document = Mapping[str, Any]
KINDS: tuple[Kind, Kind] = ("read", "write")
ABSENT = "–"
# Of a comparison, what `_configuration` compares, and its results one by one.
CONFIGURATION = ("device", "seed", "seeds", "version", "partial", "configuration", "errors")


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


@dataclass(frozen=True, slots=True)
class _Named:
    """What a figure is called, and how it is shown: with `unit` where its digits must be."""

    label: str
    show: Callable[[Any], str]
    is_main: bool = False
    has_ratio: bool = True
    unit: str = ""


@dataclass(frozen=True, slots=True)
class _Unequal:
    """A value that differs between two documents, by its path.

    `also` is how many further values differ in the same column or list.
    """

    path: str
    was: Any
    became: Any
    also: int = 0


def _named_figures() -> Iterator[tuple[str, _Named]]:
    for kind in KINDS:
        yield f"{kind}.count", _Named(f"{kind}s", units.count)
        latencies = [("mean_us", "mean", False)]
        latencies += [(each.key, each.name, each.name != "p90") for each in PERCENTILES]
        for key, name, is_main in (*latencies, ("max_us", "max", True)):
            yield f"{kind}.{key}", _Named(f"{kind}s {name}", units.latency, is_main, unit=" µs")
    yield "throughput.arrivals_per_second", _Named("requests/s arriving", units.rate)
    yield "throughput.served_per_second", _Named("IOPS", units.rate, is_main=True)
    yield "throughput.makespan_mb_per_second", _Named("MB/s", units.number, is_main=True)
    yield "host_waits.waited_percent", _Named("waited in host", units.percent, has_ratio=False)
    for key, name in (("mean_us", "mean"), ("p9999_us", "p99.99"), ("max_us", "max")):
        yield f"host_waits.wait.{key}", _Named(f"waits in host {name}", units.latency, unit=" µs")
    yield "write_amplification", _Named("write amplification", units.number, is_main=True)
    yield "erases", _Named("erases", units.count, is_main=True)
    yield "gc_count", _Named("GCs", units.count)
    for what in ("GC", "queue"):
        label = f"{what}-blocked reads"
        yield f"{what.lower()}_blocked_read_percent", _Named(label, units.percent, False, False)


# Those that have a name stand first, in this order.
NAMED = dict(_named_figures())


def difference(before: Document, after: Document) -> Difference:
    """What changed from one comparison to another, of which these are the documents.

    Designs are compared with those of the same name; if each has one left, these two against each
    other. Left out are the simulator's own speed and where files were written.
    """
    one, other = Comparison.from_dict(before), Comparison.from_dict(after)
    pairs = _pairs(one, other)
    configuration = list(_configuration(one, other, pairs))
    is_same_setup = all(change.what == "tinytail" for change in configuration)
    # The gravest first: figures that differ although nothing else does.
    measured: list[str] = []
    sentences: list[str] = []
    figures: list[Change] = []
    for pair in pairs:
        unequal = _unequal_figures(pair, before, after)
        if unequal and _is_same_run(*pair):
            count = sum(1 + each.also for each in unequal)
            measured.append(_measured(_name(*pair), count, is_same_setup=is_same_setup))
        else:
            sentences.append(_sentence(*pair))
        for each in unequal:
            change = _of_pair(pair, each)
            is_state = each.path.startswith("state.") and change.is_main
            (configuration if is_state else figures).append(change)
    of_all = list(_grouped(_walk(_own(before), _own(after))))
    is_alone = not figures and not configuration
    if of_all and is_alone:
        measured.append("The same runs, of which other figures are made: the measuring changed.")
    figures += [replace(_change("", each), is_main=is_alone) for each in of_all]
    if not figures and not configuration:
        sentences = [_nothing(len(pairs))]
    return Difference((*measured, *sentences), tuple(configuration), tuple(figures))


def _nothing(designs: int) -> str:
    if not designs:
        return "The same, and neither has a result."
    return f"The same: {designs} design{'s' * (designs > 1)}, event for event."


def _measured(name: str, count: int, *, is_same_setup: bool) -> str:
    figures = f"{count:,} figure{' differs' if count == 1 else 's differ'}"
    changed = ": the measuring changed" if is_same_setup else ""
    return f"{name}: the same run, event for event, but {figures}{changed}."


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


def _is_same_run(before: DesignResult, after: DesignResult) -> bool:
    """Whether all events are the same, with each seed."""
    return _hashes(before) == _hashes(after)


def _hashes(result: DesignResult) -> list[str]:
    return [result.event_hash, *(each.event_hash for each in result.replicates)]


def _sentence(before: DesignResult, after: DesignResult) -> str:
    name = _name(before, after)
    if _is_same_run(before, after):
        return f"{name}: the same run, event for event."
    if before.partial or after.partial:
        return f"{name}: a run that ended early is not compared."
    judged_by = headline([before, after])
    was = None if judged_by is None else judged_by.of(before)
    value = None if judged_by is None else judged_by.of(after)
    if judged_by is None or was is None or value is None:
        return f"{name}: too few requests for a percentile."
    shown = f"{units.latency(was)} became {units.latency(value)}"
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
        ("input", before.workload.input, after.workload.input),
        ("played", before.workload.detail, after.workload.detail),
        ("requests issued", before.workload.pacing, after.workload.pacing),
        ("seed", before.seed, after.seed),
        ("seeds", before.seeds, after.seeds),
        ("tinytail", before.version, after.version),
        ("interrupted", before.partial, after.partial),
    ):
        if was != became:
            yield Change("", what, units.value(was), units.value(became))
    names = {("design", one.design): other.design for one, other in pairs}
    for (what, was), became in names.items():
        if was != became:
            yield Change(f"{was} to {became}", what, was, became)
    names["device", before.device] = after.device
    names["workload", before.workload.name] = after.workload.name
    for what, left, right in (
        ("result", _results(before), _results(after)),
        ("error", _errors(before), _errors(after)),
        ("", _configured(before), _configured(after)),
    ):
        yield from _by_key(what, left, right, names)


# Parts of a comparison by a key that both may have: what it is, its name, and which of that name.
Key = tuple[str, str, int]
# A part of a comparison in lines: what each is called, and its value.
Lines = dict[str, str]


def _by_key(
    what: str,
    before: dict[Key, Lines],
    after: dict[Key, Lines],
    names: Mapping[tuple[str, str], str],
) -> Iterator[Change]:
    """Return the lines that differ, and the parts that one of the two does not have.

    `names` has what a part before is called after. Of a device or workload that has another name
    each value is another one's, and the name is a change already.
    """
    missing = dict(after)
    for (kind, name, number), was in before.items():
        is_there = (kind, name, number) in missing
        other = name if is_there else names.get((kind, name), name)
        became = missing.pop((kind, other, number), None)
        if became is None:
            yield Change(name, what or kind, _part(was), ABSENT)
            continue
        if kind != "design" and name != other:
            continue
        title = name if name == other else f"{name} to {other}"
        for key in [*was, *(key for key in became if key not in was)]:
            if was.get(key) != became.get(key):
                yield Change(title, key, was.get(key, ABSENT), became.get(key, ABSENT))
    for (kind, name, _), became in missing.items():
        yield Change(name, what or kind, ABSENT, _part(became))


def _part(lines: Lines) -> str:
    """Return what is shown of a part that the other comparison does not have."""
    return lines.get("error") or "there"


def _numbered(parts: Iterable[tuple[str, str, Lines]]) -> dict[Key, Lines]:
    found: dict[Key, Lines] = {}
    for kind, name, lines in parts:
        number = sum(1 for key in found if key[:2] == (kind, name))
        found[kind, name, number] = lines
    return found


def _results(comparison: Comparison) -> dict[Key, Lines]:
    return _numbered(("design", result.design, {}) for result in comparison.results)


def _errors(comparison: Comparison) -> dict[Key, Lines]:
    return _numbered(
        ("design", error.design, {"error": error.message, "kind of error": error.kind})
        for error in comparison.errors
    )


def _configured(comparison: Comparison) -> dict[Key, Lines]:
    """Return the settings of each file: their values, and where these come from."""
    return _numbered((item.kind, item.name, _settings(item)) for item in comparison.configuration)


def _settings(item: Configured) -> Lines:
    lines = {"summary": item.summary}
    for row in item.settings:
        key = f"[{row.section}] {row.key}"
        while key in lines:
            key += ", again"
        lines |= {key: row.value, f"{key}: source": row.source}
    return lines


@cache
def _varying() -> frozenset[str]:
    """The keys of a comparison and of its results that differ between runs that are the same."""
    schema = read_schema("compare")
    known = schema["properties"] | schema["$defs"]["DesignResult"]["properties"]
    return frozenset(key for key, value in known.items() if value.get("x-varies"))


def _own(document: Document) -> dict[str, Any]:
    """What a comparison has besides its results and what `_configuration` compares."""
    left_out = {*_varying(), "results", "workload", *CONFIGURATION}
    return {key: value for key, value in document.items() if key not in left_out}


def _unequal_figures(pair: Pair, before: Document, after: Document) -> list[_Unequal]:
    """The values of two results that differ: first those that have a name."""
    # What all results of a comparison share is compared once.
    shared = [
        key
        for key in ("device", "seed", "version", "workload")
        if all(
            of.document[key] == all_[key] for of, all_ in zip(pair, (before, after), strict=True)
        )
    ]
    left_out = {*_varying(), *shared, "design"}
    left, right = (
        {key: value for key, value in of.document.items() if key not in left_out} for of in pair
    )
    order = {path: place for place, path in enumerate(NAMED)}
    found = list(_grouped(_walk(left, right)))
    return sorted(found, key=lambda each: order.get(each.path, len(order)))


def _walk(was: Any, became: Any, path: str = "") -> Iterator[_Unequal]:
    """The values that differ, each by itself. A key that is missing is as one without a value."""
    if isinstance(was, Mapping) and isinstance(became, Mapping):
        for key in [*was, *(key for key in became if key not in was)]:
            yield from _walk(was.get(key), became.get(key), f"{path}.{key}" if path else key)
    elif isinstance(was, list) and isinstance(became, list):
        if len(was) != len(became):
            yield _Unequal(f"{path}, how many", len(was), len(became))
        for index, (one, other) in enumerate(zip(was, became, strict=False)):
            yield from _walk(one, other, f"{path}[{index}]")
    elif was != became:
        yield _Unequal(path, was, became)


def _grouped(unequal: Iterator[_Unequal]) -> Iterator[_Unequal]:
    """The first of the values that differ in one column or list, with how many more do."""
    groups: dict[str, list[_Unequal]] = {}
    for each in unequal:
        groups.setdefault(re.sub(r"\[\d+\]", "[]", each.path), []).append(each)
    for first, *others in groups.values():
        yield _Unequal(first.path, first.was, first.became, len(others))


def _of_pair(pair: Pair, unequal: _Unequal) -> Change:
    """A difference between two results, and whether it stands in front."""
    change = _change(_name(*pair), unequal)
    path, was, became = unequal.path, unequal.was, unequal.became
    if path == "event_hash":
        return change
    if _is_same_run(*pair):
        return replace(change, is_main=True)
    if path.startswith("state."):
        is_near = isinstance(was, float) and isinstance(became, float)
        is_near = is_near and math.isclose(was, became, rel_tol=0.001)
        return replace(change, is_main=not is_near)
    if path in NAMED and path.partition(".")[0] in KINDS and path.endswith("_us"):
        noise = compare_within_noise(pair[1], pair[0], path)
        note = {True: "within noise", False: "", None: "may be chance"}[noise]
        return replace(change, is_main=change.is_main and _is_seen(pair, path), note=note)
    return change


def _change(of: str, unequal: _Unequal) -> Change:
    """A difference in words."""
    was, became = unequal.was, unequal.became
    named = NAMED.get(unequal.path) or _unnamed(unequal.path)
    what = f"{named.label}, and {unequal.also:,} more" if unequal.also else named.label
    are_numbers = all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in (was, became)
    )
    ratio = units.ratio(became, was) if are_numbers and named.has_ratio else ""
    return Change(of, what, *_shown(named, was, became), ratio, named.is_main)


def _unnamed(path: str) -> _Named:
    """A figure that has no name: a technique's counter, a part of the state, or its path."""
    if path.startswith("techniques."):
        return _Named(path.removeprefix("techniques."), units.count)
    if path.startswith("state."):
        label = f"state: {units.words(path.removeprefix('state.'))}"
        return _Named(label, units.value, has_ratio=False)
    return _Named(path, units.value, has_ratio=not path.endswith("percent"))


def _is_seen(pair: Pair, path: str) -> bool:
    """Whether ten requests lie beyond a percentile in one of two results."""
    kind, _, key = path.partition(".")
    latencies = [result.read if kind == "read" else result.write for result in pair]
    return all(
        each.key != key or any(each.of(latency) is not None for latency in latencies)
        for each in PERCENTILES
    )


def _shown(named: _Named, was: Any, became: Any) -> tuple[str, str]:
    """Two values, with all digits if they must be told apart."""
    for show in (named.show, lambda value: f"{value}{named.unit}"):
        before, after = (units.MISSING if value is None else show(value) for value in (was, became))
        if before != after:
            break
    return before, after
