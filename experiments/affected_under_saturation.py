"""Why GC-PAR slows reads that GC affects down where there are more writes than GC keeps up with.

Random pages in closed loop on the small twin of the drive of I/O-parallelized GC, under the
baseline and GC-PAR: reads and writes that GC affects, and for how many GCs in a row a die serves
nothing but GC and what joins it. Then one thing is changed at a time: which operations join, how
long blocks are, and whether reads go before the next GC.

Found: programs that join a GC use up pages of the sibling plane, whose GC follows at once, and so
on; reads wait for the whole row. At 512 outstanding that is 4.1 GCs, up to 47, in place of 1.4 and
2, and affected reads take 77 ms in place of 28. Writes a Markdown table, which
evidence/validation.md has.
Run: .venv/bin/python experiments/affected_under_saturation.py
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import tinytail

PLANES = 2  # Of a die.
REQUESTS = 100_000
READ_SHARE = 0.4
# A die serves the reads that wait before it begins with the next GC.
READS_BEFORE_GC = {"name": "reads-before-gc", "order": {"policy": "read_first"}}


@dataclass(frozen=True)
class Setting:
    """A load and a drive; `device` holds values that replace those of the drive."""

    name: str
    queue_depth: int = 512
    device: Mapping[str, int] = field(default_factory=dict)
    reads_before_gc: bool = False


SETTINGS = (
    Setting("32 outstanding", queue_depth=32),
    Setting("128 outstanding", queue_depth=128),
    Setting("512 outstanding"),
    Setting("512, no programs join", device={"flash.multi_plane_program": False}),
    Setting("512, no reads join", device={"flash.multi_plane_read": False}),
    Setting("512, blocks of 64 pages", device={"geometry.pages_per_block": 64}),
    Setting("512, reads before the next GC", reads_before_gc=True),
)


def workload(queue_depth: int) -> dict[str, Any]:
    """Whole pages, anywhere."""
    return {
        "summary": "random pages in closed loop",
        "synthetic": {
            "queue_depth": queue_depth,
            "block_bytes": 16384,
            "read_share": READ_SHARE,
            "addresses": "uniform",
            "requests": REQUESTS,
        },
    }


def runs(folder: Path) -> tuple[float, int, float]:
    """Of the GCs that follow each other in a die without a pause: their mean and largest number.

    And for how many ms the die is theirs from a moment at which it is one's, on average.
    """
    table = pq.read_table(folder / "gcs.parquet").to_pydict()
    gcs = sorted(
        (plane // PLANES, held, ended)
        for plane, held, ended in zip(
            table["plane"], table["locked_ns"], table["ended_ns"], strict=True
        )
    )
    found: list[list[int]] = []
    for before, (die, held, ended) in pairwise([(-1, -1, -1), *gcs]):
        if before[0] == die and before[2] == held:
            found[-1][0] += 1
            found[-1][1] += ended - held
        else:
            found.append([1, ended - held])
    numbers = [number for number, _ in found]
    rest = sum(ns * ns for _, ns in found) / sum(ns for _, ns in found) / 2e6
    return len(gcs) / len(found), max(numbers), rest


def row(setting: Setting, result: tinytail.DesignResult, folder: Path) -> str:
    """A line of the table."""
    affected = result.gc_affected
    mean, most, rest = runs(folder)
    copied = next(value for name, value in result.techniques.items() if name == "gc: copied pages")
    joined = [
        value
        for name, value in result.techniques.items()
        if name.endswith("programs paired with GC's")
    ]
    pages = setting.device.get("geometry.pages_per_block", 16)
    cells = [
        f"{100 * affected.reads.count / result.read.count:.0f} %",
        f"{(affected.reads.mean_us or 0) / 1000:.1f}",
        f"{(affected.writes.mean_us or 0) / 1000:.1f}",
        f"{pages - copied / result.gc_count:.1f}",
        f"{sum(joined) / result.gc_count:.1f}",
        f"{mean:.2f}",
        f"{most}",
        f"{rest:.0f}",
    ]
    return " | ".join(cells)


def main() -> None:
    """Plays every setting under both designs and writes the table."""
    write = sys.stdout.write
    write(
        "| load and drive | design | affected reads | their mean, ms | affected writes, ms "
        "| a GC frees | programs join it | GCs in a row | most | left of a row, ms |\n"
        "|---|---|" + "--:|" * 8 + "\n"
    )
    with tempfile.TemporaryDirectory() as name:
        kept = Path(name) / "kept"
        for setting in SETTINGS:
            overlays = [READS_BEFORE_GC] if setting.reads_before_gc else []
            comparison = tinytail.compare(
                [
                    [f"hpdc-baseline{design}+block-by-block", *overlays]
                    for design in ("", "+gc-par")
                ],
                device={"base": "hpdc-1t-small", "set": setting.device},
                workload=workload(setting.queue_depth),
                out=kept,
            )
            for design, result in zip(("baseline", "GC-PAR"), comparison.results, strict=True):
                parts = [each for each in kept.iterdir() if each.is_dir()]
                mine = [each for each in parts if ("gc-par" in each.name) == (design == "GC-PAR")]
                write(f"| {setting.name} | {design} | {row(setting, result, mine[0])} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
