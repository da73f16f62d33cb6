"""Processes for runs of designs with policies from files.

Code of such a policy can crash, end its process or never answer. Only the process of its run is
lost then. A process stays for the next run of the same policies: imports and compilation take long.
"""

from __future__ import annotations

import atexit
import codecs
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tinytail import _native, errors
from tinytail.errors import RunError
from tinytail.files.controls import visible

if TYPE_CHECKING:
    Control = _native.Control
    Shared = _native.Shared

# The file and the name of each policy of a design.
Named = Sequence[tuple[str, str]]

LOOK_SECONDS = 0.05
PRINTED_BYTES = 1 << 16
# A run that is cancelled has so long until its policies answer. After that its process is killed.
ANSWER_SECONDS = 1.0
# So many processes without work are kept.
IDLE_MAX = 8
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tinytail.engine.child import main; main(int(sys.argv[2]))"
)
# Only the process that starts others heeds them, and ends the others.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Texts in the place of files, by the names of the files.
_TEXTS: dict[str, str] = {}


def set_text(name: str, text: str) -> None:
    """Lets a text replace a file, here and in all processes of runs."""
    _native.set_text(name, text)
    _TEXTS[name] = text


def policies_of_files(device: str, design: str, settings: Sequence[str]) -> Named:
    """The policies of a design, if it needs a process of its own: if all of them are in files.

    Policies that are objects of this program exist only here.
    """
    # Only files of designs and values that are given name policies.
    words = (device, *design.split("+"))
    if not (any(word.endswith(".toml") for word in words) or any("custom" in w for w in settings)):
        return ()
    found = _native.policies_of(device, design, list(settings))
    named = [(file, name) for file, name in found if file is not None]
    return named if len(named) == len(found) else ()


def call(
    what: str, document: str, policies: Named, control: Control, shared: Shared | None = None
) -> str:
    """What the native module's function of a name returns, called in another process.

    Args:
        what: The function.
        document: What it is called with.
        policies: The policies of the design.
        control: Shows how far the function is, and cancels it.
        shared: What the run shares with others.

    Raises:
        RunError: A policy ended the process.
        KeyboardInterrupt: The call was cancelled before there was a result.
        TinytailError: What the function raised.
    """
    with _Lent(policies) as process:
        return process.call(what, document, control, shared)


class Serving:
    """A served drive in a process of its own; the contract of the native `Serving`."""

    def __init__(self, policies: Named, control: Control) -> None:
        self._policies = policies
        self._control = control
        self._process: _Process | None = None

    def serve(self, spec_json: str) -> str:
        """Serves until the control's switch."""
        with _Lent(self._policies) as process:
            self._process = process
            return process.call("serve", spec_json, self._control, None)

    def look(self) -> str | None:
        """The last state that the other process reported."""
        return None if self._process is None else self._process.look


