"""Compares three ways to hold a garbage collection, on a small drive.

Run it after `make setup`, from the root of the repository:

    .venv/bin/python examples/compare.py
"""

from __future__ import annotations

import sys

import tinytail


def main() -> None:
    """Prints the verdict, and what of the tail is the fault of garbage collection."""
    comparison = tinytail.compare(
        ["base", "base+plane-blocking", "base+no-gc"],
        device="ttflash-small",
        workload="randrw70-qd16",
        requests=20_000,
        reference="base+no-gc",
    )
    lines = [comparison.verdict(width=80)]
    for result in comparison.results:
        slowest = result.attribution.slowest_reads
        gc_percent = sum(
            share.percent
            for share in slowest.ranked()
            if "gc" in share.cause or share.cause == "die_erase"
        )
        lines.append(f"{result.design}: {gc_percent:.0f} % of the slowest reads' time is GC's\n")
    sys.stdout.writelines(lines)


if __name__ == "__main__":
    main()
