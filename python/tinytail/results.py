"""What a comparison returns.

Latencies are in microseconds, shares in percent and blame in nanoseconds. A figure that has no
meaning, such as the mean of no requests, is None.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from tinytail import arguments, findings, humanize
from tinytail.engine import Adjustment, Description, Setting
from tinytail.errors import NoResultError
from tinytail.frames import Tables, library
from tinytail.output import json_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

    from tinytail.reporting.plots import Plot

SCHEMA_VERSION = 1

ErrorKind = Literal["config", "workload", "run", "interrupted", "internal"]


@dataclass(frozen=True, slots=True)
class Latency:
    """The latencies of all reads or of all writes of a run, in microseconds."""

    count: int
    mean_us: float | None
    p50_us: float | None
    p90_us: float | None
    p95_us: float | None
    p99_us: float | None
    p999_us: float | None
    p9999_us: float | None
    p99999_us: float | None
    max_us: float | None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Latency:
        """Reads the part `read` or `write` of a result document."""
        return cls(**{name: document[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a figure lies, from `low` to `high`, in the figure's unit.

    Of such intervals `level_percent` hold the truth. `method` is `"seeds"` where `n` runs differ in
    their seed, and `"blocks"` where `n` blocks of one run were resampled.
    """

    low: float
    high: float
    level_percent: float
    method: str
    n: int


@dataclass(frozen=True, slots=True)
class Replicate:
    """What a design did with one seed, where it was run with several."""

    seed: int
    event_hash: str
    read: Latency
    write: Latency
    gc_blocked_read_percent: float | None
    queue_blocked_read_percent: float | None
    write_amplification: float | None
    erases: int
    gc_count: int
    simulated_seconds: float

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Replicate:
        """Reads an item of the part `replicates` of a result document."""
        latencies = {kind: Latency.from_dict(document[kind]) for kind in ("read", "write")}
        return cls(**{**document, **latencies})


