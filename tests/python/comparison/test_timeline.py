"""Timelines: names, windows, what Perfetto itself finds in them, and what goes wrong."""

from __future__ import annotations

import resource
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand, read_json, start
from fake_native import FakeNative, result
from tinytail.comparison.plan import Plan
from tinytail.inputs.names import timeline_window

ROOT = Path(__file__).parents[3]
RUN = ("--device", "ttflash-small", "--workload", "randrw70-qd16")
FAKE = ("--device", "ttflash-256g", "--workload", "dtrs")


@pytest.fixture(scope="module")
def perfetto() -> dict[str, Any]:
    """What the experiment has; skips loudly where the trace processor cannot run."""
    experiment = runpy.run_path(str(ROOT / "experiments" / "timeline_in_perfetto.py"))
    try:
        experiment["engine_folder"]()
    except experiment["UnavailableError"] as error:
        print(f"SKIPPED: Perfetto's trace processor was not asked: {error}")  # noqa: T201
        pytest.skip(str(error))
    return experiment


def test_perfetto_finds_what_the_run_says(
    command: RunCommand, perfetto: dict[str, Any], tmp_path: Path
) -> None:
    file, path = tmp_path / "out.json", tmp_path / "t.pftrace"
    words = ("compare", "base", "ttflash", *RUN, "--requests", "12000", "--seed", "3")
    assert command(*words, "--timeline", str(path), "--json", str(file)).code == 0
    for found in read_json(file)["results"]:
        trace = tmp_path / f"t.{found['design']}.pftrace"
        assert found["gc_count"] > 50
        assert found["timeline"] == {
            "path": str(trace),
            "slices": found["timeline"]["slices"],
            "gcs": found["gc_count"],
            "bytes": trace.stat().st_size,
            "error": None,
        }
        with perfetto["TraceProcessor"](trace) as processor:
            (facts,) = processor.query(
                "select count(*) as slices, sum(category = 'gc') as gcs,"
                " max(iif(category = 'read', dur, null)) as slowest_ns,"
                " sum(iif(category = 'read', dur, 0)) as reads_ns,"
                " sum(iif(category = 'segment', dur, 0)) as segments_ns"
                " from slice where dur > 0"
            )
            assert facts["gcs"] == found["gc_count"]
            assert facts["slices"] == found["timeline"]["slices"]
            assert facts["slowest_ns"] == found["read"]["max_us"] * 1000
            assert facts["reads_ns"] == facts["segments_ns"]
            # What it could not make sense of, it counts.
            assert (
                processor.query("select name from stats where value > 0 and severity != 'info'")
                == []
            )
            # Flows lead from a GC, or from a die that delayed a read.
            (flows,) = processor.query(
                "select count(*) as all_of_them, sum(o.category in ('gc', 'delay')) as begun,"
                " sum(i.category = 'segment') as ended from flow"
                " join slice o on flow.slice_out = o.id join slice i on flow.slice_in = i.id"
            )
            assert flows["all_of_them"] == flows["begun"] == flows["ended"] > 0
            (run,) = processor.query(
                "select extract_arg(arg_set_id, 'debug.event_hash') as hash,"
                " extract_arg(arg_set_id, 'debug.command') as command, dur"
                " from slice where category = 'run'"
            )
            assert run["hash"] == found["event_hash"]
            assert run["dur"] == round(found["simulated_seconds"] * 1e9)
            tracks = processor.query("select distinct name from track")
            names = {track["name"] for track in tracks}
            assert {"recorded", "slow reads", "channel 0", "plane 3", "plane 3 GC"} <= names
            # Base's GCs lock their channels, those of TTFLASH lock planes alone.
            locked = any(name is not None and name.endswith("locked") for name in names)
            assert locked == (found["design"] == "base")
            before = trace.read_bytes()
            trace.unlink()
            program, *arguments = shlex.split(run["command"])
            assert program == "tinytail"
            assert command(*arguments).code == 0
            assert trace.read_bytes() == before


