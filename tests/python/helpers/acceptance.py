"""What rows of papers accept, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinytail.errors import ConfigError
from tinytail.reproduction.conditions import holds
from tinytail.reproduction.records import Row

ANYTHING: tuple[Any, ...] = (0.0, 1e12, -1e12, [0.0], [1e12], [-1e12])


class Everything(dict[str, Any]):
    """Measured values that differ by the lengths of their names alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return self.value * len(name) if isinstance(self.value, float) else self.value


def accepted(row: Row, values: Mapping[str, Any]) -> bool:
    """Whether a row is reproduced by measured values."""
    return all(holds(condition, values) for condition in row.accept)


def accepts_anything(row: Row) -> bool:
    """Whether a row is reproduced whatever is measured, or if nothing is."""

    def taken(value: Any) -> bool:
        try:
            return accepted(row, Everything(value))
        except ConfigError:
            # A number where a list or a text is measured.
            return False

    return taken(None) or all(taken(value) for value in ANYTHING)
