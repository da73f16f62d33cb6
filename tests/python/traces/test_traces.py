"""Traces from files and pipes: what is read is one thing, and reading can be watched and ended."""

from __future__ import annotations

import errno
import gzip
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand
from tinytail.engine import native as engine
from tinytail.inputs import pipes

COMPARE = ("compare", "base", "--device", "ttflash-small", "--requests", "300")
LINES = "".join(f"{n * 500000} 0 {n * 7919 % 100000 * 8} 8 {int(n % 3 > 0)}\n" for n in range(4000))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trace and its sidecar, and one for temporary files."""
    monkeypatch.chdir(tmp_path)
    Path("t.trace").write_text(LINES)
    Path("t.trace.toml").write_text('time_unit = "ns"\n')
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path


def start(*words: str, **options: object) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    line = [sys.executable, "-m", "tinytail", *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(line, text=True, **(pipes | options))  # type: ignore[call-overload,no-any-return]


def test_a_pipe_gives_what_the_file_gives(folder: Path) -> None:
    hashes = []
    for workload in ("t.trace", "-"):
        given = LINES if workload == "-" else ""
        running = start(*COMPARE, "--workload", workload, "--time-unit", "ns", "--json", "-")
        out, err = running.communicate(given)
        assert running.returncode == 0, err
        (result,) = json.loads(out)["results"]
        hashes.append(result["event_hash"])
        assert result["workload"]["name"] == ("standard input" if given else "t.trace")
    assert hashes[0] == hashes[1]
    assert list((folder / "temporary").iterdir()) == []


@pytest.mark.parametrize("packed", [False, True])
def test_a_fifo_is_read_once_and_keeps_its_sidecar(folder: Path, packed: bool) -> None:
    os.mkfifo("fifo")
    Path("fifo.toml").write_text('time_unit = "ns"\n')
    content = gzip.compress(LINES.encode()) if packed else LINES.encode()
    threading.Thread(target=Path("fifo").write_bytes, args=(content,), daemon=True).start()
    info = tinytail.describe_trace("fifo")
    assert (info.path, info.requests) == ("fifo", 4000)
    threading.Thread(target=Path("fifo").write_bytes, args=(content,), daemon=True).start()
    written = tinytail.convert_trace("fifo", "out.trace")
    assert written.requests == 4000
    assert Path("out.trace").read_text() == LINES
    assert list((folder / "temporary").iterdir()) == []


def test_what_is_no_trace_ends_early() -> None:
    with Path("/dev/zero").open("rb") as zeroes:
        running = start("trace", "info", "-", stdin=zeroes)
        # It is a device and not a pipe, and is read like one.
        _, err = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "standard input, line 1: found a NUL byte" in err
    with pytest.raises(tinytail.WorkloadError, match="this is a device; expected a trace file"):
        tinytail.describe_trace("/dev/zero")
    running = start("trace", "info", "-")
    _, err = running.communicate("1 2 3\n" * 400_000, timeout=60)
    assert running.returncode == 2
    assert "no known trace format fits its first line" in err


def test_a_full_disk_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pipes, "_temporary", lambda _folder, _stack: (Full(), "nowhere"))
    os.mkfifo("fifo")

    def write() -> None:
        # Whoever reads gives up before all is written.
        with suppress(BrokenPipeError):
            Path("fifo").write_text(LINES)

    threading.Thread(target=write, daemon=True).start()
    with pytest.raises(tinytail.RunError, match=r"No space left on device; set TMPDIR to a folder"):
        tinytail.describe_trace("fifo")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [("trace", "info", "fifo"), (*COMPARE, "--workload", "fifo")])
def test_a_pipe_that_nobody_writes_to_can_be_given_up(
    words: tuple[str, ...], sign: signal.Signals
) -> None:
    os.mkfifo("fifo")
    running = start(*words)
    time.sleep(1.0)
    running.send_signal(sign)
    _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (130, "error: interrupted\n")


@pytest.fixture
def endless(folder: Path) -> Iterator[Path]:
    """A trace that takes long to read: 300 times a million requests."""
    path = folder / "long.trace.gz"
    path.write_bytes(gzip.compress(b"5 0 8 8 1\n" * 1_000_000) * 300)
    path.with_name("long.trace.toml").write_text('time_unit = "ns"\n')
    yield path
    path.unlink()


def test_cancelled_reading_ends_as_interrupted(endless: Path) -> None:
    control = engine.Control()
    control.cancel()
    with pytest.raises(KeyboardInterrupt):
        engine.describe_trace(endless, tinytail.TraceOptions(), tinytail.Transform(), control, None)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "words", [("trace", "info"), ("trace", "convert"), (*COMPARE, "--workload")]
)
def test_signals_are_heeded_while_a_trace_is_read(
    endless: Path, words: tuple[str, ...], sign: signal.Signals
) -> None:
    after = ("out.trace",) if words[-1] == "convert" else ()
    running = start(*words, str(endless), *after)
    assert running.stderr is not None
    assert "reading" in running.stderr.readline()
    running.send_signal(sign)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert re.search("interrupted", err)
    assert not Path("out.trace").exists()


def test_figures_of_a_run_whose_trace_has_changed_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    native = engine.run

    def run(*given: Any) -> dict[str, object]:
        document = native(*given)
        return document | {"partial": True, "unread": "t.trace: it changed"}

    monkeypatch.setattr(engine, "run", run)
    comparison = tinytail.compare(
        ["base"], device="ttflash-small", workload="t.trace", requests=300
    )
    assert comparison.result("base").unread == "t.trace: it changed"
    assert not comparison.partial
    assert [error.message for error in comparison.errors] == ["stopped: t.trace: it changed"]


def test_the_proposal_for_text_of_ones_own_works_when_typed(command: RunCommand) -> None:
    rows = [f"{n * 1000},{'RW'[n % 2]},{n * 7919 % 1000 * 4096},4096" for n in range(400)]
    Path("own.csv").write_text("\n".join(["timestamp,op,lba,len", *rows]))
    refused = command("trace", "info", "own.csv")
    assert refused.code == 2
    found = re.search(
        r"(--columns \S+) reads it where addresses and sizes are in bytes, "
        r"or (--columns \S+) where all are in sectors of 512 bytes, if its times are in us",
        refused.err,
    )
    assert found is not None, refused.err
    sectors = command("trace", "info", "own.csv", *found[2].split())
    assert "50 % reads of 2 MiB on average" in sectors.out
    assert "Doubtful: every address and size is a multiple of 512" in " ".join(sectors.out.split())
    shown = command("trace", "info", "own.csv", *found[1].split())
    assert shown.code == 0
    assert "own.csv: 400 requests in 399 ms, 50 % reads of 4 KiB" in shown.out
    assert "Skipped: 1 header line." in shown.out
    Path("odd.csv").write_text("timestamp,op,lba,len\n1,R,4097,4096\n2,W,8192,4096\n")
    odd = command("trace", "info", "odd.csv", *found[1].split())
    assert "Doubtful: 1 of the addresses are no multiple of 512" in " ".join(odd.out.split())
    columns = found[1].split()[1]
    comparison = tinytail.compare(
        ["base"], device="ttflash-small", workload="own.csv", columns=columns, requests=300
    )
    assert "not played: 1 header line" in comparison.result("base").notes
    # By the names in the header line, and in a sidecar file and a workload file.
    named = "op=op,time=timestamp:us,lba=lba:bytes,len=len:bytes"
    assert tinytail.describe_trace("own.csv", columns=named).requests == 400
    Path("w.toml").write_text(f'summary = "w"\n[trace]\nfile = "own.csv"\ncolumns = "{columns}"\n')
    again = tinytail.compare(["base"], device="ttflash-small", workload="w.toml", requests=300)
    assert again.result("base").event_hash == comparison.result("base").event_hash
    Path("own.csv.toml").write_text(f'columns = "{columns}"\n')
    assert tinytail.describe_trace("own.csv").columns == columns
    refused = command("trace", "info", "own.csv", "--columns", "time,opp,lba,len")
    assert (refused.code, "did you mean `op`?" in refused.err) == (2, True)


def test_a_dump_of_unknown_format_is_read_as_its_error_proposes(command: RunCommand) -> None:
    clock = [f"{(23 + n // 20) % 24:02}:59:59.{n:06}" for n in range(40)]
    rows = [
        f"{at}|nvme0n1|sq={n % 3}|0x0{1 + n % 2}|{n * 8}|7|{400 + n}us"
        for n, at in enumerate(clock)
    ]
    comments = [
        "# dump, of controller 0, lba format 512",
        "# time|dev|queue|opcode|slba|nlb|lat_us",
    ]
    Path("dump.log").write_text("\n".join([*comments, *rows]))
    refused = command("trace", "info", "dump.log")
    found = re.search(r"(--columns \S+ --ops \S+) reads it, if", refused.err)
    assert found is not None, refused.err
    shown = " ".join(command("trace", "info", "dump.log", *found[1].split()).out.split())
    assert "dump.log: 40 requests in 3600 s, 50 % reads of 4 KiB on average" in shown
    assert "Doubtful" not in shown
    _, columns, *ops = found[1].split()
    assert columns == "time:clock,device,_,op,lba:sectors,nlb:sectors,latency:us"
    wrong = columns.replace("nlb:", "len:").replace("latency:us", "latency:ms")
    doubted = command("trace", "info", "dump.log", "--columns", wrong, *ops)
    said = " ".join(doubted.out.split())
    assert "Doubtful: 40 of its 40 sizes are one less than a multiple of 8 sectors" in said
    assert "Doubtful: its header line says that column 7, `lat_us`, is in us, and latency" in said


def test_a_header_line_that_contradicts_the_format_is_asked_about(command: RunCommand) -> None:
    rows = [f"{n * 100},{n * 8},8,{n % 2},0" for n in range(40)]
    Path("own.csv").write_text("\n".join(["time_us,lba,sectors,is_write,device", *rows]))
    refused = command("trace", "info", "own.csv")
    assert refused.code == 2
    assert "column 1, `time_us`, is in us, and Timestamp of tencent in s" in refused.err
    found = re.search(r"(--columns \S+ --ops write=1,read=0) reads it", refused.err)
    assert found is not None, refused.err
    shown = command("trace", "info", "own.csv", *found[1].split())
    assert "own.csv: 40 requests in 3.9 ms, 50 % reads of 4 KiB" in shown.out
    given = " ".join(command("trace", "info", "own.csv", "--format", "tencent").out.split())
    assert "Doubtful: its header line contradicts the format tencent, which was given" in given
    Path("own.csv").write_text("\n".join(["time_s,lba,sectors,rw,tenant", *rows]))
    open_words = " ".join(command("trace", "info", "own.csv").out.split())
    assert "takes for granted: 0 in `rw` is a read and `tenant` is its device." in open_words


def test_latencies_in_a_column_of_ones_own_are_shown(command: RunCommand) -> None:
    # Seconds are what the format has that these lines fit.
    header = "time_us,latency_us,op,lun,offset_bytes,size_bytes"
    rows = [f"{n * 100},{90 + n % 3},{'RW'[n % 2]},0,{n * 4096},4096" for n in range(300)]
    Path("own.csv").write_text("\n".join([header, *rows]))
    refused = command("trace", "info", "own.csv")
    assert (refused.code, "`latency_us`, is in us, and Response" in refused.err) == (2, True)
    columns = "time:us,latency:us,op,device,lba:bytes,len:bytes"
    assert f"--columns {columns} reads it.\n" in refused.err
    comparison = tinytail.compare(
        ["base"], device="ttflash-small", workload="own.csv", columns=columns
    )
    measured = comparison.result("base").measured
    assert measured is not None
    assert (measured.read.count, measured.read.max_us) == (150, 92.0)


def test_coarse_times_are_a_finding(command: RunCommand) -> None:
    rows = [f"{n // 20},{n * 7919 % 1000 * 8},8,{n % 2},7" for n in range(400)]
    Path("coarse.csv").write_text("\n".join(rows))
    info = tinytail.describe_trace("coarse.csv")
    assert [finding.code for finding in info.findings] == ["coarse_times"]
    assert info.findings[0].figures == {"at_once_percent": 100.0, "resolution_s": 1.0}
    said = "times have a resolution of 1 s, and all of the requests share theirs with others"
    assert f"Finding: {said}" in " ".join(command("trace", "info", "coarse.csv").out.split())
    comparison = tinytail.compare(["base"], device="ttflash-small", workload="coarse.csv")
    found = [each for each in comparison.result("base").findings if each.code == "coarse_times"]
    assert [each.figures for each in found] == [{"at_once_percent": 100.0, "resolution_s": 1.0}]
    # In closed loop nothing arrives at these times. Half of the requests are not most of them.
    assert not tinytail.describe_trace("coarse.csv", queue_depth=4).findings
    times = sorted(n if n % 4 else n + 1 for n in range(400))
    rows = [f"{at},{n * 8},8,0,7" for n, at in enumerate(times)]
    Path("fine.csv").write_text("\n".join(rows))
    assert not tinytail.describe_trace("fine.csv").findings


def test_a_large_text_takes_no_memory() -> None:
    lines = "".join(f"{n} 0 {n * 7919 % 1000000 * 8} 8 {n % 2}\n" for n in range(100_000))
    peaks = []
    for rounds in (1, 20):
        Path("long.trace").write_text(lines)
        with Path("long.trace").open("a") as file:
            for _ in range(1, rounds):
                file.write(lines)
        run = (
            "import resource; from tinytail import describe_trace;"
            "from tinytail.inputs import conflicts;"
            "conflicts.files_read(workload='long.trace');"
            "describe_trace('long.trace', queue_depth=1);"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", run], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    # In KiB: the files have 2 and 40 MB.
    assert peaks[1] - peaks[0] < 10_000


def test_faulty_lines_are_told_at_once_and_left_out_when_asked(command: RunCommand) -> None:
    Path("own.csv").write_text("1,R,0,8\n2,X,8,8\n3,W,8,0\n4,Y,8,8\n5,W,16,8\n6,R,24,8\n7,R,32,8\n")
    columns = ["--columns", "time:us,op,lba:sectors,len:sectors"]
    refused = command("trace", "info", "own.csv", *columns)
    assert refused.code == 2
    assert "own.csv: 3 of its 7 lines are faulty:\n" in refused.err
    for part in ("line 2 (`2,X,8,8`), column 2 (op): found `X` (elsewhere `Y`)", "2 such lines"):
        assert part in refused.err
    found = re.search(r"`(--skip-faulty 3)` leaves them out", refused.err)
    assert found is not None, refused.err
    shown = command("trace", "info", "own.csv", *columns, *found[1].split())
    assert shown.code == 0
    said = " ".join(shown.out.split())
    assert "own.csv: 4 requests in 6 µs" in said
    assert "Doubtful: 3 of 7 lines are faulty and left out, as --skip-faulty (3 lines)" in said
    ignoring = command(
        "trace", "info", "own.csv", *columns, "--ops", "ignore=X,Y", "--skip-faulty", "15%"
    )
    assert "2 requests whose operation is" not in ignoring.out
    assert "1 request whose operation is `X` and 1 request whose operation is `Y`" in " ".join(
        ignoring.out.split()
    )
    described = tinytail.describe_trace(
        "own.csv", columns=columns[1], skip_faulty="50%", ops="read=R,X,write=W,Y"
    )
    assert described.requests == 6
    refused = command("trace", "info", "own.csv", *columns, "--skip-faulty", "some")
    assert refused.code == 2
    assert "expected a number of lines, or a share of them from 0% to 100%" in refused.err


def test_addresses_in_blocks_and_other_units_are_said(command: RunCommand) -> None:
    Path("own.csv").write_text("timestamp,lba,size,operation\n0,10,1,W\n5,11,2,W\n9,10,1,R\n")
    columns = ["--columns", "time:us,lba,len,op"]
    shown = command("trace", "info", "own.csv", *columns, "--unit", "blocks:4096", "--json", "-")
    info = json.loads(shown.out)
    assert (info["end_bytes"], info["write"]["mean_kib"]) == (13 * 4096, 6)
    refused = command("trace", "info", "own.csv", *columns, "--unit", "pages")
    assert refused.code == 2
    assert "`pages` is not an address unit; expected sectors, bytes, kib, or blocks" in refused.err


def test_a_trace_of_a_month_is_looked_into_and_scaled_to_be_played(command: RunCommand) -> None:
    day_us = 24 * 3600 * 10**6
    lines = [f"0,W,{number * 4096},4096,{number * day_us}" for number in range(31)]
    Path("month.csv").write_text("\n".join(lines))
    assert tinytail.describe_trace("month.csv").duration_s == 30 * 24 * 3600
    run = ("compare", "base", "--device", "ttflash-small", "--workload", "month.csv")
    refused = command(*run)
    assert "request 14 comes 13.0 days after the first, and a run, which plays them" in refused.err
    for remedy in re.findall(r"`(--(?:scale-time|requests) \S+)`", refused.err):
        played = command(*run, *remedy.split())
        assert played.code == 0, (remedy, played.err)


@pytest.mark.parametrize("packed", ["bz2", "xz"])
def test_traces_are_packed_and_unpacked_as_their_names_say(packed: str) -> None:
    written = tinytail.convert_trace("t.trace", f"u.trace.{packed}")
    assert written.compression == {"bz2": "bzip2", "xz": "xz"}[packed]
    unpack = importlib.import_module({"bz2": "bz2", "xz": "lzma"}[packed])
    text = unpack.decompress(Path(f"u.trace.{packed}").read_bytes()).decode()
    assert text.splitlines()[1] == LINES.splitlines()[1]
    Path("t.trace.toml").replace("v.trace.toml")
    Path(f"v.trace.{packed}").write_bytes(unpack.compress(LINES.encode()))
    described = tinytail.describe_trace(f"v.trace.{packed}")
    assert (described.requests, described.compression) == (4000, written.compression)


def test_a_trace_of_which_nothing_is_left_is_said_to_be_empty(command: RunCommand) -> None:
    Path("far.txt").write_text("0 R 2048 8\n5 W 4096 8\n")
    words = ("--columns", "time:us,op,lba:sectors,len:sectors", "--fit", "clip")
    outcome = command("trace", "info", "far.txt", *words, "--region-bytes", "4096")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("far.txt: no request is left to be played")
