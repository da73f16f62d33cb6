"""What a notebook shows of a comparison."""

from __future__ import annotations

import json
import os
import re
import warnings
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tinytail
from fake_native import FakeNative, result
from tinytail.errors import installation
from tinytail.verdict.sentences import sentences

DRIVE: dict[str, Any] = {"device": "ttflash-256g", "workload": "dtrs"}
SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).resolve().parents[3]
NOTEBOOK = ROOT / "examples" / "first-hour.ipynb"


@pytest.fixture
def comparison(native: FakeNative) -> tinytail.Comparison:
    native.runs = {"ttflash": lambda spec, _: result(spec["design"], 70.0)}
    return tinytail.compare(["base", "ttflash"], **DRIVE)


class Reader(HTMLParser):
    """Holds what an element of a page says, and that every element ends."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(shown: tinytail.Comparison | tinytail.DesignResult) -> tuple[str, Reader]:
    page: str = shown._repr_html_()
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return page, reader


def pictures(page: str) -> list[ET.Element]:
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def said(picture: ET.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def test_it_has_sentences_a_table_bars_and_a_curve(comparison: tinytail.Comparison) -> None:
    page, reader = read(comparison)
    for sentence in sentences(comparison):
        assert sentence.text in reader.text
    assert "1.40 ms" in reader.text
    assert "±20 %" in reader.text
    assert ("title", "1.26 ms – 1.68 ms: 90 % interval from 30 blocks") in reader.attributes
    bars, curve = pictures(page)
    assert any(text.startswith("slowest 0.1 % of reads") for text in said(bars))
    assert {"base", "ttflash"} <= set(said(curve))


def test_it_says_what_pictures_need(
    comparison: tinytail.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinytail.inputs.libraries.find_spec", lambda _: None)
    page, reader = read(comparison)
    assert f"to install: {installation('matplotlib')}" in reader.text
    assert not pictures(page)


def test_nothing_is_fetched_and_nothing_runs(comparison: tinytail.Comparison) -> None:
    page, reader = read(comparison)
    assert "<script" not in page
    names = {name for name, _ in reader.attributes}
    assert not names & {"src", "href", "onload", "onclick"}
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    named = set(re.findall(r"https?://[^\"]+", page))
    assert named == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_a_result_alone_shows_itself(comparison: tinytail.Comparison) -> None:
    _, reader = read(comparison.result("ttflash"))
    assert "ttflash" in reader.text
    assert "base" not in reader.text


def test_names_are_text_and_not_markup(native: FakeNative) -> None:
    name = "<b>&'\"$x$"
    native.known_designs.append(name)
    comparison = tinytail.compare([name], **DRIVE)
    page, reader = read(comparison)
    assert name in reader.text
    assert "<b>&'" not in page


@pytest.mark.usefixtures("native")
def test_many_designs_are_shown_in_part(native: FakeNative) -> None:
    native.known_designs += [f"design-{number}" for number in range(60)]
    comparison = tinytail.compare([f"design-{number}" for number in range(60)], **DRIVE)
    page, reader = read(comparison)
    assert "and 48 more designs" in reader.text
    assert len(page) < 150_000


def test_a_comparison_without_results_says_why(native: FakeNative) -> None:
    def run(spec: dict[str, Any], _control: object) -> dict[str, Any]:
        if spec["design"] == "base":
            raise tinytail.RunError("it <broke>")
        return result(spec["design"])

    native.runs = {"base": run}
    comparison = tinytail.compare(["base", "ttflash"], **DRIVE)
    assert "it <broke>" in read(comparison)[1].text


def test_a_run_without_requests_is_shown(native: FakeNative) -> None:
    nothing = dict.fromkeys(result()["read"]) | {"count": 0}
    empty: dict[str, Any] = {"count": 0, "queue_blocked": 0, "host_queue_ns": 0, "ns": {}}
    tails = [empty | {"share_percent": 0.1, "latency_us_from": None}]
    attribution = {"all_reads": empty, "slowest_reads": tails[0], "all_writes": empty}
    native.runs = {
        "base": lambda *_: result(
            read=nothing,
            write=nothing,
            attribution=attribution | {"tails": tails, "write_tails": tails},
            intervals={},
        )
    }
    page, _ = read(tinytail.compare(["base"], **DRIVE))
    assert not pictures(page)


def cells(kind: str) -> list[dict[str, Any]]:
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    assert document["nbformat"] == 4
    return [cell for cell in document["cells"] if cell["cell_type"] == kind]


def test_the_example_has_no_outputs() -> None:
    for cell in cells("code"):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


def test_the_example_runs_and_shows_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its shell, without its history's database and its home.
    monkeypatch.setenv("IPYTHONDIR", os.devnull)
    monkeypatch.setenv("MPLBACKEND", "agg")
    with warnings.catch_warnings():
        # What IPython does with its own libraries is its business.
        warnings.simplefilter("ignore")
        from IPython.core.interactiveshell import InteractiveShell as Untyped
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        interactive: Any = Untyped
        shell = interactive(config=config)
        shown = []
        for cell in cells("code"):
            done = shell.run_cell("".join(cell["source"]), store_history=False)
            done.raise_error()
            shown.append(shell.display_formatter.format(done.result)[0])
    compared, table, attribution, picture, seeded, by_chance, why = shown
    for page in (compared["text/html"], seeded["text/html"]):
        assert len(pictures(page)) == 2
        assert len(page) < 60_000
    assert len(compared["text/plain"]) < 500
    assert "shape: (3, 6)" in table["text/plain"]
    assert "base+no-gc" in attribution["text/plain"]
    assert "Figure" in picture["text/plain"]
    assert "channel_locked_gc_program" in why["text/plain"]
    assert "from 5 seeds" in seeded["text/html"]
    assert by_chance["text/plain"] == "'p99 of reads differs by more than chance'"
