"""What is done to recorded requests before they are played."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from tinytail import arguments
from tinytail.errors import UsageError

Fit = Literal["fold", "clip"]
BurstGap = float | Literal["mean"]


@dataclass(frozen=True, slots=True)
class Transform:
    """What is done to the requests of a trace or a stand-in, in the order of the fields.

    Attributes:
        window_s: keep only the requests from one time to another, in seconds.
        busiest_s: keep only the window of this many seconds that has the most requests.
        burst_gap_s: make bursts: requests less than so many seconds apart come at once, later ones
            so long after the burst before has completed; "mean" is the mean time between requests.
        scale_time: multiply times by this; 0.5 makes the requests come twice as fast.
        scale_size: multiply sizes by this.
        repeat: play the requests so many times, one after the other.
        repeat_to_requests: play the requests over and over, until there are so many.
        fit: fold or clip requests that reach beyond the region, which are an error otherwise.
        region_bytes: size of the region to fit requests to; the rest of the drive if not given.
        offset_bytes: where the region begins; added to every address.
        critical_writes: mark every write as critical, a hint that drives heed which place pages
            late.
    """

    window_s: tuple[float, float] | None = None
    busiest_s: float | None = None
    burst_gap_s: BurstGap | None = None
    scale_time: float | None = None
    scale_size: float | None = None
    repeat: int | None = None
    repeat_to_requests: int | None = None
    fit: Fit | None = None
    region_bytes: int | None = None
    offset_bytes: int | None = None
    critical_writes: bool | None = None

    def given(self) -> dict[str, Any]:
        """What is not left as it is, by name, in the form in which the native module reads it."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if value is not None}

    def words(self) -> list[str]:
        """The options of a command line that say the same."""
        words: list[str] = []
        for name, value in self.given().items():
            if isinstance(value, bool):
                words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
                continue
            values = value if isinstance(value, tuple) else (value,)
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
        return words

    def check(self) -> None:
        """Makes sure that the native module can read it.

        Raises:
            UsageError: a value of the wrong type.
        """
        if self.window_s is not None:
            if not isinstance(self.window_s, tuple) or len(self.window_s) != 2:
                raise UsageError(f"window_s must be two numbers, not {self.window_s!r}")
            for value in self.window_s:
                _number("window_s", value)
        if isinstance(self.burst_gap_s, str):
            arguments.choice("burst_gap_s", self.burst_gap_s, ("mean",))
        elif self.burst_gap_s is not None:
            _number("burst_gap_s", self.burst_gap_s)
        for name in ("busiest_s", "scale_time", "scale_size"):
            if getattr(self, name) is not None:
                _number(name, getattr(self, name))
        for name in ("repeat", "repeat_to_requests", "region_bytes", "offset_bytes"):
            if getattr(self, name) is not None:
                arguments.whole_number(name, getattr(self, name), 0, arguments.U64_MAX)
        if self.critical_writes is not None and not isinstance(self.critical_writes, bool):
            raise UsageError(f"critical_writes must be True or False, not {self.critical_writes!r}")
        if self.fit is not None:
            arguments.choice("fit", self.fit, get_args(Fit))


def _number(parameter: str, value: object) -> None:
    # JSON has no words for what is not finite.
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{parameter} must be a number, not {value!r}")


def checked(value: object) -> Transform:
    """The transform, or one that changes nothing for None.

    Raises:
        UsageError: it is no transform, or one with a value of the wrong type.
    """
    if value is None:
        return Transform()
    if not isinstance(value, Transform):
        raise UsageError(f"transform must be a tinytail.Transform, not {type(value).__name__}")
    value.check()
    return value
