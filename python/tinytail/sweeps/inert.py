"""Axes that changed nothing: whatever their value, the runs had the same events."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinytail import units
from tinytail.inputs.libraries import library
from tinytail.sweeps.axes import Axis
from tinytail.sweeps.cells import key
from tinytail.sweeps.dataset import Files

if TYPE_CHECKING:
    from tinytail.sweeps.result import Sweep

# Results of which what an axis lacked is told.
_Results = Sequence[Mapping[str, Any]]


def inert_axes(table: Any, varied: Sequence[Axis]) -> list[Axis]:
    """Returns the axes that changed nothing.

    Rows that differ in such an axis alone have equal event hashes, in each group of them.

    Args:
        table: the points.
        varied: the axes.
    """
    free = [axis for axis in varied if len(axis.values) > 1]
    if not free:
        return []
    names = [axis.name for axis in varied]
    rows = table.select([*names, "seed", "event_hash"]).to_pylist()
    keyed = [
        ([*(key(axis, row[axis.name]) for axis in varied), row["seed"]], row["event_hash"])
        for row in rows
        if row["event_hash"]
    ]
    found = []
    for axis in free:
        place = names.index(axis.name)
        groups: dict[tuple[Any, ...], list[str]] = {}
        for values, event_hash in keyed:
            groups.setdefault((*values[:place], *values[place + 1 :]), []).append(event_hash)
        has_several = any(len(hashes) > 1 for hashes in groups.values())
        if has_several and all(len(set(hashes)) == 1 for hashes in groups.values()):
            found.append(axis)
    return found


def notes(sweep: Sweep) -> list[str]:
    """Returns a sentence for each axis that changed nothing, with what would make it count."""
    names = [axis.name for axis in sweep.axes]
    needed = dict.fromkeys([*names, "design", "seed", "event_hash", "point", "error"])
    table = sweep.to_rows(list(needed))
    found = inert_axes(table, sweep.axes)
    results = _some_results(sweep, table) if found else []
    return [_note(axis, results) for axis in found]


def _some_results(sweep: Sweep, table: Any) -> list[Mapping[str, Any]]:
    """Return the results of the first point of each design that has one."""
    wanted: dict[str, str] = {}
    for row in table.select(["design", "point", "error"]).to_pylist():
        if row["error"] is None:
            wanted.setdefault(row["design"], row["point"])
    points = list(wanted.values())
    if sweep.folder is None:
        compute = library("pyarrow.compute", "a sweep")
        kept = sweep.to_rows(["point", "result"]).filter(compute.field("point").isin(points))
    else:
        kept = Files(sweep.folder, sweep.axes).read(["result"], points)
    return [json.loads(each) for each in kept["result"].to_pylist() if each is not None]


def _note(axis: Axis, results: _Results) -> str:
    named = " and ".join([axis.name, *(each.name for each in axis.zipped)])
    reason = next(
        (
            said
            for starts, why in _REASONS
            if axis.name.startswith(starts)
            for said in [why(results)]
            if said is not None
        ),
        "the runs are equal event by event, so that nothing in them depends on it",
    )
    return f"{named} changed nothing: {reason}"


def _full(results: _Results) -> str | None:
    states = [each["state"] for each in results if each["state"] is not None]
    if not states or states[0]["name"] == "empty":
        return None
    live = units.percent(max(state["live_percent"] for state in states))
    return (
        f"the state holds {live} of the physical pages; `[state] live_percent = 100` fills what "
        "the drive offers"
    )


def _no_gc(results: _Results) -> str | None:
    if any(each["gc_count"] for each in results):
        return None
    if not any(each["write"]["count"] for each in results):
        return "nothing was written, so that no GC ran; a `workload` that writes makes it count"
    return "no GC ran; more `requests` make it count"


def _no_writes(results: _Results) -> str | None:
    if any(each["write"]["count"] for each in results):
        return None
    return "nothing was written; a `workload` that writes makes it count"


def _no_reads(results: _Results) -> str | None:
    if any(each["read"]["count"] for each in results):
        return None
    return "nothing was read; a `workload` that reads makes it count"


def _no_suspension(results: _Results) -> str | None:
    if any(_counted(each, "suspend") for each in results):
        return None
    return (
        'nothing was suspended; an overlay such as `"+suspend" = ["es"]`, on a drive with '
        "`timing.suspend_ns` above 0, makes it count"
    )


def _short_queue(results: _Results) -> str | None:
    if any(each["queue_blocked_read_percent"] for each in results):
        return None
    return (
        "no request waited for a place in the device queue; more requests at once, such as "
        "`synthetic.queue_depth` above its values, make it count"
    )


def _other_ageing(results: _Results) -> str | None:
    names = {each["state"]["name"] for each in results if each["state"] is not None}
    if names & {"aged", "steady"} or not names:
        return None
    return '`[state] ageing = "overwrite"` is the way of ageing that uses it'


def _counted(result: Mapping[str, Any], start: str) -> int:
    return sum(count for name, count in result["techniques"].items() if name.startswith(start))


_ABOUT_GC = ("gc", "+gc", "victim", "+victim", "timing.erase")
# Of axes by how their names begin, why they changed nothing; the first that knows.
_REASONS: tuple[tuple[str | tuple[str, ...], Callable[[_Results], str | None]], ...] = (
    (("host.over_provisioning_percent", "host.capacity_gb"), _full),
    (("host.queue_depth", "host.depth_per_queue"), _short_queue),
    (("suspend", "+suspend", "timing.suspend", "timing.resume", "timing.verify"), _no_suspension),
    (("state.overwrite_percent", "state.round_percent"), _other_ageing),
    (_ABOUT_GC, _no_gc),
    (("timing.program", "ram", "place", "+place", "pairing", "destage"), _no_writes),
    (("timing.read", "read_plan", "+read_plan"), _no_reads),
)
