"""What a search returns: the combinations that were confirmed, and the front that they make."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tinytail import units
from tinytail.comparison.result import (
    Comparison,
    DesignResult,
    compared_workload,
    configured,
    configured_designs,
)
from tinytail.engine import arguments, catalog, native
from tinytail.engine.options import RunSpec
from tinytail.errors import OutputError, UsageError, suggestion
from tinytail.files.text import WRITTEN_BYTES_MAX, read_text
from tinytail.files.whole import FileOutput
from tinytail.inputs.libraries import library, require
from tinytail.searches.goals import Goals, Objective, fronts
from tinytail.searches.runs import Outcome
from tinytail.searches.trials import DOUBT, Found, Trial, bound_of, may_do, settings_of, titled
from tinytail.sweeps.axes import Grid
from tinytail.sweeps.cells import Cell, distinct
from tinytail.sweeps.dataset import read_table
from tinytail.sweeps.plan import Plan, command, is_of_design, logical_bytes
from tinytail.verdict import seeds, states

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["alike", "dropped", "failed", "waiting"]

# What the head of a design file begins with.
FOUND = "Found by a search for:"
# What is in the way of a combination, by the code of its doubt.
DOUBTS = {
    "partial": "its run ended early",
    "borrowed": "it lived on pages that were erased before",
    "saturated": "the drive did not keep up, so that latencies grow with the run",
    "no_gc": "no GC ran though it was due",
    "bound": "it has no GC, or one that takes no time: it bounds what can be reached",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A combination that long runs have confirmed or refuted, or a design that it is held against.

    Attributes:
        name: `front-1` and so on for those on the front, `other-1` and so on for the rest; a design
            has its own.
        design: The design with the overlays that it is composed of.
        settings: Other values of it that axes gave, by section and key.
        figures: The figures of the goals and erases, means over the seeds, with how far they may be
            off.
        short: The same of its short run; None for a design.
        faults: Why it can't be on the front: constraints that it does not keep, and why its figures
            are not those of a drive that could do this for ever.
        is_best: Whether it is on the front: it has no faults, and no other one is better in one
            objective and nowhere worse.
        alike: One on the front from which it differs by no more than chance in all objectives;
            empty if there is none.
        logical_bytes: What its drive holds for the host.
        spec: Its first long run.
        adjusted: Values that follow the drive in place of those of its design's file.
        points: The points of its long runs in the dataset.
    """

    name: str
    design: str
    settings: Mapping[str, Any]
    figures: Mapping[str, Cell]
    short: Mapping[str, float | None] | None
    faults: tuple[str, ...]
    is_best: bool
    logical_bytes: int
    spec: RunSpec = field(repr=False)
    alike: str = ""
    adjusted: Mapping[str, Any] = field(repr=False, default_factory=dict)
    points: tuple[str, ...] = field(repr=False, default=())

    @property
    def command(self) -> str:
        """The command line that makes its first long run again."""
        return command(self.spec)

    @property
    def title(self) -> str:
        """What it is, in words."""
        return titled(self.design, self.settings)

    @property
    def verdict(self) -> str:
        """Whether it is on the front, or why not, in words."""
        if self.is_best:
            return "on the front"
        beaten = f"like {self.alike} within noise" if self.alike else "another one is better"
        return "; ".join(self.faults) or beaten


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A combination that was tried and that long runs have neither confirmed nor refuted.

    Attributes:
        kind: `"alike"`: long runs did the same as those of another one; `"dropped"`: its short run
            is against it; `"failed"`: its short run failed; `"waiting"`: its short run kept all
            constraints, and nothing more was run.
        reason: Why, in words.
        design: The design with the overlays that it is composed of.
        settings: Other values of it that axes gave, by section and key.
        short: The figures of its short run.
        spec: Its short run.
    """

    kind: Kind
    reason: str
    design: str
    settings: Mapping[str, Any]
    short: Mapping[str, float | None]
    spec: RunSpec = field(repr=False)

    @property
    def command(self) -> str:
        """The command line that makes its short run again."""
        return command(self.spec)

    @property
    def title(self) -> str:
        """What it is, in words."""
        return titled(self.design, self.settings)


@dataclass(frozen=True, slots=True, repr=False)
class Search:
    """What a search has found.

    Attributes:
        goals: What it was for.
        tried: How many combinations were tried by short runs.
        failed: How many of them failed.
        errors: Why, each reason once.
        combinations: How many there are.
        refused: How many can't run, of those that were looked at.
        alike: How many did the same in long runs as another one, or as a reference.
        waiting: How many were not confirmed, though they kept all constraints in their short runs.
        notes: What is to be said of it.
        seeds: With how many seeds each one was confirmed.
        requests: The requests of a long run; None for all that the workload has.
        proxies: By which figure short runs were judged, where they have too few requests for one.
        candidates: The combinations that were confirmed or refuted, the front first.
        left_out: All other combinations that were tried, each with the reason.
        references: The designs that they are held against.
        comparison: The references and the front as a comparison; None if nothing was confirmed.
        folder: The folder of the dataset; None if nothing was kept.
        partial: Whether it was interrupted.
    """

    goals: Goals
    tried: int
    failed: int
    errors: tuple[str, ...]
    combinations: int
    refused: int
    alike: int
    waiting: int
    notes: tuple[str, ...]
    seeds: int
    requests: int | None
    proxies: Mapping[str, str]
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...]
    references: tuple[Candidate, ...]
    comparison: Comparison | None
    folder: str | None
    partial: bool

    def __repr__(self) -> str:
        said = f"{self.tried:,} of {units.counted(self.combinations, 'combination')} tried"
        return f"<Search for {self.goals.title}: {said}, {len(self.front)} on the front>"

    @property
    def front(self) -> tuple[Candidate, ...]:
        """The combinations that no other one and no reference is better than in everything."""
        return tuple(each for each in self.candidates if each.is_best)

    def judged(self) -> dict[str, str]:
        """The verdict on each point of the long runs: `front`, `other` or `refuted`."""
        return {
            point: "front" if each.is_best else "refuted" if each.faults else "other"
            for each in (*self.references, *self.candidates)
            for point in each.points
        }

    def table(self, width: int = 100, *, details: bool = False) -> str:
        """What was found as plain text of at most `width` columns.

        Args:
            width: columns that there are.
            details: whether each combination that was refuted or left out has a line of its own.
        """
        from tinytail.searches.view import search_view
        from tinytail.terminal.console import plain_text

        return plain_text(search_view(self, width, details=details), width)

    def plot(self, x: str | None = None, y: str | None = None) -> Figure:
        """Draws what was confirmed, and what it is held against, by two figures, by matplotlib.

        Args:
            x: a figure of the goals, or erases; the second one if not given, or erases.
            y: another one; the first if not given.

        Raises:
            UsageError: there is no such figure, nothing was confirmed, or matplotlib is missing.
        """
        require("plot", "matplotlib")
        from tinytail.searches import pictures

        known = [*self.goals.shown]
        y = y or known[0]
        x = x or next(name for name in known if name != y)
        for name in (x, y):
            if name not in known:
                raise UsageError(f'the goals have no figure "{name}"{suggestion(name, known)}')
        return pictures.front(self, x, y)

    def write_designs(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes each combination on the front as a design file, `front-1.toml` and so on.

        Those that another search has written there are removed.

        Returns:
            The paths of the files.

        Raises:
            UsageError: `folder` is not a path.
            OutputError: a file cannot be written.
        """
        into = Path(arguments.name("folder", folder))
        found = []
        try:
            into.mkdir(parents=True, exist_ok=True)
            for old in into.glob("front-*.toml"):
                if read_text(old, WRITTEN_BYTES_MAX).startswith(f"# {FOUND}"):
                    old.unlink()
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) else "it is no text"
            raise OutputError(f"cannot write designs to {into}: {said}") from error
        for each in self.front:
            path = str(into / f"{each.name}.toml")
            FileOutput(path, "the folder of designs").write(self._design_text(each, path).encode())
            found.append(path)
        return found

    def _design_text(self, candidate: Candidate, path: str) -> str:
        """A file that needs nothing else to give the figures that it was found by."""
        spec = candidate.spec
        of_file = [word for word in spec.settings if is_of_design(word.partition("=")[0])]
        others = tuple(word for word in spec.settings if word not in of_file)
        adjusted = [
            word
            for word in arguments.settings(candidate.adjusted)
            if is_of_design(word.partition("=")[0])
        ]
        again = command(replace(spec, design=path, settings=others))
        figures = (f"{name} = {cell.mean:.6g}" for name, cell in candidate.figures.items())
        said = [
            f"{FOUND} {self.goals.title}",
            f"It is {candidate.title}, with {', '.join(figures)}",
            f"{again} --seeds {self.seeds}",
        ]
        lines = [f"# {' '.join(each.split())}" for each in said]
        text = catalog.file_text("design", candidate.design, settings=[*of_file, *adjusted])
        return "\n".join([*lines, text])

    def to_dict(self) -> dict[str, Any]:
        """What was found as a document."""
        return {
            "goals": self.goals.title,
            "tried": self.tried,
            "failed": self.failed,
            "combinations": self.combinations,
            "refused": self.refused,
            "alike": self.alike,
            "waiting": self.waiting,
            "notes": list(self.notes),
            "seeds": self.seeds,
            "requests": self.requests,
            "requests_short": self.goals.requests_short,
            "short_runs_judged_by": dict(self.proxies),
            "partial": self.partial,
            "candidates": [_document(each) for each in (*self.candidates, *self.references)],
            "left_out": [
                {
                    "kind": each.kind,
                    "reason": each.reason,
                    "design": each.design,
                    "settings": dict(each.settings),
                    "short": dict(each.short),
                    "command": each.command,
                }
                for each in self.left_out
            ],
        }


