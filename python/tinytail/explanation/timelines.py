"""Timelines of requests, as they are read from a folder of kept results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tinytail.errors import UsageError

Kind = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class TimelineSegment:
    """A part of a request's time, which passed for one cause.

    Times are in ns since the measured part began. `plane` is where the request waited or worked,
    `by_plane` the plane of what it waited for, `by_gc` the GC's number, `by_page` the offset in its
    block of the page that it was moving, and `by_request` the request that it waited for; each is
    None where there is none.
    """

    from_ns: int
    to_ns: int
    cause: str
    plane: int | None
    by_plane: int | None
    by_gc: int | None
    by_page: int | None
    by_request: int | None

    @property
    def duration_ns(self) -> int:
        """How long it lasted."""
        return self.to_ns - self.from_ns


@dataclass(frozen=True, slots=True)
class TimelineGc:
    """A GC that a request met; times are in ns since the measured part began, or negative before.

    It began to wait for what it must lock at `started_ns`, had locked that at `locked_ns`, had
    moved its last page at `moved_ns` and erased `block` of its plane at `ended_ns`.
    """

    gc: int
    plane: int
    block: int
    moved_pages: int
    started_ns: int
    locked_ns: int
    moved_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class RequestTimeline:
    """What a request's time went to.

    `parts` are ns by cause and add up to `latency_ns` exactly. `segments` are the same in order,
    without a gap from arrival to completion; None if the order was not kept. `gcs` are those of the
    segments that ended in the measured part.

    Its latency begins at `arrived_ns`, and its own time is `asked_ns`: until then it waited in the
    host for others to complete, where a bound keeps more from being outstanding.

    Of the latency, `host_queue_ns` passed first, in the host, because the device queue was full.
    Segments of that time say what the requests in the device waited for, the largest share first.
    """

    design: str
    id: int
    kind: Kind
    sector: int
    sectors: int
    asked_ns: int
    arrived_ns: int
    completed_ns: int
    latency_ns: int
    host_queue_ns: int
    gc_blocked: bool
    queue_blocked: bool
    reconstructed: int
    gc_waits: int
    gc_waits_forced: int
    parts: Mapping[str, int]
    segments: tuple[TimelineSegment, ...] | None
    gcs: tuple[TimelineGc, ...]
    replayed: bool = False

    def gc(self, number: int | None) -> TimelineGc | None:
        """A GC by its number; None if there is nothing about it."""
        return next((gc for gc in self.gcs if gc.gc == number), None)

    def in_host(self, segment: TimelineSegment) -> bool:
        """Whether the request waited in the host for a place in the device queue."""
        return segment.to_ns <= self.arrived_ns + self.host_queue_ns

    def gc_of(self, segment: TimelineSegment) -> int | None:
        """The GC that a segment waited for.

        Of a GC's commands and data on a channel only their plane is kept, where one GC is at a
        time.
        """
        if segment.by_gc is not None or not segment.cause.startswith("channel_gc_"):
            return segment.by_gc
        for gc in self.gcs:
            if gc.plane == segment.by_plane and gc.started_ns <= segment.from_ns < gc.ended_ns:
                return gc.gc
        return None


_FACTS = (
    *("id", "kind", "sector", "sectors", "arrived_ns", "completed_ns", "latency_ns"),
    "host_queue_ns",
    *("gc_blocked", "queue_blocked", "reconstructed", "gc_waits", "gc_waits_forced"),
)
_NOBODY = -1


def slowest(folder: Path, design: str, kind: Kind, count: int) -> list[RequestTimeline]:
    """The timelines of the slowest requests of a kind that were kept, the slowest first."""
    from pyarrow import parquet

    kept = parquet.read_table(folder / "traced.parquet", filters=[("kind", "==", kind)])
    slowest_first = kept.sort_by([("latency_ns", "descending"), ("id", "ascending")])
    return _timelines(folder, design, slowest_first.slice(0, count).to_pylist())


def traced(folder: Path, design: str, request: int) -> RequestTimeline | None:
    """The timeline of one request; None if it was not kept."""
    found = _rows(folder / "traced.parquet", [("id", "==", request)])
    return _timelines(folder, design, found)[0] if found else None


def logged(folder: Path, design: str, request: int) -> RequestTimeline:
    """What the log of every request says of one of them: the parts without their order.

    Raises:
        UsageError: there is no such request, or it has no latency.
    """
    from pyarrow import parquet

    log = folder / "requests.parquet"
    found = parquet.read_table(log, filters=[("id", "==", request)]).to_pylist()
    if not found:
        metadata = parquet.read_metadata(log)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        ids = [group.column(0).statistics for group in groups]
        raise UsageError(
            f"there is no request {request} of {design}: they are numbered from "
            f"{min(each.min for each in ids)} to {max(each.max for each in ids)}"
        )
    row = found[0]
    if row["kind"] == "trim":
        raise UsageError(f"request {request} is a trim, and trims have no latency to explain")
    return _timeline(design, row, log_parts(row), None, ())


def log_parts(row: Mapping[str, Any]) -> dict[str, int]:
    """Nanoseconds by cause of a row of the log, without those of zero."""
    return {cause.removesuffix("_ns"): row[cause] for cause in causes(list(row)) if row[cause]}


def causes(columns: Sequence[str]) -> list[str]:
    """The columns of causes of a log of every request: those behind all others."""
    return list(columns[columns.index("gc_wait_since_ns") + 1 :])


def _timelines(
    folder: Path, design: str, described: Sequence[Mapping[str, Any]]
) -> list[RequestTimeline]:
    from pyarrow import parquet

    if not described:
        return []
    segments: dict[int, list[TimelineSegment]] = {row["id"]: [] for row in described}
    chosen = [("id", "in", list(segments))]
    for row in parquet.read_table(folder / "segments.parquet", filters=chosen).to_pylist():
        segments[row.pop("id")].append(TimelineSegment(**_without_nobody(row)))
    span = [
        ("started_ns", "<=", max(row["completed_ns"] for row in described)),
        ("ended_ns", ">=", min(row["arrived_ns"] for row in described)),
    ]
    gcs = [TimelineGc(**row) for row in _rows(folder / "gcs.parquet", span)]
    request_timelines = []
    for row in described:
        parts: dict[str, int] = {}
        for segment in segments[row["id"]]:
            parts[segment.cause] = parts.get(segment.cause, 0) + segment.duration_ns
        during = tuple(
            gc
            for gc in gcs
            if gc.started_ns <= row["completed_ns"] and gc.ended_ns >= row["arrived_ns"]
        )
        timeline = _timeline(design, row, parts, tuple(segments[row["id"]]), during)
        met = {timeline.gc_of(segment) for segment in segments[row["id"]]}
        kept = tuple(gc for gc in during if gc.gc in met)
        request_timelines.append(_timeline(design, row, parts, timeline.segments, kept))
    return request_timelines


def _timeline(
    design: str,
    row: Mapping[str, Any],
    parts: Mapping[str, int],
    segments: tuple[TimelineSegment, ...] | None,
    gcs: tuple[TimelineGc, ...],
) -> RequestTimeline:
    facts = {name: row[name] for name in _FACTS}
    # Older folders lack it: nothing bounded what was outstanding.
    facts["asked_ns"] = row.get("asked_ns", row["arrived_ns"])
    facts |= {name: bool(row[name]) for name in ("gc_blocked", "queue_blocked")}
    largest_first = dict(sorted(parts.items(), key=lambda part: (-part[1], part[0])))
    return RequestTimeline(design=design, **facts, parts=largest_first, segments=segments, gcs=gcs)


def _without_nobody(row: dict[str, Any]) -> dict[str, Any]:
    places = ("plane", "by_plane", "by_gc", "by_page", "by_request")
    return row | {name: None for name in places if row[name] == _NOBODY}


def _rows(file: Path, filters: Any) -> list[dict[str, Any]]:
    from pyarrow import parquet

    rows: list[dict[str, Any]] = parquet.read_table(file, filters=filters).to_pylist()
    return rows
