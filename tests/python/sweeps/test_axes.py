"""Axes: values, ranges, zips, and what is refused."""

from __future__ import annotations

import datetime
import itertools
import random
from typing import Any

import numpy
import pytest

from tinytail.errors import UsageError
from tinytail.sweeps.axes import POINTS_MAX, grid


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([1, 2, 4], [1, 2, 4]),
        (range(4, 17, 4), [4, 8, 12, 16]),
        (numpy.array([1, 2]), [1, 2]),
        ({"values": ["a", "b"]}, ["a", "b"]),
        ({"from": 7, "to": 28, "step": 7}, [7, 14, 21, 28]),
        ({"from": 7, "to": 27, "step": 7}, [7, 14, 21]),
        ({"from": 3, "to": 1, "step": -1}, [3, 2, 1]),
        ({"from": 0.1, "to": 0.3, "step": 0.1}, [0.1, 0.2, 0.3]),
        ({"from": 1, "to": 64, "factor": 2}, [1, 2, 4, 8, 16, 32, 64]),
        ({"from": 1, "to": 1000, "points": 4, "scale": "log"}, [1, 10, 100, 1000]),
        ({"from": 0, "to": 1.0, "points": 5}, [0, 0.25, 0.5, 0.75, 1]),
        ({"from": 1, "to": 3, "points": 9}, [1, 2, 3]),
        ({"from": 5, "to": 5, "points": 1}, [5]),
    ],
)
def test_values_and_ranges(given: Any, values: list[Any]) -> None:
    [axis] = grid({"x.y": given}).axes
    assert list(axis.values) == values


def test_a_grid_has_every_combination_once_whatever_the_axes() -> None:
    numbers = random.Random(7)
    for _ in range(50):
        axes = {
            f"x.{name}": list(range(numbers.randint(1, 4))) for name in range(numbers.randint(1, 4))
        }
        found = [tuple(each.values()) for each in grid(axes)]
        assert found == list(itertools.product(*axes.values()))
        assert len(grid(axes)) == len(found)


def test_zipped_axes_go_together() -> None:
    made = grid({"x.a": [1, 2], "x.b": [10, 20, 30], "x.c": [7, 8]}, [["x.a", "x.c"]])
    assert len(made) == 6
    assert [(each["x.a"], each["x.c"]) for each in made] == [(1, 7)] * 3 + [(2, 8)] * 3


def test_a_table_in_a_table_is_a_section() -> None:
    nested = grid({"gc": {"write_points": [1, 2]}, "place": {"a": {"from": 1, "to": 2, "step": 1}}})
    assert [axis.name for axis in nested.axes] == ["gc.write_points", "place.a"]


@pytest.mark.parametrize(
    ("axes", "zipped", "said"),
    [
        ({"x.y": []}, [], "axis x.y has no values"),
        ({"x.y": 3}, [], "must be a list of values, or a range such as"),
        ({"x.y": "abc"}, [], "must be a list of values, or a range such as"),
        ({"x.y": [1, 1]}, [], "axis x.y has the value 1 twice"),
        ({"x.y": range(10**12)}, [], "1,000,000,000,000 values"),
        ({"x.y": [datetime.date(2026, 1, 1)]}, [], "allowed: numbers, text, true, false and lists"),
        ({"x.y": [None]}, [], "allowed: numbers, text"),
        ({"x.y": [float("nan")]}, [], "which is no number"),
        ({"x.y": {"from": 1, "to": 2}}, [], 'needs one of "step", "factor" and "points"'),
        ({"x.y": {"from": 1, "step": 2}}, [], 'is a range without "to"'),
        ({"x.y": {"from": 1, "to": 2, "stop": 2}}, [], 'unknown key "stop"; did you mean "step"?'),
        ({"x.y": {"from": 1, "to": 9, "step": 0}}, [], "never gets from 1 to 9 by a step of 0"),
        ({"x.y": {"from": 1, "to": 9, "step": -1}}, [], "never gets from 1 to 9 by a step of -1"),
        ({"x.y": {"from": 1, "to": 9, "factor": 1}}, [], "never gets from 1 to 9 by a factor of 1"),
        ({"x.y": {"from": 0, "to": 9, "factor": 2}}, [], "equal ratios need numbers above 0"),
        ({"x.y": {"from": 0, "to": 9, "step": 1e-12}}, [], "9e+12 values; a sweep has 10,000,000"),
        ({f"x.{n}": list(range(100)) for n in range(4)}, [], "= 100,000,000 points; a sweep has"),
        ({"x.y": [1]}, [["x.z"]], 'zip names "x.z", which is no axis; did you mean "x.y"?'),
        ({"x.y": [1], "x.z": [1, 2]}, [["x.y", "x.z"]], "x.y has 1, x.z has 2"),
        ({"x.y": [1]}, [["x.y", "x.y"]], 'zip names "x.y" twice'),
        ({"x": {"y": [1]}, "x.y": [2]}, [], "axis x.y is given twice"),
    ],
)
def test_what_is_no_axis_is_refused(axes: Any, zipped: Any, said: str) -> None:
    with pytest.raises(UsageError) as found:
        grid(axes, zipped)
    assert said in str(found.value)


def test_the_largest_product_is_allowed() -> None:
    side = round(POINTS_MAX**0.5)
    assert len(grid({"x.a": range(side), "x.b": range(side)})) == side**2