@dataclass(frozen=True, slots=True, repr=False)
class Distribution:
    """Where the latencies of a run lie: the latency of each percentile, in microseconds.

    None stands where there was no request.
    """

    percent: tuple[float, ...]
    read_us: tuple[float | None, ...]
    write_us: tuple[float | None, ...]

    def __repr__(self) -> str:
        return f"<Distribution of {len(self.percent)} percentiles>"

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Distribution:
        """Reads the part `distribution` of a result document."""
        return cls(**{name: tuple(document[name]) for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class CauseShare:
    """What one cause contributes to the latencies of a group of requests.

    `percent` is its share of the group's summed latency and `mean_us` its mean per request, in
    microseconds, over all requests of the group.
    """

    cause: str
    percent: float
    mean_us: float


@dataclass(frozen=True, slots=True)
class BlameGroup:
    """The summed latency of a group of requests, by cause, in nanoseconds.

    The parts add up to the latencies exactly. `queue_blocked` of the requests waited in the host
    because the device queue was full, for `host_queue_ns` together; `ns` has that time by what kept
    the device's slots taken. `share_percent` and `latency_us_from` say of the
    slowest reads how many they are and from which latency on a read is one of them.
    """

    count: int
    ns: Mapping[str, int]
    queue_blocked: int = 0
    host_queue_ns: int = 0
    share_percent: float | None = None
    latency_us_from: float | None = None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> BlameGroup:
        """Reads one group of the part `blame` of a result document."""
        return cls(
            count=document["count"],
            ns=document["ns"],
            queue_blocked=document["queue_blocked"],
            host_queue_ns=document["host_queue_ns"],
            share_percent=document.get("share_percent"),
            latency_us_from=document.get("latency_us_from"),
        )

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


@dataclass(frozen=True, slots=True)
class Blame:
    """Where requests spent their time.

    `slowest_reads` are the slowest 0.1 %; `tails` are the slowest 10 %, 1 %, 0.1 %, 0.01 % and
    0.001 % of reads, and `write_tails` the same of writes.
    """

    all_reads: BlameGroup
    slowest_reads: BlameGroup
    tails: tuple[BlameGroup, ...]
    all_writes: BlameGroup
    write_tails: tuple[BlameGroup, ...]

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Blame:
        """Reads the part `blame` of a result document."""
        return cls(
            all_reads=BlameGroup.from_dict(document["all_reads"]),
            slowest_reads=BlameGroup.from_dict(document["slowest_reads"]),
            tails=tuple(BlameGroup.from_dict(tail) for tail in document["tails"]),
            all_writes=BlameGroup.from_dict(document["all_writes"]),
            write_tails=tuple(BlameGroup.from_dict(tail) for tail in document["write_tails"]),
        )


@dataclass(frozen=True, slots=True, repr=False)
class Series:
    """A run over simulated time, in columns of one value for each window.

    Window `i` starts `i * window_seconds` after the measured part does; the last one ends with the
    run. Counts add up to the run's. `free_blocks_min` and `free_blocks_mean` are erased blocks per
    plane. None stands where a figure has no meaning, such as a percentile of no reads.
    """

    window_seconds: float
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    read_bytes: tuple[int, ...]
    write_bytes: tuple[int, ...]
    requests_per_second: tuple[float | None, ...]
    mb_per_second: tuple[float | None, ...]
    read_p50_us: tuple[float | None, ...]
    read_p99_us: tuple[float | None, ...]
    read_p999_us: tuple[float | None, ...]
    read_max_us: tuple[float | None, ...]
    free_blocks_min: tuple[int | None, ...]
    free_blocks_mean: tuple[float | None, ...]
    host_pages: tuple[int, ...]
    gc_pages: tuple[int, ...]
    gcs: tuple[int, ...]
    write_amplification: tuple[float | None, ...]

    def __repr__(self) -> str:
        return f"<Series of {len(self.reads)} windows of {self.window_seconds:g} s>"

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Series:
        """Reads the part `series` of a result document."""
        columns = {name: document[name] for name in cls.__dataclass_fields__}
        width = columns.pop("window_seconds")
        return cls(window_seconds=width, **{name: tuple(columns[name]) for name in columns})

    @property
    def start_seconds(self) -> tuple[float, ...]:
        """When each window starts."""
        return tuple(window * self.window_seconds for window in range(len(self.reads)))


@dataclass(frozen=True, slots=True)
class Log:
    """The log of every request of a run.

    `requests` and `bytes` are what is in the file. `error` says why there is no file.
    """

    path: str
    requests: int
    bytes: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Stories:
    """The stories that were kept of a run.

    `requests` and `gcs` are what is in the files of the folder `path`. `error` says why there are
    none.
    """

    path: str
    requests: int
    gcs: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Out:
    """The folder in which results were kept, as given. `error` says why they were not."""

    path: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The timeline of a run.

    `slices`, the `gcs` among them and `bytes` are what is in the file. `error` says why there is no
    file.
    """

    path: str
    slices: int
    gcs: int
    bytes: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload of a run.

    `input` is `"real"`, `"synthetic"` or `"stand-in"`, and `detail` says more. `pacing` is `"open"`
    where requests come at their own times, `"closed"` where they wait for completions, or
    `"bursts"`. All three are None if no design ran.
    """

    name: str
    input: str | None
    detail: str | None
    pacing: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that makes a result, or a comparison, mean less than it seems to.

    `code` says what sort of thing it is and `message` the same in words; `figures` are the numbers
    that it rests on. `designs` are those that a comparison's finding is about.
    """

    code: str
    message: str
    figures: Mapping[str, float]
    designs: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Finding:
        """Reads a finding of a result document."""
        return cls(document["code"], document["message"], document["figures"])


@dataclass(frozen=True, slots=True)
class GcTimes:
    """How long garbage collections took, in microseconds.

    `mean_us` and `max_us` are from the start of one to the end of its erase; `turn_max_us` is the
    longest until one had ended, also of those that found nothing to free; `copy_mean_us` is the
    part of the mean from the moment at which it holds all that it must to the end of its last page.
    `gate_wait_mean_us` and `gate_wait_max_us` are the time before, for which the gate put it off.
    """

    mean_us: float
    max_us: float
    turn_max_us: float
    copy_mean_us: float
    gate_wait_mean_us: float
    gate_wait_max_us: float


@dataclass(frozen=True, slots=True)
class Affected:
    """Requests of one kind that waited for a garbage collection.

    `percent` is their share of all requests, and `mean_us` their mean latency in microseconds, None
    if there were none.
    """

    count: int
    percent: float
    mean_us: float | None


@dataclass(frozen=True, slots=True)
class GcAffected:
    """Requests that waited for a garbage collection; `percent` of all requests."""

    percent: float
    reads: Affected
    writes: Affected

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> GcAffected:
        """Reads them from a result document."""
        reads, writes = (Affected(**document[kind]) for kind in ("reads", "writes"))
        return cls(percent=document["percent"], reads=reads, writes=writes)


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast the host's data were read and written.

    `makespan_mb_per_second` is by the time that passed, which means something where the host waits
    for completions; `device_busy_mb_per_second` by the time in which dies ran something, as if all
    of them did so at once. `die_busy_seconds` is that time over all dies. None where it is 0.
    """

    bytes: int
    makespan_mb_per_second: float | None
    die_busy_seconds: float
    device_busy_mb_per_second: float | None


@dataclass(frozen=True, slots=True)
class Bursts:
    """How fast the bursts of a workload were done that is played in bursts.

    `count` bursts took `mean_us` each, from the first request's issue to the last completion, and
    at most `max_us`. `write_mb_per_second` is the mean, over the `writing` bursts, of what one
    wrote over the time that it took, so that idle times do not count; `read_mb_per_second` the same
    of what bursts read. None where there is nothing to take a mean of.
    """

    count: int
    writing: int
    mean_us: float | None
    max_us: float | None
    write_mb_per_second: float | None
    read_mb_per_second: float | None


@dataclass(frozen=True, slots=True)
class BlockErases:
    """How many blocks were erased how often: `blocks[i]` of them `erases[i]` times."""

    erases: tuple[int, ...]
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wear:
    """How evenly planes and blocks were worn in the measured part.

    `erases_most` and `erases_least` are erases of one plane, `variation_percent` is the coefficient
    of variation over all planes. Bad blocks are not among the `blocks`.
    """

    erases_most: int
    erases_least: int
    variation_percent: float
    blocks: BlockErases

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Wear:
        """Reads the part `wear` of a result document."""
        columns = document["blocks"]
        blocks = BlockErases(tuple(columns["erases"]), tuple(columns["blocks"]))
        return cls(**{**document, "blocks": blocks})


@dataclass(frozen=True, slots=True)
class Violation:
    """A garbage collection that started beside another of its plane group although they rotate.

    `at_us` is the time since the measured part began, in microseconds.
    """

    at_us: float
    plane: int


@dataclass(frozen=True, slots=True, repr=False)
class DesignResult(Tables):
    """What one design did.

    `gc_blocked_read_percent` counts reads that waited for a resource held by a garbage collection
    and `queue_blocked_read_percent` those that waited in the host for a place in the device's
    queue. `write_amplification` is pages programmed per page written by the host. `techniques`
    tells how often each technique acted. `event_hash` is the same for the same input on every
    machine. `verified_page_reads` is how many reads were checked against what was last written, or
    None. `partial` is true of a run that did not come to its end: it was interrupted, or `stuck`
    tells how its requests stopped completing and what helps, and `standstill` what held what then,
    or `unread` what kept the workload from being read to its end. `log` is None if none was asked
    for.
    `intervals` says by name, such as `"read.p99_us"`, how far a figure may be off; a figure of
    which too little was seen has none. With several seeds each figure is the mean over them, a
    maximum the largest, blame the sum, `replicates` has each, and what has no mean, such as
    `series` and `event_hash`, is that of the first.
    `gc_times` is None if no collection took time, `bursts` if the workload is not played in bursts.
    `rotation_violations` are the first 1,000 of them, none in designs without rotation. `findings`
    are what makes these figures mean less than they seem to, the gravest first.
    """

    design: str
    read: Latency
    write: Latency
    distribution: Distribution
    intervals: Mapping[str, Interval]
    replicates: tuple[Replicate, ...]
    gc_blocked_read_percent: float | None
    gc_affected: GcAffected
    plane_utilization_during_gc_percent: float | None
    throughput: Throughput
    queue_blocked_read_percent: float | None
    write_amplification: float | None
    erases: int
    gc_count: int
    gc_times: GcTimes | None
    bursts: Bursts | None
    rotation_violations: tuple[Violation, ...]
    findings: tuple[Finding, ...]
    blame: Blame
    series: Series
    wear: Wear
    techniques: Mapping[str, int]
    event_hash: str
    requests_per_cpu_second: float | None
    cpu_seconds: float
    ns_per_event: float | None
    events: int
    simulated_seconds: float
    unmapped_read_pages: int
    verified_page_reads: int | None
    partial: bool
    stuck: str | None
    unread: str | None
    standstill: str | None
    device: str
    workload: Workload
    state: Mapping[str, Any]
    seed: int
    version: str
    notes: tuple[str, ...]
    adjusted: tuple[Adjustment, ...]
    log: Log | None
    stories: Stories | None
    timeline: Timeline | None
    document: Mapping[str, Any] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<DesignResult of {self.design} on {self.device}: {_told(self)}>"

    def _repr_html_(self) -> str:
        return Comparison.of(self)._repr_html_()

    def _results(self) -> tuple[DesignResult]:
        return (self,)

    def plot(
        self, kind: Plot = "tail", *, ax: Axes | None = None, column: str = "read_p99_us"
    ) -> Axes:
        """Draws the result on axes of matplotlib; see `Comparison.plot`.

        Raises:
            UsageError: there is no such kind, nothing to draw, or matplotlib is missing.
        """
        return Comparison.of(self).plot(kind, ax=ax, column=column)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run early."""
        return self.partial and self.stuck is None and self.unread is None

    def figure(self, name: str) -> float | None:
        """A figure by its name in `intervals`, such as `"read.p99_us"` or `"erases"`.

        Raises:
            KeyError: there is no such figure.
        """
        value: Any = self.document
        for part in name.split("."):
            value = value[part]
        return None if value is None else float(value)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> DesignResult:
        """Reads a result document, which is kept unaltered in `document`."""
        converted: dict[str, Any] = {
            "read": Latency.from_dict(document["read"]),
            "write": Latency.from_dict(document["write"]),
            "distribution": Distribution.from_dict(document["distribution"]),
            "intervals": {
                name: Interval(**interval) for name, interval in document["intervals"].items()
            },
            "replicates": tuple(map(Replicate.from_dict, document.get("replicates", ()))),
            "blame": Blame.from_dict(document["blame"]),
            "workload": Workload(
                **{k: document["workload"][k] for k in Workload.__dataclass_fields__}
            ),
            "series": Series.from_dict(document["series"]),
            "notes": tuple(document["notes"]),
            "findings": tuple(map(Finding.from_dict, document["findings"])),
            "standstill": document.get("standstill"),
            # A result that was kept by an earlier version has none.
            "adjusted": tuple(Adjustment(**item) for item in document.get("adjusted", [])),
            "gc_times": None if document["gc_times"] is None else GcTimes(**document["gc_times"]),
            "gc_affected": GcAffected.from_dict(document["gc_affected"]),
            "throughput": Throughput(**document["throughput"]),
            "bursts": None if document["bursts"] is None else Bursts(**document["bursts"]),
            "wear": Wear.from_dict(document["wear"]),
            "rotation_violations": tuple(
                Violation(**violation) for violation in document["rotation_violations"]
            ),
            "log": None if document["log"] is None else Log(**document["log"]),
            "stories": None if document["stories"] is None else Stories(**document["stories"]),
            "timeline": None if document["timeline"] is None else Timeline(**document["timeline"]),
            "unread": document.get("unread"),
            "document": document,
        }
        plain = {name: document[name] for name in cls.__dataclass_fields__ if name not in converted}
        return cls(**plain, **converted)


@dataclass(frozen=True, slots=True)
class DesignError:
    """Why a design has no result, or a doubtful one.

    `kind` is `"config"` or `"workload"` for faulty input, `"run"` for a run that failed,
    `"interrupted"` for one that Ctrl-C kept from starting and `"internal"` for a fault of tinytail
    itself.
    """

    design: str
    kind: ErrorKind
    message: str


@dataclass(frozen=True, slots=True)
class Configured:
    """A device, a design or a workload as it was configured, each value with its source."""

    kind: Literal["device", "design", "workload"]
    name: str
    summary: str
    settings: tuple[Setting, ...]

    @classmethod
    def of(
        cls,
        kind: Literal["device", "design", "workload"],
        description: Description,
        replaced: Mapping[str, object] = MappingProxyType({}),
    ) -> Configured:
        """A configuration; `replaced` are values of a device's state that the run was told."""
        kept = [
            setting
            for setting in description.settings
            if setting.section != "state" or setting.key not in replaced
        ]
        told = [Setting("state", key, str(value), "--state") for key, value in replaced.items()]
        return cls(kind, description.name, description.summary, (*kept, *told))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Configured:
        """Reads an item of the part `configuration` of a comparison's document."""
        settings = tuple(Setting(**setting) for setting in document["settings"])
        return cls(document["kind"], document["name"], document["summary"], settings)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as a part of a comparison's document."""
        return asdict(self) | {"settings": [asdict(setting) for setting in self.settings]}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Tables):
    """Designs that served the same workload, on drives aged alike.

    `state` has what their starting states have in common; each result has its own in full.
    `results` are in the order of the designs, without those that have none; `errors` tells why.
    `command` repeats the comparison. `partial` is true if it was interrupted. `reference` names
    the design that ratios are taken to. `seeds` is how many seeds each design ran with, from `seed`
    on. `configuration` has device, designs and workload in full.
    `out` tells what became of the folder in which the results were to be kept; None if there was to
    be none.
    """

    version: str
    command: str
    device: str
    workload: Workload
    state: Mapping[str, Any] | None
    seed: int
    partial: bool
    reference: str
    configuration: tuple[Configured, ...]
    results: tuple[DesignResult, ...]
    errors: tuple[DesignError, ...]
    out: Out | None = None
    seeds: int = 1

    def __repr__(self) -> str:
        told = [f"{result.design}: {_told(result)}" for result in self.results]
        told += [f"{error.design}: {error.kind} error" for error in self.errors]
        what = f"{self.workload.name} on {self.device}"
        return f"<Comparison under {what}; {'; '.join(told)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, a table, bars and the curve of the tail."""
        from tinytail.reporting import notebook

        return notebook.html(self)

    def _results(self) -> tuple[DesignResult, ...]:
        return self.results

    @classmethod
    def of(cls, result: DesignResult) -> Comparison:
        """A comparison that has one result alone, of which the command is not known."""
        return cls(
            version=result.version,
            command="",
            device=result.device,
            workload=result.workload,
            state=result.state,
            seed=result.seed,
            partial=result.interrupted,
            reference=result.design,
            configuration=(),
            results=(result,),
            errors=(),
            seeds=max(1, len(result.replicates)),
        )

    def plot(
        self, kind: Plot = "tail", *, ax: Axes | None = None, column: str = "read_p99_us"
    ) -> Axes:
        """Draws the comparison on axes of matplotlib, which it returns.

        Args:
            kind: `"tail"`: latencies of reads by percentile, and the slowest; `"write_tail"`: the
                same of writes; `"attribution"`: where the slowest 0.1 % of reads spent their time;
                `"series"`: a column of `Series` over simulated time.
            ax: the axes to draw on; None for new ones.
            column: the column of `"series"`.

        Raises:
            UsageError: there is no such kind, nothing to draw, or matplotlib is missing.
        """
        library("matplotlib", "plot")
        from tinytail.reporting.plots import plot

        return plot(self, kind, ax, column)

    def result(self, design: str) -> DesignResult:
        """The result of one design.

        Raises:
            NoResultError: the design has none; says why. It is a KeyError as well.
        """
        for result in self.results:
            if result.design == design:
                return result
        failures = {error.design: error.message for error in self.errors}
        raise NoResultError.of(design, [result.design for result in self.results], failures)

    def improvements(self) -> list[dict[str, str | float | None]]:
        """By how many percent each design's GC-affected requests are faster than the reference's.

        Those that a garbage collection made wait in the one are held against those that it made
        wait in the other, by their mean latencies. None where one of them has none.
        """
        reference = next((r for r in self.results if r.design == self.reference), None)

        def gain(mean_us: float | None, reference_us: float | None) -> float | None:
            return 100.0 * (1.0 - mean_us / reference_us) if mean_us and reference_us else None

        return [
            {
                "design": result.design,
                "gc_affected_reads_percent": gain(
                    result.gc_affected.reads.mean_us, reference.gc_affected.reads.mean_us
                ),
                "gc_affected_writes_percent": gain(
                    result.gc_affected.writes.mean_us, reference.gc_affected.writes.mean_us
                ),
            }
            for result in self.results
            if reference is not None and result is not reference
        ]

    def findings(self) -> list[Finding]:
        """What makes the comparison mean less than it seems to, and what is worse than expected.

        They concern several results together; each result has findings of its own.
        """
        return findings.compared(self)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as a document that follows `results_schema()`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "version": self.version,
            "command": self.command,
            "device": self.device,
            "workload": {
                "name": self.workload.name,
                "input": self.workload.input,
                "detail": self.workload.detail,
                "pacing": self.workload.pacing,
            },
            "state": None if self.state is None else dict(self.state),
            "seed": self.seed,
            "seeds": self.seeds,
            "partial": self.partial,
            "reference": self.reference,
            "configuration": [item.to_dict() for item in self.configuration],
            "results": [dict(result.document) for result in self.results],
            "improvements": self.improvements(),
            "findings": [
                asdict(finding) | {"designs": list(finding.designs)} for finding in self.findings()
            ],
            "errors": [
                {"design": error.design, "kind": error.kind, "message": error.message}
                for error in self.errors
            ],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Comparison:
        """Reads a document of `to_dict`."""
        return cls(
            version=document["version"],
            command=document["command"],
            device=document["device"],
            workload=Workload(**document["workload"]),
            state=document["state"],
            seed=document["seed"],
            partial=document["partial"],
            reference=document["reference"],
            configuration=tuple(map(Configured.from_dict, document["configuration"])),
            results=tuple(map(DesignResult.from_dict, document["results"])),
            errors=tuple(DesignError(**error) for error in document["errors"]),
            seeds=document["seeds"],
        )

    def to_json(self) -> str:
        """The document of `to_dict` as JSON text."""
        return json_text(self.to_dict())

    def verdict(self, width: int = 80) -> str:
        """What the comparison says, as plain text of at most `width` columns.

        A sentence for each design, one table, and where the tail spent its time; what makes the
        figures mean less stands first, and why a run stopped, with what helps, last.
        """
        from rich.console import Group
        from rich.text import Text

        from tinytail.verdict import failures
        from tinytail.verdict_view import verdict_view, wrapped

        lines = [line for why in failures(self) for line in wrapped(Text(why), width, indent=2)]
        return _plain_text(Group(verdict_view(self, width, unicode=True), *lines), width)

    def table(self, width: int = 100) -> str:
        """All figures of the comparison as plain text of at most `width` columns."""
        from tinytail.render import comparison_view

        return _plain_text(comparison_view(self, width), width)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the comparison as one HTML page that needs no network.

        Raises:
            UsageError: `path` is not a path, or a library that draws is missing.
            OutputError: the page cannot be written. A file that was there is unaltered.
        """
        self._draw(report=arguments.name("path", path))

    def figures(self, folder: str | os.PathLike[str]) -> None:
        """Draws figures for a paper into a folder, which is made if need be, as SVG and as PDF.

        Raises:
            UsageError: `folder` is not a path, or the library that draws is missing.
            OutputError: a figure cannot be written.
        """
        self._draw(figures=arguments.name("folder", folder))

    def _draw(self, report: str | None = None, figures: str | None = None) -> None:
        from tinytail.reporting import Pictures

        pictures = Pictures(report, figures)
        pictures.check()
        for error in pictures.write(self):
            raise error


def _told(result: DesignResult) -> str:
    """Requests and tail of a result, in a few words."""
    told = [
        f"{humanize.count(latency.count)} {kind}s, p99 {humanize.latency(latency.p99_us)}, "
        f"max {humanize.latency(latency.max_us)}"
        for kind, latency in (("read", result.read), ("write", result.write))
        if latency.count
    ]
    return ", ".join([*told, *(["partial"] if result.partial else [])]) or "no requests"


def _plain_text(view: RenderableType, width: int) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(view)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def results_schema() -> dict[str, Any]:
    """The JSON Schema of a comparison's document."""
    text = resources.files("tinytail").joinpath("schema/compare.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
