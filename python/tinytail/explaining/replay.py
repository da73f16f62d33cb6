"""Runs a design again for the story of one request."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tinytail import engine
from tinytail.comparing import POLL_SECONDS, DesignProgress, ProgressCallback, wait_until
from tinytail.errors import ResultsError, RunError
from tinytail.explaining import stories
from tinytail.explaining.folder import KeptDesign, KeptResults
from tinytail.explaining.stories import Story


def replayed(
    kept: KeptResults, design: KeptDesign, logged: Story, progress: ProgressCallback | None
) -> Story:
    """The story of a request of which only the log is there.

    Raises:
        ResultsError: the run is not the one that was kept; says what is known to differ.
        ConfigError, WorkloadError, RunError: the design cannot be run again.
    """
    with tempfile.TemporaryDirectory(prefix="tinytail-") as name:
        folder = Path(name)
        wanted = engine.StoriesTarget(name, slowest=0, requests=(logged.id,))
        result = run_again(kept.run_spec(design, wanted), design.name, progress)
        if result["stories"]["error"] is not None:
            raise RunError(result["stories"]["error"])
        story = stories.told(folder, design.name, logged.id)
    # A run that was interrupted has no hash of its whole, and its requests are those of the whole.
    is_same = design.partial or result["event_hash"] == design.event_hash
    if story is None or not is_same or story.parts != logged.parts:
        known = kept.differences()
        why = "; ".join(known) if known else "nothing is known that differs"
        raise ResultsError(f"{design.name} does not run again as it did in {kept.path}: {why}")
    return replace(story, replayed=True)


def run_again(spec: engine.RunSpec, name: str, progress: ProgressCallback | None) -> dict[str, Any]:
    """Runs a design in a thread, so that Ctrl-C is heeded, and returns its result document."""
    control = engine.Control()
    results: list[dict[str, Any]] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(engine.run(spec, control))
        # A panic of the native module is not an Exception, and an error in a thread reaches nobody.
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    def ended() -> bool:
        return bool(results or failures)

    threading.Thread(target=run, daemon=True).start()
    try:
        _watch(ended, control, name, progress)
    except BaseException:
        control.cancel()
        while not wait_until(ended, POLL_SECONDS):
            pass
        raise
    if failures:
        raise failures[0]
    return results[0]


def _watch(
    ended: Callable[[], bool],
    control: engine.Control,
    name: str,
    progress: ProgressCallback | None,
) -> None:
    while not wait_until(ended, POLL_SECONDS):
        if progress is not None:
            done, total = control.done(), control.total()
            progress([DesignProgress(name, "running", control.phase(), done, total)])
