"""The experiment that runs every design on every drive: its small part.

All pairs of small drives, under four loads, are in crates/simulator/tests/matrix.rs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tinytail
from commands import experiment

every_pair = experiment("every_pair")
PAIRS = ("ttflash on hpdc-1t-small", "erase-baseline on mqsim-default-small")


def test_pairs_are_run_once_and_refused_ones_with_what_they_need(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    assert every_pair.main([str(results), "--small", *PAIRS]) == 0
    shown = capsys.readouterr().out
    assert "4 of 4 run" in shown
    added = [line.split("|")[5].strip() for line in shown.splitlines() if "hpdc-1t" in line]
    assert added == ["--set ram.buffer_kib=2048"] * 2
    held = results.read_text("utf-8")
    assert len(held.splitlines()) == 4
    assert every_pair.main([str(results), "--small", *PAIRS]) == 0
    assert results.read_text("utf-8") == held
    assert capsys.readouterr().out == shown


def test_a_run_that_fails_is_told_with_its_reason(tmp_path: Path) -> None:
    pair = ("base+gtr", "ttflash-small")
    run = every_pair.play(*pair, "saturating", ["--workload", "nowhere.csv"], tmp_path)
    assert "nowhere.csv" in run.fault
    assert list(every_pair.table([run]))[-1].startswith("| base+gtr | ttflash-small | saturating |")


def test_every_design_that_stands_alone_meets_every_drive() -> None:
    whole, small = every_pair.pairs(small=False), every_pair.pairs(small=True)
    designs = {entry.name for entry in tinytail.list_designs() if entry.kind == "design"}
    assert (len(designs), len(whole)) == (10, 130)
    assert {design for design, _ in small} == designs
    assert {device for _, device in whole + small} == {
        entry.name for entry in tinytail.list_devices()
    }


def test_every_overlay_stands_behind_its_design_on_two_drives_that_have_what_it_needs() -> None:
    overlays = every_pair.overlays(small=True)
    names = {entry.name for entry in tinytail.list_designs() if entry.kind == "overlay"}
    assert {design.split("+")[-1] for design, _ in overlays} == names
    assert len(set(overlays)) == 2 * len(names)
    assert ("base+rain+gtr", "ttflash-small") in overlays
    assert ("hpdc-baseline+gc-par+gc-vic", "modern-tlc-2t-small") in overlays
    lacking = {design for design, device in overlays if every_pair.lacks(design, device)}
    assert lacking == {"base+scrub"}
