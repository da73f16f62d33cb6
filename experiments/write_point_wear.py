"""What write points cost in wear under return to fast, and how long a run must be to show it.

Figure 10 of The Harey Tortoise has 5 % more erases on average and at most 34 %. The stand-in for
Financial is an hour long and writes 7,131 pages; with 32 write points for each of 128 dies that is
1.7 pages for each. Played for longer, strong return to fast needs just under three moves for each
page of the host however many write points there are: the host takes the first page of a fast pair,
and GC goes over the other one and the two slow ones. Weak return to fast comes down to what
reclaiming needs anyway.

Writes a Markdown table: moves of GC for each page of the host, and erases over the baseline's, by
length of the run.
Run: .venv/bin/python experiments/write_point_wear.py [HOURS ...]
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import tinytail

WORKLOAD = Path(__file__).parent.parent / "workloads" / "standin-financial.toml"
DESIGNS = (
    "harey-baseline",
    "rtf-weak",
    "rtf-weak+write-points-32",
    "rtf-strong",
    "rtf-strong+write-points-32",
)


def longer(hours: int) -> dict[str, Any]:
    """The stand-in for another period, without what it claims of its own hour."""
    table = tomllib.loads(WORKLOAD.read_text("utf-8"))
    del table["profile"]["claims"]
    period_s = table["profile"]["flows"]["all"]["period_s"]
    if period_s["value"] != 3600:
        raise RuntimeError(f"{WORKLOAD.name} has no period of an hour")
    period_s["value"] *= hours
    return table


def main() -> None:
    """Plays it for 1, 4 and 12 hours, or for those given."""
    write = sys.stdout.write
    write("| hours | pages | " + " | ".join(f"`{name}`" for name in DESIGNS) + " |\n")
    write("|--:|--:|" + "--:|" * len(DESIGNS) + "\n")
    for hours in [int(word) for word in sys.argv[1:]] or [1, 4, 12]:
        comparison = tinytail.compare(DESIGNS, device="harey-128g", workload=longer(hours))
        if comparison.errors:
            raise RuntimeError(comparison.errors)
        results = [comparison.result(design) for design in DESIGNS]
        written = sum(results[0].series.host_pages)
        cells = [
            f"{sum(result.series.gc_pages) / written:.2f} ({result.erases / results[0].erases:.2f})"
            for result in results
        ]
        write(f"| {hours} | {written:,} | {' | '.join(cells)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
