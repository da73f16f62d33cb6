"""What a comparison says in sentences, and the screen that they are drawn on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.cells import cell_len

from fake_native import erased, latency, result, shares
from made_up import compared
from tinytail.comparison.result import Comparison
from tinytail.engine.results import DesignError, InputKind
from tinytail.verdict.percentiles import PERCENTILES, deepest, headline, out_of_reach
from tinytail.verdict.sentences import sentences, warnings

NAMES = ["base", "ttflash", "base+no-gc", "ttflash+t-es+no-gc", "a/folder/of-some-length/mine"]
NAMES += ["design-a", "design-b", "design-c"]


def few(count: int, scale: float) -> dict[str, Any]:
    """Latencies of so many requests; None where there is none."""
    document = latency(count, scale)
    return document if count else dict.fromkeys(document) | {"count": 0}


def finding(code: str, message: str, **figures: float) -> dict[str, Any]:
    return {"code": code, "message": message, "figures": figures}


def adjusted(key: str, wanted: float, used: float, code: str = "gc_thresholds") -> dict[str, Any]:
    section = {"section": "gc_trigger", "key": key, "wanted": wanted, "used": used}
    return {"code": code, "message": f"{key} is {used}", **section}


def warned(comparison: Comparison) -> list[str]:
    return list(map(str, warnings(comparison)))


def listed(*documents: dict[str, Any], **options: Any) -> list[str]:
    return list(map(str, sentences(compared(*documents, **options))))


def test_a_design_is_judged_by_the_deepest_percentile_that_ten_requests_of_all_lie_beyond() -> None:
    assert listed(result(), result("ttflash", 1.4)) == [
        "base: p99.99 of reads 28.0 ms, 83 % of it GC.",
        "ttflash: 280 µs, 100 times better.",
    ]
    fewer = result("ttflash", 1.4, read=few(99_999, 1.4))
    assert listed(result(), fewer)[0] == "base: p99.9 of reads 11.2 ms, 83 % of it GC."


def test_a_share_belongs_to_the_percentile_or_to_requests_that_are_named() -> None:
    """Beyond a fast percentile there may be requests that waited for what it did not wait for."""

    def slower(times: float, **changes: Any) -> dict[str, Any]:
        document = result(**changes)
        tail = document["attribution"]["tails"][-1]
        tail["ns"] = shares(tail["ns"], times * 28e6 * tail["count"])
        return document

    assert listed(slower(1.5)) == ["base: p99.99 of reads 28.0 ms, 83 % of it GC."]
    assert listed(slower(1.6)) == [
        "base: p99.99 of reads 28.0 ms; the slowest 0.01 % of reads took 44.8 ms on average, "
        "83 % of it GC."
    ]
    better = result("ttflash", 1.4)
    assert listed(better, slower(1.6, erases=1420))[1] == (
        "base: 28.0 ms, 100 times worse, with 15 % more erases and writes up to 112 ms in place of "
        "1.12 ms."
    )
    assert "; reads took" in listed(result(read=few(99, 1.0), write=few(0, 1.0)))[0]


def test_a_reference_that_is_not_the_first_design_is_named() -> None:
    assert listed(result(), result("ttflash", 1.4), reference="ttflash") == [
        "base: p99.99 of reads 28.0 ms, 100 times worse than ttflash, 83 % of it GC, "
        "with writes up to 112 ms in place of 1.12 ms.",
        "ttflash: 280 µs, 83 % of it GC.",
    ]


def test_what_an_improvement_costs_is_said() -> None:
    better = result("ttflash", 1.4, erases=1420, write=few(13_972, 900.0), simulated_seconds=400.0)
    assert listed(result(), better)[1] == (
        "ttflash: 280 µs, 100 times better, at the cost of 15 % more erases and writes up to "
        "360 ms in place of 112 ms, at 25 % fewer requests/s."
    )


def test_three_designs_with_all_there_is_to_say_fit_a_screen() -> None:
    def of(design: str, scale: float, writes: float, **changes: Any) -> dict[str, Any]:
        near = {"low": 190 * scale, "high": 210 * scale, "level_percent": 90}
        document = result(
            design,
            scale,
            read=few(400_000, scale),
            write=few(200_000, writes),
            intervals={"read.p9999_us": near | {"method": "seeds", "n": 5}},
            findings=[finding("saturated", "saturated: 9 requests/s arrive and 5 are served")],
            **changes,
        )
        tail = document["attribution"]["tails"][-1]
        spent = {"die_parity": 10**8, "die_flush": 10**8, "die_gc_read": 10**8}
        tail["ns"] = spent | {cause: 9 * ns for cause, ns in tail["ns"].items()}
        return document

    more: dict[str, Any] = {"erases": 14_200, "simulated_seconds": 400.0}
    documents = [
        of("ttflash", 140.0, 900.0, **more),
        of("base+controller-blocking", 150.0, 900.0, **more),
    ]
    comparison = compared(of("base", 10.0, 1.0), *documents)
    lines = comparison.verdict(80).splitlines()
    assert lines[0].startswith("! saturated")
    assert len(lines) <= 25


def test_what_chance_decides_is_no_cost() -> None:
    def costs(erases: int, erases_then: int, writes: int) -> str:
        first = result(erases=erases, write=few(writes, 280.0))
        return listed(first, result("ttflash", 1.4, erases=erases_then, write=few(writes, 900.0)))[
            1
        ]

    assert costs(100, 240, 1000) == (
        "ttflash: 280 µs, 100 times better, at the cost of 2.4 times as many erases and writes up "
        "to 360 ms in place of 112 ms."
    )
    assert costs(99, 240, 999) == "ttflash: 280 µs, 100 times better."


def test_the_slowest_of_few_reads_is_no_cost_of_better_writes() -> None:
    first, second = result(read=few(999, 1.0)), result("ttflash", 1.4, read=few(999, 9.0))
    assert listed(first, second)[1] == "ttflash: 224 µs, 100 times better."


def test_what_is_the_same_is_not_called_better_or_worse() -> None:
    assert listed(result(), result("ttflash", 140.0 * 1.019))[1].endswith("the same as base.")
    assert "2 % worse" in listed(result(), result("ttflash", 140.0 * 1.021))[1]


def test_a_workload_of_writes_alone_is_judged_by_its_writes() -> None:
    first, second = (result(name, read=few(0, 1.0)) for name in ("base", "ttflash"))
    assert listed(first, second)[0] == "base: p99.9 of writes 22.4 ms, 100 % of it own work."
    shown = compared(first, second).verdict(80)
    assert "writes p99.9 " in shown
    assert "reads" not in shown
    assert "The slowest 0.1 % of writes (14), mean:" in shown


def test_no_ratio_is_taken_to_a_run_that_ended_early() -> None:
    stopped = result(
        partial=True,
        stuck="Requests stopped completing.",
        findings=[finding("partial", "ended early", requests=5996, requests_expected=42_015)],
    )
    comparison = compared(stopped, result("ttflash", 1.4))
    assert list(map(str, sentences(comparison))) == [
        "base: STOPPED after 5,996 of 42,015 requests, p99.99 of reads so far 28.0 ms; "
        "not compared.",
        "ttflash: p99.99 of reads 280 µs, 83 % of it GC.",
    ]
    assert "×" not in comparison.verdict(80)
    assert "×" not in comparison.table(80)
    assert comparison.findings() == []


def test_another_reference_takes_the_place_of_one_that_stopped_and_that_is_said() -> None:
    stopped = result(partial=True, stuck="Requests stopped completing.")
    bound = result("base+no-gc", 0.7, gc="never")
    worse = result("hpdc-baseline", 2.8)
    comparison = compared(stopped, bound, result("ttflash", 1.4), worse)
    assert list(map(str, sentences(comparison)))[1:] == [
        "base+no-gc: p99.99 of reads 140 µs, 2.0 times better than ttflash (a bound: no GC).",
        "ttflash: 280 µs, 83 % of it GC.",
        "hpdc-baseline: 560 µs, 2.0 times worse than ttflash, 83 % of it GC, with writes up to "
        "2.24 ms in place of 1.12 ms.",
    ]
    said = "base did not come to its end: ratios are taken to ttflash"
    assert warned(comparison)[0] == said
    assert comparison.findings()[0].code == "other_reference"
    assert "×" in comparison.verdict(120)
    assert "it has no whole result: × is the ratio to ttflash" in comparison.table(120)
    assert {each.design for each in comparison.improvements()} == {
        *("base", "base+no-gc", "hpdc-baseline")
    }
    failed = DesignError("base", "run", "it failed")
    without_result = compared(bound, result("ttflash"), reference="base", errors=(failed,))
    assert warned(without_result)[0] == said


def test_designs_without_a_result_have_a_sentence() -> None:
    errors = (
        DesignError("ttflash", "config", "ttflash: no room for parity\nmore of it"),
        DesignError("base+no-gc", "interrupted", "interrupted before it could run"),
    )
    assert listed(result(), errors=errors)[1:] == [
        "ttflash: no result: ttflash: no room for parity",
        "base+no-gc: interrupted before it ran.",
    ]
    assert listed(errors=errors)[0].startswith("ttflash: no result")
    assert compared(errors=errors).verdict(80)


def test_too_few_requests_have_no_percentile() -> None:
    document = result(read=few(12, 1.0), write=few(0, 1.0))
    assert listed(document) == ["base: 12 reads of up to 400 µs, too few for a percentile."]
    shown = compared(document).verdict(80)
    assert "p50" not in shown
    assert "reads max" in shown


def test_findings_come_first_each_once_the_gravest_before_others() -> None:
    saturated = finding("saturated", "saturated: 9 requests/s arrive and 5 are served")
    lacking = finding("few_samples", "fewer than ten samples beyond p99 of 999 reads")
    small: dict[str, Any] = {"read": few(999, 140.0), "write": few(0, 1.0)}
    first = result(findings=[saturated, lacking], **small)
    thresholds = [adjusted("soft", 30, 4.1), adjusted("hard", 20, 2)]
    second = result("ttflash", findings=[lacking], adjusted=thresholds, **small)
    assert warned(compared(first, second)) == [
        "base: saturated: 9 requests/s arrive and 5 are served",
        "fewer than ten samples beyond p99 of 999 reads",
        "ttflash: adjusted to the drive: soft 30.0 → 4.1, hard 20.0 → 2.0",
    ]
    lines = compared(first, second).verdict(80).splitlines()
    assert lines[0].startswith("! base: saturated")


@pytest.mark.parametrize(("reads", "is_said"), [(999, True), (1000, False), (99_999, False)])
def test_too_few_requests_are_a_warning_where_the_headline_is_of_no_tail(
    reads: int, is_said: bool
) -> None:
    lacking = [finding("few_samples", "fewer than ten samples beyond a percentile")]
    document = result(read=few(reads, 140.0), write=few(0, 1.0), findings=lacking)
    assert bool(warned(compared(document))) == is_said


def test_designs_that_ran_few_gcs_share_a_line() -> None:
    def few_gcs(design: str, gcs: int) -> dict[str, Any]:
        return result(design, findings=[finding("few_gcs", f"only {gcs} GCs ran: so", gcs=gcs)])

    assert warned(compared(few_gcs("base", 16), result("ttflash"))) == ["base: only 16 GCs ran: so"]
    assert warned(compared(few_gcs("base", 16), few_gcs("ttflash", 16))) == ["only 16 GCs ran: so"]
    assert warned(compared(few_gcs("base", 16), few_gcs("ttflash", 31), result("other"))) == [
        "base, ttflash: only 16 to 31 GCs ran: write amplification and wear mean little"
    ]


def test_why_a_design_stopped_and_what_helps_is_said_in_python_too() -> None:
    stopped = result(partial=True, stuck="Requests stopped completing. Take ideal-gc.")
    why = DesignError("base", "run", "stopped: requests stopped completing. Take ideal-gc.")
    comparison = compared(stopped, result("ttflash"), errors=(why,))
    assert comparison.verdict(100).splitlines()[-1] == f"base: {why.message}"
    assert why.message in comparison._repr_html_()


def test_a_run_that_was_interrupted_before_its_first_request_says_only_that() -> None:
    nothing: dict[str, Any] = {"read": few(0, 1.0), "write": few(0, 1.0), "partial": True}
    begun = finding("partial", "ended early", requests=0, requests_expected=400)
    document = result(findings=[begun], adjusted=[adjusted("soft", 30, 4.1)], **nothing)
    assert compared(document).verdict(80).splitlines() == [
        "base: PARTIAL: interrupted before anything was measured.",
        "ttflash-256g, dtrs, seed 1. More: --details",
    ]
    assert "reads p50" in compared(document, result("ttflash")).verdict(80)


def test_a_percentile_that_is_out_of_reach_says_what_gives_it() -> None:
    def said(reads: int, source: InputKind = "real", words: str = "", **changes: Any) -> str | None:
        comparison = compared(result(read=few(reads, 140.0), **changes))
        workload = replace(comparison.workload, input=source)
        return out_of_reach(
            replace(comparison, command=f"tinytail compare base{words}", workload=workload)
        )

    again = ", and writes the same pages again, so that GC finds emptier blocks"
    needed = "p99.99 needs 100,000 reads (there are 24,852); "
    assert said(24_852) == f"{needed}--repeat 5 plays so many{again}"
    assert said(24_852, words=" --repeat 2 --seed 1") == f"{needed}--repeat 9 plays so many{again}"
    assert said(24_852, write_amplification=None) == f"{needed}--repeat 5 plays so many"
    assert said(24_852, "synthetic") == f"{needed}--requests 156221 gives them"
    shallow = said(9_999, write_amplification=None)
    assert shallow == "p99.9 needs 10,000 reads (there are 9,999); --repeat 2 plays so many"
    assert (said(999, write=few(0, 1.0)), said(100_000)) == (None, None)
    comparison = compared(result(read=few(24_852, 140.0)))
    shown = [" ".join(text.split()) for text in (comparison.verdict(80), comparison.table(80))]
    assert all(
        "p99.99 needs 100,000 reads (there are 24,852); --repeat 5" in text for text in shown
    )


def test_an_interval_beyond_a_hundred_percent_gives_no_number() -> None:
    def shown(low: float, high: float) -> str:
        interval = {"low": low, "high": high, "level_percent": 90, "method": "seeds", "n": 5}
        document = result(scale=100.0, intervals={"read.p9999_us": interval})
        return compared(document).verdict(80)

    assert "20.0 ms ±100 %" in shown(15_000.0, 40_000.0)
    assert "20.0 ms >±100 %" in shown(15_000.0, 2_330_000.0)


def test_more_findings_than_fit_are_counted() -> None:
    many = [adjusted("", 0, 0, "parity_capacity") | {"message": f"less {n}"} for n in range(8)]
    lines = compared(result(adjusted=many)).verdict(80).splitlines()
    assert sum(line.startswith("! ") for line in lines) == 5
    assert "3 more and all else: --details" in lines[-1]
    assert all(f"less {n}" in compared(result(adjusted=many)).table(80) for n in range(8))


def test_zero_gc_in_all_designs_is_one_finding() -> None:
    none: dict[str, Any] = {"gc_count": 0, "findings": [finding("no_gc", "no GC ran")]}
    comparison = compared(result(**none), result("ttflash", **none))
    assert [found.code for found in comparison.findings()] == ["no_gc"]
    assert len(warned(comparison)) == 1
    assert warned(compared(result(**none), result("ttflash"))) == ["base: no GC ran"]


def test_no_ratio_is_told_of_a_design_whose_gc_had_work_and_did_none() -> None:
    lived: dict[str, Any] = {"gc_count": 0}
    lived["findings"] = [finding("no_gc", "no GC ran though 9 pages were", host_pages=9)]
    idle = compared(result(), result("ttflash", 1.4, **lived))
    assert list(map(str, sentences(idle)))[1] == (
        "ttflash: 280 µs, 83 % of it GC, not compared: no GC ran."
    )
    assert "×" not in idle.verdict(120) + idle.table(120).replace("× is", "")
    assert idle.findings() == []
    to_idle = compared(result(**lived), result("ttflash", 1.4), result("x+no-gc", 1, gc="never"))
    assert list(map(str, sentences(to_idle)))[1:] == [
        "ttflash: 280 µs, 83 % of it GC, not compared: no GC ran in base.",
        "x+no-gc: 200 µs, 140 times better (a bound: no GC).",
    ]
    nothing_written = finding("no_gc", "no GC ran, so this says nothing")
    reads = compared(result(), result("ttflash", 1.4, gc_count=0, findings=[nothing_written]))
    assert str(sentences(reads)[1]) == "ttflash: 280 µs, 100 times better."


def test_designs_without_gc_are_told_as_bounds() -> None:
    twins = (result("base+no-gc", 1.4, gc="never"), result("base+ideal-gc", 2.8, gc="ideal"))
    assert listed(result(), *twins)[1:] == [
        "base+no-gc: 280 µs, 100 times better (a bound: no GC).",
        "base+ideal-gc: 560 µs, 50 times better (a bound: no GC time).",
    ]
    assert (
        listed(*twins)[0] == "base+no-gc: p99.99 of reads 280 µs (a bound: no GC), 83 % of it GC."
    )


def test_a_decisive_finding_is_never_among_those_that_are_left_out() -> None:
    """However many designs have how many findings."""
    designs = [f"design-{number}" for number in range(7)]
    lesser = ["saturated", "queue_full", "trace_fitted", "no_host_programs", "partial_pages"]

    def of(design: str, number: int) -> dict[str, Any]:
        codes = [*reversed(lesser), "no_gc", "borrowed", "start_off_trigger"]
        messages = [finding(code, f"{code} by {number} of many " + "words " * 20) for code in codes]
        return result(design, 1.0 + number, gc_count=0, findings=messages)

    comparison = compared(*(of(design, number) for number, design in enumerate(designs)))
    lines = comparison.verdict(80).splitlines()
    said = [line for line in lines if line.startswith("! ")]
    assert said[0].startswith("! design-0: borrowed by 0 of many")
    assert said[1].startswith("! no GC ran in any design")
    assert any("likewise design-1, design-2" in " ".join(lines[row : row + 2]) for row in range(9))
    shown = comparison.table(200)
    assert all(f"borrowed by {number} of many" in shown for number in range(7))


def test_drift_stands_in_the_table_in_pages_and_percent() -> None:
    shown = compared(result(erased=erased(-12_345, 10.0)), result("ttflash")).table(120)
    rows = {
        line.split("  ")[0]: line.split()[-3:] for line in shown.splitlines() if "drift" in line
    }
    assert "-12,345" in rows["drift, pages"]
    assert "-12.3" in shown


@pytest.mark.parametrize(("seconds", "codes"), [(286.0, []), (285.0, ["closed_loop"])])
def test_a_closed_loop_whose_designs_differ_in_rate_is_a_finding(
    seconds: float, codes: list[str]
) -> None:
    closed = result()["workload"] | {"pacing": "closed"}
    faster = result("ttflash", workload=closed, simulated_seconds=seconds)
    comparison = compared(result(workload=closed), faster)
    assert [found.code for found in comparison.findings()] == codes
    assert compared(result(), result("ttflash", simulated_seconds=100.0)).findings() == []
    bounded = closed | {"pacing": "bounded"}
    slower = result("ttflash", workload=bounded, simulated_seconds=seconds)
    assert [found.code for found in compared(result(workload=bounded), slower).findings()] == codes


def test_a_design_that_makes_the_headline_worse_is_a_finding() -> None:
    comparison = compared(result(), result("ttflash", 514.0))
    (worse,) = comparison.findings()
    assert (worse.code, worse.designs) == ("worse", ("ttflash",))
    assert worse.message == (
        "ttflash makes p99.99 of reads worse: 103 ms, and that of base 28.0 ms"
    )


def test_pages_that_gc_copied_stand_where_there_is_no_write_amplification() -> None:
    copied = {"gc: copied pages": 2_700_000}
    shown = compared(result(write_amplification=None, techniques=copied)).verdict(80)
    assert "write amplification" not in shown
    assert "pages GC copied" in shown
    assert "2,700,000" in shown


def test_percentiles_without_samples_are_not_in_the_whole_table() -> None:
    table = compared(result(read=few(999, 1.0), write=few(0, 1.0))).table(80)
    reads = [line.split() for line in table[: table.index("writes")].splitlines() if line.strip()]
    lines = {line[0]: line[1:] for line in reads}
    assert lines["p95"] == ["3.00", "µs"]
    assert lines["p99"] == ["–"]


def a_run(random: Random, design: str) -> dict[str, Any]:
    """A result of any numbers of requests, whole or not."""

    def latencies() -> dict[str, Any]:
        most = random.choice([0, 30, 3000, 300_000, 5_000_000])
        return few(random.randint(0, most), 10 ** random.uniform(-3, 6))

    partial = random.random() < 0.2
    words = " ".join("saturated " * random.randint(1, 20))
    return result(
        design,
        read=latencies(),
        write=latencies(),
        erases=random.choice([0, 30, 10_000_000]),
        partial=partial,
        stuck="Requests stopped completing." if partial and random.random() < 0.5 else None,
        write_amplification=random.choice([None, 1.0, 43.21]),
        simulated_seconds=random.choice([0.0, 0.001, 300.0]),
        findings=[finding("saturated", words)] * random.randint(0, 8),
    )


def a_comparison(random: Random) -> Comparison:
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    failed = [name for name in names if random.random() < 0.1]
    errors = tuple(
        DesignError(name, random.choice(["config", "run", "interrupted"]), "why not \n" * 30)
        for name in failed
    )
    documents = [a_run(random, name) for name in names if name not in failed]
    return compared(*documents, reference=random.choice(names), errors=errors)


@pytest.mark.parametrize("seed", range(300))
def test_whatever_is_compared_the_verdict_keeps_its_rules(seed: int) -> None:
    random = Random(seed)
    comparison, width = a_comparison(random), random.randint(20, 140)
    shown = comparison.verdict(width)
    assert all(cell_len(line) <= width for line in shown.splitlines())
    said = sentences(comparison)
    assert {sentence.design for sentence in said} == {
        *(each.design for each in comparison.results),
        *(each.design for each in comparison.errors),
    }
    whole = {each.design: each for each in comparison.results if not each.partial}
    judged_by = headline(comparison.results)
    for sentence in said:
        for name in re.findall(r"p\d+(?:\.\d+)?(?= of)", sentence.text):
            among = [each for each in comparison.results if each.design == sentence.design]
            percentile = next(each for each in PERCENTILES if each.name == name)
            kind = "read" if f"{name} of reads" in sentence.text else "write"
            assert getattr(among[0], kind).count // percentile.one_in >= 10
        if re.search("better|worse|same as", sentence.text):
            assert sentence.design in whole
            assert comparison.reference in whole or len(whole) > 1
    if judged_by is not None and whole:
        count = min(getattr(each, judged_by.kind).count for each in whole.values())
        assert judged_by.percentile == deepest(count)
    if len(whole) < 2:
        assert "×" not in shown


def test_what_differs_by_chance_is_the_same() -> None:
    def of(design: str, value: float, low: float, high: float) -> dict[str, Any]:
        of_seeds = {"low": low, "high": high, "level_percent": 90, "method": "seeds", "n": 5}
        return result(design, value, intervals={"read.p9999_us": of_seeds})

    first = of("base", 140.0, 24_000.0, 32_000.0)
    assert listed(first, of("ttflash", 165.0, 28_000.0, 38_000.0)) == [
        "base: p99.99 of reads 28.0 ms (24.0 ms to 32.0 ms), 83 % of it GC.",
        "ttflash: 33.0 ms (28.0 ms to 38.0 ms), the same as base within noise.",
    ]
    apart = compared(first, of("ttflash", 200.0, 39_000.0, 41_000.0))
    assert [found.code for found in apart.findings()] == ["worse"]
    near = compared(first, of("ttflash", 165.0, 28_000.0, 38_000.0))
    assert [found.code for found in near.findings()] == ["within_noise"]


@pytest.mark.parametrize("width", [40, 80])
def test_without_unicode_and_colour_everything_is_still_told(width: int) -> None:
    script = """
import sys
from fake_native import FakeControl, FakeNative
from tinytail.cli.main import main
from tinytail.engine import catalog, native
catalog._native = native._native = FakeNative()
native.Control = FakeControl
sys.exit(main(sys.argv[1:]))
"""
    words = ("compare", "base", "ttflash", "--device", "ttflash-256g", "--workload", "dtrs")
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        check=True,
        env=os.environ
        | {"PYTHONIOENCODING": "ascii", "COLUMNS": str(width), "NO_COLOR": "1"}
        | {"PYTHONPATH": str(Path(__file__).parents[1] / "helpers")},
    )
    shown = done.stdout.decode("ascii")
    assert "?" not in shown
    assert "\x1b" not in shown
    assert "140 us" in shown
    assert "# GC programs" in shown
    assert "= host reads, own pages too" in shown
    assert max(map(len, shown.splitlines())) <= width
