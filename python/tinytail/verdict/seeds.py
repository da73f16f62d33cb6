"""Runs of one design that differ in their seed alone, as one result with intervals.

Each figure of the result is the mean over the seeds, a maximum is the largest of them, and
attributed time is summed. What cannot be averaged, such as the series over time, is that of the
first seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tinytail.verdict.percentiles import LATENCIES, SAMPLES_BEYOND

LEVEL_PERCENT = 90
# Student's t for an interval of 90 %, by degrees of freedom from 1 on.
_STUDENT = (
    *(6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812),
    *(1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725),
    *(1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697),
)
_NORMAL = 1.6449
_ONE_IN = {each.key: each.one_in for each in LATENCIES if each.one_in}
_OF_THE_FIRST = (
    *("series", "wear", "rotation_violations", "state", "workload", "seed", "adjusted", "kinds"),
    *(
        "distribution",
        "read",
        "write",
        "attribution",
        "notes",
        "findings",
        "replicates",
        "intervals",
    ),
)
_SCALARS = (
    *("gc_blocked_read_percent", "queue_blocked_read_percent", "write_amplification"),
    *("erases", "gc_count"),
)
_KEPT = ("seed", "event_hash", "read", "write", *_SCALARS, "simulated_seconds")
TRACE_NOTE = (
    "The trace has the same requests for every seed: the seed varies the drive's starting state "
    "only."
)
SAME_NOTE = "All seeds gave the same run, so that they say nothing about how far figures vary."


def student(freedom: int) -> float:
    """Student's t for an interval of 90 % with so many degrees of freedom.

    >>> student(1), student(4), round(student(60), 3)
    (6.314, 2.132, 1.67)
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    return _NORMAL * (1 + (_NORMAL**2 + 1) / (4 * freedom))


def combined(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result documents of a design's runs, in the order of their seeds, as one of the design.

    The runs must have come to their end. `replicates` has the figures of each.
    """
    first, *others = documents
    result = dict(first)
    if not others:
        return result
    notes = _union(documents, "notes")
    result["replicates"] = [{key: each[key] for key in _KEPT} for each in documents]
    if all(each["event_hash"] == first["event_hash"] for each in others):
        return result | {"notes": [*notes, SAME_NOTE]}
    for key, value in first.items():
        if key not in _OF_THE_FIRST:
            result[key] = _mean(key, [each[key] for each in documents], value)
    for kind in ("read", "write"):
        values = [each[kind] for each in documents]
        result[kind] = _mean(kind, values, values[0])
    columns = [each["distribution"] for each in documents]
    result["distribution"] = columns[0] | {
        name: [_mean(name, row, row[0]) for row in zip(*(c[name] for c in columns), strict=True)]
        for name in ("read_us", "write_us")
    }
    result["attribution"] = _sum([each["attribution"] for each in documents])
    if "findings" in first:
        result["findings"] = _union(documents, "findings")
    seeds = [each["seed"] for each in documents]
    notes.append(f"Figures are means over {len(seeds)} seeds, {seeds[0]} to {seeds[-1]}.")
    if first["workload"]["input"] == "real":
        notes.append(TRACE_NOTE)
    return result | {"notes": notes, "intervals": _intervals(documents)}


def _union(documents: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """The items of a list: those of the first seed, and what only others say."""
    items: list[Any] = []
    for document in documents:
        said = [_sort(item) for item in items]
        items += [item for item in document[key] if _sort(item) not in said]
    return items


def _sort(item: Any) -> Any:
    """What a note or a finding is about, whatever its numbers are."""
    return item["code"] if isinstance(item, dict) else item


def _mean(name: str, values: Sequence[Any], like: Any) -> Any:
    """The mean of figures, the largest of maxima, and of anything else the first one."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if isinstance(like, dict):
        return {
            key: _mean(key, [value.get(key) for value in known], value)
            for key, value in like.items()
        }
    if isinstance(known[0], bool) or not isinstance(known[0], int | float):
        return like
    if "max" in name.split("_"):
        return max(known)
    from statistics import fmean

    mean = fmean(known)
    return round(mean) if all(isinstance(value, int) for value in known) else mean


def _sum(groups: Sequence[Any]) -> Any:
    """Groups of latency added up: requests and nanoseconds, so that the parts stay exact."""
    first = groups[0]
    if isinstance(first, list):
        # The shares that all of them have, as nearly always all.
        by_share = [{tail["share_percent"]: tail for tail in tails} for tails in groups]
        shares = [tail["share_percent"] for tail in first]
        known = [share for share in shares if all(share in tails for tails in by_share)]
        return [_sum([tails[share] for tails in by_share]) for share in known]
    if "ns" not in first:
        return {name: _sum([group[name] for group in groups]) for name in first}
    causes = sorted({cause for group in groups for cause in group["ns"]})
    total = {cause: sum(group["ns"].get(cause, 0) for group in groups) for cause in causes}
    added = first | {"ns": total}
    for name in ("count", "queue_blocked", "host_queue_ns"):
        added[name] = sum(group[name] for group in groups)
    if "latency_us_from" in first:
        lowest = [g["latency_us_from"] for g in groups if g["latency_us_from"] is not None]
        added["latency_us_from"] = min(lowest, default=None)
    return added


def _intervals(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Student's interval of the mean over the seeds, of each figure that has a meaning in all."""
    found = {}
    for kind in ("read", "write"):
        for name in documents[0][kind]:
            needed = _ONE_IN.get(name, 1) * SAMPLES_BEYOND
            enough = all(each[kind]["count"] >= needed for each in documents)
            if name not in ("count", "max_us") and enough:
                found[f"{kind}.{name}"] = _interval([each[kind][name] for each in documents])
    for name in _SCALARS:
        values = [each[name] for each in documents]
        if None not in values:
            found[name] = _interval(values)
    return found


def _interval(values: Sequence[float]) -> dict[str, Any]:
    count = len(values)
    from statistics import fmean, stdev

    mean = fmean(values)
    half = student(count - 1) * stdev(values) / math.sqrt(count)
    return {
        "low": max(0.0, mean - half),
        "high": mean + half,
        "level_percent": LEVEL_PERCENT,
        "method": "seeds",
        "n": count,
    }
