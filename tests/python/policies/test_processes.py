"""A policy from a file may end its process: only its own run is lost."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand, start
from nbd_client import WRITE, Client
from tinytail.engine import processes
from tinytail.errors import RunError, kind_of

RUN: dict[str, Any] = {"device": "ttflash-small", "workload": "hotcold-write", "requests": 2000}
WORDS = ("--device", "ttflash-small", "--workload", "hotcold-write", "--requests", "2000")
HEAD = 'name = "mine"\nkind = "overlay"\nsummary = "mine"\n[victim]\n'
C = """
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int64_t segmentation(const void *view) { (void)view; return *(volatile const int32_t *)8; }
int64_t bus(const void *view) { (void)view; raise(SIGBUS); return 0; }
int64_t aborts(const void *view) { (void)view; abort(); }
int64_t killed(const void *view) { (void)view; raise(SIGKILL); return 0; }
int64_t exits(const void *view) { (void)view; exit(0); }
int64_t exits_now(const void *view) { (void)view; _exit(7); }
int64_t deep(const void *view) { volatile char all[64]; all[0] = 1; return deep(view) + all[0]; }
int64_t no_return(const void *view) {
    (void)view;
    const char *mark = getenv("ASKED");
    if (mark) fclose(fopen(mark, "w"));
    for (;;) sleep(1);
}
"""
PYTHON = """
import ctypes
import os
import sys
import time

import tinytail


@tinytail.policy("victim")
def exits_now(view, plane, candidates):
    os._exit(3)


@tinytail.policy("victim")
def aborts(view, plane, candidates):
    os.abort()


@tinytail.policy("victim")
def reads_nothing(view, plane, candidates):
    return ctypes.string_at(8)


@tinytail.policy("victim")
def prints(view, plane, candidates):
    print("chosen \\x1b[31m")
    return candidates[0]


@tinytail.policy("victim")
def exits(view, plane, candidates):
    sys.exit(3)


@tinytail.policy("victim")
def endless(view, plane, candidates):
    while True:
        pass


@tinytail.policy("victim")
def sleeps(view, plane, candidates):
    time.sleep(10_000)


@tinytail.policy("victim", compiled=True)
def endless_compiled(view, plane, candidates):
    turn = 0
    while turn >= 0:
        turn = (turn + 1) % 1000
    return candidates[0]
"""
AT_ONCE = "import os\n\nos._exit(5)\n"
# How each policy ends its process: the beginning of a sentence.
ENDINGS = {
    "libends.so segmentation": "by signal 11 (SIGSEGV",
    "libends.so bus": "by signal 7 (SIGBUS",
    "libends.so aborts": "by signal 6 (SIGABRT",
    "libends.so killed": "by signal 9 (SIGKILL",
    "libends.so exits": "with exit code 0",
    "libends.so exits_now": "with exit code 7",
    "libends.so deep": "by signal 11 (SIGSEGV",
    "libcut.so segmentation": "by signal 7 (SIGBUS",
    "ends.py exits_now": "with exit code 3",
    "ends.py aborts": "by signal 6 (SIGABRT",
    "ends.py reads_nothing": "by signal 11 (SIGSEGV",
    "at_once.py exits_now": "with exit code 5",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an overlay for each policy, named after it."""
    folder = tmp_path_factory.mktemp("endings")
    (folder / "ends.py").write_text(PYTHON)
    (folder / "at_once.py").write_text(f"{AT_ONCE}exits_now = None\n")
    (folder / "ends.c").write_text(C)
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = folder / "libends.so"
    # Unoptimised, so that the recursion is one.
    words: list[Any] = [compiler, "-O0", "-w", "-shared", "-fPIC", "-o", library, folder / "ends.c"]
    subprocess.run(words, check=True)
    # The first page is there, and its sections are not.
    (folder / "libcut.so").write_bytes(library.read_bytes()[:4096])
    for name in (*ENDINGS, "libends.so no_return", "ends.py endless", "ends.py sleeps"):
        write_overlay(folder, name)
    write_overlay(folder, "ends.py endless_compiled")
    return folder


