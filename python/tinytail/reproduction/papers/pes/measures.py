"""How the numbers of Practical Erase Suspension are taken from runs and from its drive."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tinytail.certification.act import LARGE_READS, LARGE_WRITES, LIMITS, SMALL_READS
from tinytail.engine import catalog
from tinytail.engine.results import Test
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import (
    Values,
    drive_work,
    first_failure,
    requests_per_second,
    run_values,
)
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Experiment, Measure

BASELINE = "erase-baseline"

# --- Table 1 --------------------------------------------------------------------------------------


def transfer_rate(lab: Lab, *, device: str) -> Values:  # noqa: ARG001
    """Transfers each microsecond on the bus of the flash, a byte each: millions in a second."""
    document = catalog.device_document(device)
    transfer_us = document["timing"]["transfer_page_ns"] / 1000
    return {"value": document["geometry"]["page_bytes"] / transfer_us}


def dram_rate(lab: Lab, *, device: str, mt_per_s: int, bytes: int) -> Values:  # noqa: ARG001
    """What a page takes in RAM, and what it takes at a rate of DRAM, in microseconds."""
    document = catalog.device_document(device)
    return {
        "page_us": document["geometry"]["page_bytes"] / (mt_per_s * bytes),
        "ram_us": document["timing"]["ram_ns"] / 1000,
    }


def page_interval(lab: Lab, *, device: str) -> Values:  # noqa: ARG001
    """The time in which a page crosses the host's link, in microseconds."""
    document = catalog.device_document(device)
    return {"value": document["geometry"]["page_bytes"] / document["host"]["link_mb_per_s"]}


# --- Table 2 --------------------------------------------------------------------------------------


def against_device(
    lab: Lab, *, experiment: str, wanted: str, device: float, per: float = 1
) -> Values:
    """A figure of the baseline, and what share it is of what the real device had."""
    value = run_values(lab, values={"value": [experiment, BASELINE, wanted]}, per=per)["value"]
    if not isinstance(value, int | float):
        raise Unavailable(f"{experiment} has completed nothing")
    return {"value": value, "of_device_percent": 100 * value / device}


def table_errors(
    lab: Lab,  # noqa: ARG001
    *,
    device: Sequence[float],
    simulator: Sequence[float],
) -> Values:
    """Differences between two columns in percent, relative to either: their means and largest."""
    values: Values = {}
    for name, whole in (("simulator", simulator), ("device", device)):
        errors = [100 * abs(a - b) / of for a, b, of in zip(device, simulator, whole, strict=True)]
        values[f"mean_of_{name}"] = sum(errors) / len(errors)
        values[f"worst_of_{name}"] = max(errors)
    return values


def little(
    lab: Lab, *, runs: Sequence[tuple[str, int]], printed: Mapping[str, Sequence[float]]
) -> Values:
    """Little's law: how far queue depth over mean latency is from the throughput, in percent.

    The worst of the runs (experiment and depth), and of the pairs that the paper prints.
    """
    found = []
    for experiment, depth in runs:
        result = lab.result(experiment, BASELINE)
        kind = result.read if result.read.count else result.write
        served = result.throughput.served_per_second
        if not kind.mean_us or not served:
            raise Unavailable(f"{experiment} has completed nothing")
        found.append(_off(depth, kind.mean_us, served))
    columns = (printed[name] for name in ("depths", "kiops", "us"))
    pairs = [_off(depth, us, 1000 * kiops) for depth, kiops, us in zip(*columns, strict=True)]
    return {"worst_percent": max(found), "printed_percent": max(pairs)}


def _off(depth: float, mean_us: float, per_second: float) -> float:
    return 100 * abs(depth / mean_us * 1e6 / per_second - 1)


# --- ACT ------------------------------------------------------------------------------------------


def act_load(lab: Lab, *, once: str, four_times: str) -> Values:
    """What the generator of ACT's load makes each second, once and four times over.

    And the limits of the small reads' percentiles by which drives are certified.
    """
    values: Values = {"limits_ms": ", ".join(f"{limit.ns / 1e6:g}" for limit in LIMITS)}
    for experiment, suffix in ((once, ""), (four_times, "_4x")):
        rates = requests_per_second(lab, experiment=experiment, design=BASELINE)
        for kind in (SMALL_READS, LARGE_READS, LARGE_WRITES):
            name = kind.name.replace(" ", "_") + suffix
            values[name] = rates.pop(f"{kind.kind}_{kind.bytes}", None)
        if rates:
            values["others"] = len(rates)
    return values


