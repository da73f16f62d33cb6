"""How the numbers of I/O-parallelized GC are taken from runs and from its drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog
from tinytail.engine.results import Latency
from tinytail.errors import TinytailError
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import Values
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Measure

Kind = Literal["read", "write", "total"]
GIB = 1 << 30
TIB = 1 << 40

# --- Table 1 --------------------------------------------------------------------------------------


def drive_size(lab: Lab, *, device: str, blocks: int) -> Values:  # noqa: ARG001
    """Chips and their size if so many blocks of each plane are counted, and how many are left."""
    geometry = catalog.device_document(device)["geometry"]
    chips = geometry["channels"] * geometry["chips_per_channel"]
    planes = geometry["dies_per_chip"] * geometry["planes_per_die"]
    chip = planes * blocks * geometry["pages_per_block"] * geometry["page_bytes"]
    return {
        "chips": chips,
        "chip_gib": chip / GIB,
        "drive_tib": chips * chip / TIB,
        "spare_blocks": geometry["blocks_per_plane"] - blocks,
    }


def victim_chain(lab: Lab, *, design: str) -> Values:  # noqa: ARG001
    """The rules by which a design chooses victims, the first before all others."""
    chain: Any = _design_value(design, "victim", "chain")
    return {"value": ", ".join(rule["policy"] for rule in chain)}


def active_blocks(lab: Lab, *, device: str, design: str) -> Values:  # noqa: ARG001
    """Blocks of a plane that are written at a time, and the most pages that one more leaves."""
    pages = catalog.device_document(device)["geometry"]["pages_per_block"]
    return {
        "blocks": _design_value(design, "gc", "write_points"),
        # One that is open has at least one page written.
        "pages_left_at_most": pages - 1,
    }


def _design_value(design: str, section: str, key: str) -> Any:
    try:
        catalog.describe_design(design)
    except TinytailError:
        raise Unavailable(f'needs the design "{design}"') from None
    return catalog.design_value(design, section, key)


# --- Table 2 and Fig. 8 ---------------------------------------------------------------------------


def volume(
    lab: Lab,
    *,
    experiment: str,
    design: str,
    write_percent: float,
    write_kib: float,
    affected_percent: float,
) -> Values:
    """What was played and how much of it GC affected, and how far that is from what is printed."""
    result = lab.result(experiment, design)
    requests = result.read.count + result.write.count
    if not result.write.count:
        raise Unavailable(f"{experiment} has completed no write")
    written = 100 * result.write.count / requests
    kib = sum(result.series.write_bytes) / 1024 / result.write.count
    affected = result.gc_affected.percent
    return {
        "write_percent": written,
        "write_kib": kib,
        "affected_percent": affected,
        "write_off_points": written - write_percent,
        "size_off_percent": 100 * (kib / write_kib - 1),
        "affected_off_points": affected - affected_percent,
    }


def affected_groups(
    lab: Lab, *, experiments: Sequence[str], design: str, high: Sequence[str], low: Sequence[str]
) -> Values:
    """GC-affected requests in percent: the least of the one group, the most of the other."""
    shares = {
        _volume_of(name): lab.result(name, design).gc_affected.percent
        for name in lab.paper.named(experiments)
    }
    return {
        "least_of_high": min(shares[name] for name in high),
        "most_of_low": max(shares[name] for name in low),
        "volumes": len(shares),
    }


def affected_shares(lab: Lab, *, experiments: Sequence[str], design: str) -> Values:
    """GC-affected reads in percent of the reads and writes of the writes, means over volumes."""
    results = [lab.result(name, design) for name in lab.paper.named(experiments)]
    reads = [_percent(each.gc_affected.reads.count, each.read.count) for each in results]
    writes = [_percent(each.gc_affected.writes.count, each.write.count) for each in results]
    return {"reads": fmean(reads), "writes": fmean(writes), "volumes": len(results)}


def _volume_of(experiment: str) -> str:
    return experiment.partition(".")[2]


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


# --- Fig. 9: GC-affected requests -----------------------------------------------------------------


def affected_gains(
    lab: Lab,
    *,
    experiments: Sequence[str],
    baseline: str,
    design: str,
    kind: Kind,
    beside: Sequence[str] | None = None,
) -> Values:
    """By how many percent the requests that GC affects under the baseline are faster.

    The mean over volumes, its least and most; `still_affected` compares the requests that GC
    affects under each design itself. `fewest` is how many requests GC affects under the baseline
    in the volume with the fewest. `beside` are other experiments of the same volumes.
    """
    gains = _affected_gains(lab, experiments, baseline, design, kind)
    found: Values = {
        "value": fmean(gains.values()),
        "least": min(gains.values()),
        "most": max(gains.values()),
        "still_affected": _own_gains(lab, experiments, baseline, design, kind),
        "fewest": min(
            _affected_of(lab.result(name, baseline), kind).count
            for name in lab.paper.named(experiments)
        ),
        "volumes": len(gains),
    }
    if beside is not None:
        others = _affected_gains(lab, beside, baseline, design, kind)
        found["beside"] = fmean(others.values())
    return found


def gains_with_pairing(
    lab: Lab,
    *,
    experiments: Sequence[str],
    baseline: str,
    first: str,
    second: str,
    kind: Kind,
    high: Sequence[str] | None = None,
    low: Sequence[str] | None = None,
) -> Values:
    """The gains of two designs and the points that the second has more, over volumes.

    With `high` and `low`, the mean of those points in two groups of volumes.
    """
    gains = {
        design: _affected_gains(lab, experiments, baseline, design, kind)
        for design in (first, second)
    }
    points = {name: gains[second][name] - gains[first][name] for name in gains[first]}
    found: Values = {
        "first": fmean(gains[first].values()),
        "second": fmean(gains[second].values()),
        "mean": fmean(points.values()),
        "least": min(points.values()),
        "volumes": len(points),
    }
    if high is not None and low is not None:
        found["mean_of_high"] = fmean(points[name] for name in high)
        found["mean_of_low"] = fmean(points[name] for name in low)
    return found


def _affected_gains(
    lab: Lab, experiments: Sequence[str], baseline: str, design: str, kind: Kind
) -> dict[str, float]:
    """What all requests take less, in percent of what those that GC affects take, by volume."""
    gains = {}
    for name in lab.paper.named(experiments):
        reference, result = lab.result(name, baseline), lab.result(name, design)
        affected = _affected_of(reference, kind)
        if not affected.count or not affected.mean_us:
            raise Unavailable(f"GC affects no {kind} of {name} under {baseline}")
        saved = _sum_us(_latency(reference, kind)) - _sum_us(_latency(result, kind))
        gains[_volume_of(name)] = 100 * saved / (affected.count * affected.mean_us)
    return gains


def _own_gains(
    lab: Lab, experiments: Sequence[str], baseline: str, design: str, kind: Kind
) -> float | None:
    """The mean gain where each design's own affected requests are compared."""
    gains = []
    for name in lab.paper.named(experiments):
        reference = _affected_of(lab.result(name, baseline), kind).mean_us
        own = _affected_of(lab.result(name, design), kind).mean_us
        if reference and own:
            gains.append(100 * (1 - own / reference))
    return fmean(gains) if gains else None


