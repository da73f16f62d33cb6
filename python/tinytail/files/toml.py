"""Writes TOML: tables of what JSON can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


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
