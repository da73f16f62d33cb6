"""What changed between two results that were kept."""

from __future__ import annotations

import copy
import json
import math
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand
from fake_native import result
from made_up import compared
from soak import SOAK
from tinytail.comparison.difference import difference
from tinytail.files.schema import read_schema

Document = dict[str, Any]
OTHER_HASH = "f" * 16
MEASURED = "{}: the same run, event for event, but 1 figure differs: the measuring changed."


def kept(*documents: Document) -> Document:
    setting = {"section": "timing", "key": "read_us", "value": "40", "source": "paper"}
    device = {"kind": "device", "name": "ttflash-256g", "summary": "", "settings": [setting]}
    return compared(*documents).to_dict() | {"configuration": [device]}


def narrow(p9999_us: float) -> Document:
    """An interval of 1 % to each side of the percentile by which runs are judged."""
    sides = {"low": 0.99 * p9999_us, "high": 1.01 * p9999_us}
    return {"read.p9999_us": {**sides, "level_percent": 90, "method": "seeds", "n": 5}}


def changes(before: Document, after: Document) -> tuple[list[str], list[str], list[str]]:
    found = difference(before, after)
    configured = [f"{each.what}: {each.before} -> {each.after}" for each in found.configuration]
    figures = [f"{each.what}: {each.before} -> {each.after}" for each in found.figures]
    return list(found.sentences), configured, figures


def test_the_same_results_have_no_difference() -> None:
    document = kept(result(), result("ttflash"))
    assert changes(document, document) == (["The same: 2 designs, event for event."], [], [])


def test_the_speed_of_the_simulator_and_paths_are_no_difference() -> None:
    log = {"path": "a.parquet", "requests": 1, "bytes": 1, "error": None}
    other = kept(result(cpu_seconds=9.9, requests_per_cpu_second=1.0, ns_per_event=1.0, log=log))
    assert changes(kept(result()), other)[1:] == ([], [])


def test_configuration_stands_before_figures_that_changed() -> None:
    changed = result(
        scale=280.0, event_hash=OTHER_HASH, erases=1235, seed=2, intervals=narrow(56e3)
    )
    after = kept(changed) | {"seed": 2}
    after["configuration"][0]["settings"][0]["value"] = "50"
    described, configured, figures = changes(kept(result(intervals=narrow(28e3))), after)
    assert described == ["base: p99.99 of reads 28.0 ms became 56.0 ms, 2.0 times worse."]
    assert configured == ["seed: 1 -> 2", "[timing] read_us: 40 -> 50"]
    assert "reads p99.99: 28.0 ms -> 56.0 ms" in figures
    assert "erases: 1,234 -> 1,235" in figures


def test_one_design_of_another_name_is_held_against_the_other() -> None:
    one = result(intervals=narrow(28e3))
    other = result("ttflash", 1.4, event_hash=OTHER_HASH, intervals=narrow(280.0))
    described, *_ = changes(kept(one), kept(other))
    assert described == [
        "base to ttflash: p99.99 of reads 28.0 ms became 280 µs, 100 times better."
    ]


def test_what_may_be_chance_is_neither_better_nor_worse() -> None:
    near = result(scale=141.0, event_hash=OTHER_HASH, intervals=narrow(28.2e3))
    described, *_ = changes(kept(result(intervals=narrow(28e3))), kept(near))
    assert described == ["base: p99.99 of reads 28.0 ms became 28.2 ms, within noise."]
    # Neither has an interval of this percentile.
    unknown = difference(kept(result()), kept(result(scale=160.0, event_hash=OTHER_HASH)))
    assert unknown.sentences[0].startswith(
        "base: p99.99 of reads 28.0 ms became 32.0 ms, which may be chance: how far one run"
    )
    notes = {change.what: change.note for change in unknown.figures}
    assert (notes["reads p99"], notes["reads p99.99"]) == ("within noise", "may be chance")


def test_the_state_differs_where_it_can_be_seen() -> None:
    def state(free_percent: float) -> Document:
        of_run = result()["state"] | {"free_percent": free_percent}
        return kept(result(state=of_run, event_hash=f"{free_percent:016.9f}"))

    assert changes(state(30.0), state(30.02))[1] == []
    assert changes(state(30.0), state(30.04))[1] == ["state: free percent: 30.0 -> 30.04"]
    assert changes(state(30.0), state(31.0))[1] == ["state: free percent: 30.0 -> 31.0"]


def test_runs_that_ended_early_are_not_compared() -> None:
    described, *_ = changes(kept(result()), kept(result(partial=True, event_hash=OTHER_HASH)))
    assert described == ["base: a run that ended early is not compared."]


