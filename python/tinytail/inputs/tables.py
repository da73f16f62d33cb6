"""Devices, designs and workloads that are said in Python: tables in place of files.

A table with `base` changes what has that name: `{"base": "ttflash-256g", "set":
{"geometry.channels": 4}}`. Without `base` it is what a file would say: `{"synthetic": {...}}`. A
design may be a list, a design and overlays behind it, of which each is a name or a table:
`["base", {"gc": {"write_points": 4}}]`.

The engine reads the text of a table in place of a file. The name of the file ends with a checksum
of the text, so that no name ever means two texts.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tinytail.engine import arguments, catalog, processes
from tinytail.errors import UsageError, suggestion
from tinytail.files import toml
from tinytail.files.schema import read_schema
from tinytail.policies.policy import plain, section

Table = Mapping[str, Any]
Named = str | os.PathLike[str] | Table
DesignNamed = Named | Sequence[Named]

# How a table that changes something is made of it.
_CHANGES = ("base", "set", "name")
_NAME = re.compile(r"[\w.-]+")
# So many signs of a digest a label has at least.
LABEL_DIGITS_MIN = 4
# The text of every table that has been said, by the name of the file that it stands for.
_TEXTS: dict[str, str] = {}


def device(given: Named) -> str:
    """A drive by its name, by the path of its file, or from a table.

    Raises:
        UsageError: it is none of them, or a table has what none may have.
        ConfigError: the base of a table is unknown or faulty, or a value is.
    """
    return _file("device", given)


def workload(given: Named) -> str:
    """A workload by its name, by the path of its file or trace, or from a table.

    Raises:
        UsageError: it is none of them, or a table has what none may have.
        WorkloadError, ConfigError: the base of a table is unknown or faulty, or a value is.
    """
    return _file("workload", given)


def designs(given: object) -> tuple[str, ...]:
    """Designs, each by its composition, from a table, or from a list of parts.

    Raises:
        UsageError: they are not several, or one of them is nothing of this.
    """
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        return arguments.names("designs", given)
    return tuple(design(each, f"designs[{position}]") for position, each in enumerate(given))


def design(given: DesignNamed, parameter: str = "design") -> str:
    """A design by its composition, from a table, or from a list of parts.

    Raises:
        UsageError: it is none of them, or a table has what none may have.
    """
    if isinstance(given, Mapping):
        _check_keys(parameter, given, _CHANGES)
        if "base" not in given:
            raise UsageError(f'{parameter} must say its base, such as {{"base": "ttflash", ...}}')
        given = [given["base"], {key: given[key] for key in given if key != "base"}]
    if isinstance(given, str | os.PathLike) or not isinstance(given, Sequence):
        return arguments.name(parameter, given)
    if not given:
        raise UsageError(f"{parameter} must have parts, a design first")
    return "+".join(_overlay(parameter, part) for part in given)


def read_table_text(name: str) -> str:
    """The text of a file that a table stands for, by the file's name, as in a command.

    Raises:
        UsageError: no table has that name.
    """
    if name not in _TEXTS:
        raise UsageError(f'no table is called "{name}"{suggestion(name, _TEXTS)}')
    return _TEXTS[name]


def is_there(name: str) -> bool:
    """Whether a table stands for a file of this name."""
    return name in _TEXTS


def design_label(design: str) -> str:
    """A design as tables and legends show it: of a table's file the name without its ending.

    Of the digest in it there are so many signs as tell it from other tables, four at least.
    """
    return "+".join(_short(part) if part in _TEXTS else part for part in design.split("+"))


def has_table(design: str) -> bool:
    """Whether a name, or a part of a composition, was given as a table, and not as a file."""
    return any(part in _TEXTS for part in design.split("+"))


def without_places(message: str) -> str:
    """A message without the lines of tables: a program that gave one knows it by its keys."""
    for name in _TEXTS:
        if name in message:
            message = re.sub(rf"{re.escape(name)}(:\d+)?: ", "", message)
    return message


def _short(name: str) -> str:
    stem, _, digest = Path(name).name.removesuffix(".toml").rpartition("-")
    others = [
        each.rpartition("-")[2].removesuffix(".toml")
        for each in _TEXTS
        if each != name and Path(each).name.startswith(f"{stem}-")
    ]
    for count in range(LABEL_DIGITS_MIN, len(digest)):
        if not any(other.startswith(digest[:count]) for other in others):
            return f"{stem}-{digest[:count]}"
    return f"{stem}-{digest}"


def texts(names: Iterable[str]) -> dict[str, str]:
    """The texts of those names that tables have."""
    return {name: _TEXTS[name] for name in names if name in _TEXTS}


def put(name: str, text: str) -> str:
    """Lets a text stand in the place of a file, for all that the engine reads from now on.

    Raises:
        UsageError: there is such a file, or a table of that name, and it says something else.
    """
    path = Path(name)
    if path.exists():
        # Whoever has saved the text runs the command of a result again.
        if path.is_file() and path.read_bytes() == text.encode():
            return name
        raise UsageError(f"there is a file {name}: give the table another name")
    if _TEXTS.setdefault(name, text) != text:
        raise UsageError(f"there is a table {name} that says something else")
    processes.set_text(name, text)
    return name


def _file(kind: Literal["device", "workload"], given: Named) -> str:
    if not isinstance(given, Mapping):
        return arguments.name(kind, given)
    if "base" not in given:
        document = {"name": given.get("name", kind)} if kind == "device" else {}
        document["summary"] = "a table"
        content = {key: each for key, each in given.items() if key != "name"}
        return _put(kind, kind, given, {**document, **content})
    said = changed(kind, given)
    base = Path(given["base"])
    file = _name(kind, base.name.removesuffix(".toml"), given, said)
    if kind == "device" and "name" not in given:
        # What is changed has another name than what it was made of.
        said = changed(kind, {**given, "name": file.removesuffix(".toml")})
    # What the base names beside it is looked for from there.
    return put(str(base.parent / file) if base.suffix else file, said)


def changed(kind: Literal["device", "workload"], given: Table) -> str:
    """The text of a file that is its base but for the values that are set, and for its name.

    Raises:
        UsageError: it has what none may have.
        ConfigError, WorkloadError: the base is unknown or faulty, or a value is.
    """
    _check_keys(kind, given, _CHANGES)
    base = arguments.name(f"{kind}[base]", given["base"])
    sections = read_schema(kind)["properties"]
    changes = given.get("set", {})
    for key in changes if isinstance(changes, Mapping) else ():
        section = str(key).removeprefix(f"{kind}.").partition(".")[0]
        if section not in sections:
            raise UsageError(
                f'{kind} sets "{key}", which no {kind} has{suggestion(section, sections)}'
            )
    said = catalog.file_text(kind, base, settings=arguments.settings(given.get("set", {})))
    if kind == "workload" or "name" not in given:
        return said
    line = f"name = {toml.value(given['name'])}"
    return re.sub(r"^name = .*$", lambda _: line, said, count=1, flags=re.MULTILINE)


def _overlay(parameter: str, part: object) -> str:
    """A part of a composition; a table becomes an overlay."""
    if not isinstance(part, Mapping):
        return arguments.name(parameter, part)
    sections: dict[str, Any] = {
        key: section(key, dict(each) if isinstance(each, Mapping) else each)
        for key, each in part.items()
        if key not in ("name", "set")
    }
    changes = part.get("set", {})
    if not isinstance(changes, Mapping):
        raise UsageError(f'{parameter} sets no values by name, such as {{"gc.write_points": 4}}')
    for key, value in changes.items():
        name, dot, rest = str(key).removeprefix("design.").partition(".")
        if not dot:
            raise UsageError(f'{parameter} sets "{key}", which has no section, such as gc.copy')
        if not isinstance(sections.setdefault(name, {}), dict):
            raise UsageError(f'{parameter} has "{name}", which is no section, and sets "{key}"')
        sections[name][rest] = plain(value)
    head = {"kind": "overlay", "summary": "a table"}
    return _put(parameter, "set", part, head | sections)


def _put(parameter: str, stem: str, given: Table, document: Table) -> str:
    _check_content(parameter, document)
    try:
        said = toml.dumps(document)
    except TypeError as error:
        raise UsageError(f"{parameter} has a value that no file can have: {error}") from None
    return put(_name(parameter, stem, given, said), said)


def _check_content(parameter: str, content: Table) -> None:
    """Refuses what a file would leave out, and names that none has."""
    for key, value in content.items():
        arguments.text(f"a key of {parameter}", key)
        if value is None:
            raise UsageError(f'{parameter} has no value for "{key}": leave it out, or give one')
        if isinstance(value, Mapping):
            _check_content(f"{parameter}[{key}]", value)


def _name(parameter: str, stem: str, given: Table, said: str) -> str:
    """The file that a table stands for: of its own name or its base's, and of its text."""
    name = arguments.text(f"{parameter}[name]", given.get("name", stem))
    if not _NAME.fullmatch(name):
        raise UsageError(
            f'{parameter} is named "{name}"; a name has letters, digits and the signs . _ - alone'
        )
    return f"{name}-{zlib.crc32(said.encode()):08x}.toml"


def _check_keys(parameter: str, given: Table, allowed: Sequence[str]) -> None:
    for key in given:
        if key not in allowed:
            raise UsageError(f'{parameter} has an unknown key "{key}"{suggestion(key, allowed)}')
