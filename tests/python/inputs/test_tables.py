"""Devices, designs and workloads that are said in Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tinytail
from tinytail.inputs import tables

DEVICE = {"base": "ttflash-small", "set": {"timing.read_ns": [50_000]}, "name": "slow-reads"}


def workload() -> dict[str, Any]:
    """A workload as its file says it, in short."""
    return {"base": "randrw70-qd16", "set": {"synthetic.requests": 2000}}


def test_tables_are_what_files_would_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overlay = {"gc": {"write_points": 4}, "name": "four"}
    said = tinytail.compare(["base", ["base", overlay]], device=DEVICE, workload=workload())
    assert said.device == "slow-reads"
    words = said.command.split()
    names = [part for word in words for part in word.split("+") if part.endswith(".toml")]
    assert [name.rpartition("-")[0] for name in names] == ["four", "slow-reads", "randrw70-qd16"]
    # Once they are saved, the command does the same.
    monkeypatch.chdir(tmp_path)
    for name in names:
        Path(name).write_text(tinytail.read_table_text(name), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *words, "--json", "-"], capture_output=True, text=True, check=True
    )
    hashes = [each.event_hash for each in said.results]
    assert hashes == [each["event_hash"] for each in json.loads(done.stdout)["results"]]
    # Nor does a saved one hide the table.
    again = tinytail.compare(["base", ["base", overlay]], device=DEVICE, workload=workload())
    assert hashes == [each.event_hash for each in again.results]


def test_a_workload_may_be_said_as_its_file_says_it() -> None:
    mix = {"read_share": 0.5, "queue_depth": 4, "block_bytes": 4096, "addresses": "uniform"}
    load = {"synthetic": {**mix, "requests": 2000}, "name": "half"}
    said = tinytail.compare(["base"], device="ttflash-small", workload=load)
    assert said.workload.name.startswith("half-")
    assert said.result("base").read.count + said.result("base").write.count == 2000
    assert 'summary = "a table"' in tinytail.read_table_text(f"{said.workload.name}.toml")


def test_a_design_may_change_values_alone() -> None:
    changed = {"base": "base+no-gc", "set": {"gc.write_points": 4}, "name": "changed"}
    said = tinytail.compare([changed], device="ttflash-small", workload=workload())
    (result,) = said.results
    assert result.design.startswith("base+no-gc+changed-")
    rows = [row for item in said.configuration if item.kind == "design" for row in item.settings]
    assert [row.value for row in rows if row.key == "write_points"] == ["4"]


def test_the_same_table_has_the_same_name_and_another_has_another() -> None:
    names = [
        tinytail.compare(
            [["base", {"gc": {"write_points": n}}]], device="ttflash-small", workload=workload()
        )
        .results[0]
        .design
        for n in (2, 2, 4)
    ]
    assert names[0] == names[1] != names[2]


def test_kept_results_run_again_in_another_process(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    tinytail.compare(
        [["base", {"gc": {"write_points": 4}}]], device=DEVICE, workload=workload(), out=folder
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tinytail",
            "explain",
            str(folder),
            "--without",
            "erase",
            "--json",
            "-",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["requests"] > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"device": {"bsae": "x", "base": "ttflash-small"}}, 'unknown key "bsae"; did you mean'),
        ({"device": {"base": "ttflash-smal"}}, "ttflash-small"),
        ({"device": {"base": "ttflash-small", "set": {"timing.red_ns": 1}}}, "read_ns"),
        ({"device": {"base": "ttflash-small", "name": "a/b"}}, 'is named "a/b"'),
        ({"device": {"geometry": {"channels": 1}}}, "device"),
        (
            {"device": {"base": "ttflash-small", "set": {"gc.write_points": 2}}},
            'device sets "gc.write_points", which no device has',
        ),
        ({"designs": [{"set": {"gc.copy": "die"}}]}, "must say its base"),
        ({"designs": [["base", {"gc": {"write_pints": 4}}]]}, "write_points"),
        ({"designs": [["base", {"set": {"copy": "die"}}]]}, 'sets "copy", which has no section'),
        ({"designs": [["base", {"gc": {"write_points": object()}}]]}, "no file can have"),
        ({"designs": [["base", {"gc": {"write_points": None}}]]}, 'no value for "write_points"'),
        ({"designs": [["base", {1: {"write_points": 1}}]]}, "a key of designs[0]"),
        ({"designs": [["base", {"set": ["gc.copy=die"]}]]}, "sets no values by name"),
        ({"designs": [["base", {"gc": 1, "set": {"gc.copy": "die"}}]]}, "which is no section"),
        ({"workload": {"synthetic": {"read_share": None}}}, 'no value for "read_share"'),
        ({"designs": [[]]}, "must have parts"),
        ({"workload": {"synthetic": {"read_shar": 1}}}, "read_share"),
        ({"workload": 3}, "must be a name or a path"),
    ],
)
def test_what_no_table_may_have_is_refused(given: dict[str, Any], said: str) -> None:
    plan: dict[str, Any] = {"designs": ["base"], "device": "ttflash-small", "workload": workload()}
    plan |= given
    with pytest.raises(tinytail.TinytailError) as error:
        tinytail.compare(plan.pop("designs"), **plan)
    assert said in str(error.value)


def test_tables_of_one_name_stay_apart() -> None:
    said = tinytail.compare(
        [["base", {"gc": {"write_points": n}, "name": "mine"}] for n in (1, 4)],
        device="ttflash-small",
        workload=workload(),
    )
    first, second = said.results
    assert first.event_hash != second.event_hash
    alone = tinytail.compare(
        ["base"], device="ttflash-small", workload=workload(), settings={"gc.write_points": 4}
    )
    assert second.event_hash == alone.results[0].event_hash


def test_a_table_of_the_callers_stays_as_it_is() -> None:
    part = {"gc": {"write_points": 4}, "set": {"gc.copy": "controller"}}
    before = json.dumps(part)
    tinytail.compare([["base", part]], device="ttflash-small", workload=workload())
    assert json.dumps(part) == before


def test_what_a_base_names_is_looked_for_beside_the_base(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    lines = [f"{i * 1_000_000} 0 {i * 8} 8 {i % 2}" for i in range(200)]
    (folder / "mine.trace").write_text("".join(f"{line}\n" for line in lines))
    own = folder / "mine.toml"
    own.write_text('summary = "x"\n[trace]\nfile = "mine.trace"\ntime_unit = "ns"\n')
    table = {"base": own, "set": {"transform.scale_time": 2.0}}
    said = tinytail.compare(["base"], device="ttflash-small", workload=table)
    assert said.results[0].read.count + said.results[0].write.count == 200


def test_a_file_of_that_name_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drive = {"base": "ttflash-small", "name": "mine"}
    command = tinytail.compare(["base"], device=drive, workload=workload()).command
    name = command.split("--device ")[1].split()[0]
    Path(name).write_text("")
    with pytest.raises(tinytail.UsageError, match=r"there is a file mine-\w+\.toml"):
        tinytail.compare(["base"], device=drive, workload=workload())


def test_a_label_has_no_more_of_a_digest_than_tells_tables_apart() -> None:
    names = [tables.design(["base", {"gc": {"write_points": points}}]) for points in range(1, 9)]
    labels = [tables.design_label(name) for name in names]
    assert len(set(labels)) == len(names)
    for name, label in zip(names, labels, strict=True):
        assert re.fullmatch(r"base\+set-[0-9a-f]{4,8}", label)
        assert name.startswith(label)
    named = tables.design(["base", {"gc": {"write_points": 3}, "name": "three"}])
    assert re.fullmatch(r"base\+three-[0-9a-f]{4}", tables.design_label(named))
    # Other files keep their names.
    assert tables.design_label("base+more-1234abcd.toml") == "base+more-1234abcd.toml"


def test_tables_and_legends_show_labels() -> None:
    said = tinytail.compare(
        ["base", ["base", {"gc": {"write_points": 2}}]],
        device="ttflash-small",
        workload="zipf",
        requests=500,
    )
    label = tables.design_label(said.results[1].design)
    assert label in said.table()
    assert f"{said.results[1].design} " not in said.table(400)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"gc": {"write_points": "a"}}, '[gc] `write_points` is "a"; allowed: a whole number.'),
        ({"gcc": {}}, "[gcc] is unknown (did you mean `gc`?); allowed: gc, victim, "),
        (
            {"victim": {"chain": [{"policy": "custom"}]}},
            "[victim] entry 1 of `chain` cannot be used: a policy of one's own needs `file`, ",
        ),
    ],
)
def test_an_error_about_a_table_begins_with_the_fault_and_names_no_file(
    table: dict[str, Any], message: str
) -> None:
    with pytest.raises(tinytail.ConfigError) as caught:
        tinytail.compare(["base", ["base", table]], device="ttflash-small", workload="zipf")
    assert str(caught.value).startswith(message)
    assert "set-" not in str(caught.value)
