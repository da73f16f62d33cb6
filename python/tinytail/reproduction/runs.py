"""One run of a reproduction: what it is of, what it takes, and the job that makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinytail.certification import Plan
from tinytail.engine import memory, native
from tinytail.engine.jobs import MEASURED_PART, Job, Phases
from tinytail.engine.options import RunSpec
from tinytail.reproduction.certified import Supervision
from tinytail.reproduction.served import Bench, ServedPlan
from tinytail.server.trial import Trial

# How much of a run each phase is, about, where it begins with ageing.
FROM_AGEING: Phases = {
    **dict.fromkeys(("reading", "ageing", "loading"), (0.0, 0.15)),
    "warming up": (0.15, 0.4),
    "running": (0.55, 0.45),
}

Control = native.Control | Supervision


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One design of one experiment, ready to run. Equal keys mean equal outcomes.

    With a plan for a specification, the design is certified or served; what is served depends on
    the machine, too.
    """

    experiment: str
    design: str
    spec: RunSpec | Plan | ServedPlan
    key: str
    cost_s: float

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.experiment} {self.design}"

    def control(self) -> Control:
        """What it is followed and cancelled by."""
        return native.Control() if isinstance(self.spec, RunSpec) else Supervision()

    @property
    def alone(self) -> bool:
        """Whether nothing else may be run meanwhile: it is measured on the wall clock."""
        return isinstance(self.spec, ServedPlan)

    def memory_bytes(self) -> int | None:
        """About how much memory it takes; None if that is not known."""
        spec = self.spec
        if isinstance(spec, Bench):
            return None
        if isinstance(spec, Trial):
            return memory.drive_bytes(spec.device, spec.design, ())
        if isinstance(spec, Plan):
            return memory.drive_bytes(spec.device, spec.designs[0], spec.settings)
        return memory.drive_bytes(spec.device, spec.design, spec.settings, verify=spec.verify)

    def job(self, make: Callable[[Run, Control], None]) -> Job[None]:
        """The job of making it."""
        control = self.control()
        phases = FROM_AGEING if isinstance(self.spec, RunSpec) else MEASURED_PART
        return Job(self.label, lambda: make(self, control), control, self.cost_s, phases)
