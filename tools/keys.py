"""Writes what follows from the schemas of results and options: types of the package, and docs.

Run it after a schema was changed, from the root of the repository:

    .venv/bin/python tools/keys.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from tinytail.engine.methods import METHODS

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "python" / "tinytail" / "schema"
PAGE = ROOT / "docs" / "reference" / "keys.md"
TYPES = ROOT / "python" / "tinytail" / "engine" / "results.py"
ANSWER_TYPES = ROOT / "python" / "tinytail" / "engine" / "answers.py"
OPTIONS = ROOT / "python" / "tinytail" / "engine" / "options.py"
FILES = ROOT / "docs" / "reference" / "files.md"

DOCUMENTS = {"Comparison": "compare", "Certification": "certify"}
# What other functions return; their documents have no page.
ANSWERS = {"Answers": "answers", "Served": "serve"}
SPECS = {"Specs": "specs"}
WIDTH = 100
HEAD = '''"""The types of results. tools/keys.py makes this file from their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tinytail.engine import methods
'''
ANSWERS_HEAD = HEAD.replace("The types of results.", "What other functions return.")
OPTIONS_HEAD = '''"""What the engine is asked for. tools/keys.py makes this file from its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

from tinytail.engine.arguments import U32_MAX, U64_MAX
from tinytail.engine.declared import Options, Whole
'''
INTRODUCTION = """# Keys of results

Every key of the documents that `tinytail compare --json` and `tinytail certify act --json` write,
and every attribute of what `tinytail.compare` and `tinytail.certify_act` return.
[Results](results.md) says how the figures are found, and what the causes of latency are.
[keys.py](../../tools/keys.py) makes this page from the JSON Schemas of
[comparisons](../../python/tinytail/schema/compare.schema.json) and of
[certifications](../../python/tinytail/schema/certify.schema.json).

A key without another unit is in that of its name: `_us` microseconds, `_ns` nanoseconds,
`_seconds` and `_s` seconds of simulated time if nothing else is said, `_percent` percent.
"""
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}

MOST = {"uint32": "U32_MAX", "uint64": "U64_MAX", "uint": "U64_MAX"}

Schema = dict[str, Any]


def definitions(documents: dict[str, str] = DOCUMENTS) -> dict[str, Schema]:
    """Every type by its name, each after the first that has it as a part."""
    found: dict[str, Schema] = {}
    for name, file in documents.items():
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
        if is_open:
            return "Mapping[str, Any]"
        is_named = "properties" in defined[name] or choices(defined[name])
        return name if is_named else python_type(defined[name], defined)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(map(json.dumps, values))}]"
    if "anyOf" in schema:
        kinds = [python_type(each, defined) for each in schema["anyOf"]]
        # Text may hold a number.
        return "str" if {"string", "integer"} <= _kinds(schema) else " | ".join(kinds)
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(_python_type(kind, schema, defined) for kind in kinds)


def _kinds(schema: Schema) -> set[str]:
    return {str(each.get("type")) for each in schema["anyOf"]}


def _python_type(kind: str, schema: Schema, defined: dict[str, Schema]) -> str:
    if kind == "array" and "prefixItems" in schema:
        return f"tuple[{', '.join(python_type(each, defined) for each in schema['prefixItems'])}]"
    if kind == "array":
        return f"tuple[{python_type(schema['items'], defined)}, ...]"
    if kind == "object":
        values = schema["additionalProperties"] or {"type": "integer"}
        return f"Mapping[str, {'Any' if values is True else python_type(values, defined)}]"
    if kind == "integer" and "format" in schema:
        most = schema.get("maximum", MOST[schema["format"]])
        return f"Annotated[int, Whole({schema['minimum']}, {most})]"
    return PLAIN[kind]


def types() -> str:
    """The module of types of results."""
    defined = definitions()
    classes = [name for name, schema in defined.items() if "required" in schema]
    made = "".join(_result(name, defined) for name in reversed(classes))
    return _formatted(HEAD, defined, made, TYPES)


def answers() -> str:
    """The module of types of what other functions return, which may have parts of results."""
    known = definitions()
    defined = definitions(ANSWERS)
    del defined["Answers"]
    shared = [name for name in defined if name in known and "required" in known[name]]
    own = {name: schema for name, schema in defined.items() if name not in known}
    made = "".join(_result(name, defined) for name in reversed(own) if "required" in own[name])
    head = ANSWERS_HEAD + f"from tinytail.engine.results import {', '.join(sorted(shared))}\n"
    return _formatted(head, own, made, ANSWER_TYPES)


def _formatted(head: str, defined: dict[str, Schema], classes: str, path: Path) -> str:
    parts = [head]
    for name, schema in sorted(defined.items()):
        if choices(schema):
            values = ", ".join(json.dumps(each["const"]) for each in choices(schema))
            parts.append(f"{name} = Literal[{values}]\n")
    text = "\n".join(parts) + classes
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(path), "-"]
    return subprocess.run(ruff, input=text, text=True, capture_output=True, check=True).stdout


def _result(name: str, defined: dict[str, Schema]) -> str:
    fields = []
    for key, always, value in keys(defined[name]):
        if value.get("readOnly"):
            continue
        kind = python_type(value, defined)
        default = "" if always else " = ()" if kind.startswith("tuple") else " = None"
        or_none = " | None" if default == " = None" and not kind.endswith(" | None") else ""
        fields.append((key, f"{kind}{or_none}{default}"))
    methods = METHODS.get(name)
    base = f"methods.{methods.__name__}" if methods else ""
    has_repr = methods is not None and "__repr__" in vars(methods)
    decorator = f"@dataclass(frozen=True, slots=True{', repr=False' if has_repr else ''})"
    return _class([decorator], name, base, defined[name], fields)


def _class(
    decorators: list[str], name: str, base: str, schema: Schema, fields: list[tuple[str, str]]
) -> str:
    described = []
    for key, _ in fields:
        about = f"{key}: {_said(schema['properties'][key])}"
        described += _wrapped(about, " " * 8, " " * 12)
    summary, _, more = _said(schema).partition(". ")
    about = _wrapped(f'"""{summary.rstrip(".")}.', " " * 4, " " * 4)
    about += ["", *_wrapped(more, " " * 4, " " * 4)] if more else []
    lines = ["", "", *decorators, f"class {name}{f'({base})' if base else ''}:", *about, ""]
    lines += ["    Attributes:", *described, '    """', ""]
    return "\n".join([*lines, *(f"    {key}: {kind}" for key, kind in fields), ""])


