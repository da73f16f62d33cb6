"""Equations 1 and 2 of The Harey Tortoise, compared with numbers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand, read_json
from tinytail.analysis.rate_match import Curves, RateMatching, analyze_rate_matching

# Table 1, in microseconds.
FAST, SLOW, MEAN, READ, ERASE = 253.0, 1359.0, 806.0, 33.5, 2871.0
PAGE = 4096


@pytest.fixture(scope="module")
def harey() -> RateMatching:
    return analyze_rate_matching(device="harey-8g")


def by_hand(host_us: float, gc_us: float, moved: float, freed: float) -> float:
    """What eight chips write, in MB/s: time of the host and of GC for each page, added."""
    gc_for_each = (moved * (READ + gc_us) + ERASE) / freed
    return 8 * PAGE / (host_us + gc_for_each)


def test_equation_1_is_a_page_in_the_time_of_its_program(harey: RateMatching) -> None:
    point = harey.printed.at(50)
    assert point.sgc.external_mb_s == pytest.approx(PAGE / FAST)
    assert point.fgc.external_mb_s == pytest.approx(PAGE / SLOW)
    assert point.baseline.external_mb_s == pytest.approx(5.082, abs=0.001)


def test_equation_2_reclaims_a_fifth_of_a_block(harey: RateMatching) -> None:
    for percent, moved in ((0, 128), (50, 64), (80, 25.6), (100, 0)):
        point = harey.printed.at(percent)
        assert (point.moved, point.freed) == (moved, 25.6)
        for rates, program in ((point.fgc, FAST), (point.sgc, SLOW), (point.baseline, MEAN)):
            wanted = 0.2 * 128 * PAGE / (moved * (READ + program) + ERASE)
            assert rates.gc_mb_s == pytest.approx(wanted)


def test_all_chips_together_write_what_both_rates_allow(harey: RateMatching) -> None:
    for curves in harey.forms:
        for percent in (10, 50, 80, 95):
            point = curves.at(percent)
            found = (point.baseline.mb_s, point.fgc.mb_s, point.sgc.mb_s)
            wanted = [
                by_hand(host, gc, point.moved, point.freed)
                for host, gc in ((MEAN, MEAN), (SLOW, FAST), (FAST, SLOW))
            ]
            assert found == pytest.approx(wanted)
            for rates in (point.baseline, point.fgc, point.sgc):
                gc_chips = 8 * rates.gc_chips_percent / 100
                # As much is reclaimed as is written.
                assert gc_chips * rates.gc_mb_s == pytest.approx(rates.mb_s)
                assert (8 - gc_chips) * rates.external_mb_s == pytest.approx(rates.mb_s)


def crossing_by_search(curves: Curves) -> int:
    """The percent at which the sign of FGC less SGC changes."""
    signs = [
        (point.fgc.mb_s > point.sgc.mb_s * (1 + 1e-12))
        - (point.fgc.mb_s < point.sgc.mb_s * (1 - 1e-12))
        for point in curves.points[1:]
    ]
    assert signs == sorted(signs, reverse=True)
    return 1 + signs.index(0)


def test_the_printed_form_crosses_at_80_percent_exactly(harey: RateMatching) -> None:
    printed = harey.printed
    assert printed.crossover_locality_percent == 80
    assert printed.crossover is not None
    assert printed.crossover.moved == 25.6
    assert crossing_by_search(printed) == 80
    crossing = printed.at(80)
    for rates in (crossing.baseline, crossing.fgc, crossing.sgc):
        assert rates.mb_s == pytest.approx(18.64, abs=0.005)


def test_fgc_is_better_below_and_sgc_above(harey: RateMatching) -> None:
    for curves, border in ((harey.printed, 80), (harey.self_consistent, 50)):
        for point in curves.points[1:]:
            order = [point.sgc.mb_s, point.baseline.mb_s, point.fgc.mb_s]
            if point.locality_percent < border:
                assert order == sorted(set(order))
            elif point.locality_percent > border:
                assert order == sorted(set(order), reverse=True)


def test_the_gain_at_half_locality_is_the_papers(harey: RateMatching) -> None:
    point = harey.printed.at(50)
    assert point.gain("fgc") == pytest.approx(1.379, abs=0.001)
    assert point.gain("sgc") == pytest.approx(0.784, abs=0.001)
    assert point.gain("baseline") == 1


@pytest.mark.parametrize(("spare", "crossing"), [(10, 90), (28, 72), (20, 80), (50, 50)])
def test_the_printed_crossover_follows_over_provisioning(spare: int, crossing: int) -> None:
    found = analyze_rate_matching(device="harey-8g", spare_percent=spare)
    assert found.printed.crossover_locality_percent == crossing
    assert crossing_by_search(found.printed) == crossing
    assert found.self_consistent.crossover_locality_percent == 50
    assert crossing_by_search(found.self_consistent) == 50


def test_matched_reads_move_the_crossover_a_little(harey: RateMatching) -> None:
    # Both placements take equally long where 1106 us more of the host make up for 1119 us of GC.
    moved = 25.6 * 1106 / 1119
    wanted = 100 * (1 - moved / 128)
    assert harey.printed.matched_reads_crossover_percent == pytest.approx(wanted)
    assert wanted == pytest.approx(80.23, abs=0.005)


def test_nothing_is_written_where_nothing_is_reclaimed(harey: RateMatching) -> None:
    point = harey.self_consistent.at(0)
    assert (point.fgc.mb_s, point.fgc.gc_chips_percent, point.gain("fgc")) == (0, 100, None)
    with pytest.raises(KeyError):
        harey.printed.at(50.5)


def test_every_device_can_be_worked_out(command: RunCommand) -> None:
    for entry in tinytail.list_devices():
        found = analyze_rate_matching(device=entry.name)
        assert 0 < found.array.spare_percent < 100
        alike = found.array.program_fast_ns == found.array.program_slow_ns
        for curves in found.forms:
            assert (curves.crossover is None) == alike
            assert all(point.baseline.mb_s > 0 for point in curves.points[1:])
    outcome = command("analyze", "rate-matching", "--device", "ttflash-256g")
    assert "all pages are alike" in " ".join(outcome.out.split())


def test_the_command_writes_curves_and_pictures(command: RunCommand, tmp_path: Path) -> None:
    file, folder = tmp_path / "curves.json", tmp_path / "figures"
    shown = command("analyze", "rate-matching", "--json", str(file), "--figures", str(folder))
    assert shown.code == 0, shown.err
    document = read_json(file)
    assert document["printed"]["crossover_locality_percent"] == 80
    assert document["printed"]["crossover_pages_moved"] == 25.6
    assert document["self_consistent"]["crossover_locality_percent"] == 50
    assert document["spare_percent"] == 20
    for form in ("printed", "self_consistent"):
        lists = [document[form]["locality_percent"], document[form]["fgc"]["over_baseline"]]
        assert [len(values) for values in lists] == [101, 101]
    svg = (folder / "rate-matching.svg").read_text("utf-8")
    for words in ("fast pages to GC", "printed form", "self-consistent form", "80 %"):
        assert words in svg
    assert (folder / "rate-matching.pdf").read_bytes().startswith(b"%PDF")
    only = command("analyze", "rate-matching", "--json", "-")
    assert json.loads(only.out) == document


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--spare-percent", "0"], "must be a number above 0 and below 100"),
        (["--spare-percent", "100"], "spare_percent"),
        (["--spare-percent", "nan"], "spare_percent"),
        (["--device", "harey-9g"], "harey-8g"),
        (["--figures", "/nowhere/at/all"], "cannot write /nowhere/at/all (--figures)"),
    ],
)
def test_bad_values_are_refused_by_name(words: list[str], said: str, command: RunCommand) -> None:
    outcome = command("analyze", "rate-matching", *words)
    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())
