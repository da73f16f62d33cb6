"""The versions that `make setup` installs are those that pyproject.toml allows, and all of them."""

from __future__ import annotations

import importlib.metadata
import re
import runpy
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
LOCK: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "lock.py"))
AUDIT: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "audit.py"))
ENTRY = re.compile(
    r"([a-z0-9-]+)==(\S+)(?: ; (.*?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
)
PLACES = [
    {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }
    for python in ("3.11", "3.12", "3.13")
    for machine in ("x86_64", "aarch64")
]


@dataclass(frozen=True)
class Locked:
    """A line of a lock."""

    name: str
    version: str
    marker: str | None

    def is_for(self, place: dict[str, str]) -> bool:
        return self.marker is None or Marker(self.marker).evaluate(place)


@cache
def locked(name: str) -> tuple[Locked, ...]:
    text = (ROOT / "requirements" / name).read_text("utf-8")
    assert text.startswith(LOCK["HEADER"])
    found = ENTRY.findall(text)
    # Nothing is left over: no option, no address of an index, no version without a checksum.
    assert ENTRY.sub("", text) == LOCK["HEADER"]
    return tuple(Locked(each, version, marker or None) for each, version, marker, _ in found)


def versions(name: str, place: dict[str, str]) -> dict[str, str]:
    here = [each for each in locked(name) if each.is_for(place)]
    assert len({each.name for each in here}) == len(here)
    return {each.name: each.version for each in here}


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt"])
def test_each_range_of_pyproject_holds_the_locked_version(name: str) -> None:
    for place in PLACES:
        known = versions(name, place)
        for line in LOCK["needed"](LOCK["FILES"][name]):
            wanted = Requirement(line)
            assert wanted.specifier.contains(known[canonicalize_name(wanted.name)]), (line, place)


def test_what_runs_has_the_versions_that_are_tested() -> None:
    for place in PLACES:
        assert versions("runtime.txt", place).items() <= versions("dev.txt", place).items()


def test_what_a_locked_package_needs_is_locked() -> None:
    here = dict(PLACES[0], python_version="{}.{}".format(*sys.version_info))
    here["python_full_version"] = ".".join(map(str, sys.version_info[:3]))
    known = versions("dev.txt", here)
    checked = 0
    for name, version in known.items():
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if installed.version != version:
            # An environment that was made before the lock was renewed.
            continue
        for line in installed.requires or ():
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate(here):
                found = known[canonicalize_name(wanted.name)]
                assert wanted.specifier.contains(found), (name, line)
                checked += 1
    assert checked > 50


def test_an_audit_that_could_not_ask_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(text: str) -> list[str]:
        path = tmp_path / "audit"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return [str(path)]

    for text, code, said in [
        ("exit 0", 0, "crates: no known weakness"),
        ("echo 'Found 2 known vulnerabilities in 1 package'; exit 1", 1, "KNOWN WEAKNESSES"),
        ("echo 'error: 3 vulnerabilities found!' >&2; exit 1", 1, "KNOWN WEAKNESSES"),
        ("echo 'connection refused' >&2; exit 1", 2, "NOT CHECKED: the database could not be"),
    ]:
        assert AUDIT["ask"]("crates", script(text), "vulnerabilit") == code
        assert said in capsys.readouterr().out
    assert AUDIT["ask"]("crates", [str(tmp_path / "none")], "vulnerabilit") == 2
    assert "NOT CHECKED" in capsys.readouterr().out
