"""The states that designs start from: what they have in common, and in what they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinytail import units

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

WHY_PARITY = (
    "designs start from different states: parity takes space, so that drives with and without "
    "it hold different shares of live pages"
)
WHY_LAYOUT = "designs start from different states: they lay the same data out differently"


def common(states: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The values on which all states agree; None if no run reached its state.

    >>> common([{"name": "aged", "live_percent": 85}, {"name": "aged", "live_percent": 64}])
    {'name': 'aged'}
    """
    reached = [state for state in states if state is not None]
    if not reached:
        return None
    first, *others = reached
    return {
        key: value
        for key, value in first.items()
        if all(key in other and other[key] == value for other in others)
    }


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """The states of a comparison as pairs of a label and a fact.

    A state that all designs share is one fact; else what they share is one, what each group of
    designs has for itself one of the group, and the last says why they differ.
    """
    groups = _groups(comparison.results)
    if len(groups) < 2:
        return [("state", _shown(state)) for state, _ in groups]
    shared = common([state for state, _ in groups]) or {}
    known = [("state", _shown(shared))] if shared else []
    for state, designs in groups:
        own = {key: value for key, value in state.items() if key not in shared}
        known.append(("state", f"of {', '.join(designs)}: {_shown(own)}"))
    return [*known, ("note", _why(comparison, [designs for _, designs in groups]))]


def _groups(results: Sequence[DesignResult]) -> list[tuple[Mapping[str, Any], list[str]]]:
    groups: list[tuple[Mapping[str, Any], list[str]]] = []
    for result in results:
        own = result.document["state"]
        if own is None:
            continue
        for state, designs in groups:
            if state == own:
                designs.append(result.design)
                break
        else:
            groups.append((own, [result.design]))
    return groups


def _why(comparison: Comparison, groups: Sequence[Sequence[str]]) -> str:
    """Why groups of designs differ: by parity if each of them is all with it or all without."""
    with_parity = {
        item.name
        for item in comparison.configuration
        if item.kind == "design"
        and any(
            (row.section, row.key, row.value) == ("place", "policy", "rain")
            for row in item.settings
        )
    }
    kinds = [{design in with_parity for design in designs} for designs in groups]
    return WHY_PARITY if kinds in ([{True}, {False}], [{False}, {True}]) else WHY_LAYOUT


def _shown(state: Mapping[str, Any]) -> str:
    words = []
    for key, value in state.items():
        if key == "name":
            continue
        if key.endswith("_percent") and isinstance(value, int | float):
            shown = f"{units.words(key.removesuffix('_percent'))} {units.percent(value)}"
        else:
            shown = f"{units.words(key)} {units.value(value)}"
        words.append(shown)
    name = str(state.get("name", ""))
    return f"{name}: {', '.join(words)}" if name and words else name or ", ".join(words)
