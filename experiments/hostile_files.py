"""Whether bad or odd files and places make tinytail hang, grow without bound, or lose results.

Each attack is a command with a file or a place that no careful user would give it. What is wanted
of each stands beside it: it ends soon, with the documented exit code and a sentence, takes little
memory, and shows or keeps what it computed. Prints a row for each attack and ends with 1 if one
does not hold. Takes about twenty minutes. From the root of a checkout that is built:

    .venv/bin/python experiments/hostile_files.py [WORD_OF_AN_ATTACK ...]
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

TINYTAIL = (sys.executable, "-m", "tinytail")
# Whatever has not ended then hangs; a signal must end it.
PATIENCE_S = 90
SOON_S = 10.0
AFTER_SIGNAL_S = 5.0
MIB = 1 << 20
# What the program takes with a small drive.
PROGRAM = 60 * MIB
# The program takes a tenth of it, and a file of results of the greatest length the most.
MEMORY = 320 * MIB
MESSAGE_BYTES_MAX = 16_384
SAID_CHARACTERS = 100
RUN = ("--device", "ttflash-small", "--workload", "randrw70-qd16", "--requests", "2000")
FOUR = ("base", "base+no-gc", "ttflash", "pb")
TABLE = "p99"
HEADER = 'summary = "s"\nkind = "overlay"\n'
# What no output to a file has.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# They listen until the program ends.
SERVERS: list[socket.socket] = []
SWEEP = """device = "ttflash-small"
designs = ["base"]
workload = "randrw70-qd16"
requests = 500
[axes]
gc.write_points = [1, 2, 4]
"""


@dataclass(frozen=True)
class Ended:
    """What became of a command. `code` is negative where a signal ended it."""

    seconds: float
    code: int
    peak_bytes: int
    out: str
    err: str
    hung: bool

    def said(self) -> str:
        """Its message, shortened."""
        lines = [line for line in self.err.splitlines() if "rror" in line]
        first = (lines or self.err.splitlines() or self.out.splitlines() or [""])[0]
        return first if len(first) <= SAID_CHARACTERS else f"{first[:SAID_CHARACTERS]}..."

    def __str__(self) -> str:
        how = "hung" if self.hung else f"{self.seconds:.1f} s"
        return f"{how}, exit {self.code}, {self.peak_bytes / MIB:.0f} MiB: {self.said()}"


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a command: exit codes, time, memory, words, and a file of JSON."""

    codes: tuple[int, ...] = (2,)
    seconds: float = SOON_S
    memory: int = MEMORY
    says: str = ""
    # What stands in the output, unless it is refused with 2.
    shows: str = ""
    # The file that holds results, unless it is refused with 2.
    keeps: str = ""
    # The file that is not there.
    lacks: str = ""

    def __str__(self) -> str:
        parts = [f"exit {' or '.join(map(str, self.codes))} within {self.seconds:g} s"]
        parts += [f"{self.memory / MIB:.0f} MiB at most"]
        parts += [f'"{self.says}"'] if self.says else []
        parts += ["a table"] if self.shows else []
        parts += [f"{self.keeps} whole"] if self.keeps else []
        parts += [f"no {self.lacks}"] if self.lacks else []
        return ", ".join(parts)

    def fault(self, ended: Ended, folder: Path) -> str:
        """In what a command is not as wanted; nothing if it is."""
        refused = ended.code == 2
        found = {
            "hung": ended.hung,
            "exit code": ended.code not in self.codes,
            "time": ended.seconds > self.seconds,
            "memory": ended.peak_bytes > self.memory,
            "traceback": "Traceback" in ended.err,
            "length of message": len(ended.err) > MESSAGE_BYTES_MAX,
            "no sentence": ended.code in (1, 2) and "error: " not in ended.err,
            "message": self.says not in ended.err,
            "no table": not refused and self.shows not in ended.out,
            "no results": not refused and self.keeps and not _is_json(folder / self.keeps),
            "written": bool(self.lacks) and (folder / self.lacks).exists(),
            "control characters": CONTROLS.search(ended.out + ended.err) is not None,
        }
        return ", ".join(name for name, holds in found.items() if holds)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True


def nothing(_folder: Path) -> None:
    """Prepares nothing."""


