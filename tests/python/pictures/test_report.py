"""The report and the figures: they show the results, hold nothing foreign, and fail cleanly."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand
from fake_native import FakeNative, result, series
from tinytail.comparison.result import Comparison
from tinytail.engine.results import ComparedWorkload
from tinytail.errors import installation
from tinytail.files.whole import FileOutput
from tinytail.pictures import data as drawn, page

COMPARE = ("compare", "base", "ttflash", "--device", "ttflash-256g", "--workload", "dtrs")
NOTHING = {name: None for name in result()["read"] if name != "count"} | {"count": 0}
NAMES = ("latency-read", "latency-write", "attribution", "over-time", "wear")


def comparison(native: FakeNative, **changes: Any) -> Comparison:
    """Two designs, the first with changes in its result."""
    native.runs = {"base": lambda spec, _: result(spec["design"], **changes)}
    return tinytail.compare(["base", "ttflash"], device="ttflash-256g", workload="dtrs")


def altered(native: FakeNative, **changes: Any) -> Comparison:
    """Two designs, the first one's result replaced in parts that no engine would give."""
    document = comparison(native).to_dict()
    document["results"][0] |= changes
    return Comparison.from_dict(document)


class Page(HTMLParser):
    """The elements of a page, its text without scripts, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        elif self.cdata_elem is None:
            self.text += data


def plotted(page: Page, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The traces and the layout of one of the page's figures."""
    script = next(text for text in page.scripts if f'"figure-{name}",' in text)
    decoder = json.JSONDecoder()
    start = script.index("[", script.index(f'"figure-{name}",'))
    traces, end = decoder.raw_decode(script, start)
    layout, _ = decoder.raw_decode(script, script.index("{", end))
    return traces, layout


def test_the_page_needs_nothing_from_elsewhere(native: FakeNative) -> None:
    found = Page(page.html(comparison(native)))
    for tag, attributes in found.elements:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base", "form"), tag
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)
    policy = [a["content"] for t, a in found.elements if a.get("http-equiv")]
    assert policy
    assert "default-src 'none'" in (policy[0] or "")
    assert "http" not in (policy[0] or "")
    # Plotly's own button for uploads is off.
    script = next(text for text in found.scripts if '"figure-wear",' in text)
    assert '"showSendToCloud":false' in script.replace(" ", "")


def test_the_page_shows_the_latencies_of_each_design(native: FakeNative) -> None:
    compared = comparison(native, read=result(scale=100.0)["read"])
    traces, layout = plotted(Page(page.html(compared)), "latency-read")
    assert [(trace["name"], trace["mode"]) for trace in traces] == [
        ("base", "lines"),
        ("base", "markers"),
        ("ttflash", "lines"),
        ("ttflash", "markers"),
    ]
    for position, each in enumerate(compared.results):
        line, slowest = traces[2 * position : 2 * position + 2]
        columns = each.distribution
        expected = [us for us in columns.read_us[:-1] if us is not None]
        assert line["y"] == pytest.approx([us / 1e6 for us in expected])
        assert line["x"] == pytest.approx([0.30103, 2.0], abs=1e-5)
        assert slowest["y"] == pytest.approx([(each.read.max_us or 0) / 1e6])
    ticks = dict(zip(layout["xaxis"]["ticktext"], layout["xaxis"]["tickvals"], strict=True))
    assert list(ticks) == ["p50", "p90", "p99", "max"]
    assert ticks["p90"] == pytest.approx(1.0)


def test_percentiles_that_no_request_has_are_not_drawn(native: FakeNative) -> None:
    percents = [50.0, 99.0, 99.9, 99.99, 100.0]
    columns = {"percent": percents, "read_us": [1.0, 2.0, 3.0, 4.0, 4.0], "write_us": [None] * 5}
    read = result()["read"] | {"count": 1000, "max_us": 4.0}
    compared = comparison(native, read=read, write=NOTHING, distribution=columns)
    first = drawn.tails(compared, "read")[0]
    # The thousandth of a thousand reads is the slowest one.
    assert (first.percent, first.max_seconds) == ([50.0, 99.0, 99.9], 4e-6)
    assert [tail.design for tail in drawn.tails(compared, "write")] == ["ttflash"]


