"""Personalities of filebench against a stupid device, and on drives that are served."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commands import experiment
from served import FAST, serving
from tinytail.errors import ConfigError, RunError
from tinytail.server import flowops, trial
from tinytail.server.client import NbdDevice
from tinytail.server.flowops import BLOCK_BYTES, Player, Request, Space, from_table, personality

MIB = 2**20
VOLUME = 384 * MIB
COST_NS = 100_000


class Memory:
    """A device that does one thing after the other, and knows which blocks were written."""

    def __init__(self, volume_bytes: int = VOLUME) -> None:
        self.requests: list[Request] = []
        self.at_ns: list[int] = []
        self._now_ns = 0
        self._due: list[tuple[int, int]] = []
        self._written = bytearray(volume_bytes // BLOCK_BYTES)

    def now_ns(self) -> int:
        return self._now_ns

    def submit(self, number: int, request: Request) -> None:
        assert request.offset % BLOCK_BYTES == request.bytes % BLOCK_BYTES == 0
        first, count = request.offset // BLOCK_BYTES, request.bytes // BLOCK_BYTES
        assert first + count <= len(self._written)
        assert (count > 0) == (request.kind != "flush")
        if request.kind == "write":
            self._written[first : first + count] = b"\1" * count
        if request.kind == "read":
            assert all(self._written[first : first + count]), "a file has what it was given"
        self.requests.append(request)
        self.at_ns.append(self._now_ns)
        self._due.append((self._now_ns + COST_NS, number))

    def wait(self, until_ns: int | None) -> Sequence[int]:
        if self._due and (until_ns is None or self._due[0][0] <= until_ns):
            at_ns, number = self._due.pop(0)
            self._now_ns = max(self._now_ns, at_ns)
            return [number]
        assert until_ns is not None, "it waits for nothing"
        self._now_ns = max(self._now_ns, until_ns)
        return []


def played(name: str, seed: int = 1, seconds: float = 0.005) -> Memory:
    device = Memory()
    player = Player(personality(name), device, VOLUME, seed)
    player.lay_out()
    player.run(seconds, MIB)
    return device


def of(flowops: Sequence[str], **changes: Any) -> flowops.Personality:
    """A personality of one thread and a few files of 10,000 bytes."""
    files = {"count": 4, "mean_size": "10000", "existing_percent": 50, "fixed_size": True}
    threads = {"only": {"instances": 1, "flowops": list(flowops)}}
    table = {"source": "here", "files": {"few": files | changes}, "threads": threads}
    return from_table("small", table)


def kinds(device: Memory) -> list[tuple[str, int]]:
    return [(request.kind, request.bytes) for request in device.requests]


@pytest.mark.parametrize("name", flowops.names())
def test_a_seed_decides_every_request_and_no_read_finds_what_was_never_written(name: str) -> None:
    requests = played(name).requests
    assert requests == played(name).requests
    assert requests != played(name, seed=2).requests
    assert {request.kind for request in requests} >= {"read", "write"}


def test_the_personalities_are_as_filebench_publishes_them() -> None:
    assert flowops.names() == [
        "fileserver",
        "webserver",
        "varmail",
        "webproxy",
        "oltp",
        "videoserver",
    ]
    for name in flowops.names():
        known = personality(name)
        assert known.source == f"workloads/{name}.f"
        assert sum(of.instances for of in known.threads.values()) in (16, 49, 50, 100, 211)
    counts = {name: Counter(each.kind for each in played(name).requests) for name in ("webserver",)}
    # Ten files are read for each append to the log; some appends are of nothing.
    assert 8 < counts["webserver"]["read"] / (counts["webserver"]["write"] - 1001) < 13


def test_oltp_writes_a_page_for_each_that_it_reads() -> None:
    counts = Counter(request.kind for request in played("oltp", seconds=0.03).requests)
    assert counts["read"] == pytest.approx(counts["write"], rel=0.1)


def test_flowops_ask_for_whole_blocks_of_the_file_that_is_open() -> None:
    device = Memory()
    words = ["create few", "write_whole 8192", "close", "open few", "read_whole 4096", "close"]
    player = Player(of([*words, "fsync", "delete few"]), device, VOLUME)
    player.lay_out()
    # 10,000 bytes are three blocks; two files are there at the start.
    assert kinds(device) == [("write", 12_288)] * 2
    player.run(7 * COST_NS / 1e9)
    block = BLOCK_BYTES
    assert kinds(device)[2:8] == [
        *(("write", 2 * block), ("write", block)),
        *(("read", block), ("read", block), ("read", block), ("flush", 0)),
    ]
    # The file that is read is the first; the one that was made lies elsewhere.
    assert [each.offset for each in device.requests[4:7]] == [
        device.requests[0].offset + i * block for i in range(3)
    ]
    assert device.requests[2].offset not in (each.offset for each in device.requests[:2])


def test_an_append_writes_the_last_block_again_and_a_log_that_is_full_begins_anew() -> None:
    device = Memory()
    log = of(["open few", "append 9000"], count=1, existing_percent=100, largest="20000")
    player = Player(log, device, VOLUME)
    player.lay_out()
    player.run(40 * COST_NS / 1e9)
    begins = [each.offset for each in device.requests]
    assert len(set(begins)) > 2
    written = Counter(each.offset // BLOCK_BYTES for each in device.requests)
    assert max(written.values()) > 1, "a block that was full in part"
    assert all(each.bytes <= 4 * BLOCK_BYTES for each in device.requests)


def test_who_paces_reads_waits_until_the_time_of_what_was_read() -> None:
    device = Memory()
    # Of 4,096 bytes at a time, 4 MB/s are one a millisecond.
    player = Player(of(["read_next few 4096", "pace 4096000"]), device, VOLUME)
    player.lay_out()
    player.run(0.0101)
    reads = [at for at, each in zip(device.at_ns, device.requests, strict=True) if each.bytes < 9e3]
    gaps = [later - earlier for earlier, later in itertools.pairwise(reads)]
    # The first pace begins when its read is done.
    assert gaps[0] == 1_000_000 + COST_NS
    assert set(gaps[1:]) == {1_000_000}


def test_pauses_are_of_the_clock_of_the_drive() -> None:
    device = Memory()
    player = Player(of(["read_random few 4K", "pause 50"]), device, VOLUME)
    player.lay_out()
    began = device.now_ns()
    span = player.run(10 * (COST_NS + 50_000) / 1e9)
    assert span.until_ns - span.from_ns == 10 * (COST_NS + 50_000)
    assert span.reads == 10
    assert span.read_ns == 10 * COST_NS
    assert span.from_ns == began


def test_a_semaphore_lets_through_what_it_has_room_for() -> None:
    table: dict[str, Any] = {
        "source": "here",
        "files": {"few": {"count": 1, "mean_size": "1M", "existing_percent": 100}},
        "threads": {
            "writer": {
                "instances": 1,
                "flowops": ["write_random few 4K 3", "pause 9000", "wait gate 10 5"],
            },
            "reader": {"instances": 2, "flowops": ["read_random few 4K", "post gate"]},
        },
    }
    device = Memory()
    player = Player(from_table("gate", table), device, VOLUME)
    player.lay_out()
    laid = len(device.requests)
    player.run(0.1)
    found = "".join(each.kind[0] for each in device.requests[laid:])
    # The writer waits for ten posts between its rounds; there is room for ten for each of its waits
    # and five more. Each of two readers may have read a page that it could not post yet.
    reads = [part.count("r") for part in found.split("www")][1:-1]
    assert len(reads) > 5
    for rounds, count in enumerate(itertools.accumulate(reads), start=1):
        assert 10 * rounds <= count <= 10 * rounds + 5 + 2
    table["threads"]["reader"]["flowops"] = ["wait gate 1 5"]
    stuck = Player(from_table("gate", table), device, VOLUME)
    with pytest.raises(RunError, match="all threads wait for one another"):
        stuck.run(0.1)


def test_free_space_is_what_a_bitmap_says() -> None:
    for seed in range(20):
        drawn = random.Random(seed)
        free = [True] * 200
        files: list[list[tuple[int, int]]] = []
        space = Space(200, str(seed))
        for _ in range(300):
            if files and drawn.random() < 0.45:
                for start, count in files.pop(drawn.randrange(len(files))):
                    space.give(start, count)
                    assert not any(free[start : start + count])
                    free[start : start + count] = [True] * count
                continue
            wanted = drawn.randrange(1, 30)
            if sum(free) < wanted:
                with pytest.raises(RunError, match="filled the volume"):
                    space.take(wanted)
                break
            place = drawn.randrange(200)
            fits = place + wanted <= 200 and all(free[place : place + wanted])
            if drawn.random() < 0.3:
                assert space.take_at(place, wanted) == fits
                extents = [(place, wanted)] if fits else []
            else:
                extents = space.take(wanted)
                assert sum(count for _, count in extents) == wanted
            for start, count in extents:
                assert all(free[start : start + count])
                free[start : start + count] = [False] * count
            if extents:
                files.append(extents)


@pytest.mark.parametrize(
    ("flowop", "said"),
    [
        ("reed_whole 1M", 'unknown flowop "reed_whole"; did you mean "read_whole"'),
        ("append", "append is given size"),
        ("close few", "close is given nothing"),
        ("open fwe", 'unknown files "fwe"; did you mean "few"'),
        ("pause soon", '"soon" is no whole number'),
        ("append much", "size must be a number of bytes"),
    ],
)
def test_a_faulty_flowop_is_refused(flowop: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        of([flowop])


def test_what_cannot_be_played_says_why() -> None:
    with pytest.raises(ConfigError, match='did you mean "varmail"'):
        personality("varmial")
    for words, said in (
        (["create few", "close", "fsync"], 'no file of "few" is left to be created'),
        (["append 4K"], "needs an open file"),
    ):
        with pytest.raises(RunError, match=said):
            Player(of(words), Memory(), VOLUME).run(1)
    with pytest.raises(RunError, match="filled the volume"):
        Player(personality("oltp"), Memory(), 64 * MIB).lay_out()


linux = pytest.mark.skipif(sys.platform != "linux", reason="drives are served on Linux alone")


@linux
def test_a_served_drive_gets_the_requests_and_its_log_has_the_reads(tmp_path: Path) -> None:
    given = trial.Trial("varmail", "ttflash-small", "base", "384M", 0.05, "1M", dilate=4)
    told: list[float] = []
    found = given.run(lambda done, _: told.append(done))
    assert found["failed"] == 0
    assert found["error"] is None
    assert 0 < found["reads"] < found["lateness"]["read"]["count"]
    assert found["lateness"]["flush"]["count"] > 0
    assert found["read_mean_us"] > 0
    assert 0 <= found["blocked_percent"] <= 100
    assert 0 <= told[0] < 0.3
    assert told[-1] >= 1
    with serving(tmp_path, *FAST, "--size", "16M") as running:
        with NbdDevice(running.socket) as device:
            assert device.size_bytes == 16 * MIB
            device.submit(7, Request("write", 0, 3 * MIB))
            device.submit(8, Request("flush"))
            device.submit(9, Request("read", 4096, 2 * MIB))
            done: list[int] = []
            while len(done) < 3:
                done += device.wait(None)
            assert sorted(done) == [7, 8, 9]
            assert list(device.wait(device.now_ns() + 1000)) == []
            device.submit(1, Request("read", 16 * MIB, 4096))
            with pytest.raises(RunError, match="refused a request, with error 22"):
                device.wait(None)
        with NbdDevice(running.socket) as device:
            device.submit(1, Request("read", 0, 4096))
            assert list(device.wait(None)) == [1]
            running.kill()
            with pytest.raises(RunError, match="closed the connection"):
                device.wait(None)
    with pytest.raises(RunError, match="no drive is served"):
        NbdDevice(tmp_path / "nothing")


@linux
def test_a_trial_that_cannot_be_served_or_is_cancelled_leaves_no_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers: list[subprocess.Popen[str]] = []

    class Watched(subprocess.Popen[str]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            servers.append(self)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    given = trial.Trial("varmail", "ttflash-small", "base", "384M", 5, "256M")
    with pytest.raises(RunError, match="could not be served"):
        trial.Trial("varmail", "no-such", "base", "384M", 5, "256M").run()

    def cancel(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        given.run(cancel)
    assert [server.returncode is not None for server in servers] == [True, True]


@linux
def test_the_experiment_plays_on_any_served_drive(tmp_path: Path) -> None:
    script = experiment("personalities")
    with serving(tmp_path, *FAST, "--size", "384M") as running:
        words = ["--socket", str(running.socket), "--seconds", "0.05", "--warm-up", "1M"]
        out = tmp_path / "out.json"
        assert script.main([*words, "--json", str(out), "webserver"]) == 0
    (found,) = json.loads(out.read_text("utf-8"))
    assert (found["personality"], found["reads"] > 0) == ("webserver", True)
