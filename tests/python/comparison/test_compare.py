"""Running designs: threads, failures, interruption and what is asked of the native module."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tinytail
from endings import fail, interrupt_then_finish
from fake_native import FakeControl, FakeNative, result
from tinytail.comparison.plan import Plan
from tinytail.engine.jobs import DesignProgress
from tinytail.pictures import page

DRIVE: dict[str, Any] = {"device": "ttflash-256g", "workload": "dtrs"}


def test_results_come_in_the_order_of_the_designs(native: FakeNative) -> None:
    second_is_done = threading.Event()

    def first(spec: dict[str, Any], _control: FakeControl) -> dict[str, Any]:
        assert second_is_done.wait(10)
        return result(spec["design"])

    def second(spec: dict[str, Any], _control: FakeControl) -> dict[str, Any]:
        second_is_done.set()
        return result(spec["design"])

    native.runs = {"base": first, "ttflash": second}
    comparison = tinytail.compare(["base", "ttflash"], jobs=2, **DRIVE)
    assert [each.design for each in comparison.results] == ["base", "ttflash"]
    assert comparison.result("ttflash").read.p99_us == 1400.0
    assert not comparison.partial


def test_no_more_designs_run_at_once_than_jobs(native: FakeNative) -> None:
    running = threading.Semaphore(1)

    def run(spec: dict[str, Any], _control: FakeControl) -> dict[str, Any]:
        assert running.acquire(blocking=False), "two designs at once"
        running.release()
        return result(spec["design"])

    designs = ["base", "ttflash", "base+no-gc"]
    native.runs = dict.fromkeys(designs, run)
    comparison = tinytail.compare(designs, jobs=1, **DRIVE)
    assert len(comparison.results) == 3


def test_every_option_reaches_the_run_and_the_command(
    native: FakeNative, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    comparison = tinytail.compare(
        ["base"],
        device="ttflash-256g",
        workload="dtrs",
        requests=1000,
        seed=7,
        verify=True,
        time_unit="us",
        ops="write=0,read=1",
        format="disksim",
        state={"ageing": "steady", "live_percent": 80, "level_planes": True},
        unit="bytes",
        trace_device="8,16",
        event="Q",
        reorder_ms=5,
        queue_depth=32,
        transform=tinytail.Transform(window_s=(0.5, 10), scale_time=0.5, fit="fold"),
        log="logs/x.parquet",
        windows=50,
        timeline="run.pftrace",
        timeline_window="1s..1.5s",
    )
    alone = comparison.command
    assert native.specs == [
        {
            "device": "ttflash-256g",
            "design": "base",
            "workload": "dtrs",
            "trace": {
                "format": "disksim",
                "time_unit": "us",
                "ops": "write=0,read=1",
                "unit": "bytes",
                "trace_device": "8,16",
                "event": "Q",
                "reorder_ms": 5,
                "queue_depth": 32,
            },
            "transform": {"window_s": [0.5, 10], "scale_time": 0.5, "fit": "fold"},
            "requests": 1000,
            "seed": 7,
            "verify": True,
            "state": {"ageing": "steady", "live_percent": 80, "level_planes": True},
            "log": {"path": "logs/x.parquet", "command": f"{alone} --log logs/x.parquet"},
            "windows": 50,
            "timeline": {
                "path": "run.pftrace",
                "window_ns": [1_000_000_000, 1_500_000_000],
                "command": f"{alone} --timeline run.pftrace --timeline-window 1s..1.5s",
            },
        }
    ]
    assert comparison.command == (
        "tinytail compare base --device ttflash-256g --workload dtrs --format disksim "
        "--time-unit us --ops write=0,read=1 --unit bytes --trace-device 8,16 --event Q "
        "--reorder-ms 5 --queue-depth 32 --requests 1000 --seed 7 --verify --windows 50 "
        "--window-s 0.5 10 --scale-time 0.5 --fit fold "
        "--state ageing=steady --state live_percent=80 --state level_planes=true"
    )


def test_an_image_reaches_the_run_and_the_command(native: FakeNative) -> None:
    comparison = tinytail.compare(["base"], image=Path("my drive.image"), **DRIVE)
    assert native.specs[0]["image"] == "my drive.image"
    assert "state" not in native.specs[0]
    assert comparison.command.endswith("--image 'my drive.image'")


def test_one_failing_design_does_not_take_the_others_along(native: FakeNative) -> None:
    native.runs = {"ttflash": fail(tinytail.RunError("no free block"))}
    comparison = tinytail.compare(["base", "ttflash", "base+no-gc"], **DRIVE)
    assert [each.design for each in comparison.results] == ["base", "base+no-gc"]
    assert comparison.errors == (tinytail.types.DesignError("ttflash", "run", "no free block"),)


def test_a_stuck_run_is_an_error_with_a_result_and_not_an_interruption(
    native: FakeNative,
) -> None:
    stuck = "Requests stopped completing. GC 3 holds die 1"
    native.runs = {"base": lambda spec, _: result(spec["design"], stuck=stuck, partial=True)}
    comparison = tinytail.compare(["base"], **DRIVE)
    assert len(comparison.results) == 1
    assert comparison.errors == (
        tinytail.types.DesignError(
            "base", "run", "stopped: requests stopped completing. GC 3 holds die 1"
        ),
    )
    assert not comparison.partial
    assert not comparison.result("base").interrupted


@pytest.mark.parametrize("error", [tinytail.ConfigError, tinytail.WorkloadError, tinytail.RunError])
def test_without_any_result_the_error_is_raised(
    native: FakeNative, error: type[tinytail.TinytailError]
) -> None:
    native.runs = {"base": fail(error("because"))}
    with pytest.raises(error, match=r"^because$"):
        tinytail.compare(["base"], **DRIVE)


def test_a_panic_in_a_thread_is_reported(native: FakeNative) -> None:
    native.runs = {"base": fail(BaseException("index out of range"))}
    with pytest.raises(tinytail.RunError, match=r"internal error .*: index out of range"):
        tinytail.compare(["base"], **DRIVE)


def test_ctrl_c_keeps_what_was_measured(native: FakeNative) -> None:
    native.runs = {"base": interrupt_then_finish}
    with pytest.raises(tinytail.Interrupted) as caught:
        tinytail.compare(["base", "ttflash"], jobs=1, **DRIVE)
    comparison = caught.value.comparison
    assert isinstance(comparison, tinytail.Comparison)
    assert comparison.partial
    assert comparison.result("base").partial
    assert [(error.design, error.kind) for error in comparison.errors] == [
        ("ttflash", "interrupted")
    ]


def test_progress_is_reported(native: FakeNative) -> None:
    seen: list[DesignProgress] = []
    reported = threading.Event()

    def run(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        control.now = ("running", 30, 100)
        assert reported.wait(10)
        return result(spec["design"])

    def progress(designs: Any) -> None:
        seen.extend(designs)
        if designs[0].phase == "running":
            reported.set()

    native.runs = {"base": run}
    tinytail.compare(["base"], progress=progress, **DRIVE)
    assert DesignProgress("base", "running", "running", 30, 100) in seen
    assert seen[-1].status == "finished"


def test_a_failing_progress_callback_cancels_the_runs(native: FakeNative) -> None:
    cancelled = threading.Event()

    def run(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        assert control.cancelled.wait(10)
        cancelled.set()
        return result(spec["design"], partial=True)

    def progress(_designs: Any) -> None:
        raise ZeroDivisionError

    native.runs = {"base": run}
    with pytest.raises(ZeroDivisionError):
        tinytail.compare(["base"], progress=progress, **DRIVE)
    assert cancelled.wait(10)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan((), "ttflash-256g", "dtrs"), "no design given"),
        (Plan(("base", "base"), "ttflash-256g", "dtrs"), '"base" is given twice'),
        (
            Plan(("base", "ttflash"), "ttflash-256g", "dtrs", reference="ttflsh"),
            'reference "ttflsh" is not one of .*did you mean "ttflash"',
        ),
        (Plan(("bsae",), "ttflash-256g", "dtrs"), 'unknown design "bsae"'),
        (Plan(("base+nogc",), "ttflash-256g", "dtrs"), 'unknown overlay "nogc"'),
        (Plan(("base",), "ttflash", "dtrs"), 'unknown device "ttflash"'),
        (Plan(("base",), "ttflash-256g", "dtr"), 'unknown workload "dtr"'),
    ],
)
def test_bad_plans_are_refused_before_anything_runs(
    native: FakeNative, plan: Plan, message: str
) -> None:
    with pytest.raises(tinytail.TinytailError, match=message):
        plan.check()
    assert native.specs == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"designs": None}, r'designs must be a list of names, such as \["base"\], not None'),
        ({"designs": 1}, "designs must be a list of names"),
        ({"designs": b"base"}, "designs must be a list of names"),
        ({"designs": [1]}, r"designs\[0\] must be a name or a path, not 1"),
        ({"designs": ["base", None]}, r"designs\[1\] must be a name or a path, not None"),
        ({"designs": ["ba\ud800se"]}, r"designs\[0\] must be valid Unicode; .* character 3"),
        ({"device": None}, "device must be a name or a path, not None"),
        ({"device": "\udcff"}, "device must be valid Unicode"),
        ({"workload": 3}, "workload must be a name or a path, not 3"),
        ({"workload": "\ud800"}, "workload must be valid Unicode"),
        ({"requests": 0}, "requests must be a whole number from 1 .*, not 0"),
        ({"jobs": -1}, "jobs must be a whole number of at least 1, not -1"),
        ({"seed": -1}, "seed must be a whole number from 0 to .*, not -1"),
        ({"windows": 10_001}, "windows must be a whole number from 1 to 10000, not 10001"),
        ({"transform": {"repeat": 2}}, "transform must be a tinytail.Transform, not dict"),
        ({"requests": 2**64}, "requests must be a whole number from 1 to 18446744073709551615"),
        ({"requests": 1.5}, "requests must be a whole number .*, not 1.5"),
        ({"requests": True}, "requests must be a whole number .*, not True"),
        ({"requests": "5"}, "requests must be a whole number .*, not '5'"),
        ({"seed": 1.0}, "seed must be a whole number .*, not 1.0"),
        ({"seed": None}, "seed must be a whole number .*, not None"),
        ({"seed": 2**64}, "seed must be a whole number from 0 to 18446744073709551615"),
        ({"jobs": 1.5}, "jobs must be a whole number of at least 1, not 1.5"),
        ({"verify": "yes"}, "verify must be True or False, not 'yes'"),
        (
            {"time_unit": "usec"},
            "time_unit must be one of ns, 100ns, us, ms, s, min, h, iso8601, mdy, dmy, clock, "
            "not 'usec'",
        ),
        ({"time_unit": 3}, "time_unit must be one of .*, clock, not 3"),
        ({"ops": 3}, "ops must be text, not 3"),
        ({"format": 3}, "format must be text, not 3"),
        ({"unit": 3}, "unit must be text, not 3"),
        ({"skip_faulty": 3}, "skip_faulty must be text, not 3"),
        ({"trace_device": 3}, "trace_device must be text, not 3"),
        ({"event": "C"}, "event must be one of Q, I, D, G, not 'C'"),
        ({"reorder_ms": -1}, "reorder_ms must be a whole number from 0"),
        ({"queue_depth": 0}, "queue_depth must be a whole number from 1"),
        ({"reference": 3}, "reference must be text, not 3"),
        ({"image": 3}, "image must be a name or a path, not 3"),
        ({"image": ""}, "the name of the file is empty"),
        ({"state": "steady"}, "state must map keys to values, .*, not 'steady'"),
        ({"state": {"live_percent": []}}, r"state\['live_percent'\] must be a whole number .*"),
        ({"state": {3: 4}}, "a key of state must be text, not 3"),
        ({"state": {"live_percent": 4}, "image": "x"}, "state and image exclude each other"),
        ({"progress": 3}, "progress must be a function, not 3"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(
    native: FakeNative, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(tinytail.UsageError, match=message):
        tinytail.compare(**{"designs": ["base"], **DRIVE, **arguments})
    assert native.specs == []


def test_paths_and_other_integers_are_taken(native: FakeNative) -> None:
    class Index:
        def __index__(self) -> int:
            return 5

    some: Any = Index()
    tinytail.compare(
        [Path("base")], device=Path("ttflash-256g"), workload=Path("dtrs"), requests=some
    )
    (spec,) = native.specs
    taken = [spec[name] for name in ("design", "device", "workload", "requests")]
    assert taken == ["base", "ttflash-256g", "dtrs", 5]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tinytail.describe_device(None),  # type: ignore[arg-type]
        lambda: tinytail.describe_workload("\ud800"),
        lambda: tinytail.describe_trace(b"a.trace"),  # type: ignore[arg-type]
        lambda: tinytail.describe_trace(""),
        lambda: tinytail.describe_trace("a.trace", time_unit="week"),  # type: ignore[arg-type]
        lambda: tinytail.describe_trace("a.trace", ops=3),  # type: ignore[arg-type]
        lambda: tinytail.check_config(""),
        lambda: tinytail.describe_image(""),
        lambda: tinytail.create_image("", device="ttflash-256g", design="base"),
        lambda: tinytail.create_image("x", device="ttflash-256g", design="base", seed=-1),
        lambda: tinytail.create_image("x", device="ttflash-256g", design="base", ops=3),  # type: ignore[arg-type]
    ],
)
def test_other_functions_refuse_wrong_types_as_well(
    native: FakeNative, call: Callable[[], object]
) -> None:
    assert native
    with pytest.raises(tinytail.UsageError):
        call()


def test_a_single_name_is_not_taken_for_a_list_of_letters(native: FakeNative) -> None:
    with pytest.raises(tinytail.UsageError, match=r'such as \["base"\]'):
        tinytail.compare("base", **DRIVE)
    assert native.specs == []


def test_the_lists_are_typed(native: FakeNative) -> None:
    assert native
    assert tinytail.list_devices() == [tinytail.Entry("ttflash-256g", "the drive of a paper")]
    assert tinytail.list_designs()[1] == tinytail.Entry("no-gc", "never", "overlay")
    description = tinytail.describe_device("ttflash-256g")
    assert description.settings[0] == tinytail.types.Setting(
        "timing", "read_us", "40", "paper, table 1"
    )
    assert description.derived[0] == ("physical_bytes", "1024")


def test_a_design_without_result_is_told_of_by_its_reason_or_the_nearest_name(
    native: FakeNative,
) -> None:
    native.runs = {
        "base": fail(tinytail.ConfigError("the drive is too small")),
        "ttflash": lambda spec, _: result(spec["design"]),
        "base+no-gc": lambda spec, _: result(spec["design"]),
    }
    comparison = tinytail.compare(["base", "ttflash", "base+no-gc"], **DRIVE)
    with pytest.raises(tinytail.NoResultError) as failed:
        comparison.result("base")
    assert str(failed.value) == '"base" has no result: the drive is too small'
    assert isinstance(failed.value, KeyError)
    assert isinstance(failed.value, tinytail.TinytailError)
    with pytest.raises(KeyError, match='there is no result of "tflash"; did you mean "ttflash"'):
        comparison.result("tflash")


def test_a_reference_that_failed_is_not_announced_as_one(native: FakeNative) -> None:
    native.runs = {
        "base": fail(tinytail.RunError("it failed")),
        "ttflash": lambda spec, _: result(spec["design"]),
        "base+no-gc": lambda spec, _: result(spec["design"]),
    }
    comparison = tinytail.compare(["base", "ttflash", "base+no-gc"], **DRIVE)
    table = comparison.table(100)
    assert "reference" in table
    assert "base (it has no whole result: × is the ratio to ttflash)" in table
    assert "1.00×" in table
    assert "1.00×" in page.html(comparison).partition("The comparison")[2].partition("</table>")[0]
