"""Searches: the front is what trying everything gives, and nothing on it is borrowed."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand, start
from tinytail.errors import ConfigError, OutputError, RunError, UsageError, installation
from tinytail.searches import goals, planned, runs
from tinytail.sweeps import run
from tinytail.sweeps.file import read_call

AXES: dict[str, Any] = {
    "+gc": ["", "preemptible", "plane-preemptible"],
    "+victim": ["", "fifo-victim"],
    "gc.write_points": [1, 2],
}
FEW: dict[str, Any] = {"+gc": ["", "preemptible"]}
FIXED: dict[str, Any] = {
    "device": "ttflash-small",
    "designs": ["base"],
    "workload": "randrw70-qd16",
    "requests": 12_000,
    "requests_short": 2000,
    "seeds": 2,
}
FIGURES = ("read.p99_us", "erases")


def search(**changed: Any) -> tinytail.Search:
    given = {"least": ["read.p99_us"], **FIXED, **changed}
    return tinytail.search(given.pop("axes", AXES), **given)


def figures(found: Sequence[tinytail.Candidate]) -> dict[str, tuple[float | None, ...]]:
    return {each.title: tuple(cell.mean for cell in each.figures.values()) for each in found}


def stupid_front(rows: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Pairs of figures that no other pair is better than, by looking at each pair of pairs."""
    points = [(row["p99"], row["erases"]) for row in rows]
    return sorted(
        one
        for one in points
        if not any(a <= one[0] and b <= one[1] and (a, b) != one for a, b in points)
    )


def is_better(one: tinytail.Candidate, other: tinytail.Candidate) -> bool:
    """Whether one has a figure that is less by more than both intervals explain."""

    def difference(name: str) -> float:
        mine, its = one.figures[name], other.figures[name]
        assert mine.mean is not None
        assert its.mean is not None
        sides = ((mine.high or mine.mean) - mine.mean, its.mean - (its.low or its.mean))
        return its.mean - mine.mean - math.hypot(*sides)

    return any(difference(name) > 0 for name in FIGURES)


def combination(design: str, settings: Mapping[str, Any]) -> str:
    return f"{design} {sorted(settings.items())}"


