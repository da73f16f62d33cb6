"""The runner: order, jobs from jobs, failures, Ctrl-C, and that it does not wait in vain."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from fake_native import FakeControl
from tinytail.engine.jobs import Job, Runner
from tinytail.errors import RunError


def job(work: Callable[[], Any], name: str = "job", control: FakeControl | None = None) -> Job[Any]:
    return Job(name, work, FakeControl() if control is None else control)


def test_jobs_begin_in_their_order_and_jobs_may_add_jobs() -> None:
    runner = Runner(1)
    done: list[str] = []

    def work(name: str) -> None:
        done.append(name)
        if len(name) < 3:
            runner.add(job(lambda: work(f"{name}+"), f"{name}+"))

    for name in ("a", "b"):
        runner.add(job(partial(work, name), name))
    assert runner.run()
    assert done == ["a", "b", "a+", "b+", "a++", "b++"]
    assert [each.name for each in runner.jobs] == done
    assert all(each.ended for each in runner.jobs)


def test_a_failure_is_kept_with_its_job_and_the_others_go_on() -> None:
    runner = Runner(2)

    def panic() -> None:
        raise BaseException("index out of range")

    failed, fine = runner.add(job(panic)), runner.add(job(lambda: 7))
    assert runner.run()
    assert fine.outcome() == 7
    with pytest.raises(BaseException, match="index out of range"):
        failed.outcome()
    assert (failed.progress().status, fine.progress().status) == ("failed", "finished")


def test_short_jobs_are_not_waited_for_at_intervals() -> None:
    began = time.monotonic()
    for _ in range(200):
        runner = Runner(2)
        runner.add(job(lambda: None))
        assert runner.run()
    # A look every 10 ms would take 2 s.
    assert time.monotonic() - began < 1


def test_every_end_is_reported() -> None:
    runner = Runner(1)
    described = threading.Event()
    seen = []
    runner.add(job(lambda: None))
    runner.add(job(lambda: described.wait(10)))

    def report() -> None:
        seen.append(sum(each.ended for each in runner.jobs))
        described.set()

    assert runner.run(report)
    assert seen[-1] == 2


def test_ctrl_c_cancels_what_is_under_way_and_starts_nothing_more() -> None:
    runner = Runner(2)
    controls = [FakeControl(), FakeControl()]
    began = threading.Barrier(2)

    def work(control: FakeControl, *, interrupts: bool) -> bool:
        began.wait(10)
        if interrupts:
            signal.raise_signal(signal.SIGINT)
        return control.cancelled.wait(10)

    under_way = [
        runner.add(job(partial(work, c, interrupts=c is controls[0]), control=c)) for c in controls
    ]
    waiting = runner.add(job(lambda: None))
    assert not runner.run()
    assert [each.outcome() for each in under_way] == [True, True]
    assert waiting.progress().status == "waiting"
    assert waiting.error is None


def test_a_failing_report_cancels_the_jobs_and_waits_for_them() -> None:
    runner = Runner(1)
    control = FakeControl()
    waited = runner.add(job(lambda: control.cancelled.wait(10), control=control))

    def report() -> None:
        raise RunError("no terminal")

    with pytest.raises(RunError, match="no terminal"):
        runner.run(report)
    assert waited.ended
    assert waited.outcome() is True


@pytest.mark.parametrize(
    ("now", "share"),
    [
        (("ageing", 9, 10), 0.0),
        (("running", 0, 0), 0.0),
        (("running", 25, 100), 0.25),
        (("running", 200, 100), 1.0),
    ],
)
def test_the_share_of_a_job_is_that_of_its_measured_part(
    now: tuple[str, int, int], share: float
) -> None:
    control = FakeControl()
    control.now = now
    each = job(lambda: None, control=control)
    assert each.share() == 0.0
    each.started = True
    assert each.share() == share
    each.ended = True
    assert each.share() == 1.0
