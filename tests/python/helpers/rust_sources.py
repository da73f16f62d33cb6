"""What files of Rust use of each other: by imports, and by calls of methods.

The text is read without a compiler, so a call is known by its name alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

Module = tuple[str, ...]

# What the root of a crate has for every file. Anything else is to be named where it stands.
MACROS: set[Module] = {("check",)}

MODULE_FOR_TESTS = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;"
)
IMPL = re.compile(r"^\s*(?:unsafe\s+)?impl\b([^{]*)\{", re.MULTILINE)
TRAIT = re.compile(r"\btrait\s+[\w$]+[^{;]*\{")
CALL = re.compile(r"(?:(?<!\.)\.\s*|\b[A-Z]\w*::)([a-z_]\w*)\s*(?:::<[^;{}()]*>)?\(")

# Methods of types of the standard library.
NAMES_OF_STD = """
abs abs_diff add all and_then any append as_bytes as_chunks as_deref as_mut as_mut_slice as_path
as_ref as_slice as_str back binary_search borrow borrow_mut by_ref bytes capacity ceil chain chars
checked_add checked_div checked_mul checked_sub chunks chunks_exact clamp clear clone cloned cmp
collect concat contains contains_key copied copy_from_slice count count_ones cycle dedup default
div_ceil drain duration_since elapsed ends_with entry enumerate eq err exists expect extend
extend_from_slice extend_from_within fetch_add fetch_sub fill filter filter_map find find_map finish
first first_mut flat_map flatten floor flush fold for_each from from_bits from_le_bytes front fuse
get get_mut get_or_insert get_or_insert_with get_unchecked hash ilog2 insert inspect into
into_boxed_slice into_inner into_iter is_empty is_err is_finished is_multiple_of is_none is_none_or
is_ok is_power_of_two is_some is_some_and iter iter_mut join keys last last_mut leading_zeros len
lines load lock map map_err map_or map_or_else map_while matches max max_by max_by_key min min_by
min_by_key mul ne new next next_back next_if next_power_of_two notify_all notify_one nth ok ok_or
ok_or_else or_default or_else or_insert or_insert_with parse partial_cmp partition partition_point
peek peekable pop pop_back pop_front position pow powi product push push_back push_front push_str
read read_exact recv rem_euclid remove rename repeat replace reserve reset resize retain rev reverse
rfind rotate_left rotate_right round rposition saturating_add saturating_sub scan seek send set
shrink_to_fit skip skip_while sleep sort sort_by sort_by_key sort_unstable sort_unstable_by_key
spawn splice split split_at split_first split_last split_off split_once sqrt start starts_with
step_by store strip_prefix strip_suffix sub successors sum swap swap_remove take take_while then
then_some then_with to_bits to_le_bytes to_owned to_string to_vec total_cmp trailing_zeros trim
trim_end trim_start truncate try_fold try_for_each try_from try_into unwrap unwrap_or
unwrap_or_default unwrap_or_else unzip update values values_mut wait wake windows with_capacity
wrapping_add wrapping_mul wrapping_sub write write_all xor zip
"""
OF_STD = set(NAMES_OF_STD.split())


@dataclass(frozen=True, slots=True)
class Import:
    """A file names something of another one."""

    file: str
    line: int
    of: str


@dataclass(frozen=True, slots=True)
class Call:
    """A file calls a method that another one defines."""

    file: str
    line: int
    of: str
    method: str


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


def sources(root: Path) -> dict[str, str]:
    """The code of each file below `root`, the folder of a crate's `lib.rs`, without tests."""
    texts = {
        path.relative_to(root).as_posix(): without_words(path.read_text("utf-8"))
        for path in sorted(root.rglob("*.rs"))
    }
    for_tests = {
        (*module_of(file), name)
        for file, text in texts.items()
        for name in MODULE_FOR_TESTS.findall(text)
    }
    return {
        file: without_tests(text)
        for file, text in texts.items()
        if not any(module_of(file)[: len(module)] == module for module in for_tests)
    }


def functions(text: str, start: int) -> Iterator[str]:
    """The functions that stand directly in the block whose brace is at `start`."""
    depth = 0
    for found in re.finditer(r"[{}]|\bfn\s+(\w+)", text[start : end_of_item(text, start)]):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if found[1] and depth == 1:
            yield found[1]


def homes(files: Mapping[str, str]) -> dict[str, str]:
    """The file of each inherent method whose name says where it is defined.

    A name says so if one file alone has inherent methods of that name (`impl Type`, whatever the
    type), unless a call of it may mean something else:

    - A trait declares it, or a type implements it for a trait. The call may go through the trait,
      which is how a lower tier reaches a higher one without knowing it.
    - A type of the standard library has it (`OF_STD`). `remove` or `iter` is mostly called on a
      `Vec`, even if one file only defines a method of that name.
    """
    inherent: dict[str, set[str]] = defaultdict(set)
    of_traits: set[str] = set()
    for file, text in files.items():
        for trait in TRAIT.finditer(text):
            of_traits.update(functions(text, trait.end() - 1))
        for block in IMPL.finditer(text):
            names = functions(text, block.end() - 1)
            if re.search(r"\bfor\s", block[1]):
                of_traits.update(names)
            else:
                for name in names:
                    inherent[name].add(file)
    return {
        name: next(iter(where))
        for name, where in inherent.items()
        if len(where) == 1 and name not in of_traits | OF_STD
    }


def calls(files: Mapping[str, str]) -> list[Call]:
    """The calls of methods of other files that `homes` knows, in the order of files and lines."""
    home_of = homes(files)
    found = set()
    for file, text in files.items():
        for call in CALL.finditer(text):
            of = home_of.get(call[1], file)
            if of != file:
                found.add(Call(file, text.count("\n", 0, call.start(1)) + 1, of, call[1]))
    return sorted(found, key=lambda each: (each.file, each.line, each.of, each.method))


def circles_of(uses: Iterable[Import | Call]) -> list[set[str]]:
    """The circles of files that use each other."""
    edges: dict[str, set[str]] = defaultdict(set)
    for each in uses:
        edges[each.file].add(each.of)
    return circles(edges)


def shown(circle: set[str], uses: Iterable[Import | Call]) -> str:
    """The files of a circle, and under each what it uses of the others."""
    found: dict[str, dict[str, set[str]]] = {file: defaultdict(set) for file in sorted(circle)}
    for each in uses:
        if {each.file, each.of} <= circle:
            of = each.method if isinstance(each, Call) else f"line {each.line}"
            found[each.file][each.of].add(of)
    lines = []
    for file, others in found.items():
        lines.append(file)
        lines += [f"    {other}: {', '.join(sorted(what))}" for other, what in others.items()]
    return "\n".join(lines)
