"""A request of one page for each plane of an idle die costs one multi-plane command."""

from __future__ import annotations

from typing import Any

import pytest

import tinytail

# Of mqsim-default, in µs: a command, the transfer of a page to or from its die, and over the link.
COMMAND, TRANSFER, LINK = 0.290, 24.576, 2.048
ARRAY = {"read": 75.0, "write": 750.0}


def played(kind: str, planes: int, pages: int, **settings: Any) -> tinytail.DesignResult:
    """Return the result of sequential requests of so many pages, one at a time, on one die."""
    workload = {
        "summary": "one request at a time",
        "synthetic": {
            "queue_depth": 1,
            "block_bytes": 8192 * pages,
            "read_share": 1.0 if kind == "read" else 0.0,
            "addresses": "sequential",
            "streams": 1,
            "requests": 200,
        },
    }
    die = {
        "geometry.channels": 1,
        "geometry.chips_per_channel": 1,
        "geometry.dies_per_chip": 1,
        "geometry.planes_per_die": planes,
        "geometry.blocks_per_plane": 128,
        "host.over_provisioning_percent": 100,
        "ram.buffer_kib": 0,
    }
    return tinytail.compare(
        ["hpdc-baseline"],
        device="mqsim-default-small",
        workload=workload,
        settings=die | settings,
        state={"live_percent": 50, "overwrite_percent": 0},
        no_warm_up=True,
    ).results[0]


def median(result: tinytail.DesignResult, kind: str) -> float:
    """Return the median latency of a kind of requests, in µs."""
    return result.figure(f"{kind}.p50_us") or 0.0


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("planes", [1, 2, 4])
def test_pages_of_one_request_for_all_planes_share_one_command(kind: str, planes: int) -> None:
    # Each plane has its part of the command and its data, one after another, and all have one array
    # time. The link carries a page while the channel carries another: one page of it is waited for.
    expected = planes * (COMMAND + TRANSFER) + ARRAY[kind] + LINK
    assert median(played(kind, planes, planes), kind) == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize("kind", ["read", "write"])
def test_flash_without_multi_plane_commands_takes_one_page_after_the_other(kind: str) -> None:
    one_by_one = {
        "flash.multi_plane_read": False,
        "flash.multi_plane_program": False,
        "pairing.policy": "none",
    }
    expected = 2 * (COMMAND + ARRAY[kind] + TRANSFER) + LINK
    result = played(kind, 2, 2, **one_by_one)
    assert median(result, kind) == pytest.approx(expected, abs=0.2)


def test_a_page_that_crosses_the_link_too_late_has_a_command_of_its_own() -> None:
    # 100 MB/s: a page takes 81.92 µs, and the channel has taken the first to the die long before.
    link = 81.92
    expected = link + 2 * (COMMAND + ARRAY["write"] + TRANSFER)
    result = played("write", 2, 2, **{"host.link_mb_per_s": 100})
    assert median(result, "write") == pytest.approx(expected, abs=0.2)
