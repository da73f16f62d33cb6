"""Designs on the real DTRS trace beside its two stand-ins: how far can stand-ins be trusted?

Runs every design of the list that there is on the trace, on the stand-in measured on it, and on the
one made from its summary alone, with three seeds each, and writes what it finds into
evidence/stand-ins.md, between the comments that name this script.
Run: TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/standin_dtrs.py
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import tinytail
from tinytail.engine import catalog

PAGE = Path(__file__).parent.parent / "evidence" / "stand-ins.md"
BEGIN = "<!-- written by experiments/standin_dtrs.py -->\n"
END = "<!-- end of what experiments/standin_dtrs.py wrote -->\n"

DEVICE = "ttflash-256g"
SEEDS = (1, 2, 3)
WORKLOADS = {
    "dtrs": "real",
    "standin-dtrs": "stand-in",
    "standin-dtrs-summary": "summary",
}

# From the one that collects most rudely to the one that never does.
DESIGNS = [
    "base+controller-blocking",
    "base",
    "base+plane-blocking",
    "base+preemptible",
    "pb",
    "pb-gtr",
    "ttflash",
    "ttflash+no-gc",
    "base+no-gc",
]

# Name of a percentile, its field, and what it is divided by: the same design that never collects.
PERCENTILES = {
    "p95": "p95_us",
    "p99": "p99_us",
    "p99.9": "p999_us",
    "p99.99": "p9999_us",
    "mean": "mean_us",
}


def available() -> list[str]:
    """The designs of the list whose parts exist."""
    names = {entry.name for entry in catalog.list_designs()}
    return [design for design in DESIGNS if names.issuperset(design.split("+"))]


def twin(design: str, designs: list[str]) -> str:
    """The design that never collects to which another is compared."""
    with_parity = design.startswith(("pb", "ttflash"))
    return "ttflash+no-gc" if with_parity and "ttflash+no-gc" in designs else "base+no-gc"


Figures = dict[str, dict[str, float]]


def figures(workload: str, designs: list[str]) -> Figures:
    """The median over the seeds of each figure of each design."""
    runs = []
    for seed in SEEDS:
        comparison = tinytail.compare(designs, device=DEVICE, workload=workload, seed=seed)
        runs.append({result.design: result for result in comparison.results})
    medians: Figures = {}
    for design in designs:
        results = [run[design] for run in runs]
        medians[design] = {
            name: statistics.median(float(getattr(result.read, field)) for result in results)
            for name, field in PERCENTILES.items()
        }
        blocked = [result.gc_blocked_read_percent or 0.0 for result in results]
        medians[design]["blocked"] = statistics.median(blocked)
        medians[design]["gcs"] = statistics.median(result.gc_count for result in results)
    return medians


def ranks(found: Figures, designs: list[str], name: str) -> list[str]:
    """The designs that collect, the slowest first."""
    collecting = [design for design in designs if not design.endswith("no-gc")]
    return sorted(collecting, key=lambda design: -found[design][name])


def latency_table(found: dict[str, Figures], designs: list[str]) -> list[str]:
    """Latencies in milliseconds, the three workloads under each other."""
    lines = [
        "| design | requests | mean | p95 | p99 | p99.9 | p99.99 | GCs | GC-blocked reads |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for design in designs:
        for workload, label in WORKLOADS.items():
            row = found[workload][design]
            times = [row[name] / 1e3 for name in ("mean", "p95", "p99", "p99.9", "p99.99")]
            cells = " | ".join(f"{time:,.2f}" for time in times)
            blocked = f"{row['blocked']:.2f} %"
            lines.append(f"| `{design}` | {label} | {cells} | {row['gcs']:,.0f} | {blocked} |")
    return lines


def ratio_table(found: dict[str, Figures], designs: list[str]) -> list[str]:
    """How many times slower a design is than its twin without GC: real / stand-in / summary."""
    lines = [
        "| design over its twin without GC | " + " | ".join(PERCENTILES) + " |",
        "|---|" + "--:|" * len(PERCENTILES),
    ]
    for design in designs:
        if design.endswith("no-gc"):
            continue
        cells = []
        for name in PERCENTILES:
            ratios = (
                found[workload][design][name] / found[workload][twin(design, designs)][name]
                for workload in WORKLOADS
            )
            cells.append(" / ".join(f"{ratio:.1f}" for ratio in ratios))
        lines.append(f"| `{design}` | " + " | ".join(cells) + " |")
    return lines


def verdicts(found: dict[str, Figures], designs: list[str]) -> list[str]:
    """Whether the stand-ins put the designs into the order into which the real trace puts them."""
    lines = []
    for workload in list(WORKLOADS)[1:]:
        same: list[str] = []
        other: list[str] = []
        for name in PERCENTILES:
            real = ranks(found["dtrs"], designs, name)
            (same if ranks(found[workload], designs, name) == real else other).append(name)
        text = f"`{workload}` orders the designs that collect as the real trace does at "
        text += ", ".join(same) if same else "none of these figures"
        text += f"; otherwise at {', '.join(other)}." if other else "."
        lines.append(f"- {text}")
    return lines


def main() -> int:
    """Runs everything and writes the tables into the page."""
    text = PAGE.read_text()
    if BEGIN not in text or END not in text:
        sys.stderr.write(f"{PAGE} lacks the comments between which the tables go\n")
        return 2
    designs = available()
    found = {workload: figures(workload, designs) for workload in WORKLOADS}
    lines = [
        f"Reads on `{DEVICE}`, latencies in milliseconds, the median of seeds "
        f"{', '.join(str(seed) for seed in SEEDS)}.",
        "",
        *latency_table(found, designs),
        "",
        "Real / stand-in / summary:",
        "",
        *ratio_table(found, designs),
        "",
        *verdicts(found, designs),
    ]
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
