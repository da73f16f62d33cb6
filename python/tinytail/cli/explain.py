"""The command `tinytail explain`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console, RenderableType

from tinytail import explanation
from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import JsonPath, PositiveOrNone, whole
from tinytail.engine.arguments import I64_MAX
from tinytail.errors import UsageError
from tinytail.explanation.view import Look, counterfactual_view, explanation_view
from tinytail.files.text import json_text
from tinytail.inputs import conflicts
from tinytail.terminal.bars import can_draw
from tinytail.terminal.console import JsonOutput, checked_output, show_results, stderr
from tinytail.terminal.progress import reporter


def explain(
    folder: Annotated[str, Parameter(name="DIR")],
    /,
    *,
    design: str | None = None,
    slowest: PositiveOrNone = None,
    request: Annotated[int | None, whole(0, I64_MAX)] = None,
    percentile: float | None = None,
    kind: Literal["read", "write"] = "read",
    replay: bool = False,
    without: list[str] | None = None,
    json: JsonPath = None,
    details: bool = False,
) -> int:
    """Tell why requests were slow, from results that `tinytail compare --out DIR` has kept.

    Tells the slowest requests' timelines in order, every nanosecond accounted for, and ranks the
    causes of all requests beyond a percentile.

    Parameters
    ----------
    folder
        The folder of the results.
    design
        The design that it is about. Without it, timelines of the slowest are the first design's,
        and everything else is told of each design.
    slowest
        Tell the timelines of so many of the slowest requests; of one if not given.
    request
        Tell the timeline of the request with this number; causes are ranked only if --percentile is
        given as well.
    percentile
        Rank the causes of all requests beyond it; 99.9 if not given.
    kind
        Whether the slowest and the ranked are reads or writes.
    replay
        Run the design again for the timeline of --request, if that was not kept.
    without
        Run the design again with these causes made free, and say what that gains, in place of
        timelines and causes. Several are given one after the other, or with commas between.
    json
        File for the same, in nanoseconds, as JSON; - is standard output.
    details
        Tell timelines with every nanosecond, and every cause with its time.
    """
    conflicts.check([("--json", json)], folders=[("DIR", folder)])
    output = checked_output(json)
    if without is not None:
        if slowest is not None or request is not None or replay:
            raise UsageError("--without goes with none of --slowest, --request and --replay")
        names = [name for words in without for name in words.split(",")]
        wanted = explanation.PERCENTILE if percentile is None else percentile
        with reporter(stderr()) as progress:
            found = explanation.explain_without(
                folder,
                without=names,
                design=design,
                kind=kind,
                percentile=wanted,
                progress=progress,
            )
        return _show(output, found.to_dict(), lambda _: counterfactual_view(found))
    # Nothing runs without --replay, and the bars would only hide the cursor.
    with reporter(stderr()) if replay else nullcontext() as progress:
        shown = explanation.explain(
            folder,
            design=design,
            slowest=slowest,
            request=request,
            percentile=percentile,
            kind=kind,
            replay=replay,
            progress=progress,
        )
    return _show(
        output,
        shown.to_dict(),
        lambda console: explanation_view(
            shown, console.width, Look(console.is_terminal, can_draw(console), details)
        ),
    )


def _show(
    output: JsonOutput | None,
    document: dict[str, Any],
    view: Callable[[Console], RenderableType],
) -> int:
    return OK if show_results(output, lambda: json_text(document), view) else RUN_FAILED
