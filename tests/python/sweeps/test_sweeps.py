"""Sweeps: each point is what a comparison gives, is run once, and is never lost."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pyarrow.parquet
import pytest

import tinytail
from commands import RunCommand, start
from soak import SOAK
from tinytail.comparison.write_folder import manifest_checksum
from tinytail.engine import catalog, native
from tinytail.errors import ConfigError, OutputError, ResultsError, UsageError
from tinytail.sweeps import cells, dataset, run
from tinytail.sweeps.file import read_plan
from tinytail.sweeps.plan import plan
from tinytail.sweeps.rows import FIGURES, columns
from tinytail.sweeps.view import margin

FIXED: dict[str, Any] = {
    "device": "ttflash-small",
    "designs": ["base", "ttflash"],
    "workload": "randrw70-qd16",
    "requests": 2000,
}
AXES: dict[str, Any] = {"synthetic.queue_depth": [1, 8], "gc.reserve_blocks": [1, 2]}
# What no run repeats.
TIMES = {"cpu_seconds", "result"}
SWEEP = """
device = "ttflash-small"
designs = ["base", "ttflash"]
workload = "randrw70-qd16"
requests = {requests}
seeds = 3
[axes]
synthetic.queue_depth = {{ from = 1, to = 8, factor = 2 }}
gc.reserve_blocks = [1, 2]
"""
POINTS = 4 * 2 * 2 * 3


def rows(found: tinytail.Sweep) -> list[dict[str, Any]]:
    """The rows of a sweep, without times, in a fixed order."""
    table = found.to_arrow().to_pylist()
    kept = [{key: value for key, value in row.items() if key not in TIMES} for row in table]
    return sorted(kept, key=lambda row: str(row["point"]))


def row(found: tinytail.Sweep, **values: Any) -> dict[str, Any]:
    [one] = [
        each
        for each in found.to_arrow().to_pylist()
        if all(each[name] == value for name, value in values.items())
    ]
    return dict(one)


def test_each_point_is_what_a_comparison_gives() -> None:
    swept = tinytail.sweep(AXES, **FIXED, seeds=2)
    assert len(swept) == 16
    for depth in AXES["synthetic.queue_depth"]:
        settings = {"synthetic.queue_depth": depth, "gc.reserve_blocks": 2}
        compared = tinytail.compare(**FIXED, settings=settings, seed=2)
        for result in compared.results:
            found = row(swept, design=result.design, seed=2, **settings)
            assert found["event_hash"] == result.event_hash
            assert found["read.p99_us"] == result.read.p99_us
            assert found["erases"] == result.erases
            assert found["error"] is None


def test_designs_of_one_combination_use_the_addresses_that_all_can_hold() -> None:
    # With parity this drive is smaller.
    settings = {"host.over_provisioning_percent": 7}
    made = plan({"gc.reserve_blocks": [1, 2]}, **FIXED | {"settings": settings})
    beside = {(point.spec.design, point.spec.beside) for point in made}
    assert beside == {("base", ("ttflash",)), ("ttflash", ())}
    # Each for itself, where designs are an axis.
    apart = {key: value for key, value in FIXED.items() if key != "designs"}
    made = plan({"design": FIXED["designs"]}, **apart, settings=settings)
    assert {point.spec.beside for point in made} == {()}


def test_the_number_of_jobs_and_the_order_change_nothing() -> None:
    one = tinytail.sweep(AXES, **FIXED, jobs=1)
    two = tinytail.sweep(AXES, **FIXED, jobs=2)
    assert one.to_arrow()["point"] == two.to_arrow()["point"]
    other = tinytail.sweep(dict(reversed(AXES.items())), **FIXED)
    assert rows(one) == rows(two) == rows(other)


def test_the_command_of_a_point_gives_its_figures(command: RunCommand, tmp_path: Path) -> None:
    swept = tinytail.sweep({"gc.reserve_blocks": [2], "no_warm_up": [True, False]}, **FIXED)
    found = row(swept, design="ttflash", no_warm_up=True)
    words = found["command"].split()
    json_file = tmp_path / "results.json"
    assert command(*words[1:], "--json", str(json_file)).code == 0
    [result] = json.loads(json_file.read_text())["results"]
    assert result["event_hash"] == found["event_hash"]


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    real = run.run_point

    def counted(spec: Any, *others: Any) -> Any:
        ran.append(spec.design)
        return real(spec, *others)

    monkeypatch.setattr(run, "run_point", counted)
    first = tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    assert len(ran) == 8
    again = tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    assert len(ran) == 8
    assert rows(again) == rows(first)
    # A value more on an axis, or a seed more, costs the new points alone.
    more = tinytail.sweep(AXES | {"gc.reserve_blocks": [1, 2, 3]}, **FIXED, out=tmp_path / "s")
    assert (len(ran), len(more)) == (12, 12)
    fewer = tinytail.sweep(AXES | {"gc.reserve_blocks": [2]}, **FIXED, out=tmp_path / "s")
    assert (len(ran), len(fewer)) == (12, 4)
    # What was taken away stays in the files, and is shown no more.
    assert len(tinytail.read_sweep(tmp_path / "s")) == 4
    assert pyarrow.parquet.read_table(tmp_path / "s" / "points").num_rows == 12


def test_other_libraries_read_the_dataset(tmp_path: Path) -> None:
    import polars

    swept = tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    read = polars.read_parquet(tmp_path / "s" / "points", hive_partitioning=True)
    assert sorted(read["point"]) == sorted(swept.to_polars()["point"])
    assert set(read["design"]) == {"base", "ttflash"}
    assert {column.name for column in FIGURES} < set(read.columns)
    document = json.loads(read["result"][0])
    assert document["design"] in ("base", "ttflash")


def test_a_percentile_that_too_few_requests_lie_beyond_has_no_value() -> None:
    swept = tinytail.sweep({"requests": [200, 4000]}, **{**FIXED, "requests": None})
    few, many = (row(swept, design="base", requests=count) for count in (200, 4000))
    assert few["read.p99_us"] is None
    assert few["read.p50_us"] is not None
    assert many["read.p99_us"] is not None


def test_a_point_that_fails_has_a_row_with_its_error() -> None:
    with pytest.warns(UserWarning, match="can't run with base, ttflash: these points are recorded"):
        swept = tinytail.sweep({"gc.reserve_blocks": [1, 60]}, **FIXED)
    assert (len(swept), swept.failed) == (4, 2)
    bad = row(swept, design="base", **{"gc.reserve_blocks": 60})
    assert bad["error_kind"] == "config"
    assert bad["error"]
    assert bad["read.mean_us"] is None
    assert bad["command"].startswith("tinytail compare base")


def test_failed_points_are_run_again_when_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = run.run_point

    def failing(spec: Any, *others: Any) -> Any:
        if spec.design == "base":
            return {"error_kind": "run", "error": "the disk was full", "result": None}
        return real(spec, *others)

    monkeypatch.setattr(run, "run_point", failing)
    broken = tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    assert broken.failed == 4
    monkeypatch.setattr(run, "run_point", real)
    assert tinytail.sweep(AXES, **FIXED, out=tmp_path / "s").failed == 4
    mended = tinytail.sweep(AXES, **FIXED, out=tmp_path / "s", retry_failed=True)
    assert (len(mended), mended.failed) == (8, 0)
    assert rows(mended) == rows(tinytail.sweep(AXES, **FIXED))


def test_a_run_that_is_killed_loses_no_point_and_runs_none_twice(
    command: RunCommand, tmp_path: Path
) -> None:
    file, folder = tmp_path / "s.toml", tmp_path / "s"
    file.write_text(SWEEP.format(requests=20_000))
    process = start("sweep", str(file))
    journal = folder / dataset.JOURNAL
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 5):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # Half a line, as a crash may leave it.
    with journal.open("ab") as content:
        content.write(b'{"point": "abc')
    before = [json.loads(line)["point"] for line in journal.read_bytes().splitlines()[:-1]]
    assert 5 <= len(before) < POINTS
    partly = tinytail.read_sweep(folder)
    assert partly.partial
    assert "PARTIAL" in partly.table()
    assert set(partly.to_arrow()["point"].to_pylist()) == set(before)
    assert command("sweep", str(file)).code == 0
    found = tinytail.read_sweep(folder).to_arrow()["point"].to_pylist()
    assert len(found) == len(set(found)) == POINTS
    assert set(before) <= set(found)
    # The rows of what had ended were not made anew: times are those of the first run.
    assert journal.read_bytes() == b""


def test_an_interrupt_keeps_what_has_ended(command: RunCommand, tmp_path: Path) -> None:
    file, folder = tmp_path / "s.toml", tmp_path / "s"
    file.write_text(SWEEP.format(requests=20_000))
    process = start("sweep", str(file))
    journal = folder / dataset.JOURNAL
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in err
    ended = len(tinytail.read_sweep(folder))
    assert 3 <= ended < POINTS
    assert command("sweep", str(file)).code == 0
    assert len(tinytail.read_sweep(folder)) == POINTS


def test_an_interrupt_in_python_holds_the_points_that_have_ended() -> None:
    def progress(told: Any) -> None:
        if told[0].done >= 2:
            os.kill(os.getpid(), signal.SIGINT)

    axes = {"synthetic.queue_depth": list(range(1, 40))}
    with pytest.raises(tinytail.Interrupted) as found:
        tinytail.sweep(axes, **FIXED | {"requests": 20_000}, progress=progress)
    partial = found.value.comparison
    assert isinstance(partial, tinytail.Sweep)
    assert partial.partial
    assert 1 <= len(partial) < 78


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"requests": 3000}, "requests is 2000 there, and 3000 here"),
        ({"state": {"live_percent": 30}}, "state is {} there"),
        ({"workload": "zipf"}, 'workload is "randrw70-qd16" there, and "zipf" here'),
        (
            {"axes": {"synthetic.queue_depth": [1]}},
            "its axes are synthetic.queue_depth, gc.reserve_blocks, not",
        ),
    ],
)
def test_another_sweep_in_the_way_is_refused(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    axes = changed.pop("axes", AXES)
    with pytest.raises(UsageError, match="holds another sweep") as found:
        tinytail.sweep(axes, **FIXED | changed, out=tmp_path / "s")
    assert said in str(found.value)


def test_a_file_that_has_changed_is_another_sweep(tmp_path: Path) -> None:
    device = tmp_path / "mine.toml"
    device.write_text(catalog.file_text("device", "ttflash-small"))
    fixed = FIXED | {"device": str(device)}
    tinytail.sweep({"gc.reserve_blocks": [1]}, **fixed, out=tmp_path / "s")
    changed = catalog.file_text("device", "ttflash-small", settings=["host.queue_depth=7"])
    device.write_text(changed)
    with pytest.raises(UsageError, match=r"mine\.toml has changed since"):
        tinytail.sweep({"gc.reserve_blocks": [1]}, **fixed, out=tmp_path / "s")


def test_what_is_no_dataset_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(
        UsageError, match=r"holds letter\.txt and no sweep\.json: give another folder"
    ):
        tinytail.sweep(AXES, **FIXED, out=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(ResultsError, match="holds no sweep"):
        tinytail.read_sweep(tmp_path)
    with pytest.raises(OutputError, match="Not a directory"):
        tinytail.sweep(AXES, **FIXED, out=tmp_path / "letter.txt" / "s")


def changed(document: dict[str, Any], change: dict[str, Any]) -> str:
    """Return what says that a sweep is another one, with the checksum that it has then."""
    other = document | change
    return json.dumps(other | {"crc32": manifest_checksum(other)})


def test_a_dataset_of_another_build_is_refused(tmp_path: Path) -> None:
    tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    manifest = tmp_path / "s" / dataset.MANIFEST
    document = json.loads(manifest.read_text())
    manifest.write_text(changed(document, {"build": "other"}))
    with pytest.raises(UsageError, match="another build of tinytail"):
        tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    assert len(tinytail.read_sweep(tmp_path / "s")) == 8
    manifest.write_text(json.dumps(document | {"schema_version": 99}))
    with pytest.raises(ResultsError, match="its schema is version 99"):
        tinytail.read_sweep(tmp_path / "s")
    for text in ("{", json.dumps(document | {"seed": 5})):
        manifest.write_text(text)
        with pytest.raises(ResultsError, match="is damaged") as found:
            tinytail.read_sweep(tmp_path / "s")
        remedy = str(found.value).rpartition(": ")[2]
        subprocess.run(remedy, shell=True, check=True)
        assert json.loads(manifest.read_text()) == document


def test_two_processes_do_not_add_to_one_dataset(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SWEEP.format(requests=200_000))
    process = start("sweep", str(file))
    try:
        while not (tmp_path / "s" / dataset.MANIFEST).exists():
            assert process.poll() is None
            time.sleep(0.01)
        other = start("sweep", str(file))
        _, err = other.communicate(timeout=60)
        assert other.returncode == 2
        assert "another process adds to" in err
    finally:
        process.kill()
        process.communicate()


def test_a_full_disk_loses_nothing_that_was_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dataset.Dataset.add
    count = 0

    class Full:
        """A journal whose disk is full after some lines."""

        def __init__(self, file: Any) -> None:
            self._file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def write(self, line: bytes) -> int:
            nonlocal count
            count += 1
            if count > 3:
                self._file.write(line[:10])
                self._file.flush()
                raise OSError(28, "No space left on device")
            return int(self._file.write(line))

    def add(self: Any, record: Any) -> None:
        if not isinstance(self._journal, Full):
            self._journal = Full(self._journal)
        real(self, record)

    monkeypatch.setattr(dataset.Dataset, "add", add)
    with pytest.raises(OutputError, match="No space left on device"):
        tinytail.sweep(AXES, **FIXED, out=tmp_path / "s", jobs=1)
    monkeypatch.setattr(dataset.Dataset, "add", real)
    assert len(tinytail.read_sweep(tmp_path / "s")) == 3
    assert rows(tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")) == rows(
        tinytail.sweep(AXES, **FIXED)
    )


def test_seeds_and_points_that_were_taken_away_count_no_more(tmp_path: Path) -> None:
    axes = {"synthetic.queue_depth": [8]}
    out = tmp_path / "s"
    tinytail.sweep(axes, **FIXED, seeds=3, out=out)
    one = tinytail.sweep(axes, **FIXED, seeds=1, out=out)
    assert one.cells("erases") == tinytail.read_sweep(out).cells("erases")
    assert {cell.runs for cell in one.cells("erases")} == {1}
    # The same rows twice, as a copied file leaves them.
    [part] = (out / "points" / "design=base").glob("*.parquet")
    part.with_name(part.name.replace("00001", "00009")).write_bytes(part.read_bytes())
    assert tinytail.read_sweep(out).cells("erases") == one.cells("erases")


def test_a_cell_says_of_how_many_seeds_it_is_if_some_lack_the_figure() -> None:
    # Of 3,000 requests some 900 are writes: just fewer than a p99 needs with some seeds.
    swept = tinytail.sweep({"requests": [3330]}, **FIXED | {"requests": None}, seeds=8)
    counts = swept.to_arrow()["write.count"].to_pylist()
    enough = sum(count >= 1000 for count in counts) // 2
    assert 0 < enough < 8, counts
    assert f"({enough} of 8)" in swept.table("write.p99_us")


def test_a_negative_mean_has_its_true_margin() -> None:
    cell = cells.Cell({}, -134.3, -335.8, 67.1, 3, 0, ())
    assert margin(cell) == " >±100 %"
    assert margin(replace(cell, low=-140.0, high=-128.6)) == " ±4 %"


def test_of_throughput_more_is_better_at_a_front(swept: Path) -> None:
    found = tinytail.read_sweep(swept)
    served = "throughput.served_per_second"
    for choices in found.choices(served, "erases"):
        most = max(range(len(choices.points)), key=lambda place: choices.points[place][0])
        fastest = [choices.x[place] for place in choices.best]
        # Some of the front is as fast as the fastest, but for chance.
        assert any(not cell.is_less(choices.x[most]) for cell in fastest)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (b"garbage\n", "journal.jsonl, line 1, is damaged: "),
        (b"{}\n", "line 1, is damaged: its checksum differs. Without the line its point is run"),
        (b'{"crc32":2745614147,}\n', "line 1, is damaged: "),
        (b"[1]\n", "line 1, is damaged"),
        (b"\xff\x00\n", "line 1, is damaged"),
    ],
)
def test_a_damaged_journal_is_told_with_its_line(tmp_path: Path, damage: bytes, said: str) -> None:
    out = tmp_path / "s"
    tinytail.sweep(AXES, **FIXED, out=out)
    (out / dataset.JOURNAL).write_bytes(damage)
    for act in (tinytail.read_sweep, lambda folder: tinytail.sweep(AXES, **FIXED, out=folder)):
        with pytest.raises(ResultsError) as found:
            act(out)
        assert said in str(found.value)


def test_a_damaged_file_of_rows_is_told_and_left(tmp_path: Path) -> None:
    out = tmp_path / "s"
    tinytail.sweep(AXES, **FIXED, out=out)
    part = next(out.glob("points/*/*.parquet"))
    for damage in (b"", part.read_bytes()[:300], b"x" * 3000):
        part.write_bytes(damage)
        for act in (tinytail.read_sweep, lambda folder: tinytail.sweep(AXES, **FIXED, out=folder)):
            with pytest.raises(ResultsError):
                act(out)
    part.unlink()
    assert len(tinytail.sweep(AXES, **FIXED, out=out)) == 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seeds": "x"}, "is damaged"),
        ({"axes": [[{"name": "x", "values": []}]]}, "is damaged: an axis has no values"),
        ({"axes": 3}, "is damaged"),
    ],
)
def test_a_damaged_manifest_is_told(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    out = tmp_path / "s"
    tinytail.sweep(AXES, **FIXED, out=out)
    manifest = out / dataset.MANIFEST
    for name in (dataset.MANIFEST, dataset.COPY):
        (out / name).write_text(changed(json.loads(manifest.read_text()), change))
    with pytest.raises(ResultsError) as found:
        tinytail.read_sweep(out)
    assert said in str(found.value)
    assert "runs all points again" in str(found.value)


def test_an_axis_keeps_the_type_that_its_column_has(tmp_path: Path) -> None:
    out = tmp_path / "s"
    tinytail.sweep({"synthetic.read_share": [0, 1]}, **FIXED, out=out)
    with pytest.raises(UsageError, match="are of type int64 there, and double here"):
        tinytail.sweep({"synthetic.read_share": [0, 0.5, 1]}, **FIXED, out=out)


def test_a_design_that_is_a_file_may_be_added(tmp_path: Path) -> None:
    overlay = tmp_path / "more.toml"
    overlay.write_text('kind = "overlay"\nsummary = "more"\n[gc]\nwrite_points = 2\n')
    fixed = FIXED | {"designs": ["base"]}
    tinytail.sweep(AXES, **fixed, out=tmp_path / "s")
    both = fixed | {"designs": ["base", f"base+{overlay}"]}
    assert len(tinytail.sweep(AXES, **both, out=tmp_path / "s")) == 8
    far = fixed | {"designs": [f"base+{'x' * 100}/{'y' * 200}.toml"]}
    with pytest.raises(UsageError, match="has a name of"):
        dataset.Dataset(str(tmp_path / "t"), plan(AXES, **far))


def test_values_that_can_not_run_hide_none_that_can() -> None:
    axes = {"device": ["nope", "ttflash-small"], "synthetic.queue_depth": list(range(1, 102))}
    fixed = {key: value for key, value in FIXED.items() if key != "device"}
    [note] = plan(axes, **fixed).check()
    assert "device = nope can't run with base, ttflash" in note


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"axes": {"gc.write_pionts": [1]}}, ConfigError, "did you mean `write_points`?"),
        ({"axes": {"geometri.channels": [1]}}, ConfigError, "did you mean `geometry`?"),
        ({"axes": {"request": [1]}}, UsageError, 'no axis "request"; did you mean "requests"?'),
        ({"axes": {"seed": [1]}}, UsageError, "seeds are no axis: give seeds"),
        ({"axes": {"device": ["ttflash-small"]}}, UsageError, "axis device contradicts device"),
        ({"axes": {"design": ["base"]}}, UsageError, "axis design contradicts designs"),
        ({"axes": {"requests": [10]}}, UsageError, "axis requests contradicts requests"),
        (
            {"axes": {"design.gc.reserve_blocks": [1]}, "settings": {"gc.reserve_blocks": 1}},
            UsageError,
            "axis gc.reserve_blocks contradicts settings",
        ),
        (
            {"axes": {"state.live_percent": [30]}, "state": {"live_percent": 30}},
            UsageError,
            "axis state.live_percent contradicts state",
        ),
        ({"axes": {"verify": ["yes"]}}, UsageError, "verify must be True or False"),
        ({"axes": {"place.stripe_width": [4]}}, ConfigError, "It is base that has no such value"),
        ({"axes": {"gc.reserve_blocks": [60, 61]}}, ConfigError, "can't run on ttflash-small"),
        ({"axes": {"workload": ["zpif"]}, "workload": None}, tinytail.WorkloadError, "zipf"),
        ({"axes": AXES, "device": None}, UsageError, "no device is given, and no axis device"),
        ({"axes": AXES, "workload": "-"}, UsageError, "a pipe can be read once"),
        (
            {"axes": {"gc.write_points": [1], "design.gc.write_points": [2]}},
            UsageError,
            "axis gc.write_points is given twice",
        ),
        ({"axes": AXES, "seed": 2**63}, UsageError, "seed must be a whole number from 0"),
        ({"axes": AXES, "jobs": -1}, UsageError, "jobs must be a whole number of at least 1"),
        ({"axes": AXES, "foo": 1}, UsageError, 'there is no option "foo"'),
        ({"axes": AXES, "transform": {}}, UsageError, "transform must be a tinytail.Transform"),
        ({"axes": AXES, "cluster": 3}, UsageError, "cluster must be an address or a client"),
        ({"axes": AXES, "progress": 3}, UsageError, "progress must be a function"),
        ({"axes": AXES, "seeds": 0}, UsageError, "seeds must be a whole number from 1"),
    ],
)
def test_what_can_not_be_swept_is_refused_before_anything_runs(
    given: dict[str, Any], error: type[Exception], said: str, tmp_path: Path
) -> None:
    axes = given.pop("axes")
    with pytest.raises(error) as found:
        tinytail.sweep(axes, **FIXED | given, out=tmp_path / "s")
    assert said in str(found.value)
    assert not (tmp_path / "s").exists()


def test_tables_stand_for_devices_designs_and_workloads(tmp_path: Path) -> None:
    swept = tinytail.sweep(
        {
            "design": ["base", ["ttflash", {"place": {"stripe_width": 4}}]],
            "workload": [{"base": "randrw70-qd16", "set": {"synthetic.queue_depth": 2}}],
        },
        device={"base": "ttflash-small", "set": {"host.queue_depth": 16}},
        requests=500,
        out=tmp_path / "s",
    )
    assert (len(swept), swept.failed) == (2, 0)
    document = json.loads((tmp_path / "s" / dataset.MANIFEST).read_text())
    assert len(document["tables"]) == 3


def test_an_axis_adds_overlays_to_every_design() -> None:
    overlays: list[Any] = ["", "preemptible", {"gc": {"write_points": 2}, "name": "two"}]
    swept = tinytail.sweep({"+gc": overlays}, **FIXED | {"designs": ["base"]})
    compared = tinytail.compare(
        ["base", "base+preemptible", ["base", overlays[2]]],
        **{key: value for key, value in FIXED.items() if key != "designs"},
    )
    found = {row["composition"]: row for row in swept.to_arrow().to_pylist()}
    assert list(found) == [result.design for result in compared.results]
    for result in compared.results:
        assert found[result.design]["event_hash"] == result.event_hash
    assert {row["design"] for row in found.values()} == {"base"}
    assert [cell.place["+gc"] for cell in swept.cells("erases")][:2] == ["", "preemptible"]


def test_a_file_says_a_sweep_and_names_what_lies_beside_it(
    command: RunCommand, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(catalog.file_text("device", "ttflash-small"))
    (tmp_path / "more.toml").write_text(
        'kind = "overlay"\nsummary = "more"\n[gc]\nwrite_points = 2\n'
    )
    file = tmp_path / "s.toml"
    file.write_text(
        'device = "mine.toml"\ndesigns = ["base", "base+more.toml"]\nworkload = "zipf"\n'
        "requests = 300\n[settings]\nhost.queue_depth = 8\n[axes]\ngc.reserve_blocks = [1, 2]\n"
    )
    outcome = command("sweep", str(file), "--out", str(tmp_path / "out"))
    assert outcome.code == 0, outcome.err
    assert len(tinytail.read_sweep(tmp_path / "out")) == 4
    for text, said in (
        ("axis = 1\n", '"axis" is unknown; did you mean "axes"?'),
        ("device = \n", "s.toml:1: string values must be quoted"),
        ('device = "ttflash-small"\n', "there is no [axes]"),
    ):
        file.write_text(text)
        outcome = command("sweep", str(file))
        assert outcome.code == 2
        assert said in outcome.err
    assert "No such file" in command("sweep", str(tmp_path / "none.toml")).err


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "sweeps").glob("*.toml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_files_to_copy_can_run_at_every_point(file: Path) -> None:
    made = read_plan(file)
    assert made.check() == []
    assert len({point.id for point in made}) == len(made) > 10


def test_there_is_a_file_for_each_common_question() -> None:
    assert [file.stem for file in EXAMPLES] == [
        *("load", "over-provisioning", "stripe-width", "suspension-cost"),
    ]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps") / "s"
    tinytail.sweep(AXES, **FIXED, seeds=3, out=folder)
    return folder


def test_a_cell_is_the_mean_over_the_seeds_with_student_s_interval(swept: Path) -> None:
    found = tinytail.read_sweep(swept)
    cell = found.cells("read.mean_us")[0]
    assert cell.place == {"synthetic.queue_depth": 1, "gc.reserve_blocks": 1, "design": "base"}
    values = [row(found, seed=seed, **cell.place)["read.mean_us"] for seed in (1, 2, 3)]
    assert cell.mean == fmean(values)
    assert cell.high is not None
    assert cell.high - fmean(values) == pytest.approx(2.920 * stdev(values) / 3**0.5)
    assert (cell.runs, cell.failed) == (3, 0)


def test_a_cell_of_one_seed_has_the_interval_of_its_run() -> None:
    swept = tinytail.sweep({"synthetic.queue_depth": [8]}, **FIXED | {"requests": 20_000})
    compared = tinytail.compare(
        **FIXED | {"requests": 20_000}, settings={"synthetic.queue_depth": 8}
    )
    interval = compared.result("base").intervals["read.p99_us"]
    [base, _] = swept.cells("read.p99_us")
    assert (base.low, base.high) == (interval.low, interval.high)


def test_show_tells_tables_and_a_document(command: RunCommand, swept: Path) -> None:
    outcome = command("sweep", "show", str(swept), "--figure", "erases")
    assert outcome.code == 0, outcome.err
    assert "erases, mean of 3 seeds: 24 points" in outcome.out
    assert "gc.reserve_blocks = 1" in outcome.out
    for more in ((), ("--by", "gc.reserve_blocks"), ("--x", "design")):
        words = ("--figure", "read.p50_us", "--where", "gc.reserve_blocks=2.0", "--json", "-")
        document = json.loads(command("sweep", "show", str(swept), *words, *more).out)
        assert len(document["cells"]) == 4
        assert {cell["place"]["gc.reserve_blocks"] for cell in document["cells"]} == {2}


def test_a_zipped_axis_narrows_those_beside_it() -> None:
    axes = {"gc.reserve_blocks": [1, 2], "synthetic.queue_depth": [4, 8]}
    swept = tinytail.sweep(axes, **FIXED, zip=[list(axes)])
    one = swept.only({"synthetic.queue_depth": 8})
    assert set(one.to_arrow()["gc.reserve_blocks"].to_pylist()) == {2}
    assert [cell.place["gc.reserve_blocks"] for cell in one.cells("erases")] == [2, 2]


def test_all_points_may_have_failed(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = {"error_kind": "run", "error": "no luck", "result": None}
    monkeypatch.setattr(run, "run_point", lambda *_: failed)
    tinytail.sweep(AXES, **FIXED, out=tmp_path / "s")
    words = ("--json", "-", "--figures", str(tmp_path / "f"), "--report", str(tmp_path / "p.html"))
    outcome = command("sweep", "show", str(tmp_path / "s"), *words)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["cells"][0]["failed"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--figure", "read.p99"], 'no figure "read.p99"; did you mean "read.p99_us"?'),
        (["--x", "depth"], '"depth" is not varied'),
        (["--where", "gc.reserve_blocks=9"], "has no value 9; allowed: 1, 2"),
        (["--where", "gc"], "--where must be AXIS=VALUE"),
        (["--where", "design=base", "--where", "design=ttflash"], "--where gives design twice"),
        (["--x", "design", "--by", "design"], "x and by are both design"),
        (["--against", "nope"], 'no figure "nope"'),
    ],
)
def test_what_can_not_be_shown_is_refused(
    command: RunCommand, swept: Path, words: list[str], said: str
) -> None:
    outcome = command("sweep", "show", str(swept), *words)
    assert outcome.code == 2
    assert said in outcome.err


def test_pictures_are_drawn_of_every_kind(command: RunCommand, swept: Path, tmp_path: Path) -> None:
    folder, page = tmp_path / "figures", tmp_path / "page.html"
    words = ("--figures", str(folder), "--report", str(page))
    assert command("sweep", "show", str(swept), *words).code == 0
    names = {f"{name}.{kind}" for name in ("lines", "heat", "front") for kind in ("svg", "pdf")}
    assert {each.name for each in folder.iterdir()} == names
    assert "synthetic.queue_depth" in (folder / "heat.svg").read_text()
    assert "http" not in page.read_text().split("</script>")[-1]
    found = tinytail.read_sweep(swept)
    for kind in ("lines", "heat", "front"):
        assert found.plot(kind, "read.p50_us").axes
    with pytest.raises(UsageError, match="kind must be"):
        found.plot("bars")  # type: ignore[arg-type]


def test_latencies_have_units_on_logarithmic_fronts_too(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "spans_decades", lambda values: bool(values))
    axis = tinytail.read_sweep(swept).plot("front", "read.p50_us").axes[0]
    assert axis.get_yscale() == "log"
    assert axis.yaxis.get_major_formatter()(2000.0, None) == "2.00 ms"


def test_a_front_is_of_combinations_on_the_same_workload(swept: Path) -> None:
    found = tinytail.read_sweep(swept)
    made = found.choices("erases", "read.mean_us")
    assert [choices.title for choices in made] == [
        "synthetic.queue_depth = 1",
        "synthetic.queue_depth = 8",
    ]
    for choices in made:
        for position, (x, y) in enumerate(choices.points):
            beaten = any(
                other[0] <= x and other[1] <= y and other != (x, y) for other in choices.points
            )
            if position in choices.best:
                assert not beaten
            elif not beaten:
                assert any(not is_better(choices, position, other) for other in choices.best)
        for one in choices.best:
            assert all(is_better(choices, one, each) for each in choices.best if each != one)


def is_better(choices: cells.Choices, one: int, other: int) -> bool:
    """Whether a combination has less of one of the figures, by more than chance explains."""
    return any(of[one].is_less(of[other]) for of in (choices.x, choices.y))


def test_of_points_that_chance_alone_tells_apart_one_is_on_the_front() -> None:
    def column(*means: float) -> tuple[cells.Cell, ...]:
        return tuple(cells.Cell({}, mean, mean - 3, mean + 3, 3, 0, ()) for mean in means)

    erases = column(336.0, 336.5, 400.0, 300.0)
    tails = column(8100.0, 1800.0, 1799.0, 9000.0)
    tails = (*tails[:3], replace(tails[3], findings=("borrowed",)))
    table = pyarrow.table({"design": ["a", "b", "c", "d"]})
    given = {"erases": erases, "read.p99_us": tails}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "cells", lambda _table, _axes, figure: list(given[figure]))
        [choices] = cells.choices(table, [], "erases", "read.p99_us")
    # The first is as good as the second in erases, the third in the tail; the last is in doubt.
    assert (choices.best, choices.refuted) == ((1,), (3,))


INERT: dict[str, Any] = {
    "device": "ttflash-small",
    "designs": ["base"],
    "workload": "randrw70-qd16",
    "requests": 3000,
}


@pytest.mark.parametrize(
    ("axes", "changed", "said"),
    [
        (
            {"host.over_provisioning_percent": [27, 42]},
            {},
            "the state holds 40.0 % of the physical pages; `[state] live_percent = 100` fills",
        ),
        ({"host.queue_depth": [32, 64]}, {}, "more requests at once, such as `synthetic.queue_dep"),
        ({"gc.write_points": [1, 2]}, {"workload": "randread-qd1"}, "a `workload` that writes"),
        ({"timing.suspend_ns": [0, 9000]}, {}, '`"+suspend" = ["es"]`'),
        (
            {"ram.flush_above_percent": [70, 80]},
            {"workload": "randread-qd1"},
            "nothing was written",
        ),
        ({"timing.erase_step_ns": [1, 3]}, {"workload": "randread-qd1"}, "no GC ran"),
        ({"gc.write_points": [1, 2]}, {}, ""),
    ],
)
def test_an_axis_that_changed_nothing_is_said_to_have_with_what_makes_it_count(
    axes: dict[str, Any], changed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    out = tmp_path / "s"
    found = tinytail.sweep(axes, **INERT | changed, out=out)
    notes = tinytail.read_sweep(out).notes()
    assert notes == found.notes() == tinytail.sweep(axes, **INERT | changed).notes()
    if not said:
        assert notes == []
        return
    [note] = notes
    assert note.startswith(f"{next(iter(axes))} changed nothing: ")
    assert said in note
    flat = " ".join(found.table(width=80).split())
    assert note in flat
    found.report(tmp_path / "page.html")
    assert "changed nothing" in (tmp_path / "page.html").read_text()
    picture = found.plot()
    assert "changed nothing" in str(picture.get_supxlabel())
    [panel] = found.panels("read.p99_us")
    assert found.to_dict("read.p99_us", [panel])["notes"] == notes


def test_over_provisioning_of_a_full_drive_counts() -> None:
    axes = {"host.over_provisioning_percent": [27, 42]}
    assert tinytail.sweep(axes, **INERT, state={"live_percent": 100}).notes() == []


def test_a_sweep_is_also_the_columns_that_its_schema_says(swept: Path) -> None:
    found = tinytail.read_sweep(swept)
    wanted = [column.name for column in columns(found.axes) if column.name != "result"]
    assert found.to_arrow().column_names == wanted
    [part, *_] = (swept / "points").glob("design=base/*.parquet")
    assert "design" not in pyarrow.parquet.read_schema(part).names


@pytest.mark.soak
def test_a_bit_that_flips_changes_no_figure(tmp_path: Path) -> None:
    """All files of a folder whose points are in Parquet, and of another of a killed process."""
    ended, killed = tmp_path / "ended", tmp_path / "killed"
    tinytail.sweep(AXES, **FIXED, out=ended)
    shutil.copytree(ended, killed)
    parts = sorted(killed.glob("points/*/*.parquet"))
    for part in parts[1:]:
        part.unlink()
    made = plan(AXES, **FIXED)
    with dataset.opened(made, str(killed), retry_failed=False) as (_, kept):
        missing = [point for point in made if point.id not in kept.done()]
        run.run_here(iter(missing), 1, kept.add, run.Tally(4), None, print, native.share([]))
        assert len(missing) == 4
        journal = (killed / dataset.JOURNAL).read_bytes()
    for part in killed.glob("points/*/*.parquet"):
        if part not in parts[:1]:
            part.unlink()
    (killed / dataset.JOURNAL).write_bytes(journal)
    drawn, refused = random.Random(3), []
    flipped = tmp_path / "flipped"
    for number in range(500 if SOAK else 60):
        source = (ended, killed)[number % 2]
        shutil.rmtree(flipped, ignore_errors=True)
        shutil.copytree(source, flipped)
        files = [path for path in flipped.rglob("*") if path.is_file() and path.stat().st_size]
        path = drawn.choice(files)
        content = bytearray(path.read_bytes())
        # The end of a line is the rarest byte, and the one that a reader leans on.
        is_end = path.name == dataset.JOURNAL and number % 3 == 0
        content[-1 if is_end else drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)
        path.write_bytes(content)
        try:
            found = rows(tinytail.read_sweep(flipped))
        except ResultsError as error:
            refused.append(str(error))
            # What goes on from there neither takes over what has changed nor removes it.
            with pytest.raises(ResultsError, match=re.escape(str(path))):
                tinytail.sweep(AXES, **FIXED, out=flipped)
            assert path.read_bytes() == content
            assert str(path) in refused[-1]
        else:
            assert found == rows(tinytail.read_sweep(source)), path
    assert len(refused) > number / 2
