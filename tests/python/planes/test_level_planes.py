"""Planes under saturating writes: all are collected alike, and as a page map of one plane says."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

import tinytail
from commands import experiment
from page_map import PageMap, Shape, victims_valid_percent
from soak import SOAK

level_planes = experiment("level_planes")
MODERN = ("modern-tlc-2t-small", "modern-qlc-4t-small")
# Designs whose writes go to any plane, chosen as they leave the buffer.
DYNAMIC = ("firmware", "base+idle-die", "base+cross-plane-gc", "base+idle-die+plane-blocking")
OVER_PROVISIONING = (None, 20, 28, 50)
SAMPLE = 14
# The sample leaves drives out that have more planes or blocks, but for those of `firmware`.
PLANES_MAX, BLOCKS_MAX = 64, 256
ERASES = None if SOAK else 200

Case = tuple[str, str, int, int | None]


def is_small(device: str) -> bool:
    """Whether the sample has a drive."""
    plane = level_planes.plane_of("base", device, ())
    return bool(plane.planes <= PLANES_MAX and plane.blocks <= BLOCKS_MAX)


def all_cases() -> list[Case]:
    """Each design on each small drive, with each size of requests and each over-provisioning."""
    drives = [entry.name for entry in tinytail.list_devices() if entry.name.endswith("-small")]
    if not SOAK:
        drives = [name for name in drives if is_small(name)]
    return [
        (design, device, kib, percent)
        for design in level_planes.compositions()
        for device in drives
        for kib in level_planes.SIZES_KIB
        for percent in OVER_PROVISIONING
    ]


def row_of(case: Case) -> Any:
    """What the planes of a case did."""
    design, device, kib, percent = case
    settings = () if percent is None else (f"host.over_provisioning_percent={percent}",)
    return level_planes.play(design, device, kib, settings, erases=ERASES)


@pytest.mark.soak
def test_planes_are_collected_alike_and_as_a_page_map_of_one_says() -> None:
    """The victims' valid share, the law of write amplification, and even wear: `firmware` on both
    modern drives, and others that are drawn."""
    cases = all_cases()
    if not SOAK:
        random.Random(1).shuffle(cases)
    always: list[Case] = [("firmware", device, 16, None) for device in MODERN]
    always.append(("base+idle-die+plane-blocking", MODERN[0], 16, None))
    rows = []
    for case in (*always, *cases):
        row = row_of(case)
        if not row.refused:
            rows.append(row)
        if not SOAK and len(rows) == SAMPLE:
            break
    assert len(rows) >= SAMPLE
    wrong = [row for row in rows if row.faults]
    assert not wrong, "\n" + "\n".join(level_planes.table(wrong))


@pytest.mark.soak
@pytest.mark.parametrize("device", MODERN)
def test_more_planes_a_larger_buffer_and_cache_registers_cost_no_bandwidth(device: str) -> None:
    designs = DYNAMIC if SOAK else DYNAMIC[:1]
    sizes = level_planes.SIZES_KIB if SOAK else (16,)
    for design in designs:
        for kib in sizes:
            whole = level_planes.play(design, device, kib, erases=ERASES)
            for less in (
                "geometry.planes_per_die=1",
                "ram.buffer_kib=4096",
                "flash.cache_register=false",
            ):
                part = level_planes.play(design, device, kib, (less,), erases=ERASES)
                assert whole.mb_per_s >= 0.95 * part.mb_per_s, (design, kib, less, part, whole)


def test_a_page_map_moves_what_theory_says() -> None:
    """In the order in which blocks closed, write amplification is 1 / (1 - u) with u as the chance
    of a page to live until its block comes round: u = exp(-(1 - u) / live share)."""
    blocks, pages = 200, 32
    shape = Shape(blocks, pages, live=4800, threshold=2 * pages, victims="fifo")
    plane = level_planes.Plane(
        1, blocks - 2, pages, 4096, 4800, "fifo", 0, apart=False, by_plane=True
    )
    assert victims_valid_percent(shape) == pytest.approx(100 * plane.valid_guess, abs=1)


@pytest.mark.parametrize("victims", ["greedy", "fifo", "least_worn", "cost_benefit", "d_choices"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_page_map_loses_no_page(victims: str, *, apart: bool) -> None:
    plane = PageMap(Shape(20, 4, 50, 12, victims, 3, apart=apart))
    plane.overwrite(2000)
    assert plane.collected > 0
    written = [page for page, slot in enumerate(plane.place) if slot >= 0]
    assert [plane.owner[plane.place[page]] for page in written] == written
    assert sum(plane.valid) == len(written)
    assert plane.erased_pages >= 12
    assert sum(plane.erases) == plane.collected


def test_a_row_says_what_does_not_hold() -> None:
    right = level_planes.Row(
        "base",
        "a drive",
        4,
        (),
        valid_percent=70,
        map_percent=71,
        law=1.0,
        erases_least=200,
        erases_most=300,
    )
    assert right.faults == []
    changes: list[tuple[dict[str, Any], str]] = [
        ({"map_percent": 73.1}, "victims"),
        ({"law": 1.06}, "law"),
        ({"erases_most": 301}, "planes"),
    ]
    for change, fault in changes:
        assert dataclasses.replace(right, **change).faults == [fault]