def test_what_is_found_is_the_same_both_ways() -> None:
    one, other = kept(result()), kept(result(scale=1.4, event_hash=OTHER_HASH), result("ttflash"))
    forth, back = changes(one, other), changes(other, one)
    for left, right in zip(forth[1:], back[1:], strict=True):
        reversed_pairs = [
            f"{what}: {' -> '.join(reversed(values.split(' -> ')))}"
            for what, values in (line.split(": ", 1) for line in right)
        ]
        assert sorted(left) == sorted(reversed_pairs)


Place = tuple[str | int, ...]


def leaves(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Return each value of a document that holds no others, with its place."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inner:
            yield from leaves(each, (*path, key))
    else:
        yield path, value


def numbers(document: Document) -> Iterator[Place]:
    """Return where a document has numbers."""
    for path, value in leaves(document):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield path


def replaced(document: Document, path: Place, change: Callable[[Any], Any]) -> Document:
    """Return the document with one value changed."""
    other = copy.deepcopy(document)
    of: Any = other
    for step in path[:-1]:
        of = of[step]
    of[path[-1]] = change(of[path[-1]])
    return other


def altered(document: Document, path: Place) -> Document:
    """Return the document with one number slightly different."""

    def next_to(was: Any) -> Any:
        return was + 1 if isinstance(was, int) else math.nextafter(was, math.inf)

    return replaced(document, path, next_to)


def varies(path: Place) -> bool:
    """Whether the schema says that the same run may have another value there."""
    schema = read_schema("compare")
    of_result = schema["$defs"]["DesignResult"]["properties"]
    known = of_result[path[2]] if path[0] == "results" else schema["properties"][path[0]]
    return "x-varies" in known


def test_any_number_that_changed_is_found_and_of_the_same_run_before_all_else() -> None:
    made = tinytail.compare(
        ["base", "base+ideal-gc"],
        device="ttflash-small",
        workload="randrw70-bursty",
        requests=3_000,
        seeds=2,
    )
    document = shortened(made.to_dict(), 3)
    assert changes(document, document)[1:] == ([], [])
    # One of each column and of each key, whichever it is.
    places: dict[Place, list[Place]] = defaultdict(list)
    for path in numbers(document):
        places[tuple("" if isinstance(step, int) else step for step in path)].append(path)
    drawn = random.Random(1)
    found = 0
    for path in (drawn.choice(of) for of in places.values()):
        described, configured, figures = changes(document, altered(document, path))
        if path == ("schema_version",) or varies(path):
            continue
        found += 1
        assert configured or figures, path
        # What was configured, or is of the comparison, is said so.
        if path[0] == "results" and path[2] not in ("seed", "state"):
            name = document["results"][path[1]]["design"]
            assert described[0] == MEASURED.format(name), path
            values = [line.rpartition(": ")[2].split(" -> ") for line in figures]
            assert all(before != after for before, after in values), figures
    assert found > 250


def shortened(document: Any, most: int) -> Any:
    """Return the document with at most so many rows of each column of numbers; three have all kinds
    of values."""
    match document:
        case dict():
            return {key: shortened(value, most) for key, value in document.items()}
        case list() if any(isinstance(each, int | float) for each in document):
            return document[:most]
        case list():
            return [shortened(each, most) for each in document]
    return document


def others(value: Any) -> list[Any]:
    """Return values that one of a document may become by a change."""
    match value:
        case bool() | None:
            return [not value, 0, "x"]
        case int() | float():
            numbers = [-value - 1, value * 1e-300 + 1e-300, 1e18, 1.5e308, -1, 10**18, 0]
            return [*numbers, 10**400, math.nan, math.inf, None, str(value), [value], True]
        case _:
            texts = [
                f"{value} ",
                value[1:],
                value.upper(),
                "",
                "base",
                "firmware",
                "\x1b[2J",
                "x" * 999,
            ]
            return [*texts, "\ud800", None, 3, {}]


def test_any_change_of_a_file_is_found_or_refused_with_its_place(
    command: RunCommand, tmp_path: Path
) -> None:
    made = tinytail.compare(
        ["base", "ttflash", "base+no-gc"],
        device="ttflash-small",
        workload="randrw70-qd16",
        requests=500,
        settings=["gc.write_points=2"],
    )
    document = shortened(made.to_dict(), 3)
    document["errors"] = [{"design": "pes", "kind": "run", "message": "it stopped\nhere"}]
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(json.dumps(document), "utf-8")
    drawn = random.Random(2)
    # Numbers are most of a document: half of the changes are of something else.
    places = {path: value for path, value in leaves(document) if not varies(path)}
    kinds = [[path for path in places if isinstance(places[path], kind)] for kind in (str, object)]
    codes = []
    for number in range(2_000 if SOAK else 40):
        path = drawn.choice(kinds[number % 2])
        value = drawn.choice([each for each in others(places[path]) if each != places[path]])
        changed = replaced(document, path, lambda _: value)  # noqa: B023
        after.write_text(json.dumps(changed), "utf-8")
        found = command("diff", str(before), str(after))
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        assert found.code in (1, 2), (place, value)
        if found.code == 2:
            assert found.err.startswith(f"error: {after}: "), (place, value)
            is_whole = path == ("schema_version",) or len(path) == 1
            assert is_whole or place.lstrip(".") in found.err, (place, value)
        codes.append(found.code)
    assert codes.count(1) > len(codes) / 4
    assert codes.count(2) > len(codes) / 4


def test_each_name_and_each_value_of_the_configuration_is_compared() -> None:
    named = result("ttflash")
    setting = {"section": "gc", "key": "write_points", "value": "2", "source": "--set"}
    designs = [
        {"kind": "design", "name": name, "summary": "", "settings": [setting]}
        for name in ("base", "ttflash")
    ]
    before = kept(result(), named)
    before["configuration"] += designs
    renamed = copy.deepcopy(before)
    renamed["results"][1]["design"] = "firmware"
    assert changes(before, renamed)[1] == ["design: ttflash -> firmware"]
    for path in [("configuration", 1, "name"), ("configuration", 2, "settings", 0, "source")]:
        assert len(changes(before, replaced(before, path, lambda _: "x"))[1]) in (1, 2)


def test_little_is_left_out() -> None:
    schema = read_schema("compare")
    parts = schema["properties"] | schema["$defs"]["DesignResult"]["properties"]
    assert {key for key, value in parts.items() if "x-varies" in value} == {
        "command",
        *("cpu_seconds", "ns_per_event", "requests_per_cpu_second"),
        *("log", "request_timelines", "timeline"),
    }


def test_figures_of_the_same_events_under_another_configuration_are_no_fault() -> None:
    after = kept(result(erases=1235))
    after["configuration"][0]["settings"][0]["value"] = "50"
    described, configured, figures = changes(kept(result()), after)
    assert described == ["base: the same run, event for event, but 1 figure differs."]
    assert (configured, figures) == (["[timing] read_us: 40 -> 50"], ["erases: 1,234 -> 1,235"])


def test_of_a_column_the_first_value_stands_for_all() -> None:
    series = result()["series"]
    longer = {
        key: [*each, each[-1]] if isinstance(each, list) else each for key, each in series.items()
    }
    other = longer | {"reads": [8, 9, 1]}
    assert changes(kept(result()), kept(result(series=other)))[2][:3] == [
        "series.free_blocks_min, how many: 2 -> 3",
        "series.reads, how many: 2 -> 3",
        "series.reads[0], and 1 more: 7 -> 8",
    ]


@pytest.mark.soak
def test_a_bit_that_flips_in_a_folder_of_results_changes_no_figure(
    command: RunCommand, tmp_path: Path
) -> None:
    good, flipped = tmp_path / "good", tmp_path / "flipped"
    run = ("compare", "base", "ttflash", "--device", "ttflash-small", "--workload", "randrw70-qd16")
    assert command(*run, "--requests", "400", "--no-warm-up", "--out", str(good)).code == 0
    explained = command("explain", str(good), "--slowest", "2").out
    assert "slowest" in explained
    drawn = random.Random(4)
    codes = []
    for _ in range(300 if SOAK else 20):
        shutil.rmtree(flipped, ignore_errors=True)
        shutil.copytree(good, flipped)
        path = drawn.choice([path for path in flipped.rglob("*") if path.is_file()])
        content = bytearray(path.read_bytes())
        content[drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)
        path.write_bytes(content)
        for words, wanted in [
            (("diff", str(good), str(flipped)), "The same: 2 designs, event for event.\n"),
            (
                ("explain", str(flipped), "--slowest", "2"),
                explained.replace(str(good), str(flipped)),
            ),
        ]:
            found = command(*words)
            codes.append(found.code)
            if found.code == 0:
                assert found.out == wanted, path
            else:
                assert found.code == 2
                assert str(path) in found.err
    assert codes.count(0) > 5
    assert codes.count(2) > 5


def test_the_exit_code_is_that_of_diff(command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(kept(result())), "utf-8")
    other = tmp_path / "b.json"
    other.write_text(json.dumps(kept(result(scale=280.0, event_hash=OTHER_HASH))), "utf-8")
    before = str(tmp_path / "a.json")
    same = command("diff", before, str(tmp_path / "a.json"))
    assert (same.code, same.out) == (0, "The same: 1 design, event for event.\n")
    differs = command("diff", before, str(other))
    assert differs.code == 1
    assert "tinytail diff found a difference" in " ".join(command("--help").out.split())
    assert "reads p99.99  28.0 ms  56.0 ms  2.00×" in differs.out
    assert "more: --details" in differs.out
    assert "reads p90" not in differs.out
    assert "reads p90" in command("diff", before, str(other), "--details").out
    nowhere = command("diff", before, str(tmp_path / "nowhere.json"))
    assert nowhere.code == 2
    assert "nowhere.json" in nowhere.err
