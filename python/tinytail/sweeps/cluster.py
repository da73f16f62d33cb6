"""Runs points of a sweep on the workers of a Dask cluster.

Each worker is given points of its own, as many at once as it has threads and memory for. Points
that start from the same state go to the same worker as long as there are others for the rest, so
that few workers age it; one that takes over such points gets the aged drives from the worker that
has them. What a worker had when it dies is given to others.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from tinytail import units
from tinytail.engine import cache, memory, native
from tinytail.engine.jobs import REPORT_SECONDS, ProgressCallback
from tinytail.engine.options import RunSpec
from tinytail.errors import RunError, UsageError
from tinytail.files import whole
from tinytail.inputs import tables
from tinytail.inputs.libraries import library
from tinytail.sweeps.plan import Plan, Point
from tinytail.sweeps.rows import came
from tinytail.sweeps.run import Keep, Tally, record, run_point

if TYPE_CHECKING:
    from distributed import Client, Future

# A task costs some milliseconds of the client: a batch of points is to take so long. One point is a
# batch if it takes longer than half of it.
BATCH_SECONDS = 2.0
BATCH_MAX = 64
# Points of one starting state that a worker is given at once.
SHARE_MAX = 256
# For so many batches that a worker runs, one more waits there.
SPARE = 4
CONNECT_SECONDS = 10
LOOK_SECONDS = 1.0
# So long a nanny may take to start a worker again.
RESTART_SECONDS = 60
# So long a connection may take to be closed.
CLOSE_SECONDS = 5
# So long a worker without points waits for the first one of a starting state, by which it is aged.
AGEING_SECONDS = 60
# A point that so many workers died of, when they had no other, has failed.
DEATHS_MAX = 3
# The part of a worker's memory that points may take.
MEMORY_SHARE = 0.8
TEXTS = (".toml", ".fio", ".py")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a worker needs to know beside its points.

    Attributes:
        texts: Texts of files of devices, designs and workloads, by their names.
        folder: The folder that other paths are relative to.
        image: The path of the image that runs start from.
    """

    texts: Mapping[str, str]
    folder: str
    image: str | None


@dataclass(slots=True)
class _Worker:
    """A worker, what it is to run, and what it runs."""

    slots: int
    waiting: deque[Point] = field(default_factory=deque)
    running: dict[str, tuple[Future, list[Point]]] = field(default_factory=dict)
    # Where it keeps aged drives; workers of one machine keep them in one place.
    place: str = ""
    # Whether it has memory for the last state of a large drive, which the next points copy.
    holds: bool = True
    # The address of the process that starts it again if it dies.
    nanny: str | None = None


class _GoneError(Exception):
    """The scheduler has gone."""


