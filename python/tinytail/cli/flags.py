"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_type_hints

from cyclopts import Parameter, Token
from cyclopts.validators import Number

from tinytail.cli import names
from tinytail.engine.arguments import U64_MAX
from tinytail.engine.declared import Options
from tinytail.engine.options import TraceOptions, Transform


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


WHOLE = Parameter(converter=_whole)


def whole(least: int, most: int | None = None) -> Parameter:
    """An option that takes a whole number between two bounds."""
    return Parameter(converter=_whole, validator=Number(gte=least, lte=most))


def flags(options: type[Options]) -> Any:
    """A parameter whose fields become options of the command itself."""
    defaults = {each.name: each.default for each in fields(options)}
    hints = get_type_hints(options, include_extras=True)
    # Their whole numbers are read as such.
    whole = [
        (name, Annotated[hints[name], WHOLE], field(default=defaults[name]))
        for name, hint in get_type_hints(options).items()
        if int in (hint, *get_args(hint))
    ]
    place = {"__module__": options.__module__}
    made = make_dataclass(
        options.__name__, whole, bases=(options,), namespace=place, frozen=True, kw_only=True
    )
    return Annotated[made, Parameter(name="*")]


# A hyphen stands for standard output, so hyphens are let in here and checked by hand.
JsonPath = Annotated[str | None, Parameter(allow_leading_hyphen=True, validator=_check_file_name)]
DeviceName = Annotated[str, Parameter(completer=names.devices)]
DesignName = Annotated[str, Parameter(completer=names.designs)]
# A hyphen stands for standard input.
WorkloadName = Annotated[str, Parameter(completer=names.workloads, allow_leading_hyphen=True)]
DESIGNS = Parameter(name="DESIGN", completer=names.designs)
SetWords = Annotated[list[str] | None, Parameter(name="--set")]
PositiveOrNone = Annotated[int | None, whole(1)]
Seed = Annotated[int, whole(0, U64_MAX)]
if TYPE_CHECKING:
    TraceFlags: TypeAlias = TraceOptions
    TransformFlags: TypeAlias = Transform
else:
    TraceFlags, TransformFlags = map(flags, (TraceOptions, Transform))
NO_TRACE_FLAGS = TraceOptions()
NO_TRANSFORM_FLAGS = Transform()
