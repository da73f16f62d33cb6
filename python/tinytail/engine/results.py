"""The types of results. tools/keys.py makes this file from their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tinytail.engine import methods

ErrorKind = Literal["config", "workload", "run", "interrupted", "internal"]

FindingCode = Literal[
    "partial",
    "other_reference",
    "borrowed",
    "repaid",
    "settling",
    "no_gc",
    "unmapped_reads",
    "start_off_trigger",
    "saturated",
    "slots_full",
    "queue_full",
    "closed_loop",
    "trace_fitted",
    "coarse_times",
    "no_host_programs",
    "partial_pages",
    "few_gcs",
    "few_samples",
    "worse",
    "within_noise",
]

Gc = Literal["real", "ideal", "never"]

InputKind = Literal["real", "synthetic", "stand-in"]

Method = Literal["blocks", "seeds"]

Pacing = Literal["open", "bounded", "closed", "bursts"]

RuleName = Literal["paper", "paper-large-period", "current"]

Test = Literal["performance", "stress"]


@dataclass(frozen=True, slots=True)
class Misses:
    """How many requests missed a limit.

    Attributes:
        limit_ns: The limit, in nanoseconds.
        missed: Requests that took as long or longer.
        worst_slice_percent: Their share of the requests that completed in the same slice of time, a
            24th of the run, in percent, where it was highest.
    """

    limit_ns: int
    missed: int
    worst_slice_percent: float


@dataclass(frozen=True, slots=True)
class ActKind:
    """One kind of ACT's requests, and their latencies.

    Attributes:
        name: Which of ACT's kinds it is.
        kind: What they do: `read` or `write`.
        bytes: Their size.
        latency: Their latencies.
        limits: How many of them missed each limit.
    """

    name: Literal["small reads", "large reads", "large writes"]
    kind: Literal["read", "write"]
    bytes: int
    latency: Latency
    limits: tuple[Misses, ...]


@dataclass(frozen=True, slots=True)
class Condition(methods.Condition):
    """A condition of a test, and how a run met it.

    A percentile is shown, but requests are counted: at its edge the two may differ by the
    histogram's 0.1 %.

    Attributes:
        name: What is compared with the limit.
        tests: The tests that need it.
        value: What was measured, in `unit`; None if no request completed, which does not pass.
        limit: The limit, in `unit`.
        unit: Unit of value and limit.
        passed: The run met it.
    """

    name: str
    tests: tuple[Test, ...]
    value: float | None
    limit: float
    unit: Literal["us", "percent"]
    passed: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A run of one design at one multiplier.

    Attributes:
        design: The design.
        multiplier: Multiplier of the load.
        requests: Requests that the run has if it is not given up.
        performance: It passed the performance test.
        stress: It passed the stress test.
        reason: What failed: the name of a condition, or why requests stopped completing; None if
            nothing did.
        borrowed: It lived on pages that were erased before and that its GC did not free again, so
            that a longer run may fail where it passed.
        given_up: Why no more requests were issued once the stress test had failed for good; None if
            the load was served to its end.
        conditions: What the rule asks, and how the run met it.
        kinds: Small reads, large reads and large writes apart.
        stuck: How requests stopped completing, and what helps; None if none did.
        write_amplification: As in a result.
        erases: Blocks erased.
        simulated_seconds: Simulated time of the measured part, in seconds.
        cpu_seconds: User CPU time of the measured part, in seconds.
        warm_up: What was served before the measured part; None if nothing was.
        event_hash: Hash of every event. Equal hashes mean equal runs.
    """

    design: str
    multiplier: int
    requests: int
    performance: bool
    stress: bool
    reason: str | None
    borrowed: bool
    given_up: str | None
    conditions: tuple[Condition, ...]
    kinds: tuple[ActKind, ...]
    stuck: str | None
    write_amplification: float | None
    erases: int
    simulated_seconds: float
    cpu_seconds: float
    warm_up: str | None
    event_hash: str