def run_on_cluster(
    points: Iterator[Point],
    cluster: str | Client,
    plan: Plan,
    keep: Keep,
    tally: Tally,
    progress: ProgressCallback | None,
    say: Callable[[str], None],
) -> bool:
    """Run points on the workers of a cluster, those that join meanwhile as well.

    Returns:
        Whether it came to its end without Ctrl-C.

    Raises:
        UsageError: a policy that no worker can have, or no worker with the memory for a point.
        RunError: no scheduler answers, or it goes; all workers go, or one lacks this tinytail or a
            file.
        TinytailError: what `keep` raised.
    """
    distributed = library("distributed", "a cluster")
    with ExitStack() as stack:
        if isinstance(cluster, str):
            client = _connect(distributed, cluster)
            stack.callback(_disconnect, client)
        else:
            client = cluster
        feed = _Feed(points, client, plan, keep, tally, say)
        try:
            feed.run(progress)
        except KeyboardInterrupt:
            return False
        except (_GoneError, OSError, asyncio.CancelledError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and _is_connected(client):
                raise
            raise RunError(
                f"the scheduler of the cluster has gone, {feed.left()} to do: start it again, and "
                "run the same once more"
            ) from error
        finally:
            feed.close()
    return True


def _connect(distributed: Any, address: str) -> Client:
    """Return a client of the scheduler at an address.

    Raises:
        RunError: none answers there in `CONNECT_SECONDS`.
    """
    # What goes wrong is said once, as an error of the sweep.
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    async def greet() -> None:
        comm = await asyncio.wait_for(distributed.core.connect(address), CONNECT_SECONDS)
        comm.abort()

    said: list[str] = []

    def try_to_greet() -> None:
        try:
            asyncio.run(greet())
        except (OSError, ValueError, TypeError) as error:
            said.append(str(error) or f"silent for {CONNECT_SECONDS:g} s")
        else:
            said.append("")

    # A client would wait several times as long for an address that accepts and stays silent.
    thread = Thread(target=try_to_greet, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS + 1)
    why = said[0] if said else f"silent for {CONNECT_SECONDS:g} s"
    if not why:
        try:
            return distributed.Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            why = str(error)
    raise RunError(
        f"no scheduler of Dask answers at {address} ({why}); to start one: dask scheduler, and "
        "beside it dask worker ADDRESS"
    )


def _disconnect(client: Client) -> None:
    """Close a client, whose scheduler may have gone."""
    with suppress(OSError, RuntimeError, AssertionError, asyncio.CancelledError):
        client.close(timeout=CLOSE_SECONDS)


def _is_connected(client: Client) -> bool:
    return bool(client.status == "running")


class _Feed:
    """Gives points to workers and takes what came of them."""

    def __init__(
        self,
        points: Iterator[Point],
        client: Client,
        plan: Plan,
        keep: Keep,
        tally: Tally,
        say: Callable[[str], None],
    ) -> None:
        self._points = points
        self._client = client
        self._keep = keep
        self._tally = tally
        self._say = say
        self._bytes = plan.bytes_max()
        self._setting, self._large = _setting(plan)
        self._image: Future | None = None
        self._workers: dict[str, _Worker] = {}
        self._done: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        # Batches that have ended, and whose results are still at their workers.
        self._there: list[tuple[str, str]] = []
        # Points that came back, and those that workers may have died of: how many died of each
        # when it had a worker for itself.
        self._returned: deque[Point] = deque()
        self._suspects: deque[Point] = deque()
        self._deaths: dict[str, int] = {}
        self._next: Point | None = None
        # Aged drives of each layout: the files that runs started from, and who has them.
        self._states: dict[int, dict[str, str]] = {}
        # When the first point of each layout was given away.
        self._begun: dict[int, float] = {}
        # What is on its way to places, and from whom; and what has arrived.
        self._sending: dict[tuple[int, str], tuple[Future, str]] = {}
        self._arrived: set[tuple[int, str]] = set()
        self._seconds = BATCH_SECONDS
        self._looked = 0.0
        # Who starts workers again that have gone, and since when there is no worker.
        self._nannies: set[str | None] = set()
        self._alone_since: float | None = None
        self._has_begun = False

    def run(self, progress: ProgressCallback | None) -> None:
        self._look()
        if not self._workers:
            raise RunError("the cluster has no workers; to start one: dask worker ADDRESS")
        self._has_begun = True
        if self._setting.image is not None:
            content = Path(self._setting.image).read_bytes()
            self._image = self._client.scatter(content, broadcast=True, hash=False)
        while True:
            if self._tally.ended == self._tally.total:
                return
            if not _is_connected(self._client):
                raise _GoneError
            self._look()
            for address in self._workers:
                self._fill(address)
            running = any(worker.running for worker in self._workers.values())
            if not running and not self._has_more():
                return
            self._take()
            if progress is not None:
                progress([self._tally.progress()])

    def left(self) -> str:
        """Say how many points are to be run."""
        # Those that had ended before are counted until they are met.
        soon = time.monotonic() + LOOK_SECONDS
        for _ in self._points:
            if time.monotonic() > soon:
                break
        return units.counted(self._tally.total - self._tally.ended, "point")

    def close(self) -> None:
        """Take back what has not ended."""
        if not _is_connected(self._client):
            return
        futures = [each for w in self._workers.values() for each, _ in w.running.values()]
        with suppress(OSError, RuntimeError, asyncio.CancelledError):
            self._client.cancel(futures, force=True)

    def _look(self) -> None:
        """Find who has joined, and who has gone.

        Raises:
            RunError: all workers have gone, and none will be started again.
        """
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        known = self._client.scheduler_info(n_workers=-1).get("workers")
        if known is None:
            raise _GoneError
        for address in [each for each in self._workers if each not in known]:
            worker = self._workers.pop(address)
            self._nannies |= {worker.nanny} - {None}
            # Nobody else has what it was to send. What waits for it comes back.
            lost = [way for way, (_, owner) in self._sending.items() if owner == address]
            self._client.cancel([self._sending.pop(way)[0] for way in lost], force=True)
            self._returned.extend(worker.waiting)
            ended = {key for _, key in self._there}
            for key, (_, points) in worker.running.items():
                if key in ended:
                    self._returned.extend(points)
                else:
                    self._suspect(points)
        joined = [address for address in known if address not in self._workers]
        if not joined and not self._workers:
            self._wait_for_nannies()
        if not joined:
            return
        greetings = _check(self._client, joined, self._large)
        joined = [address for address in joined if address in greetings]
        if not joined:
            return
        for address in joined:
            threads, limit = known[address]["nthreads"], known[address]["memory_limit"]
            slots, holds = threads, True
            if limit:
                room = int(MEMORY_SHARE * limit)
                slots = min(threads, room // self._bytes)
                holds = (slots + 1) * self._bytes - memory.RUN <= room
            if slots < threads:
                need = f"a point takes about {units.memory(self._bytes)} of memory"
                self._say(f"{need}, and {address} has {units.memory(limit)}: {slots} at once")
            if slots:
                place, nanny = greetings[address]["place"], known[address].get("nanny")
                self._workers[address] = _Worker(slots, place=place, holds=holds, nanny=nanny)
        if not self._workers:
            raise UsageError("no worker has the memory for one point")
        self._nannies.clear()
        self._alone_since = None

    def _wait_for_nannies(self) -> None:
        """Make sure that somebody starts a worker again, where there were some.

        Raises:
            RunError: nobody does.
        """
        if self._alone_since is None:
            self._alone_since = time.monotonic()
        is_early = time.monotonic() - self._alone_since < RESTART_SECONDS
        if self._has_begun and not (is_early and any(map(_answers, self._nannies))):
            raise RunError(
                f"no workers left, {self.left()} to do: start one by dask worker ADDRESS, "
                "and run the same once more"
            )

    def _ended(self, point: Point, what: Mapping[str, Any]) -> None:
        made = record(point, what)
        self._keep(made)
        self._tally.count(made)

    def _has_more(self) -> bool:
        self._next = self._next or next(self._points, None)
        waiting = any(worker.waiting for worker in self._workers.values())
        back = bool(self._returned) or bool(self._suspects)
        return self._next is not None or back or waiting

    def _batch(self, address: str) -> list[Point]:
        """The next points of a worker: its own, new ones, or some of another one's."""
        worker = self._workers[address]
        if not worker.waiting:
            self._share(worker.waiting)
        if not worker.waiting:
            others = [w for w in self._workers.values() if w.waiting]
            others = [w for w in others if not self._is_ageing(w.waiting[-1].layout)]
            richest = max(others, key=lambda other: len(other.waiting), default=worker)
            for _ in range(len(richest.waiting) // 2):
                worker.waiting.appendleft(richest.waiting.pop())
            if not worker.waiting and richest.waiting:
                worker.waiting.append(richest.waiting.pop())
        wanted = max(1, min(BATCH_MAX, int(BATCH_SECONDS / self._seconds)))
        if not self._has_next():
            # At the end of the sweep no worker waits for the last batches of others.
            wanted = min(wanted, -(-len(worker.waiting) // (2 * worker.slots)))
        return [worker.waiting.popleft() for _ in range(min(wanted, len(worker.waiting)))]

    def _share(self, waiting: deque[Point]) -> None:
        """Takes points of one layout from those that nobody has."""
        while self._returned and len(waiting) < SHARE_MAX:
            waiting.append(self._returned.popleft())
        while self._has_next() and len(waiting) < SHARE_MAX:
            assert self._next is not None
            layout = self._next.layout
            if waiting and waiting[0].layout != layout:
                return
            if not waiting and self._is_ageing(layout):
                return
            self._begun.setdefault(layout, time.monotonic())
            waiting.append(self._next)
            self._next = None

    def _is_ageing(self, layout: int) -> bool:
        """Whether a worker may be ageing the drives of a layout, which others then get from it."""
        if layout in self._states or layout not in self._begun:
            return False
        return time.monotonic() - self._begun[layout] < AGEING_SECONDS

    def _has_next(self) -> bool:
        self._next = self._next or next(self._points, None)
        return self._next is not None

    def _suspect(self, points: Sequence[Point], deaths: int = 1) -> None:
        """Notes that a worker died while it had these points."""
        for point in points:
            # Of several nobody knows which one it was: each is then tried alone.
            known = self._deaths.get(point.id)
            self._deaths[point.id] = 0 if known is None else known + deaths
            if self._deaths[point.id] < DEATHS_MAX:
                self._suspects.append(point)
                continue
            died = "the workers that ran it died, perhaps for want of memory"
            self._ended(point, {"error_kind": "run", "error": died, "result": None})

    def _fill(self, address: str) -> None:
        worker = self._workers[address]
        # Some more wait at the worker, so that it is never without.
        while len(worker.running) < worker.slots + 1 + worker.slots // SPARE:
            if any(points[0].id in self._deaths for _, points in worker.running.values()):
                return
            if self._suspects:
                if worker.running:
                    return
                points = [self._suspects.popleft()]
            else:
                points = self._batch(address)
            if not points:
                return
            future = self._client.submit(
                run_batch,
                self._setting,
                [point.spec for point in points],
                self._image,
                self._aged(address, points[0].layout),
                worker.holds,
                workers=[address],
                pure=False,
            )
            worker.running[future.key] = (future, points)
            future.add_done_callback(lambda done: self._done.put((address, done.key)))

    def _aged(self, address: str, layout: int) -> Future | None:
        """The aged drives of a layout, if another place has them and the worker's has not."""
        place = self._workers[address].place
        owners = self._states.get(layout, {})
        places = {
            each: self._workers[at].place for each, at in owners.items() if at in self._workers
        }
        way = (layout, place)
        if not places or not place or place in places.values() or way in self._arrived:
            return None
        if way in self._sending:
            return self._sending[way][0]
        owner = next(at for at in owners.values() if at in self._workers)
        names = [each for each in places if owners[each] == owner]
        future = self._client.submit(read_aged, names, workers=[owner], pure=False)
        self._sending[way] = (future, owner)
        return future

    def _take(self) -> None:
        """Waits a moment for a batch to end, and takes the results of all that have ended."""
        with suppress(queue.Empty):
            if not self._there:
                self._there.append(self._done.get(timeout=REPORT_SECONDS))
            while True:
                self._there.append(self._done.get_nowait())
        ended: dict[str, tuple[str, Future, list[Point]]] = {}
        for address, key in self._there:
            worker = self._workers.get(address)
            # What a worker had that has left was given to others.
            if worker is not None and key in worker.running:
                future, points = worker.running[key]
                if future.status == "finished":
                    ended[key] = (address, future, points)
                else:
                    del worker.running[key]
                    self._failed_batch(address, future, points)
        found = self._gathered({key: future for key, (_, future, _) in ended.items()})
        self._there = [(address, key) for key, (address, _, _) in ended.items() if key not in found]
        for key, result in found.items():
            address, _, points = ended[key]
            del self._workers[address].running[key]
            self._ended_batch(address, points, *result)

    def _gathered(self, futures: Mapping[str, Future]) -> Mapping[str, Any]:
        """The results of batches, by one call; none yet if a worker dies meanwhile."""
        if not futures:
            return {}
        call = self._client.gather(dict(futures), errors="skip", asynchronous=True)
        made = asyncio.run_coroutine_threadsafe(call, self._client.loop.asyncio_loop)
        while True:
            try:
                found = made.result(timeout=LOOK_SECONDS)
                return {key: result for key, result in found.items() if result is not None}
            except TimeoutError:
                # The call would wait for ever for what is lost.
                if any(future.status != "finished" for future in futures.values()):
                    made.cancel()
                    return {}

    def _failed_batch(self, address: str, future: Future, points: Sequence[Point]) -> None:
        """Takes back a batch without results."""
        if future.status != "error":
            self._returned.extend(points)
            return
        error = future.exception()
        if type(error).__name__ != "KilledWorker":
            said = f"{type(error).__name__}: {error}"
            raise RunError(f"worker {address} can't run points: {said}")
        # Dask has tried it again by itself, at a worker that came back under its address.
        self._suspect(points, DEATHS_MAX)

    def _ended_batch(
        self,
        address: str,
        points: Sequence[Point],
        outcomes: Sequence[Mapping[str, Any]],
        seconds: float,
        aged: Sequence[str],
    ) -> None:
        way = (points[0].layout, self._workers[address].place)
        self._sending.pop(way, None)
        self._arrived.add(way)
        states = self._states.setdefault(points[0].layout, {})
        states |= {each: address for each in aged if each not in states}
        self._seconds = 0.5 * self._seconds + 0.5 * seconds / len(points)
        for point, outcome in zip(points, outcomes, strict=True):
            self._ended(point, outcome)


def _answers(address: str | None) -> bool:
    """Whether a process listens at an address of Dask."""
    from distributed.comm import get_address_host_port

    try:
        socket.create_connection(get_address_host_port(address), timeout=LOOK_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _setting(plan: Plan) -> tuple[Setting, dict[str, int]]:
    """What workers are told, and the sizes of the files that they must see for themselves."""
    for name in plan.policies_without_file():
        raise UsageError(
            f"the policy {name} is held by this program alone, and workers are others: put it into "
            f'a file, and name that: {{ policy = "custom", file = "policies.py", name = "{name}" }}'
        )
    texts, large = dict(plan.tables()), {}
    for name in plan.files():
        if name == plan.image:
            continue
        path = Path(name)
        if path.suffix in TEXTS:
            texts[name] = path.read_text("utf-8")
        else:
            large[str(path.absolute())] = path.stat().st_size
    return Setting(texts, str(Path.cwd()), plan.image), large


def _check(
    client: Client, addresses: Sequence[str], large: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Make sure that workers have this tinytail, and see the files that points read.

    Returns:
        What each says of itself, but for those that go meanwhile.

    Raises:
        RunError: one does not; says which, and what to do.
    """
    found = client.run(greeting, dict(large), workers=list(addresses), on_error="return")
    greeted = {each: said for each, said in found.items() if not isinstance(said, OSError)}
    here = greeting({})
    for address, said in greeted.items():
        # Dask wraps what an import raises.
        if isinstance(said, BaseException):
            raise RunError(
                f"worker {address} can't import tinytail ({said}); install it there, version "
                f"{here['version']}"
            )
        if any(said.get(key) != here[key] for key in ("version", "build", "sources")):
            raise RunError(
                f"worker {address} has another build of tinytail ({said['version']}), whose "
                f"results may differ; install there what is here ({here['version']})"
            )
        if said["unseen"]:
            raise RunError(
                f"worker {address} does not see {said['unseen'][0]}; put it where all workers "
                "have it under the same path"
            )
    return greeted


def greeting(large: Mapping[str, int]) -> dict[str, Any]:
    """What a worker says of itself: runs there."""

    def is_seen(name: str) -> bool:
        path = Path(name)
        return path.is_file() and path.stat().st_size == large[name]

    place = cache.place()
    return {
        "version": native.version(),
        "build": native.identity(),
        "sources": native.sources(),
        "unseen": [name for name in large if not is_seen(name)],
        "place": f"{socket.gethostname()}:{place[0]}" if place else "",
    }


def read_aged(names: Sequence[str]) -> dict[str, bytes]:
    """Aged drives of this worker's cache, by the names of their files: runs on a worker."""
    folder = cache.folder()
    return {each: (folder / each).read_bytes() for each in names if (folder / each).is_file()}


def _keep_aged(states: Mapping[str, bytes]) -> None:
    """Puts aged drives of another worker into the cache of this one."""
    folder = cache.folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in states.items():
        if not (folder / name).exists():
            temporary = whole.hidden(folder / name, "tmp")
            temporary.write_bytes(content)
            temporary.replace(folder / name)


def run_batch(
    setting: Setting,
    specs: Sequence[RunSpec],
    image: bytes | None,
    states: Mapping[str, bytes] | None,
    holds: bool = True,
) -> tuple[list[Mapping[str, Any]], float, list[str]]:
    """Runs points on a worker.

    Returns:
        What came of each, the seconds that all took, and the aged drives that they started from.
    """
    begun = time.monotonic()
    if states:
        _keep_aged(states)
    for name, text in setting.texts.items():
        tables.put(name, text)
    local = None if image is None else _image(image)
    shared = _shared(holds)
    outcomes: list[Mapping[str, Any]] = []
    for spec in specs:
        outcome = run_point(_here(spec, setting, local), native.Control(), shared)
        if outcome is None:
            raise RuntimeError("the worker was interrupted")
        if local is not None and outcome["result"] is not None:
            outcome["result"]["state"]["image"] = spec.image
        outcomes.append(came(outcome))
    return outcomes, time.monotonic() - begun, shared.take_used()


def _here(spec: RunSpec, setting: Setting, image: str | None) -> RunSpec:
    """A run as this worker can make it: paths from its own folder, and the image that it got."""
    if image is not None:
        spec = replace(spec, image=image)
    given = Path(spec.workload)
    there = Path(setting.folder) / given
    is_relative = not given.is_absolute() and spec.workload not in setting.texts
    if is_relative and not given.exists() and there.exists():
        spec = replace(spec, workload=str(there))
    return spec


@lru_cache(maxsize=1)
def _shared(holds: bool) -> native.Shared:
    """What all runs of this worker share."""
    return native.share([], holds_last=holds)


@lru_cache(maxsize=1)
def _image(content: bytes) -> str:
    """A file with the image, which ends with this worker."""
    file = tempfile.NamedTemporaryFile(prefix="tinytail-", suffix=".image")  # noqa: SIM115
    file.write(content)
    file.flush()
    _FILES.append(file)
    return file.name


_FILES: list[Any] = []
