"""A figure at each combination of a sweep, over its seeds: what tables and plots show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any

from tinytail.errors import UsageError, suggestion
from tinytail.inputs.libraries import library
from tinytail.sweeps.axes import Axis
from tinytail.sweeps.plan import is_of_workload
from tinytail.sweeps.rows import FIGURES, shown
from tinytail.verdict.noise import is_chance
from tinytail.verdict.percentiles import PERCENTILES
from tinytail.verdict.seeds import student

# Names of figures that a user may ask for: the ends of intervals are none.
NAMES = tuple(each.name for each in FIGURES if not each.name.endswith((".low", ".high")))
# Of these figures more is better; of all others less is.
GREATER = "throughput."
PANELS_MAX = 24
# With one of these findings a figure is not that of the design, and may look better than it is.
DOUBTFUL = ("partial", "borrowed", "saturated")
# What too few requests lie beyond has no value.
TOLD = "few_samples"


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of one design at one combination, and how far it may be off.

    Attributes:
        place: The values of what is varied.
        mean: Its mean over the seeds; None if it has no value.
        low: The lower end of its interval: of the seeds, or of the run if there is one alone.
        high: The upper end.
        runs: How many seeds it is the mean of.
        failed: How many seeds failed.
        findings: Codes of what makes it mean less.
        points: The points of its seeds.
    """

    place: Mapping[str, Any]
    mean: float | None
    low: float | None
    high: float | None
    runs: int
    failed: int
    findings: tuple[str, ...]
    points: tuple[str, ...] = ()

    def is_less(self, other: Cell) -> bool:
        """Whether its figure is less than another one by more than chance explains."""
        if self.mean is None or other.mean is None or self.mean >= other.mean:
            return False
        if self.high is None or other.low is None:
            return True
        return not is_chance(self.mean, self.high, other.mean, other.low)


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a sweep that two axes span: what one table or plot shows.

    Attributes:
        fixed: The values of all other axes.
        x: The axis along it.
        by: What has a line, or a column, for each of its values; None if nothing is left.
        cells: The cells by their values of both.
    """

    fixed: Mapping[str, Any]
    x: Axis
    by: Axis | None
    cells: Mapping[tuple[Any, Any], Cell]

    @property
    def title(self) -> str:
        """What is fixed, in words."""
        return words(self.fixed)

    def column(self, by: Any) -> list[Cell | None]:
        """The cells of one value of `by`, along `x`."""
        line = "" if self.by is None else key(self.by, by)
        return [self.cells.get((key(self.x, value), line)) for value in self.x.values]


def words(place: Mapping[str, Any]) -> str:
    """Values of axes in words."""
    return ", ".join(f"{name} = {shown(value)}" for name, value in place.items())


def check_figure(name: str) -> str:
    """The name of a figure.

    Raises:
        UsageError: there is no such figure.
    """
    if name not in NAMES:
        raise UsageError(f'there is no figure "{name}"{suggestion(name, NAMES)}')
    return name


def cells(table: Any, varied: Sequence[Axis], figure: str) -> list[Cell]:
    """The cells of a figure, in the order of the axes."""
    names = [axis.name for axis in varied]
    ends = [f"{figure}.low", f"{figure}.high"]
    has_ends = all(name in table.column_names for name in ends)
    columns = [*names, figure, "point", "error", "findings", *(ends if has_ends else ())]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in table.select(columns).to_pylist():
        groups.setdefault(tuple(key(axis, row[axis.name]) for axis in varied), []).append(row)
    at = _positions(varied, groups)
    return [
        cell(
            {axis.name: axis.values[at] for axis, at in zip(varied, place, strict=True)},
            groups[keys],
            figure,
        )
        for place, keys in sorted(at.items())
    ]


def _positions(
    axes: Sequence[Axis], found: Iterable[tuple[Any, ...]]
) -> dict[tuple[int, ...], tuple[Any, ...]]:
    """Values of axes, as `key` has them, by their positions; without those of no axis."""
    known = [{key(axis, value): at for at, value in enumerate(axis.values)} for axis in axes]
    places = (
        (tuple(of.get(each, -1) for of, each in zip(known, keys, strict=True)), keys)
        for keys in found
    )
    return {place: keys for place, keys in places if -1 not in place}


def places_of(table: Any, groups: Sequence[Sequence[Axis]]) -> Any:
    """Where the rows of a table lie in the grid of some axes, in the order of its combinations.

    `groups` are the axes, zipped ones together. A row that has another value has no place.
    """
    pa = library("pyarrow", "a sweep")
    compute = library("pyarrow.compute", "a sweep")
    found = pa.chunked_array([pa.nulls(len(table), pa.int64()).fill_null(0)])
    for group in groups:
        first = None
        for axis in group:
            column = table[axis.name]
            values = [shown(each) if axis.type == "string" else each for each in axis.values]
            at = compute.index_in(column, value_set=pa.array(values, column.type))
            at = at.cast(pa.int64())
            first = at if first is None else compute.if_else(compute.equal(first, at), first, None)
        found = compute.add(compute.multiply(found, len(group[0].values)), first)
    return found


def key(axis: Axis, value: Any) -> Any:
    """A value as the dataset has it, where what has no type of its own is text."""
    return shown(value) if axis.type in ("string", "bool") else float(value)


def cell(place: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], figure: str) -> Cell:
    """A figure over the seeds of one combination, of which each has a row."""
    values = [row[figure] for row in rows if row[figure] is not None]
    mean = fmean(values) if values else None
    low, high = (rows[0].get(f"{figure}.{end}") for end in ("low", "high"))
    if len(values) > 1 and mean is not None:
        reach = student(len(values) - 1) * stdev(values) / len(values) ** 0.5
        low, high = mean - reach, mean + reach
    codes = (code for row in rows for code in row["findings"] or ())
    findings = dict.fromkeys(code for code in codes if code != TOLD)
    failed = sum(row["error"] is not None for row in rows)
    points = tuple(row["point"] for row in rows)
    return Cell(place, mean, low, high, len(values), failed, tuple(findings), points)


def headline(table: Any) -> str:
    """The figure that a sweep is judged by: the deepest percentile that most points have.

    That of reads, if they have any.
    """
    whole = len(table) - (len(table) - table["error"].null_count)
    for kind in ("read", "write"):
        for each in reversed(PERCENTILES):
            name = f"{kind}.{each.key}"
            if whole and table[name].null_count - (len(table) - whole) <= whole // 10:
                return name
    return "read.mean_us"


def narrowed(varied: Sequence[Axis], where: Mapping[str, Any]) -> tuple[Axis, ...]:
    """The axes with those values alone that are wanted; a zipped one narrows those beside it.

    Raises:
        UsageError: an axis that was not varied, or a value that it does not have.
    """
    found = list(varied)
    for name, value in where.items():
        known = {each.name: each for axis in found for each in (axis, *axis.zipped)}
        if name not in known:
            raise UsageError(f'"{name}" is not varied{suggestion(name, known)}')
        axis = known[name]
        at = [place for place, each in enumerate(axis.values) if _is_same(axis, each, value)]
        if not at:
            allowed = ", ".join(map(shown, axis.values))
            raise UsageError(f"{name} has no value {shown(value)}; allowed: {allowed}")
        found = [_at(each, at) if axis in (each, *each.zipped) else each for each in found]
    return tuple(found)


def _is_same(axis: Axis, value: Any, wanted: Any) -> bool:
    try:
        return bool(key(axis, value) == key(axis, wanted))
    except ValueError:
        return False


def first(axis: Axis, most: int | None) -> Axis:
    """An axis with its first values; with all if `most` is None."""
    return axis if most is None else _at(axis, range(min(most, len(axis.values))))


def _at(axis: Axis, places: Sequence[int]) -> Axis:
    """An axis with some of its values, and those of the axes that go with it."""
    values = tuple(axis.values[place] for place in places)
    return replace(axis, values=values, zipped=tuple(_at(each, places) for each in axis.zipped))


def panels(
    varied: Sequence[Axis], found: Sequence[Cell], x: str | None, by: str | None
) -> list[Panel]:
    """What each table or plot of a sweep shows.

    Args:
        varied: what was varied.
        found: the cells.
        x: the axis along each; that with the most numbers if not given.
        by: the axis with a line for each value; designs, or the next axis, if not given.

    Raises:
        UsageError: an axis that was not varied, or the same one twice.
    """
    along, lines, rest = arranged(varied, x, by)
    insides: dict[tuple[Any, ...], dict[tuple[Any, Any], Cell]] = {}
    for cell in found:
        line = key(lines, cell.place[lines.name]) if lines else ""
        inside = insides.setdefault(tuple(key(axis, cell.place[axis.name]) for axis in rest), {})
        inside[key(along, cell.place[along.name]), line] = cell
    return [
        Panel(
            {axis.name: axis.values[at] for axis, at in zip(rest, place, strict=True)},
            along,
            lines,
            insides[keys],
        )
        for place, keys in sorted(_positions(rest, insides).items())
    ]


def arranged(
    varied: Sequence[Axis], x: str | None, by: str | None
) -> tuple[Axis, Axis | None, list[Axis]]:
    """The axis along each panel, that of its lines, and those of which each panel has one value.

    Raises:
        UsageError: as `panels`.
    """
    named = {axis.name: axis for axis in varied}
    free = [axis for axis in varied if len(axis.values) > 1] or list(varied)[:1]
    for wanted in (x, by):
        if wanted is not None and wanted not in named:
            raise UsageError(f'"{wanted}" is not varied{suggestion(wanted, named)}')
    if x is not None and x == by:
        raise UsageError(f"x and by are both {x}: name two axes, or one of them alone")
    along = named[x] if x is not None else _longest(free, by)
    others = [axis for axis in free if axis is not along]
    lines = named[by] if by is not None else _lines(others)
    return along, lines, [axis for axis in varied if axis is not along and axis is not lines]


def _longest(axes: Sequence[Axis], but: str | None) -> Axis:
    """The axis with the most numbers; of words, if none has numbers."""
    left = [axis for axis in axes if axis.name != but] or list(axes)
    return max(left, key=lambda axis: (is_of_numbers(axis), len(axis.values)))


def _lines(axes: Sequence[Axis]) -> Axis | None:
    """The designs, if several were run; or else the axis with the most values."""
    return next(
        (axis for axis in axes if axis.name == "design"),
        max(axes, key=lambda axis: len(axis.values), default=None),
    )


def is_of_numbers(axis: Axis) -> bool:
    """Whether the values of an axis have places on a scale."""
    return axis.type in ("int64", "double")


def _cost(figure: str, mean: float) -> float:
    """A figure of which less is better: of throughput, more is."""
    return -mean if figure.startswith(GREATER) else mean


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which points no other one is better than, or as good and better in one: the least of both.

    >>> front([(1, 5), (2, 2), (3, 3), (5, 1), (5, 2)])
    [0, 1, 3]
    """
    best = float("inf")
    found = []
    for position in sorted(range(len(points)), key=lambda place: points[place]):
        if points[position][1] < best:
            best = points[position][1]
            found.append(position)
    return found


