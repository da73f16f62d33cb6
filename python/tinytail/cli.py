"""The entry of the command `tinytail`.

It imports next to nothing before it can answer Ctrl-C: everything else is imported by `main`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

OK = 0
RUN_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    Args:
        arguments: the words after the program's name; None for those it was called with.
    """
    try:
        _open_closed_streams()
        from tinytail import commands

        return commands.run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED


def _open_closed_streams() -> None:
    """Gives a process that was started without standard output or error one that goes nowhere.

    Otherwise the next file to be opened would take its number, and be written to in its place.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
