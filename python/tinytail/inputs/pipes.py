"""Keeps what comes from a pipe in a temporary file: a trace is read several times, a pipe once."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from tinytail import units
from tinytail.engine import native
from tinytail.engine.jobs import REPORT_SECONDS, DesignProgress, ProgressCallback
from tinytail.engine.options import TraceOptions
from tinytail.errors import RunError, UsageError

STANDARD_INPUT = "-"
CHUNK_BYTES = 1 << 20


def is_pipe(name: str) -> bool:
    """Whether a name stands for something that can be read only once: a pipe, or `-`."""
    if name == STANDARD_INPUT:
        return True
    try:
        mode = Path(name).stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode)


def is_trace(workload: str) -> bool:
    """Whether a workload is a trace, which is described by its results alone."""
    path = Path(workload)
    return workload == STANDARD_INPUT or (path.exists() and path.suffix not in (".toml", ".fio"))


@contextmanager
def spooled(
    name: str | None, options: TraceOptions, progress: ProgressCallback | None
) -> Iterator[str | None]:
    """The path of a file that holds what a pipe gives; None for whatever is no pipe.

    The file is in the folder that TMPDIR names. It has no name there, so that nothing of it is
    left, however the process ends.

    Args:
        name: a path, or `-` for standard input.
        options: what is known of the trace. What its first bytes show to be none ends early.
        progress: called about ten times a second.

    Raises:
        UsageError: standard input is closed or a terminal.
        RunError: the pipe cannot be read, or the folder has no room.
        WorkloadError: it is no trace.
        KeyboardInterrupt: by Ctrl-C, whatever has been read.
    """
    if name is None or not is_pipe(name):
        yield None
        return
    said = "standard input" if name == STANDARD_INPUT else name
    folder = tempfile.gettempdir()
    with ExitStack() as stack:
        try:
            pipe = _opened(name)
        except OSError as error:
            raise RunError(f"{said}: {error.strerror}") from error
        stack.callback(os.close, pipe)
        try:
            file, path = _temporary(folder, stack)
        except OSError as error:
            raise RunError(f"{said}: no file can be made in {folder}: {error.strerror}") from error
        check = partial(native.check_beginning, name, options, path)
        _copy(pipe, file, said, folder, check, progress)
        yield path


def _opened(name: str) -> int:
    if name != STANDARD_INPUT:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    if sys.__stdin__ is None:
        raise UsageError("standard input is closed; give the path of a trace, or pipe one in")
    if sys.__stdin__.isatty():
        raise UsageError(
            "standard input is a terminal; pipe a trace in: `cat TRACE | tinytail ...`"
        )
    return os.dup(sys.__stdin__.fileno())


def _temporary(folder: str, stack: ExitStack) -> tuple[IO[bytes], str]:
    """A file to write, and a path by which it can be opened."""
    file: IO[bytes] = stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))  # noqa: SIM115
    path = f"/proc/self/fd/{file.fileno()}"
    if not Path(path).exists():
        # Systems that have no such path must give it a name.
        named = tempfile.NamedTemporaryFile(dir=folder, prefix="tinytail-", buffering=0)  # noqa: SIM115
        file = stack.enter_context(named)
        path = file.name
    return file, path


def _copy(
    pipe: int,
    file: IO[bytes],
    said: str,
    folder: str,
    check: Callable[[], None],
    progress: ProgressCallback | None,
) -> None:
    size_bytes, checked, reported = 0, False, 0.0
    while True:
        try:
            chunk = os.read(pipe, CHUNK_BYTES)
        except OSError as error:
            raise RunError(f"{said}: it cannot be read: {error.strerror}") from error
        if not chunk:
            return
        try:
            view = memoryview(chunk)
            while view:
                view = view[file.write(view) :]
        except OSError as error:
            raise RunError(_no_room(said, folder, size_bytes, error)) from error
        size_bytes += len(chunk)
        if not checked and size_bytes >= CHUNK_BYTES:
            check()
            checked = True
        now = time.monotonic()
        if progress is not None and now - reported >= REPORT_SECONDS:
            progress([DesignProgress(said, "running", "reading", size_bytes, 0)])
            reported = now


def _no_room(said: str, folder: str, size_bytes: int, error: OSError) -> str:
    message = (
        f"{said} is kept in a temporary file in {folder}, which cannot be written after "
        f"{units.memory(size_bytes)}: {error.strerror}"
    )
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        message += "; set TMPDIR to a folder with more room, or save the trace to a file first"
    return message
