"""Policies of one's own in designs: the files that have them, and those that no file has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tinytail.errors import ConfigError
from tinytail.files import toml
from tinytail.files.text import WRITTEN_BYTES_MAX, read_text
from tinytail.inputs import tables


def files(parts: Iterable[str], words: Iterable[str] = (), values: Iterable[Any] = ()) -> list[str]:
    """The files of policies that designs, words behind `--set` and values of axes name."""
    found = [
        str(folder / entry["file"])
        for folder, entry in _entries(parts, words, values)
        if isinstance(entry.get("file"), str)
    ]
    return list(dict.fromkeys(found))


def objects(
    parts: Iterable[str], words: Iterable[str] = (), values: Iterable[Any] = ()
) -> list[str]:
    """The names of policies that stand in no file, but are held by this program."""
    found = [
        str(entry["object"]) for _, entry in _entries(parts, words, values) if "object" in entry
    ]
    return list(dict.fromkeys(found))


def _entries(
    parts: Iterable[str], words: Iterable[str], values: Iterable[Any]
) -> Iterator[tuple[Path, dict[str, Any]]]:
    here = Path()
    for part in parts:
        for entry in _walk(_document(part)):
            yield Path(part).parent, entry
    for word in words:
        _, _, value = word.partition("=")
        for entry in _walk(_parsed(f"value = {value}")):
            yield here, entry
    for value in values:
        for entry in _walk(value):
            yield here, entry


def _document(part: str) -> Any:
    """What a part of a design says, if it is a file or a table that can be read."""
    if not part.endswith(".toml"):
        return None
    if tables.is_there(part):
        return _parsed(tables.read_table_text(part))
    # What is wrong with a file, the engine says.
    try:
        return _parsed(read_text(part, WRITTEN_BYTES_MAX))
    except (OSError, UnicodeDecodeError):
        return None


def _parsed(text: str) -> Any:
    try:
        return toml.loads("", text)
    except ConfigError:
        return None


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("policy") == "custom":
            yield value
        for each in value.values():
            yield from _walk(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _walk(each)
