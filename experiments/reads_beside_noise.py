"""Why reads beside write noise are 3.6 times as slow at p90 as beside read noise, and not 15 times.

The rows of Figure 1a: one thread of 16 KB reads beside 5,000 requests of 4 KB per second for 120 s,
on Base. First the reads beside writes and beside reads are sorted by what they met. Then the drive
and the reader are changed, one thing at a time: what of it brings p90 above 5, as the row asks?

Writes two Markdown tables, and the utilisation of channels and dies from which the shares follow.
Run: .venv/bin/python experiments/reads_beside_noise.py
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tinytail

SECONDS, FEWER_SECONDS = 120, 20
CHANNELS, PLANES = 8, 64
READ_PAGES = 4  # Of 16 KB, on as many channels.
SECTORS = 2 * 16  # Of a foreground read; noise has 8.
PERCENTS = (50, 75, 90, 95, 96, 97, 99)
TRANSFER_US, PROGRAM_US, READ_US = 100.0, 800.0, 40.0
DIE, CHANNEL = "die_flush_ns", "channel_flush_ns"
READS = ("die_host_read_ns", "channel_host_read_ns")
Values = "np.ndarray[tuple[int], np.dtype[np.int64]]"


@dataclass(frozen=True)
class Setting:
    """A drive and a reader; `device` holds values that replace those of the drive of Table 1."""

    name: str
    reader: Mapping[str, int] = field(default_factory=lambda: {"queue_depth": 1})
    device: Mapping[str, int | list[int]] = field(default_factory=dict)


SETTINGS = (
    Setting("as in the rows"),
    Setting("4 readers", reader={"queue_depth": 4}),
    Setting("1,000 reads per second", reader={"rate_per_s": 1000}),
    Setting("100 reads per second", reader={"rate_per_s": 100}),
    Setting(
        "4 channels of 16 planes", device={"geometry.channels": 4, "geometry.chips_per_channel": 16}
    ),
    Setting(
        "16 channels of 4 planes", device={"geometry.channels": 16, "geometry.chips_per_channel": 4}
    ),
    Setting("programs of 400 us", device={"timing.program_ns": [400_000]}),
    Setting("programs of 1,600 us", device={"timing.program_ns": [1_600_000]}),
    Setting(
        "blocks of 64 pages",
        device={"geometry.blocks_per_plane": 16_384, "geometry.pages_per_block": 64},
    ),
    Setting(
        "blocks of 16 pages",
        device={"geometry.blocks_per_plane": 65_536, "geometry.pages_per_block": 16},
    ),
    Setting("transfers of 20 us", device={"timing.transfer_page_ns": 20_000}),
)
# Read noise alone, at the three levels of the row, by the time that a page takes the channel and
# by the fixed time of every command.
PAPER_P99 = 96  # Times, beside 5,000 writes per second.
LEVELS = (1000, 2500, 5000)
READ_NOISE_US = ((100, 0), (20, 0), (5, 0), (10, 100))


def play(
    folder: Path,
    setting: Setting,
    *,
    write_noise: bool,
    rate: int = 5000,
    seconds: int = FEWER_SECONDS,
) -> tuple[tinytail.DesignResult, dict[str, Values]]:
    """Runs a reader beside noise and returns the result and the log's columns of its reads."""
    foreground = {
        **setting.reader,
        "block_bytes": 16384,
        "read_share": 1.0,
        "addresses": "uniform",
    }
    noise = {
        "rate_per_s": rate,
        "block_bytes": 4096,
        "read_share": 0.0 if write_noise else 1.0,
        "addresses": "uniform",
        "requests": rate * seconds,
    }
    log = folder / "log.parquet"
    comparison = tinytail.compare(
        ["base"],
        device={"base": "ttflash-256g", "set": setting.device},
        workload={
            "summary": "16 KB reads beside noise",
            "threads": {"foreground": foreground, "noise": noise},
        },
        log=log,
        # Reads change nothing on the flash, so that ageing it would be in vain.
        state={} if write_noise else {"overwrite_percent": 0},
    )
    if comparison.errors:
        message = f"{setting.name}: {comparison.errors}"
        raise RuntimeError(message)
    names = ("latency_ns", "gc_blocked", *((DIE, CHANNEL) if write_noise else READS))
    table = pq.read_table(log, columns=["sectors", *names])
    of_reader = table["sectors"].to_numpy() == SECTORS
    return comparison.results[0], {name: table[name].to_numpy()[of_reader] for name in names}


def percentiles(us: Values, percents: Sequence[float]) -> str:
    """Latencies as cells of a table."""
    return " | ".join(f"{value:,.0f}" for value in np.percentile(us, percents))


