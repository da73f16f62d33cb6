"""Libraries that tinytail does without until it is asked for what needs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tinytail.errors import RunError, UsageError, installation


def are_there(*names: str) -> bool:
    """Whether libraries are installed, without importing them."""
    return all(find_spec(name) is not None for name in names)


def require(what: str, *names: str) -> None:
    """Makes sure, before anything slow begins, that libraries are installed.

    Args:
        what: what needs them, as the subject of a sentence.
        names: the libraries.

    Raises:
        UsageError: some are not; says how to install them.
    """
    missing = [name for name in names if not are_there(name)]
    if missing:
        raise UsageError(
            f"{what} needs {' and '.join(missing)}; to install: {installation(*missing)}"
        )


def library(name: str, what: str) -> Any:
    """A module of a library that may be missing.

    Raises:
        UsageError: it is not installed; says how to install it.
        RunError: it cannot be loaded, as for want of memory.
    """
    require(what, name.partition(".")[0])
    try:
        return import_module(name)
    except (ImportError, MemoryError) as error:
        said = str(error) or "there is not enough memory"
        raise RunError(f"{what} needs {name}, which cannot be loaded: {said}") from error
