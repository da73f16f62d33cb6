"""How the numbers of TTFLASH are taken: from runs, and from Appendix A as it is worked out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from tinytail.analysis.rotation import MIB, Form, Load, analyze_rotation, scrub_minutes
from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog
from tinytail.errors import ConfigError
from tinytail.files import toml
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import Values, read_percentile
from tinytail.reproduction.papers.ttflash.probes import DEVICE, PROBES
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Measure
from tinytail.traces.trace import convert_trace, describe_trace
from tinytail.verdict.causes import is_full_buffer

# The ladder of section 6.1, each step on top of the one before.
LADDER = ("base", "pb", "pb-gtr", "ttflash")


# --- Appendix A -----------------------------------------------------------------------------------


def rotation_steps(
    lab: Lab,  # noqa: ARG001
    *,
    form: Form,
    load: Load,
    symbols: Mapping[str, str],
    dwpd: float = 5.0,
) -> Values:
    """Values of the calculation for the drive of Table 1, by the names that the row gives them."""
    analysis = analyze_rotation(device=DEVICE, dwpd=dwpd).analysis(form, load)
    return {name: analysis.step(symbol).value for name, symbol in symbols.items()}


def rotation_copies(lab: Lab) -> Values:  # noqa: ARG001
    """Pages copied each second at raw bandwidth, as the paper prints it and exactly."""
    rotation = analyze_rotation(device=DEVICE)
    return {
        "printed": rotation.analysis("as printed", "raw bandwidth").step("CB_pg/s").value,
        "exact": rotation.analysis("paper", "raw bandwidth").step("CB_pg/s").value,
    }


def rotation_bound(lab: Lab, *, form: Form, load: Load) -> Values:  # noqa: ARG001
    """What N must stay below."""
    return {"bound": analyze_rotation(device=DEVICE).analysis(form, load).bound}


def rotation_ratio(lab: Lab) -> Values:  # noqa: ARG001
    """How much less a plane is written at 5 DWPD than its raw bandwidth allows."""
    rotation = analyze_rotation(device=DEVICE, dwpd=5)
    daily = rotation.analysis("paper", "drive writes per day").step("BW_pl").value
    printed = rotation.analysis("as printed", "raw bandwidth").step("BW_pl printed").value
    raw = rotation.analysis("paper", "raw bandwidth").step("BW_pl").value * 1e6 / MIB
    return {"printed": printed / daily, "exact": raw / daily}


def rotation_formula(lab: Lab) -> Values:  # noqa: ARG001
    """The general bound against the formula of Table 3g, over a grid of loads and valid shares.

    `error` is the largest difference, relative to the formula. `not_falling` counts the steps of
    the grid along which the bound does not fall although bandwidth or valid share rises.
    """
    error, not_falling, cases = 0.0, 0, 0
    loads = [0.5, 1, 2, 5, 10]
    shares = [0.05, 0.1, 0.25, 0.5, 0.9]
    document = catalog.device_document(DEVICE)
    geometry, timing = document["geometry"], document["timing"]
    plane_bytes = (
        geometry["blocks_per_plane"] * geometry["pages_per_block"] * geometry["page_bytes"]
    )
    copy_s = (timing["read_ns"][0] + timing["program_ns"][0]) / 1e9
    bounds: dict[tuple[int, int], float] = {}
    for i, dwpd in enumerate(loads):
        for j, valid in enumerate(shares):
            found = analyze_rotation(device=DEVICE, dwpd=dwpd, valid=valid)
            bound = found.analysis("paper", "drive writes per day").bound
            bandwidth = plane_bytes * dwpd / (8 * 3600)
            formula = geometry["page_bytes"] / (bandwidth * valid * copy_s)
            error = max(error, abs(bound / formula - 1))
            bounds[i, j] = bound
            cases += 1
            for before in ((i - 1, j), (i, j - 1)):
                if before in bounds:
                    not_falling += int(bound >= bounds[before])
    return {"error": error, "not_falling": not_falling, "cases": cases}


def rotation_ram(lab: Lab) -> Values:  # noqa: ARG001
    """The least RAM at 2 GB/s, which the paper takes as 2048 MB."""
    rotation = analyze_rotation(device=DEVICE, width=8, write_mib_s=2048)
    return {"value": rotation.analysis("paper", "drive writes per day").ram_mib}


def rotation_parity(lab: Lab) -> Values:  # noqa: ARG001
    """The share of the pages that parity takes with N = 8."""
    return {"value": analyze_rotation(device=DEVICE, width=8).parity_percent}


def drive_writes(lab: Lab, *, dwpd: float) -> Values:  # noqa: ARG001
    """What the whole drive writes each second at so many writes of it per day of 8 hours."""
    return {"value": analyze_rotation(device=DEVICE, dwpd=dwpd).device_mib_s}


def scrub_time(lab: Lab, *, capacity_gb: float, read_gb_s: float) -> Values:  # noqa: ARG001
    """How long reading a whole drive once takes, in minutes."""
    return {"value": scrub_minutes(capacity_gb * 1e9, read_gb_s * 1e9)}


# --- Rotation -------------------------------------------------------------------------------------


def most_at_once(lab: Lab, *, experiment: str, design: str) -> Values:
    """The most GCs that were under way in one plane group at once; 2 stands for 2 or more.

    The engine looks at the group whenever a GC begins, and counts those beside another.
    """
    result = lab.result(experiment, design)
    beside = lab.counter(result, "violations")
    return {"value": min(result.gc_count, 2 if beside else 1), "gcs": result.gc_count}


def turn_waits(lab: Lab, *, experiment: str, design: str, width: int) -> Values:
    """The longest wait of a plane for its turn, and the bound: the longest GC of N - 1 others."""
    times = lab.result(experiment, design).gc_times
    if times is None:
        return {"value": None, "bound": None}
    return {"value": times.gate_wait_max_us, "bound": (width - 1) * times.max_us}


def blocked_under_burst(lab: Lab, *, experiment: str) -> Values:
    """GC-blocked reads, and p99 against the drive without GC."""
    result = lab.result(experiment, "ttflash")
    reference = lab.result(experiment, "ttflash+no-gc")
    p99 = read_percentile(result, 99) / read_percentile(reference, 99)
    return {"blocked_percent": result.gc_blocked_read_percent, "p99_ratio": p99}


def visible_from(lab: Lab, *, experiment: str, designs: Mapping[str, str], factor: float) -> Values:
    """The least percentile at which a design's reads take `factor` times those without GC or more.

    100 where none does.
    """
    reference = lab.result(experiment, "ttflash+no-gc")
    values: Values = {}
    for name, design in designs.items():
        columns = lab.result(experiment, design).distribution
        values[name] = 100.0
        for percent, us in zip(columns.percent, columns.read_us, strict=True):
            if us is not None and us >= factor * read_percentile(reference, percent):
                values[name] = percent
                break
    return values


def free_slopes(lab: Lab, *, experiment: str, designs: Mapping[str, str]) -> Values:
    """How the erased blocks of a plane change on average, in blocks per minute.

    The slope is that of the straight line through the second half of the run, or through the part
    of it before the first plane has but its reserve left.
    """
    values: Values = {}
    for name, design in designs.items():
        result = lab.result(experiment, design)
        values[name] = _slope(result)
    return values


def _slope(result: DesignResult) -> float:
    series = result.series
    points = [
        (start / 60, free)
        for start, free, least in zip(
            series.start_seconds, series.free_blocks_mean, series.free_blocks_min, strict=True
        )
        if free is not None and least is not None and least > 1
    ]
    points = points[len(points) // 2 :]
    if len(points) < 3:
        raise Unavailable("the run is too short for a slope")
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    over = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return over / sum((x - mean_x) ** 2 for x, _ in points)


# --- Section 6.1 and 6.4: the ladder --------------------------------------------------------------


def ladder_order(lab: Lab, *, experiments: Sequence[str], percentiles: Sequence[str]) -> Values:
    """On how many traces each step of the ladder is at least as good as the one before."""
    names = lab.paper.named(experiments)
    values: Values = {"traces": len(names)}
    for percentile in percentiles:
        ordered = 0
        for name in names:
            tail = [getattr(lab.result(name, step).read, f"{percentile}_us") for step in LADDER]
            ordered += int(all(a >= b for a, b in itertools.pairwise(tail)))
        values[percentile] = ordered
    return values


def blocked_order(lab: Lab, *, experiments: Sequence[str], tie_percent: float) -> Values:
    """On how many traces each step blocks no more reads than the one before, but for ties."""
    names = lab.paper.named(experiments)
    ordered = 0
    for name in names:
        shares = [lab.result(name, step).gc_blocked_read_percent or 0.0 for step in LADDER]
        pairs = itertools.pairwise(shares)
        ordered += int(all(a >= b or max(a, b) < tie_percent for a, b in pairs))
    return {"ordered": ordered, "traces": len(names)}


def blocked_largest(lab: Lab, *, experiment: str, experiments: Sequence[str]) -> Values:
    """The share of blocked reads on one trace, beside those on the others."""
    others = [name for name in lab.paper.named(experiments) if name != experiment]
    return {
        "blocked": lab.result(experiment, "ttflash").gc_blocked_read_percent,
        "others": [lab.result(name, "ttflash").gc_blocked_read_percent or 0.0 for name in others],
    }


def policy_waits(lab: Lab, *, experiments: Sequence[str]) -> Values:
    """Which share of the blocked reads waited because the rule said so."""
    blocked, by_rule, forced, broken = 0, 0, 0, 0
    for name in lab.paper.named(experiments):
        outcome = lab.outcome(name, "ttflash")
        if outcome.log is None:
            raise Unavailable("the run has no log")
        blocked += outcome.log.blocked_reads
        by_rule += outcome.log.blocked_by_rule
        forced += outcome.log.blocked_beyond_parity
        broken += lab.counter(outcome.result, "violations")
    return {
        "percent": 100 * by_rule / blocked if blocked else None,
        "blocked_reads": blocked,
        "beyond_parity": forced,
        "violations": broken,
    }


def extra_erases(
    lab: Lab, *, experiments: Sequence[str], others: Sequence[str] | None = None
) -> Values:
    """Blocks that TTFLASH erases more than Base, in percent of Base's."""
    values: Values = {"extra": _extra(lab, experiments)}
    if others is not None:
        values["others"] = _extra(lab, others)
    return values


