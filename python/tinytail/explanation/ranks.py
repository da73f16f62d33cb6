"""Ranks the causes of latency over the slowest requests, from the log of every one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from tinytail.engine import arguments
from tinytail.errors import ResultsError, UsageError
from tinytail.explanation.timelines import Kind, causes

T = TypeVar("T")

# So many row groups are a sample of a log, or a few more.
SAMPLE_GROUPS = 32
# A value that is so many times as far from the nearer end of a sample, in percent of it at most and
# in values at least, is beside the same place of all.
MARGIN = 3
MARGIN_PERCENT = 10
MARGIN_MIN = 100


@dataclass(frozen=True, slots=True)
class CauseRank:
    """What a cause contributed to the latencies of a group of requests.

    `mean_ns` is over all requests of the group, whether they met the cause or not.
    """

    cause: str
    ns: int
    mean_ns: float
    percent: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The causes of all requests of a kind that are beyond a percentile, the largest first.

    They are the `count` slowest requests, as `count_beyond` says: the same as in the tails of
    results. The fastest of them took `bound_ns`.
    """

    design: str
    kind: Kind
    percentile: float
    bound_ns: int
    count: int
    requests: int
    mean_ns: float
    causes: tuple[CauseRank, ...]


def rank_of(percentile: float, count: int) -> int:
    """How many of the fastest requests a percentile takes, exactly, as the decimals say.

    >>> rank_of(99.9, 1000), rank_of(99.9, 1001), rank_of(0, 5)
    (999, 1000, 0)
    """
    share = Fraction(str(percentile)) / 100 * count
    return -(-share.numerator // share.denominator)


def count_beyond(percentile: float, count: int) -> int:
    """How many requests lie beyond a percentile: the share that it leaves, rounded up.

    Of requests of one latency those that arrived first are the slowest.

    >>> count_beyond(99.9, 1000), count_beyond(99.9, 1001), count_beyond(0, 5)
    (1, 2, 5)
    """
    share = (100 - Fraction(str(percentile))) / 100 * count
    return -(-share.numerator // share.denominator)


def rank(folder: Path, design: str, kind: Kind, percentile: float) -> Ranking:
    """Ranks the causes of one design's requests.

    Raises:
        UsageError: there is no request of the kind.
        ResultsError: the causes do not add up to the latencies.
    """
    log = _Log(folder / "requests.parquet")
    found = _nth(
        log,
        lambda file, group: _latencies(file, group, kind),
        lambda requests: requests - count_beyond(percentile, requests),
    )
    if found is None:
        raise UsageError(f"{design} has no {kind}s")
    requests, bound = found.values, found.value
    count = count_beyond(percentile, requests)
    last_id = _last_id(log, kind, found, count - (requests - found.smaller - found.equal))
    sums = log.by_group(lambda file, group: _sums(log, file, group, kind, bound, last_id))
    by_cause: dict[str, int] = {}
    for of_group in sums:
        for cause, ns in of_group.items():
            by_cause[cause] = by_cause.get(cause, 0) + ns
    total = sum(by_cause.values())
    ranks = tuple(
        CauseRank(cause, ns, ns / count, 100 * ns / total)
        for cause, ns in sorted(by_cause.items(), key=lambda item: (-item[1], item[0]))
    )
    return Ranking(design, kind, percentile, bound, count, requests, total / count, ranks)


class _Log:
    """A log of every request, read by row groups, of which a few are in memory at a time."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path = path
        self._metadata = parquet.read_metadata(path)
        self.groups: int = self._metadata.num_row_groups
        names = self._metadata.schema.names
        self._causes = {cause: names.index(cause) for cause in causes(names)}

    def larger_and_smallest(self, group: int) -> tuple[list[str], list[str]]:
        """The columns of causes of a row group: those that take most space, and the others."""
        chunks = self._metadata.row_group(group)
        sizes = {
            cause: chunks.column(index).total_compressed_size
            for cause, index in self._causes.items()
        }
        least = min(sizes.values())
        larger = [cause for cause, size in sizes.items() if size > least]
        return larger, [cause for cause, size in sizes.items() if size == least]

    def by_group(self, look: Callable[[Any, int], T], step: int = 1) -> list[T]:
        """What is found in each row group, or in one of so many, by several threads at a time."""
        from pyarrow import parquet

        threads = os.cpu_count() or 1
        groups = range(0, self.groups, step)
        each = -(-len(groups) // threads) or 1

        def look_at(start: int) -> list[T]:
            with parquet.ParquetFile(
                self.path, metadata=self._metadata, read_dictionary=["kind"]
            ) as file:
                return [look(file, group) for group in groups[start : start + each]]

        with ThreadPoolExecutor(threads) as pool:
            parts = pool.map(look_at, range(0, len(groups), each))
            return [found for part in parts for found in part]


def _latencies(file: Any, group: int, kind: Kind) -> Any:
    """The latencies of one kind in a row group."""
    from pyarrow import compute

    table = file.read_row_group(group, columns=["kind", "latency_ns"], use_threads=False)
    return table["latency_ns"].filter(compute.equal(table["kind"], kind)).combine_chunks()


@dataclass(frozen=True, slots=True)
class _Nth:
    """A value at a place among so many, with how many are smaller, and how many equal."""

    value: int
    values: int
    smaller: int
    equal: int


def _nth(log: _Log, read: Callable[[Any, int], Any], place: Callable[[int], int]) -> _Nth | None:
    """The value at a place among those of all row groups as if they were sorted; None without any.

    `place` says the place among so many. Row groups are read one at a time, and of their values
    those are kept that are near what a sample says. Where it misleads, all are.
    """
    sample = _joined(log.by_group(read, max(1, log.groups // SAMPLE_GROUPS)))
    found = _nth_between(log, read, place, *_around(sample, place(len(sample))))
    return found or _nth_between(log, read, place, 0, arguments.I64_MAX)


def _nth_between(
    log: _Log, read: Callable[[Any, int], Any], place: Callable[[int], int], low: int, high: int
) -> _Nth | None:
    """The value at a place among those of all row groups; None if it is not between two others."""
    from pyarrow import compute

    parts = log.by_group(lambda file, group: _between(read(file, group), low, high))
    values, below = sum(part[0] for part in parts), sum(part[1] for part in parts)
    counts = _added([part[2] for part in parts])
    ends = compute.cumulative_sum(counts["counts_sum"])
    inside = place(values) - below
    if not 0 <= inside < (compute.max(ends).as_py() or 0):
        return None
    at = compute.sum(compute.less_equal(ends, inside)).as_py()
    value, equal = counts["values"][at].as_py(), counts["counts_sum"][at].as_py()
    return _Nth(value, values, below + ends[at].as_py() - equal, equal)


def _joined(arrays: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.chunked_array(arrays, pa.int64()).combine_chunks()


def _around(sample: Any, place: int) -> tuple[int, int]:
    """Two values, with a place of the sample and the same place of all between them."""
    last = len(sample) - 1
    nearer = min(place, last - place)
    margin = max(MARGIN_MIN, min(MARGIN * nearer, MARGIN_PERCENT * last // 100))
    low = _value_at(sample, place - margin) if place > margin else 0
    high = _value_at(sample, place + margin) if place + margin < last else arguments.I64_MAX
    return low, high


def _value_at(values: Any, place: int) -> int:
    """The value at a place, as if they were sorted."""
    from pyarrow import compute

    nth = compute.partition_nth_indices(values, pivot=place)[place].as_py()
    found: int = values[nth].as_py()
    return found


def _between(values: Any, low: int, high: int) -> tuple[int, int, Any]:
    """How many values there are, how many below two others, and how often each between them."""
    from pyarrow import compute

    is_low = compute.less(values, low)
    is_between = compute.and_not(compute.less_equal(values, high), is_low)
    below = compute.sum(is_low).as_py() or 0
    return len(values), below, compute.value_counts(values.filter(is_between))


def _added(counts: Sequence[Any]) -> Any:
    """How often there is each value, in the order of the values."""
    import pyarrow as pa

    schema = pa.schema([("values", pa.int64()), ("counts", pa.int64())])
    batches = [pa.RecordBatch.from_struct_array(part) for part in counts]
    found = pa.Table.from_batches(batches, schema)
    return found.group_by("values").aggregate([("counts", "sum")]).sort_by("values")


def _last_id(log: _Log, kind: Kind, found: _Nth, left: int) -> int:
    """Of the requests that took exactly so, the number of the last that is among the slowest.

    The first to arrive belong to them, so many as are left.
    """
    if left == found.equal:
        return arguments.I64_MAX

    def ids_of(file: Any, group: int) -> Any:
        from pyarrow import compute

        names = ["id", "kind", "latency_ns"]
        table = file.read_row_group(group, columns=names, use_threads=False)
        is_equal = compute.equal(table["latency_ns"], found.value)
        chosen = compute.and_(is_equal, compute.equal(table["kind"], kind))
        return table["id"].filter(chosen).combine_chunks()

    last = _nth(log, ids_of, lambda equal: (left - 1) * equal // found.equal)
    return last.value if last else arguments.I64_MAX


def _sums(log: _Log, file: Any, group: int, kind: Kind, bound: int, last_id: int) -> dict[str, int]:
    """Nanoseconds by cause of the requests of a row group that are among the slowest.

    These took longer than the bound, or exactly so and have numbers up to the last one.

    Columns of nothing but zeroes are the smallest. They are looked into only if the others do not
    add up to the latencies.
    """
    from pyarrow import compute

    names = ["kind", "latency_ns"]
    table = file.read_row_group(group, columns=names, use_threads=False)
    latencies = table["latency_ns"].combine_chunks()
    chosen = compute.and_(
        compute.greater_equal(latencies, bound), compute.equal(table["kind"], kind).combine_chunks()
    )
    if last_id < arguments.I64_MAX:
        ids = file.read_row_group(group, columns=["id"], use_threads=False)["id"].combine_chunks()
        is_beyond = compute.or_(compute.greater(latencies, bound), compute.less_equal(ids, last_id))
        chosen = compute.and_(chosen, is_beyond)
    rows = compute.indices_nonzero(chosen)
    if not len(rows):
        return {}
    left = compute.sum(latencies.take(rows)).as_py()
    found: dict[str, int] = {}
    for columns in log.larger_and_smallest(group):
        if left:
            table = file.read_row_group(group, columns=columns, use_threads=False)
            for cause in columns:
                ns = compute.sum(table[cause].combine_chunks().take(rows)).as_py()
                if ns:
                    found[cause.removesuffix("_ns")] = ns
                    left -= ns
    if left:
        raise ResultsError(f"{log.path}: its causes do not add up to its latencies")
    return found
