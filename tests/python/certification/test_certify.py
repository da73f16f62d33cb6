"""Certification: the rules at their limits, the search, and the command."""

from __future__ import annotations

import io
import itertools
import json
import random
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate
from rich.console import Console

import tinytail
from commands import RunCommand, read_json, start
from endings import fail
from fake_native import FakeControl, FakeNative, latency, result
from tinytail.certification import SCHEMES, Plan, Step
from tinytail.certification.act import KINDS, LIMITS, RATE_PER_S, RULES, judge
from tinytail.certification.rounds import Case
from tinytail.certification.search import TESTS, Search
from tinytail.engine.jobs import DesignProgress, Job
from tinytail.terminal.progress import PlainReporter, reporter

SMALL = "lowlatency-240g-small"
NAMES = ("paper", "paper-large-period", "current")


def measured(
    *,
    count: int = 10_000,
    missed: Sequence[int] = (0, 0, 0),
    worst: Sequence[float] = (0.0, 0.0, 0.0),
    means_us: Sequence[float] = (10.0, 10.0, 10.0),
    max_us: Sequence[float] = (20.0, 20.0, 20.0),
    **changes: Any,
) -> dict[str, Any]:
    """What a run gave, as the engine says it."""
    kinds = []
    for kind, mean, most in zip(KINDS, means_us, max_us, strict=True):
        limits = [
            {"limit_ns": limit.ns, "missed": number, "worst_slice_percent": share}
            for limit, number, share in zip(LIMITS, missed, worst, strict=True)
        ]
        figures = latency(count, 1.0) | {"mean_us": mean if count else None}
        figures |= {"max_us": most if count else None}
        kinds.append({"kind": kind.kind, "bytes": kind.bytes, "latency": figures, "limits": limits})
    return result("base", kinds=kinds, **changes)


def passes(rule: str, multiplier: int, outcome: dict[str, Any]) -> tuple[bool, bool]:
    verdict = judge(RULES[rule], multiplier, outcome)
    return verdict.performance, verdict.stress


@pytest.mark.parametrize("rule", NAMES)
def test_a_run_without_anything_slow_passes(rule: str) -> None:
    verdict = judge(RULES[rule], 4, measured())
    assert (verdict.performance, verdict.stress, verdict.reason) == (True, True, None)
    assert all(each.margin_percent is not None for each in verdict.conditions)


@pytest.mark.parametrize("position", range(3))
def test_shares_of_slow_reads_at_their_limits(position: int) -> None:
    most = round(LIMITS[position].missed_percent_max * 100)
    at, beyond = [0, 0, 0], [0, 0, 0]
    at[position], beyond[position] = most, most + 1
    # 95 % finish in time if 5 % of 10,000 do not.
    assert passes("paper", 4, measured(missed=at)) == (True, True)
    assert passes("paper", 4, measured(missed=beyond)) == (False, True)
    # Today's rule wants fewer than 5 %, in each slice.
    share = [0.0, 0.0, 0.0]
    share[position] = LIMITS[position].missed_percent_max
    assert passes("current", 4, measured(worst=share)) == (False, True)
    share[position] -= 1e-6
    assert passes("current", 4, measured(worst=share)) == (True, True)
    assert passes("current", 4, measured(missed=beyond)) == (True, True)
    assert passes("paper", 4, measured(worst=[100.0, 100.0, 100.0])) == (True, True)


@pytest.mark.parametrize(("rule", "periods_us"), [
    ("paper", (125.0, 1e6 / 96, 1e6 / 96)),
    ("paper-large-period", (1e6 / 96, 1e6 / 96, 1e6 / 96)),
])  # fmt: skip
def test_means_at_the_time_between_two_requests(
    rule: str, periods_us: tuple[float, float, float]
) -> None:
    for position in range(3):
        means = [10.0, 10.0, 10.0]
        means[position] = periods_us[position]
        assert passes(rule, 4, measured(means_us=means)) == (False, False)
        means[position] -= 0.001
        assert passes(rule, 4, measured(means_us=means)) == (True, True)
    verdict = judge(RULES[rule], 4, measured(missed=[10_000] * 3, means_us=[1e9, 1.0, 1.0]))
    assert verdict.reason == "mean of small reads", "what fails both tests is said"


