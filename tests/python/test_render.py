"""The table that a comparison prints."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

import tinytail
from fake_native import FakeNative, Run, result

DESIGNS = ["base", "base+no-gc", "ttflash+t-es+no-gc", "design-a", "design-b", "design-c"]


def scaled(factor: int) -> Run:
    return lambda spec, _: result(spec["design"], 140.0 * factor)


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
    assert "steady: free 5.00 %, victim valid 75.0 %" in table
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
    blame = result()["blame"]
    blame["slowest_reads"] |= {"ns": causes, "count": 1}
    native.runs["base"] = lambda spec, _: result(spec["design"], blame=blame)
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
