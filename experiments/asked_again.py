"""Reads that wait for GCs, asked about again never, as GCs start, or as they end too, on DTRS.

TTFLASH's paper does not say when a waiting read is decided about anew. Two GCs in a stripe make it
wait for one of them; as that one ends, the other page can be reconstructed.

Writes a Markdown table.
Run: TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/asked_again.py
"""

from __future__ import annotations

import sys

import tinytail

CHOICES = ("never", "starts", "starts_and_ends")
COUNTED = ("waits beyond parity", "reconstructed after a wait")
# Measured with tinyTailFlash on the same trace: p99, p99.9 and p99.99 in us.
AUTHORS = {"pb-gtr": (25_969, 60_945, 67_195), "ttflash": (913, 1_171, 2_545)}


def main() -> None:
    """Runs each design under each rule and writes the table."""
    sys.stdout.write(
        "| design | asked again | p99 | p99.9 | p99.99"
        " | beyond parity | reconstructed after a wait |\n"
        "|---|---|--:|--:|--:|--:|--:|\n"
    )
    for design, figures in AUTHORS.items():
        shown = " | ".join(f"{us:,}" for us in figures)
        sys.stdout.write(f"| {design} | authors' simulator | {shown} | | |\n")
        for choice in CHOICES:
            variant = {"base": design, "set": {"read_plan.asked_again": choice}}
            comparison = tinytail.compare([variant], device="ttflash-256g", workload="dtrs")
            if comparison.errors:
                message = f"{design}, {choice}: {comparison.errors}"
                raise RuntimeError(message)
            result = comparison.results[0]
            read, counts = result.read, result.techniques
            cells = [f"{us:,.0f}" for us in (read.p99_us, read.p999_us, read.p9999_us)]
            cells += [f"{counts[f'read_plan/gc_tolerant: {key}']:,}" for key in COUNTED]
            sys.stdout.write(f"| {design} | {choice} | " + " | ".join(cells) + " |\n")


if __name__ == "__main__":
    main()
