"""What a certification found, as data and as a document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from tinytail.certifying.act import KINDS, RuleName, Test, Verdict
from tinytail.certifying.search import TESTS, Bracket
from tinytail.errors import NoResultError
from tinytail.output import json_text
from tinytail.results import Configured, DesignError

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Step:
    """A run of one design at one multiplier.

    `outcome` is what the engine gave: latencies of each kind of request among others.
    """

    design: str
    multiplier: int
    requests: int
    verdict: Verdict
    outcome: Mapping[str, Any]

    @property
    def given_up(self) -> str | None:
        """Why no more requests were issued after the stress test had failed for good."""
        found: str | None = self.outcome.get("given_up")
        return found

    def said(self) -> str:
        """The run in a few words."""
        if self.verdict.performance and self.verdict.stress:
            return f"{self.multiplier}× passes"
        what = "fails performance" if self.verdict.stress else "fails"
        return f"{self.multiplier}× {what}: {(self.verdict.reason or '').partition(':')[0]}"

    def to_dict(self) -> dict[str, Any]:
        """The step as a part of a certification's document."""
        kinds = [
            {"name": kind.name, **found}
            for kind, found in zip(KINDS, self.outcome["kinds"], strict=True)
        ]
        kept = ("stuck", "write_amplification", "erases", "simulated_seconds", "cpu_seconds")
        return {
            "design": self.design,
            "multiplier": self.multiplier,
            "requests": self.requests,
            "performance": self.verdict.performance,
            "stress": self.verdict.stress,
            "reason": self.verdict.reason,
            "given_up": self.given_up,
            "conditions": [each.to_dict() for each in self.verdict.conditions],
            "kinds": kinds,
            **{key: self.outcome[key] for key in kept},
            "warm_up": self.outcome["state"].get("warm_up"),
            "event_hash": self.outcome["event_hash"],
        }


@dataclass(frozen=True, slots=True)
class Rating:
    """The largest multiplier at which a design passed a test, 0 if it passed at none.

    It passed at every smaller one that was tried. `first_failed` is the smallest at which it
    failed; None if it failed at none, so that the rating is a lower bound. `passed_above` are
    those above `first_failed` at which it passed. `is_final` is false if the search was cut short.
    """

    rating: int
    first_failed: int | None
    passed_above: tuple[int, ...]
    is_final: bool

    @classmethod
    def of(cls, bracket: Bracket, *, is_final: bool) -> Rating:
        """What a search knows."""
        return cls(bracket.passed, bracket.failed, bracket.strays, is_final)

    def to_dict(self) -> dict[str, Any]:
        """The rating as a part of a certification's document."""
        return asdict(self) | {"passed_above": list(self.passed_above)}


@dataclass(frozen=True, slots=True)
class DesignRatings:
    """A design's ratings, and the runs that they come from by their multipliers."""

    design: str
    performance: Rating
    stress: Rating
    steps: tuple[Step, ...]

    def rating(self, test: Test) -> Rating:
        """The rating by a test."""
        return self.performance if test == "performance" else self.stress

    def step(self, multiplier: int) -> Step:
        """The run at a multiplier.

        Raises:
            KeyError: there was none.
        """
        for step in self.steps:
            if step.multiplier == multiplier:
                return step
        raise KeyError(multiplier)


@dataclass(frozen=True, slots=True)
class Certification:
    """The ratings of several designs on one drive, all from drives aged alike.

    `partial` is true if it was interrupted. `errors` tells of designs that could not be rated.
    """

    version: str
    command: str
    device: str
    rule: RuleName
    duration_s: int
    max_multiplier: int
    resolution: int
    seed: int
    partial: bool
    state: Mapping[str, Any] | None
    configuration: tuple[Configured, ...]
    designs: tuple[DesignRatings, ...]
    errors: tuple[DesignError, ...]

    def ratings(self, design: str) -> DesignRatings:
        """The ratings of a design.

        Raises:
            NoResultError: it has none; says why. It is a KeyError as well.
        """
        for found in self.designs:
            if found.design == design:
                return found
        failures = {error.design: error.message for error in self.errors}
        raise NoResultError.of(design, [found.design for found in self.designs], failures)

    def to_dict(self) -> dict[str, Any]:
        """The certification as a document that follows `certification_schema()`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "version": self.version,
            "command": self.command,
            "device": self.device,
            "workload": "act",
            "rule": self.rule,
            "duration_s": self.duration_s,
            "max_multiplier": self.max_multiplier,
            "resolution": self.resolution,
            "seed": self.seed,
            "partial": self.partial,
            "state": None if self.state is None else dict(self.state),
            "configuration": [item.to_dict() for item in self.configuration],
            "ratings": {
                found.design: {
                    test: found.rating(test).rating if found.rating(test).is_final else None
                    for test in TESTS
                }
                for found in self.designs
            },
            "designs": [
                {
                    "design": found.design,
                    "performance": found.performance.to_dict(),
                    "stress": found.stress.to_dict(),
                }
                for found in self.designs
            ],
            "steps": [step.to_dict() for found in self.designs for step in found.steps],
            "errors": [asdict(error) for error in self.errors],
        }

    def to_json(self) -> str:
        """The document of `to_dict` as JSON text."""
        return json_text(self.to_dict())


def certification_schema() -> dict[str, Any]:
    """The JSON Schema of a certification's document."""
    text = resources.files("tinytail").joinpath("schema/certify.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
