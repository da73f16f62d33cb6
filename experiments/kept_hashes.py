"""Whether the engine does the same on large drives as when the kept results were made.

The test of all pairs on small drives holds their hashes in crates/simulator/tests/hashes.txt. This
makes runs of the papers' own drives again, by the rows that they are made for, and compares the
hash of their events with that in evidence/reproduction.

Run: .venv/bin/python experiments/kept_hashes.py ROW..., with rows as in `tinytail reproduce`;
without any, one of each paper.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROWS = ("ttflash.table2.dtrs.p99", "pes.s24.limits", "harey.s42.weak_avg", "gcpar.table2.hm_0")
KEPT = Path(__file__).parent.parent / "evidence" / "reproduction"


def hashes(results: dict[str, Any]) -> dict[tuple[str, ...], str]:
    """The hash of each run of a reproduction."""
    what = ("paper", "experiment", "design", "device", "workload", "seed")
    return {tuple(str(run[key]) for key in what): run["event_hash"] for run in results["runs"]}


def main(rows: list[str]) -> int:
    """Makes the runs, compares, and prints what differs."""
    kept: dict[tuple[str, ...], str] = {}
    for file in sorted(KEPT.glob("*/results.json")):
        kept |= hashes(json.loads(file.read_text()))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "results.json"
        command = [sys.executable, "-m", "tinytail", "reproduce", *(rows or ROWS)]
        subprocess.run([*command, "--tier", "full", "--json", str(made)], check=False)
        found = hashes(json.loads(made.read_text()))
    compared = {run: found[run] == kept[run] for run in found if run in kept}
    for run, equal in compared.items():
        if not equal:
            sys.stdout.write(f"{' '.join(run)} was {kept[run]} and is {found[run]}\n")
    same = sum(compared.values())
    sys.stdout.write(f"{same} of {len(compared)} runs do the same, {len(found)} made\n")
    return 0 if compared and all(compared.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
