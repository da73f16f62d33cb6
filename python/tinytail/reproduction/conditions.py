"""The language of acceptance: comparisons of measured values, as they stand in a paper's rows.

A condition is a comparison such as `0.97 <= ratio <= 1.12` or `min(speedups) >= 1.8`: numbers,
texts, the names of measured values, `+ - * /`, and the functions `abs`, `floor`, `len`, `max`,
`min`, `round` and `sum`. There is nothing else in it, so that a condition cannot do anything but
compare.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from tinytail.errors import ConfigError, suggestion

Value = float | int | str | list[float] | list[int] | None
Values = Mapping[str, Value]

_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "floor": math.floor,
    "len": len,
    "max": max,
    "min": min,
    "round": round,
    "sum": sum,
}


def check(condition: str) -> frozenset[str]:
    """Reads a condition without values; returns the names of the values that it needs.

    Raises:
        ConfigError: it is no comparison in this language.

    >>> sorted(check("0.97 <= ratio <= min(upper)"))
    ['ratio', 'upper']
    """
    tree = _read(condition)
    if not isinstance(tree, ast.Compare):
        raise ConfigError(f'"{condition}" is no comparison')
    return _names(tree, condition)


def _read(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ConfigError(f'"{text}" is no condition: {error.msg}') from None


def _names(tree: ast.expr, text: str) -> frozenset[str]:
    """The names of the values that it needs."""
    names: set[str] = set()
    _check(tree, text, names)
    if not names:
        raise ConfigError(f'"{text}" compares nothing that is measured')
    return frozenset(names)


def _check(node: ast.expr, condition: str, names: set[str]) -> None:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            isinstance(op, _COMPARISONS) for op in ops
        ):
            inner = [left, *others]
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
            inner = [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = [operand]
        case ast.Call(func=ast.Name(id=function), args=given, keywords=[]):
            if function not in _FUNCTIONS:
                raise ConfigError(
                    f'"{condition}" has an unknown function "{function}"'
                    + suggestion(function, _FUNCTIONS)
                )
            inner = given
        case ast.Name(id=name):
            names.add(name)
            inner = []
        case ast.Constant(value=bool() | None):
            raise ConfigError(f'"{condition}" may have numbers and texts only')
        case ast.Constant(value=int() | float() | str()):
            inner = []
        case _:
            raise ConfigError(f'"{condition}" has a part that conditions cannot have')
    for each in inner:
        _check(each, condition, names)


def holds(condition: str, values: Values) -> bool:
    """Whether a condition holds for the measured values. One without a value (None) does not.

    Raises:
        ConfigError: it is no condition, or names a value that was not measured.

    >>> holds("0.97 <= ratio <= 1.12", {"ratio": 1.12})
    True
    >>> holds("0.97 <= ratio <= 1.12", {"ratio": 1.1201})
    False
    """
    return bool(_worked_out(condition, check(condition), values))


def worth(expression: str, values: Values) -> float | None:
    """What one side of a condition comes to; None if something in it has no value.

    Raises:
        ConfigError: it is no such side, or names a value that was not measured.

    >>> worth("max(p99)", {"p99": [1.5, 2.0]}), worth("p99", {"p99": None})
    (2.0, None)
    """
    found = _worked_out(expression, _names(_read(expression), expression), values)
    return None if found is None else float(found)


def _worked_out(text: str, needed: frozenset[str], values: Values) -> Any:
    """What is written, worked out; None if something in it has no value."""
    for name in needed:
        if name not in values:
            raise ConfigError(f'"{text}": "{name}" is not measured' + suggestion(name, values))
        value = values[name]
        if value is None or (isinstance(value, list) and (not value or None in value)):
            return None
    try:
        # `check` has refused whatever does more than compare.
        return eval(text, {"__builtins__": {}, **_FUNCTIONS}, values)
    except (TypeError, ZeroDivisionError, ValueError) as error:
        raise ConfigError(f'"{text}" cannot be worked out: {error}') from None
