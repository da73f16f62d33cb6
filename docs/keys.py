"""Writes what follows from the schemas of results: docs/keys.md and the types of the package.

Run it after a schema was changed, from the root of the repository:

    .venv/bin/python docs/keys.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tinytail.methods import METHODS

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "python" / "tinytail" / "schema"
PAGE = ROOT / "docs" / "keys.md"
TYPES = ROOT / "python" / "tinytail" / "result_types.py"

DOCUMENTS = {"Comparison": "compare", "Certification": "certify"}
WIDTH = 100
HEAD = '''"""The types of results. docs/keys.py makes this file from their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tinytail import methods
'''
INTRODUCTION = """# Keys of results

Every key of the documents that `tinytail compare --json` and `tinytail certify act --json` write,
and every attribute of what `tinytail.compare` and `tinytail.certify_act` return.
[Results](results.md) says how the figures are found, and what the causes of latency are.
[keys.py](keys.py) makes this page from the JSON Schemas of
[comparisons](../python/tinytail/schema/compare.schema.json) and of
[certifications](../python/tinytail/schema/certify.schema.json).

A key without another unit is in that of its name: `_us` microseconds, `_ns` nanoseconds,
`_seconds` and `_s` seconds of simulated time if nothing else is said, `_percent` percent.
"""
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}

Schema = dict[str, Any]


def definitions() -> dict[str, Schema]:
    """Every type by its name, each after the first that has it as a part."""
    found: dict[str, Schema] = {}
    for name, file in DOCUMENTS.items():
        schema = json.loads((SCHEMA / f"{file}.schema.json").read_text("utf-8"))
        parts = schema.pop("$defs")
        waiting = [(name, schema)]
        while waiting:
            of, part = waiting.pop(0)
            if found.setdefault(of, part) != part:
                raise ValueError(f"there are two definitions of {of}")
            waiting[:0] = [(of, parts[of]) for of in _references(part) if of not in found]
    return found


def _references(schema: Any) -> list[str]:
    """The names of the types that a type has as parts, in the order of its keys."""
    if not isinstance(schema, dict):
        return []
    inner = [of for _, _, of in keys(schema)] if "properties" in schema else schema.values()
    named = [schema["$ref"].rpartition("/")[2]] if "$ref" in schema else []
    lists = [each for value in schema.values() if isinstance(value, list) for each in value]
    return named + [name for part in (*inner, *lists) for name in _references(part)]


def keys(schema: Schema) -> Iterator[tuple[str, bool, Schema]]:
    """The keys of an object, whether each is always there, and what it has."""
    needed = schema.get("required", [])
    for name in [*needed, *(key for key in schema["properties"] if key not in needed)]:
        yield name, name in needed, schema["properties"][name]


def choices(schema: Schema) -> list[Schema]:
    """The values of an enumeration with their meanings; nothing if it is none."""
    return [each for each in schema.get("oneOf", []) if "const" in each]


def python_type(schema: Schema, defined: dict[str, Schema]) -> str:
    """A schema as the type of an attribute."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        # What may lack any of its keys is no class.
        is_open = "properties" in defined[name] and "required" not in defined[name]
        return "Mapping[str, Any]" if is_open else name
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(map(json.dumps, values))}]"
    if "anyOf" in schema:
        return " | ".join(python_type(each, defined) for each in schema["anyOf"])
    match schema["type"]:
        case "array":
            return f"tuple[{python_type(schema['items'], defined)}, ...]"
        case "object":
            values = schema["additionalProperties"] or {"type": "integer"}
            return f"Mapping[str, {python_type(values, defined)}]"
        case list(types):
            return " | ".join(PLAIN[each] for each in types)
        case plain:
            return PLAIN[plain]


def types() -> str:
    """The module of types."""
    defined = definitions()
    parts = [HEAD]
    for name, schema in sorted(defined.items()):
        if choices(schema):
            values = ", ".join(json.dumps(each["const"]) for each in choices(schema))
            parts.append(f"{name} = Literal[{values}]\n")
    classes = [name for name, schema in defined.items() if "required" in schema]
    text = "\n".join(parts) + "".join(_class(name, defined) for name in reversed(classes))
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TYPES), "-"]
    return subprocess.run(ruff, input=text, text=True, capture_output=True, check=True).stdout


def _class(name: str, defined: dict[str, Schema]) -> str:
    schema = defined[name]
    described, fields = [], []
    for key, always, value in keys(schema):
        if value.get("readOnly"):
            continue
        kind = python_type(value, defined)
        default = "" if always else " = ()" if kind.startswith("tuple") else " = None"
        kind += " | None" if default == " = None" else ""
        fields.append(f"    {key}: {kind}{default}")
        described += _wrapped(f"{key}: {_said(value)}", " " * 8, " " * 12)
    methods = METHODS.get(name)
    base = f"(methods.{methods.__name__})" if methods else ""
    has_repr = methods is not None and "__repr__" in vars(methods)
    summary, _, more = _said(schema).partition(". ")
    about = _wrapped(f'"""{summary.rstrip(".")}.', " " * 4, " " * 4)
    about += ["", *_wrapped(more, " " * 4, " " * 4)] if more else []
    lines = ["", "", f"@dataclass(frozen=True, slots=True{', repr=False' if has_repr else ''})"]
    lines += [
        f"class {name}{base}:",
        *about,
        "",
        "    Attributes:",
        *described,
        '    """',
        "",
        *fields,
    ]
    return "\n".join([*lines, ""])


def _said(schema: Schema) -> str:
    return str(schema.get("description", "")).replace("`null`", "None")


def _wrapped(text: str, first: str, then: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def page_type(schema: Schema) -> str:
    """A schema as the page names it."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return ", ".join(f"`{value}`" for value in values)
    if "anyOf" in schema:
        return " or ".join(page_type(each) for each in schema["anyOf"])
    match schema["type"]:
        case "array":
            return f"list: {page_type(schema['items'])}"
        case "object" if "patternProperties" in schema:
            return "[counts by name](#techniques)"
        case "object":
            return f"by name: {page_type(schema['additionalProperties'])}"
        case list(types):
            return " or ".join(types)
        case plain:
            return str(plain)


def page() -> str:
    """The page."""
    parts = [INTRODUCTION]
    counters: Schema = {}
    for name, schema in definitions().items():
        about = "\n".join(textwrap.wrap(schema["description"], WIDTH, break_on_hyphens=False))
        parts.append(f"## {name}\n\n{about}\n")
        if choices(schema):
            values = [(f"`{each['const']}`", each["description"]) for each in choices(schema)]
            parts.append(_table(("value", "meaning"), values))
        if "required" not in schema:
            continue
        rows = []
        for key, always, value in keys(schema):
            counters |= value.get("patternProperties", {})
            kind = page_type(value) if always else f"{page_type(value)}; may be missing"
            rows.append((f"`{key}`", kind, value["description"]))
        parts.append(_table(("key", "value", "meaning"), rows))
    parts.append("## Techniques\n\nA name has the technique of the design for the dots.\n")
    named = [
        (f"`{pattern.strip('^$').replace('[^:]+', '...')}`", counter["description"])
        for pattern, counter in counters.items()
    ]
    parts.append(_table(("name", "counts"), named))
    return "\n".join(parts)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |\n" for row in (head, *rows)]
    return "".join([lines[0], f"|{'---|' * len(head)}\n", *lines[1:]])


def main() -> None:
    """Writes both."""
    for path, text in ((PAGE, page()), (TYPES, types())):
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)} written\n")


if __name__ == "__main__":
    main()
