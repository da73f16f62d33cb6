"""Files that are none, that have no end or are too long, and little memory to read them."""

from __future__ import annotations

import os
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import RunCommand
from tinytail.files.text import MIB, RESULTS_BYTES_MAX, read_text

RUN = ("--device", "ttflash-small", "--workload", "randread-qd1", "--requests", "20")
# Each reads the file `f`, under a name that tells what it should be.
READERS: dict[str, tuple[str, ...]] = {
    "f.toml": ("config", "check", "f.toml"),
    "f.fio": ("config", "check", "f.fio"),
    "device.toml": ("compare", "base", "--device", "device.toml", *RUN[2:]),
    "design.toml": ("compare", "base+design.toml", *RUN),
    "workload.toml": ("compare", "base", *RUN[:2], "--workload", "workload.toml"),
    "workload.fio": ("compare", "base", *RUN[:2], "--workload", "workload.fio"),
    "image": ("compare", "base", *RUN, "--image", "image"),
    "image-shown": ("image", "info", "image-shown"),
    "sweep.toml": ("sweep", "sweep.toml"),
    "search.toml": ("search", "search.toml"),
    "r.json": ("diff", "r.json", "r.json"),
    "times": ("analyze", "page-layout", "times"),
    "d/manifest.json": ("explain", "d"),
    "d/sweep.json": ("sweep", "show", "d"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    return tmp_path


def _socket(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(name)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "this is a pipe"),
        (lambda name: Path(name).symlink_to("/dev/zero"), "this is a device"),
    ],
)
def test_what_is_no_file_is_refused_and_never_waited_for(
    command: RunCommand, name: str, make: Callable[[str], None], said: str
) -> None:
    make(name)
    outcome = command(*READERS[name])
    assert outcome.code == 2
    assert said in outcome.err


def test_a_socket_is_no_trace(command: RunCommand) -> None:
    _socket("s")
    for words in (("trace", "info", "s"), ("compare", "base", *RUN[:2], "--workload", "s")):
        outcome = command(*words)
        assert (outcome.code, "s: this is a socket; expected a trace file" in outcome.err) == (
            2,
            True,
        )


def test_a_long_file_is_refused_and_of_many_faults_the_first_are_told(command: RunCommand) -> None:
    many = "".join(f"k{number} = 1\n" for number in range(10_000))
    for text, said in (
        (f"[geometry]\n{many}", "and 99"),
        (f"[geometry]\n{many * 3}", "longer than 256 KiB"),
        (f"[geometry]\n{'a.' * 100_000}a = 1\n", "recursion limit"),
    ):
        for words in (("config", "check", "f.toml"), ("sweep", "f.toml")):
            Path("f.toml").write_text(text)
            outcome = command(*words)
            assert (outcome.code, len(outcome.err) < 8000) == (2, True)
            assert said in outcome.err or words[0] == "sweep"


def test_a_small_file_takes_little_memory(folder: Path) -> None:
    file = folder / "r.json"
    file.write_text("x" * MIB)
    tracemalloc.start()
    try:
        assert len(read_text(file, RESULTS_BYTES_MAX)) == MIB
        assert tracemalloc.get_traced_memory()[1] < 5 * MIB
    finally:
        tracemalloc.stop()
    file.write_text("xx" * MIB)
    with pytest.raises(OSError, match="it is longer than 1024 KiB"):
        read_text(file, MIB)


def test_a_missing_trace_is_said_once_before_anything_runs(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINYTAIL_TRACES", raising=False)
    words = ("base", "ttflash", "--device", "ttflash-256g", "--workload", "dtrs")
    outcome = command("compare", *words, "--report", "r.html", "--json", "j")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("set the environment variable TINYTAIL_TRACES") == 1
    assert not Path("r.html").exists()
    assert not Path("j").exists()