def decompose(folder: Path) -> None:
    """What the reads of the rows met, and the utilisation from which it follows."""
    write = sys.stdout.write
    rate = 5000
    result, beside_writes = play(folder, SETTINGS[0], write_noise=True, seconds=SECONDS)
    _, beside_reads = play(folder, SETTINGS[0], write_noise=False, seconds=SECONDS)
    times = result.gc_times
    assert times is not None
    blocked = beside_writes["gc_blocked"]
    us = beside_writes["latency_ns"] / 1e3
    program = ~blocked & (beside_writes[DIE] > 0)
    crossing = ~blocked & ~program & (beside_writes[CHANNEL] > 0)
    die = rate * (PROGRAM_US + TRANSFER_US) / 1e6 / PLANES
    meet = 1 - (1 - die) ** READ_PAGES
    above = 1 - (0.1 - blocked.mean()) / (meet * (1 - blocked.mean()))
    between = (~blocked).sum() / blocked.sum()
    pause = (between / 9 - 1) * us[~blocked].mean()
    per_s = result.gc_count / SECONDS
    channel = per_s * times.copy_mean_us / 1e6 / CHANNELS
    write(
        f"5,000 writes per second: a die programs for {100 * die:.1f} % of the time, so that "
        f"{100 * meet:.0f} % of reads of {READ_PAGES} dies meet a program, and wait for up to "
        f"{PROGRAM_US + TRANSFER_US:.0f} us: p90 is about {READ_US + TRANSFER_US:.0f} + "
        f"{above:.2f} x {PROGRAM_US + TRANSFER_US:.0f} = "
        f"{READ_US + TRANSFER_US + above * (PROGRAM_US + TRANSFER_US):.0f} us.\n"
        f"{per_s:.1f} GCs per second lock a channel for {times.copy_mean_us / 1e3:.1f} ms each, "
        f"{100 * channel:.1f} % of the time, so that a reader that came at any time would meet "
        f"one with {100 * (1 - (1 - channel) ** READ_PAGES):.0f} % of its reads.\n"
        f"The thread stands still for {us[blocked].sum() / 1e6 / SECONDS * 100:.0f} % of the "
        f"time, in {blocked.sum():,} of its {len(us):,} reads ({100 * blocked.mean():.1f} %), "
        f"{us[blocked].mean() / 1e3:.1f} ms each. Between two of these it makes {between:.0f} "
        f"others in {between * us[~blocked].mean() / 1e3:.1f} ms; GC would reach p90 if it made "
        f"9, with pauses of {pause:.0f} us between reads.\n\n"
    )
    write("| reads | share | " + " | ".join(f"p{value}" for value in PERCENTS) + " |\n")
    write("|---|--:|" + "--:|" * len(PERCENTS) + "\n")
    groups = {
        "beside writes": np.ones(len(us), dtype=bool),
        "that meet a GC": blocked,
        "of the others, that wait for a program": program,
        "of the others, that wait for its transfer only": crossing,
        "that wait for neither": ~blocked & ~program & ~crossing,
    }
    for name, group in groups.items():
        write(f"| {name} | {100 * group.mean():.1f} % | {percentiles(us[group], PERCENTS)} |\n")
    us = beside_reads["latency_ns"] / 1e3
    met = sum(beside_reads[name] for name in READS) > 0
    for name, group in {"beside reads": met | ~met, "that meet another": met}.items():
        write(f"| {name} | {100 * group.mean():.1f} % | {percentiles(us[group], PERCENTS)} |\n")


def vary(folder: Path) -> None:
    """The row's ratios with one thing changed at a time."""
    write = sys.stdout.write
    write(
        "\n| drive and reader | meet a GC | p90 | p95 | p99 | over read noise: p90 | p95 | p99 |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    for setting in SETTINGS:
        _, slow = play(folder, setting, write_noise=True)
        _, fast = play(folder, setting, write_noise=False)
        us = np.percentile(slow["latency_ns"], (90, 95, 99)) / 1e3
        ratios = us / (np.percentile(fast["latency_ns"], (90, 95, 99)) / 1e3)
        cells = [f"{value:,.0f}" for value in us] + [f"{ratio:,.1f}" for ratio in ratios]
        blocked = 100 * slow["gc_blocked"].mean()
        write(f"| {setting.name} | {blocked:.1f} % | " + " | ".join(cells) + " |\n")
        sys.stdout.flush()


def read_noise(folder: Path) -> None:
    """The three curves of read noise by the speed of the channel."""
    write = sys.stdout.write
    most = CHANNELS * 1e6 / TRANSFER_US
    write(
        f"\nThe paper repeats this with 20 times the read noise and finds the same: "
        f"{20 * LEVELS[-1]:,} pages per second, where {CHANNELS} channels of {TRANSFER_US:.0f} us "
        f"carry {most:,.0f}.\n\n"
        "| a page on the channel | fixed time | channel busy at 5,000 "
        "| meet another: 1,000 | 2,500 | 5,000 | p99: 1,000 | 2,500 | 5,000 "
        "| highest over lowest |\n"
        "|--:|--:|--:|" + "--:|" * 7 + "\n"
    )
    apart = 0.0
    for transfer, overhead in READ_NOISE_US:
        values = {"timing.transfer_page_ns": transfer * 1000, "host.overhead_ns": overhead * 1000}
        setting = Setting("read noise", device=values)
        shares, p99s = [], []
        for rate in LEVELS:
            _, reads = play(folder, setting, write_noise=False, rate=rate)
            shares.append(float((sum(reads[name] for name in READS) > 0).mean()))
            p99s.append(float(np.percentile(reads["latency_ns"], 99)) / 1e3)
        cells = [
            f"{transfer} us",
            f"{overhead} us",
            f"{LEVELS[-1] * transfer / 1e4 / CHANNELS:.1f} %",
        ]
        cells += [f"{100 * share:.1f} %" for share in shares]
        cells += [f"{us:,.0f}" for us in p99s] + [f"{max(p99s) / min(p99s):.2f}"]
        write("| " + " | ".join(cells) + " |\n")
        sys.stdout.flush()
        if transfer == TRANSFER_US:
            apart = (max(p99s) - min(p99s)) / (PAPER_P99 * max(p99s))
    write(
        f"\nOn an axis that reaches {PAPER_P99} times the p99 beside read noise, the three curves "
        f"of the rows' drive are at most {100 * apart:.1f} % of its length apart there.\n"
    )


def main() -> None:
    """Decomposes the rows' reads, then changes drive and reader."""
    with tempfile.TemporaryDirectory() as folder:
        decompose(Path(folder))
        vary(Path(folder))
        read_noise(Path(folder))


if __name__ == "__main__":
    main()
