"""One picture of results on axes of matplotlib, for notebooks and for figures of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

from tinytail.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tinytail.comparison.result import Comparison

Plot = Literal["tail", "write_tail", "attribution", "series"]
PLOTS: tuple[Plot, ...] = get_args(Plot)


def plot(comparison: Comparison, kind: str, ax: Axes | None, column: str) -> Axes:
    """See `Comparison.plot`."""
    drawers: dict[str, Callable[[Axes], None]] = {
        "tail": lambda axis: _tail(comparison, axis, "read"),
        "write_tail": lambda axis: _tail(comparison, axis, "write"),
        "attribution": lambda axis: _attribution(comparison, axis),
        "series": lambda axis: _series(comparison, axis, column),
    }
    if kind not in drawers:
        raise UsageError(f"kind is {kind!r}; allowed: {', '.join(PLOTS)}")
    axis = _new_axis() if ax is None else ax
    drawers[kind](axis)
    return axis


def _new_axis() -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(7.0, 4.0), layout="constrained")[1]


def _tail(comparison: Comparison, axis: Axes, kind: Literal["read", "write"]) -> None:
    from tinytail.pictures import data, paper

    tails = data.tails(comparison, kind)
    if not tails:
        raise UsageError(f"there are no {kind}s to draw")
    paper.draw_tail(axis, tails, f"{kind} latency")
    axis.grid(visible=True, alpha=0.4)
    axis.legend(frameon=False)


def _attribution(comparison: Comparison, axis: Axes) -> None:
    from tinytail.pictures import data, paper

    causes, tails = data.attribution(comparison)
    tail = data.usual_tail(tails)
    if tail is None:
        raise UsageError("there are too few reads to draw: no share of them has ten")
    used = [cause for cause in causes if any(cause.key in bar.parts for bar in tail.bars)]
    longest = max(bar.mean_seconds for bar in tail.bars) or data.US
    paper.draw_bars(axis, used, tail, longest)
    axis.set_xlabel(f"mean time per read ({data.time_unit(longest)[0]})")
    # Beside the bars, which go from side to side.
    axis.legend(
        handles=paper.patches(used),
        frameon=False,
        fontsize="small",
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
    )


def _series(comparison: Comparison, axis: Axes, column: str) -> None:
    from tinytail.engine.results import Series
    from tinytail.pictures import data, paper

    columns = [name for name in Series.__dataclass_fields__ if name != "window_seconds"]
    if column not in columns:
        raise UsageError(f"column is {column!r}; allowed: {', '.join(columns)}")
    merge: Any = max if column.endswith("_us") else data.mean
    unit = data.time_unit(max(result.simulated_seconds for result in comparison.results))
    for position, result in enumerate(comparison.results):
        line = data.line_over_time(result, data.style(position), column, merge, 1.0)
        paper.draw_line(axis, line, unit[1], 1.2, result.design)
    axis.set_xlabel(f"simulated time ({unit[0]})")
    axis.set_ylabel(column)
    axis.grid(visible=True, alpha=0.4)
    axis.legend(frameon=False)
