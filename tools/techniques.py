"""Writes docs/reference/techniques.md: the manual of every technique, from its own file.

Run it after a technique was added or its manual changed, from the root of the repository:

    .venv/bin/python tools/techniques.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ROOT / "crates" / "core" / "src"
TECHNIQUES = CORE / "techniques"
PAGE = ROOT / "docs" / "reference" / "techniques.md"

INTERFACE = re.compile(
    r"enum \w+ for (?P<trait>\w+), dispatch_(?P<section>\w+) \{(?P<rows>.*?)\n    \}",
    re.DOTALL,
)
QUESTION = re.compile(r"((?: *///[^\n]*\n)+) *trait (\w+), \w+ \{")
ROW = re.compile(r"\"(?P<name>\w+)\" => \w+\((?P<path>[\w:]+)::\w+\)")


def manual(path: Path) -> str:
    """The manual that opens a technique's file, one heading level down."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line.startswith("//!")]
    text = "\n".join(line.removeprefix("//!").removeprefix(" ") for line in lines)
    return re.sub(r"^# ", "", text, count=1)


def page() -> str:
    """The whole page."""
    source = (TECHNIQUES / "mod.rs").read_text("utf-8")
    questions = {
        trait: " ".join(line.strip().removeprefix("///").strip() for line in comment.splitlines())
        for comment, trait in QUESTION.findall(
            (CORE / "policy" / "interface.rs").read_text("utf-8")
        )
    }
    parts = [
        "# Techniques\n",
        "What each section of a [design file](files.md#design-files) may choose. This page is\n"
        "made by [techniques.py](../../tools/techniques.py) from the files of the techniques.\n",
    ]
    for interface in INTERFACE.finditer(source):
        parts.append(f"## `[{interface['section']}]`\n\n{questions[interface['trait']]}\n")
        for row in ROW.finditer(interface["rows"]):
            file = TECHNIQUES.joinpath(*row["path"].split("::")).with_suffix(".rs")
            title, _, body = manual(file).partition("\n")
            link = file.relative_to(ROOT).as_posix()
            heading = f"### `{row['name']}`: {title}"
            parts.append(f"{heading}\n\n{body.strip()}\n\n[{link}](../../{link})\n")
    return "\n".join(parts)


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE.name} written\n")


if __name__ == "__main__":
    main()
