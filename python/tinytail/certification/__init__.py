"""Certifies drives as ACT, the Aerospike Certification Tool, does: docs/guides/certify.md."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from tinytail.certification.act import RULES
from tinytail.certification.results import Certification, DesignRatings, Step
from tinytail.certification.rounds import Case, Common, Rounds
from tinytail.certification.search import TESTS, Search
from tinytail.comparison.result import configured, configured_designs
from tinytail.engine import arguments, catalog, memory, native
from tinytail.engine.declared import Whole
from tinytail.engine.jobs import ProgressCallback, cpu_count
from tinytail.engine.results import Configured, DesignError, Rating, RuleName
from tinytail.errors import Interrupted, UsageError, of_kind
from tinytail.inputs import tables
from tinytail.inputs.designs import check_designs

__all__ = [
    "SCHEMES",
    "Certification",
    "DesignRatings",
    "Rating",
    "Step",
    "certify_act",
]

# The schemes of Practical Erase Suspension, which are certified if no design is named.
SCHEMES = ("erase-baseline", "es", "i-es", "d-es", "t-es", "ideal-es")

DEVICE = "lowlatency-240g"

MULTIPLIER_MAX = 1000
DURATION_S_MAX = 86_400


@dataclass(frozen=True, slots=True)
class Plan:
    """A certification to be made; see `certify_act` for the meaning of each field."""

    designs: tuple[str, ...]
    device: str
    rule: RuleName = "paper"
    duration_s: int = 60
    max_multiplier: int = 64
    resolution: int = 1
    seed: int = 1
    jobs: int | None = None
    state: Mapping[str, catalog.StateValue] = field(default_factory=dict)
    settings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        designs: Sequence[tables.DesignNamed],
        *,
        device: tables.Named,
        state: Mapping[str, catalog.StateValue] | None,
        settings: arguments.Settings | None,
        **others: Any,
    ) -> Plan:
        """A plan of what a caller passes to `certify_act`, checked.

        Raises:
            UsageError, ConfigError: as `check` does.
        """
        plan = cls(
            designs=tables.designs(designs),
            device=tables.device(device),
            state={} if state is None else arguments.state(state),
            settings=arguments.settings(settings),
            **others,
        )
        plan.check()
        return plan

    def check(self) -> None:
        """Finds, before anything runs, whatever can be found.

        Raises:
            UsageError: no design, a design named twice, or a value of the wrong type or out of
                range.
            ConfigError: an unknown or faulty device or design.
        """
        arguments.names("designs", self.designs)
        arguments.name("device", self.device)
        arguments.choice("rule", self.rule, tuple(RULES))
        arguments.whole_number("duration_s", self.duration_s, 1, DURATION_S_MAX)
        arguments.whole_number("max_multiplier", self.max_multiplier, 1, MULTIPLIER_MAX)
        arguments.whole_number("resolution", self.resolution, 1, self.max_multiplier)
        arguments.whole_number("seed", self.seed, 0, arguments.U64_MAX)
        if self.jobs is not None:
            arguments.whole_number("jobs", self.jobs, 1)
        arguments.state(self.state)
        if not self.designs:
            raise UsageError("no design given; `tinytail designs` lists them")
        for position, design in enumerate(self.designs):
            if design in self.designs[:position]:
                raise UsageError(f'design "{design}" is given twice')
        arguments.settings(self.settings)
        catalog.check_settings(self.settings, without_workload="the workload is ACT's load")
        check_designs(
            self.device,
            self.designs,
            command=lambda designs, settings: replace(
                self, designs=designs, settings=settings
            ).command(),
            state=self.state,
            settings=self.settings,
        )

    def command(self) -> str:
        """The command line that makes this certification."""
        words = ["tinytail", "certify", "act", *self.designs, "--device", self.device]
        words += ["--rule", self.rule, "--duration-s", str(self.duration_s)]
        words += ["--max-multiplier", str(self.max_multiplier)]
        words += ["--resolution", str(self.resolution), "--seed", str(self.seed)]
        for key, given in self.state.items():
            words += ["--state", f"{key}={arguments.state_word(given)}"]
        for word in self.settings:
            words += ["--set", word]
        return shlex.join(words)

    def fit(self) -> memory.Fit:
        """How many runs go on at once: no more than fit into memory, unless `jobs` says so.

        Raises:
            ConfigError: not even one of them fits.
        """
        needs = [memory.drive_bytes(self.device, design, self.settings) for design in self.designs]
        return memory.fit(
            needs * len(TESTS),
            blocks=lambda: memory.blocks_per_plane(self.device, self.settings),
            jobs=self.jobs,
            jobs_default=cpu_count(),
        )

    def configuration(self) -> tuple[Configured, ...]:
        """Device, designs and workload in full."""
        known = configured_designs(self.device, self.designs, self.state, self.settings)
        return (*known, configured("workload", catalog.describe_workload("act")))


def execute(plan: Plan, progress: ProgressCallback | None = None) -> Certification:
    """Makes a certification, whose errors and interruption are part of what is returned.

    Call `plan.check()` first.
    """
    configuration = plan.configuration()
    common = Common(
        device=plan.device,
        rule=RULES[plan.rule],
        duration_s=plan.duration_s,
        seed=plan.seed,
        state=dict(plan.state),
        settings=plan.settings,
    )
    searches = {design: Search(plan.max_multiplier, plan.resolution) for design in plan.designs}
    with tempfile.TemporaryDirectory(prefix="tinytail-") as folder:
        rounds = Rounds(common, searches, Path(folder), plan.fit().jobs)
        finished = rounds.work(progress)
    designs = tuple(_ratings(case) for case in rounds.cases if case.steps)
    errors = tuple(error for case in rounds.cases if (error := _error(case)) is not None)
    return Certification(
        version=native.version(),
        command=plan.command(),
        device=plan.device,
        rule=plan.rule,
        duration_s=plan.duration_s,
        max_multiplier=plan.max_multiplier,
        resolution=plan.resolution,
        seed=plan.seed,
        partial=not finished,
        state=_state(designs),
        configuration=configuration,
        designs=designs,
        errors=errors,
    )


def _ratings(case: Case) -> DesignRatings:
    is_final = case.is_found and case.error is None
    performance, stress = (
        Rating(found.passed, found.failed, found.strays, is_final)
        for found in map(case.search.bracket, TESTS)
    )
    steps = tuple(step for _, step in sorted(case.steps.items()))
    return DesignRatings(case.design, performance, stress, steps)


def _error(case: Case) -> DesignError | None:
    if case.is_found or (case.error is not None and case.error.kind != "interrupted"):
        return case.error
    return DesignError(case.design, "interrupted", "interrupted before its ratings were found")


def _state(designs: Sequence[DesignRatings]) -> Mapping[str, Any] | None:
    """The state that all runs started from, without what is each run's own."""
    if not designs:
        return None
    state: Mapping[str, Any] | None = designs[0].steps[0].outcome["state"]
    if state is None:
        return None
    return {key: value for key, value in state.items() if key not in ("image", "warm_up")}


