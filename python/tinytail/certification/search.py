"""Looks for the largest multiplier that passes each of two tests, in as few runs as it can."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tinytail.engine.results import Test

TESTS: tuple[Test, Test] = ("performance", "stress")


@dataclass(frozen=True, slots=True)
class Bracket:
    """What is known of a rating.

    `passed` is the largest multiplier that passed with none that failed below it, 0 if there is
    none; `failed` is the smallest that failed, None if none did. `strays` passed above `failed`:
    the drive passes no single range of multipliers.
    """

    passed: int
    failed: int | None
    strays: tuple[int, ...]


class Search:
    """One run at a multiplier tells of both tests. It goes on in rounds of at most two runs.

    What a round needs depends on the rounds before it alone, and so does not change with the number
    of runs that go on at once. When both ratings are found, the multipliers on either side of
    what they lie between are tested too: a drive that fails below its rating or passes above it is
    found out.

    Args:
        most: the largest multiplier.
        resolution: how far apart the multipliers may be that a rating lies between.
    """

    def __init__(self, most: int, resolution: int = 1) -> None:
        self._most = most
        self._resolution = resolution
        self._tested: dict[int, dict[Test, bool]] = {}

    def record(self, multiplier: int, *, performance: bool, stress: bool) -> None:
        """Notes what a run showed."""
        self._tested[multiplier] = {"performance": performance, "stress": stress}

    def bracket(self, test: Test) -> Bracket:
        """What is known of a rating so far."""
        failed = min((m for m, passed in self._tested.items() if not passed[test]), default=None)
        passed = [m for m, passed in self._tested.items() if passed[test]]
        below = [m for m in passed if failed is None or m < failed]
        strays = tuple(sorted(set(passed) - set(below)))
        return Bracket(max(below, default=0), failed, strays)

    def is_found(self, test: Test) -> bool:
        """Whether a rating is as sharp as wanted."""
        low, high = self._range(test)
        return high - low <= self._gap_max(high)

    def wanted(self) -> list[int]:
        """The multipliers of the next round, none if the search has ended."""
        ranges = list(dict.fromkeys(self._range(test) for test in TESTS if not self.is_found(test)))
        if not ranges:
            return self._neighbours()
        parts = 2 if len(ranges) == 2 else 3
        wanted = {
            low + max(1, (high - low) * part // parts)
            for low, high in ranges
            for part in range(1, parts)
        }
        return sorted(wanted - self._tested.keys())

    def runs_left(self) -> int:
        """About how many runs are still to come."""
        found = 0
        for low, high in {self._range(test) for test in TESTS if not self.is_found(test)}:
            found += math.ceil(math.log2(max(2.0, (high - low) / self._resolution)))
        if not self._tested:
            # Two ratings that differ part company after a while.
            found += found // 2
        return found + len(self._neighbours())

    def _range(self, test: Test) -> tuple[int, int]:
        """The rating is at least the first and below the second."""
        bracket = self.bracket(test)
        return bracket.passed, self._most + 1 if bracket.failed is None else bracket.failed

    def _gap_max(self, high: int) -> int:
        """Nothing beyond the largest multiplier can be tested, so that one itself must be."""
        return 1 if high > self._most else self._resolution

    def _neighbours(self) -> list[int]:
        def beside() -> Iterator[int]:
            for test in TESTS:
                low, high = self._range(test)
                yield low - 1
                yield high + 1

        return sorted({m for m in beside() if 1 <= m <= self._most} - self._tested.keys())[:2]
