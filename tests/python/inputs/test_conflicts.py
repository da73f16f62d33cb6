"""Files that a command would write twice, or read and write, are refused before anything runs."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand
from tinytail.engine import catalog
from tinytail.inputs import conflicts

ROOT = Path(__file__).parents[3]
TRACE = "".join(f"{n * 1000} 0 {n * 8} 8 1\n" for n in range(1, 20))
COMPARE = ("compare", "d.toml", "--device", "dev.toml", "--workload", "t.trace")
SERVE = ("serve", "--device", "dev.toml", "--design", "d.toml", "--nbd", "unix:s")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A device, a design, a trace with its sidecar and results, as they were before."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "devices/ttflash-small.toml", "dev.toml")
    shutil.copy(ROOT / "designs/base.toml", "d.toml")
    Path("t.trace").write_text(TRACE)
    Path("t.trace.toml").write_text('[trace]\nformat = "mqsim"\ntime_unit = "ns"\n')
    Path("w.toml").write_text('summary = "w"\n[trace]\nfile = "t.trace"\n')
    Path("link").symlink_to("t.trace")
    os.link("dev.toml", "hard.toml")
    return {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((*COMPARE, "--json", "t.trace"), ("--json", "--workload")),
        ((*COMPARE, "--json", "link"), ("--json", "--workload")),
        ((*COMPARE, "--json", "t.trace.toml"), ("--json", "--workload")),
        ((*COMPARE[:-1], "w.toml", "--report", "t.trace"), ("--report", "--workload")),
        ((*COMPARE, "--json", "./dev.toml"), ("--json", "--device")),
        ((*COMPARE, "--json", "hard.toml"), ("--json", "--device")),
        ((*COMPARE, "--report", "d.toml"), ("--report", "DESIGN")),
        ((*COMPARE, "--log", "d.toml"), ("--log", "DESIGN")),
        ((*COMPARE, "--timeline", "dev.toml"), ("--timeline", "--device")),
        ((*COMPARE, "--json", "x", "--report", "./x"), ("--json", "--report")),
        ((*COMPARE, "--json", "x", "--log", "x"), ("--json", "--log")),
        ((*COMPARE, "--timeline", "x", "--log", "x"), ("--log", "--timeline")),
        ((*COMPARE, "--out", "o", "--json", "o/results.json"), ("--json", "--out")),
        ((*COMPARE, "--out", "o", "--figures", "o"), ("--out", "--figures")),
        ((*SERVE, "--data", "x", "--record", "x", "--force"), ("--data", "--record")),
        ((*SERVE, "--record", "a", "--log", "a", "--json", "a"), ("--record", "--log")),
        ((*SERVE, "--log", "a", "--json", "a"), ("--log", "--json")),
        ((*SERVE, "--record", "a", "--json", "a.toml"), ("--record", "--json")),
        ((*SERVE, "--data", "d.toml"), ("--data", "DESIGN")),
        ((*SERVE, "--json", "s"), ("--json", "--nbd")),
        (("report", "t.trace", "--report", "t.trace"), ("--report", "RESULTS")),
        (("trace", "info", "t.trace", "--json", "t.trace"), ("--json", "FILE")),
        (("image", "info", "d.toml", "--json", "d.toml"), ("--json", "FILE")),
        (("explain", ".", "--json", "results.json"), ("--json", "DIR")),
        (("analyze", "rotation", "--device", "dev.toml", "--json", "dev.toml"), ("--json",)),
        (("analyze", "rate-matching", "--device", "dev.toml", "--json", "dev.toml"), ("--json",)),
        (("analyze", "page-layout", "t.trace", "--json", "t.trace"), ("--json", "FILE")),
        (
            ("verify", "power-cut", "d.toml", "--device", "dev.toml", "--json", "d.toml"),
            ("--json",),
        ),
        (("certify", "act", "d.toml", "--device", "dev.toml", "--json", "dev.toml"), ("--json",)),
        (("reproduce", "--trace", "dtrs=w.toml", "--json", "w.toml"), ("--json", "--trace")),
        (
            ("image", "create", "d.toml", "--device", "dev.toml", "--design", "d.toml"),
            ("OUT", "DESIGN"),
        ),
    ],
)
def test_a_file_with_two_uses_is_refused_and_stays_as_it_is(
    words: tuple[str, ...], named: tuple[str, ...], files: dict[str, bytes], command: RunCommand
) -> None:
    outcome = command(*words)
    assert outcome.code == 2, outcome.err
    assert re.search("would (both be|overwrite|write)", outcome.err), outcome.err
    for name in named:
        assert name in outcome.err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == files


def test_files_of_their_own_are_no_conflict() -> None:
    conflicts.check(
        [("--json", "-"), ("--report", "-"), ("--log", None), ("--json", "a"), ("--report", "b")],
        [("--device", "ttflash-small"), ("--workload", "t.trace")],
        [("--out", "o")],
    )
    conflicts.check([("--json", "/dev/null"), ("--report", "/dev/null")])


def test_the_trace_of_a_workload_by_name_is_found_where_traces_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINYTAIL_TRACES", str(tmp_path))
    [trace] = [
        row.value
        for row in catalog.describe_workload("dtrs").settings
        if (row.section, row.key) == ("trace", "file")
    ]
    Path(trace).write_text(TRACE)
    with pytest.raises(tinytail.UsageError, match="--log would overwrite"):
        tinytail.compare(["base"], device="ttflash-small", workload="dtrs", log=trace)


def test_an_empty_name_of_the_folder_of_traces_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYTAIL_TRACES", "")
    Path("sub").mkdir()
    shutil.copy("w.toml", "sub/w.toml")
    read = {path for _, path in conflicts.files_read(workload="sub/w.toml")}
    assert "sub/t.trace" in read
    assert "t.trace" not in read