@dataclass(frozen=True, slots=True)
class Rating:
    """The largest multiplier at which a design passed a test.

    Attributes:
        rating: The largest multiplier that passed, with none that failed below it; 0 if there is
            none.
        first_failed: The smallest multiplier that failed; None if none did, so that the rating is a
            lower bound.
        passed_above: The multipliers above `first_failed` that passed.
        is_final: False if the search was cut short.
    """

    rating: int
    first_failed: int | None
    passed_above: tuple[int, ...]
    is_final: bool


@dataclass(frozen=True, slots=True)
class DesignRatings:
    """What is known of the ratings of a design.

    Attributes:
        design: The design.
        performance: By the performance test.
        stress: By the stress test.
    """

    design: str
    performance: Rating
    stress: Rating


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a design: 0 if it passed at no multiplier, None if the search was cut short.

    Attributes:
        performance: By the performance test.
        stress: By the stress test.
    """

    performance: int | None
    stress: int | None


@dataclass(frozen=True, slots=True)
class Certification:
    """What `tinytail certify act --json` writes and `Certification.to_dict()` returns: the ratings
    of several designs on one drive, all from drives aged alike.

    Attributes:
        version: Version of tinytail.
        command: The command line that makes this certification.
        device: Name of the device.
        rule: What a run had to meet.
        duration_s: Length of the measured part of each run, in seconds of simulated time.
        max_multiplier: The largest multiplier that would have been tried.
        resolution: How far apart the multipliers may be that a rating lies between.
        seed: Seed of ageing and of generators.
        partial: The certification was interrupted: ratings are missing.
        state: The state that all runs started from; None if none ran.
        configuration: Device, designs and workload in full.
        designs: What is known of the ratings of each design.
        errors: Designs that could not be rated, and why.
    """

    version: str
    command: str
    device: str
    rule: RuleName
    duration_s: int
    max_multiplier: int
    resolution: int
    seed: int
    partial: bool
    state: Mapping[str, Any] | None
    configuration: tuple[Configured, ...]
    designs: tuple[DesignRatings, ...]
    errors: tuple[DesignError, ...]


@dataclass(frozen=True, slots=True)
class DesignError:
    """Why a design has no result, or a doubtful one.

    Attributes:
        design: The design.
        kind: What sort of error it is.
        message: What went wrong.
    """

    design: str
    kind: ErrorKind
    message: str


@dataclass(frozen=True, slots=True)
class ComparedFinding:
    """Something that makes a comparison mean less than it seems to, or a design that is worse than
    the reference.

    Attributes:
        code: What sort of thing it is, for programs.
        message: The same in words.
        figures: The numbers that it rests on.
        designs: The designs that it is about.
    """

    code: FindingCode
    message: str
    figures: Mapping[str, float]
    designs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Improvement:
    """Mean latencies of the requests that GCs made wait, compared with those of the reference.

    Attributes:
        design: The design that is compared with the reference.
        gc_affected_reads_percent: By how many percent the mean latency of its `gc_affected` reads
            is below the reference's; None if one of the two has none.
        gc_affected_writes_percent: By how many percent the mean latency of its `gc_affected` writes
            is below the reference's; None if one of the two has none.
    """

    design: str
    gc_affected_reads_percent: float | None
    gc_affected_writes_percent: float | None


@dataclass(frozen=True, slots=True)
class Replicate:
    """What a design did with one of several seeds.

    Attributes:
        seed: The seed.
        event_hash: As in a result.
        read: Latencies of reads.
        write: Latencies of writes.
        gc_blocked_read_percent: As in a result.
        queue_blocked_read_percent: As in a result.
        write_amplification: As in a result.
        erases: Blocks erased.
        gc_count: GCs completed.
        simulated_seconds: Simulated time, in seconds.
    """

    seed: int
    event_hash: str
    read: Latency
    write: Latency
    gc_blocked_read_percent: float
    queue_blocked_read_percent: float
    write_amplification: float | None
    erases: int
    gc_count: int
    simulated_seconds: float


@dataclass(frozen=True, slots=True)
class PercentileRatios:
    """Percentiles divided by others; None where one of the two is missing, or the divisor is 0.

    Attributes:
        p50: Of the median.
        p90: Of the 90th percentile.
        p99: Of the 99th percentile.
        p999: Of the 99.9th percentile.
    """

    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None


@dataclass(frozen=True, slots=True)
class MeasuredRatios:
    """Percentiles of the run divided by those measured.

    Attributes:
        read: Of reads.
        write: Of writes.
    """

    read: PercentileRatios
    write: PercentileRatios


@dataclass(frozen=True, slots=True)
class Measured:
    """Latencies that were measured when the trace was recorded, of the requests that the run
    played, and those of the run as multiples of them.

    Attributes:
        scope: From where to where they were measured.
        same_drive: Whether they are of the drive that is simulated, as `same_drive` says.
        read: Of reads.
        write: Of writes.
        missing: Reads and writes whose latencies the trace does not hold.
        zeros: Reads and writes whose latencies are 0 in the trace. They count as latencies of 0,
            and a percentile of 0 has no ratio.
        ratio: Percentiles of the run divided by those measured.
        distribution: Where the latencies that were measured lie.
        caveats: What makes the ratios mean less than they seem to.
    """

    scope: str
    same_drive: bool
    read: Latency
    write: Latency
    missing: int
    zeros: int
    ratio: MeasuredRatios
    distribution: Distribution
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostWaits:
    """Waits in the host of requests that come at their own times where so many may be outstanding
    at most: from its own time until a request is issued.

    Its latency begins then.

    Attributes:
        waited: Requests that waited: reads, writes and trims.
        waited_percent: Their share of all requests, in percent.
        arrivals_seconds: From the first request's own time to that of the last, in seconds.
            `throughput.makespan_seconds` says how long they took.
        wait: The waits of all requests, of 0 for those that did not wait.
    """

    waited: int
    waited_percent: float
    arrivals_seconds: float
    wait: Latency


@dataclass(frozen=True, slots=True)
class Timeline:
    """What became of the timeline for Perfetto.

    Attributes:
        path: The file, as given.
        slices: Slices in it; 0 if it was not written.
        gcs: GCs among them.
        bytes: Size of the file.
        error: Why there is no file; None if there is one.
    """

    path: str
    slices: int
    gcs: int
    bytes: int
    error: str | None


@dataclass(frozen=True, slots=True)
class RequestTimelines:
    """What became of the request timelines.

    Attributes:
        path: The folder, as given.
        requests: Requests whose timelines are there; 0 if they were not written.
        gcs: GCs that are there.
        error: Why there are no files; None if there are.
    """

    path: str
    requests: int
    gcs: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Log:
    """What became of the log of every request.

    Attributes:
        path: The file, as given.
        requests: Requests in it; 0 if it was not written.
        bytes: Size of the file.
        error: Why there is no file; None if there is one.
    """

    path: str
    requests: int
    bytes: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A value of a design or of the device that a run uses instead of the one that was asked for.

    Attributes:
        code: What kind of change it is.
        section: Section of the design's file or of the device's.
        key: Key in the section.
        wanted: The value that was asked for.
        used: The value that is used.
        message: A sentence that says so, with the reason.
    """

    code: Literal[
        "gc_thresholds",
        "gc_gate",
        "write_points",
        "starting_state",
        "parity_capacity",
        "padding",
        "flash",
    ]
    section: str
    key: str
    wanted: bool | float | str
    used: bool | float | str
    message: str


