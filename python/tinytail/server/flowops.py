"""Personalities of filebench, played on a raw device: files laid out, and threads of flowops.

`personalities.toml` beside this file has them. There is no page cache and no metadata: every read
and write of a file reaches the device, in whole blocks of 4 KiB, as those of a file system do.
"""

from __future__ import annotations

import heapq
import itertools
import random
import tomllib
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal, NamedTuple, Protocol

from tinytail.errors import ConfigError, RunError, UsageError, suggestion
from tinytail.server import size_bytes

BLOCK_BYTES = 4096
# filebench's default of the gamma distribution of file sizes.
SHAPE = 1.5
# Files are laid out so many at a time, as filebench's `paralloc` does it.
LAYING_OUT = 32
LAYOUT_BYTES = 2**20

# What each flowop is given.
VERBS: dict[str, tuple[str, ...]] = {
    "open": ("files",),
    "create": ("files",),
    "delete": ("files",),
    "close": (),
    "write_whole": ("size",),
    "read_whole": ("size",),
    "append": ("size",),
    "read_next": ("files", "size"),
    "read_random": ("files", "size"),
    "write_random": ("files", "size", "count"),
    "fsync": (),
    "pause": ("count",),
    "pace": ("size",),
    "post": ("name",),
    "wait": ("name", "count", "count"),
}


# How words become what flowops are given; others stay as they are.
_TAKEN: dict[str, Callable[[str], int]] = {"size": size_bytes, "count": int}


class Request(NamedTuple):
    """What is asked of the device; a flush has neither offset nor bytes."""

    kind: Literal["read", "write", "flush"]
    offset: int = 0
    bytes: int = 0


class Device(Protocol):
    """What requests go to. Its clock is the drive's."""

    def now_ns(self) -> int:
        """The time since the first request."""

    def submit(self, number: int, request: Request) -> None:
        """Takes a request."""

    def wait(self, until_ns: int | None) -> Sequence[int]:
        """The numbers of requests that are done; none if the time has come before."""


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files of one kind."""

    count: int
    mean_size: int
    existing_percent: float
    fixed_size: bool = False
    largest: int | None = None


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads that do the same: each its flowops in turn, over and over."""

    instances: int
    flowops: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Personality:
    """A personality. `source` is the file of filebench; `scaled` says what is not as there."""

    name: str
    source: str
    files: Mapping[str, FileSet]
    threads: Mapping[str, Threads]
    scaled: str = ""


def names() -> list[str]:
    """The personalities that there are."""
    return list(_documents())


def personality(name: str) -> Personality:
    """A personality by its name.

    Raises:
        ConfigError: there is none of this name.
    """
    known = _documents()
    if name not in known:
        raise ConfigError(f'unknown personality "{name}"' + suggestion(name, known))
    return from_table(name, known[name])


def _documents() -> dict[str, Any]:
    file = resources.files("tinytail.server").joinpath("personalities.toml")
    return tomllib.loads(file.read_text("utf-8"))


def from_table(name: str, table: Mapping[str, Any]) -> Personality:
    """A personality as TOML has it.

    Raises:
        ConfigError: a flowop that is unknown or is given something else than it takes.
    """
    files = {
        key: FileSet(**{each: _size(value) for each, value in given.items()})
        for key, given in table["files"].items()
    }
    threads = {
        key: Threads(given["instances"], tuple(_flowop(name, op, files) for op in given["flowops"]))
        for key, given in table["threads"].items()
    }
    return Personality(name, table["source"], files, threads, table.get("scaled", ""))


def _size(value: Any) -> Any:
    return size_bytes(value) if isinstance(value, str) else value


