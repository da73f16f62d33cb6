"""Commands that only look at a design run none of its code."""

from __future__ import annotations

import json
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand
from tinytail.cli import names
from tinytail.errors import ConfigError
from tinytail.policies import describe
from tinytail.policies.identity import text_digest
from tinytail.policies.load import load

HEAD = 'name = "mine"\nkind = "overlay"\nsummary = "mine"\n[victim]\n'
# What runs it, writes a file.
TRAP = """
import pathlib
import tinytail

pathlib.Path({mark!r}).write_text("the file was run")


@tinytail.policy("victim")
def least(view, plane, candidates):
    return min(candidates, key=lambda block: view.valid_pages[block])
"""
TRAP_IN_C = """
#include <stdint.h>
#include <stdio.h>

__attribute__((constructor)) static void opened(void) {{ fclose(fopen("{mark}", "w")); }}

int64_t least(const void *view) {{ (void)view; return -1; }}
"""
WORDS = ("--device", "ttflash-small", "--workload", "hotcold-write", "--requests", "10")


def trap_in_python(folder: Path, mark: Path) -> str:
    (folder / "trap.py").write_text(TRAP.format(mark=str(mark)))
    return "trap.py"


def trap_in_c(folder: Path, mark: Path) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "trap.c").write_text(TRAP_IN_C.format(mark=mark))
    made = folder / "libtrap.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, folder / "trap.c"], check=True)
    return made.name