def test_a_lag_of_more_than_ten_seconds_ends_todays_test() -> None:
    for position, kind in enumerate(KINDS):
        longest = [20.0, 20.0, 20.0]
        # A request that completes a period after its time holds up none.
        longest[position] = (10_000_000_000 + round(kind.period_ns(4))) / 1000
        assert passes("current", 4, measured(max_us=longest)) == (True, True)
        longest[position] += 0.001
        assert passes("current", 4, measured(max_us=longest)) == (False, False)
        assert passes("paper", 4, measured(max_us=longest)) == (True, True)


@pytest.mark.parametrize("rule", NAMES)
def test_what_served_nothing_or_got_stuck_fails_both_tests(rule: str) -> None:
    assert passes(rule, 1, measured(count=0)) == (False, False)
    stuck = measured(stuck="Requests stopped completing. A write is stalled.", partial=True)
    verdict = judge(RULES[rule], 1, stuck)
    assert (verdict.performance, verdict.stress) == (False, False)
    assert verdict.reason == "stuck: Requests stopped completing. A write is stalled."


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize("multiplier", [1, 3, 32])
def test_a_run_is_given_up_only_when_the_stress_test_has_failed(rule: str, multiplier: int) -> None:
    duration_s = 60
    bounds = RULES[rule].bounds(multiplier, duration_s)
    assert [(bound.kind, bound.bytes) for bound in bounds] == [
        (kind.kind, kind.bytes) for kind in KINDS
    ]
    for position, (kind, bound) in enumerate(zip(KINDS, bounds, strict=True)):
        outcome = measured()
        most = kind.rate_per_s * multiplier * duration_s + 1
        if rule == "current":
            figures = {"max_us": ((bound.latency_ns_max or 0) + 1) / 1000}
        else:
            # However many requests there may be, so much latency is too much for their mean.
            figures = {"mean_us": (bound.sum_ns_max or 0) / most / 1000}
        outcome["kinds"][position]["latency"] |= figures
        assert passes(rule, multiplier, outcome) == (False, False)


def searched(
    performance: Callable[[int], bool], stress: Callable[[int], bool], most: int, step: int
) -> tuple[Search, list[int]]:
    """Goes through a search; returns it, and what was tested in order."""
    search = Search(most, step)
    tested: list[int] = []
    while wanted := search.wanted():
        assert 1 <= len(wanted) <= 2
        assert search.runs_left() > 0
        for multiplier in wanted:
            assert 1 <= multiplier <= most
            assert multiplier not in tested, "nothing is tested twice"
            tested.append(multiplier)
            search.record(
                multiplier, performance=performance(multiplier), stress=stress(multiplier)
            )
    assert search.runs_left() == 0
    return search, tested


def up_to(last: int) -> Callable[[int], bool]:
    return lambda multiplier: multiplier <= last


def scanned(passes: Callable[[int], bool], most: int) -> int:
    """The rating as one who tries every multiplier finds it."""
    return next((m - 1 for m in range(1, most + 1) if not passes(m)), most)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 16])
def test_the_search_finds_what_a_scan_finds(most: int) -> None:
    for performance, stress in itertools.product(range(most + 1), repeat=2):
        search, _ = searched(up_to(performance), up_to(stress), most, 1)
        for test, last in zip(TESTS, (performance, stress), strict=True):
            bracket = search.bracket(test)
            assert bracket.passed == scanned(up_to(last), most)
            assert bracket.failed == (last + 1 if last < most else None)
            assert bracket.strays == ()


def test_a_rating_is_as_sharp_as_the_resolution() -> None:
    for last, step in itertools.product(range(61), (2, 5, 20, 60)):
        search, _ = searched(up_to(last), up_to(last), 60, step)
        bracket = search.bracket("stress")
        assert last - step < bracket.passed <= last
        assert bracket.failed is not None or bracket.passed == 60


