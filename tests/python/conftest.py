"""Fixtures."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fake_native import FakeControl, FakeNative
from tinytail.cli.main import main
from tinytail.engine import catalog, native as engine

# A shell that starts the tests in the background has these ignored, and processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> FakeNative:
    """A fake in place of the native module, for what must not depend on a real run."""
    fake = FakeNative()
    monkeypatch.setattr(engine, "_native", fake)
    monkeypatch.setattr(catalog, "_native", fake)
    monkeypatch.setattr(engine, "Control", FakeControl)
    return fake


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.delenv("TINYTAIL_CACHE_GIB", raising=False)


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output does not depend on the terminal that the tests run in."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")


class Outcome:
    """What a command line did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


RunCommand = Callable[..., Outcome]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs the command line in this process."""

    def run(*words: str) -> Outcome:
        code = main(words)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run


def experiment(name: str) -> ModuleType:
    """A script of experiments as a module."""
    path = Path(__file__).parents[2] / "experiments" / f"{name}.py"
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