@pytest.mark.parametrize(
    "changed",
    [
        {"trials": 100, "confirm": 1},
        {"trials": 100, "confirm": 2, "constraints": ["erases <= 1.05 of base"]},
        {"trials": 7, "confirm": 1, "least": ["erases"], "constraints": ["read.p99_us <= 9000"]},
        {"axes": {"gc.write_points": [1, 2]}, "workload": "randread-qd1", "confirm": 2},
    ],
)
def test_each_combination_that_was_tried_is_in_one_list_with_a_reason(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    found = search(**changed, out=tmp_path / "s")
    named = [combination(each.design, each.settings) for each in found.candidates]
    named += [combination(each.design, each.settings) for each in found.left_out]
    assert len(named) == len(set(named)) == found.tried
    assert all(each.verdict for each in found.candidates)
    assert all(each.reason for each in found.left_out)
    document = found.to_dict()
    listed = [*document["candidates"], *document["left_out"]]
    assert len(listed) - len(found.references) == found.tried
    assert all(each.get("verdict") or each.get("reason") for each in listed)
    details = found.table(2000, details=True)
    for title in [each.title for each in found.candidates] + [
        each.title for each in found.left_out
    ]:
        own = rf"(?m)(?:^|: ) *{re.escape(title)}(?:$|[:;])"
        assert len(re.findall(own, details)) == 1, (title, details)


def test_the_best_trials_have_long_runs_whatever_makes_their_short_ones_doubtful() -> None:
    found = search(trials=100, confirm=1, requests=20_000, requests_short=20_000)
    trials = [(each.short, each.title) for each in found.candidates]
    trials += [(each.short, each.title) for each in found.left_out if each.kind != "alike"]
    ranked = sorted(
        (short["read.p99_us"] or math.inf, title) for short, title in trials if short is not None
    )
    judged = {each.title for each in found.candidates}
    alike = {each.title for each in found.left_out if each.kind == "alike"}
    best = [title for _, title in ranked[:3]]
    assert all(title in judged | alike for title in best), (best, judged)
    # The short runs of plane-preemptible GC borrow, and are the best.
    assert all("plane-preemptible" in title for title in best)
    refuted = [each for each in found.candidates if each.title in best]
    assert all("it lived on pages that were erased before" in each.verdict for each in refuted)
    assert "refuted by long runs, it lived on pages that were erased before" in found.table(200)


def test_where_all_are_tried_the_front_is_that_of_a_sweep() -> None:
    found = search(least=FIGURES, trials=100, confirm=100)
    assert (found.tried, found.combinations, found.failed, found.refused) == (12, 12, 0, 0)
    fixed = {key: value for key, value in FIXED.items() if key != "requests_short"}
    table = tinytail.sweep(AXES, **fixed, seed=2).to_polars()
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.to_dicts():
        rows.setdefault(tuple(row[name] for name in AXES), []).append(row)
    base = rows["", "", 1]
    kept = [
        {
            "p99": sum(row["read.p99_us"] for row in each) / 2,
            "erases": sum(row["erases"] for row in each) / 2,
        }
        for each in rows.values()
        if not any("borrowed" in row["findings"] for row in each)
    ]
    assert len(kept) < len(rows), "none borrows: the test says nothing"
    front = [*found.front, *(each for each in found.references if each.is_best)]
    cells = [tuple(each.figures[name].mean for name in FIGURES) for each in front]
    best = stupid_front(kept)
    assert set(cells) <= set(best)
    # Each is better than each other one by more than chance, and none is left out without cause.
    every = [*found.candidates, *found.references]
    for one in front:
        assert all(is_better(one, other) for other in front if other is not one)
    for each in every:
        if tuple(each.figures[name].mean for name in FIGURES) in best and each not in front:
            assert any(not is_better(each, other) for other in front)
    [reference] = found.references
    assert reference.figures["erases"].mean == sum(row["erases"] for row in base) / 2


def test_what_is_tried_is_the_same_however_many_run_at_once(tmp_path: Path) -> None:
    some = {"trials": 8, "confirm": 2}
    one = search(**some, jobs=1, out=tmp_path / "one")
    two = search(**some, jobs=2)
    assert one.tried == 8
    assert one.to_dict() == two.to_dict()
    assert one.table() == two.table()


def test_nothing_is_run_twice_whatever_the_goals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    run_point = run.run_point

    def counted(spec: Any, *others: Any) -> Any:
        ran.append(json.dumps(spec.given(), sort_keys=True))
        return run_point(spec, *others)

    monkeypatch.setattr(run, "run_point", counted)
    first = search(out=tmp_path / "s", trials=8, confirm=2)
    before = len(ran)
    assert before == len(set(ran)) > 8
    again = search(out=tmp_path / "s", trials=8, confirm=2)
    assert len(ran) == before
    assert again.to_dict() == first.to_dict()
    search(out=tmp_path / "s", trials=100, confirm=2, least=["write.mean_us"])
    assert len(ran) == len(set(ran)) > before


def test_no_trial_stays_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    optuna = pytest.importorskip("optuna")
    under_way: list[int] = []
    asked: list[Any] = []
    ask = optuna.Study.ask

    def counted(self: Any, *given: Any) -> Any:
        running = self.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,))
        under_way.append(len(running))
        asked.append(ask(self, *given))
        return asked[-1]

    monkeypatch.setattr(optuna.Study, "ask", counted)
    axes = {"ram.buffer_kib": list(range(64, 140, 4))}
    found = search(axes=axes, least=["erases", "read.mean_us"], trials=18, confirm=1)
    assert found.tried == 18
    # Optuna asks again for what was tried: these trials end at once, the others with their batch.
    assert len(asked) > 18
    assert max(under_way) < 8


