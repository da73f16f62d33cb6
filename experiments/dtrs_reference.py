"""Base and its no-GC twin on the real DTRS trace beside the TTFLASH authors' own simulator.

Writes a Markdown table of the default starting state, of other seeds, and of other states.
Run: TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/dtrs_reference.py
"""

from __future__ import annotations

import sys

import tinytail
from tinytail.inputs.tables import Named

DEVICE = "ttflash-256g"

# Measured with tinyTailFlash on the same trace: mean, p50, p90, p95, p99, p99.9, p99.99, max in us,
# GCs, percent of reads blocked by its own count.
AUTHORS = {
    "base+no-gc": (241, 245, 245, 245, 698, 1_087, 1_203, 1_302, 0, 0.0),
    "base": (3_120, 245, 245, 6_940, 68_310, 115_819, 132_657, 143_015, 1_024, 4.95),
}


def out(line: str) -> None:
    """Writes a line of the table."""
    sys.stdout.write(line + "\n")


def row(label: str, figures: tuple[float | int | None, ...]) -> str:
    """A line of the table."""
    *latencies, gcs, blocked = figures
    cells = [f"{value:,.0f}" for value in latencies] + [f"{gcs:,}", f"{blocked:.2f}"]
    return f"| {label} | " + " | ".join(cells) + " |"


def figures(result: tinytail.DesignResult) -> tuple[float | int | None, ...]:
    """What the table shows of a design."""
    read = result.read
    return (
        read.mean_us, read.p50_us, read.p90_us, read.p95_us, read.p99_us, read.p999_us,
        read.p9999_us, read.max_us, result.gc_count, result.gc_blocked_read_percent,
    )  # fmt: skip


def main() -> None:
    """Runs every variant and writes the table."""
    out("| run | mean | p50 | p90 | p95 | p99 | p99.9 | p99.99 | max | GCs | blocked % |")
    out("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    variants: list[tuple[str, Named, int]] = [
        ("seed 1", DEVICE, 1),
        ("seed 2", DEVICE, 2),
        ("seed 3", DEVICE, 3),
    ]
    variants += [
        (f"live {live} %", {"base": DEVICE, "set": {"state.live_percent": live}}, 1)
        for live in (36, 44)
    ]
    runs = [
        (label, tinytail.compare(list(AUTHORS), device=device, workload="dtrs", seed=seed))
        for label, device, seed in variants
    ]
    for design, authors in AUTHORS.items():
        out(row(f"{design}: authors' simulator", authors))
        for label, comparison in runs:
            result = next(result for result in comparison.results if result.design == design)
            state = result.state.victim_valid_percent
            out(row(f"{design}: {label} (victims {state:.1f} % valid)", figures(result)))


if __name__ == "__main__":
    main()
