"""Results as tables, as plots, and as what a notebook shows when nobody asks for more."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tinytail
from fake_native import FakeNative, result
from tinytail.comparison.frames import FRAMES
from tinytail.errors import installation
from tinytail.pictures.axes import PLOTS

DRIVE: dict[str, Any] = {"device": "ttflash-256g", "workload": "dtrs"}


@pytest.fixture
def comparison(native: FakeNative) -> tinytail.Comparison:
    native.runs = {"ttflash": lambda spec, _: result(spec["design"], 70.0)}
    return tinytail.compare(["base", "ttflash"], **DRIVE)


def test_each_figure_is_a_row_with_its_interval(comparison: tinytail.Comparison) -> None:
    table = comparison.to_polars()
    assert table.columns == ["design", "kind", "figure", "value", "low", "high"]
    p99 = table.filter(design="ttflash", kind="read", figure="p99_us")
    assert p99.rows() == [("ttflash", "read", "p99_us", 700.0, 630.0, 840.0)]
    largest = table.filter(design="ttflash", kind="read", figure="max_us")
    assert largest.row(0)[3:] == (28_000.0, None, None)
    assert table.filter(design="base", kind="run", figure="erases").row(0)[3] == 1234
    assert set(table["design"]) == {"base", "ttflash"}


def test_a_result_alone_has_its_own_rows(comparison: tinytail.Comparison) -> None:
    alone = comparison.result("ttflash").to_polars()
    assert alone.equals(comparison.to_polars().filter(design="ttflash"))


@pytest.mark.parametrize("table", FRAMES[:-1])
def test_every_table_is_the_same_in_every_form(comparison: tinytail.Comparison, table: Any) -> None:
    arrow = comparison.to_arrow(table)
    assert isinstance(arrow, pa.Table)
    assert arrow.num_rows > 0
    assert pl.DataFrame(arrow).equals(comparison.to_polars(table))
    frame = comparison.to_pandas(table)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == arrow.column_names
    assert len(frame) == arrow.num_rows


def test_what_takes_arrow_takes_a_comparison(comparison: tinytail.Comparison) -> None:
    assert pl.DataFrame(comparison).equals(comparison.to_polars())
    assert pa.table(comparison) == comparison.to_arrow()
    stream = comparison.result("base").__arrow_c_stream__()
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(stream) == b"arrow_array_stream"


def test_attribution_adds_up_to_the_whole(comparison: tinytail.Comparison) -> None:
    table = comparison.to_polars("attribution")
    groups = ("design", "kind", "slowest_percent", "requests")
    sums = table.group_by(*groups).agg(pl.col("percent").sum())
    assert sums["percent"].to_list() == pytest.approx([100.0] * len(sums))
    tails = comparison.result("base").attribution.tails
    shown = sums.filter(design="base", kind="read", slowest_percent=tails[0].share_percent)
    assert shown["requests"].to_list() == [tails[0].count]


def test_a_figure_without_meaning_is_null(native: FakeNative) -> None:
    nothing = dict.fromkeys(result()["read"]) | {"count": 0}
    native.runs = {"base": lambda *_: result(read=nothing, write_amplification=None, intervals={})}
    table = tinytail.compare(["base"], **DRIVE).to_polars()
    assert table.filter(kind="read", figure="p99_us")["value"].to_list() == [None]
    assert table.schema["value"] == pl.Float64


def test_requests_are_the_logs_with_their_designs(tmp_path: Path) -> None:
    comparison = tinytail.compare(
        ["base", "base+no-gc"],
        device="ttflash-small",
        workload="randrw70-qd16",
        requests=500,
        log=tmp_path,
    )
    table = comparison.to_polars("requests")
    assert table.group_by("design").len().sort("design").rows() == [
        ("base", 500),
        ("base+no-gc", 500),
    ]
    logged = pq.read_table(tmp_path / "base.parquet")
    mine = comparison.result("base").to_arrow("requests")
    assert mine.drop_columns(["design"]).equals(logged.replace_schema_metadata(None))


def test_requests_that_were_not_logged_are_asked_for(comparison: tinytail.Comparison) -> None:
    with pytest.raises(tinytail.UsageError, match=r"base: no log was kept; compare\(..., log="):
        comparison.to_arrow("requests")


def test_a_log_that_has_gone_is_named(native: FakeNative, tmp_path: Path) -> None:
    log = {"path": str(tmp_path / "gone.parquet"), "requests": 1, "bytes": 1, "error": None}
    native.runs = {"base": lambda *_: result(log=log)}
    with pytest.raises(tinytail.ResultsError, match=r"gone\.parquet"):
        tinytail.compare(["base"], **DRIVE).to_arrow("requests")


@pytest.mark.parametrize("wrong", ["figure", "", 7])
def test_the_tables_there_are_are_named(comparison: tinytail.Comparison, wrong: Any) -> None:
    with pytest.raises(tinytail.UsageError, match="allowed: figures, distribution, attribution"):
        comparison.to_arrow(wrong)


@pytest.mark.parametrize("kind", PLOTS)
def test_every_plot_draws_each_design(comparison: tinytail.Comparison, kind: Any) -> None:
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        axis = comparison.plot(kind)
        own = plt.subplots()[1]
        assert comparison.result("ttflash").plot(kind, ax=own) is own
        assert own.has_data()
        legend = axis.get_legend()
        assert legend is not None
        named = axis.get_yticklabels() if kind == "attribution" else legend.get_texts()
        shown = [text.get_text() for text in named]
        assert [text.partition(",")[0] for text in shown] == ["base", "ttflash"]
        plt.close("all")


def test_no_value_of_a_bar_crosses_the_frame_of_narrow_axes(
    comparison: tinytail.Comparison,
) -> None:
    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt
        from matplotlib.text import Text

        figure, axis = plt.subplots(figsize=(4.5, 3.0), layout="constrained")
        comparison.plot("attribution", ax=axis)
        figure.draw_without_rendering()
        frame = axis.get_window_extent()
        values = [text for text in axis.findobj(Text) if text.get_text().endswith(" ms")]
        assert any("14.0 ms" in text.get_text() for text in values)
        for text in values:
            box = text.get_window_extent()
            assert box.x1 <= frame.x0 or frame.x0 <= box.x0 <= box.x1 <= frame.x1
        plt.close("all")


def test_wrong_plots_are_told_what_there_is(comparison: tinytail.Comparison) -> None:
    wrong: Any = "pie"
    with pytest.raises(tinytail.UsageError, match="allowed: tail, write_tail, attribution, series"):
        comparison.plot(wrong)
    with pytest.raises(tinytail.UsageError, match="allowed: reads, writes"):
        comparison.plot("series", column="latency")


@pytest.mark.parametrize("missing", ["pyarrow", "polars", "pandas", "matplotlib"])
def test_a_missing_library_is_named_with_what_installs_it(
    comparison: tinytail.Comparison, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    calls: dict[str, Callable[[], object]] = {
        "pyarrow": comparison.to_arrow,
        "polars": comparison.to_polars,
        "pandas": comparison.to_pandas,
        "matplotlib": comparison.plot,
    }
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(
        tinytail.UsageError, match=f"to install: {re.escape(installation(missing))}$"
    ):
        calls[missing]()


def test_what_is_printed_is_short(comparison: tinytail.Comparison) -> None:
    printed = repr(comparison)
    assert "base: 113,071 reads, p99 1.40 ms, max 56.0 ms" in printed
    assert len(printed) < 400
    for part in (comparison.results[0], comparison.results[0].series):
        assert len(repr(part)) < 300


@pytest.mark.usefixtures("native")
def test_a_comparison_of_many_designs_is_printed_short() -> None:
    designs = [f"design-{letter}" for letter in "abcdefgh"]
    assert len(repr(tinytail.compare(designs, **DRIVE))) < 1500


def test_the_package_shows_its_public_names_alone() -> None:
    code = "import tinytail; tinytail.compare; print(*dir(tinytail), sep='\\n')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == sorted(tinytail.__all__)