@pytest.mark.parametrize("trap", [trap_in_python, trap_in_c])
def test_a_look_at_a_design_runs_none_of_its_code(
    trap: object, command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "ran.txt"
    file = trap(tmp_path, mark)  # type: ignore[operator]
    entry = f'{{ policy = "custom", file = "{file}", name = "least" }}'
    Path("trap.toml").write_text(f"{HEAD}chain = [{entry}]\n")
    looks = [
        ("config", "check", "trap.toml"),
        ("designs", "trap.toml"),
        ("designs", "base+trap.toml"),
        ("designs", "base+trap.toml", "--toml"),
        ("designs", "base", "--set", f"victim.chain=[{entry}]"),
        ("compare", "base+trap.toml", "--help"),
        ("--help",),
        ("completion", "bash"),
    ]
    for words in looks:
        outcome = command(*words)
        assert outcome.code == 0, (words, outcome.err)
        assert not mark.exists(), words

    class Context:
        incomplete = "tr"

    assert ("trap.toml", "file") in names.designs(Context())  # type: ignore[arg-type]
    assert tinytail.describe_design("base+trap.toml")
    assert not mark.exists()
    command("compare", "base+trap.toml", *WORDS)
    assert mark.exists(), "a run does run it"


def test_a_library_is_looked_into_without_opening_it(command: RunCommand, tmp_path: Path) -> None:
    file = trap_in_c(tmp_path, tmp_path / "ran.txt")
    design = tmp_path / "trap.toml"
    design.write_text(f'{HEAD}chain = [{{ policy = "custom", file = "{file}", name = "leas" }}]\n')
    outcome = command("designs", f"base+{design}")
    assert outcome.code == 2
    assert "it has no function `leas` that others may call" in outcome.err
    assert not (tmp_path / "ran.txt").exists()


TOP = "import tinytail\n"
DEFINED = "def mine(view, plane, candidates, weight=1): return candidates[0]\n"
TRIGGER = "def mine(view, plane): return 0\n"
# A section, the text of a file, and the parameters that a design gives.
FILES = {
    "plain": ("victim", f'{TOP}@tinytail.policy("victim")\n{DEFINED}', {"weight": 2}),
    "alias": ("victim", f'import tinytail as t\n@t.policy("victim")\n{DEFINED}', {}),
    "named": ("victim", f'from tinytail import policy as p\n@p("victim")\n{DEFINED}', {}),
    "assigned": ("victim", f'{TOP}{DEFINED}mine = tinytail.policy("victim")(mine)\n', {}),
    "given": (
        "victim",
        f'{TOP}@tinytail.policy("victim")\n{DEFINED}mine = mine.given(weight=3)',
        {},
    ),
    "made": ("victim", f'{TOP}{DEFINED}globals()["mine"] = tinytail.policy("victim")(mine)', {}),
    "in if": ("victim", f'{TOP}if True:\n    @tinytail.policy("victim")\n    {DEFINED}', {}),
    "own decorator": (
        "victim",
        f'{TOP}choose = tinytail.policy("victim")\n@choose\n{DEFINED}',
        {"weight": 2},
    ),
    "inner decorator": (
        "victim",
        f"{TOP}import functools\ndef more(f):\n"
        "    return lambda view, plane, candidates, extra=0: f(view, plane, candidates)\n"
        f'@tinytail.policy("victim")\n@functools.wraps({"len"})\n{DEFINED}',
        {},
    ),
    "other section": ("order", f'{TOP}@tinytail.policy("victim")\n{DEFINED}', {}),
    "no policy": ("victim", DEFINED, {}),
    "absent": ("victim", f'{TOP}@tinytail.policy("victim")\n{DEFINED.replace("mine", "min")}', {}),
    "none": ("victim", TOP, {}),
    "unknown parameter": ("victim", f'{TOP}@tinytail.policy("victim")\n{DEFINED}', {"wait": 2}),
    "lacks arguments": ("victim", f'{TOP}@tinytail.policy("victim")\ndef mine(view): ...\n', {}),
    "lacks a parameter": (
        "victim",
        f'{TOP}@tinytail.policy("victim")\n{DEFINED.replace("=1", "")}',
        {},
    ),
    "any parameter": (
        "victim",
        f'{TOP}@tinytail.policy("victim")\n{DEFINED.replace("weight=1", "**more")}',
        {"wait": 2},
    ),
    "class": (
        "victim",
        f'{TOP}@tinytail.policy("victim")\nclass mine:\n'
        "    def __init__(self, step=1): ...\n"
        "    def choose(self, view, plane, candidates): return candidates[0]\n",
        {"step": 2},
    ),
    "class without it": (
        "victim",
        f'{TOP}@tinytail.policy("victim")\nclass mine:\n'
        "    def choose(self, view, plane, candidates): return candidates[0]\n",
        {"step": 2},
    ),
    "inherits": (
        "victim",
        f"{TOP}class Above:\n    def __init__(self, step=1): ...\n"
        '@tinytail.policy("victim")\nclass mine(Above):\n'
        "    def choose(self, view, plane, candidates): return candidates[0]\n",
        {"step": 2},
    ),
    "trigger": (
        "gc_trigger",
        f'{TOP}@tinytail.policy("gc_trigger", start_percent=20, urgent_percent=8)\n{TRIGGER}',
        {},
    ),
    "trigger of a design": (
        "gc_trigger",
        f'{TOP}@tinytail.policy("gc_trigger")\n{TRIGGER}',
        {"start_percent": 20, "stop_percent": 25, "urgent_percent": 8},
    ),
    "trigger that computes": (
        "gc_trigger",
        f'{TOP}S = 2\n@tinytail.policy("gc_trigger", start_percent=S, urgent_percent=1)\n{TRIGGER}',
        {},
    ),
    "trigger without levels": (
        "gc_trigger",
        f'{TOP}@tinytail.policy("gc_trigger", start_percent=20)\n{TRIGGER}',
        {},
    ),
    "syntax": ("victim", "def (\n", {}),
    "compile only": ("victim", f"{TOP}return 3\n", {}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_text_shows_what_its_code_does_or_nothing(name: str) -> None:
    """What is refused by the text is refused by the code, in the same words."""
    section, text, parameters = FILES[name]
    text, given = textwrap.dedent(text), json.dumps(parameters)
    file = f"{name}.py"
    by_text, by_code = None, None
    refused: list[str | None] = [None, None]
    try:
        by_text = describe.describe(section, "mine", file, text, given)
    except ConfigError as error:
        refused[0] = str(error)
    try:
        by_code = load(section, "mine", file, text, text_digest(text.encode()), given)
    except ConfigError as error:
        refused[1] = str(error)
    assert refused[0] in (None, refused[1])
    assert by_text is None or (by_code is not None and by_code.levels == by_text)
    must_show = ("other section", "no policy", "absent", "none", "unknown parameter", "syntax")
    assert refused[0] is not None or name not in must_show
    assert by_text == {"trigger": (20, 20, 8), "trigger of a design": (20, 25, 8)}.get(name)