def test_a_window_is_what_was_asked_for(command: RunCommand, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    words = (
        "compare",
        "base",
        *RUN,
        "--requests",
        "5000",
        "--timeline",
        str(tmp_path / "x.pftrace"),
    )
    assert command(*words, "--json", str(whole)).code == 0
    assert command(*words, "--timeline-window", "10ms..12ms", "--json", str(part)).code == 0
    one, other = (read_json(file)["results"][0] for file in (whole, part))
    assert one["event_hash"] == other["event_hash"]
    assert 0 < other["timeline"]["slices"] < one["timeline"]["slices"] / 5
    late = command(*words, "--timeline-window", "2000s..2001s", "--details")
    assert late.code == 0
    assert "the timeline holds nothing: its window begins at 2000 s" in " ".join(late.out.split())


@pytest.mark.parametrize(
    ("window", "ns"),
    [
        ("2s..2.1s", (2_000_000_000, 2_100_000_000)),
        ("0ns..1ns", (0, 1)),
        (" 1.5us .. 3 ms ", (1500, 3_000_000)),
    ],
)
def test_windows(window: str, ns: tuple[int, int]) -> None:
    assert timeline_window(window) == ns


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("2s", r'must be FROM..TO, such as 2s..2.1s, not "2s"'),
        ("2s..1s", 'the timeline window "2s..1s" ends before it begins'),
        ("2s..2000ms", "holds no time"),
        ("2..3s", '"2" in the timeline window "2..3s" has no unit; allowed: ns, us, ms, s'),
        ("2s..3msec", 'unknown unit "msec" in the timeline window "2s..3msec"; did you mean "ms"?'),
        ("2s..", '"" in the timeline window "2s.." is no time'),
        ("-2s..3s", '"-2s" in .* is no time'),
        ("0.5ns..3s", '"0.5ns" in .* is no whole number of nanoseconds'),
        ("0s..99999999999s", "more than simulated time can be"),
    ],
)
def test_bad_windows(command: RunCommand, window: str, message: str) -> None:
    with pytest.raises(tinytail.UsageError, match=message):
        timeline_window(window)
    outcome = command("compare", "base", *RUN, "--timeline", "x", f"--timeline-window={window}")
    assert outcome.code == 2


def test_names() -> None:
    def names(*designs: str, timeline: str, log: str | None = None) -> list[str]:
        plan = Plan(designs=designs, device="d", workload="w", timeline=timeline, log=log)
        return list(plan.timelines().values())

    assert names("base", timeline="x.pftrace") == ["x.pftrace"]
    assert names("base", "a/pb.toml+gtr", timeline="x.pftrace") == [
        "x.base.pftrace",
        "x.pb+gtr.pftrace",
    ]
    assert names("base", timeline="folder/", log="folder/") == ["folder/base.pftrace"]
    with pytest.raises(tinytail.UsageError, match="the timeline is a binary file and cannot go"):
        names("base", timeline="-")
    with pytest.raises(tinytail.UsageError, match="no timeline is wanted"):
        Plan(designs=("base",), device="d", workload="w", timeline_window="1s..2s").timelines()


def test_a_timeline_that_fails_keeps_the_results(command: RunCommand, native: FakeNative) -> None:
    why = "cannot write the timeline to x: No space left on device"
    failed = {"path": "x", "slices": 0, "gcs": 0, "bytes": 0, "error": why}
    native.runs = {"base": lambda spec, _: result(spec["design"], timeline=failed)}
    outcome = command("compare", "base", *FAKE, "--timeline", "x", "--timeline-window", "1s..2s")
    assert outcome.code == 1
    assert f"error: base: {why}" in outcome.err
    assert "p99.99" in outcome.out
    spec = native.specs[-1]["timeline"]
    assert spec["window_ns"] == [1_000_000_000, 2_000_000_000]
    assert spec["command"].endswith("--timeline x --timeline-window 1s..2s")


def test_a_full_disk_keeps_the_results_and_leaves_no_timeline(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    path = tmp_path / "x.pftrace"
    words = ("compare", "base", *RUN, "--requests", "30000", "--timeline", str(path))
    process = start(*words, preexec_fn=limit)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 1, err
    assert f"error: base: cannot write the timeline to {path}: File too large" in err
    assert "p99.9" in out
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    command: RunCommand, tmp_path: Path
) -> None:
    path = tmp_path / "none" / "x.pftrace"
    outcome = command("compare", "base", *RUN, "--requests", "999999999", "--timeline", str(path))
    assert outcome.code == 2
    assert f"cannot write {path} (--timeline): there is no directory" in outcome.err
