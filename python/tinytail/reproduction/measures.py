"""Measures that rows of any paper may name: facts of devices and designs, and figures of runs.

A measure takes the lab and the arguments that stand in the row, and returns named values. It reads
them from the engine; no value of a paper is in it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from typing import Any

from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog
from tinytail.engine.methods import AttributionGroup
from tinytail.engine.results import Test
from tinytail.errors import ConfigError, TinytailError, suggestion
from tinytail.reproduction.conditions import Value
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Measure
from tinytail.reproduction.sources import core_tests
from tinytail.verdict.causes import is_full_buffer

Values = dict[str, Value]
SECTOR_BYTES = 512
# Causes of slow reads that are named.
CAUSES_NAMED = 4


def device_facts(
    lab: Lab,  # noqa: ARG001
    *,
    device: str,
    facts: Mapping[str, Sequence[str] | str],
    per: float = 1,
) -> Values:
    """Values of a device, or of what follows from it; several names are multiplied.

    A name is `section.key`, or `derived.name`. `per` divides them, to change the unit.
    """
    document = catalog.device_document(device)
    return {
        fact: _product(document, [names] if isinstance(names, str) else names) / per
        for fact, names in facts.items()
    }


def _product(document: Mapping[str, Any], names: Sequence[str]) -> float:
    product = 1.0
    for name in names:
        section, _, key = name.partition(".")
        try:
            value = document[section][key]
        except KeyError:
            raise ConfigError(f'the device has no "{name}"') from None
        # A list of one is that of a device with one page class.
        product *= value[0] if isinstance(value, list) and len(value) == 1 else value
    return product


def design_fact(lab: Lab, *, design: str, setting: str, less_than_100: bool = False) -> Values:
    """One value of a design; with `less_than_100`, what it leaves of a hundred."""
    section, _, key = lab.paper.settings.get(setting, setting).partition(".")
    try:
        found = catalog.design_value(design, section, key)
    except TinytailError:
        raise Unavailable(f'needs the design "{design}"') from None
    if found is None:
        raise Unavailable(f'the design "{design}" has no {section}.{key}')
    return {"value": 100 - found if less_than_100 else found}


def design_facts(lab: Lab, *, design: str, settings: Mapping[str, str]) -> Values:  # noqa: ARG001
    """Values of a design by the row's names; a setting is `section.key`."""
    try:
        catalog.describe_design(design)
    except TinytailError:
        raise Unavailable(f'needs the design "{design}"') from None
    return {
        name: catalog.design_value(design, *setting.split(".", 1))
        for name, setting in settings.items()
    }


def run_values(
    lab: Lab, *, values: Mapping[str, Sequence[str]], per: float = 1, stuck: bool = False
) -> Values:
    """Figures of runs by the row's names: experiment, design and figure of each.

    A figure is an attribute of the result such as `read.p99999_us`, one of `FIGURES`, or
    `counter:NAME`. Numbers are divided by `per`, to change the unit. With `stuck`, runs that got
    stuck count as far as they came.
    """
    found: Values = {}
    for name, (experiment, design, wanted) in values.items():
        outcome = lab.ending(experiment, design) if stuck else lab.outcome(experiment, design)
        value = figure(lab, outcome.result, wanted)
        found[name] = value / per if per != 1 and isinstance(value, int | float) else value
    return found


def run_ratios(
    lab: Lab, *, values: Mapping[str, Sequence[Sequence[str]]], times: float = 1
) -> Values:
    """Quotients of figures of runs, each figure as in `run_values`, multiplied by `times`."""
    found: Values = {}
    for name, (above, below) in values.items():
        parts = run_values(lab, values={"above": above, "below": below})
        divisor = _number(parts["below"])
        found[name] = times * _number(parts["above"]) / divisor if divisor else None
    return found


