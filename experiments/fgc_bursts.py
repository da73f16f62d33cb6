"""Why FGC is ahead of no preference on DeskDev, although its bursts take longer.

FGC leaves slow pages to the host, so the mean burst takes longer. But what is compared in section
5.1 is the mean of the bursts' bandwidths. Without preference the more pages a burst has, the less
likely all of them are fast; FGC's fast pages come all at once, in one burst of nine of any size,
and such a burst has five times the bandwidth of the others.

Writes a Markdown table: bursts of DeskDev's stand-in that write, by the pages they write: their
mean bandwidth, their mean time, and how many are done before a slow page could be.
Needs pyarrow. Run: .venv/bin/python experiments/fgc_bursts.py
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from pyarrow import parquet

import tinytail

DESIGNS = ("rate-match", "fgc+write-points-32")
SIZES = ((1, 1), (2, 3), (4, 7), (8, 15), (16, 31), (32, None))
SLOW_US = 1359
COLUMNS = ["kind", "sector", "sectors", "asked_ns", "completed_ns"]


def bursts(log: Path) -> list[tuple[int, int, float]]:
    """Pages, bytes and time in us of each burst that writes. All of a burst is asked at once."""
    by_start = defaultdict(list)
    for row in parquet.read_table(log, columns=COLUMNS).to_pylist():
        by_start[row["asked_ns"]].append(row)
    found = []
    for start, rows in by_start.items():
        writes = [(row["sector"], row["sectors"]) for row in rows if row["kind"] == "write"]
        if not writes:
            continue
        pages = sum((first + count + 7) // 8 - first // 8 for first, count in writes)
        time_us = (max(row["completed_ns"] for row in rows) - start) / 1000
        found.append((pages, 512 * sum(count for _, count in writes), time_us))
    return found


def main() -> None:
    """Runs both designs with a log and puts their bursts side by side."""
    write = sys.stdout.write
    with tempfile.TemporaryDirectory() as folder:
        comparison = tinytail.compare(
            DESIGNS,
            device="harey-128g",
            workload="standin-deskdev",
            log=str(Path(folder) / "log.parquet"),
        )
        if comparison.errors:
            raise RuntimeError(comparison.errors)
        logs = {name: bursts(Path(folder) / f"log.{name}.parquet") for name in DESIGNS}
    write("| design | pages of a burst | bursts | MB/s | mean us | all fast, % |\n")
    write("|---|--:|--:|--:|--:|--:|\n")
    for name, found in logs.items():
        for low, high in SIZES:
            chosen = [
                each for each in found if low <= each[0] and (high is None or each[0] <= high)
            ]
            rate = sum(size / time_us for _, size, time_us in chosen) / len(chosen)
            mean_us = sum(time_us for *_, time_us in chosen) / len(chosen)
            fast = 100 * sum(time_us < SLOW_US for *_, time_us in chosen) / len(chosen)
            label = f"{low} or more" if high is None else f"{low} to {high}" if high > low else "1"
            cells = (f"{len(chosen):,}", f"{rate:.1f}", f"{mean_us:.0f}", f"{fast:.1f}")
            write(f"| `{name}` | {label} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
