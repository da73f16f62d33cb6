"""What a search found of the points of its dataset, in the file `front.json` of the folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from tinytail.errors import ResultsError
from tinytail.files.text import WRITTEN_BYTES_MAX, json_text, read_text
from tinytail.files.whole import FileOutput

NAME = "front.json"
VERDICTS = ("front", "other", "refuted")


def write(folder: str | os.PathLike[str], goals: str, judged: Mapping[str, str]) -> None:
    """Writes the verdict on each point that long runs judged.

    Args:
        folder: the dataset.
        goals: what the search was for.
        judged: `front`, `other` or `refuted` by the point.

    Raises:
        OutputError: the file cannot be written.
    """
    said = {"goals": goals, "judged": dict(judged)}
    document = {**said, "digest": _digest(said)}
    FileOutput(str(Path(folder) / NAME), "the dataset").write(json_text(document).encode())


def read(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the verdicts by the point; none if the folder is that of a sweep.

    Raises:
        ResultsError: the file is damaged.
    """
    path = Path(folder) / NAME
    try:
        document = json.loads(read_text(path, WRITTEN_BYTES_MAX))
        said = {key: document[key] for key in ("goals", "judged")}
        if document["digest"] != _digest(said):
            raise ValueError("its digest is another one")
        return dict(said["judged"])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultsError(
            f"{path} is damaged: {error}. The same search writes it anew; without it pictures have "
            "the front of all points"
        ) from error


def _digest(said: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
