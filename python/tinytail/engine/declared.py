"""What options can do, whatever they are; `options` has those that the engine knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tinytail.engine import arguments
from tinytail.errors import UsageError

_Kind = TypeVar("_Kind", bound="Options")


@dataclass(frozen=True, slots=True)
class Whole:
    """The bounds of a whole number."""

    least: int
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """Values by name, each of the type that its field declares.

    Raises:
        UsageError: a value is of another type or out of bounds; names it, and what is allowed.
    """

    def __post_init__(self) -> None:
        kind: Any = type(self)
        defaults = _defaults(kind)
        for name, hint in _hints(kind).items():
            value = getattr(self, name)
            # A sweep makes very many, and most of their values are defaults.
            if value is not defaults.get(name, MISSING):
                object.__setattr__(self, name, checked(name, value, hint))

    def given(self) -> dict[str, Any]:
        """What is not left at its default, by name, in the form in which the engine reads it."""
        found = {}
        kind: Any = type(self)
        defaults = _defaults(kind)
        for name in _hints(kind):
            given, default = getattr(self, name), defaults.get(name, MISSING)
            if given is default:
                continue
            value = _plain(given)
            if default is MISSING or value != _plain(default):
                found[name] = value
        return found

    def words(self) -> list[str]:
        """The options of a command line that say the same."""
        found: list[str] = []
        for name, value in self.given().items():
            if value is False:
                continue
            values = value if isinstance(value, list) else [] if value is True else [value]
            found += [f"--{name.replace('_', '-')}", *map(str, values)]
        return found


def values(of: Options, kind: type[Options]) -> dict[str, Any]:
    """Those values of options that are also options of another class."""
    return {each.name: getattr(of, each.name) for each in fields(kind)}


def divided(given: Mapping[str, Any], kind: type[_Kind]) -> tuple[_Kind, dict[str, Any]]:
    """Options from keyword arguments, and the arguments that are left."""
    names = {each.name for each in fields(kind)}
    mine = {name: value for name, value in given.items() if name in names}
    return kind(**mine), {name: value for name, value in given.items() if name not in names}


@cache
def _hints(options: type) -> dict[str, Any]:
    """The types that the fields of options declare."""
    return get_type_hints(options, include_extras=True)


@cache
def _defaults(options: Any) -> dict[str, Any]:
    """The values of the fields that are not given, of those that may be left out."""
    return {
        each.name: each.default_factory() if callable(each.default_factory) else each.default
        for each in fields(options)
        if each.default is not MISSING or callable(each.default_factory)
    }


def _plain(value: object) -> Any:
    if isinstance(value, Options):
        return value.given()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


def checked(name: str, value: Any, hint: Any) -> Any:
    """A value of the type that is declared; of types that are not known here, as it is.

    Raises:
        UsageError: it is of another type or out of bounds.
    """
    kind, parts = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        return None if value is None and NoneType in parts else _chosen(name, value, parts)
    if kind is Annotated:
        bounds = next((each for each in parts if isinstance(each, Whole)), None)
        if bounds is None:
            return checked(name, value, parts[0])
        return arguments.whole_number(name, value, bounds.least, bounds.most)
    if kind is Literal:
        return arguments.choice(name, value, parts)
    if kind is tuple:
        count = len(value) if isinstance(value, list | tuple) else -1
        kinds = parts[:1] * count if Ellipsis in parts else parts
        if count != len(kinds):
            wanted = "a list" if Ellipsis in parts else f"a list of {len(kinds)}"
            raise UsageError(f"{name} must be {wanted}, not {value!r}")
        return tuple(checked(name, each, of) for each, of in zip(value, kinds, strict=True))
    if isinstance(hint, type) and issubclass(hint, Options) and not isinstance(value, hint):
        of = f"tinytail.{hint.__name__}"
        raise UsageError(f"{name} must be a {of}, not {type(value).__name__}")
    check = _CHECKS.get(hint)
    return value if check is None else check(name, value)


_CHECKS: dict[Any, Callable[[str, object], Any]] = {
    str: arguments.text,
    bool: arguments.flag,
    float: arguments.finite,
}


def _chosen(name: str, value: Any, parts: tuple[Any, ...]) -> Any:
    """A value of one of several types: of the words where it is a word."""
    kinds = [each for each in parts if each is not NoneType]
    words = [each for each in kinds if get_origin(each) is Literal]
    others = [each for each in kinds if each not in words]
    chosen = words if words and isinstance(value, str) else others or words
    return checked(name, value, chosen[0]) if len(chosen) == 1 else value