def test_an_interrupted_search_goes_on_where_it_ended(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'device = "ttflash-small"\ndesigns = ["base"]\nworkload = "randrw70-qd16"\n'
        'least = ["read.p99_us"]\nrequests = 20000\nrequests_short = 10000\nseeds = 2\n'
        'confirm = 2\n[axes]\n"+gc" = ["", "preemptible"]\ngc.write_points = [1, 2, 4]\n'
    )
    process = start("search", str(file), "--jobs", "1")
    journal = tmp_path / "s" / "journal.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the same command goes on from there" in err
    before = tinytail.read_sweep(tmp_path / "s").partial
    assert before
    outcome = command("search", str(file), "--json", str(tmp_path / "s.json"))
    assert outcome.code == 0, outcome.err
    other = command("search", str(file), "--out", str(tmp_path / "other"), "--json", "-")
    assert json.loads((tmp_path / "s.json").read_text()) == json.loads(other.out)
    assert (tmp_path / "s" / "designs" / "front-1.toml").exists()


def test_what_was_confirmed_is_there_after_an_interrupt() -> None:
    def progress(parts: Sequence[tinytail.DesignProgress]) -> None:
        # The runs of the base and of the three best trials.
        if parts[-1].design == "confirmed" and parts[-1].done >= 9:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(tinytail.Interrupted) as raised:
        search(confirm=1, requests=50_000, jobs=1, progress=progress, constraints=["erases <= 1"])
    found = raised.value.comparison
    assert isinstance(found, tinytail.Search)
    assert len(found.candidates) >= 1


