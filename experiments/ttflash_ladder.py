"""TTFLASH step by step on the real DTRS trace beside the authors' own simulator, and its parts.

Writes a Markdown table.
Run: TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/ttflash_ladder.py
"""

from __future__ import annotations

import sys

import tinytail

# Measured with tinyTailFlash on the same trace: mean, p50, p90, p95, p99, p99.9, p99.99, max in us,
# GCs, percent of reads blocked by its own count.
AUTHORS = {
    "ttflash+no-gc": (318, 347, 347, 348, 769, 1_119, 1_212, 1_297, 0, 0.0),
    "pb": (1_702, 347, 347, 450, 54_473, 67_863, 69_459, 76_969, 1_216, 3.45),
    "pb-gtr": (854, 347, 347, 366, 25_969, 60_945, 67_195, 69_143, 1_216, 1.86),
    "ttflash": (321, 347, 347, 349, 913, 1_171, 2_545, 2_865, 1_216, 0.04),
}
PARTS = [
    "base-rain",
    "pb-gtr+rgc",
    "pb-gtr+no-gc",
    "ttflash+gtr-release",
    "ttflash+f-rgc+gtr-greedy",
]


def row(label: str, figures: tuple[float | int | None, ...]) -> str:
    """A line of the table."""
    *latencies, gcs, blocked = figures
    cells = [f"{value:,.0f}" for value in latencies] + [f"{gcs:,}", f"{blocked:.3f}"]
    return f"| {label} | " + " | ".join(cells) + " |\n"


def main() -> None:
    """Runs every design and writes the table."""
    comparison = tinytail.compare([*AUTHORS, *PARTS], device="ttflash-256g", workload="dtrs")
    sys.stdout.write(
        "| run | mean | p50 | p90 | p95 | p99 | p99.9 | p99.99 | max | GCs | blocked % |\n"
    )
    sys.stdout.write("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
    for result in comparison.results:
        read = result.read
        if result.design in AUTHORS:
            sys.stdout.write(row(f"{result.design}: authors' simulator", AUTHORS[result.design]))
        figures = (
            read.mean_us, read.p50_us, read.p90_us, read.p95_us, read.p99_us, read.p999_us,
            read.p9999_us, read.max_us, result.gc_count, result.gc_blocked_read_percent,
        )  # fmt: skip
        sys.stdout.write(row(f"{result.design}: tinytail", figures))


if __name__ == "__main__":
    main()
