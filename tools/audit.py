"""Asks the databases of known weaknesses about all locked versions: `make audit`.

Ends with 1 if a version has one, and with 2 if a database could not be asked.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.prefix, "bin")
# What is asked, how, and what its output has if the answer is that there are weaknesses.
AUDITS = (
    (
        "Python packages (requirements/dev.txt)",
        [
            *(str(Path(sys.prefix, "audit", "bin", "pip-audit")), "--progress-spinner", "off"),
            *(
                "--strict",
                "--disable-pip",
                "--require-hashes",
                "-r",
                str(ROOT / "requirements" / "dev.txt"),
            ),
        ],
        "known vulnerabilit",
    ),
    (
        "Rust crates (Cargo.lock)",
        [str(BIN / "cargo-audit"), "audit", "--file", str(ROOT / "Cargo.lock")],
        "vulnerabilit",
    ),
)
OK, WEAK, NOT_ASKED = 0, 1, 2


def ask(what: str, words: list[str], found: str) -> int:
    """Ask one database, and say what came of it."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        print(f"{what}: NOT CHECKED: {words[0]}: {error.strerror}")  # noqa: T201
        return NOT_ASKED
    said = f"{done.stdout}\n{done.stderr}".strip()
    if done.returncode == 0:
        print(f"{what}: no known weakness")  # noqa: T201
        return OK
    if found in done.stdout or (found in done.stderr and "found" in done.stderr):
        print(f"{what}: KNOWN WEAKNESSES\n{said}")  # noqa: T201
        return WEAK
    last = said.splitlines()[-1] if said else "it said nothing"
    print(  # noqa: T201
        f"{what}: NOT CHECKED: the database could not be asked (exit {done.returncode}): {last}"
    )
    return NOT_ASKED


def main() -> int:
    """Ask all, and return the gravest answer."""
    codes = [ask(*audit) for audit in AUDITS]
    return WEAK if WEAK in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
