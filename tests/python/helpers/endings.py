"""Runs that fail or are interrupted."""

from __future__ import annotations

import signal
from typing import Any

from fake_native import FakeControl, result


def fail(error: BaseException) -> Any:
    def run(_spec: dict[str, Any], _control: FakeControl) -> dict[str, Any]:
        raise error

    return run


def interrupt_then_finish(spec: dict[str, Any], control: FakeControl) -> dict[str, Any]:
    """Stands for a user who presses Ctrl-C, and for a run that heeds it."""
    signal.raise_signal(signal.SIGINT)
    assert control.cancelled.wait(10)
    return result(spec["design"], partial=True)