def _affected_of(result: DesignResult, kind: Kind) -> Any:
    return result.gc_affected.reads if kind == "read" else result.gc_affected.writes


def _latency(result: DesignResult, kind: Kind) -> Latency:
    return result.read if kind == "read" else result.write


def _sum_us(latency: Latency) -> float:
    return latency.count * (latency.mean_us or 0.0)


# --- Fig. 10: utilisation of planes ---------------------------------------------------------------


def utilizations(lab: Lab, *, experiments: Sequence[str], designs: Sequence[str]) -> Values:
    """Plane utilisation during GC in percent, over experiments and designs."""
    found = [
        _utilization(lab, name, design)
        for name in lab.paper.named(experiments)
        for design in designs
    ]
    return {"mean": fmean(found), "least": min(found), "most": max(found), "runs": len(found)}


def utilization_with_pairing(
    lab: Lab, *, experiments: Sequence[str], first: str, second: str
) -> Values:
    """The mean plane utilisation during GC of two designs, in percent."""
    names = lab.paper.named(experiments)
    return {
        "first": fmean(_utilization(lab, name, first) for name in names),
        "second": fmean(_utilization(lab, name, second) for name in names),
        "volumes": len(names),
    }


def _utilization(lab: Lab, experiment: str, design: str) -> float:
    percent = lab.result(experiment, design).plane_utilization_during_gc_percent
    if percent is None:
        raise Unavailable(f"there was no GC in {experiment} under {design}")
    return percent


