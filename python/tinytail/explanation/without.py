"""Runs a design again without some causes, and checks each request against itself."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tinytail.comparison.read_folder import KeptDesign, KeptResults
from tinytail.engine import catalog, native
from tinytail.engine.jobs import ProgressCallback, run_one
from tinytail.engine.options import LogSpec
from tinytail.errors import ResultsError, RunError, UsageError, suggestion
from tinytail.explanation.ranks import count_beyond, rank_of
from tinytail.explanation.timelines import Kind

# Percentiles of latencies and of paired differences.
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)
DIFFERENCES = (0.01, 0.1, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99)
# Requests that gained most, and that lost most, so many of each.
EXTREMES = 5


@dataclass(frozen=True, slots=True)
class Change:
    """A figure with a cause, and without it, in nanoseconds."""

    name: str
    with_ns: float
    without_ns: float


@dataclass(frozen=True, slots=True)
class Paired:
    """A request with a cause, and without it."""

    id: int
    with_ns: int
    without_ns: int


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What a design would be without some causes, all requests of a kind compared with themselves.

    A difference is the latency with the causes less the one without: positive where a request
    gained. `beyond` is about the `beyond_count` slowest requests, which were beyond
    `beyond_percentile`. `still_beyond` of them still take as long as the fastest of them took,
    `beyond_bound_ns`. `gained` and `lost` are the requests with the largest and the smallest
    differences.
    """

    design: str
    without: tuple[str, ...]
    kind: Kind
    requests: int
    changes: tuple[Change, ...]
    faster: int
    slower: int
    equal: int
    mean_difference_ns: float
    differences: tuple[tuple[float, int], ...]
    beyond_percentile: float
    beyond_bound_ns: int
    beyond_count: int
    beyond: Change
    still_beyond: int
    gained: tuple[Paired, ...]
    lost: tuple[Paired, ...]
    event_hash: str

    def to_dict(self) -> dict[str, Any]:
        """The same as a document; times are in nanoseconds."""
        return asdict(self)


def check_causes(names: Sequence[str]) -> None:
    """Makes sure that a run can be without these.

    Raises:
        UsageError: no such cause; names the nearest, and all.
    """
    known = catalog.causes()
    for name in names:
        if name not in known:
            raise UsageError(
                f'a run can be without {", ".join(known)}, not without "{name}"'
                + suggestion(name, list(known))
            )


def run_without(
    kept: KeptResults,
    design: KeptDesign,
    without: Sequence[str],
    kind: Kind,
    percentile: float,
    progress: ProgressCallback | None,
) -> Counterfactual:
    """Runs a design again, from the same state and seed, without some causes.

    Raises:
        UsageError: the design has no requests of the kind.
        ResultsError: the requests of the run are not those that were kept; says what is known to
            differ.
        ConfigError, WorkloadError, RunError: the design cannot be run again.
    """
    if design.partial:
        raise UsageError(
            f"the run of {design.name} was interrupted, and a whole one is not its counterpart"
        )
    with tempfile.TemporaryDirectory(prefix="tinytail-") as name:
        log = Path(name, "requests.parquet")
        target = LogSpec(path=str(log), command="tinytail explain --without")
        spec = replace(kept.run_spec(design), log=target, without=tuple(without))
        result = run_one(lambda control: native.run(spec, control), design.name, progress)
        if result["log"]["error"] is not None:
            raise RunError(result["log"]["error"])
        before = _requests(design.folder / "requests.parquet", kind)
        after = _requests(log, kind)
    if before.num_rows == 0:
        raise UsageError(f"{design.name} has no {kind}s")
    if any(not before[name].equals(after[name]) for name in ("id", "sector", "sectors")):
        known = kept.differences()
        why = "; ".join(known) if known else "nothing is known that differs"
        raise ResultsError(f"{design.name} does not get the requests that it got: {why}")
    return _paired(
        design.name, tuple(without), kind, percentile, result["event_hash"], before, after
    )


def _requests(log: Path, kind: Kind) -> Any:
    """The requests of a kind in the order of their numbers."""
    from pyarrow import parquet

    columns = ["id", "sector", "sectors", "latency_ns"]
    table = parquet.read_table(log, columns=columns, filters=[("kind", "=", kind)])
    return table.sort_by("id").combine_chunks()


def _ranked(values: Any, percentiles: Sequence[float]) -> list[int]:
    """Percentiles of sorted values, each the smallest that so many of them do not exceed."""
    return [values[max(rank_of(share, len(values)), 1) - 1].as_py() for share in percentiles]


def _paired(
    design: str,
    without: tuple[str, ...],
    kind: Kind,
    percentile: float,
    event_hash: str,
    before: Any,
    after: Any,
) -> Counterfactual:
    from pyarrow import compute

    ids = before["id"].combine_chunks()
    old, new = (table["latency_ns"].combine_chunks() for table in (before, after))
    gains = compute.subtract(old, new)
    old_sorted, new_sorted, gains_sorted = (values.sort() for values in (old, new, gains))
    means = [compute.mean(values).as_py() for values in (old, new)]
    ranked = zip(
        PERCENTILES, _ranked(old_sorted, PERCENTILES), _ranked(new_sorted, PERCENTILES), strict=True
    )
    changes = [
        Change("mean", *means),
        *(Change(f"p{share:g}", was, becomes) for share, was, becomes in ranked),
        Change("max", old_sorted[-1].as_py(), new_sorted[-1].as_py()),
    ]
    beyond_count = count_beyond(percentile, len(ids))
    slowest_first = [("latency_ns", "descending"), ("id", "ascending")]
    beyond = compute.sort_indices(before, sort_keys=slowest_first)[:beyond_count]
    beyond_old, beyond_new = (values.take(beyond) for values in (old, new))
    bound = beyond_old[-1].as_py()
    order = compute.sort_indices(gains)

    def extremes(places: Any) -> tuple[Paired, ...]:
        rows = zip(*(values.take(places).to_pylist() for values in (ids, old, new)), strict=True)
        return tuple(Paired(*row) for row in rows if row[1] != row[2])

    def count(found: Any) -> int:
        return compute.sum(found).as_py() or 0

    return Counterfactual(
        design=design,
        without=without,
        kind=kind,
        requests=len(ids),
        changes=tuple(changes),
        faster=count(compute.greater(gains, 0)),
        slower=count(compute.less(gains, 0)),
        equal=count(compute.equal(gains, 0)),
        mean_difference_ns=compute.mean(gains).as_py(),
        differences=tuple(zip(DIFFERENCES, _ranked(gains_sorted, DIFFERENCES), strict=True)),
        beyond_percentile=percentile,
        beyond_bound_ns=bound,
        beyond_count=beyond_count,
        beyond=Change("beyond", compute.mean(beyond_old).as_py(), compute.mean(beyond_new).as_py()),
        still_beyond=count(compute.greater_equal(beyond_new, bound)),
        gained=tuple(
            pair for pair in extremes(order[-EXTREMES:])[::-1] if pair.without_ns < pair.with_ns
        ),
        lost=tuple(pair for pair in extremes(order[:EXTREMES]) if pair.without_ns > pair.with_ns),
        event_hash=event_hash,
    )