def _document(candidate: Candidate) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "design": candidate.design,
        "settings": dict(candidate.settings),
        "is_best": candidate.is_best,
        "verdict": candidate.verdict,
        "logical_bytes": candidate.logical_bytes,
        "points": list(candidate.points),
        "figures": {
            name: {end: getattr(cell, end) for end in ("mean", "low", "high", "runs")}
            for name, cell in candidate.figures.items()
        },
        "short": None if candidate.short is None else dict(candidate.short),
        "command": candidate.command,
    }


def search_of(goals: Goals, found: Found, folder: str, *, is_kept: bool) -> Search:
    """What a search returns, from what it has found."""
    candidates, references = _candidates(goals, found)
    best = [each for each in candidates if each[0].is_best]
    comparison = _comparison(found, [*references, *best], folder)
    if comparison is not None:
        used = {each.design: _used(each) for each in comparison.results}
        candidates = [
            (replace(each, adjusted=used.get(each.name, {})), outcome)
            for each, outcome in candidates
        ]
    errors = dict.fromkeys(each.short.error for each in found.trials if each.short.error)
    left_out = tuple(_left_out(goals, found))
    return Search(
        goals=goals,
        tried=len(found.trials),
        failed=sum(each.short.error is not None for each in found.trials),
        errors=tuple(errors),
        combinations=len(found.plan.grid),
        refused=found.refused,
        alike=sum(each.kind == "alike" for each in left_out),
        waiting=sum(each.kind == "waiting" for each in left_out),
        notes=found.notes,
        seeds=found.plan.seeds,
        requests=found.plan.options.get("requests"),
        proxies=found.proxies,
        candidates=tuple(each for each, _ in candidates),
        left_out=left_out,
        references=tuple(each for each, _ in references),
        comparison=comparison,
        folder=folder if is_kept else None,
        partial=found.partial,
    )


