"""Drives that are served: what clients and users see, and what is left when they are stopped."""

from __future__ import annotations

import errno
import inspect
import json
import os
import pty
import random
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow.parquet
import pytest

import tinytail
import tinytail.server
from commands import RunCommand, read_json, start
from nbd_client import FLUSH, FUA, READ, TRIM, WRITE, Client
from served import DRIVE, FAST, MIB, serving, tool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="drives are served on Linux alone")


def resident_mib(process: subprocess.Popen[str]) -> int:
    """Memory of a process that is not shared with files, in MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) // 1024


def run(*words: str, **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=60, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_served_drive_is_stopped_in_good_order(tmp_path: Path, by: signal.Signals) -> None:
    with serving(tmp_path, *DRIVE, "--size", "64M") as running:
        assert running.line == f"base on ttflash-small: serving at {running.uri}\n"
        assert stat.S_ISSOCK(running.socket.stat().st_mode)
        with Client(running.socket) as client:
            assert client.size == 64 * MIB
            assert client.ask(WRITE, 4096, 4, b"data") == 0
            assert client.ask(FLUSH, 0, 0) == 0
            assert client.read(4094, 8) == b"\0\0data\0\0"
            summary = running.stop(by)
        assert not running.socket.exists()
    assert summary["size_bytes"] == 64 * MIB
    assert summary["lateness"]["all"]["count"] == 3
    counts = {kind: summary["lateness"][kind]["count"] for kind in ("read", "write", "flush")}
    assert counts == {"read": 1, "write": 1, "flush": 1}
    assert summary["read"]["count"] == 1
    assert "latency by the model" in running.out
    assert "VALID" in running.out


def test_it_serves_over_tcp_on_the_loopback_unless_told_otherwise(tmp_path: Path) -> None:
    for address, warned in (("tcp::0", False), ("tcp:0.0.0.0:0", True)):
        words = (*FAST, "--size", "1M", *(["--insecure"] if warned else []))
        process = start("serve", *words, "--nbd", address, cwd=tmp_path)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert ("serving at nbd://127.0.0.1:" in line) != warned
        port = int(line.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=20) as stream:
            assert stream.recv(18) == b"NBDMAGICIHAVEOPT\x00\x03"
        process.terminate()
        _, error = process.communicate(timeout=30)
        assert process.returncode == 0
        assert ("can read and write the drive" in error) == warned


def test_an_address_that_others_reach_is_refused_unless_it_is_asked_for(
    command: RunCommand,
) -> None:
    refused = command("serve", *FAST, "--nbd", "tcp:0.0.0.0:4711")
    assert refused.code == 2
    said = " ".join(refused.err.split())
    assert "whoever reaches it can read and write the drive" in said
    assert "tcp:127.0.0.1:4711" in said
    assert "--insecure" in said


def cut_and_grow(data: Path) -> None:
    """Cuts a file to nothing and gives it its size back, when the system's stamps tell it apart."""
    time.sleep(0.05)
    size = data.stat().st_size
    os.truncate(data, 0)
    os.truncate(data, size)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda data: data.unlink(), "was removed"),
        (lambda data: os.truncate(data, 5), "has 5 bytes now instead of 67108864"),
        (lambda data: data.rename(data.with_name("other")), "is not there any more"),
        (lambda data: cut_and_grow(data), "another program changed the file of data"),
    ],
)
def test_a_data_file_that_is_harmed_is_noticed_at_the_next_flush(
    tmp_path: Path, harm: Callable[[Path], object], said: str
) -> None:
    data = tmp_path / "data"
    with serving(tmp_path, *FAST, "--size", "64M", "--data", str(data)) as running:
        with Client(running.socket) as client:
            assert client.ask(WRITE, 0, 4, b"data") == 0
            assert client.ask(FLUSH, 0, 0) == 0
            harm(data)
            assert client.ask(FLUSH, 0, 0) == errno.EIO
            assert client.ask(WRITE, 0, 4, b"more", FUA) == errno.EIO
            assert client.ask(FLUSH, 0, 0) == errno.EIO
        running.process.send_signal(signal.SIGTERM)
        out, error = running.process.communicate(timeout=30)
    assert running.process.returncode == 1
    out, error = (" ".join(text.split()) for text in (out, error))
    assert said in error
    assert out.count("from now on every flush fails") == 1