def test_an_interrupt_in_python_holds_what_was_found() -> None:
    def progress(_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(tinytail.Interrupted) as raised:
        search(progress=progress, requests=200_000, requests_short=100_000)
    assert isinstance(raised.value.comparison, tinytail.Search)
    assert raised.value.comparison.partial
    assert raised.value.comparison.front == ()
    assert "PARTIAL" in raised.value.comparison.table()


def test_a_design_of_the_front_gives_the_figures_that_it_was_found_by(tmp_path: Path) -> None:
    found = search(trials=100, confirm=3)
    [best] = found.front
    assert found.comparison is not None
    [file] = found.write_designs(tmp_path)
    compared = tinytail.compare(
        ["base", file],
        device="ttflash-small",
        workload="randrw70-qd16",
        requests=12_000,
        seed=2,
        seeds=2,
    )
    base, front = compared.results
    assert [each.event_hash for each in front.replicates] == [
        each.event_hash for each in found.comparison.result("front-1").replicates
    ]
    assert base.read == found.comparison.result("base").read
    assert front.read.p99_us == best.figures["read.p99_us"].mean
    assert best.title in Path(file).read_text()


@pytest.mark.parametrize(
    "changed",
    [
        # A drive with little spare space, so that thresholds and the gate follow it.
        {"device": "modern-tlc-2t-small", "requests_short": 10_000},
        # Values for all runs, of the design, the device and the workload.
        {
            "settings": {
                "gc_trigger.soft_free_percent": 20.0,
                "host.over_provisioning_percent": 40,
                "synthetic.queue_depth": 32,
            },
            "axes": {"+gc": ["preemptible"]},
        },
        {"axes": {"host.over_provisioning_percent": [8, 30], "gc.write_points": [2]}},
    ],
)
def test_the_command_in_a_design_file_gives_the_figures_again(
    changed: dict[str, Any], command: RunCommand, tmp_path: Path
) -> None:
    found = search(**{"axes": {"gc.write_points": [2, 4]}, "trials": 9, "confirm": 9} | changed)
    [path, *_] = found.write_designs(tmp_path)
    [line] = [each for each in Path(path).read_text().splitlines() if "tinytail compare" in each]
    outcome = command(*line.removeprefix("# tinytail ").split(), "--json", "-")
    assert outcome.code == 0, outcome.err
    [result] = json.loads(outcome.out)["results"]
    front = found.front[0]
    assert found.comparison is not None
    assert found.comparison.command.splitlines()[1] == f"{front.command} --seeds 2"
    assert result["read"]["p99_us"] == front.figures["read.p99_us"].mean
    assert result["erases"] == pytest.approx(front.figures["erases"].mean, abs=0.5)


def test_design_files_of_an_earlier_search_are_removed(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("# mine")
    (tmp_path / "front-9.toml").write_text("# mine")
    many = search(least=["read.p99_us", "write.p99_us"], trials=100, confirm=100)
    assert len(many.write_designs(tmp_path)) == len(many.front) > 1
    one = search(trials=100, confirm=3)
    assert len(one.write_designs(tmp_path)) == 1
    left = sorted(each.name for each in tmp_path.iterdir())
    assert left == ["front-1.toml", "front-9.toml", "mine.toml"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write designs"):
        one.write_designs(tmp_path / "file")


def test_a_constraint_keeps_out_what_breaks_it() -> None:
    bound = search(
        beside=["ttflash"], trials=100, confirm=100, constraints=["write.p99_us <= 0.9 of ttflash"]
    )
    for each in (*bound.candidates, *bound.references):
        value = each.figures["write.p99_us"].mean
        limit = bound.references[0].figures["write.p99_us"].mean
        assert value is not None
        assert limit is not None
        is_broken = any(fault.startswith("not write.p99_us") for fault in each.faults)
        assert is_broken is (value > 0.9 * limit)
        assert not (is_broken and each.is_best)
    assert any(", bound " in each.verdict for each in bound.references)


def test_a_design_that_is_better_is_on_the_front_in_its_place() -> None:
    found = search(axes={"gc.write_points": [1, 2]}, beside=["ttflash"], trials=100)
    assert found.front == ()
    [ttflash] = found.references
    assert ttflash.is_best
    assert "No combination is on the front" in found.table()


def test_promising_combinations_are_confirmed_before_hopeless_ones() -> None:
    found = search(confirm=1, trials=100, constraints=["read.p99_us <= 5000"])
    # Long runs refute plane-preemptible GC: it borrows. What is far beyond the bound is not tried.
    assert [each.design.split("+")[1] for each in found.front] == ["preemptible"]
    tails = [each.figures["read.p99_us"].mean for each in found.candidates]
    assert all(tail is not None and tail < 10_000 for tail in tails)
    assert found.waiting > 0
    assert f"{found.waiting} more kept all constraints when tried" in found.table(200)


def test_what_chance_may_have_put_behind_the_front_is_said_to_be_like_it() -> None:
    axes = {"+gc": ["preemptible"], "gc.write_points": [1, 2, 4], "+victim": ["", "fifo-victim"]}
    found = search(axes=axes, trials=9, confirm=9)
    highs = {each.name: each.figures["read.p99_us"].high or 0.0 for each in found.front}
    others = [each for each in found.candidates if not each.is_best and not each.faults]
    for each in others:
        low = each.figures["read.p99_us"].low
        assert low is not None
        like = [name for name, high in highs.items() if low <= high]
        assert each.alike == (like[0] if like else "")
        assert ("within noise" in each.verdict) is bool(like)
    assert any(each.alike for each in others)


def test_combinations_that_do_the_same_are_counted() -> None:
    # Nothing is collected: nothing that GC does matters.
    fixed = {"workload": "randread-qd1", "requests": 2000, "requests_short": 2000}
    found = search(axes={"gc.write_points": [1, 2], "+victim": ["", "fifo-victim"]}, **fixed)
    assert (found.candidates, found.alike) == ((), 4)
    assert "4 did the same as another or as a design" in found.table(200)
    assert "No combination is on the front" in found.table(200)


def test_a_value_that_changes_the_drive_says_what_it_costs_in_space() -> None:
    axes = {"host.over_provisioning_percent": [8, 30]}
    found = search(axes=axes, trials=100, device="modern-tlc-2t-small")
    sizes = {
        each.settings["host.over_provisioning_percent"]: each.logical_bytes
        for each in found.candidates
    }
    assert sizes[8] > sizes[30]
    assert "space" in found.table()


def test_other_seeds_of_one_folder_stay_apart(tmp_path: Path) -> None:
    axes = {"gc.write_points": [1, 2]}
    search(axes=axes, seed=3, out=tmp_path / "s", trials=9)
    search(axes=axes, seed=2, out=tmp_path / "s", trials=9)
    rows = tinytail.read_sweep(tmp_path / "s").to_arrow().to_pylist()
    # The short runs of the first have a seed of the long runs of the second.
    assert {(row["seed"], row["requests"]) for row in rows} == {(3, 12_000), (4, 12_000)}


def test_a_bound_never_wins() -> None:
    found = search(axes={"+gc": ["preemptible", "ideal-gc", "no-gc"]}, trials=100)
    assert [each.design for each in found.front] == ["base+preemptible"]
    bounds = [each for each in found.candidates if each.design != "base+preemptible"]
    assert len(bounds) == 2
    assert all("it bounds what can be reached" in each.verdict for each in bounds)


def test_what_can_not_run_is_left_out() -> None:
    found = search(axes={"+gc": ["", "preemptible", "gc-par", "t-es"]}, trials=100)
    assert (found.tried, found.refused, found.failed) == (2, 2, 0)
    assert [note.partition(": ")[0] for note in found.notes] == [
        "no combination with +gc = gc-par can run",
        "no combination with +gc = t-es can run",
    ]
    # Each value of these can run with one of the other axis.
    axes = {
        "gc_trigger.soft_free_percent": [20.0, 30.0],
        "gc_trigger.hard_free_percent": [5.0, 25.0],
    }
    found = search(axes=axes, trials=100)
    assert (found.tried, found.refused, found.notes) == (3, 1, ())


def test_a_deep_percentile_is_judged_by_one_that_short_runs_have() -> None:
    found = search(least=["read.p999_us"], requests=20_000, trials=100, confirm=1)
    assert found.proxies == {"read.p999_us": "read.p99_us"}
    assert "judged by read.p99_us" in found.table()
    assert all(each.figures["read.p999_us"].mean is not None for each in found.candidates)
    # Long runs have none of them either, which short runs tell.
    with pytest.raises(UsageError, match=r"read\.p9999_us needs about 14\d,\d+ requests"):
        search(least=["read.p9999_us"], trials=100, confirm=1)


def test_designs_are_a_choice() -> None:
    found = search(axes={}, designs=["base", "ttflash", "pb"], trials=100)
    # The first is what others are held against.
    assert [each.name for each in found.references] == ["base"]
    assert {each.design for each in found.candidates} == {"ttflash", "pb"}


def test_all_runs_of_a_stage_use_the_addresses_that_every_design_can_hold() -> None:
    settings = {"host.over_provisioning_percent": 7}
    found = search(axes={}, designs=["base", "ttflash"], settings=settings, trials=100)
    [base] = found.references
    assert "--beside ttflash" in base.command
    assert found.comparison is not None
    compared = tinytail.compare(
        ["base", "ttflash"],
        device="ttflash-small",
        workload="randrw70-qd16",
        requests=12_000,
        seed=2,
        settings=settings,
    )
    replicates = found.comparison.result("base").replicates
    assert replicates[0].event_hash == compared.result("base").event_hash


def test_fronts_are_those_of_a_stupid_model() -> None:
    costs = [(value * 7 % 11, value * 5 % 13, value % 3) for value in range(40)]
    found = list(goals.fronts(costs))
    assert sorted(place for front in found for place in front) == list(range(40))
    left = set(range(40))
    for front in found:
        for one in left:
            better = [
                other
                for other in left
                if costs[other] != costs[one]
                and all(a <= b for a, b in zip(costs[other], costs[one], strict=True))
            ]
            assert (one in front) is (not better)
        left -= set(front)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"least": []}, 'a search needs an objective, such as least = ["read.p999_us"]'),
        ({"least": ["read.p98_us"]}, 'there is no figure "read.p98_us"; did you mean'),
        ({"greatest": ["read.p99_us"]}, 'the objective "read.p99_us" is given twice'),
        ({"constraints": ["erases = 3"]}, "must be FIGURE <= NUMBER or FIGURE >= NUMBER"),
        ({"constraints": ["erases <= some of base"]}, "must be FIGURE <= NUMBER"),
        ({"constraints": ["erases <= nan"]}, "must be a number, not nan"),
        ({"constraints": ["erase <= 3"]}, 'there is no figure "erase"; did you mean "erases"?'),
        ({"constraints": "erases <= 3"}, "constraints must be a list of names"),
        ({"designs": 5}, "designs must be a list of names"),
        ({"designs": "base"}, "designs must be a list of names"),
        ({"axes": [1], "designs": ["base", "pb"]}, "axes"),
        ({"axes": {"device": ["ttflash-small"]}, "device": None}, "a search is for one drive"),
        ({"trials": 0}, "trials must be a whole number of at least 1"),
        ({"confirm": 0}, "confirm must be a whole number of at least 1"),
        ({"requests_short": 12_001}, "requests_short must be a whole number from 1 to 12000"),
        ({"axes": {"scale_time": [1, 2]}}, "axis scale_time is no choice of a design"),
        ({"axes": {"workload": ["zipf"]}, "workload": None}, "axis workload is no choice"),
        ({"axes": {"synthetic.queue_depth": [1]}}, "is no choice of a design"),
        ({"axes": {"state.live_percent": [50]}}, "axis state.live_percent is no choice"),
        ({"axes": {"gc.write_point": [50]}}, "write_point"),
        ({"jobs": 0}, "jobs must be a whole number of at least 1"),
        ({"out": ""}, "the name of the dataset's folder is empty"),
        ({"progress": 3}, "progress must be a function"),
    ],
)
def test_what_can_not_be_searched_is_refused_before_anything_runs(
    changed: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "run_here", None)
    with pytest.raises((UsageError, ConfigError)) as raised:
        search(**changed)
    assert said in str(raised.value)


