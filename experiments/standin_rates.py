"""How much slower the stand-ins of LMBE and TPC-C must be to have the blocked reads of Fig. 7.

Nobody publishes the rates of what TTFLASH's paper replayed of the two traces: the one's are of a
whole server, the other's of an excerpt in a unit that it does not name. Their times are multiplied
by one factor, found by bisection on a single number: the share of Base's reads that GC blocks,
which is to be the middle of the 2 to 5 % of Fig. 7. The paper's text has the range of the six
traces, and no figure of each.

Writes a Markdown table. The factors are `stand_in_scale_times` of TTFLASH's experiments.
Run: .venv/bin/python experiments/standin_rates.py
"""

from __future__ import annotations

import math
import sys

import tinytail

STAND_INS = ("standin-lmbe", "standin-tpcc")
DEVICE = "ttflash-256g"
TARGET_PERCENT = 3.5
# The search ends where the share is as near as this, which other seeds differ by.
NEAR_PERCENT = 0.1
SLOWEST = 32.0
STEPS_MAX = 12


def blocked_percent(stand_in: str, scale_time: float) -> float:
    """The share of Base's reads that GC blocks, in percent."""
    comparison = tinytail.compare(
        ["base"],
        device=DEVICE,
        workload=stand_in,
        transform=tinytail.Transform(scale_time=scale_time),
    )
    if comparison.errors:
        message = f"{stand_in}, {scale_time}: {comparison.errors}"
        raise RuntimeError(message)
    return comparison.results[0].gc_blocked_read_percent or 0.0


def main() -> None:
    """Searches for each stand-in's factor and writes each step."""
    sys.stdout.write("| stand-in | `scale_time` | GC-blocked reads under Base |\n|---|--:|--:|\n")
    for stand_in in STAND_INS:
        fastest, slowest, scale_time = 1.0, SLOWEST, 1.0
        for _ in range(STEPS_MAX):
            percent = blocked_percent(stand_in, scale_time)
            sys.stdout.write(f"| `{stand_in}` | {scale_time:g} | {percent:.2f} % |\n")
            sys.stdout.flush()
            if abs(percent - TARGET_PERCENT) <= NEAR_PERCENT:
                break
            if percent > TARGET_PERCENT:
                fastest = scale_time
            else:
                slowest = scale_time
            scale_time = round(math.sqrt(fastest * slowest), 2)
        else:
            message = f"{stand_in}: nothing from 1 to {SLOWEST} is near {TARGET_PERCENT} %"
            raise RuntimeError(message)


if __name__ == "__main__":
    main()
