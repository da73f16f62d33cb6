"""The rooms of the core use each other as ARCHITECTURE.md says, and its picture shows that."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "crates" / "core" / "src"
# Files of which tests alone consist.
FOR_TESTS = {"tests.rs", "testkit.rs", "schema.rs"}
# Files that may import each other in a circle.
LARGEST_CIRCLE = 3

Module = tuple[str, ...]

# What the root of the crate has for every file. Anything else is to be named where it stands.
MACROS: set[Module] = {("check",)}


@dataclass(frozen=True, slots=True)
class Import:
    """A file names something of another one."""

    file: str
    line: int
    of: str


def blanked(text: str, start: int, end: int) -> str:
    """The text with spaces in place of a part of it; its lines stay."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def without_words(text: str) -> str:
    """Rust without comments and strings."""
    pattern = r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'"""
    for found in re.finditer(pattern, text, re.DOTALL):
        text = blanked(text, *found.span())
    return text


def end_of_item(text: str, start: int) -> int:
    """Where the item ends that begins at `start`: behind its first semicolon or block."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0 and text[index] in ";}":
            return index + 1
    return len(text)


def without_tests(text: str) -> str:
    """Rust without the items that are compiled for tests alone."""
    while found := re.search(r"#\[cfg\(test\)\]", text):
        text = blanked(text, found.start(), end_of_item(text, found.end()))
    return text


def code(text: str) -> str:
    """What is compiled for a drive."""
    return without_tests(without_words(text))


def paths(tree: str, before: Module = ()) -> Iterator[Module]:
    """The paths of a `use` tree."""
    depth = 0
    start = 0
    parts = []
    for index, sign in enumerate(tree):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(tree[start:index])
            start = index + 1
    for part in [*parts, tree[start:]]:
        head, brace, rest = part.partition("{")
        names = re.findall(r"\w+", re.sub(r"\bas\s+\w+", "", head))
        if brace:
            yield from paths(rest.rpartition("}")[0], (*before, *names))
        elif names or part.strip() == "*":
            yield (*before, *names)


def absolute(path: Module, module: Module) -> Module:
    """A path as seen from the root of the crate, for one that `module` names."""
    if path[0] == "crate":
        return path[1:]
    while path and path[0] in ("super", "self"):
        module = module[:-1] if path[0] == "super" else module
        path = path[1:]
    return (*module, *path)


def module_of(file: str) -> Module:
    """The module that a file holds."""
    parts = PurePosixPath(file).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def named(file: str, text: str, modules: Mapping[Module, str]) -> Iterator[tuple[int, Module]]:
    """Each path that a file names, as seen from the root, with the line it stands on."""
    module = module_of(file)
    found: list[tuple[int, Module]] = []
    for tree in re.finditer(r"\buse\s+([^;]+);", text):
        found += [(tree.start(1), path) for path in paths(tree[1])]
        text = blanked(text, *tree.span())
    found += [
        (path.start(), tuple(path[0].split("::")))
        for path in re.finditer(r"(?<![\w:])[a-z_]\w*(?:::\w+)+", text)
    ]
    for start, path in found:
        if path[0] in ("crate", "super", "self") or (*module, path[0]) in modules:
            yield text.count("\n", 0, start) + 1, absolute(path, module)


def imports(files: Mapping[str, str]) -> list[Import]:
    """What each file names of others, in the order of files and lines."""
    modules = {module_of(file): file for file in files}
    found = set()
    for file, text in files.items():
        for line, path in named(file, text, modules):
            lengths = range(len(path), -1, -1)
            of = next(modules[path[:n]] for n in lengths if path[:n] in modules)
            if of != file and path not in MACROS:
                found.add(Import(file, line, of))
    return sorted(found, key=lambda each: (each.file, each.line, each.of))


def circles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of more than one file each of which leads to every other of its set."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            place = stack.index(node)
            group = set(stack[place:])
            del stack[place:]
            if len(group) > 1:
                found.append(group)

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


@pytest.fixture(scope="module")
def architecture() -> dict[str, Any]:
    """The names of tools/architecture.py."""
    return runpy.run_path(str(ROOT / "tools" / "architecture.py"))


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The code of each file of the core, without tests."""
    return {
        path.relative_to(SOURCES).as_posix(): code(path.read_text("utf-8"))
        for path in sorted(SOURCES.rglob("*.rs"))
        if path.name not in FOR_TESTS and "tests" not in path.relative_to(SOURCES).parts
    }