def test_the_search_of_sixty_four_multipliers_takes_few_runs() -> None:
    for performance, stress in itertools.product(range(0, 65, 4), repeat=2):
        _, tested = searched(up_to(performance), up_to(stress), 64, 1)
        assert len(tested) <= 18, (performance, stress)


def test_a_rating_never_hides_a_failure_that_was_seen() -> None:
    chance = random.Random(1)
    for _ in range(300):
        most = chance.randint(1, 40)
        table = {m: (chance.random() < 0.6, chance.random() < 0.8) for m in range(1, most + 1)}
        performance = {m for m, (passes, _) in table.items() if passes}
        stress = {m for m, (_, passes) in table.items() if passes}
        search, tested = searched(performance.__contains__, stress.__contains__, most, 1)
        for position, test in enumerate(TESTS):
            bracket = search.bracket(test)
            passed = {m for m in tested if table[m][position]}
            failed = set(tested) - passed
            assert bracket.failed == min(failed, default=None)
            assert bracket.passed == max(
                (m for m in passed if m < min(failed, default=most + 1)), default=0
            )
            assert bracket.passed + 1 == (bracket.failed or most + 1)
            assert set(bracket.strays) == {m for m in passed if m > bracket.passed}
            # On either side of the rating one more was looked at.
            for beside in (bracket.passed - 1, bracket.passed + 2):
                assert beside in tested or not 1 <= beside <= most


def test_a_drive_that_passes_again_above_its_rating_is_found_out() -> None:
    search, _ = searched(lambda m: m != 5, up_to(8), 8, 1)
    assert search.bracket("performance").strays == () or search.bracket("performance").failed == 5
    search, _ = searched(lambda m: m in (1, 3), up_to(0), 4, 1)
    assert search.bracket("performance").passed == 1
    assert search.bracket("performance").strays == (3,)


# From here on, whole certifications.


def act_run(
    performance: int, stress: int, mean_us: float = 1.0
) -> Callable[[dict[str, Any], FakeControl], dict[str, Any]]:
    """Runs of a design with these ratings."""

    def run(spec: dict[str, Any], _: FakeControl) -> dict[str, Any]:
        if "workload" not in spec or not str(spec["workload"]).startswith("act@"):
            return {}
        multiplier = int(spec["workload"].removeprefix("act@"))
        missed = [0, 0, 0] if multiplier <= performance else [600, 0, 0]
        means = [mean_us if multiplier <= stress else 1e6, mean_us, mean_us]
        return measured(missed=missed, means_us=means) | {"design": spec["design"]}

    return run


ACT = ("certify", "act", "base", "base+t-es", "--device", "ttflash-256g")


def test_designs_are_rated_from_one_image(
    native: FakeNative, command: RunCommand, tmp_path: Path
) -> None:
    native.runs = {"base": act_run(14, 32), "base+t-es": act_run(30, 30)}
    file = tmp_path / "out.json"
    outcome = command(*ACT, "--json", str(file), "--seed", "7")
    assert outcome.code == 0, outcome.err
    document = read_json(file)
    validate(document, tinytail.read_schema("certify"))
    assert document["ratings"] == {
        "base": {"performance": 14, "stress": 32},
        "base+t-es": {"performance": 30, "stress": 30},
    }
    images = [spec for spec in native.specs if "out" in spec]
    assert [spec["design"] for spec in images] == ["base"], "both start from one image"
    for spec in (spec for spec in native.specs if "out" not in spec):
        multiplier = int(spec["workload"].removeprefix("act@"))
        assert spec["requests"] == RATE_PER_S * multiplier * 60
        assert (spec["seed"], spec["image"], spec.get("state")) == (7, images[0]["out"], None)
        assert spec["kinds"]["slices"] == 24
    tested = [step["multiplier"] for step in document["steps"] if step["design"] == "base"]
    assert tested == sorted(set(tested))
    assert {14, 15, 32, 33} <= set(tested)
    said = " ".join(outcome.out.split())
    assert "base: bears performance 14× and stress 32×; fails performance at 15×: " in said
    assert len(outcome.out.splitlines()) <= 25
    for words in ("14×", "32×", "p95 of small reads", "base: finished\n"):
        assert words in outcome.out + outcome.err
    assert not Path(images[0]["out"]).exists()


