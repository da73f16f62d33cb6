"""Whether two results differ by more than chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinytail.comparison.result import DesignResult


def compare_within_noise(result: DesignResult, reference: DesignResult, figure: str) -> bool | None:
    """Whether a figure of two results differs by no more than their intervals explain.

    The interval of the difference is made of the sides of both that face each other, by the root of
    the sum of their squares, as for independent runs. Within noise is what has 0 in it.

    Args:
        result: a result.
        reference: the result that it is compared with.
        figure: name of a figure as in `DesignResult.intervals`, such as `"read.p99_us"`.

    Returns:
        None if one of the two has no interval for the figure.
    """
    one, other = result.intervals.get(figure), reference.intervals.get(figure)
    if one is None or other is None:
        return None
    value, was = result.figure(figure), reference.figure(figure)
    if value is None or was is None:
        return None
    if value < was:
        (value, one), (was, other) = (was, other), (value, one)
    return is_chance(was, other.high, value, one.low)


def is_chance(less: float, less_high: float, more: float, more_low: float) -> bool:
    """Whether two figures differ by no more than the sides of their intervals that face each other.

    >>> is_chance(10.0, 13.0, 15.0, 11.0), is_chance(10.0, 11.0, 15.0, 13.0)
    (True, False)
    """
    return more - less <= math.hypot(more - more_low, less_high - less)


def margin(result: DesignResult, figure: str) -> str:
    """How far a figure may be off: the longer side of its interval in percent, or nothing.

    Beyond 100 % it says no more than that, since the figure is known to no better than its scale.
    """
    interval = result.intervals.get(figure)
    value = None if interval is None else result.figure(figure)
    if interval is None or not value:
        return ""
    percent = 100 * max(interval.high - value, value - interval.low) / value
    if percent > 100:
        return ">±100 %"
    return f"±{max(1.0, percent):.0f} %"
