"""Losses of power, by Python and by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand, read_json
from tinytail import _native
from tinytail.engine import native
from tinytail.power import PowerCutPlan


def test_designs_recover_with_all_that_was_written(command: RunCommand, tmp_path: Path) -> None:
    """The command reports each design; crates/simulator/tests/power.rs has every design."""
    file, designs = tmp_path / "cuts.json", ("base", "ttflash", "firmware")
    words = ("--device", "modern-tlc-2t-small", "--cuts", "6", "--json", str(file))
    outcome = command("verify", "power-cut", *designs, *words)
    assert outcome.code == 0, outcome.err
    document = read_json(file)
    assert (document["cuts"], document["lost"], document["stale"]) == (6, 0, 0)
    assert [result["design"] for result in document["results"]] == list(designs)
    assert {result["mismatch"] for result in document["results"]} == {None}
    assert all(result["recovery"]["p50_ms"] > 0 for result in document["results"])
    said = " ".join(outcome.out.split())
    assert "6 losses of power" in said
    assert "0 lost, 0 stale" in said


def test_named_designs_lose_power_on_the_device_that_is_named() -> None:
    found = tinytail.verify_power_cut(["base", "ttflash"], device="ttflash-small", cuts=5, seed=3)
    assert [(result.design, result.cuts) for result in found.results] == [
        ("base", 3),
        ("ttflash", 2),
    ]
    assert found.holds
    assert not found.partial
    again = tinytail.verify_power_cut(["base", "ttflash"], device="ttflash-small", cuts=5, seed=3)
    assert found == again


def test_cuts_are_shared_evenly() -> None:
    plan = PowerCutPlan.of((), device=None, cuts=10_000, seed=1, jobs=None)
    shares = [plan.share(index) for index in range(len(plan.cases))]
    assert sum(shares) == 10_000
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("base",), "no device"),
        (("--device", "ttflash-small"), "no design"),
        (("bse", "--device", "ttflash-small"), "base"),
        (("base", "base", "--device", "ttflash-small"), "given twice"),
        (("--cuts", "0"), "1"),
    ],
)
def test_bad_input_is_refused(command: RunCommand, words: tuple[str, ...], message: str) -> None:
    outcome = command("verify", "power-cut", *words)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize("wrong", [{"lost": 1}, {"stale": 1}, {"mismatch": "page 7"}])
def test_anything_wrong_is_a_failure(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    real = _native.power_cut

    def worse(spec: str, control: native.Control) -> str:
        return json.dumps(json.loads(real(spec, control)) | wrong)

    monkeypatch.setattr(_native, "power_cut", worse)
    outcome = command("verify", "power-cut", "base", "--device", "ttflash-small", "--cuts", "1")
    assert outcome.code == 1
