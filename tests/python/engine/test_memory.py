"""Runs that do not fit into memory are not started, or fewer of them at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand
from tinytail.engine import memory
from tinytail.engine.jobs import cpu_count
from tinytail.pictures import FIGURES_BYTES, PAGE_BYTES

ROOT = Path(__file__).parents[3]
GIB = 1 << 30
RUN = ("--workload", "randrw70-qd16", "--requests", "50")


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file in place of the one in which the system says what is free, and no groups."""
    file = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "MEMINFO", file)
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "GROUP_FOLDER", tmp_path / "groups")
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
    assert small - memory.RUN == pytest.approx(memory.MARGIN * 92.4e6, rel=0.01)
    assert (large - memory.RUN) / (small - memory.RUN) == pytest.approx(256 / 48, rel=0.01)
    pages = 48 * GIB // 4096
    verified = memory.drive_bytes("ttflash-48g", "base", verify=True)
    assert verified == pytest.approx(small + memory.MARGIN * 7.2 * pages, abs=2)
    with_stripes = memory.drive_bytes("ttflash-48g", "ttflash")
    assert with_stripes == pytest.approx(small + memory.MARGIN * pages, abs=2)


def test_as_many_run_at_once_as_fit(free: Path) -> None:
    def jobs(available: int, *needs: int | None, wanted: int | None = None) -> int:
        leave(free, available * 1024)
        of = [None if need is None else need * 1024 for need in needs]
        return memory.fit(of, blocks=lambda: 64, jobs=wanted, jobs_default=3).jobs

    assert jobs(30, 10, 10, 10, 10) == 3
    assert jobs(29, 10, 10, 10, 10) == 2
    assert jobs(30, 10, 20, 10) == 2
    assert jobs(29, 10, 20, 10) == 1
    assert jobs(20, 20, 1) == 1
    assert jobs(1, None, None) == 2
    assert jobs(15, 10, 10, wanted=2) == 2
    said = r"about 20.0 KiB of memory, and 19.0 KiB are free"
    with pytest.raises(tinytail.ConfigError, match=said):
        jobs(19, 20, 1)
    # What can't be is refused however many are wanted.
    with pytest.raises(tinytail.ConfigError, match=said):
        jobs(19, 20, 1, wanted=1)
    free.unlink()
    assert memory.fit([1 << 60], blocks=lambda: 64, jobs=None, jobs_default=3) == memory.Fit(1)


def test_the_least_of_all_limits_counts(free: Path, tmp_path: Path) -> None:
    groups = tmp_path / "cgroup"
    leave(free, 8 * GIB)
    assert memory.free() == memory.Free(8 * GIB, "are free")
    inner = tmp_path / "groups/outer/inner"
    inner.mkdir(parents=True)
    groups.write_text("0::/outer/inner\n")
    for folder, allowed in ((inner, "max"), (inner.parent, str(6 * GIB))):
        (folder / "memory.max").write_text(f"{allowed}\n")
        (folder / "memory.current").write_text(f"{3 * GIB}\n")
        (folder / "memory.stat").write_text(f"anon 5\ninactive_file {GIB}\n")
    assert memory.free() == memory.Free(4 * GIB, "are left of what the control group allows")
    old = tmp_path / "groups/memory"
    old.mkdir()
    groups.write_text("4:cpu,memory:/seen/from/outside\n")
    (old / "memory.limit_in_bytes").write_text(f"{2 * GIB}\n")
    (old / "memory.usage_in_bytes").write_text(f"{GIB}\n")
    (old / "memory.stat").write_text("total_cache 7\n")
    found = memory.free()
    assert found is not None
    assert found.size_bytes == GIB


def test_a_limit_of_the_address_space_counts(large: str) -> None:
    words = ["compare", "base", "--device", large, *RUN]
    code = (
        "import resource\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({4 * GIB}, {4 * GIB}))\n"
        "from tinytail.cli.main import main\n"
        f"raise SystemExit(main({words!r}))\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 2, outcome.stderr
    assert "are left of what ulimit -v allows; this fits: --set " in outcome.stderr


def test_a_drive_that_does_not_fit_is_refused_before_it_is_aged(
    command: RunCommand, free: Path, large: str, tmp_path: Path
) -> None:
    leave(free, 2 * GIB)
    outcome = command("compare", "base", "ttflash", "--device", large, *RUN)
    assert outcome.code == 2
    assert "the drive takes about 17.6 GiB" in outcome.err
    assert "2.00 GiB are free" in outcome.err
    assert "ageing" not in outcome.err
    remedy = re.search(r"this fits: (--set) (geometry.blocks_per_plane=\d+)", outcome.err)
    assert remedy is not None, outcome.err
    need = memory.drive_bytes(large, "ttflash", [remedy[2]])
    assert need is not None
    assert 1.8 * GIB < need < 2 * GIB
    out = str(tmp_path / "image")
    outcome = command("image", "create", out, "--device", large, "--design", "base")
    assert (outcome.code, "2.00 GiB are free" in outcome.err) == (2, True)
    words = ("--device", large, "--design", "base", "--nbd", f"unix:{tmp_path}/s")
    outcome = command("serve", *words)
    assert (outcome.code, "2.00 GiB are free" in outcome.err) == (2, True)
    outcome = command("certify", "act", "base", "--device", large)
    assert (outcome.code, "2.00 GiB are free" in outcome.err) == (2, True)


def test_fewer_run_at_once_with_a_note_and_jobs_are_respected_with_a_warning(
    command: RunCommand, free: Path
) -> None:
    words = ("compare", "base", "base+no-gc", "--device", "ttflash-small", *RUN)
    leave(free, memory.RUN + memory.RUN // 2)
    outcome = command(*words)
    assert outcome.code == 0, outcome.err
    # On one processor, one runs at once anyway.
    assert ("1 run at once instead of 2" in outcome.err) == (cpu_count() > 1)
    outcome = command(*words, "--jobs", "2")
    assert outcome.code == 0, outcome.err
    assert "the system may end the process" in outcome.err
    leave(free, GIB)
    assert "note" not in command(*words).err


def test_what_drawing_takes_counts_too(
    command: RunCommand, free: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("compare", "base", "--device", "ttflash-small", *RUN, "--json", "j")
    both = ("--report", "r.html", "--figures", "f")
    need = memory.drive_bytes("ttflash-small", "base")
    assert need is not None
    leave(free, need + PAGE_BYTES + FIGURES_BYTES - 1024)
    outcome = command(*words, *both)
    assert outcome.code == 2
    assert "drawing 288 MiB" in outcome.err
    assert "it fits without them: `tinytail report` draws" in outcome.err
    assert command(*words).code == 0
    leave(free, PAGE_BYTES + FIGURES_BYTES - 1024)
    outcome = command("report", "j", *both)
    assert (outcome.code, "drawing takes about 288 MiB" in outcome.err) == (2, True)
    assert command("report", "j", "--report", "r.html").code == 0
    assert (tmp_path / "r.html").is_file()
