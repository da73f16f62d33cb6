"""Whether a client of a served drive sees TTFLASH cut the tail of its reads.

fio reads 16 KB at random, 500 times a second, and writes 28 KB at random, full stripes, at 5 drive
writes per day of 8 hours, on the first 16 GiB of a 48 GiB drive: of base, of TTFLASH and of base
without GC in turn, each served anew from the same state. Writes, as a Markdown table, read
latencies by the model and as fio measured them, how late completions were, and the verdict.

Needs fio with its engine for NBD. On a machine with other work: as root, with --realtime, which
gives server and fio a real-time priority, and with --dilate.
Run: .venv/bin/python experiments/served_tail.py [--realtime] [--dilate F] [SECONDS]
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DESIGNS = ("base", "ttflash", "base+no-gc")
DEVICE = "ttflash-48g"
SIZE = "16G"
READS_PER_S = 500
WRITE_BYTES_PER_S = 5 * 48 * 2**30 / (8 * 3600)
PERCENTILES = ("50.000000", "95.000000", "99.000000", "99.900000")
MODEL_KEYS = ("p50_us", "p95_us", "p99_us", "p999_us")


def say(line: str) -> None:
    """Writes a line as soon as it is known."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def fio_words(uri: str, seconds: int, dilation: float) -> list[str]:
    """What fio is told; its rates are stretched as the drive's time is."""
    common = ["--ioengine=nbd", f"--uri={uri}", "--bs=16k", f"--size={SIZE}", "--time_based"]
    common += [f"--runtime={round(seconds * dilation)}", f"--ramp_time={round(10 * dilation)}"]
    common += ["--iodepth=32", "--randseed=1", "--norandommap", "--rate_process=poisson"]
    reads, writes = READS_PER_S / dilation, WRITE_BYTES_PER_S / 28672 / dilation
    return [
        *("fio", "--output-format=json", f"--percentile_list={':'.join(PERCENTILES)}", *common),
        *("--name=reads", "--rw=randread", f"--rate_iops={max(1, round(reads))}"),
        *("--name=writes", "--rw=randwrite", "--bs=28k", f"--rate_iops={max(1, round(writes))}"),
    ]


def serve(design: str, options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reads as fio measured them, and the server's summary."""
    with tempfile.TemporaryDirectory() as folder:
        socket, summary = Path(folder, "socket"), Path(folder, "summary.json")
        priority = ["chrt", "-f", "1"] if options.realtime else []
        words = [*priority, sys.executable, "-m", "tinytail", "serve", "--design", design]
        words += ["--device", DEVICE, "--size", SIZE, "--dilate", str(options.dilate)]
        words += ["--nbd", f"unix:{socket}", "--json", str(summary)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            if "serving at" not in server.stdout.readline():
                sys.exit("the drive could not be served")
            fio = fio_words(f"nbd+unix:///?socket={socket}", options.seconds, options.dilate)
            done = subprocess.run(
                [*priority, *fio], capture_output=True, text=True, cwd=folder, check=True
            )
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
        document = json.loads(done.stdout[done.stdout.index("{") :])
        return document["jobs"][0]["read"], json.loads(summary.read_text("utf-8"))


def main() -> None:
    """Serves each design and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=int, default=60)
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--dilate", type=float, default=1.0)
    options = parser.parse_args()
    say(
        "| design | by | reads | p50 | p95 | p99 | p99.9 | lateness p50, p99 | too late | verdict |"
    )
    say("|---|---|---|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        fio, summary = serve(design, options)
        model, late = summary["read"], summary["lateness"]
        found = [fio["clat_ns"]["percentile"][key] / 1e3 / options.dilate for key in PERCENTILES]
        shown = " | ".join(f"{value:,.0f} µs" for value in found)
        read = late["read"]
        verdict = "valid" if late["invalid"] is None else "**invalid**"
        lateness = f"{read['p50_us']:.1f} µs, {read['p99_us']:,.0f} µs"
        say(
            f"| `{design}` | fio | {fio['total_ios']:,} | {shown} | {lateness} "
            f"| {read['late_percent']:.2f} % | {verdict} |"
        )
        shown = " | ".join(f"{model[key]:,.0f} µs" for key in MODEL_KEYS)
        gcs = f"{summary['gc_count']:,} GCs"
        say(f"| | the model | {model['count']:,} | {shown} | {gcs} | | |")


if __name__ == "__main__":
    main()
