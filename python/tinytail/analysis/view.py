"""Shows what was worked out without a run: what was assumed, then every value."""

from __future__ import annotations

import math

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail.analysis.page_layout import PageLayout
from tinytail.analysis.rate_match import Curves, RateMatching
from tinytail.analysis.rotation import Analysis, Rotation
from tinytail.terminal.table import facts_view


def rotation_view(rotation: Rotation) -> RenderableType:
    """The calculation of Appendix A: what was assumed, then every value of each form."""
    facts = {
        "device": rotation.device,
        "drive writes per day": f"{rotation.dwpd:g} in {rotation.day_hours:g} h",
        "which are": f"{rotation.device_mib_s:.4g} MiB/s for the whole drive",
        "valid share of a victim": f"{rotation.valid:g}",
        "stripe width N for parity and RAM": (
            f"{rotation.width} ({rotation.parity_percent:g} % of the pages are parity)"
        ),
        "most that the host may write": f"{rotation.write_mib_s:.4g} MiB/s",
    }
    parts: list[RenderableType] = [facts_view(facts)]
    for analysis in rotation.analyses:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(f"{analysis.form}, {analysis.load}")
        table.add_column("value", justify="right")
        table.add_column("unit")
        table.add_column("formula")
        for step in analysis.steps:
            shown = "no limit" if math.isinf(step.value) else f"{step.value:.4g}"
            table.add_row(step.symbol, shown, step.unit, step.formula)
        parts += [Text(), table, Text(f"{analysis.form}: {_limit(rotation, analysis)}")]
    return Group(*parts)


def _limit(rotation: Rotation, analysis: Analysis) -> str:
    if math.isinf(analysis.bound):
        limit = "no limit"
    elif analysis.form == "self-consistent":
        widest = f"at most {analysis.n_max}" if analysis.n_max else "none"
        limit = (
            f"N < {analysis.bound:.4g} with the parity of N = {rotation.width}, "
            f"{widest} with its own"
        )
    else:
        limit = f"N < {analysis.bound:.4g}, at most {analysis.n_max}"
    return f"{limit}; RAM of at least {analysis.ram_mib:.4g} MiB"


def rate_matching_view(found: RateMatching) -> RenderableType:
    """The curves of The Harey Tortoise's Fig. 6 in both forms, at every tenth percent."""
    array = found.array
    facts = {
        "device": found.device,
        "chips": f"{array.chips}, of blocks of {array.pages_per_block} x {array.page_bytes} B",
        "spare": f"{array.spare_percent:g} % of the physical pages",
        "program, fast and slow": f"{_us(array.program_fast_ns)}, {_us(array.program_slow_ns)}",
        "program and read, mean": f"{_us(array.program_ns)}, {_us(array.read_ns)}",
        "erase": _us(array.erase_ns),
    }
    parts: list[RenderableType] = [facts_view(facts)]
    for curves in found.forms:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("locality %", justify="right")
        for column in ("pages moved", "baseline", "FGC", "SGC", "FGC ratio", "SGC ratio"):
            table.add_column(column, justify="right")
        for point in curves.points[::10]:
            rates = (point.baseline, point.fgc, point.sgc)
            gains = (point.gain("fgc"), point.gain("sgc"))
            table.add_row(
                f"{point.locality_percent:g}",
                f"{point.moved:.4g}",
                *(f"{each.mb_s:.2f}" for each in rates),
                *("" if gain is None else f"{gain:.3f}" for gain in gains),
            )
        title = f"{curves.form} form, MB/s: GC_BW = page x {curves.formula}"
        parts += [Text(), Text(title), table, Text(f"{curves.form} form: {_crossover(curves)}")]
    return Group(*parts)


def _us(ns: float) -> str:
    return f"{ns / 1000:g} us"


def _crossover(curves: Curves) -> str:
    crossover = curves.crossover
    if crossover is None:
        return "all pages are alike, so that no preference changes anything"
    words = (
        f"FGC and SGC both write {crossover.fgc.mb_s:.2f} MB/s at a locality of "
        f"{crossover.locality_percent:.4g} %; FGC writes more below, SGC above"
    )
    matched = curves.matched_reads_crossover_percent
    if matched is not None and matched != crossover.locality_percent:
        words += f" (at {matched:.4g} % if moves read pages of the kind that they program)"
    return words


def page_layout_view(found: PageLayout) -> RenderableType:
    """A layout told from times, and what a device file says of it."""
    rule = (
        "none: all pages are alike" if found.rule is None else f'page_class_layout = "{found.rule}"'
    )
    times = ", ".join(f"{each:g}" for each in found.class_times)
    return facts_view(
        {
            "layout": found.name,
            "in a device file": rule,
            "pages of a block": f"{found.pages_per_block}",
            "median times, fastest class first": times,
            "times of another class": f"{found.outliers} of {found.samples}",
        }
    )
