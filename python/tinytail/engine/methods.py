"""What parts of results can do: the bases of generated types, each under the name of its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from tinytail.files.text import plain


@dataclass(frozen=True, slots=True)
class CauseShare:
    """What one cause contributes to the latencies of a group of requests.

    `percent` is its share of the group's summed latency and `mean_us` its mean per request, in
    microseconds, over all requests of the group.
    """

    cause: str
    percent: float
    mean_us: float


class AttributionGroup:
    """The summed latency of a group of requests, by cause."""

    __slots__ = ()

    count: int
    queue_blocked: int
    host_queue_ns: int
    ns: Mapping[str, int]

    @property
    def mean_us(self) -> float | None:
        """The mean latency of the group, in microseconds."""
        return sum(self.ns.values()) / 1000 / self.count if self.count else None

    @property
    def host_queue_percent(self) -> float | None:
        """The share of the latencies that passed in the host, because the device queue was full."""
        total_ns = sum(self.ns.values())
        return 100 * self.host_queue_ns / total_ns if total_ns else None

    def ranked(self) -> list[CauseShare]:
        """The causes that contributed anything, the largest first."""
        total_ns = sum(self.ns.values())
        if not total_ns or not self.count:
            return []
        return [
            CauseShare(cause, 100 * cause_ns / total_ns, cause_ns / 1000 / self.count)
            for cause, cause_ns in sorted(self.ns.items(), key=lambda item: (-item[1], item[0]))
            if cause_ns
        ]


class Condition:
    """A condition of a test."""

    __slots__ = ()

    value: float | None
    limit: float

    @property
    def margin_percent(self) -> float | None:
        """What is left up to the limit, in percent of it; below 0 beyond it."""
        return None if self.value is None else 100 * (1 - self.value / self.limit)


class Distribution:
    """The latency of each percentile."""

    __slots__ = ()

    percent: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<Distribution of {len(self.percent)} percentiles>"


class Series:
    """A run over simulated time."""

    __slots__ = ()

    window_seconds: float
    reads: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<Series of {len(self.reads)} windows of {self.window_seconds:g} s>"

    @property
    def start_seconds(self) -> tuple[float, ...]:
        """When each window starts."""
        return tuple(window * self.window_seconds for window in range(len(self.reads)))


class Answer:
    """What a function returns, as the document of its command."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The document; keys that are there only sometimes are left out where they say nothing."""
        usual = {each.name: each.default for each in fields(self)}  # type: ignore[arg-type]
        document: dict[str, Any] = plain(self)
        return {
            key: value
            for key, value in document.items()
            if usual[key] is MISSING or getattr(self, key) != usual[key]
        }


METHODS: Mapping[str, type] = {
    **dict.fromkeys(
        ("TraceDescription", "ConvertedTrace", "ImageInfo", "ImageCache", "Served"), Answer
    ),
    "AllRequests": AttributionGroup,
    "SlowestRequests": AttributionGroup,
    "Condition": Condition,
    "Distribution": Distribution,
    "Series": Series,
}
