"""Draws the picture of ARCHITECTURE.md from its table of rooms.

Run it after the table was changed, from the root of the repository:

    .venv/bin/python tools/architecture.py

tests/python/project/test_structure.py checks the table against the imports of the code.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "ARCHITECTURE.md"

HEAD = "| room | owns | uses |"
PICTURE = re.compile(
    r"(<!-- picture of the rooms -->\n).*?(<!-- end of the picture -->)", re.DOTALL
)
# What is drawn, from top to bottom: the blocks of a drive.
DRAWN = ("drive", "crash", "host", "raid", "media", "gc", "ftl", "flash", "policy")
# Every mechanism asks policies: such arrows say little.
NOT_DRAWN = ("policy",)


@dataclass(frozen=True, slots=True)
class Room:
    """A folder or a file at the top of the core, with what stands in it and in it alone."""

    owns: str
    uses: tuple[str, ...]


def rooms() -> dict[str, Room]:
    """The table of rooms, by their names."""
    _, _, table = PAGE.read_text("utf-8").partition(f"{HEAD}\n")
    found = {}
    for row in table.partition("\n\n")[0].splitlines()[1:]:
        name, owns, uses = (cell.strip() for cell in row.strip("|").split(" | "))
        found[re.sub(r"\[(\w+)\]\([^)]*\)", r"\1", name)] = Room(
            owns, tuple(re.findall(r"\w+", uses))
        )
    return found


def room_of(file: str, rooms: dict[str, Room]) -> str:
    """The room of a file of the core; `base` has those that its row names."""
    if f"`{file}`" in rooms["base"].owns:
        return "base"
    return file.partition("/")[0].removesuffix(".rs")


def picture() -> str:
    """The arrows among the blocks of a drive."""
    uses = {name: room.uses for name, room in rooms().items()}
    lines = ["```mermaid", "flowchart TD"]
    for room in DRAWN:
        lines += [
            f"    {room} --> {other}"
            for other in DRAWN
            if other in uses[room] and other not in NOT_DRAWN
        ]
    return "\n".join([*lines, "```", ""])


def with_picture(text: str) -> str:
    """The page with the picture that its table gives."""
    return PICTURE.sub(lambda found: f"{found[1]}{picture()}{found[2]}", text)


def main() -> None:
    """Writes the page."""
    PAGE.write_text(with_picture(PAGE.read_text("utf-8")), "utf-8")
    sys.stdout.write(f"{PAGE.name} written\n")


if __name__ == "__main__":
    main()
