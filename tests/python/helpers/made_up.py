"""Comparisons that are made up."""

from __future__ import annotations

from typing import Any

from tinytail.comparison.result import Comparison, DesignResult
from tinytail.engine.results import ComparedWorkload, DesignError


def compared(
    *documents: dict[str, Any], reference: str | None = None, errors: tuple[DesignError, ...] = ()
) -> Comparison:
    results = tuple(map(DesignResult.from_dict, documents))
    first = results[0].design if results else errors[0].design
    return Comparison(
        version="9.9.9",
        command="tinytail compare",
        device="ttflash-256g",
        workload=ComparedWorkload("dtrs", None, None, None),
        state=None,
        seed=1,
        seeds=1,
        partial=False,
        reference=reference or first,
        configuration=(),
        results=results,
        errors=errors,
    )