def write_overlay(folder: Path, policy: str) -> None:
    file, name = policy.split()
    entry = f'{{ policy = "custom", file = "{file}", name = "{name}" }}'
    overlay(folder, policy).write_text(f"{HEAD}chain = [{entry}]\n")


def overlay(folder: Path, policy: str) -> Path:
    file, name = policy.split()
    return folder / f"{Path(file).stem}-{name}.toml"


def test_whatever_ends_a_policy_others_have_their_results(
    command: RunCommand, folder: Path, tmp_path: Path
) -> None:
    designs = {policy: f"base+{overlay(folder, policy)}" for policy in ENDINGS}
    file = tmp_path / "results.json"
    outcome = command("compare", "base", *designs.values(), *WORDS, "--json", str(file))
    assert outcome.code == 1
    document = json.loads(file.read_text())
    [alone] = tinytail.compare(["base"], **RUN).results
    [base] = document["results"]
    assert base["event_hash"] == alone.event_hash
    assert "base: p99" in outcome.out
    said = {error["design"]: error for error in document["errors"]}
    assert set(said) == set(designs.values())
    for policy, how in ENDINGS.items():
        library, name = policy.split()
        message = said[designs[policy]]["message"]
        assert f"ended {how}" in message
        assert f"{name} of {folder / library}" in message
        assert said[designs[policy]]["kind"] == "run"
        assert f"{designs[policy]}: {message}" in outcome.err


