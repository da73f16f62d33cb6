"""A page map of one plane under random overwrites: a judge without code of the engine."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class PageMap:
    """Figures of a page map in its steady state."""

    write_amplification: float
    """Pages programmed for each page written."""
    victims_valid: float
    """Share of valid pages in collected blocks."""


def page_map(
    blocks: int,
    pages_per_block: int,
    live_share: float,
    threshold_pages: int,
    *,
    often_share: float = 0.0,
    often_writes: float = 0.0,
    seed: int = 1,
) -> PageMap:
    """Return the steady state of a plane with greedy victims and one open block.

    A block is collected while fewer than `threshold_pages` are erased. Of the live pages a share of
    `often_share` receives a share of `often_writes` of the writes; all others are equal.
    """
    draw = random.Random(seed)
    live = round(blocks * pages_per_block * live_share)
    often = round(live * often_share)
    place: list[int] = [-1] * live
    owners: list[list[int]] = [[] for _ in range(blocks)]
    valid = [0] * blocks
    erased = list(range(1, blocks))
    opened = 0
    free = blocks * pages_per_block

    def program(page: int) -> None:
        nonlocal opened, free
        if len(owners[opened]) == pages_per_block:
            opened = erased.pop(0)
        if place[page] >= 0:
            valid[place[page]] -= 1
        owners[opened].append(page)
        place[page] = opened
        valid[opened] += 1
        free -= 1

    def collect() -> tuple[int, int]:
        nonlocal free
        idle = {opened, *erased}
        victim = min((b for b in range(blocks) if b not in idle), key=valid.__getitem__)
        moved = [page for page in dict.fromkeys(owners[victim]) if place[page] == victim]
        for page in moved:
            program(page)
        owners[victim], valid[victim] = [], 0
        erased.append(victim)
        free += pages_per_block
        return len(moved), 1

    def write(count: int) -> tuple[int, int]:
        moved = victims = 0
        for _ in range(count):
            if draw.random() < often_writes:
                page = draw.randrange(often)
            else:
                page = draw.randrange(often, live)
            program(page)
            while free < threshold_pages:
                more, victim = collect()
                moved, victims = moved + more, victims + victim
        return moved, victims

    for page in range(live):
        program(page)
    write(6 * live)
    count = 10 * live
    moved, victims = write(count)
    return PageMap(1 + moved / count, moved / (victims * pages_per_block))