def _flowop(name: str, text: str, files: Mapping[str, FileSet]) -> tuple[Any, ...]:
    verb, *words = text.split()
    if verb not in VERBS:
        raise ConfigError(f'{name}: unknown flowop "{verb}"' + suggestion(verb, VERBS))
    takes = VERBS[verb]
    if len(words) != len(takes):
        raise ConfigError(f'{name}: "{text}": {verb} is given {" ".join(takes) or "nothing"}')
    found: list[Any] = [verb]
    for kind, word in zip(takes, words, strict=True):
        if kind == "files" and word not in files:
            raise ConfigError(f'{name}: "{text}": unknown files "{word}"' + suggestion(word, files))
        if kind == "count" and not word.isdecimal():
            raise ConfigError(f'{name}: "{text}": "{word}" is no whole number')
        try:
            found.append(_TAKEN.get(kind, str)(word))
        except UsageError as error:
            raise ConfigError(f'{name}: "{text}": {error}') from None
    return tuple(found)


# --- Files on the device --------------------------------------------------------------------------


class Space:
    """The free blocks of a volume, as extents in order. Files get theirs at random places."""

    def __init__(self, blocks: int, seed: str) -> None:
        self._blocks = blocks
        self._starts, self._ends = [0], [blocks]
        self._random = random.Random(seed)

    def take(self, blocks: int) -> list[tuple[int, int]]:
        """Extents of free blocks: one where it fits, from a random place on, else several.

        Raises:
            RunError: there is no room.
        """
        place = self._random.randrange(self._blocks)
        first = max(0, bisect_right(self._starts, place) - 1)
        most = (0, 0, 0)
        for index in itertools.chain(range(first, len(self._starts)), range(first)):
            start, end = self._starts[index], self._ends[index]
            begin = place if index == first and start < place and end - place >= blocks else start
            if end - begin >= blocks:
                self._cut(index, begin, begin + blocks)
                return [(begin, blocks)]
            most = max(most, (end - start, start, index))
        length, start, index = most
        if length == 0:
            raise RunError("the files have filled the volume; --size gives it more")
        self._cut(index, start, start + length)
        return [(start, length), *self.take(blocks - length)]

    def take_at(self, place: int, blocks: int) -> bool:
        """Takes these blocks, if they are free."""
        index = bisect_right(self._starts, place) - 1
        if index < 0 or self._ends[index] < place + blocks:
            return False
        self._cut(index, place, place + blocks)
        return True

    def give(self, start: int, blocks: int) -> None:
        """Takes blocks back."""
        end = start + blocks
        index = bisect_left(self._starts, start)
        if index < len(self._starts) and self._starts[index] == end:
            end = self._ends[index]
            del self._starts[index], self._ends[index]
        if index > 0 and self._ends[index - 1] == start:
            self._ends[index - 1] = end
        else:
            self._starts.insert(index, start)
            self._ends.insert(index, end)

    def _cut(self, index: int, begin: int, end: int) -> None:
        start, last = self._starts[index], self._ends[index]
        kept = [each for each in ((start, begin), (end, last)) if each[0] < each[1]]
        self._starts[index : index + 1] = [each[0] for each in kept]
        self._ends[index : index + 1] = [each[1] for each in kept]


