"""How mutants are drawn, judged and counted; a run goes on where the last one stopped."""

from __future__ import annotations

import json
import runpy
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
MADE = runpy.run_path(str(ROOT / "tools" / "mutants.py"))
LINES = {"gc": 3000, "ftl": 2000, "host": 900, "slab": 100}


def mutants(moved: int = 0) -> list[Any]:
    """What cargo-mutants says of a core whose rooms have a mutant for each tenth line."""
    listed = [
        {
            "file": f"crates/core/src/{room}/a.rs",
            "name": f"crates/core/src/{room}/a.rs:{line + moved}:9: replace + in f{line // 50}",
            "span": {
                "start": {"line": line + moved, "column": 9},
                "end": {"line": line + moved, "column": 10},
            },
            "replacement": "-",
        }
        for room, lines in LINES.items()
        for line in range(1, lines, 10)
    ]
    found = MADE["mutants_of"](json.loads(json.dumps(listed)))
    assert isinstance(found, list)
    return found


def verdict(mutant: Any, found: str = "caught", **others: Any) -> Any:
    stage, by = ("few cases", "t") if found == "caught" else ("", "")
    fields = {"line": 1, "stage": stage, "by": by, "seconds": 2, "commit": "c", "code": "d"}
    return MADE["Verdict"](
        room=mutant.room, mutant=mutant.name, verdict=found, **{**fields, **others}
    )


def drawn(count: int, without: tuple[str, ...] = (), moved: int = 0) -> list[Any]:
    found = MADE["draw"](mutants(moved), LINES, set(without), count)
    assert isinstance(found, list)
    return found


def test_any_part_of_the_order_is_spread_over_the_rooms_by_their_lines() -> None:
    rooms = Counter(mutant.room for mutant in drawn(120))
    assert rooms == {"gc": 60, "ftl": 40, "host": 18, "slab": 2}
    first = Counter(mutant.room for mutant in drawn(120)[:60])
    assert all(abs(first[room] - rooms[room] / 2) <= 7 for room in LINES), first
    # A room that has too few mutants leaves its share to the others.
    assert MADE["quotas"]({"a": 90, "b": 10}, {"a": 3, "b": 50}, 20) == {"a": 3, "b": 17}


def test_the_draw_is_the_same_wherever_the_lines_are_and_whatever_does_not_compile() -> None:
    names = [mutant.name for mutant in drawn(120)]
    assert names == [mutant.name for mutant in drawn(120, moved=7)]
    assert len(set(names)) == 120
    gone = names[5]
    others = [mutant.name for mutant in drawn(120, without=(gone,))]
    (new,) = set(others) - set(names)
    assert new.partition("/")[0] == gone.partition("/")[0], "another of its room takes its place"
    assert [each for each in others if each != new] == [each for each in names if each != gone]


def test_a_mutant_is_the_text_of_its_span_replaced() -> None:
    mutant = MADE["Mutant"]("a", "a", "a.rs", (2, 5), (3, 2), "()")
    assert mutant.applied("fn é() {\n    x\n}é\n") == "fn é() {\n    ()é\n"


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    table = tmp_path / "mutants.tsv"
    sample = drawn(6)
    MADE["write_rows"](table, [verdict(sample[0]), verdict(sample[2], "lived")], "a")
    MADE["write_rows"](table, [verdict(sample[3], "lived", excuse="it changes nothing")], "a")
    kept = MADE["read_table"](table)

    def left(codes: dict[str, str], again: bool, commit: str) -> list[int]:
        holds = MADE["standing"](kept, codes)
        return [sample.index(each) for each in MADE["left"](sample, holds, again, commit)]

    same = {mutant.file: "d" for mutant in sample}
    assert left(same, False, "other") == [1, 4, 5], "verdicts on the same code hold"
    assert left(same, True, "other") == [1, 2, 4, 5]
    assert left(same, True, "c") == [1, 4, 5], "nothing has changed since it lived"
    changed = {**same, sample[0].file: "e"}
    of_file = [i for i in (0, 2, 3) if sample[i].file == sample[0].file]
    assert left(changed, False, "other") == sorted([1, 4, 5, *of_file])
    # The last word counts, and the table is the same whether written at once or in parts.
    MADE["write_rows"](table, [verdict(sample[2], commit="later")], "a")
    again = MADE["read_table"](table)
    assert again[sample[2].name].verdict == "caught"
    MADE["write_rows"](table, again.values(), "w")
    assert MADE["read_table"](table) == again


def test_what_is_excused_or_does_not_compile_does_not_count(tmp_path: Path) -> None:
    table = tmp_path / "mutants.tsv"
    sample = drawn(12)
    rows = [verdict(each) for each in sample[:9]]
    rows += [verdict(sample[9], "lived"), verdict(sample[10], "lived", excuse="no effect")]
    MADE["write_rows"](table, [*rows, verdict(sample[11], "none")], "w")
    page = MADE["page"](table)
    assert "9 of 10 caught: 90.0%, 95 % interval 59.6% to 98.2%" in page
    assert "11 of 500 were judged" in page
    lived, _, excused = page.partition("## The excused")
    assert f"{sample[9].file}:1" in lived
    assert excused.rstrip().endswith("no effect")


def test_the_interval_is_wilsons() -> None:
    # Newcombe, Statistics in Medicine 1998, table I: 81 of 263 and 0 of 20.
    for hits, of, expected in [(81, 263, (0.2553, 0.3662)), (0, 20, (0.0, 0.1611))]:
        assert MADE["interval"](hits, of) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'test a::b ... ok'; echo 'test result: ok. 1 passed; 0 failed'", ""),
        ("echo 'test a::b ... ok'; echo 'test c::d ... FAILED'; sleep 60", "c::d"),
        ("echo 'test a::b ... ok'; sleep 60", "no end"),
        ("kill -ABRT $$", "exit code -6"),
    ],
)
def test_a_program_of_tests_is_ended_by_its_first_failure(
    script: str, expected: str, tmp_path: Path
) -> None:
    started = time.monotonic()
    # A busy machine may take long to start a program that ends.
    limits = MADE["Limits"](60, 0.2 if expected == "no end" else 60)
    assert MADE["failure"](["sh", "-c", script], tmp_path, {}, limits) == expected
    assert time.monotonic() - started < 30


def test_tests_that_somebody_ends_say_nothing(tmp_path: Path) -> None:
    with pytest.raises(MADE["EndedFromOutsideError"], match="signal 15"):
        MADE["failure"](["sh", "-c", "kill -TERM $$"], tmp_path, {}, MADE["Limits"](60, 5))


def test_the_page_is_made_from_the_table() -> None:
    text = (ROOT / "evidence" / "mutants.md").read_text("utf-8")
    assert MADE["page"]() == text, "run tools/mutants.py --page"
