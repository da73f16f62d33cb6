"""Draws what `tinytail explain` says of the real DTRS trace, as it is and without a cause.

Run it after `make setup`, from the root of the repository:

    TINYTAIL_TRACES=../shared/traces .venv/bin/python tools/pictures/explain.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from demo import COLUMNS, terminal
from rich.console import RenderableType
from rich.text import Text

import tinytail
from tinytail.explanation.view import Look, counterfactual_view, explanation_view

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
CAUSES = ("gc-program", "gc-program,erase")


def main() -> None:
    """Runs Base and TTFLASH, explains the slowest read, and takes Base's causes away."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "kept")
        tinytail.compare(["base", "ttflash"], device="ttflash-256g", workload="dtrs", out=kept)
        explanation = tinytail.explain(kept)
        without = [tinytail.explain_without(kept, without=names.split(",")) for names in CAUSES]
    look = Look(with_bars=True, unicode=True, details=False)
    view = explanation_view(explanation, COLUMNS, look)
    write("explain", Text("$ tinytail explain kept\n", "bold"), view)
    shown: list[RenderableType] = []
    for names, found in zip(CAUSES, without, strict=True):
        shown += [Text(f"$ tinytail explain kept --without {names}\n", "bold")]
        shown += [counterfactual_view(found), Text()]
    write("without", *shown)


def write(name: str, *shown: RenderableType) -> None:
    """Writes a picture of what a terminal shows."""
    picture = FOLDER / f"{name}.svg"
    picture.write_text(terminal("tinytail explain", name, *shown), "utf-8")
    sys.stdout.write(f"{picture.name}: {picture.stat().st_size // 1024} KiB\n")


if __name__ == "__main__":
    main()
