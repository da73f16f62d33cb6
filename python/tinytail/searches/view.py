"""A search on a terminal: what was confirmed beside what it is held against, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.sweeps.view import findings, told, value
from tinytail.terminal.table import list_table, wrapped

if TYPE_CHECKING:
    from tinytail.searches.result import Candidate, Search

ERRORS_MAX = 3


def search_view(
    search: Search, width: int, *, unicode: bool = True, details: bool = False
) -> RenderableType:
    """What a search has found, as lines of at most `width` columns.

    With `details`, each combination that was refuted or left out has a line of its own.
    """
    from tinytail.comparison.view import verdict_view

    parts: list[RenderableType] = []
    for line in _head(search):
        parts += wrapped(Text(line), width, indent=2)
    shown = [each for each in search.candidates if not each.faults]
    every = [*shown, *search.references]
    if every:
        parts += [Text(), _table(search, every), Text()]
    lines = [f"{each.name}: {each.title}{_beaten(each)}" for each in shown]
    lines += [
        f"{each.name}: {each.verdict}" for each in search.references if each.faults or each.is_best
    ]
    stars = findings([cell for each in every for cell in each.figures.values()])
    for line in [*lines, *_without_verdict(search, details=details), *stars]:
        parts += wrapped(Text(line), width, indent=2)
    if not search.front and not search.partial:
        line = "No combination is on the front: each has a fault, or a design is as good or better."
        parts += wrapped(Text(line, "bold"), width)
    if search.comparison is not None:
        parts += [Text(), verdict_view(search.comparison, width, unicode=unicode)]
    return Group(*parts)


def _head(search: Search) -> list[str]:
    goals = search.goals
    of = units.counted(search.combinations, "combination")
    tried = f"{units.count(search.tried)} of {of} tried"
    alike = "did the same as another or as a design"
    told = {"can't run": search.refused, "failed": search.failed}
    beside = ", ".join(f"{units.count(count)} {what}" for what, count in told.items() if count)
    failed = f" ({beside})" if beside else ""
    short = f"by runs of up to {units.counted(goals.requests_short, 'request')}"
    runs = units.counted(search.seeds, "seed")
    long = "all requests" if search.requests is None else units.count(search.requests)
    confirmed = f"{len(search.candidates)} confirmed by {runs} of {long}"
    confirmed += f", {search.alike} {alike}" if search.alike else ""
    confirmed += f", {search.waiting} more kept all constraints when tried" * bool(search.waiting)
    dropped = sum(each.kind == "dropped" for each in search.left_out)
    confirmed += f", {units.count(dropped)} dropped" * bool(dropped)
    lines = [goals.title, f"{tried}{failed} {short}, {confirmed}" + ", PARTIAL" * search.partial]
    for name, proxy in search.proxies.items():
        lines.append(f"short runs have too few requests for {name} and were judged by {proxy}")
    lines += [f"failed: {error}" for error in search.errors[:ERRORS_MAX]]
    more = len(search.errors) - ERRORS_MAX
    return [
        *lines,
        *([f"and {units.counted(more, 'more sort')} of errors"] if more > 0 else []),
        *search.notes,
    ]


def _beaten(candidate: Candidate) -> str:
    return "" if candidate.is_best else f"; {candidate.verdict}"


# Words before the reason of a combination that was left out, by its kind.
_LEFT_OUT = {
    "alike": "left out",
    "dropped": "dropped after its short run",
    "failed": "left out",
    "waiting": "not confirmed",
}


def _without_verdict(search: Search, *, details: bool) -> list[str]:
    """What is neither on the front nor behind it, each with the first reason."""
    every = [
        (f"refuted by long runs, {each.verdict if details else each.faults[0]}", each.title)
        for each in search.candidates
        if each.faults
    ]
    every += [(f"{_LEFT_OUT[each.kind]}, {each.reason}", each.title) for each in search.left_out]
    if details:
        return [f"{title}: {reason}" for reason, title in every]
    groups: dict[str, list[str]] = {}
    for reason, name in every:
        groups.setdefault(_sort(reason), []).append(name)
    return [
        f"{reason}: {names[0]}" + (f", and {len(names) - 1} more" if len(names) > 1 else "")
        for reason, names in groups.items()
    ]


def _sort(reason: str) -> str:
    """A reason without its numbers and names, which differ from one combination to another."""
    return reason.partition(":")[0].partition(" as ")[0]


def _table(search: Search, every: list[Candidate]) -> Table:
    first = search.goals.objectives[0].figure
    table = list_table("")
    for name in search.goals.shown:
        table.add_column(Text(name), justify="right", overflow="fold")
    has_space = len({each.logical_bytes for each in every}) > 1
    if has_space:
        table.add_column(Text("space"), justify="right")
    table.add_column(Text("when tried"), justify="right")
    for each in every:
        cells = [told(cell, name, search.seeds) for name, cell in each.figures.items()]
        short = None if each.short is None else each.short[first]
        tried = "" if short is None else value(short, first)
        space = [units.memory(each.logical_bytes)] if has_space else []
        table.add_row(Text(each.name), *map(Text, [*cells, *space, tried]))
    return table