# --- Sections 3.4 and 3.5: timeouts ---------------------------------------------------------------


def timeout_identity(
    lab: Lab,
    *,
    experiment: str,
    design: str,
    timeout_ms: float,
    printed_ms: float,
    printed_gc_ms: float,
) -> Values:
    """The longest write under a timeout, against the timeout and the longest GC of the baseline.

    `printed_error_percent` is the difference to what the paper prints, 0 where the longest GC is
    another than the paper's.
    """
    found = run_values(
        lab,
        values={
            "write": [experiment, design, "write.max_us"],
            "gc": [experiment, BASELINE, "gc_times.max_us"],
        },
        per=1000,
    )
    write_ms, gc_ms = found["write"], found["gc"]
    if not isinstance(write_ms, float) or not isinstance(gc_ms, float):
        raise Unavailable("no write, or no GC, was completed")
    alike = round(gc_ms) == printed_gc_ms
    return {
        "write_ms": write_ms,
        "sum_ms": timeout_ms + gc_ms,
        "error_percent": 100 * (write_ms / (timeout_ms + gc_ms) - 1),
        "printed_error_percent": 100 * (write_ms / printed_ms - 1) if alike else 0.0,
    }


def transition(lab: Lab, *, experiment: str, designs: Sequence[str], border_us: float) -> Values:
    """Reads that met an erase, which take one of two times: under which timeout how many the less.

    `percent` is the share of them below the border at each design, in percent; `low_us` and
    `high_us` are the medians below and above it, where there are any.
    """
    percent, low, high = [], [], []
    for design in designs:
        log = lab.outcome(experiment, design).log
        share = None if log is None else log.hit.share_below(border_us)
        if log is None or share is None:
            raise Unavailable(f"no read met an erase under {design}")
        percent.append(100 * share)
        low.append(log.hit.median_us(0.0, border_us))
        high.append(log.hit.median_us(border_us, float("inf")))
    return {
        "percent": percent,
        "falls": sum(after < before for before, after in itertools.pairwise(percent)),
        "low_us": [us for us in low if us is not None],
        "high_us": [us for us in high if us is not None],
    }


# --- Causes ---------------------------------------------------------------------------------------


def starving(lab: Lab, *, experiment: str, faster: str) -> Values:
    """How near ES and I-ES come to starving their writers, on a workload and on a faster one.

    How often each die is read from on the workload, the writes that are outstanding when the runs
    on the faster one end, and the longest delay of an erase there.
    """
    found = run_values(
        lab,
        values={
            "es_s": [faster, "es", "outstanding_write_us"],
            "i_es_s": [faster, "i-es", "outstanding_write_us"],
            "i_es_delay_ms": [faster, "i-es", "counter:most_delayed_ns"],
        },
        per=1e6,
        stuck=True,
    )
    reads = drive_work(lab, experiment=experiment, design=BASELINE)["reads_of_a_die"]
    return found | {"reads_of_a_die": reads}


def headroom(
    lab: Lab,
    *,
    experiment: str,
    design: str,
    test: Test,
    multiplier: int,
    read_kiops: float,
    write_kiops: float,
) -> Values:
    """What the load at a rating that the paper prints asks of the drive, and where a design fails.

    The pages that it reads and writes, small reads as one each, as shares of the random reads and
    writes that the paper's own simulator has in its Table 2; and, as `failing`, what first fails
    at which multiplier.
    """
    document = lab.device_of(experiment)
    large_pages = LARGE_READS.bytes // document["geometry"]["page_bytes"]
    reads = SMALL_READS.rate_per_s + LARGE_READS.rate_per_s * large_pages
    writes = LARGE_WRITES.rate_per_s * large_pages
    found: Values = {
        "reads_percent": multiplier * reads / (10 * read_kiops),
        "writes_percent": multiplier * writes / (10 * write_kiops),
    }
    certification = lab.certification(experiment, design)
    if certification.failed(test) is None:
        found["failing"] = f"{certification.rating(test)} times, the most that is tried, passes"
        return found
    failure = first_failure(lab, experiment=experiment, design=design, test=test)
    failing = f"{failure['multiplier']} times fails"
    if failure["name"] is not None:
        value, limit = (f"{failure[key]:,.1f} {failure['unit']}" for key in ("value", "limit"))
        failing += f" by the {failure['name']}, {value} where {limit} is allowed"
    found["failing"] = failing
    return found


