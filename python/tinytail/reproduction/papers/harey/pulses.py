"""Preference under sustained load: section 4.3.2, Figures 7 and 8."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tinytail.engine import catalog
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import Values, preferences_met, preferences_met_percent
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Measure


def pulse_load(lab: Lab, *, workload: str) -> Values:  # noqa: ARG001
    """The load of a workload in pulses, as its file says."""
    settings = {each.key: each.value for each in catalog.describe_workload(workload).settings}
    pulse, pause, runtime = (
        float(settings[key].replace("_", "")) / 1000
        for key in ("pulse_ms", "pause_ms", "runtime_ms")
    )
    return {
        "pulse_s": pulse,
        "idle_s": pause,
        "pulses": runtime / (pulse + pause),
        "read_share": float(settings["read_share"]),
        "addresses": settings["addresses"].strip('"'),
    }


def preferred(lab: Lab, *, experiment: str, designs: Mapping[str, str]) -> Values:
    """The share of operations that went to the kind of page that they prefer, in percent."""
    return {
        name: preferences_met_percent(lab.result(experiment, design))
        for name, design in designs.items()
    }


def preferred_growth(
    lab: Lab, *, experiment: str, fgc: Sequence[str], sgc: Sequence[str]
) -> Values:
    """How the share of preferred pages grows along designs with more write points.

    `fast_growth` is that of the writes that prefer fast pages, GC's under FGC and the host's under
    SGC, from the first design to the last, in percentage points; `slow_growth` that of the others.
    """
    values: Values = {}
    growth: dict[str, list[float]] = {"fast": [], "slow": []}
    falls = 0
    for name, designs, writers in (
        ("fgc", fgc, {"fast": "GC's", "slow": "host's"}),
        ("sgc", sgc, {"fast": "host's", "slow": "GC's"}),
    ):
        results = [lab.result(experiment, design) for design in designs]
        shares = [preferences_met_percent(result) or 0.0 for result in results]
        values[name] = shares
        falls += sum(after <= before for before, after in itertools.pairwise(shares))
        for kind, writer in writers.items():
            first, last = (
                100 * met / made if made else 0.0
                for made, met in (
                    preferences_met(result, writer) for result in (results[0], results[-1])
                )
            )
            growth[kind].append(last - first)
    values["falls"] = falls
    values["fast_growth"] = sum(growth["fast"]) / 2
    values["slow_growth"] = sum(growth["slow"]) / 2
    return values


def pulse_gains(lab: Lab, *, experiment: str, designs: Sequence[str], reference: str) -> Values:
    """Pages that the host wrote in all pulses, against a reference's, along designs."""
    whole = lab.result(experiment, reference).write.count
    ratios = [lab.result(experiment, design).write.count / whole for design in designs]
    return {
        "gain_percent": 100 * (ratios[-1] - 1),
        "ratios": ratios,
        "rises": sum(after > before for before, after in itertools.pairwise(ratios)),
    }


def decomposed(lab: Lab, *, experiment: str, design: str, reference: str) -> Values:
    """The time of the dies for each page of the host, in what it is made of, for two designs.

    Pages of the host, moves for each of them, and the mean times of programs: of the host's, of
    GC's, and of both. Fast pages are half of all that are programmed, whoever has them.
    """
    values: Values = {}
    timing = lab.device_of(experiment)["timing"]
    fast_us, slow_us = (ns / 1000 for ns in timing["program_ns"])
    for prefix, name in (("", design), ("reference_", reference)):
        result = lab.result(experiment, name)
        host, moved = sum(result.series.host_pages), sum(result.series.gc_pages)
        if not host or not moved:
            raise Unavailable(f"{name} moved nothing in {experiment}")
        host_fast = lab.counter(result, "host_fast")
        gc_fast = lab.counter(result, "gc_fast")
        means = {
            f"{writer}_us": (fast * fast_us + (pages - fast) * slow_us) / pages
            for writer, fast, pages in (
                ("host", host_fast, host),
                ("gc", gc_fast, moved),
                ("program", host_fast + gc_fast, host + moved),
            )
        }
        values |= {
            f"{prefix}pages": host / 1e6,
            f"{prefix}moves": moved / host,
            f"{prefix}fast_percent": 100 * (host_fast + gc_fast) / (host + moved),
            **{f"{prefix}{key}": value for key, value in means.items()},
        }
    return values


def skipped_pages(lab: Lab, *, experiment: str, designs: Sequence[str]) -> Values:
    """Pages that designs skipped or padded, and how many they programmed.

    The engine refuses a program of any page but the next of its block, in every build, and these
    runs are verified; what it can do besides is to pad.
    """
    skipped = programmed = 0
    for design in designs:
        result = lab.result(experiment, design)
        skipped += lab.counter(result, "padded_pages")
        programmed += sum(result.series.host_pages) + sum(result.series.gc_pages)
    return {"skipped": skipped, "programmed": programmed, "designs": len(designs)}


PULSES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        decomposed,
        preferred,
        preferred_growth,
        pulse_gains,
        pulse_load,
        skipped_pages,
    )
}
