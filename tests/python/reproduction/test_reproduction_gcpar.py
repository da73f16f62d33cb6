"""I/O-parallelized GC: its rows at their edges, its measures, its stand-ins, its quick tier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acceptance import accepted, accepts_anything
from commands import RunCommand, read_json
from fake_native import result as fake_result
from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog
from tinytail.reproduction.lab import FULL_TIER_ONLY, Lab
from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Row
from tinytail.reproduction.store import Store
from tinytail.traces import trace

GCPAR = next(paper for paper in papers() if paper.name == "gcpar")
BASE, PAR, VIC = "hpdc-baseline", "gc-par", "gc-vic"
VOLUMES = [name.partition(".")[2] for name in GCPAR.named(["volumes.*"])]
# A row on the time that a processor takes, which is not modelled.
LACKING = {"gcpar.s41.scan"}
# Registers that hold a page that joined take no data of a program meanwhile.
LENGTHENED = "gcpar.s41.gc_time"


def test_all_rows_are_there_and_all_but_one_have_a_measure() -> None:
    assert len(GCPAR.rows) == 71
    assert {row.id for row in GCPAR.rows.values() if row.measure is None} == LACKING
    assert len(VOLUMES) == 13


def test_the_stand_ins_claim_what_table_2_prints() -> None:
    for name in VOLUMES:
        percent, kib, _ = GCPAR.rows[f"gcpar.table2.{name}"].paper_value.split(" / ")
        stand_in = GCPAR.traces[name].stand_in
        assert stand_in is not None
        claims = {
            setting.key: setting.value
            for setting in catalog.describe_workload(stand_in).settings
            if setting.section == "profile.claims"
        }
        assert claims["write_percent"] == f"{percent} ± 1 %"
        assert claims["write_mean_kib"] == f"{kib} ± 4 %"
        assert claims["duration_s"].startswith(str(7 * 24 * 3600))


# What makes a row reproduced, and what is next to it and does not.
EDGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("table1.capacity", {"drive_tib": 1, "spare_blocks": 0}, {"drive_tib": 1, "spare_blocks": -1}),
    ("table1.blocks_per_plane", {"value": 1048}, {"value": 1024}),
    ("table1.xfer", {"bytes": 16384, "ns": 98_699}, {"bytes": 16384, "ns": 99_100}),
    ("table1.gc", {"value": "greedy, least_worn"}, {"value": "greedy"}),
    (
        "table2.mds_0",
        {"write_off_points": 1, "size_off_percent": -5, "affected_off_points": 8},
        {"write_off_points": 1, "size_off_percent": -5, "affected_off_points": 8.1},
    ),
    (
        "table2.groups",
        {"least_of_high": 18, "most_of_low": 17, "volumes": 13},
        {"least_of_high": 17, "most_of_low": 17, "volumes": 13},
    ),
    (
        "fig8.reads",
        {"reads": 5, "writes": 10, "volumes": 13},
        {"reads": 5, "writes": 9.9, "volumes": 13},
    ),
    ("fig9.par_read", {"value": 55, "volumes": 13}, {"value": 55, "volumes": 12}),
    (
        "fig9.vic_gt_par",
        {"mean": 3, "least": -1, "volumes": 13},
        {"mean": 3, "least": -1.1, "volumes": 13},
    ),
    ("fig9.vic_write", {"mean": -2, "volumes": 13}, {"mean": -2.1, "volumes": 13}),
    ("fig10.base", {"least": 50, "most": 50}, {"least": 50, "most": 50.001}),
    ("fig10.par", {"mean": 65, "runs": 13}, {"mean": 64.9, "runs": 13}),
    (
        "fig10.vic",
        {"first": 70, "second": 71, "volumes": 13},
        {"first": 70, "second": 71.1, "volumes": 13},
    ),
    (
        "fig3.write",
        {"ideal_p95_ms": [24.9, 3], "p95": [4, 9]},
        {"ideal_p95_ms": [25, 3], "p95": [4, 9]},
    ),
    ("fig11.overlap", {"p90": [1.3], "p95": [2]}, {"p90": [1.31], "p95": [2]}),
    (
        "fig12.vic_total",
        {"par": 50, "vic": 50.0, "vic_write": 53, "volumes": 13},
        {"par": 50, "vic": 50.0, "vic_write": 53.1, "volumes": 13},
    ),
    (
        "fig12.vic_read",
        {"par": 40, "vic": 40, "volumes": 13},
        {"par": 40.1, "vic": 40, "volumes": 13},
    ),
    ("fig13.avg", {"par": 8, "vic": 22, "volumes": 13}, {"par": 7.9, "vic": 22, "volumes": 13}),
    ("fig13.high", {"least": 8.1}, {"least": 8}),
    (
        "fig13.low",
        {"least": 2, "most": 12, "mean": 7, "mean_above": 7.1},
        {"least": 2, "most": 12, "mean": 7, "mean_above": 7},
    ),
    ("s66.base", {"least": 25, "most": 25}, {"least": 25, "most": 26}),
    (
        "s66.par_read",
        {"value": 60, "beside": 62, "volumes": 13},
        {"value": 60, "beside": 62.1, "volumes": 13},
    ),
    (
        "s42.frag",
        {"pages_left_at_most": 511, "blocks": 2},
        {"pages_left_at_most": 511, "blocks": 1},
    ),
    ("s43.cand", {"value": 10, "runs": 13}, {"value": 11, "runs": 13}),
    ("s41.queue", {"value": 40, "runs": 13}, {"value": 41, "runs": 13}),
    (
        "s62.writes_dominate",
        {"writes_ms": 5, "reads_ms": 1, "runs": 26},
        {"writes_ms": 4.9, "reads_ms": 1, "runs": 26},
    ),
]


@pytest.mark.parametrize(("name", "within", "beyond"), EDGES, ids=[name for name, *_ in EDGES])
def test_rows_are_accepted_up_to_their_edges(
    name: str, within: dict[str, Any], beyond: dict[str, Any]
) -> None:
    row = GCPAR.rows[f"gcpar.{name}"]
    assert accepted(row, within)
    assert not accepted(row, beyond)


@pytest.mark.parametrize("row", GCPAR.rows.values(), ids=lambda row: row.id)
def test_no_row_accepts_whatever_is_measured(row: Row) -> None:
    assert row.measure is None or not accepts_anything(row)


# --- Measures, on made-up results -----------------------------------------------------------------


class Made:
    """A lab whose results a test has made up, by experiment and design."""

    def __init__(self, results: Mapping[tuple[str, str], dict[str, Any]]) -> None:
        self.paper = GCPAR
        self._results = {key: DesignResult.from_dict(each) for key, each in results.items()}

    def result(self, experiment: str, design: str) -> DesignResult:
        return self._results[experiment, design]

    def counter(self, result: DesignResult, name: str) -> int:
        return result.techniques[name]

    def device_of(self, _: str) -> dict[str, Any]:
        geometry = {"pages_per_block": 512, "planes_per_die": 2}
        return {"geometry": geometry, "timing": {"program_ns": [1_600_000]}}


def measure(name: str, results: Mapping[tuple[str, str], Any], **arguments: Any) -> dict[str, Any]:
    lab: Any = Made(results)
    return GCPAR.measures[name](lab, **arguments)


def made(
    design: str,
    *,
    read_us: float = 100.0,
    write_us: float = 1000.0,
    affected: tuple[int, float] = (0, 0.0),
    utilization: float | None = 50.0,
    rate: float = 100.0,
) -> dict[str, Any]:
    """100 reads and 300 writes with mean latencies, of which GC affected some reads and writes."""
    plain = fake_result(design)
    count, mean_us = affected
    kind = {"count": count, "percent": count / 4, "mean_us": mean_us or None}
    return plain | {
        "read": plain["read"] | {"count": 100, "mean_us": read_us},
        "write": plain["write"] | {"count": 300, "mean_us": write_us},
        "gc_affected": {"percent": 2 * count / 4, "reads": kind, "writes": kind},
        "plane_utilization_during_gc_percent": utilization,
        "throughput": plain["throughput"]
        | {"makespan_mb_per_second": rate, "device_busy_mb_per_second": 2 * rate},
    }


HM, MDS = "volumes.hm_0", "volumes.mds_0"


def test_affected_requests_gain_what_all_save() -> None:
    # 10 reads of 400 us each were affected: 4000 us, of which a scheme saves 3000 and 1000.
    runs = {
        (HM, BASE): made(BASE, read_us=100, affected=(10, 400.0)),
        (HM, PAR): made(PAR, read_us=70, affected=(5, 200.0)),
        (MDS, BASE): made(BASE, read_us=100, affected=(10, 400.0)),
        (MDS, PAR): made(PAR, read_us=90, affected=(5, 100.0)),
    }
    given: dict[str, Any] = {"experiments": [HM, MDS], "baseline": BASE, "kind": "read"}
    found = measure("affected_gains", runs, design=PAR, **given)
    assert found == {
        "value": pytest.approx(50),
        "least": pytest.approx(25),
        "most": pytest.approx(75),
        "still_affected": pytest.approx(62.5),
        "fewest": 10,
        "volumes": 2,
    }
    vic = {(name, VIC): made(VIC, read_us=65) for name in (HM, MDS)}
    groups = {"high": ["hm_0"], "low": ["mds_0"]}
    found = measure("gains_with_pairing", {**runs, **vic}, first=PAR, second=VIC, **given, **groups)
    assert found["first"] == pytest.approx(50)
    assert found["second"] == pytest.approx(87.5)
    assert (found["mean_of_high"], found["mean_of_low"]) == pytest.approx((12.5, 62.5))
    assert found["least"] == pytest.approx(12.5)
    runs[HM, BASE] = made(BASE)
    with pytest.raises(Unavailable, match=r"affects no read of volumes\.hm_0"):
        measure("affected_gains", runs, design=PAR, **given)


def test_shares_and_groups_of_affected_requests() -> None:
    runs = {(HM, BASE): made(BASE, affected=(30, 1.0)), (MDS, BASE): made(BASE, affected=(6, 1.0))}
    found = measure("affected_shares", runs, experiments=[HM, MDS], design=BASE)
    assert found == {"reads": pytest.approx(18), "writes": pytest.approx(6), "volumes": 2}
    groups = {"high": ["hm_0"], "low": ["mds_0"]}
    found = measure("affected_groups", runs, experiments=[HM, MDS], design=BASE, **groups)
    assert found == {"least_of_high": 15, "most_of_low": 3, "volumes": 2}


def test_utilisation_over_runs() -> None:
    runs = {(HM, PAR): made(PAR, utilization=70), (MDS, PAR): made(PAR, utilization=80)}
    found = measure("utilizations", runs, experiments=[HM, MDS], designs=[PAR])
    assert found == {"mean": 75, "least": 70, "most": 80, "runs": 2}
    runs[HM, PAR] = made(PAR, utilization=None)
    with pytest.raises(Unavailable, match="there was no GC"):
        measure("utilizations", runs, experiments=[HM, MDS], designs=[PAR])


def test_all_requests_are_weighed_by_their_number() -> None:
    runs = {
        (HM, BASE): made(BASE),
        (HM, PAR): made(PAR, read_us=50, write_us=500),
        (HM, VIC): made(VIC, read_us=25, write_us=500),
    }
    found = measure("overall_gains", runs, experiments=[HM], baseline=BASE, kind="total")
    # (100 * 100 + 300 * 1000) / 400 = 775; (100 * 25 + 300 * 500) / 400 = 381.25.
    assert found["vic"] == pytest.approx(100 * (1 - 381.25 / 775))
    assert (found["par"], found["vic_write"]) == pytest.approx((50, 50))


def test_throughput_is_told_by_both_times() -> None:
    closed = ["throughput.hm_0", "throughput.mds_0"]
    runs = {
        (name, design): made(design, rate=rate)
        for name, rates in (
            (closed[0], (100, 120, 130)),
            (closed[1], (100, 105, 105)),
            (HM, (100, 110, 110)),
            (MDS, (100, 102, 102)),
        )
        for design, rate in zip((BASE, PAR, VIC), rates, strict=True)
    }
    given = {"closed": closed, "open": [HM, MDS], "baseline": BASE, "designs": [PAR, VIC]}
    found = measure("throughput_gains", runs, **given)
    assert (found["par"], found["vic"], found["volumes"]) == pytest.approx((12.5, 17.5, 2))
    assert found["by_busy_time"] == pytest.approx(6)
    low = measure("throughput_gains", runs, **given, volumes=["mds_0"], above=["hm_0"])
    assert (low["least"], low["most"], low["mean_above"]) == pytest.approx((5, 5, 25))


def test_what_gcs_move_and_what_is_paired_with_them() -> None:
    runs = {(name, PAR): made(PAR, affected=(10, 1.0)) for name in (HM, MDS)}
    for name, gcs in ((HM, 1), (MDS, 3)):
        run = runs[name, PAR]
        run["gc_count"] = gcs
        run["gc_times"] = run["gc_times"] | {"mean_us": 1000.0 * gcs}
        run["techniques"] = {"copied_pages": 256 * gcs, "paired_gc_programs": 2, "cycles": 1}
    found = measure("gc_company", runs, experiments=[HM, MDS], design=PAR)
    assert (found["gcs"], found["gcs_in_a_cycle"], found["pages"]) == (4, 2, 256)
    assert found["valid_percent"] == 50
    assert (found["programs"], found["per_program"], found["gc_ms"]) == (1, 256, 2.5)
    assert found["affected_percent"] == 5
    # All 256 pages that a GC frees are programmed in its time at most.
    assert found["utilization_percent_max"] == pytest.approx(100 * (1 + 256 * 1.6 / 2.5) / 2)
    assert measure(
        "largest_count", runs, experiments=[HM, MDS], design=PAR, counter="copied_pages"
    ) == {
        "value": 768,
        "runs": 2,
    }
    runs[HM, PAR]["gc_count"] = runs[MDS, PAR]["gc_count"] = 0
    with pytest.raises(Unavailable, match="there was no GC"):
        measure("gc_company", runs, experiments=[HM, MDS], design=PAR)


def test_how_much_longer_a_gc_takes_is_told_by_the_page() -> None:
    runs = {(HM, BASE): made(BASE), (HM, PAR): made(PAR)}
    for design, copy_us, pages in ((BASE, 1000.0, 10), (PAR, 1212.0, 12)):
        run = runs[HM, design]
        run["gc_times"] = run["gc_times"] | {"copy_mean_us": copy_us}
        run["gc_count"] = 2
        run["techniques"] = {"copied_pages": 2 * pages}
    given = {"experiment": HM, "baseline": BASE, "design": PAR}
    found = measure("gc_lengthened", runs, **given)
    assert (found["baseline_us"], found["us"]) == (100, 101)
    assert found["percent"] == pytest.approx(1)
    runs[HM, PAR]["techniques"] = {"copied_pages": 0}
    with pytest.raises(Unavailable, match=r"no GC .* moved a page"):
        measure("gc_lengthened", runs, **given)


def test_latencies_against_gc_that_takes_no_time() -> None:
    ideal = "hpdc-baseline+ideal-gc"
    base, quick = made(BASE), made(ideal)
    base["write"] |= {"p95_us": 90_000.0}
    quick["write"] |= {"p95_us": 15_000.0}
    runs = {(HM, BASE): base, (HM, ideal): quick}
    found = measure(
        "against_ideal",
        runs,
        experiments=[HM],
        designs=[BASE],
        ideal=ideal,
        kind="write",
        percentiles=["p95"],
    )
    assert found == {"p95": [6], "ideal_p95_ms": [15]}


# --- On the engine --------------------------------------------------------------------------------

# What neither depends on how a drive is aged nor on what is played.
CERTAIN = {
    *(row_id for row_id in GCPAR.rows if row_id.startswith("gcpar.table1.")),
    "gcpar.fig10.base",
    "gcpar.s66.base",
    "gcpar.s41.gc_time",
    "gcpar.s42.frag",
}


def test_the_quick_tier_has_a_verdict_for_every_row(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TINYTAIL_TRACES", raising=False)
    file = tmp_path / "gcpar.json"
    outcome = command("reproduce", "gcpar", "--json", str(file))
    assert outcome.code == 0, outcome.err
    rows = {row["id"]: row for row in read_json(file)["rows"]}
    assert set(rows) == set(GCPAR.rows)
    judged = {row_id for row_id, row in rows.items() if row["verdict"] != "not-run"}
    assert judged == CERTAIN
    for row_id in CERTAIN:
        verdict = "deviates" if row_id == LENGTHENED else "reproduced"
        assert rows[row_id]["verdict"] == verdict, rows[row_id]
    causes = {rows[row_id]["cause"] for row_id in set(rows) - judged - LACKING}
    assert all(cause.startswith(FULL_TIER_ONLY) for cause in causes)
    assert {row["input"] for row in rows.values()} == {"synthetic", "stand-in", "context"}


def test_every_run_of_the_full_tier_can_be_prepared(tmp_path: Path) -> None:
    with Lab(GCPAR, "full", Store(tmp_path / "kept")) as lab:
        for name in GCPAR.experiments:
            assert lab.needs(name) is None, name
        runs = [run for name in GCPAR.experiments for run in lab.runs(name)]
        closed: Any = lab.runs("throughput.mds_0")[0].spec
        assert (closed.trace.queue_depth, closed.no_warm_up) == (32, True)
    assert len({run.key for run in runs}) == len(runs), "no run is made twice"


def test_a_recording_takes_the_place_of_its_stand_in(tmp_path: Path) -> None:
    # One request a line, as SNIA has the traces of MSR Cambridge.
    file = tmp_path / "mds_0.csv"
    lines = [f"12816637200{i:07d},mds,0,Write,{4096 * i},4096,100" for i in range(100)]
    file.write_text("".join(f"{line}\n" for line in lines), "ascii")
    with Lab(GCPAR, "full", Store(tmp_path / "kept"), {"mds_0": str(file)}) as lab:
        specs: list[Any] = [run.spec for run in lab.runs("volumes.mds_0")]
        assert [spec.workload for spec in specs] == [str(file)] * 8
        assert not lab.inputs.is_stand_in(GCPAR.traces["mds_0"])
        assert lab.inputs.is_stand_in(GCPAR.traces["hm_0"])
    assert trace.describe_trace(file).requests == 100