def _extra(lab: Lab, experiments: Sequence[str]) -> list[float]:
    found = []
    for name in lab.paper.named(experiments):
        base = lab.result(name, "base").erases
        if not base:
            raise Unavailable(f"{name}: Base has erased nothing")
        found.append(100 * (lab.result(name, "ttflash").erases / base - 1))
    return found


def gc_counts(lab: Lab, *, experiments: Sequence[str]) -> Values:
    """GCs of TTFLASH for each of Base's."""
    ratios = []
    for name in lab.paper.named(experiments):
        base = lab.result(name, "base").gc_count
        if not base:
            raise Unavailable(f"{name}: Base has collected nothing")
        ratios.append(lab.result(name, "ttflash").gc_count / base)
    return {"ratios": ratios}


def write_tails(lab: Lab, *, experiments: Sequence[str]) -> Values:
    """The 99.9th percentile of TTFLASH's write latencies on every trace, in µs."""
    names = lab.paper.named(experiments)
    return {"p999_us": [lab.result(name, "ttflash").write.p999_us or math.inf for name in names]}


# --- Section 6.2: preemptive GC -------------------------------------------------------------------


def lock_down(lab: Lab, *, experiment: str, preemptible: str) -> Values:
    """The worst window of a preemptible GC against TTFLASH's, and whether TTFLASH's windows grow.

    `growth` is the mean p99 of the windows of the last third over that of the first.
    """
    worst = {}
    for name, design in (("preemptible", preemptible), ("ttflash", "ttflash")):
        windows = [us for us in lab.result(experiment, design).series.read_p99_us if us]
        if len(windows) < 3:
            raise Unavailable(f"{experiment}: too few windows with reads")
        worst[name] = windows
    third = len(worst["ttflash"]) // 3
    first, last = worst["ttflash"][:third], worst["ttflash"][-third:]
    return {
        "worst_ratio": max(worst["preemptible"]) / max(worst["ttflash"]),
        "growth": (sum(last) / third) / (sum(first) / third),
    }