@dataclass(frozen=True, slots=True)
class State:
    """The state of the drive in which a run started.

    Attributes:
        name: How the drive was aged: `aged` by overwriting, to the `steady` state, `statistical`,
            or `random`; `empty` if it was not.
        live_percent: Live share of the physical pages, in percent.
        free_percent: Erased share of a plane's pages, mean of the least and the most, in percent.
        free_pages_min: Erased pages of the plane that has the fewest.
        free_pages_max: Erased pages of the plane that has the most.
        victim_valid_percent: Valid share of the last victims of ageing, in percent.
        aged_pages: Pages that ageing wrote; of a statistical layout, the live ones.
        warm_up: How the drive was warmed up after ageing.
        digest: A digest of what lies where, of the erases of each block and of the open blocks:
            equal ones mean equal states. Missing where the image of an older version does not say.
        image: The image that the run started from. Missing where it started from no image.
        parity_percent: How often ageing wrote the parity of a page that it overwrote, in percent.
            Missing where pages form no stripes.
        rounds: Write amplification of each round of ageing to the steady state. Missing for other
            ways of ageing.
        steady: Whether write amplification became steady. Missing for other ways of ageing.
    """

    name: Literal["aged", "steady", "statistical", "random", "empty"]
    live_percent: float
    free_percent: float
    free_pages_min: int
    free_pages_max: int
    victim_valid_percent: float
    aged_pages: int
    warm_up: str
    digest: str | None = None
    image: str | None = None
    parity_percent: int | None = None
    rounds: tuple[float, ...] = ()
    steady: bool | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload of a run.

    Attributes:
        name: Its name.
        input: `real` for a recorded trace, `synthetic` for requests made by rule, or `stand-in` for
            ones made to be like a recorded trace.
        detail: What exactly was played.
        pacing: When its requests were issued: `open` at their own times, `bounded` at those or
            after others completed, `closed` when others completed, or in `bursts`.
    """

    name: str
    input: InputKind
    detail: str
    pacing: Pacing


@dataclass(frozen=True, slots=True)
class BlockErases:
    """How many blocks were erased how often, in two columns: `blocks[i]` of them `erases[i]` times.

    Bad blocks are left out.

    Attributes:
        erases: Erases of a block, ascending; only numbers that a block has.
        blocks: Blocks that were erased so often.
    """

    erases: tuple[int, ...]
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wear:
    """How evenly planes and blocks were worn in the measured part.

    Attributes:
        erases_most: Erases of the plane with the most.
        erases_least: Erases of the plane with the fewest.
        variation_percent: Coefficient of variation of the planes' erases, in percent.
        blocks: How often blocks were erased.
    """

    erases_most: int
    erases_least: int
    variation_percent: float
    blocks: BlockErases


@dataclass(frozen=True, slots=True, repr=False)
class Series(methods.Series):
    """A run over simulated time, in columns of one value for each window.

    Window `i` starts `i` times `window_seconds` after the measured part does; the last one ends
    with the run. A request belongs to the window in which it completed. Counts are exact and add up
    to the run's.

    Attributes:
        window_seconds: The width of a window.
        reads: Reads completed.
        writes: Writes completed.
        read_bytes: Bytes of the reads completed.
        write_bytes: Bytes of the writes completed.
        requests_per_second: Requests completed, trims too, for each second of simulated time from
            the first arrival on: the first and the last window's are by the part of it that passed
            since then; None where none did.
        mb_per_second: 10^6 bytes read and written for each second of the same time.
        read_p50_us: Median latency of the reads, at most 0.8 % above the truth, as are other
            percentiles; None without reads.
        read_p99_us: 99th percentile.
        read_p999_us: 99.9th percentile.
        read_max_us: Maximum, exact.
        free_blocks_min: Erased blocks of the plane that had the fewest. Looked at when a window
            ends, at the first completion after it: the least of all looks; None where nothing
            completed.
        free_blocks_mean: Erased blocks of a plane: the mean over planes and looks; None where
            nothing completed.
        host_pages: Pages programmed for the host.
        gc_pages: Pages programmed by GC.
        gcs: GCs completed.
        write_amplification: Pages programmed, as parity and padding too, for each page programmed
            for the host; None without such pages.
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


