"""Whether I/O-parallelized GC gains more where the volumes of its paper come faster.

The paper does not say at what pace it plays the volumes. Three stand-ins are played from the
drive's starting state at their own times, and up to 33 times as fast.

Writes a Markdown table: by volume and pace the mean reads and writes of the baseline, what GC-PAR
gains on them, and the programs that join a GC.
Run: .venv/bin/python experiments/faster_volumes.py
"""

from __future__ import annotations

import sys

import tinytail

VOLUMES = ("mds_0", "rsrch_0", "stg_0")
SCALES = (1.0, 0.3, 0.1, 0.03)
REQUESTS = 600_000
DESIGNS = ("hpdc-baseline", "gc-par")
PROGRAMS = ": programs paired with GC's"


def main() -> None:
    """Plays each volume at each pace."""
    write = sys.stdout.write
    heads = (
        "volume | times multiplied by | reads, ms | gain, % | writes, ms | gain, % | programs a GC"
    )
    write(f"| {heads} |\n|---|" + "--:|" * 6 + "\n")
    for volume in VOLUMES:
        for scale in SCALES:
            comparison = tinytail.compare(
                DESIGNS,
                device="hpdc-1t",
                workload=f"standin-{volume}",
                transform=tinytail.Transform(scale_time=scale),
                requests=REQUESTS,
                no_warm_up=True,
                write_stall_s=86_400,
            )
            if comparison.errors:
                raise RuntimeError(comparison.errors)
            base, ours = comparison.results
            cells = [f"{scale:g}"]
            for former, latter in ((base.read, ours.read), (base.write, ours.write)):
                before, after = former.mean_us or 0.0, latter.mean_us or 0.0
                cells += [f"{before / 1000:,.1f}", f"{100 * (1 - after / before):.0f}"]
            joined = sum(n for name, n in ours.techniques.items() if name.endswith(PROGRAMS))
            cells.append(f"{joined / (ours.gc_count or 1):.1f}")
            write(f"| {volume} | " + " | ".join(cells) + " |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
