"""Measures that rows of any paper may name: facts of devices and designs, and figures of runs.

A measure takes the lab and the arguments that stand in the row, and returns named values. It reads
them from the engine; no value of a paper is in it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Any

from tinytail import engine
from tinytail.errors import ConfigError, TinytailError
from tinytail.reproduction.catalog import Measure
from tinytail.reproduction.conditions import Value
from tinytail.reproduction.lab import Lab, Unavailable
from tinytail.results import DesignResult

Values = dict[str, Value]


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
    document = engine.device_document(device)
    document["derived"] = engine.device_derived(device)
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
        found = engine.design_value(design, section, key)
    except TinytailError:
        raise Unavailable(f'needs the design "{design}"') from None
    if found is None:
        raise Unavailable(f'the design "{design}" has no {section}.{key}')
    return {"value": 100 - found if less_than_100 else found}


def experiment_design_fact(
    lab: Lab, *, experiment: str, design: str, setting: str, less_than_100: bool = False
) -> Values:
    """The same of a design as an experiment runs it, with the experiment's own overlays."""
    section, _, key = setting.partition(".")
    found = engine.design_value(lab.composition(experiment, design), section, key)
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


def _number(value: float | None) -> float:
    if value is None:
        raise Unavailable("no read was completed")
    return value


def core_tests(lab: Lab, *, tests: Sequence[str], package: str = "tinytail-core") -> Values:
    """Runs unit tests of the engine, from the sources that this package is in.

    It is for what only they can see: one decision, taken in one state of the drive.
    """
    if lab.tier == "quick":
        raise Unavailable("runs in the full tier only, since tests of the engine must be compiled")
    root = Path(__file__).parents[3]
    if not (root / "Cargo.toml").is_file() or which("cargo") is None:
        raise Unavailable("needs the sources and cargo: it is a unit test of the engine")
    passed = 0
    for test in tests:
        done = subprocess.run(
            ["cargo", "test", "--release", "--locked", "-p", package, "--lib", "--", test],
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        counts = re.search(r"(\d+) passed; (\d+) failed", done.stdout)
        if counts is None:
            raise Unavailable(f"cargo test {test}: {done.stderr.strip()[-300:]}")
        if counts[1] == counts[2] == "0":
            raise Unavailable(f'the engine has no unit test "{test}"')
        passed += int(counts[2] == "0")
    return {"passed": passed, "tests": len(tests)}


MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        device_facts,
        design_fact,
        experiment_design_fact,
        percentile_ratios,
        blocked_percents,
        core_tests,
    )
}
