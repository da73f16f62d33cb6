"""Ages the drives once, then makes the runs of all searches on as many cores as there are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tinytail import arguments, engine
from tinytail.certifying.act import LIMITS, RATE_PER_S, SLICES, Rule, judge
from tinytail.certifying.results import Step
from tinytail.certifying.search import Search
from tinytail.comparing import LOOK_SECONDS, POLL_SECONDS, in_thread, wait_until
from tinytail.errors import ConfigError, TinytailError, WorkloadError
from tinytail.results import DesignError, ErrorKind
from tinytail.tracing import NOTHING_SAID
from tinytail.transforms import Transform


@dataclass(frozen=True, slots=True)
class Common:
    """What all runs have in common."""

    device: str
    rule: Rule
    duration_s: int
    seed: int
    state: dict[str, engine.StateValue]
    settings: tuple[str, ...]

    def requests(self, multiplier: int) -> int:
        """How many requests a run at a multiplier has."""
        return RATE_PER_S * multiplier * self.duration_s

    def spec(self, design: str, image: str, multiplier: int) -> engine.RunSpec:
        """What a run at a multiplier needs."""
        return engine.RunSpec(
            device=self.device,
            design=design,
            workload=f"act@{multiplier}",
            trace=NOTHING_SAID,
            transform=Transform(),
            requests=self.requests(multiplier),
            seed=self.seed,
            verify=False,
            state={},
            image=image,
            # The image has the state.
            settings=arguments.without_state(self.settings),
            log=None,
            windows=1,
            kinds={
                "of": self.rule.bounds(multiplier, self.duration_s),
                "limits_ns": [limit.ns for limit in LIMITS],
                "duration_ns": self.duration_s * 1_000_000_000,
                "slices": SLICES,
            },
        )


@dataclass
class Case:
    """One design and its search. Written under the crew's lock."""

    design: str
    search: Search
    image: str | None = None
    steps: dict[int, Step] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    under_way: dict[int, engine.Control] = field(default_factory=dict)
    ended: bool = False
    error: DesignError | None = None

    def fail(self, kind: ErrorKind, message: str) -> None:
        """Ends the case; what has been found so far is kept."""
        self.error = DesignError(self.design, kind, message)
        self.waiting.clear()
        self.ended = True

    def plan(self) -> None:
        """Plans the next round when the last one is over, and ends after the last."""
        if self.ended or self.waiting or self.under_way:
            return
        self.waiting = self.search.wanted()
        self.ended = not self.waiting


@dataclass(frozen=True, slots=True)
class CaseProgress:
    """How far a design is. `seconds_left` of all designs is None while nothing is known."""

    design: str
    status: str
    running: tuple[int, ...]
    done: float
    total: float
    last: Step | None
    seconds_left: float | None


Report = Callable[[Sequence[CaseProgress]], None]


def _kind_of(error: BaseException) -> tuple[ErrorKind, str]:
    match error:
        case ConfigError():
            return "config", str(error)
        case WorkloadError():
            return "workload", str(error)
        case TinytailError():
            return "run", str(error)
        case _:
            # A panic of the native module is not an Exception.
            return "internal", f"internal error ({type(error).__name__}): {error}"


