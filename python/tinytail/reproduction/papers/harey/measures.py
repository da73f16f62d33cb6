"""How the numbers of The Harey Tortoise are taken; here those of the workloads of section 5."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tinytail.engine import catalog
from tinytail.errors import ConfigError, TinytailError
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import Values
from tinytail.reproduction.papers.harey.bursts import BURSTS, burst_mb_s
from tinytail.reproduction.papers.harey.drives import DRIVES
from tinytail.reproduction.papers.harey.pulses import PULSES
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Measure


def burst_statistics(
    lab: Lab, *, experiment: str, gap_s: float, pages: float, idle_s: float
) -> Values:
    """Threshold, written pages and idle time of a stand-in's bursts, beside those of Table 2.

    `off_percent` is by how much each differs from it.
    """
    claims = _claims(lab, experiment)
    found = [claims[f"bursts_{name}"] for name in ("gap_s", "written_pages_mean", "idle_s_mean")]
    return {
        "gap_s": found[0],
        "pages": found[1],
        "idle_s": found[2],
        "off_percent": [
            100 * abs(value / wanted - 1)
            for value, wanted in zip(found, (gap_s, pages, idle_s), strict=True)
        ],
    }


def _claims(lab: Lab, experiment: str) -> dict[str, float]:
    """What a stand-in is like, by the names of its claims."""
    workload = lab.paper.experiments[experiment].workload
    if not isinstance(workload, str) or not workload.startswith("@"):
        raise ConfigError(f'"{experiment}" plays no recorded workload')
    name = lab.inputs.trace(lab.paper.traces[workload[1:]])
    try:
        return _found(name)
    except TinytailError:
        raise Unavailable(f"of a recording, tinytail trace info {name} says it") from None


@cache
def _found(stand_in: str) -> dict[str, float]:
    return {claim.name: claim.found for claim in catalog.check_claims(stand_in)}


def thresholds(lab: Lab, *, experiments: Sequence[str]) -> Values:
    """How far the threshold of each workload's bursts is from the mean time between requests.

    In nanoseconds, of which a threshold has a whole number.
    """
    off = []
    for experiment in lab.paper.named(experiments):
        claims = _claims(lab, experiment)
        mean_s = claims["duration_s"] / (claims["requests"] - 1)
        off.append(1e9 * abs(claims["bursts_gap_s"] - mean_s))
    return {"off_ns": off}


def gains(lab: Lab, *, experiments: Sequence[str], design: str, reference: str) -> Values:
    """What a design's bursts write more than a reference's, in percent, on every workload."""
    found = _gains(lab, experiments, design, reference)
    return {"all": found, "most": max(found), "least": min(found), "mean": _mean(found)}


def _gains(lab: Lab, experiments: Sequence[str], design: str, reference: str) -> list[float]:
    return [
        100 * (burst_mb_s(lab.result(name, design)) / burst_mb_s(lab.result(name, reference)) - 1)
        for name in lab.paper.named(experiments)
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def mean_difference(
    lab: Lab,
    *,
    experiments: Sequence[str],
    designs: Sequence[str],
    others: Sequence[str],
    reference: str,
) -> Values:
    """The mean gain of some designs less that of others, in percentage points."""
    means = [
        _mean([_mean(_gains(lab, experiments, design, reference)) for design in group])
        for group in (designs, others)
    ]
    return {"value": means[0] - means[1], "means": means}


def shares_of_gain(
    lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], whole: str, reference: str
) -> Values:
    """What designs reach of the gain of another, in percent: on each workload, the best of them.

    `least` is the worst of any design on any workload. Without a gain on some workload there are no
    shares.
    """
    best, every = [], []
    for name in lab.paper.named(experiments):
        (all_of_it,) = _gains(lab, [name], whole, reference)
        if all_of_it <= 0:
            return {"best": [], "least": None}
        found = [100 * _gains(lab, [name], design, reference)[0] / all_of_it for design in designs]
        best.append(max(found))
        every += found
    return {"best": sorted(best), "least": min(every)}


def third_best_share(
    lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], whole: str, reference: str
) -> Values:
    """What is reached of the gain of another design on the third best workload, in percent."""
    found = shares_of_gain(
        lab, experiments=experiments, designs=designs, whole=whole, reference=reference
    )
    best: Any = found["best"]
    return {"value": best[-3] if len(best) > 2 else None, "best": best}


def best_gain(
    lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], reference: str
) -> Values:
    """The best gain of some designs on any workload, in percent, and the best on each."""
    best = [
        max(_gains(lab, [name], design, reference)[0] for design in designs)
        for name in lab.paper.named(experiments)
    ]
    return {"value": max(best), "best": best}


def read_changes(
    lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], reference: str
) -> Values:
    """How much faster bursts read, in percent: the mean over designs and workloads."""
    changes = []
    for name in lab.paper.named(experiments):
        before = lab.result(name, reference).bursts
        for design in designs:
            after = lab.result(name, design).bursts
            if before is None or after is None or not before.read_mb_per_second:
                raise Unavailable(f"no burst of {name} reads")
            changes.append(
                100 * ((after.read_mb_per_second or 0.0) / before.read_mb_per_second - 1)
            )
    return {"mean": _mean(changes), "least": min(changes), "most": max(changes)}


def of_slc(lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], whole: str) -> Values:
    """What bursts reach of another drive's speed, in percent, with the best of the designs."""
    best = []
    for name in lab.paper.named(experiments):
        rate = burst_mb_s(lab.result(name, whole))
        best.append(max(100 * burst_mb_s(lab.result(name, design)) / rate for design in designs))
    return {"most": max(best), "mean": _mean(best)}


