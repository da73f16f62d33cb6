"""The entry of the command `tinytail`.

It imports next to nothing before it can answer Ctrl-C: everything else is imported by `main`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

OK = 0
RUN_FAILED = 1
# Of `tinytail diff`, as of diff(1).
DIFFERENT = 1
BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code. SIGTERM does what Ctrl-C does.

    Args:
        arguments: the words after the program's name; None for those it was called with.
    """
    try:
        with _interrupted_by_sigterm():
            _open_closed_streams()
            from tinytail import commands

            return commands.run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    finally:
        # The interpreter remembers an interrupt that left an `exec`, by which data classes are
        # made, until the next `exec`; and would end by the signal although it has been heeded.
        exec("")


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM interrupt, so that files that are under way are ended or removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _open_closed_streams() -> None:
    """Gives a process that was started without standard output or error one that goes nowhere.

    Otherwise the next file to be opened would take its number, and be written to in its place.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
