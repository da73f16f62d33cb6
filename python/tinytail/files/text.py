"""Text: files that a user names, each read up to a bound, and JSON as all results have it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")

MIB = 1 << 20
# The JSON of a comparison has series of each design.
RESULTS_MIB_MAX = 256
TABLE_MIB_MAX = 16


def read_text(path: str | Path, mib_max: int) -> str:
    """The text of a file.

    Raises:
        OSError: it cannot be read, is a folder, or is too long; `strerror` says which.
        UnicodeDecodeError: it is no UTF-8.
    """
    with Path(path).open("rb") as file:
        content = file.read(mib_max * MIB + 1)
    if len(content) > mib_max * MIB:
        raise OSError(0, f"it is longer than {mib_max} MiB, or has no end")
    return content.decode("utf-8-sig")


def json_text(document: Mapping[str, Any]) -> str:
    """A document as all results are written: indented, and as it is beyond ASCII."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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
