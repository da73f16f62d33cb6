"""The JSON Schemas of what is written and of what is read."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Literal

Kind = Literal["compare", "certify", "device", "design", "workload"]


def read_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of a document: what a command writes, or a file that is read.

    Args:
        kind: `"compare"` or `"certify"` for the results of these commands; `"device"`, `"design"`
            or `"workload"` for these files.
    """
    folder = resources.files("tinytail") / "schema"
    schema: dict[str, Any] = json.loads(folder.joinpath(f"{kind}.schema.json").read_text("utf-8"))
    return schema
