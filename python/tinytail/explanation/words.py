"""Tells a timeline in words: segments that belong together become one line."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tinytail import units
from tinytail.comparison.read_folder import Geometry
from tinytail.explanation.timelines import RequestTimeline, TimelineSegment
from tinytail.verdict.causes import Family, family, holder, human_name

# Runs of so many lines, each of them shorter than this share of the latency, become one.
SHORT_SHARE = 0.001
SHORT_LINES_MIN = 3
# Of a line's causes, only the largest are named.
CAUSES_MAX = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A part of a request's time in words. `details` say more, each on a line of its own."""

    from_ns: int
    to_ns: int
    family: Family
    text: str
    details: tuple[str, ...]
    segments: tuple[TimelineSegment, ...]

    @property
    def duration_ns(self) -> int:
        """How long it lasted."""
        return self.to_ns - self.from_ns


def lines(timeline: RequestTimeline, geometry: Geometry) -> list[Line]:
    """A timeline whose order is known, line by line, from arrival to completion."""
    assert timeline.segments is not None
    describer = _Describer(timeline, geometry)
    described = list(
        _in_host(timeline, [each for each in timeline.segments if timeline.in_host(each)])
    )
    inside = [each for each in timeline.segments if not timeline.in_host(each)]
    described += [
        describer.line(key, tuple(segments))
        for key, segments in groupby(inside, key=lambda segment: _key(timeline, segment))
    ]
    return list(_folded(described, timeline.latency_ns * SHORT_SHARE))


def ago(ns: int) -> str:
    """A time after a request's arrival, or a duration.

    >>> ago(0), ago(3_100_000)
    ('0', '3.10 ms')
    """
    return "0" if ns == 0 else units.latency(ns / 1000)


def sums(segments: Sequence[TimelineSegment]) -> str:
    """The causes of some segments with their times, the largest first."""
    by_cause: dict[str, int] = {}
    for segment in segments:
        by_cause[segment.cause] = by_cause.get(segment.cause, 0) + segment.duration_ns
    ranked = sorted(by_cause.items(), key=lambda item: -item[1])
    shown = ranked if len(ranked) <= CAUSES_MAX else ranked[: CAUSES_MAX - 1]
    names = _briefly([cause for cause, _ in ranked])
    words = [f"{name} {ago(ns)}" for name, (_, ns) in zip(names, shown, strict=False)]
    rest = ranked[len(shown) :]
    if rest:
        words.append(f"{units.counted(len(rest), 'other')} {ago(sum(ns for _, ns in rest))}")
    return "; ".join(words)


def blamed(timeline: RequestTimeline) -> Mapping[str, int]:
    """Nanoseconds by cause; where it is known whose host reads and writes it waited for, by whose.

    Those of its other pages are `own_other_pages`, those of other requests `other_reads` and
    `other_writes`.
    """
    if timeline.segments is None:
        return timeline.parts
    spent: dict[str, int] = {}
    for segment in timeline.segments:
        cause = segment.cause
        others = _OF_OTHERS.get(holder(cause))
        if others is not None and segment.by_request is not None:
            cause = "own_other_pages" if segment.by_request == timeline.id else others
        spent[cause] = spent.get(cause, 0) + segment.duration_ns
    return spent


_OF_OTHERS = {"host_read": "other_reads", "host_program": "other_writes"}


def _briefly(causes: Sequence[str]) -> list[str]:
    """Causes in words, without what they all wait for if that is one resource."""
    names = [human_name(cause) for cause in causes]
    resources = {name.partition(": ")[0] for name in names if ": " in name}
    if len(resources) == 1 and all(": " in name for name in names):
        return [name.partition(": ")[2] for name in names]
    return names


def _key(timeline: RequestTimeline, segment: TimelineSegment) -> tuple[Hashable, ...]:
    """What makes neighbours one line: one GC, other work of one sort, own work.

    Work of one sort for the request itself and for others are two.
    """
    of = family(segment.cause)
    gc = timeline.gc_of(segment)
    if gc is not None or of == "gc":
        return ("gc", segment.plane, gc)
    if of == "own":
        return ("own", segment.plane)
    return ("wait", segment.plane, holder(segment.cause), segment.by_request == timeline.id)


# What requests in the device did while others waited in the host for one of their places.
_MEANWHILE: dict[Family, str] = {
    "gc": "waited for GC",
    "host": "waited for each other",
    "parity": "waited for parity and reconstruction",
    "queue": "waited for space, the buffer or the link",
    "own": "were at work",
    "other": "waited for other work",
}


def _in_host(timeline: RequestTimeline, segments: Sequence[TimelineSegment]) -> Iterator[Line]:
    """The time in the host by what kept the device queue full, the largest part first."""
    by_family: dict[Family, list[TimelineSegment]] = {}
    for segment in segments:
        by_family.setdefault(family(segment.cause), []).append(segment)
    from_ns = timeline.arrived_ns
    parts = {of: sum(each.duration_ns for each in found) for of, found in by_family.items()}
    for of in sorted(parts, key=lambda of: -parts[of]):
        text = f"in the host: requests in the device {_MEANWHILE[of]}"
        found = tuple(by_family[of])
        yield Line(from_ns, from_ns + parts[of], of, text, (sums(found),), found)
        from_ns += parts[of]