def paired_with_gc(lab: Lab, *, experiments: Sequence[str], designs: Sequence[str]) -> Values:
    """Array time of the host's operations that share a command with one of a GC, in ms."""
    reads, both, runs = 0, 0, 0
    for name in lab.paper.named(experiments):
        for design in designs:
            result = lab.result(name, design)
            both += lab.counter(result, "paired_gc_ns")
            reads += lab.counter(result, "paired_gc_read_ns")
            runs += 1
    return {"writes_ms": (both - reads) / 1e6, "reads_ms": reads / 1e6, "runs": runs}


def largest_count(lab: Lab, *, experiments: Sequence[str], design: str, counter: str) -> Values:
    """The largest of a count over the runs of a design."""
    found = [
        lab.counter(lab.result(name, design), counter) for name in lab.paper.named(experiments)
    ]
    return {"value": max(found), "runs": len(found)}


def gc_company(lab: Lab, *, experiments: Sequence[str], design: str) -> Values:
    """What GCs move and how many of the host's programs join them, means over all GCs of runs.

    `pages` that one moves, `valid_percent` of its victim; `programs` of the host that join it, one
    for `per_program` of its own; `gc_ms` that it takes, `gcs` in all, `gcs_in_a_cycle` one after
    the other, and `affected_percent` of the requests that they make wait.
    `utilization_percent_max` is what the planes' utilisation can come to by programs in the long
    run: the host programs as many pages as GCs free, which is what they do not move, so that no
    more than these can be programmed beside each GC.
    """
    names = lab.paper.named(experiments)
    results = [lab.result(name, design) for name in names]
    gcs = sum(each.gc_count for each in results)
    times = [each.gc_times for each in results]
    if not gcs or None in times:
        raise Unavailable(f"there was no GC under {design}")
    copied = sum(lab.counter(each, "copied_pages") for each in results)
    programs = sum(lab.counter(each, "paired_gc_programs") for each in results)
    cycles = sum(lab.counter(each, "cycles") for each in results)
    document = lab.device_of(names[0])
    block, planes = (document["geometry"][key] for key in ("pages_per_block", "planes_per_die"))
    program_ms = document["timing"]["program_ns"][0] / 1e6
    spent = sum(
        each.gc_count * time.mean_us for each, time in zip(results, times, strict=True) if time
    )
    gc_ms = spent / gcs / 1000
    beside = (block - copied / gcs) * program_ms / gc_ms
    return {
        "gcs": gcs,
        "gcs_in_a_cycle": gcs / cycles if cycles else 1.0,
        "utilization_percent_max": 100 * (1 + beside) / planes,
        "pages": copied / gcs,
        "valid_percent": 100 * copied / gcs / block,
        "programs": programs / gcs,
        "per_program": copied / programs if programs else None,
        "gc_ms": gc_ms,
        "affected_percent": fmean(each.gc_affected.percent for each in results),
    }


def gc_lengthened(lab: Lab, *, experiment: str, baseline: str, design: str) -> Values:
    """By how many percent a GC takes longer for each page that it moves, without the erase."""
    found: Values = {}
    times = []
    for name in (baseline, design):
        result = lab.result(experiment, name)
        copied = lab.counter(result, "copied_pages")
        if result.gc_times is None or not copied:
            raise Unavailable(f"no GC of {experiment} moved a page under {name}")
        times.append(result.gc_count * result.gc_times.copy_mean_us / copied)
    found["baseline_us"], found["us"] = times
    found["percent"] = 100 * (times[1] / times[0] - 1)
    return found


# --- Figs. 3 and 11: against GC that takes no time ------------------------------------------------


def against_ideal(
    lab: Lab,
    *,
    experiments: Sequence[str],
    designs: Sequence[str],
    ideal: str,
    kind: Kind,
    percentiles: Sequence[str],
) -> Values:
    """Latencies as multiples of those with GC in no time, by percentile; and the latter in ms."""
    found: Values = {}
    for percentile in percentiles:
        found[percentile] = [
            _at(lab.result(name, design), kind, percentile)
            / _at(lab.result(name, ideal), kind, percentile)
            for name in lab.paper.named(experiments)
            for design in designs
        ]
        found[f"ideal_{percentile}_ms"] = [
            _at(lab.result(name, ideal), kind, percentile) / 1000
            for name in lab.paper.named(experiments)
        ]
    return found


