"""What a policy is made of, as a digest: its source, and that of all that it uses."""

from __future__ import annotations

import dis
import hashlib
import inspect
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tinytail.errors import UsageError

_PLAIN = (type(None), bool, int, float, complex, str, bytes, Enum)
_LIBRARIES = tuple(
    str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "purelib", "platlib")
)
_OWN = str(Path(__file__).resolve().parents[1])


def text_digest(text: bytes) -> str:
    """The digest of a file."""
    return hashlib.sha256(text).hexdigest()[:32]


def identity(target: Callable[..., Any], more: object) -> str:
    """The digest of a function or a class, and of `more` that it is made of.

    Raises:
        UsageError: its source cannot be read, or it uses a value that has none.
    """
    name = target.__name__
    said = [repr(more), *_Walk(name).said(name, target)]
    return text_digest("\0".join(said).encode())


class _Walk:
    """Goes through all that a policy uses, each once."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._seen: set[int] = set()

    def said(self, name: str, value: Any) -> Iterator[str]:
        """What a value is made of."""
        # A function that Numba has compiled.
        value = getattr(value, "py_func", value)
        if isinstance(value, (*_PLAIN, ModuleType)):
            yield f"{name} = {getattr(value, '__name__', None) or repr(value)}"
        elif isinstance(value, list | tuple | set | frozenset):
            inner = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
            for place, each in enumerate(inner):
                yield from self.said(f"{name}[{place}]", each)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                yield from self.said(f"{name}[{key!r}]", each)
        elif inspect.isclass(value) or inspect.isroutine(value):
            yield from self._of_code(name, value)
        elif hasattr(value, "target"):
            yield from self.said(name, value.target)
        elif hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
            yield f"{name} = {value.item()!r}"
        else:
            raise UsageError(
                f"the policy {self._policy} uses `{name}`, a value of the type "
                f"{type(value).__name__}: results could not say what it was. Make it a parameter, "
                "a number or text, or put the policy into a file of its own"
            )

    def _of_code(self, name: str, value: Any) -> Iterator[str]:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if _is_of_library(value):
            yield f"{name} = {value.__module__}.{getattr(value, '__qualname__', name)}"
            return
        try:
            yield textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError):
            raise UsageError(
                f"the source of `{name}` cannot be read, and the policy {self._policy} is made of "
                "it: put it into a file"
            ) from None
        functions = [value] if isinstance(value, FunctionType) else _functions_of(value)
        for function in functions:
            yield from self._of_function(function)
        for base in value.__bases__ if inspect.isclass(value) else ():
            yield from self._of_code(base.__name__, base)

    def _of_function(self, function: FunctionType) -> Iterator[str]:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if value is not function and name != "__class__":
                yield from self.said(name, value)
        for place, value in enumerate(function.__defaults__ or ()):
            yield from self.said(f"default {place} of {function.__name__}", value)
        for name, value in sorted((function.__kwdefaults__ or {}).items()):
            yield from self.said(f"default {name} of {function.__name__}", value)
        for name in sorted(set(_globals_of(function.__code__))):
            if name in function.__globals__:
                yield from self.said(name, function.__globals__[name])


def _functions_of(kind: type) -> list[FunctionType]:
    held = [getattr(each, "__func__", each) for each in vars(kind).values()]
    held += [each.fget for each in held if isinstance(each, property) and each.fget]
    return [each for each in held if isinstance(each, FunctionType)]


def _globals_of(code: CodeType) -> Iterator[str]:
    """The global names that code reads, that of functions within it too."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _globals_of(each)


def _is_of_library(value: Any) -> bool:
    """Whether a function or a class comes with Python or with a package that is installed."""
    module = getattr(value, "__module__", None) or "builtins"
    if module.partition(".")[0] in sys.stdlib_module_names:
        return module != "__main__"
    if not isinstance(value, FunctionType | type):
        return True
    found = getattr(sys.modules.get(module), "__file__", None)
    if found is None:
        return False
    file = str(Path(found).resolve())
    return file.startswith(_OWN) or any(file.startswith(each) for each in _LIBRARIES)
