"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from tinytail.arguments import U64_MAX
from tinytail.tracing import TraceOptions
from tinytail.transforms import Transform


def _check_file_name(_type: object, path: str | None) -> None:
    if path is not None and path.startswith("-") and path != "-":
        raise ValueError("Name a file, or - for standard output.")


# A hyphen stands for standard output, so hyphens are let in here and checked by hand.
JsonPath = Annotated[str | None, Parameter(allow_leading_hyphen=True, validator=_check_file_name)]
SetWords = Annotated[list[str] | None, Parameter(name="--set")]
# The fields become options of the command itself.
TraceFlags = Annotated[TraceOptions, Parameter(name="*")]
PositiveOrNone = Annotated[int | None, Parameter(validator=Number(gte=1))]
Seed = Annotated[int, Parameter(validator=Number(gte=0, lte=U64_MAX))]
# Its fields are options by their own names.
TransformOptions = Annotated[Transform, Parameter(name="*")]
