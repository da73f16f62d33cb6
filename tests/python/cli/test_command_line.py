"""The words of the command line: numbers, what is missing, completion, version, exit codes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand

DRIVE = ("--device", "ttflash-small", "--workload", "zipf")
TRACE = ("trace", "info", "examples/tiny.trace", "--time-unit", "us")


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])


@pytest.mark.parametrize("word", ["1.5", "2.0", "1e6", "0x10", "one"])
@pytest.mark.parametrize(
    "words",
    [
        ("compare", "base", *DRIVE, "--requests"),
        ("compare", "base", *DRIVE, "--seed"),
        ("compare", "base", *DRIVE, "--windows"),
        ("certify", "act", "--max-multiplier"),
        ("explain", "somewhere", "--request"),
        ("verify", "power-cut", "--cuts"),
        (*TRACE, "--queue-depth"),
        (*TRACE, "--repeat"),
    ],
)
def test_a_whole_number_is_not_rounded(
    command: RunCommand, words: tuple[str, ...], word: str
) -> None:
    outcome = command(*words, word)
    assert outcome.code == 2
    assert f'{words[-1]}: "{word}" is not a whole number' in outcome.err


def test_a_whole_number_may_be_grouped(command: RunCommand) -> None:
    assert command(*TRACE, "--repeat-to-requests", "1_000").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "base", "--workload", "zipf"), "--device is missing: Name of a drive"),
        (("compare", "base", "--workload", "zipf", "--device"), "--device needs a value: Name of"),
        (("trace", "info"), "FILE is missing: The trace, plain or compressed"),
    ],
)
def test_what_is_missing_is_named_with_its_meaning(
    command: RunCommand, words: tuple[str, ...], message: str
) -> None:
    outcome = command(*words)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {message}")
    assert "--help` has more" in outcome.err


def test_the_version_has_a_short_option(command: RunCommand) -> None:
    assert command("-V").out == command("--version").out == f"{tinytail.__version__}\n"


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        (("compare", "base", "--device", "modern-tlc"), {"modern-tlc-2t", "modern-tlc-2t-small"}),
        (("compare", "base", "--workload", "randrw70"), {"randrw70-open", "randrw70-qd16"}),
        (("compare", "ttflash+no-"), {"ttflash+no-gc"}),
        (("devices", "devices/ttflash-2"), {"devices/ttflash-256g.toml"}),
        (("compare", "base", "--workload", "examples/ti"), {"examples/tiny.trace"}),
    ],
)
def test_names_are_completed(
    command: RunCommand, words: tuple[str, ...], candidates: set[str]
) -> None:
    outcome = command("__complete", *words)
    assert outcome.code == 0
    offered = {line.partition("\t")[0] for line in outcome.out.splitlines()}
    assert candidates <= offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(command: RunCommand, shell: str) -> None:
    script = command("completion", shell).out
    assert "tinytail" in script
    assert "__complete" in script
    if shell == "bash":
        checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
        assert checked.returncode == 0


OUTPUTS = [
    *(("compare", "base", *DRIVE, option) for option in ("--json", "--log", "--report", "--out")),
    *(("compare", "base", *DRIVE, option) for option in ("--timeline", "--figures")),
    ("image", "create", "--device", "ttflash-small", "--design", "base"),
    ("trace", "convert", "examples/tiny.trace", "--time-unit", "us"),
    (*TRACE, "--json"),
    ("certify", "act", "--json"),
    ("verify", "power-cut", "--json"),
    ("analyze", "rotation", "--json"),
    *(
        ("serve", "--device", "ttflash-small", "--design", "base", "--nbd", "unix:s", option)
        for option in ("--json", "--log", "--record", "--data")
    ),
]


@pytest.mark.parametrize("words", OUTPUTS)
def test_a_missing_directory_is_the_same_fault_for_every_output(
    command: RunCommand, words: tuple[str, ...]
) -> None:
    outcome = command(*words, "no/such/place")
    assert outcome.code == 2
    assert outcome.out == ""
    assert re.search(r"cannot write no/such/place .*there is no directory ", outcome.err)


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "base", "--device", "no/such.toml", "--workload", "zipf"),
        ("compare", "no/such.toml", *DRIVE),
        ("compare", "base", "--device", "ttflash-small", "--workload", "no/such.trace"),
        ("compare", "base", *DRIVE, "--image", "no/such.image"),
        ("trace", "info", "no/such.trace"),
        ("config", "check", "no/such.toml"),
        ("report", "no/such.json", "--report", "x.html"),
        ("explain", "no/such"),
        ("image", "info", "no/such.image"),
    ],
)
def test_a_missing_input_is_the_same_fault_for_every_input(
    command: RunCommand, words: tuple[str, ...]
) -> None:
    outcome = command(*words)
    assert outcome.code == 2
    assert "no/such" in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "base", "--device", "FILE.toml", "--workload", "zipf"),
        ("compare", "FILE.toml", *DRIVE),
        ("compare", "base", "--device", "ttflash-small", "--workload", "FILE.toml"),
        ("compare", "base", "--device", "ttflash-small", "--workload", "FILE.fio"),
        ("config", "check", "FILE.toml"),
        ("report", "FILE.json", "--report", "x.html"),
        ("analyze", "page-layout", "FILE.csv"),
    ],
)
@pytest.mark.parametrize("what", ["endless", "folder", "bytes"])
def test_a_file_without_end_a_folder_and_bytes_are_refused(
    command: RunCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    what: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (name,) = (word for word in words if word.startswith("FILE."))
    path = tmp_path / name
    if what == "endless":
        path.symlink_to("/dev/zero")
    elif what == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"a\xff\xfe\n" * 100)
    outcome = command(*words)
    assert outcome.code == 2
    assert name in outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 1000
