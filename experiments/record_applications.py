"""Records what databases ask of a drive: PostgreSQL with pgbench, SQLite, RocksDB with db_bench.

Each database is loaded on ext4 on a served drive; then the drive is served anew with the same data,
and a benchmark runs while all that arrives is recorded. The drive's data are in a file in memory,
so that flushes take what they take in the model: nothing. The memory of the benchmark, the system's
cache of its files included, is limited by a control group, so that there are reads as well.

Needs root, nbdfuse and loop devices, mkfs.ext4, the memory controller (version 1 of control
groups), and of the databases those that are recorded: postgresql (with its user), rocksdb-tools.
Run: .venv/bin/python experiments/record_applications.py FOLDER [postgresql|sqlite|rocksdb...]
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

DRIVE = ("--device", "lowlatency-240g-small", "--design", "base+ideal-gc", "--size", "2600M")
GROUP = Path("/sys/fs/cgroup/memory/tinytail-recording")
MEMORY_BYTES = 160 << 20
SECONDS = 30
IN_MEMORY = "/dev/shm"
POSTGRES = Path("/usr/lib/postgresql")

Work = Callable[[Path], None]


def run(*words: str, user: str | None = None, limited: bool = False) -> None:
    """Runs a program, as a user and with little memory where that is wanted."""

    def enter() -> None:
        (GROUP / "cgroup.procs").write_text(str(os.getpid()))

    # The group is entered by root, before it becomes the user.
    becoming = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups") if user else ()
    done = subprocess.run(
        [*becoming, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=enter if limited else None,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stdout}")


def wait_for(happened: Callable[[], bool]) -> None:
    """Waits until something has happened, for ten seconds at most."""
    deadline = time.monotonic() + 10
    while not happened():
        if time.monotonic() > deadline:
            sys.exit("the drive could not be mounted")
        time.sleep(0.05)


@contextmanager
def mounted(folder: Path, data: Path, recording: Path | None, *, new: bool) -> Iterator[Path]:
    """A served drive with ext4 on it, mounted."""
    socket, door, mount = folder / "socket", folder / "door", folder / "mount"
    words = [sys.executable, "-m", "tinytail", "serve", *DRIVE, "--data", str(data)]
    words += ["--nbd", f"unix:{socket}"]
    if recording is not None:
        words += ["--record", str(recording), "--force"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    if "serving at" not in server.stdout.readline():
        sys.exit("the drive could not be served")
    for needed in (door, mount):
        needed.mkdir(exist_ok=True)
    fuse = subprocess.Popen(["nbdfuse", str(door), "--unix", str(socket)])
    file = door / "nbd"
    wait_for(file.exists)
    setup = ["losetup", "--find", "--show", "--direct-io=on", str(file)]
    loop = subprocess.run(setup, capture_output=True, text=True, check=True).stdout.strip()
    try:
        if new:
            run("mkfs.ext4", "-q", "-F", loop)
        run("mount", loop, str(mount))
        try:
            yield mount
        finally:
            run("umount", str(mount))
    finally:
        run("losetup", "--detach", loop)
        run("fusermount3", "-u", str(door))
        fuse.wait(timeout=30)
        server.send_signal(signal.SIGTERM)
        described, _ = server.communicate(timeout=60)
        sys.stdout.write(described)


def postgres_program(name: str) -> str:
    """A program of the newest PostgreSQL that is installed."""
    return str(sorted(POSTGRES.glob(f"*/bin/{name}"))[-1])


def postgres_control(mount: Path, word: str) -> None:
    """Starts or stops the server."""
    options = f"-k {mount} -c listen_addresses='' -c shared_buffers=32MB"
    words = (postgres_program("pg_ctl"), "-w", "-D", str(mount / "db"), "-l", "/dev/null")
    extra = ("-o", options) if word == "start" else ("-m", "fast")
    run(*words, *extra, word, user="postgres", limited=word == "start")


def load_postgresql(mount: Path) -> None:
    """A database of pgbench at scale 60, about 900 MB."""
    shutil.chown(mount, "postgres", "postgres")
    run(postgres_program("initdb"), "-D", str(mount / "db"), user="postgres")
    postgres_control(mount, "start")
    bench = (postgres_program("pgbench"), "-h", str(mount), "postgres")
    run(*bench, "-q", "-i", "-s", "60", user="postgres")
    postgres_control(mount, "stop")


def run_postgresql(mount: Path) -> None:
    """The standard transactions of pgbench (TPC-B-like), by eight clients."""
    postgres_control(mount, "start")
    bench = (postgres_program("pgbench"), "-h", str(mount), "postgres")
    words = ("-c", "8", "-j", "2", "-T", str(SECONDS), "--random-seed=1")
    run(*bench, *words, user="postgres", limited=True)
    postgres_control(mount, "stop")


def sqlite_connection(mount: Path) -> sqlite3.Connection:
    """A connection as careful as SQLite is by default, with a small cache."""
    connection = sqlite3.connect(mount / "db.sqlite", isolation_level=None)
    connection.execute("PRAGMA cache_size = -8192")
    return connection


def load_sqlite(mount: Path) -> None:
    """A million rows of about 400 bytes with an index of its own."""
    choose = random.Random(1)
    connection = sqlite_connection(mount)
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, tag INTEGER, body BLOB)")
    connection.execute("CREATE INDEX tags ON rows (tag)")
    connection.execute("BEGIN")
    rows = ((at, choose.randrange(2**40), choose.randbytes(400)) for at in range(1_000_000))
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")
    connection.close()


def run_sqlite(mount: Path) -> None:
    """Transactions that read 8 rows, change 4 and add one, each made safe (rollback journal)."""
    run(sys.executable, __file__, "--sqlite", str(mount), limited=True)


def work_sqlite(mount: Path) -> None:
    """What `run_sqlite` does, in a process of its own with little memory."""
    choose = random.Random(2)
    connection = sqlite_connection(mount)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(8):
            key = (choose.randrange(1_000_000),)
            connection.execute("SELECT body FROM rows WHERE id = ?", key).fetchone()
        for _ in range(4):
            change = (choose.randbytes(400), choose.randrange(1_000_000))
            connection.execute("UPDATE rows SET body = ? WHERE id = ?", change)
        added = (choose.randrange(2**40), choose.randbytes(400))
        connection.execute("INSERT INTO rows (tag, body) VALUES (?, ?)", added)
        connection.execute("COMMIT")
    connection.close()


def rocksdb(mount: Path, *words: str, limited: bool) -> None:
    """db_bench with one database of 1.5 million keys."""
    common = ("--num=1500000", "--value_size=400", "--compression_type=none", "--seed=1")
    caches = ("--cache_size=16777216", "--write_buffer_size=8388608", "--bloom_bits=10")
    run("db_bench", f"--db={mount}/db", *common, *caches, *words, limited=limited)


def load_rocksdb(mount: Path) -> None:
    """All keys, in random order."""
    rocksdb(mount, "--benchmarks=fillrandom,waitforcompaction", limited=False)


def run_rocksdb(mount: Path) -> None:
    """Random reads by four threads beside writes by one, and their compactions."""
    words = ("--benchmarks=readwhilewriting", "--use_existing_db=1", "--threads=4")
    limits = (f"--duration={SECONDS}", "--benchmark_write_rate_limit=4194304")
    rocksdb(mount, *words, *limits, limited=True)


APPLICATIONS: dict[str, tuple[Work, Work]] = {
    "postgresql": (load_postgresql, run_postgresql),
    "sqlite": (load_sqlite, run_sqlite),
    "rocksdb": (load_rocksdb, run_rocksdb),
}


def main() -> None:
    """Records the applications that are named, or all."""
    if sys.argv[1:2] == ["--sqlite"]:
        work_sqlite(Path(sys.argv[2]))
        return
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1])
    GROUP.mkdir(exist_ok=True)
    (GROUP / "memory.limit_in_bytes").write_text(str(MEMORY_BYTES))
    try:
        for name in sys.argv[2:] or APPLICATIONS:
            load, work = APPLICATIONS[name]
            with (
                tempfile.TemporaryDirectory() as scratch,
                tempfile.TemporaryDirectory(dir=IN_MEMORY) as memory,
            ):
                folder, data = Path(scratch), Path(memory, "data")
                folder.chmod(0o755)
                with mounted(folder, data, None, new=True) as mount:
                    load(mount)
                recording = target / f"{name}.trace.zst"
                with mounted(folder, data, recording, new=False) as mount:
                    work(mount)
                sys.stdout.write(f"{recording}: {recording.stat().st_size:,} bytes\n")
    finally:
        GROUP.rmdir()


if __name__ == "__main__":
    main()
