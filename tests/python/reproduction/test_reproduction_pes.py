"""Practical Erase Suspension: its rows at their edges, its measures, its quick tier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acceptance import accepted, accepts_anything
from commands import RunCommand, read_json
from fake_native import result as fake_result
from tinytail.comparison.result import DesignResult
from tinytail.errors import ConfigError
from tinytail.reproduction import logs
from tinytail.reproduction.certified import Certified
from tinytail.reproduction.lab import FULL_TIER_ONLY, Lab
from tinytail.reproduction.measures import figure
from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Experiment, Row
from tinytail.reproduction.store import Outcome, Store

PES = next(paper for paper in papers() if paper.name == "pes")
SMALL = "lowlatency-240g-small"

STUCK = (
    "Requests stopped completing. One of them, a write, has been in the device for 10.9 s of "
    "simulated time while others went on; erases and programs were suspended 7 times, and blocks "
    "erased 0 times. 2 requests outstanding at 11015488333 ns. In the device: 1 read and 1 write."
)


def test_all_rows_are_there_and_each_has_a_measure() -> None:
    assert len(PES.rows) == 84
    assert [row.id for row in PES.rows.values() if row.measure is None or not row.accept] == []


FTL = {
    "gc_lock": "preemptible",
    "pairing": "superpage",
    "order": "read_first",
    "channel": "user_reads",
    "place": "superpage",
}
# What makes a row reproduced, and what is next to it and does not.
EDGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("table1.capacity", {"value": 239.6}, {"value": 239.4}),
    ("table1.erase_steps", {"value": 5}, {"value": 4}),
    (
        "table1.dram_rate",
        {"stated": 1600, "page_us": 1, "ram_us": 1},
        {"stated": 1600, "page_us": 1.01, "ram_us": 1},
    ),
    (
        "table1.ftl",
        FTL,
        FTL | {"gc_lock": "blocking"},
    ),
    ("s24.default_n", {"value": 64}, {"value": 63}),
    ("table2.seqread", {"value": 3412.5}, {"value": 3412.6}),
    ("table2.seqwrite", {"value": 2790.0}, {"value": 2789.9}),
    ("table2.rndread_qd1_iops", {"value": 63.06}, {"value": 63.04}),
    ("table2.rndwrite_qd32_lat", {"value": 556.59}, {"value": 556.7}),
    ("table2.rndread_qd32_lat", {"value": 37.27}, {"value": 37.25}),
    (
        "table2.little",
        {"worst_percent": 1.0, "printed_percent": 0.5},
        {"worst_percent": 1.01, "printed_percent": 0.5},
    ),
    ("s22.iface", {"value": 1.1921}, {"value": 1.1926}),
    ("fig1.tail", {"value": 5.0}, {"value": 4.99}),
    ("s21.pulses", {"value": 5.0003, "erases": 1}, {"value": 5.0003, "erases": 0}),
    ("fig4.read.base", {"value": 6.0}, {"value": 6.01}),
    ("fig4.read.es", {"value": 0.2}, {"value": 0.201}),
    ("fig4.read.tes", {"value": 0.25}, {"value": 0.251}),
    ("fig4.read.des", {"value": 0.9}, {"value": 0.89}),
    ("fig4.read.ideal", {"value": 0.15, "i_es": 0.15}, {"value": 0.15, "i_es": 0.149}),
    (
        "fig4.read_order",
        {"ideal": 1, "es": 1, "i_es": 1, "t_es": 2, "d_es": 3, "base": 4},
        {"ideal": 1, "es": 1, "i_es": 1, "t_es": 3, "d_es": 3, "base": 4},
    ),
    ("fig4.write_base", {"write": 38.5, "gc": 35.0}, {"write": 38.6, "gc": 35.0}),
    (
        "fig4.write_order",
        {"i_es": 3, "t_es": 2, "base": 1, "es": 1, "d_es": 1, "ideal": 1},
        {"i_es": 3, "t_es": 2, "base": 1, "es": 2, "d_es": 1, "ideal": 1},
    ),
    ("fig4.no_starve", {"outstanding": 0, "completed": 1}, {"outstanding": 1, "completed": 1}),
    ("fig4.timeout_rare", {"value": 4.99}, {"value": 5}),
    ("fig3.ies", {"write_s": 5.01, "run_s": 10}, {"write_s": 5.0, "run_s": 10}),
    ("fig3.es", {"write": 20, "base": 1}, {"write": 19.9, "base": 1}),
    ("fig3.base", {"write": 110, "gc": 100}, {"write": 110.1, "gc": 100}),
    (
        "s24.limits",
        {"t_es_0": "a", "d_es": "a", "t_es_inf": "b", "i_es": "b"},
        {"t_es_0": "a", "d_es": "a", "t_es_inf": "c", "i_es": "b"},
    ),
    ("s24.example", {"value": 100}, {"value": 100.1}),
    ("table3.stress.base", {"value": 29}, {"value": 28}),
    ("table3.perf.base", {"value": 19}, {"value": 20}),
    ("table3.perf.tes", {"value": 33}, {"value": 34}),
    ("s34.fail", {"es_s": 10.1, "i_es_s": 10.1}, {"es_s": 10.1, "i_es_s": 10.0}),
    ("s34.read_max", {"t_es": 0.9, "d_es": 1.6}, {"t_es": 0.9, "d_es": 1.61}),
    ("s34.gcmax", {"value": 60}, {"value": 60.1}),
    (
        "table4.n4",
        {"error_percent": -10, "printed_error_percent": 10},
        {"error_percent": -10, "printed_error_percent": 10.1},
    ),
    (
        "table4.n4090",
        {"error_percent": 2, "printed_error_percent": 0},
        {"error_percent": 2.1, "printed_error_percent": 0},
    ),
    ("s34.tes_max", {"write": 110, "gc": 36}, {"write": 110.1, "gc": 36}),
    ("abs.5x", {"act": 3.5, "tpcc": 6.5}, {"act": 3.49, "tpcc": 6.5}),
    (
        "fig7a.trans",
        {"falls": 0, "percent": [1, 2], "low_us": [100, 250], "high_us": [1200]},
        {"falls": 0, "percent": [2, 2], "low_us": [100, 250], "high_us": [1200]},
    ),
    ("fig7b.avg", {"rises": 0}, {"rises": 1}),
    ("s35.maxw", {"falls": 0, "stays": 0}, {"falls": 0, "stays": 1}),
    ("s1.gc_erase", {"value": 35}, {"value": 34.9}),
]


@pytest.mark.parametrize(("name", "within", "beyond"), EDGES, ids=[name for name, *_ in EDGES])
def test_rows_are_accepted_up_to_their_edges(
    name: str, within: dict[str, Any], beyond: dict[str, Any]
) -> None:
    row = PES.rows[f"pes.{name}"]
    assert accepted(row, within)
    assert not accepted(row, beyond)


@pytest.mark.parametrize("row", PES.rows.values(), ids=lambda row: row.id)
def test_no_row_accepts_whatever_is_measured(row: Row) -> None:
    assert row.measure is None or not accepts_anything(row)


# --- The order of Table 3, condition by condition -------------------------------------------------

RATED = {"base": (14, 32), "es": (22, 22), "i_es": (22, 22), "d_es": (30, 30), "t_es": (30, 30)}


@pytest.mark.parametrize(
    ("changes", "holds_then"),
    [
        ({}, True),
        ({"base": (22, 32)}, False),
        ({"i_es": (30, 22)}, False),
        ({"es": (22, 30)}, False),
        ({"t_es": (33, 30)}, False),
        ({"d_es": (30, 33)}, False),
    ],
)
def test_the_order_of_ratings(changes: dict[str, Any], holds_then: bool) -> None:
    rated = RATED | {"ideal": (32, 32)} | changes
    values = {
        f"{name}_{test}": rating
        for name, pair in rated.items()
        for test, rating in zip(("performance", "stress"), pair, strict=True)
    }
    assert accepted(PES.rows["pes.table3.order"], values) is holds_then


# --- Measures, on made-up results -----------------------------------------------------------------


class Made:
    """A lab whose outcomes a test has made up, by experiment and design."""

    paper = PES

    def __init__(self, *documents: dict[str, Any], log: logs.Log | None = None) -> None:
        results = (DesignResult.from_dict(document) for document in documents)
        self._outcomes = {result.design: Outcome(result, log) for result in results}

    def ending(self, _: str, design: str) -> Outcome:
        return self._outcomes[design]

    def outcome(self, experiment: str, design: str) -> Outcome:
        outcome = self.ending(experiment, design)
        if outcome.result.stuck is not None:
            raise Unavailable(outcome.result.stuck)
        return outcome

    def result(self, experiment: str, design: str) -> DesignResult:
        return self.outcome(experiment, design).result

    def counter(self, result: DesignResult, name: str) -> int:
        return result.techniques[name]

    def certification(self, _: str, design: str) -> Certified:
        ratings = {design: {"performance": len(design), "stress": 9}}
        return Certified({"ratings": ratings, "steps": []})

    def device_of(self, _: str) -> dict[str, Any]:
        dies = {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 1, "page_bytes": 4096}
        steps = {"erase_step_ns": 1_000_000, "erase_steps": 5, "transfer_page_ns": 10_000}
        programs = {"program_ns": [50_000, 150_000]}
        return {"geometry": dies | {"planes_per_die": 4}, "timing": steps | programs}

    def composition(self, *_: str) -> str:
        return "erase-baseline"


def measure(name: str, lab: Made, **arguments: Any) -> dict[str, Any]:
    anything: Any = lab
    return PES.measures[name](anything, **arguments)


def taken(document: dict[str, Any], wanted: str) -> Any:
    anything: Any = Made()
    return figure(anything, DesignResult.from_dict(document), wanted)


def test_a_write_that_stalls_counts_as_long_as_it_has_been_outstanding() -> None:
    stuck = fake_result("i-es", partial=True, stuck=STUCK)
    assert taken(stuck, "longest_write_us") == 10.9e6
    assert taken(stuck, "outstanding_write_us") == 10.9e6
    assert taken(stuck, "clock_us") == pytest.approx(11_015_488.333)
    assert taken(stuck, "outstanding") == 2
    ended = fake_result("i-es")
    assert taken(ended, "longest_write_us") == ended["write"]["max_us"]
    assert taken(ended, "outstanding") == taken(ended, "outstanding_write_us") == 0
    assert taken(ended, "clock_us") == 300e6
    # Something else was amiss, of which nothing of this can be told.
    other = fake_result("i-es", partial=True, stuck="Die 3 waits.")
    assert taken(other, "longest_write_us") is None
    assert taken(other, "clock_us") is None


def test_figures_of_runs_are_named_or_refused() -> None:
    document = fake_result("base")
    assert taken(document, "read.p99999_us") == 42_000
    assert taken(document, "requests") == 127_043
    assert taken(document, "requests_per_s") == pytest.approx(127_043 / 300)
    assert taken(document, "mib_per_s") == pytest.approx(1.5e9 / 2**20 / 300)
    assert taken(document, "counter:victim/greedy") == 567
    assert taken(fake_result("base", gc_times=None), "gc_times.max_us") is None
    with pytest.raises(ConfigError, match='did you mean "clock_us"'):
        taken(document, "clokc_us")
    with pytest.raises(ConfigError, match="have no"):
        taken(document, "read.p98_us")


def test_values_and_quotients_of_runs() -> None:
    lab = Made(fake_result("a", scale=100.0), fake_result("b", scale=50.0))
    pair = {"a": ["x", "a", "read.mean_us"], "hash": ["x", "b", "event_hash"]}
    values = measure("run_values", lab, values=pair, per=1000)
    assert values == {"a": 0.2, "hash": "0123456789abcdef"}
    of = {"value": [["x", "a", "read.max_us"], ["x", "b", "read.max_us"]]}
    assert measure("run_ratios", lab, values=of, times=100) == {"value": 200}
    lab = Made(fake_result("i", partial=True, stuck=STUCK))
    with pytest.raises(Unavailable, match="has been in the device"):
        measure("run_values", lab, values={"i": ["x", "i", "longest_write_us"]})
    assert measure("run_values", lab, values={"i": ["x", "i", "longest_write_us"]}, stuck=True)


@pytest.mark.parametrize(
    ("scales", "counts"),
    [((1.0, 2.0, 3.0), (2, 0, 0)), ((3.0, 2.0, 2.0), (0, 1, 1)), ((1.0, 3.0, 2.0), (1, 1, 0))],
)
def test_rises_and_falls_along_designs(
    scales: tuple[float, ...], counts: tuple[int, int, int]
) -> None:
    names = [f"d{i}" for i in range(len(scales))]
    runs = zip(names, scales, strict=True)
    lab = Made(*(fake_result(name, scale=scale) for name, scale in runs))
    found = measure("along", lab, experiment="x", designs=names, wanted="read.mean_us")
    assert found["values"] == [2 * scale for scale in scales]
    assert (found["rises"], found["falls"], found["stays"]) == counts


def test_the_share_of_slow_reads_is_that_of_the_log() -> None:
    log = logs.Log((), {}, logs.Hits(), {200: 1131, 400: 0})
    lab = Made(fake_result("t"), log=log)
    found = measure("along", lab, experiment="x", designs=["t"], wanted="slow:200")
    assert found["values"] == [pytest.approx(100 * 1131 / 113_071)]
    with pytest.raises(Unavailable, match="no log"):
        measure("along", Made(fake_result("t")), experiment="x", designs=["t"], wanted="slow:200")


@pytest.mark.parametrize(("gc_us", "printed"), [(24_400.0, True), (24_600.0, False)])
def test_the_identity_of_table_4(gc_us: float, printed: bool) -> None:
    times = fake_result()["gc_times"] | {"max_us": gc_us}
    write = fake_result()["write"] | {"max_us": 30_000.0}
    lab = Made(fake_result("erase-baseline", gc_times=times), fake_result("t", write=write))
    given = {"timeout_ms": 4, "printed_ms": 27, "printed_gc_ms": 24}
    found = measure("timeout_identity", lab, experiment="x", design="t", **given)
    assert found["sum_ms"] == pytest.approx(4 + gc_us / 1000)
    assert found["error_percent"] == pytest.approx(100 * (30 / (4 + gc_us / 1000) - 1))
    # What the paper prints is only asked where its longest GC is that of the paper.
    assert found["printed_error_percent"] == pytest.approx(100 / 9 if printed else 0)


def test_the_transition_is_the_share_of_hit_reads_that_wait_for_no_step() -> None:
    hits = logs.classes([150_000] * 3 + [1_000_000])
    lab = Made(fake_result("t"), log=logs.Log((), {}, hits))
    found = measure("transition", lab, experiment="x", designs=["t", "t"], border_us=600)
    assert found["percent"] == [75.0, 75.0]
    assert found["falls"] == 0
    assert found["low_us"] == pytest.approx([150, 150], rel=0.02)
    assert found["high_us"] == pytest.approx([1000, 1000], rel=0.02)
    lab = Made(fake_result("t"), log=logs.Log((), {}))
    with pytest.raises(Unavailable, match="no read met an erase"):
        measure("transition", lab, experiment="x", designs=["t"], border_us=600)


def test_classes_of_latency_hold_every_read_once() -> None:
    latencies = [100 + 997 * i % 5_000_000 for i in range(1, 5000)]
    hits = logs.classes(latencies)
    assert sum(hits.counts) == len(latencies)
    assert list(hits.below_us) == sorted(set(hits.below_us))
    for border in hits.below_us:
        below = sum(ns / 1000 < border for ns in latencies) / len(latencies)
        assert hits.share_below(border) == pytest.approx(below, abs=2 / len(latencies))
    assert logs.Hits().share_below(1) is logs.Hits().median_us(0, 1) is None
    assert hits.median_us(1e9, 2e9) is None


def test_ratings_of_one_design_or_of_many() -> None:
    one = measure("ratings", Made(), experiment="x", designs={"a": "t-es"}, tests=["stress"])
    assert one == {"value": 9}
    two = measure(
        "ratings", Made(), experiment="x", designs={"a": "t-es", "b": "es"}, tests=["performance"]
    )
    assert two == {"a_performance": 4, "b_performance": 2}


def test_the_manual_has_the_ratings_of_the_kept_evidence() -> None:
    root = Path(__file__).parents[3]
    rows = read_json(root / "evidence" / "reproduction" / "pes" / "results.json")["rows"]
    kept = {row["id"]: row["measured"] for row in rows}
    manual = (root / "docs" / "guides" / "certify.md").read_text("utf-8")
    for kind, test in (("stress", "stress"), ("perf", "performance")):
        names = ("base", "es", "ies", "des", "tes", "ideal")
        here = [int(kept[f"pes.table3.{kind}.{name}"]) for name in names]
        cells = " | ".join(f"≥ {rating}" if rating == 64 else str(rating) for rating in here)
        assert f"| {test}, here | {cells} |" in manual


def test_littles_law_finds_a_throughput_that_is_not_that_of_the_latency() -> None:
    kinds = {
        "read": fake_result()["read"] | {"count": 1000, "mean_us": 32.0},
        "write": fake_result()["write"] | {"count": 0},
    }
    printed = {"depths": [32], "kiops": [66], "us": [484]}
    for seconds, off in ((0.001, 0.0), (0.0011, 10.0)):
        lab = Made(fake_result("erase-baseline", **kinds, simulated_seconds=seconds))
        found = measure("little", lab, runs=[["x", 32]], printed=printed)
        assert found["worst_percent"] == pytest.approx(off)
        assert found["printed_percent"] == pytest.approx(0.17, abs=0.01)


def test_what_a_drive_was_busy_with() -> None:
    series = fake_result()["series"] | {"host_pages": [50, 50], "gc_pages": [400, 0]}
    series |= {"read_bytes": [4096 * 100, 0]}
    lab = Made(fake_result("t", series=series, erases=60, simulated_seconds=0.1))
    found = measure("drive_work", lab, experiment="x", design="t")
    assert found["erases_of_a_die"] == 300
    assert found["erasing_percent"] == pytest.approx(150)
    # 100 pages read, 100 programmed and 400 moved by way of the controller, on two channels.
    assert found["channel_percent"] == pytest.approx(100 * 1000 * 10e-6 / 0.2)
    assert (found["gc_max_ms"], found["write_amplification"]) == (19.6, 4.1)
    assert (found["space_percent"], found["queue_percent"]) == (0, 25)
    unmeasured = Made(fake_result("t", simulated_seconds=0.0))
    with pytest.raises(Unavailable, match="nothing was measured"):
        measure("drive_work", unmeasured, experiment="x", design="t")


def test_how_near_to_stalling_a_faster_workload_comes() -> None:
    techniques = {"most_delayed_ns": 18_000_000}
    lab = Made(
        fake_result("erase-baseline"),
        fake_result("es", techniques=techniques),
        fake_result("i-es", partial=True, stuck=STUCK, techniques=techniques),
    )
    found = measure("starving", lab, experiment="x", faster="y")
    assert found["reads_of_a_die"] == pytest.approx(113_071 / 300 / 2)
    assert (found["es_s"], found["i_es_s"], found["i_es_delay_ms"]) == (0, 10.9, 18)


def test_what_the_slowest_reads_waited_for() -> None:
    lab = Made(fake_result("t"))
    found = measure("slowest_causes", lab, experiment="x", design="t", percent=0.1)
    assert found["mean_us"] == pytest.approx(14_000)
    assert found["causes"] == "die_gc_program 11,666.7, channel_host_read 2,100.0, array 186.7"
    with pytest.raises(ConfigError, match="slowest 5 %"):
        measure("slowest_causes", lab, experiment="x", design="t", percent=5)


def test_what_a_design_first_failed_by() -> None:
    mean = {
        "name": "mean",
        "tests": ["performance", "stress"],
        "value": 9,
        "limit": 5,
        "unit": "us",
    }
    steps = [
        {"multiplier": m, "performance": m < 4, "stress": m < 8, "reason": "x",
         "write_amplification": 2.0, "conditions": [mean | {"passed": m < 4, "value": m}]}
        for m in (9, 8, 4, 3)
    ]  # fmt: skip
    made = Certified({"ratings": {"t": {"performance": 3, "stress": 7}}, "steps": steps})
    lab = Made()
    lab.certification = lambda *_: made  # type: ignore[method-assign]
    found = measure("first_failure", lab, experiment="x", design="t", test="stress")
    assert (found["multiplier"], found["value"], found["limit"]) == (8, 8, 5)
    found = measure("first_failure", lab, experiment="x", design="t", test="performance")
    assert found["multiplier"] == 4
    printed = {"multiplier": 10, "read_kiops": 100, "write_kiops": 50}
    found = measure("headroom", lab, experiment="x", design="t", test="stress", **printed)
    # Ten times 2,000 pages and 24 times 32, of 100,000 and 50,000 a second.
    assert found["reads_percent"] == pytest.approx(27.68)
    assert found["writes_percent"] == pytest.approx(15.36)
    assert found["failing"] == "8 times fails by the mean, 8.0 us where 5.0 us is allowed"
    steps[:] = steps[3:]
    with pytest.raises(Unavailable, match="passed at every"):
        measure("first_failure", lab, experiment="x", design="t", test="stress")
    found = measure("headroom", lab, experiment="x", design="t", test="stress", **printed)
    assert found["failing"] == "7 times, the most that is tried, passes"


def test_late_erases_and_programs_may_need_more_time_than_a_die_has() -> None:
    series = fake_result()["series"] | {"host_pages": [800, 0], "gc_pages": [0, 7200]}
    late = {"delayed_ns": 20 * 40_000_000}
    lab = Made(
        fake_result("t", erases=20, simulated_seconds=1.0, techniques=late),
        fake_result("base", erases=36, simulated_seconds=1.0, series=series),
    )
    found = measure("late_erases", lab, experiment="x", design="t", reference="base")
    assert (found["late_ms"], found["ends"], found["asked"]) == (40, 10, 18)
    # 18 erases a second of 5 and 40 ms each; 8,000 pages on two dies of four planes, 100 us each.
    assert found["erase_percent"] == pytest.approx(81)
    assert found["program_percent"] == pytest.approx(10)
    still = Made(fake_result("t", erases=0, techniques=late), fake_result("base"))
    with pytest.raises(Unavailable, match="t erases nothing in x"):
        measure("late_erases", still, experiment="x", design="t", reference="base")


# --- On the engine --------------------------------------------------------------------------------

# What neither depends on how the drive is calibrated nor on how long it is looked at.
CERTAIN = {
    *(row_id for row_id in PES.rows if row_id.startswith("pes.table1.")),
    "pes.s24.default_n",
    "pes.table2.err_avg",
    "pes.table2.err_max",
    "pes.s22.iface",
    "pes.s21.pulses",
    "pes.s21.rber",
    "pes.s24.limits",
    "pes.s33.act_def",
    "pes.fig3.ies",
}


def test_the_quick_tier_has_a_verdict_for_every_row(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TINYTAIL_TRACES", raising=False)
    file = tmp_path / "pes.json"
    docs = tmp_path / "docs"
    outcome = command("reproduce", "pes", "--json", str(file), "--docs", str(docs))
    assert outcome.code == 0, outcome.err
    document = read_json(file)
    rows = {row["id"]: row for row in document["rows"]}
    assert set(rows) == set(PES.rows)
    for row_id in CERTAIN:
        assert rows[row_id]["verdict"] == "reproduced", rows[row_id]
    judged = {row_id for row_id, row in rows.items() if row["verdict"] != "not-run"}
    assert judged == CERTAIN | {row_id for row_id in judged if row_id.startswith("pes.table2.")}
    assert {rows[row_id]["cause"] for row_id in set(rows) - judged} == {FULL_TIER_ONLY}
    assert {row["input"] for row in rows.values()} == {"synthetic", "stand-in"}
    stalled = [run for run in document["runs"] if run["stuck"]]
    assert {(run["experiment"], run["design"]) for run in stalled} == {
        ("starvation", "es"),
        ("starvation", "i-es"),
    }
    page = (docs / "pes.md").read_text("utf-8")
    assert "`i-es`, stalled" in page
    assert "| stress, paper | 32 | 22 | 22 | 30 | 30 | 32 |" in page
    assert "| mean latency in µs, real device | 16.9 | 16.4 | 40.5 | 524 |" in page
    assert json.loads((docs / "pes" / "results.json").read_text("utf-8"))["counts"]


def test_reads_that_met_an_erase_are_told_from_others(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    probe = Experiment(
        name="hit",
        about="reads beside erases",
        designs=("d-es",),
        device=SMALL,
        workload="randrw70-qd16",
        requests=40_000,
        cost_s=1,
        log=True,
        hit=("die_erase", "die_gc_suspend"),
    )
    with Lab(PES, "quick", Store(tmp_path / "kept")) as lab:
        made, kept = lab.probe(probe), lab.probe(probe)
    assert made.log is not None
    assert kept.log == made.log
    met = sum(made.log.hit.counts)
    assert 0 < met < made.result.read.count
    # Of an erase a read meets one step at the most here, and some meet all of it.
    assert made.log.hit.median_us(600, 1500) is not None
    assert made.log.slow[200] >= made.log.slow[400] >= made.log.slow[1000] > 0


def test_t_es_under_ttflash_runs_with_the_erase_steps_that_it_needs(tmp_path: Path) -> None:
    with Lab(PES, "full", Store(tmp_path / "kept")) as lab:
        for name in ("ttflash-5dwpd", "ttflash-dtrs"):
            timing = lab.device_of(name)["timing"]
            assert (timing["erase_step_ns"], timing["erase_steps"]) == (400_000, 5)
            assert timing["suspend_ns"] == timing["resume_ns"] == 100_000
            assert lab.needs(name) is None


def test_every_run_of_the_full_tier_can_be_prepared(tmp_path: Path) -> None:
    with Lab(PES, "full", Store(tmp_path / "kept")) as lab:
        for name in PES.experiments:
            assert lab.needs(name) is None, name
        runs = [run for name in PES.experiments for run in lab.runs(name)]
    assert len({run.key for run in runs}) == len(runs), "no run is made twice"
    # On two processors, less than an hour.
    assert sum(run.cost_s for run in runs) / 2 < 3600


def test_a_stand_in_is_sped_up_and_a_recording_keeps_its_times(tmp_path: Path) -> None:
    recording = tmp_path / "tpcc.trace"
    recording.write_text("0 0 0 8 1\n", "utf-8")
    scales = []
    for given in ({}, {"tpcc": str(recording)}):
        with Lab(PES, "full", Store(tmp_path / "kept"), given) as lab:
            spec: Any = lab.runs("tpcc-server")[0].spec
            scales.append(spec.transform.scale_time)
    assert scales == [0.0666667, None]
