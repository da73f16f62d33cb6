"""Shows stories and rankings on a terminal, or as plain text elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import humanize
from tinytail.causes import COLOURS, Family, family, human_name
from tinytail.explaining import Counterfactual, Explanation
from tinytail.explaining.ranking import CauseRank, Ranking
from tinytail.explaining.stories import Story
from tinytail.explaining.telling import ago, lines
from tinytail.render import COLUMN_GAP

BAR_WIDTH = 10
EIGHTHS = " ▏▎▍▌▋▊▉"
# A cause that is nowhere so much of a latency stands among the others.
SHOWN_PERCENT = 0.5
CAUSE_WIDTH = 46
DESIGN_WIDTH = 22


def explanation_view(explanation: Explanation, width: int, *, with_bars: bool) -> RenderableType:
    """Stories, each with every nanosecond, then the causes of the tail."""
    parts: list[RenderableType] = []
    if explanation.partial:
        parts.append(Text("PARTIAL: the comparison was interrupted", "bold yellow"))
    for story in explanation.stories:
        parts += [_story(explanation, story, with_bars=with_bars), Text()]
    parts += _rankings(explanation.rankings, width)
    parts += [Text(f"note: {note}", "dim") for note in explanation.notes]
    while parts and isinstance(parts[-1], Text) and not parts[-1].plain:
        parts.pop()
    return Group(*parts)


def _story(explanation: Explanation, story: Story, *, with_bars: bool) -> RenderableType:
    grid = Table.grid(padding=(0, COLUMN_GAP))
    for _ in range(3):
        grid.add_column(justify="right", no_wrap=True)
    if with_bars:
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    headings = ["after", "for", "share", *([""] if with_bars else []), ""]
    grid.add_row(*(Text(heading, "dim") for heading in headings))
    for cells in _rows(explanation, story, with_bars=with_bars):
        grid.add_row(*cells)
    return Group(*_title(story), grid)


def _title(story: Story) -> Iterator[Text]:
    yield Text.assemble(
        (story.design, "bold"),
        f": {story.kind} {story.id} took ",
        (ago(story.latency_ns), "bold"),
        f" ({story.latency_ns:,} ns)",
    )
    facts = [
        f"{story.sectors} sectors from sector {story.sector:,} on",
        f"arrived {story.arrived_ns / 1e9:,.9f} s after the measured part began",
    ]
    if story.reconstructed:
        facts.append(f"{story.reconstructed} of its pages were regenerated from their stripes")
    if story.gc_waits:
        facts.append(f"{story.gc_waits} waits for a GC were decided")
    if story.gc_waits_forced:
        facts.append(f"{story.gc_waits_forced} of its pages had to wait for a GC")
    if story.replayed:
        facts.append("told by a run that was repeated")
    yield Text(f"  {'; '.join(facts)}", "dim")


def _rows(
    explanation: Explanation, story: Story, *, with_bars: bool
) -> Iterator[Sequence[RenderableType]]:
    def row(
        after: str, ns: int, sort: Family, text: str, details: Sequence[str] = ()
    ) -> Sequence[RenderableType]:
        share = ns / story.latency_ns if story.latency_ns else 0.0
        words = Text(text)
        for detail in details:
            words.append(f"\n{detail}", "dim")
        bar = [Text(_bar(share), COLOURS[sort])] if with_bars else []
        return after, ago(ns), humanize.percent(100 * share), *bar, words

    if story.segments is None:
        for cause, ns in story.parts.items():
            yield row("", ns, family(cause), human_name(cause))
        what = f"{len(story.parts)} causes"
    else:
        for line in lines(story, explanation.geometry):
            after = ago(line.from_ns - story.arrived_ns)
            yield row(after, line.duration_ns, line.family, line.text, line.details)
        what = f"{len(story.segments)} pieces"
    total = sum(story.parts.values())
    end = ago(story.latency_ns) if story.segments is not None else ""
    yield (
        Text(end, "bold"),
        Text(ago(total), "bold"),
        Text(
            humanize.percent(100.0 * total / story.latency_ns) if story.latency_ns else "", "bold"
        ),
        *([Text()] if with_bars else []),
        Text(f"in all: {total:,} ns of {story.latency_ns:,} ns, in {what}", "bold"),
    )


def _bar(share: float) -> str:
    whole, part = divmod(round(share * BAR_WIDTH * 8), 8)
    return "█" * whole + EIGHTHS[part].strip()


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
        f"{kind}s": [humanize.count(ranking.count) for ranking in rankings],
        "slower than": [ago(ranking.bound_ns) for ranking in rankings],
        "mean latency": [humanize.latency(ranking.mean_ns / 1000) for ranking in rankings],
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
        label = f"{len(rest)} smaller causes" if len(rest) > 1 else human_name(rest[0])
        table.add_row(Text(label), *cells)
    return table


def _mean(rank: CauseRank | None) -> float:
    return 0.0 if rank is None else rank.mean_ns


def _cells(rank: CauseRank | None) -> tuple[str, str]:
    if rank is None:
        return humanize.MISSING, ""
    return humanize.latency(rank.mean_ns / 1000), humanize.percent(rank.percent)


def counterfactual_view(found: Counterfactual) -> RenderableType:
    """What a design would be without some causes."""
    without = ", ".join(found.without)
    title = Text.assemble((found.design, "bold"), " without ", (without, "bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(f"{found.kind}s", no_wrap=True)
    for heading in ("as it is", "without", "", "gained"):
        table.add_column(heading, justify="right", no_wrap=True)
    beyond = found.beyond
    label = f"mean beyond p{found.beyond_percentile:g}"
    rows = [*found.changes, *([] if beyond is None else [replace(beyond, name=label)])]
    for change in rows:
        was, becomes = change.with_ns, change.without_ns
        times = humanize.latency(was / 1000), humanize.latency(becomes / 1000)
        table.add_row(change.name, *times, humanize.ratio(becomes, was), _signed(was - becomes))
    parts: list[RenderableType] = [title, table, Text()]
    each = [
        f"of {found.requests:,} {found.kind}s, each held against itself: {found.faster:,} faster, "
        f"{found.slower:,} slower, {found.equal:,} as before; {_signed(found.mean_difference_ns)} "
        "gained on average"
    ]
    if found.beyond_count:
        each.append(
            f"of the {found.beyond_count:,} beyond p{found.beyond_percentile:g} "
            f"({ago(found.beyond_bound_ns)}), {found.still_beyond:,} still take longer than that"
        )
    ranks = (f"p{share:g} {_signed(ns)}" for share, ns in found.differences)
    each.append(f"gained, by percentile of {found.kind}s: {', '.join(ranks)}")
    for what, pairs in (("gained most", found.gained), ("lost most", found.lost)):
        if pairs:
            told = (f"{pair.id} ({ago(pair.with_ns)} to {ago(pair.without_ns)})" for pair in pairs)
            each.append(f"{what}: {', '.join(told)}")
    parts += [Text(line) for line in each]
    return Group(*parts)


def _signed(ns: float) -> str:
    sign = "-" if ns < 0 else "+" if ns > 0 else ""
    return sign + humanize.latency(abs(ns) / 1000)