def distinct(ordered: Sequence[int], is_better: Callable[[int, int], bool]) -> list[int]:
    """Members of a front each of which is better than each other one in something.

    Of two that differ by chance alone the first stays.

    >>> values = {0: (3360, 81), 1: (3365, 18), 2: (5000, 10)}
    >>> def is_better(one: int, other: int) -> bool:
    ...     return any(a + 10 < b for a, b in zip(values[one], values[other]))
    >>> distinct([0, 1, 2], is_better)
    [1]
    """
    kept: list[int] = []
    for each in ordered:
        if all(is_better(each, other) for other in kept):
            kept = [*(other for other in kept if is_better(other, each)), each]
    return kept


@dataclass(frozen=True, slots=True)
class Choices:
    """Combinations among which one may choose: all on the same workload, by two figures.

    Attributes:
        given: The workload, and what else no design decides, where that was varied.
        x: The cells of one figure.
        y: Those of the other one, in the same order.
        best: The positions of those on the front, in the order of `x`: the front that a search
            has found; elsewhere those that no other one is better than, by more than chance.
        refuted: The positions of those that can't be on it: a search has refuted them; elsewhere a
            finding takes their figures from them.
        why: What the refuted ones are called.
    """

    given: Mapping[str, Any]
    x: tuple[Cell, ...]
    y: tuple[Cell, ...]
    best: tuple[int, ...]
    refuted: tuple[int, ...] = ()
    why: str = "in doubt"

    @property
    def title(self) -> str:
        """What is given, in words."""
        return words(self.given)

    @property
    def points(self) -> list[tuple[float, float]]:
        """Both figures of each combination."""
        return [(x.mean or 0.0, y.mean or 0.0) for x, y in zip(self.x, self.y, strict=True)]


