"""What fast pages alone gain on the drive of Figures 9 to 12, by the pages of a burst.

The paper's All-Fast is 19 to 62 % faster than its baseline. On the same 128 dies, a burst of one
page takes a fast page or a slow one, as likely as not; so the mean of its bandwidths, with fast
pages alone, is 1 / (1/2 + 1/2 * (transfer + fast) / (transfer + slow)) times the baseline's: 68 %
more. A burst of n pages, each on a die of its own, lasts as long as its slowest, and all n are fast
once in 2^n. A burst so long that dies are never idle gains what mean programs do. Between these two
no size gains less than one page, so that a mean of 34 % is not of bursts whose time is programs'.

Writes a Markdown table: gains in percent over the baseline by pages of a burst, of the arithmetic
and of the engine.
Run: .venv/bin/python experiments/short_bursts.py
"""

from __future__ import annotations

import sys

import tinytail
from tinytail.comparison.result import DesignResult

FAST_US, SLOW_US, TRANSFER_US = 253.0, 1359.0, 10.24
DIES = 128
PAGES_MIN = 2048  # of each size
BURSTS_MIN = 64
BURSTS = {
    "burst_idle_us": 2_000_000,
    "start_ms": 2000,
    "block_bytes": 4096,
    "read_share": 0.0,
    "addresses": "uniform",
}


def gain_percent(pages: int) -> float | None:
    """By arithmetic, for a burst whose pages all have dies of their own; None for longer ones."""
    if pages > DIES:
        return None
    all_fast = 0.5**pages
    slowed = (TRANSFER_US + FAST_US) / (TRANSFER_US + SLOW_US)
    return 100 * (1 / (all_fast + (1 - all_fast) * slowed) - 1)


def write_rate(result: DesignResult) -> float:
    """The mean, over the bursts, of what one wrote in its time."""
    assert result.bursts is not None
    assert result.bursts.write_mb_per_second is not None
    return result.bursts.write_mb_per_second


def measured(pages: int) -> tuple[float, float]:
    """Gains in percent of All-Fast and of weak return to fast with one write point."""
    requests = max(PAGES_MIN, BURSTS_MIN * pages)
    workload = {
        "summary": f"bursts of {pages} pages",
        "synthetic": {"burst_requests": pages, "requests": requests, **BURSTS},
    }
    rates = {}
    for device, designs in (
        ("harey-128g", ("harey-baseline", "rtf-weak")),
        ("harey-128g-all-fast", ("harey-baseline",)),
    ):
        comparison = tinytail.compare(list(designs), device=device, workload=workload)
        if comparison.errors:
            raise RuntimeError(comparison.errors)
        for design in designs:
            rates[device, design] = write_rate(comparison.result(design))
    base = rates["harey-128g", "harey-baseline"]
    fast = rates["harey-128g-all-fast", "harey-baseline"]
    return 100 * (fast / base - 1), 100 * (rates["harey-128g", "rtf-weak"] / base - 1)


def main() -> None:
    """Compares them at bursts of one page up to 32 of each die."""
    write = sys.stdout.write
    write("| pages of a burst | arithmetic, % | All-Fast, % | weak RTF, % |\n|--:|--:|--:|--:|\n")
    for power in range(13):
        pages = 1 << power
        expected = gain_percent(pages)
        fast, weak = measured(pages)
        text = "" if expected is None else f"{expected:.0f}"
        write(f"| {pages} | {text} | {fast:.0f} | {weak:.0f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
