"""How the numbers of The Harey Tortoise are taken from runs, from its drives and from its model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tinytail import engine
from tinytail.errors import ConfigError, TinytailError
from tinytail.rate_matching import analyze_rate_matching
from tinytail.reproduction.lab import Lab, Unavailable
from tinytail.reproduction.measures import Values, wishes_met, wishes_met_percent
from tinytail.reproduction.records import Measure
from tinytail.results import DesignResult

# --- Table 1 and section 2.2 ----------------------------------------------------------------------


def drive_facts(lab: Lab, *, facts: Mapping[str, Sequence[str]], per: float = 1) -> Values:  # noqa: ARG001
    """Values of devices: a device and its keys, which are multiplied, by the row's names.

    A key is `section.key`, with the place in a list behind it where the value is one.
    """
    found: Values = {}
    for name, (device, *keys) in facts.items():
        document = engine.device_document(device)
        product = 1.0
        for key in keys:
            section, value_name, *place = key.split(".")
            try:
                value = document[section][value_name]
                product *= value[int(place[0])] if place else value
            except (KeyError, IndexError):
                raise ConfigError(f'{device} has no "{key}"') from None
        found[name] = product / per
    return found


def drive_facts_ratio(lab: Lab, *, above: Sequence[str], below: Sequence[str]) -> Values:
    """One value of a device over another, each as in `drive_facts`."""
    found = drive_facts(lab, facts={"above": above, "below": below})
    parts: Any = (found["above"], found["below"])
    return {"value": parts[0] / parts[1]}


def bus(lab: Lab, *, devices: Sequence[str]) -> Values:  # noqa: ARG001
    """Megabytes a second on the channel of each device, and the time of a page in microseconds."""
    values: Values = {"mb_s": [], "page_us": []}
    for device in devices:
        document = engine.device_document(device)
        page_us = document["timing"]["transfer_page_ns"] / 1000
        for name, value in (
            ("mb_s", document["geometry"]["page_bytes"] / page_us),
            ("page_us", page_us),
        ):
            column: Any = values[name]
            column.append(value)
    return values


def spare(lab: Lab, *, devices: Sequence[str]) -> Values:  # noqa: ARG001
    """What of the physical pages is not logical, in percent."""
    logical = [engine.device_document(device)["host"]["logical_permyriad"] for device in devices]
    return {"percent": [100 - permyriad / 100 for permyriad in logical]}


def layout(
    lab: Lab,  # noqa: ARG001
    *,
    pattern: Sequence[tuple[str, int]],
    times: Mapping[str, float],
    device: str | None = None,
) -> Values:
    """What the detection of section 2.2 calls a pattern of pages, and how many it has of each kind.

    The pattern is of letters, each part as often as its number says, and each letter has a time.
    `misfits` are pages of which the layout of that name has another kind. `doubled` is the layout
    of the pattern with each page twice. `device_rule` is the layout of a device.
    """
    letters = "".join(part * repeats for part, repeats in pattern)
    found: Values = {"pages": len(letters)}
    named = _named(letters, times)
    found |= {"name": named["name"], "rule": named["layout"]}
    found |= {"misfits": named["outliers"]}
    try:
        found["doubled"] = _named("".join(letter * 2 for letter in letters), times)["name"]
    except TinytailError:
        found["doubled"] = None
    found |= {f"pages_{letter}": letters.count(letter) for letter in times}
    if device is not None:
        found["device_rule"] = engine.device_document(device)["timing"]["page_class_layout"]
    return found


def _named(letters: str, times: Mapping[str, float]) -> dict[str, Any]:
    samples = [(page, float(times[letter])) for page, letter in enumerate(letters)]
    return engine.page_layout(len(letters), samples)


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


# --- Section 4.2.1, Figure 5 ----------------------------------------------------------------------


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


# --- Section 4.3.1, Figure 6 ----------------------------------------------------------------------


def crossover(lab: Lab, *, device: str) -> Values:  # noqa: ARG001
    """Where FGC and SGC meet in the printed form: locality, pages moved, and MB/s there."""
    printed = analyze_rate_matching(device).printed
    point = printed.crossover
    if point is None:
        raise Unavailable(f"all pages of {device} are alike")
    return {
        "locality": point.locality_percent,
        "moved": point.moved,
        "matched": printed.matched_reads_crossover_percent,
        "rates": [getattr(point, name).mb_s for name in ("baseline", "fgc", "sgc")],
    }


def model_order(lab: Lab, *, device: str, from_percent: int, to_percent: int) -> Values:  # noqa: ARG001
    """At how many whole percents of locality the printed form has FGC above the baseline above SGC.

    `reverse` is the number of those with the opposite order.
    """
    printed = analyze_rate_matching(device).printed
    order = reverse = 0
    for percent in range(from_percent, to_percent + 1):
        point = printed.at(percent)
        rates = [point.fgc.mb_s, point.baseline.mb_s, point.sgc.mb_s]
        order += int(rates[0] > rates[1] > rates[2])
        reverse += int(rates[0] < rates[1] < rates[2])
    return {"order": order, "reverse": reverse, "points": to_percent - from_percent + 1}


def model_gains(lab: Lab, *, device: str, locality: int) -> Values:  # noqa: ARG001
    """FGC and SGC over the baseline in the printed form."""
    point = analyze_rate_matching(device).printed.at(locality)
    return {name: point.gain(name) for name in ("fgc", "sgc")}


def model_crossovers(lab: Lab, *, device: str, spare_percents: Sequence[float]) -> Values:  # noqa: ARG001
    """Where the printed form crosses with so much over-provisioning."""
    return {
        f"at_{percent:g}": analyze_rate_matching(
            device, over_provisioning_percent=percent
        ).printed.crossover_locality_percent
        for percent in spare_percents
    }


def equation_errors(lab: Lab, *, device: str, equation: int) -> Values:  # noqa: ARG001
    """The largest relative difference from an equation, over all localities and placements."""
    found = analyze_rate_matching(device)
    document = engine.device_document(device)
    geometry, timing = document["geometry"], document["timing"]
    page, pages = geometry["page_bytes"], geometry["pages_per_block"]
    fast, slow = (ns / 1000 for ns in timing["program_ns"])
    read_us = sum(timing["read_ns"]) / 2000
    share = 1 - document["host"]["logical_permyriad"] / 10_000
    mean = (fast + slow) / 2
    errors = []
    for percent in range(1, 100):
        moved = pages * (100 - percent) / 100
        for name, host_us, gc_us in (
            ("baseline", mean, mean),
            ("fgc", slow, fast),
            ("sgc", fast, slow),
        ):
            rates = getattr(found.printed.at(percent), name)
            if equation == 1:
                wanted, got = page / host_us, rates.external_mb_s
            else:
                busy_us = moved * (read_us + gc_us) + timing["erase_step_ns"] / 1000
                wanted, got = share * pages * page / busy_us, rates.gc_mb_s
            errors.append(abs(got / wanted - 1))
    return {"error": max(errors), "cases": len(errors)}


# --- Section 4.3.2, Figures 7 and 8 ---------------------------------------------------------------


def pulse_load(lab: Lab, *, workload: str) -> Values:  # noqa: ARG001
    """The load of a workload in pulses, as its file says."""
    settings = {each.key: each.value for each in engine.workload(workload).settings}
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
        name: wishes_met_percent(lab.result(experiment, design)) for name, design in designs.items()
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
        shares = [wishes_met_percent(result) or 0.0 for result in results]
        values[name] = shares
        falls += sum(after <= before for before, after in itertools.pairwise(shares))
        for kind, writer in writers.items():
            first, last = (
                100 * met / made if made else 0.0
                for made, met in (
                    wishes_met(result, writer) for result in (results[0], results[-1])
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


# --- Section 5 ------------------------------------------------------------------------------------


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
    name = lab.trace(lab.paper.traces[workload[1:]])
    try:
        return _found(name)
    except TinytailError:
        raise Unavailable(f"of a recording, tinytail trace info {name} says it") from None


@cache
def _found(stand_in: str) -> dict[str, float]:
    return {claim.name: claim.found for claim in engine.workload_claims(stand_in)}


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


def pool_use(lab: Lab, *, experiment: str, design: str, reference: str) -> Values:
    """Why a workload has no sustained load: what it writes against what lies erased.

    `written` are pages that the host wrote, `burst` the mean of a burst, `erased` those erased at
    the beginning; `waited_percent` is the share of the writes' time that they waited for a place.
    """
    result = lab.result(experiment, design)
    other = lab.result(experiment, reference)
    geometry = lab.device_of(experiment)["geometry"]
    blocks = geometry["blocks_per_plane"] * geometry["channels"] * geometry["chips_per_channel"]
    blocks *= geometry["dies_per_chip"] * geometry["planes_per_die"]
    free = float(result.state["free_percent"]) / 100 * blocks * geometry["pages_per_block"]
    written = sum(result.series.host_pages)
    bursts = result.bursts
    blame = result.blame.all_writes
    total = sum(blame.ns.values())
    return {
        "written": written,
        "burst": written / bursts.writing if bursts is not None and bursts.writing else None,
        "erased": free,
        "waited_percent": 100 * blame.ns.get("placement", 0) / total if total else None,
        "moves": sum(result.series.gc_pages) / written if written else None,
        "rate_mb_s": burst_mb_s(result),
        "reference_mb_s": burst_mb_s(other),
    }


MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        along_write_points,
        best_gain,
        burst_fall,
        burst_peak,
        burst_statistics,
        burst_steps,
        bus,
        crossover,
        decomposed,
        drive_facts,
        drive_facts_ratio,
        equation_errors,
        gains,
        guaranteed_bursts,
        highest_gain,
        inversion,
        larger_gain,
        layout,
        mean_difference,
        model_crossovers,
        model_gains,
        model_order,
        moves_per_erase,
        of_all_fast,
        of_slc,
        pool_use,
        preferred,
        preferred_growth,
        pulse_gains,
        pulse_load,
        read_changes,
        shares_of_gain,
        skipped_pages,
        spare,
        stored_fast_pages,
        third_best_share,
        thresholds,
        wear,
    )
}
