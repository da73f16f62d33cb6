"""Whether the drives of runs that go on at once fit into the memory that the machine has free.

A process that the system ends for want of memory cannot say so. What a drive takes follows from its
pages; what requests, logs and request timelines take beside it is small, and goes into a fixed
amount.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tinytail import units
from tinytail.engine import catalog
from tinytail.errors import ConfigError

MEMINFO = Path("/proc/meminfo")
# Pages that the process has mapped, in the first number.
STATM = Path("/proc/self/statm")
# The groups of the process, and where each kind of them lies: of version 2, and of version 1.
GROUPS = Path("/proc/self/cgroup")
GROUP_FOLDER = Path("/sys/fs/cgroup")
# Bytes for each page: crates/core/src/DECISIONS.md has where they go.
REVERSE_MAP = 4
MAP = 4
VALIDITY = 1 / 8
STRIPES = 1
SEQUENCE_NUMBER = 8
ORACLE = 7.2
BIT_ERRORS = 1
BLOCK = 16
# A plane has no fewer.
BLOCKS_MIN = 4
# Whatever a run needs beside its drive.
RUN = 64 << 20
DRAWN_LATER = (
    "`tinytail report` draws what `tinytail compare --json` has written, elsewhere or later"
)
# What is measured is up to 2 % above what follows from the pages.
MARGIN = 1.03


@dataclass(frozen=True, slots=True)
class Free:
    """What may still be taken, and the sentence's end that says so."""

    size_bytes: int
    words: str


@dataclass(frozen=True, slots=True)
class Fit:
    """How many runs go on at once, what is to be said, and whether `held` fits beside them."""

    jobs: int
    note: str | None = None
    holds: bool = True


def drive_bytes(
    device: str, design: str, settings: Sequence[str] = (), *, verify: bool = False
) -> int | None:
    """About how much memory a run takes; None if the drive's pages are not known.

    Raises:
        ConfigError: an unknown or faulty device or design.
    """
    derived = catalog.device_derived(device, settings)
    pages, logical = derived.get("physical_pages"), derived.get("logical_pages")
    if pages is None or logical is None:
        return None
    document = catalog.device_document(device, settings)
    described = catalog.describe_design(design, settings=settings)
    rules = {(row.section, row.key): row.value for row in described.settings}
    each = REVERSE_MAP + VALIDITY
    each += STRIPES * (rules.get(("place", "policy")) == "rain")
    each += SEQUENCE_NUMBER * (rules.get(("gc", "page_sequence")) == "true")
    each += ORACLE * verify + BIT_ERRORS * ("errors" in document)
    blocks = pages / document["geometry"]["pages_per_block"]
    return int(MARGIN * (each * pages + MAP * logical + BLOCK * blocks)) + RUN


def shared_bytes(device: str, designs: Sequence[str], settings: Sequence[str] = ()) -> int:
    """About how much memory the aged drives take that designs copy, where no cache holds them.

    Raises:
        ConfigError: an unknown or faulty device or design.
    """
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for design in designs:
        rules = catalog.describe_design(design, settings=settings).settings
        place = tuple((row.key, row.value) for row in rules if row.section == "place")
        groups.setdefault(place, []).append((drive_bytes(device, design, settings) or RUN) - RUN)
    return sum(max(group) for group in groups.values() if len(group) > 1)


def free() -> Free | None:
    """The memory that this process may still take without swapping; None if nothing says so."""
    return min(_limits(), key=lambda limit: limit.size_bytes, default=None)