def overlap(lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], ideal: str) -> Values:
    """The same of reads and writes alike at the 90th and the 95th percentile."""
    ratios: Mapping[str, list[float]] = {"p90": [], "p95": []}
    for name in lab.paper.named(experiments):
        reference = lab.result(name, ideal)
        for design in designs:
            result = lab.result(name, design)
            for percentile, column in ratios.items():
                kinds: tuple[Kind, ...] = ("read", "write")
                column.extend(
                    _at(result, kind, percentile) / _at(reference, kind, percentile)
                    for kind in kinds
                )
    return dict(ratios)


def _at(result: DesignResult, kind: Kind, percentile: str) -> float:
    value: float | None = getattr(_latency(result, kind), f"{percentile}_us")
    if not value:
        raise Unavailable(f"{result.design} has completed no {kind}")
    return value


# --- Figs. 12 and 13: all requests ----------------------------------------------------------------


def overall_gains(lab: Lab, *, experiments: Sequence[str], baseline: str, kind: Kind) -> Values:
    """By how many percent all requests of a kind are faster, and the writes, means over volumes."""
    names = lab.paper.named(experiments)
    found: Values = {"volumes": len(names)}
    for short, design in (("par", "gc-par"), ("vic", "gc-vic")):
        found[short] = fmean(_overall_gain(lab, name, baseline, design, kind) for name in names)
        found[f"{short}_write"] = fmean(
            _overall_gain(lab, name, baseline, design, "write") for name in names
        )
    return found


def _overall_gain(lab: Lab, experiment: str, baseline: str, design: str, kind: Kind) -> float:
    reference = _mean_us(lab.result(experiment, baseline), kind)
    return 100 * (1 - _mean_us(lab.result(experiment, design), kind) / reference)


def _mean_us(result: DesignResult, kind: Kind) -> float:
    of = (result.read, result.write) if kind == "total" else (_latency(result, kind),)
    count = sum(each.count for each in of)
    if not count:
        raise Unavailable(f"{result.design} has completed no {kind}")
    return sum(_sum_us(each) for each in of) / count


def throughput_gains(
    lab: Lab,
    *,
    closed: Sequence[str],
    open: Sequence[str],
    baseline: str,
    designs: Sequence[str],
    volumes: Sequence[str] | None = None,
    above: Sequence[str] | None = None,
) -> Values:
    """How many percent more bytes a second the designs have than the baseline.

    In closed loop, by the time that passes: the mean of each design and of all, the least and the
    most, over `volumes` or all; `mean_above` is the mean over other volumes. `by_busy_time` is the
    mean of all at the volumes' own times, by the time in which dies work.
    """
    gains: dict[str, list[float]] = {}
    others: list[float] = []
    for name in lab.paper.named(closed):
        for design in designs:
            rates = [
                lab.result(name, each).throughput.makespan_mb_per_second
                for each in (design, baseline)
            ]
            gain = _more(rates, name)
            if volumes is None or _volume_of(name) in volumes:
                gains.setdefault(design, []).append(gain)
            if above is not None and _volume_of(name) in above:
                others.append(gain)
    busy = [
        _more(
            [
                lab.result(name, each).throughput.device_busy_mb_per_second
                for each in (design, baseline)
            ],
            name,
        )
        for name in lab.paper.named(open)
        if volumes is None or _volume_of(name) in volumes
        for design in designs
    ]
    everything = [gain for column in gains.values() for gain in column]
    found: Values = {design.rpartition("-")[2]: fmean(column) for design, column in gains.items()}
    found |= {"mean": fmean(everything), "least": min(everything), "most": max(everything)}
    found |= {"by_busy_time": fmean(busy), "volumes": len(gains[designs[0]])}
    if above is not None:
        found["mean_above"] = fmean(others)
    return found


def _more(rates: Sequence[float | None], experiment: str) -> float:
    rate, reference = rates
    if not rate or not reference:
        raise Unavailable(f"{experiment} has moved no data")
    return 100 * (rate / reference - 1)


MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        active_blocks,
        affected_gains,
        affected_groups,
        affected_shares,
        against_ideal,
        paired_with_gc,
        drive_size,
        gains_with_pairing,
        gc_company,
        gc_lengthened,
        largest_count,
        overall_gains,
        overlap,
        throughput_gains,
        utilization_with_pairing,
        utilizations,
        victim_chain,
        volume,
    )
}