def test_a_rating_on_borrowed_space_is_noted(native: FakeNative, command: RunCommand) -> None:
    """Whether GC freed too little, or ran at none of the loads though there was enough to free."""
    whole = act_run(14, 32)
    lived = [{"code": "no_gc", "message": "no GC ran", "figures": {"host_pages": 9.0}}]
    found: list[dict[str, Any]] = []
    native.runs = {"base": lambda spec, control: whole(spec, control) | {"findings": found}}
    for findings, bears in (
        (lived, "14× and 32×"),
        ([lived[0] | {"code": "borrowed"}], "14× and 32×"),
        ([lived[0] | {"figures": {}}], None),
        ([], None),
    ):
        found[:] = findings
        said = " ".join(command("certify", "act", "base", "--device", "ttflash-256g").out.split())
        assert ("! base bears" in said) == (bears is not None)
        assert bears is None or f"! base bears {bears} on erased pages that its GC" in said


def test_four_runs_leave_room_for_the_names_of_conditions(
    native: FakeNative, command: RunCommand
) -> None:
    native.runs = {"base": act_run(14, 32, mean_us=567.8), "base+t-es": act_run(1, 1)}
    outcome = command(*ACT, "--rule", "paper-large-period", "--details")
    assert outcome.code == 0, outcome.err
    lines = [line.split() for line in outcome.out.splitlines()]
    assert [
        "base:",
        "value,",
        "and",
        "margin",
        "passes",
        "stress",
        "only",
        "stress",
        "only",
        "fails",
    ] in lines
    assert [
        "mean",
        "of",
        "large",
        "writes",
        "568",
        "µs",
        "568",
        "µs",
        "568",
        "µs",
        "568",
        "µs",
    ] in lines


def test_the_result_does_not_depend_on_how_many_run_at_once(native: FakeNative) -> None:
    native.runs = {"base": act_run(9, 21), "base+t-es": act_run(0, 64)}
    documents = [
        tinytail.certify_act(["base", "base+t-es"], device="ttflash-256g", jobs=jobs).to_dict()
        for jobs in (1, 2, 5)
    ]
    assert documents[0] == documents[1] == documents[2]
    assert documents[0]["ratings"]["base+t-es"] == {"performance": 0, "stress": 64}
    assert documents[0]["designs"][1]["stress"]["first_failed"] is None


def test_designs_that_are_laid_out_differently_have_an_image_each(native: FakeNative) -> None:
    native.runs = {"base": act_run(2, 2), "ttflash": act_run(3, 3)}
    found = tinytail.certify_act(["base", "ttflash"], device="ttflash-256g", max_multiplier=4)
    assert [spec["design"] for spec in native.specs if "out" in spec] == ["base", "ttflash"]
    used = {spec["image"] for spec in native.specs if "out" not in spec}
    assert len(used) == 2
    assert found.ratings("ttflash").stress.rating == 3
    with pytest.raises(KeyError):
        found.ratings("base+t-es")


