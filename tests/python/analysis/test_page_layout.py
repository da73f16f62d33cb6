"""Layouts named from times, by Python and by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand
from tinytail.engine import catalog

MLC_A = "FFFF" + "SSFF" * 30 + "SSSS"
TIMES = {"F": 253.0, "M": 700.0, "S": 1359.0}


def block(letters: str) -> list[tuple[int, float]]:
    return [(page, TIMES[letter]) for page, letter in enumerate(letters)]


def lines(letters: str) -> str:
    return "".join(f"{page},{time}\n" for page, time in block(letters))


def test_the_papers_layouts_are_named() -> None:
    for letters, name, rule in (
        (MLC_A, "MLC A", "pairs"),
        ("F" + "FS" * 63 + "S", "MLC B", "single"),
        ("FFM" + "FMS" * 126 + "MSS", "TLC B", "single"),
        ("F" * 64, "SLC", None),
    ):
        found = tinytail.analyze_page_layout(block(letters), len(letters))
        assert (found.name, found.rule, found.outliers) == (name, rule, 0)
        assert found.class_times == tuple(TIMES[each] for each in "FMS" if each in letters)


def test_the_papers_drive_has_the_layout_that_its_times_show() -> None:
    device = catalog.device_document("harey-8g-small")
    assert (
        device["timing"]["page_class_layout"]
        == tinytail.analyze_page_layout(block(MLC_A), 128).rule
    )


def test_the_command_reads_either_form(command: RunCommand, tmp_path: Path) -> None:
    pairs, single = tmp_path / "pairs.csv", tmp_path / "single.csv"
    pairs.write_text("page,time\n\n" + lines(MLC_A))
    single.write_text("# in order\n" + "".join(f"{time}\n" for _, time in block(MLC_A)))
    for file in (pairs, single):
        outcome = command("analyze", "page-layout", str(file), "--json", "-")
        assert outcome.code == 0, outcome.err
        assert json.loads(outcome.out) == {
            "name": "MLC A",
            "page_class_layout": "pairs",
            "pages_per_block": 128,
            "class_times": [253.0, 1359.0],
            "samples": 128,
            "outliers": 0,
        }


def test_some_pages_need_the_size_of_the_block(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_text("".join(lines(MLC_A).splitlines(keepends=True)[4:12]))
    outcome = command("analyze", "page-layout", str(file))
    assert outcome.code == 2
    assert "page 0 has no time; give the pages of a block with --pages-per-block" in " ".join(
        outcome.err.split()
    )
    file.write_text("".join(lines(MLC_A).splitlines(keepends=True)[:12]))
    outcome = command("analyze", "page-layout", str(file), "--pages-per-block", "128")
    assert "MLC A" in outcome.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1\n1,x\n", "times.csv:2: time 'x'; expected a number above 0"),
        ("0,1\n1,-3\n", "times.csv:2: time '-3'"),
        ("0,1\n1,inf\n", "times.csv:2: time 'inf'"),
        ("0,1\n-1,3\n", "times.csv:2: page '-1'; expected a whole number"),
        ("0,1\n1\n", "times.csv:2: 1 columns; expected `page,time`"),
        ("0,1,2\n", "times.csv:1: 3 columns"),
        ("page,time\n", "times.csv: no times"),
        ("", "times.csv: no times"),
        ("5\n", "2 to 16383"),
        ("1\n1\n1\n1\n2\n2\n2\n", "fit no layout that is known for blocks of 7 pages"),
        ("1\n1\n2\n2\n", "MLC A and MLC B alike"),
    ],
)
def test_faulty_files_are_refused_with_the_line(
    text: str, said: str, command: RunCommand, tmp_path: Path
) -> None:
    file = tmp_path / "times.csv"
    file.write_text(text)
    outcome = command("analyze", "page-layout", str(file))
    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())


def test_files_that_are_no_text_are_refused(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_bytes(b"\xff\xfe\x00")
    assert "it is no UTF-8 text" in command("analyze", "page-layout", str(file)).err
    assert command("analyze", "page-layout", str(tmp_path / "none.csv")).code == 2


def test_values_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(tinytail.UsageError, match="a time must be a number above 0"):
        tinytail.analyze_page_layout([(0, -1.0), (1, 2.0)], 128)
    with pytest.raises(tinytail.UsageError, match="pages_per_block must be a whole number"):
        tinytail.analyze_page_layout([(0, 1.0), (1, 2.0)], 1)
