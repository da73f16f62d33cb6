"""Policies that Numba compiles: functions that read a drive's view where it lies in memory.

A view is a pointer. Its attributes read the fields of the structure that the native module
describes, of which crates/policies has the one definition.
"""

from __future__ import annotations

import ctypes
import dis
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from tinytail import _native
from tinytail.errors import ConfigError
from tinytail.policies.answers import ask_at, suspend_at_boundary, suspend_now
from tinytail.policies.given import check_compiled
from tinytail.policies.policy import Policy

# What is asked, as the fields of a view have it.
_PASSED = {
    "victim": ("plane", "candidates"),
    "gc_trigger": ("plane",),
    "gc_gate": ("plane", "want"),
    "order": ("waiting",),
    "suspend": ("die",),
    "read_plan": ("read",),
}
# What has been compiled, which must stay where it is: by what it was made of.
_COMPILED: dict[tuple[Any, ...], Any] = {}


def compiled(policy: Policy, parameters: Mapping[str, Any]) -> int:
    """The address of a policy's compiled function.

    Raises:
        ConfigError: Numba is missing, or cannot compile it; a parameter is no number.
    """
    check_compiled(policy.name, parameters)
    _check_assigns(policy)
    # What is equal may differ in type, and compiles to something else.
    made = (policy.target, policy.interface, repr(sorted(parameters.items())))
    if made not in _COMPILED:
        _COMPILED[made] = _compile(policy, parameters)
    return int(_COMPILED[made].address)


def _compile(policy: Policy, parameters: Mapping[str, Any]) -> Any:
    numba = import_module("numba")
    types, layout = _types(), _layout()
    arguments = ["view", *(f"view.{name}" for name in _PASSED[policy.interface])]
    arguments += [f"{key}=given_{key}" for key in parameters]
    source = (
        "def entry(address):\n"
        "    view = make_view(address)\n"
        "    try:\n"
        f"        return int64(asked({', '.join(arguments)}))\n"
        "    except Exception:\n"
        "        return raised\n"
    )
    scope: dict[str, Any] = {f"given_{key}": value for key, value in parameters.items()}
    scope |= {
        "make_view": types["view"],
        "int64": numba.int64,
        "raised": layout["raised"],
        "asked": numba.njit(policy.target),
    }
    exec(source, scope)
    signature = numba.int64(numba.types.uintp)
    try:
        return numba.cfunc(signature)(scope["entry"])
    except numba.core.errors.NumbaError as error:
        if "readonly array" in str(error):
            raise ConfigError(f"{_assigns(policy)}\n{error}") from error
        raise ConfigError(f"numba cannot compile {policy.name}: {error}") from error


def _assigns(policy: Policy) -> str:
    return (
        f"{policy.name} assigns to its view, which is read-only; arrays have `copy()` for a copy "
        "of your own"
    )


def _check_assigns(policy: Policy) -> None:
    """Makes sure that a policy assigns to no attribute: compiled code has them of views only.

    Raises:
        ConfigError: It does.
    """
    for instruction in dis.get_instructions(policy.target):
        if instruction.opname in ("STORE_ATTR", "DELETE_ATTR"):
            raise ConfigError(f"{_assigns(policy)}: `{instruction.argval} = ...`")


@cache
def _layout() -> dict[str, Any]:
    layout: dict[str, Any] = json.loads(_native.policy_layout())
    return layout


@cache
def _types() -> dict[str, Callable[..., Any]]:
    """Teaches Numba views and reads; returns what makes them of addresses."""
    from numba.extending import register_jitable

    for helper in (ask_at, suspend_at_boundary, suspend_now):
        register_jitable(helper)
    layout = _layout()
    read = _address("Read")
    for field in layout["read"]:
        _teach(read, field, layout["read"], {})
    view = _address("View")
    for field in layout["view"]:
        if field["name"] not in ("ask", "drive"):
            _teach(view, field, layout["view"], {"read": read})
    for number, quantity in enumerate(layout["quantities"]):
        _teach_quantity(view, number, quantity)
    return {"view": view.make}


@dataclass(frozen=True, slots=True)
class _Address:
    """A type of Numba that is an address.

    Attributes:
        kind: Its class.
        make: Makes one, in compiled code.
        of: What gives its address, in compiled code.
    """

    kind: type
    make: Callable[..., Any]
    of: Callable[..., Any]


