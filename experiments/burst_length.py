"""From which percentile the tail is seen at 7 drive writes per day, by the length of the burst.

The row of Figure 11a: full stripes of 28 KB, 70 % reads, from the row's state, for 300 s. The paper
sees the tail from the 90th percentile on and does not say how long its burst is. Here each read is
logged, and the percentile is worked out from the reads that arrived in the first seconds alone.

Writes a Markdown table, and what rotation had to free.
Run: .venv/bin/python experiments/burst_length.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tinytail

SECONDS = (100, 120, 130, 140, 150, 160, 175, 200, 250, 300)
STATE = {"live_percent": 48, "free_percent": 11}
# Section 3: GC starts above 70 % used pages. The spare space of this state would lower that.
TRIGGER = {"gc_trigger.soft_free_percent": 30.0, "gc_trigger.hard_free_percent": 10.0}
DESIGNS = (
    {"base": "ttflash", "name": "trigger", "set": TRIGGER},
    "ttflash+no-gc",
    {"base": "ttflash+f-rgc", "name": "trigger", "set": TRIGGER},
)
RATE = 7767.0
FACTOR = 2  # A tail that is seen: twice the twin's.
PAGES, PLANES_IN_GROUP = 256, 8
WORKLOAD = {
    "summary": "7 drive writes per day of 8 hours",
    "synthetic": {
        "requests": 2_330_000,
        "rate_per_s": RATE,
        "arrivals": "fixed",
        "block_bytes": 28672,
        "align_bytes": 28672,
        "read_share": 0.7,
        "addresses": "uniform",
    },
}
NAMES = ("arrived_ns", "latency_ns", "gc_blocked", "queue_blocked")
Columns = dict[str, "np.ndarray[tuple[int], np.dtype[np.int64]]"]


def reads(file: Path) -> Columns:
    """The reads of a log."""
    table = pq.read_table(file, columns=["kind", *NAMES])
    kind = np.array([str(value) for value in table["kind"].to_pylist()]) == "read"
    return {name: table[name].to_numpy()[kind] for name in NAMES}


def main() -> None:
    """Runs all designs and cuts their reads at each length."""
    write = sys.stdout.write
    with tempfile.TemporaryDirectory() as name:
        comparison = tinytail.compare(
            DESIGNS, device="ttflash-256g", workload=WORKLOAD, state=STATE, log=name
        )
        if comparison.errors:
            raise RuntimeError(str(comparison.errors))
        ours, twin, forced = (
            reads(Path(result.log.path)) for result in comparison.results if result.log
        )
    result = comparison.results[0]
    times = result.gc_times
    assert times is not None
    copied = result.techniques["gc: copied pages"] / result.gc_count
    freed = (PAGES - copied) / (times.mean_us / 1e6) / PLANES_IN_GROUP
    alone = (PAGES - copied) / (copied * 840.4e-6 + 2e-3) / PLANES_IN_GROUP
    since = result.rotation_violations[0].at_us / 1e6
    write(
        f"A group frees {freed:.0f} pages for each of its planes and second ({alone:.0f} if its "
        f"GCs waited for nothing), and {RATE * 0.3 * 8 / 64:.0f} are written. "
        f"Rotation is violated from {since:.0f} s on.\n"
        f"Forced rotation: {100 * forced['gc_blocked'].mean():.3f} % of the reads blocked, p99 at "
        f"{np.percentile(forced['latency_ns'], 99) / np.percentile(twin['latency_ns'], 99):.2f} "
        f"of the twin's.\n\n"
        "| the first | first percentile at twice the twin's | from which on all are | GC-blocked "
        "| waiting in the host | p90 over the twin's | p99 | slowest |\n|" + "--:|" * 8 + "\n"
    )
    percents = np.arange(1, 101)
    for seconds in SECONDS:
        early = ours["arrived_ns"] < seconds * 1e9
        us = ours["latency_ns"][early]
        twin_us = twin["latency_ns"][twin["arrived_ns"] < seconds * 1e9]
        ratios = np.percentile(us, percents) / np.percentile(twin_us, percents)
        seen, unseen = np.flatnonzero(ratios >= FACTOR), np.flatnonzero(ratios < FACTOR)
        first = percents[seen[0]] if len(seen) else 100
        from_here = percents[unseen[-1]] + 1 if len(unseen) else 1
        cells = [
            f"{seconds} s",
            f"{first}",
            f"{from_here}" if from_here <= percents[-1] else "none",
            f"{100 * ours['gc_blocked'][early].mean():.2f} %",
            f"{100 * ours['queue_blocked'][early].mean():.1f} %",
            f"{ratios[89]:,.2f}",
            f"{ratios[98]:,.2f}",
            f"{us.max() / 1e9:,.3f} s",
        ]
        write("| " + " | ".join(cells) + " |\n")


if __name__ == "__main__":
    main()
