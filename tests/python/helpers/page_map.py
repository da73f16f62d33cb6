"""Page map of one plane under random writes: the judge of what drives do with their planes.

It has no time, no channels and no other plane, and shares nothing with the engine. A page is
written to the open block. As soon as fewer pages are erased than a threshold says, the block that
the rule names is collected: its valid pages are written again, and it is erased.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

HOST, GC = 0, 1
NOTHING = -1


@dataclass(frozen=True, slots=True)
class Shape:
    """One plane, how much of it is live, and how it is collected."""

    blocks: int
    pages_per_block: int
    live: int
    # Erased pages, in erased and in open blocks, below which a block is collected.
    threshold: int
    # "greedy", "fifo", "least_worn", "cost_benefit", or "d_choices" with a number.
    victims: str = "greedy"
    choices: int = 0
    # Moved pages fill a block of their own.
    apart: bool = False
    # The first live pages, and the share of the writes that they receive; all others are equal.
    often: int = 0
    often_writes: float = 0.0


class PageMap:
    """A plane, written from page to page."""

    def __init__(self, shape: Shape, seed: int = 1) -> None:
        self.shape = shape
        self.random = random.Random(seed)
        blocks, pages = shape.blocks, shape.pages_per_block
        self.place = [NOTHING] * shape.live
        self.owner = [NOTHING] * (blocks * pages)
        self.valid = [0] * blocks
        self.erases = [0] * blocks
        # Closed blocks in the order in which they closed, each with the pages written until then.
        self.closed: dict[int, int] = {}
        self.erased = list(range(blocks))
        self.next: list[int | None] = [None, None]
        self.written = 0
        self.erased_pages = blocks * pages
        self.collected = self.moved = 0

    def write(self, page: int, writer: int) -> None:
        """Write a page to the open block of a writer."""
        pages = self.shape.pages_per_block
        point = writer if self.shape.apart else HOST
        slot = self.next[point]
        if slot is None:
            slot = self.erased.pop(0) * pages
        old = self.place[page]
        if old != NOTHING:
            self.valid[old // pages] -= 1
        self.place[page], self.owner[slot] = slot, page
        block = slot // pages
        self.valid[block] += 1
        self.written += 1
        self.erased_pages -= 1
        is_last = (slot + 1) % pages == 0
        self.next[point] = None if is_last else slot + 1
        if is_last:
            self.closed[block] = self.written

    def victim(self) -> int:
        """Return the block that the rule names among closed ones with a stale page."""
        pages, valid = self.shape.pages_per_block, self.valid
        if self.shape.victims == "greedy":
            return min(self.closed, key=valid.__getitem__)
        some = [block for block in self.closed if valid[block] < pages]
        if self.shape.victims == "d_choices":
            some = [self.random.choice(some) for _ in range(self.shape.choices)]
        keys: dict[str, Callable[[int], float]] = {
            "fifo": self.closed.__getitem__,
            "least_worn": self.erases.__getitem__,
            "d_choices": valid.__getitem__,
            "cost_benefit": lambda block: (
                -(pages - valid[block])
                * (self.written - self.closed[block])
                / max(2 * valid[block], 1e-9)
            ),
        }
        return min(some, key=keys[self.shape.victims])

    def collect(self) -> None:
        """Move the valid pages of a victim, and erase it."""
        pages = self.shape.pages_per_block
        block = self.victim()
        del self.closed[block]
        self.collected += 1
        self.moved += self.valid[block]
        for slot in range(block * pages, (block + 1) * pages):
            if self.place[self.owner[slot]] == slot:
                self.write(self.owner[slot], GC)
        self.erases[block] += 1
        self.erased.append(block)
        self.erased_pages += pages

    def overwrite(self, count: int) -> None:
        """Overwrite pages at random, collecting as the threshold says."""
        for _ in range(count):
            self.write(self._drawn(), HOST)
            while self.erased_pages < self.shape.threshold:
                self.collect()

    def _drawn(self) -> int:
        shape = self.shape
        if shape.often and self.random.random() < shape.often_writes:
            return self.random.randrange(shape.often)
        return self.random.randrange(shape.often, shape.live)


@dataclass(frozen=True, slots=True)
class Steady:
    """Figures of a plane in its steady state.

    Attributes:
        write_amplification: Pages programmed for each page written.
        victims_valid: Share of valid pages in collected blocks.
    """

    write_amplification: float
    victims_valid: float


def steady(shape: Shape, *, before: int = 2, measured: int = 1, seed: int = 1) -> Steady:
    """Return the steady state of a plane.

    Each live page is overwritten `before` times on average, and then `measured` times more.
    """
    plane = PageMap(shape, seed)
    pages = list(range(shape.live))
    plane.random.shuffle(pages)
    for page in pages:
        plane.write(page, HOST)
    plane.overwrite(before * shape.live)
    plane.collected = plane.moved = 0
    count = measured * shape.live
    plane.overwrite(count)
    victims = plane.collected * shape.pages_per_block
    return Steady(1 + plane.moved / count, plane.moved / max(victims, 1))


def victims_valid_percent(shape: Shape) -> float:
    """Return the share of valid pages in victims, in percent, when the plane is steady."""
    return 100 * steady(shape).victims_valid


def page_map(
    blocks: int,
    pages_per_block: int,
    live_share: float,
    threshold_pages: int,
    *,
    often_share: float = 0.0,
    often_writes: float = 0.0,
) -> Steady:
    """Return the steady state of a plane with greedy victims.

    Of the live pages a share of `often_share` receives a share of `often_writes` of the writes.
    """
    live = round(blocks * pages_per_block * live_share)
    often = round(live * often_share)
    shape = Shape(
        blocks, pages_per_block, live, threshold_pages, often=often, often_writes=often_writes
    )
    return steady(shape, before=6, measured=10)
