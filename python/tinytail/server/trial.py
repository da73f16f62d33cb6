"""A drive in a process of its own, and a personality of filebench played on it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tinytail.errors import RunError
from tinytail.server import size_bytes
from tinytail.server.client import NbdDevice
from tinytail.server.flowops import Heed, Player, personality

_STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Running:
    """A server: its socket, and the files that it leaves when it is stopped."""

    process: subprocess.Popen[str]
    folder: Path

    @property
    def socket(self) -> Path:
        """Where clients find it."""
        return self.folder / "socket"

    @property
    def log(self) -> Path:
        """The log of every request, if one was asked for."""
        return self.folder / "log.parquet"

    def stop(self) -> dict[str, Any]:
        """Ends it in good order; its summary.

        Raises:
            RunError: something went wrong at its end.
        """
        self.process.send_signal(signal.SIGTERM)
        _, error = self.process.communicate(timeout=_STOP_SECONDS)
        if self.process.returncode != 0:
            raise RunError(f"the served drive ended badly: {error.strip()}")
        summary: dict[str, Any] = json.loads((self.folder / "summary.json").read_text("utf-8"))
        return summary


@contextmanager
def serving(words: Sequence[str], *, log: bool = False) -> Iterator[Running]:
    """Serves a drive, with these words of the command line, for as long as the context lasts.

    Raises:
        RunError: it could not be served.
    """
    with tempfile.TemporaryDirectory(prefix="tinytail-served-") as folder:
        command = [sys.executable, "-m", "tinytail", "serve", *words]
        command += ["--nbd", f"unix:{folder}/socket", "--json", f"{folder}/summary.json"]
        command += ["--log", f"{folder}/log.parquet"] if log else []
        # Ctrl-C is for the one who plays: the server is stopped by that.
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                assert process.stdout is not None
                if "serving at" not in process.stdout.readline():
                    raise RunError(f"the drive could not be served: {process.communicate()[1]}")
                yield Running(process, Path(folder))
            finally:
                process.kill()


@dataclass(frozen=True, slots=True)
class Trial:
    """A personality to be played on a served drive.

    `size` is the volume that clients see. The personality writes `warm_up` first, a word such as
    128M; then `seconds` of the drive's time are measured. `dilate` is that of `serve`.
    """

    personality: str
    device: str
    design: str
    size: str
    seconds: float
    warm_up: str
    dilate: float = 1.0
    seed: int = 1

    def played(self) -> dict[str, Any]:
        """The personality, as data.

        Raises:
            ConfigError: there is none of this name.
        """
        return asdict(personality(self.personality))

    def run(self, heed: Heed = lambda *_: None) -> dict[str, Any]:
        """Serves the drive and plays; what came of it.

        Latencies are those of the model, of the reads that came while it was measured. What is said
        of lateness is of all that was served.

        Raises:
            ConfigError: an unknown personality, device or design.
            RunError: it could not be served or played.
        """
        played = personality(self.personality)
        words = ["--device", self.device, "--design", self.design, "--size", self.size]
        words += ["--dilate", str(self.dilate), "--seed", str(self.seed)]
        with serving(words, log=True) as server:
            with NbdDevice(server.socket, self.dilate) as device:
                player = Player(played, device, device.size_bytes, self.seed)
                player.lay_out(heed)
                span = player.run(self.seconds, size_bytes(self.warm_up), heed)
            summary = server.stop()
            reads = _reads(server.log, span.from_ns, span.until_ns)
        kept = ("gc_count", "write_amplification", "wall_seconds", "lateness", "failed", "error")
        return {**asdict(self), **reads, **{key: summary[key] for key in kept}}


def _reads(log: Path, from_ns: int, until_ns: int) -> dict[str, Any]:
    """How long the reads of a part of a log took, and how many were blocked by GC."""
    from pyarrow import compute, parquet

    table = parquet.read_table(log, columns=["kind", "arrived_ns", "latency_ns", "gc_blocked"])
    arrived = table["arrived_ns"]
    inside = compute.and_(compute.greater_equal(arrived, from_ns), compute.less(arrived, until_ns))
    reads = table.filter(compute.and_(inside, compute.equal(table["kind"], "read")))
    if not reads.num_rows:
        raise RunError("the personality read nothing while it was measured")
    blocked = compute.sum(reads["gc_blocked"]).as_py()
    return {
        "reads": reads.num_rows,
        "read_mean_us": compute.mean(reads["latency_ns"]).as_py() / 1000,
        "blocked_percent": 100 * blocked / reads.num_rows,
    }