def _folded(described: list[Line], short_ns: float) -> Iterator[Line]:
    for is_short, run in groupby(described, key=lambda line: line.duration_ns < short_ns):
        found = list(run)
        if not is_short or len(found) < SHORT_LINES_MIN:
            yield from found
            continue
        segments = tuple(segment for line in found for segment in line.segments)
        largest = max(found, key=lambda line: line.duration_ns)
        text = f"{len(found)} short steps: {sums(segments)}"
        yield Line(found[0].from_ns, found[-1].to_ns, largest.family, text, (), segments)


class _Describer:
    def __init__(self, timeline: RequestTimeline, geometry: Geometry) -> None:
        self._timeline = timeline
        self._geometry = geometry
        self._introduced: set[int] = set()

    def line(self, key: tuple[Hashable, ...], segments: tuple[TimelineSegment, ...]) -> Line:
        first = segments[0]
        details: list[str] = []
        if key[0] == "gc":
            text = self._gc(segments, details)
        elif key[0] == "own":
            text = self._own(segments)
        else:
            text = self._wait(segments)
        several = len({segment.cause for segment in segments}) > 1
        if several and key[0] != "own":
            details.insert(0, sums(segments))
        return Line(
            first.from_ns,
            segments[-1].to_ns,
            family(first.cause),
            text,
            tuple(details),
            segments,
        )

    def _place(self, plane: int | None) -> str:
        return "the drive" if plane is None else self._geometry.place(plane)

    def _own(self, segments: Sequence[TimelineSegment]) -> str:
        plane = segments[0].plane
        words = sums(segments) if len({each.cause for each in segments}) > 1 else ""
        words = words or human_name(segments[0].cause)
        return words if plane is None else f"{words}, in {self._place(plane)}"

    def _wait(self, segments: Sequence[TimelineSegment]) -> str:
        first = segments[0]
        if holder(first.cause) == first.cause:
            words = human_name(first.cause).replace("waiting", "waited", 1)
            return words if first.plane is None else f"{words}, at {self._place(first.plane)}"
        others = {segment.by_request for segment in segments} - {None}
        behind = ""
        if others == {self._timeline.id}:
            behind = " of its own other pages"
        elif len(others) == 1:
            behind = f", of request {others.pop()}"
        elif others:
            behind = f", of {len(others)} requests"
        work = human_name(first.cause).partition(": ")[2]
        return f"waited for {self._resource(segments)}, busy with {work}{behind}"

    def _resource(self, segments: Sequence[TimelineSegment]) -> str:
        """What was waited for: the plane, unless it was the channel or the controller alone."""
        plane = segments[0].plane
        kinds = {segment.cause.partition("_")[0] for segment in segments}
        if kinds == {"controller"}:
            return "the controller"
        if kinds == {"channel"} and plane is not None:
            return f"the channel of {self._place(plane)}"
        return self._place(plane)

    def _gc(self, segments: Sequence[TimelineSegment], details: list[str]) -> str:
        first = segments[0]
        number = self._timeline.gc_of(first)
        gc = self._timeline.gc(number)
        planes = [segment.by_plane for segment in segments if segment.by_plane is not None]
        plane = gc.plane if gc is not None else (planes[0] if planes else None)
        name = "a GC" if number is None else f"GC {number}"
        where = "" if plane in (None, first.plane) else f" of {self._place(plane)}"
        text = f"waited for {self._resource(segments)}: {name}{where} {self._did(segments)}"
        if gc is not None and gc.gc not in self._introduced:
            self._introduced.add(gc.gc)
            details.append(self._about(gc.gc))
        return text

    def _did(self, segments: Sequence[TimelineSegment]) -> str:
        pages = sorted({segment.by_page for segment in segments if segment.by_page is not None})
        programs = sum(segment.cause == "channel_gc_program" for segment in segments)
        causes = {segment.cause for segment in segments}
        did = []
        if pages:
            count = units.counted(len(pages), "page")
            offsets = f"{pages[0]} to {pages[-1]}" if len(pages) > 1 else f"{pages[0]}"
            did.append(f"moved {count} ({offsets} of {self._geometry.pages_per_block})")
        elif programs:
            did.append(f"moved {units.counted(programs, 'page')}")
        if any(cause.endswith("_erase") for cause in causes):
            did.append("erased its block")
        if "die_gc_suspend" in causes:
            did.append("was suspended")
        return " and ".join(did) or "locked it"

    def _about(self, number: int) -> str:
        gc = self._timeline.gc(number)
        assert gc is not None
        arrived = self._timeline.arrived_ns

        def when(at_ns: int) -> str:
            if at_ns == arrived:
                return "as it arrived"
            before = at_ns < arrived
            return f"{ago(arrived - at_ns)} before" if before else f"at +{ago(at_ns - arrived)}"

        words = [f"GC {number} began {when(gc.started_ns)}"]
        if gc.locked_ns > gc.started_ns:
            words.append(f"waited {ago(gc.locked_ns - gc.started_ns)} for what it must lock")
        pages = units.counted(gc.moved_pages, "page")
        words.append(f"had moved {pages} {when(gc.moved_ns)}")
        words.append(f"had erased block {gc.block} {when(gc.ended_ns)}")
        return ", ".join(words)
