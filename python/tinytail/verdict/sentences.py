"""What a comparison says, in sentences: what makes it mean less, then one for each design.

Nothing here draws. The rules: a percentile is named only where ten requests lie beyond it, a ratio
is taken only between runs that came to their end, and the design that ratios are taken to is named
where it is not the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Literal, get_args

from tinytail import units
from tinytail.engine.results import DesignError, Finding, FindingCode, SlowestRequests
from tinytail.verdict import causes
from tinytail.verdict.findings import (
    SAME_RATE_PERCENT,
    lacking_gc,
    quotient,
    same,
    usable_reference,
    within_noise,
)
from tinytail.verdict.percentiles import P99, Headline, Kind, deepest, headline, latency_of

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

Tone = Literal["better", "worse", "doubtful", "plain"]

# What the sentences of the designs say already.
_SAID_BY_SENTENCES = {"partial", "worse", "within_noise"}
# The codes of findings are declared in the order of their rank; what follows the drive comes last.
_ADJUSTED = "adjusted"
_ORDER = (*get_args(FindingCode), _ADJUSTED)
# Up to this rank a finding takes so much from the answer that it is never left out.
_LAST_DECISIVE = "unmapped_reads"
# What a result is told as whose design has no GC, or one that takes no time.
_BOUNDS = {"never": "a bound: no GC", "ideal": "a bound: no GC time"}
# From here on a difference of erases or of the slowest request of the other kind is a cost.
_ERASES_PERCENT = 5.0
# By chance alone, the root of a count, fewer erases than these are off by more than 10 %.
_ERASES_MIN = 100
# The slowest of fewer requests is any request.
_SLOWEST_OF_MIN = 1000
_SLOWEST_RATIO = 1.5
# A tail with a mean up to this many times the percentile consists of what the percentile does.
_TAIL_RATIO_MAX = 1.5
_ERROR_CHARACTERS_MAX = 110


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence about a design, and whether it is good news."""

    design: str
    text: str
    tone: Tone

    def __str__(self) -> str:
        return f"{self.design}: {self.text}"


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding or an adjustment in words, and whether it must not be left out."""

    text: str
    is_decisive: bool

    def __str__(self) -> str:
        return self.text


def warnings(comparison: Comparison, *, briefly: bool = False) -> list[Remark]:
    """Findings and adjustments in words, by rank, each once with its designs.

    Args:
        comparison: what they are about.
        briefly: whether designs share a line that differ in a finding's numbers alone.
    """
    found: list[tuple[str, str, list[str], list[str]]] = []

    def add(code: str, message: str, designs: Sequence[str]) -> None:
        for known, text, among, alike in found:
            if (known, text) == (code, message):
                among += designs
                return
            if briefly and known == code != _ADJUSTED:
                alike += [design for design in designs if design not in (*among, *alike)]
                return
        found.append((code, message, list(designs), []))

    together = comparison.findings()
    codes = {finding.code for finding in together} | _SAID_BY_SENTENCES
    judged_by = headline(comparison.results)
    if judged_by is not None and judged_by.percentile.one_in >= P99.one_in:
        # What a percentile beyond that of the sentences lacks, the sentences say by theirs.
        codes.add("few_samples")
    for each in together:
        if each.code not in _SAID_BY_SENTENCES:
            add(each.code, each.message, each.designs)
    for result in comparison.results:
        for finding in _of_run(result, codes):
            add(finding.code, finding.message, [result.design])
        for adjustment in _adjustments(result):
            add(_ADJUSTED, adjustment, [result.design])
    found.sort(key=lambda each: _ORDER.index(each[0]))
    every = [result.design for result in comparison.results]
    said = []
    for code, message, designs, alike in found:
        whose = "" if designs == every or not designs else f"{', '.join(designs)}: "
        likewise = f"; likewise {', '.join(alike)}" if alike else ""
        is_decisive = _ORDER.index(code) <= _ORDER.index(_LAST_DECISIVE)
        said.append(Remark(f"{whose}{message}{likewise}", is_decisive))
    return said


def _of_run(result: DesignResult, described: set[str]) -> list[Finding]:
    return [finding for finding in result.findings if finding.code not in described]


def _adjustments(result: DesignResult) -> list[str]:
    """What of a design follows the drive: its capacity in a sentence, all else in one line."""
    lost = [item.message for item in result.adjusted if item.code == "parity_capacity"]
    changed = [
        f"{item.key} {_as_in_file(item.wanted)} → {_as_in_file(item.used)}"
        for item in result.adjusted
        if item.code != "parity_capacity"
    ]
    return [*lost, *([f"adjusted to the drive: {', '.join(changed)}"] if changed else [])]


def _as_in_file(value: bool | float | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def sentences(comparison: Comparison) -> list[Sentence]:
    """A sentence for each design, in the order of the results; then those that have none."""
    judged_by = headline(comparison.results)
    reference = usable_reference(comparison)
    described = []
    is_named = False
    for result in comparison.results:
        if result.partial:
            described.append(_partial(result))
        elif judged_by is None or judged_by.of(result) is None:
            described.append(_few(result))
        else:
            described.append(_whole(comparison, result, reference, judged_by, is_named=is_named))
            is_named = True
    with_result = {result.design for result in comparison.results}
    failed = [error for error in comparison.errors if error.design not in with_result]
    return described + [_failed(error) for error in failed]


def _whole(
    comparison: Comparison,
    result: DesignResult,
    reference: DesignResult | None,
    judged_by: Headline,
    *,
    is_named: bool,
) -> Sentence:
    value = judged_by.of(result)
    shown = f"{units.latency(value)}{_interval(result, judged_by)}"
    words = [shown if is_named else f"{judged_by.percentile.name} of {judged_by.kind}s {shown}"]
    was = None if reference is None else judged_by.of(reference)
    ratio = quotient(value, was)
    beside, after = _main_cause(result, judged_by)
    bound = f" ({_BOUNDS[result.gc]})" if result.gc in _BOUNDS else ""
    if reference is None or result is reference or ratio is None:
        words[-1] += bound
        return Sentence(result.design, f"{', '.join(words + beside)}{after}.", "plain")
    lacking = lacking_gc(result, reference)
    if lacking is not None:
        where = "" if lacking is result else f" in {reference.design}"
        words += [*beside, f"not compared: no GC ran{where}"]
        return Sentence(result.design, f"{', '.join(words)}.", "doubtful")
    than = "" if comparison.results[0] is reference else f" than {reference.design}"
    if within_noise(result, reference, judged_by) or same(ratio):
        noise = " within noise" if within_noise(result, reference, judged_by) else ""
        words.append(f"the same as {reference.design}{noise}")
        tone: Tone = "plain"
    else:
        tone = "better" if ratio < 1 else "worse"
        words.append(f"{times(ratio)} {tone}{than}")
    words[-1] += bound
    if tone == "worse":
        words += beside
    costs = _costs(result, reference, judged_by.kind)
    if costs:
        words.append(f"{'at the cost of' if tone == 'better' else 'with'} {_and(costs)}")
    rate = _rate(result, reference)
    if rate is not None:
        words.append(rate)
    return Sentence(result.design, f"{', '.join(words)}.", tone)


def _interval(result: DesignResult, judged_by: Headline) -> str:
    """How far the headline may be off, if that is known."""
    interval = result.intervals.get(f"{judged_by.kind}.{judged_by.percentile.key}")
    if interval is None:
        return ""
    return f" ({units.latency(interval.low)} to {units.latency(interval.high)})"


def _main_cause(result: DesignResult, judged_by: Headline) -> tuple[list[str], str]:
    """What most of the headline's tail was spent on: GC as a whole, or else one group.

    It stands beside the headline where the tail is as slow as that. Elsewhere the percentile's own
    time may have gone to something else: then the end of the sentence says of what the share is.
    """
    tail, value = judged_by.tail(result), judged_by.of(result)
    cause, mean = main_cause(tail.ns), tail.mean_us
    if cause is None or mean is None or value is None:
        return [], ""
    if mean <= _TAIL_RATIO_MAX * value and isinstance(tail, SlowestRequests):
        return [cause], ""
    return [], f"; {judged_by.tail_name} took {units.latency(mean)} on average, {cause}"


def main_cause(spent: Mapping[str, int]) -> str | None:
    """What most of a time was spent on, in words, from nanoseconds by cause; None if it was none.

    >>> main_cause({"die_gc_read": 300, "die_gc_program": 200, "array": 400, "die_flush": 100})
    '50 % of it GC'
    """
    groups: dict[str, int] = {}
    for cause, ns in spent.items():
        name = "GC" if causes.family(cause) == "gc" else causes.group(cause)
        groups[name] = groups.get(name, 0) + ns
    total = sum(groups.values())
    if not total:
        return None
    name, ns = max(groups.items(), key=lambda each: each[1])
    return f"{100 * ns / total:.0f} % of it {name}"


def times(ratio: float) -> str:
    """How much better or worse a ratio of latencies is.

    >>> [times(ratio) for ratio in (0.00917, 0.4, 0.9, 1.33, 3.67)]
    ['109 times', '2.5 times', '10 %', '33 %', '3.7 times']
    """
    if 0.5 < ratio < 2:
        return f"{abs(1 - ratio) * 100:.0f} %"
    if ratio == 0:
        return "infinitely"
    factor = max(ratio, 1 / ratio)
    return f"{factor:,.0f} times" if factor >= 9.95 else f"{factor:.1f} times"


def _costs(result: DesignResult, reference: DesignResult, judged: Kind) -> list[str]:
    costs = []
    more = quotient(result.erases, reference.erases)
    if more is not None and min(result.erases, reference.erases) >= _ERASES_MIN:
        if more >= 2:
            costs.append(f"{times(more)} as many erases")
        elif (more - 1) * 100 >= _ERASES_PERCENT:
            costs.append(f"{(more - 1) * 100:.0f} % more erases")
    other: Kind = "write" if judged == "read" else "read"
    latency, was = latency_of(result, other), latency_of(reference, other)
    longer = quotient(latency.max_us, was.max_us)
    enough = min(latency.count, was.count) >= _SLOWEST_OF_MIN
    if longer is not None and longer >= _SLOWEST_RATIO and enough:
        slowest = units.latency(latency.max_us)
        costs.append(f"{other}s up to {slowest} in place of {units.latency(was.max_us)}")
    return costs


def _rate(result: DesignResult, reference: DesignResult) -> str | None:
    """How many more requests it serves than the reference, if that makes a difference."""
    served, was = (each.throughput.served_per_second for each in (result, reference))
    ratio = quotient(served, was)
    if ratio is None or abs(ratio - 1) * 100 <= SAME_RATE_PERCENT:
        return None
    if ratio >= 2:
        return f"at {times(ratio)} the requests/s"
    return f"at {abs(ratio - 1) * 100:.0f} % {'more' if ratio > 1 else 'fewer'} requests/s"


def _and(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _partial(result: DesignResult) -> Sentence:
    requests = units.counted(result.read.count + result.write.count, "request")
    for finding in result.findings:
        expected = finding.figures.get("requests_expected")
        if finding.code == "partial":
            done = int(finding.figures["requests"])
            requests = units.counted(done, "request")
            if expected is not None:
                requests = f"{units.count(done)} of {units.counted(int(expected), 'request')}"
    why = "STOPPED" if result.stuck is not None else "PARTIAL: interrupted"
    if result.unread is not None:
        why = "PARTIAL: its workload could be read no further"
    if result.interrupted and not measured(result):
        return Sentence(result.design, f"{why} before anything was measured.", "doubtful")
    words = [f"{why} after {requests}"]
    own = headline([result])
    if own is not None:
        value = units.latency(own.of(result))
        words.append(f"{own.percentile.name} of {own.kind}s so far {value}")
    return Sentence(result.design, f"{', '.join(words)}; not compared.", "doubtful")


def measured(result: DesignResult) -> bool:
    """Whether it has figures: it came to its end, or at least to a request."""
    return not result.partial or result.read.count + result.write.count > 0


def failures(comparison: Comparison) -> list[str]:
    """Why designs whose result is of a part of a run have no more, and what helps."""
    with_result = {result.design for result in comparison.results}
    return [
        f"{error.design}: {error.message}"
        for error in comparison.errors
        if error.design in with_result
    ]


def _few(result: DesignResult) -> Sentence:
    """A run that has no percentile which ten requests lie beyond in all runs."""
    kinds: list[Kind] = [kind for kind in ("read", "write") if latency_of(result, kind).count]
    if not kinds:
        return Sentence(result.design, "no reads and no writes, so no latencies.", "doubtful")
    words = []
    for kind in kinds:
        latency = latency_of(result, kind)
        words.append(
            f"{units.counted(latency.count, kind)} of up to {units.latency(latency.max_us)}"
        )
    few = "" if any(deepest(latency_of(result, kind).count) for kind in kinds) else ", too few"
    return Sentence(result.design, f"{_and(words)}{few and few + ' for a percentile'}.", "doubtful")


def _failed(error: DesignError) -> Sentence:
    if error.kind == "interrupted":
        return Sentence(error.design, "interrupted before it ran.", "doubtful")
    first = error.message.strip().splitlines()[0] if error.message.strip() else "it failed"
    why = shorten(first, _ERROR_CHARACTERS_MAX, placeholder=" ...")
    return Sentence(error.design, f"no result: {why}", "doubtful")
