"""Runs jobs on threads, says how far they are, and heeds Ctrl-C at once.

The native module releases the interpreter while it works, so that threads use all processors.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from tinytail import units
from tinytail.engine import native

REPORT_SECONDS = 0.1

T = TypeVar("T")


class Control(Protocol):
    """By what a job is followed and cancelled, from any thread."""

    def phase(self) -> str:
        """What it does now."""

    def done(self) -> float:
        """How many steps of the phase are done."""

    def total(self) -> float:
        """How many steps the phase has; 0 if that is not known."""

    def cancel(self) -> None:
        """Ends the job early. Its work then returns what there is, or raises."""


@dataclass(frozen=True, slots=True)
class DesignProgress:
    """How far one design is, or whatever else has a line of its own in a progress display.

    `done` and `total` count the steps of the phase; a total of 0 is not known. `detail` says more
    of the phase. `news` is what has ended last; plain lines tell it instead of shares of the phase.
    """

    design: str
    status: Literal["waiting", "running", "finished", "failed"]
    phase: str
    done: float
    total: float
    detail: str = ""
    news: str = ""


ProgressCallback = Callable[[Sequence[DesignProgress]], None]

# Where in a job a phase begins, and how much of the job it is. Other phases count for nothing.
Phases = Mapping[str, tuple[float, float]]
MEASURED_PART: Phases = {"running": (0.0, 1.0)}


@dataclass(eq=False)
class Job(Generic[T]):
    """A piece of work, and what came of it. Written by its thread, read by all.

    `control` belongs to the work. `cost` is about how long the job takes, in any unit.
    """

    name: str
    work: Callable[[], T]
    control: Control
    cost: float = 1.0
    phases: Phases = field(default_factory=lambda: MEASURED_PART)
    started: bool = False
    ended: bool = False
    result: T | None = None
    error: BaseException | None = None

    def run(self) -> None:
        """Does the work. Every failure is kept: one in a thread would reach nobody."""
        try:
            self.result = self.work()
        # A panic of the native module is not an Exception.
        except BaseException as error:  # noqa: BLE001
            self.error = error

    def outcome(self) -> T:
        """What the work returned. Raises what it raised."""
        if self.error is not None:
            raise self.error
        return cast("T", self.result)

    @property
    def is_under_way(self) -> bool:
        """Whether it has been started and has not ended."""
        return self.started and not self.ended

    def share(self) -> float:
        """How much of the job is done, from 0 to 1."""
        if not self.is_under_way:
            return float(self.ended)
        begins, part = self.phases.get(self.control.phase(), (0.0, 0.0))
        total = self.control.total()
        return begins + part * min(1.0, self.control.done() / total) if total > 0 else begins

    def progress(self) -> DesignProgress:
        """How far it is."""
        if self.ended:
            status: Literal["finished", "failed"] = "finished" if self.error is None else "failed"
            return DesignProgress(self.name, status, "", 0, 0)
        if not self.started:
            return DesignProgress(self.name, "waiting", "", 0, 0)
        control = self.control
        return DesignProgress(
            self.name, "running", control.phase(), control.done(), control.total()
        )


class Runner:
    """Threads that take jobs in their order until all have ended.

    The threads are daemons, so that a second Ctrl-C ends the program even if a job does not heed
    its cancellation: concurrent.futures would wait for it. The main thread waits in C code alone.
    A wait for an event or a thread, which are Python, may be interrupted at the instant at which it
    has taken a lock and not yet noted that it must give it back.
    """

    def __init__(self, workers: int) -> None:
        self.jobs: list[Job[Any]] = []
        self._workers = workers
        self._waiting: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        # Rings when a job has ended. What has ended, the jobs say: a wait that Ctrl-C interrupts
        # may have taken what rang.
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._cancelled = False

    def add(self, job: Job[T]) -> Job[T]:
        """Puts a job behind the others. The work of a job may add more jobs."""
        self.jobs.append(job)
        self._waiting.put(job)
        return job

    def progress(self, name: str) -> DesignProgress:
        """How far all jobs are, as one."""
        jobs = list(self.jobs)
        running = ", ".join(job.name for job in jobs if job.is_under_way)
        said = f"{sum(job.ended for job in jobs)} of {units.counted(len(jobs), 'run')}"
        return DesignProgress(
            name,
            "running",
            "",
            sum(job.cost * job.share() for job in jobs),
            sum(job.cost for job in jobs),
            detail=f"{said} ({running})" if running else said,
            news=said,
        )

    def run(self, report: Callable[[], None] | None = None) -> bool:
        """Runs the jobs. Ctrl-C cancels those under way, waits for them and starts no other.

        Args:
            report: called in this thread about ten times a second, and when a job has ended.

        Returns:
            Whether it came to its end without Ctrl-C.
        """
        try:
            for _ in range(self._workers):
                threading.Thread(target=self._work, daemon=True).start()
            while not self._have_ended(self.jobs):
                with suppress(queue.Empty):
                    self._bell.get(timeout=REPORT_SECONDS)
                if report is not None:
                    report()
            # Jobs may have ended before anybody looked.
            if report is not None and self.jobs:
                report()
        except KeyboardInterrupt:
            self._cancel()
            return False
        except BaseException:
            self._cancel()
            raise
        finally:
            for _ in range(self._workers):
                self._waiting.put(None)
        return True

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            # In this order: a job that sees no cancellation is waited for.
            job.started = True
            if self._cancelled:
                job.started = False
                return
            job.run()
            job.ended = True
            self._bell.put(None)

    def _have_ended(self, jobs: Iterable[Job[Any]]) -> bool:
        return all(job.ended for job in jobs)

    def _cancel(self) -> None:
        self._cancelled = True
        for job in list(self.jobs):
            job.control.cancel()
        while not self._have_ended(job for job in list(self.jobs) if job.started):
            with suppress(queue.Empty):
                self._bell.get(timeout=REPORT_SECONDS)


def run_one(work: Callable[[native.Control], T], name: str, progress: ProgressCallback | None) -> T:
    """Does one piece of work in a thread, and heeds Ctrl-C meanwhile.

    Raises:
        TinytailError: what the work raised.
        KeyboardInterrupt: after the work has ended.
    """
    control = native.Control()
    runner = Runner(1)
    job = runner.add(Job(name, lambda: work(control), control))

    def report() -> None:
        if progress is not None and not job.ended:
            progress([job.progress()])

    if not runner.run(report):
        raise KeyboardInterrupt
    return job.outcome()


def cpu_count() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
