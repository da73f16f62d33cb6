"""Tells on standard error how far a certification is: bars on a terminal, else a line a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TaskID

from tinytail import humanize
from tinytail.certifying.crew import CaseProgress, Report
from tinytail.certifying.results import Step
from tinytail.progress import bars_on


def said_of(step: Step) -> str:
    """A run in a few words."""
    if step.verdict.performance and step.verdict.stress:
        return f"{step.multiplier}× passes"
    what = "fails performance" if step.verdict.stress else "fails"
    why = step.verdict.reason or ""
    return f"{step.multiplier}× {what}: {why.partition(':')[0]}"


class Lines:
    """A line when a design's status changes, and whenever a run has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said: dict[str, object] = {}

    def __call__(self, designs: Sequence[CaseProgress]) -> None:
        """Says what has changed since the last call."""
        for design in designs:
            if design.last is not None:
                self._say(design.design, "last", said_of(design.last))
            # Between two rounds a design waits for a moment, which is no news.
            if design.status != "waiting":
                self._say(design.design, "status", design.status)

    def _say(self, design: str, about: str, what: str) -> None:
        if self._said.get(f"{about} {design}") == what:
            return
        self._said[f"{about} {design}"] = what
        self._console.print(f"{design}: {what}", soft_wrap=True, markup=False)


class Bars:
    """One bar for each design, with what is running and how long it will take in all."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, designs: Sequence[CaseProgress]) -> None:
        """Shows how far the designs are."""
        for design in designs:
            if design.design not in self._tasks:
                self._tasks[design.design] = self._bars.add_task(design.design, note="")
            note = design.status
            if design.running:
                note = ", ".join(f"{multiplier}×" for multiplier in sorted(design.running))
                if design.seconds_left is not None:
                    note += f", about {humanize.duration(design.seconds_left)} left in all"
            total = max(design.total, 1.0)
            done = total if design.status in ("finished", "failed") else design.done
            self._bars.update(self._tasks[design.design], total=total, completed=done, note=note)


@contextmanager
def reporter(console: Console) -> Iterator[Report]:
    """Reports to the console while the context lasts."""
    bars = bars_on(console)
    if bars is None:
        yield Lines(console)
        return
    with bars:
        yield Bars(bars)