def _left_out(goals: Goals, found: Found) -> Iterator[LeftOut]:
    """The combinations that were tried and have no verdict of long runs, each with the reason."""
    judged = {each.short.points for each in found.confirmed}
    alike = {trial.short.points: other for trial, other in found.alike}
    for trial in found.trials:
        if trial.short.points in judged:
            continue
        kind, reason = _why_left_out(goals, found, trial, alike.get(trial.short.points))
        spec = found.plan.at(trial.values)[0].spec
        seed, requests = found.plan.seed - 1, goals.requests_short
        yield LeftOut(
            kind=kind,
            reason=reason,
            design=spec.design,
            settings=settings_of(found.plan, trial.values),
            short={name: _short(trial.short, name, found.proxies) for name in goals.shown},
            spec=replace(spec, seed=seed, requests=requests),
        )


def _why_left_out(goals: Goals, found: Found, trial: Trial, alike: str | None) -> tuple[Kind, str]:
    short = trial.short
    if alike is not None:
        return "alike", f"it did the same as {alike}"
    if short.error is not None:
        return "failed", f"failed: {short.error}"
    judged_by = {name: found.proxies.get(name, name) for name in goals.figures}
    lacking = [name for name in judged_by.values() if short.figure(name) is None]
    if lacking:
        return "dropped", f"too few requests for {lacking[0]}"
    if found.partial:
        return "waiting", "the search was interrupted before its long runs"
    if may_do(goals, short, found.bounds, found.proxies):
        return (
            "waiting",
            "it kept all constraints, and others were better: a greater confirm runs it",
        )
    reasons = [DOUBTS[each] for each in short.doubts]
    for each in goals.constraints:
        by = replace(each, figure=judged_by[each.figure])
        value, bound = short.figure(by.figure), bound_of(by, found.bounds)
        if bound is None:
            reasons.append(f"nothing to hold {by.figure} against: {each.design} has none")
        elif value is not None and by.excess(value, bound) > DOUBT:
            reasons.append(each.said(value, bound))
    return "dropped", "; ".join(reasons)


