"""What a certification found, as data and as a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tinytail.certification.act import KINDS, Verdict
from tinytail.certification.search import TESTS
from tinytail.engine import results
from tinytail.engine.results import Rating, Test
from tinytail.errors import NoResultError
from tinytail.files.text import json_text, plain, read_as

SCHEMA_VERSION = 2


@dataclass(frozen=True, slots=True)
class Step(results.Step):
    """A run of one design at one multiplier.

    `outcome` is what the engine gave.
    """

    outcome: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def said(self) -> str:
        """The run in a few words."""
        if self.performance and self.stress:
            on_what = " on borrowed space" if self.borrowed else ""
            return f"{self.multiplier}× passes{on_what}"
        what = "fails performance" if self.stress else "fails"
        return f"{self.multiplier}× {what}: {(self.reason or '').partition(':')[0]}"

    @classmethod
    def of(
        cls,
        design: str,
        multiplier: int,
        requests: int,
        verdict: Verdict,
        outcome: Mapping[str, Any],
    ) -> Step:
        """What the engine gave for a run, as it was judged."""
        named = [
            {"name": kind.name, **found}
            for kind, found in zip(KINDS, outcome["kinds"], strict=True)
        ]
        asked = {"design": design, "multiplier": multiplier, "requests": requests}
        described = {
            "borrowed": any(
                each["code"] == "borrowed"
                or (each["code"] == "no_gc" and "host_pages" in each["figures"])
                for each in outcome["findings"]
            ),
            "given_up": outcome.get("given_up"),
            "warm_up": (outcome["state"] or {}).get("warm_up"),
        }
        found = {
            **outcome,
            **plain(verdict),
            **asked,
            **described,
            "kinds": named,
            "outcome": outcome,
        }
        return read_as(cls, found)


@dataclass(frozen=True, slots=True)
class DesignRatings(results.DesignRatings):
    """A design's ratings, and the runs that they come from by their multipliers."""

    steps: tuple[Step, ...] = ()

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
class Certification(results.Certification):
    """The ratings of several designs on one drive, all from drives aged alike."""

    designs: tuple[DesignRatings, ...]

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
        """The certification as a document that follows `tinytail.read_schema("certify")`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "workload": "act",
            **_declared(results.Certification, self),
            "ratings": {
                found.design: {
                    test: found.rating(test).rating if found.rating(test).is_final else None
                    for test in TESTS
                }
                for found in self.designs
            },
            "designs": [_declared(results.DesignRatings, found) for found in self.designs],
            "steps": [_step(step) for found in self.designs for step in found.steps],
        }

    def to_json(self) -> str:
        """The document of `to_dict` as JSON text."""
        return json_text(self.to_dict())


def _declared(kind: Any, value: object) -> dict[str, Any]:
    """What a value has of the declared keys, without those of its own."""
    return {each.name: plain(getattr(value, each.name)) for each in fields(kind)}


def _step(step: Step) -> dict[str, Any]:
    margins = [plain(each) | {"margin_percent": each.margin_percent} for each in step.conditions]
    return _declared(results.Step, step) | {"conditions": margins}
