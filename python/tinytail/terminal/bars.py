"""Bars made of characters, and whether a console can show more than ASCII."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

FULL = "█"
EIGHTHS = " ▏▎▍▌▋▊▉"


class Shows(Protocol):
    """What must be known of a console; that of Rich has it."""

    @property
    def encoding(self) -> str:
        """The encoding of what it writes."""

    @property
    def is_dumb_terminal(self) -> bool:
        """Whether it is a terminal that only adds text to text."""


def can_draw(console: Shows) -> bool:
    """Whether block characters can be shown there: text in Unicode, and no dumb terminal."""
    return console.encoding.lower().startswith("utf") and not console.is_dumb_terminal


def bar(share: float, width: int, *, unicode: bool) -> str:
    """A horizontal bar: `share` of `width` characters, to an eighth of one where Unicode is shown.

    Nothing is as short as no character; anything more shows. No spaces follow.

    >>> bar(0.5, 8, unicode=True), bar(0.33, 4, unicode=True), bar(1e-9, 4, unicode=True)
    ('████', '█▍', '▏')
    >>> bar(0.5, 8, unicode=False), bar(1e-9, 8, unicode=False), bar(0.0, 8, unicode=False)
    ('####', '#', '')
    """
    if share <= 0 or width <= 0:
        return ""
    steps = 8 if unicode else 1
    length = min(max(1, round(share * width * steps)), width * steps)
    whole, part = divmod(length, steps)
    return (FULL if unicode else "#") * whole + (EIGHTHS[part] if part else "")


# What the parts of a stacked bar are drawn with, the largest first; the last is for all others.
SHADES = "█▓▒░▞·"
SHADES_ASCII = "#=+:-."


def stacked(shares: Sequence[float], width: int, *, unicode: bool) -> list[str]:
    """The parts of a bar of `width` characters, one for each share, each in a shade of its own.

    Shares are parts of 1, at most as many as there are shades. Each part ends where the sum of the
    shares up to it does, to the nearest character.

    >>> stacked([0.5, 0.3, 0.2], 10, unicode=False), stacked([0.99, 0.01], 4, unicode=True)
    (['#####', '===', '++'], ['████', ''])
    """
    shades = SHADES if unicode else SHADES_ASCII
    parts, reached, total = [], 0, 0.0
    for shade, share in zip(shades, shares, strict=False):
        total += max(0.0, share)
        until = min(width, round(total * width))
        parts.append(shade * (until - reached))
        reached = until
    return parts
