"""How many points a second one client takes from a Dask cluster, and how much memory it needs.

The points of the sweep only sleep: each gives the result that one real run gave. So the workers
cost next to nothing, and all that is measured is the client: its points a second, its CPU time a
point, and its largest memory, at two numbers of points. A million points follow by arithmetic. On
two processors 40,000 points take about five minutes:

    python experiments/cluster_rate.py [POINTS [THREADS [SECONDS]]]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import distributed

import tinytail
from tinytail.engine import native
from tinytail.sweeps import cluster as on_cluster, execute, plan
from tinytail.sweeps.run import run_point

POINTS = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 100
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 0.25
PROCESSES = 2
MILLION = 1_000_000
FIXED: dict[str, Any] = {
    "device": "ttflash-small",
    "designs": ["base"],
    "workload": "randrw70-qd16",
    "requests": 2000,
}


class Sleeps(distributed.WorkerPlugin):  # type: ignore[misc]
    """Lets every point of a worker sleep, and gives it a result that is there already."""

    name = "sleeps"

    def __init__(self, seconds: float, outcome: dict[str, Any]) -> None:
        self.seconds = seconds
        self.outcome = outcome

    def setup(self, **_: Any) -> None:
        """Puts the sleep in the place of the run."""

        def run(*_: Any) -> dict[str, Any]:
            time.sleep(self.seconds)
            return json.loads(json.dumps(self.outcome))  # type: ignore[no-any-return]

        module: Any = on_cluster
        module.run_point = run


@contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of Dask in a process of its own."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "dask", *words], **quiet)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def sweep_of(points: int) -> tinytail.sweeps.Plan:
    """The plan of a sweep with so many points."""
    depths = 1000
    axes = {
        "synthetic.queue_depth": list(range(1, depths + 1)),
        "synthetic.read_share": [(1 + place) / 2000 for place in range(points // depths)],
    }
    return plan(axes, **FIXED)


def measure(points: int) -> dict[str, float]:
    """What a sweep of so many points costs its client, in a process of its own."""
    words = [sys.executable, __file__, str(points), str(THREADS), str(SECONDS)]
    said = subprocess.run(words, env=os.environ | {"CLUSTER_RATE": "1"}, stdout=-1, check=True)
    return json.loads(said.stdout)  # type: ignore[no-any-return]


def client() -> None:
    """The sweep, in this process."""
    [point] = plan({"synthetic.queue_depth": [4]}, **FIXED)
    outcome = run_point(point.spec, native.Control(), native.share([]))
    assert outcome is not None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "scheduler.json"
        written = ("--scheduler-file", str(file))
        stack.enter_context(command("scheduler", "--port", "0", "--no-dashboard", *written))
        for _ in range(PROCESSES):
            threads = ("--nthreads", str(THREADS // PROCESSES))
            where = ("--no-nanny", "--no-dashboard", "--memory-limit", "0")
            stack.enter_context(command("worker", *written, *threads, *where))
        found = stack.enter_context(distributed.Client(scheduler_file=str(file), timeout=60))
        found.wait_for_workers(PROCESSES)
        found.register_plugin(Sleeps(SECONDS, dict(outcome)))
        made = sweep_of(POINTS)
        begun, cpu = time.monotonic(), time.process_time()
        ended: list[float] = []

        def progress(told: Any) -> None:
            if told[0].done >= POINTS and not ended:
                ended.append(time.monotonic() - begun)

        swept = execute(made, str(folder / "s"), cluster=found, progress=progress)
        assert (len(swept), swept.failed) == (len(made), 0)
        figures = {
            "points": len(made),
            "seconds": ended[0],
            "after": time.monotonic() - begun - ended[0],
            "cpu": time.process_time() - cpu,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
    print(json.dumps(figures))  # noqa: T201


def main() -> None:
    """Measures two sweeps, and says what follows from them."""
    say = print
    sizes = (POINTS // 4, POINTS)
    few, many = (measure(points) for points in sizes)
    for each in (few, many):
        say(
            f"{each['points']:,} points of {SECONDS} s on {THREADS} threads: "
            f"{each['points'] / each['seconds']:.0f} points/s of {THREADS / SECONDS:.0f} possible, "
            f"{1e3 * each['cpu'] / each['points']:.2f} ms of CPU time a point, "
            f"{each['after']:.1f} s after the last, {each['memory'] / 1e6:.0f} MB"
        )
    of_each = {
        name: (many[name] - few[name]) / (many["points"] - few["points"])
        for name in ("seconds", "after", "cpu", "memory")
    }
    seconds = MILLION * (of_each["cpu"])
    memory = many["memory"] + (MILLION - many["points"]) * of_each["memory"]
    say(
        f"A million points: at least {seconds / 60:.0f} minutes of the client's CPU time, "
        f"and {memory / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    if "CLUSTER_RATE" in os.environ:
        client()
    else:
        main()
