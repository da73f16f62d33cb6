"""Fixtures."""

from __future__ import annotations

import gc
import signal

import pytest

from commands import Outcome, RunCommand
from fake_native import FakeControl, FakeNative
from tinytail.cli.main import main
from tinytail.engine import catalog, native as engine

pytest_plugins = ["small_papers"]

# A shell that starts the tests in the background has these ignored, and processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The default looks for cycles so often that it takes a twentieth of the time of all tests.
gc.set_threshold(50_000, 20, 20)


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
    """No test reads or writes the user's cache. The one in its place has been announced."""
    cache = tmp_path_factory.getbasetemp() / "cache"
    (cache / "tinytail" / "aged").mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("TINYTAIL_CACHE_GIB", raising=False)


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output does not depend on the terminal that the tests run in."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs the command line in this process."""

    def run(*words: str) -> Outcome:
        code = main(words)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return run
