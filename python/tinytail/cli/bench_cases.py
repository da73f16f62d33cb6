"""Bench cases, each in a process of its own, so that its peak memory is its own as well.

`python -m tinytail.cli.bench_cases CASE` runs one case here and prints its document.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tinytail.cli import shares
from tinytail.engine import native
from tinytail.engine.jobs import Job, ProgressCallback, Runner
from tinytail.errors import RunError, TinytailError, UsageError, suggestion
from tinytail.files.text import json_text
from tinytail.server import speed as serving

# Linux counts in KiB, macOS in bytes.
_MAXRSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024

# What runs the case that is named behind it.
COMMAND = [sys.executable, "-m", "tinytail.cli.bench_cases"]


def check(cases: Sequence[str]) -> list[str]:
    """The cases to run: those that take little time if none is named.

    Raises:
        UsageError: there is no such case, or it is named twice.
    """
    default, by_name = native.bench_cases()
    default = [*default, serving.NAME]
    known = default + by_name
    for position, case in enumerate(cases):
        if case not in known:
            raise UsageError(f'unknown bench case "{case}"' + suggestion(case, known))
        if case in cases[:position]:
            raise UsageError(f'bench case "{case}" is given twice')
    return list(cases) or default


def run_here(case: str) -> dict[str, Any]:
    """Runs a case in this process.

    Peak memory is measured by the native module if it can; else it is that of the whole process,
    interpreter included.
    """
    if case == serving.NAME:
        return serving.measure()
    document = native.bench(case, native.Control())
    if document.get("peak_memory_bytes") is None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        document["peak_memory_bytes"] = peak * _MAXRSS_UNIT_BYTES
    return document


class Apart:
    """A case in another process, and its switch. `sampled`: with the share of time of each room."""

    def __init__(self, case: str, *, sampled: bool = False) -> None:
        self.case = case
        self._sampled = sampled
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False

    def phase(self) -> str:
        """The process does not say how far it is."""
        return "running"

    def done(self) -> int:
        """Not known."""
        return 0

    def total(self) -> int:
        """Not known."""
        return 0

    def cancel(self) -> None:
        """Ends the process."""
        self._cancelled = True
        if self._process is not None:
            self._kill(self._process)

    @staticmethod
    def _kill(process: subprocess.Popen[str]) -> None:
        # With what it has started, in its group: perf does not take the case along.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def run(self) -> dict[str, Any]:
        """Runs the case and waits for its document.

        Raises:
            RunError: the case failed.
        """
        if not self._sampled:
            return self._run([*COMMAND, self.case])
        with tempfile.TemporaryDirectory(prefix="tinytail-bench-") as folder:
            samples = Path(folder) / "samples"
            document = self._run(shares.sampled([*COMMAND, self.case], samples))
            return document | {"room_percent": shares.by_room(samples)}

    def _run(self, command: Sequence[str]) -> dict[str, Any]:
        with subprocess.Popen(
            command,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as self._process:
            if self._cancelled:
                self._kill(self._process)
            out, said = self._process.communicate()
        if self._process.returncode != 0:
            why = said.strip() or f"it ended with status {self._process.returncode}"
            raise RunError(f'bench case "{self.case}" failed: {why}')
        document: dict[str, Any] = json.loads(out)
        return document


def run(
    cases: Sequence[str], progress: ProgressCallback | None = None
) -> tuple[list[Job[dict[str, Any]]], bool]:
    """Runs cases one after the other, each in a process of its own.

    Returns:
        The cases, each with its document or its error, and whether all came to their end.
    """
    runner = Runner(1)
    sampled = shares.at_hand()
    for case in cases:
        apart = Apart(case, sampled=sampled)
        runner.add(Job(case, apart.run, apart))

    def report() -> None:
        if progress is not None:
            progress([job.progress() for job in runner.jobs])

    return runner.jobs, runner.run(report)


def to_json(cases: Sequence[dict[str, Any]], *, partial: bool) -> str:
    """The document of a bench run."""
    document = {"version": native.version(), "partial": partial, "cases": list(cases)}
    return json_text(document)


def _main() -> int:
    try:
        print(json.dumps(run_here(sys.argv[1])))
    except TinytailError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(_main())
