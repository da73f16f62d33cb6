"""What other functions return. tools/keys.py makes this file from their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tinytail.engine import methods
from tinytail.engine.results import Adjustment, Latency, Log

Compression = Literal["none", "zstd", "gzip", "bzip2", "xz"]

TimeUnit = Literal["ns", "100ns", "us", "ms", "s", "min", "h", "iso8601", "mdy", "dmy", "clock"]


@dataclass(frozen=True, slots=True)
class Spread:
    """Lateness of one kind of I/O, or of all.

    Attributes:
        count: Completions.
        p50_us: Median, in microseconds; None without completions.
        p99_us: 99th percentile.
        p999_us: 99.9th percentile.
        max_us: Maximum, exact.
        late_percent: Share of completions that were late: by more than 20 µs and a tenth of their
            own latency, in percent.
    """

    count: int
    p50_us: float | None
    p99_us: float | None
    p999_us: float | None
    max_us: float | None
    late_percent: float | None


@dataclass(frozen=True, slots=True)
class Lateness:
    """The lateness of a run, and whether its figures can be trusted.

    Attributes:
        all: Of all I/O.
        read: Of reads.
        write: Of writes.
        trim: Of trims and writes of zeroes.
        flush: Of flushes.
        invalid: Why the run's figures are not to be trusted; nothing if they may be.
    """

    all: Spread
    read: Spread
    write: Spread
    trim: Spread
    flush: Spread
    invalid: str | None


@dataclass(frozen=True, slots=True)
class Served(methods.Answer):
    """What came of a served drive.

    Attributes:
        design: Composition of the design.
        device: Name of the device.
        size_bytes: Size of what clients saw, in bytes.
        data: The file with the data; None if they were in memory.
        dilation: How many times slower than the wall clock the drive's time passed.
        wall_seconds: From the first request to the end, on the wall clock.
        clients: Clients.
        failed: Requests that were refused or failed.
        lateness: How late completions left, and whether the figures can be trusted.
        read: Latencies of reads by the model.
        write: Latencies of writes by the model.
        write_amplification: Pages programmed for each page that the host had programmed; None if it
            had none.
        gc_count: GCs completed.
        event_hash: Hash of the drive's events up to the last completion: that of a run that replays
            the arrivals.
        recording: The recording; None if none was asked for.
        log: What became of the log; None if none was asked for.
        notes: What is to be known with the figures.
        adjusted: What of the design, its capacity and its starting state follows the drive, and is
            not what the files say.
        error: Why something went wrong at the end; the figures are those until then.
        seed: Seed.
        version: Version of the program.
    """

    design: str
    device: str
    size_bytes: int
    data: str | None
    dilation: float
    wall_seconds: float
    clients: int
    failed: int
    lateness: Lateness
    read: Latency
    write: Latency
    write_amplification: float | None
    gc_count: int
    event_hash: str
    recording: ConvertedTrace | None
    log: Log | None
    notes: tuple[str, ...]
    adjusted: tuple[Adjustment, ...]
    error: str | None
    seed: int
    version: str


@dataclass(frozen=True, slots=True)
class CachedDrive:
    """An aged drive that is kept.

    Of one that is damaged only the file is known.

    Attributes:
        file: Its file's name.
        bytes: Its size.
        used_unix_s: When it was used last, in seconds since 1970.
        aged: What ageing did.
        design: The design that it was made for.
        device: The device that it was made for.
        engine: A digest of the engine that made it.
        footprint_pages: Pages of the workload that are mapped beyond the live ones.
        made_unix_s: When it was made, in seconds since 1970.
        recipe: Everything that decides the state, but seed and footprint.
        seed: Seed of the ageing.
    """

    file: str
    bytes: int
    used_unix_s: int
    aged: Mapping[str, Any] | None = None
    design: str | None = None
    device: str | None = None
    engine: str | None = None
    footprint_pages: int | None = None
    made_unix_s: int | None = None
    recipe: Mapping[str, Any] | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ImageCache(methods.Answer):
    """The aged drives that are kept, so that later runs copy them instead of ageing.

    Attributes:
        folder: Where they are.
        limit_bytes: How many bytes they may have together.
        bytes: How many they have.
        entries: Those used last first.
    """

    folder: str
    limit_bytes: int
    bytes: int
    entries: tuple[CachedDrive, ...]


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """What making an image took, in seconds of user CPU time.

    Attributes:
        ageing: Ageing.
        writing: Compressing and writing.
    """

    ageing: float
    writing: float


@dataclass(frozen=True, slots=True)
class ImageInfo(methods.Answer):
    """What there is to know of an image.

    Attributes:
        path: Its file.
        bytes: The size of the file.
        image_version: The version of its format.
        tinytail: Version of the program that made it.
        device: The device that it was made for.
        design: The design that it was made with.
        workload: The workload whose pages are mapped, if one was named.
        seed: Seed of the ageing.
        state: The starting state that was asked for.
        aged: What ageing did.
        layout: What device and design of a run must agree in.
        adjusted: What follows the drive, and is not what the files of device and design say; only
            when it is made.
        cpu_seconds: User CPU time of ageing and of writing the image, in seconds; only when it is
            made.
    """

    path: str
    bytes: int
    image_version: int
    tinytail: str
    device: str
    design: str
    workload: str | None
    seed: int
    state: Mapping[str, Any]
    aged: Mapping[str, Any]
    layout: Mapping[str, Any]
    adjusted: tuple[Adjustment, ...] = ()
    cpu_seconds: CpuSeconds | None = None


@dataclass(frozen=True, slots=True)
class ConvertedTrace(methods.Answer):
    """What was written.

    Attributes:
        path: The trace.
        sidecar: The sidecar file beside it.
        compression: How the trace is compressed.
        requests: Number of requests.
        notes: How the input was read, and what was done to its requests.
    """

    path: str
    sidecar: str
    compression: Compression
    requests: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StockDrive:
    """A stock drive, and whether it holds a trace.

    Attributes:
        name: Its name.
        logical_bytes: What the host can use of it, in bytes.
        holds: The trace fits.
    """

    name: str
    logical_bytes: int
    holds: bool


@dataclass(frozen=True, slots=True)
class TraceFinding:
    """Something that makes a trace mean less than it seems to, as results have it.

    Attributes:
        code: What sort of thing it is, for programs.
        message: The same in words.
        figures: The numbers that it rests on.
    """

    code: str
    message: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TraceBursts:
    """What the bursts of a stream are like.

    Attributes:
        gap_s: Requests that are less than this apart belong to one burst, in seconds.
        bursts: Number of bursts.
        writing_percent: Share of the bursts that write.
        requests_mean: Mean number of requests of a burst.
        pages_mean: Mean number of 4 KiB pages that a burst reads or writes, each time that it does.
        written_pages_mean: Mean number of 4 KiB pages that a burst writes; bursts that only read
            count as none.
        written_pages_max: The most 4 KiB pages that a burst writes.
        idle_s_mean: Mean time between the end of a burst and the begin of the next, in seconds.
    """

    gap_s: float
    bursts: int
    writing_percent: float
    requests_mean: float
    pages_mean: float
    written_pages_mean: float
    written_pages_max: int
    idle_s_mean: float


@dataclass(frozen=True, slots=True)
class Hottest:
    """What the most accessed pages get.

    Attributes:
        pages_percent: So many of the pages, those that are accessed most often.
        accesses_percent: Share of all accesses that go to them.
    """

    pages_percent: int
    accesses_percent: float


@dataclass(frozen=True, slots=True)
class Locality:
    """What a few pages get of all accesses.

    Attributes:
        pages: Different 4 KiB pages that this is of: all that are read, written or trimmed, or a
            sample of them.
        sampled: Whether it is a sample.
        once_percent: Share of them that are accessed only once.
        hottest: What the most accessed pages get.
    """

    pages: int
    sampled: bool
    once_percent: float
    hottest: tuple[Hottest, ...]


@dataclass(frozen=True, slots=True)
class GapClass:
    """How many times between one request and the next are up to so long, and longer than those of
    the class before.

    Attributes:
        up_to_us: The longest of them; 0 where requests come at once.
        gaps: How many there are.
    """

    up_to_us: float
    gaps: int


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The requests of sizes above half of a power of two, up to it.

    Attributes:
        up_to_kib: The largest size of the class in KiB.
        requests: Number of requests.
    """

    up_to_kib: float
    requests: int


