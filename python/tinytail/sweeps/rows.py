"""The rows of a sweep's dataset: which columns they have, and how a run becomes one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinytail.comparison.result import DesignResult
from tinytail.comparison.run import why_stopped
from tinytail.files import toml
from tinytail.sweeps.axes import Axis, Type
from tinytail.verdict.percentiles import LATENCIES, Kind, latency_of

# Raised when a reader of an older dataset could misread a newer one.
SCHEMA_VERSION = 3


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the dataset: its name, its type in Arrow, and what it is."""

    name: str
    type: Type
    meaning: str


_KINDS: tuple[Kind, ...] = ("read", "write")
_WHAT_RUNS = (
    Column("point", "string", "A digest of everything that decides the run."),
    Column("design", "string", "The design; the folder of the file says it, as `design=NAME`."),
    Column("composition", "string", "The design with the overlays that axes add to it."),
    Column("device", "string", "The device."),
    Column("workload", "string", "The workload."),
    Column("seed", "int64", "Seed of whatever is random."),
    Column("requests", "int64", "How many requests were asked for; null if all that there are."),
)
_SCALARS = (
    ("gc_blocked_read_percent", "Reads of which some page waited for a resource locked by GC."),
    ("queue_blocked_read_percent", "Reads that waited for a slot of the host's queue."),
    ("write_amplification", "Pages programmed for each page that the host had programmed."),
    ("erases", "Blocks erased."),
    ("gc_count", "GCs completed."),
    ("gc_times.mean_us", "Mean time of a GC, in microseconds."),
    ("gc_times.max_us", "Longest time of a GC, in microseconds."),
    ("erased.drift_pages", "By how many erased pages the drive ended with more than at its start."),
    ("throughput.requests", "Requests served in the measured part."),
    ("throughput.arrivals_per_second", "Requests that arrived per simulated second."),
    ("throughput.served_per_second", "Requests that were served per simulated second."),
    ("throughput.makespan_mb_per_second", "Megabytes served per simulated second."),
    ("simulated_seconds", "Simulated time of the measured part, in seconds."),
    ("cpu_seconds", "User CPU time of the measured part, in seconds."),
)
_WHOLE = ("erases", "gc_count", "erased.drift_pages", "throughput.requests")
_WHAT_CAME = (
    Column("findings", "list<string>", "Codes of what makes the figures mean less."),
    Column(
        "adjusted", "list<string>", "What of the design follows the drive and is not as in files."
    ),
    Column("event_hash", "string", "Hash of every event. Equal hashes mean equal runs."),
    Column("error_kind", "string", "Kind of the error of a point that failed; null if it did not."),
    Column("error", "string", "Why it failed. It has no figures then."),
    Column("command", "string", "The command that makes the run again."),
    Column("result", "string", "The whole result of the run as JSON; see results.md."),
)


def _figures() -> Iterator[Column]:
    for kind in _KINDS:
        yield Column(f"{kind}.count", "int64", f"{kind.capitalize()}s in the measured part.")
        for each in LATENCIES:
            rule = "" if not each.one_in else " Null where fewer than ten requests lie beyond it."
            meaning = f"Latency of {kind}s, {each.name}, in microseconds.{rule}"
            yield Column(f"{kind}.{each.key}", "double", meaning)
            if each.name != "max":
                meaning = (
                    f"The {{}} end of the interval of `{kind}.{each.key}`, from this run alone."
                )
                yield Column(f"{kind}.{each.key}.low", "double", meaning.format("lower"))
                yield Column(f"{kind}.{each.key}.high", "double", meaning.format("upper"))
    for name, meaning in _SCALARS:
        yield Column(name, "int64" if name in _WHOLE else "double", meaning)


FIGURES = tuple(_figures())


def columns(axes: Sequence[Axis]) -> list[Column]:
    """The columns of a sweep with these axes."""
    named = {column.name for column in _WHAT_RUNS}
    varied = [
        Column(axis.name, axis.type, "The value of the axis of this name.")
        for axis in axes
        if axis.name not in named
    ]
    return [*_WHAT_RUNS, *varied, *FIGURES, *_WHAT_CAME]


def came(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a row that follows from the run: figures, findings, and the result as text.

    `outcome` is what `run_point` returns.
    """
    found = {key: outcome[key] for key in ("error_kind", "error")}
    document = outcome["result"]
    if document is None:
        return found | {"result": None}
    result = DesignResult.from_dict(document)
    found["result"] = json.dumps(document, ensure_ascii=False)
    found["findings"] = [finding.code for finding in result.findings]
    found["adjusted"] = [each.message for each in result.adjusted]
    found["event_hash"] = result.event_hash
    if found["error"] is None:
        found |= {column.name: figure(result, column.name) for column in FIGURES}
    return found


def row(record: Mapping[str, Any], axes: Sequence[Axis]) -> dict[str, Any]:
    """The row of what is kept of a point."""
    found = {**record}
    values = found.pop("values")
    named = {column.name for column in _WHAT_RUNS}
    for axis in axes:
        if axis.name not in named:
            # A design that a search holds others against is at no combination.
            value = values.get(axis.name)
            is_text = axis.type == "string" and value is not None
            found[axis.name] = shown(value) if is_text else value
    return found


def figure(result: DesignResult, name: str) -> float | None:
    """A figure of a result by its name; None where the run has too few requests for it.

    Raises:
        KeyError: there is no such figure.
    """
    kind, _, key = name.partition(".")
    main, _, end = name.rpartition(".")
    if end in ("low", "high"):
        interval = result.intervals.get(main)
        return None if interval is None or figure(result, main) is None else getattr(interval, end)
    for each in _KINDS:
        if kind == each and key != "count":
            [latency] = [latency for latency in LATENCIES if latency.key == key]
            return latency.of(latency_of(result, each))
    value: Any = result.document
    for part in name.split("."):
        value = None if value is None else value[part]
    return None if value is None else value


def failure(result: DesignResult) -> tuple[str, str] | None:
    """Kind and message of the error of a run that did not come to its end."""
    why = why_stopped(result)
    return None if why is None else ("run", why)


def shown(value: Any) -> str:
    """A value of an axis as text."""
    return value if isinstance(value, str) else toml.value(value)
