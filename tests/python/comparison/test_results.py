"""The results: their figures, their document and its published schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import tinytail
from fake_native import FakeNative, result
from tinytail.engine.results import AllRequests, Improvement

Change = Callable[[dict[str, Any]], object]
SCHEMA = Draft202012Validator(tinytail.read_schema("compare"))


def document(native: FakeNative, **changes: Any) -> dict[str, Any]:
    native.runs = {"base": lambda spec, _: result(spec["design"], **changes)}
    comparison = tinytail.compare(["base", "ttflash"], device="ttflash-256g", workload="dtrs")
    parsed: dict[str, Any] = json.loads(comparison.to_json())
    return parsed


def test_the_schema_is_valid() -> None:
    SCHEMA.check_schema(SCHEMA.schema)


def test_a_comparison_follows_the_schema(native: FakeNative) -> None:
    parsed = document(native)
    SCHEMA.validate(parsed)
    assert parsed["device"] == "ttflash-256g"
    assert parsed["workload"]["input"] == "real"
    assert parsed["state"]["name"] == "steady"
    assert parsed["results"][0] == result("base")


def test_a_run_without_reads_follows_the_schema(native: FakeNative) -> None:
    nothing = {name: None for name in result()["read"] if name != "count"} | {"count": 0}
    SCHEMA.validate(
        document(native, read=nothing, gc_blocked_read_percent=0.0, write_amplification=None)
    )


def test_improvements_are_taken_to_the_reference(native: FakeNative) -> None:
    def affected(reads_us: float, writes_us: float | None) -> dict[str, Any]:
        of = {"count": 7, "percent": 1.0}
        return {
            "percent": 2.0,
            "reads": of | {"mean_us": reads_us},
            "writes": of | {"mean_us": writes_us},
        }

    native.runs = {
        "base": lambda *_: result("base", gc_affected=affected(200.0, 400.0)),
        "ttflash": lambda *_: result("ttflash", gc_affected=affected(50.0, 500.0)),
        "design-a": lambda *_: result("design-a", gc_affected=affected(200.0, None)),
    }
    comparison = tinytail.compare(
        ["ttflash", "base", "design-a"],
        device="ttflash-256g",
        workload="dtrs",
        reference="base",
    )
    assert comparison.improvements() == [
        Improvement("ttflash", 75.0, -25.0),
        Improvement("design-a", 0.0, None),
    ]
    SCHEMA.validate(json.loads(comparison.to_json()))


def drop(*path: str | int) -> Change:
    def change(parsed: dict[str, Any]) -> None:
        place: Any = parsed
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def put(value: Any, *path: str | int) -> Change:
    def change(parsed: dict[str, Any]) -> None:
        place: Any = parsed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


TOP_KEYS = ["version", "command", "device", "workload", "state", "seed", "partial", "reference"]


@pytest.mark.parametrize(
    "change",
    [
        *(drop(key) for key in ["schema_version", *TOP_KEYS, "results", "errors"]),
        *(drop("results", 0, key) for key in result()),
        *(drop("results", 0, kind, key) for kind in ("read", "write") for key in result()["read"]),
        *(drop("results", 0, "attribution", group) for group in result()["attribution"]),
        drop("results", 0, "attribution", "slowest_reads", "share_percent"),
        put(4, "schema_version"),
        put("1", "seed"),
        put("guessed", "workload", "input"),
        put("140", "results", 0, "read", "p50_us"),
        put(1.0, "results", 0, "read", "p50_ms"),
        put(-1, "results", 0, "erases"),
        put("0x1234", "results", 0, "event_hash"),
        put(1, "results", 0, "techniques", "victim/greedy: guessed"),
        put(0.5, "results", 0, "attribution", "all_reads", "ns", "array"),
        put([{"design": "base", "message": "no"}], "errors"),
    ],
)
def test_another_document_does_not_follow_the_schema(native: FakeNative, change: Change) -> None:
    parsed = document(native)
    change(parsed)
    assert not SCHEMA.is_valid(parsed)


def test_causes_are_ranked_with_shares_that_add_up() -> None:
    group = AllRequests(4, 0, 0, {"array": 1_000, "die_gc_read": 7_000, "command": 0})
    ranked = group.ranked()
    assert [share.cause for share in ranked] == ["die_gc_read", "array"]
    assert ranked[0].percent == 87.5
    assert ranked[0].mean_us == 1.75
    assert group.mean_us == 2.0


def test_a_group_without_requests_has_no_causes() -> None:
    empty = AllRequests(0, 0, 0, {"array": 0})
    assert empty.ranked() == []
    assert empty.mean_us is None


def test_figures_of_findings_may_be_below_0(native: FakeNative) -> None:
    borrowed = {"code": "borrowed", "message": "m", "figures": {"drift_pages": -501.0}}
    SCHEMA.validate(document(native, findings=[borrowed]))
