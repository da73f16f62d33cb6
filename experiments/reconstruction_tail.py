"""What reconstruction does to the tail of reads: TTFLASH against its no-GC twin, read by read.

Both play the DTRS trace with a log of every request; each read is compared with itself.
Run: TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/reconstruction_tail.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tinytail

DESIGNS = ("ttflash", "ttflash+no-gc")
PROGRAMS = ("die_flush_ns", "die_parity_ns")
COLUMNS = ("id", "kind", "latency_ns", "reconstructed", *PROGRAMS)
COUNTS = "read_plan/gc_tolerant: "
Columns = dict[str, "np.ndarray[tuple[int], np.dtype[np.int64]]"]


def reads(design: str, folder: Path) -> tuple[Columns, tinytail.DesignResult]:
    """Plays a design and returns its reads in the order of the trace, and its result."""
    file = folder / f"{design}.parquet"
    comparison = tinytail.compare([design], device="ttflash-256g", workload="dtrs", log=file)
    if comparison.errors:
        message = f"{design}: {comparison.errors}"
        raise RuntimeError(message)
    table = pq.read_table(file, columns=list(COLUMNS))
    kind = np.array([str(value) for value in table["kind"].to_pylist()])
    columns = {name: table[name].to_numpy() for name in COLUMNS if name != "kind"}
    columns = {name: values[kind == "read"] for name, values in columns.items()}
    order = np.argsort(columns["id"])
    return {name: values[order] for name, values in columns.items()}, comparison.results[0]


def main() -> None:
    """Plays both and says what became of the slowest reads."""
    with tempfile.TemporaryDirectory() as folder:
        (ours, result), (twin, _) = (reads(design, Path(folder)) for design in DESIGNS)
    us, twin_us = ours["latency_ns"] / 1e3, twin["latency_ns"] / 1e3
    rebuilt = ours["reconstructed"] > 0
    write = sys.stdout.write
    pages = result.techniques[COUNTS + "reconstructed pages"]
    more = result.techniques[COUNTS + "pages read for that"] / pages
    write(f"reconstructed: {100 * rebuilt.mean():.2f} % of {len(us):,} reads, ")
    write(f"{pages:,} pages, for each of which {more:.1f} others are read\n")
    for name, columns, values in (("ttflash", ours, us), ("its twin", twin, twin_us)):
        low, high = np.percentile(values, [98.8, 99.2])
        about = (values > low) & (values < high)
        waits = sum(columns[part][about].mean() for part in PROGRAMS) / 1e3
        write(f"{name}: p98.8 to p99.2 wait {waits:.0f} us for flushes and parity")
        write(f", {100 * rebuilt[about].mean():.0f} % reconstructed\n" if columns is ours else "\n")
    bound = np.percentile(us, 99.9)
    slow, slow_twin = us > bound, twin_us > bound
    write(
        f"above {bound:,.0f} us: {slow_twin.sum()} reads of the twin; "
        f"{(slow_twin & rebuilt).sum()} of them are reconstructed, "
        f"{(slow_twin & rebuilt & ~slow).sum()} of these fall below; "
        f"{(slow & ~slow_twin & rebuilt).sum()} others rise above it by being reconstructed\n"
    )


if __name__ == "__main__":
    main()
