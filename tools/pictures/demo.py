"""Draws docs/pictures/demo.svg: what `make demo` prints, on the real DTRS trace.

Run it after `make setup`, from the root of the repository:

    TINYTAIL_TRACES=../shared/traces .venv/bin/python tools/pictures/demo.py

With `--check` it writes nothing, and fails if the picture is not what the demo prints now.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console, RenderableType
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

import tinytail
from tinytail.comparison.view import verdict_view

COLUMNS = 80
PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "demo.svg"


def terminal(title: str, unique_id: str, *shown: RenderableType) -> str:
    """What a terminal shows, as SVG that needs nothing from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(*shown, sep="\n")
    svg = console.export_svg(title=title, theme=SVG_EXPORT_THEME, unique_id=unique_id)
    # Rich refers to fonts on the net; a fixed-width font at hand will do.
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


def draw(comparison: tinytail.Comparison) -> str:
    """The comparison as a terminal shows it."""
    command = Text(f"$ {comparison.command}\n", "bold")
    return terminal("make demo", "demo", command, verdict_view(comparison, COLUMNS, unicode=True))


def main() -> None:
    """Runs the demo and writes the picture, or checks it."""
    comparison = tinytail.compare(
        ["base", "ttflash", "base+no-gc"], device="ttflash-256g", workload="dtrs"
    )
    drawn = draw(comparison)
    if sys.argv[1:] == ["--check"]:
        if drawn != PICTURE.read_text("utf-8"):
            sys.exit(f"{PICTURE.name} is not what the demo prints now; run this without --check")
        return
    PICTURE.write_text(drawn, "utf-8")
    sys.stdout.write(f"{PICTURE.name}: {PICTURE.stat().st_size // 1024} KiB\n")


if __name__ == "__main__":
    main()
