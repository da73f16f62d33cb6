"""Whether rate matching matches rates in bursts, and where the background is served.

By section 4.3.1 of The Harey Tortoise GC has so much of the time that it frees as many pages as the
host writes. By section 3.1 the background is served at every idle die, by section 3.2 when the
drive is idle. So each workload is played with both, with rate matching and without. Matched rates
need `moved / (pages - moved)` moves for each page that the host writes, by the mean of the pages
that were moved out of each erased block, and leave as many pages erased as there were: the drift is
how many more there are at the end, in percent of the pages that the host wrote.

Writes a Markdown table.
Run: .venv/bin/python experiments/matched_rates.py [WORKLOAD ...]
"""

from __future__ import annotations

import sys

import tinytail
from tinytail.comparison.result import DesignResult

WORKLOADS = (
    "standin-build",
    "standin-financial",
    "standin-webindex",
    "standin-swap",
    "standin-deskdev",
    "pulses",
)
DESIGNS = ("harey-baseline", "rate-match")
BACKGROUNDS = ("idle_die", "idle_drive", "never")
PAGES_PER_BLOCK = 128
HEADINGS = (
    "matched moves a page",
    "made while the host writes",
    "in all",
    "drift %",
    "mean burst us",
    "written in bursts, MB/s",
)


def cells(result: DesignResult) -> list[str]:
    """The cells of a run."""
    host, moved = sum(result.series.host_pages), sum(result.series.gc_pages)
    acted = {name.partition(": ")[2]: times for name, times in result.techniques.items()}
    under_load = acted["pages that GC moved while the host wrote"] / host
    of_block = moved / result.erases if result.erases else 0.0
    matched = of_block / (PAGES_PER_BLOCK - of_block)
    # Pulses are no bursts: the next one comes at a time of its own.
    bursts = result.bursts
    return [
        f"{matched:.2f}",
        f"{under_load:.2f}",
        f"{moved / host:.2f}",
        f"{result.erased.drift_percent or 0:.1f}",
        f"{bursts.mean_us:,.0f}" if bursts else "-",
        f"{bursts.write_mb_per_second or 0:.1f}" if bursts else "-",
    ]


def main() -> None:
    """Plays each workload with each design, wherever the background is served."""
    write = sys.stdout.write
    write(f"| workload | design | background | {' | '.join(HEADINGS)} |\n")
    write("|---|---|---|" + "--:|" * len(HEADINGS) + "\n")
    for workload in sys.argv[1:] or WORKLOADS:
        device = "harey-8g" if workload == "pulses" else "harey-128g"
        for background in BACKGROUNDS:
            settings = [f"order.background={background}"]
            comparison = tinytail.compare(
                DESIGNS, device=device, workload=workload, settings=settings
            )
            if comparison.errors:
                raise RuntimeError(comparison.errors)
            for result in comparison.results:
                row = [workload, f"`{result.design}`", background, *cells(result)]
                write(f"| {' | '.join(row)} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