@dataclass(frozen=True, slots=True)
class TraceKind:
    """What the reads, the writes or the trims of a stream are like.

    Attributes:
        requests: Number of requests.
        mean_kib: Mean size in KiB.
        median_kib: Median size in KiB.
        max_kib: Largest size in KiB.
        pages: 4 KiB pages touched, each time that they are.
        footprint_mib: Different 4 KiB pages touched, in MiB.
        sizes: How many requests have which size, in classes that end at powers of two; classes
            without requests are left out.
    """

    requests: int
    mean_kib: float
    median_kib: float
    max_kib: float
    pages: int
    footprint_mib: float
    sizes: tuple[SizeClass, ...]


@dataclass(frozen=True, slots=True)
class TraceDevice:
    """One device of a trace.

    Attributes:
        device: Its number or name in the trace.
        requests: Number of requests to it.
        end_byte: The first byte beyond all of its requests.
        offset_bytes: Where it is laid on the drive.
    """

    device: str
    requests: int
    end_byte: int
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class TraceDescription(methods.Answer):
    """What a trace is like: its format, size, mix, rate, span and locality.

    Times are 0 in closed loop, where arrivals have none, and there are no rates.

    Attributes:
        path: The file.
        format: Name of the format.
        compression: How the file is compressed.
        time_unit: Unit of the recorded times, or none if there are none.
        address_unit: Unit of the recorded addresses and sizes.
        columns: What its columns mean, where that was said.
        ops: Operation codes, where the format has them.
        devices: The devices that are played, by number.
        notes: How the trace was read.
        doubts: Those of the notes that make its reading doubtful.
        requests: Number of requests.
        duration_s: From the first to the last request, in seconds.
        write_percent: Share of requests that are writes.
        read: The reads.
        write: The writes.
        trim: The trims.
        interarrival: How many times between requests are how long, in classes that end at powers of
            ten; classes without any are left out, and so are all where arrivals have no times.
        locality: How unevenly accesses are spread over pages.
        end_bytes: The first byte beyond all requests.
        iops_mean: Requests that arrive in each second: those after the first over the duration, or
            none where all arrive at one instant.
        iops_peak: Requests in the busiest second, seconds being counted from the time 0.
        peak_to_mean: Requests in the busiest second over those of all seconds on average; 1 if all
            are in one.
        peak_to_mean_100ms: The same of 100 ms.
        mb_per_s_mean: Megabytes (10^6 bytes) read and written in each second, at that rate and the
            mean size of a request.
        interarrival_cv: Coefficient of variation of the time between requests: 0 if even, 1 if
            exponential, more if bursty.
        dispersion_1s: Variance over mean of the number of requests in a second: 0 if even, 1 if
            exponential, more if bursty.
        dispersion_100ms: The same in 100 ms. If bursts are short, the two are alike; if they are
            long, it is the smaller.
        span_gib: From the lowest to the highest address, in GiB.
        footprint_mib: Different 4 KiB pages read or written, in MiB.
        overwrite_percent: Share of written 4 KiB pages that had been written before in the stream.
        sequential_percent: Share of requests that start where one of the 32 before ended.
        bursts: Its bursts, where a transform makes them.
        findings: What makes it mean less than it seems to.
        drives: The stock drives, and which of them hold it.
    """

    path: str
    format: str
    compression: Compression
    time_unit: TimeUnit | None
    address_unit: str
    columns: str | None
    ops: str | None
    devices: tuple[TraceDevice, ...]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    requests: int
    duration_s: float
    write_percent: float
    read: TraceKind
    write: TraceKind
    trim: TraceKind
    interarrival: tuple[GapClass, ...]
    locality: Locality
    end_bytes: int
    iops_mean: float | None
    iops_peak: int
    peak_to_mean: float
    peak_to_mean_100ms: float
    mb_per_s_mean: float | None
    interarrival_cv: float
    dispersion_1s: float
    dispersion_100ms: float
    span_gib: float
    footprint_mib: float
    overwrite_percent: float
    sequential_percent: float
    bursts: TraceBursts | None
    findings: tuple[TraceFinding, ...]
    drives: tuple[StockDrive, ...]
