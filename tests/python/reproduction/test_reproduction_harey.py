"""The Harey Tortoise: its rows at their edges, its measures, its quick tier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acceptance import accepted, accepts_anything
from fake_native import result as fake_result
from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog
from tinytail.reproduction.judge import evaluate
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import preferences_met_percent
from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Row, Trace
from tinytail.reproduction.store import Store

HAREY = next(paper for paper in papers() if paper.name == "harey")


def test_all_rows_are_there_and_each_has_a_measure() -> None:
    assert len(HAREY.rows) == 72
    assert [row.id for row in HAREY.rows.values() if row.measure is None or not row.accept] == []


# What makes a row reproduced, and what is next to it and does not.
EDGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("table1.channels", {"small": 4, "large": 8}, {"small": 4, "large": 7}),
    (
        "s22.patternA_mlc",
        {"name": "MLC A", "misfits": 0, "pages": 128, "pages_F": 64, "pages_S": 64}
        | {"rule": "pairs", "device_rule": "pairs"},
        {"name": "MLC A", "misfits": 0, "pages": 128, "pages_F": 64, "pages_S": 64}
        | {"rule": "pairs", "device_rule": "single"},
    ),
    ("s22.inorder", {"skipped": 0, "programmed": 1}, {"skipped": 1, "programmed": 1}),
    ("fig5.base_peak", {"peak": 38.5}, {"peak": 38.4}),
    ("fig5.allfast_peak", {"peak": 126.8}, {"peak": 127.0}),
    (
        "fig5.wrtf_burst_wp4",
        {"at_percent": 95, "beyond_percent": 90},
        {"at_percent": 95, "beyond_percent": 90.1},
    ),
    ("s42.weak_avg", {"weak": 1.85, "strong": 2}, {"weak": 1.85, "strong": 1.99}),
    ("fig5.drop", {"rises": 0, "above_percent": 10}, {"rises": 1, "above_percent": 10}),
    (
        "fig6.crossover",
        {"locality": 80.0, "moved": 25.6, "matched": 80.23},
        {"locality": 80.01, "moved": 25.6, "matched": 80.23},
    ),
    ("fig6.equal_at80", {"rates": [18.55, 18.73]}, {"rates": [18.55, 18.75]}),
    (
        "fig7.grow",
        {"falls": 0, "fast_growth": 2.1, "slow_growth": 2},
        {"falls": 0, "fast_growth": 2.0, "slow_growth": 2},
    ),
    ("fig8.fgc", {"gain_percent": 12}, {"gain_percent": 11.9}),
    ("fig8.sgc", {"ratios": [0.9, 0.8], "rises": 0}, {"ratios": [1.0, 0.8], "rises": 0}),
    ("table2.swap", {"off_percent": [15, 0, 0]}, {"off_percent": [0, 15.1, 0]}),
    ("s51.threshold", {"off_ns": [1.0]}, {"off_ns": [0.2, 1.1]}),
    ("fig9.strong_weak", {"value": -3}, {"value": -3.1}),
    ("fig9.frac_all", {"least": 20}, {"least": 19.9}),
    ("fig10.rtf_avg", {"mean_percent": 0}, {"mean_percent": -0.1}),
    ("fig11.fgc_max", {"value": 60, "others": [60]}, {"value": 60, "others": [61]}),
    ("fig11.sgc", {"most": 1.03, "rises": 0}, {"most": 1.031, "rises": 0}),
    ("fig11.web", {"wp8": 1.01, "wp32": 1.01}, {"wp8": 1.01, "wp32": 1.0}),
    ("fig12.min", {"least_percent": -10}, {"least_percent": -9.9}),
]


@pytest.mark.parametrize(("name", "within", "beyond"), EDGES, ids=[name for name, *_ in EDGES])
def test_rows_are_accepted_up_to_their_edges(
    name: str, within: dict[str, Any], beyond: dict[str, Any]
) -> None:
    row = HAREY.rows[f"harey.{name}"]
    assert accepted(row, within)
    assert not accepted(row, beyond)


@pytest.mark.parametrize("row", HAREY.rows.values(), ids=lambda row: row.id)
def test_no_row_accepts_whatever_is_measured(row: Row) -> None:
    assert row.measure is None or not accepts_anything(row)


# --- Measures, on made-up results -----------------------------------------------------------------


class Made:
    """A lab whose outcomes a test has made up, by experiment and design."""

    paper = HAREY

    def __init__(self, outcomes: Mapping[tuple[str, str], dict[str, Any]]) -> None:
        self._results = {key: DesignResult.from_dict(made) for key, made in outcomes.items()}

    def result(self, experiment: str, design: str) -> DesignResult:
        return self._results[experiment, design]

    def counter(self, result: DesignResult, name: str) -> int:
        return result.techniques[name]

    def device_of(self, _: str) -> dict[str, Any]:
        return catalog.device_document("harey-8g")


def bursting(mb_s: float | None, **changes: Any) -> dict[str, Any]:
    bursts: dict[str, Any] = {"count": 2, "writing": 2, "mean_us": 1.0, "max_us": 1.0}
    bursts |= {"write_mb_per_second": mb_s, "read_mb_per_second": 10.0}
    return fake_result("x", bursts=bursts, **changes)


def measure(name: str, made: Mapping[tuple[str, str], dict[str, Any]], **arguments: Any) -> Any:
    lab: Any = Made(made)
    return HAREY.measures[name](lab, **arguments)


def test_the_largest_burst_is_the_last_before_the_first_slow_one() -> None:
    made = {("a", "all-fast"): bursting(100.0), ("b", "all-fast"): bursting(100.0)}
    made |= {("c", "all-fast"): bursting(100.0)}
    rates = {"weak": (95.0, 94.9, 99.0), "strong": (95.0, 95.0, 90.0)}
    for design, column in rates.items():
        made |= {
            (experiment, design): bursting(rate)
            for experiment, rate in zip("abc", column, strict=True)
        }
    pairs = {"wp1": ["weak", "strong"], "same": ["weak", "weak"]}
    names = {"experiments": ["a", "b", "c"], "pages": [8, 16, 32]}
    found = measure("guaranteed_bursts", made, **names, pairs=pairs, percent=95)
    assert found == {"wp1": 2, "same": 1}
    made["a", "weak"] = bursting(94.0)
    found = measure("guaranteed_bursts", made, **names, pairs=pairs, percent=95)
    assert found == {"wp1": None, "same": None}
    with pytest.raises(Unavailable, match="no burst"):
        measure("of_all_fast", {("a", "x"): bursting(None)}, design="x", at="a", beyond="a")


def test_shares_of_a_gain_need_a_gain() -> None:
    made = {("a", "base"): bursting(50.0), ("a", "all-fast"): bursting(100.0)}
    made |= {("a", "one"): bursting(60.0), ("a", "two"): bursting(75.0)}
    given = {"designs": ["one", "two"], "whole": "all-fast", "reference": "base"}
    lab: Any = Made(made)
    lab.paper = type("Paper", (), {"named": staticmethod(list)})
    found: Any = HAREY.measures["shares_of_gain"](lab, experiments=["a"], **given)
    assert found["best"] == [pytest.approx(50)]
    assert found["least"] == pytest.approx(20)
    made["a", "all-fast"] = bursting(50.0)
    lab = Made(made)
    lab.paper = type("Paper", (), {"named": staticmethod(list)})
    found = HAREY.measures["shares_of_gain"](lab, experiments=["a"], **given)
    assert found == {"best": [], "least": None}


def test_moves_per_erase_are_those_of_victims() -> None:
    series = fake_result("x")["series"] | {"gc_pages": [60, 20]}
    other = fake_result("x")["series"] | {"gc_pages": [100, 60]}
    made = {("web", "d"): bursting(1.0, series=series, erases=2)}
    made |= {("one", "d"): bursting(1.0, series=other, erases=2)}
    found = measure("moves_per_erase", made, experiment="web", others=["one"], design="d")
    assert found["fewer_percent"] == pytest.approx(50)
    assert found["locality"] == pytest.approx(100 * (1 - 40 / 128))


def test_wear_leaves_out_what_has_none() -> None:
    made = {("a", "base"): bursting(1.0, erases=4), ("a", "d"): bursting(1.0, erases=6)}
    made |= {("b", "base"): bursting(1.0, erases=0), ("b", "d"): bursting(1.0, erases=9)}
    lab: Any = Made(made)
    lab.paper = type("Paper", (), {"named": staticmethod(list)})
    given = {"designs": ["d"], "reference": "base"}
    found: Any = HAREY.measures["wear"](lab, experiments=["a", "b"], **given)
    assert (found["most_percent"], found["all"], found["left_out"]) == (50, [1.5], 1)
    with pytest.raises(Unavailable, match="on any workload"):
        HAREY.measures["wear"](lab, experiments=["b"], **given)


def test_the_decomposition_adds_up_to_half_of_all_pages_fast() -> None:
    series = fake_result("x")["series"] | {"host_pages": [60, 40], "gc_pages": [200]}
    fast = {"host_fast": 30, "gc_fast": 120}
    made = {("pulses", name): bursting(1.0, series=series, techniques=fast) for name in "ab"}
    found = measure("decomposed", made, experiment="pulses", design="a", reference="b")
    assert found["moves"] == found["reference_moves"] == 2
    assert found["fast_percent"] == 50
    assert found["program_us"] == pytest.approx(806)
    assert found["host_us"] == pytest.approx(0.3 * 253 + 0.7 * 1359)
    assert found["gc_us"] == pytest.approx(0.6 * 253 + 0.4 * 1359)


def test_preferences_are_those_of_both_writers() -> None:
    key = "page_choice/by_writer: {} preferences"
    counts = {key.format("host's"): 10, key.format("host's") + " met": 4}
    counts |= {key.format("GC's"): 30, key.format("GC's") + " met": 26}
    result = DesignResult.from_dict(fake_result("x", techniques=counts))
    assert preferences_met_percent(result) == 75
    assert preferences_met_percent(DesignResult.from_dict(fake_result("x", techniques={}))) is None


# --- What labs do for this paper ------------------------------------------------------------------


def test_a_design_elsewhere_runs_on_its_own_device(tmp_path: Path) -> None:
    with Lab(HAREY, "full", Store(tmp_path)) as lab:
        runs = {run.design: run for run in lab.runs("burst-8")}
        spec: Any = runs["all-fast"].spec
        assert (spec.device, spec.design) == ("harey-8g-all-fast", "harey-baseline")
        spec = runs["harey-baseline"].spec
        assert (spec.device, spec.design) == ("harey-8g", "harey-baseline")
        assert runs["all-fast"].key != runs["harey-baseline"].key


def test_a_trace_without_stand_in_is_played_from_its_recording_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINYTAIL_TRACES", raising=False)
    with Lab(HAREY, "full", Store(tmp_path)) as lab:
        why = lab.needs("rtf-recorded.sqlite-wal")
        assert why is not None
        assert "needs the recording" in why
        assert lab.needs("rtf.build") is None
        alone = Trace("alone", "Alone")
        with pytest.raises(Unavailable, match="recording of Alone"):
            lab.inputs.trace(alone)


def test_rows_on_stand_ins_say_so_without_a_run(tmp_path: Path) -> None:
    with Lab(HAREY, "quick", Store(tmp_path)) as lab:
        found = evaluate(HAREY, HAREY.rows["harey.table2.build"], lab)
    assert (found.verdict, found.input) == ("reproduced", "stand-in")
