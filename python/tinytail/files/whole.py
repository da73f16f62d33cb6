"""Files and folders under way, by the hidden names that they have until they are whole.

A run that is killed leaves them. Whoever writes one has it locked, and the system gives up the
locks of who has died, so that a later run can tell.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# What is under way is locked long before.
ABANDONED_SECONDS = 60
# A random number, or what the native module puts there: its process and a number.
UNIQUE = r"(?:[0-9a-f]{8}|\d+-\d+)"


def hidden(target: Path, ending: str) -> Path:
    """A hidden name beside a target's own, that nobody else has."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.{ending}")


def lock(descriptor: int) -> None:
    """Locks what is being written. Some file systems have no locks; what is left there stays."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def remove_files(target: Path) -> None:
    """Removes what killed runs left of a file: it under way, under hidden names beside it."""
    name = re.compile(rf"\.{re.escape(target.name)}\.{UNIQUE}\.tmp")
    with suppress(OSError):
        for path in target.parent.iterdir():
            if name.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                remove(path, Path.unlink)


def remove(path: Path, how: Callable[[Path], None]) -> None:
    """Removes what is under way, unless it was touched a moment ago or somebody has it locked."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime < ABANDONED_SECONDS:
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            how(path)
        finally:
            os.close(descriptor)
