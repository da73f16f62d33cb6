"""A served drive whose data lie on a full disk: 8 MiB, and only these servers see it."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbd_client import FLUSH, FUA, TRIM, WRITE, Client
from served import FAST, MIB, serving, tool

BLOCK = 64 * 1024

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="drives are served on Linux alone")


@contextmanager
def small_disk(folder: Path) -> Iterator[tuple[str, ...]]:
    """Mounts a small file system on a folder, and gives the words that run a command which sees it.

    It is in a namespace of its own, which ends with the process that holds it; who isn't root
    needs a namespace of users besides.
    """
    unshare, enter = tool("unshare"), tool("nsenter")
    mount = 'mount -t tmpfs -o size=8m none "$0" && echo mounted && exec sleep 600'
    refused = ""
    for ours in (["--mount"], ["--mount", "--user", "--map-root-user"]):
        words = [unshare, *ours, "sh", "-c", mount, str(folder)]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, text=True, stdout=pipe, stderr=pipe) as holder:
            assert holder.stdout is not None
            try:
                if holder.stdout.readline() == "mounted\n":
                    seen = ["--user", "--preserve-credentials"] if "--user" in ours else []
                    yield (enter, f"--target={holder.pid}", "--mount", *seen, "--")
                    return
            finally:
                holder.kill()
            assert holder.stderr is not None
            refused = holder.stderr.read().strip()
    pytest.skip(f"no file system can be mounted here: {refused}")


def test_a_disk_without_room_fails_writes_and_loses_nothing_else(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    drive = (*FAST, "--size", "64M", "--data", str(disk / "data"))

    def content(number: int) -> bytes:
        return number.to_bytes(4, "little") * (BLOCK // 4)

    with small_disk(disk) as before:
        kept: dict[int, bytes] = {}
        with serving(tmp_path, *drive, before=before) as running:
            with Client(running.socket) as client:
                for number in range(1, 256):
                    # Far apart, so that each needs room.
                    at = number * 37 % 256 * 4 * BLOCK
                    error = client.ask(WRITE, at, BLOCK, content(number))
                    if error != 0:
                        break
                    kept[at] = content(number)
                assert error == errno.ENOSPC
                assert 7 * MIB <= len(kept) * BLOCK <= 8 * MIB
                assert client.ask(WRITE, at, BLOCK, content(1), FUA) == errno.ENOSPC
                assert client.ask(FLUSH, 0, 0) == 0
                # What has its room takes new data, and what is trimmed gives its room back.
                first, second, *_ = kept
                kept[first] = content(1000)
                assert client.ask(WRITE, first, BLOCK, kept[first], FUA) == 0
                del kept[second]
                assert client.ask(TRIM, second, BLOCK) == 0
                kept[at] = content(2000)
                assert client.ask(WRITE, at, BLOCK, kept[at]) == 0
                for place, expected in kept.items():
                    assert client.read(place, BLOCK) == expected
                assert client.read(second, BLOCK) == bytes(BLOCK)
            assert running.stop()["failed"] == 2
        with serving(tmp_path, *drive, before=before) as running:
            with Client(running.socket) as client:
                for place, expected in kept.items():
                    assert client.read(place, BLOCK) == expected
            running.stop()
