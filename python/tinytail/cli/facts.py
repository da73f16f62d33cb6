"""What the commands share that show facts."""

from __future__ import annotations

from typing import Any

from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.files.text import json_text
from tinytail.terminal.console import JsonOutput, show_results
from tinytail.terminal.table import facts_view


def show_facts(document: dict[str, Any], output: JsonOutput | None) -> int:
    """Prints facts, or writes them as JSON, and returns the exit code."""
    shown = show_results(output, lambda: json_text(document), lambda _: facts_view(document))
    return OK if shown else RUN_FAILED