@dataclass(frozen=True, slots=True)
class SlowestRequests(methods.AttributionGroup):
    """Where the time of the slowest requests of a kind went: of that share of all of them, rounded
    up to whole requests.

    Of requests of one latency those that arrived first belong to them.

    Attributes:
        share_percent: The share asked for, in percent of all requests of the kind.
        latency_us_from: The latency of the fastest of them, in microseconds; None if there are
            none.
        count: Requests of the group.
        queue_blocked: Requests among them that waited in the host because the device queue was
            full.
        host_queue_ns: For how many nanoseconds they did, together. `ns` has these too, by what kept
            the device's slots taken.
        ns: Nanoseconds of latency by cause, summed over the group. The causes add up to the
            latencies exactly; causes of zero are left out.
    """

    share_percent: float
    latency_us_from: float | None
    count: int
    queue_blocked: int
    host_queue_ns: int
    ns: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class AllRequests(methods.AttributionGroup):
    """Where the time of a group of requests went.

    Attributes:
        count: Requests of the group.
        queue_blocked: Requests among them that waited in the host because the device queue was
            full.
        host_queue_ns: For how many nanoseconds they did, together. `ns` has these too, by what kept
            the device's slots taken.
        ns: Nanoseconds of latency by cause, summed over the group. The causes add up to the
            latencies exactly; causes of zero are left out.
    """

    count: int
    queue_blocked: int
    host_queue_ns: int
    ns: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where requests spent their time.

    Attributes:
        all_reads: Of all reads.
        slowest_reads: Of the slowest 0.1 % of the reads.
        tails: Of the slowest 10 %, 1 %, 0.1 %, 0.01 % and 0.001 % of the reads. One of more than
            262,144 reads may be missing.
        all_writes: Of all writes.
        write_tails: Of the slowest 10 %, 1 %, 0.1 %, 0.01 % and 0.001 % of the writes; as `tails`.
    """

    all_reads: AllRequests
    slowest_reads: SlowestRequests
    tails: tuple[SlowestRequests, ...]
    all_writes: AllRequests
    write_tails: tuple[SlowestRequests, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that makes a result mean less than it seems to.

    Attributes:
        code: What sort of thing it is, for programs.
        message: The same in words.
        figures: The numbers that it rests on.
    """

    code: FindingCode
    message: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Violation:
    """A GC that started while another of its plane group was under way although GC rotates.

    Attributes:
        at_us: When, in microseconds since the measured part began.
        plane: In which plane.
    """

    at_us: float
    plane: int


