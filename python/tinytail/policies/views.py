"""What policies are shown, for type checkers and readers. Times are nanoseconds, sizes as named.

The native module has these for plain Python, `compiled.py` for Numba, with the same names. All of
it is read-only, and good until the policy answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Column(Protocol):
    """A number of each block, plane or die, by its number."""

    def __getitem__(self, index: int, /) -> int: ...
    def __len__(self) -> int: ...


class View(Protocol):
    """The drive at the instant of a question.

    Dies of a channel, planes of a die and blocks of a plane have numbers in a row: block `b` lies
    in plane `b // blocks_per_plane`.

    Attributes:
        question: What is asked, where a function answers two questions: 3 what a die starts, 4 what
            a channel serves.
        now_ns: The simulated time.
        channels: Channels of the drive.
        dies: Dies of the drive.
        planes: Planes of the drive.
        planes_per_die: Planes of a die.
        blocks_per_plane: Blocks of a plane.
        pages_per_block: Pages of a block.
        page_bytes: Bytes of a page.
        blocks: Blocks of the drive.
        valid_pages: Of each block, its valid pages; 16,384 more while it may not be collected.
        erases: Of each block, its erases since the run began.
        closed_at: Of each block, its plane's `clock` when its last page was programmed.
        free_pages: Of each plane, its erased pages, in erased and in open blocks.
        erased_blocks: Of each plane, its erased blocks.
        clock: Of each plane, the pages programmed in it, by host and GC.
        in_gc: Of each plane, 1 while its GC is under way.
        in_gc_cycle: Of each plane, 1 in a cycle of GC, be it between two blocks.
        waits_at_gate: Of each plane, 1 while its GC waits at the gate.
        gc_erases: Of each plane, 1 while its GC erases, its pages moved.
        host_operations_on_channel: Of each plane, host operations that wait for or use its channel.
        gcs_on_channel: Of each plane, GCs under way in the planes of its channel.
        programs_for: Of each plane, programs that are bound for it; counted only where the layout
            is not static.
        read_would_wait: Of each plane, 1 if a read would wait for its channel or its die.
        plane_erases: Of each plane, its erases since the drive began to run.
        die_is_idle: Of each die, 1 while it runs nothing and nothing waits for it.
        suspendable_work: Of each die, what of its work can be suspended: 0 nothing, 1 a program, 2
            an erase.
        work_done_ns: Of each die, array time that is done of that work.
        work_total_ns: Of each die, array time of that work in all.
        work_started_ns: Of each die, when that work first started.
        pages_kept: Erased pages of a plane that no page of the host may take.
        writes_wait_for_room: 1 while a write waits for room in the buffer.
        page_read_ns: Array time and transfer of a read of a whole page, in the mean.
    """

    @property
    def question(self) -> int: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def dies(self) -> int: ...
    @property
    def planes(self) -> int: ...
    @property
    def planes_per_die(self) -> int: ...
    @property
    def blocks_per_plane(self) -> int: ...
    @property
    def pages_per_block(self) -> int: ...
    @property
    def page_bytes(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def valid_pages(self) -> Column: ...
    @property
    def erases(self) -> Column: ...
    @property
    def closed_at(self) -> Column: ...
    @property
    def free_pages(self) -> Column: ...
    @property
    def erased_blocks(self) -> Column: ...
    @property
    def clock(self) -> Column: ...
    @property
    def in_gc(self) -> Column: ...
    @property
    def in_gc_cycle(self) -> Column: ...
    @property
    def waits_at_gate(self) -> Column: ...
    @property
    def gc_erases(self) -> Column: ...
    @property
    def host_operations_on_channel(self) -> Column: ...
    @property
    def gcs_on_channel(self) -> Column: ...
    @property
    def programs_for(self) -> Column: ...
    @property
    def read_would_wait(self) -> Column: ...
    @property
    def plane_erases(self) -> Column: ...
    @property
    def die_is_idle(self) -> Column: ...
    @property
    def suspendable_work(self) -> Column: ...
    @property
    def work_done_ns(self) -> Column: ...
    @property
    def work_total_ns(self) -> Column: ...
    @property
    def work_started_ns(self) -> Column: ...
    @property
    def pages_kept(self) -> int: ...
    @property
    def writes_wait_for_room(self) -> int: ...
    @property
    def page_read_ns(self) -> int: ...


class Waiting(Protocol):
    """An operation that could start.

    Attributes:
        arrival: Its rank by arrival: lower waited longer.
        plane: The plane that it is for.
        work: Its class; see `Work`.
        urgent: A GC that the plane needs urgently.
        continues: Its die has begun with it and needs the channel again.
        data: Data cross the channel now.
    """

    @property
    def arrival(self) -> int: ...
    @property
    def plane(self) -> int: ...
    @property
    def work(self) -> int: ...
    @property
    def urgent(self) -> bool: ...
    @property
    def continues(self) -> bool: ...
    @property
    def data(self) -> bool: ...


class Read(Protocol):
    """A read of a page behind a GC, while the rest of its stripe can be read.

    Attributes:
        lpn: The logical page.
        plane: Its plane.
        gc_left_ns: The time for which the GC will go on at least.
        extra: The planes that must be read in addition to reconstruct it.
        full_stripe: The request reads every page of the stripe.
    """

    @property
    def lpn(self) -> int: ...
    @property
    def plane(self) -> int: ...
    @property
    def gc_left_ns(self) -> int: ...
    @property
    def extra(self) -> Sequence[int]: ...
    @property
    def full_stripe(self) -> bool: ...
