"""Drives that are served in a process of their own."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from commands import read_json, start

MIB = 2**20


DRIVE = ("--device", "ttflash-small", "--design", "base")


# At the speed of the machine, where it is not about time.
FAST = (*DRIVE, "--no-delay")


class Running:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *words: str, **options: Any) -> None:
        self.socket = folder / "socket"
        self._json = folder / "summary.json"
        address = f"unix:{self.socket}"
        self.process = start(
            "serve", *words, "--nbd", address, "--json", str(self._json), **options
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        if "serving at" not in self.line:
            _, error = self.process.communicate(timeout=30)
            raise AssertionError(error)
        self.uri = f"nbd+unix:///?socket={self.socket}"

    def stop(self, by: signal.Signals = signal.SIGTERM) -> dict[str, Any]:
        """Ends it in good order, and returns its summary."""
        self.process.send_signal(by)
        self.out, self.err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, self.err
        return read_json(self._json)

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.communicate(timeout=30)


@contextmanager
def serving(folder: Path, *words: str, **options: Any) -> Iterator[Running]:
    running = Running(folder, *words, **options)
    try:
        yield running
    finally:
        running.kill()


def tool(name: str) -> str:
    """A program that is installed; else the test is skipped, which pytest says."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