def certify_act(
    designs: Sequence[tables.DesignNamed] = SCHEMES,
    *,
    device: tables.Named = DEVICE,
    rule: RuleName = "paper",
    duration_s: Annotated[int, Whole(1)] = 60,
    max_multiplier: Annotated[int, Whole(1)] = 64,
    resolution: Annotated[int, Whole(1)] = 1,
    seed: int = 1,
    jobs: int | None = None,
    state: Mapping[str, catalog.StateValue] | None = None,
    settings: arguments.Settings | None = None,
    progress: ProgressCallback | None = None,
) -> Certification:
    """Finds the largest multipliers of ACT's load at which designs pass its tests.

    Args:
        designs: names of designs; overlays are added with plus signs, as in `base+t-es`. Without
            any, the six schemes of Practical Erase Suspension.
        device: name of a drive or path of its file.
        rule: what a run must meet: the conditions of Practical Erase Suspension, with each kind's
            mean latency below that kind's own period (paper) or below that of large requests
            (paper-large-period); or what the tool asks for today (current).
        duration_s: length of the measured part of each run, in whole seconds of simulated time.
        max_multiplier: the largest multiplier that is tried.
        resolution: how far apart the multipliers may be that a rating lies between.
        seed: seed of whatever is random. The same input with the same seed gives the same result.
        jobs: how many runs may go on at once; as many as there are processors if not given, or
            fewer if no more fit into the memory that is free.
        state: values of the starting state that replace the device's.
        settings: values that replace those of the files of device and designs, by section and key.
        progress: called about ten times a second, in this thread, with how far each design is.

    Returns:
        The certification. A design that failed is in its `errors` if another one has ratings.

    Raises:
        UsageError: arguments of the wrong type, out of range, or contradicting each other.
        ConfigError: an unknown or faulty device or design, or ones that do not go together.
        WorkloadError: the drive is too small for the load.
        RunError: no design could be rated.
        Interrupted: Ctrl-C; holds the partial certification.
    """
    if progress is not None and not callable(progress):
        raise UsageError(f"progress must be a function, not {progress!r}")
    plan = Plan.of(
        designs,
        device=device,
        rule=rule,
        duration_s=duration_s,
        max_multiplier=max_multiplier,
        resolution=resolution,
        seed=seed,
        jobs=jobs,
        state=state,
        settings=settings,
    )
    return _rated(execute(plan, progress))


def _rated(certification: Certification) -> Certification:
    """The certification, if it came to its end and rates anything."""
    if certification.partial:
        raise Interrupted(certification)
    if not certification.designs:
        error = certification.errors[0]
        raise of_kind(error.kind, error.message)
    return certification
