"""Policies in libraries: from another crate, and from C by the header."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tinytail
from tinytail import _native
from tinytail.errors import ConfigError, RunError

ROOT = Path(__file__).parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIBRARY = TARGET / "release/examples/libpolicy_library.so"
RUN: dict[str, Any] = {
    "device": "ttflash-small",
    "workload": "hotcold-write",
    "requests": 8000,
    "state": {"ageing": "overwrite"},
}
C = """
#include "tinytail_policy.h"

int64_t in_turn(const tinytail_view *view) {
    if (view->abi != TINYTAIL_ABI || view->parameter_count != 1) return -1;
    if (view->ask(view, TINYTAIL_FREE_PAGES, view->plane) == UINT64_MAX) return -2;
    return view->candidates[(uint32_t)view->parameters[0] % view->candidate_count];
}

int64_t watermark(const tinytail_view *view) {
    uint64_t free = view->ask(view, TINYTAIL_FREE_PAGES, view->plane);
    uint64_t pages = (uint64_t)view->blocks_per_plane * view->pages_per_block;
    return free >= (pages * 20 + 50) / 100 ? 0 : free >= (pages * 10 + 50) / 100 ? 1 : 2;
}
"""


def victim(file: Path, name: str, **more: Any) -> list[Any]:
    entry = {"policy": "custom", "file": str(file), "name": name, **more}
    return ["base", {"victim": {"chain": [entry]}}]


def test_a_policy_from_another_crate_decides_as_the_technique_does() -> None:
    command = "cargo build --release -p tinytail-policies --example policy_library"
    assert LIBRARY.is_file(), f"to build it: {command}"
    built_in: list[Any] = [
        ["base", {"victim": {"chain": [{"policy": n}]}}] for n in ("greedy", "cost_benefit")
    ]
    theirs = [victim(LIBRARY, name) for name in ("greedy", "cost_benefit")]
    comparison = tinytail.compare([*built_in, *theirs], **RUN)
    assert not comparison.errors
    found = [result.event_hash for result in comparison.results]
    assert found[:2] == found[2:]
    assert found[0] != found[1]
    with pytest.raises(ConfigError, match="has no function `greed`"):
        tinytail.compare([victim(LIBRARY, "greed")], **RUN)
    with pytest.raises(ConfigError, match=r"`weight` is unknown; a library's policy"):
        tinytail.compare([victim(LIBRARY, "greedy", weight=1)], **RUN)
    # A question of another interface.
    order: Any = {"policy": "custom", "file": str(LIBRARY), "name": "greedy"}
    with pytest.raises(RunError, match=r"greedy of .* of \[order\] failed with its code -1"):
        tinytail.compare([["base", {"order": order}]], **RUN)


def test_a_policy_in_c_is_built_by_the_header(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "mine.c").write_text(C)
    include = ROOT / "crates/policies/include"
    made = tmp_path / "libmine.so"
    words: list[Any] = [
        "-std=c11",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-I",
        include,
        "-o",
        made,
    ]
    subprocess.run([compiler, *words, tmp_path / "mine.c"], check=True)
    trigger: dict[str, Any] = {"policy": "custom", "file": str(made), "name": "watermark"}
    levels = {"start_percent": 20, "urgent_percent": 10}
    rust: dict[str, Any] = {
        "set": {"gc_trigger.soft_free_percent": 20.0, "gc_trigger.hard_free_percent": 10.0}
    }
    mine: list[Any] = ["base", {"gc_trigger": {**trigger, **levels}}]
    designs: list[Any] = [["base", rust], mine, victim(made, "in_turn", parameters=[3])]
    comparison = tinytail.compare(designs, **RUN)
    assert not comparison.errors
    found = [result.event_hash for result in comparison.results]
    assert found[0] == found[1] != found[2]
    with pytest.raises(ConfigError, match="a trigger needs `start_percent`"):
        tinytail.compare([["base", {"gc_trigger": trigger}]], **RUN)
    with pytest.raises(ConfigError, match="`parameters` of a library's policy are a list"):
        tinytail.compare([victim(made, "in_turn", parameters="3")], **RUN)


def test_the_types_of_views_name_all_that_views_have() -> None:
    from tinytail.policies import Read, View, Waiting

    layout = json.loads(_native.policy_layout())
    names = {quantity["name"] for quantity in layout["quantities"]}
    kinds = {"View": View, "Waiting": Waiting, "Read": Read}
    for kind in kinds.values():
        for name in vars(kind):
            if isinstance(vars(kind)[name], property):
                assert f"{name}: " in str(kind.__doc__), name
    assert names <= set(vars(View))
    fields = {each["name"] for each in layout["read"]}
    assert fields - {"extra_count"} <= set(vars(Read))
    assert {each["name"] for each in layout["waiting"]["fields"]} <= set(vars(Waiting))
