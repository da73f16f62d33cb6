"""Kept results: what is in them, what is told from them, and what is refused."""

from __future__ import annotations

import fcntl
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

import tinytail
from commands import RunCommand, read_json, start
from tinytail import explanation as explaining
from tinytail.comparison import write_folder as kept_folder
from tinytail.comparison.plan import Plan
from tinytail.comparison.read_folder import Geometry
from tinytail.comparison.run import execute
from tinytail.engine import catalog, native
from tinytail.engine.options import RequestTimelinesSpec, TraceOptions, Transform
from tinytail.errors import installation
from tinytail.explanation import ranks, words as in_words
from tinytail.explanation.ranks import count_beyond, rank
from tinytail.explanation.timelines import RequestTimeline, TimelineSegment
from tinytail.verdict.causes import family
from tinytail.verdict.sentences import main_cause

RUN = ("--device", "ttflash-small", "--workload", "randrw70-qd16")
DESIGNS = ("base", "ttflash")
# More than one row group of the log has.
REQUESTS = 40_000
REQUEST_TIMELINES = 30


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that no test alters."""
    folder = tmp_path_factory.mktemp("kept") / "out"
    comparison = tinytail.compare(
        DESIGNS,
        device="ttflash-small",
        workload="randrw70-qd16",
        requests=REQUESTS,
        out=folder,
        request_timelines=REQUEST_TIMELINES,
    )
    assert comparison.out == tinytail.ResultsFolder(str(folder), None)
    return folder


@pytest.fixture
def kept(made: Path, tmp_path: Path) -> Path:
    """A copy to be altered."""
    return Path(shutil.copytree(made, tmp_path / "kept"))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def forge(folder: Path, **changes: Any) -> None:
    """Alters a manifest and makes it look as if it had been written so."""
    manifest = read_json(folder / "manifest.json") | changes
    manifest["crc32"] = kept_folder.manifest_checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_the_folder_holds_what_its_manifest_says(made: Path) -> None:
    manifest = read_json(made / "manifest.json")
    found = contents(made)
    assert set(found) - {"manifest.json"} == set(manifest["files"])
    assert all(
        kept_folder.fingerprint(made / name) == written
        for name, written in manifest["files"].items()
    )
    comparison = tinytail.read_results(made / "results.json")
    assert comparison.command == manifest["command"]
    assert [each["event_hash"] for each in manifest["designs"]] == [
        result.event_hash for result in comparison.results
    ]
    for result in comparison.results:
        assert result.log is not None
        assert result.request_timelines is not None
        assert result.log.path == str(made / result.design / "requests.parquet")
        assert result.request_timelines.path == str(made / result.design)
        assert result.request_timelines.gcs == result.gc_count
    assert not [path for path in made.parent.iterdir() if path.name.startswith(".")]


def test_every_timeline_adds_up_to_its_latency_and_to_the_log(made: Path) -> None:
    explanation = tinytail.explain(made, slowest=REQUEST_TIMELINES)
    assert len(explanation.request_timelines) == REQUEST_TIMELINES
    assert all(timeline.design == "base" for timeline in explanation.request_timelines)
    rows = parquet.read_table(made / "base" / "requests.parquet").to_pylist()
    log = {row["id"]: row for row in rows}
    reads = sorted((row["latency_ns"] for row in rows if row["kind"] == "read"), reverse=True)
    assert [timeline.latency_ns for timeline in explanation.request_timelines] == reads[
        :REQUEST_TIMELINES
    ]
    for timeline in explanation.request_timelines:
        row = log[timeline.id]
        assert timeline.segments is not None
        at = timeline.arrived_ns
        for segment in timeline.segments:
            assert segment.from_ns == at
            at = segment.to_ns
        assert at == timeline.completed_ns == row["completed_ns"]
        assert sum(timeline.parts.values()) == timeline.latency_ns == row["latency_ns"]
        assert dict(timeline.parts) == explaining.timelines.log_parts(row)
        lines = in_words.lines(timeline, explanation.geometry)
        assert sum(line.duration_ns for line in lines) == timeline.latency_ns
        described = tuple(segment for line in lines for segment in line.segments)
        assert described == timeline.segments
        assert len(lines) < 40


def test_the_ranking_is_that_of_all_requests_of_the_log(made: Path) -> None:
    for design in DESIGNS:
        rows = parquet.read_table(made / design / "requests.parquet").to_pylist()
        for kind, percentile in (("read", 99.9), ("write", 95.0), ("read", 0.0), ("read", 50.0)):
            found = rank(made / design, design, kind, percentile)  # type: ignore[arg-type]
            of_kind = [row for row in rows if row["kind"] == kind]
            of_kind.sort(key=lambda row: (-row["latency_ns"], row["id"]))
            beyond = of_kind[: math.ceil(len(of_kind) * (1000 - round(percentile * 10)) / 1000)]
            assert (found.bound_ns, found.count) == (beyond[-1]["latency_ns"], len(beyond))
            assert found.requests == len(of_kind)
            sums: dict[str, int] = {}
            for row in beyond:
                for cause, ns in explaining.timelines.log_parts(row).items():
                    sums[cause] = sums.get(cause, 0) + ns
            assert {each.cause: each.ns for each in found.causes} == sums
            assert [each.ns for each in found.causes] == sorted(sums.values(), reverse=True)
            assert sum(sums.values()) == round(found.mean_ns * found.count)
            assert sum(each.percent for each in found.causes) == pytest.approx(100)


@pytest.mark.parametrize("kind", ["read", "write"])
def test_the_ranking_is_of_the_requests_that_results_have_as_a_tail(made: Path, kind: Any) -> None:
    for result in tinytail.read_results(made / "results.json").results:
        attribution = result.attribution
        tails = attribution.tails if kind == "read" else attribution.write_tails
        assert [tail.share_percent for tail in tails] == [10.0, 1.0, 0.1, 0.01, 0.001]
        for tail, percentile in zip(tails, (90.0, 99.0, 99.9, 99.99, 99.999), strict=True):
            found = rank(made / result.design, result.design, kind, percentile)
            assert found.count == tail.count
            assert found.bound_ns / 1000 == tail.latency_us_from
            assert {each.cause: each.ns for each in found.causes} == tail.ns


def test_of_equal_latencies_the_first_to_arrive_are_the_slowest(tmp_path: Path) -> None:
    """Lone reads of one latency: timelines, ranking and tail are of the first of them."""
    trace = "".join(f"{i * 10_000} 0 {8192 + 8 * i} 8 1\n" for i in range(2000))
    (tmp_path / "lone.trace").write_text(trace)
    comparison = tinytail.compare(
        ["base+no-gc"],
        device="ttflash-small",
        workload=tmp_path / "lone.trace",
        time_unit="us",
        out=tmp_path / "out",
        request_timelines=20,
    )
    folder = tmp_path / "out" / "base+no-gc"
    rows = parquet.read_table(folder / "requests.parquet").to_pylist()
    rows.sort(key=lambda row: (-row["latency_ns"], row["id"]))
    kept = parquet.read_table(folder / "traced.parquet")["id"].to_pylist()
    assert sorted(kept) == sorted(row["id"] for row in rows[:20])
    (result,) = comparison.results
    for tail, one_in in zip(
        result.attribution.tails, (10, 100, 1000, 10_000, 100_000), strict=True
    ):
        slowest = rows[: -(-2000 // one_in)]
        assert tail.count == len(slowest)
        assert sum(tail.ns.values()) == sum(row["latency_ns"] for row in slowest)


class Groups:
    """Row groups of a log, with the values that are looked for."""

    path = "log"

    def __init__(self, groups: list[list[int]]) -> None:
        self.values = [pyarrow.array(group, pyarrow.int64()) for group in groups]
        self.groups = len(groups)

    def by_group(self, look: Callable[[Any, int], Any], step: int = 1) -> list[Any]:
        return [look(None, group) for group in range(0, self.groups, step)]


@pytest.mark.parametrize("sampled", ["alike", "slow", "fast", "empty"])
def test_the_bound_does_not_depend_on_the_sample(sampled: str) -> None:
    draw = random.Random(1)
    groups = [[draw.randint(0, 300) for _ in range(100)] for _ in range(2 * ranks.SAMPLE_GROUPS)]
    for group in groups[::2]:
        if sampled == "slow":
            group[:] = [10_000 + value for value in group]
        elif sampled == "fast":
            group[:] = [0] * 100
        elif sampled == "empty":
            group.clear()
    log: Any = Groups(groups)

    def place_of(percentile: float, count: int) -> int:
        return count - count_beyond(percentile, count)

    values = sorted(value for group in groups for value in group)
    for percentile in (0.0, 10.0, 75.0, 90.0, 99.0, 99.9, 99.99):
        found = ranks._nth(log, lambda _, group: log.values[group], partial(place_of, percentile))
        value = values[place_of(percentile, len(values))]
        smaller, equal = values.index(value), values.count(value)
        assert found == ranks._Nth(value, len(values), smaller, equal)
    nothing: Any = Groups([])
    assert ranks._nth(nothing, lambda _, group: nothing.values[group], lambda _: 0) is None


def test_the_command_tells_a_timeline_and_ranks_causes(command: RunCommand, made: Path) -> None:
    brief = command("explain", str(made))
    assert brief.code == 0
    slowest = tinytail.explain(made).request_timelines[0]
    assert f"base: read {slowest.id} took" in brief.out
    assert "reads beyond p99.9 took" in brief.out.splitlines()[0]
    assert "Reads beyond p99.9, mean:" in brief.out
    assert len(brief.out.splitlines()) <= 25
    outcome = command("explain", str(made), "--details")
    assert outcome.code == 0
    assert f"in all: {slowest.latency_ns:,} ns of {slowest.latency_ns:,} ns" in outcome.out
    assert "reads beyond percentile 99.9" in outcome.out
    assert "ttflash" in outcome.out
    gcs = {gc.gc for gc in slowest.gcs}
    assert gcs
    assert all(f"GC {number}" in outcome.out for number in gcs)
    assert "\x1b" not in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def told(segments: Sequence[TimelineSegment], in_host_ns: int = 0) -> RequestTimeline:
    """The timeline of read 1, which these segments are."""
    parts: dict[str, int] = {}
    for segment in segments:
        parts[segment.cause] = parts.get(segment.cause, 0) + segment.duration_ns
    return RequestTimeline(
        design="base",
        id=1,
        kind="read",
        sector=0,
        sectors=8,
        asked_ns=segments[0].from_ns,
        arrived_ns=segments[0].from_ns,
        completed_ns=segments[-1].to_ns,
        latency_ns=segments[-1].to_ns - segments[0].from_ns,
        host_queue_ns=in_host_ns,
        gc_blocked=True,
        queue_blocked=in_host_ns > 0,
        reconstructed=0,
        gc_waits=0,
        gc_waits_forced=0,
        parts=parts,
        segments=tuple(segments),
        gcs=(),
    )


def test_time_is_that_of_the_one_whose_work_was_waited_for() -> None:
    def segment(
        from_ns: int, to_ns: int, cause: str, gc: int | None = None, request: int | None = None
    ) -> TimelineSegment:
        return TimelineSegment(from_ns, to_ns, cause, 0, 0, gc, None, request)

    suspended = [
        segment(0, 250, "die_gc_read", gc=7),
        segment(250, 500, "die_gc_suspend", gc=7),
        segment(500, 900, "array"),
    ]
    # Its own pages and those of another request are one sort of work for two.
    reads = [
        segment(900, 1300, "die_host_read", request=1),
        segment(1300, 1400, "channel_host_read", request=1),
        segment(1400, 1700, "die_host_read", request=2),
    ]
    told_of = told([*suspended, *reads])
    described = in_words.lines(told_of, Geometry(1, 1, 64))
    assert [(line.family, line.text) for line in described] == [
        ("gc", "waited for plane 0 (channel 0, die 0): GC 7 was suspended"),
        ("own", "own array time, in plane 0 (channel 0, die 0)"),
        (
            "host",
            "waited for plane 0 (channel 0, die 0), busy with host read of its own other pages",
        ),
        ("host", "waited for plane 0 (channel 0, die 0), busy with host read, of request 2"),
    ]
    spent = in_words.blamed(told_of)
    assert sum(spent.values()) == told_of.latency_ns
    assert (spent["own_other_pages"], spent["other_reads"]) == (500, 300)
    assert main_cause(in_words.blamed(told(suspended))) == "56 % of it GC"
    assert main_cause(in_words.blamed(told(reads))) == "62 % of it own other pages"
    # Without an order it is not known whose they were.
    without_order = replace(told(reads), segments=None)
    assert main_cause(in_words.blamed(without_order)) == "100 % of it host reads, own pages too"


def test_time_in_the_host_is_attributed_and_the_queue_is_a_second_view() -> None:
    def segment(from_ns: int, to_ns: int, cause: str) -> TimelineSegment:
        return TimelineSegment(from_ns, to_ns, cause, 0, None, None, None, None)

    segments = (
        segment(100, 500, "die_gc_program"),
        segment(500, 650, "die_host_read"),
        segment(650, 750, "die_erase"),
        segment(750, 950, "die_gc_program"),
        segment(950, 1100, "array"),
    )
    timeline = told(segments, in_host_ns=650)
    parts = timeline.parts
    described = in_words.lines(timeline, Geometry(1, 1, 64))
    spans = [(line.from_ns, line.to_ns, line.family) for line in described]
    assert spans == [
        (100, 600, "gc"),
        (600, 750, "host"),
        (750, 950, "gc"),
        (950, 1100, "own"),
    ]
    assert described[0].text == "in the host: requests in the device waited for GC"
    gc = sum(line.duration_ns for line in described if line.family == "gc")
    assert gc == sum(ns for cause, ns in parts.items() if family(cause) == "gc")


def test_a_terminal_shows_bars_and_colours(
    command: RunCommand, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = command("explain", str(made)).out
    assert "█" in shown
    assert "\x1b[" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    shown = command("explain", str(made)).out
    assert "█" in shown
    assert "\x1b[" not in shown


def test_json_has_every_nanosecond(command: RunCommand, made: Path, tmp_path: Path) -> None:
    file = tmp_path / "told.json"
    assert command("explain", str(made), "--slowest", "2", "--json", str(file)).code == 0
    document = read_json(file)
    assert len(document["request_timelines"]) == 2
    for timeline in document["request_timelines"]:
        lasted = sum(part["to_ns"] - part["from_ns"] for part in timeline["segments"])
        assert lasted == timeline["latency_ns"] == sum(timeline["parts"].values())
    assert [ranks["design"] for ranks in document["rankings"]] == list(DESIGNS)


def unkept(folder: Path, design: str) -> int:
    described = set(parquet.read_table(folder / design / "traced.parquet")["id"].to_pylist())
    return next(number for number in range(1000, REQUESTS) if number not in described)


def test_a_request_without_timeline_is_told_by_a_replay(
    command: RunCommand, made: Path, tmp_path: Path
) -> None:
    number = unkept(made, "ttflash")
    words = ("explain", str(made), "--design", "ttflash", "--request", str(number))
    short = command(*words)
    assert short.code == 0
    assert "the order in which" in short.out
    assert "--replay" in short.out
    assert "beyond percentile" not in short.out
    logged = tinytail.explain(made, design="ttflash", request=number).request_timelines[0]
    assert logged.segments is None
    file = tmp_path / "told.json"
    assert command(*words, "--replay", "--json", str(file)).code == 0
    described = read_json(file)["request_timelines"][0]
    assert described["replayed"]
    assert described["parts"] == dict(logged.parts)
    assert described["segments"]


def test_a_replay_that_is_another_run_says_what_differs(kept: Path) -> None:
    number = unkept(kept, "base")
    seeded = read_json(kept / "manifest.json")["comparison"] | {"seed": 2}
    forge(kept, comparison=seeded)
    with pytest.raises(tinytail.ResultsError, match="does not run again as it did"):
        tinytail.explain(kept, design="base", request=number, replay=True)
    forge(kept, version="0.0.1")
    with pytest.raises(tinytail.ResultsError, match=r"were written by tinytail 0\.0\.1, this is"):
        tinytail.explain(kept, design="base", request=number, replay=True)


def test_the_manifest_repeats_the_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    trace = "".join(f"{i * 100_000} 0 {i * 8} 8 {i % 2}\n" for i in range(200))
    (here / "own.trace").write_text(trace)
    monkeypatch.chdir(here)
    plan = Plan(
        designs=("base",),
        device="ttflash-small",
        workload="own.trace",
        state={"live_percent": 30},
        trace=TraceOptions(time_unit="ns"),
        transform=Transform(window_s=(0.0, 0.01), repeat=2),
        windows=7,
        out="kept",
        request_timelines=5,
    )
    plan.check()
    comparison = execute(plan)
    assert comparison.out == tinytail.ResultsFolder("kept", None), comparison.errors
    opened = explaining.open_results("kept")
    assert replace(plan, out=None) == opened.plan()
    monkeypatch.chdir(there)
    opened = explaining.open_results(str(here / "kept"))
    spec = opened.run_spec(opened.designs[0], RequestTimelinesSpec(path=str(there), slowest=1))
    assert spec.workload == str(here / "own.trace")
    result = native.run(spec, native.Control())
    assert result["event_hash"] == opened.designs[0].event_hash
    assert opened.differences() == []
    (here / "own.trace").write_text(trace + "\n")
    assert opened.differences() == [f"{here / 'own.trace'} has been altered"]


def test_a_workload_with_its_multiplier_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    text = Path("workloads/act.toml").read_text("utf-8")
    (here / "own.toml").write_text(text, "utf-8")
    monkeypatch.chdir(here)
    tinytail.compare(
        ["base"], device="ttflash-small", workload="own.toml@3", requests=500, out="kept"
    )
    monkeypatch.chdir(there)
    opened = explaining.open_results(str(here / "kept"))
    assert opened.plan().workload == str(here / "own.toml@3")
    assert opened.differences() == []
    (here / "own.toml").write_text(text + "\n", "utf-8")
    assert opened.differences() == [f"{here / 'own.toml'} has been altered"]


def remove_file(folder: Path) -> None:
    (folder / "ttflash" / "gcs.parquet").unlink()


def cut_file(folder: Path) -> None:
    log = folder / "base" / "requests.parquet"
    log.write_bytes(log.read_bytes()[:-1])


def edit_file(folder: Path) -> None:
    log = folder / "base" / "requests.parquet"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(bytes(content))


def edit_manifest(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"partial": false', '"partial": true'))


def cut_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"format": "tinytail')


def newer(folder: Path) -> None:
    forge(folder, format_version=99)


def foreign(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"name": "a web app"}')


def remove_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (remove_file, r"incomplete: ttflash/gcs\.parquet is missing"),
        (cut_file, r"requests\.parquet: it is not what was written: it has \d+ bytes"),
        (edit_file, r"base/requests\.parquet: it is not what was written: its checksum"),
        (edit_manifest, r"manifest\.json: it is not what was written"),
        (cut_manifest, r"manifest\.json: cut off or altered"),
        (newer, "its format has version 99, and only 2 can be read"),
        (foreign, "not a folder of results: manifest.json is another program's"),
        (remove_manifest, "not a folder of results: it has no manifest.json"),
        (shutil.rmtree, "there is no such folder"),
    ],
)
def test_a_folder_that_is_not_as_it_was_written_is_refused(
    command: RunCommand, kept: Path, harm: Callable[[Path], None], said: str
) -> None:
    harm(kept)
    with pytest.raises(tinytail.ResultsError, match=said):
        tinytail.explain(kept)
    assert command("explain", str(kept)).code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--design", "ttflsh"), 'no results of a design "ttflsh"; did you mean "ttflash"?'),
        (("--request", "40000"), "there is no request 40000 of base: they are numbered from 0 to"),
        (("--percentile", "100"), "percentile must be a number from 0 to below 100"),
        (("--percentile", "nan"), "percentile must be a number from 0 to below 100"),
        (("--request", "1", "--slowest", "1"), "slowest and request exclude each other"),
        (("--replay",), "replay needs a request"),
        (("--kind", "trim"), "--kind"),
    ],
)
def test_what_does_not_exist_is_refused(
    command: RunCommand, made: Path, words: tuple[str, ...], said: str
) -> None:
    outcome = command("explain", str(made), *words)
    assert outcome.code == 2
    assert said in outcome.err


def test_results_without_timelines_or_without_reads(command: RunCommand, tmp_path: Path) -> None:
    words = ("compare", "base", *RUN, "--requests", "3000", "--out", str(tmp_path / "out"))
    assert command(*words, "--request-timelines", "0").code == 0
    outcome = command("explain", str(tmp_path / "out"))
    assert outcome.code == 0
    assert "base has 0 timelines of reads" in outcome.out
    assert "reads beyond p99.9 took" in outcome.out
    trace = "".join(f"{i * 100_000} 0 {i * 8} 8 0\n" for i in range(50))
    (tmp_path / "writes.trace").write_text(trace)
    file = str(tmp_path / "writes.trace")
    run = ("--device", "ttflash-small", "--workload", file, "--time-unit", "ns")
    out = ("--out", str(tmp_path / "out"))
    assert command("compare", "base", *run, "--ops", "write=0,read=1", *out).code == 0
    outcome = command("explain", str(tmp_path / "out"))
    assert outcome.code == 2
    assert "base has no reads" in outcome.err
    assert command("explain", str(tmp_path / "out"), "--kind", "write").code == 0


def test_it_says_what_to_install(
    command: RunCommand, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinytail.inputs.libraries.find_spec", lambda _: None)
    outcome = command("explain", str(made))
    assert outcome.code == 2
    assert f"to install: {installation('pyarrow')}" in outcome.err


def test_what_is_something_else_is_not_replaced(command: RunCommand, tmp_path: Path) -> None:
    words = ("compare", "base", *RUN, "--requests", "999999999", "--out")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    for place, said in (
        (mine, "there are other things in it, and it holds no results of tinytail"),
        (tmp_path / "file", "it is not a directory"),
        (tmp_path / "none" / "out", f"there is no directory {tmp_path / 'none'}"),
    ):
        outcome = command(*words, str(place))
        assert outcome.code == 2
        assert re.search(rf"cannot (keep results in|write) {place}.*: {said}", outcome.err)
    assert command(*words, "").code == 2
    outcome = command(*words, str(tmp_path / "out"), "--log", "log.parquet")
    assert outcome.code == 2
    assert "out and log exclude each other" in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mine"]


def test_earlier_results_are_replaced_and_what_lies_beside_them_is_not(
    command: RunCommand, kept: Path
) -> None:
    before = contents(kept)
    words = ("compare", "base", *RUN, "--requests", "2000", "--out", str(kept))
    (kept / "notes.txt").write_text("mine")
    outcome = command(*words)
    assert outcome.code == 2
    assert "notes.txt is in it and does not belong to the results" in outcome.err
    (kept / "notes.txt").unlink()
    assert contents(kept) == before
    assert command(*words).code == 0
    assert {name.partition("/")[0] for name in contents(kept)} == {
        "base",
        "manifest.json",
        "results.json",
    }
    assert [path.name for path in kept.parent.iterdir()] == ["kept"]


# In one case the log does not fit, in the other the results.
@pytest.mark.parametrize(("requests", "limit_bytes"), [(200_000, 300_000), (3_000, 100_000)])
def test_a_full_disk_keeps_the_table_and_the_earlier_results(
    kept: Path, requests: int, limit_bytes: int
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    before = contents(kept)
    words = ("compare", "base", *RUN, "--requests", str(requests), "--windows", "10000")
    process = start(*words, "--out", str(kept), preexec_fn=limit)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 1, err
    assert f"the results are not kept in {kept}: " in err
    assert "File too large" in err
    assert ".tmp" not in err
    assert " of reads " in out
    assert contents(kept) == before
    assert [path.name for path in kept.parent.iterdir()] == ["kept"]


def interrupted(folder: Path, by: signal.Signals) -> tuple[int, str]:
    process = start("compare", "base", *RUN, "--requests", "500000000", "--out", str(folder))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        logs = folder.parent.glob(f".{folder.name}.*.tmp/base/.requests.parquet.*.tmp")
        if any(path.stat().st_size > 100_000 for path in logs):
            break
        time.sleep(0.05)
    process.send_signal(by)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def test_what_a_killed_run_left_is_removed_by_a_later_one(
    command: RunCommand, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    assert interrupted(folder, signal.SIGKILL)[0] == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    beside = [tmp_path / f".out.0000000{name}" for name in ("1.tmp", "2.tmp", "3.old")]
    for path in beside:
        path.mkdir()
    being_written, just_made, replaced = beside
    for path in (left, being_written, replaced):
        os.utime(path, (0, 0))
    lock = os.open(being_written, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    words = ("compare", "base", *RUN, "--requests", "900", "--out", str(folder))
    assert command(*words).code == 0
    assert set(tmp_path.iterdir()) == {folder, being_written, just_made, replaced}
    os.close(lock)
    assert command(*words).code == 0
    assert set(tmp_path.iterdir()) == {folder, just_made}


def test_what_killed_runs_of_other_names_left_is_removed_and_nothing_else(
    command: RunCommand, tmp_path: Path
) -> None:
    names = {
        "left": ".other.00000001.tmp",
        "only copy": ".gone.00000002.old",
        "foreign": ".other.00000003.tmp",
        "alike": ".other.0000000x.tmp",
    }
    paths = {what: tmp_path / name for what, name in names.items()}
    for path in paths.values():
        (path / "base").mkdir(parents=True)
        (path / "base" / "requests.parquet").touch()
    (paths["left"] / "base" / ".traced.parquet.77-3.tmp").touch()
    (paths["foreign"] / "thesis.tex").touch()
    for path in paths.values():
        os.utime(path, (0, 0))
    words = ("compare", "base", *RUN, "--requests", "900", "--out", str(tmp_path / "mine"))
    assert command(*words).code == 0
    kept = {paths[what] for what in ("only copy", "foreign", "alike")}
    assert set(tmp_path.iterdir()) == {tmp_path / "mine", *kept}


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_run_keeps_what_it_has(
    command: RunCommand, tmp_path: Path, by: signal.Signals
) -> None:
    folder = tmp_path / "out"
    code, err = interrupted(folder, by)
    assert code == 130, err
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert read_json(folder / "manifest.json")["partial"] is True
    outcome = command("explain", str(folder))
    assert outcome.code == 0
    assert "PARTIAL" in outcome.out
    # What is partial gives way to what is whole.
    assert command("compare", "base", *RUN, "--requests", "900", "--out", str(folder)).code == 0
    assert read_json(folder / "manifest.json")["partial"] is False


def test_an_interrupted_run_does_not_replace_whole_results(kept: Path) -> None:
    before = contents(kept)
    code, err = interrupted(kept, signal.SIGINT)
    assert code == 130, err
    assert "those that are there are whole and stay as they are" in err
    assert contents(kept) == before
    assert [path.name for path in kept.parent.iterdir()] == ["kept"]


def by_id(log: Path) -> dict[int, tuple[str, int]]:
    """Kinds and latencies of all requests of a log."""
    table = parquet.read_table(log, columns=["id", "kind", "latency_ns"]).to_pydict()
    pairs = zip(table["kind"], table["latency_ns"], strict=True)
    return dict(zip(table["id"], pairs, strict=True))


def test_base_without_moves_and_erases_is_its_ideal_twin_request_by_request(tmp_path: Path) -> None:
    run = {"device": "ttflash-small", "workload": "randrw70-qd16", "requests": 8000}
    folder = tmp_path / "out"
    tinytail.compare(["base", "base+ideal-gc"], out=folder, **run)  # type: ignore[arg-type]
    with_gc = by_id(folder / "base" / "requests.parquet")
    twin = by_id(folder / "base+ideal-gc" / "requests.parquet")
    assert with_gc != twin
    moves = tinytail.explain_without(folder, without=["gc-program"])
    both = tinytail.explain_without(folder, without=["gc-program", "erase"])
    p99 = {change.name: change for change in both.changes}["p99"]
    p99_moves = {change.name: change for change in moves.changes}["p99"]
    assert p99.without_ns < p99_moves.without_ns < p99.with_ns
    assert both.event_hash == json_of(folder)["base+ideal-gc"]
    reads = [number for number, (kind, _) in with_gc.items() if kind == "read"]
    gains = [with_gc[number][1] - twin[number][1] for number in reads]
    assert both.requests == len(reads)
    assert both.faster == sum(gain > 0 for gain in gains)
    assert both.slower == sum(gain < 0 for gain in gains)
    assert both.equal == sum(gain == 0 for gain in gains)
    assert both.mean_difference_ns == pytest.approx(sum(gains) / len(gains))
    best = both.gained[0]
    assert best.with_ns - best.without_ns == max(gains)
    assert (best.with_ns, best.without_ns) == (with_gc[best.id][1], twin[best.id][1])


def json_of(folder: Path) -> dict[str, str]:
    """The event hashes of kept designs."""
    document = json.loads((folder / "results.json").read_text("utf-8"))
    return {result["design"]: result["event_hash"] for result in document["results"]}


def test_the_command_says_what_a_cause_costs(command: RunCommand, made: Path) -> None:
    outcome = command("explain", str(made), "--without", "erase,gc-program", "--kind", "write")
    assert outcome.code == 0
    assert "base without erase, gc-program: p99" in outcome.out.splitlines()[0]
    assert "writes, each compared with itself" in outcome.out
    document = command("explain", str(made), "--without", "erase", "--json", "-").out
    found = json.loads(document)
    assert found["without"] == ["erase"]
    assert found["faster"] + found["slower"] + found["equal"] == found["requests"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--without", "erases"], 'not without "erases"; did you mean "erase"?'),
        (["--without", "erase", "--slowest", "2"], "--without goes with none of"),
        (["--without", "erase", "--design", "bass"], 'did you mean "base"?'),
    ],
)
def test_a_run_without_nonsense_is_refused(
    command: RunCommand, made: Path, words: list[str], said: str
) -> None:
    outcome = command("explain", str(made), *words)
    assert outcome.code == 2
    assert said in outcome.err


def test_every_cause_is_documented() -> None:
    page = Path(__file__).parents[3] / "docs" / "guides" / "explain.md"
    text = page.read_text("utf-8")
    assert all(f"| `{name}` | {meaning} |" in text for name, meaning in catalog.causes().items())


def test_a_number_of_timelines_needs_a_folder_to_keep_them(command: RunCommand) -> None:
    outcome = command(
        "compare",
        "base",
        "--device",
        "ttflash-small",
        "--workload",
        "zipf",
        "--request-timelines",
        "1000",
    )
    assert (outcome.code, "no --out was given" in outcome.err) == (2, True), outcome.err
