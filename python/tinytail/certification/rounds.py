"""Ages the drives once, then makes the runs of all searches on as many cores as there are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tinytail.certification.act import LIMITS, RATE_PER_S, SLICES, Rule, judge
from tinytail.certification.results import Step
from tinytail.certification.search import Search
from tinytail.engine import arguments, catalog, native
from tinytail.engine.jobs import DesignProgress, Job, ProgressCallback, Runner, run_one
from tinytail.engine.options import ImageSpec, KindsSpec, RunSpec
from tinytail.engine.results import DesignError
from tinytail.errors import kind_of


@dataclass(frozen=True, slots=True)
class Common:
    """What all runs have in common."""

    device: str
    rule: Rule
    duration_s: int
    seed: int
    state: dict[str, catalog.StateValue]
    settings: tuple[str, ...]

    def requests(self, multiplier: int) -> int:
        """How many requests a run at a multiplier has."""
        return RATE_PER_S * multiplier * self.duration_s

    def spec(self, design: str, image: str, multiplier: int) -> RunSpec:
        """What a run at a multiplier needs."""
        return RunSpec(
            device=self.device,
            design=design,
            workload=f"act@{multiplier}",
            requests=self.requests(multiplier),
            seed=self.seed,
            image=image,
            # The image has the state.
            settings=arguments.without_state(self.settings),
            windows=1,
            kinds=KindsSpec(
                of=self.rule.bounds(multiplier, self.duration_s),
                limits_ns=tuple(limit.ns for limit in LIMITS),
                duration_ns=self.duration_s * 1_000_000_000,
                slices=SLICES,
            ),
        )


@dataclass(eq=False)
class Case:
    """One design, its search and its runs by their multipliers. Written under the rounds' lock."""

    design: str
    search: Search
    image: str | None = None
    jobs: dict[int, Job[None]] = field(default_factory=dict)
    steps: dict[int, Step] = field(default_factory=dict)
    error: DesignError | None = None
    is_found: bool = False

    def fail(self, error: BaseException) -> None:
        """Notes the first thing that went wrong; what has been found so far is kept."""
        if self.error is None:
            self.error = DesignError(self.design, *kind_of(error))

    def progress(self) -> DesignProgress:
        """How far it is, in runs."""
        last = next(reversed(self.steps.values()), None)
        news = "" if last is None else last.said()
        if self.error is not None or self.is_found:
            ended: Literal["finished", "failed"] = "finished" if self.error is None else "failed"
            return DesignProgress(self.design, ended, "", 0, 0, news=news)
        running = sorted(each for each, job in self.jobs.items() if job.is_under_way)
        done = len(self.steps) + sum(
            self.jobs[each].share() for each in running if each not in self.steps
        )
        total = len(self.steps) + max(1, self.search.runs_left())
        return DesignProgress(
            self.design,
            "running" if running or self.steps else "waiting",
            "",
            min(done, total),
            total,
            detail=", ".join(f"{each}×" for each in running),
            news=news,
        )


class Rounds:
    """Makes images, then runs; see `work`."""

    def __init__(
        self, common: Common, searches: dict[str, Search], folder: Path, jobs: int
    ) -> None:
        self.cases = [Case(design, search) for design, search in searches.items()]
        self._common = common
        self._folder = folder
        self._runner = Runner(jobs)
        self._lock = threading.Lock()

    def work(self, report: ProgressCallback | None) -> bool:
        """Does everything; returns whether it came to an end. Ctrl-C cancels what is under way."""
        try:
            self._age(report)
            for case in self.cases:
                if case.error is None:
                    self._go_on(case)
        except KeyboardInterrupt:
            return False
        return self._runner.run(None if report is None else lambda: report(self._progress()))

    def _progress(self) -> list[DesignProgress]:
        with self._lock:
            return [case.progress() for case in self.cases]

    def _age(self, report: ProgressCallback | None) -> None:
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
                case.fail(error)

    def _fits(self, image: str, case: Case) -> bool:
        return native.image_fits(image, self._common.device, case.design, self._common.settings)

    def _aged(self, case: Case, number: int, report: ProgressCallback | None) -> str:
        path = str(self._folder / f"{number}.image")
        common = self._common
        spec = ImageSpec(
            out=path,
            device=common.device,
            design=case.design,
            seed=common.seed,
            state=common.state,
            settings=common.settings,
        )

        def show(ageing: Sequence[DesignProgress]) -> None:
            if report is not None:
                report([ageing[0] if each is case else each.progress() for each in self.cases])

        run_one(lambda control: native.image_create(spec, control), case.design, show)
        return path

    def _go_on(self, case: Case) -> None:
        """Starts the next round of a search, if there is one."""
        wanted = case.search.wanted()
        case.is_found = not wanted
        for multiplier in wanted:
            case.jobs[multiplier] = self._job(case, multiplier)
        for multiplier in wanted:
            self._runner.add(case.jobs[multiplier])

    def _job(self, case: Case, multiplier: int) -> Job[None]:
        control = native.Control()
        return Job(case.design, lambda: self._run(case, multiplier, control), control)

    def _run(self, case: Case, multiplier: int, control: native.Control) -> None:
        """Makes a run. The last one of a round begins the next."""
        if case.error is not None:
            return
        try:
            spec = self._common.spec(case.design, case.image or "", multiplier)
            outcome = native.run(spec, control)
            if outcome["partial"] and outcome["stuck"] is None:
                return
            verdict = judge(self._common.rule, multiplier, outcome)
        # A panic of the native module is not an Exception.
        except BaseException as error:
            with self._lock:
                case.fail(error)
            raise
        requests = self._common.requests(multiplier)
        with self._lock:
            case.steps[multiplier] = Step.of(case.design, multiplier, requests, verdict, outcome)
            case.search.record(multiplier, performance=verdict.performance, stress=verdict.stress)
            if case.error is None and len(case.steps) == len(case.jobs):
                self._go_on(case)