def test_a_figure_that_a_design_lacks_is_told() -> None:
    with pytest.raises(RunError, match=r"base\+no-gc has no gc_times.mean_us in a short run"):
        search(constraints=["gc_times.mean_us <= 1 of base+no-gc"])


@pytest.mark.parametrize("changed", [{"beside": ["bas"]}, {"constraints": ["erases <= 1 of bas"]}])
def test_an_unknown_design_to_hold_against_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="bas"):
        search(**changed)


def test_a_design_to_hold_against_that_fails_ends_the_search() -> None:
    with pytest.raises(RunError, match="which others are held against, failed"):
        search(least=["erases"], beside=["base+no-gc"], workload="randwrite-qd32", requests=400_000)


def test_another_sweep_in_the_way_is_refused(tmp_path: Path) -> None:
    search(out=tmp_path / "s", trials=1, confirm=1)
    with pytest.raises(UsageError, match="holds another sweep"):
        search(out=tmp_path / "s", workload="zipf")


def drawn_points(line: Any) -> list[tuple[float, float]]:
    return sorted(zip(*line.get_data(), strict=True))


def test_the_front_of_a_picture_of_the_dataset_is_that_of_the_search(tmp_path: Path) -> None:
    found = search(least=FIGURES, trials=100, confirm=100, out=tmp_path / "s")
    assert any(each.faults for each in found.candidates), "none is refuted: the test says nothing"
    dataset = tinytail.read_sweep(tmp_path / "s")
    [choices] = dataset.choices("erases", "read.p99_us")

    def points(chosen: Sequence[tinytail.Candidate]) -> list[tuple[Any, Any]]:
        return sorted(
            (each.figures["erases"].mean, each.figures["read.p99_us"].mean) for each in chosen
        )

    assert sorted(choices.points[at] for at in choices.best) == points(found.front)
    refuted = [each for each in found.candidates if each.faults]
    assert sorted(choices.points[at] for at in choices.refuted) == points(refuted)
    [axes] = dataset.plot("front", "read.p99_us").axes
    drawn = {str(line.get_label()): line for line in axes.lines}
    assert drawn_points(drawn["front"]) == points(found.front)
    [crosses] = [line for name, line in drawn.items() if "refuted by the search" in name]
    assert crosses.get_marker() == "x"
    assert drawn_points(crosses) == points(refuted)
    legend = axes.get_legend()
    assert legend is not None
    assert any("refuted by the search" in text.get_text() for text in legend.get_texts())
    dataset.report(tmp_path / "page.html", "read.p99_us")
    assert "refuted by the search" in (tmp_path / "page.html").read_text()
    damaged = tmp_path / "s" / "front.json"
    damaged.write_text(damaged.read_text().replace("refuted", "front", 1))
    with pytest.raises(tinytail.ResultsError, match=r"front\.json is damaged"):
        tinytail.read_sweep(tmp_path / "s")


