"""Whether runs start where designs leave a drive: the law of write amplification from the start on.

Where nothing is written, nothing is erased or moved, no wait is GC's, and designs that differ in
how GC is carried out alone start from one state. This is played first, on every drive.

In steady state (pages programmed for all but GC / host pages) / (1 - v) is the write
amplification; v is the share of valid pages in the victims. A drive whose start belongs to its
design has that from its first writes on. Uniform writes of one page go to all live pages, at a
rate that leaves the write buffer room. After 0.3 and 1 block for each plane the erases must be
those of the law, within 1.5 roots of the number of planes and 10 %, or as many cycles where GC goes
on for several blocks; then, over as many writes as make 1,000 erases, or as many cycles, write
amplification must be the law's within 10 %. Units, which are planes, or
dies where the trigger watches these, start at random moments between two collections: after
writes of a tenth of what a victim frees a tenth of them must have erased, within 3 standard
deviations, over as many seeds as make 200 units. The law holds for rates that GC keeps up with:
where a run stops, or lives on erased pages by more than 5 % of what it writes, it is played at half
the rate.

Writes tables with a verdict in each row, and ends with 1 if a row fails.
Run: .venv/bin/python experiments/start_law.py [DESIGN on DEVICE ... | "nothing written"]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tinytail
from tinytail.engine import catalog

MODERN = "modern-tlc-2t"
CYCLES = ("gc_trigger.stop_above_blocks=2",)
STATISTICAL = ("state.ageing=statistical",)
SOFT_12 = "gc_trigger.soft_free_percent=12", "gc_trigger.hard_free_percent=5"
PAIRS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("base", "ttflash-256g", ()),
    ("base", "ttflash-256g", SOFT_12),
    ("base+idle-die", "ttflash-256g", ()),
    ("base+background-emergency", "ttflash-256g", ()),
    ("base+d-choices-victim", "ttflash-256g", ()),
    ("base+cost-benefit-victim", "ttflash-256g", ()),
    ("base+fifo-victim", "ttflash-256g", ()),
    ("ttflash", "ttflash-256g", ()),
    ("hpdc-baseline", "hpdc-1t", ()),
    ("erase-baseline", "lowlatency-240g", ()),
    ("harey-baseline", "harey-8g", ()),
    ("harey-baseline", "harey-128g", ()),
    ("rate-match", "harey-8g", ()),
    ("rate-match", "harey-128g", ()),
    ("base", MODERN, ()),
    ("base", MODERN, SOFT_12),
    ("base+idle-die", MODERN, ()),
    ("base+background-emergency", MODERN, ()),
    ("hpdc-baseline", MODERN, ()),
    ("erase-baseline", MODERN, ()),
    ("ttflash", MODERN, ()),
    ("firmware", MODERN, ()),
    ("base", "mqsim-default", ()),
    ("base", "ttflash-256g", CYCLES),
    ("base+background-emergency", "ttflash-256g", CYCLES),
    ("base+idle-die", "ttflash-256g", CYCLES),
    ("hpdc-baseline", "hpdc-1t", CYCLES),
    ("hpdc-baseline", "hpdc-1t", STATISTICAL),
    ("hpdc-baseline", "hpdc-1t", CYCLES + STATISTICAL),
    ("erase-baseline", "lowlatency-240g", CYCLES),
    ("harey-baseline", "harey-8g", CYCLES),
)
TWINS = tuple(f"base{part}" for part in ("", "+plane-preemptible", "+es", "+ideal-gc", "+no-gc"))
NOTHING = "nothing written"
ERASES = 1000
UNITS = 200
LOAD = 0.25  # Of what the dies, or the channels, could program.
HALVINGS_MAX = 4


class StoppedError(Exception):
    """A run that did not come to its end."""


@dataclass(frozen=True)
class Row:
    """What a run did, and what the law says."""

    host_pages: int
    others: float
    valid: float
    amplification: float
    erases: int
    # Of GC that goes on for several blocks; 0 where each is asked for anew.
    cycles: int
    # Of the host's pages; below 0 the run lived on erased pages.
    drift_percent: float

    @property
    def blocks_per_cycle(self) -> float:
        """Blocks that are erased at a time."""
        return self.erases / self.cycles if self.cycles else 1.0

    @property
    def law(self) -> float:
        """The write amplification of the steady state."""
        return self.others / (1 - self.valid)


def rate_per_s(device: str, settings: Sequence[str], amplification: float) -> float:
    """Page writes per second that keep dies and channels busy for a part of the time."""
    drive = catalog.device_document(device, settings)
    geometry, timing = drive["geometry"], drive["timing"]
    channels = geometry["channels"]
    dies = channels * geometry["chips_per_channel"] * geometry["dies_per_chip"]
    program_ns = sum(timing["program_ns"]) / len(timing["program_ns"])
    read_ns = max(timing["read_ns"])
    of_dies = dies * 1e9 / (program_ns + read_ns + 2 * timing["transfer_page_ns"])
    of_channels = channels * 1e9 / (2 * timing["transfer_page_ns"])
    return LOAD * min(of_dies, of_channels) / amplification


def uniform(rate: float, block_bytes: int, read_share: float) -> dict[str, Any]:
    """Requests of one size at random places."""
    return {
        "summary": "uniform requests",
        "synthetic": {
            "rate_per_s": rate,
            "arrivals": "exponential",
            "block_bytes": block_bytes,
            "read_share": read_share,
            "addresses": "uniform",
        },
    }


def play(
    design: str, device: str, settings: Sequence[str], rate: float, requests: int, seed: int = 1
) -> Row:
    """Writes so many pages from the start on."""
    page_bytes = catalog.device_document(device, settings)["geometry"]["page_bytes"]
    comparison = tinytail.compare(
        [design],
        device=device,
        workload=uniform(round(rate, 3), page_bytes, read_share=0.0),
        requests=requests,
        no_warm_up=True,
        settings=list(settings),
        seed=seed,
    )
    if comparison.errors:
        message = f"{design} on {device}: {comparison.errors}"
        raise StoppedError(message)
    (result,) = comparison.results
    if result.partial:
        message = f"{design} on {device} stopped: {result.stuck}"
        raise StoppedError(message)
    counts = result.techniques

    def count(name: str) -> int:
        return sum(int(value) for key, value in counts.items() if key.endswith(name))

    buffered = catalog.device_document(device, settings)["ram"]["buffer_kib"] > 0
    host = count("buffer: flushed pages") if buffered else requests
    amplification = result.write_amplification or 0.0
    return Row(
        host_pages=host,
        others=(amplification * host - count("gc: copied pages")) / max(host, 1),
        valid=result.state.victim_valid_percent / 100,
        amplification=amplification,
        erases=result.erases,
        cycles=count(": cycles"),
        drift_percent=result.erased.drift_percent or 0.0,
    )


def held(device: str, settings: Sequence[str]) -> int:
    """Pages that the write buffer takes before it flushes any."""
    drive = catalog.device_document(device, settings)
    ram, page_bytes = drive["ram"], drive["geometry"]["page_bytes"]
    return int(ram["buffer_kib"] * 1024 * ram["flush_above_percent"] // 100 // page_bytes)


def moments(
    design: str, device: str, settings: Sequence[str], rate: float, long: Row
) -> tuple[str, bool]:
    """Erases, or cycles, after writes of a tenth of what they free, over seeds."""
    law, per_cycle = long.law, long.blocks_per_cycle
    geometry = catalog.device_document(device, settings)["geometry"]
    dies = geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"]
    of_dies = catalog.design_value(design, "gc_trigger", "of") == "die"
    units = dies * (1 if of_dies else geometry["planes_per_die"])
    block = geometry["pages_per_block"]
    requests = held(device, settings) + int(0.1 * units * block * per_cycle / law)
    seeds = range(1, -(-UNITS // units) + 1)
    # Slowly, so that what has begun has ended.
    rows = [play(design, device, settings, rate / 50, requests, seed) for seed in seeds]
    counted = sum(row.cycles if long.cycles else row.erases for row in rows)
    expected = sum(row.host_pages for row in rows) * law / block / per_cycle
    holds = abs(counted - expected) <= 3 * expected**0.5
    return f"{counted} ({expected:.0f}){' cycles' if long.cycles else ''}", holds


def nothing_written() -> int:
    """Plays reads on every drive. Writes a table, and returns how many rows fail."""
    sys.stdout.write(
        "| reads on | states of 5 designs | erases | pages moved | waits for GC, ns | |\n"
        "|---|--:|--:|--:|--:|---|\n"
    )
    workload = uniform(1000.0, 4096, read_share=1.0)
    fails = 0
    for listing in tinytail.list_devices():
        if listing.name.endswith("-small"):
            continue
        comparison = tinytail.compare(
            TWINS, device=listing.name, workload=workload, requests=2000, no_warm_up=True
        )
        results = comparison.results
        states = {result.state.digest for result in results}
        erases = sum(result.erases for result in results)
        moved = sum(result.techniques["gc: copied pages"] for result in results)
        waits = sum(
            ns
            for result in results
            for cause, ns in result.attribution.all_reads.ns.items()
            if "gc" in cause or "erase" in cause
        )
        holds = len(results) == len(TWINS) and (len(states), erases, moved, waits) == (1, 0, 0, 0)
        fails += not holds
        sys.stdout.write(
            f"| {listing.name} | {len(states)} | {erases} | {moved} | {waits} "
            f"| {'holds' if holds else 'FAILS'} |\n"
        )
        sys.stdout.flush()
    sys.stdout.write("\n")
    return fails


def line(design: str, device: str, settings: tuple[str, ...]) -> tuple[str, bool]:
    """Plays a pair three times, and judges it."""
    geometry = catalog.device_document(device, settings)["geometry"]
    planes = (
        geometry["channels"]
        * geometry["chips_per_channel"]
        * geometry["dies_per_chip"]
        * geometry["planes_per_die"]
    )
    block = geometry["pages_per_block"]
    first = play(design, device, settings, rate_per_s(device, settings, 12), 1000)
    rate = rate_per_s(device, settings, max(1.0, 1.1 / (1 - first.valid)))
    requests = held(device, settings) + int(ERASES * block * (1 - first.valid))
    for halvings in range(HALVINGS_MAX):
        try:
            long = play(design, device, settings, rate, requests)
        except StoppedError:
            if halvings == HALVINGS_MAX - 1:
                raise
        else:
            if long.cycles:
                # As many cycles: units that are at random moments of theirs drift by a part of one.
                longer = int(requests * long.blocks_per_cycle)
                long = play(design, device, settings, rate, longer)
            if long.drift_percent >= -5:
                break
        rate /= 2
    cells, holds = [], long.drift_percent >= -5
    for blocks in (0.3, 1.0):
        requests = held(device, settings) + int(blocks * planes * block)
        row = play(design, device, settings, rate, requests)
        expected = row.host_pages * row.law / block
        chance = 1.5 * planes**0.5 * long.blocks_per_cycle
        right = abs(row.erases - expected) <= chance + 0.1 * expected
        holds &= right
        cells.append(f"{row.erases} ({expected:.0f})")
    holds &= abs(long.amplification / long.law - 1) <= 0.1
    text, right = moments(design, device, settings, rate, long)
    holds &= right
    cells.insert(0, text)
    name = " ".join((design, *settings))
    cells += [f"{long.amplification:.2f}", f"{long.law:.2f}", f"{100 * long.valid:.1f} %"]
    cells.append(f"{long.drift_percent:.1f} %")
    cells.append("holds" if holds else "FAILS")
    return f"| {name} | {device} | {' | '.join(cells)} |", holds


def main(wanted: Sequence[str]) -> int:
    """Writes the table."""
    pairs, fails = PAIRS, 0
    if not wanted or NOTHING in wanted:
        fails += nothing_written()
    if wanted:
        asked = [(*word.split(" on "),) for word in wanted if word != NOTHING]
        if wrong := [" on ".join(words) for words in asked if len(words) != 2]:
            sys.exit(f"not DESIGN on DEVICE: {', '.join(wrong)}")
        known = tuple(pair for pair in PAIRS if pair[:2] in asked)
        others = {(design, device) for design, device in asked} - {pair[:2] for pair in known}
        pairs = known + tuple((*pair, ()) for pair in sorted(others))
    sys.stdout.write(
        "| design | device | erases after a tenth of what a victim frees in each unit (law) "
        "| after 0.3 blocks a plane (law) | after 1 (law) "
        "| write amplification | law | victims valid | drift | |\n"
        "|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n"
    )
    for design, device, settings in pairs:
        try:
            text, holds = line(design, device, settings)
        except StoppedError as error:
            text, holds = f"| {design} | {device} | {error} | | | | | | | FAILS |", False
        fails += not holds
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    return int(fails > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
