"""Values that are given beside files: `--set section.key=value`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tinytail
from tinytail.cli.codes import BAD_INPUT, OK
from tinytail.cli.main import main
from tinytail.comparison.plan import Plan
from tinytail.comparison.read_folder import open_results

COMMON = ["--device", "ttflash-small", "--workload", "randrw70-qd16", "--requests", "400"]

DRIVE = ["--device", "ttflash-small", "--design", "base"]


def listed(document: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    """The values that options gave: kind, name, key and value."""
    return {
        (item["kind"], item["name"], f"{row['section']}.{row['key']}", row["value"])
        for item in document["configuration"]
        for row in item["settings"]
        if row["source"] == "--set"
    }


def test_a_value_goes_for_every_design_and_stands_in_the_results(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    values = ["gc.write_points=2", "host.capacity_gb=0.75", "synthetic.read_share=0.5"]
    words = [word for value in values for word in ("--set", value)]
    assert main(["compare", "base", "base+no-gc", *COMMON, *words, "--json", str(file)]) == OK
    document = json.loads(file.read_text("utf-8"))
    assert listed(document) == {
        ("design", "base", "gc.write_points", "2"),
        ("design", "base+no-gc", "gc.write_points", "2"),
        ("device", "ttflash-small", "host.capacity_gb", "0.75"),
        ("workload", "randrw70-qd16", "synthetic.read_share", "0.5"),
    }
    assert all(f"--set {value}" in document["command"] for value in values)
    assert 150 < document["results"][0]["read"]["count"] < 250


def test_a_value_given_beside_a_file_does_what_it_does_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*words: str) -> str:
        assert main(list(words)) == OK
        return capsys.readouterr().out

    given = {"host.capacity_gb": 0.75, "gc.copy": "controller", "synthetic.read_share": 0.5}
    words = ["--set", "host.capacity_gb=0.75", "--set", "gc.copy=controller"]
    words += ["--set", "synthetic.read_share=0.5"]
    files = {}
    for kind, name in (("device", "ttflash-small"), ("design", "base"), ("workload", "zipf")):
        files[kind] = str(tmp_path / f"{kind}.toml")
        Path(files[kind]).write_text(printed(f"{kind}s", name, "--toml", *words), "utf-8")
        assert "a valid " in printed("config", "check", files[kind])
    written = tinytail.compare(
        [files["design"]], device=files["device"], workload=files["workload"], requests=300
    )
    beside = tinytail.compare(
        ["base"], device="ttflash-small", workload="zipf", requests=300, settings=given
    )
    plain = tinytail.compare(["base"], device="ttflash-small", workload="zipf", requests=300)
    hashes = [found.results[0].event_hash for found in (written, beside, plain)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("gc.write_pionts=4", "[gc] `write_pionts` is unknown (did you mean `write_points`?)"),
        ("gcc.write_points=4", "[gcc] is unknown (did you mean `gc`?); a device has "),
        ("device.gc.write_points=4", "[gc] is unknown; a device has "),
        ("geometry.channels=8.0", "[geometry] `channels` is 8.0; allowed: a whole number"),
        ("geometry.channels=0", "[geometry] `channels` is 0; allowed: 1 to 256"),
        ("place.stripe_width=4", '`stripe_width` is unknown; allowed with `policy` = "static"'),
        ("synthetic.read_shar=1", "[synthetic] `read_shar` is unknown"),
        ("synthetic.read_share=2", "[synthetic] `read_share` is 2; allowed: a share from 0 to 1"),
        ("write_points=4", "a value is given as section.key=value"),
        ("timing.read_ns=[1", ""),
    ],
)
def test_a_faulty_value_is_refused_as_in_a_file_with_the_option_as_its_place(
    value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "base", *COMMON, "--set", value]) == BAD_INPUT
    error = capsys.readouterr().err
    assert error.startswith(f"error: --set {value}: ")
    assert message in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["certify", "act", "--set", "synthetic.read_share=0.5"], "the workload is ACT's load"),
        (["verify", "power-cut", "--set", "transform.repeat=2"], "have a host of their own"),
        (
            ["serve", *DRIVE, "--nbd", "unix:/socket", "--set", "synthetic.read_share=0.5"],
            "clients in place of a workload",
        ),
        (
            ["image", "create", "x.image", *DRIVE, "--set", "synthetic.read_share=0.5"],
            "no workload is named",
        ),
        (["devices", "--set", "host.queue_depth=4"], "name a device"),
        (["compare", "base", *COMMON, *["--set", "gc.ideal=true"] * 2], "gives the same value"),
        (
            ["compare", "base", *COMMON[:3], "examples/tiny.trace", "--set", "trace.ops=x=y"],
            "is a trace without a workload file",
        ),
    ],
)
def test_a_value_of_nothing_that_is_used_is_refused(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    assert main(words) == BAD_INPUT
    assert message in capsys.readouterr().err


def test_kept_results_are_repeated_with_the_values(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    words = ["--set", "gc.write_points=2", "--out", str(out)]
    assert main(["compare", "base", *COMMON, *words]) == OK
    kept = open_results(str(out))
    assert kept.plan().settings == ("gc.write_points=2",)
    assert kept.run_spec(kept.designs[0]).settings == ("gc.write_points=2",)
    found = tinytail.explain_without(out, without=["gc"])
    assert found.changes


def test_an_image_is_of_the_drive_with_the_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = tmp_path / "drive.image"
    values = {"host.capacity_gb": 0.75, "state.live_percent": 30}
    made = tinytail.create_image(image, device="ttflash-small", design="base", settings=values)
    assert made.state["live_percent"] == 30
    beside = [*COMMON, "--image", str(image)]
    assert main(["compare", "base", *beside]) == BAD_INPUT
    assert "does not fit" in capsys.readouterr().err
    assert main(["compare", "base", *beside, "--set", "host.capacity_gb=0.75"]) == OK
    assert main(["compare", "base", *beside, "--set", "state.live_percent=30"]) == BAD_INPUT
    assert "an image has its own state" in capsys.readouterr().err


def test_python_takes_values_or_words() -> None:
    plan = Plan(("base",), "ttflash-small", "zipf", settings=("gc.write_points=2",))
    plan.check()
    described = tinytail.describe_design("ttflash", settings=["place.stripe_width=4"])
    assert ("place", "stripe_width", "4", "--set") in {
        (row.section, row.key, row.value, row.source) for row in described.settings
    }
    with pytest.raises(tinytail.UsageError, match="settings must map names to values"):
        tinytail.compare(["base"], device="d", workload="w", settings=7)  # type: ignore[arg-type]
    with pytest.raises(tinytail.UsageError, match="must be a number, text, True, False"):
        tinytail.compare(["base"], device="d", workload="w", settings={"gc.write_points": None})
