"""Progress on standard error."""

from __future__ import annotations

import io

from rich.console import Console
from rich.progress import Progress

from tinytail.engine.jobs import DesignProgress
from tinytail.terminal.progress import BarReporter, PlainReporter, RateMeter, reporter


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def running(done: int, phase: str = "running", total: int = 1000) -> DesignProgress:
    return DesignProgress("base", "running", phase, done, total)


def test_rate_and_estimate_are_of_the_current_phase() -> None:
    clock = Clock()
    meter = RateMeter(clock)
    assert meter.update(running(0, "ageing")) == (None, None)
    clock.now = 10.0
    assert meter.update(running(500, "ageing")) == (50.0, 10.0)
    assert meter.update(running(0)) == (None, None)
    clock.now = 11.0
    assert meter.update(running(250)) == (250.0, 3.0)
    assert meter.update(running(250, total=0)) == (250.0, None)


def test_plain_lines_are_few_and_carry_no_codes() -> None:
    file = io.StringIO()
    clock = Clock()
    report = PlainReporter(Console(file=file), clock)
    report([DesignProgress("base", "waiting", "", 0, 0)])
    report([running(0, "ageing")])
    for done in range(0, 1000, 10):
        clock.now += 0.1
        report([running(done)])
    report([DesignProgress("base", "finished", "", 0, 0)])
    report([DesignProgress("base", "finished", "", 0, 0)])
    assert file.getvalue().splitlines() == [
        "base: ageing",
        "base: running",
        "base: running 25 % (100 requests/s, about 8 s left)",
        "base: running 50 % (100 requests/s, about 5 s left)",
        "base: running 75 % (100 requests/s, about 2 s left)",
        "base: finished",
    ]


def test_without_a_terminal_there_is_no_bar() -> None:
    file = io.StringIO()
    with reporter(Console(file=file)) as report:
        report([running(0)])
    assert file.getvalue() == "base: running\n"


def test_a_dumb_terminal_gets_plain_lines() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, _environ={"TERM": "dumb"})
    with reporter(console) as report:
        report([running(0)])
    assert file.getvalue() == "base: running\n"


def test_on_a_terminal_there_is_a_bar_that_leaves_no_trace() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, _environ={"TERM": "xterm"})
    with reporter(console) as report:
        report([running(250)])
        report([running(500)])
    assert "50%" in file.getvalue()
    assert "running" in file.getvalue()
    assert file.getvalue().endswith("\x1b[1A\x1b[2K")


def test_no_color_is_respected() -> None:
    file = io.StringIO()
    environment = {"TERM": "xterm-256color", "NO_COLOR": "1"}
    console = Console(file=file, force_terminal=True, width=80, _environ=environment)
    with reporter(console) as report:
        report([running(500)])
    assert "\x1b[3" not in file.getvalue()


def test_bars_follow_designs_from_phase_to_phase() -> None:
    clock = Clock()
    bars = Progress(console=Console(file=io.StringIO()), disable=True)
    report = BarReporter(bars, clock)
    report([DesignProgress("base", "waiting", "", 0, 0), running(0, total=0)])
    assert bars.tasks[0].total is None
    report([running(0)])
    clock.now = 1.0
    report([running(250)])
    assert bars.tasks[0].percentage == 25.0
    assert bars.tasks[0].fields["note"] == "running 250 requests/s, about 3 s left"
    report([DesignProgress("base", "finished", "", 0, 0)])
    assert bars.tasks[0].percentage == 100.0
