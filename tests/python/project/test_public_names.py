"""The public names: each where the table says, the same for type checkers, and no more."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import tinytail


def test_each_name_is_where_the_table_says() -> None:
    for name, module in tinytail._MODULES.items():
        assert getattr(import_module(module), name) is getattr(tinytail, name), name


def test_type_checkers_are_told_the_same() -> None:
    tree = ast.parse(Path(str(tinytail.__file__)).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    told = {each.name: node.module for node in imports for each in node.names if each.asname}
    assert told.pop("results") == "tinytail.engine"
    assert told == tinytail._MODULES


def test_there_are_functions_with_verbs_and_few_types() -> None:
    assert set(tinytail.__all__) == {"__version__", "types", *tinytail._MODULES}
    assert tinytail.types.Latency is import_module("tinytail.engine.results").Latency
