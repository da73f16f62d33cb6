"""What the engine is asked for. tools/keys.py makes this file from its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

from tinytail.engine.arguments import U32_MAX, U64_MAX
from tinytail.engine.declared import Options, Whole

Event = Literal["Q", "I", "D", "G"]

Fit = Literal["fold", "clip"]

MeanGap = Literal["mean"]

ReadOrWrite = Literal["read", "write"]

TimeUnit = Literal["ns", "100ns", "us", "ms", "s", "min", "h", "iso8601", "mdy", "dmy", "clock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSpec(Options):
    """A log of every request of the measured part.

    Attributes:
        path: The file, which is replaced if it exists.
        command: The command that repeats the run, for the file.
    """

    path: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTimelinesSpec(Options):
    """Timelines of requests of the measured part.

    Attributes:
        path: The folder of their files, which must exist.
        slowest: Of how many of the slowest reads, and of how many of the slowest writes.
        requests: Of which requests, by their numbers in the measured part.
    """

    path: str
    slowest: Annotated[int, Whole(0, U64_MAX)]
    requests: tuple[Annotated[int, Whole(0, U64_MAX)], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineSpec(Options):
    """A timeline of the measured part or of a window of it.

    Attributes:
        path: The file, which is replaced if it exists.
        window_ns: Since when and up to when, in nanoseconds since the measured part began; all of
            it if not given.
        slices_max: Slices at most, if not the usual number.
        slow_reads: How many of the slowest reads are shown, if not the usual number.
        command: The command that repeats the run, for the file.
    """

    path: str
    window_ns: (
        tuple[Annotated[int, Whole(0, U64_MAX)], Annotated[int, Whole(0, U64_MAX)]] | None
    ) = None
    slices_max: Annotated[int, Whole(0, U64_MAX)] | None = None
    slow_reads: Annotated[int, Whole(0, U64_MAX)] | None = None
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(Options):
    """How a run is made, whatever it is of: its length, its seed, and what is measured.

    Attributes:
        requests: How many requests to run; all that the workload has if not given.
        seed: Seed of whatever is random. The same input with the same seed gives the same results.
        verify: Check every read against what was last written there.
        windows: The most windows that the series over time in the results may have.
        no_warm_up: Measure from the starting state itself, as `tinytail serve` does, instead of
            playing a trace once before, or a generator until it has filled the write buffer.
        write_stall_s: Simulated seconds that a write may spend in the device. One that takes longer
            ends the run, with what was served until then: writes that get nowhere would have it go
            on for ever. Where bursts are more than a drive keeps up with, a backlog may last
            longer.
        outstanding_max: Let at most so many requests of a trace or a stand-in be outstanding. One
            that arrives meanwhile waits in the host until one of them completes. Its latency begins
            then; waits are shown apart.
    """

    requests: Annotated[int, Whole(1, U64_MAX)] | None = None
    seed: Annotated[int, Whole(0, U64_MAX)] = 1
    verify: bool = False
    windows: Annotated[int, Whole(1, 10000)] = 200
    no_warm_up: bool = False
    write_stall_s: Annotated[int, Whole(1, 1000000)] = 10
    outstanding_max: Annotated[int, Whole(1, U32_MAX)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions(Options):
    """How a trace is read and paced; what is not given comes from the trace's format and files.

    Attributes:
        format: Name of a trace's format; found from its content if not given.
        time_unit: Unit of a trace's time column, for formats that do not fix it.
        ops: Meaning of a trace's operation codes, such as write=0,read=1,2, for formats that do not
            fix it; trim and flush may be added, and ignore=3,4 for requests that are left out.
        unit: Unit of a trace's addresses and sizes, for formats that do not fix it: sectors, bytes,
            kib, or blocks of so many bytes, as blocks:4096.
        trace_device: Number or name of the only device of a trace that is played; all of them if
            not given.
        event: Event that counts as a request of a trace, for formats that record several: queued
            (Q), got (G), inserted (I) or issued (D).
        reorder_ms: How late a line of a trace may be, in ms; later ones are errors.
        queue_depth: Play a trace or a stand-in in closed loop, with so many requests always
            outstanding, whatever its times are.
        same_drive: That a trace was recorded on the drive that is simulated, so that its latencies
            are held against the simulated ones without reserve; for traces that hold latencies.
        skip_faulty: How many faulty lines of a trace may be left out: so many, or a share of its
            lines, such as 0.5%. They are counted and said.
        columns: What the columns of a delimited text are, with the units of time, lba and len, such
            as time:us,op,lba:sectors,len:bytes; _ skips one, keep:VALUE reads only the lines with
            this value in it, and ... at the end lets lines end anywhere. By names:
            time=TIME:us,op=TYPE,keep=EVENT:VALUE, and so on.
    """

    format: str | None = None
    time_unit: TimeUnit | None = None
    ops: str | None = None
    unit: str | None = None
    trace_device: str | None = None
    event: Event | None = None
    reorder_ms: Annotated[int, Whole(0, U64_MAX)] | None = None
    queue_depth: Annotated[int, Whole(1, U32_MAX)] | None = None
    same_drive: bool | None = None
    skip_faulty: str | None = None
    columns: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform(Options):
    """What is done to the requests of a trace or a stand-in, in the order of these keys.

    Attributes:
        window_s: Keep only the requests from one time to before another, in seconds since the first
            request.
        busiest_s: Keep only the window of this many seconds that has the most requests, the
            earliest of them.
        burst_gap_s: Make bursts: requests less than so many seconds apart come at once, later ones
            so long after the burst before has completed; "mean" is the mean time between requests.
        scale_time: Multiply times by this; 0.5 makes the requests come twice as fast.
        scale_size: Multiply sizes by this, to the nearest sector; addresses stay.
        repeat: Play the requests so many times, one after the other.
        repeat_to_requests: Play the requests over and over, until there are so many.
        fit: What becomes of requests that reach beyond the region, which are an error otherwise:
            fold moves them to the remainder of their address, clip leaves them out, or cuts them
            off where they reach across the end.
        region_bytes: Size of the region to fit requests to, in bytes, a multiple of 512; the rest
            of the drive if not given.
        offset_bytes: Where the region begins, in bytes, a multiple of 512; added to every address.
        critical_writes: Mark every write as critical, a hint to drives with late-bound allocation.
    """

    window_s: tuple[float, float] | None = None
    busiest_s: float | None = None
    burst_gap_s: MeanGap | float | None = None
    scale_time: float | None = None
    scale_size: float | None = None
    repeat: Annotated[int, Whole(1, U64_MAX)] | None = None
    repeat_to_requests: Annotated[int, Whole(1, U64_MAX)] | None = None
    fit: Fit | None = None
    region_bytes: Annotated[int, Whole(0, U64_MAX)] | None = None
    offset_bytes: Annotated[int, Whole(0, U64_MAX)] | None = None
    critical_writes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec(Options):
    """Requests of one kind and size.

    Attributes:
        kind: What they do.
        bytes: Their size, a multiple of 512.
        sum_ns_max: The run is given up when their latencies add up to this, if given.
        latency_ns_max: The run is given up when one of them takes longer, if given.
    """

    kind: ReadOrWrite
    bytes: Annotated[int, Whole(0, U32_MAX)]
    sum_ns_max: Annotated[int, Whole(0, U64_MAX)] | None = None
    latency_ns_max: Annotated[int, Whole(0, U64_MAX)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSpec(Options):
    """What an image is to hold.

    Attributes:
        out: The file to write.
        device: Name or path of the device.
        design: Composition of the design.
        seed: Seed of ageing.
        state: Values of the starting state that replace the device's.
        settings: Values that are given beside the files of device, design and workload.
        workload: Name or path of a workload whose pages are to be mapped.
        spooled: The file that holds what was read from a pipe, if the workload's name is that of a
            pipe or `-`.
        trace: How a trace is read.
    """

    out: str
    device: str
    design: str
    seed: Annotated[int, Whole(0, U64_MAX)]
    state: Mapping[str, Any] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    workload: str | None = None
    spooled: str | None = None
    trace: TraceOptions = TraceOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class KindsSpec(Options):
    """Kinds of requests whose latencies are kept apart and compared with limits.

    Attributes:
        of: The kinds.
        limits_ns: A request that takes as long as one of these, or longer, misses it.
        duration_ns: The length of the measured part.
        slices: Into so many slices of time it is cut.
    """

    of: tuple[KindSpec, ...]
    limits_ns: tuple[Annotated[int, Whole(0, U64_MAX)], ...]
    duration_ns: Annotated[int, Whole(0, U64_MAX)]
    slices: Annotated[int, Whole(0, U32_MAX)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(RunOptions):
    """What a run of one design needs.

    Attributes:
        device: Name or path of the device.
        design: Composition of the design.
        workload: Name or path of the workload.
        spooled: The file that holds what was read from a pipe, if the workload's name is that of a
            pipe or `-`.
        trace: How a trace is read and paced.
        transform: What is done to the requests of a trace or a stand-in.
        state: Values of the starting state that replace the device's.
        settings: Values that are given beside the files of device, design and workload.
        image: Path of an image to start from, instead of ageing.
        log: Where to log every request, if anywhere.
        request_timelines: Which request timelines are kept, and where, if any are.
        without: Causes that take no time, from the aged drive on.
        timeline: Where a timeline goes, and of what, if anywhere.
        kinds: Which kinds of requests are measured apart, if any are.
        beside: Other designs, whose capacity bounds the workload's addresses as well: those that
            this one is compared with.
    """

    device: str
    design: str
    workload: str
    spooled: str | None = None
    trace: TraceOptions = TraceOptions()
    transform: Transform = Transform()
    state: Mapping[str, Any] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    image: str | None = None
    log: LogSpec | None = None
    request_timelines: RequestTimelinesSpec | None = None
    without: tuple[str, ...] = ()
    timeline: TimelineSpec | None = None
    kinds: KindsSpec | None = None
    beside: tuple[str, ...] = ()


class TraceKeywords(TypedDict, total=False):
    """The options of `TraceOptions` as keyword arguments."""

    format: str | None
    time_unit: TimeUnit | None
    ops: str | None
    unit: str | None
    trace_device: str | None
    event: Event | None
    reorder_ms: Annotated[int, Whole(0, U64_MAX)] | None
    queue_depth: Annotated[int, Whole(1, U32_MAX)] | None
    same_drive: bool | None
    skip_faulty: str | None
    columns: str | None


class RunKeywords(TraceKeywords, total=False):
    """The options of `RunOptions` as keyword arguments, and those of `TraceKeywords`."""

    requests: Annotated[int, Whole(1, U64_MAX)] | None
    seed: Annotated[int, Whole(0, U64_MAX)]
    verify: bool
    windows: Annotated[int, Whole(1, 10000)]
    no_warm_up: bool
    write_stall_s: Annotated[int, Whole(1, 1000000)]
    outstanding_max: Annotated[int, Whole(1, U32_MAX)] | None
