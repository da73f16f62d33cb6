"""The log of every request: names, contents as another reader finds them, and what goes wrong."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import time
from pathlib import Path

import pytest
from pyarrow import parquet

import tinytail
from commands import RunCommand, read_json, start
from fake_native import FakeNative, result
from tinytail.comparison.plan import Plan

ROOT = Path(__file__).parents[3]
RUN = ("--device", "ttflash-small", "--workload", "randrw70-qd16")
FAKE = ("--device", "ttflash-256g", "--workload", "dtrs")


def about(path: Path) -> dict[str, str]:
    pairs = parquet.read_metadata(path).metadata
    return {key.decode().removeprefix("tinytail."): value.decode() for key, value in pairs.items()}


def test_what_killed_runs_left_of_a_file_is_removed_by_the_next_one(
    command: RunCommand, tmp_path: Path
) -> None:
    log, file, timeline = (tmp_path / name for name in ("l.parquet", "r.json", "t.pftrace"))
    outputs = ("--log", str(log), "--json", str(file), "--timeline", str(timeline))
    process = start("compare", "base", *RUN, "--requests", "500000000", *outputs)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if any(path.stat().st_size > 100_000 for path in tmp_path.glob(".l.parquet.*.tmp")):
            break
        time.sleep(0.05)
    # It stands still, so that nothing but its locks tells that it is alive.
    process.send_signal(signal.SIGSTOP)
    alive = list(tmp_path.iterdir())
    assert len(alive) == 2
    for path in alive:
        os.utime(path, (0, 0))
    words = ("compare", "base", *RUN, "--requests", "900", *outputs)
    assert command(*words).code == 0
    assert set(tmp_path.iterdir()) == {log, file, timeline, *alive}
    process.kill()
    process.communicate(timeout=60)
    (tmp_path / ".r.json.0123abcd.tmp").touch()
    others = [
        tmp_path / f".{name}.tmp" for name in ("r.json.mine", "other.json.0123abcd", "r.json")
    ]
    for path in others:
        path.touch()
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    just_made = tmp_path / ".r.json.76543210.tmp"
    just_made.touch()
    assert command(*words).code == 0
    assert set(tmp_path.iterdir()) == {log, file, timeline, just_made, *others}


def test_another_reader_finds_what_the_results_say(command: RunCommand, tmp_path: Path) -> None:
    log, file = tmp_path / "log.parquet", tmp_path / "out.json"
    words = ("compare", "base", "base+no-gc", *RUN, "--requests", "70000", "--seed", "3")
    assert command(*words, "--log", str(log), "--json", str(file)).code == 0
    for found in read_json(file)["results"]:
        path = tmp_path / f"log.{found['design']}.parquet"
        assert found["log"] == {
            "path": str(path),
            "requests": 70_000,
            "bytes": path.stat().st_size,
            "error": None,
        }
        table = parquet.read_table(path)
        assert sum(column.null_count for column in table.columns) == 0
        columns = table.to_pydict()
        assert sorted(columns["id"]) == list(range(70_000))
        assert columns["completed_ns"] == sorted(columns["completed_ns"])
        reads = [row for row, kind in enumerate(columns["kind"]) if kind == "read"]
        assert len(reads) == found["read"]["count"]
        assert max(columns["latency_ns"][row] for row in reads) == found["read"]["max_us"] * 1000
        causes = [name for name in columns if name.endswith("_ns")][6:]
        assert causes[:2] == ["overhead_wait_ns", "buffer_wait_ns"]
        assert len(causes) == 62
        in_host = [columns["host_queue_ns"][row] for row in reads]
        assert [ns > 0 for ns in in_host] == [columns["queue_blocked"][row] for row in reads]
        assert sum(in_host) == found["attribution"]["all_reads"]["host_queue_ns"]
        for cause in causes:
            assert sum(columns[cause][row] for row in reads) == found["attribution"]["all_reads"][
                "ns"
            ].get(cause.removesuffix("_ns"), 0)
        facts = about(path)
        for key in ("design", "device", "event_hash", "version"):
            assert facts[key] == found[key]
        assert (facts["seed"], facts["partial"]) == ("3", "false")
        assert json.loads(facts["state"]) == found["state"]


def test_the_command_in_a_log_writes_it_again(command: RunCommand, tmp_path: Path) -> None:
    words = ("compare", "base", "base+no-gc", *RUN, "--requests", "3000", "--reference", "base")
    assert command(*words, "--log", str(tmp_path)).code == 0
    path = tmp_path / "base+no-gc.parquet"
    before = path.read_bytes()
    path.unlink()
    program, *arguments = shlex.split(about(path.with_name("base.parquet"))["command"])
    assert program == "tinytail"
    assert arguments[:2] == ["compare", "base"]
    program, *arguments = shlex.split(parquet_command(before, tmp_path))
    assert command(*arguments).code == 0
    assert path.read_bytes() == before


def parquet_command(content: bytes, folder: Path) -> str:
    copy = folder / "copy"
    copy.write_bytes(content)
    return about(copy)["command"]


@pytest.mark.parametrize(
    ("designs", "log", "names"),
    [
        (["base"], "x.parquet", ["x.parquet"]),
        (["base"], "x", ["x"]),
        (
            ["base", "base+no-gc"],
            "a.b/x.parquet",
            ["a.b/x.base.parquet", "a.b/x.base+no-gc.parquet"],
        ),
        (["base", "base+no-gc"], "x", ["x.base", "x.base+no-gc"]),
        (["base"], "folder/", ["folder/base.parquet"]),
        (["designs/base.toml+no-gc"], "folder/", ["folder/base+no-gc.parquet"]),
    ],
)
def test_names(designs: list[str], log: str, names: list[str]) -> None:
    plan = Plan(designs=tuple(designs), device="d", workload="w", log=log)
    assert plan.logs() == dict(zip(designs, names, strict=True))


def test_two_logs_of_one_name_and_standard_output_are_refused() -> None:
    same = Plan(designs=("a/x.toml", "b/x.toml"), device="d", workload="w", log="log")
    with pytest.raises(tinytail.UsageError, match=r'"a/x.toml" and "b/x.toml" would both be log.x'):
        same.logs()
    with pytest.raises(tinytail.UsageError, match="cannot go to standard output"):
        Plan(designs=("base",), device="d", workload="w", log="-").logs()


def test_a_log_that_fails_keeps_the_results(
    command: RunCommand, native: FakeNative, tmp_path: Path
) -> None:
    why = "cannot write the log to x: No space left on device"
    failed = {"path": "x", "requests": 0, "bytes": 0, "error": why}
    native.runs = {"base": lambda spec, _: result(spec["design"], log=failed)}
    file = tmp_path / "out.json"
    outcome = command("compare", "base", *FAKE, "--log", "x", "--json", str(file))
    assert outcome.code == 1
    assert f"error: base: {why}" in outcome.err
    assert "p99.99" in outcome.out
    assert len(read_json(file)["results"]) == 1
    comparison = tinytail.compare(["base"], device="ttflash-256g", workload="dtrs", log="x")
    log = comparison.result("base").log
    assert log is not None
    assert log.error == why


def test_a_full_disk_keeps_the_results_and_leaves_no_log(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    log = tmp_path / "log.parquet"
    words = ("compare", "base", *RUN, "--requests", "200000", "--log", str(log))
    process = start(*words, preexec_fn=limit)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 1, err
    assert f"error: base: cannot write the log to {log}: File too large" in err
    assert "p99.99" in out
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_cannot_be_written_is_refused_before_the_run(
    command: RunCommand, tmp_path: Path
) -> None:
    path = tmp_path / "none" / "log.parquet"
    outcome = command("compare", "base", *RUN, "--requests", "999999999", "--log", str(path))
    assert outcome.code == 2
    assert f"cannot write {path} (--log): there is no directory {path.parent}" in outcome.err


def test_ctrl_c_leaves_a_valid_log_that_is_marked(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    process = start("compare", "base", *RUN, "--requests", "500000000", "--log", str(log))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if any(path.stat().st_size > 100_000 for path in tmp_path.glob(".log.parquet.*.tmp")):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert list(tmp_path.iterdir()) == [log]
    assert about(log)["partial"] == "true"
    assert parquet.read_table(log).num_rows > 30_000
