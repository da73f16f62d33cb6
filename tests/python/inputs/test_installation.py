"""What installs a library that is missing, as it is typed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tinytail import errors
from tinytail.errors import installation


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone in which the package is."""
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "a clone/python/tinytail/errors.py"))
    (tmp_path / "a clone/.venv").mkdir(parents=True)
    (tmp_path / "a clone/Makefile").write_text("setup:\n\t@echo set up in $(CURDIR)\n")
    return tmp_path / "a clone"


def test_a_clone_installs_by_its_makefile(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(clone / ".venv"))
    typed = installation("pyarrow")
    done = subprocess.run(shlex.split(typed), capture_output=True, text=True, check=True)
    assert f"set up in {os.path.realpath(clone)}" in done.stdout
    monkeypatch.chdir(clone)
    assert installation("pyarrow") == "make setup"


@pytest.mark.usefixtures("clone")
def test_elsewhere_the_interpreter_that_runs_installs(monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(installation("pyarrow", "tinytail[sweep]"))
    assert words == [sys.executable, "-m", "pip", "install", "pyarrow", "tinytail[sweep]"]
    subprocess.run([*words[:3], "--version"], stdout=subprocess.DEVNULL, check=True)
    # Environments may have no pip.
    monkeypatch.setattr(errors, "find_spec", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/uv")
    python = shlex.quote(sys.executable)
    assert installation("pyarrow") == f"uv pip install --python {python} pyarrow"
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert installation("a", "b") == f"a and b for {sys.executable}, which has no pip"