def _limits() -> Iterator[Free]:
    with suppress(OSError, ValueError, IndexError):
        for line in MEMINFO.read_text("ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                yield Free(int(value.split()[0]) << 10, "are free")
    with suppress(OSError, ValueError, IndexError):
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            mapped = int(STATM.read_text("ascii").split()[0]) * resource.getpagesize()
            yield Free(max(0, limit - mapped), "are left of what ulimit -v allows")
    with suppress(OSError, ValueError):
        for line in GROUPS.read_text("ascii").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                yield from _group_limits(GROUP_FOLDER, path, "memory.max", "memory.current")
            elif "memory" in controllers.split(","):
                names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
                yield from _group_limits(GROUP_FOLDER / "memory", path, *names)


def _group_limits(root: Path, path: str, limit: str, used: str) -> Iterator[Free]:
    """What a group and those around it leave. A container may see its own group as the root."""
    group = Path(path.lstrip("/"))
    for folder in (root / group, *(root / parent for parent in group.parents)):
        # There is none, or it says "max".
        with suppress(OSError, ValueError):
            allowed = int((folder / limit).read_text("ascii"))
            taken = int((folder / used).read_text("ascii"))
            # Files that nobody has open give way.
            for line in (folder / "memory.stat").read_text("ascii").splitlines():
                name, _, value = line.partition(" ")
                if name in ("inactive_file", "active_file"):
                    taken -= int(value)
            yield Free(max(0, allowed - taken), "are left of what the control group allows")


def fit(
    needs: Sequence[int | None],
    *,
    blocks: Callable[[], int],
    jobs: int | None,
    jobs_default: int,
    beside: int = 0,
    pictures: int = 0,
    held: int = 0,
) -> Fit:
    """How many of these runs may go on at once.

    Args:
        needs: what each of them takes, in bytes.
        blocks: how many blocks a plane of the drive has, of which it takes so much.
        jobs: how many the user wants. So many run, with a warning if they may not fit.
        jobs_default: how many run if the user says nothing and they fit.
        beside: what is taken beside them, in bytes.
        pictures: what drawing takes when they have ended, in bytes. They keep their memory then.
        held: what may be taken beside them, in bytes, but changes nothing if it does not fit.

    Raises:
        ConfigError: not even one of them fits.
    """
    wanted = min(jobs or jobs_default, len(needs))
    there = free()
    known = sorted((need for need in needs if need is not None), reverse=True)
    if there is None or not known:
        return Fit(wanted)
    holds = beside + pictures + sum(known[:wanted]) + held <= there.size_bytes
    fitting = wanted
    while fitting > 0 and beside + pictures + sum(known[:fitting]) > there.size_bytes:
        fitting -= 1
    if fitting == wanted:
        return Fit(wanted, holds=holds)
    said = _said(known[0] + beside, there, pictures)
    if fitting == 0 and pictures > 0 and known[0] + beside <= there.size_bytes:
        raise ConfigError(f"{said}; it fits without them: {DRAWN_LATER}")
    if fitting == 0:
        alone = "; one design at a time fits" if known[0] <= there.size_bytes else None
        raise ConfigError(said + (alone or _remedy(known[0], there, blocks())))
    if jobs is not None:
        note = f"{said}: the system may end the process for want of memory"
        return Fit(wanted, note, holds=False)
    holds = beside + sum(known[:fitting]) + held <= there.size_bytes
    note = f"{said}: {units.counted(fitting, 'run')} at once instead of {wanted}"
    return Fit(fitting, note, holds)


def blocks_per_plane(device: str, settings: Sequence[str] = ()) -> int:
    """How many blocks each plane of a drive has.

    Raises:
        ConfigError: an unknown or faulty device.
    """
    return int(catalog.device_document(device, settings)["geometry"]["blocks_per_plane"])


def check(device: str, design: str, settings: Sequence[str] = ()) -> None:
    """Makes sure that one drive fits into the memory that is free.

    Raises:
        ConfigError: an unknown or faulty device or design; or it does not fit.
    """
    need = drive_bytes(device, design, settings)
    fit([need], blocks=lambda: blocks_per_plane(device, settings), jobs=None, jobs_default=1)


def check_pictures(size_bytes: int) -> None:
    """Makes sure that what drawing takes fits into the memory that is free.

    Raises:
        ConfigError: it does not.
    """
    there = free()
    if there is not None and size_bytes > there.size_bytes:
        raise ConfigError(
            f"drawing takes about {units.memory(size_bytes)} of memory, "
            f"and {units.memory(there.size_bytes)} {there.words}; {DRAWN_LATER}"
        )


def _said(need: int, there: Free, pictures: int = 0) -> str:
    drawing = f", drawing {units.memory(pictures)}" if pictures else ""
    return (
        f"the drive takes about {units.memory(need)} of memory{drawing}, "
        f"and {units.memory(there.size_bytes)} {there.words}"
    )


def _remedy(need: int, there: Free, blocks: int) -> str:
    """The end of a sentence: how many blocks fit."""
    fitting = blocks * (there.size_bytes - RUN) // max(1, need - RUN)
    if fitting < BLOCKS_MIN:
        return ""
    rounded = fitting - fitting % 10 ** (len(str(fitting)) - 2) if fitting > 99 else fitting
    return f"; this fits: --set geometry.blocks_per_plane={rounded}"
