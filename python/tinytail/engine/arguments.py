"""Checks of what callers pass, so that a wrong type is refused by name and not somewhere inside."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence

from tinytail.errors import UsageError, suggestion
from tinytail.files import toml
from tinytail.policies.policy import plain

# Values by section and key, or words as they stand behind `--set`.
Settings = Mapping[str, object] | Sequence[str]

U32_MAX = 2**32 - 1
I64_MAX = 2**63 - 1
U64_MAX = 2**64 - 1


def text(parameter: str, value: object) -> str:
    """The value, which must be text that can be handed on.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(value, str):
        raise UsageError(f"{parameter} must be text, not {_shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{parameter} must be valid Unicode; {value!r} has a lone surrogate "
            f"at character {error.start + 1}, as names that are not UTF-8 have"
        ) from None
    return value


def name(parameter: str, value: object) -> str:
    """The value as text; a path becomes its text.

    Raises:
        UsageError: it is neither.
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif not isinstance(value, str):
        raise UsageError(f"{parameter} must be a name or a path, not {_shown(value)}")
    return text(parameter, value)


def file(value: object) -> str:
    """The path of a file as text.

    Raises:
        UsageError: it is no path, or empty.
    """
    path = name("file", value)
    if not path:
        raise UsageError("the name of the file is empty")
    return path


def names(parameter: str, values: object) -> tuple[str, ...]:
    """The values as text.

    Raises:
        UsageError: they are not several, or not all of them are names.
    """
    if isinstance(values, str | bytes | os.PathLike):
        example = values if isinstance(values, str) else "base"
        raise UsageError(f"{parameter} must be a list of names, such as {_quoted([example])}")
    if not isinstance(values, Iterable):
        raise UsageError(
            f'{parameter} must be a list of names, such as ["base"], not {_shown(values)}'
        )
    return tuple(name(f"{parameter}[{position}]", value) for position, value in enumerate(values))


def _quoted(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def whole_number(parameter: str, value: object, least: int, most: int | None = None) -> int:
    """The value as an integer between two bounds.

    Raises:
        UsageError: it is no integer, or beyond a bound.
    """
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    refusal = UsageError(f"{parameter} must be a whole number {allowed}, not {_shown(value)}")
    if isinstance(value, bool):
        raise refusal
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise refusal from None
    if number < least or (most is not None and number > most):
        raise refusal
    return number


def number(
    parameter: str, value: object, least: float, below: float | None, *, open_below: bool = False
) -> float:
    """The value as a finite number of at least one bound, or above it, and below another.

    Raises:
        UsageError: it is no number, or beyond a bound.
    """
    allowed = f"above {least}" if open_below else f"of at least {least}"
    if below is not None:
        allowed += f" and below {below}"
    refusal = UsageError(f"{parameter} must be a number {allowed}, not {_shown(value)}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise refusal
    if value < least or (open_below and value == least) or (below is not None and value >= below):
        raise refusal
    return value


def finite(parameter: str, value: object) -> float:
    """The value as a number; JSON has no words for what is not finite.

    Raises:
        UsageError: it is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{parameter} must be a number, not {_shown(value)}")
    return value


def flag(parameter: str, value: object) -> bool:
    """The value, which must be True or False.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(value, bool):
        raise UsageError(f"{parameter} must be True or False, not {_shown(value)}")
    return value


def choice(parameter: str, value: object, allowed: Sequence[str]) -> str:
    """The value, which must be one of a few words.

    Raises:
        UsageError: it is not.
    """
    if value not in allowed:
        nearest = suggestion(value, allowed) if isinstance(value, str) else ""
        hint = nearest if "did you mean" in nearest else ""
        raise UsageError(
            f"{parameter} must be one of {', '.join(allowed)}, not {_shown(value)}{hint}"
        )
    return str(value)


def state(values: object) -> dict[str, float | str]:
    """Values of a starting state by their keys.

    Raises:
        UsageError: they are no mapping of names to numbers, truth values and text.
    """
    if not isinstance(values, Mapping):
        raise UsageError(
            f'state must map keys to values, such as {{"ageing": "steady"}}, not {_shown(values)}'
        )
    return {
        text("a key of state", key): (
            value
            if isinstance(value, bool)
            else text(f"state[{_shown(key)}]", value)
            if isinstance(value, str)
            else number(f"state[{_shown(key)}]", value, 0, U32_MAX)
            if isinstance(value, float)
            else whole_number(f"state[{_shown(key)}]", value, 0, U32_MAX)
        )
        for key, value in values.items()
    }


def by_name(option: str, words: Sequence[str], form: str) -> dict[str, str]:
    """What an option gives, by name, from words such as `live_percent=80`; `form` says which.

    Raises:
        UsageError: a word of another form, or a name that is given twice.
    """
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise UsageError(f'{option} must be {form}, not "{word}"')
        if key in found:
            raise UsageError(f'{option} gives "{key}" twice')
        found[key] = value
    return found


def state_from_words(words: Sequence[str]) -> dict[str, float | str]:
    """Values of a starting state from words such as `live_percent=80`.

    Raises:
        UsageError: a word of another form, or a key that is given twice.
    """
    said = by_name("--state", words, "KEY=VALUE, such as live_percent=80")
    return {key: _number_or_word(value) for key, value in said.items()}


def state_word(value: object) -> str:
    """A value of a starting state as it would stand in a file, without quotes.

    >>> [state_word(value) for value in (True, 80, "steady")]
    ['true', '80', 'steady']
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings(values: object) -> tuple[str, ...]:
    """Words such as `gc.write_points=4`, from such words or from values by section and key.

    >>> settings({"gc.write_points": 4, "gc.copy": "controller", "timing.read_ns": [40_000]})
    ('gc.write_points=4', 'gc.copy="controller"', 'timing.read_ns=[40000]')

    Raises:
        UsageError: they are neither, or hold what no file could.
    """
    if values is None:
        return ()
    if isinstance(values, list | tuple):
        return tuple(text(f"settings[{position}]", word) for position, word in enumerate(values))
    if not isinstance(values, Mapping):
        raise UsageError(
            f'settings must map names to values, such as {{"gc.write_points": 4}}, '
            f"not {_shown(values)}"
        )
    return tuple(
        f"{text('a key of settings', key)}={_toml(f'settings[{_shown(key)}]', value)}"
        for key, value in values.items()
    )


def _toml(parameter: str, value: object) -> str:
    try:
        if value is not None:
            return text(parameter, toml.value(plain(value)))
    except TypeError:
        pass
    raise UsageError(
        f"{parameter} must be a number, text, True, False or a list of these, not {_shown(value)}"
    )


def without_state(words: Sequence[str]) -> tuple[str, ...]:
    """The words that are not of the starting state.

    >>> without_state(["state.live_percent=80", "device.state.ageing=steady", "gc.write_points=4"])
    ('gc.write_points=4',)
    """
    return tuple(
        word for word in words if not word.strip().removeprefix("device.").startswith("state.")
    )


def _number_or_word(value: str) -> float | str:
    whole, point, parts = value.partition(".")
    if value in {"true", "false"}:
        return value == "true"
    if not point:
        return int(value) if value.isdecimal() else value
    return float(value) if whole.isdecimal() and parts.isdecimal() else value


def _shown(value: object) -> str:
    """The value for a message, on one line and not too long."""
    characters_max = 60
    shown = " ".join(ascii(value).split())
    return shown if len(shown) <= characters_max else f"{shown[:characters_max]}..."