@dataclass(frozen=True, slots=True)
class Bursts:
    """How fast the bursts of a workload were done that is played in bursts.

    Idle times do not count: The Harey Tortoise, section 5.1.

    Attributes:
        count: Bursts.
        writing: Bursts that wrote.
        mean_us: Mean time from the issue of a burst to its last completion, in microseconds; None
            without bursts.
        max_us: The longest time from the issue of a burst to its last completion, in microseconds;
            None without bursts.
        write_mb_per_second: Mean over the bursts that wrote of the bytes that one wrote over the
            time that it took, in 10^6 bytes per second; None if none wrote, or none took any time.
        read_mb_per_second: Mean over the bursts that read of the bytes that one read over the time
            that it took, in 10^6 bytes per second; None if none read, or none took any time.
    """

    count: int
    writing: int
    mean_us: float | None
    max_us: float | None
    write_mb_per_second: float | None
    read_mb_per_second: float | None


@dataclass(frozen=True, slots=True)
class GcTimes:
    """How long GCs took, in the measured part.

    Attributes:
        mean_us: Mean time from a GC's start to the end of its erase, in microseconds.
        max_us: The longest time from a GC's start to the end of its erase, in microseconds.
        turn_max_us: The longest time from a GC's start to its end, also of those that found nothing
            to free and do not count, in microseconds.
        copy_mean_us: The part of the mean from the moment at which a GC has locked all that it must
            to the end of its last page, in microseconds.
        gate_wait_mean_us: Mean time before a GC for which the gate put it off, in microseconds; 0
            for one that it let pass at once.
        gate_wait_max_us: The longest time for which the gate put a GC off, in microseconds.
    """

    mean_us: float
    max_us: float
    turn_max_us: float
    copy_mean_us: float
    gate_wait_mean_us: float
    gate_wait_max_us: float