def choices(
    table: Any, varied: Sequence[Axis], x: str, y: str, judged: Mapping[str, str] | None = None
) -> list[Choices]:
    """The combinations that have both figures, apart for each workload.

    Args:
        table: the points.
        varied: the axes.
        x: one figure.
        y: another one.
        judged: what a search found of points: `front`, `refuted` or `other`.
    """
    names = [axis.name for axis in varied if is_of_workload(axis.name) and len(axis.values) > 1]
    groups: dict[str, list[tuple[Cell, Cell]]] = {}
    for pair in zip(cells(table, varied, x), cells(table, varied, y), strict=True):
        given = {name: pair[0].place[name] for name in names}
        if all(cell.mean is not None for cell in pair):
            groups.setdefault(words(given), []).append(pair)
    found = []
    for pairs in groups.values():
        one, other = (tuple(each) for each in zip(*pairs, strict=True))
        given = {name: one[0].place[name] for name in names}
        found.append(_judged(Choices(given, one, other, ()), x, y, judged or {}))
    return found


def _judged(of: Choices, x: str, y: str, judged: Mapping[str, str]) -> Choices:
    """Choices with their front, and with what can't be on it."""
    every = range(len(of.x))
    if judged:
        known = [{judged.get(point, "other") for point in cell.points} for cell in of.x]
        best = [at for at in every if known[at] == {"front"}]
        best.sort(key=lambda at: of.points[at])
        refuted = tuple(at for at in every if "refuted" in known[at])
        return replace(of, best=tuple(best), refuted=refuted, why="refuted by the search")
    refuted = tuple(at for at in every if set(DOUBTFUL) & {*of.x[at].findings, *of.y[at].findings})
    left = sorted(set(every) - set(refuted))
    costs = [(_cost(x, of.points[at][0]), _cost(y, of.points[at][1])) for at in left]

    def is_better(one: int, other: int) -> bool:
        pairs = ((x, of.x[one], of.x[other]), (y, of.y[one], of.y[other]))
        return any(_is_better(name, mine, its) for name, mine, its in pairs)

    return replace(
        of, best=tuple(distinct([left[at] for at in front(costs)], is_better)), refuted=refuted
    )


def _is_better(figure: str, one: Cell, other: Cell) -> bool:
    return other.is_less(one) if figure.startswith(GREATER) else one.is_less(other)


def spans_decades(values: Sequence[float]) -> bool:
    """Whether numbers are seen better on a logarithmic scale."""
    known = [each for each in values if each is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) >= 20


def has_equal_ratios(axis: Axis) -> bool:
    """Whether the numbers of an axis lie at equal ratios, and not at equal distances."""
    values = places(axis)
    if not is_of_numbers(axis) or len(values) < 3 or min(values) <= 0:
        return False
    ratios = [after / before for before, after in pairwise(values)]
    gaps = [after - before for before, after in pairwise(values)]
    return max(ratios) <= 1.5 * min(ratios) and max(gaps) > 1.5 * min(gaps)


def places(axis: Axis) -> list[float]:
    """Where the values of an axis lie: numbers at their places, words one after the other."""
    if is_of_numbers(axis):
        return [float(value) for value in axis.values]
    return [float(position) for position in range(len(axis.values))]
