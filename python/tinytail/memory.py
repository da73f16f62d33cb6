"""Whether the drives of runs that go on at once fit into the memory that the machine has free.

A process that the system ends for want of memory cannot say so. What a drive takes follows from its
pages; what requests, logs and stories take beside it is small, and goes into a fixed amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinytail import engine, humanize
from tinytail.errors import RunError

MEMINFO = Path("/proc/meminfo")
# Bytes for each page: ARCHITECTURE.md has where they go.
REVERSE_MAP = 4
MAP = 4
VALIDITY = 1 / 8
STRIPES = 1
SEQUENCE_NUMBER = 8
ORACLE = 7.2
BIT_ERRORS = 1
BLOCK = 16
# Whatever a run needs beside its drive.
RUN = 64 << 20


@dataclass(frozen=True, slots=True)
class Fit:
    """How many runs go on at once, and what is to be said of it."""

    jobs: int
    note: str | None = None


def drive_bytes(
    device: str, design: str, settings: Sequence[str] = (), *, verify: bool = False
) -> int | None:
    """About how much memory a run takes; None if the drive's pages are not known.

    Raises:
        ConfigError: an unknown or faulty device or design.
    """
    derived = engine.device_derived(device, settings)
    pages, logical = derived.get("physical_pages"), derived.get("logical_pages")
    if pages is None or logical is None:
        return None
    document = engine.device_document(device, settings)
    described = engine.design(design, settings=settings)
    rules = {(row.section, row.key): row.value for row in described.settings}
    each = REVERSE_MAP + VALIDITY
    each += STRIPES * (rules.get(("place", "policy")) == "rain")
    each += SEQUENCE_NUMBER * (rules.get(("gc", "page_sequence")) == "true")
    each += ORACLE * verify + BIT_ERRORS * ("errors" in document)
    blocks = pages / document["geometry"]["pages_per_block"]
    return int(each * pages + MAP * logical + BLOCK * blocks) + RUN


def shared_bytes(device: str, designs: Sequence[str], settings: Sequence[str] = ()) -> int:
    """About how much memory the aged drives take that designs copy, where no cache holds them.

    Raises:
        ConfigError: an unknown or faulty device or design.
    """
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for design in designs:
        rules = engine.design(design, settings=settings).settings
        place = tuple((row.key, row.value) for row in rules if row.section == "place")
        groups.setdefault(place, []).append((drive_bytes(device, design, settings) or RUN) - RUN)
    return sum(max(group) for group in groups.values() if len(group) > 1)


def available_bytes() -> int | None:
    """The memory that processes may still take without swapping; None if the system has no say."""
    try:
        for line in MEMINFO.read_text("ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return int(value.split()[0]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return None


def fit(
    needs: Sequence[int | None], *, jobs: int | None, jobs_default: int, beside: int = 0
) -> Fit:
    """How many of these runs may go on at once.

    Args:
        needs: what each of them takes, in bytes.
        jobs: how many the user wants. So many run, with a warning if they may not fit.
        jobs_default: how many run if the user says nothing and they fit.
        beside: what is taken beside them, in bytes.

    Raises:
        RunError: not even one of them fits, and the user has not said how many are to run.
    """
    wanted = min(jobs or jobs_default, len(needs))
    free = available_bytes()
    known = sorted((need for need in needs if need is not None), reverse=True)
    if free is None or not known:
        return Fit(wanted)
    fitting = wanted
    while fitting > 0 and beside + sum(known[:fitting]) > free:
        fitting -= 1
    if fitting == wanted:
        return Fit(wanted)
    said = _said(known[0] + beside, free)
    if jobs is not None:
        return Fit(wanted, f"{said}: the system may end the process for want of memory")
    if fitting == 0:
        raise RunError(f"{said}; fewer blocks need less, and --jobs 1 tries it all the same")
    return Fit(fitting, f"{said}: {fitting} run at once instead of {wanted}")


def check(device: str, design: str, settings: Sequence[str] = ()) -> None:
    """Makes sure that one drive fits into the memory that is free.

    Raises:
        ConfigError: an unknown or faulty device or design.
        RunError: it does not fit.
    """
    need, free = drive_bytes(device, design, settings), available_bytes()
    if need is not None and free is not None and need > free:
        raise RunError(f"{_said(need, free)}; fewer blocks need less")


def _said(need: int, free: int) -> str:
    there = humanize.memory(free)
    return f"the drive takes about {humanize.memory(need)} of memory, and {there} are free"
