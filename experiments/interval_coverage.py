"""How often intervals hold the truth, on runs of a small drive over many seeds.

The truth of a figure is taken to be that of one run that is twenty times as long. Intervals of
blocks come from each run alone, intervals of seeds from groups of five runs. Prints, for each
design and figure, how many intervals were given and how many of them hold the truth, and how far
the mean of all runs is from it. Of 90 % intervals on 40 runs, 32 or more should hold it.

    python experiments/interval_coverage.py [SEEDS]
"""

from __future__ import annotations

import sys
from statistics import fmean

import tinytail
from tinytail.verdict.seeds import combined

SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
REQUESTS = 40_000
LONG = 20 * REQUESTS
GROUP = 5
DESIGNS = ["base", "ttflash"]
FIGURES = [
    *("read.mean_us", "read.p50_us", "read.p90_us", "read.p99_us", "read.p999_us"),
    *("write.mean_us", "write.p99_us", "write_amplification"),
]


def say(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Runs the seeds one after another and prints a table of each workload."""
    for workload in ("randrw70-qd16", "randrw70-open"):
        say(f"{workload}, {REQUESTS:,} requests, {SEEDS} seeds; the truth is of {LONG:,} requests")
        say("| design | figure | truth | mean of runs | blocks: hold it | seeds: hold it |")
        documents: dict[str, list[dict[str, object]]] = {design: [] for design in DESIGNS}
        for seed in range(1, SEEDS + 1):
            for result in played(workload, REQUESTS, seed):
                documents[result.design].append(dict(result.document))
        for truth in played(workload, LONG, SEEDS + 1):
            for figure in FIGURES:
                report(truth, figure, documents[truth.design])


def played(workload: str, requests: int, seed: int) -> tuple[tinytail.DesignResult, ...]:
    """Returns the result of each design."""
    return tinytail.compare(
        DESIGNS, device="ttflash-small", workload=workload, requests=requests, seed=seed
    ).results


def report(long: tinytail.DesignResult, figure: str, documents: list[dict[str, object]]) -> None:
    """Prints a row of the table."""
    results = [tinytail.DesignResult.from_dict(document) for document in documents]
    truth = long.figure(figure) or 0.0
    mean = fmean(result.figure(figure) or 0.0 for result in results)
    blocks = [result.intervals[figure] for result in results if figure in result.intervals]
    groups = [documents[i : i + GROUP] for i in range(0, len(documents) - GROUP + 1, GROUP)]
    seeds = [tinytail.DesignResult.from_dict(combined(group)).intervals for group in groups]
    by_seeds = [intervals[figure] for intervals in seeds if figure in intervals]
    say(
        f"| {long.design} | {figure} | {truth:,.2f} | {100 * (mean / truth - 1):+.1f} % "
        f"| {held(blocks, truth)} | {held(by_seeds, truth)} |"
    )


def held(intervals: list[tinytail.types.Interval], truth: float) -> str:
    """Of how many intervals how many hold the truth."""
    holding = sum(interval.low <= truth <= interval.high for interval in intervals)
    return f"{holding} of {len(intervals)}" if intervals else "-"


if __name__ == "__main__":
    main()
