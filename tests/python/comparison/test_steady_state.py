"""Runs begin in the steady state of designs with parity, however a drive is aged."""

from __future__ import annotations

from functools import cache
from statistics import fmean
from typing import Any

import pytest

import tinytail
from page_map import page_map
from soak import SOAK
from tinytail.engine import catalog

REQUESTS = 40_000
SEEDS = 20 if SOAK else 8


def with_parity() -> list[tuple[str, str]]:
    """Return each design and overlay that has stripes, with its small drive."""
    cases = []
    for item in catalog.list_designs():
        names = (
            [item.name]
            if item.kind == "design"
            else [f"base+{item.name}", f"base-rain+{item.name}"]
        )
        for name in names:
            device = "hpdc-1t-rain-small" if name.startswith("hpdc") else "ttflash-small"
            (fit,) = catalog.fits(device, [name])
            if fit.refusal is None:
                if catalog.design_value(name, "place", "policy") == "rain":
                    cases.append((name, device))
                break
    return cases


CASES = with_parity()


def state_of(result: tinytail.DesignResult) -> tinytail.types.State:
    """Return the state in which a run began."""
    assert result.state is not None
    return result.state


def played(design: str, device: str, requests: int, **given: Any) -> tinytail.DesignResult:
    """Return the result of random reads and writes of 4 KiB."""
    return tinytail.compare(
        [design], device=device, workload="randrw70-qd16", requests=requests, **given
    ).results[0]


@cache
def later(design: str, device: str) -> tuple[float, float]:
    """Return write amplification and mean read, in µs, of requests 400,000 to 800,000."""
    figures = [
        (result.write_amplification or 0.0, result.figure("read.mean_us") or 0.0)
        for result in (played(design, device, requests) for requests in (400_000, 800_000))
    ]
    (first, first_us), (both, both_us) = figures
    return 2 * both - first, 2 * both_us - first_us


def test_designs_and_overlays_with_parity_are_found() -> None:
    names = [name for name, _ in CASES]
    assert {"base-rain", "pb", "pb-gtr", "ttflash", "hpdc-ttflash", "base+rain"} <= set(names)
    assert {"base-rain+gtr", "base-rain+gtf", "base-rain+rgc", "base-rain+f-rgc"} <= set(names)


@pytest.mark.soak
@pytest.mark.parametrize(("design", "device"), CASES if SOAK else [("ttflash", "ttflash-small")])
def test_a_run_begins_as_it_goes_on_later(design: str, device: str) -> None:
    amplification, mean_us = later(design, device)
    for ageing in ("overwrite", "steady"):
        begins = played(design, device, REQUESTS, state={"ageing": ageing})
        assert begins.write_amplification == pytest.approx(amplification, rel=0.02), ageing
        assert state_of(begins).steady in (None, True), ageing
    runs = [played(design, device, REQUESTS, seed=seed) for seed in range(1, SEEDS + 1)]
    assert fmean(run.figure("read.mean_us") or 0.0 for run in runs) == pytest.approx(
        mean_us, rel=0.03
    )


@pytest.mark.parametrize("ageing", ["overwrite", "steady"])
def test_parity_is_rewritten_with_each_page_where_single_pages_are_written(ageing: str) -> None:
    # Rotation would keep GC waiting, below its threshold.
    found = played("base-rain", "ttflash-small", REQUESTS, state={"ageing": ageing})
    # 40 % of the pages are the host's and live, an eighth of all live ones is parity. GC begins
    # at 30 % erased.
    judged = page_map(64, 64, 0.4 * 8 / 7, 1229, often_share=1 / 8, often_writes=1 / 2)
    assert found.write_amplification == pytest.approx(2 * judged.write_amplification, rel=0.02)
    assert state_of(found).parity_percent == 100


def test_parity_is_rewritten_as_seldom_as_data_where_whole_stripes_are_written() -> None:
    settings = {"synthetic.block_bytes": 7 * 4096}
    found = played("ttflash", "ttflash-small", REQUESTS // 4, settings=settings)
    judged = page_map(64, 64, 0.4 * 8 / 7, 1229)
    assert found.write_amplification == pytest.approx(8 / 7 * judged.write_amplification, rel=0.03)


def test_a_stated_share_of_parity_is_used() -> None:
    results = [
        played("ttflash", "ttflash-small", 1000, state={"parity_percent": percent})
        for percent in (15, 100)
    ]
    judged = [
        page_map(64, 64, 0.4 * 8 / 7, 1229, often_share=1 / 8, often_writes=often)
        for often in (1 / 8, 1 / 2)
    ]
    for result, percent, page in zip(results, (15, 100), judged, strict=True):
        assert state_of(result).parity_percent == percent
        assert state_of(result).victim_valid_percent == pytest.approx(
            100 * page.victims_valid, abs=2
        )
