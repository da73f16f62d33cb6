"""What is kept of a run's log of every request."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Of a longer log, only latencies by size are kept.
REQUESTS_MAX = 20_000
PERCENTS = [float(percent) for percent in range(1, 95)]
PERCENTS += [round(95 + tenth / 10, 1) for tenth in range(50)] + [99.99, 100.0]
COLUMNS = ("kind", "sector", "sectors", "arrived_ns", "completed_ns", "gc_blocked")
# Times at which a page of the request was decided to wait, and at which it had to.
WAITS = ("gc_waits", "gc_waits_forced")
BLOCKED = ("blocked_reads", "blocked_by_rule", "blocked_beyond_parity")
# Latencies in microseconds beyond which reads are counted.
SLOW_US = (200, 400, 1000, 2000)
CLASS_WIDTH = 1.02


@dataclass(frozen=True, slots=True)
class Logged:
    """One request. Times are in nanoseconds since the measured part began."""

    kind: str
    sector: int
    sectors: int
    arrived_ns: int
    completed_ns: int
    gc_blocked: bool

    @property
    def latency_ns(self) -> int:
        """From its arrival to its completion."""
        return self.completed_ns - self.arrived_ns


@dataclass(frozen=True, slots=True)
class Hits:
    """Reads in classes of latency: `counts[i]` of them took less than `below_us[i]`.

    They did not take less than the bound of the class before. A class is 2 % wide.
    """

    below_us: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()

    def share_below(self, us: float) -> float | None:
        """Which share of them took less than a latency, to the class; None of no reads."""
        total = sum(self.counts)
        pairs = zip(self.below_us, self.counts, strict=True)
        return sum(count for below, count in pairs if below <= us) / total if total else None

    def median_us(self, at_least_us: float, below_us: float) -> float | None:
        """The median of those between two latencies, to the class; None if there are none."""
        between = [
            (bound, count)
            for bound, count in zip(self.below_us, self.counts, strict=True)
            if at_least_us < bound <= below_us
        ]
        half, seen = sum(count for _, count in between) / 2, 0
        for bound, count in between:
            seen += count
            if seen >= half:
                return bound
        return None


@dataclass(frozen=True, slots=True)
class Log:
    """Requests in order of arrival, if there are not too many, and read latencies by size.

    `reads_us` has, for each size of reads in sectors, their latencies at `PERCENTS`. Of the
    GC-blocked reads, some waited only because the design's rule decided so for each page that
    waited, and some because two pages of one stripe were behind GCs. `hit` are the reads that
    waited for one of the causes that the log was read for: how many took how long, in classes of
    latency. `slow` counts all reads beyond some latencies.
    """

    requests: tuple[Logged, ...]
    reads_us: Mapping[int, tuple[float, ...]]
    hit: Hits = Hits()
    slow: Mapping[int, int] = field(default_factory=dict)
    blocked_reads: int = 0
    blocked_by_rule: int = 0
    blocked_beyond_parity: int = 0

    def read_us(self, sectors: int, percent: float) -> float:
        """A percentile of the latencies of the reads of one size, in microseconds."""
        return self.reads_us[sectors][PERCENTS.index(percent)]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        columns = {name: [getattr(each, name) for each in self.requests] for name in COLUMNS}
        return {
            "requests": columns,
            "reads_us": {str(size): list(us) for size, us in self.reads_us.items()},
            "hit": asdict(self.hit),
            "slow": {str(us): count for us, count in self.slow.items()},
            **{name: getattr(self, name) for name in BLOCKED},
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Log:
        """Reads what `to_dict` made."""
        columns = [document["requests"][name] for name in COLUMNS]
        return cls(
            tuple(Logged(*row) for row in zip(*columns, strict=True)),
            {int(size): tuple(us) for size, us in document["reads_us"].items()},
            Hits(**{name: tuple(column) for name, column in document["hit"].items()}),
            {int(us): count for us, count in document["slow"].items()},
            *(document[name] for name in BLOCKED),
        )


def read(path: Path, hit: Sequence[str] = ()) -> Log:
    """Reads a log file; `hit` are causes, and reads that met one of them count as hit."""
    from pyarrow import compute, parquet

    causes = [f"{cause}_ns" for cause in hit]
    table = parquet.read_table(path, columns=[*COLUMNS, *WAITS, *causes])
    reads = table.filter(compute.equal(table["kind"], "read"))
    latency = compute.subtract(reads["completed_ns"], reads["arrived_ns"])
    reads_us = {}
    for size in sorted(compute.unique(reads["sectors"]).to_pylist()):
        of_size = latency.filter(compute.equal(reads["sectors"], size))
        reads_us[size] = percentiles(of_size.sort().to_pylist())
    kept: list[Logged] = []
    if table.num_rows <= REQUESTS_MAX:
        rows = table.sort_by("arrived_ns").to_pydict()
        kept = [Logged(*row) for row in zip(*(rows[name] for name in COLUMNS), strict=True)]
    blocked = reads.filter(reads["gc_blocked"])
    forced = compute.greater(blocked["gc_waits_forced"], 0)
    by_rule = compute.and_(compute.greater(blocked["gc_waits"], 0), compute.invert(forced))
    hits = Hits()
    if causes:
        waited = [compute.greater(reads[cause], 0) for cause in causes]
        hits = classes(latency.filter(functools.reduce(compute.or_, waited)).to_pylist())
    return Log(
        tuple(kept),
        reads_us,
        hits,
        {us: compute.sum(compute.greater(latency, us * 1000)).as_py() or 0 for us in SLOW_US},
        blocked.num_rows,
        compute.sum(by_rule).as_py() or 0,
        compute.sum(forced).as_py() or 0,
    )


def classes(latencies_ns: Sequence[int]) -> Hits:
    """Latencies in classes.

    >>> hits = classes([100_000, 101_000, 1_000_000])
    >>> round(hits.share_below(500), 3), round(hits.median_us(500, 2000))
    (0.667, 1003)
    """
    counts = Counter(math.floor(math.log(ns / 1000, CLASS_WIDTH)) for ns in latencies_ns)
    found = sorted(counts)
    return Hits(
        tuple(round(CLASS_WIDTH ** (number + 1), 3) for number in found),
        tuple(counts[number] for number in found),
    )


def percentiles(latencies_ns: Sequence[int]) -> tuple[float, ...]:
    """The latencies at `PERCENTS` in microseconds: the least that so many do not exceed.

    >>> percentiles([1000, 2000])[48:51]
    (1.0, 1.0, 2.0)
    """
    ordered = sorted(latencies_ns)
    # Whole thousandths, so that a percentile never falls between two ranks by rounding.
    ranks = (math.ceil(round(percent * 1000) * len(ordered) / 100_000) for percent in PERCENTS)
    return tuple(ordered[rank - 1] / 1000 for rank in ranks)