def _address(name: str) -> _Address:
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, models, register_model

    kind = type(name, (types.Type,), {})
    one = kind(name=f"tinytail.{name}")

    @register_model(kind)
    class Model(models.StructModel):  # type: ignore[misc]
        def __init__(self, manager: Any, of: Any) -> None:
            super().__init__(manager, of, [("address", types.uintp)])

    def make(_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            found = cgutils.create_struct_proxy(one)(context, builder)
            found.address = values[0]
            return found._getvalue()

        return one(address), generate

    def of(_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            return cgutils.create_struct_proxy(one)(context, builder, values[0]).address

        return types.uintp(value), generate

    return _Address(kind, intrinsic(make), intrinsic(of))


@cache
def _pointer() -> Any:
    """What makes a pointer of an address, in compiled code."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def pointer(_context: Any, address: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, values: Any) -> Any:
            return builder.inttoptr(values[0], cgutils.voidptr_t)

        return types.voidptr(address), generate

    return intrinsic(pointer)


@cache
def _read_only() -> Any:
    """Makes an array one that compiled code cannot assign to."""
    from numba.extending import intrinsic

    def read_only(_context: Any, array: Any) -> Any:
        def generate(_: Any, __: Any, ___: Any, values: Any) -> Any:
            return values[0]

        return array.copy(readonly=True)(array), generate

    return intrinsic(read_only)


def _dtype(ctype: str) -> Any:
    import numpy as np

    if ctype == "tinytail_waiting":
        described = _layout()["waiting"]
        fields = described["fields"]
        return np.dtype(
            {
                "names": [field["name"] for field in fields],
                "formats": [_dtype(field["type"]) for field in fields],
                "offsets": [field["offset"] for field in fields],
                "itemsize": described["bytes"],
            }
        )
    # All numbers of a drive are below 2**63, and Numba makes floats of unsigned ones.
    named = {"uint64_t": "int64", "double": "float64", "address": "uintp"}
    return np.dtype(named.get(ctype, ctype.removesuffix("_t")))


def _teach(
    owner: _Address,
    field: Mapping[str, Any],
    beside: Sequence[Mapping[str, Any]],
    inner: Mapping[str, _Address],
) -> None:
    """Teaches Numba an attribute: a number, an array with its length, or another structure."""
    from numba import carray, int64, uintp
    from numba.extending import overload_attribute

    pointer, read_only, of = _pointer(), _read_only(), owner.of
    offset, ctype = field["offset"], field["type"]
    held = (
        _dtype(ctype.removeprefix("const ").removesuffix("*").strip())
        if (field["name"] not in inner)
        else None
    )
    address = _dtype("address")

    if not ctype.endswith("*"):

        def impl(value: Any) -> Any:
            return int64(carray(pointer(of(value) + uintp(offset)), 1, held)[0])

    elif field["name"] in inner:
        make = inner[field["name"]].make

        def impl(value: Any) -> Any:
            return make(carray(pointer(of(value) + uintp(offset)), 1, address)[0])

    else:
        [length_offset] = [each["offset"] for each in beside if each["name"] == field["length"]]
        length = _dtype("uint32_t")

        def impl(value: Any) -> Any:
            at = of(value)
            count = int64(carray(pointer(at + uintp(length_offset)), 1, length)[0])
            return read_only(
                carray(pointer(carray(pointer(at + uintp(offset)), 1, address)[0]), (count,), held)
            )

    overload_attribute(owner.kind, field["name"])(_always(impl))


def _always(impl: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What tells Numba to use an implementation whatever the type."""
    # Numba compares names of arguments, and takes annotations for a part of them.
    impl.__annotations__.clear()
    return lambda value: impl  # noqa: ARG005


def _teach_quantity(view: _Address, number: int, quantity: Mapping[str, Any]) -> None:
    """Teaches Numba what is asked: of the drive a number, else a column of them."""
    from numba import uint32, uintp
    from numba.extending import overload, overload_attribute

    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint32)
    ask, of_view = call(_layout()["ask"]), view.of
    if quantity["of_drive"]:

        def impl(value: Any) -> Any:
            return ask(of_view(value), uint32(number), uint32(0))

    else:
        column = _address(f"Column{number}")
        make, of_column, kind = column.make, column.of, column.kind

        def impl(value: Any) -> Any:
            return make(of_view(value))

        def item(value: Any, index: Any) -> Any:
            return ask(uintp(of_column(value)), uint32(number), uint32(index))

        def getitem(value: Any, index: Any) -> Any:  # noqa: ARG001
            return item if isinstance(value, kind) else None

        item.__annotations__.clear()
        getitem.__annotations__.clear()
        overload(operator.getitem)(getitem)

    overload_attribute(view.kind, quantity["name"])(_always(impl))
