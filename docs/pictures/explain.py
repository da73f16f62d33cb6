"""Draws docs/pictures/explain.svg: what `tinytail explain` says of the real DTRS trace.

Run it after `make setup`, from the root of the repository:

    TINYTAIL_TRACES=../shared/traces .venv/bin/python docs/pictures/explain.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from demo import COLUMNS, terminal
from rich.text import Text

import tinytail
from tinytail.explaining.view import explanation_view

PICTURE = Path(__file__).with_suffix(".svg")


def main() -> None:
    """Runs Base and TTFLASH, explains the slowest read, and writes the picture."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "kept")
        tinytail.compare(["base", "ttflash"], device="ttflash-256g", workload="dtrs", out=kept)
        explanation = tinytail.explain(kept)
    command = Text("$ tinytail explain kept\n", "bold")
    view = explanation_view(explanation, COLUMNS, with_bars=True)
    PICTURE.write_text(terminal("tinytail explain", "explain", command, view), "utf-8")
    sys.stdout.write(f"{PICTURE.name}: {PICTURE.stat().st_size // 1024} KiB\n")


if __name__ == "__main__":
    main()
