"""Runs a design again for the timeline of one request."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from tinytail.comparison.read_folder import KeptDesign, KeptResults
from tinytail.engine import native
from tinytail.engine.jobs import ProgressCallback, run_one
from tinytail.engine.options import RequestTimelinesSpec
from tinytail.errors import ResultsError, RunError
from tinytail.explanation import timelines
from tinytail.explanation.timelines import RequestTimeline


def replayed(
    kept: KeptResults,
    design: KeptDesign,
    logged: RequestTimeline,
    progress: ProgressCallback | None,
) -> RequestTimeline:
    """The timeline of a request of which only the log is there.

    Raises:
        ResultsError: the run is not the one that was kept; says what is known to differ.
        ConfigError, WorkloadError, RunError: the design cannot be run again.
    """
    with tempfile.TemporaryDirectory(prefix="tinytail-") as name:
        folder = Path(name)
        wanted = RequestTimelinesSpec(path=name, slowest=0, requests=(logged.id,))
        spec = kept.run_spec(design, wanted)
        result = run_one(lambda control: native.run(spec, control), design.name, progress)
        if result["request_timelines"]["error"] is not None:
            raise RunError(result["request_timelines"]["error"])
        timeline = timelines.traced(folder, design.name, logged.id)
    # A run that was interrupted has no hash of its whole, and its requests are those of the whole.
    is_same = design.partial or result["event_hash"] == design.event_hash
    if timeline is None or not is_same or timeline.parts != logged.parts:
        known = kept.differences()
        why = "; ".join(known) if known else "nothing is known that differs"
        raise ResultsError(f"{design.name} does not run again as it did in {kept.path}: {why}")
    return replace(timeline, replayed=True)
