"""Tells on standard error how far a reproduction is: one bar on a terminal, else a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TaskID

from tinytail import humanize
from tinytail.progress import bars_on
from tinytail.reproduction.crew import Progress
from tinytail.reproduction.session import Report


def _words(progress: Progress) -> str:
    words = f"{progress.done} of {progress.total} runs"
    if progress.seconds_left is not None and progress.done < progress.total:
        words += f", about {humanize.duration(progress.seconds_left)} left"
    return words


class _Lines:
    """A line whenever a run has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said: tuple[str, int] | None = None

    def __call__(self, paper: str, progress: Progress) -> None:
        if self._said == (paper, progress.done) or progress.total == 0:
            return
        self._said = (paper, progress.done)
        self._console.print(f"{paper}: {_words(progress)}", soft_wrap=True, markup=False)


class _Bar:
    """One bar for each paper, with what is running."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, paper: str, progress: Progress) -> None:
        if paper not in self._tasks:
            self._tasks[paper] = self._bars.add_task(paper, total=1.0, note="")
        note = _words(progress)
        if progress.running:
            note += f" ({', '.join(progress.running)})"
        self._bars.update(self._tasks[paper], completed=progress.done_share, note=note)


@contextmanager
def reporter(console: Console) -> Iterator[Report]:
    """Reports to the console while the context lasts."""
    bars = bars_on(console)
    if bars is None:
        yield _Lines(console)
        return
    with bars:
        yield _Bar(bars)
