"""What FGC and SGC of The Harey Tortoise gain under eighty pulses of load, and what it is made of.

Per design and number of write points: the pages that the host wrote; moves for each of them, within
pulses and in idle time; which share of the programs of the host and of GC was on fast pages; and
the mean times of programs that follow, of the host, of GC and of both. No page is skipped, so that
half of all programs are on fast pages whatever is preferred, and the mean program takes the same
time. What can differ is how much of GC's work is done in pulses, and who has the fast pages then.

Writes a Markdown table.
Run: .venv/bin/python experiments/preferred_pages.py
"""

from __future__ import annotations

import re
import sys

import tinytail
from tinytail.comparison.result import DesignResult

PREFERENCES = ("rate-match", "fgc", "sgc", "rate-match-auto")
WRITE_POINTS = ("", "+write-points-8", "+write-points-32")
FAST_US, SLOW_US = 253.0, 1359.0
PULSE_S, PERIOD_S = 5.0, 9.0
WINDOWS = 7160  # a tenth of a second each
HEADINGS = (
    "pages, millions",
    "over no preference",
    "moves a page in pulses",
    "in idle time",
    "host's on fast %",
    "GC's on fast %",
    "all on fast %",
    "host's program us",
    "GC's program us",
    "all us",
)


def counted(result: DesignResult, what: str) -> int:
    """How often a page choice did something."""
    pattern = re.compile(rf"page_choice/.*: {what}")
    return sum(count for key, count in result.techniques.items() if pattern.fullmatch(key))


def program_us(fast: int, pages: int) -> float:
    """The mean time of programs of which so many are of fast pages."""
    return (fast * FAST_US + (pages - fast) * SLOW_US) / pages


def line(result: DesignResult, whole: int) -> list[str]:
    """The cells of a run; `whole` is what the host wrote without preference."""
    series = result.series
    host, moved = sum(series.host_pages), sum(series.gc_pages)
    middles = [start + series.window_seconds / 2 for start in series.start_seconds]
    busy = sum(
        pages for at, pages in zip(middles, series.gc_pages, strict=True) if at % PERIOD_S < PULSE_S
    )
    host_fast = counted(result, "host's fast pages")
    gc_fast = counted(result, "GC's fast pages")
    return [
        f"{host / 1e6:.3f}",
        f"{host / whole:.3f}",
        f"{busy / host:.2f}",
        f"{(moved - busy) / host:.2f}",
        f"{100 * host_fast / host:.1f}",
        f"{100 * gc_fast / moved:.1f}",
        f"{100 * (host_fast + gc_fast) / (host + moved):.1f}",
        f"{program_us(host_fast, host):.0f}",
        f"{program_us(gc_fast, moved):.0f}",
        f"{program_us(host_fast + gc_fast, host + moved):.0f}",
    ]


def main() -> None:
    """Runs all of them in one comparison."""
    designs = [f"{name}{points}" for points in WRITE_POINTS for name in PREFERENCES]
    comparison = tinytail.compare(designs, device="harey-8g", workload="pulses", windows=WINDOWS)
    if comparison.errors:
        raise RuntimeError(comparison.errors)
    whole = sum(comparison.result(PREFERENCES[0]).series.host_pages)
    write = sys.stdout.write
    write("| design | " + " | ".join(HEADINGS) + " |\n|---|" + "--:|" * len(HEADINGS) + "\n")
    for design in designs:
        cells = " | ".join(line(comparison.result(design), whole))
        write(f"| `{design}` | {cells} |\n")


if __name__ == "__main__":
    main()
