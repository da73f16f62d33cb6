"""Runs every recorded trace to its end under Base and its no-GC twin, with the oracle on.

It prints a table. A trace that does not fit the TTFLASH drive runs on a modern one; what is
refused stands in the table with the sentence that says why. On the TTFLASH drive it runs under
TTFLASH as well, by forced rotation with the greedy read and by the paper's rules. The folder of
the traces is named by TINYTAIL_TRACES.

    .venv/bin/python experiments/recorded_traces.py > table.md
"""

import os
import sys
import tempfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import tinytail

# What a trace's format leaves open, from the README beside the traces. Everything else is found
# from content.
GIVEN: dict[str, dict[str, object]] = {
    "DTRS1K.trace": {"time_unit": "us"},
    "msr.cut.per_10k.rw_20_80.105.trace": {"time_unit": "ms", "unit": "bytes"},
    "msr.cut.per_10k.most_thpt_rand_iops.1006.trace": {"time_unit": "ms", "unit": "bytes"},
    "wsrch-small.trace": {"time_unit": "ns"},
    "tpcc-small.trace": {"time_unit": "ns"},
    "ssd-iozone-aligned2-100K.trace": {"time_unit": "ms"},
    "ssd-postmark-aligned2.trace": {"time_unit": "ms"},
    "pcmark": {"time_unit": "ms"},
    "trace_opt_7b_mqsim_512tok_cache_drop.txt": {"time_unit": "ns"},
    "ssdTrace-only-write.txt": {"queue_depth": 16},
}

# Drives to try in turn, each with its design for comparison.
DRIVES = [("ttflash-256g", "base"), ("modern-tlc-2t", "base")]


def rotation(trace: Path, folder: str) -> str:
    """What TTFLASH's reads wait for on its own drive, as table cells.

    GCs and GC-blocked reads under forced rotation with the greedy read, then reads that wait for a
    GC by the paper's rules, and of them those of which no decision to wait is logged.
    """
    given = GIVEN.get(trace.name.removesuffix(".zst"), {})
    drive = DRIVES[0][0]
    forced = tinytail.compare(
        ["ttflash+f-rgc+gtr-greedy"], device=drive, workload=str(trace), verify=True, **given
    ).results[0]
    share = forced.gc_blocked_read_percent
    blocked = round((share or 0) * forced.read.count / 100)
    log = str(Path(folder) / "log.parquet")
    tinytail.compare(["ttflash"], device=drive, workload=str(trace), log=log, **given)
    table = pq.read_table(log, columns=["kind", "gc_blocked", "gc_waits", "gc_waits_forced"])
    waiting = table.filter(pc.and_(pc.equal(table["kind"], "read"), table["gc_blocked"]))
    decided = pc.or_(pc.greater(waiting["gc_waits"], 0), pc.greater(waiting["gc_waits_forced"], 0))
    unlogged = waiting.num_rows - pc.sum(decided).as_py() if waiting.num_rows else 0
    return f"{forced.gc_count:,} | {blocked:,} | {waiting.num_rows:,} | {unlogged:,}"


def run(trace: Path, folder: str) -> tuple[str, str] | str:
    """The drive and the results of both designs as table cells, or why the trace was refused."""
    refused = ""
    for device, design in DRIVES:
        try:
            comparison = tinytail.compare(
                [design, f"{design}+no-gc"],
                device=device,
                workload=str(trace),
                verify=True,
                **GIVEN.get(trace.name.removesuffix(".zst"), {}),
            )
        except tinytail.TinytailError as error:
            sentence = str(error).replace("\n", " ").replace("|", "/")
            refused = sentence.replace(str(trace), trace.name)
            continue
        cells = []
        for result in comparison.results:
            read, write = result.read, result.write
            worse = read if read.count >= write.count else write
            what = "reads" if worse is read else "writes"
            latencies = " / ".join(
                "–" if us is None else f"{us:,.0f}"
                for us in (worse.p50_us, worse.p99_us, worse.p9999_us)
            )
            cells.append(f"{read.count + write.count:,} | {what} {latencies} | {result.gc_count:,}")
        cells.append(rotation(trace, folder) if device == DRIVES[0][0] else "– | – | – | –")
        return device, " | ".join(cells)
    return refused


def main() -> int:
    """Prints the table."""
    folder = os.environ.get("TINYTAIL_TRACES")
    if not folder:
        sys.stderr.write("set TINYTAIL_TRACES to the folder of the recorded traces\n")
        return 2
    tail = "p50 / p99 / p99.99 µs"
    sys.stdout.write(
        f"| trace | drive | requests | Base: {tail} | GCs | requests | no-GC: {tail} | GCs "
        "| forced rotation: GCs | blocked | TTFLASH: blocked | not by decision |\n"
        "|---|---|--:|---|--:|--:|---|--:|--:|--:|--:|--:|\n"
    )
    with tempfile.TemporaryDirectory() as logs:
        for trace in sorted(Path(folder).glob("*.zst")):
            outcome = run(trace, logs)
            name = trace.name.removesuffix(".zst")
            row = (
                f"{outcome[0]} | {outcome[1]}"
                if isinstance(outcome, tuple)
                else f"refused: {outcome} | | | | | | | | | |"
            )
            sys.stdout.write(f"| {name} | {row} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
