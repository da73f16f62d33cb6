"""Outcomes of runs, kept in a folder for the next time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tinytail.comparison.result import DesignResult
from tinytail.engine.cache import user_folder
from tinytail.files.text import RESULTS_BYTES_MAX, read_text
from tinytail.reproduction import logs

_Kept = TypeVar("_Kept")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run: its result and, where it was logged, its requests."""

    result: DesignResult
    log: logs.Log | None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Outcome:
        """Reads what `kept_run` made."""
        log = document["log"]
        return cls(
            DesignResult.from_dict(document["result"]),
            None if log is None else logs.Log.from_dict(log),
        )


def kept_run(result: dict[str, Any], log: logs.Log | None) -> dict[str, Any]:
    """What is kept of a run."""
    return {"result": result, "log": None if log is None else log.to_dict()}


@dataclass
class Store:
    """Documents in a folder, by their keys; a file that cannot be read counts as not there."""

    folder: Path
    fresh: bool = False
    made: set[str] = field(default_factory=set)

    def get(self, key: str, read: Callable[[dict[str, Any]], _Kept]) -> _Kept | None:
        """What is kept under a key, if anything is, as `read` makes it of the document."""
        if self.fresh and key not in self.made:
            return None
        try:
            return read(json.loads(read_text(self._file(key), RESULTS_BYTES_MAX)))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, key: str, document: dict[str, Any]) -> None:
        """Keeps a document. It appears in one step, so that no reader sees half of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self._file(key)
        temporary = file.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
        temporary.write_text(json.dumps(document), "utf-8")
        temporary.replace(file)
        self.made.add(key)

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def default_store() -> Path:
    """Where outcomes are kept unless the user names another folder."""
    return user_folder() / "reproduce"
