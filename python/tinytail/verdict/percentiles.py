"""Which percentiles a run has enough requests for, and which one a comparison is judged by."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tinytail import units

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult
    from tinytail.engine.results import AllRequests, Latency, SlowestRequests

Kind = Literal["read", "write"]

# A percentile is a statement about the requests beyond it: so many at least.
SAMPLES_BEYOND = 10


@dataclass(frozen=True, slots=True)
class Percentile:
    """A figure of latencies, its name in results, and how many requests it speaks of.

    One request in `one_in` lies beyond a percentile; 0 for mean and maximum, which any number has.
    """

    name: str
    key: str
    one_in: int

    @property
    def beyond_percent(self) -> float:
        """The share of the requests that lie beyond it, in percent."""
        return 100 / self.one_in

    def of(self, latency: Latency) -> float | None:
        """Its value in microseconds; None where fewer than ten requests lie beyond it."""
        if not latency.count or (self.one_in and latency.count // self.one_in < SAMPLES_BEYOND):
            return None
        value: float | None = getattr(latency, self.key)
        return value


# All figures of latencies, in the order in which tables show them.
LATENCIES = (
    Percentile("mean", "mean_us", 0),
    Percentile("p50", "p50_us", 2),
    Percentile("p90", "p90_us", 10),
    Percentile("p95", "p95_us", 20),
    Percentile("p99", "p99_us", 100),
    Percentile("p99.9", "p999_us", 1000),
    Percentile("p99.99", "p9999_us", 10_000),
    Percentile("p99.999", "p99999_us", 100_000),
    Percentile("max", "max_us", 0),
)


def latencies(*names: str) -> tuple[Percentile, ...]:
    """Figures by their names."""
    return tuple(each for name in names for each in LATENCIES if each.name == name)


PERCENTILES = latencies("p50", "p90", "p99", "p99.9", "p99.99", "p99.999")
# Those that tables show wherever there are requests for them.
NEXT = latencies("p99.9", "p99.99")
(P99,) = latencies("p99")


@dataclass(frozen=True, slots=True)
class Headline:
    """What designs are judged by: a percentile of their reads or of their writes."""

    kind: Kind
    percentile: Percentile

    def of(self, result: DesignResult) -> float | None:
        """Its value in a result, in microseconds; None where that has too few requests."""
        return self.percentile.of(latency_of(result, self.kind))

    def tail(self, result: DesignResult) -> AllRequests | SlowestRequests:
        """Where the requests beyond it spent their time: all of the kind beyond the median."""
        attribution = result.attribution
        tails = attribution.tails if self.kind == "read" else attribution.write_tails
        for tail in tails:
            if _same(tail.share_percent, self.percentile.beyond_percent):
                return tail
        return attribution.all_reads if self.kind == "read" else attribution.all_writes

    @property
    def tail_name(self) -> str:
        """Which requests `tail` is about."""
        beyond = self.percentile.beyond_percent
        return f"{self.kind}s" if beyond > 10 else f"the slowest {beyond:g} % of {self.kind}s"


def latency_of(result: DesignResult, kind: Kind) -> Latency:
    """The latencies of one kind of request."""
    return result.read if kind == "read" else result.write


def deepest(count: int) -> Percentile | None:
    """The deepest percentile that ten of so many requests lie beyond; None if there is none.

    >>> [found and found.name for found in map(deepest, (19, 20, 113_071, 10_000_000))]
    [None, 'p50', 'p99.99', 'p99.999']
    """
    found = [each for each in PERCENTILES if count // each.one_in >= SAMPLES_BEYOND]
    return found[-1] if found else None


def headline(results: Sequence[DesignResult]) -> Headline | None:
    """What these results are judged by: the deepest percentile that all have samples for.

    That of reads, unless they have no p99 and writes have more. None if there is nothing to judge
    by. Runs that did not come to their end are left out where others did.
    """
    whole = [result for result in results if not result.partial] or list(results)
    if not whole:
        return None
    reads = deepest(min(result.read.count for result in whole))
    writes = deepest(min(result.write.count for result in whole))
    if reads is not None and (
        reads.one_in >= P99.one_in or writes is None or writes.one_in <= reads.one_in
    ):
        return Headline("read", reads)
    return None if writes is None else Headline("write", writes)


def out_of_reach(comparison: Comparison) -> str | None:
    """What the next percentile that tables show needs, and what gives it; None if none is next."""
    judged_by = headline(comparison.results)
    if judged_by is None or judged_by.percentile.one_in < P99.one_in:
        return None
    deeper = [each for each in NEXT if each.one_in > judged_by.percentile.one_in]
    if not deeper:
        return None
    kind, needed = judged_by.kind, SAMPLES_BEYOND * deeper[0].one_in
    whole = [result for result in comparison.results if not result.partial] or comparison.results
    fewest = min(whole, key=lambda result: latency_of(result, kind).count)
    count = latency_of(fewest, kind).count
    if comparison.workload.input == "synthetic":
        requests = -(-fewest.throughput.requests * needed // count)
        remedy = f"--requests {requests} gives them"
    else:
        words = shlex.split(comparison.command)
        repeats = int(words[words.index("--repeat") + 1]) if "--repeat" in words else 1
        remedy = f"--repeat {-(-repeats * needed // count)} plays so many"
        if fewest.write_amplification is not None:
            remedy += ", and writes the same pages again, so that GC finds emptier blocks"
    many = units.count(needed)
    return f"{deeper[0].name} needs {many} {kind}s (there are {units.count(count)}); {remedy}"


def _same(percent: float, other: float) -> bool:
    return abs(percent - other) < 1e-9
