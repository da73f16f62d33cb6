"""A Linux guest makes file systems on a served drive, uses them and finds them clean."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import guest
from served import serving

STEPS = [
    *("made", "mounted", "fio", "trimmed", "unmounted"),
    *("mounted again", "kept", "unmounted again", "checked"),
]
FSX_STEPS = ["made", "mounted", "fsx", "unmounted", "checked"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="drives are served on Linux alone")


def check(folder: Path, task: guest.Task, expected: list[str]) -> dict[str, Any]:
    """Boots a guest on a served drive. It must tell what is expected; returns how late the drive's
    completions were, by kind."""
    words = ("--device", "ttflash-small", "--design", "ttflash", "--size", "512M")
    try:
        kernel, archive = guest.build(folder, task)
        with serving(folder, *words, "--data", str(folder / "data")) as running:
            said = guest.boot(kernel, archive, running.socket, timeout_seconds=300)
            summary = running.stop()
    except guest.MissingError as missing:
        pytest.skip(f"no guest can be booted here: {missing}")
    # What the firmware writes to a terminal may stand before the first line.
    described = [line.strip() for line in re.findall("GUEST (.*)", said)]
    assert described == [*expected, "done"], said
    assert summary["failed"] == 0
    lateness: dict[str, Any] = summary["lateness"]
    for kind in ("read", "write", "trim", "flush"):
        assert lateness[kind]["count"] > 0, kind
    return lateness


def test_ext4_and_xfs_of_a_guest_are_clean(tmp_path: Path) -> None:
    check(
        tmp_path,
        guest.FILE_SYSTEMS,
        [f"{system} {step} ok" for system in ("ext4", "xfs") for step in STEPS],
    )


def test_fsx_finds_every_byte_on_the_drive_on_ext4_and_on_xfs(tmp_path: Path) -> None:
    expected = [f"{system} {step} ok" for system in ("ext4", "xfs") for step in FSX_STEPS]
    lateness = check(tmp_path, guest.FSX, ["drive fsx ok", *expected])
    # Some 650 if the guest's page cache is left alone.
    assert lateness["read"]["count"] > 1000
