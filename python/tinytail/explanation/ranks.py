"""Ranks the causes of latency over the slowest requests, from the log of every one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from tinytail.errors import ResultsError, UsageError
from tinytail.explanation.timelines import Kind, causes

T = TypeVar("T")

# Of so many row groups one is looked at, for a value that so many times as many latencies exceed as
# the percentile leaves.
SAMPLED = 16
SAMPLE_MARGIN = 4


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
    groups = log.by_group(lambda file, group: _latencies(file, group, kind))
    requests = _requests(groups)
    if not requests:
        raise UsageError(f"{design} has no {kind}s")
    count = count_beyond(percentile, requests)
    bound = _bound(groups, requests, count)
    beyond = _slowest(log, groups, bound, count)
    sums = log.by_group(lambda file, group: _sums(log, file, group, groups[group], beyond[group]))
    by_cause: dict[str, int] = {}
    for found in sums:
        for cause, ns in found.items():
            by_cause[cause] = by_cause.get(cause, 0) + ns
    total = sum(by_cause.values())
    ranks = tuple(
        CauseRank(cause, ns, ns / count, 100 * ns / total)
        for cause, ns in sorted(by_cause.items(), key=lambda item: (-item[1], item[0]))
    )
    return Ranking(design, kind, percentile, bound, count, requests, total / count, ranks)


class _Log:
    """A log of every request, read by row groups: each fits into a cache of the processor."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path = path
        self._metadata = parquet.read_metadata(path)
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

    def by_group(self, look: Callable[[Any, int], T]) -> list[T]:
        """What is found in each row group, by several threads at a time."""
        from pyarrow import parquet

        threads = os.cpu_count() or 1
        groups = range(self._metadata.num_row_groups)
        each = -(-len(groups) // threads) or 1

        def look_at(start: int) -> list[T]:
            with parquet.ParquetFile(
                self.path, metadata=self._metadata, memory_map=True, read_dictionary=["kind"]
            ) as file:
                return [look(file, group) for group in groups[start : start + each]]

        with ThreadPoolExecutor(threads) as pool:
            parts = pool.map(look_at, range(0, len(groups), each))
            return [found for part in parts for found in part]


def _latencies(file: Any, group: int, kind: Kind) -> Any:
    """The latencies of a row group; -1 in place of those of another kind."""
    from pyarrow import compute

    table = file.read_row_group(group, columns=["kind", "latency_ns"], use_threads=False)
    is_kind = compute.equal(table["kind"], kind)
    return compute.if_else(is_kind, table["latency_ns"], -1).combine_chunks()


def _requests(groups: Sequence[Any]) -> int:
    from pyarrow import compute

    return sum(compute.sum(compute.greater_equal(group, 0)).as_py() for group in groups)


def _bound(groups: Sequence[Any], requests: int, count: int) -> int:
    """The latency of the fastest among the slowest so many of the requests.

    It is looked for among the latencies from some value on, which a sample suggests, or among all
    if the sample was misleading.
    """
    import pyarrow as pa
    from pyarrow import compute

    def at_least(least: int, some: Sequence[Any]) -> Any:
        kept = [compute.filter(group, compute.greater_equal(group, least)) for group in some]
        return pa.concat_arrays(kept)

    sample = at_least(0, groups[::SAMPLED])
    place = len(sample) * (requests - SAMPLE_MARGIN * count) // requests
    latencies = at_least(_nth(sample, place), groups) if 0 < place < len(sample) else []
    if len(latencies) < count:
        latencies = at_least(0, groups)
    return _nth(latencies, len(latencies) - count)


def _nth(values: Any, place: int) -> int:
    """The value at a place, as if they were sorted."""
    from pyarrow import compute

    nth = compute.partition_nth_indices(values, pivot=place)[place].as_py()
    found: int = values[nth].as_py()
    return found


def _slowest(log: _Log, groups: Sequence[Any], bound: int, count: int) -> list[Any]:
    """The rows of each row group that are among the slowest so many, the fastest of which took so.

    Of those that took exactly so the first to arrive belong to them, up to their number.
    """
    import pyarrow as pa
    from pyarrow import compute

    slower = [compute.indices_nonzero(compute.greater(group, bound)) for group in groups]
    equal = [compute.indices_nonzero(compute.equal(group, bound)) for group in groups]
    left = count - sum(map(len, slower))
    if sum(map(len, equal)) > left:

        def ids_of(file: Any, group: int) -> Any:
            if not len(equal[group]):
                return pa.array([], pa.int64())
            table = file.read_row_group(group, columns=["id"], use_threads=False)
            return table["id"].combine_chunks().take(equal[group])

        ids = log.by_group(ids_of)
        last = _nth(pa.concat_arrays(ids), left - 1)
        equal = [
            rows.filter(compute.less_equal(found, last))
            for rows, found in zip(equal, ids, strict=True)
        ]
    return [pa.concat_arrays(pair) for pair in zip(slower, equal, strict=True)]


def _sums(log: _Log, file: Any, group: int, latencies: Any, rows: Any) -> dict[str, int]:
    """Nanoseconds by cause of some rows of a row group.

    Columns of nothing but zeroes are the smallest. They are looked into only if the others do not
    add up to the latencies.
    """
    from pyarrow import compute

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
