"""The papers as data: complete, free of contradictions, and no softer than their own words."""

from __future__ import annotations

import re
import tomllib
from string import Formatter
from typing import Any

import pytest

import tinytail
from fake_native import result as fake_result
from paper_checks import check
from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog
from tinytail.errors import ConfigError, UsageError
from tinytail.files import toml
from tinytail.reproduction import conditions, paper_files, served
from tinytail.reproduction.certified import Certified
from tinytail.reproduction.logs import PERCENTS, SLOW_US, Log, Logged, classes
from tinytail.reproduction.paper_files import papers, select
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Experiment, Paper, Reading, Row, Trace
from tinytail.reproduction.served import Served
from tinytail.reproduction.store import Outcome

ROWS = [(paper, row) for paper in papers() for row in paper.rows.values()]
IDS = [row.id for _, row in ROWS]


def test_all_rows_of_ttflash_are_there() -> None:
    assert sum(row_id.startswith("ttflash.") for row_id in IDS) == 115
    assert len(set(IDS)) == len(IDS)


NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.mark.parametrize(("paper", "row"), ROWS, ids=IDS)
def test_every_number_of_a_condition_stands_in_its_words(paper: Paper, row: Row) -> None:
    # Otherwise a band could be widened without the words that were fixed before anything ran.
    words = f"{row.acceptance} {row.reading} {row.paper_value} {row.quantity} {row.notes}"
    known = {float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", words)}
    for condition in row.accept:
        # The places that a value is rounded to are the words' own.
        bare = re.sub(r"'[^']*'|round\((.*?), \d\)", r"\1", condition)
        for number in NUMBER.findall(bare):
            assert float(number) in known, (
                f"{row.id}: {number} of {condition!r} is not in {words!r}"
            )
    assert paper.rows[row.id] is row


def test_only_traces_have_stand_ins_whose_times_are_scaled() -> None:
    scaled = [
        each
        for paper in papers()
        for each in paper.experiments.values()
        if each.stand_in_scale_time is not None
    ]
    assert scaled
    assert all(str(each.workload).startswith("@") for each in scaled)
    odd = {"ladder": {"for_traces": ["dtrs"], "stand_in_scale_times": {"tpcc": 2}}}
    with pytest.raises(ConfigError, match="stand_in_scale_times has tpcc, not in for_traces"):
        paper_files._for_each_trace(odd, {"dtrs": Trace("dtrs", "DTRS")})


def test_each_row_has_one_kind_of_evidence_and_there_are_no_others() -> None:
    assert len(ROWS) == 342
    for paper in papers():
        assert list(paper.evidence) == list(paper.rows)
    known = {"a.x": {"kind": "relation"}, "a.y": {"kind": "calibrated", "why": "fitted"}}
    assert [each.kind for each in paper_files.evidence_of(known, ["a.x", "a.y"]).values()] == [
        "relation",
        "calibrated",
    ]
    for document, said in (
        (known | {"a.z": {"kind": "relation"}}, 'unknown row "a.z"'),
        ({"a.x": {"kind": "relation"}}, 'the row "a.y" has no kind'),
        (known | {"a.y": {"kind": "relatoin"}}, 'did you mean "relation"'),
        (known | {"a.y": {"why": "fitted"}}, "lacks kind"),
    ):
        with pytest.raises(ConfigError, match=said):
            paper_files.evidence_of(document, ["a.x", "a.y"])


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_performance_is_held_against_figures_that_the_paper_prints(paper: Paper) -> None:
    for row_id, evidence in paper.evidence.items():
        row = paper.rows[row_id]
        held = evidence.kind == "performance" and row.measure is not None
        assert bool(evidence.figures) == held, row_id
        printed = {float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", row.paper_value)}
        printed |= {abs(number) for number in printed}
        assert set(evidence.figures.values()) <= printed, row_id


def test_rows_that_cannot_be_run_say_why() -> None:
    lacking = {row.id for _, row in ROWS if row.measure is None}
    assert lacking == {
        "gcpar.s41.scan",
        "ttflash.fig1.kwps",
        "ttflash.s5.lightnvm",
    }
    assert {row.id for _, row in ROWS if row.input == "context"} == {
        "gcpar.s41.scan",
        "ttflash.fig1.kwps",
        "ttflash.s5.lightnvm",
    }


class Asked:
    """A lab that has made-up results for everything, and notes what it is asked for."""

    tier = "quick"

    def __init__(self, paper: Paper, reading: Reading | None = None) -> None:
        self.paper = paper
        self.reading = reading or Reading("as judged", "", ())
        self.experiments: set[str] = set()
        self.inputs = self

    def outcome(self, experiment: str, design: str) -> Outcome:
        run = self.paper.experiments[self.reading.experiment(experiment)]
        assert self.reading.design(design) in run.designs
        self.experiments.add(experiment)
        document = fake_result(design)
        percents = [float(p) for p in range(1, 100)] + [99.9, 100.0]
        document["bursts"] = {"count": 3, "writing": 2, "mean_us": 9.0, "max_us": 12.0}
        document["bursts"] |= {"write_mb_per_second": 30.0, "read_mb_per_second": 90.0}
        document["distribution"] = {
            name: [p if name == "percent" else 7.0 for p in percents]
            for name in ("percent", "read_us", "write_us")
        }
        for name, column in document["series"].items():
            if isinstance(column, list):
                start = 2 if name.startswith("free") else 1
                document["series"][name] = [start + i for i in range(9)]
        reads = {size: tuple(float(p) for p in PERCENTS) for size in (16, 32, 64, 128, 256)}
        requests = tuple(
            Logged(kind, 0, sectors, i * 1000, i * 1000 + 500, False)
            for i in range(9)
            for kind, sectors in (("read", 3), ("read", 256), ("write", 256))
        )
        log = Log(requests, reads, classes([100_000, 1_000_000]), dict.fromkeys(SLOW_US, 3))
        return Outcome(DesignResult.from_dict(document), log)

    def ending(self, experiment: str, design: str) -> Outcome:
        return self.outcome(experiment, design)

    def certification(self, experiment: str, design: str) -> Certified:
        assert self.paper.experiments[experiment].certify is not None
        self.outcome(experiment, design)
        failed = {"name": "mean", "value": 9.0, "limit": 5.0, "unit": "us", "passed": False}
        step = {"multiplier": 10, "performance": False, "stress": False, "reason": "mean"}
        step |= {"write_amplification": 4.0}
        step |= {"conditions": [failed | {"tests": ["performance", "stress"]}]}
        ratings = {design: {"performance": 7, "stress": 9}}
        return Certified({"ratings": ratings, "steps": [step]})

    def served(self, experiment: str, design: str) -> Served:
        known = self.paper.experiments[experiment]
        assert known.served is not None
        served.plan(known, design)
        self.experiments.add(experiment)
        spread = {"all": {"late_percent": 0.1}}
        document = {"read_mean_us": 9.0, "blocked_percent": 2.0, "reads": 5, "lateness": spread}
        document |= {"seconds": 5, "write_amplification": 2.0}
        return Served(document | {"iops": 9e4, "late_us_depth_1": 1.0, "late_us_depth_16": 1.0})

    def device_of(self, experiment: str) -> dict[str, Any]:
        self.experiments.add(experiment)
        device = self.paper.experiments[experiment].device
        return catalog.device_document(device if isinstance(device, str) else device["base"])

    def result(self, experiment: str, design: str) -> DesignResult:
        return self.outcome(experiment, design).result

    def counter(self, result: DesignResult, name: str) -> int:  # noqa: ARG002
        assert name in self.paper.counters
        return 1

    def composition(self, experiment: str, design: str) -> str:  # noqa: ARG002
        return "base"

    def file(self, text: str, name: str) -> str:  # noqa: ARG002
        raise Unavailable(f"probe with {name}")

    def trace(self, trace: Trace) -> str:
        assert trace.stand_in is not None
        return trace.stand_in

    def probe(self, experiment: Experiment) -> Outcome:
        raise Unavailable(f"probe {experiment.name}")


@pytest.mark.parametrize(("paper", "row"), ROWS, ids=IDS)
def test_measures_give_what_conditions_name_and_ask_for_what_rows_name(
    paper: Paper, row: Row
) -> None:
    if row.measure is None:
        return
    lab: Any = Asked(paper)
    arguments = {key: value for key, value in row.measure.items() if key != "use"}
    try:
        values = paper.measures[row.measure["use"]](lab, **arguments)
    except Unavailable as missing:
        # Probes run the engine, and what they find is tested there; designs may not be there.
        why = str(missing)
    else:
        why = ""
    if why:
        assert re.search("probe|needs the design|full tier", why)
        return
    for condition in row.accept:
        assert conditions.check(condition) <= set(values), f"{row.id}: {condition}"
        conditions.holds(condition, values)
    for figure in paper.evidence[row.id].figures:
        conditions.worth(figure, values)
    asked = lab.experiments - set(paper.experiments_of(row))
    assert not asked, f"{row.id} does not name {asked}"


@pytest.mark.parametrize(
    ("paper", "reading"),
    [(paper, reading) for paper in papers() for reading in paper.readings],
    ids=lambda each: each.title,
)
def test_other_readings_are_run_for_all_their_rows(paper: Paper, reading: Reading) -> None:
    assert reading.rows
    for name in reading.rows:
        measure = paper.rows[name].measure
        assert measure is not None
        arguments = {key: value for key, value in measure.items() if key != "use"}
        lab: Any = Asked(paper, reading)
        values = paper.measures[measure["use"]](lab, **arguments)
        for condition in paper.rows[name].accept:
            conditions.holds(condition, values)


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_the_files_of_a_paper_agree(paper: Paper) -> None:
    check(paper)


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_causes_name_only_what_their_measures_give(paper: Paper) -> None:
    for deviation in paper.deviations.values():
        names = {name for _, name, _, _ in Formatter().parse(deviation.cause) if name is not None}
        if deviation.measure is None:
            assert not names, deviation.row
            continue
        lab: Any = Asked(paper)
        arguments = {key: value for key, value in deviation.measure.items() if key != "use"}
        values = paper.measures[deviation.measure["use"]](lab, **arguments)
        assert names, f"{deviation.row} measures what it does not say"
        assert names <= set(values), deviation.row


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_experiments_say_why_they_are_as_they_are(paper: Paper) -> None:
    for experiment in paper.experiments.values():
        assert len(experiment.about) > 10, experiment.name
        assert experiment.cost_s > 0
        elsewhere = (place["design"] for place in experiment.elsewhere.values())
        used = {word for name in (*experiment.designs, *elsewhere) for word in name.split("+")}
        assert {f"@{name}" for name in experiment.overlays} <= used


def test_names_begin_with_what_is_asked_for() -> None:
    def chosen(*words: str) -> list[str]:
        return [row.id for _, row in select(words)]

    assert chosen("ttflash.fig1.kwps") == ["ttflash.fig1.kwps"]
    assert chosen("ttflash.fig1") == ["ttflash.fig1.kwps"]
    assert len(chosen("ttflash.table2")) == 19
    assert len(chosen("ttflash.table2.dtrs", "ttflash.table2.dtrs.p99")) == 3
    assert chosen() == IDS


def test_names_may_end_inside_a_part_unless_they_are_a_part() -> None:
    def chosen(word: str) -> list[str]:
        return [row.id for _, row in select([word])]

    assert chosen("gcpar.table1.planes") == ["gcpar.table1.planes_per_die"]
    assert chosen("gcpar.s4") == [row_id for row_id in IDS if row_id.startswith("gcpar.s4")] != []
    assert chosen("gcp") == chosen("gcpar")
    parts = {row_id.rpartition(".")[0] for row_id in IDS}
    for part in (*parts, *IDS):
        meant = [part] if part in IDS else [each for each in IDS if each.startswith(f"{part}.")]
        assert chosen(part) == meant


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ttflash.tabel1", 'did you mean "ttflash.table1"'),
        ("ttflash.table2.dtrs.p98", 'did you mean "ttflash.table2.dtrs.p9'),
        ("tflash", 'did you mean "ttflash"'),
        ("", "--list shows all"),
        ("zzz", "--list shows all"),
    ],
)
def test_unknown_rows_are_refused_with_the_nearest_name(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        select([name])


@pytest.mark.parametrize(
    ("condition", "values", "truth"),
    [
        ("0.97 <= value <= 1.12", {"value": 0.97}, True),
        ("0.97 <= value <= 1.12", {"value": 0.9699}, False),
        ("0.97 <= value <= 1.12", {"value": 1.12}, True),
        ("0.97 <= value <= 1.12", {"value": 1.1201}, False),
        ("value < 5", {"value": 5}, False),
        ("value < 5", {"value": 4.999}, True),
        ("max(all) <= 3.0", {"all": [1.0, 3.0]}, True),
        ("max(all) <= 3.0", {"all": [1.0, 3.01]}, False),
        ("abs(a - b) <= 2 * c", {"a": 1, "b": 4, "c": 1.5}, True),
        ("-a < 0", {"a": 1}, True),
        ("where == 'x'", {"where": "x"}, True),
        ("value > 0", {"value": None}, False),
        ("max(all) <= 3.0", {"all": []}, False),
        ("max(all) <= 3.0", {"all": [1.0, None]}, False),
    ],
)
def test_conditions_hold_up_to_their_edges(
    condition: str, values: dict[str, Any], truth: bool
) -> None:
    assert conditions.holds(condition, values) is truth


@pytest.mark.parametrize(
    "condition",
    [
        "value",
        "True",
        "1 < 2",
        "value <",
        "value == None",
        "value ** 2 < 3",
        "open('x') == 1",
        "value.real < 3",
        "max(value, key=len) < 3",
        "value in others",
        "[1] < value",
        "value < (lambda: 1)()",
    ],
)
def test_what_is_no_condition_is_refused(condition: str) -> None:
    with pytest.raises(ConfigError):
        conditions.check(condition)


def test_a_condition_on_what_was_not_measured_is_an_error() -> None:
    with pytest.raises(ConfigError, match='did you mean "ratio"'):
        conditions.holds("ration < 1", {"ratio": 1})
    with pytest.raises(ConfigError, match="cannot be worked out"):
        conditions.holds("a / b < 1", {"a": 1, "b": 0})


@pytest.mark.parametrize("name", [entry.name for entry in tinytail.list_devices()])
def test_devices_survive_being_written(name: str) -> None:
    document = tomllib.loads(catalog.file_text("device", name))
    assert tomllib.loads(toml.dumps(document)) == document


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"quantity": "x"}, "lacks"),
        ({"sectoin": "x"}, 'did you mean "section"'),
    ],
)
def test_faulty_tables_are_refused_by_key(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        paper_files._records(Row, {"ttflash.x": table}, "rows.toml", "id")
