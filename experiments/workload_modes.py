"""What a drive gains if the operating system tells it of bursts and of sustained load.

Section 6 of The Harey Tortoise has two ways to combine return to fast with rate matching: the drive
finds out by its erased blocks that a burst goes on (`dynamic-ftl`), or the operating system signals
a switch between workloads (`[page_choice] policy = "by_workload_mode"`). Here twenty bursts are
followed by a minute of load without end, and that by twenty bursts again, on the drive of eight
chips with 32 write points each. The signal comes with each change.

Writes a Markdown table: of each part what the host wrote while it had requests to write, and GC's
moves for each page; of the sustained load the slowest second, too.
Run: .venv/bin/python experiments/workload_modes.py
"""

from __future__ import annotations

import itertools
import sys

import tinytail
from tinytail.comparison.result import DesignResult

# Parts end where windows do.
WINDOW_S = 0.1024
PULSE_S, PERIOD_S = 0.1, 10 * WINDOW_S
BURSTS, PERIODS_SUSTAINED = 20, 60
PARTS = (BURSTS * PERIOD_S, PERIODS_SUSTAINED * PERIOD_S, BURSTS * PERIOD_S)
ENDS = tuple(itertools.accumulate(PARTS))
PAGE_BYTES = 4096
BUSY = {"queue_depth": 64, "block_bytes": PAGE_BYTES, "read_share": 0.0, "addresses": "uniform"}


def ms(seconds: float) -> int:
    """In whole milliseconds."""
    return round(1000 * seconds)


PULSES = {"pulse_ms": ms(PULSE_S), "pause_ms": ms(PERIOD_S - PULSE_S), **BUSY}
WORKLOAD = {
    "summary": "bursts, sustained load, bursts",
    "threads": {
        "before": {"runtime_ms": ms(PARTS[0]), **PULSES},
        "load": {"start_ms": ms(ENDS[0]), "runtime_ms": ms(PARTS[1]), **BUSY},
        "after": {"start_ms": ms(ENDS[1]), "runtime_ms": ms(PARTS[2]), **PULSES},
    },
}
LATE_S = 10.0


def signal(late_s: float) -> list[str | dict[str, object]]:
    """A design that is told of each change so much later."""
    switches_ms = [ms(end + late_s) for end in ENDS[:2]]
    mode = {"policy": "by_workload_mode", "switches_ms": switches_ms}
    return ["rate-match+write-points-32", {"page_choice": mode}]


DESIGNS = {
    "return to fast": "rtf-weak+write-points-32",
    "rate matching": "rate-match-auto+write-points-32",
    "dynamic": "dynamic-ftl+write-points-32",
    "signal": signal(0.0),
    f"signal, {LATE_S:.0f} s late": signal(LATE_S),
}
HEADINGS = (
    "bursts, MB/s",
    "moves a page",
    "sustained, MB/s",
    "slowest second",
    "moves a page",
    "bursts after it, MB/s",
    "moves a page",
)


def mb_per_second(pages: int, seconds: float) -> float:
    """What so many pages in so much time are."""
    return pages * PAGE_BYTES / seconds / 1e6


def cells(result: DesignResult) -> list[str]:
    """The cells of a run."""
    series = result.series
    assert abs(series.window_seconds - WINDOW_S) < 1e-9, series.window_seconds
    cells = []
    bounds = [0, *(round(end / WINDOW_S) for end in ENDS)]
    for first, last in itertools.pairwise(bounds):
        host, moved = series.host_pages[first:last], series.gc_pages[first:last]
        sustained = first == bounds[1]
        seconds = (last - first) * WINDOW_S * (1.0 if sustained else PULSE_S / PERIOD_S)
        cells.append(f"{mb_per_second(sum(host), seconds):.1f}")
        if sustained:
            each = [sum(host[at : at + 10]) for at in range(0, len(host), 10)]
            cells.append(f"{mb_per_second(min(each), PERIOD_S):.1f}")
        cells.append(f"{sum(moved) / sum(host):.2f}")
    return cells


def main() -> None:
    """Runs all of them in one comparison."""
    windows = round(ENDS[-1] / WINDOW_S) + 1
    comparison = tinytail.compare(
        list(DESIGNS.values()), device="harey-8g", workload=WORKLOAD, windows=windows
    )
    if comparison.errors:
        raise RuntimeError(comparison.errors)
    write = sys.stdout.write
    write("| policy | " + " | ".join(HEADINGS) + " |\n|---|" + "--:|" * len(HEADINGS) + "\n")
    for name, result in zip(DESIGNS, comparison.results, strict=True):
        write(f"| {name} | " + " | ".join(cells(result)) + " |\n")


if __name__ == "__main__":
    main()
