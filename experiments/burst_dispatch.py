"""Why the baseline of The Harey Tortoise needs bursts of 64 pages for its 39.4 MB/s (Figure 5).

A model of a few lines beside the engine: eight chips on four channels, each with one write point,
which stands on a random page of a block when a burst begins. Page after page goes to the chip that
is free first, crosses its channel and is programmed. A burst ends with its last page, and that is
as likely a slow one as not; so the shorter the burst, the more of its time chips wait for others.
In the engine write points stand where GC left them in idle time, which shows in bursts below 64.

Writes a Markdown table: MB/s by pages of a burst, of the model and of the engine.
Run: .venv/bin/python experiments/burst_dispatch.py
"""

from __future__ import annotations

import random
import sys

import tinytail

PATTERN = "FFFF" + "SSFF" * 30 + "SSSS"
PROGRAM_US = {"F": 253.0, "S": 1359.0}
TRANSFER_US = 10.24
CHIPS, CHANNELS = 8, 4
PAGE_BYTES = 4096
PAGES = 4096  # 16 MB in all, as in section 4.2.1
MODEL_TIMES = 40  # how often the model repeats them
BURSTS = {
    "burst_idle_us": 2_000_000,
    "start_ms": 2000,
    "block_bytes": 4096,
    "read_share": 0.0,
    "addresses": "uniform",
    "requests": PAGES,
}


def modelled_us(pages: int, draw: random.Random) -> float:
    """How long one burst takes in the model."""
    places = [draw.randrange(len(PATTERN)) for _ in range(CHIPS)]
    free = [0.0] * CHIPS
    channels = [0.0] * CHANNELS
    for _ in range(pages):
        chip = min(range(CHIPS), key=lambda each: (free[each], channels[each % CHANNELS]))
        channel = chip % CHANNELS
        begin = max(free[chip], channels[channel]) + TRANSFER_US
        channels[channel] = begin
        free[chip] = begin + PROGRAM_US[PATTERN[places[chip]]]
        places[chip] = (places[chip] + 1) % len(PATTERN)
    return max(free)


def modelled(pages: int) -> float:
    """The mean of what bursts write in their time, in 10^6 bytes a second."""
    draw = random.Random(pages)
    bursts = MODEL_TIMES * PAGES // pages
    return sum(pages * PAGE_BYTES / modelled_us(pages, draw) for _ in range(bursts)) / bursts


def simulated(pages: int) -> float:
    """The same of the engine's baseline."""
    workload = {
        "summary": f"bursts of {pages} pages",
        "synthetic": {"burst_requests": pages, **BURSTS},
    }
    comparison = tinytail.compare(["harey-baseline"], device="harey-8g", workload=workload)
    if comparison.errors:
        raise RuntimeError(comparison.errors)
    bursts = comparison.result("harey-baseline").bursts
    assert bursts is not None
    assert bursts.write_mb_per_second is not None
    return bursts.write_mb_per_second


def main() -> None:
    """Compares both at every size of the paper."""
    write = sys.stdout.write
    write("| pages of a burst | model | engine | engine, of 39.4 |\n|--:|--:|--:|--:|\n")
    for power in range(11):
        pages = 1 << power
        engine = simulated(pages)
        write(f"| {pages} | {modelled(pages):.1f} | {engine:.1f} | {engine / 39.4:.3f} |\n")


if __name__ == "__main__":
    main()
