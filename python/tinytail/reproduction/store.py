"""Outcomes of runs, kept in a folder for the next time."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tinytail.reproduction import logs
from tinytail.results import DesignResult


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run: its result and, where it was logged, its requests."""

    result: DesignResult
    log: logs.Log | None


@dataclass
class Store:
    """Outcomes of runs in a folder; a file that cannot be read counts as not there."""

    folder: Path
    fresh: bool = False
    made: set[str] = field(default_factory=set)

    def get(self, key: str) -> Outcome | None:
        """The outcome of the run with this key, if it is kept."""
        if self.fresh and key not in self.made:
            return None
        try:
            document = json.loads(self._file(key).read_text("utf-8"))
            log = document["log"]
            return Outcome(
                DesignResult.from_dict(document["result"]),
                None if log is None else logs.Log.from_dict(log),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, result: dict[str, Any], log: logs.Log | None) -> None:
        """Keeps an outcome. It appears in one step, so that no reader sees half of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        document = {"result": result, "log": None if log is None else log.to_dict()}
        file = self._file(key)
        temporary = file.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
        temporary.write_text(json.dumps(document), "utf-8")
        temporary.replace(file)
        self.made.add(key)

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def default_store() -> Path:
    """Where outcomes are kept unless the user names another folder."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "tinytail" / "reproduce"
