"""Draws a certification: ratings, and how far each condition was from its limit."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.certification.act import RULES
from tinytail.certification.results import Certification, DesignRatings, Step
from tinytail.certification.search import TESTS
from tinytail.engine.results import Condition, Rating
from tinytail.terminal.table import wrapped

GAP = 2
# Of the longest name of a condition on the mean of one kind.
NAME_WIDTH = len("mean of large writes")


def certification_view(
    certification: Certification, width: int, *, details: bool = False
) -> RenderableType:
    """A sentence for each design, then the ratings.

    With details, what was tested, and the margins of each condition on both sides of the ratings.
    """
    parts: list[RenderableType] = []
    if certification.partial:
        text = Text("PARTIAL: interrupted before every rating was found", "bold yellow")
        parts += wrapped(text, width)
    for note in _notes(certification):
        parts += wrapped(Text.assemble(("! ", "bold yellow"), note), width, indent=2)
    for found in certification.designs:
        sentence = Text.assemble((found.design, "bold"), f": {_sentence(found)}")
        parts += wrapped(sentence, width, indent=2)
    for error in certification.errors:
        parts += wrapped(Text.assemble((error.design, "bold"), ": no rating."), width)
    if certification.designs:
        parts += [Text(), _ratings(certification)]
    if details:
        parts += [Text(), _header(certification)]
        for found in certification.designs:
            parts += [Text(), _margins(found)]
    else:
        about = f"{certification.device}, {certification.duration_s} s at each multiplier"
        parts += wrapped(Text(f"{about}. Margins and rule: --details", "dim"), width)
    return Group(*parts)


def _sentence(found: DesignRatings) -> str:
    """What a design bears, and what it fails at."""
    borne = [f"{test} {_rating(found.rating(test))}" for test in TESTS]
    failures = _first_failures(found)
    return f"bears {' and '.join(borne)}{f'; fails {failures}' if failures else ''}."


def _header(certification: Certification) -> Table:
    rule = RULES[certification.rule]
    facts = [
        ("device", certification.device),
        ("test", f"ACT for {certification.duration_s} s at each multiplier"),
        ("rule", f"{rule.name}: {rule.meaning}"),
        ("seed", f"{certification.seed}, tinytail {certification.version}"),
    ]
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, fact in facts:
        grid.add_row(Text(label, "dim"), Text(fact))
    return grid


def _notes(certification: Certification) -> list[str]:
    notes = []
    for found in certification.designs:
        borrowed = {found.rating(test).rating for test in TESTS} & {
            step.multiplier for step in found.steps if step.borrowed
        }
        if borrowed:
            at = " and ".join(f"{multiplier}×" for multiplier in sorted(borrowed))
            notes.append(
                f"{found.design} bears {at} on erased pages that its GC did not free again: a "
                "longer run, with --duration-s, may fail there"
            )
        for test in TESTS:
            rating = found.rating(test)
            if rating.passed_above:
                above = ", ".join(f"{multiplier}×" for multiplier in rating.passed_above)
                notes.append(
                    f"{found.design} fails {test} at {rating.first_failed}× and passes at {above}: "
                    "the rating is what all smaller multipliers that were tried passed at"
                )
    return notes


def _ratings(certification: Certification) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("design", overflow="fold")
    for test in TESTS:
        table.add_column(test, justify="right", no_wrap=True)
    for found in certification.designs:
        ratings = [found.rating(test) for test in TESTS]
        table.add_row(Text(found.design), *map(_rating, ratings))
    return table


def _rating(rating: Rating) -> str:
    if not rating.is_final:
        return f"{rating.rating}× so far"
    if rating.rating == 0:
        return "none"
    return f"{rating.rating}×" if rating.first_failed is not None else f"≥ {rating.rating}×"


def _first_failures(found: DesignRatings) -> str:
    words = []
    for multiplier in sorted({*_failed(found.performance), *_failed(found.stress)}):
        step = found.step(multiplier)
        what = "performance" if step.stress else "both"
        words.append(f"{what} at {multiplier}×: {_reason(step)}")
    return "; ".join(words)


def _reason(step: Step) -> str:
    reason = step.reason or ""
    failed = next((each for each in step.conditions if each.name == reason), None)
    if failed is None:
        return reason
    return f"{failed.name} {_value(failed)}, limit {_limit(failed)}"


def _shown(found: DesignRatings) -> list[Step]:
    """The runs at the ratings and at the first failures."""
    wanted = {multiplier for test in TESTS for multiplier in _sides(found.rating(test))}
    return [step for step in found.steps if step.multiplier in wanted]


def _sides(rating: Rating) -> set[int]:
    return {rating.rating, *_failed(rating)}


def _failed(rating: Rating) -> list[int]:
    return [] if rating.first_failed is None else [rating.first_failed]


def _margins(found: DesignRatings) -> Table:
    """A row for each condition, a column for each run; what failed is marked."""
    steps = _shown(found)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(f"{found.design}: value, and margin", overflow="fold", min_width=NAME_WIDTH)
    for step in steps:
        word = "passes" if step.performance else "stress only" if step.stress else "fails"
        table.add_column(f"{step.multiplier}×\n{word}", justify="right", no_wrap=True)
    if not steps:
        return table
    # Four runs fit beside the names only if values and margins are below each other.
    between = " " if len(steps) < 4 else "\n"
    for row in zip(*(step.conditions for step in steps), strict=True):
        table.add_row(row[0].name, *(_cell(condition, between) for condition in row))
    return table


def _cell(condition: Condition, between: str) -> Text:
    margin = condition.margin_percent
    words = _value(condition)
    if margin is not None:
        words += f"{between}{'-' if margin < 0 else '+'}{units.number(abs(margin))} %"
    return Text(words) if condition.passed else Text(f"{words} !", "bold red")


def _value(condition: Condition) -> str:
    if condition.value is None:
        return units.MISSING
    if condition.unit == "percent":
        return units.percent(condition.value)
    return units.latency(condition.value)


def _limit(condition: Condition) -> str:
    if condition.unit == "percent":
        return units.percent(condition.limit)
    return units.latency(condition.limit)
