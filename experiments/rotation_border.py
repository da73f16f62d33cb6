"""Where rotating GC falls behind: TTFLASH under bursts, by the valid pages that its victims hold.

Full stripes of 28 KB, 70 % reads, uniform over the data, for 200 s, as in Figure 11 of the paper.
The states differ in how many of the pages are erased, 10 % being the hard threshold below which
rotation is violated, and in how many hold data.

Writes a Markdown table.
Run: .venv/bin/python experiments/rotation_border.py
"""

from __future__ import annotations

import sys
from typing import Any

import tinytail

# Requests per second for one write of the drive of 256 GiB per day of 8 hours: 9.102 MiB/s of
# writes in pieces of 28 KiB, which are 30 % of the requests.
RATE_PER_DWPD = 9.102 * 1024 / 28 / 0.3
SECONDS = 200
PLANES = 64
PAGES = 8  # Of a stripe, with its parity.
# Section 3: GC starts above 70 % used pages. The spare space of some states would lower that.
TRIGGER = {"gc_trigger.soft_free_percent": 30.0, "gc_trigger.hard_free_percent": 10.0}
STATES = ((10, 42), (10, 46), (10, 49), (11, 46), (11, 48), (11, 50))  # Erased, data; in percent.
DWPD = (6, 7)


def workload(dwpd: int) -> dict[str, Any]:
    """A workload of so many drive writes per day."""
    return {
        "summary": f"{dwpd} drive writes per day of 8 hours",
        "synthetic": {
            "requests": round(RATE_PER_DWPD * dwpd * SECONDS),
            "rate_per_s": round(RATE_PER_DWPD * dwpd, 1),
            "arrivals": "fixed",
            "block_bytes": 28672,
            "align_bytes": 28672,
            "read_share": 0.7,
            "addresses": "uniform",
        },
    }


def line(free_percent: int, data_percent: int, dwpd: int) -> str:
    """Runs one state at one rate."""
    comparison = tinytail.compare(
        [{"base": "ttflash", "set": TRIGGER}, "ttflash+no-gc"],
        device="ttflash-256g",
        workload=workload(dwpd),
        state={"live_percent": data_percent, "free_percent": free_percent},
    )
    if comparison.errors:
        message = f"{data_percent} %, {dwpd} DWPD: {comparison.errors}"
        raise RuntimeError(message)
    result, twin = comparison.results
    times = result.gc_times
    if times is None or result.read.p99_us is None or twin.read.p99_us is None:
        message = f"{data_percent} %, {dwpd} DWPD: no GC, or no reads"
        raise RuntimeError(message)
    copied = result.techniques["gc: copied pages"] / result.gc_count
    # At most one GC at a time in a group of 8 planes, one after the other.
    freed = (256 - copied) / (times.mean_us / 1e6) / PAGES
    written = RATE_PER_DWPD * dwpd * 0.3 * PAGES / PLANES
    cells = [
        f"{free_percent} %",
        f"{data_percent} %",
        f"{result.state.victim_valid_percent:.1f} %",
        f"{dwpd}",
        f"{times.copy_mean_us / copied / 1e3:.3f} ms",
        f"{freed:,.0f}",
        f"{written:,.0f}",
        f"{result.techniques.get('gc_gate/rotating: passed urgently', 0):,}",
        f"{result.gc_blocked_read_percent:.3f} %",
        f"{result.read.p99_us / twin.read.p99_us:,.2f}",
    ]
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    """Runs every state at every rate and writes the table."""
    sys.stdout.write(
        "| erased | data | victims at the start | DWPD | a page's copy | freed per plane and s "
        "| written | violations | GC-blocked reads | p99 over no-GC |\n"
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    for dwpd in DWPD:
        for free_percent, data_percent in STATES:
            sys.stdout.write(line(free_percent, data_percent, dwpd))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
