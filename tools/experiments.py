"""Writes experiments/README.md: what each experiment asks, and the page that has its result.

Run it after an experiment was added or its first line changed, from the root of the repository:

    .venv/bin/python tools/experiments.py
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "experiments"
PAGE = FOLDER / "README.md"
HEAD = """# Experiments

Each is a script that asks one question, runs what answers it, and writes the answer. Its first
lines say how it is run and how long it takes. The tests run small parts of three of them alone.
[experiments.py](../tools/experiments.py) makes this page.

| script | question | its result |
|---|---|---|
"""
# Where results are written down; the papers' own pages repeat them.
PAGES = ("evidence/*.md", "docs/**/*.md", "crates/**/DECISIONS.md")
REPEATED = ("evidence/deviations.md",)


def page() -> str:
    """The page."""
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for pattern in PAGES
        for path in sorted(ROOT.glob(pattern))
    }
    rows = []
    for script in sorted(FOLDER.glob("*.py")):
        about = (ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "").splitlines()[0]
        found = [name for name, text in texts.items() if script.name in text]
        links = [
            f"[{Path(name).name}]({os.path.relpath(ROOT / name, FOLDER)})"
            for name in found
            if name not in REPEATED
        ]
        rows.append(f"| [{script.name}]({script.name}) | {about} | {', '.join(links)} |\n")
    return HEAD + "".join(rows)


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.relative_to(ROOT)} written")  # noqa: T201


if __name__ == "__main__":
    main()
