"""What a design gives a policy, held against its signature: levels of a trigger and parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from tinytail.errors import ConfigError, installation, suggestion
from tinytail.policies.policy import ARGUMENTS, LEVELS

Accepted = Mapping[str, inspect.Parameter]


def accepted(
    name: str, interface: str, signature: inspect.Signature, *, is_class: bool
) -> Accepted:
    """The parameters of a policy besides the arguments of a question.

    Raises:
        ConfigError: A function does not take these arguments.
    """
    taken = list(signature.parameters.values())
    if not is_class:
        count = len(ARGUMENTS[interface])
        if not _takes(signature, count):
            asked = ", ".join(ARGUMENTS[interface])
            raise ConfigError(f"{name} must take {asked}, as the policies of {interface} do")
        taken = taken[count:]
    return {each.name: each for each in taken if each.kind is not each.VAR_POSITIONAL}


def levels_of(
    name: str, declared: Mapping[str, Any], takes: Accepted, parameters: dict[str, Any]
) -> tuple[float, float, float]:
    """Where GC of a trigger starts, stops and is urgent, in percent.

    Levels that the policy does not take as parameters are removed from these.

    Raises:
        ConfigError: One is missing, or is no number.
    """
    given = dict(declared)
    for key in LEVELS:
        if key in parameters:
            given[key] = parameters[key] if key in takes else parameters.pop(key)
    for key in ("start_percent", "urgent_percent"):
        if key not in given:
            raise ConfigError(
                f"{name} does not say `{key}`, the erased pages of a plane below which GC "
                f'{"starts" if key == LEVELS[0] else "is urgent"}: @tinytail.policy("gc_trigger", '
                "start_percent=..., urgent_percent=...)"
            )
    for key, each in given.items():
        if isinstance(each, bool) or not isinstance(each, int | float):
            raise ConfigError(f"`{key}` of {name} must be a number, not {each!r}")
    start, urgent = float(given["start_percent"]), float(given["urgent_percent"])
    return start, float(given.get("stop_percent", start)), urgent


def check_parameters(name: str, takes: Accepted, parameters: Mapping[str, Any]) -> None:
    """Makes sure that a policy takes its parameters, and has all that it needs.

    Raises:
        ConfigError: It does not.
    """
    if any(each.kind is each.VAR_KEYWORD for each in takes.values()):
        return
    for key in parameters:
        if key not in takes:
            hint = suggestion(key, takes) if takes else "; it has none"
            raise ConfigError(f"{name} has no parameter `{key}`{hint}")
    for key, each in takes.items():
        if each.default is each.empty and key not in parameters:
            raise ConfigError(f"{name} needs a value of its parameter `{key}`")


def check_compiled(name: str, parameters: Mapping[str, Any]) -> None:
    """Makes sure that a policy can be compiled.

    Raises:
        ConfigError: Numba is missing, or a parameter is no number.
    """
    for key, value in parameters.items():
        if not isinstance(value, bool | int | float):
            raise ConfigError(f"`{key}` of {name} is compiled and must be a number")
    if find_spec("numba") is None:
        raise ConfigError(
            f"{name} is compiled by numba, which is missing; to install: "
            f"{installation('numba')}. Without compiled=True it runs in plain Python"
        )


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind_partial(*range(count))
    except TypeError:
        return False
    return True