def episodes(lab: Lab, *, experiment: str, preemptible: str) -> Values:
    """The slowest read of any window after the first tenth of the run, in ms."""
    values: Values = {}
    for name, design in (("preemptible_ms", preemptible), ("ttflash_ms", "ttflash")):
        windows = lab.result(experiment, design).series.read_max_us
        values[name] = max(us for us in windows[len(windows) // 10 :] if us is not None) / 1000
    result = lab.result(experiment, "ttflash")
    waits = result.attribution.all_writes.ns.items()
    values["foreground_stalls"] = sum(ns for cause, ns in waits if is_full_buffer(cause))
    return values


def stream(lab: Lab, *, experiment: str, requests: int) -> Values:
    """What the host of an experiment asks for: size and interval of requests, and share of reads.

    The first requests of its workload are generated and looked at as a trace.
    """
    workload = lab.paper.experiments[experiment].workload
    if not isinstance(workload, Mapping):
        raise ConfigError(f'"{experiment}" has no workload of its own')
    # Addresses depend on the drive, and times, sizes and kinds do not depend on addresses.
    rule = workload["synthetic"] | {"requests": requests, "range_bytes": 1 << 30}
    text = toml.dumps({"summary": experiment, "synthetic": rule})
    path = Path(lab.inputs.file(text, "stream.toml"))
    trace = path.with_suffix(".trace")
    convert_trace(path, trace, force=True)
    info = describe_trace(trace)
    return {
        "kib": [info.read.mean_kib, info.write.mean_kib],
        "every_us": info.duration_s * 1e6 / (requests - 1),
        "read_percent": 100 - info.write_percent,
    }


# --- Section 2: the motivation --------------------------------------------------------------------


def noise_ratios(lab: Lab, *, write_noise: str, read_noise: str, kib: int) -> Values:
    """Reads of one size beside noise of writes, as multiples of those beside noise of reads."""
    values: Values = {}
    for percent in (90.0, 95.0, 99.0):
        slow = _foreground_us(lab, write_noise, kib, percent)
        values[f"p{percent:.0f}"] = slow / _foreground_us(lab, read_noise, kib, percent)
    return values


def noise_levels(
    lab: Lab, *, levels: Mapping[str, str], kib: int, percents: Sequence[float]
) -> Values:
    """Percentiles of the foreground's reads at each level of noise in µs, such as `low_p95`."""
    return {
        f"{level}_p{percent:g}": _foreground_us(lab, experiment, kib, float(percent))
        for level, experiment in levels.items()
        for percent in percents
    }


def size_growth(
    lab: Lab, *, pairs: Mapping[str, Sequence[str]], small_kib: int, large_kib: int
) -> Values:
    """How much slower the larger read is, at the percentile from 80 to 95 where it is most.

    `pairs` are the experiments with the smaller and the larger size, by the names of the values.
    """
    return {
        name: max(
            _foreground_us(lab, large, large_kib, float(percent))
            / _foreground_us(lab, small, small_kib, float(percent))
            for percent in range(80, 96)
        )
        for name, (small, large) in pairs.items()
    }


def _foreground_us(lab: Lab, experiment: str, kib: int, percent: float) -> float:
    log = lab.outcome(experiment, "base").log
    if log is None:
        raise Unavailable("the run has no log")
    return log.read_us(kib * 2, percent)


# --- The emulator ---------------------------------------------------------------------------------


def served_personalities(lab: Lab, *, experiments: str, reference: str, design: str) -> Values:
    """Mean latencies of reads, and the share that GC blocked, of two designs on served drives.

    `lower_latency` and `lower_blocked` count the personalities under which the design has less.
    `reads` are those that were measured: where threads wait for writes, too, they say how far the
    personality came. `too_late_percent` is the largest share of completions that left too late.
    """
    names = lab.paper.named([experiments])
    pairs = [(lab.served(name, reference), lab.served(name, design)) for name in names]
    latency, blocked, reads = (
        [(before.document[key], after.document[key]) for before, after in pairs]
        for key in ("read_mean_us", "blocked_percent", "reads")
    )
    return {
        "lower_latency": sum(after < before for before, after in latency),
        "lower_blocked": sum(after < before for before, after in blocked),
        "personalities": ", ".join(name.partition(".")[2] for name in names),
        "reference_us": [before for before, _ in latency],
        "us": [after for _, after in latency],
        "reference_blocked_percent": [before for before, _ in blocked],
        "blocked_percent": [after for _, after in blocked],
        "reference_reads": [before for before, _ in reads],
        "reads": [after for _, after in reads],
        "too_late_percent": max(each.late_percent for pair in pairs for each in pair),
    }


def served_work(lab: Lab, *, experiment: str, designs: Mapping[str, str]) -> Values:
    """Mean latency of reads in ms, and pages programmed for each of the host's, of designs."""
    found: Values = {}
    for name, design in designs.items():
        document = lab.served(experiment, design).document
        found[f"{name}_ms"] = document["read_mean_us"] / 1000
        found[f"{name}_reads_per_s"] = document["reads"] / document["seconds"]
        found[f"{name}_programs"] = document["write_amplification"]
    return found


def served_iops(lab: Lab, *, experiment: str) -> Values:
    """Thousands of reads of 4 KB that the server answers each second, and its median lateness."""
    found = lab.served(experiment, "base").document
    return {
        "value": found["iops"] / 1000,
        "late_us_depth_1": found["late_us_depth_1"],
        "late_us_depth_16": found["late_us_depth_16"],
    }


MEASURES: dict[str, Measure] = PROBES | {
    measure.__name__: measure
    for measure in (
        blocked_largest,
        blocked_order,
        blocked_under_burst,
        drive_writes,
        episodes,
        extra_erases,
        free_slopes,
        gc_counts,
        ladder_order,
        lock_down,
        most_at_once,
        turn_waits,
        noise_levels,
        noise_ratios,
        policy_waits,
        rotation_bound,
        rotation_formula,
        rotation_parity,
        rotation_ram,
        rotation_ratio,
        rotation_copies,
        rotation_steps,
        scrub_time,
        served_iops,
        served_personalities,
        served_work,
        size_growth,
        stream,
        visible_from,
        write_tails,
    )
}
