"""Why requests were slow: their timelines, and the causes of all that are beyond a percentile.

- `timelines.py`: timelines of single requests; `ranks.py`: the causes of many;
- `replay.py`: a run again, for a timeline that was not kept; `without.py`: one without some causes;
- `words.py`, `view.py`: timelines in words, and on a terminal.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

from tinytail import units
from tinytail.comparison.read_folder import Geometry, KeptDesign, KeptResults, open_results
from tinytail.engine import arguments
from tinytail.engine.jobs import ProgressCallback
from tinytail.errors import UsageError
from tinytail.explanation import timelines
from tinytail.explanation.ranks import CauseRank, Ranking, rank
from tinytail.explanation.timelines import Kind, RequestTimeline, TimelineGc, TimelineSegment
from tinytail.explanation.without import Change, Counterfactual, Paired, check_causes, run_without
from tinytail.inputs.libraries import require

__all__ = [
    "CauseRank",
    "Change",
    "Counterfactual",
    "Explanation",
    "KeptResults",
    "Paired",
    "Ranking",
    "RequestTimeline",
    "TimelineGc",
    "TimelineSegment",
    "counterfactual",
    "explain",
    "open_results",
]

PERCENTILE = 99.9


@dataclass(frozen=True, slots=True)
class Explanation:
    """Timelines, and rankings of causes, of designs whose results were kept in the folder `path`.

    `notes` are what is to be known with them. `partial` is true if the comparison was interrupted.
    """

    path: str
    version: str
    partial: bool
    request_timelines: tuple[RequestTimeline, ...]
    rankings: tuple[Ranking, ...]
    notes: tuple[str, ...]
    geometry: Geometry

    def to_dict(self) -> dict[str, Any]:
        """The explanation as a document; times are in nanoseconds."""
        document = asdict(self)
        del document["geometry"]
        return document


def explain(
    folder: str | os.PathLike[str],
    *,
    design: str | None = None,
    slowest: int | None = None,
    request: int | None = None,
    percentile: float | None = None,
    kind: Kind = "read",
    replay: bool = False,
    progress: ProgressCallback | None = None,
) -> Explanation:
    """Tells why requests were slow, from results that `compare` has kept in a folder.

    Args:
        folder: the folder in which `compare` has kept the results.
        design: the design that it is about. Without it, timelines of the slowest are the first
            design's, and everything else is told of each design.
        slowest: tell the timelines of so many of the slowest requests; of one if not given.
        request: tell the timeline of this request, by its number, and rank causes only if a
            percentile is given.
        percentile: rank the causes of all requests beyond it; 99.9 if not given.
        kind: whether the slowest and the ranked are reads or writes.
        replay: run a design again for the timeline of `request`, if that was not kept.
        progress: called about ten times a second while a design runs.

    Raises:
        UsageError: arguments of the wrong type or out of range, a design, a request or a tail that
            does not exist, or the library that reads the files is missing.
        ResultsError: the folder is not one of results, of another version, incomplete or altered,
            or a design does not run again as it did.
        ConfigError, WorkloadError, RunError: a design cannot be run again.
    """
    path = arguments.file(folder)
    _check_values(slowest, request, percentile, kind, replay)
    require("an explanation", "pyarrow")
    kept = open_results(path)
    chosen = list(kept.designs)
    if design is not None:
        chosen = [kept.design(arguments.text("design", design))]
    kept.check(chosen)
    notes: list[str] = []
    described = (
        _slowest(chosen, kind, slowest, notes)
        if request is None
        else _request(kept, chosen, request, replay=replay, progress=progress, notes=notes)
    )
    rankings: list[Ranking] = []
    if request is None or percentile is not None:
        rankings += _rankings(chosen, kind, percentile, notes)
    if not described and not rankings:
        raise UsageError("; ".join(notes))
    return Explanation(
        path=path,
        version=kept.version,
        partial=kept.partial,
        request_timelines=tuple(described),
        rankings=tuple(rankings),
        notes=tuple(notes),
        geometry=kept.geometry(),
    )


def explain_without(
    folder: str | os.PathLike[str],
    *,
    without: Sequence[str],
    design: str | None = None,
    kind: Kind = "read",
    percentile: float = PERCENTILE,
    progress: ProgressCallback | None = None,
) -> Counterfactual:
    """Runs a design again without some causes, and checks each of its requests against itself.

    The run starts from the same aged drive, with the same seed, and is warmed up without the
    causes as well. Policies decide as if they were there.

    Args:
        folder: the folder named by `out` of `compare`.
        without: causes that take no time, such as `["gc-program", "erase"]`; all of them are in
            `docs/guides/explain.md`.
        design: the design; None for the first one.
        kind: whether reads or writes are compared.
        percentile: what becomes of the requests beyond it is said apart.
        progress: called about ten times a second while the design runs.

    Raises:
        UsageError: arguments of the wrong type or out of range, a design or a cause that does not
            exist, a run that was interrupted, or the library that reads the files is missing.
        ResultsError: the folder is not one of results, of another version, incomplete or altered,
            or the design does not get the same requests again.
        ConfigError, WorkloadError, RunError: the design cannot be run again.
    """
    path = arguments.file(folder)
    if isinstance(without, str) or not without:
        raise UsageError("without must be a list of causes, one at least")
    names = tuple(arguments.text("without", name) for name in without)
    check_causes(names)
    _check_values(None, None, percentile, kind, replay=False)
    require("an explanation", "pyarrow")
    kept = open_results(path)
    chosen = kept.design(arguments.text("design", design)) if design else kept.designs[0]
    kept.check([chosen])
    return run_without(kept, chosen, names, kind, percentile, progress)


def _check_values(
    slowest: object, request: object, percentile: object, kind: object, replay: object
) -> None:
    if slowest is not None:
        arguments.whole_number("slowest", slowest, 1)
        if request is not None:
            raise UsageError("slowest and request exclude each other")
    if request is not None:
        arguments.whole_number("request", request, 0, arguments.I64_MAX)
    elif arguments.flag("replay", replay):
        raise UsageError("replay needs a request: the timelines of the slowest are kept")
    if percentile is not None:
        is_number = isinstance(percentile, int | float) and not isinstance(percentile, bool)
        if not is_number or not 0 <= percentile < 100:  # type: ignore[operator]
            raise UsageError(f"percentile must be a number from 0 to below 100, not {percentile!r}")
    arguments.choice("kind", kind, get_args(Kind))


def _slowest(
    designs: Sequence[KeptDesign], kind: Kind, count: int | None, notes: list[str]
) -> list[RequestTimeline]:
    design, *others = designs
    described = timelines.slowest(design.folder, design.name, kind, count or 1)
    if len(described) < (count or 1):
        notes.append(
            f"{design.name} has {units.counted(len(described), 'timeline')} of {kind}s: as many as "
            "there were or `compare --request-timelines` kept"
        )
    if others:
        names = ", ".join(other.name for other in others)
        notes.append(f"--design tells the slowest of another design: {names}")
    return described


def _request(
    kept: KeptResults,
    designs: Sequence[KeptDesign],
    request: int,
    *,
    replay: bool,
    progress: ProgressCallback | None,
    notes: list[str],
) -> list[RequestTimeline]:
    from tinytail.explanation.replay import replayed

    described = []
    for design in designs:
        timeline = timelines.traced(design.folder, design.name, request)
        if timeline is None:
            timeline = timelines.logged(design.folder, design.name, request)
            if replay:
                timeline = replayed(kept, design, timeline, progress)
            else:
                notes.append(
                    f"the order in which the time of request {request} passed was not kept for "
                    f"{design.name}; --request {request} --replay runs it again and tells it"
                )
        described.append(timeline)
    return described


def _rankings(
    designs: Sequence[KeptDesign], kind: Kind, percentile: float | None, notes: list[str]
) -> list[Ranking]:
    found = []
    for design in designs:
        try:
            wanted = PERCENTILE if percentile is None else percentile
            found.append(rank(design.folder, design.name, kind, wanted))
        except UsageError as error:
            # What nobody asked for may be missing, as may one of several.
            if percentile is not None and len(designs) == 1:
                raise
            notes.append(str(error))
    if percentile is not None and not found:
        raise UsageError(notes[-1])
    return found
