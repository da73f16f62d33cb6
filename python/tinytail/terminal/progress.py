"""Says on standard error how far jobs are: bars on a terminal, else a few plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from tinytail import units

if TYPE_CHECKING:
    from tinytail.engine.jobs import DesignProgress, ProgressCallback

Clock = Callable[[], float]

PLAIN_STEP_PERCENT = 25


class RateMeter:
    """The speed of one phase of one design, and what is left of it."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._phase: str | None = None
        self._start = (0.0, 0.0)

    def update(self, progress: DesignProgress) -> tuple[float | None, float | None]:
        """Steps per second since the phase began, and seconds to its end; None if not known."""
        now = self._clock()
        if progress.phase != self._phase or progress.done < self._start[1]:
            self._phase = progress.phase
            self._start = (now, progress.done)
        start, done_before = self._start
        if now <= start or progress.done <= done_before:
            return None, None
        rate = (progress.done - done_before) / (now - start)
        if progress.total <= 0:
            return rate, None
        return rate, max(0, progress.total - progress.done) / rate


def _speed(phase: str, rate: float | None, seconds_left: float | None) -> str:
    words = []
    # A phase without a name has steps that mean nothing by themselves.
    if rate is not None and phase:
        unit = {"running": " requests/s", "reading": "B/s"}.get(phase, "/s")
        words.append(f"{units.rate(rate)}{unit}")
    if seconds_left:
        words.append(f"about {units.duration(seconds_left)} left")
    return ", ".join(words)


class BarReporter:
    """One bar per design."""

    def __init__(self, bars: Progress, clock: Clock = time.monotonic) -> None:
        self._bars = bars
        self._clock = clock
        self._tasks: dict[str, tuple[TaskID, RateMeter]] = {}

    def __call__(self, designs: Sequence[DesignProgress]) -> None:
        """Shows how far the designs are."""
        for design in designs:
            if design.design not in self._tasks:
                task = self._bars.add_task(design.design, total=None, start=False, note="")
                self._tasks[design.design] = (task, RateMeter(self._clock))
            self._update(design)

    def _update(self, design: DesignProgress) -> None:
        task, meter = self._tasks[design.design]
        if design.status == "running":
            speed = _speed(design.phase, *meter.update(design))
            words = f"{design.phase} {speed}".strip()
            note = ", ".join(filter(None, [design.detail, words]))
            total = design.total if design.total > 0 else None
            if total is not None:
                self._bars.start_task(task)
            self._bars.update(task, total=total, completed=design.done, note=note)
        elif design.status == "waiting":
            self._bars.update(task, note="waiting")
        else:
            self._bars.start_task(task)
            completed = 1 if design.status == "finished" else 0
            self._bars.update(task, total=1, completed=completed, note=design.status)


class PlainReporter:
    """A line when a design changes its phase and at every quarter of it, or for what is new."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._said: dict[str, tuple[str, int]] = {}
        self._news: dict[str, str] = {}
        self._meters: dict[str, RateMeter] = {}

    def __call__(self, designs: Sequence[DesignProgress]) -> None:
        """Says what has changed since the last call."""
        for design in designs:
            if design.status == "waiting":
                continue
            meter = self._meters.setdefault(design.design, RateMeter(self._clock))
            speed = _speed(design.phase, *meter.update(design))
            if design.news and self._news.get(design.design) != design.news:
                self._news[design.design] = design.news
                self._say(design.design, ", ".join(filter(None, [design.news, speed])))
            if not design.news or design.status != "running":
                self._say_phase(design, speed)

    def _say_phase(self, design: DesignProgress, speed: str) -> None:
        share = design.done / design.total if design.phase and design.total > 0 else 0.0
        step = int(min(100 * share, 99)) // PLAIN_STEP_PERCENT * PLAIN_STEP_PERCENT
        what = design.phase or design.status
        if self._said.get(design.design) == (what, step):
            return
        self._said[design.design] = (what, step)
        words = f"{what} {step} %" if step else what
        self._say(design.design, f"{words} ({speed})" if step and speed else words)

    def _say(self, design: str, what: str) -> None:
        self._console.print(f"{design}: {what}", soft_wrap=True, markup=False)


@contextmanager
def reporter(console: Console) -> Iterator[ProgressCallback]:
    """Reports to the console while the context lasts. Bars go away when they are done."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield PlainReporter(console)
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        transient=True,
    ) as bars:
        yield BarReporter(bars)
