"""Tries combinations by short runs, chosen by Optuna, and confirms the best by long ones.

Short runs have one seed and long ones have others. What has been run is in the dataset, and what is
chosen depends on results alone: a search that is made again runs what is missing.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

from tinytail import units
from tinytail.errors import RunError, UsageError
from tinytail.inputs.libraries import library
from tinytail.searches.goals import Constraint, Goals, fronts
from tinytail.searches.runs import Outcome, Runs
from tinytail.sweeps.axes import Grid
from tinytail.sweeps.cells import is_of_numbers
from tinytail.sweeps.plan import Plan
from tinytail.sweeps.rows import shown
from tinytail.sweeps.run import Tally
from tinytail.verdict.percentiles import PERCENTILES, SAMPLES_BEYOND

# So many combinations are asked for at once, however many processors there are.
BATCH_MIN = 8
BATCHES_MAX = 16
# Of so many combinations it is found out before anything runs which ones can run.
CHECKED_MAX = 1024
# After so many questions for each trial the space is taken for searched through.
QUESTIONS_MAX = 20
# Where few combinations can run, so many more are looked at.
DRAWS_MIN = 10_000
# A combination that is beyond a bound by less of it in a short run may keep it in long ones.
DOUBT = 0.05
# So many of the best trials have long runs, whatever their short ones were short of.
BEST = 3
# So many times as many as are wanted are confirmed at most, where some turn out to have a fault.
ROUNDS_MAX = 3
# The position of a combination on each group of zipped axes.
Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A combination that was tried.

    Attributes:
        values: The values of the axes.
        short: What came of its short run.
        long: What came of its long ones; None if it was not confirmed.
    """

    values: Mapping[str, Any]
    short: Outcome
    long: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found so far.

    Attributes:
        trials: The combinations that were tried, in their order.
        confirmed: Those that were confirmed, the best short runs first.
        references: What came of the long runs of each design that others are held against.
        proxies: By which figure short runs were judged, where they have too few requests.
        plan: The plan of the long runs.
        refused: How many combinations can't run, of those that were looked at.
        alike: Those that did the same in long runs as another one or a reference, with its title.
        bounds: What came of the short runs of the references.
        notes: What is to be said of the search.
        partial: Whether it was interrupted.
    """

    trials: tuple[Trial, ...]
    confirmed: tuple[Trial, ...]
    references: Mapping[str, Outcome]
    proxies: Mapping[str, str]
    plan: Plan
    refused: int
    alike: tuple[tuple[Trial, str], ...]
    bounds: Mapping[str, Outcome]
    notes: tuple[str, ...]
    partial: bool


class Optimizer:
    """A search under way: what it tries, by what came of it so far, and what it confirms."""

    def __init__(self, plan: Plan, goals: Goals, runs: Runs) -> None:
        self._goals = goals
        self._runs = runs
        first = plan.seed
        self._long = replace(plan, seed=first + 1, beside=goals.references)
        self._short = replace(
            plan,
            seed=first,
            seeds=1,
            options={**plan.options, "requests": goals.requests_short},
            beside=goals.references,
        )
        self._able: dict[Place, bool] = {}
        self._trials: dict[Place, Trial] = {}
        self._references: dict[str, Outcome] = {}
        self._bounds: dict[str, Outcome] = {}
        self._proxies: dict[str, str] = {}
        self._confirmed: list[Trial] = []
        self._alike: list[tuple[Trial, str]] = []
        self._notes: list[str] = []

    def run(self) -> Found:
        """Tries combinations and confirms the best of them.

        Raises:
            RunError: a design that others are held against failed, or no combination has the
                figures that are wanted.
        """
        is_partial = False
        try:
            self._explore()
            self._confirm()
        except KeyboardInterrupt:
            is_partial = True
        return Found(
            tuple(self._trials.values()),
            tuple(self._confirmed),
            self._references,
            self._proxies,
            self._long,
            sum(not each for each in self._able.values()),
            tuple(self._alike),
            self._bounds,
            tuple(self._notes),
            is_partial,
        )

    def _explore(self) -> None:
        """Tries combinations by short runs, as many as are wanted or as there are."""
        groups = self._short.grid.groups
        every = product(*(range(len(group[0].values)) for group in groups))
        wanted = self._goals.trials
        able = None
        if len(self._short.grid) <= CHECKED_MAX:
            able = [place for place in every if self._can_run(place)]
            wanted = min(wanted, len(able))
            self._note_useless(able)
        tally = Tally(wanted + len(self._goals.references), "trials")
        self._hold_against(tally)
        batch = max(BATCH_MIN, wanted // BATCHES_MAX)
        if able is not None and len(able) == wanted:
            for start in range(0, len(able), batch):
                self._try(able[start : start + batch], tally)
        else:
            self._sample(wanted, batch, tally)
        self._runs.end_stage(tally)

    def _note_useless(self, able: Sequence[Place]) -> None:
        """Says which values can't run in any combination."""
        for index, group in enumerate(self._short.grid.groups):
            used = {place[index] for place in able}
            for position in range(len(group[0].values)):
                if position in used:
                    continue
                place = next(each for each in self._able if each[index] == position)
                said = ", ".join(f"{axis.name} = {axis.values[position]}" for axis in group)
                why = self._short.fault(self._values(place))
                self._notes.append(f"no combination with {said} can run: {why}")

    def _can_run(self, place: Place) -> bool:
        if place not in self._able:
            self._able[place] = self._short.fault(self._values(place)) is None
        return self._able[place]

    def _sample(self, wanted: int, batch: int, tally: Tally) -> None:
        """Tries what Optuna asks for, by what came of the trials before.

        Where it asks for what was tried or can't run, others are tried at random.
        """
        study, space = self._study()
        pruned = library("optuna", "a search").trial.TrialState.PRUNED
        draw = random.Random(self._short.seed).randrange
        sizes = [len(group[0].values) for group in self._short.grid.groups]
        others = (tuple(map(draw, sizes)) for _ in range(DRAWS_MIN + QUESTIONS_MAX * wanted))
        for _ in range(1 + QUESTIONS_MAX * wanted // batch):
            asked: dict[Place, Any] = {}
            for _ in range(batch):
                each = study.ask(space)
                place = tuple(each.params[name] for name in space)
                if place not in self._trials and place not in asked and self._can_run(place):
                    asked[place] = each
                else:
                    # The sampler keeps away from what was pruned, as from what is under way; but
                    # while one is under way, each question looks through all that follow it.
                    study.tell(each, state=pruned)
            for place in others:
                if len(asked) >= batch:
                    break
                if place not in self._trials and place not in asked and self._can_run(place):
                    study.enqueue_trial(dict(zip(space, place, strict=True)))
                    asked[place] = study.ask(space)
            self._try([*asked][: wanted - len(self._trials)], tally)
            for place in asked:
                if place in self._trials:
                    self._tell(study, asked[place], self._trials[place].short)
            if len(self._trials) >= wanted:
                return

    def _study(self) -> tuple[Any, dict[str, Any]]:
        optuna = library("optuna", "a search")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        space = {}
        for group in self._short.grid.groups:
            last = len(group[0].values) - 1
            # Numbers have an order that the sampler may use; words have none.
            space[group[0].name] = (
                optuna.distributions.IntDistribution(0, last)
                if is_of_numbers(group[0])
                else optuna.distributions.CategoricalDistribution(tuple(range(last + 1)))
            )
        sampler = optuna.samplers.TPESampler(seed=self._short.seed % 2**32, multivariate=True)
        directions = ["minimize"] * len(self._goals.objectives)
        return optuna.create_study(directions=directions, sampler=sampler), space

    def _tell(self, study: Any, asked: Any, outcome: Outcome) -> None:
        costs = self._costs(outcome)
        if costs is None:
            optuna = library("optuna", "a search")
            study.tell(asked, state=optuna.trial.TrialState.FAIL)
            return
        excesses = excesses_of(self._goals, outcome, self._bounds, self._proxies)
        for each, excess in excesses.items():
            asked.set_constraint(each, excess)
        asked.set_constraint("doubts", float(len(outcome.doubts)))
        study.tell(asked, costs)

    def _hold_against(self, tally: Tally) -> None:
        """Runs the designs that others are held against short, and finds what short runs have."""
        self._bounds = self._run_references(self._short, tally)
        requests = self._long.options.get("requests")
        many = units.counted(self._goals.requests_short, "request")
        for name in self._goals.figures:
            of = self._goals.designs_of(name) or self._goals.references[:1]
            lacking = [each for each in of if not self._known(name, each)]
            if lacking:
                raise RunError(f"{lacking[0]} has no {name} in a short run, of {many}")
            known = [each for each in _shallower(name) if self._has(each, of)]
            if not known:
                raise RunError(f"{', '.join(of)} have too few requests for {name} in a short run")
            if known[0] != name:
                self._proxies[name] = known[0]
                self._check_long(name, self._bounds[of[0]], requests)
        if any(_needs_no_gc(each) for each in self._bounds.values()):
            self._notes.append(
                f"short runs, of {many}, are too short to need GC: what is best in "
                "them may not be so in long ones; give more requests_short"
            )

    def _known(self, figure: str, design: str) -> bool:
        """Whether a design has a figure, or one of the shallower percentiles."""
        return any(self._has(each, (design,)) for each in _shallower(figure))

    def _has(self, figure: str, designs: Sequence[str]) -> bool:
        return all(self._bounds[each].figure(figure) is not None for each in designs)

    def _check_long(self, figure: str, short: Outcome, requests: int | None) -> None:
        """Refuses a percentile for which even long runs have too few requests."""
        kind, _, key = figure.partition(".")
        [one_in] = [each.one_in for each in PERCENTILES if each.key == key]
        count = short.figure(f"{kind}.count")
        if requests is None or not count:
            return
        needed = math.ceil(one_in * SAMPLES_BEYOND * self._goals.requests_short / count)
        # The share of reads varies from run to run.
        if requests < 0.9 * needed:
            raise UsageError(
                f"{figure} needs about {units.counted(needed, 'request')}, and a long run has "
                f"{requests:,}: give more, or a percentile that is less deep"
            )

    def _run_references(self, plan: Plan, tally: Tally) -> dict[str, Outcome]:
        points = {}
        for design in self._goals.references:
            as_it_is = replace(plan, grid=Grid(()), designs=(design,))
            points[design] = as_it_is.at({})
        self._runs.make([*chain(*points.values())], tally)
        found = {design: self._runs.outcome(each) for design, each in points.items()}
        for design, outcome in found.items():
            if outcome.error is not None:
                raise RunError(
                    f"{design}, which others are held against, failed: {outcome.error}. If that is "
                    "mended, --retry-failed (retry_failed=True) runs it again"
                )
        return found

    def _try(self, places: Sequence[Place], tally: Tally) -> None:
        """Runs combinations short, with the first seed."""
        points = {place: self._short.at(self._values(place)) for place in places}
        self._runs.make([*chain(*points.values())], tally)
        for place, of_place in points.items():
            self._trials[place] = Trial(self._values(place), self._runs.outcome(of_place))

    def _values(self, place: Place) -> dict[str, Any]:
        """The values of all axes at a place."""
        return {
            axis.name: axis.values[position]
            for group, position in zip(self._short.grid.groups, place, strict=True)
            for axis in group
        }

    def _confirm(self) -> None:
        """Runs the best combinations long, with other seeds than the short runs had.

        The best trials come first, whatever makes their short runs doubtful: long runs judge them.
        For those that turn out to have a fault others are taken, up to a limit.
        """
        best, ranked = self._ranked()
        tried = map(self._composition, [*best, *ranked])
        beside = tuple(dict.fromkeys([*self._goals.references, *tried]))
        self._long = replace(self._long, beside=beside)
        tally = Tally(len(self._goals.references) * self._long.seeds, "confirmed")
        self._references = self._run_references(self._long, tally)
        seen = {each.hashes: name for name, each in self._references.items()}
        refuted: Counter[str] = Counter()
        lack = self._goals.confirm - self._run_long(best, tally, seen, refuted)
        budget = ROUNDS_MAX * self._goals.confirm
        while lack > 0 and ranked and budget > 0:
            # What was refuted may be so with other values too: of those that may keep all bounds
            # other compositions come first.
            ranked.sort(
                key=lambda each: (
                    not may_do(self._goals, each.short, self._bounds, self._proxies),
                    refuted[self._composition(each)],
                )
            )
            chosen, ranked = ranked[:lack], ranked[lack:]
            budget -= len(chosen)
            lack -= self._run_long(chosen, tally, seen, refuted)
        self._runs.end_stage(tally)

    def _run_long(
        self,
        chosen: Sequence[Trial],
        tally: Tally,
        seen: dict[tuple[str, ...], str],
        refuted: Counter[str],
    ) -> int:
        """Runs combinations long.

        Args:
            chosen: the combinations.
            tally: counts the runs.
            seen: what had which hashes before; those of the combinations are added.
            refuted: how many combinations of each composition have a fault; theirs are added.

        Returns:
            How many have no fault, and do not the same as another one.
        """
        tally.total += len(chosen) * self._long.seeds
        points = [self._long.at(each.values) for each in chosen]
        self._runs.make([*chain(*points)], tally)
        faultless = 0
        for trial, of in zip(chosen, points, strict=True):
            outcome = self._runs.outcome(of)
            # Of two that do the same one is enough.
            if outcome.error is None and outcome.hashes in seen:
                self._alike.append((trial, seen[outcome.hashes]))
                continue
            self._confirmed.append(replace(trial, long=outcome))
            has_fault = self._has_fault(outcome)
            faultless += not has_fault
            refuted[self._composition(trial)] += has_fault
            seen.setdefault(outcome.hashes, title(self._short, trial.values))
        return faultless

    def _composition(self, trial: Trial) -> str:
        return self._short.spec_at(trial.values).design

    def _has_fault(self, outcome: Outcome) -> bool:
        if outcome.error is not None or outcome.doubts:
            return True
        has_all = all(outcome.figure(each) is not None for each in self._goals.figures)
        excesses = excesses_of(self._goals, outcome, self._references, {})
        return not has_all or any(each > 0 for each in excesses.values())

    def _ranked(self) -> tuple[list[Trial], list[Trial]]:
        """The best combinations by their short runs, and the others, the best first.

        The best are so by bounds and objectives alone. Of combinations that did the same in their
        short runs the first of each comes before all others.

        Raises:
            RunError: no combination has the figures that are wanted.
        """
        # Of two that did the same, the one that has more of the first values.
        simple = sorted(self._trials, key=lambda place: sum(each > 0 for each in place))
        groups: dict[tuple[str, ...], list[tuple[Trial, list[float]]]] = {
            each.hashes: [] for each in self._bounds.values()
        }
        like_bounds = len(groups)
        for place in simple:
            trial = self._trials[place]
            costs = self._costs(trial.short)
            if costs is not None:
                groups.setdefault(trial.short.hashes, []).append((trial, costs))
        alike = [*groups.values()]
        if not any(alike):
            errors = [each.short.error for each in self._trials.values()]
            why = next((f": {each}" for each in errors if each is not None), "")
            raise RunError(
                f"none of {units.counted(len(self._trials), 'combination')} tried has the figures "
                f"that are wanted{why}"
            )
        firsts = [each[0] for each in alike[like_bounds:]]
        rest = [*chain(*(each[1:] for each in alike[like_bounds:])), *chain(*alike[:like_bounds])]
        every = [*self._by_fronts(firsts, keeps), *self._by_fronts(rest, keeps)]
        best = every[:BEST]
        ranked = [*self._by_fronts(firsts, may_do), *self._by_fronts(rest, may_do)]
        return best, [each for each in ranked if each not in best]

    def _by_fronts(
        self, known: Sequence[tuple[Trial, list[float]]], is_able: Callable[..., bool]
    ) -> list[Trial]:
        """Those that are able to be on the front, front by front, and then the others."""
        ranked: list[Trial] = []
        for part in (True, False):
            of_part = [
                each
                for each in known
                if is_able(self._goals, each[0].short, self._bounds, self._proxies) is part
            ]
            for front in fronts([costs for _, costs in of_part]):
                ranked += [of_part[position][0] for position in front]
        return ranked

    def _costs(self, outcome: Outcome) -> list[float] | None:
        """The objectives, of which less is better; None if one of them has no value."""
        found = []
        for each in self._goals.objectives:
            value = outcome.figure(self._proxies.get(each.figure, each.figure))
            if value is None:
                return None
            found.append(each.cost(value))
        return found


def excesses_of(
    goals: Goals, outcome: Outcome, references: Mapping[str, Outcome], proxies: Mapping[str, str]
) -> dict[str, float]:
    """By what part of its bound an outcome is beyond each constraint; 0 or less if it is not."""
    found = {}
    for each in goals.constraints:
        judged = replace(each, figure=proxies.get(each.figure, each.figure))
        value, bound = outcome.figure(judged.figure), bound_of(judged, references)
        # What has no such figure keeps no bound of it.
        if value is None or bound is None:
            found[each.text] = math.inf
        else:
            found[each.text] = judged.excess(value, bound)
    return found


def keeps(
    goals: Goals, outcome: Outcome, bounds: Mapping[str, Outcome], proxies: Mapping[str, str]
) -> bool:
    """Whether long runs may keep all constraints, by what a short one did."""
    return all(excess <= DOUBT for excess in excesses_of(goals, outcome, bounds, proxies).values())


def may_do(
    goals: Goals, outcome: Outcome, bounds: Mapping[str, Outcome], proxies: Mapping[str, str]
) -> bool:
    """Whether a short run kept all constraints, and nothing makes it doubtful."""
    return not outcome.doubts and keeps(goals, outcome, bounds, proxies)


def settings_of(plan: Plan, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a combination changes beside its design and overlays."""
    spec = plan.spec_at(values)
    given = {name: value for name, value in values.items() if name == "device"}
    keys = {word.partition("=")[0] for word in spec.settings}
    return given | {name: value for name, value in values.items() if name in keys}


def title(plan: Plan, values: Mapping[str, Any]) -> str:
    """What a combination is, in words."""
    return titled(plan.spec_at(values).design, settings_of(plan, values))


def titled(design: str, settings: Mapping[str, Any]) -> str:
    """A design and values of it in words."""
    return ", ".join([design, *(f"{key} = {shown(value)}" for key, value in settings.items())])


def bound_of(constraint: Constraint, references: Mapping[str, Outcome]) -> float | None:
    """A bound; None if the design that it is taken from has no such figure."""
    return constraint.bound(lambda design: references[design].figure(constraint.figure))


def _needs_no_gc(outcome: Outcome) -> bool:
    """Whether a run wrote and no GC was due."""
    has_written = bool(outcome.figure("write.count"))
    return has_written and not outcome.figure("gc_count") and not outcome.doubts


def _shallower(figure: str) -> list[str]:
    """A figure, and of a percentile those with more requests beyond them, the deepest first."""
    kind, _, key = figure.partition(".")
    keys = [each.key for each in PERCENTILES]
    if key not in keys:
        return [figure]
    return [f"{kind}.{each}" for each in reversed(keys[: keys.index(key) + 1])]
