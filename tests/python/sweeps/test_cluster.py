"""Sweeps on a Dask cluster: the rows of one process, whatever becomes of workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

import tinytail
from commands import RunCommand, start
from soak import sample
from tinytail.engine import native
from tinytail.errors import RunError, UsageError
from tinytail.sweeps import cluster as on_cluster, plan
from tinytail.sweeps.cluster import run_on_cluster
from tinytail.sweeps.plan import Plan, Point
from tinytail.sweeps.run import Tally

distributed = pytest.importorskip("distributed", reason="Dask is the cluster")

FIXED: dict[str, Any] = {
    "device": "ttflash-small",
    "designs": ["base", "ttflash"],
    "workload": "randrw70-qd16",
}
AXES: dict[str, Any] = {
    "synthetic.queue_depth": list(range(1, 17)),
    "gc.reserve_blocks": [1, 2],
    "requests": [4000],
}
POINTS = 64
TIMES = {"cpu_seconds", "result"}
# Keys of a result that hold times of the machine.
CPU = ("cpu_seconds", "requests_per_cpu_second", "ns_per_event")


def rows(found: tinytail.Sweep) -> list[dict[str, Any]]:
    """The rows of a sweep, without times, in a fixed order."""
    kept = []
    for row in found.to_arrow().to_pylist():
        if row.get("result"):
            document = json.loads(row["result"])
            row["document"] = {key: document[key] for key in document if key not in CPU}
        kept.append({key: value for key, value in row.items() if key not in TIMES})
    return sorted(kept, key=lambda row: str(row["point"]))


@pytest.fixture(scope="module")
def alone() -> list[dict[str, Any]]:
    """The rows of one process."""
    return rows(tinytail.sweep(AXES, **FIXED))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local) as found,
    ):
        yield found


@contextmanager
def worker(address: str, **environment: str) -> Iterator[None]:
    """A worker in a process of its own."""
    words = ["-m", "dask", "worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    process = subprocess.Popen(
        [sys.executable, *words],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def scheduler() -> Iterator[Any]:
    """A client of a cluster without workers."""
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as local,
        distributed.Client(local) as found,
    ):
        yield found


def test_rows_are_those_of_one_process(client: Any, alone: list[dict[str, Any]]) -> None:
    assert len(alone) == POINTS
    assert rows(tinytail.sweep(AXES, **FIXED, cluster=client)) == alone


def test_a_worker_that_dies_costs_only_its_points(
    client: Any, alone: list[dict[str, Any]], tmp_path: Path
) -> None:
    victim = next(iter(client.run(os.getpid).values()))

    def kill_once(told: Any) -> None:
        if told[0].done >= 5:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)

    axes = AXES | {"requests": [20_000]}
    swept = tinytail.sweep(axes, **FIXED, cluster=client, out=tmp_path / "s", progress=kill_once)
    assert victim not in client.run(os.getpid).values()
    assert (len(swept), swept.failed) == (POINTS, 0)
    kept = tinytail.read_sweep(tmp_path / "s").to_arrow()["point"].to_pylist()
    assert len(kept) == len(set(kept)) == POINTS
    assert rows(tinytail.sweep(AXES, **FIXED, cluster=client)) == alone


class DiesOf:
    """Every worker, new ones too, dies when it is to run points of one queue depth."""

    name = "dies-of"

    def __init__(self, word: str) -> None:
        self.word = word

    def setup(self, **_: Any) -> None:
        module: Any = on_cluster
        self.real = module.run_point

        def run(spec: Any, *others: Any) -> Any:
            if self.word in spec.settings:
                os._exit(1)
            return self.real(spec, *others)

        module.run_point = run

    def teardown(self, **_: Any) -> None:
        module: Any = on_cluster
        module.run_point = self.real


def test_a_point_that_kills_its_workers_fails_alone(client: Any) -> None:
    plugin = type("Plugin", (DiesOf, distributed.WorkerPlugin), {})
    client.register_plugin(plugin("synthetic.queue_depth=3"))
    try:
        swept = tinytail.sweep(
            {"synthetic.queue_depth": [1, 2, 3, 4]},
            **FIXED | {"designs": ["base"]},
            requests=500,
            cluster=client,
        )
    finally:
        client.unregister_worker_plugin("dies-of")
        client.wait_for_workers(2, timeout=120)
    assert (len(swept), swept.failed) == (4, 1)
    [bad] = [row for row in swept.to_arrow().to_pylist() if row["error"] is not None]
    assert bad["synthetic.queue_depth"] == 3
    assert "the workers that ran it died" in bad["error"]


class Instant:
    """A client whose workers end each batch at once, with `seconds` a point; counts its calls."""

    def __init__(self, workers: int, threads: int, seconds: float) -> None:
        self.known = {
            f"tcp://{number}": {"nthreads": threads, "memory_limit": 0} for number in range(workers)
        }
        self.seconds = seconds
        self.status = "running"
        self.tasks: list[int] = []
        self.gathered: list[int] = []
        self.loop = SimpleNamespace(asyncio_loop=asyncio.new_event_loop())
        Thread(target=self.loop.asyncio_loop.run_forever, daemon=True).start()

    def scheduler_info(self, **_: Any) -> dict[str, Any]:
        return {"workers": self.known}

    def run(self, function: Any, *words: Any, workers: Sequence[str], **_: Any) -> dict[str, Any]:
        return dict.fromkeys(workers, function(*words))

    def submit(self, *given: Any, **_: Any) -> Any:
        points = len(given[2])
        came = {"error_kind": None, "error": None, "result": None}
        result: Any = ([came] * points, self.seconds * points, [])
        self.tasks.append(points)
        future = SimpleNamespace(key=str(len(self.tasks)), status="finished", result=result)
        future.add_done_callback = lambda told: told(future)
        return future

    async def gather(self, futures: dict[str, Any], **_: Any) -> dict[str, Any]:
        self.gathered.append(len(futures))
        return {key: future.result for key, future in futures.items()}

    def cancel(self, *_: Any, **__: Any) -> None:
        pass


@pytest.fixture(scope="module")
def many() -> tuple[Plan, list[Point]]:
    """A plan, and its points."""
    axes = {"synthetic.queue_depth": range(1, 101), "gc.reserve_blocks": range(1, 41)}
    made = plan(axes, **FIXED | {"designs": ["base"]})
    return made, list(made)


@pytest.mark.parametrize("seconds", [0.01, 0.5, 10.0])
@pytest.mark.parametrize(("workers", "threads"), [(1, 100), (25, 4), (100, 1)])
def test_a_client_takes_many_points_by_few_calls(
    many: tuple[Plan, list[Point]], workers: int, threads: int, seconds: float
) -> None:
    instant: Any = Instant(workers, threads, seconds)
    made, points = many
    kept: list[str] = []
    ends = run_on_cluster(
        iter(points),
        instant,
        made,
        lambda record: kept.append(record["point"]),
        Tally(len(made)),
        None,
        print,
    )
    assert ends
    assert kept == list(dict.fromkeys(kept))
    assert sorted(kept) == sorted(point.id for point in points)
    # A task has points of about two seconds but for the first ones, of which nothing is known,
    # and the last ones, which are divided among all threads.
    a_task = max(1, min(64, int(2 / seconds)))
    assert max(instant.tasks) <= a_task
    assert len(instant.tasks) <= len(made) / a_task + 10 * workers * threads
    # All that has ended comes by one call.
    assert len(instant.gathered) <= len(instant.tasks) / (workers * threads) + 1


def test_the_command_takes_an_address(client: Any, command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text(
        'kind = "overlay"\nsummary = "more"\n[gc]\nwrite_points = 2\n'
    )
    file = tmp_path / "s.toml"
    file.write_text(
        'device = "ttflash-small"\ndesigns = ["base+more.toml"]\nworkload = "zipf"\n'
        "requests = 300\n[axes]\ngc.reserve_blocks = [1, 2]\n"
    )
    address = client.scheduler.address
    outcome = command("sweep", str(file), "--cluster", address)
    assert outcome.code == 0, outcome.err
    assert len(tinytail.read_sweep(tmp_path / "s")) == 2


def test_runs_start_from_an_image_that_was_sent(client: Any, tmp_path: Path) -> None:
    image = tmp_path / "aged.image"
    tinytail.create_image(image, device="ttflash-small", design="base")
    axes = {"synthetic.queue_depth": [1, 4, 8, 16]}
    fixed = {**FIXED, "designs": ["base"], "image": image, "requests": 1000}
    swept = tinytail.sweep(axes, **fixed, cluster=client)
    assert swept.failed == 0
    assert rows(swept) == rows(tinytail.sweep(axes, **fixed))


def test_aged_drives_are_sent_to_workers_that_have_none(tmp_path: Path) -> None:
    caches = [tmp_path / name for name in ("a", "b")]
    with (
        scheduler() as found,
        worker(found.scheduler.address, XDG_CACHE_HOME=str(caches[0])),
        worker(found.scheduler.address, XDG_CACHE_HOME=str(caches[1])),
    ):
        found.wait_for_workers(2)
        swept = tinytail.sweep(
            {"synthetic.queue_depth": list(range(1, 33))},
            device="mqsim-default-small",
            designs=["base"],
            workload="randrw70-qd16",
            requests=5000,
            state={"overwrite_percent": 3000},
            cluster=found,
        )
    assert (len(swept), swept.failed) == (32, 0)
    [one], [other] = (list((cache / "tinytail" / "aged").iterdir()) for cache in caches)
    assert one.name == other.name
    # The file has the time at which it was made, so ageing twice would leave two files that differ.
    assert one.read_bytes() == other.read_bytes()


def test_a_cluster_that_can_not_be_used_is_refused_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(on_cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(RunError, match="no scheduler of Dask answers at tcp://"):
        tinytail.sweep(AXES, **FIXED, cluster="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="jobs and cluster exclude each other"):
        tinytail.sweep(AXES, **FIXED, cluster="tcp://127.0.0.1:1", jobs=2)
    with scheduler() as found:
        with pytest.raises(RunError, match="the cluster has no workers; to start one: dask"):
            tinytail.sweep(AXES, **FIXED, cluster=found)
        package = tmp_path / "tinytail"
        package.mkdir()
        (package / "__init__.py").write_text("raise ImportError('no module of ours')")
        with worker(found.scheduler.address, PYTHONPATH=str(tmp_path)):
            found.wait_for_workers(1)
            with pytest.raises(RunError, match="can't import tinytail"):
                tinytail.sweep(AXES, **FIXED, cluster=found)


def test_workers_of_another_build_or_without_the_trace_are_refused(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "identity", lambda: "another")
    with pytest.raises(RunError, match="has another build of tinytail"):
        tinytail.sweep(AXES, **FIXED, cluster=client)
    monkeypatch.undo()
    monkeypatch.setattr(native, "sources", lambda: "other Python files")
    with pytest.raises(RunError, match="has another build of tinytail"):
        tinytail.sweep(AXES, **FIXED, cluster=client)
    monkeypatch.undo()
    monkeypatch.setattr(on_cluster, "greeting", unseeing)
    trace = tmp_path / "mine.trace"
    trace.write_text("0 0 0 8 1\n100000 0 8 8 0\n")
    with pytest.raises(RunError, match=r"does not see .*mine\.trace; put it where all workers"):
        tinytail.sweep(
            {"scale_time": [1, 2]},
            **FIXED | {"workload": str(trace)},
            format="disksim",
            cluster=client,
        )


def unseeing(large: dict[str, int]) -> dict[str, Any]:
    """The greeting of a worker that sees no file."""
    return {
        "version": native.version(),
        "build": native.identity(),
        "sources": native.sources(),
        "unseen": list(large),
        "place": "",
    }


class Ends:
    """A scheduler and two workers in processes of their own, which a test ends by their names."""

    def __init__(self, folder: Path) -> None:
        where = folder / "scheduler.json"
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler = self._start("scheduler", *words, "--scheduler-file", str(where))
        deadline = time.monotonic() + 60
        while not where.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        self.address = json.loads(where.read_text())["address"]
        words = ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
        self.workers = [self._start("worker", self.address, *words) for _ in range(2)]
        with distributed.Client(self.address) as client:
            client.wait_for_workers(2, timeout=120)

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *words]
        out = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=out, stderr=out)

    def end(self, what: str, how: signal.Signals) -> None:
        for process in [self.scheduler] if what == "scheduler" else self.workers:
            process.send_signal(how)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("what", "how", "ended"),
    sample(
        [
            (what, how, ended)
            for what in ("scheduler", "workers")
            for how in (signal.SIGKILL, signal.SIGTERM)
            for ended in (0, 3, 50)
        ],
        2,
        seed=12,
    ),
)
def test_what_ends_of_a_cluster_is_said_in_a_sentence_and_the_sweep_goes_on(
    tmp_path: Path, alone: list[dict[str, Any]], what: str, how: signal.Signals, ended: int
) -> None:
    folder = tmp_path / "s"
    file = tmp_path / "s.toml"
    file.write_text(
        'device = "ttflash-small"\ndesigns = ["base", "ttflash"]\nworkload = "randrw70-qd16"\n'
        "requests = 4000\n[axes]\nsynthetic.queue_depth = { from = 1, to = 16, step = 1 }\n"
        "gc.reserve_blocks = [1, 2]\n"
    )
    made = Ends(tmp_path)
    try:
        process = start("sweep", str(file), "--cluster", made.address)
        journal = folder / "journal.jsonl"
        deadline = time.monotonic() + 120
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= ended):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        made.end(what, how)
        _, err = process.communicate(timeout=60)
    finally:
        made.close()
    # The last points may have been given back before.
    assert process.returncode in ((0, 1) if ended == 50 else (1,)), err
    errors = [line for line in err.splitlines() if not line.startswith("sweep: ")]
    if process.returncode:
        [said] = errors
        assert said.startswith("error: ")
        assert " to do" in said or "no scheduler of Dask answers" in said or "no workers" in said
    again = start("sweep", str(file))
    again.communicate(timeout=120)
    assert again.returncode == 0
    found = [row["event_hash"] for row in rows(tinytail.read_sweep(folder))]
    assert sorted(found) == sorted(row["event_hash"] for row in alone)


def test_an_address_that_stays_silent_is_left_at_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(on_cluster, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        begun = time.monotonic()
        with pytest.raises(RunError, match=r"answers at .*silent for 0\.5 s"):
            tinytail.sweep(AXES, **FIXED, cluster=address)
        # The limit of the library that it is of is 30 s.
        assert time.monotonic() - begun < 20


def test_an_interrupt_keeps_what_has_ended(client: Any, tmp_path: Path) -> None:
    def interrupt(told: Any) -> None:
        if told[0].done >= 3:
            os.kill(os.getpid(), signal.SIGINT)

    axes = AXES | {"requests": [30_000]}
    begun = time.monotonic()
    with pytest.raises(tinytail.Interrupted) as found:
        tinytail.sweep(axes, **FIXED, cluster=client, out=tmp_path / "s", progress=interrupt)
    assert time.monotonic() - begun < 30
    partial = found.value.comparison
    assert isinstance(partial, tinytail.Sweep)
    assert 3 <= len(partial) < POINTS
    assert len(tinytail.read_sweep(tmp_path / "s")) == len(partial)
