"""The command line: exit codes, error texts and files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

import tinytail
from commands import RunCommand, read_json
from endings import fail, interrupt_then_finish
from fake_native import FakeControl, FakeNative, result
from tinytail.cli import bench as bench_command, bench_cases, shares
from tinytail.server import speed as serving_bench
from tinytail.terminal.console import JsonOutput

DRIVE = ("--device", "ttflash-256g", "--workload", "dtrs")
COMPARE = ("compare", "base", "base+no-gc", *DRIVE)


@pytest.fixture(autouse=True)
def always_fake(native: FakeNative) -> None:
    """No test of this file needs a real run."""
    assert native


def test_compare_prints_the_table_and_plain_progress(command: RunCommand) -> None:
    outcome = command(*COMPARE)
    assert outcome.code == 0
    assert "base: p99.99 of reads 28.0 ms, 83 % of it GC.\n" in outcome.out
    assert len(outcome.out.splitlines()) <= 25
    assert "techniques acted" not in outcome.out
    assert "techniques acted" in command(*COMPARE, "--details").out
    assert "base: finished\n" in outcome.err
    assert "\x1b" not in outcome.out + outcome.err


def test_a_width_of_0_is_taken_for_80(command: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = command(*COMPARE).out
    monkeypatch.setenv("COLUMNS", "0")
    assert command(*COMPARE).out == usual
    assert usual


def test_no_color_leaves_out_every_escape(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = [COMPARE, ("compare", "bsae", *DRIVE), ("devices", "ttflash-256g"), ("--help",)]
    monkeypatch.setenv("FORCE_COLOR", "1")
    # A terminal that is forced shows bars, which are interactive; they are not what is tested.
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("NO_COLOR", "1")
    for words in commands:
        outcome = command(*words)
        assert "\x1b" not in outcome.out + outcome.err, words
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[1;31m" in command("compare", "bsae", *DRIVE).err
    assert "\x1b[1m" in command("devices", "ttflash-256g").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("comapre",), 'Did you mean "compare"?'),
        ((*COMPARE, "--devise", "x"), "Did you mean --device?"),
        ((*COMPARE, "--time-unit", "uss"), 'Did you mean "us"?'),
        ((*COMPARE, "--requests", "0"), "requests must be a whole number from 1"),
        (
            (*COMPARE, "--requests", "9" * 30),
            "requests must be a whole number from 1 to 1844674407",
        ),
        ((*COMPARE, "--json", ""), "its name is empty"),
        ((*COMPARE, "--requests", "many"), '"many" is not a whole number'),
        ((*COMPARE, "--jobs", "0"), "jobs must be a whole number of at least 1, not 0"),
        ((*COMPARE, "--windows", "0"), "windows must be a whole number from 1 to 10000, not 0"),
        ((*COMPARE, "--write-stall-s", "0"), "write_stall_s must be a whole number from 1 to"),
        ((*COMPARE, "--windows", "10001"), "windows must be a whole number from 1 to 10000"),
        ((*COMPARE, "--log", ""), "the name of the log is empty"),
        ((*COMPARE, "--seed", "-1"), "seed must be a whole number from 0 to"),
        ((*COMPARE, "--json", "--verify"), "Name a file, or - for standard output"),
        ((*COMPARE, "--reference", "no-gc"), 'did you mean "base+no-gc"?'),
        (("compare", "base", "--workload", "dtrs"), "--device is missing: Name of a drive"),
        (("compare", "base", "base", *DRIVE), 'design "base" is given twice'),
        (("compare", "bsae", *DRIVE), 'unknown design "bsae"'),
        (("designs", "bsae"), 'unknown design "bsae"'),
        (("devices", "x"), 'unknown device "x"'),
        (("workloads", "x"), 'unknown workload "x"'),
        (("config", "check", "faulty.toml"), 'faulty.toml:3:1: unknown key "chanels"'),
        (("bench", "stedy-gc"), 'did you mean "steady-gc"?'),
        (("bench", "nosuch"), "allowed: steady-gc, steady-gc-controller"),
        (("bench", "steady-gc", "steady-gc"), "is given twice"),
    ],
)
def test_bad_input_ends_with_2_and_says_what_is_wrong(
    command: RunCommand, native: FakeNative, words: tuple[str, ...], message: str
) -> None:
    outcome = command(*words)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert message in outcome.err
    assert outcome.out == ""
    assert native.specs == []


@pytest.mark.parametrize("error", [tinytail.ConfigError, tinytail.WorkloadError])
def test_faulty_input_found_by_the_run_ends_with_2_and_is_said_once(
    command: RunCommand, native: FakeNative, error: type[Exception]
) -> None:
    run = fail(error("a.trace:7:3: not a number"))
    native.runs = {"base": run, "base+no-gc": run}
    outcome = command(*COMPARE)
    assert outcome.code == 2
    assert "error: base, base+no-gc: a.trace:7:3: not a number\n" in outcome.err
    assert outcome.err.count("not a number") == 1


def test_a_failed_run_ends_with_1_and_keeps_the_other_results(
    command: RunCommand, native: FakeNative, tmp_path: Path
) -> None:
    native.runs = {"base": fail(tinytail.RunError("out of space; try base+ideal-gc"))}
    file = tmp_path / "out.json"
    outcome = command(*COMPARE, "--json", str(file))
    assert outcome.code == 1
    assert "error: base: out of space; try base+ideal-gc\n" in outcome.err
    assert "p99.99" in outcome.out
    parsed = read_json(file)
    validate(parsed, tinytail.read_schema("compare"))
    assert [each["design"] for each in parsed["results"]] == ["base+no-gc"]
    assert parsed["errors"] == [
        {"design": "base", "kind": "run", "message": "out of space; try base+ideal-gc"}
    ]


def test_when_all_runs_fail_the_document_still_follows_the_schema(
    command: RunCommand, native: FakeNative, tmp_path: Path
) -> None:
    native.runs = {"base": fail(tinytail.RunError("out of space"))}
    file = tmp_path / "out.json"
    assert command("compare", "base", *DRIVE, "--json", str(file)).code == 1
    validate(read_json(file), tinytail.read_schema("compare"))


def test_a_stuck_run_ends_with_1_and_is_no_interruption(
    command: RunCommand, native: FakeNative, tmp_path: Path
) -> None:
    stuck = "Requests stopped completing. No erased page."
    native.runs = {"base": lambda spec, _: result(spec["design"], stuck=stuck, partial=True)}
    file = tmp_path / "out.json"
    outcome = command(*COMPARE, "--json", str(file))
    assert outcome.code == 1
    assert "error: base: stopped: requests stopped completing. No erased page.\n" in outcome.err
    header = " ".join(outcome.out.split())
    assert "base: STOPPED after 127,043 requests" in header
    assert "PARTIAL" not in outcome.out
    parsed = read_json(file)
    validate(parsed, tinytail.read_schema("compare"))
    assert parsed["partial"] is False
    assert parsed["errors"][0]["message"].startswith("stopped: requests stopped completing")


def test_ctrl_c_ends_with_130_and_keeps_partial_results(
    command: RunCommand, native: FakeNative, tmp_path: Path
) -> None:
    native.runs = {"base": interrupt_then_finish}
    file = tmp_path / "out.json"
    outcome = command(*COMPARE, "--jobs", "1", "--json", str(file))
    assert outcome.code == 130, outcome.err
    assert "PARTIAL" in outcome.out
    assert "p99.99" in outcome.out
    assert "base+no-gc: interrupted before it could run" in outcome.err
    parsed = read_json(file)
    validate(parsed, tinytail.read_schema("compare"))
    assert parsed["partial"] is True


def test_json_replaces_a_file_and_leaves_no_other(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    file.write_text("old")
    assert command(*COMPARE, "--json", str(file)).code == 0
    validate(read_json(file), tinytail.read_schema("compare"))
    assert list(tmp_path.iterdir()) == [file]


def test_json_follows_a_link(command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert command(*COMPARE, "--json", str(tmp_path / "link")).code == 0
    assert (tmp_path / "link").is_symlink()
    validate(read_json(tmp_path / "file"), tinytail.read_schema("compare"))


def test_json_to_a_device_writes_to_it(command: RunCommand) -> None:
    assert command(*COMPARE, "--json", os.devnull).code == 0
    assert not Path(os.devnull).is_file()


def test_json_to_standard_output_has_it_for_itself(command: RunCommand) -> None:
    outcome = command(*COMPARE, "--json", "-")
    validate(json.loads(outcome.out), tinytail.read_schema("compare"))
    assert "p99.99" in outcome.err


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("missing/out.json", "(--json): there is no directory"),
        ("", "it is a directory"),
    ],
)
def test_json_that_cannot_be_written_is_found_before_running(
    command: RunCommand, native: FakeNative, tmp_path: Path, place: str, message: str
) -> None:
    outcome = command(*COMPARE, "--json", str(tmp_path / place))
    assert outcome.code == 2
    assert outcome.err.startswith("error: cannot write ")
    assert str(tmp_path / place) in outcome.err
    assert message in outcome.err
    assert native.specs == []


def test_json_that_fails_at_the_end_still_shows_the_table(
    command: RunCommand, native: FakeNative, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def run(spec: dict[str, Any], _control: FakeControl) -> dict[str, Any]:
        folder.rmdir()
        return result(spec["design"])

    native.runs = {"base": run}
    outcome = command("compare", "base", *DRIVE, "--json", str(folder / "out.json"))
    assert outcome.code == 1
    assert "p99.99" in outcome.out
    assert "error: cannot write results to" in outcome.err


def test_a_failed_write_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.json"
    file.write_text("old")

    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(tinytail.OutputError, match="No space left on device"):
        JsonOutput(str(file)).write("new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_reader_that_leaves_early_hears_nothing(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    script = (
        "import sys; from tinytail.terminal import console as output;"
        "console = output.stdout(); [console.print('x' * 100000) for _ in range(10)];"
        "sys.exit(7)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdout=write_end,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        check=False,
    )
    os.close(write_end)
    assert done.stderr == b""
    assert done.returncode == 7


def run_with(closed: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the real command line with some of its streams closed."""
    line = f'exec "$0" -m tinytail "$@" {closed}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_as_good_as_nowhere(closed: str) -> None:
    done = run_with(closed, "devices")
    assert (done.returncode, done.stderr) == (0, "")
    done = run_with(closed, "devices", "no-such-device")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_json_to_a_closed_standard_output_is_refused() -> None:
    words = ("compare", "base", "--device", "ttflash-small", "--workload", "randread-qd1")
    done = run_with(">&-", *words, "--json", "-")
    assert done.returncode == 2
    assert done.stderr == "error: cannot write results to standard output: it is closed\n"


