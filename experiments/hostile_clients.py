"""Whether clients that mean harm can hurt a served drive: its memory, other clients, or its end.

Each attack has a server of its own, on a socket in a temporary folder, and processes that attack
it for some seconds. Meanwhile a client that means well reads 4 KiB again and again. Then SIGTERM
ends the server, under attack. Writes, as a Markdown table, the most memory that the process had of
its own, the longest wait of a read, what else was measured, how the server ended, and whether it
held. The exit code is 1 if one of them did not.

The limits: memory is what clients may have together, 80 MiB here, and 100 MiB for the process; a
read waits for half a second, on two cores that the attackers use as well; SIGTERM is heeded within
10 s. What else an attack is held to is in its row.

Takes a minute and a half. Run: .venv/bin/python experiments/hostile_clients.py [ATTACK ...]
"""

from __future__ import annotations

import argparse
import errno
import json
import multiprocessing
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

MIB = 2**20
CLIENT_MEMORY_MIB = 80
MEMORY_MIB_MAX = CLIENT_MEMORY_MIB + 100
# Where a server has so much it is ended: this machine has other work.
MEMORY_MIB_ABORT = 1024
WAIT_S_MAX = 0.5
END_S_MAX = 10.0
SECONDS = 8
# So long a client that means well waits before it gives up.
PATIENCE_S = 30.0
PAYLOAD_BYTES_MAX = 32 * MIB

READ, WRITE, FLUSH, TRIM, ZERO = 0, 1, 3, 4, 6
NO_HOLE = 2
LIST = struct.pack(">8sII", b"IHAVEOPT", 3, 0)
EXPORT_NAME = struct.pack(">8sII", b"IHAVEOPT", 1, 0)


