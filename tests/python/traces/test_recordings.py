"""The recordings that come along are what the document says, and can be compared on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tinytail

ROOT = Path(__file__).parents[3]
ROWS = re.findall(
    r"^\| \[(\w+)\]\(\.\./\.\./(\S+)\) \|[^|]*"
    r"\| ([\d,]+) \| ([\d.]+) % \| ([\d,]+) \| ([\d,]+) MiB \|$",
    (ROOT / "docs/guides/serve.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_every_recording_is_in_the_document() -> None:
    found = {path.name for path in (ROOT / "examples/recordings").glob("*.zst")}
    assert found == {f"{name}.trace.zst" for name, *_ in ROWS}
    assert len(found) == 3


@pytest.mark.parametrize(("name", "file", "requests", "writes", "rate", "footprint"), ROWS)
def test_a_recording_is_what_the_document_says(
    name: str, file: str, requests: str, writes: str, rate: str, footprint: str
) -> None:
    info = tinytail.describe_trace(ROOT / file)
    assert info.requests == int(requests.replace(",", "")), name
    assert info.write_percent == pytest.approx(float(writes), rel=0.01)
    assert info.iops_mean == pytest.approx(float(rate.replace(",", "")), rel=0.01)
    assert info.footprint_mib == pytest.approx(float(footprint.replace(",", "")), rel=0.01)
    comparison = tinytail.compare(
        ["base"],
        device="modern-tlc-2t-small",
        workload=ROOT / file,
        requests=3000,
        no_warm_up=True,
        verify=True,
    )
    result = comparison.result("base")
    assert comparison.workload.input == "real"
    assert result.read.count + result.write.count >= 2900
