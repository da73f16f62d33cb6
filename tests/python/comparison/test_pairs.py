"""Every two techniques of the four papers on one drive: what is refused, and that the rest acts.

What is expected of each pair stands in experiments/pairs/pairs.toml.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import experiment
from tinytail.comparison.plan import Plan
from tinytail.engine import native
from tinytail.engine.options import RunSpec
from tinytail.reproduction.store import Store

ROOT = Path(__file__).parents[3]
# Losses of power of each composition.
CUTS = 12


pairs = experiment("pairs")
CATALOG: Any = pairs.Catalog()
LEGAL = [pair for pair in CATALOG.pairs if pair.outcome != "error"]
REFUSED = [pair for pair in CATALOG.pairs if pair.outcome == "error"]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compositions name their files from the repository's root."""
    monkeypatch.chdir(ROOT)


def compare(designs: list[str]) -> tinytail.Comparison:
    files = CATALOG.files
    return tinytail.compare(
        designs,
        device=pairs.located(files["tiny"]),
        workload=pairs.located(files["tiny_load"]),
        verify=True,
    )


class Runs:
    """A run of every composition that some legal pair asks for, with every read checked."""

    def __init__(self) -> None:
        sets = (codes for pair in CATALOG.pairs for codes in CATALOG.sets(pair))
        designs = list(dict.fromkeys(map(CATALOG.composition, sets)))
        comparison = compare(designs)
        assert comparison.errors == ()
        self.results = {result.design: result for result in comparison.results}

    def of(self, codes: Collection[str]) -> tinytail.DesignResult:
        return self.results[CATALOG.composition(codes)]


@pytest.fixture(scope="module")
def runs() -> Runs:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return Runs()


def name(pair: Any) -> str:
    return "+".join(pair.codes)


def test_each_of_the_231_pairs_is_said_once() -> None:
    order = CATALOG.order
    assert (len(order), len(set(order))) == (22, 22)
    expected = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]
    assert [pair.codes for pair in CATALOG.pairs] == expected
    assert all(pair.meaning for pair in CATALOG.pairs)
    refused = {pair.codes for pair in REFUSED}
    exclusive = {pair.codes for pair in CATALOG.pairs if pair.symbol == "x"}
    assert exclusive <= refused
    # What is refused beyond that has its reason.
    assert all(pair.reason for pair in REFUSED if pair.symbol != "x")
    assert all(pair.reason for pair in LEGAL if pair.outcome == "nothing")


def acts(result: tinytail.DesignResult, code: str, codes: Collection[str]) -> None:
    technique = CATALOG.techniques[code]
    for counter in CATALOG.counters(code, codes):
        assert result.techniques.get(counter, 0) > 0, f"{code}: {counter}"
    for cause in technique.attribution:
        waits = [
            group.ns.get(cause, 0)
            for group in (result.attribution.all_reads, result.attribution.all_writes)
        ]
        assert sum(waits) > 0, f"{code}: nothing waited for {cause}"


def does_without(result: tinytail.DesignResult, code: str, codes: Collection[str]) -> None:
    """What is to show a technique is not there without it, or it would show nothing."""
    technique = CATALOG.techniques[code]
    for counter in CATALOG.counters(code, codes):
        assert result.techniques.get(counter, 0) == 0, f"without {code}: {counter}"
    for cause in technique.attribution:
        assert result.attribution.all_reads.ns.get(cause, 0) == 0, f"without {code}: {cause}"


@pytest.mark.parametrize("pair", LEGAL, ids=name)
def test_both_techniques_of_a_pair_act(pair: Any, runs: Runs) -> None:
    codes = CATALOG.closure(pair.codes)
    both = runs.of(codes)
    assert both.stuck is None
    assert not both.partial
    assert both.verified_page_reads is not None
    assert both.verified_page_reads > 3000
    assert both.gc_count > 20
    for code, other in (pair.codes, pair.codes[::-1]):
        acts(both, code, codes)
        without = CATALOG.alone(pair, other)
        if without is None:
            # The other one has no meaning without it, and is nothing but the pair.
            continue
        result = runs.of(without)
        does_without(result, code, codes)
        adds_nothing = code == pair.adds_nothing
        assert (result.event_hash == both.event_hash) == adds_nothing, f"without {code}"
        if not adds_nothing:
            for counter in CATALOG.techniques[code].shifts:
                assert result.techniques.get(counter) != both.techniques.get(counter), counter


