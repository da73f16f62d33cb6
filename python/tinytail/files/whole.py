"""Files that are whole or not there at all, and what is under way, by its hidden names.

A run that is killed leaves them. Whoever writes one has it locked, and the system gives up the
locks of who has died, so that a later run can tell.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tinytail.errors import OutputError

# What is under way is locked long before.
ABANDONED_SECONDS = 60
# A random number, or what the native module puts there: its process and a number.
UNIQUE = r"(?:[0-9a-f]{8}|\d+-\d+)"


def hidden(target: Path, ending: str) -> Path:
    """A hidden name beside a target's own, that nobody else has."""
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.{ending}")


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


class FileOutput:
    """A file that is to be written, named by an option such as `--report`: `what`, by a word."""

    def __init__(self, path: str, option: str, what: str = "results") -> None:
        self._what = what
        self._given = path or f"the file of {option}"
        self._is_named = bool(path)
        # What a link points to is replaced, not the link.
        self._path = Path(os.path.realpath(path))

    def check(self) -> None:
        """Makes sure, before anything runs, that the results can be written.

        Raises:
            OutputError: they cannot.
        """
        try:
            if not self._is_named:
                raise FileNotFoundError(0, "its name is empty")
            if self._path.is_dir():
                raise IsADirectoryError(0, "it is a directory")
            if not self._path.parent.exists():
                raise FileNotFoundError(0, f"there is no directory {self._path.parent}")
            if self._path.exists() and not os.access(self._path, os.W_OK):
                raise PermissionError(0, "the file is read-only")
            if self._is_replaceable():
                remove_files(self._path)
                self._create_temporary().unlink()
        except OSError as error:
            raise cannot_write(self._given, error, self._what) from error

    def write(self, content: bytes) -> None:
        """Writes the results. A file is replaced in one step, so that no reader sees half of it.

        Raises:
            OutputError: they cannot be written. A file that was there before is unaltered.
        """
        try:
            if self._is_replaceable():
                self._replace(content)
            else:
                self._path.write_bytes(content)
        except OSError as error:
            raise cannot_write(self._given, error, self._what) from error

    def _is_replaceable(self) -> bool:
        """False for what must not be replaced by a file, such as a pipe or /dev/null."""
        return self._path.is_file() or not self._path.exists()

    def _create_temporary(self) -> Path:
        path = hidden(self._path, "tmp")
        path.touch(exist_ok=False)
        return path

    def _replace(self, content: bytes) -> None:
        temporary = self._create_temporary()
        try:
            with temporary.open("wb") as file:
                lock(file.fileno())
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)


def cannot_write(name: str, error: OSError, what: str = "results") -> OutputError:
    """The error that says why something could not be written."""
    return OutputError(f"cannot write {what} to {name}: {error.strerror}")
