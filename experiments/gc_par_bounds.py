"""What GC-PAR can do for a request that meets a GC, by arithmetic and on a single die.

Requests are spread over the planes by their addresses, so that with p planes one in p is for the
plane that is in GC. Nothing of that plane can join the GC: it waits until the GC ends, as in the
baseline. A program for another plane joins the next program of GC, as soon as it comes where blocks
are aligned; its wait is all but gone, and the mean of all programs falls by 1 - 1/p. A read for
another plane has to wait until GC reads the page of its own offset, which, if it has not been
read yet, comes anywhere in what is left: it waits for a third of a GC on average in place of half,
and the mean of all reads falls by (1 - 1/p) / 3. All this takes GCs as long and as many as before.

The paper has 71 % for reads and 70 % for writes with two planes, where these are 17 % and 50 %, and
75 % and 71 % with four, where they are 25 % and 75 %.

The engine's die is one of `hpdc-1t`, with requests of one page at random places that come one after
another, so rarely that they meet a GC and nothing else. Its GC moves four fifths of a block, so
that one read in five is at an offset that does not come. Writes a Markdown table.
Run: .venv/bin/python experiments/gc_par_bounds.py
"""

from __future__ import annotations

import sys

import tinytail
from tinytail.comparison.result import DesignResult
from tinytail.engine.results import Latency

DESIGNS = ("hpdc-baseline", "gc-par-basic", "gc-par", "gc-vic", "skip-pages")
ONE_DIE = {
    "geometry.channels": 1,
    "geometry.chips_per_channel": 1,
    "geometry.dies_per_chip": 1,
}
WORKLOAD = {
    "summary": "single pages, now and then",
    "synthetic": {
        "rate_per_s": 12,
        "arrivals": "exponential",
        "block_bytes": 16384,
        "read_share": 0.5,
        "addresses": "uniform",
        "requests": 40000,
    },
}


def sum_us(latency: Latency) -> float:
    """The time of all requests of a kind."""
    return latency.count * (latency.mean_us or 0.0)


def gain_percent(base: DesignResult, other: DesignResult, kind: str) -> float:
    """What all requests of a kind take less, of what those take that GC affects in the baseline."""
    affected = getattr(base.gc_affected, f"{kind}s")
    saved = sum_us(getattr(base, kind)) - sum_us(getattr(other, kind))
    return 100 * saved / (affected.count * affected.mean_us)


def main() -> None:
    """Two planes and four."""
    write = sys.stdout.write
    write("| planes | | reads, % | writes, % | GCs |\n|--:|---|--:|--:|--:|\n")
    for device, planes in (("hpdc-1t", 2), ("hpdc-1t-4planes", 4)):
        others = 1 - 1 / planes
        write(f"| {planes} | arithmetic | {100 * others / 3:.0f} | {100 * others:.0f} | |\n")
        one_die = {"base": device, "set": ONE_DIE}
        comparison = tinytail.compare(DESIGNS, device=one_die, workload=WORKLOAD)
        if comparison.errors:
            raise RuntimeError(comparison.errors)
        base = comparison.result(DESIGNS[0])
        for design in DESIGNS[1:]:
            result = comparison.result(design)
            reads, writes = (gain_percent(base, result, kind) for kind in ("read", "write"))
            gcs = result.gc_count / base.gc_count
            write(f"| {planes} | `{design}` | {reads:.0f} | {writes:.0f} | {gcs:.2f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