def wear(lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], reference: str) -> Values:
    """Erases of designs against a reference's, over designs and workloads.

    `mean` and `most` are ratios, `mean_percent`, `least_percent` and `most_percent` changes. Where
    the reference erases nothing there is no ratio: such workloads are `left_out`.
    """
    ratios = []
    left_out = 0
    for name in lab.paper.named(experiments):
        before = lab.result(name, reference).erases
        after = [lab.result(name, design).erases for design in designs]
        left_out += int(before == 0)
        ratios += [erases / before for erases in after if before]
    if not ratios:
        raise Unavailable(f"{reference} has erased nothing on any workload")
    return {
        "mean": _mean(ratios),
        "most": max(ratios),
        "mean_percent": 100 * (_mean(ratios) - 1),
        "least_percent": 100 * (min(ratios) - 1),
        "most_percent": 100 * (max(ratios) - 1),
        "all": ratios,
        "left_out": left_out,
    }


def highest_gain(
    lab: Lab,
    *,
    experiments: Sequence[str],
    experiment: str,
    designs: Sequence[str],
    reference: str,
) -> Values:
    """The best gain of some designs on one workload, in percent, beside that on the others."""
    found = {
        name: max(_gains(lab, [name], design, reference)[0] for design in designs)
        for name in lab.paper.named(experiments)
    }
    value = found.pop(experiment)
    return {"value": value, "others": list(found.values())}


def along_write_points(
    lab: Lab, *, experiments: Sequence[str], designs: Sequence[str], reference: str
) -> Values:
    """Ratios to a reference along designs with more write points, on every workload.

    `most` is the highest, `rises` how often more write points are faster.
    """
    ratios, rises = [], 0
    for name in lab.paper.named(experiments):
        column = [1 + _gains(lab, [name], design, reference)[0] / 100 for design in designs]
        ratios += column
        rises += sum(after > before for before, after in itertools.pairwise(column))
    return {"most": max(ratios), "rises": rises, "all": ratios}


def inversion(lab: Lab, *, experiment: str, pairs: Mapping[str, Sequence[str]]) -> Values:
    """One design's burst rate over another's, by the row's names."""
    return {
        name: burst_mb_s(lab.result(experiment, above)) / burst_mb_s(lab.result(experiment, below))
        for name, (above, below) in pairs.items()
    }


def moves_per_erase(lab: Lab, *, experiment: str, others: Sequence[str], design: str) -> Values:
    """Pages moved for each erase on one workload, and how far that is below the others' mean.

    `locality` is what of a block is not moved, in percent. Others without an erase do not count.
    """
    pages = lab.device_of(experiment)["geometry"]["pages_per_block"]
    own = _moves(lab, experiment, design)
    erasing = [name for name in others if lab.result(name, design).erases]
    if not erasing:
        raise Unavailable(f"{design} has erased nothing on the other workloads")
    mean = _mean([_moves(lab, name, design) for name in erasing])
    return {
        "fewer_percent": 100 * (1 - own / mean),
        "locality": 100 * (1 - own / pages),
        "moves": own,
        "others": mean,
    }


def _moves(lab: Lab, experiment: str, design: str) -> float:
    result = lab.result(experiment, design)
    if not result.erases:
        raise Unavailable(f"{design} has erased nothing in {experiment}")
    return sum(result.series.gc_pages) / result.erases


def larger_gain(lab: Lab, *, first: Mapping[str, Any], second: Mapping[str, Any]) -> Values:
    """Two mean gains in percent, each of `experiments`, `design` and `reference`."""
    return {
        name: _mean(_gains(lab, given["experiments"], given["design"], given["reference"]))
        for name, given in (("first", first), ("second", second))
    }


def makeup(lab: Lab, *, cases: Mapping[str, Sequence[str]]) -> Values:
    """What the bursts of runs are made of: an experiment and a design, by the names of the values.

    `written` are thousands of pages that the host wrote, `written_percent` the same of the logical
    size, `pages` those of a burst that writes, and `burst_us` the mean time of all bursts. Of the
    writes' time `array_percent` is that of reads and programs of the writes themselves,
    `placement_percent` the wait for a place. `moves` are GC's for each page of the host, `programs`
    one more, `erases` all erases, and `fast_percent` of the host's programs are on fast pages.
    """
    values: Values = {}
    for name, (experiment, design) in cases.items():
        result = lab.result(experiment, design)
        logical = int(lab.device_of(experiment)["derived"]["logical_pages"])
        written, moved = sum(result.series.host_pages), sum(result.series.gc_pages)
        bursts = result.bursts
        if bursts is None or not bursts.writing:
            raise Unavailable(f"no burst of {experiment} wrote")
        time = result.attribution.all_writes.ns
        total = sum(time.values())
        found = {
            "written": written / 1000,
            "written_percent": 100 * written / logical,
            "pages": written / bursts.writing,
            "burst_us": bursts.mean_us,
            "array_percent": 100 * time.get("array", 0) / total,
            "placement_percent": 100 * time.get("placement", 0) / total,
            "moves": moved / written,
            "programs": 1 + moved / written,
            "erases": result.erases,
            "fast_percent": 100 * lab.counter(result, "host_fast") / written,
        }
        values |= {f"{name}_{key}": value for key, value in found.items()}
    return values


MEASURES: dict[str, Measure] = (
    DRIVES
    | BURSTS
    | PULSES
    | {
        measure.__name__: measure
        for measure in (
            along_write_points,
            best_gain,
            burst_statistics,
            gains,
            highest_gain,
            inversion,
            larger_gain,
            makeup,
            mean_difference,
            moves_per_erase,
            of_slc,
            read_changes,
            shares_of_gain,
            third_best_share,
            thresholds,
            wear,
        )
    }
)
