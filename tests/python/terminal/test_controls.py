"""Control characters of inputs, which no output has."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from commands import Outcome, RunCommand
from soak import SOAK

# What clears a screen, rings, begins a sequence in one character, deletes, and turns letters round.
HOSTILE = "\x1b[35;45m\x07\r\x9b2J\x7f\u202e"
SHOWN = "^[[35;45m^G"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ESCAPED = CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", HOSTILE)
CHECKOUT = Path(__file__).parents[3]
SMALL = ("--device", "ttflash-small", "--requests", "60", "--no-warm-up")
RUN = (*SMALL, "--workload", "randrw70-qd16")
SWEEP = """device = "ttflash-small"
designs = ["base"]
workload = "randrw70-qd16"
requests = 60
[axes]
gc.write_points = [1, 2]
"+victim" = ["", "fifo-victim"]
"""
SEARCH = """device = "ttflash-small"
workload = "randrw70-qd16"
designs = ["base"]
least = ["erases"]
constraints = ["read.p999_us <= 2000"]
requests = 60
trials = 2
confirm = 1
[axes]
gc.write_points = [1, 2]
"""
JOB = '[global]\nrw=randrw\nbs=4k\nsize=1m\nfilename=f\n; a comment\n[job "a"]\nnumber_ios=9\n'
COLUMNS = "time_us,op,offset,bytes,host\n0,R,0,4096,web\n10,W,4096,4096,web\n20,x,0,4096,db\n"
BLKPARSE = "8,0 1 1 0.000000001 7 Q R 8 + 8 [fio]\n8,0 1 2 0.100000000 7 Q W 16 + 8 [fio]\n"
POLICY = """import tinytail
def choose(view):
    raise ValueError("no block")
