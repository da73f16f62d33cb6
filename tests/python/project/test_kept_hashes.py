"""The kept results of the papers' rows: a sample of their runs still does the same.

The sample is made of the evidence: see experiments/kept_hashes.py, which makes all of it.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from commands import experiment

kept_hashes = experiment("kept_hashes")


@pytest.fixture(scope="module")
def every() -> list[Any]:
    runs: list[Any] = kept_hashes.kept()
    return runs


def experiments_by_technique(runs: list[Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for technique in run.techniques:
            found[technique].add(run.experiment.name)
    return found


def test_every_technique_of_kept_evidence_is_in_two_experiments_of_the_sample(
    every: list[Any],
) -> None:
    there = experiments_by_technique(every)
    sampled = experiments_by_technique(kept_hashes.sample(every))
    assert {name: min(2, len(of)) for name, of in there.items()} == {
        name: min(2, len(of)) for name, of in sampled.items()
    }
    # Overlays, choices of sections, ways of ageing, drives.
    for technique in ("rate-match", "[gc] ideal = true", "[suspend] mode = t_es", "on hpdc-1t"):
        assert technique in there, sorted(there)


def test_what_takes_seconds_still_does_what_was_kept(every: list[Any]) -> None:
    runs = kept_hashes.small(kept_hashes.sample(every))
    assert "[order] policy = rate_match" in experiments_by_technique(runs)
    different = [
        f"{again.run.name}: {again.lacks or again.difference}"
        for again in kept_hashes.make_again(runs)
        if again.lacks or again.difference
    ]
    assert not different, "\n".join(different)


def cheapest(every: list[Any], *, recorded: bool) -> Any:
    runs = [run for run in every if (run.recording is not None) == recorded]
    return min(runs, key=lambda run: run.experiment.cost_s)


def test_a_run_of_a_recording_that_is_not_there_is_left_out_and_said(
    every: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINYTAIL_TRACES", raising=False)
    run = cheapest(every, recorded=True)
    (again,) = kept_hashes.make_again([run])
    assert (again.facts, again.difference) == (None, None)
    assert again.lacks == (
        f"needs the recording {run.recording} in the folder that TINYTAIL_TRACES names"
    )


def altered(tmp_path: Path, every: list[Any], **changes: Any) -> Any:
    """A run of altered evidence, which stands in a repository of its own."""
    run = cheapest(every, recorded=False)
    for paper in {each.paper.name for each in every}:
        (tmp_path / paper).mkdir()
        file = kept_hashes.EVIDENCE / paper / "results.json"
        document = json.loads(file.read_text("utf-8"))
        for facts in document["runs"]:
            if facts == run.facts:
                facts |= changes
        (tmp_path / paper / "results.json").write_text(json.dumps(document, indent=2), "utf-8")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example"]
    commit = [*identity, "commit", "--quiet", "--message", "Other evidence"]
    for words in (["init", "--quiet"], ["add", "."], commit):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return next(each for each in kept_hashes.kept(tmp_path) if each.name == run.name)


def test_another_hash_is_said_with_its_commit_and_can_be_recorded(
    every: list[Any], tmp_path: Path
) -> None:
    run = altered(tmp_path, every, event_hash="0" * 16)
    (again,) = kept_hashes.make_again([run])
    now = again.facts["event_hash"]
    assert again.difference.startswith(f"hash {'0' * 16}, kept by ")
    assert again.difference.endswith(f"(Other evidence), is {now} now")
    assert kept_hashes.record([again]) == 1
    assert again.run.file.read_text("utf-8").count(now) == 1
    (recorded,) = [each for each in kept_hashes.kept(tmp_path) if each.name == run.name]
    assert recorded.facts == run.facts | {"event_hash": now}


def test_other_figures_of_the_same_events_are_said_and_not_recorded(
    every: list[Any], tmp_path: Path
) -> None:
    run = altered(tmp_path, every, requests=7)
    (again,) = kept_hashes.make_again([run])
    assert "the same events and other figures" in again.difference
    assert again.difference.endswith("the measuring changed: requests")
    assert kept_hashes.record([again]) == 0