def test_the_bars_add_up_to_the_mean_of_each_tail(native: FakeNative) -> None:
    compared = comparison(native)
    traces, layout = plotted(Page(page.html(compared)), "attribution")
    bars = [trace for trace in traces if trace["type"] == "bar"]
    assert {bar["name"] for bar in bars} == {
        "waiting for die: GC program",
        "waiting for channel: host read",
        "own array time",
        "smaller causes",
    }
    titles = [each["text"] for each in layout["annotations"]]
    names = [f"<b>slowest {share} % of reads" for share in ("1", "0.1", "0.01")]
    many = ("1,131", "113", "11")
    assert titles == [f"{name} ({count})</b>" for name, count in zip(names, many, strict=True)]
    for row, axis in enumerate(("x", "x2", "x3")):
        for position, each in enumerate(compared.results):
            tail = each.attribution.tails[row]
            total = sum(
                x
                for bar in bars
                if bar["xaxis"] == axis
                for x, y in zip(bar["x"], bar["y"], strict=True)
                if y == position
            )
            mean = sum(tail.ns.values()) / tail.count / 1e9
            unit = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[
                layout["xaxis3"]["title"]["text"].rpartition("(")[2].rstrip(")")
            ]
            assert total * unit == pytest.approx(mean)


def test_what_makes_figures_mean_less_stands_before_them(native: FakeNative) -> None:
    found = {"code": "saturated", "message": "saturated: <9> arrive", "figures": {}}
    adjusted = [
        {"code": "gc_thresholds", "section": "gc_trigger", "key": "soft_free_percent"}
        | {"wanted": 30.0, "used": 4.1, "message": "4.1 % are used"}
    ]
    text = page.html(comparison(native, findings=[found], adjusted=adjusted))
    marked = [
        "saturated: &lt;9&gt; arrive",
        "soft_free_percent 30.0 → 4.1",
        "p99.99 of reads",
        'id="latency"',
    ]
    places = [text.index(each) for each in marked]
    assert places == sorted(places)


def test_the_page_shows_the_series_and_the_wear(native: FakeNative) -> None:
    found = Page(page.html(comparison(native, series=series() | {"read_p50_us": [5.0, None]})))
    traces, _ = plotted(found, "over-time")
    rows = {trace["yaxis"]: trace["y"] for trace in traces if trace["name"] == "base"}
    # The p50; p99 and p99.9 are the slowest read of each window, which is drawn once.
    assert (rows["y"], rows["y2"]) == ([pytest.approx(5e-6), None], [pytest.approx(7.5e-6), None])
    # 7 GCs in a tenth of a millisecond, none in the rest of the run.
    assert (rows["y3"], rows["y5"]) == ([pytest.approx(70_000), 0], [7.5, None])
    free = [trace["y"] for trace in traces if trace["name"] == "base" and trace["yaxis"] == "y4"]
    assert free == [[3, None], [7.5, None]]
    bars, _ = plotted(found, "wear")
    assert [(bar["name"], bar["x"], bar["y"]) for bar in bars] == [
        (design, [0, 1, 3], [80, 40, 8]) for design in ("base", "ttflash")
    ]


