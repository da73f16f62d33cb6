"""Size of the tests that have two: a sample in `make test`, the full product in `make soak`."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

SOAK = bool(os.environ.get("TINYTAIL_SOAK"))
"""True if `make soak` runs the tests."""

T = TypeVar("T")


def sample(cases: Sequence[T], count: int, seed: int = 1) -> list[T]:
    """Return all of `cases` in `make soak`, otherwise `count` of them, drawn by `seed`."""
    if SOAK or count >= len(cases):
        return list(cases)
    return random.Random(seed).sample(list(cases), count)
