"""The cost of a sweep grows as its points do. Calls and operations are counted, not seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tinytail
from operations import growth
from tinytail.engine import native
from tinytail.sweeps import cells, execute, plan, run
from tinytail.sweeps.dataset import Files
from tinytail.sweeps.plan import Plan
from tinytail.sweeps.view import COLUMNS_MAX, ROWS_MAX, sweep_view
from tinytail.terminal.console import plain_text

FIXED: dict[str, Any] = {
    "device": "ttflash-small",
    "designs": ["base"],
    "workload": "randrw70-qd16",
    "requests": 500,
}
DEPTH, SHARE = "synthetic.queue_depth", "synthetic.read_share"


@cache
def outcome() -> Mapping[str, Any]:
    """What came of one run."""
    [point] = plan({DEPTH: [4]}, **FIXED)
    found = REAL(point.spec, native.Control(), native.share([]))
    assert found is not None
    return found


REAL = run.run_point


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point has what came of one run."""
    what = outcome()
    monkeypatch.setattr(run, "run_point", lambda *_: what)


def shares(count: int) -> list[float]:
    return [(1 + place) / (count + 1) for place in range(count)]


def swept(axes: Mapping[str, Sequence[Any]], out: Path | None = None) -> tinytail.Sweep:
    return execute(plan(axes, **FIXED), None if out is None else str(out), jobs=1)


def test_a_plan_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    real = Plan._points

    def counted(self: Plan, *given: Any) -> Iterator[Any]:
        for point in real(self, *given):
            made[point.id] += 1
            yield point

    monkeypatch.setattr(Plan, "_points", counted)
    axes = {DEPTH: range(1, 11), SHARE: shares(10)}
    for points, more in ((100, axes), (100, axes), (110, {**axes, DEPTH: range(1, 12)})):
        made.clear()
        assert len(swept(more, tmp_path / "s")) == points
        assert (len(made), set(made.values())) == (points, {1})


def test_the_end_of_a_sweep_reads_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept({DEPTH: range(1, 11), SHARE: shares(120)}, tmp_path / "s")
    read: Counter[str] = Counter()
    real = Files.read

    def counted(self: Files, names: Sequence[str], points: Sequence[str] | None = None) -> Any:
        # Of axes that changed nothing, a few points say why.
        if points is None:
            read.update(names)
        else:
            assert len(points) == 1
        return real(self, names, points)

    monkeypatch.setattr(Files, "read", counted)
    found = swept({DEPTH: range(1, 11), SHARE: shares(120)}, tmp_path / "s")
    plain_text(sweep_view(found, 100), 100)
    percentiles = {name for name in read if name.endswith("_us")}
    shown = {DEPTH, SHARE, "design", "seed", "requests", "point", "error", "findings", "adjusted"}
    shown |= {"event_hash"}
    ends = {f"{found.headline()}.{end}" for end in ("low", "high")}
    assert set(read) <= shown | percentiles | ends
    assert max(read.values()) <= 6


def test_a_table_has_a_bound_and_says_how_to_see_the_rest(tmp_path: Path) -> None:
    few = swept({SHARE: shares(ROWS_MAX)})
    assert "more value" not in few.table()
    folder = tmp_path / "s"
    many = swept({SHARE: shares(ROWS_MAX + 7), DEPTH: range(1, COLUMNS_MAX + 2)}, folder)
    said = many.table("read.mean_us", 400)
    assert f"and 7 more values of {SHARE}, 1 more value of {DEPTH}; all of it: " in said
    assert f"`tinytail sweep show {folder} --json -`" in said
    assert sum(line.startswith("0.") for line in said.splitlines()) == ROWS_MAX
    # What is said of findings is said of all cells.
    codes = Counter(code for cell in many.cells("read.mean_us") for code in cell.findings)
    assert all(f"{code} ({count:,})" in said for code, count in codes.items())


@pytest.mark.parametrize(
    "act",
    [
        lambda sweep: sweep.table("read.p99_us"),
        lambda sweep: sweep.cells("read.p99_us"),
        lambda sweep: sweep.panels("read.p99_us"),
        lambda sweep: sweep.only({SHARE: sweep.axes[0].values[0]}),
        lambda sweep: cells.choices(sweep.to_arrow(), sweep.axes, "erases", "read.p99_us"),
    ],
)
@pytest.mark.parametrize("with_panels", [False, True])
def test_what_shows_a_sweep_is_linear(act: Any, with_panels: bool) -> None:
    assert growth(lambda count: act(of(count, with_panels)), 20, 100) < 1.2


@cache
def of(count: int, with_panels: bool) -> tinytail.Sweep:
    """A sweep along one axis, or with a panel for each of its values."""
    more = {DEPTH: [1, 2, 3], "gc.reserve_blocks": [1, 2]} if with_panels else {}
    return swept({SHARE: shares(count), **more})