def _relay(printed: BinaryIO) -> None:
    """Write what policies print to standard error, with control characters in caret form.

    Standard output is for results.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with printed:
        while part := os.read(printed.fileno(), PRINTED_BYTES):
            with suppress(OSError, ValueError):
                sys.stderr.write(visible(decoder.decode(part)))
                sys.stderr.flush()


class _Process:
    """Another process, which does one call at a time."""

    def __init__(self, policies: Named, key: object) -> None:
        self.key = key
        self.look: str | None = None
        self._policies = policies
        self._texts = 0
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._process = subprocess.Popen(
                [
                    *(sys.executable or "python", "-u", "-c", _START),
                    *(json.dumps([*map(str, sys.path)]), str(theirs.fileno())),
                ],
                pass_fds=[theirs.fileno()],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            self._connection.close()
            raise RunError(f"no process can be started for its policies: {error}") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()

        threading.Thread(target=_relay, args=(self._process.stdout,), daemon=True).start()

    def is_there(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def end(self) -> None:
        """Ends it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._connection.close()

    def call(self, what: str, document: str, control: Control, shared: Shared | None) -> str:
        """Does a call, and waits for what comes of it."""
        texts = dict(list(_TEXTS.items())[self._texts :])
        self._texts += len(texts)
        message: dict[str, Any] = {"call": what, "document": document, "texts": texts}
        cache = None if shared is None else shared.cache()
        message["cache"] = None if cache is None else (os.fspath(cache[0]), cache[1])
        with suppress(OSError):
            self._send(message)
        cancelled, asks, heard = 0.0, True, time.monotonic()
        while True:
            reply = self._received()
            now = time.monotonic()
            if reply is not None:
                heard = now
                if "progress" not in reply:
                    return self._result(reply, shared)
                control.show(*reply["progress"])
                asks, self.look = reply["asks"], reply.get("look")
            if not control.is_cancelled():
                continue
            if not cancelled:
                cancelled = now
                with suppress(OSError):
                    self._send({"cancel": True})
            # What asks no policy, comes to its end.
            is_stuck = asks or now - heard > ANSWER_SECONDS
            if is_stuck and now - cancelled > ANSWER_SECONDS:
                raise KeyboardInterrupt("interrupted: its policy did not answer")

    def _send(self, message: dict[str, Any]) -> None:
        self._connection.send_bytes(json.dumps(message).encode())

    def _received(self) -> dict[str, Any] | None:
        """The next message, if one comes soon."""
        try:
            if self._connection.poll(LOOK_SECONDS):
                found: dict[str, Any] = json.loads(self._connection.recv_bytes())
                return found
            # What a policy has started may hold the socket.
            if self.is_there() or self._connection.poll():
                return None
        except (EOFError, OSError):
            pass
        raise self._ending()

    def _ending(self) -> RunError:
        code = self._process.wait()
        how = f"with exit code {code}"
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
            how = f"by signal {-code} ({name}: {signal.strsignal(-code)})"
        named = ", ".join(f"{name} of {file}" for file, name in self._policies)
        memory = "; the system may have ended it for want of memory" if code == -9 else ""
        return RunError(f"the process of its policies ended {how}{memory}. The policies: {named}")

    def _result(self, reply: dict[str, Any], shared: Shared | None) -> str:
        if "error" in reply:
            raise _error(reply["error"], reply["message"])
        if shared is not None:
            shared.add(reply["notes"], reply["used"])
        result: str = reply["result"]
        return result


def _error(name: str, message: str) -> BaseException:
    """An error of another process."""
    if name == "KeyboardInterrupt":
        return KeyboardInterrupt(message)
    kind: type[BaseException] | None = getattr(errors, name, None)
    if kind is None or not issubclass(kind, errors.TinytailError):
        kind = type(name, (Exception,), {})
    return kind(message)


class _Lent:
    """A process for one call, which then waits for the next call of the same policies."""

    def __init__(self, policies: Named) -> None:
        self._process = _idle_process(policies)

    def __enter__(self) -> _Process:
        return self._process

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        is_of_run = kind is not None and issubclass(kind, errors.TinytailError)
        if (kind is None or is_of_run) and self._process.is_there():
            _keep(self._process)
        else:
            self._process.end()


_LOCK = threading.Lock()
_IDLE: list[_Process] = []
# Those of the program that this one is a fork of.
_OF_OTHERS: list[_Process] = []


def _idle_process(policies: Named) -> _Process:
    key = _key(policies)
    with _LOCK:
        for process in [each for each in _IDLE if each.key == key]:
            _IDLE.remove(process)
            if process.is_there():
                return process
            process.end()
    return _Process(policies, key)


def _key(policies: Named) -> object:
    """What a process has of its policies, and from the one that starts it."""
    try:
        folder = str(Path.cwd())
    except FileNotFoundError:
        folder = ""
    contents = []
    for file, _ in policies:
        try:
            found = Path(file).stat()
            contents.append((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))
        # A text may replace it.
        except OSError:
            contents.append((0, 0, 0, 0))
    return list(policies), contents, folder, dict(os.environ), list(sys.path)


def _keep(process: _Process) -> None:
    with _LOCK:
        _IDLE.append(process)
        oldest = _IDLE.pop(0) if len(_IDLE) > IDLE_MAX else None
    if oldest is not None:
        oldest.end()


@atexit.register
def _end_idle() -> None:
    with _LOCK:
        while _IDLE:
            _IDLE.pop().end()


def _forget() -> None:
    """A fork has none of the processes: two programs must not use one socket."""
    global _LOCK, _IDLE
    _LOCK = threading.Lock()
    _OF_OTHERS.extend(_IDLE)
    _IDLE = []


os.register_at_fork(after_in_child=_forget)
