"""What was measured in a trace, beside what designs make of the same requests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand, read_json
from tinytail import units
from tinytail.comparison.curve import curve
from tinytail.files.text import json_text
from tinytail.pictures import data
from tinytail.verdict import measurements
from tinytail.verdict.percentiles import Kind

DRIVE = ("--device", "ttflash-small")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace of 400 reads of 200 µs and 100 writes of 50 µs, one a millisecond."""
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{number * 10_000},h,0,{'Write' if number % 5 == 0 else 'Read'},{number * 4096},4096,"
        f"{500 if number % 5 == 0 else 2000}\n"
        for number in range(500)
    ]
    Path("t.csv").write_text("".join(lines))


def test_the_table_has_what_was_measured_and_the_ratio_of_each_design(command: RunCommand) -> None:
    outcome = command(
        *("compare", "base", "base+no-gc", *DRIVE, "--workload", "t.csv"),
        *("--json", "out.json", "--report", "out.html"),
    )
    assert outcome.code == 0, outcome.err
    out = " ".join(outcome.out.split())
    # Fewer than ten requests are beyond p99.
    assert "p50 p90 reads measured in the trace 200 µs 200 µs base" in out
    assert "writes measured in the trace 50.0 µs 50.0 µs base" in out
    assert "another one, so that a ratio is no error of the model; --same-drive" in out
    result = read_json(Path("out.json"))["results"][0]
    ratio = result["read"]["p50_us"] / result["measured"]["read"]["p50_us"]
    assert result["measured"]["ratio"]["read"]["p50"] == pytest.approx(ratio)
    comparison = tinytail.read_results("out.json")
    assert isinstance(comparison, tinytail.Comparison)
    (reads, _) = measurements.tables(comparison)
    assert reads.rows[0] == ("reads measured in the trace", ("200 µs", "200 µs"))
    assert [name for name, _ in reads.rows[1:]] == ["base", "base+no-gc"]
    # Each design has its own latency and the ratio.
    own = units.latency(comparison.result("base").read.p50_us)
    assert reads.rows[1][1][0] == f"{own} ({units.ratio(ratio, 1.0)})"
    for page in (Path("out.html").read_text("utf-8"), comparison._repr_html_()):
        assert re.search(r"reads measured in the trace</th><td[^>]*>200 µs</td>", page)


def test_pictures_and_the_screen_have_the_curve_that_was_measured(command: RunCommand) -> None:
    outcome = command("compare", "base", *DRIVE, "--workload", "t.csv", "--json", "out.json")
    assert outcome.code == 0, outcome.err
    comparison = tinytail.read_results("out.json")
    assert isinstance(comparison, tinytail.Comparison)
    expected: tuple[tuple[Kind, float], ...] = (("read", 200e-6), ("write", 50e-6))
    for kind, seconds in expected:
        own, measured = data.tails(comparison, kind)
        assert (own.design, measured.design) == ("base", "measured in the trace")
        # All of one kind took equally long, within the width of a class.
        assert measured.seconds == pytest.approx([seconds] * len(measured.seconds), rel=1e-3)
        assert measured.max_seconds == pytest.approx(seconds)
        assert measured.style != own.style
    shown = [line.plain for line in curve(comparison, 80)]
    assert shown[-1].startswith("1 base  m measured in the trace")
    assert sum(line.count("m") for line in shown[1:-2]) > 10


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--scale-time", "2"), "scale_time"),
        (("--scale-size", "2"), "scale_size"),
        (("--queue-depth", "4"), "in closed loop they come at other times"),
    ],
)
def test_latencies_of_another_load_are_left_out_with_a_sentence(
    command: RunCommand, options: tuple[str, ...], why: str
) -> None:
    outcome = command(
        *("compare", "base", *DRIVE, "--workload", "t.csv", *options, "--report", "out.html")
    )
    assert outcome.code == 0, outcome.err
    out = " ".join(outcome.out.split())
    sentence = "The latencies that were measured of these requests are left out: "
    assert sentence in out
    assert why in out
    assert "reads measured in the trace" not in out
    assert sentence in Path("out.html").read_text("utf-8")


def test_a_trace_of_the_drive_itself_has_no_caveat_and_the_command_says_so() -> None:
    comparison = tinytail.compare(
        ["base"], device="ttflash-small", workload="t.csv", same_drive=True
    )
    assert "--same-drive" in comparison.command
    assert measurements.meaning(comparison).endswith("(ResponseTime).")
    without = tinytail.compare(["base"], device="ttflash-small", workload="t.csv", same_drive=False)
    assert "same-drive" not in without.command
    assert "--same-drive" in measurements.meaning(without)


def test_with_several_seeds_a_ratio_is_the_mean() -> None:
    comparison = tinytail.compare(["base"], device="ttflash-small", workload="t.csv", seeds=2)
    (result,) = comparison.results
    assert result.measured is not None
    assert result.measured.ratio.read.p50 == pytest.approx(
        (result.read.p50_us or 0) / 200, rel=2e-3
    )
    assert result.measured.read.count == 400


def test_a_workload_that_holds_none_has_no_such_table() -> None:
    comparison = tinytail.compare(
        ["base"], device="ttflash-small", workload="randread-qd1", requests=100
    )
    assert measurements.tables(comparison) == []
    assert not measurements.meaning(comparison)
    assert "measured" not in json.loads(json_text(comparison.to_dict()))["results"][0]
