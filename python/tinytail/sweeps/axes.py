"""Axes of a sweep: which values each has, and how their combinations follow from them.

An axis is a list of values, or a range: `{"from": 7, "to": 28, "step": 7}`, `{"from": 1, "to": 64,
"factor": 2}`, or `{"from": 1, "to": 64, "points": 4}` with `"scale": "log"` if the points lie at
equal ratios. Both ends belong to it. A range between whole numbers has whole numbers alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice, product
from typing import Any, Literal

from tinytail.engine import arguments
from tinytail.errors import UsageError, suggestion

# What stands behind the name of an axis: values, or a table that says them.
AxisValues = Iterable[Any] | Mapping[str, Any]

# The type in Arrow of a column of values.
Type = Literal["string", "int64", "double", "bool", "list<string>"]

POINTS_MAX = 10_000_000
_RANGE = ("from", "to", "step", "factor", "points", "scale")
_KEYS = ("values", *_RANGE)


@dataclass(frozen=True, slots=True)
class Axis:
    """A value that a sweep varies.

    Attributes:
        name: What it varies: `design`, `device`, `workload`, an option such as `requests`, or a
            value of a file, such as `gc.write_points`.
        values: Its values, in their order.
        zipped: The axes whose values go with these.
        type: The type of its column.
    """

    name: str
    values: tuple[Any, ...]
    zipped: tuple[Axis, ...] = ()
    type: Type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Once: whatever shows a sweep asks for it at each row.
        object.__setattr__(self, "type", _type(self.values))

    @property
    def title(self) -> str:
        """Its name, with those of the axes that go with it."""
        others = ", ".join(axis.name for axis in self.zipped)
        return f"{self.name} (with {others})" if others else self.name


@dataclass(frozen=True, slots=True)
class Grid:
    """Axes, of which some are zipped: these take their first values together, then their second."""

    groups: tuple[tuple[Axis, ...], ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes; zipped ones stand together."""
        return tuple(axis for group in self.groups for axis in group)

    @property
    def varied(self) -> tuple[Axis, ...]:
        """What is varied for itself: of zipped axes the first."""
        return tuple(replace(group[0], zipped=group[1:]) for group in self.groups)

    def __len__(self) -> int:
        return math.prod(len(group[0].values) for group in self.groups)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Every combination; the last axis varies fastest."""
        for places in product(*(range(len(group[0].values)) for group in self.groups)):
            yield {
                axis.name: axis.values[place]
                for group, place in zip(self.groups, places, strict=True)
                for axis in group
            }


def grid(given: Mapping[str, Any], zipped: Sequence[Sequence[str]] = ()) -> Grid:
    """The grid that axes span.

    Raises:
        UsageError: an axis without values, a range that never ends, a zip of axes that are not
            there or that differ in length, or more points than a sweep may have.
    """
    axes = {name: _axis(name, values) for name, values in _flat(given).items()}
    together = _zipped(axes, zipped)
    first = {names[0]: names for names in together}
    rest = {name for names in together for name in names[1:]}
    made = Grid(
        tuple(
            tuple(axes[each] for each in first.get(name, (name,)))
            for name in axes
            if name not in rest
        )
    )
    if len(made) > POINTS_MAX:
        sizes = " × ".join(str(len(group[0].values)) for group in made.groups)
        raise UsageError(
            f"the axes give {sizes} = {len(made):,} points; a sweep has {POINTS_MAX:,} at most"
        )
    return made


def _flat(given: object) -> dict[str, Any]:
    """Axes by their names, where a file has `gc.write_points` as a table in a table."""
    if not isinstance(given, Mapping):
        raise UsageError(
            f'axes must map names to values, such as {{"gc.write_points": [1, 2, 4]}}, '
            f"not {type(given).__name__}"
        )
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = arguments.text("a key of axes", key)
        if isinstance(value, Mapping) and not set(value) & set(_KEYS):
            inner = {f"{name}.{rest}": each for rest, each in _flat(value).items()}
            if not inner:
                raise UsageError(f"axis {name} has no values")
        else:
            inner = {name: value}
        for each in inner:
            if each in found:
                raise UsageError(f"axis {each} is given twice")
        found |= inner
    return found


def _axis(name: str, given: object) -> Axis:
    if isinstance(given, Mapping):
        for key in given:
            if key not in _KEYS:
                raise UsageError(f'axis {name} has an unknown key "{key}"{suggestion(key, _KEYS)}')
        given = given["values"] if "values" in given else _range(name, given)
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, Sized) and len(given) > POINTS_MAX:
        raise UsageError(
            f"axis {name} has {len(given):,} values; a sweep has {POINTS_MAX:,} points"
        )
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise UsageError(
            f"axis {name} must be a list of values, or a range such as "
            f"{{ from = 1, to = 64, factor = 2 }}, not {given!r}"
        )
    values = tuple(_value(name, each) for each in islice(given, POINTS_MAX + 1))
    if not values:
        raise UsageError(f"axis {name} has no values")
    seen = set()
    for value in values:
        known = repr(float(value) if type(value) is int else value)
        if known in seen:
            raise UsageError(f"axis {name} has the value {value} twice")
        seen.add(known)
    return Axis(name, values)


def _value(name: str, given: Any) -> Any:
    """A value as a file could have it; a number of another library becomes one of Python."""
    if hasattr(given, "item") and not isinstance(given, bool | int | float | str):
        given = given.item()
    if isinstance(given, float) and not math.isfinite(given):
        raise UsageError(f"axis {name} has the value {given}, which is no number")
    if not isinstance(given, bool | int | float | str | list | tuple | Mapping | os.PathLike):
        raise UsageError(
            f"axis {name} has the value {given!r}; allowed: numbers, text, true, false and lists"
        )
    return given


def _range(name: str, given: Mapping[str, Any]) -> list[int | float]:
    said = f"axis {name}"
    for end in ("from", "to"):
        if end not in given:
            raise UsageError(f'{said} is a range without "{end}"; or give "values"')
    low, high = (arguments.finite(f'"{end}" of {said}', given[end]) for end in ("from", "to"))
    steps = [key for key in ("step", "factor", "points") if key in given]
    if len(steps) != 1:
        raise UsageError(f'{said} needs one of "step", "factor" and "points"')
    [how] = steps
    if "scale" in given:
        arguments.choice(f'"scale" of {said}', given["scale"], ("linear", "log"))
        if how != "points":
            raise UsageError(f'{said} has "{how}", which says its scale: leave out "scale"')
    is_log = how == "factor" or given.get("scale") == "log"
    if is_log and not (low > 0 and high > 0):
        raise UsageError(f"{said} goes from {low} to {high}; equal ratios need numbers above 0")
    if how == "points":
        count = arguments.whole_number(f'"points" of {said}', given["points"], 1, POINTS_MAX)
    else:
        count = _count(said, low, high, how, arguments.finite(f'"{how}" of {said}', given[how]))
    if count > POINTS_MAX:
        raise UsageError(f"{said} has {count:,} values; a sweep has {POINTS_MAX:,} points at most")
    if how == "step":
        # By their decimals, so that 0.1 three times is 0.3.
        one, step = Decimal(str(low)), Decimal(str(given["step"]))
        found = [float(one + step * place) for place in range(count)]
    elif how == "factor":
        found = [low * given["factor"] ** place for place in range(count)]
    elif count == 1:
        found = [low]
    elif is_log:
        found = [low * (high / low) ** (place / (count - 1)) for place in range(count)]
    else:
        found = [low + (high - low) * place / (count - 1) for place in range(count)]
    if isinstance(low, int) and isinstance(high, int) and _is_whole(given.get("step")):
        # Values that are rounded to the same number are one.
        return list(dict.fromkeys(round(each) for each in found))
    return [float(f"{each:.12g}") for each in found]


def _is_whole(step: object) -> bool:
    return step is None or isinstance(step, int)


def _count(said: str, low: float, high: float, how: str, step: float) -> int:
    """How many values a range has whose step, or factor, is given."""
    if how == "step":
        reaches = step != 0 and (high - low) * step >= 0
        count = (high - low) / step if reaches else math.inf
    else:
        reaches = step > 0 and step != 1 and (high - low) * (step - 1) >= 0
        count = math.log(high / low) / math.log(step) if reaches else math.inf
    if not reaches:
        raise UsageError(f"{said} never gets from {low} to {high} by a {how} of {step}")
    if count > POINTS_MAX:
        raise UsageError(f"{said} has {count:.3g} values; a sweep has {POINTS_MAX:,} points")
    return math.floor(count + 1e-9) + 1


def _zipped(axes: Mapping[str, Axis], given: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    if isinstance(given, str) or any(isinstance(each, str) for each in given):
        raise UsageError('zip must be a list of lists, such as [["gc.write_points", "design"]]')
    groups = [arguments.names(f"zip[{position}]", each) for position, each in enumerate(given)]
    seen: set[str] = set()
    for position, names in enumerate(groups):
        for name in names:
            if name not in axes:
                raise UsageError(f'zip names "{name}", which is no axis{suggestion(name, axes)}')
            if name in seen:
                raise UsageError(f'zip names "{name}" twice')
            seen.add(name)
        lengths = {name: len(axes[name].values) for name in names}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            raise UsageError(f"zip[{position}] needs as many values of each axis: {counts}")
    return [names for names in groups if names]


def _type(values: Iterable[Any]) -> Type:
    """The type of a column of values."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "bool"
    if kinds == {int}:
        return "int64"
    return "double" if kinds <= {int, float} else "string"
