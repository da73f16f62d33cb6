"""The rooms of the core use each other as ARCHITECTURE.md says; circles of files are small."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from rust_sources import Call, Import, calls, circles, circles_of, code, imports, shown, sources

ROOT = Path(__file__).parents[3]
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
# Files of a crate that may import each other in a circle; 1 is no circle. None may grow.
LARGEST_CIRCLES = {
    "config": 2,
    "core": 3,
    "metrics": 5,
    "policies": 1,
    "python": 1,
    "server": 4,
    "simulator": 3,
    "workload": 46,
}
# Files of the core that may call each other's methods in a circle.
LARGEST_CIRCLE_OF_CALLS = 5


@dataclass(frozen=True, slots=True)
class Room:
    """A folder or a file at the top of the core, with the rooms before it that it may use."""

    owns: str
    exceptions: frozenset[str]


@pytest.fixture(scope="module")
def rooms() -> dict[str, Room]:
    """The table of rooms of ARCHITECTURE.md, the highest first."""
    _, _, table = ARCHITECTURE.read_text("utf-8").partition(
        "| uses of rooms before it |\n|---|---|---|\n"
    )
    found = {}
    for row in table.partition("\n\n")[0].splitlines():
        name, owns, exceptions = (cell.strip() for cell in row.strip("|").split("|"))
        named, _, reason = exceptions.partition(":")
        assert bool(named) == bool(reason), f"an exception of {name} has no reason"
        found[name.partition("[")[2].partition("]")[0]] = Room(
            owns, frozenset(re.findall(r"`(\w+)`", named))
        )
    return found


def room_of(file: str, rooms: dict[str, Room]) -> str:
    """The room of a file of the core; `base` has those that its row names."""
    if f"`{file}`" in rooms["base"].owns:
        return "base"
    return file.partition("/")[0].removesuffix(".rs")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The code of each file of the core, without tests."""
    return sources(ROOT / "crates" / "core" / "src")


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


def test_modules_for_tests_are_left_out(tmp_path: Path) -> None:
    texts = {
        "lib.rs": '#[cfg(test)]\n#[path = "elsewhere.rs"]\nmod a;\nmod b;\n#[cfg(test)]\nmod t;',
        "a.rs": "",
        "b.rs": "mod t; // not for tests\n#[cfg(test)]\nmod tests {}",
        "b/t.rs": "",
        "t.rs": "",
        "t/x.rs": "",
    }
    for file, text in texts.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, "utf-8")
    assert {file: text.split() for file, text in sources(tmp_path).items()} == {
        "lib.rs": ["mod", "b;"],
        "b.rs": ["mod", "t;"],
        "b/t.rs": [],
    }


def test_calls_of_methods_lead_to_the_one_file_that_defines_them() -> None:
    files = {
        "a.rs": "impl<Q: Queue> Engine<Q>\nwhere\n    Q: Sized,\n{\n"
        "    fn step(&mut self) {\n        self.up\n            .begin();\n"
        "        fn nested() {}\n        Self::halt::<Q>(1); B::make(2); m::halt(); 0..halt()\n"
        "    }\n    fn twice(&self) {}\n    fn ask(&self) {}\n    fn iter(&self) {}\n}\n",
        "b.rs": "impl B {\n    fn begin(&self) { self.step(); self.twice(); self.nested(); }\n"
        "    fn make(n: u32) {}\n    pub(crate) fn halt(&self) { x.ask(); x.iter(); x.own() }\n"
        "    fn own(&self) {}\n    // self.step()\n}\n",
        "c.rs": "impl C { fn twice(&self) {} }\ntrait Asks {\n    fn ask(&self);\n}\n"
        "impl<T> Says for C<T> {\n    fn say(&self) { self.step() }\n}\n",
        "d.rs": "impl D {\n    fn say(&self) {}\n    fn done(&self) { self.say() }\n}\n",
        "e.rs": "fn f(c: &C) {\n    c.say();\n    c.done()\n}\n",
    }
    assert calls({file: code(text) for file, text in files.items()}) == [
        Call("a.rs", 7, "b.rs", "begin"),
        Call("a.rs", 9, "b.rs", "halt"),
        Call("a.rs", 9, "b.rs", "make"),
        Call("b.rs", 2, "a.rs", "step"),
        Call("c.rs", 6, "a.rs", "step"),
        Call("e.rs", 3, "d.rs", "done"),
    ]


def test_a_circle_is_shown_with_what_closes_it() -> None:
    found = [Call("a", 1, "b", "f"), Call("a", 2, "b", "f"), Call("b", 3, "a", "g")]
    found += [Call("b", 4, "c", "h")]
    assert circles_of(found) == [{"a", "b"}]
    assert shown({"a", "b"}, found) == "a\n    b: f\nb\n    a: g"
    assert shown({"a", "b"}, [Import("a", 1, "b"), Import("b", 2, "a")]) == (
        "a\n    b: line 1\nb\n    a: line 2"
    )


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, circles(edges))) == [["a", "b", "c"], ["d", "e"]]


def test_rooms_use_those_after_them(rooms: dict[str, Room], files: dict[str, str]) -> None:
    order = list(rooms)
    needed: dict[str, set[str]] = {room: set() for room in rooms}
    faults = []
    for each in imports(files):
        room, other = room_of(each.file, rooms), room_of(each.of, rooms)
        if room in (other, "lib"):
            continue
        if order.index(other) > order.index(room):
            continue
        needed[room].add(other)
        if other not in rooms[room].exceptions:
            faults.append(
                f"crates/core/src/{each.file}, line {each.line}, names {each.of}: "
                f"{room} stands after {other} in the table of rooms in ARCHITECTURE.md"
            )
    faults += [
        f"the table of rooms in ARCHITECTURE.md lets {room} use {other}, and no file does"
        for room, said in rooms.items()
        for other in said.exceptions - needed[room]
    ]
    assert not faults, "\n".join(faults)


def test_every_file_has_a_room_and_every_room_a_file(
    rooms: dict[str, Room], files: dict[str, str]
) -> None:
    assert {room_of(file, rooms) for file in set(files) - {"lib.rs"}} == set(rooms)


def test_circles_of_imports_stay_in_one_room_of_the_core(
    rooms: dict[str, Room], files: dict[str, str]
) -> None:
    found = imports(files)
    for circle in circles_of(found):
        assert len({room_of(file, rooms) for file in circle}) == 1, (
            f"files import each other across rooms:\n{shown(circle, found)}"
        )


def test_every_crate_has_a_largest_circle() -> None:
    assert {path.parents[1].name for path in ROOT.glob("crates/*/src/lib.rs")} == set(
        LARGEST_CIRCLES
    )


@pytest.mark.parametrize("crate", LARGEST_CIRCLES)
def test_circles_of_imports_are_small(crate: str) -> None:
    found = imports(sources(ROOT / "crates" / crate / "src"))
    for circle in circles_of(found):
        assert len(circle) <= LARGEST_CIRCLES[crate], (
            f"{len(circle)} files of crates/{crate}/src import each other in a circle:\n"
            f"{shown(circle, found)}"
        )


def test_circles_of_calls_are_small(files: dict[str, str]) -> None:
    found = calls(files)
    for circle in circles_of(found):
        assert len(circle) <= LARGEST_CIRCLE_OF_CALLS, (
            f"{len(circle)} files of crates/core/src call each other's methods in a circle:\n"
            f"{shown(circle, found)}"
        )


def test_the_architecture_can_be_read_in_one_sitting() -> None:
    assert len(ARCHITECTURE.read_text("utf-8").split()) <= 2000