def test_more_clients_than_descriptors_are_turned_away_and_nothing_is_lost(tmp_path: Path) -> None:
    limit = 96

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    with ExitStack() as stack:
        waiting: list[socket.socket] = []

        def connect() -> None:
            # From the moment on in which there is a socket.
            while len(waiting) < 2 * limit:
                stream = stack.enter_context(socket.socket(socket.AF_UNIX))
                try:
                    stream.connect(str(tmp_path / "socket"))
                    waiting.append(stream)
                except OSError:
                    time.sleep(0.001)

        crowd = threading.Thread(target=connect)
        crowd.start()
        words = (*FAST, "--size", "1M", "--record", str(tmp_path / "trace"))
        with serving(tmp_path, *words, preexec_fn=few) as running:
            crowd.join()
            with Client(running.socket) as client:
                assert client.ask(WRITE, 0, 4, b"data") == 0
                assert client.read(0, 4) == b"data"
            summary = running.stop()
    assert summary["recording"]["requests"] == 2
    assert any("clients can use the drive at a time" in note for note in summary["notes"])


def test_who_watches_may_fail_and_the_data_are_safe(tmp_path: Path) -> None:
    trace = tmp_path / "trace"

    def watch(_: str, found: dict[str, Any] | None) -> None:
        if found is not None:
            with Client(tmp_path / "socket") as client:
                assert client.ask(WRITE, 0, 4, b"data") == 0
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        tinytail.serve(
            device="ttflash-small",
            design="base",
            size="1M",
            nbd=f"unix:{tmp_path / 'socket'}",
            record=trace,
            watch=watch,
        )
    assert not (tmp_path / "socket").exists()
    assert trace.exists()


def test_memory_is_bounded_whatever_clients_leave_unread(tmp_path: Path) -> None:
    size = ("--size", "64M", "--client-memory", "80M")
    with serving(tmp_path, *FAST, *size) as running, ExitStack() as stack:
        before = resident_mib(running.process)
        greedy = [stack.enter_context(Client(running.socket)) for _ in range(12)]
        for client in greedy:
            for cookie in range(4):
                client.send(READ, cookie, 0, 32 * MIB)
        small = stack.enter_context(Client(running.socket))
        for _ in range(200):
            assert small.read(0, 8) == bytes(8)
        grown = resident_mib(running.process) - before
        # 80 MiB for all, half a MiB for each client, and what the process itself takes.
        assert grown < 130
        summary = running.stop()
    assert summary["failed"] == 0


def test_too_little_memory_for_one_client_is_refused(command: RunCommand, tmp_path: Path) -> None:
    words = ("--nbd", f"unix:{tmp_path / 'socket'}", "--client-memory", "79M")
    refused = command("serve", *FAST, *words)
    assert refused.code == 2
    assert "give 80M or more" in " ".join(refused.err.split())


