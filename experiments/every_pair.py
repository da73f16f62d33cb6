"""Whether every design that stands alone runs on every drive, and every overlay on two drives.

An overlay stands behind the design that its file names, else behind base, with stripes where it
needs them. Its drives are that design's own and modern-tlc-2t. What their flash lacks is refused,
and listed.

Two loads are played: 70 % random reads at queue depth 16, and 16 requests a second for 20 minutes,
most of them writes, at places of which few are asked for often. A run must come to its end in less
than 100 seconds, its ageing included. A pair that is refused must be refused within a second, with
a command that runs; what that adds is added, and the pair runs with it.

RESULTS has a line for each run that was made. What it has is not made again. Prints a table, and
ends with 1 if a row fails. From the root of a checkout that is built:

    .venv/bin/python experiments/every_pair.py RESULTS [--small] ["DESIGN on DEVICE" ...]
"""

from __future__ import annotations

import bisect
import itertools
import json
import random
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import tinytail
from tinytail.engine import catalog
from tinytail.engine.jobs import cpu_count

TINYTAIL = (sys.executable, "-m", "tinytail")
MODERN = "modern-tlc-2t"
LIMIT_S = 100
REFUSED_WITHIN_S = 1
LOADS = ("saturating", "light")
RUNS = "This runs: "


@dataclass(frozen=True)
class Run:
    """What became of a pair under a load."""

    design: str
    device: str
    load: str
    # Why it is no run that came to its end in time; empty if it is one.
    fault: str
    # What had to be added to the command for the pair to run.
    added: str
    seconds: float
    reads_p99_us: float | None = None
    write_amplification: float | None = None
    erases: int | None = None

    @property
    def pair(self) -> str:
        """The pair, as it is asked for."""
        return f"{self.design} on {self.device}"


def pairs(*, small: bool) -> list[tuple[str, str]]:
    """Every design that stands alone with every drive: those for tests, or all others."""
    designs = [listing.name for listing in tinytail.list_designs() if listing.kind == "design"]
    devices = [listing.name for listing in tinytail.list_devices()]
    # Drive by drive: designs that start from the same state share it.
    return [
        (design, device)
        for device in devices
        if device.endswith("-small") == small
        for design in designs
    ]


def overlays(*, small: bool) -> list[tuple[str, str]]:
    """Every overlay behind a design, on the drive of that design and on a modern one."""
    ending = "-small" if small else ""
    drives = {"base": "ttflash-small" if small else "ttflash-256g"}
    for listing in tinytail.list_devices():
        if listing.name.endswith("-small") == small:
            defaults = catalog.device_document(listing.name).get("defaults", {})
            drives.setdefault(str(defaults.get("design")), listing.name)
    found = []
    for listing in tinytail.list_designs():
        if listing.kind == "overlay":
            composition = catalog.describe_design(listing.name).alone or f"base+{listing.name}"
            drive = drives[composition.split("+")[0]]
            (fit,) = catalog.fits(drive, [composition])
            if fit.refusal and fit.refusal.remedy and listing.name in fit.refusal.remedy.design:
                composition = fit.refusal.remedy.design
            found += [(composition, drive), (composition, MODERN + ending)]
    return found


def lacks(design: str, device: str) -> str:
    """What a drive's flash lacks for a design; nothing if it can be had, or is given."""
    (fit,) = catalog.fits(device, [design])
    remedy = fit.refusal and fit.refusal.remedy
    keeps = remedy and remedy.design == design
    return "" if keeps or fit.refusal is None else fit.refusal.message


def light(seconds: float) -> Iterator[str]:
    """A load of 16 requests a second, 59 % of them writes of 4 to 64 KiB, as lines of CSV."""
    draw = random.Random(1)
    places = 400_000
    total = list(itertools.accumulate(1 / (place + 1) ** 0.9 for place in range(places)))
    order = list(range(places))
    draw.shuffle(order)
    now_s = 0.0
    while (now_s := now_s + draw.expovariate(16)) < seconds:
        what = "W" if draw.random() < 0.59 else "R"
        place = order[bisect.bisect(total, draw.random() * total[-1])] * 4_587_520
        yield f"{int(now_s * 1e6)},{what},{place},{4096 * draw.choice((1, 2, 4, 8, 16))}\n"


def workload(load: str, folder: Path, *, small: bool) -> list[str]:
    """The options of a load, whose trace goes into a folder."""
    if load == "saturating":
        return ["--workload", "randrw70-qd16", "--requests", "500" if small else "20000"]
    trace = folder / "light.csv"
    if not trace.exists():
        trace.write_text("".join(light(60 if small else 1200)), "utf-8")
    columns = "time:us,op,lba:bytes,len:bytes"
    return ["--workload", str(trace), "--columns", columns, "--fit", "fold"]


