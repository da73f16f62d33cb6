"""The exceptions of tinytail. Every message is complete and meant for the user."""

from __future__ import annotations

import difflib
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tinytail import _native
from tinytail._native import ConfigError, RunError, TinytailError, WorkloadError

if TYPE_CHECKING:
    from tinytail.engine.results import ErrorKind

__all__ = [
    "ConfigError",
    "Interrupted",
    "NoResultError",
    "OutputError",
    "ResultsError",
    "RunError",
    "TinytailError",
    "UsageError",
    "WorkloadError",
    "installation",
    "kind_of",
    "of_kind",
    "suggestion",
]


class UsageError(_native.TinytailError):
    """Arguments of the wrong type, out of range, or contradicting each other."""


class OutputError(_native.TinytailError):
    """Results that cannot be written."""


class ResultsError(_native.TinytailError):
    """A file of results that cannot be read back."""


class NoResultError(_native.TinytailError, KeyError):
    """A design has no result: it failed, or it was not among those that were run."""

    def __str__(self) -> str:
        # A KeyError would show its message as a quoted key.
        return str(self.args[0])

    @classmethod
    def of(cls, design: str, results: Iterable[str], failures: Mapping[str, str]) -> NoResultError:
        """The error for a design, from the designs with results and the others' failures."""
        if design in failures:
            return cls(f'"{design}" has no result: {failures[design]}')
        known = [*results, *failures]
        return cls(f'there is no result of "{design}"' + suggestion(design, known))


class Interrupted(KeyboardInterrupt):
    """A comparison, or whatever was run in its place, was stopped by Ctrl-C.

    `comparison` holds what was measured until then: what the function returns, whose `partial` is
    true.
    """

    def __init__(self, comparison: object) -> None:
        super().__init__("interrupted")
        self.comparison = comparison


def kind_of(error: BaseException) -> tuple[ErrorKind, str]:
    """The kind of an error that ended a run, and what is to be said of it."""
    match error:
        case ConfigError():
            return "config", str(error)
        case WorkloadError():
            return "workload", str(error)
        case TinytailError():
            return "run", str(error)
        # What the native module raises where it was cancelled before it had a result.
        case KeyboardInterrupt():
            return "interrupted", "interrupted before it could run"
        case _:
            return "internal", f"internal error ({type(error).__name__}): {error}"


def of_kind(kind: ErrorKind, message: str) -> TinytailError:
    """The error to be raised for one of a kind."""
    types: dict[str, type[TinytailError]] = {"config": ConfigError, "workload": WorkloadError}
    return types.get(kind, RunError)(message)


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest right one, or all of them.

    >>> suggestion("bsae", ["base", "ttflash"])
    '; did you mean "base"?'
    >>> suggestion("x", ["base", "ttflash"])
    '; allowed: base, ttflash'
    >>> suggestion("ttf", ["base", "ttflash"])
    '; did you mean "ttflash"?'
    """
    allowed = list(allowed)
    nearest = difflib.get_close_matches(name, allowed, n=1)
    longer = [other for other in allowed if name and other.startswith(name)]
    if not nearest and len(longer) == 1:
        nearest = longer
    if nearest:
        return f'; did you mean "{nearest[0]}"?'
    return f"; allowed: {', '.join(allowed)}"


def installation(*packages: str) -> str:
    """What installs packages where this interpreter finds them, as it is typed.

    In a clone whose environment this is, that is `make setup`.
    """
    clone = Path(__file__).parents[2]
    if (clone / "Makefile").is_file() and Path(sys.prefix).resolve() == (clone / ".venv").resolve():
        return (
            "make setup" if clone == Path.cwd() else shlex.join(["make", "-C", str(clone), "setup"])
        )
    python = sys.executable or "python"
    # A `pip` in the shell is often that of another interpreter.
    if find_spec("pip") is not None:
        return shlex.join([python, "-m", "pip", "install", *packages])
    if shutil.which("uv") is not None:
        return shlex.join(["uv", "pip", "install", "--python", python, *packages])
    return f"{' and '.join(packages)} for {python}, which has no pip"
