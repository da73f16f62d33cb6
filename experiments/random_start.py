"""Whether the starting state of The Harey Tortoise, pages at random, moves its Figures 9 and 10.

Section 3.3 arranges all logical pages randomly and adds invalidated pages up to the background
threshold. The drive here is overwritten once at random, so that its blocks are those that GC
leaves. Designs of both figures are played from both. WebIndex takes ten times as long as the
others.

Writes a Markdown table: erases over those of the baseline, moves for each page of the host, and
the bandwidth of bursts that write over the baseline's, from both states.
Run: .venv/bin/python experiments/random_start.py [WORKLOAD ...]
"""

from __future__ import annotations

import sys

import tinytail
from tinytail.comparison.result import DesignResult

WORKLOADS = ("standin-deskdev", "standin-build", "standin-financial", "standin-swap")
DESIGNS = (
    "harey-baseline",
    "rtf-weak",
    "rtf-strong",
    "rtf-weak+write-points-32",
    "rtf-strong+write-points-32",
)
STATES = ("overwrite", "random")


def figures(result: DesignResult) -> tuple[int, float, float]:
    """Erases, moves for each page of the host, bandwidth of bursts that write."""
    host, moved = sum(result.series.host_pages), sum(result.series.gc_pages)
    assert result.bursts is not None
    return result.erases, moved / host, result.bursts.write_mb_per_second or 0.0


def main() -> None:
    """Plays each workload from both states."""
    write = sys.stdout.write
    heads = [
        f"{what}, {state}" for what in ("erases", "moves a page", "bandwidth") for state in STATES
    ]
    write(f"| workload | design | {' | '.join(heads)} |\n|---|---|" + "--:|" * len(heads) + "\n")
    for workload in sys.argv[1:] or WORKLOADS:
        found = []
        for state in STATES:
            comparison = tinytail.compare(
                DESIGNS, device="harey-128g", workload=workload, state={"ageing": state}
            )
            if comparison.errors:
                raise RuntimeError(comparison.errors)
            found.append([figures(result) for result in comparison.results])
        for index, design in enumerate(DESIGNS):
            cells = []
            for figure in range(3):
                for runs in found:
                    base, own = runs[0][figure], runs[index][figure]
                    if index and figure != 1:
                        cells.append(f"{own / base:.3f}" if base else "-")
                    else:
                        cells.append(f"{own:,.2f}" if figure else f"{own:,}")
            write(f"| {workload} | `{design}` | {' | '.join(cells)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
