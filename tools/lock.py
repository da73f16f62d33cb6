"""Writes requirements/: the exact versions that `make setup` installs, from pyproject.toml.

The versions are the newest that pyproject.toml allows, with markers for each Python and system,
and with the checksums of their wheels. It needs uv, which `make lock` installs.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
# The extras that each file has beside what a build and a run need.
FILES: dict[str, tuple[str, ...]] = {"dev.txt": ("dev",), "runtime.txt": ()}
HEADER = "# tools/lock.py makes this file from pyproject.toml: `make lock`.\n"


def needed(extras: tuple[str, ...]) -> list[str]:
    """Return what pyproject.toml lists for a build, for a run and for some extras."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = document["project"]
    found = [*document["build-system"]["requires"], *project["dependencies"]]
    for extra in extras:
        found += project["optional-dependencies"][extra]
    return found


def compile_requirements(name: str, constraints: list[str]) -> None:
    """Write one of the files; `constraints` are files whose versions it takes."""
    python = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    least = python["project"]["requires-python"].removeprefix(">=")
    path = FOLDER / name
    words = [str(Path(sys.prefix, "bin", "uv")), "pip", "compile", "-", "--quiet", "--universal"]
    words += ["--python-version", least, "--generate-hashes", "--only-binary", ":all:"]
    words += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    for each in constraints:
        words += ["--constraints", str(FOLDER / each)]
    found = subprocess.run(
        words, input="\n".join(needed(FILES[name])), text=True, check=True, stdout=subprocess.PIPE
    )
    path.write_text(HEADER + found.stdout, "utf-8")


def main() -> None:
    """Write both files: what runs has the versions that are tested."""
    FOLDER.mkdir(exist_ok=True)
    compile_requirements("dev.txt", [])
    compile_requirements("runtime.txt", ["dev.txt"])


if __name__ == "__main__":
    main()