_Pair = tuple[Candidate, Outcome]


def _candidates(goals: Goals, found: Found) -> tuple[list[_Pair], list[_Pair]]:
    """What was confirmed, the front first, and what it is held against."""
    plan = found.plan
    made: list[_Pair] = []
    for trial in found.confirmed:
        assert trial.long is not None
        spec = plan.at(trial.values)[0].spec
        settings = settings_of(plan, trial.values)
        made.append((_candidate(goals, found, "", spec, settings, trial.long), trial.long))
        short = {name: _short(trial.short, name, found.proxies) for name in goals.shown}
        made[-1] = (replace(made[-1][0], short=short), trial.long)
    references = []
    for design, outcome in found.references.items():
        spec = replace(plan, grid=Grid(()), designs=(design,)).at({})[0].spec
        references.append((_candidate(goals, found, design, spec, {}, outcome), outcome))
    every = [*made, *references]
    fit = [at for at, (each, _) in enumerate(every) if not each.faults]
    costs = [_costs(goals, every[at][1]) for at in fit]
    first = sorted(next(fronts(costs), []), key=lambda position: costs[position])

    def is_better(one: int, other: int) -> bool:
        pair = every[one][0].figures, every[other][0].figures
        return any(_is_better(each, *pair) for each in goals.objectives)

    best = set(distinct([fit[position] for position in first], is_better))
    marked = [
        (replace(each, is_best=at in best), outcome) for at, (each, outcome) in enumerate(every)
    ]
    mine, others = marked[: len(made)], marked[len(made) :]
    return _named(goals, mine, [each for each, _ in others if each.is_best]), others


def _candidate(
    goals: Goals,
    found: Found,
    name: str,
    spec: RunSpec,
    settings: Mapping[str, Any],
    outcome: Outcome,
) -> Candidate:
    return Candidate(
        name=name,
        design=spec.design,
        settings=settings,
        figures={each: outcome.cells[each] for each in goals.shown},
        short=None,
        faults=tuple(_faults(goals, found, outcome)),
        is_best=False,
        logical_bytes=logical_bytes(spec),
        spec=spec,
        points=outcome.points,
    )


def _is_better(objective: Objective, one: Mapping[str, Cell], other: Mapping[str, Cell]) -> bool:
    """Whether one is better than the other in an objective, by more than chance explains."""
    mine, its = one[objective.figure], other[objective.figure]
    return mine.is_less(its) if objective.is_least else its.is_less(mine)