def test_the_picture_has_what_was_found() -> None:
    found = search(axes=FEW, beside=["ttflash"], trials=100, confirm=100)
    [axes] = found.plot().axes
    _, labels = axes.get_legend_handles_labels()
    assert labels[-1] == "ttflash"
    assert {"front", "confirmed", "refuted"} & set(labels)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("erases", "read.p99_us")
    with pytest.raises(UsageError, match='the goals have no figure "write'):
        found.plot("write.p99_us")
    assert search(axes=FEW, least=["erases"], trials=100).plot().axes[0].get_ylabel() == "erases"


def test_a_library_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinytail.inputs.libraries.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=re.escape(installation("optuna", "pyarrow"))):
        search()


FILE = """
device = "ttflash-small"
designs = ["base"]
workload = "randrw70-qd16"
least = ["read.p99_us"]
constraints = ["write_amplification <= 1.2 of own.toml"]
requests = 8000
seeds = 2
confirm = 1
[axes]
"+gc" = ["", "preemptible"]
gc.write_points = [1, 2]
"""


def test_a_file_says_a_search_and_names_what_lies_beside_it(
    command: RunCommand, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text(
        tinytail.engine.catalog.file_text("design", "base+controller-blocking")
    )
    file = tmp_path / "s.toml"
    file.write_text(FILE)
    figures = tmp_path / "figures"
    words = ("--details", "--figures", str(figures))
    outcome = command("search", str(file), *words)
    assert outcome.code == 0, outcome.err
    assert "least read.p99_us, write_amplification <= 1.2 of" in outcome.out
    assert f"front-1: {tmp_path / 's' / 'designs' / 'front-1.toml'}" in outcome.out
    assert (
        "confirmed" in (figures / "front.svg").read_text()
        or "front" in (figures / "front.svg").read_text()
    )
    shown = command("sweep", "show", str(tmp_path / "s"), "--figure", "read.p99_us")
    assert shown.code == 0, shown.err
    for text, said in (
        (FILE.replace("least", "leest"), '"leest" is unknown; did you mean "least"?'),
        (FILE.replace('least = ["read.p99_us"]\n', ""), "a search needs an objective"),
        (FILE.partition("[axes]")[0], "there is no [axes]"),
    ):
        file.write_text(text)
        outcome = command("search", str(file))
        assert outcome.code == 2
        assert said in outcome.err


@pytest.mark.parametrize(
    "file",
    sorted((Path(__file__).parents[3] / "examples" / "searches").glob("*.toml")),
    ids=lambda file: file.stem,
)
def test_the_files_to_copy_can_run(file: Path) -> None:
    made, wanted = read_call(file, planned, goals.GOALS)
    assert wanted.objectives
    if made.workload == "dtrs" and "TINYTAIL_TRACES" not in os.environ:
        pytest.skip("TINYTAIL_TRACES is not set, and its workload is a trace")
    made.check()
