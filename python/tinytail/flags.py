"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter, Token
from cyclopts.validators import Number

from tinytail import completing
from tinytail.arguments import U64_MAX

# The types of the fields that are inherited below are looked for here.
from tinytail.tracing import AddressUnit, Event, TimeUnit, TraceOptions  # noqa: F401
from tinytail.transforms import BurstGap, Fit, Transform  # noqa: F401


def _check_file_name(_type: object, path: str | None) -> None:
    if path is not None and path.startswith("-") and path != "-":
        raise ValueError("Name a file, or - for standard output.")


def _whole(_type: object, tokens: Sequence[Token]) -> int:
    """A number without point and exponent: the library rounds others."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f'"{word}" is not a whole number, such as 1000000 or 1_000_000') from None


_WHOLE = Parameter(converter=_whole)


def whole(least: int, most: int | None = None) -> Parameter:
    """An option that takes a whole number between two bounds."""
    return Parameter(converter=_whole, validator=Number(gte=least, lte=most))


@dataclass(frozen=True, slots=True)
class _TraceFlags(TraceOptions):
    __doc__ = TraceOptions.__doc__

    reorder_ms: Annotated[int | None, _WHOLE] = None
    queue_depth: Annotated[int | None, _WHOLE] = None


@dataclass(frozen=True, slots=True)
class _TransformFlags(Transform):
    __doc__ = Transform.__doc__

    repeat: Annotated[int | None, _WHOLE] = None
    repeat_to_requests: Annotated[int | None, _WHOLE] = None
    region_bytes: Annotated[int | None, _WHOLE] = None
    offset_bytes: Annotated[int | None, _WHOLE] = None


# A hyphen stands for standard output, so hyphens are let in here and checked by hand.
JsonPath = Annotated[str | None, Parameter(allow_leading_hyphen=True, validator=_check_file_name)]
DeviceName = Annotated[str, Parameter(completer=completing.devices)]
DesignName = Annotated[str, Parameter(completer=completing.designs)]
# A hyphen stands for standard input.
WorkloadName = Annotated[str, Parameter(completer=completing.workloads, allow_leading_hyphen=True)]
DESIGNS = Parameter(name="DESIGN", completer=completing.designs)
SetWords = Annotated[list[str] | None, Parameter(name="--set")]
# The fields become options of the command itself.
TraceFlags = Annotated[_TraceFlags, Parameter(name="*")]
PositiveOrNone = Annotated[int | None, whole(1)]
Seed = Annotated[int, whole(0, U64_MAX)]
# Its fields are options by their own names.
TransformOptions = Annotated[_TransformFlags, Parameter(name="*")]
NO_TRACE_FLAGS = _TraceFlags()
NO_TRANSFORM_FLAGS = _TransformFlags()
