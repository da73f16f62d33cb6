"""The table that a comparison prints."""

from __future__ import annotations

import io
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len
from rich.console import Console

import tinytail
from fake_native import FakeNative, Run, result, state
from tinytail.cli.bench import bench_view
from tinytail.cli.verify import power_cuts_view
from tinytail.comparison.view import cause_bars
from tinytail.power import PowerCutResult, PowerCuts, RecoveryTimes

DESIGNS = ["base", "base+no-gc", "ttflash+t-es+no-gc", "design-a", "design-b", "design-c"]


def scaled(factor: float, **changes: Any) -> Run:
    return lambda spec, _: result(spec["design"], 140.0 * factor, **changes)


def compare(native: FakeNative, designs: list[str], **options: Any) -> tinytail.Comparison:
    for position, name in enumerate(designs):
        native.runs.setdefault(name, scaled(1 + position))
    return tinytail.compare(designs, device="ttflash-256g", workload="dtrs", **options)


def row(table: str, label: str, occurrence: int = 0) -> str:
    lines = [line for line in table.splitlines() if line.strip().startswith(label)]
    return " ".join(lines[occurrence].split())


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("number", range(1, 7))
def test_nothing_is_wider_than_the_terminal_and_no_figure_is_lost(
    native: FakeNative, width: int, number: int
) -> None:
    table = compare(native, DESIGNS[:number]).table(width)
    assert max(map(cell_len, table.splitlines())) <= width
    assert "…" not in table
    assert sum(line.startswith("GC-blocked reads") for line in table.splitlines()) == 1
    assert len(row(table, "p99.99").split()) >= 1 + 2 * number
    assert row(table, "GCs") == "GCs" + " 567" * number


def test_no_figure_is_cut_at_any_width_with_long_names_and_long_labels(native: FakeNative) -> None:
    half = {"plane_utilization_during_gc_percent": 50.0}
    designs = ["base", "base+no-gc", "ttflash+t-es+no-gc", "a/folder/with-a-name-of-some-length/x"]
    native.known_designs.append(designs[-1])
    for position, design in enumerate(designs):
        native.runs[design] = scaled(7**position, **half)
    comparison = compare(native, designs)
    for width in range(60, 140):
        table = comparison.table(width)
        assert max(map(cell_len, table.splitlines())) <= width
        assert "…" not in table
        blocked = [line for line in table.splitlines() if line.startswith("planes busy")]
        assert sum(line.count("50.0 %") for line in blocked) == len(designs)


def test_losses_of_power_have_whole_names() -> None:
    times = RecoveryTimes(119.3, 119.3, 119.3, 119.3)
    names = ["base+plane-blocking+through-controller+cross-plane-gc"]
    names += ["base+plane-blocking+through-controller"]
    counts = ("cuts", "completed", "requests_cut_off", "pages_read_back", "lost", "stale")
    more = ("torn_pages", "torn_blocks", "cleanup_erases", "cleanup_moves", "cleanup_padding")
    parts = ("recovery", "scan", "cleanup", "restore")
    given: dict[str, Any] = {
        **dict.fromkeys((*counts, *more), 0),
        **dict.fromkeys(parts, times),
        **{"device": "d", "mismatch": None, "event_hash": "0", "partial": False},
    }
    results = tuple(PowerCutResult(design=name, **given) for name in names)
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as captured:
        console.print(power_cuts_view(PowerCuts("9.9.9", 1, results, (), partial=False)))
    shown = captured.get()
    assert "…" not in shown
    first = "".join(line.split(" ")[1] for line in shown.splitlines() if line.startswith(" "))
    assert "".join(names) in first


