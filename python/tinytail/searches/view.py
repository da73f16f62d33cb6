"""A search on a terminal: what was confirmed beside what it is held against, and why."""

from __future__ import annotations

from collections.abc import Sequence
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


def search_view(search: Search, width: int, *, unicode: bool = True) -> RenderableType:
    """What a search has found, as lines of at most `width` columns."""
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
    for line in [*lines, *_refuted(search.candidates), *stars]:
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


def _refuted(candidates: Sequence[Candidate]) -> list[str]:
    """A line for each sort of fault, with the first combination that has it."""
    by_fault: dict[str, list[Candidate]] = {}
    for each in candidates:
        for fault in each.faults:
            by_fault.setdefault(fault.partition(":")[0], []).append(each)
    lines = []
    for fault, of in by_fault.items():
        others = f", and {len(of) - 1} more" if len(of) > 1 else ""
        lines.append(f"refuted by long runs, {fault}: {of[0].title}{others}")
    return lines


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
