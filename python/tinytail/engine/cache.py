"""The cache of aged drives: where it lies, and how much may lie there."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from tinytail import _native
from tinytail.errors import RunError, UsageError

LIMIT = "TINYTAIL_CACHE_GIB"
LIMIT_GIB = 8.0


def user_folder() -> Path:
    """Where this user's programs keep what can be made anew."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tinytail"


def folder() -> Path:
    """Where aged drives are kept."""
    return user_folder() / "aged"


def limit_bytes() -> int:
    """How many bytes of aged drives may be kept; 0 for none.

    Raises:
        UsageError: the environment variable `TINYTAIL_CACHE_GIB` is no number of GiB.
    """
    said = os.environ.get(LIMIT)
    try:
        gib = LIMIT_GIB if said is None else float(said)
    except ValueError:
        gib = math.nan
    if not 0 <= gib < 1 << 30:
        raise UsageError(f'{LIMIT} is "{said}"; allowed: a number of GiB, 0 for no cache')
    return int(gib * (1 << 30))


def place() -> tuple[str, int] | None:
    """The folder of the cache and its limit in bytes; None if aged drives are not kept.

    Raises:
        UsageError: the environment variable `TINYTAIL_CACHE_GIB` is no number of GiB.
    """
    try:
        limit, where = limit_bytes(), folder()
    except RuntimeError:
        # Nobody knows where the user's home is.
        return None
    return (str(where), limit) if limit > 0 else None


def listed() -> dict[str, Any]:
    """The aged drives that are kept, so that later runs copy them instead of ageing.

    Returns:
        `folder`; `limit_bytes`; `bytes`, the size of all entries; and `entries`, those used last
        first, each with its `file`, `bytes`, `used_unix_s` and, unless it is damaged, what it is
        of: `device`, `design`, `seed`, `made_unix_s`, `recipe`, `footprint_pages`, `aged` and
        `engine`.

    Raises:
        UsageError: the environment variable `TINYTAIL_CACHE_GIB` is no number of GiB.
    """
    entries = json.loads(_native.cache_list(str(folder())))
    return {
        "folder": str(folder()),
        "limit_bytes": limit_bytes(),
        "bytes": sum(entry["bytes"] for entry in entries),
        "entries": entries,
    }


def clear_image_cache() -> tuple[int, int]:
    """Removes all aged drives that are kept.

    Returns:
        How many there were, and their bytes.

    Raises:
        RunError: one of them cannot be removed.
    """
    try:
        return _native.cache_clear(str(folder()))
    except RunError as error:
        raise RunError(f"{folder()}: {error}") from None
