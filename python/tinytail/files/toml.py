"""Reads TOML, and writes it: tables of what JSON can hold."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from tinytail import _native
from tinytail.errors import ConfigError


def loads(name: str, text: str) -> dict[str, Any]:
    """What a text says that is a file's, or stands for one.

    Raises:
        ConfigError: it is no TOML, is nested too deep, or has a number that is too large; says
            where. The library would take long for the one, and fail in its own way for the others.
    """
    _native.toml_check(name, text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The engine knows the next version of TOML too.
        raise ConfigError(f"{name}: {error}") from error


def dumps(document: Mapping[str, Any]) -> str:
    """The document as TOML. Values of None are left out.

    >>> print(dumps({"name": "x", "a": {"b": 1, "c": {"d": [1, 2.5, True]}}}), end="")
    name = "x"
    <BLANKLINE>
    [a]
    b = 1
    <BLANKLINE>
    [a.c]
    d = [1, 2.5, true]
    """
    return "\n\n".join(_tables(document, ())) + "\n"


def _tables(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = [
        f"{_key(key)} = {value(given)}"
        for key, given in table.items()
        if given is not None and not isinstance(given, Mapping)
    ]
    heading = [f"[{'.'.join(map(_key, path))}]"] if path else []
    parts = ["\n".join(heading + plain)] if plain or path else []
    for key, given in table.items():
        if isinstance(given, Mapping):
            parts += _tables(given, (*path, key))
    return parts


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)


def value(given: Any) -> str:
    """A value as it stands behind an equals sign."""
    if isinstance(given, Mapping):
        inner = ", ".join(f"{_key(key)} = {value(each)}" for key, each in given.items())
        return f"{{ {inner} }}"
    if isinstance(given, list | tuple):
        return f"[{', '.join(map(value, given))}]"
    return json.dumps(given, ensure_ascii=False)
