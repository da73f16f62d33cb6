"""How long a command takes to end after one signal, whatever its policy does or its sweep holds.

A comparison has a policy that never answers; sweeps of 10 to 100,000 points get the signal in each
phase. Each command is to end within 2 s with exit code 130, and what had ended must be kept.
Needs numba, pyarrow and a C compiler. Takes about 20 minutes on two processors:

    python experiments/ended_by_signals.py [POINTS ...]
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POINTS = [int(word) for word in sys.argv[1:]] or [10, 1000, 10_000, 100_000]
GOAL_SECONDS = 2.0
COMMAND = "import sys; from tinytail.cli.main import main; sys.exit(main(sys.argv[1:]))"
POLICIES = """
import time

import tinytail


@tinytail.policy("victim")
def endless(view, plane, candidates):
    while True:
        pass


@tinytail.policy("victim")
def sleeps(view, plane, candidates):
    time.sleep(10_000)


@tinytail.policy("victim", compiled=True)
def endless_compiled(view, plane, candidates):
    turn = 0
    while turn >= 0:
        turn = (turn + 1) % 1000
    return candidates[0]
"""
LIBRARY = "long long endless(const void *view) { (void)view; for (;;) ; }\n"
OVERLAY = """name = "mine"
kind = "overlay"
summary = "never answers"
[victim]
chain = [{{ policy = "custom", file = "{file}", name = "{name}" }}]
"""
SWEEP = """device = "ttflash-small"
designs = ["base"]
workload = "randrw70-qd16"
requests = 100
[axes]
host.queue_depth = {{ from = 1, to = {points}, step = 1 }}
"""


def ended(words: list[str], is_there: Callable[[], bool], number: int) -> tuple[int, float]:
    """Signals a command once something is there; returns its exit code and the seconds."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words], stdout=output, stderr=output
        )
        while not is_there() and process.poll() is None:
            time.sleep(0.002)
        begun = time.monotonic()
        process.send_signal(number)
        code = process.wait()
    return code, time.monotonic() - begun


def tell(what: str, number: int, code: int, seconds: float, more: str = "") -> None:
    """Prints a line of the table."""
    verdict = "ok" if code == 130 and seconds <= GOAL_SECONDS else "NOT WITHIN"
    name = signal.Signals(number).name
    line = f"{what:<44} {name:<8} {code:>4} {seconds:>6.2f} s  {verdict}{more}"
    print(line, flush=True)  # noqa: T201


def later(seconds: float) -> Callable[[], bool]:
    """Whether so many seconds have passed since now."""
    at = time.monotonic() + seconds
    return lambda: time.monotonic() >= at


def kept(folder: Path) -> int:
    """How many points a dataset holds."""
    import tinytail

    return len(tinytail.read_sweep(folder)) if (folder / "sweep.json").exists() else 0


def policies(folder: Path) -> None:
    """Comparisons whose policy never answers."""
    (folder / "mine.py").write_text(POLICIES)
    (folder / "mine.c").write_text(LIBRARY)
    made = ["cc", "-shared", "-fPIC", "-o", str(folder / "mine.so"), str(folder / "mine.c")]
    subprocess.run(made, check=True)
    names = [("mine.py", name) for name in ("endless", "sleeps", "endless_compiled")]
    for file, name in [*names, ("mine.so", "endless")]:
        overlay = folder / "overlay.toml"
        overlay.write_text(OVERLAY.format(file=file, name=name))
        words = ["compare", f"base+{overlay}", "--device", "ttflash-small", "--workload", "zipf"]
        for number in SIGNALS:
            code, seconds = ended([*words, "--requests", "3000"], later(8), number)
            tell(f"compare, {name} of {file}", number, code, seconds)


def sweeps(folder: Path, points: int) -> None:
    """Sweeps of so many points, in each phase."""
    file = folder / "many.toml"
    file.write_text(SWEEP.format(points=points))
    journal = "journal.jsonl"
    for number, share in zip(SIGNALS, (0.02, 0.2, 0.6), strict=True):
        out = folder / f"{points}-{number}"
        words = ["sweep", str(file), "--out", str(out)]

        def begun(out: Path = out) -> bool:
            return (out / journal).exists()

        def some(out: Path = out, wanted: int = max(1, int(min(share * points, 400)))) -> bool:
            return begun(out) and (out / journal).read_bytes().count(b"\n") >= wanted

        for phase, is_there in (("planning", later(1)), ("starting", begun), ("running", some)):
            code, seconds = ended(words, is_there, number)
            more = f", {kept(out):,} kept"
            tell(f"sweep of {points:,} points, {phase}", number, code, seconds, more)


def main() -> None:
    """Prints how long each command took to end."""
    with tempfile.TemporaryDirectory() as name:
        policies(Path(name))
        for points in POINTS:
            sweeps(Path(name), points)


if __name__ == "__main__":
    main()