def specs() -> dict[str, Schema]:
    """What the engine is asked for: the types by their names, with the scalar options of a run."""
    defined = definitions(SPECS)
    del defined["Specs"]
    run = defined["RunSpec"]["properties"]
    scalar = {"integer", "boolean"}
    chosen = {key: value for key, value in run.items() if {*_types(value)} & scalar}
    about = "How a run is made, whatever it is of: its length, its seed, and what is measured."
    order = [key for key in defined["RunSpec"]["required"] if key in chosen]
    options = {"description": about, "properties": chosen, "required": order}
    return {**defined, "RunOptions": options}


def _types(schema: Schema) -> list[str]:
    of = schema.get("type", [])
    return of if isinstance(of, list) else [of]


def options() -> str:
    """The module of options."""
    defined = specs()
    parts = []
    classes = {name: schema for name, schema in defined.items() if "properties" in schema}
    needs = {name: _references(schema) for name, schema in classes.items()}
    needs["RunSpec"].append("RunOptions")
    for name in [name for name in TopologicalSorter(needs).static_order() if name in classes]:
        schema, base = defined[name], "RunOptions" if name == "RunSpec" else "Options"
        inherited = defined["RunOptions"]["properties"] if name == "RunSpec" else {}
        fields = [
            (key, python_type(value, defined) + _default(value, defined))
            for key, _, value in keys(schema)
            if key not in inherited
        ]
        decorator = "@dataclass(frozen=True, slots=True, kw_only=True)"
        parts.append(_class([decorator], name, base, schema, fields))
    parts.append(_keywords("TraceKeywords", "TypedDict", "TraceOptions", defined))
    parts.append(_keywords("RunKeywords", "TraceKeywords", "RunOptions", defined))
    return _formatted(OPTIONS_HEAD, defined, "".join(parts), OPTIONS)


def _keywords(name: str, base: str, of: str, defined: dict[str, Schema]) -> str:
    more = "" if base == "TypedDict" else f", and those of `{base}`"
    lines = ["", "", f"class {name}({base}, total=False):"]
    lines += [f'    """The options of `{of}` as keyword arguments{more}."""', ""]
    fields = keys(defined[of])
    return "\n".join(
        [*lines, *(f"    {key}: {python_type(v, defined)}" for key, _, v in fields), ""]
    )


def _default(schema: Schema, defined: dict[str, Schema]) -> str:
    """The default of a field; nothing if a value is needed."""
    may_lack = "null" in _types(schema) or {"type": "null"} in schema.get("anyOf", [])
    default = schema.get("default")
    if "$ref" in schema and "default" in schema:
        return f" = {python_type(schema, defined)}()"
    if default == {}:
        return " = field(default_factory=dict)"
    if default == []:
        return " = ()"
    return f" = {default}" if may_lack or "default" in schema else ""


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


def files() -> str:
    """The page of description files, with its tables of options."""
    text, defined = FILES.read_text("utf-8"), specs()
    for name in ("TraceOptions", "Transform"):
        rows = [
            (f"`{key}`", f"`--{key.replace('_', '-')}`", _value(value, defined), _said(value))
            for key, _, value in keys(defined[name])
        ]
        table = _table(("key", "option", "value", "meaning"), rows)
        begin, end = f"<!-- keys of {name} -->\n", "<!-- end of the keys -->\n"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}{table}{end}{rest.partition(end)[2]}"
    return text


def _value(schema: Schema, defined: dict[str, Schema]) -> str:
    """What a key of a file may have."""
    if "$ref" in schema:
        return _value(defined[schema["$ref"].rpartition("/")[2]], defined)
    if choices(schema):
        return ", ".join(f"`{each['const']}`" for each in choices(schema))
    if "anyOf" in schema:
        kinds = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(_value(each, defined) for each in kinds)
    (kind,) = [each for each in _types(schema) if each != "null"]
    if "prefixItems" in schema:
        inner = ", ".join(_value(each, defined) for each in schema["prefixItems"])
        return f"list: {inner}"
    return f"{kind} from {schema['minimum']}" if schema.get("minimum") else kind


def main() -> None:
    """Writes all of them."""
    made = {
        PAGE: page(),
        TYPES: types(),
        ANSWER_TYPES: answers(),
        OPTIONS: options(),
        FILES: files(),
    }
    for path, text in made.items():
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)} written\n")


if __name__ == "__main__":
    main()