def test_a_stuck_run_fails_its_multiplier_and_says_why(
    native: FakeNative, command: RunCommand, tmp_path: Path
) -> None:
    def run(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        document = act_run(9, 9)(spec, control)
        if document and document["kinds"][0]["latency"]["mean_us"] > 1:
            return document | {"stuck": "Requests stopped completing. Stalled.", "partial": True}
        return document

    native.runs = {"base": run}
    file = tmp_path / "out.json"
    words = ("certify", "act", "base", "--device", "ttflash-256g", "--json", str(file))
    outcome = command(*words)
    assert outcome.code == 0, "a load that a drive cannot serve is a finding and no fault"
    document = read_json(file)
    assert document["ratings"]["base"] == {"performance": 9, "stress": 9}
    [step] = [step for step in document["steps"] if step["multiplier"] == 10]
    assert step["reason"] == "stuck: Requests stopped completing. Stalled."
    assert "Stalled." in " ".join(outcome.out.split())


def test_what_fails_for_one_design_leaves_the_others(
    native: FakeNative, command: RunCommand, tmp_path: Path
) -> None:
    native.runs = {"base": fail(tinytail.RunError("no space left")), "ttflash": act_run(5, 5)}
    file = tmp_path / "out.json"
    words = ("certify", "act", "base", "ttflash", "--device", "ttflash-256g", "--json", str(file))
    outcome = command(*words)
    assert outcome.code == 1
    assert "error: base: no space left\n" in outcome.err
    document = read_json(file)
    validate(document, tinytail.read_schema("certify"))
    assert document["ratings"] == {"ttflash": {"performance": 5, "stress": 5}}
    assert document["errors"] == [{"design": "base", "kind": "run", "message": "no space left"}]
    native.runs = {"base": fail(tinytail.ConfigError("t-es needs erase steps"))}
    with pytest.raises(tinytail.ConfigError, match="needs erase steps"):
        tinytail.certify_act(["base"], device="ttflash-256g")
    assert command("certify", "act", "base", "--device", "ttflash-256g").code == 2


def test_ctrl_c_keeps_what_was_found(
    native: FakeNative, command: RunCommand, tmp_path: Path
) -> None:
    def run(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        document = act_run(14, 32)(spec, control)
        if len([each for each in native.specs if "out" not in each]) > 4:
            signal.raise_signal(signal.SIGINT)
            assert control.cancelled.wait(10)
            return document | {"partial": True}
        return document

    native.runs = {"base": run}
    file = tmp_path / "out.json"
    words = ("certify", "act", "base", "--device", "ttflash-256g", "--jobs", "1")
    outcome = command(*words, "--json", str(file))
    assert outcome.code == 130
    assert "PARTIAL" in outcome.out
    assert "so far" in outcome.out
    document = read_json(file)
    validate(document, tinytail.read_schema("certify"))
    assert document["partial"] is True
    assert document["ratings"] == {"base": {"performance": None, "stress": None}}
    assert len(document["steps"]) == 4, "a run that was cut short is no step"
    assert [error["kind"] for error in document["errors"]] == ["interrupted"]
    native.specs.clear()
    with pytest.raises(tinytail.Interrupted) as caught:
        tinytail.certify_act(["base"], device="ttflash-256g", jobs=1)
    assert isinstance(caught.value.comparison, tinytail.Certification)


def test_ctrl_c_while_a_drive_ages(native: FakeNative, command: RunCommand) -> None:
    def age(_: dict[str, Any], control: FakeControl) -> dict[str, Any]:
        signal.raise_signal(signal.SIGINT)
        assert control.cancelled.wait(10)
        raise tinytail.RunError("interrupted; no image was written")

    native.runs = {"base": age}
    outcome = command("certify", "act", "base", "--device", "ttflash-256g")
    assert outcome.code == 130
    assert "interrupted before its ratings were found" in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bsae",), 'unknown design "bsae"'),
        (("base",), 'design "base" is given twice'),
        (("--duration-s", "0"), "--duration-s. Must be >= 1"),
        (("--duration-s", "-5"), "--duration-s. Must be >= 1"),
        (("--duration-s", "long"), "is not a whole number"),
        (("--resolution", "0"), "--resolution. Must be >= 1"),
        (("--resolution", "65"), "resolution must be a whole number from 1 to 64"),
        (("--max-multiplier", "0"), "--max-multiplier. Must be >= 1"),
        (("--max-multiplier", "1001"), "max_multiplier must be a whole number from 1 to 1000"),
        (("--rule", "papr"), "paper"),
        (("--seed", "-1"), "Must be >= 0"),
        (("--jobs", "0"), "Must be >= 1"),
        (("--state", "x"), "must be KEY=VALUE"),
        (("--json", "/nowhere/at/all.json"), "there is no directory"),
    ],
)
def test_faulty_options_are_refused_before_anything_runs(
    native: FakeNative, command: RunCommand, words: tuple[str, ...], message: str
) -> None:
    outcome = command("certify", "act", "base", *words, "--device", "ttflash-256g")
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert message in " ".join(outcome.err.split())
    assert native.specs == []
    assert 'unknown device "x"' in command("certify", "act", "base", "--device", "x").err