def _faults(goals: Goals, found: Found, outcome: Outcome) -> Iterator[str]:
    if outcome.error is not None:
        yield f"failed: {outcome.error}"
        return
    for name in goals.figures:
        if outcome.figure(name) is None:
            yield f"too few requests for {name}"
    for each in goals.constraints:
        value, bound = outcome.figure(each.figure), bound_of(each, found.references)
        if bound is None:
            yield f"nothing to hold {each.figure} against: {each.design} has none"
        elif value is not None and each.excess(value, bound) > 0:
            yield each.said(value, bound)
    yield from (DOUBTS[each] for each in outcome.doubts)


def _costs(goals: Goals, outcome: Outcome) -> list[float]:
    values = [(each, outcome.figure(each.figure)) for each in goals.objectives]
    return [math.inf if value is None else each.cost(value) for each, value in values]


def _named(goals: Goals, pairs: Sequence[_Pair], others: Sequence[Candidate]) -> list[_Pair]:
    """Combinations with their names: the front first, then what has no faults, each by its cost.

    `others` are the designs that are on the front too.
    """
    ordered = sorted(
        pairs,
        key=lambda pair: (not pair[0].is_best, bool(pair[0].faults), _costs(goals, pair[1])),
    )
    count = sum(each.is_best for each, _ in ordered)
    names = [f"front-{at + 1}" for at in range(count)]
    names += [f"other-{at + 1}" for at in range(len(ordered) - count)]
    named = [
        (replace(each, name=name), outcome)
        for name, (each, outcome) in zip(names, ordered, strict=True)
    ]
    best = [*(each for each, _ in named[:count]), *others]
    return [(replace(each, alike=_alike(goals, each, best)), outcome) for each, outcome in named]


def _alike(goals: Goals, candidate: Candidate, best: Sequence[Candidate]) -> str:
    """The first on the front from which a candidate differs by no more than chance."""
    if candidate.is_best or candidate.faults:
        return ""

    def is_like(each: Candidate) -> bool:
        ways = ((candidate.figures, each.figures), (each.figures, candidate.figures))
        return not any(_is_better(goal, *way) for goal in goals.objectives for way in ways)

    return next((each.name for each in best if is_like(each)), "")


def _comparison(found: Found, pairs: Sequence[_Pair], folder: str) -> Comparison | None:
    """The runs of some combinations as a comparison, of which the first is the reference."""
    if not pairs:
        return None
    plan = found.plan
    documents = _documents(folder, plan, [each for _, outcome in pairs for each in outcome.points])
    results = tuple(
        DesignResult.from_dict(
            seeds.combined([documents[each] for each in outcome.points]) | {"design": pair.name}
        )
        for pair, outcome in pairs
        if outcome.error is None
    )
    first = results[0]
    device, *_ = configured_designs(first.device, (), plan.state, plan.settings)
    designs = (
        configured(
            "design",
            replace(
                catalog.describe_design(
                    each.design, settings=[*plan.settings, *arguments.settings(_of_files(each))]
                ),
                name=each.name,
            ),
        )
        for each, _ in pairs
    )
    return Comparison(
        version=native.version(),
        # A line for each: their values differ, which those of one comparison can't.
        command="\n".join(f"{each.command} --seeds {plan.seeds}" for each, _ in pairs),
        device=first.device,
        workload=compared_workload(first),
        state=states.common([each.document["state"] for each in results]),
        seed=plan.seed,
        partial=False,
        reference=first.design,
        configuration=(device, *designs),
        results=results,
        errors=(),
        seeds=plan.seeds,
    )


def _used(result: DesignResult) -> dict[str, Any]:
    """The values that follow the drive, by section and key."""
    return {f"{each.section}.{each.key}": each.used for each in result.adjusted}


def _of_files(candidate: Candidate) -> dict[str, Any]:
    return {key: value for key, value in candidate.settings.items() if key != "device"}


def _documents(folder: str, plan: Plan, points: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The result documents of some points."""
    pa = library("pyarrow", "a search")
    compute = library("pyarrow.compute", "a search")
    table = read_table(folder, plan.grid.axes, ["point", "result"])
    wanted = table.filter(compute.is_in(table["point"], value_set=pa.array(points, pa.string())))
    return {each["point"]: json.loads(each["result"]) for each in wanted.to_pylist()}


def _short(outcome: Outcome, name: str, proxies: Mapping[str, str]) -> float | None:
    return outcome.figure(proxies.get(name, name))
