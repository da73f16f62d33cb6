"""Job files of fio on the command line: they run, are listed and checked, faults have places."""

from __future__ import annotations

from pathlib import Path

import pytest

import tinytail
from commands import RunCommand, read_json

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "randrw70-qd16.fio"
COMPARE = ("compare", "base", "--device", "ttflash-small")

JOBS = """\
[global]
filename=/dev/nvme0n1
direct=1
bs=16k
runtime=50ms
time_based

[reader]
rw=randread

[writer]
rw=randwrite
rate_iops=2000
"""


def results(command: RunCommand, tmp_path: Path, *arguments: str) -> dict[str, object]:
    file = tmp_path / "results.json"
    outcome = command(*COMPARE, *arguments, "--json", str(file))
    assert outcome.code == 0, outcome.err
    found: dict[str, object] = read_json(file)["results"][0]
    return found


def test_a_job_file_plays_what_the_workload_in_other_words_plays(
    command: RunCommand, tmp_path: Path
) -> None:
    requests = ("--requests", "3000")
    by_file = results(command, tmp_path, "--workload", str(EXAMPLE), *requests)
    by_name = results(command, tmp_path, "--workload", "randrw70-qd16", *requests)
    assert by_file["event_hash"] == by_name["event_hash"]


def test_several_jobs_run_at_once_until_their_time_is_over(tmp_path: Path) -> None:
    file = tmp_path / "jobs.fio"
    file.write_text(JOBS, "utf-8")
    comparison = tinytail.compare(["base"], device="ttflash-small", workload=str(file), verify=True)
    result = comparison.result("base")
    # 2,000 writes per second for 50 ms.
    assert 95 <= result.write.count <= 100
    assert result.read.count > 10
    # The results say what was played.
    assert "workload" in {configured.kind for configured in comparison.configuration}


def test_the_jobs_that_come_along_are_listed_shown_and_right(command: RunCommand) -> None:
    listed = {workload.name for workload in tinytail.list_workloads()}
    files = sorted((ROOT / "workloads").glob("*.fio"))
    assert len(files) == 7
    for file in files:
        assert file.stem in listed
        outcome = command("config", "check", str(file))
        assert outcome.out == f"{file}: a valid workload file\n"
    shown = command("workloads", "pes-fig3-read-write-128k").out
    assert "randwrite" in shown
    assert "Practical Erase Suspension" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]\ndirect=1\nio_dept=4\n", ":3: [a] the option `io_dept` is not known (did"),
        ("[a]\ndirect=1\nnumjobs=0\n", ":3: [a] `numjobs` is 0: the job has no I/O"),
        ("[a]\nrw=read\n", ":1: [a] `direct` is missing: fio's default is buffered I/O"),
        ("direct=1\n", ":1: found `direct` before the first section"),
    ],
)
def test_faults_name_file_line_and_option(
    command: RunCommand, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "faulty.fio"
    file.write_text(text, "utf-8")
    checked = command("config", "check", str(file))
    assert checked.code == 2
    assert f"{file}{said}" in " ".join(checked.err.split())
    outcome = command(*COMPARE, "--workload", str(file))
    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())


def test_all_faults_are_told_at_once(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "faulty.fio"
    file.write_text("[a]\ndirect=0\nfsync=1\nbs=100\n[b]\nruntime=soon\nfilename=x\n", "utf-8")
    outcome = command("config", "check", str(file))
    assert outcome.code == 2
    said = " ".join(outcome.err.split())
    for fault in (
        ":1: [a] `filename` is missing",
        ":2: [a] `direct` is 0",
        ":3: [a] the option `fsync` of fio is not supported: there are no flushes here",
        ":4: [a] `bs` is `100`",
        ":5: [b] `direct` is missing",
        ":6: [b] `runtime` is `soon`",
    ):
        assert f"{file}{fault}" in said


def test_variables_of_the_environment_and_what_is_ignored_are_noted(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "variable.fio"
    file.write_text(
        "[a]\ndirect=1\nrw=randread\nbs=16k\nsize=${SIZE}\ngroup_reporting\nlog_avg_msec=9\n",
        "utf-8",
    )
    monkeypatch.setenv("SIZE", "4m")
    found = tinytail.compare(["base"], device="ttflash-small", workload=str(file)).result("base")
    assert found.read.count == 256
    monkeypatch.delenv("SIZE")
    outcome = command("config", "check", str(file))
    assert "names the environment variable `SIZE`, which is not set" in " ".join(
        outcome.err.split()
    )


def test_phases_before_the_last_prepare_the_drive(tmp_path: Path) -> None:
    file = tmp_path / "phases.fio"
    file.write_text(
        "[global]\nfilename=d\ndirect=1\nbs=16k\nsize=4m\n[fill]\nrw=write\n"
        "[reads]\nstonewall\nrw=randread\n",
        "utf-8",
    )
    comparison = tinytail.compare(["base"], device="ttflash-small", workload=str(file), verify=True)
    result = comparison.result("base")
    assert (result.read.count, result.write.count) == (256, 0)


def test_what_was_kept_of_a_job_file_is_explained(command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "jobs.fio"
    file.write_text(JOBS, "utf-8")
    kept = tmp_path / "kept"
    outcome = command(*COMPARE, "--workload", str(file), "--out", str(kept))
    assert outcome.code == 0, outcome.err
    explained = command("explain", str(kept))
    assert explained.code == 0, explained.err
    again = command("explain", str(kept), "--request", "0", "--replay")
    assert again.code == 0, again.err


def test_a_trace_is_not_written_under_the_name_of_a_job_file(
    command: RunCommand, tmp_path: Path
) -> None:
    source = str(ROOT / "examples" / "tiny.trace")
    outcome = command("trace", "convert", source, str(tmp_path / "out.fio"), "--time-unit", "us")
    assert outcome.code == 2
    assert "a name that ends in .fio is a workload file's" in " ".join(outcome.err.split())
