"""Runs the points of a sweep that its dataset does not have yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tinytail import units
from tinytail.comparison.result import DesignResult
from tinytail.engine import arguments, native
from tinytail.engine.jobs import DesignProgress, Job, ProgressCallback, Runner
from tinytail.engine.options import RunSpec
from tinytail.errors import UsageError, kind_of
from tinytail.sweeps.plan import Point, command
from tinytail.sweeps.rows import came, failure

Record = dict[str, Any]
Keep = Callable[[Record], None]
# Where there are no bars, what is new is told at so many steps, and after so long without a step.
NEWS = 20
NEWS_SECONDS = 10.0


def run_point(
    spec: RunSpec, control: native.Control, shared: native.Shared
) -> Mapping[str, Any] | None:
    """What came of a run: its result or its error; None if it was cancelled."""
    error: tuple[str, str] | None = None
    document: dict[str, Any] | None = None
    try:
        document = native.run(spec, control, shared)
        result = DesignResult.from_dict(document)
        if result.interrupted:
            return None
        error = failure(result)
    except KeyboardInterrupt:
        return None
    # A panic of the native module is not an Exception.
    except BaseException as found:  # noqa: BLE001
        error = kind_of(found)
    kind, message = error or (None, None)
    return {"error_kind": kind, "error": message, "result": document}


def record(point: Point, came: Mapping[str, Any]) -> Record:
    """What is kept of a point: what it is, and what came of it; see `came`."""
    spec = point.spec
    return {
        "point": point.id,
        "design": point.design,
        "composition": spec.design,
        "device": spec.device,
        "workload": spec.workload,
        "seed": spec.seed,
        "requests": spec.requests,
        "values": dict(point.values),
        "command": command(spec),
        **came,
    }


def check_call(out: str | None, jobs: int | None, progress: ProgressCallback | None) -> None:
    """Checks where rows are kept, how many run at once, and who is told.

    Raises:
        UsageError: one of them is nothing of the kind.
    """
    if jobs is not None:
        arguments.whole_number("jobs", jobs, 1)
    if out is not None and not out:
        raise UsageError("the name of the dataset's folder is empty")
    if progress is not None and not callable(progress):
        raise UsageError(f"progress must be a function, not {progress!r}")


class Stopped(KeyboardInterrupt):
    """A sweep was interrupted. Its dataset holds `ended` points."""

    def __init__(self, ended: int) -> None:
        super().__init__("interrupted")
        self.ended = ended


class Tally:
    """How many points are to be run, have ended and have failed.

    `name` is the name of the line which says all this.
    """

    def __init__(self, total: int, name: str = "sweep") -> None:
        self.ended = 0
        self.failed = 0
        self.total = total
        self._before = 0
        self._name = name
        self._told = 0
        self._told_at = time.monotonic()

    def count(self, record: Record) -> None:
        """Notes that a point has ended."""
        self.ended += 1
        self.failed += record["error"] is not None

    def skip(self) -> None:
        """Notes that a point had ended before."""
        self.total -= 1
        self._before += 1

    def progress(self, parts: float = 0.0) -> DesignProgress:
        """How far the sweep is; `parts` of points have been run that have not ended."""
        ended = self._before + self.ended
        points = units.counted(self._before + self.total, "point")
        said = f"{ended:,} of {points}"
        detail = f"{said}, {self.failed:,} failed" if self.failed else said
        news = f"{self._before + self._newest():,} of {points}"
        done = min(self.ended + parts, self.total)
        return DesignProgress(self._name, "running", "", done, self.total, detail, news)

    def _newest(self) -> int:
        """The number of points that is told where there are no bars."""
        step, now = max(1, self.total // NEWS), time.monotonic()
        steps = self.ended // step * step if self.ended < self.total else self.ended
        is_late = now - self._told_at >= NEWS_SECONDS and self.ended > self._told
        if steps > self._told or is_late:
            self._told = self.ended if is_late else steps
            self._told_at = now
        return self._told


class _Worker:
    """Takes points one after another; what is known of the one under way is its own."""

    def __init__(self, take: Callable[[], Point | None]) -> None:
        self._take = take
        self._control = native.Control()
        self._cancelled = False

    def work(self, shared: native.Shared, keep: Callable[[Point, Mapping[str, Any]], None]) -> None:
        while not self._cancelled and (point := self._take()) is not None:
            # In this order: whoever cancels meanwhile cancels this one.
            self._control = native.Control()
            if self._cancelled:
                return
            outcome = run_point(point.spec, self._control, shared)
            if outcome is not None:
                keep(point, outcome)

    def share(self) -> float:
        """How much of the measured part is done of the point under way."""
        if self._control.phase() != "running" or not self._control.total():
            return 0.0
        return min(1.0, self._control.done() / self._control.total())

    # The control of a job.
    def phase(self) -> str:
        return ""

    def done(self) -> float:
        return 0.0

    def total(self) -> float:
        return 0.0

    def cancel(self) -> None:
        self._cancelled = True
        self._control.cancel()


def run_here(
    points: Iterator[Point],
    jobs: int,
    keep: Keep,
    tally: Tally,
    progress: ProgressCallback | None,
    say: Callable[[str], None],
    shared: native.Shared,
) -> bool:
    """Runs points on the processors of this machine.

    `shared` has drives that were made for other points.

    Returns:
        Whether it came to its end without Ctrl-C.

    Raises:
        TinytailError: what `keep` raised, or whoever makes the points; the others are cancelled.
    """
    lock = threading.Lock()

    def take() -> Point | None:
        with lock:
            return next(points, None)

    def kept(point: Point, outcome: Mapping[str, Any]) -> None:
        made = record(point, came(outcome))
        with lock:
            keep(made)
            tally.count(made)

    runner = Runner(jobs)
    workers = [_Worker(take) for _ in range(jobs)]
    made = [
        runner.add(Job("sweep", partial(worker.work, shared, kept), worker)) for worker in workers
    ]

    def report() -> None:
        for note in shared.take_notes():
            say(note)
        for job in made:
            if job.error is not None:
                raise job.error
        if progress is not None:
            progress([tally.progress(sum(worker.share() for worker in workers))])

    return runner.run(report)