@pytest.mark.parametrize("pair", REFUSED, ids=name)
def test_what_cannot_go_together_is_an_error_that_names_both_keys(pair: Any) -> None:
    composition = CATALOG.composition(pair.codes)
    message = pairs.refusal(composition)
    keys = re.findall(r"\[(\w+)\] `(\w+)`", message)
    assert len(keys) > 1, message
    if len(set(keys)) == 1:
        # Two overlays give one key, and both are named.
        first, second = (set(CATALOG.composition([code]).split("+")) for code in pair.codes)
        either = message.partition("; leave out ")[2].split(" or ")
        for own in (first - second, second - first):
            assert len(own & set(either)) == 1, message
    # The command says the same, and what runs in its place.
    with pytest.raises(tinytail.ConfigError) as refused:
        compare([composition])
    said = f"{message}. This runs: tinytail compare "
    described = str(refused.value)
    drive = pairs.located(CATALOG.files["tiny"])
    # What the drive lacks is said of the drive; what contradicts itself is not its fault.
    assert described.removeprefix(f"{composition} can't run on {drive}: ").startswith(said), (
        described
    )


def test_an_overlay_may_choose_instead_of_a_design_but_not_of_another_overlay() -> None:
    for design in (
        "base+preemptible",
        "ttflash+preemptible",
        "ttflash+f-rgc",
        "hpdc-baseline+gc-par+gc-vic",
        "gc-vic+skip-pages",
        "base+background-emergency+no-gc",
        "fgc+rate-match",
    ):
        assert tinytail.describe_design(design).settings
    for design, key in (
        ("base+plane-blocking+preemptible", "scope"),
        ("erase-baseline+es+t-es", "mode"),
        ("rtf-weak+fgc", "policy"),
        ("gc-vic+fifo-victim", "chain"),
        ("base+rain+idle-die", "policy"),
    ):
        *_, first, second = design.split("+")
        with pytest.raises(
            tinytail.ConfigError, match=f"{second}:.*`{key}`.*contradicts"
        ) as refused:
            tinytail.describe_design(design)
        assert first in str(refused.value)


def test_limit_cases_are_the_technique_that_they_are_the_limit_of(
    runs: Runs, tmp_path: Path
) -> None:
    limits = [pair for pair in REFUSED if pair.limit]
    assert len(limits) == 2
    for pair in limits:
        text = (ROOT / pairs.located("t-es-2ms.toml")).read_text("utf-8")
        file = tmp_path / f"t-es-{pair.limit['of'].lower()}.toml"
        file.write_text(
            re.sub(
                r"timeout_ms = \{ value = \d+",
                f"timeout_ms = {{ value = {pair.limit['timeout_ms']}",
                text,
            ),
            "utf-8",
        )
        design = CATALOG.composition(["TES"]).replace(pairs.located("t-es-2ms.toml"), str(file))
        (result,) = compare([design]).results
        assert result.event_hash == runs.of(CATALOG.closure([pair.limit["of"]])).event_hash
        assert result.event_hash != runs.of(CATALOG.closure(["TES"])).event_hash


def test_every_legal_pair_survives_losses_of_power() -> None:
    designs = list(dict.fromkeys(CATALOG.composition(pair.codes) for pair in LEGAL))
    found = tinytail.verify_power_cut(
        designs, device=pairs.located(CATALOG.files["tiny"]), cuts=CUTS * len(designs), seed=11
    )
    assert found.errors == ()
    assert {result.mismatch for result in found.results} == {None}
    assert [result.cuts for result in found.results] == [CUTS] * len(designs)
    assert (found.lost, found.stale) == (0, 0)
    assert sum(result.torn_pages for result in found.results) > 0


def measured(p999_us: float) -> dict[str, Any]:
    """A run as it is kept."""
    latency = {"count": 100_000, "p999_us": p999_us}
    return {"read": latency, "write": latency, "stuck": False, "commit": "0123abc"}


def fake_runs() -> dict[str, Any]:
    """Runs that take the longer the fewer techniques there are, and one that got stuck."""
    runs: dict[str, Any] = {}
    for pair in CATALOG.pairs:
        for codes in CATALOG.sets(pair):
            took = 10_000 / (1 + len(codes))
            design = pairs.bare(CATALOG.composition(codes, CATALOG.brought(pair)))
            runs[design] = {load: [measured(took)] * len(pairs.SEEDS) for load in pairs.LOADS}
    stuck = pairs.bare(CATALOG.composition(CATALOG.closure(["CC", "RM"])))
    runs[stuck]["DTRS"] = [{"stuck": True, "commit": "0123abc"}] * len(pairs.SEEDS)
    errors = {"+".join(pair.codes): f"{pair.first} refuses {pair.second}" for pair in REFUSED}
    return {"errors": errors, "runs": runs}


