"""The decorator, and what it makes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tinytail.errors import UsageError, suggestion
from tinytail.policies.identity import identity

Interface = Literal["victim", "gc_trigger", "gc_gate", "order", "suspend", "read_plan"]

# The methods by which a class answers; a function answers all of them.
METHODS: Mapping[str, tuple[str, ...]] = {
    "victim": ("choose",),
    "gc_trigger": ("want",),
    "gc_gate": ("may_start",),
    "order": ("at_die", "at_channel"),
    "suspend": ("suspend",),
    "read_plan": ("plan",),
}
# What each is asked with.
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "victim": ("view", "plane", "candidates"),
    "gc_trigger": ("view", "plane"),
    "gc_gate": ("view", "plane", "want"),
    "order": ("view", "waiting"),
    "suspend": ("view", "die"),
    "read_plan": ("view", "read"),
}
# Where a trigger's GC begins, ends and is urgent, in percent of the pages of a plane.
LEVELS = ("start_percent", "stop_percent", "urgent_percent")
# Keys of an entry that are no parameters.
_KEYS = ("policy", "file", "object", "name", "digest")
_NAME = re.compile(r"[A-Za-z_]\w*")
# The policies that have been put into designs, by their digests.
_HELD: dict[str, Policy] = {}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that a design may name. It is called as what it was made of is.

    Attributes:
        interface: The section that it is for.
        target: The function or the class.
        compiled: Whether Numba compiles it.
        levels: Of a trigger, what it says of `start_percent`, `stop_percent` and `urgent_percent`.
        parameters: What it is given beside a question.
    """

    interface: str
    target: Callable[..., Any]
    compiled: bool = False
    levels: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return self.target.__name__

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What its function answers, or an instance of its class."""
        return self.target(*arguments, **named)

    def given(self, **parameters: Any) -> Policy:
        """The same policy with values of its parameters."""
        return replace(self, parameters={**self.parameters, **parameters})

    def digest(self) -> str:
        """What it is made of, in 32 characters; equal ones decide alike.

        Raises:
            UsageError: its source cannot be read, or it uses what has none.
        """
        return identity(self.target, (self.interface, self.compiled, sorted(self.levels.items())))

    def entry(self) -> dict[str, Any]:
        """What stands for it in a design, for as long as this program runs.

        Raises:
            UsageError: its source cannot be read, or it uses what has none.
        """
        digest = self.digest()
        _HELD[digest] = replace(self, parameters={})
        return {"policy": "custom", "object": self.name, "digest": digest, **self.parameters}


def policy(
    interface: Interface,
    *,
    compiled: bool = False,
    start_percent: float | None = None,
    stop_percent: float | None = None,
    urgent_percent: float | None = None,
) -> Callable[[Callable[..., Any]], Policy]:
    """Makes a function or a class a policy of a design.

    A function gets a view of the drive and what is asked, and returns a whole number. So does the
    method of a class, of which every run has an instance of its own. What either takes beside that
    are parameters, which designs give. docs/guides/python-policies.md says what is asked.

    Args:
        interface: the section of designs that it is for: `victim`, `gc_trigger`, `gc_gate`,
            `order`, `suspend` or `read_plan`.
        compiled: Numba compiles it; then it is a function, and its parameters are numbers.
        start_percent: of a trigger, the erased pages of a plane, in percent, below which it wants a
            GC at all. Runs start there.
        stop_percent: of a trigger, those at which it wants no more once it had one, if that is not
            the same.
        urgent_percent: of a trigger, those below which it wants one urgently.

    Returns:
        The decorator, which makes a `Policy`.

    Raises:
        UsageError: an unknown interface, or something that cannot be one of its policies.
    """
    if interface not in METHODS:
        raise UsageError(f'there are no policies for "{interface}"{suggestion(interface, METHODS)}')
    given = (start_percent, stop_percent, urgent_percent)
    levels = {key: each for key, each in zip(LEVELS, given, strict=True) if each is not None}
    if levels and interface != "gc_trigger":
        raise UsageError(
            f"{next(iter(levels))} is of a trigger, and this is a policy of {interface}"
        )

    def decorate(target: Callable[..., Any]) -> Policy:
        _check(interface, target, compiled)
        return Policy(interface, target, compiled, levels)

    return decorate


def plain(value: Any) -> Any:
    """A value in which entries stand in the place of policies.

    Raises:
        UsageError: the source of one of them cannot be read, or it uses what has none.
    """
    if isinstance(value, Policy):
        return value.entry()
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def section(name: str, value: Any) -> Any:
    """A section of a design in which entries stand in the place of policies.

    Raises:
        UsageError: as for `plain`; a policy of another section.
    """
    for each in value.get("chain", [value]) if isinstance(value, Mapping) else [value]:
        if isinstance(each, Policy) and each.interface != name:
            raise UsageError(f"{each.name} is a policy of [{each.interface}], and not of [{name}]")
    if isinstance(value, Policy) and name == "victim":
        return {"chain": [value.entry()]}
    return plain(value)


def held(name: str, digest: str) -> Policy:
    """The policy that an entry without a file stands for.

    Raises:
        UsageError: this program has none.
    """
    if digest not in _HELD:
        raise UsageError(
            f"{name} is a policy of another Python program, or has changed since: put it into a "
            f'file, and name that: {{ policy = "custom", file = "policies.py", name = "{name}" }}'
        )
    return _HELD[digest]


def _check(interface: str, target: Any, compiled: bool) -> None:
    name = getattr(target, "__name__", repr(target))
    if not callable(target) or not _NAME.fullmatch(name):
        raise UsageError(f"a policy is a function or a class with a name, and not {name}")
    if not inspect.isclass(target):
        return
    if compiled:
        raise UsageError(f"a compiled policy is a function, and {name} is a class: it has no state")
    for method in METHODS[interface]:
        if not callable(getattr(target, method, None)):
            raise UsageError(f"{name} has no method `{method}`, which answers for {interface}")
    if hasattr(target, "save") != hasattr(target, "restore"):
        raise UsageError(f"{name} has one of `save` and `restore`, and an image needs both")