def say(line: str) -> None:
    """Writes a line as soon as it is known."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Client:
    """A client that has taken the export."""

    def __init__(self, path: str, timeout_s: float | None = None) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        # With a timeout, it would fail at once where others wait to be taken.
        self.socket.connect(path)
        self.socket.settimeout(timeout_s)
        self._receive(18)
        self.socket.sendall(struct.pack(">I", 3) + EXPORT_NAME)
        self.bytes: int = struct.unpack(">QH", self._receive(10))[0]

    def send(self, command: int, offset: int, length: int, flags: int = 0) -> None:
        """Sends a request, without the payload of a write."""
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, flags, command, 1, offset, length))

    def ask(self, command: int, offset: int, length: int, payload: bytes = b"") -> int:
        """Sends a request and returns the error of its reply."""
        self.send(command, offset, length)
        self.socket.sendall(payload)
        error: int = struct.unpack(">IIQ", self._receive(16))[1]
        if command == READ and error == 0:
            self._receive(length)
        return error

    def _receive(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            some = self.socket.recv(length - len(found))
            if not some:
                raise ConnectionError("the server has closed the connection")
            found += some
        return found


@dataclass
class Measured:
    """What an attack came to."""

    memory_mib: int = 0
    wait_s: float = 0.0
    end_s: float = 0.0
    exit_code: int | None = None
    exit_code_wanted: int = 0
    else_measured: str = ""
    failures: list[str] = field(default_factory=list)

    def fail_unless(self, holds: bool, what: str) -> None:
        """Keeps what did not hold."""
        if not holds:
            self.failures.append(what)


class Server:
    """A server in a process of its own, and what it does under attack."""

    def __init__(self, folder: str, *words: str, descriptors: int | None = None) -> None:
        self.socket = str(Path(folder, "socket"))
        self.json = Path(folder, "summary.json")
        command = [sys.executable, "-m", "tinytail", "serve", "--device", "ttflash-small"]
        command += ["--design", "base", "--no-delay", "--client-memory", f"{CLIENT_MEMORY_MIB}M"]
        command += ["--nbd", f"unix:{self.socket}", "--json", str(self.json), *words]
        limit = None if descriptors is None else _limiter(descriptors)
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,
        )
        self.measured = Measured()
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._watch_memory, daemon=True)
        self._watch.start()

    def wait_until_it_serves(self) -> None:
        """Returns when clients can come."""
        assert self.process.stdout is not None
        if "serving at" not in self.process.stdout.readline():
            said = self.process.communicate()[1].strip().splitlines()
            raise ConnectionError(f"the drive could not be served: {said[-1] if said else ''}")

    def _watch_memory(self) -> None:
        status = Path(f"/proc/{self.process.pid}/status")
        while not self._ended.wait(0.02):
            with suppress(OSError, IndexError):
                found = int(status.read_text().split("RssAnon:")[1].split()[0]) // 1024
                self.measured.memory_mib = max(self.measured.memory_mib, found)
                if found > MEMORY_MIB_ABORT:
                    self.process.kill()

    def end(self) -> Measured:
        """Ends it by SIGTERM, once, and returns what was measured."""
        if self._ended.is_set():
            return self.measured
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self.measured.end_s = time.monotonic() - began
        self.measured.exit_code = self.process.returncode
        self._ended.set()
        self._watch.join()
        return self.measured


def _limiter(descriptors: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))


@contextmanager
def attacked_by(count: int, attack: Callable[[str], None], path: str) -> Iterator[None]:
    """Has processes attack a socket meanwhile."""
    processes = multiprocessing.get_context("fork")
    attackers = [
        processes.Process(target=again_and_again, args=(attack, path), daemon=True)
        for _ in range(count)
    ]
    for attacker in attackers:
        attacker.start()
    try:
        yield
    finally:
        for attacker in attackers:
            attacker.kill()
            attacker.join()


def read_meanwhile(server: Server, seconds: float = SECONDS) -> None:
    """Reads 4 KiB again and again, and measures the longest wait."""
    began = time.monotonic()
    until = began + seconds
    try:
        client = Client(server.socket, PATIENCE_S)
        while time.monotonic() < until:
            began = time.monotonic()
            error = client.ask(READ, 0, 4096)
            server.measured.wait_s = max(server.measured.wait_s, time.monotonic() - began)
            server.measured.fail_unless(error == 0, f"a read failed with {error}")
            time.sleep(0.002)
    except OSError as error:
        server.measured.wait_s = max(server.measured.wait_s, time.monotonic() - began)
        server.measured.failures.append(f"a client that means well: {error}")


def flood_options(path: str) -> None:
    """Repeats an option of the negotiation, and reads no answer."""
    with socket.socket(socket.AF_UNIX) as greedy:
        greedy.connect(path)
        greedy.sendall(struct.pack(">I", 3))
        while True:
            greedy.sendall(LIST * 4096)


def again_and_again(attack: Callable[[str], None], path: str) -> None:
    """An attack, again when the server has hung up."""
    while True:
        with suppress(OSError):
            attack(path)
        time.sleep(0.01)


def trickle_writes(path: str) -> None:
    """Ten clients send most of a write, then a byte now and then; who is hung up on comes again."""

    def one(path: str) -> None:
        client = Client(path)
        client.send(WRITE, 0, PAYLOAD_BYTES_MAX)
        client.socket.sendall(bytes(PAYLOAD_BYTES_MAX - 100))
        while True:
            client.socket.sendall(b"x")
            time.sleep(4)

    in_threads(10, one, path)


def read_slowly(path: str) -> None:
    """250 clients: half of them trickle writes, the others ask for much and read little of it."""

    def write(path: str) -> None:
        client = Client(path)
        client.send(WRITE, 0, PAYLOAD_BYTES_MAX)
        client.socket.sendall(bytes(60_000))
        while True:
            client.socket.sendall(bytes(10_000))
            time.sleep(0.2)

    def read(path: str) -> None:
        client = Client(path)
        for _ in range(1000):
            client.send(READ, 0, MIB)
        for length in (900, 4096):
            client.send(READ, 0, length)
        while client.socket.recv(1000):
            time.sleep(0.2)

    for attack in (write, read):
        in_threads(125, attack, path, wait=attack is read)


def in_threads(count: int, attack: Callable[[str], None], path: str, *, wait: bool = True) -> None:
    """So many attackers in threads of this process."""
    for _ in range(count):
        threading.Thread(target=again_and_again, args=(attack, path), daemon=True).start()
    if wait:
        time.sleep(3600)


def zero_everything(path: str) -> None:
    """Asks for zeroes over the whole drive, in thousands of requests, in each way there is."""

    def one(path: str) -> None:
        client = Client(path)
        for number in range(1000):
            command, flags = ((ZERO, NO_HOLE), (ZERO, 0), (TRIM, 0))[number % 3]
            client.send(command, 0, client.bytes, flags)
        while client.socket.recv(65_536):
            pass

    in_threads(4, one, path)


def connect_often(path: str) -> None:
    """Connects and stays, 400 times, from before the drive is served."""
    held = []
    while len(held) < 400:
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.connect(path)
            held.append(stream)
        except OSError:
            time.sleep(0.001)
    time.sleep(3600)


def connect_and_leave(path: str) -> None:
    """Connects and leaves, as fast as it goes."""
    while True:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as stream:
            stream.connect(path)


def unread_negotiation(server: Server) -> None:
    """A client repeats NBD_OPT_LIST and reads no answer."""
    server.wait_until_it_serves()
    with attacked_by(1, flood_options, server.socket):
        read_meanwhile(server)
        server.end()


def trickled_writes(server: Server) -> None:
    """Ten clients hold the memory of all, byte by byte; another one writes 1 MiB."""
    server.wait_until_it_serves()
    with attacked_by(1, trickle_writes, server.socket):
        time.sleep(1)
        read = threading.Thread(target=read_meanwhile, args=(server, 2 * SECONDS))
        read.start()
        began = time.monotonic()
        error = Client(server.socket, PATIENCE_S).ask(WRITE, 40 * MIB, MIB, bytes(MIB))
        waited = time.monotonic() - began
        read.join()
        measured = server.end()
    measured.else_measured = f"the write waited for {waited:.1f} s"
    measured.fail_unless(
        error == 0 and waited <= PATIENCE_S, "a write of 1 MiB waits for 30 s at most"
    )


def slow_clients(server: Server) -> None:
    """250 clients send slowly, and read slowly what they have asked for."""
    server.wait_until_it_serves()
    with attacked_by(1, read_slowly, server.socket):
        read_meanwhile(server, 2 * SECONDS)
        server.end()


def long_requests(server: Server) -> None:
    """4,000 trims and writes of zeroes over the whole drive are asked for at once, and again."""
    server.wait_until_it_serves()
    with attacked_by(1, zero_everything, server.socket):
        read_meanwhile(server)
        server.end()


def few_descriptors(server: Server) -> None:
    """400 connections as soon as there is a socket, to a server with 256 descriptors."""
    with attacked_by(1, connect_often, server.socket):
        server.wait_until_it_serves()
        client = Client(server.socket, PATIENCE_S)
        error = client.ask(WRITE, 0, 4096, bytes(4096))
        read_meanwhile(server)
        measured = server.end()
    measured.fail_unless(error == 0, "a write succeeds")
    summary = json.loads(server.json.read_text("utf-8")) if server.json.exists() else {}
    writes = summary.get("write", {}).get("count", 0)
    measured.else_measured = f"{writes} write in the summary"
    measured.fail_unless(writes == 1, "the summary is written")


def come_and_go(server: Server) -> None:
    """Four processes connect and leave; others want to stay."""
    server.wait_until_it_serves()
    came, failed, longest_s = 0, 0, 0.0
    with attacked_by(4, connect_and_leave, server.socket):
        read = threading.Thread(target=read_meanwhile, args=(server,))
        read.start()
        while read.is_alive():
            began = time.monotonic()
            try:
                came += 1
                Client(server.socket, PATIENCE_S).ask(READ, 0, 4096)
            except OSError:
                failed += 1
            longest_s = max(longest_s, time.monotonic() - began)
        measured = server.end()
    measured.else_measured = (
        f"{failed} of {came} connections failed, the slowest took {longest_s:.1f} s"
    )
    measured.fail_unless(failed == 0, "no connection fails")


def changed_file(server: Server) -> None:
    """Another program cuts the data file to nothing, lets it grow again, and writes into it."""
    data = Path(server.socket).with_name("data")
    server.wait_until_it_serves()
    client = Client(server.socket)
    errors = [client.ask(WRITE, 0, 4096, bytes(4096)), client.ask(FLUSH, 0, 0)]
    read_meanwhile(server, 0.5)
    with data.open("r+b") as file:
        file.truncate(0)
        file.truncate(64 * MIB)
        file.write(b"foreign")
    time.sleep(0.1)
    errors.append(client.ask(WRITE, 4096, 4096, bytes(4096)))
    told = client.ask(FLUSH, 0, 0)
    measured = server.end()
    measured.fail_unless(not any(errors), f"what comes before succeeds: {errors}")
    measured.fail_unless(told == errno.EIO, "the next flush fails with EIO")
    measured.else_measured = f"the next flush: {os.strerror(told) if told else 'OK'}"
    measured.exit_code_wanted = 1


ATTACKS: dict[str, Callable[[Server], None]] = {
    "unread-negotiation": unread_negotiation,
    "trickled-writes": trickled_writes,
    "slow-clients": slow_clients,
    "long-requests": long_requests,
    "few-descriptors": few_descriptors,
    "come-and-go": come_and_go,
    "changed-file": changed_file,
}


def attack(name: str) -> bool:
    """Runs an attack and prints its row. Returns whether the server held."""
    with tempfile.TemporaryDirectory(prefix="tinytail-hostile-") as folder:
        # Trims are worth the most on the whole drive.
        words = [] if name == "long-requests" else ["--size", "64M"]
        if name == "changed-file":
            words += ["--data", str(Path(folder, "data"))]
        server = Server(folder, *words, descriptors=256 if name == "few-descriptors" else None)
        try:
            ATTACKS[name](server)
        except OSError as error:
            server.measured.failures.append(str(error))
        measured = server.end()
    measured.fail_unless(
        measured.memory_mib <= MEMORY_MIB_MAX, f"memory is {MEMORY_MIB_MAX} MiB at most"
    )
    measured.fail_unless(
        measured.wait_s <= WAIT_S_MAX, f"a read waits for {WAIT_S_MAX * 1000:.0f} ms at most"
    )
    measured.fail_unless(measured.end_s <= END_S_MAX, f"SIGTERM ends it within {END_S_MAX:.0f} s")
    wanted = measured.exit_code_wanted
    measured.fail_unless(measured.exit_code == wanted, f"the exit code is {wanted}")
    held = "held" if not measured.failures else "**not held**: " + "; ".join(measured.failures)
    about = (ATTACKS[name].__doc__ or "").strip()
    say(
        f"| {name} | {about} | {measured.memory_mib} MiB | {measured.wait_s * 1000:.1f} ms "
        f"| {measured.else_measured} | {measured.end_s:.1f} s, {measured.exit_code} | {held} |"
    )
    return not measured.failures


def main() -> int:
    """Runs the attacks and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    names = parser.parse_args().attacks or list(ATTACKS)
    unknown = [name for name in names if name not in ATTACKS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    say(
        "| attack | what is done | memory | longest read | besides | end, exit code | |\n"
        "|---|---|--:|--:|---|---|---|"
    )
    held = [attack(name) for name in names]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
