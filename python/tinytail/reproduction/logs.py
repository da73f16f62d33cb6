"""What is kept of a run's log of every request."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
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
class Log:
    """Requests in order of arrival, if there are not too many, and read latencies by size.

    `reads_us` has, for each size of reads in sectors, their latencies at `PERCENTS`. Of the
    GC-blocked reads, some waited only because the design's rule decided so for each page that
    waited, and some because two pages of one stripe were behind GCs.
    """

    requests: tuple[Logged, ...]
    reads_us: Mapping[int, tuple[float, ...]]
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
            **{name: getattr(self, name) for name in BLOCKED},
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Log:
        """Reads what `to_dict` made."""
        columns = [document["requests"][name] for name in COLUMNS]
        return cls(
            tuple(Logged(*row) for row in zip(*columns, strict=True)),
            {int(size): tuple(us) for size, us in document["reads_us"].items()},
            *(document[name] for name in BLOCKED),
        )


def can_be_read() -> bool:
    """Whether there is a library that reads Parquet."""
    return find_spec("pyarrow") is not None


def read(path: Path) -> Log:
    """Reads a log file."""
    from pyarrow import compute, parquet

    table = parquet.read_table(path, columns=[*COLUMNS, *WAITS])
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
    return Log(
        tuple(kept),
        reads_us,
        blocked.num_rows,
        compute.sum(by_rule).as_py() or 0,
        compute.sum(forced).as_py() or 0,
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
