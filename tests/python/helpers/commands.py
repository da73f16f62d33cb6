"""The command line, files and experiments, as tests use them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class Outcome:
    """What a command line did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


RunCommand = Callable[..., Outcome]


def experiment(name: str) -> ModuleType:
    """A script of experiments as a module."""
    path = Path(__file__).parents[3] / "experiments" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its data classes look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def read_json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def start(*words: str, before: Sequence[str] = (), **options: Any) -> subprocess.Popen[str]:
    """Starts the command in a process of its own, to be interrupted or limited.

    What stands in `before` is a command that runs it.
    """
    code = "import sys; from tinytail.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [*before, sys.executable, "-c", code, *words],
        text=True,
        env=os.environ | {"COLUMNS": "80"},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
