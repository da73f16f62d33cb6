"""Why preemptive GC does not lock down on DTRS at ten times its rate, and what is slow there.

The row of Figure 9c: DTRS with its times divided by 10, over and over. First from the trace alone:
what its reads and writes ask of the channels, how far behind they fall though nothing else ran and
all channels shared the work evenly, and what is written beside what GC can free. Then four designs
play it 6 times over (the row: 30 times), two of them without GC.

Writes text and a Markdown table.
Run: TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/rerated_bursts.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import tinytail
from tinytail.engine.options import Transform

ROUNDS = 6
CHANNELS, PAGES = 8, 64 * 4096 * 256  # Pages: of the drive.
PAGE_SECTORS = 8
READ_S, WRITE_S = 100.2e-6, 100.2e-6  # Of a channel, with its command.
SOFT_PERCENT, WATERMARK_PERCENT = 30.0, 25.0
# The high watermark of Figure 9c: 75 % of the pages used.
OVERLAY = {
    "gc_trigger": {
        "policy": "watermark",
        "soft_free_percent": SOFT_PERCENT,
        "hard_free_percent": WATERMARK_PERCENT,
    },
}
DESIGNS = {
    "base+no-gc": "base+no-gc",
    "base+preemptible+watermark-75": ("base+preemptible", OVERLAY),
    "ttflash+no-gc": "ttflash+no-gc",
    "ttflash": "ttflash",
}
Values = "np.ndarray[tuple[int], np.dtype[np.float64]]"
FASTER = Transform(scale_time=0.1, repeat=1)


def backlog(at_s: Values, work_s: Values) -> float:
    """The most work that ever waits, in s, where as much is done as time passes."""
    done = np.cumsum(work_s)
    behind = done - at_s
    # What waits is what has come since the last moment at which nothing waited.
    start = np.minimum.accumulate(np.concatenate([[0.0], (behind - work_s)[:-1]]))
    return float((behind - np.minimum(start, behind - work_s)).max())


def demand(folder: Path) -> float:
    """What the trace asks for; returns the pages that one round writes."""
    write = sys.stdout.write
    file = folder / "faster.trace"
    tinytail.convert_trace("dtrs", file, transform=FASTER)
    columns = np.loadtxt(file, dtype=np.int64, usecols=(0, 2, 3, 4))
    at_s = (columns[:, 0] - columns[0, 0]) / 1e9
    first, count, is_read = columns[:, 1], columns[:, 2], columns[:, 3] == 1
    pages = (first + count - 1) // PAGE_SECTORS - first // PAGE_SECTORS + 1
    length_s = float(at_s[-1])
    reads = pages * is_read * READ_S / CHANNELS
    both = reads + pages * ~is_read * WRITE_S / CHANNELS
    write(
        f"One round is {length_s:.1f} s: {pages[is_read].sum():,} pages are read and "
        f"{pages[~is_read].sum():,} written; reads take {100 * reads.sum() / length_s:.0f} % of "
        f"{CHANNELS} channels, with writes {100 * both.sum() / length_s:.0f} %.\n"
    )
    for seconds in (0.1, 1.0):
        bins = np.bincount((at_s / seconds).astype(np.int64), weights=both) / seconds
        write(f"The busiest {seconds:g} s ask for {100 * bins.max():.0f} %. ")
    write(
        f"Spread evenly and without GC, reads alone fall {backlog(at_s, reads):.2f} s behind, "
        f"with writes {backlog(at_s, both):.2f} s.\n"
    )
    return float(pages[~is_read].sum()) / length_s


def main() -> None:
    """Says what is asked for and plays it."""
    write = sys.stdout.write
    with tempfile.TemporaryDirectory() as name:
        written = demand(Path(name))
    comparison = tinytail.compare(
        tuple(DESIGNS.values()),
        device="ttflash-256g",
        workload="dtrs",
        transform=Transform(scale_time=0.1, repeat=ROUNDS),
    )
    if comparison.errors:
        raise RuntimeError(str(comparison.errors))
    span = (SOFT_PERCENT - WATERMARK_PERCENT) / 100 * PAGES
    write(
        f"{written:,.0f} pages per second are written. From the threshold to the watermark it is "
        f"{span:,.0f} pages: {span / written:.0f} s without any GC.\n\n"
        "| design | GCs | pages copied in each | freed per s at most | written per s "
        "| least erased | p99 | worst window's p99 |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    for label, result in zip(DESIGNS, comparison.results, strict=True):
        times = result.gc_times
        copied, freed, programmed = (
            0.0,
            "-",
            sum(result.series.host_pages) / result.simulated_seconds,
        )
        if times is not None:
            # Base collects on a plane of each channel, TTFLASH on one of each group: 8 at a time.
            copied = result.techniques["gc: copied pages"] / result.gc_count
            alone_s = copied * 840.4e-6 + 2e-3
            freed = f"{CHANNELS * (256 - copied) / alone_s:,.0f}"
        windows = [us for us in result.series.read_p99_us if us is not None]
        erased = [blocks for blocks in result.series.free_blocks_min if blocks is not None]
        cells = [
            f"`{label}`",
            f"{result.gc_count:,}",
            f"{copied:.1f}",
            freed,
            f"{programmed:,.0f}",
            f"{min(erased) / 40.96:.1f} %",
            f"{(result.read.p99_us or 0) / 1e3:,.0f} ms",
            f"{max(windows) / 1e6:.2f} s",
        ]
        write("| " + " | ".join(cells) + " |\n")


if __name__ == "__main__":
    main()
