"""What share of a bench case's time each room of the engine takes, sampled by perf."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Samples a second, five for each per cent of it. More would slow a case down.
_RATE_HZ = 499
# Rooms with a smaller share are left out.
_SHARE_MIN_PERCENT = 1.0
_LINE = re.compile(r"^\s*([\d.]+)%\s+(\S+)\s+\[[^]]*\]\s+(.*?)\s*$")
_ROOM = re.compile(r"tinytail_core::(\w+)")
_CRATE = re.compile(r"tinytail_(\w+)::")
_SAMPLE = ["perf", "record", "-q", "-F", str(_RATE_HZ), "-e", "cpu-clock", "-o"]


def at_hand() -> bool:
    """Whether perf is there and may sample."""
    if shutil.which("perf") is None:
        return False
    probe = [*_SAMPLE, "/dev/null", "--", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def sampled(command: Sequence[str], samples: Path) -> list[str]:
    """The command, sampled into a file."""
    return [*_SAMPLE, str(samples), "--", *command]


def by_room(samples: Path) -> dict[str, float] | None:
    """The shares in percent, the largest first; None if the samples cannot be read."""
    report = ["perf", "report", "--stdio", "--sort", "dso,symbol", "-i", str(samples)]
    found = subprocess.run(report, capture_output=True, text=True, check=False)
    return None if found.returncode else rooms_of(found.stdout)


def rooms_of(report: str) -> dict[str, float]:
    """The shares of a report of perf's, whose lines have percent, object and symbol.

    A function counts for the room that its file stands in, with what is inlined into it; what is
    not the core's for its crate, and all else for the object that it is in.
    """
    shares: dict[str, float] = {}
    for line in report.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        percent, place, symbol = found.groups()
        named = _ROOM.search(symbol) or _CRATE.search(symbol)
        room = named[1] if named else "kernel" if place.startswith("[kernel") else Path(place).name
        shares[room] = shares.get(room, 0.0) + float(percent)
    ranked = sorted(shares.items(), key=lambda share: -share[1])
    return {room: round(share, 1) for room, share in ranked if share >= _SHARE_MIN_PERCENT}
