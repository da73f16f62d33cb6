"""A client of a served drive that has many requests under way, and whose clock is the drive's."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tinytail.errors import RunError
from tinytail.server.flowops import Request

# Of NBD's protocol, doc/proto.md.
_GREETING = b"NBDMAGICIHAVEOPT"
_EXPORT_NAME, _FIXED_NEWSTYLE, _NO_ZEROES = 1, 1, 2
_REQUEST, _REPLY = 0x25609513, 0x67446698
_COMMANDS = {"read": 0, "write": 1, "flush": 3}
_DISCONNECT = 2
_HEADER_BYTES = 16
_AT_ONCE = 2**20


class NbdDevice:
    """A `flowops.Device` behind a socket of Unix. What is written are zeroes.

    `dilation` is that of the server.

    Raises:
        RunError: nobody answers there as a server of NBD does.
    """

    def __init__(self, path: Path, dilation: float = 1.0) -> None:
        self._dilation = dilation
        self._began: int | None = None
        self._reads: dict[int, int] = {}
        self._out = bytearray()
        self._in = bytearray()
        # The reply under way, and what has not come yet of its data, which nobody looks at.
        self._number: int | None = None
        self._skip = 0
        self._zeroes = memoryview(bytes(_AT_ONCE))
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
            if not self._receive(18).startswith(_GREETING):
                raise RunError(f"{path} is no server of NBD")
            flags = _FIXED_NEWSTYLE | _NO_ZEROES
            self._socket.sendall(struct.pack(">I8sII", flags, b"IHAVEOPT", _EXPORT_NAME, 0))
            self.size_bytes: int = struct.unpack(">QH", self._receive(10))[0]
        except OSError as error:
            self._socket.close()
            raise RunError(f"no drive is served at {path}: {error}") from None
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def __enter__(self) -> NbdDevice:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._socket.send(struct.pack(">IHHQQI", _REQUEST, 0, _DISCONNECT, 0, 0, 0))
        self._socket.close()

    def now_ns(self) -> int:
        """The time of the drive, which begins with the first request."""
        if self._began is None:
            return 0
        return round((time.monotonic_ns() - self._began) / self._dilation)

    def submit(self, number: int, request: Request) -> None:
        """Takes a request; as much of it as the socket does not take now leaves later."""
        if self._began is None:
            self._began = time.monotonic_ns()
        command, offset, length = _COMMANDS[request.kind], request.offset, request.bytes
        self._out += struct.pack(">IHHQQI", _REQUEST, 0, command, number, offset, length)
        if request.kind == "read":
            self._reads[number] = length
        if request.kind == "write":
            for start in range(0, length, _AT_ONCE):
                self._out += self._zeroes[: min(_AT_ONCE, length - start)]
        self._send()

    def wait(self, until_ns: int | None) -> Sequence[int]:
        """The numbers of requests that are done; none if the time has come before.

        Raises:
            RunError: the server refused one, or is gone.
        """
        while not (done := self._done()):
            seconds = None
            if until_ns is not None:
                seconds = (until_ns - self.now_ns()) * self._dilation / 1e9
                if seconds <= 0:
                    break
            writing = [self._socket] if self._out else []
            readable, writable, _ = select.select([self._socket], writing, [], seconds)
            if writable:
                self._send()
            if readable:
                self._take()
        return done

    def _send(self) -> None:
        try:
            while self._out:
                # A slice would copy all that waits.
                with memoryview(self._out) as waiting, waiting[:_AT_ONCE] as some:
                    sent = self._socket.send(some)
                del self._out[:sent]
        except BlockingIOError:
            pass
        except OSError as error:
            raise _gone(error) from None

    def _take(self) -> None:
        try:
            came = self._socket.recv(_AT_ONCE)
        except OSError as error:
            raise _gone(error) from None
        if not came:
            raise _gone(None)
        self._in += came

    def _done(self) -> list[int]:
        """What the bytes that have come say."""
        done: list[int] = []
        at, have = 0, len(self._in)
        while True:
            skipped = min(self._skip, have - at)
            at += skipped
            self._skip -= skipped
            if self._skip == 0 and self._number is not None:
                done.append(self._number)
                self._number = None
            if self._skip or have - at < _HEADER_BYTES:
                break
            magic, error, self._number = struct.unpack_from(">IIQ", self._in, at)
            if magic != _REPLY or error:
                raise RunError(f"the server refused a request, with error {error} of NBD")
            at += _HEADER_BYTES
            self._skip = self._reads.pop(self._number, 0)
        del self._in[:at]
        return done

    def _receive(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            some = self._socket.recv(length - len(found))
            if not some:
                raise _gone(None)
            found += some
        return found


def _gone(error: OSError | None) -> RunError:
    return RunError("the server has closed the connection" + (f": {error}" if error else ""))
