"""The language of acceptance: comparisons of measured values, as they stand in a paper's rows.

A condition is a comparison such as `0.97 <= ratio <= 1.12` or `min(speedups) >= 1.8`: numbers,
texts, the names of measured values, `+ - * /`, and the functions `abs`, `floor`, `len`, `max`,
`min`, `round` and `sum`. There is nothing else in it, so that a condition cannot do anything but
compare.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from tinytail.errors import ConfigError, suggestion

Value = float | int | str | list[float] | list[int] | None
Values = Mapping[str, Value]

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
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
    try:
        tree = ast.parse(condition, mode="eval").body
    except SyntaxError as error:
        raise ConfigError(f'"{condition}" is no condition: {error.msg}') from None
    if not isinstance(tree, ast.Compare):
        raise ConfigError(f'"{condition}" is no comparison')
    names: set[str] = set()
    _check(tree, condition, names)
    if not names:
        raise ConfigError(f'"{condition}" compares nothing that is measured')
    return frozenset(names)


def _check(node: ast.expr, condition: str, names: set[str]) -> None:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            type(op) in _COMPARISONS for op in ops
        ):
            inner = [left, *others]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
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
    needed = check(condition)
    for name in needed:
        if name not in values:
            raise ConfigError(f'"{condition}": "{name}" is not measured' + suggestion(name, values))
        value = values[name]
        if value is None or (isinstance(value, list) and (not value or None in value)):
            return False
    tree = ast.parse(condition, mode="eval").body
    try:
        return bool(_value(tree, values))
    except (TypeError, ZeroDivisionError, ValueError) as error:
        raise ConfigError(f'"{condition}" cannot be worked out: {error}') from None


def _value(node: ast.expr, values: Values) -> Any:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            parts = [_value(part, values) for part in (left, *others)]
            return all(
                _COMPARISONS[type(op)](*pair)
                for op, pair in zip(ops, itertools.pairwise(parts), strict=True)
            )
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(operand=operand):
            return -_value(operand, values)
        case ast.Call(func=ast.Name(id=function), args=given):
            return _FUNCTIONS[function](*[_value(argument, values) for argument in given])
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=value):
            return value
        case _:  # `check` has refused everything else.
            raise AssertionError(ast.dump(node))
