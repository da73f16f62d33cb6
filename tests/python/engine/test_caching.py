"""The cache of aged drives, from the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand

# So much that the drive is worth to be kept.
LONG = ("--state", "overwrite_percent=10000")
COMPARE = ("compare", "base", "base+no-gc", "--device", "ttflash-small", "--requests", "50")
RUN = (*COMPARE, "--workload", "randrw70-qd16", *LONG)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tinytail" / "aged"


def hashes(command: RunCommand, *words: str) -> list[str]:
    outcome = command(*RUN, *words, "--json", "-")
    assert outcome.code == 0, outcome.err
    return [result["event_hash"] for result in json.loads(outcome.out)["results"]]


def test_a_drive_is_aged_once_and_kept(command: RunCommand, cache: Path) -> None:
    assert "No aged drives" in command("image", "cache").out
    outcome = command(*RUN)
    begins = f"drives that take long to age are kept in {cache} from now on, 8.0 GiB of them"
    assert outcome.err.count(begins) == 1
    (file,) = cache.iterdir()
    made = hashes(command)
    written = file.stat().st_ino
    outcome = command(*RUN)
    assert "ageing" not in outcome.err
    assert "are kept in" not in outcome.err
    assert hashes(command) == made
    assert file.stat().st_ino == written
    shown = command("image", "cache").out
    assert shown.startswith("1 aged drive, ")
    assert "10000 %" in shown
    document = json.loads(command("image", "cache", "--json", "-").out)
    assert document == tinytail.describe_image_cache().to_dict()
    assert (document["limit_bytes"], len(document["entries"])) == (8 << 30, 1)
    assert document["bytes"] == next(cache.iterdir()).stat().st_size
    assert document["entries"][0]["recipe"]["state"]["overwrite_percent"] == 10_000
    cleared = command("image", "cache", "--clear").out
    assert "removed" in cleared
    assert list(cache.iterdir()) == []
    assert tinytail.clear_image_cache() == (0, 0)


def test_a_cache_that_is_off_is_neither_written_nor_read(
    command: RunCommand, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hashes(command, "--no-cache")
    monkeypatch.setenv("TINYTAIL_CACHE_GIB", "0")
    assert hashes(command) == made
    assert not cache.exists()
    # What is larger than the limit is not kept.
    monkeypatch.setenv("TINYTAIL_CACHE_GIB", "0.0001")
    assert hashes(command) == made
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_a_note(command: RunCommand, cache: Path) -> None:
    cache.parent.parent.mkdir(exist_ok=True)
    cache.parent.write_text("a file in place of the folder")
    outcome = command(*RUN)
    assert outcome.code == 0
    assert f"note: aged drives can't be kept in {cache}: " in outcome.err
    with pytest.warns(UserWarning, match="aged drives can't be kept"):
        tinytail.compare(
            ["base"],
            device="ttflash-small",
            workload="randrw70-qd16",
            requests=50,
            state={"overwrite_percent": 10_000},
        )


@pytest.mark.parametrize("said", ["much", "-1", "nan", "inf", ""])
def test_a_limit_that_is_no_number_is_refused(
    command: RunCommand, cache: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("TINYTAIL_CACHE_GIB", said)
    for words in (RUN, ("image", "cache")):
        outcome = command(*words)
        assert outcome.code == 2
        assert "TINYTAIL_CACHE_GIB" in outcome.err
        assert "allowed: a number of GiB" in outcome.err
    assert not cache.exists()