def test_the_parser_finds_what_a_file_names() -> None:
    files = {
        "lib.rs": "pub mod a;",
        "a/mod.rs": "pub use crate::b::{C, d::{self, E as F}};\n// use crate::e::X;\n"
        'let s = "crate::e"; crate::check!(s);',
        "a/x.rs": "use super::y::Y;\nfn f() -> crate::b::G {\n    crate::e::h()\n}\n"
        "#[cfg(test)]\nmod tests {\n    use crate::t::T;\n}\n",
        "a/y.rs": "use std::fmt;\npub(crate) use self::z::*;",
        "a/y/z.rs": "",
        "b.rs": "pub mod d;",
        "b/d.rs": "use crate::a::{x::X, y::z::Z};",
        "e.rs": "",
        "t.rs": "",
    }
    found = imports({file: code(text) for file, text in files.items()})
    assert found == [
        Import("a/mod.rs", 1, "b.rs"),
        Import("a/mod.rs", 1, "b/d.rs"),
        Import("a/x.rs", 1, "a/y.rs"),
        Import("a/x.rs", 2, "b.rs"),
        Import("a/x.rs", 3, "e.rs"),
        Import("a/y.rs", 2, "a/y/z.rs"),
        Import("b/d.rs", 1, "a/x.rs"),
        Import("b/d.rs", 1, "a/y/z.rs"),
    ]


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, circles(edges))) == [["a", "b", "c"], ["d", "e"]]


def test_rooms_use_what_the_table_says(architecture: dict[str, Any], files: dict[str, str]) -> None:
    rooms = architecture["rooms"]()
    room_of = architecture["room_of"]
    used: dict[str, set[str]] = {room: set() for room in rooms}
    faults = []
    for each in imports(files):
        room, other = room_of(each.file, rooms), room_of(each.of, rooms)
        if room in (other, "lib"):
            continue
        assert room in rooms, f"{room} is not in the table of rooms in ARCHITECTURE.md"
        used[room].add(other)
        if other not in rooms[room].uses:
            faults.append(
                f"crates/core/src/{each.file}, line {each.line}, names {each.of}: "
                f"the table of rooms in ARCHITECTURE.md has no arrow from {room} to {other}"
            )
    faults += [
        f"the table of rooms in ARCHITECTURE.md has an arrow from {room} to {other}, "
        "which no file uses"
        for room, said in rooms.items()
        for other in said.uses
        if other not in used[room]
    ]
    assert not faults, "\n".join(faults)


def test_every_file_has_a_room_and_every_room_a_file(
    architecture: dict[str, Any], files: dict[str, str]
) -> None:
    rooms = architecture["rooms"]()
    assert {architecture["room_of"](file, rooms) for file in set(files) - {"lib.rs"}} == set(rooms)


def test_circles_of_files_are_small_and_stay_in_one_room(
    architecture: dict[str, Any], files: dict[str, str]
) -> None:
    rooms = architecture["rooms"]()
    edges: dict[str, set[str]] = {file: set() for file in files}
    for each in imports(files):
        edges[each.file].add(each.of)
    for circle in circles(edges):
        shown = ", ".join(sorted(circle))
        assert len(circle) <= LARGEST_CIRCLE, f"{shown} import each other in a circle"
        assert len({architecture["room_of"](file, rooms) for file in circle}) == 1, (
            f"{shown} import each other across rooms"
        )


def test_the_picture_is_made_from_the_table(architecture: dict[str, Any]) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert architecture["with_picture"](text) == text, "run tools/architecture.py"


def test_the_architecture_can_be_read_in_one_sitting() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").split()) <= 2000
