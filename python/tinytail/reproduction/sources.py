"""The project's sources, where a reproduction is started in them: their commit and unit tests."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from tinytail.engine import native
from tinytail.reproduction.conditions import Value
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.prepare import Unavailable


def found() -> Path | None:
    """The folder of the sources that the working directory is in; None if it is in none."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "crates" / "core" / "Cargo.toml").is_file():
            return folder
    return None


def commit() -> str:
    """The commit of the sources, marked if they differ from it; the version without sources."""
    root = found()
    if root is None:
        return f"version {native.version()}"
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return f"version {native.version()}"
    return f"{commit}, changed" if changed else commit


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def core_tests(
    lab: Lab, *, tests: Sequence[str], package: str = "tinytail-core"
) -> dict[str, Value]:
    """Runs unit tests of the engine, from its sources.

    It is for what only they can see: one decision, taken in one state of the drive.
    """
    if lab.tier == "quick":
        raise Unavailable("runs in the full tier only, since tests of the engine must be compiled")
    root = found()
    if root is None or which("cargo") is None:
        raise Unavailable(
            "needs cargo, and to be started in the sources: it is a unit test of the engine"
        )
    passed = 0
    for test in tests:
        done = subprocess.run(
            ["cargo", "test", "--release", "--locked", "-p", package, "--lib", "--", test],
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        counts = re.search(r"(\d+) passed; (\d+) failed", done.stdout)
        if counts is None:
            raise Unavailable(f"cargo test {test}: {done.stderr.strip()[-300:]}")
        if counts[1] == counts[2] == "0":
            raise Unavailable(f'the engine has no unit test "{test}"')
        passed += int(counts[2] == "0")
    return {"passed": passed, "tests": len(tests)}
