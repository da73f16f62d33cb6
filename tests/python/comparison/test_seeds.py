"""Several seeds: what is run, how the results become one, and what intervals say."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from jsonschema import validate

import tinytail
from fake_native import FakeControl, FakeNative, result
from tinytail.comparison.result import DesignResult
from tinytail.comparison.run import together
from tinytail.engine.jobs import DesignProgress
from tinytail.verdict.noise import compare_within_noise
from tinytail.verdict.rows import table_rows
from tinytail.verdict.seeds import SAME_NOTE, TRACE_NOTE, combined, student

DRIVE: dict[str, Any] = {"device": "ttflash-256g", "workload": "dtrs"}


def seeded(spec: dict[str, Any], _control: FakeControl) -> dict[str, Any]:
    """A run whose latencies and counts follow its seed."""
    seed = spec.get("seed", 1)
    scale = 100.0 + seed
    hashed = {"seed": seed, "event_hash": f"{seed:016x}", "erases": 1000 + 10 * seed}
    return result(spec["design"], scale, **hashed)


def test_every_design_runs_with_every_seed(native: FakeNative) -> None:
    native.runs = dict.fromkeys(["base", "ttflash"], seeded)
    comparison = tinytail.compare(["base", "ttflash"], seed=3, seeds=4, **DRIVE)
    runs = sorted((spec["design"], spec.get("seed", 1)) for spec in native.specs)
    assert runs == [(design, seed) for design in ("base", "ttflash") for seed in (3, 4, 5, 6)]
    assert "--seed 3 --seeds 4" in comparison.command
    assert (comparison.seed, comparison.seeds) == (3, 4)
    base = comparison.result("base")
    assert [each.seed for each in base.replicates] == [3, 4, 5, 6]
    assert [each.event_hash for each in base.replicates] == [f"{s:016x}" for s in (3, 4, 5, 6)]
    validate(json.loads(comparison.to_json()), tinytail.read_schema("compare"))
    assert tinytail.Comparison.from_dict(comparison.to_dict()) == comparison


def test_figures_are_means_maxima_the_largest_and_attribution_the_sum(native: FakeNative) -> None:
    native.runs = {"base": seeded}
    base = tinytail.compare(["base"], seed=1, seeds=3, **DRIVE).result("base")
    assert base.read.p99_us == pytest.approx(1020.0)
    assert base.read.max_us == 400 * 103.0
    assert base.read.count == 113_071
    assert base.erases == 1020
    assert base.distribution.read_us == pytest.approx((102.0, 1020.0, 40_800.0))
    alone = DesignResult.from_dict(result())
    assert base.attribution.all_reads.count == 3 * alone.attribution.all_reads.count
    summed = sum(base.attribution.all_reads.ns.values())
    assert summed == 3 * sum(alone.attribution.all_reads.ns.values())
    assert (
        base.attribution.slowest_reads.host_queue_ns
        == 3 * alone.attribution.slowest_reads.host_queue_ns
    )
    assert TRACE_NOTE in base.notes


def test_a_tail_that_one_seed_does_not_know_is_left_out() -> None:
    runs = [result(seed=seed, event_hash=f"{seed:016x}") for seed in (1, 2)]
    (widest, *others) = (dict(tail) for tail in runs[0]["attribution"]["tails"])
    runs[1]["attribution"] = runs[1]["attribution"] | {"tails": others}
    tails = combined(runs)["attribution"]["tails"]
    assert widest["share_percent"] not in [tail["share_percent"] for tail in tails]
    found = [(tail["share_percent"], tail["count"]) for tail in tails]
    assert found == [(tail["share_percent"], 2 * tail["count"]) for tail in others]


def test_the_interval_is_students_of_the_mean_over_the_seeds(native: FakeNative) -> None:
    native.runs = {"base": seeded}
    base = tinytail.compare(["base"], seed=1, seeds=3, **DRIVE).result("base")
    interval = base.intervals["read.p99_us"]
    # The values are 1010, 1020 and 1030: a deviation of 10.
    half = 2.920 * 10 / 3**0.5
    assert (interval.low, interval.high) == pytest.approx((1020 - half, 1020 + half))
    assert (interval.method, interval.n, interval.level_percent) == ("seeds", 3, 90)
    assert "erases" in base.intervals
    assert "read.max_us" not in base.intervals


def test_a_percentile_of_too_few_requests_has_no_interval() -> None:
    def of(count: int) -> dict[str, Any]:
        document = result(event_hash=f"{count:016x}")
        return document | {"read": document["read"] | {"count": count}}

    enough = combined([of(10_000), of(10_001)])["intervals"]
    few = combined([of(9_999), of(10_001)])["intervals"]
    assert "read.p999_us" in enough
    assert "read.p999_us" not in few
    assert "read.p99_us" in few


def test_seeds_that_change_nothing_say_nothing() -> None:
    same = combined([result(seed=1), result(seed=2)])
    assert same["intervals"] == result()["intervals"]
    assert SAME_NOTE in same["notes"]


def test_a_seed_that_fails_is_told_and_the_others_count(native: FakeNative) -> None:
    def run(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        if spec.get("seed", 1) == 2:
            raise tinytail.RunError("it broke")
        return seeded(spec, control)

    native.runs = {"base": run}
    comparison = tinytail.compare(["base"], seeds=3, **DRIVE)
    assert [each.seed for each in comparison.result("base").replicates] == [1, 3]
    assert [error.message for error in comparison.errors] == ["seed 2: it broke"]


def test_what_fails_with_every_seed_is_told_once(native: FakeNative) -> None:
    def run(_spec: dict[str, Any], _control: FakeControl) -> dict[str, Any]:
        raise tinytail.RunError("it broke")

    native.runs = {"base": run, "ttflash": seeded}
    comparison = tinytail.compare(["base", "ttflash"], seeds=3, **DRIVE)
    assert [error.message for error in comparison.errors] == ["it broke"]


def test_runs_that_stopped_are_not_averaged(native: FakeNative) -> None:
    def run(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        document = seeded(spec, control)
        return document | ({"partial": True, "stuck": "a die"} if spec.get("seed", 1) == 1 else {})

    native.runs = {"base": run}
    base = tinytail.compare(["base"], seeds=3, **DRIVE).result("base")
    assert not base.partial
    assert [each.seed for each in base.replicates] == [2, 3]


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"seeds": 1001}, {"seeds": 1.5}, {"seeds": True}])
def test_seeds_are_a_whole_number(native: FakeNative, wrong: dict[str, Any]) -> None:
    with pytest.raises(tinytail.UsageError, match="seeds"):
        tinytail.compare(["base"], **DRIVE, **wrong)
    assert not native.specs


@pytest.mark.parametrize("kept", ["log", "timeline", "out"])
def test_what_keeps_one_run_goes_with_one_seed(native: FakeNative, kept: str) -> None:
    given: dict[str, Any] = {kept: "x"}
    with pytest.raises(tinytail.UsageError, match=f"seeds and {kept} exclude each other"):
        tinytail.compare(["base"], seeds=2, **DRIVE, **given)
    assert not native.specs


def test_progress_of_a_design_is_that_of_its_last_running_seed() -> None:
    finished = DesignProgress("base", "finished", "", 0, 0)
    running = DesignProgress("base", "running", "ageing", 3, 10)
    waiting = DesignProgress("base", "waiting", "", 0, 0)
    shown = together([finished, running, waiting])
    assert shown == DesignProgress("base", "running", "ageing", 3, 10, "1 of 3 seeds done")
    assert together([finished, finished]) == finished
    assert together([waiting, waiting]) == waiting
    assert together([finished, waiting]).status == "running"


def interval(low: float, high: float) -> dict[str, Any]:
    given = {"level_percent": 90, "method": "blocks", "n": 30}
    return {"read.p99_us": {"low": low, "high": high} | given}


def with_p99(value: float, low: float, high: float) -> DesignResult:
    document = result(intervals=interval(low, high))
    document["read"]["p99_us"] = value
    return DesignResult.from_dict(document)


def test_a_difference_within_what_both_intervals_explain_is_noise() -> None:
    reference = with_p99(100.0, 96.0, 103.0)
    # The sides that face each other are 3 and 4 wide, and 5 together.
    assert compare_within_noise(with_p99(105.0, 101.0, 115.0), reference, "read.p99_us") is True
    assert compare_within_noise(with_p99(105.1, 101.1, 115.0), reference, "read.p99_us") is False
    far = with_p99(105.1, 101.1, 115.0)
    assert compare_within_noise(reference, far, "read.p99_us") is False
    none = DesignResult.from_dict(result(intervals={}))
    assert compare_within_noise(none, reference, "read.p99_us") is None


def test_students_t_falls_towards_the_normal_quantile() -> None:
    values = [student(freedom) for freedom in range(1, 200)]
    assert all(one > other > 1.645 for one, other in pairwise(values))


def test_seeds_of_real_runs_are_the_runs_of_each_seed() -> None:
    def run(seed: int = 1, seeds: int = 1) -> DesignResult:
        comparison = tinytail.compare(
            ["base"],
            device="ttflash-small",
            workload="randrw70-qd16",
            requests=20_000,
            seed=seed,
            seeds=seeds,
        )
        return comparison.result("base")

    together = run(seeds=2)
    apart = [run(seed=1), run(seed=2)]
    assert [each.event_hash for each in together.replicates] == [a.event_hash for a in apart]
    assert together.read.p99_us == pytest.approx(sum(a.read.p99_us or 0 for a in apart) / 2)
    assert together.intervals["read.p99_us"].method == "seeds"
    blocks = apart[0].intervals["read.p99_us"]
    assert blocks.method == "blocks"
    assert blocks.low < (apart[0].read.p99_us or 0) < blocks.high


def test_few_windows_over_time_leave_the_intervals_as_they_are() -> None:
    def run(windows: int) -> DesignResult:
        comparison = tinytail.compare(
            ["base"],
            device="ttflash-small",
            workload="randrw70-qd16",
            requests=20_000,
            windows=windows,
        )
        return comparison.result("base")

    assert len(run(7).series.reads) <= 7
    assert run(7).intervals == run(200).intervals


def test_tables_say_how_far_figures_may_be_off(native: FakeNative) -> None:
    native.runs = {"base": lambda *_: result(), "ttflash": lambda *_: result("ttflash", 70.0)}
    comparison = tinytail.compare(["base", "ttflash"], **DRIVE)
    # 1.26 to 1.68 ms around 1.40 ms.
    row = next(row for row in table_rows(comparison) if row.label.strip() == "p99")
    assert row.margins == ["±20 %", "±20 %"]
    assert comparison.table(width=100).count("±20 %") >= 2
    narrow = comparison.table(width=40)
    assert all(len(line) <= 40 for line in narrow.splitlines())


def test_a_progress_function_that_raises_ends_the_runs(native: FakeNative) -> None:
    def run(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        assert control.cancelled.wait(10)
        return seeded(spec, control) | {"partial": True}

    def stop(_designs: object) -> None:
        raise KeyboardInterrupt

    native.runs = {"base": run}
    with pytest.raises(tinytail.Interrupted) as stopped:
        tinytail.compare(["base"], seeds=3, progress=stop, **DRIVE)
    comparison = stopped.value.comparison
    assert isinstance(comparison, tinytail.Comparison)
    assert comparison.partial
    assert comparison.result("base").partial
