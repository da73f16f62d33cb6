"""What does a policy of one's own cost, in plain Python and compiled, beside the same one in Rust?

Each victim policy looks through all candidates of a plane, in Rust too: none has an index. All runs
start from one image, and those of a round follow each other, so that whatever else the machine does
meets all of them. Ratios are those of the least CPU times of the measured part; the median of the
ratios within rounds stands beside them. Needs numba, and the example library:

    cargo build --release -p tinytail-policies --example policy_library
    python experiments/policy_speed.py [ROUNDS [DEVICE [REQUESTS]]]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import tinytail

ROOT = Path(__file__).parents[1]
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "ttflash-48g"
REQUESTS = int(sys.argv[3]) if len(sys.argv) > 3 else 200_000
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
LIBRARY = str(TARGET / "release" / "examples" / "libpolicy_library.so")
VICTIMS = str(ROOT / "examples" / "policies" / "victims.py")


def mine(file: str, name: str) -> list[dict[str, Any]]:
    """A chain of one policy from a file."""
    return [{"policy": "custom", "file": file, "name": name}]


# So that GC runs all the time.
GATE = {"policy": "free", "start": "immediate"}
WORKLOAD = "randwrite-qd32"
CHAINS = {
    "greedy": {
        "Rust": mine(LIBRARY, "greedy"),
        "compiled": mine(VICTIMS, "greedy_compiled"),
        "plain": mine(VICTIMS, "greedy"),
    },
    "cost-benefit": {
        "Rust": [{"policy": "cost_benefit"}],
        "Rust, a library": mine(LIBRARY, "cost_benefit"),
        "compiled": mine(VICTIMS, "cost_benefit_compiled"),
        "plain": mine(VICTIMS, "cost_benefit"),
    },
}


def run(chain: list[dict[str, Any]], image: str) -> tinytail.DesignResult:
    """One run with a chain of victims, from an image."""
    comparison = tinytail.compare(
        [["base", {"victim": {"chain": chain}, "gc_gate": GATE}]],
        device=DEVICE,
        workload=WORKLOAD,
        requests=REQUESTS,
        image=image,
    )
    [result] = comparison.results
    return result


def main() -> None:
    """Prints a row of each policy and speed."""
    folder = tempfile.TemporaryDirectory()
    image = str(Path(folder.name) / "aged.image")
    tinytail.create_image(image, device=DEVICE, design="base")
    print(f"{DEVICE}, {WORKLOAD}, {REQUESTS:,} requests, {ROUNDS} rounds")  # noqa: T201
    print("| victims | speed | CPU seconds | of Rust | in rounds | victims chosen | event hash |")  # noqa: T201
    for name, chains in CHAINS.items():
        times: dict[str, list[float]] = {speed: [] for speed in chains}
        results = {}
        for _ in range(ROUNDS):
            for speed, chain in chains.items():
                results[speed] = run(chain, image)
                times[speed].append(results[speed].cpu_seconds)
        of_rust = min(times["Rust"])
        for speed, found in results.items():
            least = min(times[speed])
            ratios = [own / rust for own, rust in zip(times[speed], times["Rust"], strict=True)]
            print(  # noqa: T201
                f"| {name} | {speed} | {least:.2f} | {least / of_rust:.2f} | {median(ratios):.2f} "
                f"| {found.gc_count} | {found.event_hash} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