@dataclass(frozen=True, slots=True)
class Erased:
    """Erased pages of the whole drive when the measured part began and when it ended.

    Attributes:
        start_pages: When it began.
        end_pages: When it ended.
        drift_pages: Drift: by how many pages there were more at the end. Below 0 there were fewer:
            the run lived on pages that its GC did not free.
        drift_percent: Drift in percent of the pages that were programmed for the host; None if
            there were none.
        urgent_seconds: For how many seconds after the end the erased pages of the plane with the
            fewest could fall on, until GC is urgent there and comes before writes. Only of a run
            that borrowed space, took erased pages to its end as fast as before, and lasted at least
            as long as that; None of others.
    """

    start_pages: int
    end_pages: int
    drift_pages: int
    drift_percent: float | None
    urgent_seconds: float | None


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast requests came, and how fast they and their data were served: by the time that
    passed, and by that in which dies worked.

    Attributes:
        requests: Requests completed in the measured part: reads, writes and trims.
        bytes: Bytes read and written by the host in the measured part.
        makespan_seconds: From the first arrival to the last completion, in seconds.
        arrivals_per_second: Requests that arrived in each second: those after the first, over the
            time from the first arrival to the last. None where there were fewer than two, or all
            arrived at one instant.
        served_per_second: Requests served in each second of `makespan_seconds`: IOPS. None where no
            time passed.
        makespan_mb_per_second: 10^6 bytes for each second of `makespan_seconds`, which tells how
            fast the drive is where the host waits for completions, as in closed loop; None where no
            time passed.
        die_busy_seconds: Time in which dies ran something, over all dies, in seconds.
        device_busy_mb_per_second: 10^6 bytes for each second in which all dies would have run
            something, or in which the host's link would have carried them if that is longer: never
            more than the link carries. None where no die worked for the host and there is no link.
    """

    requests: int
    bytes: int
    makespan_seconds: float
    arrivals_per_second: float | None
    served_per_second: float | None
    makespan_mb_per_second: float | None
    die_busy_seconds: float
    device_busy_mb_per_second: float | None


@dataclass(frozen=True, slots=True)
class Affected:
    """Requests of one kind that a GC made wait.

    Attributes:
        count: How many.
        percent: Their share of all requests, in percent.
        mean_us: Their mean latency in microseconds; None if there were none.
    """

    count: int
    percent: float
    mean_us: float | None


@dataclass(frozen=True, slots=True)
class GcAffected:
    """Requests that are GC-blocked: some page of them waited for a resource that a GC locked.

    I/O-parallelized GC, section 5.

    Attributes:
        percent: Their share of all requests, in percent.
        reads: Reads among them.
        writes: Writes among them.
    """

    percent: float
    reads: Affected
    writes: Affected


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a figure lies.

    Attributes:
        low: The lower end, in the figure's unit.
        high: The upper end, in the figure's unit.
        level_percent: The share of such intervals that hold the truth, in percent.
        method: How it was found.
        n: How many blocks or seeds.
    """

    low: float
    high: float
    level_percent: int
    method: Method
    n: int


