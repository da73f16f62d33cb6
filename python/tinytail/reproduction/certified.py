"""Certifications as experiments: a search for ratings takes the place of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinytail.certification import Plan, execute
from tinytail.engine import catalog
from tinytail.engine.jobs import DesignProgress
from tinytail.engine.results import Test
from tinytail.errors import RunError


class Supervision:
    """What `engine.Control` is to a run, for a certification of one design or a served drive."""

    def __init__(self) -> None:
        self._cancelled = False
        self._done = 0.0
        self._total = 1.0

    def phase(self) -> str:
        """What goes on, as progress knows it."""
        return "running"

    def done(self) -> float:
        """How much is done."""
        return self._done

    def total(self) -> float:
        """About how much there will be."""
        return self._total

    def cancel(self) -> None:
        """Ends it, and there is no outcome."""
        self._cancelled = True

    def heed(self, cases: Sequence[DesignProgress]) -> None:
        """Notes how far it is.

        Raises:
            KeyboardInterrupt: it was cancelled; a certification ends as Ctrl-C ends it.
        """
        (case,) = cases
        self.at(case.done, case.total)

    def at(self, done: float, total: float) -> None:
        """Notes that so much is done of so much.

        Raises:
            KeyboardInterrupt: it was cancelled.
        """
        if self._cancelled:
            raise KeyboardInterrupt
        self._done, self._total = done, total


@dataclass(frozen=True, slots=True)
class Certified:
    """What came of the certification of one design."""

    document: Mapping[str, Any]

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Certified:
        """Reads what is kept of a certification."""
        certified = cls(document["certification"])
        for test in ("performance", "stress"):
            certified.rating(test)
        return certified

    def to_dict(self) -> dict[str, Any]:
        """What is kept of it."""
        return {"certification": dict(self.document)}

    def rating(self, test: Test) -> int:
        """The largest multiplier that passed."""
        (ratings,) = self.document["ratings"].values()
        return int(ratings[test])

    def failed(self, test: Test) -> Mapping[str, Any] | None:
        """The run at the smallest multiplier that failed a test; None if none did."""
        failed = [step for step in self.document["steps"] if not step[test]]
        return min(failed, key=lambda step: int(step["multiplier"]), default=None)


def plan(
    device: str, design: str, state: Mapping[str, catalog.StateValue], given: Mapping[str, Any]
) -> Plan:
    """The certification of one design; one run goes on at a time.

    Raises:
        UsageError: arguments out of range.
    """
    made = Plan(designs=(design,), device=device, state=dict(state), jobs=1, **dict(given))
    made.check()
    return made


def certify(wanted: Plan, supervision: Supervision) -> Certified | None:
    """Makes a certification; None if it was cancelled.

    Raises:
        RunError: the design could not be rated.
    """
    certification = execute(wanted, supervision.heed)
    if certification.partial:
        return None
    if certification.errors:
        raise RunError(certification.errors[0].message)
    return Certified(certification.to_dict())
