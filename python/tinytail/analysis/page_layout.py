"""Where fast and slow pages lie in a block, told from times: The Harey Tortoise, 2.2."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tinytail.engine import arguments, native
from tinytail.errors import ConfigError, UsageError
from tinytail.files.text import MIB, json_text, read_text

# Many reads of every page of a block.
TIMES_BYTES_MAX = 16 * MIB


@dataclass(frozen=True, slots=True)
class PageLayout:
    """A layout that measured times show.

    `name` is the paper's, such as MLC A; `rule` is `page_class_layout` of a device file, None where
    all pages are alike. `class_times` are the median times of the classes that were measured, the
    fastest first, in the unit of the times; `outliers` of the `samples` are nearer to another
    class than to their page's.
    """

    name: str
    rule: str | None
    pages_per_block: int
    class_times: tuple[float, ...]
    samples: int
    outliers: int

    def to_dict(self) -> dict[str, Any]:
        """The layout as a document for JSON."""
        return {
            "name": self.name,
            "page_class_layout": self.rule,
            "pages_per_block": self.pages_per_block,
            "class_times": list(self.class_times),
            "samples": self.samples,
            "outliers": self.outliers,
        }

    def to_json(self) -> str:
        """The document of `to_dict` as JSON text."""
        return json_text(self.to_dict())


def analyze_page_layout(times: Iterable[tuple[int, float]], pages_per_block: int) -> PageLayout:
    """Names the layout of blocks from the times of reads, or of programs, of some of their pages.

    Args:
        times: pairs of a page's number in its block and its time, in any unit and order; a page may
            have several.
        pages_per_block: pages of a block.

    Raises:
        UsageError: a value of the wrong type or out of range.
        ConfigError: the times fit no layout, or two alike since too few pages were measured.
    """
    pages = arguments.whole_number("pages_per_block", pages_per_block, 2, 16_383)
    pairs = [
        (
            arguments.whole_number("a page of times", page, 0, arguments.U32_MAX),
            float(arguments.number("a time", time, 0, None, open_below=True)),
        )
        for page, time in times
    ]
    found = native.page_layout(pages, pairs)
    return PageLayout(
        name=found["name"],
        rule=found["layout"],
        pages_per_block=pages,
        class_times=tuple(found["class_times"]),
        samples=found["samples"],
        outliers=found["outliers"],
    )


def read_page_times(file: str | os.PathLike[str]) -> list[tuple[int, float]]:
    """Reads times from a file of lines `page,time`, or of one time for each page of a block.

    A first line that begins with a letter is a heading; empty lines and those that begin with # are
    passed over.

    Raises:
        ConfigError: the file cannot be read, or a line is none of these.
    """
    path = arguments.file(file)
    try:
        lines = read_text(path, TIMES_BYTES_MAX).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ConfigError(f"{path}: {reason}") from error
    times: list[tuple[int, float]] = []
    columns = 0
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.split(",")]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not columns and not times and fields[0][:1].isalpha():
            columns = len(fields)
            continue
        columns = columns or len(fields)
        if len(fields) != columns or columns > 2:
            raise ConfigError(
                f"{path}:{number}: {len(fields)} columns; expected `page,time` or a time in each"
            )
        page = fields[0] if columns == 2 else str(len(times))
        if not page.isdecimal():
            raise ConfigError(f"{path}:{number}: page {page!r}; expected a whole number from 0 on")
        times.append((int(page), _time(fields[-1], path, number)))
    if not times:
        raise ConfigError(f"{path}: no times; expected lines `page,time`, or a time in each")
    return times


def _time(text: str, path: str, number: int) -> float:
    try:
        time = float(text)
    except ValueError:
        time = math.nan
    if not (math.isfinite(time) and time > 0):
        raise ConfigError(f"{path}:{number}: time {text!r}; expected a number above 0")
    return time


def pages_of(times: list[tuple[int, float]]) -> int:
    """The pages of a block, of which every one is among the times.

    Raises:
        UsageError: some are missing, so that nobody knows how many there are.
    """
    pages = {page for page, _ in times}
    count = max(pages) + 1
    if len(pages) < count:
        missing = min(set(range(count)) - pages)
        raise UsageError(
            f"page {missing} has no time; give the pages of a block with --pages-per-block"
        )
    return count