def along(
    lab: Lab, *, experiment: str, designs: Sequence[str], wanted: str, per: float = 1
) -> Values:
    """A figure of each of several designs in order, and how often it rises, falls and stays.

    `slow:US` is the share of the reads of a logged run that take longer than so many microseconds.
    """
    column = []
    for design in designs:
        outcome = lab.outcome(experiment, design)
        if wanted.startswith("slow:"):
            if outcome.log is None:
                raise Unavailable("the run has no log")
            slow = outcome.log.slow[int(wanted.removeprefix("slow:"))]
            column.append(100 * slow / outcome.result.read.count)
            continue
        value = figure(lab, outcome.result, wanted)
        column.append(_number(value) / per)
    pairs = list(itertools.pairwise(column))
    return {
        "values": column,
        "rises": sum(after > before for before, after in pairs),
        "falls": sum(after < before for before, after in pairs),
        "stays": sum(after == before for before, after in pairs),
    }


def figure(lab: Lab, result: DesignResult, wanted: str) -> Value:
    """A figure of a run by its name; see `run_values`."""
    if wanted.startswith("counter:"):
        return lab.counter(result, wanted.removeprefix("counter:"))
    if wanted in FIGURES:
        return FIGURES[wanted](result)
    value: Any = result
    for name in wanted.split("."):
        # What has no meaning in a run, such as the times of no GC, has no figures either.
        value = None if value is None else getattr(value, name, MISSING)
        if value is MISSING:
            raise ConfigError(f'results have no "{wanted}"' + suggestion(wanted, FIGURES))
    found: Value = value
    return found


def _outstanding_write_us(result: DesignResult) -> float | None:
    """How long a write had been in the device when the run was ended because of it.

    0 of a run that came to its end; None if something else was amiss.
    """
    seconds = _described(result, r"a write, has been in the device for ([\d.]+) s")
    return None if seconds is None else seconds * 1e6


def _clock_us(result: DesignResult) -> float | None:
    """The drive's clock when a run got stuck; else the length of the measured part."""
    if result.stuck is None:
        return result.simulated_seconds * 1e6
    at_ns = _described(result, r"outstanding at (\d+) ns")
    return None if at_ns is None else at_ns / 1e3


def _described(result: DesignResult, pattern: str) -> float | None:
    """A number of the words in which a run says that it got stuck; 0 if it did not."""
    if result.stuck is None:
        return 0.0
    # Runs that were kept by earlier versions have both in one, and requests that "are outstanding".
    found = re.search(pattern, f"{result.stuck} {result.standstill or ''}")
    return None if found is None else float(found[1].replace(",", ""))


def _longest_write_us(result: DesignResult) -> float | None:
    """The longest write, completed or not, in microseconds."""
    outstanding = _outstanding_write_us(result)
    return None if outstanding is None else max(result.write.max_us or 0.0, outstanding)


def _requests(result: DesignResult) -> int:
    return result.read.count + result.write.count


def _mib_per_s(result: DesignResult) -> float | None:
    rate = result.throughput.makespan_mb_per_second
    return None if rate is None else rate * 1e6 / 2**20


# Figures that results do not have as they are, by the names that rows give them.
FIGURES: dict[str, Callable[[DesignResult], Value]] = {
    "requests": _requests,
    "requests_per_s": lambda result: result.throughput.served_per_second,
    "mib_per_s": _mib_per_s,
    "longest_write_us": _longest_write_us,
    "outstanding": lambda result: _described(result, r"([\d,]+) requests? (?:are )?outstanding"),
    "outstanding_write_us": _outstanding_write_us,
    "clock_us": _clock_us,
}


def requests_per_second(lab: Lab, *, experiment: str, design: str) -> Values:
    """How many requests of each kind and size a workload makes each second, from a run's log.

    A name is kind and bytes, such as `read_1536`. It is the rate between the first and the last.
    """
    log = lab.outcome(experiment, design).log
    if log is None or not log.requests:
        raise Unavailable("the run has no log of every request")
    times: dict[str, list[int]] = {}
    for request in log.requests:
        name = f"{request.kind}_{request.sectors * SECTOR_BYTES}"
        times.setdefault(name, []).append(request.arrived_ns)
    return {
        name: (len(at) - 1) / (max(at) - min(at)) * 1e9 if len(at) > 1 else None
        for name, at in times.items()
    }


def ratings(
    lab: Lab, *, experiment: str, designs: Mapping[str, str], tests: Sequence[Test]
) -> Values:
    """Ratings of designs: `value` of one design and test, else names such as `t_es_stress`."""
    found: Values = {
        f"{name}_{test}": lab.certification(experiment, design).rating(test)
        for name, design in designs.items()
        for test in tests
    }
    return found if len(found) > 1 else {"value": next(iter(found.values()))}


