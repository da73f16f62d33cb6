"""More spare space never makes a drive worse."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

import tinytail
from page_map import page_map
from soak import sample
from tinytail.engine import catalog

DESIGNS = [item.name for item in catalog.list_designs() if item.kind == "design"]
OVER_PROVISIONING = range(12, 98, 5)
CASES = list(product(DESIGNS, ["ttflash-small", "mqsim-default-small"]))


def played(
    design: str, device: str, over_provisioning: int, requests: int
) -> tinytail.DesignResult:
    """Return the result of a full drive."""
    return tinytail.compare(
        [design],
        device=device,
        workload="randrw70-qd16",
        settings={"host.over_provisioning_percent": over_provisioning},
        state={"live_percent": 100},
        requests=requests,
    ).results[0]


@pytest.mark.soak
@pytest.mark.parametrize(("design", "device"), sample(CASES, 3))
def test_write_amplification_does_not_grow_with_spare_space(design: str, device: str) -> None:
    found = {
        over_provisioning: played(design, device, over_provisioning, 20_000).write_amplification
        for over_provisioning in OVER_PROVISIONING
    }
    assert all(found.values())
    for (less, before), (more, after) in pairwise(found.items()):
        assert (after or 0) <= 1.03 * (before or 0), f"{less} %, {more} %: {found}"


def test_write_amplification_is_that_of_a_page_map_at_the_threshold_that_is_used() -> None:
    for over_provisioning in (20, 55, 60, 80):
        result = played("base", "ttflash-small", over_provisioning, 40_000)
        (soft,) = (item.used for item in result.adjusted if item.key == "soft_free_percent")
        threshold = round(64 * 64 * float(soft) / 100)
        judged = page_map(64, 64, 100 / (100 + over_provisioning), threshold)
        expected = pytest.approx(judged.write_amplification, rel=0.03)
        assert result.write_amplification == expected, over_provisioning


@pytest.mark.parametrize("device", ["ttflash-small", "ttflash-48g", "ttflash-256g"])
def test_designs_keep_their_numbers_on_the_drives_of_their_paper(device: str) -> None:
    fits = catalog.fits(device, ["base", "base-rain", "pb", "pb-gtr", "ttflash"])
    assert [item.adjusted for item in fits] == [()] * 5
