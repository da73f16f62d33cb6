"""Makes runs in threads of their own: the native module releases the interpreter."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinytail import certifying, engine
from tinytail.reproduction.certified import Supervision

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Run:
    """One design of one experiment, ready to run. Equal keys mean equal outcomes.

    With a plan for a specification, the design is certified.
    """

    experiment: str
    design: str
    spec: engine.RunSpec | certifying.Plan
    key: str
    cost_s: float

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.experiment} {self.design}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the runs are. `seconds_left` is None while nothing is known."""

    done: int
    total: int
    running: tuple[str, ...]
    done_share: float
    seconds_left: float | None


Report = Callable[[Progress], None]
Control = engine.Control | Supervision
Make = Callable[[Run, Control], None]


def control_of(run: Run) -> Control:
    """What a run is followed and cancelled by."""
    return Supervision() if isinstance(run.spec, certifying.Plan) else engine.Control()


class Crew:
    """Threads that make runs until none is left, or until Ctrl-C."""

    def __init__(self, make: Make, runs: Sequence[Run], jobs: int) -> None:
        self._make = make
        self._runs = list(runs)
        self._jobs = min(jobs, len(self._runs))
        self._waiting: queue.SimpleQueue[Run] = queue.SimpleQueue()
        for run in self._runs:
            self._waiting.put(run)
        self._under_way: dict[str, tuple[Run, Control]] = {}
        self._done: list[Run] = []
        self._cancelled = False
        self._faults: list[BaseException] = []

    def work(self, report: Report | None) -> bool:
        """Makes the runs; returns whether all came to an end."""
        began = time.monotonic()
        threads = [threading.Thread(target=self._worker, daemon=True) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        try:
            self._wait(threads, began, report)
        except KeyboardInterrupt:
            self._cancel()
            self._wait(threads, began, None)
        except BaseException:
            self._cancel()
            raise
        if self._faults:
            raise self._faults[0]
        return not self._cancelled

    def _worker(self) -> None:
        while not self._cancelled:
            try:
                run = self._waiting.get_nowait()
            except queue.Empty:
                return
            control = control_of(run)
            self._under_way[run.key] = (run, control)
            try:
                self._make(run, control)
            # A panic of the native module is not an Exception, and reaches nobody from a thread.
            except BaseException as error:  # noqa: BLE001
                self._faults.append(error)
                self._cancelled = True
            finally:
                del self._under_way[run.key]
                self._done.append(run)

    def _wait(
        self, threads: Sequence[threading.Thread], began: float, report: Report | None
    ) -> None:
        # Threads are not joined: a join that Ctrl-C interrupts takes its thread for dead.
        while any(thread.is_alive() for thread in threads):
            if report is not None:
                report(self._progress(time.monotonic() - began))
            time.sleep(POLL_SECONDS)
        if report is not None and threads:
            report(self._progress(time.monotonic() - began))

    def _progress(self, elapsed_s: float) -> Progress:
        under_way = list(self._under_way.values())
        cost = sum(run.cost_s for run in self._runs)
        done = sum(run.cost_s for run in list(self._done))
        for run, control in under_way:
            share = control.done() / control.total() if control.total() > 0 else 0.0
            # A run counts its phases apart: ageing, warming up and the measured part.
            weight = {
                "running": (0.55, 0.45),
                "warming up": (0.15, 0.4),
                "certifying": (0.0, 1.0),
            }.get(control.phase(), (0.0, 0.15))
            done += run.cost_s * (weight[0] + weight[1] * min(share, 1.0))
        share_done = done / cost if cost else 1.0
        left = elapsed_s / share_done - elapsed_s if share_done > 0.01 else cost / self._jobs
        return Progress(
            done=len(self._done),
            total=len(self._runs),
            running=tuple(run.label for run, _ in under_way),
            done_share=share_done,
            seconds_left=left,
        )

    def _cancel(self) -> None:
        self._cancelled = True
        for _, control in list(self._under_way.values()):
            control.cancel()