def test_what_a_policy_prints_goes_to_standard_error_in_caret_form(folder: Path) -> None:
    write_overlay(folder, "ends.py prints")
    design = f"base+{overlay(folder, 'ends.py prints')}"
    words = [sys.executable, "-m", "tinytail", "compare", design, *WORDS, "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["results"]
    assert "chosen ^[[31m\n" in done.stderr
    assert "\x1b" not in done.stderr


def test_an_exit_of_plain_python_is_an_exception(folder: Path) -> None:
    write_overlay(folder, "ends.py exits")
    with pytest.raises(RunError, match=r"the policy exits of .* raised SystemExit: 3"):
        tinytail.compare([f"base+{overlay(folder, 'ends.py exits')}"], **RUN)


def test_a_sweep_records_the_point_and_its_resume_does_nothing(
    command: RunCommand, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "sweep.toml", tmp_path / "out"
    ends = [str(overlay(folder, name)) for name in ("libends.so exits", "ends.py aborts")]
    file.write_text(
        'device = "ttflash-small"\ndesigns = ["base"]\nworkload = "hotcold-write"\n'
        f'requests = 2000\n[axes]\n"+victim" = {json.dumps(["", *ends])}\n'
        "gc.write_points = [1, 2]\n"
    )
    words = ("sweep", str(file), "--out", str(out))
    outcome = command(*words)
    assert outcome.code == 1
    table = tinytail.read_sweep(out).to_pandas()
    assert len(table) == 6
    assert table["error"].isna().sum() == 2
    assert sorted({str(each).partition(".")[0] for each in table["error"].dropna()}) == [
        "the process of its policies ended by signal 6 (SIGABRT: Aborted)",
        "the process of its policies ended with exit code 0",
    ]
    before = {each: each.read_bytes() for each in out.rglob("*") if each.is_file()}

    def refuse(*_: object) -> None:
        raise AssertionError("nothing is run again")

    monkeypatch.setattr(processes, "_Process", refuse)
    assert command(*words).code == 1
    assert {each: each.read_bytes() for each in out.rglob("*") if each.is_file()} == before


def test_each_command_names_the_policy_that_ended_it(folder: Path, tmp_path: Path) -> None:
    design = f"base+{overlay(folder, 'libends.so segmentation')}"
    said = r"ended by signal 11 \(SIGSEGV.*segmentation of .*libends\.so"
    state = {"ageing": "overwrite"}
    with pytest.raises(RunError, match=said):
        tinytail.create_image(
            tmp_path / "image", design=design, device="ttflash-small", state=state
        )
    settings = {"state.ageing": "overwrite"}
    found = tinytail.verify_power_cut(
        ["base", design], device="ttflash-small", cuts=4, settings=settings
    )
    assert [result.design for result in found.results] == ["base"]
    [error] = found.errors
    assert error.design == design
    assert "ended by signal 11" in error.message

    def watch(phase: str, found: dict[str, Any] | None) -> None:  # noqa: ARG001
        if found is not None:
            with suppress(OSError, AssertionError), Client(tmp_path / "socket") as client:
                for turn in range(2000):
                    client.ask(WRITE, turn % 64 << 20, 1 << 20, bytes(1 << 20))

    with pytest.raises(RunError, match=said):
        tinytail.serve(
            device="ttflash-small",
            design=design,
            nbd=f"unix:{tmp_path}/socket",
            no_delay=True,
            watch=watch,
        )


def test_a_process_serves_the_runs_of_its_policies_one_after_another(
    folder: Path,
) -> None:
    (folder / "counts.py").write_text(
        "import os\nimport tinytail\n\n\n"
        '@tinytail.policy("victim")\ndef counts(view, plane, candidates):\n'
        "    raise ValueError(f'process {os.getpid()}')\n"
    )
    write_overlay(folder, "counts.py counts")
    design = f"base+{overlay(folder, 'counts.py counts')}"

    def process() -> str:
        with pytest.raises(RunError) as raised:
            tinytail.compare([design], **RUN)
        return str(raised.value).partition("process ")[2].split()[0].rstrip(".")

    first = process()
    assert process() == first
    assert [kind_of(processes._error("PanicException", "!"))[0]] == ["internal"]
    # Another text is another program.
    with (folder / "counts.py").open("a") as file:
        file.write("\n# changed\n")
    assert process() != first


ENDLESS = ("ends.py endless", "ends.py sleeps", "ends.py endless_compiled", "libends.so no_return")


@pytest.mark.parametrize("policy", ENDLESS)
def test_a_signal_ends_a_command_whose_policy_does_not_answer(
    policy: str, folder: Path, tmp_path: Path
) -> None:
    number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[ENDLESS.index(policy) % 3]
    file = tmp_path / "results.json"
    words = ("base", f"base+{overlay(folder, policy)}", *WORDS, "--json", str(file), "--jobs", "2")
    process = start("compare", *words)
    assert process.stderr is not None
    said = ""
    # The other design has ended, and this one has begun.
    while not ("base: finished" in said and re.search(r"\.toml: (ageing|running)", said)):
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == 130
    document = json.loads(file.read_text())
    assert [result["design"] for result in document["results"]] == ["base"]
    assert document["partial"]


AGED = ("--device", "ttflash-small", "--state", "ageing=overwrite")
COMMANDS = {
    "sweep": ("sweep", "SWEEP"),
    "verify": (
        *("verify", "power-cut", "DESIGN", "--device", "ttflash-small", "--cuts", "4"),
        *("--set", "state.ageing=overwrite"),
    ),
    "image": ("image", "create", "image", "--design", "DESIGN", *AGED),
    "serve": ("serve", "--design", "DESIGN", "--nbd", "unix:socket", *AGED),
    "certify": ("certify", "act", "DESIGN", *AGED),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_ends_each_command_that_asks_policies(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKED", str(asked))
    policy = overlay(folder, "libends.so no_return")
    (tmp_path / "sweep.toml").write_text(
        f'device = "ttflash-small"\ndesigns = ["base+{policy}"]\nworkload = "hotcold-write"\n'
        "requests = 2000\n[axes]\ngc.write_points = [1, 2]\n"
    )
    names = {"DESIGN": f"base+{policy}", "SWEEP": "sweep.toml"}
    process = start(*(names.get(word, word) for word in COMMANDS[name]))
    while not asked.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "interrupted" in err
