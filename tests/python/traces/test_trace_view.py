"""The screen that says what a trace is."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from fake_native import trace_info
from tinytail.traces.view import trace_view

DRIVES = [
    {"name": f"drive-{size}g", "logical_bytes": size << 30, "holds": size >= 154}
    for size in (1, 200, 48, 800)
]


def shown(width: int = 80, encoding: str = "utf-8", **changes: Any) -> list[str]:
    """The lines on a console of so many columns."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    info = trace_info(drives=DRIVES) | changes
    text = trace_view(info, Console(file=file, width=width)).plain
    text.encode(encoding)
    return text.splitlines()


@pytest.mark.parametrize("width", [0, 40, 60, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_fits_the_console(width: int, encoding: str) -> None:
    lines = shown(width, encoding)
    assert max(map(len, lines)) <= (width if 40 <= width <= 80 else 80)
    assert len(lines) <= (30 if width not in (40, 60) else 60)
    assert ("#" in "".join(lines)) == (encoding == "ascii")


def test_it_says_what_the_trace_is_and_where_it_fits() -> None:
    text = " ".join(" ".join(shown()).split())
    for part in (
        "a.trace: 127,043 requests in 300 s, 89 % reads of 55.6 KiB on average and 11 % writes",
        "They read 5.99546 GiB and write 758.69 MiB, span 153 GiB and touch 4.88 GiB of it.",
        "Load: 423 requests/s and 24 MB/s on average, in the busiest second 2.39 times that",
        "Read as ascii: times in us, addresses in sectors. Skipped: 1 header line.",
        "2,038 devices, side by side",
        "It needs 154 GiB: 2 of 4 stock drives hold it, drive-200g, drive-800g. For smaller ones,",
        "--fit fold folds its addresses into a drive, and --trace-device NAME keeps one device.",
    ):
        assert part in text
    assert "trim" not in text


def test_shares_of_a_histogram_are_those_of_all_requests() -> None:
    lines = shown()
    start = next(number for number, line in enumerate(lines) if line.startswith("size"))
    rows = lines[start + 1 : start + 9]
    assert all(row.startswith("≤ ") for row in rows)
    # The ends have gone into their neighbours.
    assert [row.split()[1:3] for row in (rows[0], rows[-1])] == [["2", "KiB"], ["1", "MiB"]]
    assert sum(row.count("%") for row in rows) == 3 * 8


def test_traces_without_times_and_without_drives() -> None:
    lines = shown(
        iops_mean=0.0,
        duration_s=0.0,
        interarrival=[],
        time_unit=None,
        end_bytes=900 << 30,
        drives=[drive | {"holds": False} for drive in DRIVES],
        devices=[],
    )
    text = " ".join(" ".join(lines).split())
    assert "Load: no rate, in closed loop, at one instant" in text
    assert "more than any stock drive has (drive-800g: 800 GiB): --fit fold" in text
    assert "devices" not in text
    assert "every stock drive holds it" in " ".join(
        shown(drives=[drive | {"holds": True} for drive in DRIVES])
    )


def test_every_doubt_is_shown_whatever_its_words_are() -> None:
    doubts = ["something looks odd", "a comma may group thousands"]
    text = " ".join(" ".join(shown(notes=["format ascii", *doubts], doubts=doubts)).split())
    assert "Doubtful: something looks odd. Doubtful: a comma may group thousands." in text
    assert "Doubtful" not in " ".join(shown(notes=["as if they were "]))
