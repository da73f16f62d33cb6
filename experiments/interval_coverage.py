"""How often intervals hold the truth, on runs of a small drive over many seeds.

The truth of a figure is taken to be its mean over all seeds. Intervals of blocks come from each run
alone, intervals of seeds from groups of five runs. Prints, for each design and figure, on how many
runs an interval was given and the share of them that hold the truth.

    python experiments/interval_coverage.py [SEEDS]
"""

from __future__ import annotations

import sys
from statistics import fmean

import tinytail
from tinytail.verdict.seeds import combined

SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
GROUP = 5
DESIGNS = ["base", "ttflash"]
FIGURES = [
    *("read.mean_us", "read.p50_us", "read.p90_us", "read.p99_us", "read.p999_us"),
    *("write.mean_us", "write.p99_us"),
]


def say(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Runs the seeds one after another and prints a table of each workload."""
    for workload, requests in (("randrw70-qd16", 60_000), ("randrw70-open", 60_000)):
        documents: dict[str, list[dict[str, object]]] = {design: [] for design in DESIGNS}
        for seed in range(1, SEEDS + 1):
            comparison = tinytail.compare(
                DESIGNS, device="ttflash-small", workload=workload, requests=requests, seed=seed
            )
            for result in comparison.results:
                documents[result.design].append(dict(result.document))
        say(f"{workload}, {requests:,} requests, {SEEDS} seeds")
        say("| design | figure | truth, µs | blocks: given | hold it | seeds: hold it |")
        for design in DESIGNS:
            for figure in FIGURES:
                report(design, figure, documents[design])


def report(design: str, figure: str, documents: list[dict[str, object]]) -> None:
    """Prints a row of the table."""
    results = [tinytail.DesignResult.from_dict(document) for document in documents]
    truth = fmean(result.figure(figure) or 0.0 for result in results)
    blocks = [result.intervals[figure] for result in results if figure in result.intervals]
    groups = [documents[i : i + GROUP] for i in range(0, len(documents) - GROUP + 1, GROUP)]
    seeds = [tinytail.DesignResult.from_dict(combined(group)).intervals for group in groups]
    by_seeds = [intervals[figure] for intervals in seeds if figure in intervals]
    say(
        f"| {design} | {figure} | {truth:,.1f} | {len(blocks)} | {held(blocks, truth)} "
        f"| {held(by_seeds, truth)} |"
    )


def held(intervals: list[tinytail.types.Interval], truth: float) -> str:
    """The share of intervals that hold the truth."""
    holding = sum(interval.low <= truth <= interval.high for interval in intervals)
    return f"{100 * holding / len(intervals):.0f} %" if intervals else "-"


if __name__ == "__main__":
    main()
