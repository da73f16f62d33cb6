"""What was tried in favour of figures that deviate, where one run beside another says it.

Each case changes one thing that a paper leaves open. Other readings of whole figures are the
reproduction's own (`tinytail reproduce`), and what needs more than one run has its own experiment.

Writes a Markdown table for each case.
Run: TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/tried_besides.py [CASE ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tinytail
from tinytail import Transform
from tinytail.comparison.result import DesignResult

HAREY = ("standin-build", "standin-financial", "standin-swap", "standin-deskdev")
VOLUMES = ("standin-mds_0", "standin-prn_0", "standin-rsrch_0")
VOLUME_REQUESTS = 400_000
Rows = Iterator[tuple[object, ...]]


def played(designs: list[str], device: str, workload: str, **options: Any) -> list[DesignResult]:
    """The results of the designs, in order."""
    comparison = tinytail.compare(designs, device=device, workload=workload, **options)
    if comparison.errors:
        message = f"{workload}: {comparison.errors}"
        raise RuntimeError(message)
    return list(comparison.results)


def ms(us: float | None) -> str:
    """A latency in ms."""
    return "" if us is None else f"{us / 1000:,.2f}"


def rules_of_blocked_reads() -> Rows:
    """TTFLASH, Figure 7: MSNFS under other rules of GC-tolerant reads and of rotation."""
    yield "design", "GC-blocked reads, %", "p99.9, ms", "p99.99, ms"
    designs = ["ttflash", "ttflash+gtr-release", "pb-gtr", "pb"]
    for each in played(designs, "ttflash-256g", "standin-msnfs"):
        blocked = f"{each.gc_blocked_read_percent:.4f}"
        yield f"`{each.design}`", blocked, ms(each.read.p999_us), ms(each.read.p9999_us)


def pace_of_tpcc() -> Rows:
    """TTFLASH, section 6.5: TPC-C faster and slower than Figure 7's Base was fitted to."""
    yield "times multiplied by", "TTFLASH, mean us", "no GC and no RAIN", "ratio"
    for scale in (15.83, 8.0, 4.0, 2.0, 1.0):
        one, other = played(
            ["ttflash", "base+no-gc"],
            "ttflash-256g",
            "standin-tpcc",
            transform=Transform(scale_time=scale),
        )
        means = (one.read.mean_us or 0.0, other.read.mean_us or 1.0)
        yield f"{scale:g}", *(f"{mean:.1f}" for mean in means), f"{means[0] / means[1]:.3f}"


def reads_by_themselves() -> Rows:
    """The Harey Tortoise, Figure 9: reads by their own latencies, not by whole bursts."""
    yield "workload", "baseline, mean us", "weak RTF", "strong RTF", "all-fast"
    state = {"free_percent": 3, "ageing": "random"}
    for workload in HAREY:
        found = played(
            ["harey-baseline", "rtf-weak", "rtf-strong"], "harey-128g", workload, state=state
        )
        found += played(["harey-baseline"], "harey-128g-all-fast", workload, state=state)
        yield (workload, *(f"{each.read.mean_us:.1f}" for each in found))


def outstanding() -> Rows:
    """I/O-parallelized GC, Figure 13: with fewer and more requests outstanding."""
    yield "workload", "outstanding", "GC-PAR, % more MB/s", "GC-VIC, %"
    for workload in VOLUMES:
        for depth in (4, 8, 16, 32, 64):
            base, *others = (
                each.throughput.makespan_mb_per_second or 0.0
                for each in played(
                    ["hpdc-baseline", "gc-par", "gc-vic"],
                    "hpdc-1t",
                    workload,
                    queue_depth=depth,
                    requests=VOLUME_REQUESTS,
                    no_warm_up=True,
                    write_stall_s=86_400,
                )
            )
            yield workload, depth, *(f"{100 * (each / base - 1):.1f}" for each in others)


def slower_proj_0() -> Rows:
    """I/O-parallelized GC, Figure 3: proj_0 slowed down until the drive keeps up."""
    yield "times multiplied by", "baseline's p95 write, ms", "without GC", "times"
    for scale in (1, 2, 4, 8):
        base, ideal = (
            each.write.p95_us or 0.0
            for each in played(
                ["hpdc-baseline", "hpdc-baseline+ideal-gc"],
                "hpdc-1t",
                "standin-proj_0",
                requests=VOLUME_REQUESTS,
                transform=Transform(scale_time=scale),
                no_warm_up=True,
                write_stall_s=86_400,
            )
        )
        yield scale, ms(base), ms(ideal), f"{base / ideal:.1f}"


def candidates() -> Rows:
    """I/O-parallelized GC, section 4.3: victims that tie, by the share of live data."""
    yield "live, %", "most blocks with as few valid pages"
    for live in (85, 76, 60):
        (result,) = played(
            ["gc-vic"],
            "hpdc-1t",
            "standin-mds_0",
            requests=300_000,
            state={"live_percent": live},
            no_warm_up=True,
            write_stall_s=86_400,
        )
        most = (value for name, value in result.techniques.items() if "most candidates" in name)
        yield live, next(most)


CASES: Mapping[str, Callable[[], Rows]] = {
    case.__name__: case
    for case in (
        rules_of_blocked_reads,
        pace_of_tpcc,
        reads_by_themselves,
        outstanding,
        slower_proj_0,
        candidates,
    )
}


def main() -> None:
    """Plays each case and writes its table."""
    for name in sys.argv[1:] or CASES:
        rows = CASES[name]()
        headings = [str(each) for each in next(rows)]
        sys.stdout.write(f"\n{CASES[name].__doc__}\n\n| {' | '.join(headings)} |\n")
        sys.stdout.write("|" + "--:|" * len(headings) + "\n")
        for row in rows:
            sys.stdout.write(f"| {' | '.join(map(str, row))} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
