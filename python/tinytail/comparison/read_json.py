"""Reads files of results back, and says what is wrong with those that are none."""

from __future__ import annotations

import json
import math
import os
from typing import Any

from tinytail.comparison.result import SCHEMA_VERSION, Comparison
from tinytail.engine import arguments
from tinytail.errors import ResultsError
from tinytail.files.schema import read_schema
from tinytail.files.text import RESULTS_BYTES_MAX, read_text

# Of a value that should not be in a file of results, only the beginning is shown.
FAULT_CHARACTERS_MAX = 200


def read_results(path: str | os.PathLike[str]) -> Comparison:
    """Reads a file that `tinytail compare --json` wrote.

    Raises:
        UsageError: `path` is not a path.
        ResultsError: the file cannot be read, is of another version, cut off or altered.
    """
    document = read_document(path)
    try:
        return Comparison.from_dict(document)
    except ValueError as error:
        raise ResultsError(f"{os.fspath(path)}: {error}") from error


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """As `read_results`, the document that the file holds."""
    path = arguments.file(path)
    try:
        text = read_text(path, RESULTS_BYTES_MAX)
        document: dict[str, Any] = json.loads(
            text, parse_int=_whole, parse_float=_finite, parse_constant=_finite
        )
        # Half of a surrogate pair, which JSON can spell and no text can hold.
        json.dumps(document, ensure_ascii=False).encode()
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise ResultsError(f"{place}: not the JSON of a comparison: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: not the JSON of a comparison: {error}") from error
    fault = _fault(document)
    if fault is not None:
        raise ResultsError(f"{path}: {fault}")
    return document


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) > arguments.U64_MAX:
        raise ValueError(f"{text[:FAULT_CHARACTERS_MAX]} is larger than any figure")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no figure")
    return number


def _fault(document: Any) -> str | None:
    """What keeps a document from being a comparison's; None if it is one."""
    import jsonschema

    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version != SCHEMA_VERSION:
        return f"its schema_version is {version}, and only {SCHEMA_VERSION} can be read"
    problem = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(read_schema("compare")).iter_errors(document)
    )
    if problem is not None:
        place = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in problem.absolute_path
        )
        found = " ".join(problem.message.split())
        if len(found) > FAULT_CHARACTERS_MAX:
            found = f"{found[:FAULT_CHARACTERS_MAX]}..."
        return f"{place.lstrip('.') or 'the document'}: {found}"
    for position, result in enumerate(document["results"]):
        for part in ("distribution", "series", "wear"):
            columns = result["wear"]["blocks"] if part == "wear" else result[part]
            lengths = {len(column) for column in columns.values() if isinstance(column, list)}
            if len(lengths) > 1:
                return f"results[{position}].{part}: its columns are not of one length"
    return None