def test_more_windows_than_a_picture_is_wide_are_merged(native: FakeNative) -> None:
    count = 10_000
    columns: dict[str, list[Any]] = {
        name: [0] * count if isinstance(values[0], int) else [None] * count
        for name, values in series().items()
        if isinstance(values, list)
    }
    columns["gcs"] = [1] * count
    columns["read_max_us"] = [float(window) for window in range(count)]
    columns["free_blocks_min"] = list(range(count, 0, -1))
    long = comparison(
        native, series=columns | {"window_seconds": 0.5}, simulated_seconds=0.5 * count
    )
    rows = {row.title: row.lines[0] for row in drawn.over_time(long)}
    assert all(len(line.x) <= drawn.WINDOWS_DRAWN_MAX for line in rows.values())
    gcs = rows["GCs completed per second"]
    assert gcs.x[1] == 0.5 * count / len(gcs.x)
    assert gcs.y == [pytest.approx(2.0)] * len(gcs.y)
    slowest = [y for y in rows["slowest read"].y if y is not None]
    assert max(slowest) == pytest.approx((count - 1) / 1e6)
    assert min(y for y in rows["erased blocks of a plane"].y if y is not None) == 1
    assert "base: 10.0 s" in Page(page.html(long)).text


def test_table_notes_configuration_and_command_are_in_the_page(native: FakeNative) -> None:
    compared = comparison(native)
    text = Page(page.html(compared)).text
    for shown in (
        compared.command,
        "real: a recorded trace",
        "times are read as microseconds",
        "113,071",
        "GC-blocked reads",
        "timing.read_us",
        "paper, table 1",
        "device ttflash-256g",
        "design base",
        "design ttflash",
        "workload dtrs",
        "event hash 0123456789abcdef",
        "victim_valid_percent",
    ):
        assert shown in text, shown


EVIL = "<script>alert('x')</script>&\"<a href='https://example.org'>"


def test_names_are_text_whatever_they_are(native: FakeNative) -> None:
    workload = {"name": EVIL, "input": "real", "detail": EVIL, "pacing": "open"}
    attribution = result()["attribution"]
    for tail in attribution["tails"]:
        tail["ns"] = {EVIL: 1000}
    changes: dict[str, Any] = {"design": EVIL, "workload": workload, "notes": [EVIL]}
    compared = altered(native, **changes, attribution=attribution, techniques={EVIL: 3})
    compared = replace(
        compared, workload=ComparedWorkload(EVIL, "real", EVIL, "open"), command=EVIL
    )
    plain = Page(page.html(comparison(native)))
    found = Page(page.html(compared))
    assert len(found.scripts) == len(plain.scripts)
    assert all(attributes.get("href", "#") != EVIL for _, attributes in found.elements)
    assert not any(tag == "a" and "https" in str(a) for tag, a in found.elements)
    assert EVIL in found.text
    assert "<script>alert" not in "".join(found.scripts)
    for name in NAMES:
        traces, layout = plotted(found, name)
        assert not any("<" in trace.get("name", "") for trace in traces)
        for axis in (value for key, value in layout.items() if "axis" in key):
            assert not any("<" in text for text in axis.get("ticktext", []))


def test_figures_of_names_with_signs_of_their_own(native: FakeNative, tmp_path: Path) -> None:
    altered(native, design="a$b$^{<c>}&_x.toml").figures(tmp_path)
    svg = (tmp_path / "latency-read.svg").read_text("utf-8")
    assert "a$b$^{&lt;c&gt;}&amp;_x.toml" in svg


