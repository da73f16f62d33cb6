"""A small NBD client, for what the installed ones don't do: vanish, or count what is safe."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from types import TracebackType

READ, WRITE, DISC, FLUSH, TRIM, ZERO = 0, 1, 2, 3, 4, 6
FUA = 1


class Client:
    """A client that has taken the export."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(str(path))
        assert self._receive(18) == b"NBDMAGICIHAVEOPT\x00\x03"
        self._socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        self.size: int = struct.unpack(">QH", self._receive(10))[0]

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def send(
        self,
        command: int,
        cookie: int,
        offset: int,
        length: int,
        payload: bytes = b"",
        flags: int = 0,
    ) -> None:
        """Sends a request."""
        header = struct.pack(">IHHQQI", 0x25609513, flags, command, cookie, offset, length)
        self._socket.sendall(header + payload)

    def reply(self) -> tuple[int, int]:
        """The cookie and the error of the next reply that has no data."""
        magic, error, cookie = struct.unpack(">IIQ", self._receive(16))
        assert magic == 0x67446698
        return cookie, error

    def ask(
        self, command: int, offset: int, length: int, payload: bytes = b"", flags: int = 0
    ) -> int:
        """Sends a request without data in its reply, and returns the reply's error."""
        self.send(command, 1, offset, length, payload, flags)
        return self.reply()[1]

    def read(self, offset: int, length: int) -> bytes:
        """The data of a read."""
        self.send(READ, 1, offset, length)
        assert self.reply() == (1, 0)
        return self._receive(length)

    def _receive(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            some = self._socket.recv(length - len(found))
            if not some:
                raise ConnectionError("the server has closed the connection")
            found += some
        return found