@pytest.mark.parametrize("module", ["tinytail.cli.app", "tinytail._native", "rich.console"])
def test_ctrl_c_while_modules_are_imported_leaves_no_traceback(module: str) -> None:
    # The interrupt comes when the module is about to be imported, by whatever needs it first.
    script = f"""
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from tinytail.cli.main import main
sys.exit(main(["devices"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_ctrl_c_while_a_data_class_is_made_leaves_the_exit_code_alone(tmp_path: Path) -> None:
    # Data classes are made by `exec`, after an interrupt of which `python -m` ends by its signal.
    hook = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "tinytail.cli.app":
            exec("import signal; signal.raise_signal(signal.SIGINT)")

sys.meta_path.insert(0, Interrupt())
"""
    (tmp_path / "sitecustomize.py").write_text(hook)
    places = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "tinytail", "devices"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": places},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_lists_and_descriptions(command: RunCommand) -> None:
    assert "ttflash-256g" in command("devices").out
    assert "paper, table 1" in command("devices", "ttflash-256g").out
    assert "+no-gc" in command("designs").out
    assert "paper, table 1" in command("designs", "base+no-gc").out
    assert "a real trace" in command("workloads").out
    assert "paper, table 1" in command("workloads", "dtrs").out


def test_trace_info(command: RunCommand, native: FakeNative, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    options = ["--time-unit", "us", "--repeat", "2", "--json", str(file)]
    outcome = command("trace", "info", "a.trace", *options)
    assert outcome.code == 0
    assert native.transforms == [{"repeat": 2}]
    assert "11 % writes of 55.6 KiB" in " ".join(outcome.out.split())
    assert "write                11.0 %" in command("trace", "info", "a.trace", "--details").out
    assert read_json(file)["time_unit"] == "us"


def test_trace_convert(command: RunCommand, native: FakeNative) -> None:
    options = ["--time-unit", "us", "--requests", "9", "--force", "--window-s", "1", "2.5"]
    options += ["--format", "ascii", "--trace-device", "3", "--reorder-ms", "5"]
    options += ["--fit", "clip", "--region-bytes", "4096"]
    outcome = command("trace", "convert", "a.trace", "b.zst", *options)
    assert outcome.code == 0
    assert "b.zst.toml" in outcome.out
    ((workload, output, conversion),) = native.conversions
    assert (workload, output) == ("a.trace", "b.zst")
    assert conversion == {
        "spooled": None,
        "trace": {
            "format": "ascii",
            "time_unit": "us",
            "trace_device": "3",
            "reorder_ms": 5,
        },
        "transform": {"window_s": [1.0, 2.5], "fit": "clip", "region_bytes": 4096},
        "requests": 9,
        "seed": 1,
        "force": True,
    }


def test_transforms_are_options_of_a_comparison(command: RunCommand, native: FakeNative) -> None:
    outcome = command(*COMPARE, "--busiest-s", "60", "--repeat", "2", "--offset-bytes", "512")
    assert outcome.code == 0
    assert native.specs[0]["transform"] == {"busiest_s": 60.0, "repeat": 2, "offset_bytes": 512}
    for word, gap in (("mean", "mean"), ("0.018", 0.018)):
        assert command(*COMPARE, "--burst-gap-s", word).code == 0
        assert native.specs[-1]["transform"] == {"burst_gap_s": gap}
    outcome = command(*COMPARE, "--burst-gap-s", "median")
    assert outcome.code == 2
    assert "--burst-gap-s" in outcome.err
    outcome = command(*COMPARE, "--fit", "flod")
    assert outcome.code == 2
    assert 'Did you mean "fold"?' in outcome.err


def test_claims_of_a_stand_in_are_checked(command: RunCommand) -> None:
    outcome = command("workloads", "standin-dtrs", "--check")
    assert outcome.code == 0
    assert "11.1" in outcome.out
    assert "holds" in outcome.out
    outcome = command("workloads", "standin-dtrs", "--check", "--seed", "2")
    assert outcome.code == 1
    assert "error: standin-dtrs is not what it claims to be: write_percent\n" in outcome.err
    outcome = command("workloads", "zipf", "--check")
    assert (outcome.code, "claims nothing" in outcome.err) == (2, True)
    outcome = command("workloads", "--check")
    assert (outcome.code, "needs the name of a stand-in" in outcome.err) == (2, True)


def test_config(command: RunCommand) -> None:
    assert command("config", "check", "drive.toml").out == "drive.toml: a valid device file\n"
    assert json.loads(command("config", "schema").out).keys() == {"device", "design", "workload"}


def test_version_and_help(command: RunCommand) -> None:
    assert command("--version").out == "9.9.9\n"
    assert "130 interrupted" in command("--help").out
    assert "DESIGN..." in command("compare", "--help").out


def test_a_command_imports_no_other() -> None:
    code = (
        "import sys; from tinytail.cli.main import main; main(['--version']); "
        "sys.exit(' '.join(name for name in sys.modules if name.startswith('tinytail.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    imported = done.stderr.split()
    assert "tinytail.cli.app" in imported
    assert not {
        "tinytail.comparison.plan",
        "tinytail.comparison.details",
        "tinytail.comparison.result",
    } & set(imported)


@pytest.fixture
def without_fio(monkeypatch: pytest.MonkeyPatch) -> None:
    """The case that needs fio is left out, wherever the tests run."""
    monkeypatch.setattr(serving_bench, "lacks", lambda: "fio is not installed")


@pytest.mark.usefixtures("without_fio")
def test_bench_shows_and_writes_each_case(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench_cases.Apart, "run", lambda apart: bench_cases.run_here(apart.case))
    file = tmp_path / "bench.json"
    outcome = command("bench", "--json", str(file))
    assert outcome.code == 0
    assert "2.00 M" in outcome.out
    cases = read_json(file)["cases"]
    assert [case["name"] for case in cases] == ["steady-gc", "steady-gc-controller"]
    assert cases[0]["floor_ratio"] == 8.0
    assert cases[0]["peak_memory_bytes"] > 1_000_000
    assert "growth" not in outcome.out
    assert "serve: left out: fio is not installed" in outcome.err
    by_name = command("bench", "ageing")
    assert by_name.code == 0
    assert "12.5" in by_name.out
    assert "floor" not in by_name.out


def test_shares_of_time_count_for_the_room_of_a_function() -> None:
    report = """# Overhead  Shared Object     Symbol
#
    40.50%  _native.abi3.so   [.] tinytail_core::gc::step::<impl tinytail_core::flash::E>::step  -
    20.25%  _native.abi3.so   [.] <tinytail_core::event::Lanes as tinytail_core::event::E>::pop
    10.00%  _native.abi3.so   [.] tinytail_core::gc::lock::release
     5.00%  _native.abi3.so   [.] tinytail_metrics::series::Series::add
     4.00%  [kernel.kallsyms] [k] clear_page_erms
     3.00%  libc.so.6         [.] __memmove
     0.40%  libm.so.6         [.] log
"""
    assert shares.rooms_of(report) == {
        "gc": 50.5,
        "event": 20.2,
        "metrics": 5.0,
        "kernel": 4.0,
        "libc.so.6": 3.0,
    }
    line = bench_command.rooms_line({"name": "x", "room_percent": {"gc": 50.5, "event": 20.2}})
    assert line == "x, % of time by room: gc 50, event 20"


def test_the_served_drive_is_a_bench_case_where_fio_is(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = serving_bench.measure
    case = {"name": "serve", "iops": 73_000.0, "late_us_depth_1": 3.5, "late_us_depth_16": 7.25}
    monkeypatch.setattr(bench_cases.Apart, "run", lambda apart: bench_cases.run_here(apart.case))
    monkeypatch.setattr(serving_bench, "lacks", lambda: None)
    monkeypatch.setattr(serving_bench, "measure", lambda: dict(case))
    assert "serve" in command("bench").out
    outcome = command("bench", "serve")
    assert outcome.code == 0
    missing = [
        word
        for word in ("serve", "IOPS", "73.0 K", "3.50 µs", "7.25 µs")
        if word not in outcome.out
    ]
    assert missing == [], outcome.out
    monkeypatch.setattr(serving_bench, "measure", measure)
    monkeypatch.setattr(serving_bench, "lacks", lambda: "fio is not installed")
    failed = command("bench", "serve")
    assert (failed.code, "needs fio with its engine for NBD" in failed.err) == (1, True)


@pytest.mark.usefixtures("without_fio")
def test_a_failed_bench_case_leaves_the_others(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(apart: bench_cases.Apart) -> dict[str, Any]:
        if apart.case == "steady-gc":
            raise tinytail.RunError("out of memory")
        return bench_cases.run_here(apart.case)

    monkeypatch.setattr(bench_cases.Apart, "run", run)
    file = tmp_path / "bench.json"
    outcome = command("bench", "--json", str(file))
    assert outcome.code == 1
    assert "error: out of memory" in outcome.err
    parsed = read_json(file)
    assert parsed["partial"] is True
    assert [case["name"] for case in parsed["cases"]] == ["steady-gc-controller"]


@pytest.mark.usefixtures("without_fio")
def test_an_interrupted_bench_ends_its_process(
    command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process of the case would take far longer than the test."""
    monkeypatch.setattr(
        bench_cases, "COMMAND", [sys.executable, "-c", INTERRUPTING, str(os.getpid())]
    )
    began = time.monotonic()
    outcome = command("bench")
    assert outcome.code == 130
    assert "PARTIAL: interrupted after 0 of 2 cases" in outcome.out
    assert "error" not in outcome.err
    assert time.monotonic() - began < 30


INTERRUPTING = """
import os, signal, sys, time
os.kill(int(sys.argv[1]), signal.SIGINT)
time.sleep(60)
"""