def test_the_full_page_has_a_row_for_each_pair() -> None:
    kept = fake_runs()
    made = pairs.page(CATALOG, kept)
    rows = re.findall(r"^\| (\w+) \+ (\w+) \| (.*)$", made, re.MULTILINE)
    assert [(first, second) for first, second, _ in rows] == [pair.codes for pair in CATALOG.pairs]
    assert "not measured" not in made
    for error in kept["errors"].values():
        assert f"*Error:* {error}" in made
    text = {f"{first} + {second}": text for first, second, text in rows}
    # Of ES and RP one needs the other; what stands alone is neither, one of them, and both.
    assert "| 10.0 / - / 5.00 / 3.33 |" in text["ES + RP"]
    assert "/ ∞ |" in text["CC + RM"]


def test_the_summary_counts_pairs_and_names_what_stands_out() -> None:
    made = pairs.summary(CATALOG, fake_runs())
    assert not re.search(r"\{[A-Z]+\}", made)
    assert "at commit 0123abc, seeds 1 to 3" in made
    [gains] = re.findall(r"^\| DTRS((?: \| \d+)+) \|$", made, re.MULTILINE)
    # More techniques are better here.
    first, *others = gains.split(" | ")[1:]
    assert int(first) > 100
    assert others == ["0", "0", "0"]
    assert len(re.findall(r"^\| saturating \| \w+ \+ ", made, re.MULTILINE)) == 2 * pairs.LISTED


def test_a_pair_gains_or_loses_only_where_every_seed_says_so() -> None:
    def told(*both: float) -> str:
        alone = (1000.0,) * len(both)
        measured = pairs.Line(alone, alone, (2000.0,) * len(both), both)
        return str(pairs.verdict(measured))

    # 5 % better than 1,000 us is 952.4 us.
    assert told(952, 900, 500) == "gain"
    assert told(953, 900, 500) == "differ"
    assert told(953, 1000, 1050) == "same"
    assert told(1051, 2000, math.inf) == "lose"
    assert told(900, 1000, 1100) == "differ"


def test_the_summary_that_is_kept_is_of_these_pairs() -> None:
    made = (ROOT / "evidence" / "pairs.md").read_text("utf-8")
    assert pairs.counts(CATALOG) in made
    runs = len(pairs.wanted(CATALOG))
    assert f"\n{runs} runs at commit " in made
    assert len(made.split()) <= 1000


def test_measuring_goes_on_where_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, load = (pairs.located(CATALOG.files[name]) for name in ("tiny", "tiny_load"))
    runs = [
        pairs.Wanted(design, "tiny", Plan((design,), device, load))
        for design in map(CATALOG.composition, ([], ["PB"]))
    ]
    store = Store(tmp_path / "runs")
    made: list[str] = []
    run = native.run

    def counted(spec: RunSpec, control: native.Control) -> dict[str, Any]:
        made.append(spec.design)
        return run(spec, control)

    monkeypatch.setattr(native, "run", counted)
    assert pairs.measure(runs[:1], store) == ([], True)
    assert pairs.measure(runs, store) == ([], True)
    assert made == [each.design for each in runs]
    kept = pairs.gathered(CATALOG, runs, store)
    stuck = [[run["stuck"] for run in loads["tiny"]] for loads in kept["runs"].values()]
    assert stuck == [[False], [False]]
    assert kept["errors"].keys() == {"+".join(pair.codes) for pair in REFUSED}
    assert not any("experiments/" in why for why in kept["errors"].values())
    # What is played is part of what a result is kept by.
    other = pairs.Wanted(runs[0].design, "tiny", Plan((runs[0].design,), device, "zipf"))
    assert other.key() not in {each.key() for each in runs}


def test_a_run_that_fails_is_told_and_not_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    plan = Plan(("no-such",), pairs.located(CATALOG.files["tiny"]), "zipf")
    faults, finished = pairs.measure([pairs.Wanted("no-such", "tiny", plan)], store)
    assert finished
    assert len(faults) == 1
    assert faults[0].startswith("no-such on tiny, seed 1: unknown design")
    assert not list(tmp_path.rglob("*.json"))
