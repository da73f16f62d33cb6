"""Regular files, opened without ever waiting: a pipe may have no writer, and a device no end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_file(path: str | Path) -> BufferedReader:
    """Opens a file that is read.

    Raises:
        OSError: there is none, or what has its name is no regular file; `strerror` says which.
    """
    # Opening a device may do something to it.
    check_file(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # Something else may have the name by now.
        _check(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def check_file(path: str | Path) -> None:
    """Makes sure that a library that opens files itself gets a regular one.

    Raises:
        OSError: as for `open_file`.
    """
    _check(Path(path).stat())


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"this is {kind(status)}; expected a file")


def kind(status: os.stat_result) -> str:
    """What is no regular file, in a word."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(status.st_mode), "a device")