def test_figures_of_many_kinds_of_bench_cases_are_whole() -> None:
    cases: list[dict[str, Any]] = [
        {"name": "steady-gc", "requests_per_cpu_second": 2.34e6, "ns_per_event": 102.0}
        | {"floor_ratio": 6.22, "peak_memory_bytes": 503 << 20},
        {"name": "serve", "iops": 214_000.0, "late_us_depth_1": 1.47, "late_us_depth_16": 1.01},
    ]
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as captured:
        console.print(bench_view(cases))
    shown = " ".join(captured.get().split())
    assert "steady-gc requests/CPU-s 2.34 M, ns/event 102, × floor 6.22, peak memory" in shown
    assert "serve IOPS 214 K, late: QD 1 1.47 µs, late: QD 16 1.01 µs" in shown
    assert "…" not in shown


def test_designs_that_do_not_fit_side_by_side_are_shown_below(native: FakeNative) -> None:
    names = ["base", "ttflash", *(f"design-{letter}" for letter in "abcdefgh")]
    table = compare(native, names).table(80)
    assert max(map(cell_len, table.splitlines())) <= 80
    for name in names:
        assert name in table


def test_figures_have_units_and_ratios_to_the_first_design(native: FakeNative) -> None:
    table = compare(native, ["base", "ttflash"]).table(80)
    assert row(table, "p50") == "p50 140 µs 280 µs 2.00×"
    assert row(table, "p99.9 ") == "p99.9 11.2 ms 22.4 ms 2.00×"
    assert row(table, "p50", 1) == "p50 280 µs 560 µs 2.00×"
    assert row(table, "GC-blocked") == "GC-blocked reads 2.50 % 2.50 %"
    assert row(table, "requests/CPU-second") == "requests/CPU-second 4.12 M 4.12 M"


def test_ratios_are_to_the_reference(native: FakeNative) -> None:
    comparison = compare(native, ["base", "ttflash"], reference="ttflash")
    assert row(comparison.table(80), "p50") == "p50 140 µs 0.50× 280 µs"
    assert comparison.to_dict()["reference"] == "ttflash"


def test_a_single_design_has_no_ratios(native: FakeNative) -> None:
    assert "×" not in compare(native, ["base"]).table(80)


def test_a_kind_without_requests_shows_no_latencies(native: FakeNative) -> None:
    writes = dict.fromkeys(result()["write"], 0)
    native.runs["base"] = lambda spec, _: result(spec["design"], write=writes)
    assert row(compare(native, ["base"]).table(80), "p50", 1) == "p50 –"


def test_the_header_says_what_was_run(native: FakeNative) -> None:
    table = compare(native, ["base", "ttflash"], seed=7).table(100)
    assert "ttflash-256g" in table
    assert "dtrs (real): 127,043 requests of 300 s" in table
    assert "steady: live 70.0 %, free 5.00 %, " in table
    assert "7, tinytail 9.9.9" in table
    assert table.count("times are read as microseconds") == 1


def test_a_note_of_one_design_names_it(native: FakeNative) -> None:
    native.runs["base"] = lambda spec, _: result(spec["design"], notes=["writes were stalled"])
    assert "base: writes were stalled" in compare(native, ["base", "ttflash"]).table(100)


def test_the_slowest_reads_are_explained(native: FakeNative) -> None:
    table = compare(native, ["base"]).table(80)
    section = table[table.index("Where the slowest 0.1 % of reads spent their time") :]
    assert "base: 113 reads from 53.8 ms on" in section
    assert "83.3 %  44.2 ms  waiting for die: GC program" in section
    assert "0.33 %   177 µs  own transfers" in section
    assert (
        section.index("GC program") < section.index("host read") < section.index("own array time")
    )


def test_small_causes_are_summed_up(native: FakeNative) -> None:
    causes = {"die_gc_read": 10_000_000} | {f"cause_{n}": 10_000 * n for n in range(1, 4)}
    attribution = result()["attribution"]
    attribution["slowest_reads"] |= {"ns": causes, "count": 1}
    native.runs["base"] = lambda spec, _: result(spec["design"], attribution=attribution)
    table = compare(native, ["base"]).table(80)
    assert "3 smaller causes" in table