def test_from_python_it_is_stopped_by_an_event(tmp_path: Path) -> None:
    stop, seen = threading.Event(), []

    def watch(phase: str, found: dict[str, Any] | None) -> None:
        seen.append(phase)
        if found is not None:
            assert found["place"]["uri"].endswith("/socket")
            stop.set()

    summary = tinytail.serve(
        device="ttflash-small",
        design="base",
        nbd=f"unix:{tmp_path}/socket",
        size="1.5M",
        stop=stop,
        watch=watch,
    )
    assert seen[-1] == "serving"
    assert summary.size_bytes == 3 * MIB // 2
    assert summary.lateness.invalid is None
    assert "no client has read or written anything" in summary.notes


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--nbd", "/tmp/x"), 2, "expected unix:PATH or tcp:HOST:PORT"),
        (("--nbd", "unix:"), 2, "names no socket"),
        (("--nbd", "tcp:127.0.0.1:99999"), 2, '"99999" is no port'),
        (("--nbd", "unix:no/such/folder/socket"), 2, "there is no directory "),
        (("--nbd", "unix:s", "--size", "2T"), 2, "has 845570048 bytes that a host can address"),
        (("--nbd", "unix:s", "--size", "1000"), 2, "sizes are multiples of 512 bytes"),
        (("--nbd", "unix:s", "--size", "5X"), 2, "such as 512M, 16G or 1T"),
        (("--nbd", "unix:s", "--size", "0"), 2, "such as 512M, 16G or 1T"),
        (("--nbd", "unix:s", "--dilate", "0.5"), 2, "Must be >= 1"),
        (("--nbd", "unix:s", "--dilate", "1e9"), 2, "1 to 10000 times"),
        (("--nbd", "unix:s", "--design", "bsae"), 2, "did you mean `base`"),
        (("--nbd", "unix:s", "--data", "."), 2, "Is a directory"),
        (("--nbd", "unix:s", "--record", "no/such/trace"), 2, "there is no directory "),
        (("--nbd", "unix:s", "--record", "x.toml"), 2, "is a workload file's"),
        (("--nbd", "unix:s", "--image", "no.image"), 2, "No such file"),
        (("--nbd", "unix:s", "--log", "no/such/log"), 2, "there is no directory "),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_starts(
    command: RunCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    drive = DRIVE if "--design" not in words else DRIVE[:2]
    outcome = command("serve", *drive, *words)
    assert outcome.code == code, outcome.err
    assert message in " ".join(outcome.err.split())
    assert not list(tmp_path.glob("*"))


def test_a_data_file_belongs_to_one_server_and_has_its_size(
    command: RunCommand, tmp_path: Path
) -> None:
    data = str(tmp_path / "data")
    other = ("serve", *FAST, "--nbd", f"unix:{tmp_path}/other", "--data", data)
    with serving(tmp_path, *FAST, "--size", "8M", "--data", data) as running:
        assert Path(data).stat().st_size == 8 * MIB
        assert Path(data).stat().st_blocks < 100, "sparse"
        outcome = command(*other, "--size", "8M")
        assert (outcome.code, "another process has locked" in outcome.err) == (2, True)
        # So does a socket, and nothing is made for a server that can't be.
        again = ("serve", *FAST, "--nbd", f"unix:{running.socket}", "--data", f"{tmp_path}/new")
        outcome = command(*again, "--size", "8M")
        said = " ".join(outcome.err.split())
        assert (outcome.code, "a server is listening there already" in said) == (2, True)
        assert not (tmp_path / "new").exists()
        with Client(running.socket) as client:
            assert client.ask(WRITE, 0, 4, b"kept") == 0
        running.stop()
    outcome = command(*other, "--size", "16M")
    assert outcome.code == 2
    assert "has 8388608 bytes, and the drive to be served has 16777216" in outcome.err
    with serving(tmp_path, *FAST, "--size", "8M", "--data", data) as running:
        with Client(running.socket) as client:
            assert client.read(0, 4) == b"kept"
        running.stop()


def test_what_was_made_safe_survives_a_kill(tmp_path: Path) -> None:
    """Every block holds its number and how often it was written; the test knows what was safe."""
    block, blocks, requests = 4096, 256, 1500
    words = (*FAST, "--size", "1M", "--data", str(tmp_path / "data"))
    written, safe = [0] * blocks, [0] * blocks
    for round_ in range(3):
        with serving(tmp_path, *words) as running, Client(running.socket) as client:
            choose = random.Random(round_)
            under_way: dict[int, tuple[str, int, int]] = {}
            acknowledged = list(safe)
            for cookie in range(requests):
                place = choose.randrange(blocks)
                forced = choose.random() < 0.2
                if cookie % 150 == 149:
                    # What has been acknowledged by now is what the flush promises.
                    under_way[cookie] = ("flush", 0, 0)
                    promises = list(acknowledged)
                    client.send(FLUSH, cookie, 0, 0)
                elif all(busy != place for _, busy, _ in under_way.values()):
                    written[place] += 1
                    content = f"{place} {written[place]} ".encode().ljust(block, b".")
                    kind = "forced" if forced else "write"
                    under_way[cookie] = (kind, place, written[place])
                    client.send(WRITE, cookie, place * block, block, content, FUA if forced else 0)
                while len(under_way) >= 16 or (cookie == requests - 1 and len(under_way) > 8):
                    done, error = client.reply()
                    assert error == 0
                    kind, place, number = under_way.pop(done)
                    if kind == "flush":
                        safe = [max(pair) for pair in zip(safe, promises, strict=True)]
                        continue
                    acknowledged[place] = max(acknowledged[place], number)
                    if kind == "forced":
                        safe[place] = max(safe[place], number)
            # With requests under way.
            running.kill()
        with serving(tmp_path, *words) as running:
            with Client(running.socket) as client:
                for place in range(blocks):
                    content = client.read(place * block, block)
                    if content == b"\0" * block:
                        assert safe[place] == 0
                        continue
                    number = int(content.split()[1])
                    assert content == f"{place} {number} ".encode().ljust(block, b".")
                    assert safe[place] <= number <= written[place]
            running.stop()


def test_a_full_data_disk_is_told_to_the_client_and_nothing_else_is_lost(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.touch()
    os.truncate(data, 8 * MIB)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 * MIB, 4 * MIB))

    words = (*FAST, "--size", "8M", "--data", str(data))
    with serving(tmp_path, *words, preexec_fn=limit) as running:
        with Client(running.socket) as client:
            assert client.ask(WRITE, 0, 4, b"kept") == 0
            assert client.ask(WRITE, 6 * MIB, 4, b"lost") == errno.ENOSPC
            assert client.ask(WRITE, 6 * MIB, 4, b"lost", FUA) == errno.ENOSPC
            assert client.ask(FLUSH, 0, 0) == 0
            assert client.ask(WRITE, 4, 4, b" too") == 0
            assert client.read(0, 8) == b"kept too"
            assert client.read(6 * MIB, 4) == b"\0\0\0\0"
        summary = running.stop()
    assert summary["failed"] == 2