@dataclass(frozen=True)
class Attack:
    """A command, made and run in a folder of its own."""

    name: str
    words: tuple[str, ...]
    wanted: Wanted = field(default_factory=Wanted)
    prepare: Callable[[Path], object] = nothing
    # Of the address space, in bytes.
    limit: int | None = None
    # What interrupts it after a second.
    interrupt: signal.Signals | None = None
    stdout: str | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)


def play(attack: Attack, folder: Path) -> Ended:
    """Prepares an attack and runs it."""
    attack.prepare(folder)
    changed = {"TINYTAIL_CACHE_GIB": "0", "COLUMNS": "200", "NO_COLOR": "1", **attack.environment}
    environment = {**os.environ, **changed}
    environment = {key: value for key, value in environment.items() if value is not None}

    def limited() -> None:
        if attack.limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (attack.limit, attack.limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    out, err = folder / ".out", folder / ".err"
    start = time.monotonic()
    with open(attack.stdout or out, "wb") as to, err.open("wb") as errors:  # noqa: PTH123
        process = subprocess.Popen(
            [*TINYTAIL, *attack.words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=to,
            stderr=errors,
            preexec_fn=limited,
        )
    ends = [(PATIENCE_S, signal.SIGTERM), (PATIENCE_S + 10, signal.SIGKILL)]
    if attack.interrupt is not None:
        ends.insert(0, (1.0, attack.interrupt))
    sent: list[signal.Signals] = []
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        passed = time.monotonic() - start
        if done:
            break
        if ends and passed >= ends[0][0]:
            sent.append(ends[0][1])
            process.send_signal(ends.pop(0)[1])
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    text = out.read_text("utf-8", "replace") if out.exists() else ""
    said = err.read_text("utf-8", "replace")
    hung = len(sent) > (attack.interrupt is not None)
    return Ended(passed, process.returncode, usage.ru_maxrss * 1024, text, said, hung)


def written(name: str, text: str) -> Callable[[Path], object]:
    """Prepares a file."""
    return lambda folder: (folder / name).write_text(text, "utf-8")


def pipe(name: str) -> Callable[[Path], object]:
    """Prepares a pipe at which nobody is."""
    return lambda folder: os.mkfifo(folder / name)


def a_socket(name: str) -> Callable[[Path], object]:
    """Prepares a socket."""

    def make(folder: Path) -> None:
        # A path of a socket has 108 bytes at most.
        before = Path.cwd()
        os.chdir(folder)
        try:
            socket.socket(socket.AF_UNIX).bind(name)
        finally:
            os.chdir(before)

    return make


def link(name: str, to: str) -> Callable[[Path], object]:
    """Prepares a link."""
    return lambda folder: (folder / name).symlink_to(to)


def both(*prepared: Callable[[Path], object]) -> Callable[[Path], object]:
    """Prepares several things."""
    return lambda folder: [prepare(folder) for prepare in prepared]


def long_files() -> Iterator[Attack]:
    """Files of configuration with more in them than any has."""
    device = "[geometry]\nchannels = 1\n"
    shapes: dict[str, Callable[[int], str]] = {
        "keys": lambda count: device + "".join(f"k{i} = 1\n" for i in range(count)),
        "keys of an overlay": lambda count: (
            HEADER + "[gc]\n" + "".join(f"k{i} = 1\n" for i in range(count))
        ),
        "keys of a workload": lambda count: (
            "[synthetic]\n" + "".join(f"k{i} = 1\n" for i in range(count))
        ),
        "arrays": lambda count: device + "".join(f"k{i} = [1, 2]\n" for i in range(count)),
        "tables": lambda count: device + "".join(f"[t{i}]\na = 1\n" for i in range(count)),
        "entries": lambda count: f"[timing]\nread_ns = [{'-1, ' * count}]\n",
        "arrays of tables": lambda count: device + "[[t]]\na = 1\n" * count,
    }
    for shape, text in shapes.items():
        for count in (10_000, 80_000):
            yield Attack(
                f"{count:,} {shape}",
                ("config", "check", "f.toml"),
                prepare=written("f.toml", text(count)),
            )
    options = "".join(f"o{i}=1\n" for i in range(20_000))
    sections = "".join(f"[j{i}]\nrw=read\n" for i in range(12_000))
    for shape, name, text in (
        ("options of a job file", "f.fio", f"[j]\n{options}"),
        ("sections of a job file", "f.fio", sections),
        ("a key of 200 KB", "f.toml", f"{device}{'k' * 200_000} = 1\n"),
        ("a dotted key of 100,000 parts", "f.toml", f"{device}{'a.' * 100_000}a = 1\n"),
        ("100,000 brackets", "f.toml", f"{device}k = {'[' * 100_000}"),
        ("a number of 100,000 digits", "f.toml", f"{device}k = {'9' * 100_000}\n"),
    ):
        yield Attack(shape, ("config", "check", name), prepare=written(name, text))
        if name == "f.toml":
            yield Attack(f"{shape}, in a sweep", ("sweep", name), prepare=written(name, text))
    for words in (("compare", "f.toml", *RUN), ("sweep", "f.toml"), ("search", "f.toml")):
        yield Attack(
            f"a file without an end of 1 GB, for {words[0]}",
            words,
            prepare=lambda folder: os.truncate(_made(folder / "f.toml"), 1 << 30),
        )


def _made(path: Path) -> Path:
    path.touch()
    return path


def readers(name: str) -> dict[str, tuple[str, ...]]:
    """Commands that read a file, by what it is to them."""
    return {
        "checked": ("config", "check", f"{name}.toml"),
        "job file, checked": ("config", "check", f"{name}.fio"),
        "device": ("compare", "base", *RUN[2:], "--device", f"{name}.toml"),
        "design": ("compare", f"{name}.toml", *RUN),
        "overlay": ("compare", f"base+{name}.toml", *RUN),
        "workload": ("compare", "base", *RUN[:2], "--workload", f"{name}.toml"),
        "job file": ("compare", "base", *RUN[:2], "--workload", f"{name}.fio"),
        "image": ("compare", "base", *RUN, "--image", f"{name}.toml"),
        "image, shown": ("image", "info", f"{name}.toml"),
        "sweep": ("sweep", f"{name}.toml"),
        "search": ("search", f"{name}.toml"),
        "results, drawn": ("report", f"{name}.json", "--report", "r.html"),
        "results, compared": ("diff", f"{name}.json", f"{name}.json"),
        "page times": ("analyze", "page-layout", f"{name}.toml"),
    }


def odd_files() -> Iterator[Attack]:
    """Things that are no files, where one is read."""
    things: dict[str, Callable[[str], Callable[[Path], object]]] = {
        "a pipe without a writer": pipe,
        "a socket": a_socket,
        "/dev/zero": lambda name: link(name, "/dev/zero"),
        "/dev/full": lambda name: link(name, "/dev/full"),
        "/proc/kmsg": lambda name: link(name, "/proc/kmsg"),
        "/proc/self/pagemap": lambda name: link(name, "/proc/self/pagemap"),
        "a folder": lambda name: lambda folder: (folder / name).mkdir(),
    }
    for thing, make in things.items():
        for reader, words in readers("f").items():
            name = next(word for word in words if word.startswith(("f.", "base+f.")))
            yield Attack(f"{thing} as {reader}", words, prepare=make(name.removeprefix("base+")))
        yield Attack(
            f"{thing} as a file that a job file includes",
            ("config", "check", "j.fio"),
            prepare=both(make("f.fio"), written("j.fio", "[j]\ninclude f.fio\n")),
        )
        for ending in ("py", "so"):
            custom = (
                f'[victim]\nchain = [{{ policy = "custom", file = "f.{ending}", name = "f" }}]\n'
            )
            yield Attack(
                f"{thing} as a policy of .{ending}",
                ("compare", "base+o.toml", *RUN),
                prepare=both(make(f"f.{ending}"), written("o.toml", HEADER + custom)),
            )
        if thing != "a folder":
            yield Attack(
                f"{thing} as the manifest of a folder of results",
                ("explain", "d"),
                prepare=both(lambda folder: (folder / "d").mkdir(), make("d/manifest.json")),
            )
        yield Attack(
            f"{thing} as the definition of a sweep",
            ("sweep", "show", "d"),
            prepare=both(lambda folder: (folder / "d").mkdir(), make("d/sweep.json")),
        )
    for thing in ("a socket", "/dev/zero", "/dev/full", "a folder", "/proc/kmsg"):
        yield Attack(
            f"{thing} as a trace",
            ("trace", "info", "t.trace"),
            prepare=things[thing]("t.trace"),
        )
        yield Attack(
            f"{thing} as a workload",
            ("compare", "base", *RUN[:2], "--workload", "t.trace"),
            prepare=things[thing]("t.trace"),
        )
    for number in (signal.SIGINT, signal.SIGTERM):
        for words in (("trace", "info", "p"), ("compare", "base", *RUN[:2], "--workload", "p")):
            yield Attack(
                f"{number.name} while a trace is awaited from a pipe, by {words[0]}",
                words,
                Wanted((130,), 1.0 + AFTER_SIGNAL_S),
                prepare=pipe("p"),
                interrupt=number,
            )


def entries_of_the_cache() -> Iterator[Attack]:
    """A pipe in the place of an aged drive that is kept."""
    words = ("compare", "base", "--device", "ttflash-48g", *RUN[2:])
    there = {"TINYTAIL_CACHE_GIB": "8"}

    def replaced(folder: Path) -> None:
        environment = {**os.environ, **there, "XDG_CACHE_HOME": str(folder / "cache")}
        subprocess.run([*TINYTAIL, *words], env=environment, capture_output=True, check=False)
        for entry in (folder / "cache").rglob("*.aged"):
            entry.unlink()
            os.mkfifo(entry)

    kept: dict[str, str | None] = {**there, "XDG_CACHE_HOME": "cache"}
    yield Attack(
        "a pipe as an aged drive that is kept",
        words,
        Wanted((0,), 60, shows=TABLE),
        prepare=replaced,
        environment=kept,
    )
    yield Attack(
        "a pipe as an aged drive that is listed",
        ("image", "cache"),
        Wanted((0,)),
        prepare=both(
            lambda folder: (folder / "cache/tinytail/aged").mkdir(parents=True),
            pipe("cache/tinytail/aged/0.aged"),
            pipe("cache/tinytail/aged/.unfinished-0"),
        ),
        environment=kept,
    )


def a_result(folder: Path, name: str = "r.json", designs: Sequence[str] = ("base",)) -> None:
    """Makes a file of results."""
    words = [*TINYTAIL, "compare", *designs, *RUN, "--json", name]
    subprocess.run(words, cwd=folder, capture_output=True, check=True)


def little_memory() -> Iterator[Attack]:
    """Limits of the address space."""
    for megabytes in (300, 400, 500, 575):
        limit = megabytes * 1_000_000
        both_of_them = both(partial(a_result, name="a.json"), partial(a_result, name="b.json"))
        yield Attack(
            f"small results compared in {megabytes} MB",
            ("diff", "a.json", "b.json"),
            Wanted((0,)),
            prepare=both_of_them,
            limit=limit,
        )
        yield Attack(
            f"small results drawn in {megabytes} MB",
            ("report", "r.json", "--report", "r.html", "--figures", "f"),
            Wanted((0, 1, 2), 60),
            prepare=a_result,
            limit=limit,
        )
    for megabytes in range(200, 900, 75):
        yield Attack(
            f"four designs run and drawn in {megabytes} MB",
            ("compare", *FOUR, *RUN, "--json", "j", "--report", "r.html", "--figures", "f"),
            Wanted((0, 1, 2), 60, 2 * MEMORY, shows=TABLE, keeps="j"),
            limit=megabytes * 1_000_000,
        )


def places() -> Iterator[Attack]:
    """Places that cannot be written to, and those that take what is written late."""
    places: dict[str, tuple[Callable[[Path], object], str]] = {
        "/dev/full": (nothing, "/dev/full"),
        "a pipe that nobody reads": (pipe("p"), "p"),
        "a socket": (a_socket("s"), "s"),
        "a folder that is not there": (nothing, "none/f"),
        "/proc": (nothing, "/proc/f"),
        "a name that is too long": (nothing, "f" * 300),
    }
    for place, (prepare, path) in places.items():
        for option in ("--log", "--timeline", "--json", "--report", "--figures", "--out"):
            if place == "/dev/full" and option in ("--json", "--report"):
                continue
            yield Attack(
                f"{place} for {option}",
                ("compare", "base", *RUN, option, path),
                prepare=prepare,
            )
        yield Attack(
            f"{place} for an image",
            ("image", "create", path, "--device", "ttflash-small", "--design", "base"),
            prepare=prepare,
        )
    for option in ("--json", "--report"):
        yield Attack(
            f"/dev/full for {option}",
            ("compare", "base", *RUN, option, "/dev/full", "--log", "l.parquet"),
            Wanted((1,), 30, shows=TABLE, says="No space left"),
        )
    yield Attack(
        "/dev/full for standard output",
        ("compare", "base", *RUN, "--json", "j", "--report", "r.html"),
        Wanted((1,), 30, says="No space left", keeps="j"),
        stdout="/dev/full",
    )

    def read_late(folder: Path) -> None:
        os.mkfifo(folder / "p")

        def read() -> None:
            with (folder / "p").open("rb") as file:
                time.sleep(3)
                (folder / "read").write_bytes(file.read())

        threading.Thread(target=read, daemon=True).start()

    yield Attack(
        "a pipe that is read late for --json",
        ("compare", "base", *RUN, "--json", "p"),
        Wanted((0,), 30, shows=TABLE, keeps="read"),
        prepare=read_late,
    )


def missing_traces() -> Iterator[Attack]:
    """A named workload without its trace."""
    yield Attack(
        "no TINYTAIL_TRACES",
        ("compare", *FOUR, "--device", "ttflash-256g", "--workload", "dtrs", "--report", "r.html"),
        Wanted(says="set the environment variable TINYTAIL_TRACES", lacks="r.html"),
        environment={"TINYTAIL_TRACES": None},
    )


def large_traces() -> Iterator[Attack]:
    """What reading a trace takes beside the program itself: three times its size at most."""
    lines = 500_000

    def trace(places: int) -> str:
        draw = random.Random(1)
        every = (f"{i * 10_000} 0 {draw.randrange(places) * 8} 8 {i % 2}\n" for i in range(lines))
        return "".join(every)

    # Addresses end at 2^63 bytes.
    for what, bits in (("near each other", 20), ("far apart", 40), ("as far apart as may be", 51)):
        text = trace(1 << bits)
        for words in (
            ("trace", "info", "t.trace", "--time-unit", "ns"),
            (
                *("compare", "base", *RUN[:2], "--workload", "t.trace", "--time-unit", "ns"),
                *("--fit", "fold", "--requests", "2000", "--no-warm-up"),
            ),
        ):
            yield Attack(
                f"a trace of {lines:,} places {what}, by {words[0]}",
                words,
                Wanted((0,), 60, PROGRAM + 3 * len(text)),
                prepare=written("t.trace", text),
            )


def odd_traces() -> Iterator[Attack]:
    """Traces of few bytes that ask for much, and texts that are nearly one."""
    line = "1 0 8 8 1\n"
    lasts = "  8,0    1        1     {}.000000000  1234  D   R 8 + 8 [fio]\n"
    for what, name, text in (
        (
            "20,000 requests of 2 TiB",
            "t.trace",
            "".join(f"{i} 0 {i * 40_503 % (1 << 20) << 32} 4294967295 0\n" for i in range(20_000)),
        ),
        (
            "500,000 requests of 256 MiB",
            "t.trace",
            "".join(f"{i} 0 {i * 40_503 % (1 << 20) << 19} 524288 1\n" for i in range(500_000)),
        ),
        (
            "500,000 requests to one sector that never completed",
            "t.blk",
            "".join(lasts.format(i) for i in range(500_000)),
        ),
    ):
        words = ("trace", "info", name, *(("--time-unit", "ns") if name == "t.trace" else ()))
        memory = PROGRAM + max(3 * len(text), 16 * MIB)
        yield Attack(what, words, Wanted((0,), SOON_S, memory), prepare=written(name, text))
    for encoding, says in (
        ("utf-16-le", "iconv -f UTF-16LE"),
        ("utf-16-be", "iconv -f UTF-16BE"),
        ("utf-32", "iconv -f UTF-32"),
    ):
        content = (line * 1000).encode(encoding)
        yield Attack(
            f"a trace in {encoding}",
            ("trace", "info", "t.trace", "--time-unit", "ns"),
            Wanted(says=says),
            prepare=partial(_put, content),
        )
    yield Attack(
        "a trace whose lines end in carriage returns",
        ("trace", "info", "t.trace", "--time-unit", "ns"),
        Wanted(says="tr '\\r' '\\n'"),
        prepare=partial(_put, line.replace("\n", "\r").encode() * 100_000),
    )


def _put(content: bytes, folder: Path) -> None:
    (folder / "t.trace").write_bytes(content)


def power_cuts() -> Iterator[Attack]:
    """Drives on which commands end at once, so that there is always room for another one."""
    for words in (
        ("timing.ram_ns=0", "ram.buffer_kib=2000000"),
        ("timing.ram_ns=0", "ram.buffer_kib=64"),
        ("timing.ram_ns=1000", "ram.buffer_kib=2000000"),
    ):
        given = [word for each in words for word in ("--set", each)]
        yield Attack(
            f"losses of power with {' and '.join(words)}",
            ("verify", "power-cut", "base", "--device", "ttflash-small", "--cuts", "5", *given),
            Wanted((0,), 60, 1024 * MIB),
        )


def policies(name: str, body: str, head: str = "") -> Callable[[Path], object]:
    """Prepares an overlay with a policy of victims, in Python."""
    function = f"def {name}(view, plane, candidates):\n"
    chain = f'[victim]\nchain = [{{ policy = "custom", file = "p.py", name = "{name}" }}]\n'
    decorated = f"import tinytail\n{head}"
    return both(
        written("p.py", f"{decorated}{function}{body}"), written("p.toml", f"{HEADER}{chain}")
    )


def programs() -> Iterator[Attack]:
    """Designs whose policies are programs: run where nobody asked, endless, fatal, writing."""
    plain, compiled = '@tinytail.policy("victim")\n', '@tinytail.policy("victim", compiled=True)\n'
    best = "    return candidates[0]\n"
    for words in (("config", "check", "p.toml"), ("designs", "base+p.toml"), ("designs", "p.toml")):
        yield Attack(
            f"a policy that writes when it is imported, by {' '.join(words)}",
            words,
            Wanted((0,), lacks="ran"),
            prepare=policies("trap", best, f'open("ran", "w").close()\n{plain}'),
        )
    for what, body in (
        ("signal 11", "    import os\n    os.kill(os.getpid(), 11)\n"),
        ("signal 7", "    import os\n    os.kill(os.getpid(), 7)\n"),
        ("signal 6", "    import os\n    os.abort()\n"),
        ("an exit", "    import os\n    os._exit(3)\n"),
    ):
        yield Attack(
            f"a policy that ends its process by {what}",
            ("compare", "base", "base+p.toml", *RUN, "--json", "j"),
            Wanted((1,), 60, shows=TABLE, keeps="j"),
            prepare=policies("end", body + best, plain),
        )
    for what, body in (
        ("endless", "    while True:\n        pass\n"),
        ("sleeping", "    import time\n    time.sleep(1000)\n"),
    ):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            yield Attack(
                f"{number.name} while a policy is {what}",
                ("compare", "base+p.toml", *RUN),
                Wanted((130,), 3.0 + AFTER_SIGNAL_S),
                prepare=policies("stay", body, plain),
                interrupt=number,
            )
    for table in ("erases", "valid_pages"):
        for kind, head in (("Python", plain), ("compiled Python", compiled)):
            yield Attack(
                f"a policy in {kind} that writes {table} of the drive",
                ("compare", "base+p.toml", *RUN, "--verify"),
                Wanted((1, 2), 60),
                prepare=policies("write", f"    view.{table}[candidates[0]] = 0\n{best}", head),
            )


def many_points() -> Iterator[Attack]:
    """Sweeps of many points that are interrupted."""
    for points in (100, 10_000, 100_000):
        text = SWEEP.replace("[1, 2, 4]", "[1]")
        axis = f"synthetic.queue_depth = {{ from = 1, to = {points}, step = 1 }}\n"
        yield Attack(
            f"SIGINT while {points:,} points are run",
            ("sweep", "s.toml"),
            Wanted((130, 0), 3.0 + AFTER_SIGNAL_S),
            prepare=written("s.toml", text + axis),
            interrupt=signal.SIGINT,
        )


def control_characters() -> Iterator[Attack]:
    """Texts of files that a terminal would obey."""
    escaped = "\\u001b[31m\\u0007\\u009b2J\\u007f"
    text = f'name = "esc"\nkind = "overlay"\nsummary = "{escaped}"\n[gc]\nwrite_points = 2\n'
    made = written("esc.toml", text)
    yield Attack("a summary that colours", ("designs", "esc.toml"), Wanted((0,)), prepare=made)
    yield Attack(
        "a summary that colours, as JSON",
        ("compare", "base+esc.toml", *RUN, "--json", "-"),
        Wanted((0,), 30),
        prepare=made,
    )
    yield Attack(
        "a key that colours",
        ("config", "check", "esc.toml"),
        prepare=written("esc.toml", text + f'"{escaped}" = 1\n'),
    )
    yield Attack("a name that colours", ("compare", "base\x1b[31m", *RUN))


def changed_files() -> Iterator[Attack]:
    """Kept results of which a bit or a value has changed."""

    def swept(folder: Path) -> None:
        (folder / "s.toml").write_text(SWEEP, "utf-8")
        subprocess.run([*TINYTAIL, "sweep", "s.toml"], cwd=folder, capture_output=True, check=True)

    def flipped(number: int, folder: Path) -> None:
        swept(folder)
        drawn = random.Random(number)
        files = [path for path in sorted((folder / "s").rglob("*")) if path.is_file()]
        path = drawn.choice([path for path in files if path.stat().st_size])
        content = bytearray(path.read_bytes())
        content[drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)
        path.write_bytes(content)
        shutil.copytree(folder / "s", folder / "t")

    for number in range(10):
        yield Attack(
            f"bit {number} of a sweep's files flipped",
            ("sweep", "show", "s"),
            # The copy of the definition is not read.
            Wanted((0, 2)),
            prepare=partial(flipped, number),
        )

    def changed(change: Callable[[str], str], folder: Path) -> None:
        a_result(folder, "a.json")
        (folder / "b.json").write_text(change((folder / "a.json").read_text("utf-8")), "utf-8")

    for what, change, wanted in (
        ("another design", lambda text: text.replace('"base"', '"firmware"'), Wanted((1,))),
        (
            "a count of 1e18",
            lambda text: re.sub(r'"erases": \d+', '"erases": 1e18', text),
            Wanted(says="erases"),
        ),
        (
            "a mean of 1e999",
            lambda text: re.sub(r'"mean_us": [\d.]+', '"mean_us": 1e999', text),
            Wanted(says="mean_us"),
        ),
    ):
        yield Attack(
            f"results compared with {what}",
            ("diff", "a.json", "b.json"),
            wanted,
            prepare=partial(changed, change),
        )


def silent_schedulers() -> Iterator[Attack]:
    """An address of a cluster that accepts and says nothing."""
    server = socket.create_server(("127.0.0.1", 0))
    SERVERS.append(server)
    yield Attack(
        "a silent address as a cluster",
        ("sweep", "s.toml", "--cluster", f"tcp://127.0.0.1:{server.getsockname()[1]}"),
        Wanted((1,), 30, says="no scheduler of Dask answers"),
        prepare=written("s.toml", SWEEP),
    )


KINDS = (
    *(long_files, odd_files, entries_of_the_cache, little_memory, places, missing_traces),
    *(large_traces, odd_traces, power_cuts, programs, many_points, control_characters),
    *(changed_files, silent_schedulers),
)


def main() -> int:
    """Plays the attacks, and prints what came of each."""
    chosen = [
        attack
        for kind in KINDS
        for attack in kind()
        if all(word in attack.name for word in sys.argv[1:])
    ]
    lost = 0
    print("| attack | what happened | wanted | held |\n|---|---|---|---|")  # noqa: T201
    for attack in chosen:
        with tempfile.TemporaryDirectory() as name:
            ended = play(attack, Path(name))
            fault = attack.wanted.fault(ended, Path(name))
        lost += bool(fault)
        held = f"no: {fault}" if fault else "yes"
        print(f"| {attack.name} | {ended} | {attack.wanted} | {held} |", flush=True)  # noqa: T201
    print(f"\n{len(chosen) - lost} of {len(chosen)} held")  # noqa: T201
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
