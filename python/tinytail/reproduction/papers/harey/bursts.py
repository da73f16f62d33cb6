"""Return to fast under bursts: section 4.2.1, Figure 5."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tinytail.comparison.result import DesignResult
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import Values
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Measure


def burst_mb_s(result: DesignResult) -> float:
    """What the bursts of a run wrote while they lasted, in 10^6 bytes a second, on average.

    Raises:
        Unavailable: no burst wrote.
    """
    if result.bursts is None or result.bursts.write_mb_per_second is None:
        raise Unavailable(f"no burst of {result.workload.name} wrote")
    return result.bursts.write_mb_per_second


def burst_peak(lab: Lab, *, experiments: Sequence[str], design: str) -> Values:
    """The most that bursts of any size wrote, and what those of each size did, in MB/s."""
    rates = [burst_mb_s(lab.result(name, design)) for name in experiments]
    return {"peak": max(rates), "rates": rates}


def burst_steps(
    lab: Lab, *, small: str, large: str, designs: Mapping[str, str], idle: str
) -> Values:
    """By what factor larger bursts are faster, and what bursts of a page reach of it in percent."""
    values: Values = {}
    for name, design in designs.items():
        rate = burst_mb_s(lab.result(large, design))
        values[name] = rate / burst_mb_s(lab.result(small, design))
        values[f"{name}_single_percent"] = 100 * burst_mb_s(lab.result(idle, design)) / rate
    return values


def of_all_fast(lab: Lab, *, design: str, at: str, beyond: str) -> Values:
    """What bursts of two sizes reach of the all-fast array with bursts as large, in percent."""
    return {
        name: 100
        * burst_mb_s(lab.result(experiment, design))
        / burst_mb_s(lab.result(experiment, "all-fast"))
        for name, experiment in (("at_percent", at), ("beyond_percent", beyond))
    }


def guaranteed_bursts(
    lab: Lab,
    *,
    experiments: Sequence[str],
    pages: Sequence[int],
    pairs: Mapping[str, Sequence[str]],
    percent: float,
) -> Values:
    """The largest burst at this share of the all-fast array's speed: strong over weak, by pairs.

    `pages` are the sizes of the experiments, in ascending order. No smaller burst may be slower.
    """
    values: Values = {}
    sizes = dict(zip(experiments, pages, strict=True))
    for name, designs in pairs.items():
        weak, strong = (_largest(lab, sizes, design, percent) for design in designs)
        values[name] = strong / weak if weak else None
    return values


def _largest(lab: Lab, sizes: Mapping[str, int], design: str, percent: float) -> int:
    largest = 0
    for experiment, pages in sizes.items():
        whole = burst_mb_s(lab.result(experiment, "all-fast"))
        if 100 * burst_mb_s(lab.result(experiment, design)) < percent * whole:
            break
        largest = pages
    return largest


def stored_fast_pages(
    lab: Lab, *, experiment: str, write_points: int, designs: Mapping[str, str]
) -> Values:
    """Fast pages that a burst found at each write point, on average.

    A burst of one page goes before, so that what the other finds is what idle time has left.
    """
    values: Values = {}
    for name, design in designs.items():
        fast = lab.counter(lab.result(experiment, design), "host_fast")
        values[name] = (fast - 1) / write_points
    return values


def burst_fall(lab: Lab, *, experiments: Sequence[str], design: str, reference: str) -> Values:
    """How often bursts get faster with their size, and how far the largest are off a reference."""
    rates = [burst_mb_s(lab.result(name, design)) for name in experiments]
    last = burst_mb_s(lab.result(experiments[-1], reference))
    return {
        "rises": sum(after > before for before, after in itertools.pairwise(rates)),
        "above_percent": 100 * abs(rates[-1] / last - 1),
        "rates": rates,
    }


BURSTS: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        burst_fall,
        burst_peak,
        burst_steps,
        guaranteed_bursts,
        of_all_fast,
        stored_fast_pages,
    )
}
