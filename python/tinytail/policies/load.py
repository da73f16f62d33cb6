"""Policies for the native module: read from the text of a file, or held by this program."""

from __future__ import annotations

import inspect
import json
import linecache
import pickle
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import RLock
from types import ModuleType
from typing import Any

from tinytail.errors import ConfigError, suggestion
from tinytail.policies.given import Accepted, accepted, check_parameters, levels_of
from tinytail.policies.identity import text_digest
from tinytail.policies.policy import METHODS, Policy, held

digest = text_digest

_LOCK = RLock()
# The modules that files are, by path and digest.
_MODULES: dict[tuple[str, str], ModuleType] = {}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A policy with its parameters, for the native module.

    Attributes:
        policy: The policy.
        parameters: What it is given beside a question.
        levels: Of a trigger, where GC starts, stops and is urgent, in percent.
        address: Where the compiled function is; None of plain Python.
    """

    policy: Policy
    parameters: Mapping[str, Any]
    levels: tuple[float, float, float] | None
    address: int | None

    def make(self) -> Instance:
        """What a run has of its own."""
        return Instance(self.policy, self.parameters)


class Instance:
    """A policy in one run: what answers, and what is remembered."""

    def __init__(self, policy: Policy, parameters: Mapping[str, Any]) -> None:
        self._object: Any = None
        if inspect.isclass(policy.target):
            self._object = policy.target(**parameters)
            methods = METHODS[policy.interface]
            self.answers = [getattr(self._object, method) for method in methods]
        else:
            self.answers = [partial(policy.target, **parameters) if parameters else policy.target]
        self._fresh = self._remembered()

    def seed(self, seed: int) -> None:
        """Takes the run's seed."""
        if hasattr(self._object, "seed"):
            self._object.seed(seed)
            self._fresh = self._remembered()

    def save(self) -> bytes:
        """What an image must hold of it.

        Raises:
            TypeError: it has changed, and has no `save`.
        """
        if hasattr(self._object, "save"):
            saved = self._object.save()
            if not isinstance(saved, bytes):
                raise TypeError(f"`save` must return bytes, not {type(saved).__name__}")
            return saved
        if self._remembered() != self._fresh:
            raise TypeError(
                "it remembers something, and an aged drive or an image cannot hold it: give the "
                "class `save(self) -> bytes` and `restore(self, saved: bytes)`"
            )
        return b""

    def restore(self, saved: bytes) -> None:
        """Takes back what `save` gave."""
        self._object.restore(saved)

    def _remembered(self) -> bytes | None:
        if self._object is None or hasattr(self._object, "save"):
            return None
        try:
            return pickle.dumps(getattr(self._object, "__dict__", None))
        # Whatever cannot be pickled cannot be told apart either.
        except Exception:  # noqa: BLE001
            return b"" if self.__dict__.get("_fresh") is None else b"changed"


def load(
    section: str,
    name: str,
    file: str | None,
    text: str | None,
    digest: str,
    parameters_json: str,
) -> Loaded:
    """The policy that an entry of a design names.

    Raises:
        ConfigError, UsageError: there is none, not for this section, or not with these parameters.
    """
    with _LOCK:
        if file is None or text is None:
            policy = held(name, digest)
        else:
            policy = _of_file(file, digest, text, name)
        if policy.interface != section:
            raise ConfigError(f"{name} is a policy of [{policy.interface}]")
        parameters = {**policy.parameters, **json.loads(parameters_json)}
        takes = _accepted(policy)
        levels = None
        if section == "gc_trigger":
            levels = levels_of(policy.name, policy.levels, takes, parameters)
        check_parameters(policy.name, takes, parameters)
        address = None
        if policy.compiled:
            from tinytail.policies.compiled import compiled

            address = compiled(policy, parameters)
        return Loaded(policy, parameters, levels, address)


def shown(error: BaseException) -> str:
    """What a policy raised, in one line, and below it where."""
    lines = traceback.format_exception(error)
    only = "".join(traceback.format_exception_only(error)).strip()
    return f"raised {only}\n{''.join(lines)}".strip()


def _of_file(file: str, digest: str, text: str, name: str) -> Policy:
    module = _MODULES.get((file, digest))
    if module is None:
        module = ModuleType(f"tinytail_policy_{digest}")
        module.__file__ = file
        # Tracebacks show its lines, wherever the text came from.
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        sys.modules[module.__name__] = module
        try:
            exec(compile(text, file, "exec"), module.__dict__)
        except (Exception, SystemExit) as error:
            del sys.modules[module.__name__]
            raise ConfigError(f"{place(error, file)}: {type(error).__name__}: {error}") from error
        _MODULES[file, digest] = module
    found = getattr(module, name, None)
    if isinstance(found, Policy):
        return found
    known = [each for each, value in vars(module).items() if isinstance(value, Policy)]
    raise without(file, name, known, is_bound=found is not None)


def without(file: str, name: str, known: Sequence[str], *, is_bound: bool) -> ConfigError:
    """The refusal of a file that lacks a policy; `known` are those that it has."""
    if is_bound:
        return ConfigError(f"{file}: {name} is no policy: decorate it with @tinytail.policy(...)")
    if not known:
        return ConfigError(f"{file} has no policies: decorate them with @tinytail.policy(...)")
    return ConfigError(f"{file} has no policy {name}{suggestion(name, known)}")


def place(error: BaseException, file: str) -> str:
    """The file of a policy, with the line in which an error arose."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{file}:{error.lineno}"
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    return f"{file}:{frames[-1].lineno}" if frames else file


def _accepted(policy: Policy) -> Accepted:
    try:
        signature = inspect.signature(policy.target)
    except (TypeError, ValueError):
        return {}
    is_class = inspect.isclass(policy.target)
    return accepted(policy.name, policy.interface, signature, is_class=is_class)
