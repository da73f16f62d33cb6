"""Text: files that a user names, each read up to a bound, and JSON as all results have it."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from tinytail import units
from tinytail.files.regular import open_file

_Kind = TypeVar("_Kind")

MIB = 1 << 20
# The JSON of a comparison has series of each design.
RESULTS_BYTES_MAX = 256 * MIB
# What people write: the engine reads no more of a file either.
WRITTEN_BYTES_MAX = MIB // 4
CHUNK_BYTES = MIB
_CONTROLS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def read_text(path: str | Path, bytes_max: int) -> str:
    """The text of a file. It takes the memory that the text needs.

    Raises:
        OSError: it cannot be read, is no regular file, or is too long; `strerror` says which.
        UnicodeDecodeError: it is no UTF-8.
    """
    content = bytearray()
    with open_file(path) as file:
        try:
            while chunk := os.read(file.fileno(), CHUNK_BYTES):
                content += chunk
                if len(content) > bytes_max:
                    raise OSError(errno.EFBIG, f"it is longer than {units.memory(bytes_max)}")
        except BlockingIOError as error:
            # Some files of the kernel, such as /proc/kmsg, are regular ones by their kind.
            raise OSError(error.errno, "it has no end: the system adds to it") from error
    return content.decode("utf-8-sig")


def json_text(document: Mapping[str, Any]) -> str:
    """Write a document as all results are written: indented, and as it is beyond ASCII.

    Control characters beyond ASCII are escaped as those of ASCII: a terminal may obey them.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


# The library works out what a class holds when it first meets it, which two threads must not do at
# once: it crashes then.
_LOCK = Lock()


def plain(value: object) -> Any:
    """What data classes hold, as a document: dictionaries, lists, text and numbers."""
    import msgspec

    with _LOCK:
        return msgspec.json.decode(msgspec.json.encode(value))


def read_as(kind: type[_Kind], document: object) -> _Kind:
    """A data class from a document.

    Raises:
        ValueError: the document lacks something, or has a value of another type; says where.
    """
    import msgspec

    with _LOCK:
        return msgspec.convert(document, kind)
