"""Reads the file of a sweep or a search: what the function is called with, by name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tinytail.errors import ConfigError, UsageError, suggestion
from tinytail.files import toml
from tinytail.files.text import WRITTEN_BYTES_MAX, read_text
from tinytail.sweeps.plan import AXIS_OPTIONS, NAMED, Plan, plan

T = TypeVar("T")
_PLAN = tuple(
    each.name
    for each in inspect.signature(plan).parameters.values()
    if each.kind is not each.VAR_KEYWORD
)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The sweep that a file says.

    Files that it names are looked for beside it.

    Raises:
        UsageError: it cannot be read, is no TOML, has an unknown key, or says no sweep.
        ConfigError, WorkloadError: a device, design or workload of it is faulty.
    """
    return read_call(path, plan)


def read_call(path: str | os.PathLike[str], make: Callable[..., T], more: Sequence[str] = ()) -> T:
    """What a function makes of the values of a file: the arguments of `plan`, and `more`.

    Raises:
        UsageError: the file cannot be read, is no TOML, or has an unknown key.
    """
    name = os.fspath(path)
    keys = (*more, *_PLAN, *AXIS_OPTIONS)
    try:
        document = toml.loads(name, read_text(name, WRITTEN_BYTES_MAX))
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: byte {error.start + 1} is no UTF-8") from error
    except ConfigError as error:
        raise UsageError(str(error)) from error
    for key in document:
        if key not in keys:
            raise UsageError(f'{name}: "{key}" is unknown{suggestion(key, keys)}')
    if "axes" not in document:
        raise UsageError(f"{name}: there is no [axes]; such as:\n[axes]\ngc.write_points = [1, 2]")
    try:
        return make(**_beside(document, Path(name).parent))
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _beside(document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a file says, with the paths of files that lie beside it."""

    def path(given: Any) -> Any:
        if isinstance(given, str):
            parts = [
                str(folder / each) if _is_file(folder / each) else each for each in given.split("+")
            ]
            return "+".join(parts)
        if isinstance(given, list):
            return [path(each) for each in given]
        if isinstance(given, Mapping) and "base" in given:
            return {**given, "base": path(given["base"])}
        return given

    found = dict(document)
    for key in ("device", "workload", "designs", "image", "beside"):
        if key in found:
            found[key] = path(found[key])
    if isinstance(found.get("constraints"), list):
        found["constraints"] = [_of_path(each, path) for each in found["constraints"]]
    if isinstance(found["axes"], Mapping):
        found["axes"] = {
            key: path(each) if key in NAMED else each for key, each in found["axes"].items()
        }
    if isinstance(found.get("settings"), Mapping):
        found["settings"] = _flat(found["settings"])
    return found


def _of_path(constraint: Any, path: Callable[[Any], Any]) -> Any:
    """A constraint in which the design behind "of" may be a file."""
    if not isinstance(constraint, str):
        return constraint
    bound, of, design = constraint.partition(" of ")
    return f"{bound}{of}{path(design.strip())}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by section and key, as `gc.write_points`, where a file has them in tables."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, Mapping) and "." not in key:
            found |= {f"{key}.{rest}": each for rest, each in value.items()}
        else:
            found[key] = value
    return found
