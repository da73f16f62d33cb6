"""Experiments that end otherwise than a run does, causes that are measured, and tables of pages."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from fake_native import FakeNative, result as fake_result
from paper_checks import check
from small_papers import experiment, judged, paper, row
from tinytail.errors import ConfigError, OutputError, RunError, UsageError
from tinytail.reproduction import certified, figures, page_tables, pages, paper_files, session
from tinytail.reproduction.certified import Certified, Supervision
from tinytail.reproduction.judge import NO_CAUSE
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.papers.ttflash import measures as papers_measures
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Deviation, Figure, PaperTable, SideBySide
from tinytail.reproduction.store import Store
from tinytail.server import speed
from tinytail.server.trial import Trial
from tinytail.terminal import console
from tinytail.terminal.console import JsonOutput

STUCK = "One of them, a write, has been in the device for 10.9 s of simulated time. plane 3 waits"
LONGEST = {"value": ["small", "ttflash", "longest_write_us"]}


def starving(**measure: Any) -> Any:
    given = {"use": "run_values", "values": LONGEST, "per": 1000000} | measure
    return paper(row(measure=given, accept=("value > 10",), acceptance="> 10 s"))


# --- Runs that got stuck --------------------------------------------------------------------------


def test_a_run_that_stalls_is_kept_and_counts_only_where_stalling_is_asked_about(
    fakes: FakeNative, store: Store
) -> None:
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash", partial=True, stuck=STUCK)
    found = judged(starving(stuck=True), store)
    assert (found.verdict, found.measured) == ("reproduced", {"value": 10.9})
    refused = judged(starving(), store)
    assert (refused.verdict, refused.measured) == ("not-run", None)
    assert "plane 3 waits" in refused.cause
    # It is the same whenever it is made.
    assert len(fakes.specs) == 2


def test_a_run_that_was_interrupted_is_no_outcome(fakes: FakeNative, store: Store) -> None:
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash", partial=True)
    assert "interrupted" in judged(starving(stuck=True), store).cause
    assert len(list(store.folder.glob("*.json"))) == 1, "that of base"


def test_a_design_that_a_tier_leaves_out_is_not_run_and_no_error(
    fakes: FakeNative, store: Store
) -> None:
    quick = experiment(quick={"designs": ["base"]})
    found = judged(paper(experiments=(quick,)), store)
    assert (found.verdict, found.cause) == ("not-run", "runs in the full tier only")
    assert [spec["design"] for spec in fakes.specs] == ["base"]
    wrong = paper(
        row(measure={"use": "run_values", "values": {"value": ["small", "pb", "erases"]}})
    )
    with pytest.raises(ConfigError, match='has no design "pb"'):
        judged(wrong, store)


# --- Served drives --------------------------------------------------------------------------------

SERVED: dict[str, Any] = {
    "workload": {"personality": "varmail"},
    "served": {"size": "384M", "seconds": 1, "warm_up": "1M"},
    "quick": None,
}
GOOD = {"lateness": {"all": {"late_percent": 0.5}, "invalid": None}, "failed": 0, "error": None}


def on_the_wall_clock(**changes: Any) -> Any:
    measure = {"use": "served_personalities", "experiments": "mail", "reference": "base"}
    of = row(
        measure=measure | {"design": "ttflash"}, accept=("lower_latency == 1",), acceptance="1"
    )
    made = (experiment(quick=None), experiment("mail", **(SERVED | changes)))
    return paper(of, experiments=made, measures=papers_measures.MEASURES)


def test_drives_are_served_once_after_all_runs_and_one_at_a_time(
    fakes: FakeNative, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def run(label: str) -> Any:
        order.append(label)
        return fake_result(label)

    def play(given: Trial, heed: Any) -> dict[str, Any]:
        order.append(f"{given.design} begins")
        heed(0.5, 1)
        time.sleep(0.01)
        order.append(f"{given.design} ends")
        latency = {"base": 9.0, "ttflash": 3.0}[given.design]
        return GOOD | {"read_mean_us": latency, "blocked_percent": latency, "reads": 5}

    for design in ("base", "ttflash"):
        fakes.runs[design] = lambda *_, design=design: run(design)
    monkeypatch.setattr(Trial, "run", play)
    found = judged(on_the_wall_clock(), store, tier="full", jobs=4)
    assert (found.verdict, found.input) == ("reproduced", "synthetic")
    assert found.measured["too_late_percent"] == 0.5
    assert sorted(order[:2]) == ["base", "ttflash"]
    served_in = [label.partition(" ") for label in order[2:]]
    assert [(name, word) for name, _, word in served_in] == [
        (name, word) for name in ("base", "ttflash") for word in ("begins", "ends")
    ]
    assert judged(on_the_wall_clock(), store, tier="full").measured == found.measured
    assert len(order) == 6, "it is kept"
    quick = judged(on_the_wall_clock(), store)
    assert (quick.verdict, quick.cause) == ("not-run", "runs in the full tier only")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lateness": {"invalid": "2 % left late"}}, "too late for the wall clock: 2 % left late"),
        ({"failed": 3}, "3 requests failed"),
        ({"error": "the disk is full"}, "the disk is full"),
    ],
)
def test_a_drive_that_was_served_too_late_or_badly_is_not_kept(
    fakes: FakeNative,  # noqa: ARG001
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.setattr(Trial, "run", lambda *_: GOOD | changes)
    found = judged(on_the_wall_clock(), store, tier="full")
    assert (found.verdict, found.measured) == ("not-run", None)
    assert said in found.cause
    assert len(list(store.folder.glob("*.json"))) == 2, "those of the simulated runs"


def test_the_speed_of_the_server_needs_fio(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = {"use": "served_iops", "experiment": "bench"}
    of = row(measure=measure, accept=("value >= 50",), acceptance="50")
    bench = experiment("bench", designs=("base",), workload={"bench": "serve"}, served={})
    whole = paper(of, experiments=(bench,), measures=papers_measures.MEASURES)
    monkeypatch.setattr(speed, "lacks", lambda: "fio is not installed")
    found = judged(whole, store)
    assert (found.verdict, "fio is not installed" in found.cause) == ("not-run", True)
    monkeypatch.setattr(speed, "lacks", lambda: None)
    figures = {"iops": 50_000.0, "late_us_depth_1": 2.0, "late_us_depth_16": 0.5}
    monkeypatch.setattr(speed, "measure", lambda: figures)
    found = judged(whole, store)
    assert (found.verdict, found.measured["value"]) == ("reproduced", 50.0)


def test_a_served_drive_is_cancelled_where_it_says_how_far_it_is() -> None:
    supervision = Supervision()
    supervision.at(1, 2)
    assert (supervision.done(), supervision.total()) == (1, 2)
    supervision.cancel()
    with pytest.raises(KeyboardInterrupt):
        supervision.at(2, 2)


# --- Certifications -------------------------------------------------------------------------------

DESIGN = "base+ideal-gc"
DEVICE = "lowlatency-240g-small"
ACT: dict[str, Any] = {
    "designs": (DESIGN,),
    "device": DEVICE,
    "workload": "act",
    "certify": {"rule": "paper-large-period", "duration_s": 1, "max_multiplier": 2},
}


def rated(**changes: Any) -> Any:
    measure = {
        "use": "ratings",
        "experiment": "small",
        "designs": {"value": DESIGN},
        "tests": ["stress"],
    }
    of = row(measure=measure, accept=("value == 2",), acceptance="2")
    return paper(of, experiments=(experiment(**(ACT | changes)),))


def test_a_certification_is_an_experiment_that_is_made_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = judged(rated(), store)
    assert (found.verdict, found.measured, found.input) == ("reproduced", {"value": 2}, "synthetic")
    monkeypatch.setattr(certified, "certify", lambda *_: pytest.fail("it was certified again"))
    assert judged(rated(), store).measured == {"value": 2}
    with Lab(rated(), "quick", store) as lab:
        kept = lab.certification("small", DESIGN)
        assert kept.rating("performance") == kept.rating("stress") == 2
        assert kept.failed("stress") is None
        assert [step["multiplier"] for step in kept.document["steps"]] == [1, 2]


def test_what_cannot_be_certified_says_why(store: Store) -> None:
    with pytest.raises(UsageError, match="max_multiplier"):
        judged(rated(certify={"duration_s": 1, "max_multiplier": 0}), store)
    missing = judged(rated(designs=("base+no-such",)), store, kept_only=True)
    assert "no-such" in missing.cause


def test_a_certification_that_fails_or_is_cancelled_has_no_ratings(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Certified | None:
        raise RunError("out of erased pages")

    monkeypatch.setattr(certified, "certify", fail)
    assert "out of erased pages" in judged(rated(), store).cause
    monkeypatch.setattr(certified, "certify", lambda *_: None)
    assert "interrupted" in judged(rated(), store).cause
    assert not list(store.folder.glob("*.json"))


def test_a_certification_can_be_cancelled_while_it_runs() -> None:
    plan = certified.plan(DEVICE, DESIGN, {}, {"duration_s": 3600, "max_multiplier": 64})
    supervision = Supervision()
    supervision.cancel()
    began = time.monotonic()
    assert certified.certify(plan, supervision) is None
    assert time.monotonic() - began < 60
    assert (supervision.phase(), supervision.done()) == ("running", 0.0)


def test_ratings_that_are_not_whole_count_as_not_kept() -> None:
    ratings = {"a": {"performance": 3, "stress": None}}
    with pytest.raises(TypeError):
        Certified.from_dict({"certification": {"ratings": ratings, "steps": []}})
    steps = [{"multiplier": m, "stress": m < 5, "performance": m < 3} for m in (7, 5, 3, 1)]
    found = Certified({"ratings": {"a": {"performance": 1, "stress": 3}}, "steps": steps})
    assert found.failed("stress") == steps[1]
    assert found.failed("performance") == steps[2]


# --- Causes whose numbers are measured ------------------------------------------------------------

BUSY = {"use": "run_values", "values": {"wa": ["small", "base", "write_amplification"]}}


def caused(measure: dict[str, Any] | None, cause: str) -> Any:
    return paper(row(accept=("value > 9",)), deviations={
        "fake.ratio": Deviation("fake.ratio", cause, measure)
    })  # fmt: skip


@pytest.mark.usefixtures("fakes")
def test_a_cause_has_the_numbers_of_the_runs(store: Store) -> None:
    found = judged(caused(BUSY, "each page costs {wa}"), store)
    assert (found.verdict, found.cause) == ("deviates", "each page costs 4.1")
    # What only the cause has looked at is no input of the row.
    assert judged(caused(None, "{as it stands}"), store).cause == "{as it stands}"


@pytest.mark.usefixtures("fakes")
def test_a_cause_that_cannot_be_measured_says_so(store: Store) -> None:
    lacking = {"use": "run_values", "values": {"wa": ["gone", "base", "write_amplification"]}}
    of = caused(lacking, "each page costs {wa}")
    more = {"gone": experiment("gone", device="ttflash-7g")}
    of = paper(*of.rows.values(), experiments=(*of.experiments.values(), *more.values()),
               deviations=of.deviations)  # fmt: skip
    found = judged(of, store)
    assert found.cause.startswith(NO_CAUSE)
    assert "ttflash-7g" in found.cause
    assert of.experiments_of(of.rows["fake.ratio"]) == ("small", "gone")


TAILS = Figure(
    "tails",
    "Tails",
    "tails",
    {"small": "Small"},
    ("base", "ttflash"),
    requests=("read", "write"),
    percents=(99.0, 100.0),
)
MARK = {"request": "read", "percent": 99.0, "us": 1400, "design": "base"}


def test_tails_are_drawn_with_the_papers_values_and_what_stalled(
    fakes: FakeNative, store: Store, tmp_path: Path
) -> None:
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash", partial=True, stuck=STUCK)
    of = paper(figures=(replace(TAILS, marks=(MARK,)),))
    with Lab(of, "quick", store) as lab:
        lab.make(["small"])
        [drawn] = figures.draw_all(of, lab, ["small"], tmp_path, "svg")
    assert drawn["lacks"] == []
    picture = (tmp_path / "tails.svg").read_text("utf-8")
    for words in ("Small, reads", "Small, writes", "base, paper", "ttflash (stalled)", ">max<"):
        assert words in picture, words


# --- Faulty data ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tables": (PaperTable("T", ("a",), ({"label": "x", "rows": ["fake.no"]},)),)}, "fake.no"),
        (
            {"tables": (PaperTable("T", ("a", "b"), ({"label": "x", "rows": ["fake.ratio"]},)),)},
            "1 cells for 2 columns",
        ),
        ({"tables": (PaperTable("T", ("a",), ({"rows": ["fake.ratio"]},)),)}, "label, rows"),
        (
            {"tables": (PaperTable("T", ("a",), ({"label": "x", "rows": [], "gvien": {}},)),)},
            "gvien",
        ),
        ({"deviations": {"fake.no": Deviation("fake.no", "why")}}, 'unknown row "fake.no"'),
        (
            {"deviations": {"fake.ratio": Deviation("fake.ratio", "why", {"use": "run_vales"})}},
            'did you mean "run_values"',
        ),
        ({"figures": (replace(TAILS, marks=(MARK | {"percent": 98.0},)),)}, "at the percent 98.0"),
        ({"figures": (replace(TAILS, marks=(MARK | {"at": 1},)),)}, "not request, .*at"),
        (
            {"figures": (replace(TAILS, kind="bars", relative_to="bsae"),)},
            '"small" has no design "bsae"; did you mean "base"',
        ),
        ({"figures": (replace(TAILS, relative_to="base"),)}, "for bars and curves, not for tails"),
        ({"figures": (replace(TAILS, measure={"use": "run_values"}),)}, "for bars that are"),
        (
            {"figures": (replace(TAILS, kind="bars", measure={"use": "run_vales"}),)},
            'did you mean "run_values"',
        ),
        ({"side_by_side": (SideBySide("Two", ("small",), "base", ("p98",)),)}, 'no figure "p98"'),
        ({"experiments": (experiment(certify={}),)}, 'the load "act"'),
        ({"experiments": (experiment(served={}),)}, "under a personality or the bench"),
        (
            {
                "experiments": (
                    experiment(
                        workload={"personality": "varmial"},
                        served={"size": "384M", "seconds": 1, "warm_up": "1M"},
                    ),
                )
            },
            'did you mean "varmail"',
        ),
        ({"experiments": (experiment(hit=("die_erase",)),)}, "in a log only"),
    ],
)
def test_faulty_data_of_a_paper_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check(paper(**changes))


def test_a_trace_that_no_paper_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match='did you mean "tpcc"'):
        paper_files._played([experiment(workload="@tpc")], paper_files._traces())
    assert list(paper_files._played([experiment(workload="@tpcc")], paper_files._traces())) == [
        "tpcc"
    ]


# --- Tables of pages ------------------------------------------------------------------------------


def test_tables_of_the_paper_have_what_was_measured_below_it() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "paper_value": "32", "measured": 31},
        {"id": "b", "paper_value": "14", "measured": {"write_ms": 13.51, "sum_ms": 2, "value": 9}},
        {"id": "c", "paper_value": "7", "measured": None},
    ]
    line = {"label": "stress", "rows": ["a", "b", "c"], "given": {"real device": ["1", "2", "3"]}}
    table = {"title": "Table 3", "columns": ["A", "B", "C"], "lines": [line]}
    heading, title, text = page_tables.paper_tables([table], rows)
    assert (heading, title) == ("## Tables", "### Table 3")
    assert text.splitlines()[2:] == [
        "| stress, real device | 1 | 2 | 3 |",
        "| stress, paper | 32 | 14 | 7 |",
        "| stress, measured | 31 | 9 | – |",
    ]
    assert page_tables.paper_tables([], rows) == []
    named = line | {"values": ["value", "write_ms / sum_ms", "value"]}
    (*_, text) = page_tables.paper_tables([table | {"lines": [named]}], rows)
    assert text.endswith("| stress, measured | 31 | 13.51 / 2 | – |")


def test_designs_beside_each_other_show_which_causes_made_them_slower(
    fakes: FakeNative, store: Store, tmp_path: Path
) -> None:
    slower = fake_result("ttflash", scale=280.0)
    slower["attribution"]["tails"] = fake_result()["attribution"]["tails"]
    before = slower["attribution"]["all_reads"]["ns"]
    slower["attribution"]["all_reads"] |= {
        "ns": before | {"array": before["array"] + 113_071 * 2000, "transfer": 0},
    }
    fakes.runs["ttflash"] = lambda *_: slower
    beside = SideBySide("Two", ("small", "again"), "base", ("p50", "p99999"), attribution=True)
    of = paper(experiments=(experiment(), experiment("again", seed=2)), side_by_side=(beside,))
    wanted = session.Wanted([(of, each) for each in of.rows.values()], "quick", store)
    document = session.execute(wanted)
    pages.write(document, tmp_path)
    page = (tmp_path / "fake.md").read_text("utf-8")
    assert "| p50 | p99.999 | blocked % |" in page
    assert "| `ttflash` | small | dtrs | 75.0 | 2.00× | 2.00× | 2.500 |" in page
    # Two microseconds more in the array, and less by the transfers of 20 ms over all reads.
    assert "| small | `ttflash` | all reads | +1.8 | array 2.0 | transfer 0.2 |" in page
    assert "| small | `ttflash` | slowest 0.1 % | +0.0 | – | – |" in page


def test_results_of_one_paper_leave_those_of_another_alone(
    fakes: FakeNative, store: Store, tmp_path: Path
) -> None:
    del fakes
    for of in (paper(), paper(name="other")):
        rows = [(of, each) for each in of.rows.values()]
        pages.write(session.execute(session.Wanted(rows, "quick", store)), tmp_path)
    for name in ("fake", "other"):
        assert (tmp_path / name / "results.json").is_file()
        assert "[results.json](" + name + "/results.json)" in (tmp_path / f"{name}.md").read_text()


# --- What commands share --------------------------------------------------------------------------


def test_results_are_shown_unless_they_go_to_standard_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def show(path: str | None) -> bool:
        to = None if path is None else JsonOutput(path)
        return console.show_results(to, lambda: "{}\n", lambda _: Text("a table"))

    file = tmp_path / "results.json"
    assert show(str(file))
    assert file.read_text("utf-8") == "{}\n"
    assert capsys.readouterr().out == "a table\n"
    assert show("-")
    assert capsys.readouterr().out == "{}\n"
    assert not show(str(tmp_path / "none" / "results.json"))
    shown = capsys.readouterr()
    assert shown.out == "a table\n"
    assert "cannot write results" in shown.err


def test_results_that_cannot_be_written_are_told_and_not_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    problem = console.write_output(JsonOutput("-"), lambda: "{}")
    assert isinstance(problem, OutputError)
    assert "No space left" in str(problem)


def test_no_lab_hands_out_ratings_of_runs(fakes: FakeNative, store: Store) -> None:
    del fakes
    of = paper()
    with Lab(of, "quick", store) as lab:
        lab.make(["small"])
        with pytest.raises(Unavailable):
            lab.certification("small", "base")
