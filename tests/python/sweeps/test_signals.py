"""One signal ends a sweep in each of its phases, and what had ended is kept."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand
from soak import sample
from tinytail.engine import native
from tinytail.engine.jobs import DesignProgress
from tinytail.sweeps import dataset, run
from tinytail.sweeps.plan import Plan
from tinytail.sweeps.result import Sweep

SWEEP = """
device = "ttflash-small"
designs = ["base"]
workload = "randrw70-qd16"
requests = 100

[axes]
host.queue_depth = {{ from = 1, to = {points}, step = 1 }}
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PHASES = ("planning", "opening", "starting", "running", "keeping", "writing", "reading")
CASES = list(product(PHASES, SIGNALS, (10, 200, 2000, 100_000)))


class Made:
    """What was begun and has ended of points that cost nothing."""

    def __init__(self, points: int) -> None:
        self.begun: list[int] = []
        self.kept = 0
        self.at = min(points // 2, 700)
        self.signal_after: int | None = None
        self.sent = False

    def point(self, spec: Any, control: native.Control, _: Any) -> dict[str, Any] | None:
        """Stands for a run; one under way heeds its switch."""
        self.begun.append(spec.seed)
        if len(self.begun) == self.signal_after:
            self.send()
        if self.sent:
            heeded(control)
            return None
        return {"error_kind": "run", "error": "made up", "result": None}

    def send(self) -> None:
        """Sends the signal, once."""
        if not self.sent:
            self.sent = True
            os.kill(os.getpid(), self.number)

    number = signal.SIGINT


def heeded(control: native.Control) -> None:
    end = time.monotonic() + 60
    while not control.is_cancelled():
        assert time.monotonic() < end
        time.sleep(0.001)


def before(act: Callable[[], None], function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, before which something is done."""

    def made(*given: Any, **named: Any) -> Any:
        act()
        return function(*given, **named)

    return made


@pytest.mark.soak
@pytest.mark.parametrize(
    ("phase", "number", "points"),
    [
        *sample([case for case in CASES if case[2] == 10], 7, seed=2),
        *sample([case for case in CASES if case[2] == 200], 7, seed=3),
        *sample([case for case in CASES if case[2] > 200], 0),
    ],
)
def test_a_signal_ends_a_sweep_and_keeps_what_has_ended(
    phase: str,
    number: signal.Signals,
    points: int,
    command: RunCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, out = tmp_path / "many.toml", tmp_path / "out"
    file.write_text(SWEEP.format(points=points))
    made = Made(points)
    made.number = number
    add = dataset.Dataset.add

    def keep(self: Any, record: dict[str, Any]) -> None:
        add(self, record)
        made.kept += 1
        if phase == "keeping" and made.kept == made.at:
            made.send()

    monkeypatch.setattr(run, "run_point", made.point)
    monkeypatch.setattr(dataset.Dataset, "add", keep)
    match phase:
        case "planning":
            monkeypatch.setattr(Plan, "check", before(made.send, Plan.check))
        case "opening":
            monkeypatch.setattr(dataset.Dataset, "done", before(made.send, dataset.Dataset.done))
        case "starting":
            monkeypatch.setattr(native, "share", before(made.send, native.share))
        case "running":
            made.signal_after = made.at
        case "writing":
            flush = dataset.Dataset.flush
            monkeypatch.setattr(dataset.Dataset, "flush", before(made.send, flush))
        case "reading":
            monkeypatch.setattr(Sweep, "of", before(made.send, Sweep.of))
    outcome = command("sweep", str(file), "--out", str(out), "--jobs", "1")
    assert made.sent
    assert outcome.code == 130, outcome.err
    assert "interrupted" in outcome.err
    # A point under way was cancelled; no other one began.
    assert len(made.begun) <= made.kept + 1
    if phase in ("planning", "opening", "starting"):
        assert not made.begun
    elif phase in ("running", "keeping"):
        assert made.kept in (made.at, made.at - 1)
        assert f"{made.kept:,} of {points:,} points in {out}" in outcome.err
    if made.kept:
        assert len(tinytail.read_sweep(out)) == made.kept
    # The rest, and no point twice.
    made.sent, ended = True, made.kept
    monkeypatch.undo()
    monkeypatch.setattr(
        run, "run_point", lambda *_: {"error_kind": "run", "error": "", "result": None}
    )
    if points < 100:
        assert command("sweep", str(file), "--out", str(out), "--jobs", "1").code == 1
        found = tinytail.read_sweep(out).to_arrow()
        assert len(found) == points
        errors = found["error"].to_pylist()
        assert errors.count("made up") == ended


def test_progress_without_bars_counts_points_that_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tally = run.Tally(10_005)
    for _ in range(5):
        tally.skip()
    failed: dict[str, Any] = {"error": "made up"}

    def told() -> DesignProgress:
        return tally.progress()

    assert told().news == "5 of 10,005 points"
    for _ in range(499):
        tally.count(failed)
    # Not yet a step of a twentieth, and not yet ten seconds.
    now = 9.9
    assert (told().news, told().done) == ("5 of 10,005 points", 499)
    assert told().detail == "504 of 10,005 points, 499 failed"
    now = 10.0
    assert told().news == "504 of 10,005 points"
    tally.count(failed)
    assert told().news == "505 of 10,005 points"
    now = 25.0
    assert told().news == "505 of 10,005 points"
