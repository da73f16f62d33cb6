"""Papers of a few rows, on a fake engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fake_native import FakeNative, result as fake_result
from tinytail.engine import native as engine
from tinytail.reproduction.judge import evaluate
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import MEASURES
from tinytail.reproduction.records import (
    Evidence,
    Experiment,
    Paper,
    Row,
)
from tinytail.reproduction.store import Store


def row(row_id: str = "fake.ratio", **changes: Any) -> Row:
    given: dict[str, Any] = {
        "section": "1",
        "quantity": "slowdown",
        "paper_value": "1.0",
        "unit": "x",
        "kind": "ratio",
        "acceptance": "0.5-2.0",
        "input": "synthetic",
        "measure": {
            "use": "percentile_ratios",
            "experiments": ["small"],
            "design": "ttflash",
            "reference": "base",
            "percentiles": ["p99"],
        },
        "accept": ("0.5 <= value <= 2.0",),
    }
    return Row(row_id, **(given | changes))


def experiment(name: str = "small", **changes: Any) -> Experiment:
    given: dict[str, Any] = {
        "about": "a small run",
        "designs": ("base", "ttflash"),
        "device": "ttflash-256g",
        "workload": "dtrs",
        "cost_s": 1,
        "quick": {},
    }
    return Experiment(name, **(given | changes))


def paper(*rows: Row, experiments: tuple[Experiment, ...] = (), **changes: Any) -> Paper:
    own = {each.id: each for each in rows or (row(),)}
    given: dict[str, Any] = {
        "name": "fake",
        "prefix": "fake",
        "title": "A paper",
        "source": "nowhere",
        "rows": own,
        "evidence": {each: Evidence(each, "performance", {"value": 1.0}) for each in own},
        "experiments": {each.name: each for each in experiments or (experiment(),)},
        "traces": {},
        "counters": {},
        "settings": {},
        "figures": (),
        "deviations": {},
        "side_by_side": (),
        "tables": (),
        "measures": MEASURES,
    }
    return Paper(**(given | changes))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "kept")


@pytest.fixture
def fakes(native: FakeNative, monkeypatch: pytest.MonkeyPatch) -> FakeNative:
    """A fake engine in which ttflash takes as long as base, unless a test says otherwise."""
    monkeypatch.setattr(engine, "identity", lambda: "engine 1")
    native.runs["base"] = lambda *_: fake_result("base")
    native.runs["ttflash"] = lambda *_: fake_result("ttflash")
    return native


def judged(of: Paper, store: Store, row_id: str = "fake.ratio", **changes: Any) -> Any:
    with Lab(of, changes.pop("tier", "quick"), store, **changes) as lab:
        lab.make(of.experiments)
        return evaluate(of, of.rows[row_id], lab)
