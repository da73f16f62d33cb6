"""What Practical Erase Suspension leaves open of its drive, and at which load TPC-C tests it.

The paper gives no size of the write buffer; MQSim, on which it builds, programs dirty data at once
and bounds what is under way to a page of each plane, 512 KiB here. It calls the same 100 us the
time to suspend an erase, and that to suspend and to resume one. It leaves open whether the pages of
a request go round the dies one by one, whether erases of a die's planes join, and what runs beside
a suspended erase. And it does not say how many of a server's 15 data disks it played: one alone
never has a write wait for GC.

Writes Markdown tables. `rules`, `buffer` and `costs` have, by these rules, by size of the buffer
and by the costs of suspending: writes of Table 2, reads of Fig. 4, the longest writes of Figs. 3
and 5, and ratings of Table 3 by tests of 10 s. `disks` has the longest writes of Table 4 by the
number of disks, with MQSim's rule and the largest buffer.
Run: .venv/bin/python experiments/low_latency_drive.py [rules] [buffer] [costs] [disks] (an hour)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tinytail
from tinytail import Transform

if TYPE_CHECKING:
    from tinytail.comparison.result import DesignResult

DEVICE = "lowlatency-240g"
BASE = "erase-baseline"
SCHEMES = (BASE, "es", "i-es", "d-es", "t-es", "ideal-es")
# Whose ratings of Table 3 are sought, up to 40 times the load.
RATED = (BASE, "es", "i-es", "t-es")
Settings = Mapping[str, int | str | bool]

JOINED: Settings = {"gc_gate.joined_erases": True}
SUPERPAGES: Settings = {"place.chunk": "superpage"}
RULES = {
    "as it is": {},
    "erases join": JOINED,
    "superpages": SUPERPAGES,
    "both": {**JOINED, **SUPERPAGES},
    "programs beside": {"suspend.beside": "programs"},
}

# Programs begin when four fifths of the buffer are full; in MQSim each write begins one.
AT_ONCE = {"ram.buffer_kib": 512, "ram.flush_above_percent": 1}
BUFFERS = {
    "0.5 MiB, programmed at once": AT_ONCE,
    **{f"{kib / 1024:g} MiB": {"ram.buffer_kib": kib} for kib in (512, 1024, 2048, 4096, 8192)},
}
COSTS = {
    f"{suspend} and {resume} us": {
        "timing.suspend_ns": suspend * 1000,
        "timing.resume_ns": resume * 1000,
    }
    for suspend, resume in ((100, 0), (50, 50), (100, 100))
}
DISKS = (1, 5, 9, 11, 13, 15)
TIMEOUTS_MS = (4, 64, 1020)

RANDOM_WRITES = "pes-table2-randwrite-4k-qd{}"
# The random writes of Table 2 start where they lead to (the reproduction's experiments.toml).
SUSTAINED = {"free_percent": 0.59}


def table(first: str, headings: Sequence[str], rows: Iterable[tuple[str, list[str]]]) -> None:
    """A Markdown table, a row at a time."""
    sys.stdout.write(f"\n| {' | '.join((first, *headings))} |\n|---|{'--:|' * len(headings)}\n")
    for name, cells in rows:
        sys.stdout.write(f"| {' | '.join((name, *cells))} |\n")
        sys.stdout.flush()


def of_group(designs: Sequence[str], settings: Settings) -> Settings:
    """The settings that designs have: the baseline, which suspends nothing, has none of that."""
    suspends = BASE not in designs
    return {key: to for key, to in settings.items() if suspends or not key.startswith("suspend.")}


def play(
    designs: Sequence[str], workload: str, settings: Settings, **options: Any
) -> dict[str, DesignResult]:
    """The results of the designs that did not fail."""
    found: dict[str, DesignResult] = {}
    for group in ([name for name in designs if name == BASE], [x for x in designs if x != BASE]):
        if group:
            comparison = tinytail.compare(
                group,
                device=DEVICE,
                workload=workload,
                settings=of_group(group, settings),
                **options,
            )
            found |= {result.design: result for result in comparison.results}
    return found


def ms(us: float | None) -> str:
    """A latency; empty where too few requests tell of it."""
    return "" if us is None else f"{us / 1000:,.2f}"


def longest(result: DesignResult | None) -> str:
    """The longest write in ms; a run that was ended says so."""
    if result is None:
        return "failed"
    text = ms(result.write.max_us)
    return f"{text} (ended)" if result.stuck else text


def drive(settings: Settings) -> list[str]:
    """What the drive does with these values, in the order of `DRIVE_HEADINGS`."""
    one, many = (
        play([BASE], RANDOM_WRITES.format(depth), settings, state=state, requests=400_000)
        for depth, state in ((1, None), (32, SUSTAINED))
    )
    read_of = (BASE, "i-es", "t-es")
    mixed = play(read_of, "randrw70-qd16", settings, requests=1_000_000)
    starving = play(["es", "t-es"], "pes-fig3-read-write-128k", settings)
    act = play(["es", "i-es", "t-es"], "act@30", settings, requests=614_400)
    ratings = [
        tinytail.certify_act(
            [scheme],
            device=DEVICE,
            rule="paper-large-period",
            duration_s=10,
            max_multiplier=40,
            settings=of_group([scheme], settings),
        ).ratings(scheme)
        for scheme in RATED
    ]
    return [
        f"{one[BASE].write.mean_us:.1f}",
        f"{(many[BASE].throughput.served_per_second or 0) / 1000:.1f}",
        *(ms(mixed[name].read.p9999_us) for name in read_of),
        longest(mixed[BASE]),
        *(longest(starving.get(name)) for name in ("es", "t-es")),
        *(longest(act.get(name)) for name in ("es", "i-es", "t-es")),
        *(f"{one.performance.rating} / {one.stress.rating}" for one in ratings),
    ]


DRIVE_HEADINGS = (
    "QD1 write, us",
    "QD32 writes, K/s",
    "70/30 p99.99 read, ms: base",
    "I-ES",
    "T-ES",
    "longest write, base, ms",
    "Fig. 3, longest write, ms: ES",
    "T-ES",
    "ACT@30, longest write, ms: ES",
    "I-ES",
    "T-ES",
    *(f"ACT, {scheme}" for scheme in RATED),
)


def disks(settings: Settings, count: int) -> list[str]:
    """The longest writes with the requests of so many disks."""
    load: dict[str, Any] = {
        "requests": 80_000 * count,
        "transform": Transform(scale_time=1 / count),
    }
    schemes = play(SCHEMES[:4], "standin-tpcc", settings, **load)
    timeouts = (
        play(["t-es"], "standin-tpcc", {**settings, "suspend.timeout_ms": timeout}, **load)
        for timeout in TIMEOUTS_MS
    )
    return [
        *(longest(schemes.get(scheme)) for scheme in SCHEMES[:4]),
        *(longest(found.get("t-es")) for found in timeouts),
    ]


def main() -> None:
    """Plays what is asked for."""
    asked = sys.argv[1:] or ["rules", "buffer", "costs", "disks"]
    for name, variants in (("rules", RULES), ("buffer", BUFFERS), ("costs", COSTS)):
        if name in asked:
            table(name, DRIVE_HEADINGS, ((label, drive(one)) for label, one in variants.items()))
    if "disks" in asked:
        for label in ("0.5 MiB, programmed at once", "8 MiB"):
            sys.stdout.write(f"\nBuffer of {label}:\n")
            headings = (*SCHEMES[:4], *(f"T-ES, {timeout} ms" for timeout in TIMEOUTS_MS))
            rows = ((str(count), disks(BUFFERS[label], count)) for count in DISKS)
            table("disks", headings, rows)


if __name__ == "__main__":
    main()