def late_erases(lab: Lab, *, experiment: str, design: str, reference: str) -> Values:
    """Whether a die has time for the erases that a load asks for, if each is as late as they are.

    `late_ms` is what suspensions add to an erase on average. Of a die's time, `erase_percent` is
    what the load's erases would take if each were as late, and `program_percent` what its programs
    take, all planes at once; the load's are those of a reference that keeps up with it. `ends` and
    `asked` are erases of a die each second, under the design and under the reference.
    """
    result, other = lab.result(experiment, design), lab.result(experiment, reference)
    own = drive_work(lab, experiment=experiment, design=design)
    asked = drive_work(lab, experiment=experiment, design=reference)["erases_of_a_die"]
    delayed_ns = lab.counter(result, "delayed_ns")
    device = lab.device_of(experiment)
    geometry, timing = device["geometry"], device["timing"]
    if not result.erases or not isinstance(asked, float):
        raise Unavailable(f"{design} erases nothing in {experiment}")
    late_ns = delayed_ns / result.erases
    erase_ns = timing["erase_step_ns"] * timing["erase_steps"]
    program_ns = sum(timing["program_ns"]) / len(timing["program_ns"])
    planes = geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"]
    planes *= geometry["planes_per_die"]
    pages = sum(other.series.host_pages) + sum(other.series.gc_pages)
    programs_a_second = pages / planes / other.simulated_seconds
    return {
        "late_ms": late_ns / 1e6,
        "erase_percent": 100 * asked * (late_ns + erase_ns) / 1e9,
        "program_percent": 100 * programs_a_second * program_ns / 1e9,
        "ends": own["erases_of_a_die"],
        "asked": asked,
        "write_max_ms": own["write_max_ms"],
    }


# --- A probe --------------------------------------------------------------------------------------

MS = 1_000_000
# One die, whose GCs come one after the other; every write is flushed at once.
LONELY_DEVICE: dict[str, Any] = {
    "base": "lowlatency-240g-small",
    "set": {
        "geometry.channels": 1,
        "geometry.chips_per_channel": 1,
        "ram.buffer_kib": 64,
        "ram.flush_above_percent": 1,
    },
}
LONELY_WRITES = 400
LONELY_EVERY_NS = 50 * MS
SECTORS = 8
# Fewer than the die holds, and a prime, so that writes are spread over them and none comes twice.
LONELY_PAGES = 40_000
STRIDE = 7919


def erase_alone(lab: Lab) -> Values:
    """How long an erase takes that nothing suspends, in ms: from the last page of a GC to its end.

    No two requests are under way at a time, and no erase meets another operation.
    """
    lines = [
        f"{i * LONELY_EVERY_NS} 0 {i * STRIDE % LONELY_PAGES * SECTORS} {SECTORS} 0"
        for i in range(LONELY_WRITES)
    ]
    # The drive comes to rest before the last request.
    lines.append(f"{(LONELY_WRITES + 40) * LONELY_EVERY_NS} 0 0 {SECTORS} 1")
    result = lab.probe(
        Experiment(
            name="erase-alone",
            about="GCs one after the other on a drive that does nothing else",
            designs=(BASELINE,),
            device=LONELY_DEVICE,
            workload={"requests": lines},
            cost_s=0.5,
            verify=True,
        )
    ).result
    times = result.gc_times
    if times is None:
        return {"value": None, "erases": result.erases}
    return {"value": (times.mean_us - times.copy_mean_us) / 1000, "erases": result.erases}


MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        act_load,
        against_device,
        dram_rate,
        erase_alone,
        headroom,
        late_erases,
        little,
        page_interval,
        starving,
        table_errors,
        timeout_identity,
        transfer_rate,
        transition,
    )
}
