"""The entry of the command `tinytail`.

It imports next to nothing before it can answer Ctrl-C: everything else is imported by `main`.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from tinytail.cli.codes import INTERRUPTED, RUN_FAILED


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code. SIGTERM and SIGHUP do what Ctrl-C does.

    Args:
        arguments: the words after the program's name; None for those it was called with.
    """
    try:
        with _interrupted_by_signals():
            _open_closed_streams()
            from tinytail.cli import app

            return app.run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except (ImportError, MemoryError) as error:
        # With little memory, libraries fail when they are loaded, in their own words.
        from tinytail.files.controls import visible

        said = visible(str(error)) or "there is not enough memory"
        print(f"error: it cannot go on: {said}", file=sys.stderr)  # noqa: T201
        return RUN_FAILED
    finally:
        # The interpreter remembers an interrupt that left an `exec`, by which data classes are
        # made, until the next `exec`; and would end by the signal although it has been heeded.
        exec("")


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP interrupt, so that files under way are ended or removed."""
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, signal.default_int_handler)}
    # Whoever starts it with nohup wants it to outlive the terminal.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, _hung_up)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _hung_up(number: int, frame: FrameType | None) -> None:
    """Interrupts, with nothing more written to a terminal: it is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(nowhere, descriptor)
    os.close(nowhere)
    signal.default_int_handler(number, frame)


def _open_closed_streams() -> None:
    """Gives a process that was started without standard output or error one that goes nowhere.

    Otherwise the next file to be opened would take its number, and be written to in its place.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
