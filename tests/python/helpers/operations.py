"""Counts what a function does, so that a test can say how its cost grows without a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any


def operations(function: Callable[[], object]) -> int:
    """Return how many instructions of Python a call executes in this thread.

    The same call gives the same number on any machine. Loops of libraries in C count as one.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def growth(function: Callable[[int], object], small: int, large: int) -> float:
    """Return by how much more than the work the operations grow from one size to another.

    1 is linear. What a call does whatever the size is, is left out.
    """
    # What is made once and kept is not counted.
    function(large), function(small), function(1)
    none, few, many = (operations(partial(function, size)) for size in (1, small, large))
    return (many - none) / (few - none) / ((large - 1) / (small - 1))
