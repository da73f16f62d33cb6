"""Shows timelines and rankings on a terminal, or as plain text elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.comparison.view import cause_bars
from tinytail.explanation import Counterfactual, Explanation
from tinytail.explanation.ranks import CauseRank, Ranking
from tinytail.explanation.timelines import RequestTimeline
from tinytail.explanation.words import ago, blamed, lines
from tinytail.terminal.bars import bar
from tinytail.terminal.table import GAP, wrapped
from tinytail.verdict.causes import COLOURS, Family, family, human_name, together
from tinytail.verdict.findings import quotient, same
from tinytail.verdict.percentiles import PERCENTILES, SAMPLES_BEYOND
from tinytail.verdict.sentences import main_cause, times

BAR_WIDTH = 10
# Of a timeline that is told in short, so many parts are shown.
TIMELINE_LINES = 4
# A cause that is nowhere so much of a latency stands among the others.
SHOWN_PERCENT = 0.5
CAUSE_WIDTH = 46
DESIGN_WIDTH = 22


@dataclass(frozen=True, slots=True)
class Look:
    """How an explanation is shown: with bars beside timelines, in Unicode or ASCII, in full."""

    with_bars: bool
    unicode: bool
    details: bool


def explanation_view(explanation: Explanation, width: int, look: Look) -> RenderableType:
    """What the slow requests waited for in sentences, timelines in short, and bars of the causes.

    With details, timelines with every nanosecond, and each cause with its time.
    """
    parts: list[RenderableType] = []
    if explanation.partial:
        parts.append(Text("PARTIAL: the comparison was interrupted", "bold yellow"))
    for sentence in sentences(explanation):
        parts += wrapped(Text(sentence), width, indent=2)
    for timeline in explanation.request_timelines:
        parts += [Text(), _timeline(explanation, timeline, look)]
    if explanation.rankings:
        parts.append(Text())
    if look.details:
        parts += _rankings(explanation.rankings, width)
    else:
        parts += _bars(explanation.rankings, width, unicode=look.unicode)
        parts += wrapped(Text("Every piece and every cause: --details", "dim"), width)
    parts += [Text(f"note: {note}", "dim") for note in explanation.notes]
    while parts and isinstance(parts[-1], Text) and not parts[-1].plain:
        parts.pop()
    return Group(*parts)


def sentences(explanation: Explanation) -> list[str]:
    """What each tail and each timeline comes to, a sentence each."""
    described = []
    for ranking in explanation.rankings:
        kinds = f"{ranking.kind}s" if ranking.count > 1 else ranking.kind
        mean = units.latency(ranking.mean_ns / 1000)
        words = [
            f"{ranking.design}: {units.count(ranking.count)} {kinds} beyond "
            f"p{ranking.percentile:g} took {mean}{' on average' if ranking.count > 1 else ''}"
        ]
        cause = main_cause({rank.cause: rank.ns for rank in ranking.causes})
        described.append(_sentence(words, cause))
    for timeline in explanation.request_timelines:
        waited = timeline.arrived_ns - timeline.asked_ns
        wait = f"waited {ago(waited)} in the host and " if waited else ""
        took = f"{wait}took {ago(timeline.latency_ns)}"
        words = [f"{timeline.design}: {timeline.kind} {timeline.id} {took}"]
        described.append(_sentence(words, main_cause(blamed(timeline))))
    return described


def _sentence(words: list[str], cause: str | None) -> str:
    return f"{', '.join([*words, *([] if cause is None else [cause])])}."


def _timeline(explanation: Explanation, timeline: RequestTimeline, look: Look) -> RenderableType:
    grid = Table.grid(padding=(0, GAP))
    for _ in range(3):
        grid.add_column(justify="right", no_wrap=True)
    if look.with_bars:
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    headings = ["after", "for", "share", *([""] if look.with_bars else []), ""]
    first = "" if look.details else f"{timeline.kind} {timeline.id} of {timeline.design}"
    grid.add_row(*(Text(heading, "dim") for heading in headings[:-1]), Text(first, "dim"))
    for cells in _rows(explanation, timeline, look):
        grid.add_row(*cells)
    return Group(*(_title(timeline) if look.details else ()), grid)


def _title(timeline: RequestTimeline) -> Iterator[Text]:
    yield Text.assemble(
        (timeline.design, "bold"),
        f": {timeline.kind} {timeline.id} took ",
        (ago(timeline.latency_ns), "bold"),
        f" ({timeline.latency_ns:,} ns)",
    )
    facts = [
        f"{units.counted(timeline.sectors, 'sector')} from sector {timeline.sector:,} on",
        f"arrived {timeline.arrived_ns / 1e9:,.9f} s after the measured part began",
    ]
    if timeline.arrived_ns > timeline.asked_ns:
        facts.append(f"waited {ago(timeline.arrived_ns - timeline.asked_ns)} in the host before")
    if timeline.reconstructed:
        facts.append(f"{units.counted(timeline.reconstructed, 'page')} regenerated from stripes")
    if timeline.gc_waits:
        facts.append(f"decided to wait for a GC for {units.counted(timeline.gc_waits, 'page')}")
    if timeline.gc_waits_forced:
        facts.append(f"{timeline.gc_waits_forced} of its pages had to wait for a GC")
    if timeline.replayed:
        facts.append("told by a run that was repeated")
    yield Text(f"  {'; '.join(facts)}", "dim")


def _bars(rankings: Sequence[Ranking], width: int, *, unicode: bool) -> list[Text]:
    """A bar of causes for each design."""
    if not rankings:
        return []
    spent = [
        (
            ranking.design,
            {rank.cause: rank.ns for rank in ranking.causes},
            units.latency(ranking.mean_ns / 1000),
        )
        for ranking in rankings
    ]
    first = rankings[0]
    title = f"{first.kind.capitalize()}s beyond p{first.percentile:g}, mean:"
    return cause_bars(title, spent, width, unicode=unicode)


def _rows(
    explanation: Explanation, timeline: RequestTimeline, look: Look
) -> Iterator[Sequence[RenderableType]]:
    def row(
        after: str, ns: int, sort: Family, text: str, more: Sequence[str] = ()
    ) -> Sequence[RenderableType]:
        share = ns / timeline.latency_ns if timeline.latency_ns else 0.0
        words = Text(text)
        for line in more:
            words.append(f"\n{line}", "dim")
        drawn = (
            [Text(bar(share, BAR_WIDTH, unicode=look.unicode), COLOURS[sort])]
            if look.with_bars
            else []
        )
        return after, ago(ns), units.percent(100 * share), *drawn, words

    described: list[tuple[str, int, Family, str, Sequence[str]]]
    if timeline.segments is None:
        described = [
            ("", ns, family(cause), human_name(cause), ()) for cause, ns in timeline.parts.items()
        ]
        what = units.counted(len(timeline.parts), "cause")
    else:
        described = [
            (
                *(ago(line.from_ns - timeline.arrived_ns), line.duration_ns),
                *(line.family, line.text, line.details if look.details else ()),
            )
            for line in lines(timeline, explanation.geometry)
        ]
        what = units.counted(len(timeline.segments), "piece")
    shown = described if look.details else _longest(described)
    for each in shown:
        yield row(*each)
    rest = sum(each[1] for each in described) - sum(each[1] for each in shown)
    if rest or len(shown) < len(described):
        yield row("", rest, "other", units.counted(len(described) - len(shown), "shorter part"))
    if timeline.host_queue_ns:
        in_host = "of all this, in the host for a place in the full device queue"
        yield tuple(
            Text(cell, "dim")
            for cell in (
                *("", ago(timeline.host_queue_ns)),
                units.percent(100 * timeline.host_queue_ns / timeline.latency_ns),
                *([""] if look.with_bars else []),
                in_host,
            )
        )
    if look.details:
        yield _total(timeline, what, look)


def _total(timeline: RequestTimeline, what: str, look: Look) -> Sequence[RenderableType]:
    """The last row: that all parts add up."""
    total = sum(timeline.parts.values())
    share = units.percent(100.0 * total / timeline.latency_ns) if timeline.latency_ns else ""
    return (
        Text(ago(timeline.latency_ns) if timeline.segments is not None else "", "bold"),
        Text(ago(total), "bold"),
        Text(share, "bold"),
        *([Text()] if look.with_bars else []),
        Text(f"in all: {total:,} ns of {timeline.latency_ns:,} ns, in {what}", "bold"),
    )


Described = TypeVar("Described", bound=tuple[Any, ...])


def _longest(described: Sequence[Described]) -> list[Described]:
    """The longest parts of a timeline, in their order; all but one part would hide no more."""
    if len(described) <= TIMELINE_LINES + 1:
        return list(described)
    ranked = sorted(range(len(described)), key=lambda index: -described[index][1])
    return [described[index] for index in sorted(ranked[:TIMELINE_LINES])]


def _rankings(rankings: Sequence[Ranking], width: int) -> Iterator[RenderableType]:
    if not rankings:
        return
    first = rankings[0]
    yield Text(
        f"What the {first.kind}s beyond percentile {first.percentile} spent their time with "
        "(mean for each)",
        "bold",
    )
    side_by_side = max(1, (width - CAUSE_WIDTH) // DESIGN_WIDTH)
    for start in range(0, len(rankings), side_by_side):
        yield _ranking_table(rankings[start : start + side_by_side])


def _ranking_table(rankings: Sequence[Ranking]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("cause", overflow="fold")
    for ranking in rankings:
        table.add_column(Text(ranking.design), justify="right", no_wrap=True)
        table.add_column("", justify="right", no_wrap=True)
    kind = rankings[0].kind
    facts = {
        f"{kind}s": [units.count(ranking.count) for ranking in rankings],
        "from": [ago(ranking.bound_ns) for ranking in rankings],
        "mean latency": [units.latency(ranking.mean_ns / 1000) for ranking in rankings],
    }
    for label, values in facts.items():
        table.add_row(Text(label, "dim"), *(cell for value in values for cell in (value, "")))
    table.add_section()
    by_design = [{rank.cause: rank for rank in ranking.causes} for ranking in rankings]
    order: dict[str, float] = {}
    for ranking in rankings:
        for rank in ranking.causes:
            order[rank.cause] = max(order.get(rank.cause, 0.0), rank.percent)
    shown = [cause for cause, percent in order.items() if percent >= SHOWN_PERCENT]
    shown.sort(key=lambda cause: -max(_mean(ranks.get(cause)) for ranks in by_design))
    for cause in shown:
        cells = [cell for ranks in by_design for cell in _cells(ranks.get(cause))]
        table.add_row(Text(human_name(cause)), *cells)
    rest = [cause for cause in order if cause not in shown]
    if rest:
        cells = []
        for ranks in by_design:
            small = [ranks[cause] for cause in rest if cause in ranks]
            mean = sum(rank.mean_ns for rank in small)
            percent = sum(rank.percent for rank in small)
            cells += _cells(CauseRank("", 0, mean, percent) if small else None)
        table.add_row(Text(together(rest)), *cells)
    return table


def _mean(rank: CauseRank | None) -> float:
    return 0.0 if rank is None else rank.mean_ns


def _cells(rank: CauseRank | None) -> tuple[str, str]:
    if rank is None:
        return units.MISSING, ""
    return units.latency(rank.mean_ns / 1000), units.percent(rank.percent)


def counterfactual_view(found: Counterfactual) -> RenderableType:
    """What a design would be without some causes."""
    without = ", ".join(found.without)
    title = Text.assemble((found.design, "bold"), " without ", (without, "bold"), _answer(found))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(f"{found.kind}s", no_wrap=True)
    for heading in ("as it is", "without", "", "gained"):
        table.add_column(heading, justify="right", no_wrap=True)
    label = f"mean beyond p{found.beyond_percentile:g}"
    rows = [*found.changes, replace(found.beyond, name=label)]
    for change in rows:
        if change.name in _lacking(found):
            table.add_row(change.name, units.MISSING, units.MISSING)
            continue
        was, becomes = change.with_ns, change.without_ns
        times = units.latency(was / 1000), units.latency(becomes / 1000)
        table.add_row(change.name, *times, units.ratio(becomes, was), _signed(was - becomes))
    parts: list[RenderableType] = [title, table, Text()]
    each = [
        f"of {found.requests:,} {found.kind}s, each compared with itself: {found.faster:,} faster, "
        f"{found.slower:,} slower, {found.equal:,} as before; {_signed(found.mean_difference_ns)} "
        "gained on average",
        f"of the {found.beyond_count:,} beyond p{found.beyond_percentile:g} "
        f"({ago(found.beyond_bound_ns)} and longer), {found.still_beyond:,} still take that long",
    ]
    ranks = (f"p{share:g} {_signed(ns)}" for share, ns in found.differences)
    each.append(f"gained, by percentile of {found.kind}s: {', '.join(ranks)}")
    for what, pairs in (("gained most", found.gained), ("lost most", found.lost)):
        if pairs:
            described = (
                f"{pair.id} ({ago(pair.with_ns)} to {ago(pair.without_ns)})" for pair in pairs
            )
            each.append(f"{what}: {', '.join(described)}")
    parts += [Text(line) for line in each]
    return Group(*parts)


def _lacking(found: Counterfactual) -> set[str]:
    """The percentiles that fewer than ten requests lie beyond."""
    return {each.name for each in PERCENTILES if found.requests // each.one_in < SAMPLES_BEYOND}


def _answer(found: Counterfactual) -> str:
    """What becomes of the deepest percentile that ten requests lie beyond."""
    names = {each.name for each in PERCENTILES} - _lacking(found)
    known = [change for change in found.changes if change.name in names]
    if not known:
        return ": too few requests for a percentile."
    deepest = known[-1]
    was, becomes = (units.latency(ns / 1000) for ns in (deepest.with_ns, deepest.without_ns))
    ratio = quotient(deepest.without_ns, deepest.with_ns)
    if ratio is None or same(ratio):
        gain = "the same"
    else:
        gain = f"{times(ratio)} {'better' if ratio < 1 else 'worse'}"
    return f": {deepest.name} of {found.kind}s {was} becomes {becomes}, {gain}."


def _signed(ns: float) -> str:
    sign = "-" if ns < 0 else "+" if ns > 0 else ""
    return sign + units.latency(abs(ns) / 1000)
