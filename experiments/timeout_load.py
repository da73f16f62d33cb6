"""The lowest load at which a timeout of T-ES passes, on TPC-C's stand-in and on 4 KB, 70 % reads.

Below it T-ES is I-ES event by event, and rows on timeouts test nothing. The steps were fixed before
anything ran: TPC-C's stand-in is one of the 15 data disks of a server, and its load goes from one
disk to 15; the queue depth of the other, 16 in the paper, is doubled up to 256. The load is the
lowest step at which T-ES goes over to deferring reads, whatever rows come out of it. It is found by
bisection, as the more is read from a die the more timeouts pass.

Writes a Markdown table.
Run: .venv/bin/python experiments/timeout_load.py
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable

import tinytail

DEVICE = "lowlatency-240g"
DISKS = tuple(range(1, 16))
QUEUE_DEPTHS = (16, 32, 64, 128, 256)
RANDOM_REQUESTS = 15_000_000
TIMEOUTS = ": switches to deferred"


def on_disks(disks: int) -> tinytail.Comparison:
    """T-ES under the requests of so many data disks, as fast as the excerpt has them."""
    transform = tinytail.Transform(scale_time=round(1 / disks, 7))
    return tinytail.compare(["t-es"], device=DEVICE, workload="standin-tpcc", transform=transform)


def at_depth(queue_depth: int) -> tinytail.Comparison:
    """T-ES under random requests of 4 KB, so many at a time."""
    synthetic = {
        "queue_depth": queue_depth,
        "block_bytes": 4096,
        "read_share": 0.7,
        "addresses": "uniform",
        "requests": RANDOM_REQUESTS,
    }
    workload = {"summary": "4 KB random, 70 % reads", "synthetic": synthetic}
    return tinytail.compare(["t-es"], device=DEVICE, workload=workload)


def timeouts_pass(load: str, play: Callable[[int], tinytail.Comparison], step: int) -> bool:
    """Whether any does at this step, which is written down."""
    comparison = play(step)
    if comparison.errors:
        message = f"{load}, {step}: {comparison.errors}"
        raise RuntimeError(message)
    result = comparison.results[0]
    timeouts = sum(n for name, n in result.techniques.items() if name.endswith(TIMEOUTS))
    sys.stdout.write(f"| {load} | {step} | {result.erases:,} | {timeouts:,} |\n")
    sys.stdout.flush()
    return timeouts > 0


def search(load: str, steps: tuple[int, ...], play: Callable[[int], tinytail.Comparison]) -> None:
    """Writes the lowest of the steps at which a timeout passes, and what was tried."""
    found = bisect_left(steps, True, key=lambda step: timeouts_pass(load, play, step))
    lowest = str(steps[found]) if found < len(steps) else "none"
    sys.stdout.write(f"| {load} | **{lowest}** | | |\n")


def main() -> None:
    """Searches on both loads."""
    sys.stdout.write("| load | step | erases | timeouts |\n|---|--:|--:|--:|\n")
    search("TPC-C, disks of 15", DISKS, on_disks)
    search("4 KB, 70 % reads, queue depth", QUEUE_DEPTHS, at_depth)


if __name__ == "__main__":
    main()