def drive_work(lab: Lab, *, experiment: str, design: str) -> Values:
    """What a run made its drive do, in numbers that say why it is as slow as it is.

    `write_amplification` is pages programmed for each of the host's. `erases_of_a_die` are those
    of a die each second, and `erasing_percent` the share of its time that they take undisturbed.
    `channel_percent` is the share of the channels' time that the pages of host and GC take at
    least, commands and read-modify-writes not counted. `reads_of_a_die` and `writes_per_s` are
    requests each second; `space_percent` is the share of the writes' time that was waiting for
    room in the buffer, and `queue_percent` the share of the reads' time in the host's queue.
    """
    result = lab.ending(experiment, design).result
    seconds, served_seconds = result.simulated_seconds, result.throughput.makespan_seconds
    if not served_seconds:
        raise Unavailable(f"nothing was measured of {design} in {experiment}")
    device = lab.device_of(experiment)
    geometry, timing = device["geometry"], device["timing"]
    dies = geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"]
    erases = result.erases / seconds / dies
    copy = catalog.design_value(lab.composition(experiment, design), "gc", "copy")
    crossings = 2 if copy == "controller" else 0
    pages = sum(result.series.read_bytes) / geometry["page_bytes"]
    pages += sum(result.series.host_pages) + crossings * sum(result.series.gc_pages)
    times, attribution = result.gc_times, result.attribution
    return {
        "write_amplification": result.write_amplification,
        "victims_percent": None if result.state is None else result.state.victim_valid_percent,
        "gc_mean_ms": None if times is None else times.mean_us / 1000,
        "gc_max_ms": None if times is None else times.max_us / 1000,
        "erases_of_a_die": erases,
        "erasing_percent": 100 * erases * timing["erase_step_ns"] * timing["erase_steps"] / 1e9,
        "channel_percent": 100
        * pages
        * timing["transfer_page_ns"]
        / (1e9 * seconds * geometry["channels"]),
        "reads_of_a_die": result.read.count / served_seconds / dies,
        "writes_per_s": result.write.count / served_seconds,
        "space_percent": _full_buffer_percent(attribution.all_writes),
        "queue_percent": attribution.all_reads.host_queue_percent,
        "write_max_ms": (result.write.max_us or 0.0) / 1000,
        "read_max_ms": (result.read.max_us or 0.0) / 1000,
    }


def _full_buffer_percent(group: AttributionGroup) -> float | None:
    """The share of the latency of a group of requests that was waiting for the write buffer."""
    total = sum(group.ns.values())
    waited = sum(ns for cause, ns in group.ns.items() if is_full_buffer(cause))
    return 100 * waited / total if total else None


def slowest_causes(lab: Lab, *, experiment: str, design: str, percent: float = 0.01) -> Values:
    """What the slowest reads of a run waited for: the largest causes, in µs for each read.

    `percent` is the share of the reads that they are: 1, 0.1 or 0.01.
    """
    result = lab.ending(experiment, design).result
    for tail in result.attribution.tails:
        if tail.share_percent == percent:
            shares = [share for share in tail.ranked() if share.percent >= 1]
            causes = [f"{share.cause} {share.mean_us:,.1f}" for share in shares[:CAUSES_NAMED]]
            return {
                "from_us": tail.latency_us_from,
                "mean_us": tail.mean_us,
                "causes": ", ".join(causes) or None,
            }
    raise ConfigError(f"results have no causes of the slowest {percent:g} %")


def preferences_met(result: DesignResult, writer: str) -> tuple[int, int]:
    """Preferences of `host's` or `GC's` writes for page classes, and how many were met."""
    made = met = 0
    for key, value in result.techniques.items():
        if key.startswith("page_choice/") and key.endswith(f": {writer} preferences"):
            made = value
        elif key.startswith("page_choice/") and key.endswith(f": {writer} preferences met"):
            met = value
    return made, met


def preferences_met_percent(result: DesignResult) -> float | None:
    """The share of all preferences for a page class that were met; None if there were none."""
    pairs = [preferences_met(result, writer) for writer in ("host's", "GC's")]
    made = sum(made for made, _ in pairs)
    return 100 * sum(met for _, met in pairs) / made if made else None