"""


def quoted(text: str) -> Iterator[tuple[int, str]]:
    """Return where the texts in quotes begin, and what a control character is there."""
    for found in re.finditer(r'"[^"\n]*"', text):
        yield found.start() + 1, ESCAPED


def anywhere(text: str) -> Iterator[tuple[int, str]]:
    """Return each place of a text, where a control character stands as it is."""
    return ((place, HOSTILE) for place in range(len(text)))


# A file, its text, where it gets control characters, and commands that read it.
Input = tuple[str, str, Callable[[str], Iterator[tuple[int, str]]], Sequence[tuple[str, ...]]]
INPUTS: list[Input] = [
    *(
        (
            name,
            (CHECKOUT / folder / name.replace("own", of)).read_text("utf-8"),
            places,
            [("config", "check", name), *commands],
        )
        for places in (quoted, anywhere)
        for folder, name, of, commands in [
            (
                "devices",
                "own.toml",
                "ttflash-small",
                [("devices", "own.toml"), ("compare", "base", *RUN, "--device", "own.toml")],
            ),
            (
                "designs",
                "own.toml",
                "preemptible",
                [("designs", "own.toml"), ("compare", "base+own.toml", *RUN)],
            ),
            (
                "workloads",
                "own.toml",
                "zipf",
                [("workloads", "own.toml"), ("compare", "base", *SMALL, "--workload", "own.toml")],
            ),
        ]
    ),
    *(
        (name, text, places, commands)
        for places in (quoted, anywhere)
        for name, text, *commands in [
            ("sweep.toml", SWEEP, ("sweep", "sweep.toml", "--out", "points")),
            ("search.toml", SEARCH, ("search", "search.toml", "--out", "trials")),
        ]
    ),
    ("own.fio", JOB, anywhere, [("compare", "base", *SMALL, "--workload", "own.fio")]),
    *(
        (name, text, anywhere, [("trace", "info", name), ("trace", "info", name, "--json", "-")])
        for name, text in [("own.csv", COLUMNS), ("own.txt", BLKPARSE)]
    ),
]


def check(outcome: Outcome, said: object) -> None:
    for text in (outcome.out, outcome.err):
        found = CONTROLS.search(text)
        assert found is None, (said, text[max(0, found.start() - 80) : found.end() + 20])


@pytest.mark.soak
@pytest.mark.parametrize("number", range(len(INPUTS)))
def test_no_text_of_a_file_reaches_the_output_as_a_control_character(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    name, text, places, commands = INPUTS[number]
    drawn = random.Random(number)
    found = list(places(text))
    seen = []
    for place, hostile in drawn.sample(found, min(len(found), 50 if SOAK else 8)):
        Path(name).write_text(text[:place] + hostile + text[place:], "utf-8")
        for words in commands:
            outcome = command(*words)
            check(outcome, (words, text[place : place + 20]))
            seen.append(SHOWN in outcome.out + outcome.err or ESCAPED[:12] in outcome.out)
    # What may not be there as it is, the reader of a file often refuses by its place alone.
    assert any(seen) or places is anywhere


@pytest.mark.soak
def test_no_text_of_results_reaches_the_output_as_a_control_character(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("compare", "base", "ttflash", *RUN, "--json", "a.json").code == 0
    good = Path("a.json").read_text("utf-8")
    changed = json.loads(good)
    changed["errors"] = [{"design": "pes", "kind": "run", "message": "it stopped"}]
    good = json.dumps(changed)
    places = list(quoted(good))
    seen = []
    for place, hostile in random.Random(1).sample(places, 300 if SOAK else 15):
        Path("b.json").write_text(good[:place] + hostile + good[place:], "utf-8")
        outcome = command("diff", "a.json", "b.json", "--details")
        check(outcome, good[place : place + 20])
        seen.append(SHOWN in outcome.out)
    assert any(seen)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_no_name_reaches_the_output_as_a_control_character(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"own{HOSTILE}"
    design = 'name = "own"\nkind = "overlay"\nsummary = "s"\n[gc]\nwrite_points = 2\n'
    Path(f"{name}.toml").write_text(design, "utf-8")
    Path(f"{name}.csv").write_text("time_us,op,offset,bytes\n0,R,0,4096\n", "utf-8")
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    for words in [
        ("compare", f"base+{name}.toml", *RUN, "--json", f"{name}.json", "--out", f"{name}-kept"),
        ("compare", "base", *SMALL, "--workload", f"{name}.csv"),
        ("compare", "base", *RUN, "--json", f"no-{name}/a.json"),
        ("compare", "base", *RUN, "--set", f"gc.{name}=1"),
        ("compare", "base", *RUN, f"--{name}"),
        ("compare", name, *RUN),
        (name,),
        ("explain", f"{name}-kept"),
        ("diff", f"{name}.json", f"{name}.json"),
        ("designs", f"{name}.toml"),
        ("trace", "info", f"{name}.csv"),
        ("trace", "info", f"{name}.txt"),
        ("sweep", "show", name),
        ("image", "info", name),
    ]:
        outcome = command(*words)
        for text in (outcome.out, outcome.err):
            assert not re.search("[\x07\x7f\x9b\u202e]|\x1b\\[35;45m", text), words
            assert is_terminal or not CONTROLS.search(text), words


def test_json_has_no_control_character_beyond_ascii_either(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(
        f'name = "own"\nkind = "overlay"\nsummary = "{ESCAPED}"\n[gc]\nwrite_points = 2\n', "utf-8"
    )
    outcome = command("compare", "base+own.toml", *RUN, "--json", "-")
    check(outcome, "")
    summaries = [each["summary"] for each in json.loads(outcome.out)["configuration"]]
    assert any(HOSTILE in each for each in summaries)


def test_pictures_of_a_name_with_control_characters_are_whole(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"own{HOSTILE}.toml"
    Path(name).write_text('kind = "overlay"\nsummary = "s"\n[gc]\nwrite_points = 2\n', "utf-8")
    outcome = command("compare", f"base+{name}", *RUN, "--report", "page.html", "--figures", "f")
    check(outcome, "")
    texts = [path.read_text("utf-8") for path in Path("f").glob("*.svg")]
    assert len(texts) > 3
    assert not any(CONTROLS.search(text) for text in texts)
    # What draws the page has some of its own.
    assert "\x1b[35;45m" not in Path("page.html").read_text("utf-8")
