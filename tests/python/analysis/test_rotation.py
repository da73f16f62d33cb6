"""Appendix A as a calculator: the paper's printed values, and those worked out anew."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand, read_json
from tinytail.analysis.rotation import Rotation, analyze_rotation, scrub_minutes


@pytest.fixture(scope="module")
def table_3() -> Rotation:
    return analyze_rotation(device="ttflash-256g", dwpd=5, valid=0.25, write_mib_s=2048)


def test_the_printed_arithmetic_is_that_of_table_3(table_3: Rotation) -> None:
    printed = table_3.analysis("as printed", "raw bandwidth")
    assert printed.step("T_copyback").value == 840
    assert printed.step("T_usrWrt").value == 900
    assert printed.step("BW_pl printed").value == 4.5
    assert printed.step("W_pg/s").value == 1152
    assert printed.step("CB_pg/s").value == 288
    assert printed.step("T_gc/s").value == pytest.approx(241.92)
    assert printed.bound == pytest.approx(4.1336, abs=1e-4)
    assert printed.ram_mib == 256


def test_the_papers_formula_with_exact_numbers(table_3: Rotation) -> None:
    raw = table_3.analysis("paper", "raw bandwidth")
    assert raw.step("W_pg/s").value == pytest.approx(1111.1, abs=0.1)
    assert raw.step("CB_pg/s").value == pytest.approx(277.8, abs=0.1)
    assert raw.step("T_gc/s").value == pytest.approx(233.3, abs=0.1)
    assert raw.bound == pytest.approx(4.29, abs=0.01)
    daily = table_3.analysis("paper", "drive writes per day")
    assert daily.step("S_pl").value == 4
    assert daily.step("BW_pl").value == pytest.approx(0.7111, abs=1e-4)
    assert daily.step("T_gc/s").value == pytest.approx(38.2, abs=0.05)
    assert daily.bound == pytest.approx(26.16, abs=0.005)
    assert daily.n_max == 26


def test_the_self_consistent_form_charges_what_a_victim_frees(table_3: Rotation) -> None:
    daily = table_3.analysis("self-consistent", "drive writes per day")
    assert daily.step("copies per page").value == pytest.approx(1 / 3)
    assert daily.step("N bound, copies alone").value == pytest.approx(19.6, abs=0.05)
    assert daily.step("N bound, with parity").value == pytest.approx(17.2, abs=0.05)
    # The erase adds 2 ms to 64 copies of 0.84 ms.
    assert daily.bound == pytest.approx(17.166 / (1 + 2 / (64 * 0.84)), abs=0.01)
    assert daily.bound == pytest.approx(16.6, abs=0.06)
    raw = table_3.analysis("self-consistent", "raw bandwidth")
    assert raw.step("N bound, copies alone").value == pytest.approx(0.75 * 4.2857, abs=0.001)


@pytest.mark.parametrize("dwpd", [0.5, 1, 2, 3, 5, 7, 10, 20, 30])
def test_the_largest_width_with_its_own_parity_is_the_last_that_fits(dwpd: float) -> None:
    found = analyze_rotation(dwpd=dwpd).analysis("self-consistent", "drive writes per day")
    n = found.n_max

    def second_of_gc(width: int) -> float:
        one = analyze_rotation(dwpd=dwpd, width=width)
        share = one.analysis("self-consistent", "drive writes per day").step("T_gc/s").value / 1000
        return width * share

    assert n == 0 or second_of_gc(n) < 1
    assert second_of_gc(max(n + 1, 2)) >= 1


def test_a_drive_that_is_not_written_has_no_limit(command: RunCommand) -> None:
    idle = analyze_rotation(dwpd=0).analysis("paper", "drive writes per day")
    assert math.isinf(idle.bound)
    empty = analyze_rotation(valid=0)
    assert math.isinf(empty.analysis("paper", "raw bandwidth").bound)
    # Its erases still take time.
    assert not math.isinf(empty.analysis("self-consistent", "raw bandwidth").bound)
    assert "no limit" in command("analyze", "rotation", "--dwpd", "0").out
    document = json.loads(command("analyze", "rotation", "--dwpd", "0", "--json", "-").out)
    assert document["analyses"][2]["bound"] is None


def test_every_device_can_be_worked_out() -> None:
    for entry in tinytail.list_devices():
        rotation = analyze_rotation(device=entry.name)
        assert rotation.die.bytes * rotation.die.dies > 0
        for analysis in rotation.analyses:
            assert analysis.bound > 0
            assert analysis.ram_mib > 0
            assert all(step.unit and step.formula for step in analysis.steps)


def test_page_classes_count_by_their_shares() -> None:
    timing = {"read_ns": [27_000, 40_000], "program_ns": [253_000, 1_359_000]}
    harey = analyze_rotation(device="harey-8g").die
    assert harey.program_ns == pytest.approx(sum(timing["program_ns"]) / 2)


def test_the_command_shows_every_value_with_its_unit(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "rotation.json"
    shown = command("analyze", "rotation", "--width", "8", "--json", str(file))
    assert shown.code == 0
    for words in ("as printed", "self-consistent", "T_copyback", "us", "pages/s", "N < 26.16"):
        assert words in shown.out
    document = read_json(file)
    assert [each["form"] for each in document["analyses"]] == [
        "as printed",
        "paper",
        "paper",
        "self-consistent",
        "self-consistent",
    ]
    assert document["device_mib_s"] == pytest.approx(45.51, abs=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--valid", "1"], "valid must be a number of at least 0 and below 1"),
        (["--valid", "-0.1"], "valid"),
        (["--dwpd", "nan"], "dwpd must be a number"),
        (["--day-hours", "0"], "day_hours must be a number above 0"),
        (["--day-hours", "25"], "day_hours must be at most 24"),
        (["--width", "1"], "width must be a whole number from 2"),
        (["--write-mib-s", "0"], "write_mib_s"),
        (["--device", "ttflash-257g"], "ttflash-256g"),
    ],
)
def test_bad_values_are_refused_by_name(words: list[str], said: str, command: RunCommand) -> None:
    outcome = command("analyze", "rotation", *words)
    assert outcome.code == 2
    assert said in outcome.err


def test_scrubbing_512_gb_at_2_gb_a_second_takes_four_minutes() -> None:
    assert scrub_minutes(512e9, 2e9) == pytest.approx(4.27, abs=0.005)
