"""Devices, designs and workloads that are said in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tinytail

DEVICE = {"base": "ttflash-small", "set": {"timing.read_ns": [50_000]}, "name": "slow-reads"}


def workload() -> dict[str, Any]:
    """A workload as its file says it, in short."""
    return {"base": "randrw70-qd16", "set": {"synthetic.requests": 2000}}


def test_tables_are_what_files_would_be(tmp_path: Path) -> None:
    overlay = {"gc": {"write_points": 4}, "name": "four"}
    said = tinytail.compare(["base", ["base", overlay]], device=DEVICE, workload=workload())
    assert [each.design for each in said.results] == ["base", "base+four.toml"]
    assert said.device == "slow-reads"
    drive, load, four = (tmp_path / name for name in ("d.toml", "w.toml", "four.toml"))
    drive.write_text(tinytail.read_table("slow-reads.toml"))
    load.write_text(tinytail.read_table(said.workload.name + ".toml"))
    four.write_text(tinytail.read_table("four.toml"))
    filed = tinytail.compare(["base", f"base+{four}"], device=drive, workload=load)
    hashes = [each.event_hash for each in said.results]
    assert hashes == [each.event_hash for each in filed.results]


def test_a_workload_may_be_said_as_its_file_says_it() -> None:
    mix = {"read_share": 0.5, "queue_depth": 4, "block_bytes": 4096, "addresses": "uniform"}
    load = {"synthetic": {**mix, "requests": 2000}, "name": "half"}
    said = tinytail.compare(["base"], device="ttflash-small", workload=load)
    assert said.workload.name == "half"
    assert said.result("base").read.count + said.result("base").write.count == 2000
    assert 'summary = "a table"' in tinytail.read_table("half.toml")


def test_a_design_may_change_values_alone() -> None:
    changed = {"base": "base+no-gc", "set": {"gc.write_points": 4}, "name": "changed"}
    said = tinytail.compare([changed], device="ttflash-small", workload=workload())
    (result,) = said.results
    assert result.design == "base+no-gc+changed.toml"
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
        ({"designs": [{"set": {"gc.copy": "die"}}]}, "must say its base"),
        ({"designs": [["base", {"gc": {"write_pints": 4}}]]}, "write_points"),
        ({"designs": [["base", {"set": {"copy": "die"}}]]}, 'sets "copy", which has no section'),
        ({"designs": [["base", {"gc": {"write_points": object()}}]]}, "no file can have"),
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


def test_a_file_of_that_name_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("")
    drive = {"base": "ttflash-small", "name": "mine"}
    with pytest.raises(tinytail.UsageError, match=r"there is a file mine\.toml"):
        tinytail.compare(["base"], device=drive, workload=workload())
