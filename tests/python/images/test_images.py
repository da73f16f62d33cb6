"""Images of aged drives, from the command line and from Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand, read_json
from endings import fail, interrupt_then_finish
from fake_native import FakeNative

DRIVE = ("--device", "ttflash-small")
CREATE = ("image", "create", "x.image", "--device", "ttflash-256g", "--design", "base")
RUN = ("--workload", "randrw70-qd16", "--requests", "3000")


def test_a_comparison_from_an_image_is_the_one_that_ages_by_itself(
    command: RunCommand, tmp_path: Path
) -> None:
    path = str(tmp_path / "small.image")
    state = ("--state", "ageing=steady", "--state", "round_percent=50")
    made = command("image", "create", path, *DRIVE, "--design", "base", "--seed", "5", *state)
    assert made.code == 0, made.err
    assert "aged rounds" in made.out
    assert "cpu seconds ageing" in made.out
    documents = []
    for start in (("--image", path), state):
        out = tmp_path / "out.json"
        designs = ("base", "base+no-gc", "base+plane-blocking")
        words = ("compare", *designs, *DRIVE, *RUN, "--seed", "5", *start, "--json", str(out))
        outcome = command(*words)
        assert outcome.code == 0, outcome.err
        documents.append(read_json(out))
    hashes = [[each["event_hash"] for each in document["results"]] for document in documents]
    assert hashes[0] == hashes[1]
    assert documents[0]["state"]["image"] == path
    assert documents[1]["state"]["steady"] is True
    assert len(documents[1]["state"]["rounds"]) >= 5


def test_an_image_says_what_it_holds(command: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "small.image"
    made = tinytail.create_image(
        path, device="ttflash-small", design="base", seed=9, state={"live_percent": 30}
    )
    info = tinytail.describe_image(path)
    assert made.cpu_seconds is not None
    assert made.cpu_seconds.ageing >= 0
    assert info == replace(made, cpu_seconds=None)
    assert info.state["live_percent"] == 30
    assert info.bytes == path.stat().st_size
    out = tmp_path / "info.json"
    outcome = command("image", "info", str(path), "--json", str(out))
    assert outcome.code == 0
    assert "ttflash-small" in outcome.out
    assert read_json(out) == info.to_dict()


def test_what_is_no_image_of_the_drive_ends_with_2_and_says_why(
    command: RunCommand, tmp_path: Path
) -> None:
    path = tmp_path / "small.image"
    tinytail.create_image(path, device="ttflash-small", design="base")
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    older = bytearray(whole)
    older[16] = 0
    for content, why in (
        (whole[:1000], f"cut off: it has 1000 bytes of {len(whole)}"),
        (whole + b"\n", "1 bytes longer"),
        (bytes(flipped), "damaged"),
        (bytes(older), "an image of version 0; this tinytail reads version 2"),
        (b"0 0 8 8 1\n", "no tinytail image"),
    ):
        path.write_bytes(content)
        for words in (("image", "info"), ("compare", "base", *DRIVE, *RUN, "--image")):
            outcome = command(*words, str(path))
            assert outcome.code == 2
            assert f"{path}: " in outcome.err
            assert why in outcome.err
            assert outcome.out == ""
    path.write_bytes(whole)
    other = command("compare", "base", "--device", "ttflash-48g", *RUN, "--image", str(path))
    assert other.code == 2
    assert "`blocks_per_plane` is 64 in the image and 768 here" in other.err


def test_a_file_that_can_not_be_written_is_said(command: RunCommand, tmp_path: Path) -> None:
    for path, why in (
        (tmp_path, f"cannot write an image to {tmp_path}: it is a directory"),
        (tmp_path / "no" / "such.image", f"there is no directory {tmp_path / 'no'}"),
    ):
        outcome = command("image", "create", str(path), *DRIVE, "--design", "base")
        assert outcome.code == 2
        assert why in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--state", "live_percent"), 'must be KEY=VALUE, such as live_percent=80, not "live_p'),
        (("--state", "=3"), 'not "=3"'),
        (("--state", "ageing="), 'not "ageing="'),
        (("--state", "a=1", "--state", "a=2"), 'gives "a" twice'),
        (("--seed", "-1"), "Must be >= 0"),
    ],
)
def test_a_faulty_option_is_refused_before_anything_runs(
    native: FakeNative, command: RunCommand, words: tuple[str, ...], message: str
) -> None:
    outcome = command(*CREATE, *words)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
    assert native.specs == []


def test_every_option_of_create_reaches_the_native_module(
    native: FakeNative, command: RunCommand
) -> None:
    trace = ("--workload", "dtrs", "--time-unit", "us", "--ops", "write=0,read=1", "--event", "Q")
    state = ("--state", "live_percent=80", "--state", "ageing=steady")
    assert command(*CREATE, "--seed", "7", "--format", "ascii", *trace, *state).code == 0
    assert native.specs == [
        {
            "out": "x.image",
            "device": "ttflash-256g",
            "design": "base",
            "seed": 7,
            "state": {"live_percent": 80, "ageing": "steady"},
            "workload": "dtrs",
            "trace": {
                "format": "ascii",
                "time_unit": "us",
                "ops": "write=0,read=1",
                "event": "Q",
            },
        }
    ]


def test_a_failure_and_ctrl_c_end_as_they_do_elsewhere(
    native: FakeNative, command: RunCommand
) -> None:
    native.runs = {"base": fail(tinytail.RunError("no space left"))}
    outcome = command(*CREATE)
    assert (outcome.code, outcome.err) == (1, "error: no space left\n")
    native.runs = {"base": interrupt_then_finish}
    assert command(*CREATE).code == 130


def test_a_faulty_image_is_found_before_anything_runs(
    native: FakeNative, command: RunCommand
) -> None:
    outcome = command(
        "compare", "base", "--device", "ttflash-256g", "--workload", "dtrs", "--image", "faulty"
    )
    assert outcome.code == 2
    assert "cut off" in outcome.err
    assert native.specs == []