@dataclass(frozen=True, slots=True, repr=False)
class Distribution(methods.Distribution):
    """Where latencies lie, in columns of one length: the latency of each percentile, in
    microseconds; None where there was no request.

    Within 0.1 %, as all percentiles; that of 100 % is exact.

    Attributes:
        percent: The percentiles, ascending: every whole one up to 95, every tenth up to 99.9, every
            hundredth up to 99.99, every thousandth up to 99.999, and 100.
        read_us: Of reads.
        write_us: Of writes.
    """

    percent: tuple[float, ...]
    read_us: tuple[float | None, ...]
    write_us: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies of all requests of one kind in microseconds, from the arrival at the host to the
    last page; None where there was no request.

    Where a bound keeps requests waiting for others, they begin after that wait. Percentiles come
    from a histogram and are within 0.1 %.

    Attributes:
        count: Requests completed.
        mean_us: Mean, exact.
        p50_us: Median.
        p90_us: 90th percentile.
        p95_us: 95th percentile.
        p99_us: 99th percentile.
        p999_us: 99.9th percentile.
        p9999_us: 99.99th percentile.
        p99999_us: 99.999th percentile.
        max_us: Maximum, exact.
    """

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


@dataclass(frozen=True, slots=True)
class DesignResult:
    """What one design did.

    With several seeds a figure is the mean over them, a maximum the largest, attributed time the
    sum; what has no mean, such as `series` and `event_hash`, is that of the first.

    Attributes:
        design: Composition of the design, such as `base+no-gc`.
        read: Latencies of reads.
        write: Latencies of writes.
        distribution: Where all latencies lie.
        intervals: How far figures may be off, by names such as `read.p99_us`. A figure of which too
            little was seen has none.
        gc_blocked_read_percent: Reads that are GC-blocked, in percent: some page of them waited for
            a resource that a GC locked.
        gc_affected: Requests that are GC-blocked, and their latencies.
        plane_utilization_during_gc_percent: Of the planes of a die, the share that works while a GC
            locks its plane or die, in percent: the GC's own plane all that time, transfers and
            erase included, others during the array time of what has joined GC's operations. Without
            that it is 100 divided by the planes of a die. None if no GC locked anything.
            I/O-parallelized GC, section 6.2.
        throughput: How fast requests came, and how fast they and their data were served.
        queue_blocked_read_percent: Reads that are queue-blocked, in percent: they waited in the
            host because the device queue was full.
        write_amplification: Pages programmed for host and GC, parity, padding, scrubbing and wear
            levelling, for each page programmed for the host; None without such pages. A page merged
            in the write buffer counts once.
        erases: Blocks erased.
        erased: Erased pages: whether the run lived on them. 0 if it measured no request.
        gc: What GC is to the design.
        gc_count: GCs completed.
        gc_times: How long GCs took; None if none ran, or took any time.
        bursts: How fast bursts were done; None if the workload is not played in bursts.
        rotation_violations: The first 1,000 GCs that started while another of their plane group was
            under way although GC rotates; none where it does not.
        findings: What makes these figures mean less than they seem to, in the order of rank.
        attribution: Where the time went.
        series: The run over simulated time.
        wear: How evenly planes and blocks were worn.
        techniques: How often each technique and mechanism acted.
        event_hash: Hash of every event since the run began, warming up included, and of GC that
            takes no time. Equal hashes mean equal runs, on every machine.
        requests_per_cpu_second: Speed of the simulator: requests for each second of user CPU time;
            None where it took none.
        cpu_seconds: User CPU time, in seconds.
        ns_per_event: User CPU time for each event, in nanoseconds; None without events.
        events: Events that the simulator handled.
        simulated_seconds: Simulated time of the measured part, in seconds. It begins before the
            first arrival, in open loop 1 ms before the time 0 of the workload, so that rates are
            over `throughput.makespan_seconds`.
        unmapped_read_pages: Page reads of pages that were never written or have been trimmed. They
            return zeroes, which RAM answers.
        unmapped_read_percent: Reads that met such a page, in percent.
        verified_page_reads: Page reads whose data were checked, in warming up as well; None without
            `--verify`.
        partial: The run was ended early: by Ctrl-C or SIGTERM, because it got stuck, or because its
            trace could not be read on.
        stuck: How requests, or a write for 10 s of simulated time, stopped completing, and what
            helps; None if none did.
        standstill: Which locks were taken when requests stopped completing; None if none did.
        device: Name of the device.
        workload: The workload.
        state: The state in which the run started; None if it measured no request.
        seed: Seed of ageing and of generators.
        version: Version of the engine.
        notes: What is to be known with the figures, such as how a trace was read, and how many
            requests were folded or clipped.
        adjusted: What of the design, of its capacity and of its starting state follows the drive;
            empty where the design runs as its file says.
        log: What became of the log of every request; None without `--log` and `--out`.
        request_timelines: What became of the request timelines; None without `--out`.
        timeline: What became of the timeline; None without `--timeline`.
        host_waits: How long requests waited in the host for others to complete. Missing where
            nothing bounds how many are outstanding.
        measured: What the requests took when the trace was recorded, and how that compares. Missing
            where the trace does not say, where its requests are another load here, and in runs that
            were ended early.
        replicates: The figures of each seed. Missing where there was one.
        unread: What kept the workload from being read to its end, such as a trace that changed
            while it was played. The figures are of the requests until then. Missing in other runs.
    """

    design: str
    read: Latency
    write: Latency
    distribution: Distribution
    intervals: Mapping[str, Interval]
    gc_blocked_read_percent: float
    gc_affected: GcAffected
    plane_utilization_during_gc_percent: float | None
    throughput: Throughput
    queue_blocked_read_percent: float
    write_amplification: float | None
    erases: int
    erased: Erased
    gc: Gc
    gc_count: int
    gc_times: GcTimes | None
    bursts: Bursts | None
    rotation_violations: tuple[Violation, ...]
    findings: tuple[Finding, ...]
    attribution: Attribution
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
    unmapped_read_percent: float
    verified_page_reads: int | None
    partial: bool
    stuck: str | None
    standstill: str | None
    device: str
    workload: Workload
    state: State | None
    seed: int
    version: str
    notes: tuple[str, ...]
    adjusted: tuple[Adjustment, ...]
    log: Log | None
    request_timelines: RequestTimelines | None
    timeline: Timeline | None
    host_waits: HostWaits | None = None
    measured: Measured | None = None
    replicates: tuple[Replicate, ...] = ()
    unread: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of a configuration.

    Attributes:
        section: The section of the file.
        key: The key in the section.
        value: The value, as it would stand in the file.
        source: Where the value comes from: a paper, a file, or the option that gave it.
    """

    section: str
    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Configured:
    """A device, a design or a workload as it was configured.

    Attributes:
        kind: Which of them it is.
        name: Its name.
        summary: One line about it.
        settings: Its values.
    """

    kind: Literal["device", "design", "workload"]
    name: str
    summary: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class ComparedWorkload:
    """The workload of a comparison.

    Attributes:
        name: Its name.
        input: As in a result; None if no design ran.
        detail: As in a result; None if no design ran.
        pacing: As in a result; None if no design ran.
    """

    name: str
    input: InputKind | None
    detail: str | None
    pacing: Pacing | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `tinytail compare --json` writes and `Comparison.to_dict()` returns: designs that served
    the same workload, on drives aged alike.

    A figure that has no meaning, such as the mean of no requests, is None.

    Attributes:
        version: Version of tinytail.
        command: The command line that makes this comparison.
        device: Name of the device.
        workload: The workload that all designs served.
        state: Of the states in which the runs started, the keys on which all results agree; each
            result has its own in full. Parity takes space, so that designs with and without it
            start with other shares of live pages on the same drive. None if there is no result.
        seed: The first seed of ageing and of generators.
        seeds: With how many seeds each design ran: `seed` and those that follow.
        partial: The comparison was interrupted: designs are missing or have served a part of the
            workload.
        reference: The design that ratios are taken to.
        configuration: Device, designs and workload in full. A trace has no configuration.
        results: One result for each design that has one, in the order asked for.
        errors: Designs that failed, and why.
    """

    version: str
    command: str
    device: str
    workload: ComparedWorkload
    state: Mapping[str, Any] | None
    seed: int
    seeds: int
    partial: bool
    reference: str
    configuration: tuple[Configured, ...]
    results: tuple[DesignResult, ...]
    errors: tuple[DesignError, ...]
