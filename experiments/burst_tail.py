"""Why TTFLASH's p99 under bursts is a tenth above its no-GC twin's, although no GC blocks a read.

The row of Figure 11a at 6 drive writes per day: full stripes of 28 KB, 70 % reads, for 200 s, from
the row's state. Every read of both designs is logged, so that waits add up to latencies exactly.
Without GC the pages of a stripe are programmed side by side. Under GC one page of nearly each
stripe waits until its plane's GC has ended, and is programmed by itself.

Writes what the reads met, and the parts of p99, for each seed.
Run: .venv/bin/python experiments/burst_tail.py
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tinytail

SEEDS = (1, 2, 3, 4)
DESIGNS = ("ttflash", "ttflash+no-gc")
SECONDS = 200
REQUESTS = 1_330_000
GROUPS, WIDTH = 8, 8  # Plane groups of the drive, and planes in each.
PROGRAM_S = (800 + 100) / 1e6  # With its transfer.
STATE = {"live_percent": 48, "free_percent": 11}
# Section 3: GC starts above 70 % used pages. The spare space of this state would lower that.
TRIGGER = {"gc_trigger.soft_free_percent": 30.0, "gc_trigger.hard_free_percent": 10.0}
WORKLOAD = {
    "summary": "6 drive writes per day of 8 hours",
    "synthetic": {
        "requests": REQUESTS,
        "rate_per_s": 6657.4,
        "arrivals": "fixed",
        "block_bytes": 28672,
        "align_bytes": 28672,
        "read_share": 0.7,
        "addresses": "uniform",
    },
}
# The causes of latency, by what they are together.
CAUSES = {
    "its own": ("command_ns", "array_ns", "transfer_ns", "compute_ns", "buffer_ns"),
    "programs": ("die_flush_ns", "die_parity_ns"),
    "other reads on the die": ("die_host_read_ns", "die_reconstruction_ns"),
    "reads on the channel": ("channel_host_read_ns", "channel_reconstruction_ns"),
    "writes on the channel": ("channel_flush_ns", "channel_parity_ns"),
}
COUNTS = "destage/gc_tolerant: "
Values = "np.ndarray[tuple[int], np.dtype[np.float64]]"


@dataclass(frozen=True)
class Reads:
    """The reads of one run."""

    result: tinytail.DesignResult
    us: Values
    causes: dict[str, Values]
    rebuilt: float

    def p99(self) -> dict[str, float]:
        """The mean parts of the reads about p99, in us."""
        low, high = np.percentile(self.us, [98.8, 99.2])
        about = (self.us > low) & (self.us < high)
        return {name: float(values[about].mean()) for name, values in self.causes.items()}

    def program_percent(self) -> float:
        """Reads that wait for a program, in percent."""
        return 100 * float((self.causes["programs"] > 0).mean())


def play(folder: Path, seed: int) -> list[Reads]:
    """Runs both designs."""
    comparison = tinytail.compare(
        [{"base": "ttflash", "name": "trigger", "set": TRIGGER}, "ttflash+no-gc"],
        device="ttflash-256g",
        workload=WORKLOAD,
        state=STATE,
        seed=seed,
        log=folder,
    )
    if comparison.errors:
        message = f"seed {seed}: {comparison.errors}"
        raise RuntimeError(message)
    return [reads(Path(result.log.path), result) for result in comparison.results if result.log]


def reads(file: Path, result: tinytail.DesignResult) -> Reads:
    """Takes the reads of a log and sums their causes."""
    names = [name for names in CAUSES.values() for name in names]
    table = pq.read_table(file, columns=["kind", "latency_ns", "reconstructed", *names])
    kind = np.array([str(value) for value in table["kind"].to_pylist()]) == "read"
    us = table["latency_ns"].to_numpy()[kind] / 1e3
    causes = {
        name: sum(table[part].to_numpy()[kind] for part in parts) / 1e3
        for name, parts in CAUSES.items()
    }
    causes["anything else"] = np.abs(us - sum(causes.values()))
    return Reads(result, us, causes, float((table["reconstructed"].to_numpy()[kind] > 0).mean()))


def stripes(run: Reads) -> tuple[float, float]:
    """Whole stripes, and single pages that waited for a GC, for each group and second."""
    counts = run.result.techniques
    whole = counts[COUNTS + "full stripes"] + counts[COUNTS + "full stripes during a GC"]
    alone = counts[COUNTS + "pages that waited for a GC"]
    return whole / SECONDS / GROUPS, alone / SECONDS / GROUPS


def main() -> None:
    """Runs every seed and writes what differs between the two designs."""
    write = sys.stdout.write
    write(
        "| seed | design | in GC | rebuilt | stripes per group and s | pages by themselves "
        "| programming | reads that wait for it | p99 | of its twin's |\n"
        "|--:|---|" + "--:|" * 8 + "\n"
    )
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            runs = play(Path(folder), seed)
            twin_p99 = float(np.percentile(runs[1].us, 99))
            for design, run in zip(DESIGNS, runs, strict=True):
                times = run.result.gc_times
                in_gc = run.result.gc_count * times.mean_us / 1e6 / GROUPS / SECONDS if times else 0
                whole, alone = stripes(run)
                p99 = float(np.percentile(run.us, 99))
                cells = [
                    f"{seed}",
                    f"`{design}`",
                    f"{100 * in_gc:.0f} %",
                    f"{100 * run.rebuilt:.1f} %",
                    f"{whole:.0f}",
                    f"{alone:.0f}",
                    f"{100 * (whole + alone) * PROGRAM_S:.1f} %",
                    f"{run.program_percent():.1f} %",
                    f"{p99:,.0f}",
                    f"{p99 / twin_p99:.3f}",
                ]
                write("| " + " | ".join(cells) + " |\n")
                sys.stdout.flush()
            parts.append([run.p99() for run in runs])
    write("\nThe reads about p99, mean us:\n\n| seed | design | " + " | ".join(parts[0][0]))
    write(" |\n|--:|---|" + "--:|" * len(parts[0][0]) + "\n")
    for seed, pair in zip(SEEDS, parts, strict=True):
        for design, values in zip(DESIGNS, pair, strict=True):
            figures = " | ".join(f"{value:.0f}" for value in values.values())
            write(f"| {seed} | `{design}` | {figures} |\n")


if __name__ == "__main__":
    main()
