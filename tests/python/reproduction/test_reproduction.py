"""`tinytail reproduce`: runs made once and kept, verdicts and their causes, results and pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import RunCommand, read_json
from fake_native import FakeNative, result as fake_result
from small_papers import experiment, judged, paper, row
from tinytail.cli.reproduce import _why_nothing as why_nothing
from tinytail.engine import memory, native as engine
from tinytail.engine.jobs import DesignProgress
from tinytail.errors import ConfigError, RunError
from tinytail.reproduction import figures, judge, logs, pages, paper_files, session
from tinytail.reproduction.judge import NO_CAUSE
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.measures import Values
from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import (
    Deviation,
    Experiment,
    Figure,
    Paper,
    Reading,
    SideBySide,
    Trace,
)
from tinytail.reproduction.store import Store
from tinytail.terminal.console import plain_text

ROOT = Path(__file__).parents[3]
TTFLASH = next(paper for paper in papers() if paper.name == "ttflash")


def deviations(row_id: str, cause: str, **measure: Any) -> dict[str, Deviation]:
    return {row_id: Deviation(row_id, cause, measure or None)}


@pytest.mark.parametrize(
    ("scale", "verdict"),
    [(0.5, "reproduced"), (0.499, "deviates"), (2.0, "reproduced"), (2.001, "deviates")],
)
def test_a_row_is_reproduced_up_to_the_edges_of_what_is_accepted(
    scale: float, verdict: str, fakes: FakeNative, store: Store
) -> None:
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash", scale=140.0 * scale)
    found = judged(paper(), store)
    assert found.verdict == verdict
    assert found.measured == {"value": pytest.approx(scale)}
    assert found.to_dict("abc")["measured"] == pytest.approx(scale)
    assert found.cause == ("" if verdict == "reproduced" else NO_CAUSE)
    assert found.input == "synthetic"


def test_a_deviation_has_the_cause_that_stands_in_the_table(
    fakes: FakeNative, store: Store
) -> None:
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash", scale=9000.0)
    found = judged(paper(deviations=deviations("fake.ratio", "it is another drive")), store)
    assert (found.verdict, found.cause) == ("deviates", "it is another drive")
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash")
    fine = judged(
        paper(deviations=deviations("fake.ratio", "it is another drive")), Store(store.folder, True)
    )
    assert (fine.verdict, fine.cause) == ("reproduced", "")


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"designs": ("base", "ttflahs")}, "ttflahs"),
        ({"device": "ttflash-7g"}, "needs the device ttflash-7g"),
        ({"workload": "nothing"}, "needs the workload nothing"),
        ({"quick": None}, "runs in the full tier only"),
    ],
)
def test_what_lacks_something_is_not_run_and_says_what(
    changes: dict[str, Any], cause: str, store: Store
) -> None:
    found = judged(paper(experiments=(experiment(**changes),)), store)
    assert found.verdict == "not-run"
    assert found.measured is None
    assert cause in found.cause
    assert found.to_dict("abc")["measured"] is None


def test_a_run_that_fails_or_gets_stuck_is_not_run(fakes: FakeNative, store: Store) -> None:
    def fail(*_: Any) -> dict[str, Any]:
        raise RunError("out of erased pages")

    fakes.runs["ttflash"] = fail
    assert "the run of small ttflash: out of erased pages" in judged(paper(), store).cause
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash", partial=True, stuck="plane 3 holds")
    assert "plane 3 holds" in judged(paper(), store).cause


@pytest.mark.usefixtures("fakes")
def test_a_row_that_nothing_can_measure_says_what_it_lacks(store: Store) -> None:
    emulator = row("fake.emu", measure=None, accept=(), lacks="the emulator")
    other = row("fake.other", measure=None, accept=(), lacks="a real drive", input="context")
    of = paper(emulator, other)
    assert judged(of, store, "fake.emu").cause == "needs the emulator"
    found = judged(of, store, "fake.other")
    assert (found.input, found.verdict, found.cause) == (
        "context",
        "not-run",
        "context: a real drive",
    )


def test_a_lab_of_kept_runs_makes_none_and_says_so(fakes: FakeNative, store: Store) -> None:
    found = judged(paper(), store, kept_only=True)
    assert (found.verdict, len(fakes.specs)) == ("not-run", 0)
    assert "not run yet in this result" in found.cause
    made = judged(paper(), store)
    assert judged(paper(), store, kept_only=True).measured == made.measured
    assert len(fakes.specs) == 2


def test_runs_are_shared_kept_and_made_anew_when_something_changes(
    fakes: FakeNative, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = paper(row(), row("fake.other"))
    judged(twice, store)
    assert len(fakes.specs) == 2
    judged(twice, store, "fake.other")
    assert len(fakes.specs) == 2
    judged(twice, Store(store.folder, fresh=True))
    assert len(fakes.specs) == 4
    judged(paper(experiments=(experiment(seed=2),)), store)
    assert len(fakes.specs) == 6
    judged(paper(experiments=(experiment(state={"live_percent": 50}),)), store)
    assert len(fakes.specs) == 8
    monkeypatch.setattr(engine, "identity", lambda: "engine 2")
    judged(twice, store)
    assert len(fakes.specs) == 10


def test_a_damaged_outcome_is_run_again(fakes: FakeNative, store: Store) -> None:
    judged(paper(), store)
    for file in store.folder.glob("*.json"):
        file.write_text('{"result": {}, "log": null}', "utf-8")
    assert judged(paper(), store).verdict == "reproduced"
    assert len(fakes.specs) == 4


def test_outcomes_that_cannot_be_kept_are_used_all_the_same(
    fakes: FakeNative, tmp_path: Path
) -> None:
    del fakes
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    of = paper()
    document = session.execute(session.Wanted([(of, row())], "quick", Store(in_the_way / "kept")))
    assert document["rows"][0]["verdict"] == "reproduced"
    assert len(document["notes"]) == 2
    assert "not kept for the next time" in document["notes"][0]


@pytest.mark.usefixtures("fakes")
def test_overlays_of_an_experiment_reach_the_engine(store: Store) -> None:
    overlays = {"mark": {"gc_trigger": {"policy": "watermark", "soft_free_percent": 45.0}}}
    of = paper(experiments=(experiment(designs=("base", "ttflash+@mark"), overlays=overlays),))
    with (
        Lab(of, "full", store) as lab,
        pytest.raises(Unavailable, match=r"overlay [0-9a-f]*/mark\.toml"),
    ):
        # The fake engine knows no overlay, and so names what it was given.
        lab.runs("small")
    wrong = paper(experiments=(experiment(designs=("base+@makr",), overlays=overlays),))
    with Lab(wrong, "full", store) as lab, pytest.raises(ConfigError, match='did you mean "mark"'):
        lab.runs("small")


def traced(**changes: Any) -> Paper:
    trace = Trace("mail", "MAIL", stand_in="standin-mail", **changes)
    return paper(
        row(input="trace"),
        experiments=(experiment(workload="@mail"),),
        traces={"mail": trace},
    )


def test_a_stand_in_shows_as_one_and_a_recording_goes_before_it(
    fakes: FakeNative, store: Store, tmp_path: Path
) -> None:
    missing = judged(traced(), store)
    assert (missing.verdict, missing.input) == ("not-run", "stand-in")
    assert "needs the workload standin-mail" in missing.cause
    assert "--trace mail=FILE" in missing.cause

    recording = tmp_path / "mail.trace"
    recording.write_text("0 0 0 8 1\n", "utf-8")
    real = {"name": "mail.trace", "input": "real", "detail": "1 request", "pacing": "open"}
    for name in ("base", "ttflash"):
        fakes.runs[name] = lambda *_: fake_result("base", workload=real)
    found = judged(traced(), store, traces={"mail": str(recording)})
    assert (found.verdict, found.input, found.workloads) == ("reproduced", "real", ("mail.trace",))
    assert fakes.specs[0]["workload"] == str(recording)
    # Another content is another run.
    recording.write_text("0 0 0 16 1\n", "utf-8")
    judged(traced(), store, traces={"mail": str(recording)})
    assert len(fakes.specs) == 4


def test_runs_that_do_not_fit_into_memory_are_not_made(
    fakes: FakeNative, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def need(_device: str, design: str, *_: Any, **__: Any) -> int:
        return 3 << 30 if design == "ttflash" else 1 << 30

    monkeypatch.setattr(memory, "drive_bytes", need)
    monkeypatch.setattr(memory, "free", lambda: memory.Free(2 << 30, "are free"))
    result = judged(paper(row()), store)
    assert result.verdict == "not-run"
    why = "ttflash: the drive takes about 3.00 GiB of memory, and 2.00 GiB are free"
    assert result.cause.endswith(why)
    assert [spec["design"] for spec in fakes.specs] == ["base"]


def test_an_interrupted_reproduction_keeps_what_has_ended(fakes: FakeNative, store: Store) -> None:
    def endless(_: Any, control: Any) -> dict[str, Any]:
        control.cancelled.wait()
        return fake_result("ttflash", partial=True)

    fakes.runs["ttflash"] = endless

    def stop(progress: Sequence[DesignProgress]) -> None:
        if progress[0].news == "1 of 2 runs":
            raise KeyboardInterrupt

    of = paper(row(), row("fake.lacking", measure=None, accept=(), lacks="x"))
    wanted = session.Wanted([(of, each) for each in of.rows.values()], "quick", store)
    document = session.execute(wanted, stop)
    assert document["partial"] is True
    assert [each["verdict"] for each in document["rows"]] == ["not-run", "not-run"]
    assert "interrupted" in document["rows"][0]["cause"]
    # Base had ended, and is not run again.
    fakes.runs["ttflash"] = lambda *_: fake_result("ttflash")
    document = session.execute(wanted)
    assert document["partial"] is False
    assert [spec["design"] for spec in fakes.specs].count("base") == 1
    assert document["rows"][0]["verdict"] == "reproduced"
    assert document["counts"] == {"synthetic": {"reproduced": 1, "deviates": 0, "not-run": 1}}


def test_a_fault_in_a_run_is_not_swallowed(fakes: FakeNative, store: Store) -> None:
    def broken(*_: Any) -> dict[str, Any]:
        raise AssertionError("a fault")

    fakes.runs["ttflash"] = broken
    with Lab(paper(), "quick", store) as lab, pytest.raises(AssertionError, match="a fault"):
        lab.make(["small"])


FIGURES = (
    Figure("lines", "Lines", "cdf", {"small": "Small"}, ("base", "ttflash")),
    Figure("bars", "Bars", "bars", {"small": "Small"}, ("base", "ttflash"), value="mean_read_ms"),
    Figure(
        "stack", "Stack", "bars", {"small": "Small"}, ("base", "ttflash"), value="blocked_percent"
    ),
    Figure(
        "share", "Share", "bars", {"small": "S"}, ("ttflash",), value="erases", relative_to="base"
    ),
    Figure("time", "Time", "timeline", {"small": "Small"}, ("base",), value="read_p99_ms"),
    Figure("gone", "Gone", "cdf", {"lacking": "Gone"}, ("base",)),
)


@pytest.fixture
def results(fakes: FakeNative, store: Store, tmp_path: Path) -> tuple[dict[str, Any], Path]:
    del fakes
    of = paper(
        row(acceptance="0.5-2.0 | [x](y) <b>"),
        row("fake.off", accept=("value > 5",), acceptance="> 5"),
        experiments=(
            experiment(),
            experiment("again", seed=2),
            experiment("lacking", device="ttflash-7g"),
        ),
        figures=FIGURES,
        side_by_side=(SideBySide("Two runs", ("small", "again"), "base"),),
        deviations=deviations("fake.off", "for a reason"),
    )
    wanted = session.Wanted(
        [(of, each) for each in of.rows.values()], "quick", store, figures=tmp_path / "docs"
    )
    return session.execute(wanted), tmp_path / "docs"


def test_figures_are_drawn_alike_each_time_and_say_what_they_lack(
    results: tuple[dict[str, Any], Path], fakes: FakeNative, store: Store, tmp_path: Path
) -> None:
    document, folder = results
    assert [each["name"] for each in document["figures"]] == [
        "lines",
        "bars",
        "stack",
        "share",
        "time",
    ]
    del fakes
    of = paper(experiments=(experiment(),), figures=FIGURES[:5])
    with Lab(of, "quick", store) as lab:
        again = figures.draw_all(of, lab, ["small"], tmp_path / "again", "svg")
    for drawn in again:
        file = folder / "fake" / f"{drawn['name']}.svg"
        picture = file.read_bytes()
        assert b"<svg" in picture
        assert picture == (tmp_path / "again" / file.name).read_bytes()


def test_bars_may_be_relative_to_a_design_that_is_not_drawn(
    fakes: FakeNative, store: Store, tmp_path: Path
) -> None:
    del fakes
    first, second = experiment().designs[:2]
    drawings = []
    for name, relative_to in (("alone", None), ("relative", first)):
        bars = replace(FIGURES[1], name=name, designs=(second,), relative_to=relative_to)
        of = paper(experiments=(experiment(),), figures=(bars,))
        with Lab(of, "quick", store) as lab:
            lab.make(["small"])
            [drawn] = figures.draw_all(of, lab, ["small"], tmp_path, "svg")
        assert drawn["lacks"] == []
        drawings.append((tmp_path / f"{name}.svg").read_text("utf-8").count('id="patch_'))
    assert drawings[0] == drawings[1]


def test_bars_may_be_what_a_measure_finds_of_each_run(fakes: FakeNative, store: Store) -> None:
    del fakes
    asked = []

    def found(_: Lab, *, experiments: Sequence[str], design: str, factor: float) -> Values:
        asked.append((*experiments, design))
        if design == "ttflash":
            raise Unavailable("there is none")
        return {"height": 2 * factor}

    bars = replace(FIGURES[1], value="height", measure={"use": "found", "factor": 3.0})
    of = paper(experiments=(experiment(),), figures=(bars,), measures={"found": found})
    with Lab(of, "quick", store) as lab:
        lab.make(["small"])
        panels, _ = figures._outcomes(bars, lab, ["small"])
        assert figures._heights(bars, lab, panels) == {("small", "base"): (6.0, 0.0)}
    assert asked == [("small", "base"), ("small", "ttflash")]


def test_the_page_is_what_the_results_give(results: tuple[dict[str, Any], Path]) -> None:
    document, folder = results
    files = pages.write(document, folder)
    assert [file.relative_to(folder) for file in files] == [
        Path("fake/results.json"),
        Path("fake.md"),
    ]
    page = (folder / "fake.md").read_text("utf-8")
    assert page == pages.page(read_json(folder / "fake" / "results.json"))
    assert "| `fake.off` | 1.0 x | 1 x | for a reason |" in page
    assert "0.5-2.0 \\| \\[x](y) \\<b>" in page
    assert "![Lines](fake/lines.svg)" in page
    assert (folder / "fake" / "lines.svg").is_file()
    assert "| synthetic | 1 | 1 | 0 | 1 of 2 | – | – | – |" in page
    assert "2 figures that the paper measured: 1 reproduced, 1 deviating." in page
    assert "| `fake.off` | slowdown | 1.0 x | 1 x | 1.00× | synthetic | deviates |" in page
    assert "## Two runs" in page
    assert "| `ttflash` | again | dtrs | 75.0 | 1.00× |" in page


def test_rows_are_measured_again_under_other_readings_which_judge_nothing(
    fakes: FakeNative, store: Store
) -> None:
    for design, scale in (("base", 1.0), ("ttflash", 3.0)):
        fakes.runs[f"{design}+no-gc"] = lambda *_, d=design, s=scale: fake_result(d, scale=s)
    of = paper(
        experiments=(experiment(designs=("base", "ttflash", "base+no-gc", "ttflash+no-gc")),),
        readings=(
            Reading("No GC", "GC takes no time.", ("fake.ratio",), overlay="no-gc"),
            Reading("Another drive", "It is.", ("fake.ratio",), experiments={"small": "gone"}),
        ),
    )
    of = replace(of, experiments={**of.experiments, "gone": experiment("gone", quick=None)})
    document = session.execute(session.Wanted([(of, of.rows["fake.ratio"])], "quick", store))
    assert document["rows"][0]["measured"] == pytest.approx(1.0)
    assert document["rows"][0]["verdict"] == "reproduced"
    found = [reading["rows"][0] for reading in document["readings"]]
    assert found[0]["measured"] == pytest.approx(3.0)
    assert found[0]["verdict"] == "deviates"
    assert (found[1]["verdict"], found[1]["lacks"]) == ("not-run", "runs in the full tier only")
    page = pages.page(session.of_paper(document, "fake"))
    assert "### No GC\n\nGC takes no time." in page
    assert "| `fake.ratio` | 1.0 x | 1 x | 3 x | deviates |" in page
    assert "| `fake.ratio` | 1.0 x | 1 x | – | not-run: runs in the full tier only |" in page


def test_the_kinds_of_values_of_a_figure_are_checked(
    fakes: FakeNative, store: Store, tmp_path: Path
) -> None:
    del fakes
    wrong = replace(FIGURES[1], value="mean_raed_ms")
    of = paper(figures=(wrong,))
    with Lab(of, "quick", store) as lab:
        lab.make(["small"])
        with pytest.raises(ConfigError, match='did you mean "mean_read_ms"'):
            figures.draw_all(of, lab, ["small"], tmp_path, "svg")


# --- The command line, on the real engine ---------------------------------------------------------


@pytest.fixture
def reproduce(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs `tinytail reproduce` with its outcomes kept in the test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TINYTAIL_TRACES", raising=False)
    return lambda *words: command("reproduce", *words)


# What the engine without RAIN shows of the paper, in probes of a few requests.
PROBED = [
    "ttflash.s41.gc64",
    "ttflash.s41.read_floor",
    "ttflash.s41.pb_prolong",
    "ttflash.s41.pb_isolation",
    "ttflash.s62.preempt_delay",
    "ttflash.s62.watermark",
    "ttflash.fig9d.workload",
]


def test_figures_that_nothing_run_is_part_of_are_said_to_be_missing(
    reproduce: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "figures"
    outcome = reproduce("ttflash.table1", "--figures", str(folder))
    assert (outcome.code, folder.exists()) == (0, False)
    assert f"nothing was drawn into {folder}" in outcome.err
    assert f"`tinytail reproduce ttflash --tier full --figures {folder}`" in outcome.err


def test_what_follows_from_equations_is_drawn_by_a_command_that_is_named(
    reproduce: Callable[..., Any], command: RunCommand, tmp_path: Path
) -> None:
    folder = tmp_path / "figures"
    outcome = reproduce("harey.fig6", "--figures", str(folder))
    assert not folder.exists()
    [said] = re.findall(r"`tinytail (.*?)` draws what harey.fig6 has", outcome.err)
    assert command(*said.split()).code == 0
    assert list(folder.glob("*.svg"))


@pytest.mark.parametrize("prefix", ["ttflash", "pes", "gcpar", "harey"])
def test_figures_of_the_full_tier_are_named_with_its_command(prefix: str, tmp_path: Path) -> None:
    chosen = paper_files.select([prefix])
    store = Store(tmp_path / "kept")
    words: dict[str, Any] = {"words": (prefix,), "figures": tmp_path / "f"}
    document: dict[str, Any] = {"figures": [], "rows": []}
    quick = why_nothing(session.Wanted(chosen, "quick", store, **words), document)
    assert f"`tinytail reproduce {prefix} --tier full --figures {tmp_path / 'f'}`" in quick
    # In the full tier the reason is the cause that its rows have.
    [(of, first)] = [each for each in chosen if each[0].experiments_of(each[1])][:1]
    missing = {"id": first.id, "verdict": "not-run", "cause": "needs the trace x"}
    full = session.Wanted(chosen, "full", store, **words)
    said = why_nothing(full, {"figures": [], "rows": [missing]})
    assert ("needs the trace x" in said) == bool(
        {name for each in of.figures for name in each.panels} & set(of.experiments_of(first))
    )


def test_probes_of_the_engine_reproduce_their_rows(
    reproduce: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    outcome = reproduce(*PROBED, "ttflash.table1", "ttflash.table3", "--json", str(file))
    assert outcome.code == 0, outcome.err
    document = read_json(file)
    rows = {each["id"]: each for each in document["rows"]}
    assert {each["verdict"] for each in rows.values()} == {"reproduced"}
    assert len(rows) == len(PROBED) + 12 + 9
    gc = rows["ttflash.s41.gc64"]["measured"]
    # 64 copies of 840 us and their commands of 0.2 us.
    assert gc["channel_blocking_ms"] == pytest.approx(64 * 0.8404, abs=1e-6)
    assert gc["plane_blocking_ms"] == pytest.approx(64 * 0.8404, abs=0.001)
    loaded = rows["ttflash.s41.pb_prolong"]["measured"]
    assert loaded["plane_loaded_ms"] > loaded["plane_idle_ms"] + 1
    needed = {"id", "paper_value", "measured", "acceptance", "input", "verdict", "cause", "commit"}
    assert all(needed <= set(each) for each in rows.values())


@pytest.mark.parametrize(
    ("verdict", "cause", "code"),
    [
        ("reproduced", "", 0),
        ("deviates", "a cause that is known", 0),
        ("deviates", "not explained yet", 1),
        ("not-run", "no trace", 0),
    ],
)
def test_what_deviates_without_a_cause_is_an_error(
    reproduce: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    verdict: str,
    cause: str,
    code: int,
) -> None:
    judge = session.execute

    def judged(*words: Any) -> Any:
        document = judge(*words)
        for each in document["rows"]:
            each.update(verdict=verdict, cause=cause)
        return document

    monkeypatch.setattr(session, "execute", judged)
    outcome = reproduce("ttflash.s66.dwpd1")
    assert outcome.code == code
    assert ("ttflash.s66.dwpd1" in outcome.err) == (code == 1)


def test_a_second_time_nothing_is_run(
    reproduce: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reproduce("ttflash.s41.gc64", "--json", "-")
    assert first.code == 0

    def refuse(*_: Any) -> dict[str, Any]:
        raise AssertionError("it was run again")

    monkeypatch.setattr(engine, "run", refuse)
    again = reproduce("ttflash.s41.gc64", "--json", "-")
    assert json.loads(again.out)["rows"] == json.loads(first.out)["rows"]


def test_the_list_shows_rows_and_runs_nothing(
    reproduce: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "run", lambda *_: pytest.fail("it ran something"))
    outcome = reproduce("ttflash.table2.dtrs", "--list", "--json", "-")
    assert outcome.code == 0
    rows = json.loads(outcome.out)["rows"]
    assert [each["paper_value"] for each in rows] == ["1.24", "1.01", "1.02"]
    assert rows[0]["experiments"] == ["ladder.dtrs"]
    assert "ttflash.fig1.kwps" in reproduce("ttflash.fig1", "--list").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ttflash.tabel2"], 'did you mean "ttflash.table2"'),
        (["pes.tabel2"], 'did you mean "pes.table2"'),
        (["pes", "--trace", "exchange=x"], 'no trace is called "exchange"'),
        (["--tier", "slow"], "slow"),
        (["ttflash", "--trace", "dtrs"], "--trace must be NAME=FILE"),
        (["ttflash", "--trace", "dtsr=x"], 'did you mean "dtrs"'),
        (["ttflash", "--trace", "dtrs=/nowhere/x"], "there is no file /nowhere/x"),
        (["ttflash", "--trace", "dtrs=a", "--trace", "dtrs=b"], 'gives "dtrs" twice'),
        (["ttflash.table1", "--docs", "x"], "--docs needs all rows"),
        (["ttflash", "--docs", "x", "--figures", "y"], "--docs has its own figures"),
        (["ttflash.table1", "--figures", str(ROOT / "Makefile")], "is not a folder"),
        (["ttflash.table1", "--jobs", "0"], "jobs"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(
    words: list[str], said: str, reproduce: Callable[..., Any]
) -> None:
    outcome = reproduce(*words)
    assert outcome.code == 2
    assert said.lower() in outcome.err.lower()


def test_without_the_libraries_of_the_extra_the_rest_works(
    reproduce: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tinytail.inputs.libraries.find_spec", lambda _: None)
    drawn = tmp_path / "figures"
    words = ("ttflash.s41.gc64", "ttflash.table1.channels", "--json", "-")
    outcome = reproduce(*words, "--figures", str(drawn))
    rows = json.loads(outcome.out)["rows"]
    assert [each["verdict"] for each in rows] == ["reproduced", "not-run"]
    assert "needs pyarrow" in rows[1]["cause"]
    assert "figures need matplotlib" in outcome.err
    assert not drawn.exists()
    refused = reproduce("ttflash", "--docs", str(drawn))
    assert refused.code == 2
    assert "--docs needs matplotlib" in refused.err


def test_a_log_is_kept_as_requests_and_as_latencies_by_size(store: Store) -> None:
    lines = [f"{i * 1_000_000} 0 {i * 8} {8 if i % 2 else 16} 1" for i in range(10)]
    of = paper()
    with Lab(of, "full", store) as lab:
        probe = Experiment(
            name="log",
            about="two sizes of reads",
            designs=("base",),
            device="ttflash-small",
            workload={"requests": lines},
            cost_s=0.1,
            log=True,
        )
        made, kept = lab.probe(probe).log, lab.probe(probe).log
    assert made is not None
    assert kept == made
    assert len(made.requests) == 10
    assert [each.arrived_ns for each in made.requests] == sorted(
        each.arrived_ns for each in made.requests
    )
    # A page, and two pages from two channels.
    assert made.read_us(8, 50.0) == made.read_us(16, 99.0) == 140.2
    assert logs.Log.from_dict(json.loads(json.dumps(made.to_dict()))) == made


# --- What is committed ----------------------------------------------------------------------------

COMMITTED = ROOT / "evidence" / "reproduction"


@pytest.mark.parametrize("of", papers(), ids=lambda of: of.name)
def test_committed_results_are_complete_and_explained(of: Paper) -> None:
    if not (COMMITTED / of.name / "results.json").is_file():
        pytest.skip(f"no results of {of.name} are kept: tinytail reproduce {of.prefix} --tier full")
    document = read_json(COMMITTED / of.name / "results.json")
    assert document["tier"] == "full"
    assert document["partial"] is False
    rows = {each["id"]: each for each in document["rows"]}
    assert set(of.rows) == set(rows)
    for row_id, each in of.rows.items():
        shown = rows[row_id]
        assert shown["acceptance"] == each.acceptance
        assert shown["paper_value"] == each.paper_value
        said = of.evidence[row_id].to_dict()
        assert {key: shown[key] for key in said} == said, "run tools/evidence.py"
    deviating = {row_id for row_id in of.rows if rows[row_id]["verdict"] == "deviates"}
    # A row that could not run this time keeps the cause of the time before.
    not_run = {row_id for row_id in of.deviations if rows[row_id]["verdict"] == "not-run"}
    assert set(of.deviations) - not_run == deviating, f"the table of deviations of {of.name}"
    for row_id in deviating:
        deviation = of.deviations[row_id]
        # Figures that were measured for a cause stand where its text has names in braces.
        words = re.split(r"\\{\w+\\}", re.escape(deviation.cause))
        assert re.fullmatch(".+?".join(words), rows[row_id]["cause"]), row_id
    page = (COMMITTED / f"{of.name}.md").read_text("utf-8")
    assert page == pages.page(document), f"run tinytail reproduce {of.prefix} --docs"
    for figure in document["figures"]:
        assert (COMMITTED / figure["file"]).is_file()


UNITS = ("µs", "ms", "s", "MB/s", "MiB/s", "KB", "KIOPS", "%", "x", "pages", "count", "mixed")


@pytest.mark.parametrize("of", papers(), ids=lambda of: of.name)
def test_no_unit_is_said_twice_and_each_has_one_spelling(of: Paper) -> None:
    for width in (80, 400):
        listed = plain_text(
            pages.list_view([(of, each) for each in of.rows.values()], width), width
        )
        assert not re.search(r"\bus\b|K IOPS", listed)
    for each in of.rows.values():
        # The paper's value may contain a unit, so a second one must not follow it.
        for cell in (judge.with_unit(each.paper_value, each.unit), judge.shown(1.5, each.unit)):
            for unit in UNITS:
                before, found, _ = cell.rpartition(f" {unit}")
                letter = rf"(?<![^\W\d]){re.escape(unit)}(?![^\W\d])"
                is_behind = found and cell.endswith(found) and " / " not in cell
                assert not (is_behind and re.search(letter, before)), f"{each.id}: {cell}"


def test_ttflash_has_committed_results() -> None:
    assert (COMMITTED / "ttflash" / "results.json").is_file()


def test_every_row_of_the_papers_can_be_listed() -> None:
    assert len(paper_files.select([])) == sum(len(of.rows) for of in papers())
    assert pages.list_document(paper_files.select(["ttflash"]))["rows"]


def test_many_rows_are_summed_up_unless_all_are_asked_for() -> None:
    document = read_json(COMMITTED / "ttflash" / "results.json")
    rows = document["rows"]
    summed = plain_text(pages.results_view(document, 80), 80)
    assert len(summed.splitlines()) < len(rows) / 2
    assert "--details" in summed
    deviating = [row["id"] for row in rows if row["verdict"] == "deviates"]
    assert all(row in summed for row in deviating)
    whole = plain_text(pages.results_view(document, 80, details=True), 80)
    assert all(row["id"] in whole for row in rows)
    few = document | {"rows": rows[: pages.ROWS_MAX]}
    assert rows[0]["quantity"] not in summed
    assert rows[0]["id"] in plain_text(pages.results_view(few, 80), 80)


@pytest.mark.parametrize("prefix", ["ttflash", "harey"])
def test_rows_of_the_quick_tier_have_the_verdicts_that_are_kept(
    prefix: str, command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TINYTAIL_TRACES", raising=False)
    file = tmp_path / "results.json"
    command("reproduce", prefix, "--json", str(file))
    judged = {row["id"]: row for row in read_json(file)["rows"] if row["verdict"] != "not-run"}
    pages_kept = ROOT / "evidence" / "reproduction" / prefix
    kept = {row["id"]: row for row in read_json(pages_kept / "results.json")["rows"]}
    assert len(judged) > 30
    assert {row_id: row["verdict"] for row_id, row in judged.items()} == {
        row_id: kept[row_id]["verdict"] for row_id in judged
    }
