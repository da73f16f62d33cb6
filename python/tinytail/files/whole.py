"""Files that are whole or not there at all, and what is under way, by its hidden names.

A run that is killed leaves them. Whoever writes one has it locked, and the system gives up the
locks of who has died, so that a later run can tell.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
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
    """A file that is to be written, named by an option such as `--report`: `what`, by a word.

    It may be a pipe or a device, unless it must be `regular`: then it is opened by `check`, since
    whoever reads a pipe would take its closing for the end, and is written to as it is.
    """

    def __init__(
        self, path: str, option: str, what: str = "results", *, regular: bool = False
    ) -> None:
        self._what = what
        self._name = path
        self._given = path or f"the file of {option}"
        self._regular = regular
        # What a link points to is replaced, not the link.
        self._path = Path(os.path.realpath(path))
        self._stream: FileIO | None = None

    def check(self) -> None:
        """Makes sure, before anything runs, that the results can be written.

        Raises:
            OutputError: they cannot.
        """
        try:
            if not self._name:
                raise FileNotFoundError(0, "its name is empty")
            if self._path.is_dir():
                raise IsADirectoryError(0, "it is a directory")
            if self._is_stream():
                self._open_stream()
                return
            if not self._path.parent.exists():
                raise FileNotFoundError(0, f"there is no directory {self._path.parent}")
            if self._path.exists() and not os.access(self._path, os.W_OK):
                raise PermissionError(0, "the file is read-only")
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
            if self._stream is None and not self._is_stream():
                self._replace(content)
                return
            # Nothing is buffered: an interrupt must not wait for who reads.
            with self._stream or self._open_stream() as stream:
                left = memoryview(content)
                while left:
                    left = left[stream.write(left) :]
        except OSError as error:
            raise cannot_write(self._given, error, self._what) from error

    def _is_stream(self) -> bool:
        """Whether it is what must not be replaced by a file, such as a pipe or /dev/null."""
        path = Path(self._name)
        return path.exists() and (not path.is_file() or _is_shown_in(path.stat()))

    def _open_stream(self) -> FileIO:
        """Opens what is no file, without waiting for somebody who reads from it."""
        if self._regular:
            raise OSError(errno.EINVAL, "it is not a regular file")
        try:
            how = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self._name, how)
        except OSError as error:
            if error.errno == errno.ENXIO and Path(self._name).is_fifo():
                raise OSError(error.errno, "nobody reads from this pipe; start who does") from error
            raise
        os.set_blocking(descriptor, True)
        self._stream = FileIO(descriptor, "wb")
        return self._stream

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


def _is_shown_in(status: os.stat_result) -> bool:
    """Whether standard output or error goes to this file, so that what is shown stands in it."""
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(descriptor)):
                return True
    return False


def cannot_write(name: str, error: OSError, what: str = "results") -> OutputError:
    """The error that says why something could not be written."""
    return OutputError(f"cannot write {what} to {name}: {error.strerror}")
