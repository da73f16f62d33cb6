"""What came of a served drive, as it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.verdict.percentiles import latencies

NO_VERDICT = "no verdict: without delays the lateness is what the server itself takes for a request"
_KINDS = ("read", "write", "trim", "flush", "all")


def served_view(summary: Mapping[str, Any], *, no_delay: bool) -> RenderableType:
    """Latencies by the model, how late completions left, and the verdict.

    Where nothing took time in the drive there is none: nothing was due later than at once.
    """
    parts: list[RenderableType] = []
    if summary["lateness"]["all"]["count"] > 0:
        parts += [_latencies(summary), _lateness(summary["lateness"])]
        parts.append(Text(NO_VERDICT) if no_delay else _verdict(summary))
    for message in dict.fromkeys(item["message"] for item in summary["adjusted"]):
        parts.append(Text(f"adjusted: {message}"))
    for note in summary["notes"]:
        parts.append(Text(f"note: {note}"))
    if summary["recording"] is not None:
        recording = summary["recording"]
        parts.append(
            Text(
                f"recorded {units.counted(recording['requests'], 'request')} in {recording['path']}"
            )
        )
    return Group(*parts)


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(headings[0], no_wrap=True)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _latencies(summary: Mapping[str, Any]) -> Table:
    shown = latencies("p50", "p99", "p99.9", "p99.99", "max")
    table = _table("latency by the model", "count", *(each.name for each in shown))
    for kind in ("read", "write"):
        found = summary[kind]
        if found["count"] > 0:
            values = (units.latency(found[each.key]) for each in shown)
            table.add_row(kind, f"{found['count']:,}", *values)
    return table


def _lateness(lateness: Mapping[str, Any]) -> Table:
    shown = latencies("p50", "p99", "p99.9", "max")
    table = _table("left late by", "count", *(each.name for each in shown), "too late")
    for kind in _KINDS:
        found = lateness[kind]
        if found["count"] > 0:
            values = (units.latency(found[each.key]) for each in shown)
            share = units.percent(found["late_percent"])
            table.add_row(kind, f"{found['count']:,}", *values, share)
    return table


def _verdict(summary: Mapping[str, Any]) -> Text:
    why = summary["lateness"]["invalid"]
    if why is None:
        return Text("VALID: completions left when the model said, as far as that matters")
    text = f"INVALID: {why}. Latencies that clients measured are not those of the drive"
    hint = "; --dilate slows the drive's time down on a machine that is too slow"
    return Text(text + hint, "bold red")
