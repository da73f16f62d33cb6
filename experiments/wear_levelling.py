"""How unevenly a static RAIN layout wears, and what shifting and migrating stripes do about it.

Writes a Markdown table: erases of planes under writes that favour one page of each stripe, some
stripes, and all pages alike, with and without wear levelling. TTFLASH (section 7) proposes it and
measures nothing.
Run: .venv/bin/python experiments/wear_levelling.py
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import tinytail
from tinytail.inputs.tables import DesignNamed

# A stripe table for 512 stripes, a third of the hot ones.
SMALL_TABLE = {"base": "ttflash-small", "set": {"ram.stripe_table_kib": 4}}
VARIANTS: dict[str, dict[str, int]] = {
    "level-wear": {},
    "shift": {"migrate": False},
    "migrate": {"shift": False},
    "eager": {"spread_percent": 25, "pause_us": 1000},
}
WIDTH, GROUPS = 8, 8
# Live data of the device in whole stripes, and those of them that the writes favour.
STRIPES = 12_000
HOT_STRIPES = 1_600
REQUESTS = 400_000
# Writes follow each other at this distance in ms; one in four requests is a read.
DISTANCE_MS = 0.5


def even(draw: random.Random) -> int:
    """Any page."""
    return draw.randrange(STRIPES * (WIDTH - 1))


def within(draw: random.Random) -> int:
    """Mostly the second page of a stripe."""
    if draw.random() < 0.1:
        return even(draw)
    return draw.randrange(HOT_STRIPES) * (WIDTH - 1) + 1


def across(draw: random.Random) -> int:
    """Mostly stripes of the first plane group."""
    if draw.random() < 0.1:
        return even(draw)
    stripe = draw.randrange(HOT_STRIPES) * GROUPS % STRIPES
    return stripe * (WIDTH - 1) + draw.randrange(WIDTH - 1)


PATTERNS: dict[str, Callable[[random.Random], int]] = {
    "all pages alike": even,
    "one page of each stripe": within,
    "stripes of one group": across,
}


def trace(path: Path, pattern: Callable[[random.Random], int]) -> None:
    """A trace of requests by a pattern, in DiskSim's ASCII format."""
    draw = random.Random(1)
    with path.open("w") as file:
        for index in range(REQUESTS):
            read = int(index % 4 == 0)
            file.write(f"{index * DISTANCE_MS:.3f} 0 {pattern(draw) * 8} 8 {read}\n")


def out(line: str) -> None:
    """Writes a line of the table."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def count(result: tinytail.DesignResult, end: str) -> int:
    """The counter whose name ends so."""
    return next(value for name, value in result.techniques.items() if name.endswith(end))


def row(label: str, result: tinytail.DesignResult) -> str:
    """A line of the table."""
    cells = [
        f"{result.erases:,}",
        f"{result.wear.erases_most:,}",
        f"{result.wear.erases_least:,}",
        f"{result.wear.variation_percent:.1f}",
        f"{count(result, 'shifted stripes'):,}",
        f"{count(result, 'migrated stripes'):,}",
        f"{count(result, 'most stripes in the table'):,}",
        f"{count(result, 'moves refused by the full table'):,}",
        f"{count(result, 'moves refused by full planes'):,}",
        f"{result.write_amplification:.3f}",
        f"{result.read.p99_us:,.0f}",
        f"{result.read.p999_us:,.0f}",
        f"{result.read.p9999_us:,.0f}",
    ]
    return f"| {label} | " + " | ".join(cells) + " |"


def main() -> None:
    """Runs every variant and writes the table."""
    out(
        "| writes, design | erases | most | least | CV % | shifted | migrated | in table | "
        "table full | planes full | WA | p99 us | p99.9 us | p99.99 us |"
    )
    out("|---" + "|--:" * 13 + "|")
    designs: dict[str, DesignNamed] = {"ttflash": "ttflash"}
    for name, values in VARIANTS.items():
        overlay = {"name": name, "wear_level": {"policy": "imbalance", **values}}
        designs[f"ttflash+{name}"] = ["ttflash", overlay]
    with tempfile.TemporaryDirectory() as folder:
        for label, pattern in PATTERNS.items():
            path = Path(folder) / f"{pattern.__name__}.trace"
            trace(path, pattern)
            comparison = tinytail.compare(
                list(designs.values()), device="ttflash-small", workload=path, time_unit="ms"
            )
            for design, result in zip(designs, comparison.results, strict=True):
                out(row(f"{label}: {design}", result))
            levelled = designs["ttflash+level-wear"]
            comparison = tinytail.compare(
                [levelled], device=SMALL_TABLE, workload=path, time_unit="ms"
            )
            out(row(f"{label}: ttflash+level-wear, table of 4 KiB", comparison.results[0]))


if __name__ == "__main__":
    main()
