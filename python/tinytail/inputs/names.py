"""Names: of the files that a run writes, of designs in them, of windows and of workloads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from tinytail.engine import arguments
from tinytail.errors import UsageError, suggestion

# Nanoseconds of the units of simulated time.
UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def file_names(
    what: str, form: str, ending: str, given: str | None, designs: Sequence[str]
) -> dict[str, str]:
    """The file of each design; none if none is wanted.

    In a directory, a file is named after its design. Elsewhere, a single design's has the name
    given, and with several designs each puts its name before the ending of that.

    Raises:
        UsageError: a name that no such file can have.
    """
    if given is None:
        return {}
    if not given:
        raise UsageError(f"the name of the {what} is empty")
    if given == "-":
        raise UsageError(f"the {what} is a {form} and cannot go to standard output")
    path = Path(given)
    if _is_folder(path) or given.endswith("/"):
        names = [path / f"{part_of_file_name(design)}{ending}" for design in designs]
    elif len(designs) == 1:
        names = [path]
    else:
        names = [
            path.with_name(f"{path.stem}.{part_of_file_name(design)}{path.suffix}")
            for design in designs
        ]
    files: dict[str, str] = {}
    for design, name in zip(designs, names, strict=True):
        for other, taken in files.items():
            if taken == str(name):
                raise UsageError(f'the {what}s of "{other}" and "{design}" would both be {name}')
        files[design] = str(name)
    return files


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    # What is wrong with the name, whoever writes says.
    except OSError:
        return False


def part_of_file_name(design: str) -> str:
    """A design's name as a part of a file's: without the folders and ending of a path."""
    return "+".join(Path(part).name.removesuffix(".toml") for part in design.split("+"))


def without_multiplier(workload: str) -> str:
    """A workload's name or path without the multiplier that may be given with it.

    >>> without_multiplier("act@30"), without_multiplier("mine.toml"), without_multiplier("a@b")
    ('act', 'mine.toml', 'a@b')
    """
    name, _, digits = workload.rpartition("@")
    return name if name and digits.isascii() and digits.isdecimal() else workload


def timeline_window(text: str) -> tuple[int, int]:
    """A window of simulated time in nanoseconds: since when and, exclusively, up to when.

    Raises:
        UsageError: it is no window, or holds no time.

    >>> timeline_window("2s..2.1s")
    (2000000000, 2100000000)
    >>> timeline_window("80us..0.5ms")
    (80000, 500000)
    """
    begin, dots, end = text.partition("..")
    if not dots:
        raise UsageError(f'the timeline window must be FROM..TO, such as 2s..2.1s, not "{text}"')
    window = (_time(begin, text), _time(end, text))
    if window[1] <= window[0]:
        how = "ends before it begins" if window[1] < window[0] else "holds no time"
        raise UsageError(f'the timeline window "{text}" {how}')
    return window


def _time(text: str, window: str) -> int:
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([^\s0-9.]*)\s*", text)
    where = f'in the timeline window "{window}"'
    if found is None:
        raise UsageError(f'"{text}" {where} is no time; a time is such as 2s, 2.1s or 150us')
    number, unit = found.groups()
    if not unit:
        raise UsageError(f'"{text}" {where} has no unit; allowed: {", ".join(UNITS_NS)}')
    if unit not in UNITS_NS:
        raise UsageError(f'unknown unit "{unit}" {where}{suggestion(unit, UNITS_NS)}')
    ns = Decimal(number) * UNITS_NS[unit]
    if ns != ns.to_integral_value():
        raise UsageError(f'"{text}" {where} is no whole number of nanoseconds')
    if ns > arguments.U64_MAX:
        raise UsageError(f'"{text}" {where} is more than simulated time can be')
    return int(ns)
