"""Whether TTFLASH's reads are faster than Base's under filebench's personalities, served.

Each personality is laid out on a drive that is served anew for each design, writes 256 MiB and is
then measured for 5 s of the drive's time. Writes, as a Markdown table, the mean latency of reads by
the model, how many GC blocked, and how late completions were. With --socket it plays on a drive
that is served there already, and says what a client sees: the time of a flowop that reads, which
is all of its file.

    .venv/bin/python experiments/personalities.py [--device NAME] [--design NAME ...] [NAME ...]
    .venv/bin/python experiments/personalities.py --socket PATH [--dilate F] [NAME ...]

Needs pyarrow, without --socket. Takes two to five minutes for each, with nothing else running.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tinytail.server import flowops, size_bytes
from tinytail.server.client import NbdDevice
from tinytail.server.trial import Trial

HEAD = (
    "| personality | design | reads | mean | blocked | GCs | too late | verdict |",
    "|---|---|--:|--:|--:|--:|--:|---|",
)
CLIENT_HEAD = ("| personality | reads | mean | written |", "|---|--:|--:|--:|")


def say(line: str) -> None:
    """Writes a line as soon as it is known."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def served(name: str, design: str, given: argparse.Namespace) -> dict[str, Any]:
    """Serves a design anew, and plays."""
    found = Trial(
        personality=name,
        device=given.device,
        design=design,
        size=given.size,
        seconds=given.seconds,
        warm_up=given.warm_up,
        dilate=given.dilate,
        seed=given.seed,
    ).run()
    late = found["lateness"]
    verdict = "valid" if late["invalid"] is None else "INVALID"
    say(
        f"| {name} | `{design}` | {found['reads']:,} | {found['read_mean_us']:,.1f} µs "
        f"| {found['blocked_percent']:.3f} % | {found['gc_count']:,} "
        f"| {late['all']['late_percent']:.2f} % | {verdict} |"
    )
    return found


def at_socket(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Plays on a drive that is served already."""
    with NbdDevice(given.socket, given.dilate) as device:
        player = flowops.Player(flowops.personality(name), device, device.size_bytes, given.seed)
        player.lay_out()
        span = player.run(given.seconds, size_bytes(given.warm_up))
    mean_us = span.read_ns / max(span.reads, 1) / 1000
    say(f"| {name} | {span.reads:,} | {mean_us:,.1f} µs | {span.written_bytes / 2**20:,.0f} MiB |")
    return {"personality": name, "reads": span.reads, "read_mean_us": mean_us}


def main(words: Sequence[str]) -> int:
    """Plays each personality and writes a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(flowops.names()))
    parser.add_argument("--socket", type=Path, help="play on the drive that is served there")
    parser.add_argument("--device", default="ttflash-small")
    parser.add_argument("--design", action="append", help="default: base and ttflash")
    parser.add_argument("--size", default="384M", help="of the volume")
    parser.add_argument("--seconds", type=float, default=5, help="of the drive's time, measured")
    parser.add_argument("--warm-up", default="256M", help="what is written before")
    parser.add_argument("--dilate", type=float, default=1, help="that of the server")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="the figures as JSON")
    given = parser.parse_args(words)
    for line in CLIENT_HEAD if given.socket else HEAD:
        say(line)
    found = []
    for name in given.names or flowops.names():
        if given.socket:
            found.append(at_socket(name, given))
        else:
            found += [served(name, each, given) for each in given.design or ("base", "ttflash")]
    if given.json:
        given.json.write_text(json.dumps(found, indent=2), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