class Crew:
    """Makes images, then runs; see `work`."""

    def __init__(
        self, common: Common, searches: dict[str, Search], folder: Path, jobs: int
    ) -> None:
        self.cases = [Case(design, search) for design, search in searches.items()]
        self._common = common
        self._folder = folder
        self._jobs = jobs
        self._lock = threading.Lock()
        self._cancelled = False
        self._threads: list[threading.Thread] = []
        self._run_seconds: list[float] = []

    def work(self, report: Report | None) -> bool:
        """Does everything; returns whether it came to an end. Ctrl-C cancels what is under way."""
        try:
            self._age(report)
        except KeyboardInterrupt:
            return False
        try:
            for _ in range(self._jobs):
                self._threads.append(threading.Thread(target=self._worker, daemon=True))
                self._threads[-1].start()
            while not wait_until(self._all_ended, POLL_SECONDS):
                self._tell(report)
            self._tell(report)
        except KeyboardInterrupt:
            self._cancel()
            while not wait_until(self._all_ended, POLL_SECONDS):
                pass
        except BaseException:
            self._cancel()
            raise
        return not self._cancelled

    def _age(self, report: Report | None) -> None:
        """Gives each case an image. Designs whose drives are laid out alike share one."""
        images: list[str] = []
        for case in self.cases:
            try:
                case.image = next((image for image in images if self._fits(image, case)), None)
                if case.image is None:
                    case.image = self._aged(case, len(images), report)
                    images.append(case.image)
            # Whatever is wrong with one design, the others go on.
            except Exception as error:  # noqa: BLE001
                case.fail(*_kind_of(error))

    def _fits(self, image: str, case: Case) -> bool:
        return engine.image_fits(image, self._common.device, case.design, self._common.settings)

    def _aged(self, case: Case, number: int, report: Report | None) -> str:
        path = str(self._folder / f"{number}.image")
        common = self._common
        spec = engine.ImageSpec(
            out=path,
            device=common.device,
            design=case.design,
            seed=common.seed,
            state=common.state,
            workload=None,
            trace=NOTHING_SAID,
            settings=common.settings,
        )

        def tell(designs: Sequence[Any]) -> None:
            if report is None:
                return
            [ageing] = designs
            progress = self._progress()
            position = self.cases.index(case)
            share = ageing.done / ageing.total if ageing.total > 0 else 0.0
            progress[position] = CaseProgress(case.design, ageing.phase, (), share, 1.0, None, None)
            report(progress)

        in_thread(lambda control: engine.image_create(spec, control), case.design, tell)
        return path

    def _all_ended(self) -> bool:
        # A thread whose start Ctrl-C has interrupted finds that all is cancelled.
        return not any(thread.is_alive() for thread in self._threads)

    def _worker(self) -> None:
        while (task := self._next()) is not None:
            self._run(*task)

    def _next(self) -> tuple[Case, int, engine.Control] | None:
        """The next run; waits for one that others must bring about; None if there is none."""
        while True:
            with self._lock:
                if self._cancelled:
                    return None
                for case in self.cases:
                    case.plan()
                waiting = [case for case in self.cases if case.waiting]
                if waiting:
                    # Of those that have the least to themselves, the first.
                    case = min(waiting, key=lambda each: len(each.under_way))
                    multiplier = case.waiting.pop(0)
                    control = engine.Control()
                    case.under_way[multiplier] = control
                    return case, multiplier, control
                if all(case.ended for case in self.cases):
                    return None
            time.sleep(LOOK_SECONDS)

    def _run(self, case: Case, multiplier: int, control: engine.Control) -> None:
        began = time.monotonic()
        step: Step | None = None
        failure: tuple[ErrorKind, str] | None = None
        try:
            spec = self._common.spec(case.design, case.image or "", multiplier)
            outcome = engine.run(spec, control)
            if not (outcome["partial"] and outcome["stuck"] is None):
                verdict = judge(self._common.rule, multiplier, outcome)
                requests = self._common.requests(multiplier)
                step = Step(case.design, multiplier, requests, verdict, outcome)
        # Every failure is kept: one in a thread would reach nobody.
        except BaseException as error:  # noqa: BLE001
            failure = _kind_of(error)
        with self._lock:
            del case.under_way[multiplier]
            self._run_seconds.append(time.monotonic() - began)
            if failure is not None and case.error is None:
                case.fail(*failure)
            elif step is not None:
                case.steps[multiplier] = step
                verdict = step.verdict
                case.search.record(
                    multiplier, performance=verdict.performance, stress=verdict.stress
                )

    def _cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            for case in self.cases:
                for control in case.under_way.values():
                    control.cancel()

    def _tell(self, report: Report | None) -> None:
        if report is not None:
            report(self._progress())

    def _progress(self) -> list[CaseProgress]:
        with self._lock:
            progress = [self._progress_of(case) for case in self.cases]
            times = self._run_seconds
            if not times:
                return progress
            left = sum(each.total - each.done for each in progress) * sum(times) / len(times)
            seconds = left / min(self._jobs, 2 * len(self.cases))
        return [
            CaseProgress(
                each.design,
                each.status,
                each.running,
                each.done,
                each.total,
                each.last,
                seconds,
            )
            for each in progress
        ]

    def _progress_of(self, case: Case) -> CaseProgress:
        done = float(len(case.steps))
        total = done if case.ended else done + max(1, case.search.runs_left())
        for control in case.under_way.values():
            if control.phase() == "running" and control.total() > 0:
                done += min(1.0, control.done() / control.total())
        if case.ended:
            status = "failed" if case.error is not None else "finished"
        else:
            status = "running" if case.under_way else "waiting"
        last = next(reversed(case.steps.values()), None)
        running = tuple(case.under_way)
        return CaseProgress(case.design, status, running, min(done, total), total, last, None)
