"""Runs that do not fit into memory are not started, or fewer of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import tinytail
from conftest import RunCommand
from tinytail import memory

ROOT = Path(__file__).parents[2]
GIB = 1 << 30
RUN = ("--workload", "randrw70-qd16", "--requests", "50")


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file in place of the one in which the system says what is free."""
    file = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "MEMINFO", file)
    return file


def leave(file: Path, size_bytes: int) -> None:
    file.write_text(f"MemTotal: 99 kB\nMemAvailable: {size_bytes >> 10} kB\n")


@pytest.fixture
def large(tmp_path: Path) -> str:
    """The largest drive that a device file may describe, by its blocks."""
    text = (ROOT / "devices/ttflash-small.toml").read_text("utf-8")
    lines = text.splitlines()
    lines = [
        "blocks_per_plane = 524288" if line.startswith("blocks_per_plane") else line
        for line in lines
    ]
    path = tmp_path / "large.toml"
    path.write_text("\n".join(lines))
    return str(path)


def test_what_a_drive_takes_grows_with_its_pages_and_with_what_is_kept_of_each() -> None:
    small, large = (memory.drive_bytes(f"ttflash-{size}", "base") for size in ("48g", "256g"))
    assert small is not None
    assert large is not None
    # 7.34 bytes for each page; measured with 12.6 million pages.
    assert small - memory.RUN == pytest.approx(92.4e6, rel=0.01)
    assert (large - memory.RUN) / (small - memory.RUN) == pytest.approx(256 / 48, rel=0.01)
    pages = 48 * GIB // 4096
    verified = memory.drive_bytes("ttflash-48g", "base", verify=True)
    assert verified == pytest.approx(small + 7.2 * pages, abs=2)
    assert memory.drive_bytes("ttflash-48g", "ttflash") == small + pages


def test_as_many_run_at_once_as_fit(free: Path) -> None:
    def jobs(available: int, *needs: int | None, wanted: int | None = None) -> int:
        leave(free, available * 1024)
        of = [None if need is None else need * 1024 for need in needs]
        return memory.fit(of, jobs=wanted, jobs_default=3).jobs

    assert jobs(30, 10, 10, 10, 10) == 3
    assert jobs(29, 10, 10, 10, 10) == 2
    assert jobs(30, 10, 20, 10) == 2
    assert jobs(29, 10, 20, 10) == 1
    assert jobs(20, 20, 1) == 1
    assert jobs(1, None, None) == 2
    assert jobs(1, 10, 10, wanted=2) == 2
    with pytest.raises(tinytail.RunError, match=r"about 20.0 KiB of memory, and 19.0 KiB are free"):
        jobs(19, 20, 1)
    free.unlink()
    assert memory.fit([1 << 60], jobs=None, jobs_default=3) == memory.Fit(1)


def test_a_drive_that_does_not_fit_is_refused_before_it_is_aged(
    command: RunCommand, free: Path, large: str, tmp_path: Path
) -> None:
    leave(free, 2 * GIB)
    outcome = command("compare", "base", "ttflash", "--device", large, *RUN)
    assert outcome.code == 1
    assert "the drive takes about 17.1 GiB" in outcome.err
    assert "2.00 GiB are free" in outcome.err
    assert "ageing" not in outcome.err
    out = str(tmp_path / "image")
    outcome = command("image", "create", out, "--device", large, "--design", "base")
    assert (outcome.code, "2.00 GiB are free" in outcome.err) == (1, True)
    words = ("--device", large, "--design", "base", "--nbd", f"unix:{tmp_path}/s")
    outcome = command("serve", *words)
    assert (outcome.code, "2.00 GiB are free" in outcome.err) == (1, True)
    outcome = command("certify", "act", "base", "--device", large)
    assert (outcome.code, "2.00 GiB are free" in outcome.err) == (1, True)


def test_fewer_run_at_once_with_a_note_and_jobs_are_respected_with_a_warning(
    command: RunCommand, free: Path
) -> None:
    words = ("compare", "base", "base+no-gc", "--device", "ttflash-small", *RUN)
    leave(free, memory.RUN + memory.RUN // 2)
    outcome = command(*words)
    assert outcome.code == 0, outcome.err
    # On one processor, one runs at once anyway.
    assert ("1 run at once instead of 2" in outcome.err) == (tinytail.comparing.cpu_count() > 1)
    leave(free, memory.RUN // 2)
    outcome = command(*words, "--jobs", "2")
    assert outcome.code == 0, outcome.err
    assert "the system may end the process" in outcome.err
    leave(free, GIB)
    assert "note" not in command(*words).err
