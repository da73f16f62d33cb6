"""What policies answer with, plain and compiled ones alike: whole numbers, by name."""

from __future__ import annotations

from enum import IntEnum

# How much a plane wants a GC. NO is also what a suspension answers that leaves the work alone.
NO, SOFT, HARD = 0, 1, 2
# Whether a GC may start.
CLOSED, OPEN = 0, 1
# What an order is asked about, by the `question` of a view.
AT_DIE, AT_CHANNEL = 3, 4
# How a read behind a GC is served.
DIRECT, WAIT, RECONSTRUCT = 0, 1, 2


class Work(IntEnum):
    """The class of waiting work."""

    HOST_READ = 0
    AUXILIARY_READ = 1
    HOST_PROGRAM = 2
    FLUSH = 3
    GC = 4
    GC_PROGRAM = 5
    BACKGROUND = 6
    LOCK = 7


def suspend_now(keep: int = 0, serve: int = 0, until_ns: int = 0) -> int:
    """The running erase or program makes way at once.

    Args:
        keep: what it keeps: 0 all its progress, 1 completed steps, 2 all, and it costs no time.
        serve: which reads are served before it goes on: 0 all until none waits, 1 those that had
            arrived, 2 those that arrive up to `until_ns`.
        until_ns: the simulated time up to which reads are served.
    """
    return 1 | keep << 2 | serve << 4 | until_ns << 8


def suspend_at_boundary(serve: int = 0, until_ns: int = 0) -> int:
    """The running erase or program makes way at the end of its step; `suspend_now` has the rest."""
    return 2 | serve << 4 | until_ns << 8


def ask_at(time_ns: int) -> int:
    """Not yet: ask again at a simulated time if the read still waits then."""
    return 3 | time_ns << 8
