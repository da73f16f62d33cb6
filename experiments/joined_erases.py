"""How long T-ES keeps a write waiting, with erases that run alone and with joined ones.

Practical Erase Suspension expects the timeout and the longest GC (section 2.4, Table 4). Loads that
its drive can hardly sustain are played with erases that run alone and with joined ones, with pages
that go round the dies one by one and in superpages, and with programs and GC going on beside a
suspended erase. `tpcc-11` and `tpcc-15` are the requests of so many of a server's 15 data disks, of
which the stand-in is one.

Writes a Markdown table for each load: by scheme and variant the longest write and read, the erases
and how many joined another, programs beside a suspended erase, and the longest GC.
Run: .venv/bin/python experiments/joined_erases.py [LOAD ...] [DESIGN ...] (two hours in all)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import tinytail
from tinytail import Transform

if TYPE_CHECKING:
    from tinytail.comparison.result import DesignResult

DESIGNS = ("t-es", "es", "i-es", "d-es", "ideal-es", "erase-baseline")
JOINED = {"gc_gate": {"joined_erases": True}}
SUPERPAGES = {"place": {"chunk": "superpage"}}
BESIDE = {"suspend": {"beside": "programs"}}
VARIANTS = {
    "alone, page by page": {},
    "joined, page by page": JOINED,
    "alone, superpages": SUPERPAGES,
    "joined, superpages": {**JOINED, **SUPERPAGES},
    "joined, superpages, programs beside": {**JOINED, **SUPERPAGES, **BESIDE},
}
LOADS = {
    "act": ("act@30", 3_686_400, None),
    "tpcc-11": ("standin-tpcc", None, Transform(scale_time=0.0909091)),
    "tpcc-15": ("standin-tpcc", None, Transform(scale_time=0.0666667)),
}
HEADINGS = (
    "design",
    "its erases",
    "longest write, ms",
    "longest read, ms",
    "p99.99 of reads, us",
    "erases",
    "joined",
    "programs beside",
    "longest GC, ms",
)


def row(design: str, variant: str, result: DesignResult) -> str:
    """The figures of one run."""
    counts, times = result.techniques, result.gc_times
    cells = [
        f"`{design}`",
        variant,
        f"{result.write.max_us / 1000:,.1f}",
        f"{result.read.max_us / 1000:,.1f}",
        f"{result.read.p9999_us:,.0f}",
        f"{result.gc_count:,}",
        f"{counts.get('gc_gate/one_per_die: erases that joined another', 0):,}",
        f"{counts.get('suspend/erase_suspension: programs beside a suspended erase', 0):,}",
        f"{times.max_us / 1000:,.1f}" if times else "",
    ]
    return "| " + " | ".join(cells) + " |\n"


def main() -> None:
    """Plays each load under each scheme and variant."""
    loads = [name for name in sys.argv[1:] if name in LOADS] or list(LOADS)
    designs = [name for name in sys.argv[1:] if name not in LOADS] or list(DESIGNS)
    for load in loads:
        workload, requests, transform = LOADS[load]
        sys.stdout.write(f"\n`{load}`:\n\n| {' | '.join(HEADINGS)} |\n|---|---|{'--:|' * 7}\n")
        for design in designs:
            for variant, tables in VARIANTS.items():
                if design == "erase-baseline" and "suspend" in tables:
                    continue
                overlays = [design] if design != "erase-baseline" else []
                comparison = tinytail.compare(
                    [["erase-baseline", *overlays, *([tables] if tables else [])]],
                    device="lowlatency-240g",
                    workload=workload,
                    requests=requests,
                    transform=transform,
                )
                if comparison.errors:
                    sys.stdout.write(f"| `{design}` | {variant} | {comparison.errors} |\n")
                    continue
                sys.stdout.write(row(design, variant, comparison.results[0]))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
