"""Places that results go to: tried before anything runs, and written to when results are shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from commands import RunCommand
from endings import fail
from fake_native import FakeNative
from tinytail.errors import RunError
from tinytail.pictures import Pictures

COMPARE = ("compare", "base", "--device", "ttflash-256g", "--workload", "dtrs")


@pytest.fixture(autouse=True)
def folder(native: FakeNative, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test of this file needs a real run but that which has a process of its own."""
    assert native
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("option", ["--log", "--timeline", "--json", "--report", "--figures"])
@pytest.mark.parametrize("place", ["pipe", "/proc/f", "none/f"])
def test_a_place_that_takes_nothing_is_found_before_anything_runs(
    command: RunCommand, native: FakeNative, option: str, place: str
) -> None:
    os.mkfifo("pipe")
    outcome = command(*COMPARE, option, place)
    assert outcome.code == 2
    assert "cannot write" in outcome.err
    assert native.specs == []


@pytest.mark.parametrize("option", ["--log", "--timeline"])
def test_what_is_written_while_a_run_goes_on_is_a_regular_file(
    command: RunCommand, native: FakeNative, option: str
) -> None:
    outcome = command(*COMPARE, option, "/dev/full")
    what = option.removeprefix("--")
    said = f"error: cannot write the {what} to /dev/full: it is not a regular file\n"
    assert (outcome.code, outcome.err) == (2, said)
    assert native.specs == []


def test_a_full_device_costs_no_table(command: RunCommand) -> None:
    outcome = command(*COMPARE, "--json", "/dev/full")
    assert outcome.code == 1
    assert "p99.99" in outcome.out
    assert "cannot write results to /dev/full: No space left on device" in outcome.err


def test_a_pipe_gets_results_when_they_are_shown_however_late_it_is_read(
    command: RunCommand,
) -> None:
    os.mkfifo("pipe")
    found: list[bytes] = []

    def read() -> None:
        with Path("pipe").open("rb") as pipe:
            time.sleep(0.3)
            found.append(pipe.read())

    reader = threading.Thread(target=read)
    reader.start()
    # It reads once it is there.
    time.sleep(0.1)
    outcome = command(*COMPARE, "--json", "pipe")
    reader.join()
    assert outcome.code == 0, outcome.err
    assert "p99.99" in outcome.out
    assert [result["design"] for result in json.loads(found[0])["results"]] == ["base"]


def run(to: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A real run in a process of its own, whose standard output is a file."""
    command = ["compare", "base", "--device", "ttflash-small", "--workload", "randread-qd1"]
    command += ["--requests", "20", "--no-cache", *words]
    with Path(to).open("wb") as shown:
        return subprocess.run(
            [sys.executable, "-m", "tinytail", *command],
            stdout=shown,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )


def test_what_cannot_be_shown_is_still_written() -> None:
    done = run("/dev/full", "--json", "j")
    assert done.returncode == 1
    assert "error: cannot write results to standard output: No space left" in done.stderr
    assert json.loads(Path("j").read_text("utf-8"))["results"]


def test_the_file_of_standard_output_keeps_what_is_shown() -> None:
    assert run("shown", "--json", "/dev/stdout").returncode == 0
    table, brace, results = Path("shown").read_text("utf-8").partition("{\n")
    assert "IOPS" in table
    assert json.loads(brace + results)["results"]


def test_want_of_memory_while_drawing_is_said_behind_the_table(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Pictures, "_write_page", without_memory)
    monkeypatch.setattr(Pictures, "_write_figures", without_memory)
    outcome = command(*COMPARE, "--json", "j", "--report", "r.html", "--figures", "f")
    assert outcome.code == 1
    assert "p99.99" in outcome.out
    assert "error: pictures cannot be drawn: there is not enough memory" in outcome.err
    assert Path("j").exists()


def test_of_nothing_no_picture_is_made(command: RunCommand, native: FakeNative) -> None:
    native.runs = {"base": fail(RunError("no"))}
    outcome = command(*COMPARE, "--report", "r.html", "--figures", "f")
    assert outcome.code == 1
    assert not Path("r.html").exists()
    assert not Path("f").exists()


def test_a_library_that_cannot_be_loaded_is_said_in_a_sentence(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object) -> None:
        raise ImportError("lib.so: failed to map segment from shared object")

    monkeypatch.setattr("tinytail.cli.app.run", load)
    outcome = command("devices")
    said = "error: it cannot go on: lib.so: failed to map segment from shared object\n"
    assert (outcome.code, outcome.err) == (1, said)