def test_a_recording_is_replayed_to_the_same_latencies(command: RunCommand, tmp_path: Path) -> None:
    image, trace = str(tmp_path / "small.image"), str(tmp_path / "arrivals.zst")
    logs = [str(tmp_path / name) for name in ("live.parquet", "replayed.parquet")]
    drive = ("--device", "ttflash-small", "--design", "ttflash")
    made = command("image", "create", image, *drive)
    assert made.code == 0, made.err
    words = (*drive, "--image", image, "--record", trace, "--log", logs[0], "--size", "128M")
    with serving(tmp_path, *words) as running:
        with Client(running.socket) as client:
            choose = random.Random(3)
            under_way = 0
            for cookie in range(2000):
                kind = choose.choice((WRITE, WRITE, TRIM, FLUSH))
                length = choose.randrange(1, 17) * 512
                offset = choose.randrange(128 * MIB // 512 - 16) * 512
                payload = b"x" * length if kind == WRITE else b""
                client.send(kind, cookie, offset, length, payload)
                under_way += 1
                if under_way == 24:
                    assert client.reply()[1] == 0
                    under_way -= 1
            while under_way > 0:
                assert client.reply()[1] == 0
                under_way -= 1
            client.read(0, 65_536)
        summary = running.stop()
    assert summary["recording"]["requests"] > 1000
    results = str(tmp_path / "results.json")
    replay = ("compare", "ttflash", *drive[:2], "--workload", trace, "--image", image)
    outcome = command(*replay, "--no-warm-up", "--log", logs[1], "--json", results)
    assert outcome.code == 0, outcome.err
    replayed = read_json(Path(results))["results"][0]
    assert replayed["event_hash"] == summary["event_hash"]
    live_log, replayed_log = (pyarrow.parquet.read_table(log) for log in logs)
    assert live_log.num_rows == summary["recording"]["requests"]
    for name in live_log.column_names:
        assert live_log[name].equals(replayed_log[name]), name
    # A recording that is there is precious.
    again = command("serve", *drive, "--record", trace, "--nbd", f"unix:{tmp_path}/other")
    assert (again.code, "--force replaces it" in again.err) == (2, True)


def test_memory_grows_with_what_is_written(tmp_path: Path) -> None:
    with serving(tmp_path, *FAST) as running:
        with Client(running.socket) as client:
            before = resident_mib(running.process)
            for at in range(0, 128, 8):
                assert client.ask(WRITE, at * MIB, 8 * MIB, b"x" * (8 * MIB)) == 0
            assert 120 <= resident_mib(running.process) - before <= 180
            assert client.ask(TRIM, 0, 800 * MIB) == 0
            assert resident_mib(running.process) - before <= 60
        running.stop()


def test_nbdinfo_sees_what_the_drive_can_do(tmp_path: Path) -> None:
    nbdinfo = tool("nbdinfo")
    with serving(tmp_path, *FAST, "--size", "64M") as running:
        found = json.loads(run(nbdinfo, "--json", running.uri))
        assert found["protocol"] == "newstyle-fixed"
        assert found["structured"] is True
        (export,) = found["exports"]
        assert export["export-size"] == 64 * MIB
        for ability in ("can_flush", "can_fua", "can_trim", "can_zero", "can_multi_conn", "can_df"):
            assert export[ability] is True, ability
        assert export["is_read_only"] is False
        names = ("block_size_minimum", "block_size_preferred", "block_size_maximum")
        sizes = tuple(export[name] for name in names)
        assert sizes == (1, 4096, 32 * MIB)
        assert 'export=""' in run(nbdinfo, "--list", running.uri)
        running.stop()


def test_nbdcopy_brings_back_what_it_took(tmp_path: Path) -> None:
    nbdcopy = tool("nbdcopy")
    content = tmp_path / "content"
    content.write_bytes(random.Random(1).randbytes(48 * MIB) + b"\0" * (16 * MIB))
    back = tmp_path / "back"
    with serving(tmp_path, *FAST, "--size", "64M") as running:
        run(nbdcopy, str(content), running.uri)
        run(nbdcopy, running.uri, str(back))
        running.stop()
    assert back.read_bytes() == content.read_bytes()


def test_fio_finds_what_it_wrote(tmp_path: Path) -> None:
    fio = tool("fio")
    if "nbd" not in run(fio, "--enghelp").split():
        pytest.skip("this fio has no engine for NBD")
    with serving(tmp_path, *DRIVE, "--size", "64M") as running:
        run(
            *(fio, "--name=verify", "--ioengine=nbd", f"--uri={running.uri}", "--rw=randrw"),
            *("--bsrange=4k-32k", "--size=64M", "--io_size=24M", "--iodepth=16"),
            *("--verify=crc32c", "--verify_backlog=64", "--randseed=1"),
            cwd=tmp_path,
        )
        summary = running.stop()
    assert summary["failed"] == 0
    assert summary["read"]["count"] > 500


def test_qemu_reads_the_pattern_that_it_wrote(tmp_path: Path) -> None:
    qemu_io = tool("qemu-io")
    commands = (
        *("write -P 0xa5 1000 70000", "write -f -P 0x5a 1M 64k", "flush", "write -z 4k 8k"),
        *("discard 2M 1M", "aio_write -P 7 8M 2M", "aio_write -P 8 12M 2M", "aio_flush"),
        *(
            "read -P 0xa5 1000 3096",
            "read -P 0 4k 8k",
            "read -P 0xa5 12k 4k",
            "read -P 0x5a 1M 64k",
        ),
        *("read -P 7 8M 2M", "read -P 8 12M 2M"),
    )
    words = [word for each in commands for word in ("-c", each)]
    with serving(tmp_path, *FAST, "--size", "64M") as running:
        out = run(qemu_io, "-f", "raw", f"nbd+unix:///?socket={running.socket}", *words)
        assert "failed" not in out
        running.stop()


def test_libnbd_holds_the_server_to_the_protocol(tmp_path: Path) -> None:
    """The library checks every reply. Its own limits are lifted: it sends faulty requests."""
    pythons = [sys.executable, "/usr/bin/python3"]
    has_nbd = [each for each in pythons if Path(each).exists() and _imports_nbd(each)]
    if not has_nbd:
        pytest.skip("no interpreter here has libnbd's Python module")
    program = """
import errno, nbd, sys
for structured in (True, False):
    h = nbd.NBD()
    h.set_request_structured_replies(structured)
    h.set_strict_mode(0)
    h.connect_unix(sys.argv[1])
    assert h.get_structured_replies_negotiated() is structured
    h.pwrite(b"x" * 5000, 123)
    h.flush()
    assert h.pread(5002, 122) == b"\\0" + b"x" * 5000 + b"\\0"
    h.zero(1000, 500, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA)
    assert h.pread(1002, 499) == b"x" + b"\\0" * 1000 + b"x"
    h.trim(8192, 0, nbd.CMD_FLAG_FUA)
    cookies = [h.aio_pread(nbd.Buffer(65536), at * 65536) for at in range(64)]
    while cookies:
        h.poll(-1)
        cookies = [cookie for cookie in cookies if not h.aio_command_completed(cookie)]
    size = h.get_size()
    for call, number in (
        (lambda: h.pread(1, size), errno.EINVAL),
        (lambda: h.pwrite(b"ab", size - 1), errno.ENOSPC),
        (lambda: h.pread(33 << 20, 0), errno.EINVAL),
        (lambda: h.cache(512, 0), errno.EINVAL),
        (lambda: h.block_status(512, 0, lambda *a: 0), errno.EINVAL),
    ):
        try:
            call()
        except nbd.Error as error:
            assert error.errnum in (number, errno.ENOTSUP, errno.ERANGE), (error.errnum, str(error))
        else:
            raise AssertionError("it should have been refused")
    assert h.pread(4, 0) == b"\\0" * 4
    h.shutdown()
"""
    with serving(tmp_path, *FAST, "--size", "64M") as running:
        run(has_nbd[0], "-c", program, str(running.socket))
        running.stop()


def _imports_nbd(python: str) -> bool:
    done = subprocess.run([python, "-c", "import nbd"], capture_output=True, check=False)
    return done.returncode == 0


def test_a_client_that_reads_nothing_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    with serving(tmp_path, *FAST, "--size", "64M") as running, Client(running.socket) as client:
        for cookie in range(64):
            client.send(READ, cookie, 0, MIB)
        running.stop()


@pytest.mark.parametrize("at", ["while not results", "if stop", "_look(", "time.sleep("])
def test_an_interrupt_ends_it_well_wherever_it_comes(tmp_path: Path, at: str) -> None:
    source, first = inspect.getsourcelines(tinytail.server._wait)
    [line] = [first + i for i, text in enumerate(source) if text.strip().startswith(at)]
    served: list[Any] = []

    def interrupt_once(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not tinytail.server._wait.__code__:
            return None
        if event == "line" and frame.f_lineno == line and served:
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt_once

    def watch(_: str, found: Any) -> None:
        if found is not None:
            served.append(found)

    sys.settrace(interrupt_once)
    try:
        summary = tinytail.serve(
            device="ttflash-small",
            design="base",
            size="64M",
            nbd=f"unix:{tmp_path / 'socket'}",
            no_delay=True,
            watch=watch,
        )
    finally:
        sys.settrace(None)
    assert served
    assert summary.error is None


def test_on_a_terminal_one_line_tells_how_late_completions_are(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    path = tmp_path / "socket"
    words = ("serve", *DRIVE, "--size", "64M", "--nbd", f"unix:{path}")
    process = start(*words, stderr=terminal)
    os.close(terminal)
    assert process.stdout is not None
    assert "serving at" in process.stdout.readline()
    with Client(path) as client:
        for at in range(40):
            client.read(at * 4096, 4096)
        seen = ""
        while "late by" not in seen:
            seen += os.read(controller, 4096).decode(errors="replace")
    assert "1 client, 40 done" in seen
    process.terminate()
    # Nobody may stay in the way of what is still being told.
    with suppress(OSError):
        while os.read(controller, 4096):
            pass
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "left late by" in out
    os.close(controller)


def test_nothing_leaves_before_its_time_and_waiting_is_no_spinning(tmp_path: Path) -> None:
    def cpu_seconds(process: subprocess.Popen[str]) -> float:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    words = (*DRIVE, "--size", "64M", "--dilate", "5000")
    with serving(tmp_path, *words) as running:
        with Client(running.socket) as client:
            before, began = cpu_seconds(running.process), time.monotonic()
            client.read(0, 4096)
            # 140 µs by the model.
            assert time.monotonic() - began >= 0.7
            assert cpu_seconds(running.process) - before < 0.5
            before = cpu_seconds(running.process)
            time.sleep(1)
            assert cpu_seconds(running.process) - before < 0.5
        summary = running.stop()
    assert summary["dilation"] == 5000
    assert summary["read"]["p50_us"] == pytest.approx(140.2, rel=0.01)
    assert summary["lateness"]["read"]["max_us"] < 100, "in the drive's time"


def test_a_run_that_the_machine_held_up_is_called_invalid(tmp_path: Path) -> None:
    with serving(tmp_path, *DRIVE, "--size", "64M", "--dilate", "100") as running:
        with Client(running.socket) as client:
            # It takes 14 ms on the wall clock: the server has read it, and then is held up.
            client.send(READ, 1, 0, 4096)
            time.sleep(0.005)
            running.process.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            running.process.send_signal(signal.SIGCONT)
            assert client.reply() == (1, 0)
        summary = running.stop()
    late = summary["lateness"]["all"]
    # Unless this machine was so busy that the request was read only afterwards.
    if late["max_us"] > 1000:
        assert late["late_percent"] == 100
        assert "100.00 % of all completions left late" in summary["lateness"]["invalid"]
        assert "INVALID: half of all completions" in " ".join(running.out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--force",), "--force replaces a recording, and no --record was given"),
        (("--no-delay", "--dilate", "2"), "--no-delay takes all times away"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    words: tuple[str, ...], message: str, command: RunCommand, tmp_path: Path
) -> None:
    outcome = command("serve", *DRIVE, "--nbd", f"unix:{tmp_path}/socket", *words)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err


def test_without_delays_there_is_no_verdict(tmp_path: Path) -> None:
    with serving(tmp_path, *FAST, "--size", "1M") as running:
        with Client(running.socket) as client:
            client.read(0, 4096)
        summary = running.stop()
    assert summary["lateness"]["invalid"] is None
    assert "no verdict: without delays" in " ".join(running.out.split())
    assert "VALID" not in running.out
