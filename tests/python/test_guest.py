"""A Linux guest makes file systems on a served drive, uses them and finds them clean."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import guest
from test_serve import serving

STEPS = [
    *("made", "mounted", "fio", "trimmed", "unmounted"),
    *("mounted again", "kept", "unmounted again", "checked"),
]


@pytest.mark.skipif(sys.platform != "linux", reason="drives are served on Linux alone")
def test_ext4_and_xfs_of_a_guest_are_clean(tmp_path: Path) -> None:
    words = ("--device", "ttflash-small", "--design", "ttflash", "--size", "512M")
    try:
        kernel, archive = guest.build(tmp_path)
        with serving(tmp_path, *words, "--data", str(tmp_path / "data")) as running:
            said = guest.boot(kernel, archive, running.socket, timeout_seconds=300)
            summary = running.stop()
    except guest.MissingError as missing:
        pytest.skip(f"no guest can be booted here: {missing}")
    # What the firmware writes to a terminal may stand before the first line.
    told = [f"GUEST {line.strip()}" for line in re.findall("GUEST (.*)", said)]
    expected = [f"GUEST {system} {step} ok" for system in ("ext4", "xfs") for step in STEPS]
    assert told == [*expected, "GUEST done"], said
    assert summary["failed"] == 0
    for kind in ("read", "write", "trim", "flush"):
        assert summary["lateness"][kind]["count"] > 0, kind
