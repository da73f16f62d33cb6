"""The package over the real native module: small runs from one end to the other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, validate

import tinytail
from commands import RunCommand, read_json
from tinytail.cli.config import KINDS

WORKLOAD = "randrw70-qd16"
REQUESTS = 5_000


@pytest.fixture(scope="module")
def small_device() -> str:
    """The scaled-down twin of the TTFLASH drive."""
    return "ttflash-small"


@pytest.fixture(scope="module")
def comparison(small_device: str) -> tinytail.Comparison:
    """One real comparison that several tests look at."""
    return tinytail.compare(
        ["base", "base+no-gc"],
        device=small_device,
        workload=WORKLOAD,
        requests=REQUESTS,
        verify=True,
    )


def test_a_real_comparison_follows_the_published_schema(comparison: tinytail.Comparison) -> None:
    validate(comparison.to_dict(), tinytail.read_schema("compare"))


def test_every_request_is_in_the_latencies_and_in_the_attribution(
    comparison: tinytail.Comparison,
) -> None:
    for result in comparison.results:
        assert result.read.count + result.write.count == REQUESTS
        # Every page of every read is checked, those of the warm-up as well.
        assert result.verified_page_reads is not None
        assert result.verified_page_reads >= result.read.count
        for group, latency in (
            (result.attribution.all_reads, result.read),
            (result.attribution.all_writes, result.write),
        ):
            assert group.count == latency.count
            # The histogram rounds to three significant digits, the attribution does not round.
            assert group.mean_us == pytest.approx(latency.mean_us, rel=0.002)


def test_the_same_seed_gives_the_same_events(
    comparison: tinytail.Comparison, small_device: str
) -> None:
    def hashes(**options: Any) -> list[str]:
        again = tinytail.compare(
            ["base", "base+no-gc"],
            device=small_device,
            workload=WORKLOAD,
            requests=REQUESTS,
            **options,
        )
        return [result.event_hash for result in again.results]

    expected = [result.event_hash for result in comparison.results]
    assert hashes(jobs=1) == expected
    assert hashes(jobs=2) == expected
    assert hashes(seed=2) != expected


def test_all_that_is_listed_can_be_described() -> None:
    for device in tinytail.list_devices():
        assert all(setting.source for setting in tinytail.describe_device(device.name).settings)
    for design in tinytail.list_designs():
        if design.kind == "design":
            assert tinytail.describe_design(design.name).name == design.name
            assert tinytail.describe_design(f"{design.name}+no-gc").settings
    for workload in tinytail.list_workloads():
        assert tinytail.describe_workload(workload.name).name == workload.name


def test_the_configuration_schema_is_valid() -> None:
    for kind in KINDS:
        Draft202012Validator.check_schema(tinytail.read_schema(kind))


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("compare", "bsae", "--device", "ttflash-256g", "--workload", WORKLOAD), ["bsae", "base"]),
        (("compare", "base+nogc", "--device", "ttflash-256g", "--workload", WORKLOAD), ["no-gc"]),
        (("compare", "base", "--device", "ttflsh-256g", "--workload", WORKLOAD), ["ttflash-256g"]),
        (("compare", "base", "--device", "ttflash-256g", "--workload", "randrw70"), [WORKLOAD]),
        (("devices", "ttflash"), ["did you mean", "ttflash-256g", "ttflash-small"]),
        (("designs", "base+"), ["behind the last plus sign is empty"]),
        (("designs", ""), ["the name of the design is empty"]),
        (("trace", "info", "missing.trace"), ["missing.trace"]),
        (("config", "check", "missing.toml"), ["missing.toml"]),
    ],
)
def test_bad_names_end_with_2_and_the_nearest_right_one(
    command: RunCommand, words: tuple[str, ...], messages: list[str]
) -> None:
    outcome = command(*words)
    assert outcome.code == 2
    for message in messages:
        assert message in outcome.err


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"", ["empty"]),
        (bytes(range(256)) * 16, []),
        (b"100 0 8 8 1\n200 0 x 8 1\n", ["line 2"]),
        (b"100 0 8 0 1\n", ["line 1"]),
        (b"200 0 8 8 1\n100 0 8 8 1\n", ["line 2"]),
        (b"100 0 99999999999999 8 1\n", ["line 1"]),
        (b"\x28\xb5\x2f\xfd\x04", []),
    ],
    ids=["empty", "binary", "word", "size 0", "backwards", "beyond the drive", "truncated zstd"],
)
def test_a_faulty_trace_ends_with_2_and_says_where(
    command: RunCommand,
    small_device: str,
    tmp_path: Path,
    content: bytes,
    messages: list[str],
) -> None:
    file = tmp_path / "faulty.trace"
    file.write_bytes(content)
    options = ("--time-unit", "us", "--ops", "write=0,read=1")
    outcome = command(
        "compare", "base", "--device", small_device, "--workload", str(file), *options
    )
    assert outcome.code == 2
    for message in ["faulty.trace", *messages]:
        assert message in outcome.err


def test_faulty_operation_codes_are_named_and_nothing_internal_is_said(
    command: RunCommand, small_device: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.trace"
    file.write_text("100 0 8 8 1\n")
    options = ("--ops", "foo", "--time-unit", "us")
    for words in (
        ("trace", "info", str(file)),
        ("compare", "base", "--device", small_device, "--workload", str(file)),
    ):
        outcome = command(*words, *options)
        assert outcome.code == 2
        assert "`ops` is `foo`: the first part is without `=`" in outcome.err
        assert "column" not in outcome.err


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ("", ["no device, design or workload", "[geometry]", "[gc_trigger]", "[synthetic]"]),
        ("[geometri]\nchannels = 1\n", ["f.toml:1: ", "did you mean `geometry`?"]),
        ("[gc_lock]\nscope = 7\n", ["f.toml:4: [gc_lock] `scope` is 7", "channel"]),
        ("[gc]\ncopy = 'copybak'\n", ["f.toml:4: ", "did you mean `copyback`?"]),
        ("[victim]\nchain = [{ policy = 'greddy' }]\n", ["f.toml:4: ", "did you mean `greedy`?"]),
        ("[gc_trigger]\npolicy = 'never'\nx = 1\n", ["f.toml:5: ", "has no parameters"]),
        ("[gc_trigger]\nsoft_free_percent = nan\n", ["f.toml:4: ", "soft_free_percent"]),
        ("[place]\norder = 'CWDX'\n", ["f.toml:4: ", "CWDX"]),
        ("[gc]\nwrite_points = 0\n", ["f.toml:4: ", "write_points"]),
    ],
)
def test_a_faulty_file_ends_with_2_and_says_where(
    command: RunCommand, tmp_path: Path, content: str, messages: list[str]
) -> None:
    file = tmp_path / "f.toml"
    head = "kind = 'overlay'\nsummary = 's'\n" if content and "geom" not in content else ""
    file.write_text(head + content)
    outcome = command("config", "check", str(file))
    assert outcome.code == 2
    for message in messages:
        assert message in outcome.err


def test_values_that_no_drive_has_are_valid_and_told(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    changed = command("devices", "ttflash-small", "--set", "timing.program_ns=[600]", "--toml")
    file.write_text(changed.out)
    outcome = command("config", "check", str(file))
    assert outcome.code == 0
    valid, *findings = outcome.out.splitlines()
    assert valid == f"{file}: a valid device file"
    (told,) = tinytail.check_config(file).findings
    assert findings == [f"! {told}"]
    assert "[timing] `program_ns` is 600 ns; flash programs a page in 10 us to 20 ms" in told


def test_a_missing_time_unit_is_asked_for(
    command: RunCommand, small_device: str, tmp_path: Path
) -> None:
    file = tmp_path / "unitless.trace"
    file.write_text("100 0 8 8 1\n200 0 16 8 0\n")
    outcome = command("compare", "base", "--device", small_device, "--workload", str(file))
    assert outcome.code == 2
    assert "--time-unit" in outcome.err


def test_ctrl_c_keeps_partial_results(tmp_path: Path, small_device: str) -> None:
    """Interrupts a real process in a run that would take far longer than the test."""
    file = tmp_path / "out.json"
    words = ["compare", "base", "base+no-gc", "--device", small_device, "--workload", WORKLOAD]
    options = ["--requests", "1000000000", "--json", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tinytail", *words, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stderr is not None
    # Progress is on standard error as soon as the runs are under way.
    said = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, said + err
    assert "PARTIAL" in out
    assert "Traceback" not in err
    document = read_json(file)
    validate(document, tinytail.read_schema("compare"))
    assert document["partial"] is True


def test_the_command_line_runs_as_installed(small_device: str) -> None:
    words = ["compare", "base", "--device", small_device, "--workload", WORKLOAD]
    done = subprocess.run(
        [sys.executable, "-m", "tinytail", *words, "--requests", "1000"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "of reads" in done.stdout


def test_a_transformed_trace_is_written_and_compared(command: RunCommand, tmp_path: Path) -> None:
    trace = tmp_path / "far.trace"
    trace.write_text("".join(f"{time} 0 {time * 40} 8 1\n" for time in range(0, 100_000, 500)))
    drive = ("--device", "ttflash-small", "--workload", str(trace), "--time-unit", "us")
    outcome = command("compare", "base", *drive)
    assert outcome.code == 2
    assert "--fit fold folds such requests into it, --fit clip cuts them off" in outcome.err
    outcome = command("compare", "base", *drive, "--fit", "fold", "--scale-time", "10", "--details")
    assert outcome.code == 0, outcome.err
    said = " ".join((outcome.out + outcome.err).split())
    assert "times multiplied by 10" in said
    assert re.search(
        r"folded: [1-9]\d* of 200 requests \([\d.]+ %\) reached beyond the [\d.]+ MiB", said
    )

    written = tmp_path / "busy.trace.zst"
    transform = tinytail.Transform(window_s=(0.02, 0.03), repeat=3)
    document = tinytail.convert_trace(trace, written, transform=transform, time_unit="us")
    assert (document.requests, document.compression) == (60, "zstd")
    assert tinytail.describe_trace(written).requests == 60
    described = tinytail.describe_trace(trace, time_unit="us", transform=transform)
    assert described.requests == 60
    assert any("from 0.02 s to 0.03 s" in note for note in described.notes)
    with pytest.raises(tinytail.WorkloadError, match="is there already; --force"):
        tinytail.convert_trace(trace, written, time_unit="us")
    tinytail.convert_trace(trace, written, time_unit="us", force=True)
    assert tinytail.describe_trace(written).requests == 200
    with pytest.raises(tinytail.UsageError, match="scale_time must be a number"):
        tinytail.convert_trace(
            trace, written, transform=tinytail.Transform(scale_time=float("nan"))
        )


def test_a_trace_is_played_in_bursts(command: RunCommand, tmp_path: Path) -> None:
    trace = tmp_path / "bursts.trace"
    # Ten bursts of four requests, 100 us apart in a burst and 10 ms from one to the next.
    times = [burst * 10_000 + request * 100 for burst in range(10) for request in range(4)]
    trace.write_text("".join(f"{time} 0 {index * 8} 8 0\n" for index, time in enumerate(times)))
    described = tinytail.describe_trace(
        trace, time_unit="us", transform=tinytail.Transform(burst_gap_s="mean")
    )
    assert described.bursts is not None
    assert described.bursts.bursts == 10
    assert described.bursts.written_pages_mean == 4
    assert described.bursts.idle_s_mean == pytest.approx(0.0097)
    assert tinytail.describe_trace(trace, time_unit="us").bursts is None
    drive = ("--device", "ttflash-small", "--workload", str(trace), "--time-unit", "us")
    outcome = command("compare", "base", *drive, "--burst-gap-s", "0.001", "--details")
    assert outcome.code == 0, outcome.err
    assert "makes 10 bursts of 4.0 requests" in " ".join((outcome.out + outcome.err).split())
    assert "written, MB/s" in outcome.out
    comparison = tinytail.compare(
        ["base"],
        device="ttflash-small",
        workload=trace,
        time_unit="us",
        transform=tinytail.Transform(burst_gap_s=0.001),
    )
    bursts = comparison.result("base").bursts
    assert bursts is not None
    assert (bursts.count, bursts.writing, bursts.read_mb_per_second) == (10, 10, None)
    # Four pages, each in the buffer after 1 us.
    assert bursts.mean_us == bursts.max_us == 1
    assert bursts.write_mb_per_second == pytest.approx(4 * 4096)
    assert (
        tinytail.compare(["base"], device="ttflash-small", workload=trace, time_unit="us")
        .result("base")
        .bursts
        is None
    )
    outcome = command("compare", "base", *drive, "--burst-gap-s", "0.1")
    assert outcome.code == 2
    assert "leaves one burst of 40 requests" in " ".join(outcome.err.split())
    with pytest.raises(tinytail.UsageError, match="burst_gap_s must be one of mean"):
        tinytail.describe_trace(
            trace,
            time_unit="us",
            transform=tinytail.Transform(burst_gap_s="median"),  # type: ignore[arg-type]
        )


def test_a_bounded_replay_takes_longer_and_keeps_waits_apart(
    command: RunCommand, tmp_path: Path
) -> None:
    trace = tmp_path / "fast.csv"
    trace.write_text(
        "".join(f"{i * 8},{'RW'[i % 2]},{i * 7919 % 9000 * 4096},4096\n" for i in range(3000))
    )
    words = ["base", "--device", "ttflash-small", "--workload", str(trace)]
    words += ["--columns", "time:us,op,lba:bytes,len:bytes"]
    said = command("compare", *words, "--details")
    remedy = re.search(r"--outstanding-max \d+", " ".join(said.out.split()))
    assert remedy is not None, said.out
    kept = tmp_path / "kept"
    bounded = command("compare", *words, *remedy[0].split(), "--out", str(kept))
    assert bounded.code == 0, bounded.err
    assert "saturated" not in bounded.out
    assert re.search(r"^waited in host +\d", bounded.out, re.MULTILINE), bounded.out
    comparison = tinytail.read_results(kept / "results.json")
    assert remedy[0] in comparison.command
    (result,) = comparison.results
    waits = result.host_waits
    assert waits is not None
    assert waits.wait.count == 3000
    assert waits.wait.mean_us is not None
    log = result.to_arrow("requests").to_pylist()
    waited = [row["arrived_ns"] - row["asked_ns"] for row in log]
    assert sum(map(bool, waited)) == waits.waited
    assert sum(waited) / len(waited) == pytest.approx(1000 * waits.wait.mean_us)
    (slowest,) = tinytail.explain(kept).request_timelines
    row = next(row for row in log if row["id"] == slowest.id)
    assert slowest.asked_ns == row["asked_ns"] <= slowest.arrived_ns == row["arrived_ns"]
    assert "all were served in" in comparison.table(100)


def test_files_of_several_tables_are_workload_files(tmp_path: Path) -> None:
    for table in (
        '[tenants.a.trace]\nfile = "x"\ntime_unit = "us"\n',
        "[threads.a]\nqueue_depth = 1\nblock_bytes = 512\nread_share = 1\n"
        'addresses = "uniform"\nrequests = 1\n',
    ):
        file = tmp_path / "w.toml"
        file.write_text(f'summary = "s"\n{table}')
        assert tinytail.check_config(file).kind == "workload"


def test_threads_run_beside_each_other() -> None:
    comparison = tinytail.compare(
        ["base"], device="ttflash-small", workload="reader-beside-writers", requests=3000
    )
    result = comparison.result("base")
    assert result.read.count + result.write.count == 3000
    assert result.read.count > 0
    assert result.write.count > 0


def test_stand_ins_claim_what_is_checked() -> None:
    """The engine's tests check the claims of all of them."""
    names = [entry.name for entry in tinytail.list_workloads() if entry.name.startswith("standin-")]
    assert len(names) == 26
    claims = tinytail.check_claims("standin-dtrs", seed=9)
    assert len(claims) >= 10
    assert all(claim.holds for claim in claims), claims


def test_a_drive_says_beside_the_answer_what_it_was_held_against(
    command: RunCommand, small_device: str
) -> None:
    words = ("--workload", WORKLOAD, "--requests", "300")
    noted = "Note: no percentile was compared with a real drive's yet: docs/limits.md."
    outcome = command("compare", "--device", "modern-tlc-2t-small", *words)
    assert outcome.out.splitlines()[-2] == noted
    assert "Note: " not in command("compare", "base", "--device", small_device, *words).out
