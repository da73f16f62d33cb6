"""What GC-PAR gains for requests that meet a GC: by arithmetic for a lone GC, and on a single die.

Requests are spread over the planes by their addresses, so that with p planes one in p is for the
plane that is in GC. Nothing of that plane can join the GC: it waits until the GC ends, as in the
baseline. A program for another plane joins the next program of GC, as soon as it comes where blocks
are aligned; its wait is all but gone, and the mean of all programs falls by 1 - 1/p. A read for
another plane has to wait until GC reads the page of its own offset, which, if it has not been
read yet, comes anywhere in what is left: it waits for a third of a GC on average in place of half,
and the mean of all reads falls by (1 - 1/p) / 3. All this takes a GC that comes alone, and a queue
that is empty when it begins. It is no bound for cycles of several GCs: a request of a plane in GC
can join the next GC of the cycle, if that is of another plane.

The engine's die is one of `hpdc-1t`, with requests of one page at random places, so rarely that
they meet GC and nothing else. Its GCs come alone (`block-by-block`), or in cycles: until so many
blocks more are erased than where they start, which is one in `hpdc-baseline`. The paper's simulator
builds on the SSD extension of DiskSim, which counts whole clean blocks: it starts when they are at
most as many as its threshold, and stops at two more. How many GCs its cycles have is drawn by a
model: two planes with an open block each, victims of any plane, four fifths of them valid.

The paper has 71 % for reads and 70 % for writes under GC-PAR with two planes, 83 and 70 % under
GC-VIC; with four planes 75 and 71 %, and 84 and 71 %.

Means over seeds with their 95 % intervals. Writes a Markdown table.
Run: .venv/bin/python experiments/gc_par_bounds.py
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Sequence
from typing import Any

import tinytail
from tinytail.comparison.result import DesignResult
from tinytail.engine.results import Latency

DESIGNS = ("hpdc-baseline", "gc-par-basic", "gc-par", "gc-vic", "skip-pages")
BLOCK_BY_BLOCK = {"gc_trigger.of": "plane", "gc_trigger.stop_above_blocks": 0}
ONE, TWO = ({"gc_trigger.stop_above_blocks": blocks} for blocks in (1, 2))
# The designs' settings, and those of the starting state.
RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "alone": (BLOCK_BY_BLOCK, {}),
    "until 1 block more": (ONE, {}),
    "until 2 blocks more": (TWO, {}),
}
# What else the paper leaves open; of dies of two planes.
READINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "planes by themselves, until 1 more": (BLOCK_BY_BLOCK | ONE, {}),
    "planes by themselves, until 2 more": (BLOCK_BY_BLOCK | TWO, {}),
    "until 1 more, 76 % live": (ONE, {"state.live_percent": 76}),
    "until 2 more, 76 % live": (TWO, {"state.live_percent": 76}),
}
BLOCK, VALID = 512, 0.8  # Pages of a block, and the share of them that a victim holds.
SEEDS = (1, 2, 3, 4, 5, 6)
T_95 = 2.571  # Student's, of six values.
ONE_DIE = {
    "geometry.channels": 1,
    "geometry.chips_per_channel": 1,
    "geometry.dies_per_chip": 1,
}
WORKLOAD = {
    "summary": "single pages, now and then",
    "synthetic": {
        "rate_per_s": 12,
        "arrivals": "exponential",
        "block_bytes": 16384,
        "read_share": 0.5,
        "addresses": "uniform",
        "requests": 40000,
    },
}


def sum_us(latency: Latency) -> float:
    """The time of all requests of a kind."""
    return latency.count * (latency.mean_us or 0.0)


def gain_percent(base: DesignResult, other: DesignResult, kind: str) -> float:
    """What all requests of a kind take less, of what those take that GC affects in the baseline."""
    affected = getattr(base.gc_affected, f"{kind}s")
    saved = sum_us(getattr(base, kind)) - sum_us(getattr(other, kind))
    return 100 * saved / (affected.count * affected.mean_us)


def told(values: Sequence[float]) -> str:
    """A mean with its interval."""
    half = T_95 * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.0f} ± {half:.0f}"


def disksim_cycles(planes: int, cycles: int = 2000) -> list[int]:
    """How many GCs the cycles have in which whole clean blocks are counted."""
    draw = random.Random(1)
    clean, low, counts = 10, 9, []
    # Pages that are left in the open block of each plane.
    left = [draw.randrange(BLOCK) for _ in range(planes)]

    def program(plane: int, pages: int) -> None:
        nonlocal clean
        left[plane] -= pages
        while left[plane] < 0:
            left[plane] += BLOCK
            clean -= 1

    while len(counts) < cycles:
        while clean > low:
            program(draw.randrange(planes), 1)
        counts.append(0)
        while clean <= low + 1:
            program(draw.randrange(planes), round(VALID * BLOCK))
            clean += 1
            counts[-1] += 1
    return counts


def cycles_of(result: DesignResult) -> int:
    """Cycles of GC that began, or GCs where each is one."""
    counts = [count for name, count in result.techniques.items() if name.endswith(": cycles")]
    return sum(counts) or result.gc_count


def write_rule(
    device: str, planes: int, rule: str, settings: dict[str, Any], state: dict[str, Any]
) -> None:
    """Writes a row for each design under a rule."""
    designs = [{"base": name, "set": settings} for name in DESIGNS]
    runs = []
    for seed in SEEDS:
        one_die = {"base": device, "set": ONE_DIE | state}
        comparison = tinytail.compare(designs, device=one_die, workload=WORKLOAD, seed=seed)
        if comparison.errors:
            raise RuntimeError(comparison.errors)
        runs.append(comparison.results)
    in_cycle = statistics.mean(run[0].gc_count / cycles_of(run[0]) for run in runs)
    for index, name in enumerate(DESIGNS[1:], start=1):
        reads, writes = (
            told([gain_percent(run[0], run[index], kind) for run in runs])
            for kind in ("read", "write")
        )
        waits = told([(run[0].gc_affected.reads.mean_us or 0) / 1000 for run in runs])
        gcs = statistics.mean(run[index].gc_count / run[0].gc_count for run in runs)
        cells = f"`{name}` | {reads} | {writes} | {gcs:.2f} | {in_cycle:.1f} | {waits}"
        sys.stdout.write(f"| {planes} | {rule} | {cells} |\n")
    sys.stdout.flush()


def main() -> None:
    """Two planes and four, and what else is open."""
    write = sys.stdout.write
    for planes in (2, 4):
        counts = disksim_cycles(planes)
        mean, least, most = statistics.mean(counts), min(counts), max(counts)
        write(
            f"{planes} planes: cycles of DiskSim's rule have {mean:.1f} GCs, {least} to {most}.\n"
        )
    write("\n| planes | GCs | | reads, % | writes, % | GCs, times the baseline's | in a cycle | ")
    write("baseline's reads that GC affects, ms |\n|--:|---|---|--:|--:|--:|--:|--:|\n")
    for device, planes in (("hpdc-1t", 2), ("hpdc-1t-4planes", 4)):
        others = 1 - 1 / planes
        row = f"{100 * others / 3:.0f} | {100 * others:.0f} | | 1 | |\n"
        write(f"| {planes} | alone | arithmetic | {row}")
        for rule, settings in RULES.items():
            write_rule(device, planes, rule, *settings)
    for rule, settings in READINGS.items():
        write_rule("hpdc-1t", 2, rule, *settings)


if __name__ == "__main__":
    main()
