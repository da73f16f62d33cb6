"""Runs a design again for the story of one request."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from tinytail import engine
from tinytail.errors import ResultsError, RunError
from tinytail.explaining import stories
from tinytail.explaining.folder import KeptDesign, KeptResults
from tinytail.explaining.stories import Story
from tinytail.runner import ProgressCallback, run_one


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
        spec = kept.run_spec(design, wanted)
        result = run_one(lambda control: engine.run(spec, control), design.name, progress)
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
