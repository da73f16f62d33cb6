"""The command `tinytail explain`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console, RenderableType

from tinytail import explanation
from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import JsonPath, PositiveOrNone, whole
from tinytail.cli.function import Given, command_of
from tinytail.engine.arguments import I64_MAX
from tinytail.errors import UsageError
from tinytail.explanation.view import Look, counterfactual_view, explanation_view
from tinytail.files.text import json_text
from tinytail.inputs import conflicts
from tinytail.terminal.bars import can_draw
from tinytail.terminal.console import JsonOutput, checked_output, show_results, stderr
from tinytail.terminal.progress import reporter


@command_of(
    explanation.explain,
    folder=Annotated[str, Parameter(name="DIR")],
    request=Annotated[int | None, whole(0, I64_MAX)],
    slowest=PositiveOrNone,
)
def explain(
    given: Given, *, without: list[str] | None = None, json: JsonPath = None, details: bool = False
) -> int:
    """Tell why requests were slow, from results that `tinytail compare --out DIR` has kept.

    Tells the slowest requests' timelines in order, every nanosecond accounted for, and ranks the
    causes of all requests beyond a percentile.

    Parameters
    ----------
    without
        Run the design again with these causes made free, and say what that gains, in place of
        timelines and causes. Several are given one after the other, or with commas between.
    details
        Tell timelines with every nanosecond, and every cause with its time.
    """
    folder = given.pop("folder")
    conflicts.check([("--json", json)], folders=[("DIR", folder)])
    output = checked_output(json)
    if without is not None:
        return _explain_without(folder, without, given, output)
    # Nothing runs without --replay, and the bars would only hide the cursor.
    with reporter(stderr()) if given["replay"] else nullcontext() as progress:
        shown = explanation.explain(folder, **given, progress=progress)
    return _show(
        output,
        shown.to_dict(),
        lambda console: explanation_view(
            shown, console.width, Look(console.is_terminal, can_draw(console), details)
        ),
    )


def _explain_without(
    folder: str, without: list[str], given: Given, output: JsonOutput | None
) -> int:
    if any(given.pop(name) not in (None, False) for name in ("slowest", "request", "replay")):
        raise UsageError("--without goes with none of --slowest, --request and --replay")
    if given["percentile"] is None:
        del given["percentile"]
    names = [name for words in without for name in words.split(",")]
    with reporter(stderr()) as progress:
        found = explanation.explain_without(folder, without=names, **given, progress=progress)
    return _show(output, found.to_dict(), lambda _: counterfactual_view(found))


def _show(
    output: JsonOutput | None,
    document: dict[str, Any],
    view: Callable[[Console], RenderableType],
) -> int:
    return OK if show_results(output, lambda: json_text(document), view) else RUN_FAILED