def test_verified_page_reads_are_said(native: FakeNative) -> None:
    native.runs["base"] = lambda spec, _: result(spec["design"], verified_page_reads=113_071)
    assert "reads: 113,071 (base)" in compare(native, ["base"], verify=True).table(80)


def test_planes_have_rows_only_where_dies_have_several(native: FakeNative) -> None:
    assert "planes busy during GC" not in compare(native, ["base"]).table(100)
    half = {"plane_utilization_during_gc_percent": 50.0}
    native.runs = {"base": lambda *_: result("base", **half), "ttflash": scaled(2)}
    table = compare(native, ["base", "ttflash"]).table(100)
    assert row(table, "planes busy during GC") == "planes busy during GC 50.0 % 100 %"
    assert row(table, "GC-affected writes, mean").endswith("11.0 ms 11.0 ms 1.00×")


def test_designs_that_start_from_one_state_have_one_line_of_it(native: FakeNative) -> None:
    table = compare(native, ["base", "ttflash"]).table(100)
    assert row(table, "state").startswith("state steady: live 70.0 %, free 5.00 %, ")
    assert table.count("state") == 1
    assert "different states" not in table


def test_states_that_differ_are_told_by_groups_of_designs(native: FakeNative) -> None:
    def started(live: float) -> Run:
        return lambda spec, _: result(spec["design"], state=state() | {"live_percent": live})

    designs = ["base", "ttflash", "base+no-gc"]
    native.runs = dict(zip(designs, [started(63.75), started(85.0), started(63.75)], strict=True))
    comparison = compare(native, designs)
    table = comparison.table(100)
    states = [" ".join(line.split()) for line in table.splitlines() if line.startswith("state")]
    assert states[0].startswith("state steady: free 5.00 %")
    assert states[1:] == [
        "state of base, base+no-gc: live 63.8 %",
        "state of ttflash: live 85.0 %",
    ]
    assert "designs start from different states" in table
    document = comparison.to_dict()
    assert document["state"] == {k: v for k, v in state().items() if k != "live_percent"}
    assert [each["state"]["live_percent"] for each in document["results"]] == [63.75, 85.0, 63.75]
    jsonschema.validate(document, tinytail.read_schema("compare"))


def test_a_state_that_no_run_reached_is_none(native: FakeNative) -> None:
    native.runs = {"base": lambda spec, _: result(spec["design"], state=None)}
    comparison = compare(native, ["base"])
    assert comparison.to_dict()["state"] is None
    assert not any(line.startswith("state") for line in comparison.table(100).splitlines())
    jsonschema.validate(comparison.to_dict(), tinytail.read_schema("compare"))


@pytest.mark.parametrize(("percent", "shown"), [(86.8, "86.8 %"), (1.0, "")])
def test_reads_without_data_have_a_row_where_there_are_many(
    native: FakeNative, percent: float, shown: str
) -> None:
    native.runs = {"base": lambda spec, _: result(spec["design"], unmapped_read_percent=percent)}
    comparison = compare(native, ["base"])
    for text in (comparison.table(100), comparison.verdict(100)):
        rows = [line.split() for line in text.splitlines() if "reads without data" in line]
        assert [" ".join(row[3:]) for row in rows] == ([shown] if shown else [])


def test_states_differ_for_parity_where_designs_with_it_stand_beside_those_without() -> None:
    comparison = tinytail.compare(
        ["base", "base+rain"], device="ttflash-small", workload="randrw70-qd16", requests=200
    )
    assert comparison.state is not None
    assert "live_percent" not in comparison.state
    assert "parity takes space" in " ".join(comparison.table(100).split())


def test_bars_have_what_is_of_one_family_beside_each_other() -> None:
    spent = {"array": 400, "die_gc_suspend": 300, "die_host_read": 150, "die_gc_read": 151}
    legend, *_ = cause_bars("mean:", [("base", spent, "1 ms")], 120, unicode=False)
    names = ("GC suspension", "GC reads", "own work", "host reads, own pages too")
    places = [legend.plain.index(name) for name in names]
    assert places == sorted(places)
