"""Writes pages of commands and of functions, and the columns of sweeps in their guide.

Run it after a command, a public function or its docstring, or a column was changed, from the root
of the repository:

    .venv/bin/python tools/reference.py
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import docstring_parser

import tinytail
from tinytail.cli.app import app
from tinytail.sweeps.rows import columns

ROOT = Path(__file__).parent.parent
OPTIONS = ROOT / "docs" / "reference" / "options.md"
API = ROOT / "docs" / "reference" / "api.md"
SWEEP = ROOT / "docs" / "guides" / "sweep.md"
HEAD = """# Python functions

What `import tinytail` has. Results and their parts have [pages of their own](keys.md); the types
of parts are in `tinytail.types`. [reference.py](../../tools/reference.py) makes this page from the
docstrings.
"""
OPTIONS_HEAD = """# Options of the commands

[reference.py](../../tools/reference.py) makes this page from the commands. `--help` says the same.
"""


def options() -> str:
    """The page of options."""
    app.resolved_commands()
    # The library looks up how the running program is called.
    main, called = sys.modules["__main__"], sys.argv[0]
    spec, main.__spec__, sys.argv[0] = main.__spec__, None, "tinytail"
    try:
        text = app.generate_docs(output_format="markdown")
    finally:
        main.__spec__, sys.argv[0] = spec, called
    body = text[text.index("## Table of Contents") :].replace("## Table of Contents", "## Commands")
    # The order and the spaces of the library, without those at ends of lines.
    lines = [line.rstrip() for line in body.splitlines()]
    # A usage of its own names the command once more.
    lines = [re.sub(r"^tinytail ((?:[\w-]+ )+)\1", r"tinytail \1", line) for line in lines]
    return OPTIONS_HEAD + "\n" + re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def api() -> str:
    """The page of functions and types."""
    names = sorted(tinytail._MODULES, key=str.lower)
    things = {name: getattr(tinytail, name) for name in names}
    functions = {name: each for name, each in things.items() if inspect.isfunction(each)}
    errors = {
        name: each
        for name, each in things.items()
        if inspect.isclass(each) and issubclass(each, BaseException)
    }
    types = {name: each for name, each in things.items() if name not in functions | errors}
    parts = [HEAD, "## Functions\n"]
    for name in functions:
        parts.append(f"- [`{name}`](#{name}): {_first(functions[name])}")
    parts.append("")
    parts += [_function(name, each) for name, each in functions.items()]
    parts += ["## Types\n", *(_type(name, each) for name, each in types.items())]
    parts += ["## Errors\n", "| error | meaning |", "|---|---|"]
    parts += [f"| `{name}` | {_first(each)} |" for name, each in errors.items()]
    return "\n".join(parts) + "\n"


def _first(thing: Any) -> str:
    return (docstring_parser.parse(inspect.getdoc(thing) or "").short_description or "").strip()


def _function(name: str, function: Any) -> str:
    about = docstring_parser.parse(inspect.getdoc(function) or "")
    # Defaults are shown as they are written, types as they are annotated.
    parameters = inspect.signature(function).parameters.values()
    shown = []
    keyword_only = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            shown.append("*")
            keyword_only = True
        shown.append(_parameter(each))
    inner = ",\n    ".join(shown)
    lines = [f"### {name}\n", "```python", f"{name}(\n    {inner},\n)", "```\n"]
    lines += [_text(about.short_description), ""]
    if about.long_description:
        lines += [_text(about.long_description), ""]
    lines += [f"- `{each.arg_name}`: {_text(each.description)}" for each in about.params]
    if about.returns is not None:
        lines.append(f"- Returns: {_text(about.returns.description)}")
    lines += [f"- Raises `{each.type_name}`: {_text(each.description)}" for each in about.raises]
    return "\n".join([*lines, ""])


def _parameter(each: inspect.Parameter) -> str:
    """A parameter as it is written, types without the modules that they are in."""
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    kind = re.sub(r"\b(tables|arguments|catalog|os)\.(?=[A-Z])", "", str(each.annotation))
    kind = re.sub(r"Annotated\[(\w+), Whole\([^)]*\)\]", r"\1", kind)
    default = "" if each.default is each.empty else f" = {each.default!r}"
    return f"{stars}{each.name}: {kind}{default}"


def _type(name: str, kind: Any) -> str:
    about = docstring_parser.parse(inspect.getdoc(kind) or "")
    lines = [f"### {name}\n", _text(about.short_description), ""]
    if about.long_description:
        lines += [_text(about.long_description), ""]
    lines += [f"- `{each.arg_name}`: {_text(each.description)}" for each in about.params]
    methods = [
        (each, member)
        for each, member in vars(kind).items()
        if not each.startswith("_") and inspect.isfunction(member) and member.__doc__
    ]
    lines += [f"- `{each}()`: {_first(member)}" for each, member in methods]
    return "\n".join([*lines, ""])


def _text(text: str | None) -> str:
    return " ".join((text or "").split())


def sweep() -> str:
    """The guide to sweeps, with their columns."""
    rows = "".join(f"| `{each.name}` | {each.type} | {each.meaning} |\n" for each in columns(()))
    begin, end = "<!-- columns of a sweep -->\n", "<!-- end of the columns -->"
    before, _, rest = SWEEP.read_text("utf-8").partition(begin)
    after = rest[rest.index(end) :]
    return f"{before}{begin}| column | type | meaning |\n|---|---|---|\n{rows}{after}"


def main() -> None:
    """Writes the pages."""
    for path, text in ((OPTIONS, options()), (API, api()), (SWEEP, sweep())):
        path.write_text(text, "utf-8")
        print(f"{path.relative_to(ROOT)} written")  # noqa: T201


if __name__ == "__main__":
    main()
