"""Dataclasses from documents, and documents from dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

_Read = Callable[[Any], Any]


def read(kind: type[T], document: Mapping[str, Any]) -> T:
    """A dataclass from a document that has its fields by name; a field that it lacks is as usual.

    >>> from tinytail.engine.results import Finding
    >>> read(Finding, {"code": "no_gc", "message": "none ran", "figures": {}}).code
    'no_gc'

    Raises:
        KeyError: the document lacks a field that has no usual value.
    """
    found: T = _reader(cast(Any, kind))(document)
    return found


def _as_it_is(value: Any) -> Any:
    return value


@cache
def _reader(kind: Any) -> _Read:
    """What reads a value of a type."""
    of = [_reader(each) for each in get_args(kind) if is_dataclass(each) or get_args(each)]
    if is_dataclass(kind):
        return _fields_reader(kind)
    if get_origin(kind) is tuple:
        [one] = of or [_as_it_is]
        return tuple if one is _as_it_is else lambda values: tuple(map(one, values))
    if not of or of == [_as_it_is]:
        return _as_it_is
    [one] = of
    if get_origin(kind) is UnionType:
        return lambda value: None if value is None else one(value)
    return lambda values: {key: one(value) for key, value in values.items()}


def _fields_reader(kind: Any) -> _Read:
    hints = get_type_hints(kind)
    readers = {each.name: _reader(hints[each.name]) for each in fields(kind)}
    has_usual = {each.name for each in fields(kind) if each.default is not MISSING}

    def read_fields(document: Mapping[str, Any]) -> Any:
        return kind(
            **{
                name: one(document[name])
                for name, one in readers.items()
                if name in document or name not in has_usual
            }
        )

    return read_fields


def plain(value: Any) -> Any:
    """What a dataclass holds, as a document."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
