"""What a search is for: figures that are to be least or greatest, and bounds of others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from tinytail.engine import arguments
from tinytail.errors import UsageError
from tinytail.inputs import tables
from tinytail.sweeps.cells import check_figure
from tinytail.sweeps.view import value as told

_BOUND = re.compile(r"(\S+)\s*(<=|>=)\s*(\S+?)(?:\s+of\s+(.+))?")
# The requests of a short run, unless a tenth of a long one's is known.
SHORT = 20_000
# What is shown beside the figures that count.
COSTS = ("erases", "read.mean_us")


@dataclass(frozen=True, slots=True)
class Objective:
    """A figure that is to be least, or greatest."""

    figure: str
    is_least: bool

    @property
    def title(self) -> str:
        """The objective in words."""
        return f"{'least' if self.is_least else 'greatest'} {self.figure}"

    def cost(self, value: float) -> float:
        """A value of which less is better."""
        return value if self.is_least else -value


@dataclass(frozen=True, slots=True)
class Constraint:
    """A bound of a figure: a number, or so many times what a design has, such as `1.1 of base`."""

    text: str
    figure: str
    is_most: bool
    factor: float
    design: str | None

    def bound(self, figure_of: Callable[[str], float | None]) -> float | None:
        """The bound itself; None if the design that it is taken from has no such figure."""
        if self.design is None:
            return self.factor
        value = figure_of(self.design)
        return None if value is None else self.factor * value

    def excess(self, value: float, bound: float) -> float:
        """By what part of the bound a value is beyond it; 0 or less if it is not."""
        beyond = value - bound if self.is_most else bound - value
        return beyond / abs(bound) if bound else beyond

    def said(self, value: float, bound: float) -> str:
        """That a value is beyond the bound, in words."""
        return f"not {self.text}: {told(value, self.figure)}, bound {told(bound, self.figure)}"


@dataclass(frozen=True, slots=True)
class Goals:
    """What a search is for, and what it may cost; see `search` for the meaning of each field."""

    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    beside: tuple[str, ...]
    trials: int
    requests_short: int
    confirm: int

    @property
    def title(self) -> str:
        """The goals in words."""
        return ", ".join(
            [
                *(each.title for each in self.objectives),
                *(each.text for each in self.constraints),
            ]
        )

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that count, each once."""
        every = [each.figure for each in self.objectives]
        return tuple(dict.fromkeys([*every, *(each.figure for each in self.constraints)]))

    @property
    def shown(self) -> tuple[str, ...]:
        """The figures that are shown: those that count, and what they cost; two at least."""
        every = tuple(dict.fromkeys([*self.figures, *COSTS]))
        return every[: max(2, len(self.figures) + (COSTS[0] not in self.figures))]

    def designs_of(self, figure: str) -> tuple[str, ...]:
        """The designs that bounds of a figure are taken from."""
        named = (each.design for each in self.constraints if each.figure == figure)
        return tuple(dict.fromkeys(each for each in named if each is not None))

    @property
    def references(self) -> tuple[str, ...]:
        """The designs that are run as they are: those that bounds are taken from first."""
        of_bounds = (each.design for each in self.constraints if each.design is not None)
        return tuple(dict.fromkeys([*of_bounds, *self.beside]))


def goals_of(
    requests: int | None,
    *,
    least: Sequence[str] = (),
    greatest: Sequence[str] = (),
    constraints: Sequence[str] = (),
    beside: Sequence[tables.DesignNamed] = (),
    trials: int = 100,
    requests_short: int | None = None,
    confirm: int = 8,
) -> Goals:
    """The goals of what a caller passes to `search`, of which a long run has `requests`.

    Raises:
        UsageError: there is no objective, one twice, an unknown figure, a constraint of another
            form, or a number out of range.
    """
    if requests_short is None:
        requests_short = SHORT if requests is None else max(1, requests // 10)
    return Goals(
        tuple(_objectives(least, greatest)),
        tuple(map(_constraint, arguments.names("constraints", constraints))),
        tables.designs(beside),
        arguments.whole_number("trials", trials, 1),
        arguments.whole_number("requests_short", requests_short, 1, requests),
        arguments.whole_number("confirm", confirm, 1),
    )


# What a search takes beside what a sweep does.
GOALS = tuple(inspect.signature(goals_of).parameters)[1:]


def _objectives(least: Sequence[str], greatest: Sequence[str]) -> list[Objective]:
    named = [(name, True) for name in arguments.names("least", least)]
    named += [(name, False) for name in arguments.names("greatest", greatest)]
    found = [Objective(check_figure(name), is_least) for name, is_least in named]
    if not found:
        raise UsageError('a search needs an objective, such as least = ["read.p999_us"]')
    names = [each.figure for each in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'the objective "{name}" is given twice')
    return found


def _constraint(text: str) -> Constraint:
    """A constraint from its words.

    >>> _constraint("erases <= 1.1 of base").design
    'base'
    """
    found = _BOUND.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        figure, sign, number, design = found.groups()
        factor = arguments.finite(f'the number of "{text}"', float(number))
    except ValueError:
        raise UsageError(
            f'the constraint "{text}" must be FIGURE <= NUMBER or FIGURE >= NUMBER, with "of '
            "DESIGN\" behind it if it is so many times that design's, such as "
            '"erases <= 1.1 of base"'
        ) from None
    return Constraint(text.strip(), check_figure(figure), sign == "<=", factor, design)


def fronts(costs: Sequence[Sequence[float]]) -> Iterator[list[int]]:
    """Combinations by fronts: the first has those that no other one is better than in everything.

    >>> list(fronts([(1, 5), (2, 2), (3, 3), (5, 1)]))
    [[0, 1, 3], [2]]
    """
    points = [tuple(each) for each in costs]
    beaten: list[list[int]] = [[] for _ in points]
    # By how many others each one is beaten that are on no front yet.
    left = [0] * len(points)
    for one, other in combinations(range(len(points)), 2):
        for winner, loser in ((one, other), (other, one)):
            if _beats(points[winner], points[loser]):
                beaten[winner].append(loser)
                left[loser] += 1
    front = [place for place, count in enumerate(left) if count == 0]
    while front:
        yield front
        following = []
        for winner in front:
            for loser in beaten[winner]:
                left[loser] -= 1
                if left[loser] == 0:
                    following.append(loser)
        front = sorted(following)


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether one is better, and nowhere worse."""
    return one != other and all(mine <= its for mine, its in zip(one, other, strict=True))