def play(design: str, device: str, load: str, words: Sequence[str], folder: Path) -> Run:
    """Runs a pair, with what its refusal says must be added if it is refused."""
    name = f"{design} on {device} {load}".replace(" ", "-")
    json_file = folder / f"{name}.json"
    command = ["compare", design, "--device", device, *words, "--json", str(json_file)]
    added: list[str] = []
    while True:
        started, busy = time.monotonic(), children_s()
        try:
            made = subprocess.run(
                [*TINYTAIL, *command, *added],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            fault = f"not over after {LIMIT_S} s"
            return Run(design, device, load, fault, shlex.join(added), LIMIT_S)
        seconds = time.monotonic() - started
        remedy = remedy_of(made.stderr, [design], device)
        if made.returncode != 2 or remedy is None or added:
            break
        # Half a second is what any command takes. Other work on the machine does not count.
        busy = children_s() - busy
        if busy > REFUSED_WITHIN_S + 0.5:
            fault = f"refused after {busy:.1f} s of processor time"
            return Run(design, device, load, fault, "", seconds)
        added = remedy
    if made.returncode != 0:
        last = (made.stderr.strip().splitlines() or ["without a word"])[-1]
        return Run(design, device, load, last, shlex.join(added), seconds)
    (result,) = json.loads(json_file.read_text("utf-8"))["results"]
    return Run(
        design,
        device,
        load,
        "",
        shlex.join(added),
        round(seconds, 1),
        result["read"]["p99_us"],
        result["write_amplification"],
        result["erases"],
    )


def children_s() -> float:
    """Processor time of all commands that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def remedy_of(said: str, designs: Sequence[str], device: str) -> list[str] | None:
    """What a refusal adds to a command; nothing if it changes designs or drive."""
    if RUNS not in said:
        return None
    words = shlex.split(said.split(RUNS)[1].splitlines()[0])
    if words[2 : 4 + len(designs)] != [*designs, "--device", device]:
        return None
    return [
        word
        for option, value in itertools.pairwise(words)
        if option == "--set"
        for word in (option, value)
    ]


def made(results: Path) -> dict[tuple[str, str], Run]:
    """The runs that a file has."""
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    runs = (Run(**json.loads(line)) for line in lines)
    return {(run.pair, run.load): run for run in runs}


def table(runs: Iterable[Run]) -> Iterator[str]:
    """A line for each run."""
    yield "| design | drive | load | | added | s | reads p99 µs | write amplification | erases |"
    yield "|---|---|---|---|---|--:|--:|--:|--:|"
    for run in runs:
        cells = [run.design, run.device, run.load, run.fault or "runs", run.added]
        cells.append(f"{run.seconds:.1f}")
        for figure in (run.reads_p99_us, run.write_amplification, run.erases):
            cells.append(
                "" if figure is None else f"{figure:,.4g}" if figure < 1e4 else f"{figure:,.0f}"
            )
        yield f"| {' | '.join(cells)} |"


def main(words: Sequence[str]) -> int:
    """Makes the runs that are missing, and writes the table."""
    small = "--small" in words
    results, *wanted = (word for word in words if word != "--small")
    known = pairs(small=small) + overlays(small=small)
    chosen = [pair for pair in known if not wanted or " on ".join(pair) in wanted]
    if unknown := set(wanted) - {" on ".join(pair) for pair in known}:
        sys.exit(f"no such pair: {', '.join(sorted(unknown))}; without any, all are played")
    refused = {pair: said for pair in chosen if (said := lacks(*pair))}
    asked = [pair for pair in chosen if pair not in refused]
    runs = made(Path(results))
    missing = [
        (*pair, load) for pair in asked for load in LOADS if (" on ".join(pair), load) not in runs
    ]
    with (
        tempfile.TemporaryDirectory() as name,
        Path(results).open("a", encoding="utf-8") as file,
        ThreadPoolExecutor(cpu_count()) as pool,
    ):
        folder = Path(name)
        options = {load: workload(load, folder, small=small) for load in LOADS}
        playing = [pool.submit(play, *pair, load, options[load], folder) for *pair, load in missing]
        for each in playing:
            run = each.result()
            runs[run.pair, run.load] = run
            file.write(json.dumps(asdict(run)) + "\n")
            file.flush()
            sys.stderr.write(
                f"{run.pair}, {run.load}: {run.fault or 'runs'} ({run.seconds:.0f} s)\n"
            )
    shown = [runs[" on ".join(pair), load] for pair in asked for load in LOADS]
    sys.stdout.write("\n".join(table(shown)) + "\n")
    for pair, said in refused.items():
        sys.stdout.write(f"\nThe flash lacks what it needs: {' on '.join(pair)}: {said}\n")
    failed = [run for run in shown if run.fault]
    sys.stdout.write(f"\n{len(shown) - len(failed)} of {len(shown)} run\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
