"""Reproducing papers from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand, read_json

ROWS = ("ttflash.s41.gc64", "ttflash.table1.channels")


def test_it_is_what_the_command_writes(command: RunCommand, tmp_path: Path) -> None:
    found = tinytail.reproduce(ROWS)
    assert sorted(row.id for row in found.rows) == sorted(ROWS)
    assert not found.partial
    assert found.row(ROWS[0]).verdict == "reproduced"
    file = tmp_path / "rows.json"
    assert command("reproduce", *ROWS, "--json", str(file)).code == 0
    assert read_json(file)["rows"] == json.loads(json.dumps(found.document["rows"]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rows": ["ttflash.nothing"]}, "no row is called"),
        ({"rows": "ttflash"}, "must be a list of names"),
        ({"tier": "long"}, "must be one of quick, full"),
        ({"fresh": True, "kept": True}, "only one of them"),
        ({"traces": {"dtrz": "x.trace"}}, 'did you mean "dtrs"'),
        ({"traces": {"dtrs": "x.trace"}}, "there is no file x.trace"),
        ({"traces": {"dtrs": {"base": "nothing"}}}, "nothing"),
    ],
)
def test_what_contradicts_itself_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(tinytail.TinytailError) as error:
        tinytail.reproduce(**({"rows": ["ttflash"]} | given))
    assert said in str(error.value)