def test_the_schemes_are_the_six_of_the_paper_unless_others_are_named() -> None:
    assert len(SCHEMES) == 6
    plan = Plan(SCHEMES, "lowlatency-240g", state={"ageing": "steady"})
    words = plan.command().split()
    assert words[:3] == ["tinytail", "certify", "act"]
    assert set(SCHEMES) < set(words)
    assert "ageing=steady" in words


def test_a_line_is_told_of_each_run() -> None:
    case = Case("base", Search(64))
    described = io.StringIO()
    lines = PlainReporter(Console(file=described, width=80))

    def job(multiplier: int) -> FakeControl:
        control = FakeControl()
        case.jobs[multiplier] = Job("base", lambda: None, control, started=True)
        return control

    lines([DesignProgress("base", "running", "ageing", 0, 0)])
    lines([case.progress()])
    job(21)
    job(43).now = ("running", 1, 4)
    lines([case.progress()])
    shown = case.progress()
    assert (shown.detail, shown.done) == ("21×, 43×", 0.25)
    verdict = judge(RULES["paper"], 21, measured(missed=[600, 0, 0]))
    case.steps[21] = Step.of("base", 21, 1, verdict, measured())
    case.jobs[21].ended = True
    case.search.record(21, performance=False, stress=True)
    lines([case.progress()])
    lines([case.progress()])
    assert case.progress().detail == "43×"
    case.is_found = True
    lines([case.progress()])
    said = [line.partition(", about")[0] for line in described.getvalue().splitlines()]
    assert said == [
        "base: ageing",
        "base: running",
        "base: 21× fails performance: p95 of small reads",
        "base: finished",
    ]


def test_a_bar_shows_the_runs_under_way_and_what_is_left() -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=100, force_terminal=True, color_system=None)
    with reporter(console) as report:
        report([DesignProgress("base", "running", "", 0.5, 7.0, "21×, 43×")])
        report([DesignProgress("base", "running", "", 3.5, 7.0, "21×, 43×")])
    assert "21×, 43×, about " in shown.getvalue()
    assert "50%" in shown.getvalue()


def test_a_small_drive_is_rated() -> None:
    designs = ["base", "base+ideal-gc"]
    found = tinytail.certify_act(designs, device=SMALL, duration_s=1, max_multiplier=12)
    document = found.to_dict()
    validate(document, tinytail.read_schema("certify"))
    with_gc, without = (found.ratings(design) for design in designs)
    assert without.performance.rating == 12, "nothing is in the way of its reads"
    assert with_gc.stress.rating < without.stress.rating
    for ratings in found.designs:
        for step in ratings.steps:
            counts = [kind["latency"]["count"] for kind in step.outcome["kinds"]]
            served = sum(counts) == RATE_PER_S * step.multiplier
            assert served or step.given_up or step.outcome["stuck"]
    again = tinytail.certify_act(designs, device=SMALL, duration_s=1, max_multiplier=12, jobs=1)

    def without_times(certified: dict[str, Any]) -> str:
        for step in certified["steps"]:
            del step["cpu_seconds"]
        return json.dumps(certified)

    assert without_times(again.to_dict()) == without_times(document)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_a_real_certification_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: signal.Signals
) -> None:
    file, temporary = tmp_path / "out.json", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    words = ("--device", SMALL, "--duration-s", "86400", "--json", str(file))
    process = start("certify", "act", "base+ideal-gc", *words)
    assert process.stderr is not None
    said = ""
    while "running" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    assert list(temporary.iterdir()) != [], "there is an image"
    process.send_signal(by)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, said + err
    assert list(temporary.iterdir()) == []
    assert "PARTIAL" in out
    assert "Traceback" not in err
    document = read_json(file)
    validate(document, tinytail.read_schema("certify"))
    assert document["partial"] is True


def test_every_rule_judges_a_small_drive() -> None:
    ratings = {
        rule: tinytail.certify_act(
            ["base+ideal-gc"],
            device=SMALL,
            duration_s=1,
            max_multiplier=3,
            rule=rule,
        ).designs[0]
        for rule in ("paper", "paper-large-period", "current")
    }
    assert all(each.performance.rating == 3 for each in ratings.values())
