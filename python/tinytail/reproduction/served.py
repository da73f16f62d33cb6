"""Served drives as experiments: a trial on the wall clock takes the place of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tinytail.errors import ConfigError, RunError
from tinytail.reproduction.certified import Supervision
from tinytail.reproduction.records import Experiment
from tinytail.server import speed
from tinytail.server.trial import Trial


@dataclass(frozen=True, slots=True)
class Bench:
    """The bench case of the server: how many reads a second it answers."""


ServedPlan = Trial | Bench


@dataclass(frozen=True, slots=True)
class Served:
    """What came of a served drive, and how late the machine was meanwhile."""

    document: Mapping[str, Any]

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Served:
        """Reads what is kept of it."""
        return cls(dict(document["served"]))

    def to_dict(self) -> dict[str, Any]:
        """What is kept of it."""
        return {"served": dict(self.document)}

    @property
    def late_percent(self) -> float:
        """The share of all completions that left too late."""
        return float(self.document["lateness"]["all"]["late_percent"])


def plan(experiment: Experiment, design: str) -> ServedPlan:
    """What is served, and what is asked of it.

    Raises:
        ConfigError: the experiment has what a served drive cannot be given.
    """
    given, device = experiment.workload, experiment.device
    if not isinstance(given, Mapping) or not isinstance(device, str) or "@" in design:
        raise ConfigError(
            f'experiment "{experiment.name}": what is served is a drive and a design by name, '
            "under a personality or the bench"
        )
    if given == {"bench": speed.NAME}:
        return Bench()
    return Trial(device=device, design=design, **{**given, **(experiment.served or {})})


def digest(plan: ServedPlan) -> dict[str, Any]:
    """What decides what comes of it, but for the machine."""
    return asdict(plan) | ({"flowops": plan.played()} if isinstance(plan, Trial) else {})


def lacks(plan: ServedPlan) -> str | None:
    """What is missing on this machine; None if nothing is."""
    return speed.lacks() if isinstance(plan, Bench) else None


def serve(plan: ServedPlan, supervision: Supervision) -> Served:
    """Serves the drive and measures.

    Raises:
        RunError: it could not be served, or was so late that nothing can be said.
        KeyboardInterrupt: it was cancelled.
    """
    if isinstance(plan, Bench):
        return Served(speed.measure())
    found = plan.run(supervision.at)
    if found["error"] is not None or found["failed"]:
        raise RunError(found["error"] or f"{found['failed']} requests failed")
    if (why := found["lateness"]["invalid"]) is not None:
        raise RunError(f"the machine was too late for the wall clock: {why}")
    return Served(found)
