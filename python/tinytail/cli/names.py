"""What a shell completes names from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from tinytail.engine.catalog import Entry


def _files(begun: str, *endings: str) -> list[tuple[str, str]]:
    """Folders, and files with these endings, whose paths begin so; any file without endings."""
    found = []
    for path in sorted(Path().glob(f"{begun}*") if begun[:1] not in ("", "/") else ()):
        if path.is_dir():
            found.append((f"{path}/", "folder"))
        elif not endings or path.suffix in endings:
            found.append((str(path), "file"))
    return found


def _entries(entries: Iterable[Entry]) -> list[tuple[str, str]]:
    return [(entry.name, entry.summary) for entry in entries]


def devices(context: CompletionContext) -> list[tuple[str, str]]:
    """The drives, and files."""
    from tinytail.engine import catalog

    return [*_entries(catalog.list_devices()), *_files(context.incomplete, ".toml")]


def designs(context: CompletionContext) -> list[tuple[str, str]]:
    """The designs; behind a plus sign, the overlays."""
    from tinytail.engine import catalog

    before, plus, _ = context.incomplete.rpartition("+")
    if not plus:
        return [*_entries(catalog.list_designs()), *_files(context.incomplete, ".toml")]
    overlays = [entry for entry in catalog.list_designs() if entry.kind == "overlay"]
    return [(f"{before}+{name}", summary) for name, summary in _entries(overlays)]


def workloads(context: CompletionContext) -> list[tuple[str, str]]:
    """The workloads, and files, any of which may be a trace."""
    from tinytail.engine import catalog

    return [*_entries(catalog.list_workloads()), *_files(context.incomplete)]