@pytest.mark.parametrize(
    "changes",
    [
        {"read": NOTHING},
        {"read": NOTHING, "write": NOTHING},
        {
            "partial": True,
            "stuck": "die 3 waits",
            "simulated_seconds": 0.0,
            "write_amplification": None,
            "wear": result()["wear"] | {"blocks": {"erases": [], "blocks": []}},
            "series": {k: [] if isinstance(v, list) else v for k, v in series().items()},
        },
        {"wear": result()["wear"] | {"blocks": {"erases": list(range(99)), "blocks": [1] * 99}}},
    ],
)
def test_what_is_missing_is_left_out(
    native: FakeNative, tmp_path: Path, changes: dict[str, Any]
) -> None:
    if "read" in changes:
        attribution = result()["attribution"]
        empty = {"count": 0, "ns": {}}
        attribution["tails"] = [tail | empty for tail in attribution["tails"]]
        blank = {"percent": [50.0, 100.0], "read_us": [None, None], "write_us": [None, None]}
        changes = changes | {"attribution": attribution, "distribution": blank}
    whole = comparison(native).to_dict()
    partial = bool(changes.get("partial"))
    only = [result("base", **changes)]
    compared = Comparison.from_dict(whole | {"partial": partial, "results": only})
    text = Page(page.html(compared)).text
    assert ("Partial." in text) == compared.partial
    if "read" in changes:
        assert "No design served reads." in text
    compared.figures(tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert ("attribution.svg" in drawn) == ("read" not in changes)


def test_a_comparison_without_any_result_says_why(native: FakeNative) -> None:
    whole = comparison(native).to_dict()
    errors = [{"design": "base", "kind": "run", "message": "it <broke>"}]
    text = Page(page.html(Comparison.from_dict(whole | {"results": [], "errors": errors}))).text
    assert "No design ran" in text
    assert "it <broke>" in text


@pytest.mark.parametrize(
    ("option", "place", "why"),
    [
        ("--report", "nowhere/out.html", "no directory"),
        ("--report", "", "its name is empty"),
        ("--report", ".", "it is a directory"),
        ("--figures", "nowhere/figures", "no directory"),
        ("--figures", "file", "it is not a directory"),
        ("--figures", "", "its name is empty"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(
    native: FakeNative, command: RunCommand, tmp_path: Path, option: str, place: str, why: str
) -> None:
    (tmp_path / "file").touch()
    outcome = command(*COMPARE, option, str(tmp_path / place) if place else "")
    assert outcome.code == 2
    assert why in outcome.err
    assert not native.specs


def test_a_report_that_cannot_be_written_in_the_end_leaves_table_and_file(
    native: FakeNative,
    command: RunCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = tmp_path / "out.html"
    report.write_text("earlier", "utf-8")

    def full(_self: FileOutput, _content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileOutput, "_replace", full)
    outcome = command(*COMPARE, "--report", str(report), "--figures", str(tmp_path / "figures"))
    assert outcome.code == 1
    assert "p99.99 of reads" in outcome.out
    assert outcome.err.count("No space left on device") == 2
    assert report.read_text("utf-8") == "earlier"
    assert native.specs


@pytest.mark.parametrize(
    ("option", "library"), [("--report", "plotly"), ("--figures", "matplotlib")]
)
def test_a_missing_library_is_named_with_what_installs_it(
    native: FakeNative,
    command: RunCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    library: str,
) -> None:
    monkeypatch.setattr(
        "tinytail.inputs.libraries.find_spec", lambda name: None if name == library else object()
    )
    outcome = command(*COMPARE, option, str(tmp_path / "out"))
    assert outcome.code == 2
    assert library in outcome.err
    assert f"to install: {installation(library)}" in outcome.err
    assert not native.specs


def test_a_results_file_becomes_the_same_report_and_figures(
    native: FakeNative, command: RunCommand, tmp_path: Path
) -> None:
    """The same results give the same bytes, whether they were just measured or kept."""
    file, one, two = (tmp_path / name for name in ("out.json", "one.html", "two.html"))
    drawn, again = tmp_path / "drawn", tmp_path / "again"
    pictures = ("--report", str(one), "--figures", str(drawn))
    outcome = command(*COMPARE, "--json", str(file), *pictures)
    assert outcome.code == 0, outcome.err
    assert "p99.99 of reads" in outcome.out
    runs = len(native.specs)
    assert runs > 0
    outcome = command("report", str(file), "--report", str(two), "--figures", str(again))
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert len(native.specs) == runs
    assert one.read_bytes() == two.read_bytes()
    assert one.stat().st_size < 10_000_000
    names = sorted(path.name for path in drawn.iterdir())
    assert names == sorted(f"{name}.{kind}" for name in NAMES for kind in ("pdf", "svg"))
    for name in names:
        assert (drawn / name).read_bytes() == (again / name).read_bytes()
    assert tinytail.read_results(file).to_dict() == json.loads(file.read_text("utf-8"))


def test_a_report_of_nothing_is_refused(command: RunCommand, tmp_path: Path) -> None:
    outcome = command("report", str(tmp_path / "out.json"))
    assert outcome.code == 2
    assert "--report FILE, --figures DIR" in outcome.err


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text[: len(text) // 2], "not the JSON of a comparison"),
        (lambda _: "[" * 100_000, "not the JSON of a comparison"),
        (lambda _: "\udcff", "not the JSON of a comparison"),
        (lambda _: "[]", "the document: [] is not of type 'object'"),
        (
            lambda text: text.replace('"schema_version": 3', '"schema_version": 2'),
            "is 2, and only 3",
        ),
        (lambda text: text.replace('"erases": 1234', '"erases": -1'), ".erases: -1 is less than"),
        (
            lambda text: text.replace('"erases": 1234', '"erases": NaN'),
            "results[1].erases: nan is no figure",
        ),
        (
            lambda text: text.replace('"p50_us": 140.0', '"p50_us": 1e999'),
            "p50_us: inf is no figure",
        ),
        (lambda text: text.replace('"erases": 1234', f'"erases": {2**64}'), "larger than any"),
        (
            lambda text: text.replace('"erases": 1234', f'"erases": {"9" * 5000}'),
            "inf is no figure",
        ),
        (lambda text: text.replace('"erases": 1234', '"erases": 1e18'), "erases: 1e+18 is not of"),
        (lambda text: text.replace('"design": "ttflash"', '"design": "base"'), "an earlier result"),
        (
            lambda text: text.replace("times are", r"\ud800"),
            "notes[0]: half of a surrogate pair is no text",
        ),
        (lambda text: text.replace('"gcs"', '"gcz"'), "'gcz' was unexpected"),
        (
            lambda text: re.sub(r'("gcs": \[\s*7),\s*0', r"\1", text),
            "results[0].series: its columns are not of one length",
        ),
    ],
)
def test_a_damaged_results_file_is_a_clear_error(
    native: FakeNative, command: RunCommand, tmp_path: Path, change: Any, why: str
) -> None:
    good = comparison(native).to_json()
    bad = change(good)
    assert bad != good
    file, report = tmp_path / "out.json", tmp_path / "out.html"
    file.write_bytes(bad.encode("utf-8", "surrogateescape"))
    outcome = command("report", str(file), "--report", str(report))
    assert outcome.code == 2
    assert why in " ".join(outcome.err.split())
    assert len(outcome.err) < 600
    assert not report.exists()


def test_a_results_file_that_is_not_there_is_named(command: RunCommand, tmp_path: Path) -> None:
    outcome = command("report", str(tmp_path / "none.json"), "--report", str(tmp_path / "a.html"))
    assert outcome.code == 2
    assert "none.json: No such file" in outcome.err


@pytest.mark.parametrize("workload", ["randrw70-qd16", "randwrite-qd32"])
def test_a_run_of_one_request_is_drawn(tmp_path: Path, workload: str) -> None:
    compared = tinytail.compare(
        ["base", "base+no-gc"], device="ttflash-small", workload=workload, requests=1
    )
    compared.report(tmp_path / "out.html")
    compared.figures(tmp_path / "figures")
    found = Page((tmp_path / "out.html").read_text("utf-8"))
    assert "workload " + workload in found.text
    assert plotted(found, "wear")


def test_a_state_that_was_told_is_in_the_configuration(tmp_path: Path) -> None:
    compared = tinytail.compare(
        ["base"],
        device="ttflash-small",
        workload="randrw70-qd16",
        requests=1,
        state={"live_percent": 33},
    )
    device = next(item for item in compared.configuration if item.kind == "device")
    described = [s for s in device.settings if (s.section, s.key) == ("state", "live_percent")]
    assert [(setting.value, setting.source) for setting in described] == [("33", "--state")]
    compared.report(tmp_path / "out.html")
    assert "state.live_percent" in Page((tmp_path / "out.html").read_text("utf-8")).text
