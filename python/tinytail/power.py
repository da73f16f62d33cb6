"""What is verified of designs rather than measured: that they recover from losses of power.

A drive of each design is used by a host that reads, writes and trims at random, and loses its power
at random events. After each recovery every logical page is read back from flash and RAM and
compared with what was written last.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from tinytail.engine import arguments, catalog, native
from tinytail.engine.declared import Whole
from tinytail.engine.jobs import DesignProgress, Job, ProgressCallback, Runner, cpu_count
from tinytail.engine.results import DesignError
from tinytail.errors import UsageError, kind_of
from tinytail.files.text import json_text, plain, read_as
from tinytail.inputs import tables
from tinytail.inputs.designs import check_designs

CUTS = 10_000


@dataclass(frozen=True, slots=True)
class RecoveryTimes:
    """A distribution of simulated times."""

    mean_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class PowerCutResult:
    """What came of the losses of power of one design.

    `lost` counts pages that held nothing, or what was never written there, when they were read
    back, `stale` those that held what was written before; `mismatch` says what the first of them
    was. `recovery` is the time from the return of power until the drive takes commands: that of
    reading out-of-band data (`scan`), of erases and collections that could not be put off
    (`cleanup`), and of reading back what capacitors have saved (`restore`).
    """

    device: str
    design: str
    cuts: int
    completed: int
    requests_cut_off: int
    pages_read_back: int
    lost: int
    stale: int
    mismatch: str | None
    torn_pages: int
    torn_blocks: int
    cleanup_erases: int
    cleanup_moves: int
    cleanup_padding: int
    recovery: RecoveryTimes
    scan: RecoveryTimes
    cleanup: RecoveryTimes
    restore: RecoveryTimes
    event_hash: str
    partial: bool


@dataclass(frozen=True, slots=True)
class PowerCuts:
    """The losses of power of all designs."""

    version: str
    seed: int
    results: tuple[PowerCutResult, ...]
    errors: tuple[DesignError, ...]
    partial: bool

    @property
    def cuts(self) -> int:
        """Losses of power in all."""
        return sum(result.cuts for result in self.results)

    @property
    def lost(self) -> int:
        """Pages that were lost, of all designs."""
        return sum(result.lost for result in self.results)

    @property
    def stale(self) -> int:
        """Pages that held what was written before, of all designs."""
        return sum(result.stale for result in self.results)

    @property
    def holds(self) -> bool:
        """Whether every design recovered each time with all that was written."""
        wrong = any(result.mismatch is not None for result in self.results)
        return not (wrong or self.errors or self.lost or self.stale)

    def to_dict(self) -> dict[str, Any]:
        """The document that `--json` writes."""
        return {
            "version": self.version,
            "seed": self.seed,
            "cuts": self.cuts,
            "lost": self.lost,
            "stale": self.stale,
            "partial": self.partial,
            "results": plain(self.results),
            "errors": plain(self.errors),
        }

    def to_json(self) -> str:
        """The document as text."""
        return json_text(self.to_dict())


@dataclass(frozen=True, slots=True)
class PowerCutPlan:
    """Which designs lose their power how often; see `verify_power_cut`."""

    cases: tuple[native.PowerCase, ...]
    cuts: int
    seed: int
    jobs: int | None
    settings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        designs: Sequence[tables.DesignNamed],
        *,
        device: tables.Named | None,
        cuts: int,
        seed: int,
        jobs: int | None,
        settings: arguments.Settings | None = None,
    ) -> PowerCutPlan:
        """A plan of what a caller passes to `verify_power_cut`, checked.

        Raises:
            UsageError: a device without designs or the reverse, a design named twice, a value of
                the wrong type or out of range.
            ConfigError: an unknown or faulty device or design.
        """
        arguments.whole_number("cuts", cuts, 1, arguments.U64_MAX)
        arguments.whole_number("seed", seed, 0, arguments.U64_MAX)
        if jobs is not None:
            arguments.whole_number("jobs", jobs, 1)
        words = arguments.settings(settings)
        why = "losses of power have a host of their own, and no workload"
        catalog.check_settings(words, without_workload=why)
        if not designs:
            if device is not None:
                raise UsageError(
                    "a device was given and no design; without designs each one loses its power "
                    "on a small drive of its own kind"
                )
            return cls(native.power_cases(), cuts, seed, jobs, words)
        names = tables.designs(designs)
        if device is None:
            raise UsageError("designs were given and no device; name one with --device")
        place = tables.device(device)
        check_designs(
            place,
            names,
            command=lambda designs, settings: shlex.join(
                [
                    *("tinytail", "verify", "power-cut", *designs, "--device", place),
                    *(word for given in settings for word in ("--set", given)),
                ]
            ),
            settings=words,
        )
        for position, design in enumerate(names):
            if design in names[:position]:
                raise UsageError(f'design "{design}" is given twice')
        cases = tuple(native.PowerCase(place, design) for design in names)
        return cls(cases, cuts, seed, jobs, words)

    def share(self, index: int) -> int:
        """How often the design at an index loses its power: all together as often as is wanted."""
        count = len(self.cases)
        return self.cuts // count + (index < self.cuts % count)


def execute(plan: PowerCutPlan, progress: ProgressCallback | None = None) -> PowerCuts:
    """Cuts the power of every design of a plan. Ctrl-C ends it early, with what there is so far."""
    runner = Runner(min(plan.jobs or cpu_count(), len(plan.cases)))
    jobs = [
        runner.add(_job(plan, case, cuts))
        for index, case in enumerate(plan.cases)
        if (cuts := plan.share(index)) > 0
    ]

    def report() -> None:
        # Bars of designs that have not begun would fill the screen.
        if progress is not None:
            progress([_progress(job) for job in jobs if job.started])

    finished = runner.run(report)
    results = tuple(job.result for job in jobs if job.result is not None)
    return PowerCuts(
        version=native.version(),
        seed=plan.seed,
        results=results,
        errors=tuple(
            DesignError(job.name, *kind_of(job.error)) for job in jobs if job.error is not None
        ),
        partial=not finished or any(result.partial for result in results),
    )


def _job(plan: PowerCutPlan, case: native.PowerCase, cuts: int) -> Job[PowerCutResult]:
    control = native.Control()

    def run() -> PowerCutResult:
        document = native.power_cut(
            case, cuts=cuts, seed=plan.seed, control=control, settings=plan.settings
        )
        return read_as(PowerCutResult, document)

    return Job(case.design, run, control)


def _progress(job: Job[PowerCutResult]) -> DesignProgress:
    shown = job.progress()
    return replace(shown, phase="losing power") if shown.phase == "running" else shown


def verify_power_cut(
    designs: Sequence[tables.DesignNamed] = (),
    *,
    device: tables.Named | None = None,
    cuts: Annotated[int, Whole(1)] = CUTS,
    seed: int = 1,
    jobs: int | None = None,
    settings: arguments.Settings | None = None,
    progress: ProgressCallback | None = None,
) -> PowerCuts:
    """Cuts the power at random events, and reads everything back after each recovery.

    Args:
        designs: names of designs; overlays are added with plus signs. Without any, every design
            and overlay that comes with the program, each on a small drive of its paper.
        device: name of a drive or path of its file, for the designs that are named.
        cuts: losses of power, shared evenly by the designs.
        seed: seed of starting states, requests and events.
        jobs: how many designs may run at once; as many as there are processors if not given.
        settings: values that replace those of the files of device and designs, by section and key.
        progress: called about ten times a second, in this thread.

    Returns:
        What came of it; its `holds` says whether nothing was lost and nothing stale.

    Raises:
        UsageError: an argument of the wrong type, out of range, or missing.
        ConfigError: an unknown or faulty device or design.
    """
    plan = PowerCutPlan.of(
        designs, device=device, cuts=cuts, seed=seed, jobs=jobs, settings=settings
    )
    return execute(plan, progress)