def first_failure(lab: Lab, *, experiment: str, design: str, test: Test) -> Values:
    """At which multiplier a design first fails a test of a certification, and by what.

    `value` and `limit` are of the condition that failed, in its `unit`.
    """
    step = lab.certification(experiment, design).failed(test)
    if step is None:
        raise Unavailable(f"{design} passed at every multiplier")
    failed = [each for each in step["conditions"] if test in each["tests"] and not each["passed"]]
    found: Values = {"multiplier": step["multiplier"], "reason": step["reason"]}
    found["write_amplification"] = step["write_amplification"]
    for key in ("name", "value", "limit", "unit"):
        # Of a run that got stuck, no condition says more than that.
        found[key] = failed[0][key] if failed else None
    return found


def experiment_design_fact(
    lab: Lab, *, experiment: str, design: str, setting: str, less_than_100: bool = False
) -> Values:
    """The same of a design as an experiment runs it, with the experiment's own overlays."""
    section, _, key = setting.partition(".")
    found = catalog.design_value(lab.composition(experiment, design), section, key)
    if found is None:
        raise Unavailable(f'the design "{design}" has no {section}.{key}')
    return {"value": 100 - found if less_than_100 else found}


def percentile_ratios(
    lab: Lab,
    *,
    experiments: Sequence[str],
    design: str,
    reference: str,
    percentiles: Sequence[str],
) -> Values:
    """Read latencies of a design as multiples of a reference's, in every experiment.

    Of one experiment and one percentile it is `value`; else each percentile is a list over the
    experiments, such as `p99`; `highest` is each experiment's largest ratio, and `least` and `most`
    are over all.
    """
    names = lab.paper.named(experiments)
    ratios: dict[str, list[float]] = {
        percentile: [
            _latency(lab.result(name, design), percentile)
            / _latency(lab.result(name, reference), percentile)
            for name in names
        ]
        for percentile in percentiles
    }
    if len(names) == len(percentiles) == 1:
        return {"value": ratios[percentiles[0]][0]}
    everything = [ratio for column in ratios.values() for ratio in column]
    highest = [max(column) for column in zip(*ratios.values(), strict=True)]
    return {**ratios, "highest": highest, "least": min(everything), "most": max(everything)}


def _latency(result: DesignResult, name: str) -> float:
    value: float | None = getattr(result.read, f"{name}_us")
    if not value:
        raise Unavailable(f"{result.design} has completed no read")
    return value


def read_percentile(result: DesignResult, percent: float) -> float:
    """A percentile of the read latencies, in microseconds.

    Raises:
        ConfigError: the results do not have that percentile.
        Unavailable: there was no read.
    """
    if percent not in result.distribution.percent:
        raise ConfigError(f"results have no {percent:g}th percentile")
    value = result.distribution.read_us[result.distribution.percent.index(percent)]
    if value is None:
        raise Unavailable(f"{result.design} has completed no read")
    return value


def blocked_percents(
    lab: Lab, *, experiments: Sequence[str], design: str, with_queue: bool = False
) -> Values:
    """The share of GC-blocked reads in every experiment, and with queue-blocked ones."""
    names = lab.paper.named(experiments)
    results = [lab.result(name, design) for name in names]
    blocked = [_number(result.gc_blocked_read_percent) for result in results]
    values: Values = {"blocked": blocked if len(names) > 1 else blocked[0]}
    if with_queue:
        queue = [_number(result.queue_blocked_read_percent) for result in results]
        # A read that waited for both is in both counts, so that their sum is an upper bound.
        values["total"] = [gc + full for gc, full in zip(blocked, queue, strict=True)]
    return values


def _number(value: Value) -> float:
    if not isinstance(value, int | float):
        raise Unavailable("no request was completed of which it could be told")
    return value


MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        along,
        device_facts,
        design_fact,
        design_facts,
        drive_work,
        first_failure,
        ratings,
        requests_per_second,
        run_ratios,
        run_values,
        slowest_causes,
        experiment_design_fact,
        percentile_ratios,
        blocked_percents,
        core_tests,
    )
}