@dataclass(slots=True, eq=False)
class File:
    """A file: how large it is meant to be and may become, how large it is, and its blocks."""

    whole: int
    exists: bool
    largest: int | None = None
    size: int = 0
    opened: int = 0
    extents: list[tuple[int, int]] = field(default_factory=list)

    def grow(self, size: int, space: Space) -> None:
        """Gives it the blocks for a size, behind its last ones where they are free."""
        wanted = -(-size // BLOCK_BYTES) - sum(blocks for _, blocks in self.extents)
        self.size = max(self.size, size)
        if wanted <= 0:
            return
        if self.extents:
            start, blocks = self.extents[-1]
            if space.take_at(start + blocks, wanted):
                self.extents[-1] = (start, blocks + wanted)
                return
        self.extents += space.take(wanted)

    def requests(self, kind: Literal["read", "write"], offset: int, size: int) -> list[Request]:
        """Requests for a part of it, in whole blocks: one for each extent."""
        first, last = offset // BLOCK_BYTES, -(-min(offset + size, self.size) // BLOCK_BYTES)
        found, before = [], 0
        for start, blocks in self.extents:
            low, high = max(first, before), min(last, before + blocks)
            if low < high:
                place = (start + low - before) * BLOCK_BYTES
                found.append(Request(kind, place, (high - low) * BLOCK_BYTES))
            before += blocks
        return found

    def empty(self, space: Space) -> None:
        """Gives its blocks back. The device is not told: no file system does that by default."""
        for start, blocks in self.extents:
            space.give(start, blocks)
        self.size, self.extents = 0, []


class Files:
    """The files of a set, which are picked in rotation."""

    def __init__(self, of: FileSet, seed: str) -> None:
        drawn = random.Random(seed)
        there = round(of.count * of.existing_percent / 100)
        sizes = [
            of.mean_size if of.fixed_size else drawn.gammavariate(SHAPE, of.mean_size / SHAPE)
            for _ in range(of.count)
        ]
        self.files = [
            File(max(1, round(size)), i < there, of.largest) for i, size in enumerate(sizes)
        ]
        self._next = {True: 0, False: 0}

    def pick(self, *, exists: bool, closed: bool = False) -> File | None:
        """The next file that is there, or that is not; None if there is none."""
        for step in range(len(self.files)):
            index = (self._next[exists] + step) % len(self.files)
            file = self.files[index]
            if file.exists is exists and not (closed and file.opened):
                self._next[exists] = index + 1
                return file
        return None


# --- Threads --------------------------------------------------------------------------------------


class Gate:
    """Semaphores of one name, one for each thread that waits: its posts, and room for more."""

    def __init__(self) -> None:
        self.posts: list[int] = []
        self.room: list[int] = []
        self.parked: list[Thread] = []
        # Somebody who is parked may go on.
        self.changed = False

    def add(self, room: int) -> int:
        """Makes one more; returns which it is."""
        self.posts.append(0)
        self.room.append(room)
        return len(self.posts) - 1

    def post(self) -> Iterator[Step]:
        """Posts to all of them, once each has room."""
        while min(self.room, default=1) <= 0:
            yield self
        self.posts = [each + 1 for each in self.posts]
        self.room = [each - 1 for each in self.room]
        self.changed = True

    def wait(self, which: int, count: int) -> Iterator[Step]:
        """Waits for so many posts, for which there is room besides."""
        self.room[which] += count
        self.changed = True
        while self.posts[which] < count:
            yield self
        self.posts[which] -= count


# What a thread waits for: requests, a time, or a change of a gate.
Step = list[Request] | int | Gate
Thread = Generator[Step, None, None]


@dataclass(frozen=True, slots=True)
class Span:
    """What was measured: from when until when, and the flowops that read.

    Times are the device's, in nanoseconds; `read_ns` is the sum over all flowops that read.
    """

    from_ns: int
    until_ns: int
    reads: int
    read_ns: int
    written_bytes: int


Heed = Callable[[float, float], None]


class Player:
    """A personality on a volume of a device, from a seed."""

    def __init__(
        self, personality: Personality, device: Device, volume_bytes: int, seed: int = 1
    ) -> None:
        self._personality = personality
        self._device = device
        self._seed = f"{seed}/{personality.name}"
        self._space = Space(volume_bytes // BLOCK_BYTES, f"{self._seed}/space")
        self._files = {
            name: Files(of, f"{self._seed}/{name}") for name, of in personality.files.items()
        }
        self._gates: dict[str, Gate] = defaultdict(Gate)
        self._paced_from: int | None = None
        self._paced_bytes = 0
        self._numbers = 0
        self._written = 0
        self._reads = self._read_ns = 0

    def lay_out(self, heed: Heed = lambda *_: None) -> None:
        """Writes the files that are there at the start; `heed` as of `run`.

        Raises:
            RunError: they do not fit.
        """
        there = [file for files in self._files.values() for file in files.files if file.exists]
        total, every = len(there), iter(there)

        def lay() -> Thread:
            for file in every:
                yield from self._write_whole(file, LAYOUT_BYTES)

        def ended() -> bool:
            heed(0.0, 1.0)
            return False

        self._play([lay() for _ in range(min(LAYING_OUT, total))], ended)

    def run(self, seconds: float, warm_up_bytes: int = 0, heed: Heed = lambda *_: None) -> Span:
        """Plays the threads until they have written so much, and then for so long.

        `heed` is told about how much is done of how much, and may raise.
        """
        threads = [
            self._thread(of, f"{self._seed}/{name}/{number}")
            for name, of in self._personality.threads.items()
            for number in range(of.instances)
        ]
        before, span_ns = self._written, round(seconds * 1e9)
        from_ns: int | None = None

        def ended() -> bool:
            nonlocal from_ns
            now, written = self._device.now_ns(), self._written - before
            if from_ns is None:
                heed(0.3 * written / max(warm_up_bytes, 1), 1.0)
                if written < warm_up_bytes:
                    return False
                from_ns = now
                self._reads = self._read_ns = 0
            heed(0.3 + 0.7 * (now - from_ns) / span_ns, 1.0)
            return now >= from_ns + span_ns

        self._play(threads, ended)
        assert from_ns is not None
        return Span(from_ns, from_ns + span_ns, self._reads, self._read_ns, self._written - before)

    def _play(self, threads: Sequence[Thread], ended: Callable[[], bool]) -> None:
        """Lets threads go on until they have ended or are to; then awaits what is under way."""
        ready = deque(threads)
        # By the number of each request: its thread, and of all that are awaited with it.
        under_way: dict[int, tuple[Thread, set[int]]] = {}
        asleep: list[tuple[int, int, Thread]] = []
        while not ended():
            while ready:
                self._go_on(ready.popleft(), under_way, asleep)
                for gate in self._gates.values():
                    if gate.changed:
                        ready.extend(gate.parked)
                        gate.parked, gate.changed = [], False
            if not under_way and not asleep:
                if any(gate.parked for gate in self._gates.values()):
                    raise RunError(f"{self._personality.name}: all threads wait for one another")
                return
            for number in self._device.wait(asleep[0][0] if asleep else None):
                thread, awaited = under_way.pop(number)
                awaited.remove(number)
                if not awaited:
                    ready.append(thread)
            now = self._device.now_ns()
            while asleep and asleep[0][0] <= now:
                ready.append(heapq.heappop(asleep)[2])
        while under_way:
            for number in self._device.wait(None):
                del under_way[number]

    def _go_on(
        self,
        thread: Thread,
        under_way: dict[int, tuple[Thread, set[int]]],
        asleep: list[tuple[int, int, Thread]],
    ) -> None:
        """Lets a thread do what it does until it waits."""
        match next(thread, None):
            case list(requests):
                numbers = range(self._numbers, self._numbers + len(requests))
                self._numbers += len(requests)
                awaited = set(numbers)
                for number, request in zip(numbers, requests, strict=True):
                    under_way[number] = (thread, awaited)
                    self._device.submit(number, request)
                    self._written += request.bytes if request.kind == "write" else 0
            case int(until_ns):
                # Of those that wake at one time, who fell asleep first is first.
                self._numbers += 1
                heapq.heappush(asleep, (until_ns, self._numbers, thread))
            case Gate() as gate:
                gate.parked.append(thread)
            case None:
                pass

    def _thread(self, of: Threads, seed: str) -> Thread:
        # Nobody posts before all who wait are known.
        waits = {op[1]: self._gates[op[1]].add(op[3]) for op in of.flowops if op[0] == "wait"}
        return self._flow(of, random.Random(seed), waits)

    def _flow(self, of: Threads, drawn: random.Random, waits: Mapping[str, int]) -> Thread:
        kept: dict[str, tuple[File, int]] = {}
        file: File | None = None
        while True:
            for verb, *given in of.flowops:
                match verb:
                    case "open":
                        file = self._opened(given[0], exists=True)
                    case "create":
                        file = self._opened(given[0], exists=False)
                        file.exists = True
                    case "delete":
                        found = self._files[given[0]].pick(exists=True, closed=True)
                        if found is not None:
                            found.empty(self._space)
                            found.exists = False
                    case "close":
                        _there(file).opened -= 1
                    case "write_whole":
                        yield from self._write_whole(_there(file), given[0])
                    case "read_whole":
                        yield from self._reading(_there(file), 0, _there(file).size, given[0])
                    case "append":
                        yield from self._append(_there(file), drawn.randrange(given[0]))
                    case "read_next":
                        kept[given[0]] = yield from self._read_next(kept, given[0], given[1])
                    case "read_random":
                        found = self._opened(given[0], exists=True)
                        found.opened -= 1
                        place = _place(drawn, found, given[1])
                        yield from self._reading(found, place, given[1], given[1])
                    case "write_random":
                        yield self._writes(drawn, *given)
                    case "fsync":
                        yield [Request("flush")]
                    case "pause":
                        yield self._device.now_ns() + given[0] * 1000
                    case "pace":
                        yield from self._pace(given[0])
                    case "post":
                        yield from self._gates[given[0]].post()
                    case _:
                        yield from self._gates[given[0]].wait(waits[given[0]], given[1])

    def _opened(self, files: str, *, exists: bool) -> File:
        file = self._files[files].pick(exists=exists)
        if file is None:
            raise RunError(
                f'{self._personality.name}: no file of "{files}" is left to be '
                + ("opened" if exists else "created")
            )
        file.opened += 1
        return file

    def _write_whole(self, file: File, size: int) -> Iterator[Step]:
        file.grow(file.whole, self._space)
        for offset in range(0, file.whole, size):
            yield file.requests("write", offset, size)

    def _append(self, file: File, size: int) -> Iterator[Step]:
        if size > 0:
            if file.largest is not None and file.size + size > file.largest:
                file.empty(self._space)
            offset = file.size
            file.grow(offset + size, self._space)
            yield file.requests("write", offset, size)

    def _reading(self, file: File, offset: int, size: int, at_once: int) -> Iterator[Step]:
        """One flowop that reads."""
        began = self._device.now_ns()
        found = 0
        for place in range(offset, offset + size, at_once):
            # Another thread may have removed the file since, or not have written it yet.
            if requests := file.requests("read", place, min(at_once, offset + size - place)):
                found += len(requests)
                yield requests
        if found:
            self._reads += 1
            self._read_ns += self._device.now_ns() - began

    def _read_next(
        self, kept: Mapping[str, tuple[File, int]], files: str, size: int
    ) -> Generator[Step, None, tuple[File, int]]:
        file, offset = kept.get(files) or (self._opened(files, exists=True), 0)
        yield from self._reading(file, offset, size, size)
        self._paced_bytes += size
        return file, offset + size if offset + size < file.size else 0

    def _writes(self, drawn: random.Random, files: str, size: int, count: int) -> list[Request]:
        found: list[Request] = []
        for _ in range(count):
            file = self._opened(files, exists=True)
            file.opened -= 1
            found += file.requests("write", _place(drawn, file, size), size)
        return found

    def _pace(self, bytes_per_s: int) -> Iterator[Step]:
        now = self._device.now_ns()
        if self._paced_from is None:
            self._paced_from = now
        due = self._paced_from + self._paced_bytes * 10**9 // bytes_per_s
        if due > now:
            yield due


def _there(file: File | None) -> File:
    if file is None:
        raise RunError("a flowop needs an open file")
    return file


def _place(drawn: random.Random, file: File, size: int) -> int:
    """A place of a random request, a multiple of its size."""
    return drawn.randrange(max(1, file.size // size)) * size
