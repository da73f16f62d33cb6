"""The load of ACT, the Aerospike Certification Tool, and the rules by which a drive passes.

The load is the workload `act`, whose multiplier this module varies. Sources: Practical Erase
Suspension, ATC 2019, section 3.3 (the rule `paper`), and ACT's own README of version 6 (`current`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tinytail.engine.options import KindSpec
from tinytail.engine.results import Condition, RuleName, Test

NS_PER_S = 1_000_000_000
NS_PER_US = 1_000
# ACT reports its 24 hours hour by hour; a run is cut into as many slices.
SLICES = 24
# ACT's max-lag-sec: a thread that falls further behind its rate ends the test.
LAG_NS_MAX = 10 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of ACT's requests, and how many arrive each second at multiplier 1."""

    name: str
    kind: Literal["read", "write"]
    bytes: int
    rate_per_s: int

    def period_ns(self, multiplier: int) -> float:
        """The time between two of them."""
        return NS_PER_S / (self.rate_per_s * multiplier)


SMALL_READS = Kind("small reads", "read", 1536, 2000)
LARGE_READS = Kind("large reads", "read", 131_072, 24)
LARGE_WRITES = Kind("large writes", "write", 131_072, 24)
KINDS = (SMALL_READS, LARGE_READS, LARGE_WRITES)
RATE_PER_S = sum(kind.rate_per_s for kind in KINDS)


@dataclass(frozen=True, slots=True)
class Limit:
    """A latency that no more than a share of the small reads may reach."""

    percentile: str
    figure: str
    ns: int
    missed_percent_max: float


LIMITS = (
    Limit("p95", "p95_us", 1_000_000, 5.0),
    Limit("p99", "p99_us", 8_000_000, 1.0),
    Limit("p99.9", "p999_us", 64_000_000, 0.1),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """Which conditions a run at a multiplier must meet."""

    name: RuleName
    meaning: str

    def _mean_ns_max(self, kind: Kind, multiplier: int) -> float:
        """What the mean latency of a kind must stay below."""
        of = kind if self.name == "paper" else LARGE_READS
        return of.period_ns(multiplier)

    def bounds(self, multiplier: int, duration_s: int) -> tuple[KindSpec, ...]:
        """The kinds as a run measures them, each with what makes a run hopeless.

        That is when the stress test has failed whatever comes: latencies that add up to the limit
        of their mean times more requests than there will be, or a lag of ACT's most.
        """
        found = []
        for kind in KINDS:
            if self.name == "current":
                most = LAG_NS_MAX + round(kind.period_ns(multiplier))
                found.append(KindSpec(kind=kind.kind, bytes=kind.bytes, latency_ns_max=most))
            else:
                # The run's number of requests is cut off by their sum: one kind may have one more.
                requests = kind.rate_per_s * multiplier * duration_s + 2
                most = round(requests * self._mean_ns_max(kind, multiplier)) + 1
                found.append(KindSpec(kind=kind.kind, bytes=kind.bytes, sum_ns_max=most))
        return tuple(found)

    def conditions(
        self, multiplier: int, kinds: Sequence[Mapping[str, Any]]
    ) -> tuple[Condition, ...]:
        """How a run met the rule's conditions.

        Args:
            multiplier: that of the run.
            kinds: what the run measured of `KINDS`, in their order.
        """
        small = kinds[0]
        if self.name == "current":
            shares = tuple(
                _share(limit, misses, small["latency"]["count"])
                for limit, misses in zip(LIMITS, small["limits"], strict=True)
            )
            lags = (_lag(each, multiplier, found) for each, found in zip(KINDS, kinds, strict=True))
            return (*shares, *lags)
        percentiles = tuple(
            _percentile(limit, misses, small["latency"])
            for limit, misses in zip(LIMITS, small["limits"], strict=True)
        )
        means = (
            self._mean(each, multiplier, found["latency"])
            for each, found in zip(KINDS, kinds, strict=True)
        )
        return (*percentiles, *means)

    def _mean(self, kind: Kind, multiplier: int, latency: Mapping[str, Any]) -> Condition:
        limit = self._mean_ns_max(kind, multiplier) / NS_PER_US
        value = latency["mean_us"]
        passed = value is not None and value < limit
        name = f"mean of {kind.name}"
        return Condition(name, ("performance", "stress"), value, limit, "us", passed)


def _percentile(limit: Limit, misses: Mapping[str, Any], latency: Mapping[str, Any]) -> Condition:
    """So many percent finish in less than the limit: counted exactly, shown as a percentile."""
    count = latency["count"]
    passed = count > 0 and 100 * misses["missed"] <= limit.missed_percent_max * count
    name = f"{limit.percentile} of {SMALL_READS.name}"
    return Condition(
        name, ("performance",), latency[limit.figure], limit.ns / NS_PER_US, "us", passed
    )


def _share(limit: Limit, misses: Mapping[str, Any], count: int) -> Condition:
    """Fewer than so many percent take the limit or longer, in every slice of the run."""
    value = misses["worst_slice_percent"] if count > 0 else None
    passed = value is not None and value < limit.missed_percent_max
    name = f"{SMALL_READS.name} of {limit.ns // 1_000_000} ms and more, worst slice"
    return Condition(name, ("performance",), value, limit.missed_percent_max, "percent", passed)


def _lag(kind: Kind, multiplier: int, found: Mapping[str, Any]) -> Condition:
    """How far a thread that does one request at a time falls behind."""
    value = found["latency"]["max_us"]
    limit = (LAG_NS_MAX + round(kind.period_ns(multiplier))) / NS_PER_US
    passed = value is not None and value <= limit
    name = f"longest of {kind.name}"
    return Condition(name, ("performance", "stress"), value, limit, "us", passed)


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "paper",
            "95 % of the small reads in 1 ms, 99 % in 8 ms, 99.9 % in 64 ms; the mean latency of "
            "each kind below the time between two requests of that kind, which alone is the "
            "stress test",
        ),
        Rule(
            "paper-large-period",
            "the same, with every mean below the time between two large requests",
        ),
        Rule(
            "current",
            "in each slice of the run fewer than 5 % of the small reads of 1 ms and more, 1 % of "
            "8 ms, 0.1 % of 64 ms; stress: nothing falls 10 s behind",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which tests a run passed. `reason` says what failed; None if nothing did."""

    performance: bool
    stress: bool
    reason: str | None
    conditions: tuple[Condition, ...]

    def passed(self, test: Test) -> bool:
        """Whether it passed a test."""
        return self.performance if test == "performance" else self.stress


def judge(rule: Rule, multiplier: int, outcome: Mapping[str, Any]) -> Verdict:
    """Judges what a run at a multiplier gave.

    A run that got stuck, in which a write or everything stopped completing, passes nothing.
    """
    conditions = rule.conditions(multiplier, outcome["kinds"])

    def holds(test: Test) -> bool:
        return all(each.passed for each in conditions if test in each.tests)

    if outcome["stuck"] is not None:
        return Verdict(False, False, f"stuck: {outcome['stuck']}", conditions)
    failed = [each for each in conditions if not each.passed]
    # What fails both tests says more than what fails one.
    failed.sort(key=lambda each: "stress" not in each.tests)
    reason = failed[0].name if failed else None
    return Verdict(holds("performance"), holds("stress"), reason, conditions)
