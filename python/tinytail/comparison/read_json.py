"""Reads files of results back, and says what is wrong with those that are none."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable
from typing import Any

from tinytail.comparison.result import SCHEMA_VERSION, Comparison
from tinytail.engine import arguments
from tinytail.errors import ResultsError
from tinytail.files.schema import read_schema
from tinytail.files.text import RESULTS_BYTES_MAX, read_text

# Of a value that should not be in a file of results, only the beginning is shown.
FAULT_CHARACTERS_MAX = 200
# Digits of the largest whole number, and a sign.
DIGITS_MAX = len(str(arguments.U64_MAX)) + 1


def read_results(path: str | os.PathLike[str]) -> Comparison:
    """Read a file that `tinytail compare --json` wrote.

    Raises:
        UsageError: `path` is not a path.
        ResultsError: the file cannot be read, is of another version, cut off or altered.
    """
    return _read(path)[1]


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the document that such a file holds, checked as by `read_results`."""
    return _read(path)[0]


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Comparison]:
    path = arguments.file(path)
    try:
        text = read_text(path, RESULTS_BYTES_MAX)
        document = json.loads(text, parse_int=_whole)
        fault = _no_value(document) or _fault(document)
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise ResultsError(f"{place}: not the JSON of a comparison: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: not the JSON of a comparison: {error}") from error
    if fault is not None:
        raise ResultsError(f"{path}: {fault}")
    try:
        return document, Comparison.from_dict(document)
    except ValueError as error:
        raise ResultsError(f"{path}: {error}") from error


def _whole(text: str) -> int | float:
    """Return a whole number; infinity if it is larger than any that is written."""
    return int(text) if len(text) <= DIGITS_MAX else math.copysign(math.inf, int(text[:2]))


def _place(steps: Iterable[int | str]) -> str:
    """Write a place in a document, such as `results[0].read.count`."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return place.lstrip(".") or "the document"


def _no_value(document: Any) -> str | None:
    """Say which value JSON can spell and no result can have; None if there is none."""
    left: list[tuple[tuple[int | str, ...], Any]] = [((), document)]
    while left:
        steps, value = left.pop()
        match value:
            case dict():
                left += [(steps, key) for key in value]
                left += [((*steps, key), each) for key, each in value.items()]
            case list():
                left += [((*steps, index), each) for index, each in enumerate(value)]
            case str() if re.search("[\ud800-\udfff]", value):
                return f"{_place(steps)}: half of a surrogate pair is no text"
            case int() if abs(value) > arguments.U64_MAX:
                return f"{_place(steps)}: {value} is larger than any figure"
            case float() if not math.isfinite(value):
                return f"{_place(steps)}: {value} is no figure"
    return None


def _fault(document: Any) -> str | None:
    """Say what keeps a document from being a comparison's; None if it is one."""
    import jsonschema

    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version != SCHEMA_VERSION:
        return f"its schema_version is {version}, and only {SCHEMA_VERSION} can be read"
    # In JSON Schema 1e18 is an integer, too. The engine writes none of them so.
    is_whole = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    extend: Any = jsonschema.validators.extend
    validator = extend(jsonschema.Draft202012Validator, type_checker=is_whole)
    problem = jsonschema.exceptions.best_match(
        validator(read_schema("compare")).iter_errors(document)
    )
    if problem is not None:
        found = " ".join(problem.message.split())
        if len(found) > FAULT_CHARACTERS_MAX:
            found = f"{found[:FAULT_CHARACTERS_MAX]}..."
        return f"{_place(problem.absolute_path)}: {found}"
    designs: list[str] = []
    for position, result in enumerate(document["results"]):
        if result["design"] in designs:
            return f'results[{position}].design: an earlier result is of "{result["design"]}", too'
        designs.append(result["design"])
        for part in ("distribution", "series", "wear"):
            columns = result["wear"]["blocks"] if part == "wear" else result[part]
            lengths = {len(column) for column in columns.values() if isinstance(column, list)}
            if len(lengths) > 1:
                return f"results[{position}].{part}: its columns are not of one length"
    return None
