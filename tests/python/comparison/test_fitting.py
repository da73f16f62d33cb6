"""Designs on drives that are not their papers': what follows the drive, and what is refused."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tinytail
from tinytail.cli.main import main
from tinytail.engine import catalog
from tinytail.errors import ConfigError, WorkloadError

SMALL = "modern-tlc-2t-small"


def one_channel(folder: Path) -> str:
    text = Path(__file__, "../../../../devices/ttflash-small.toml").resolve().read_text("utf-8")
    path = folder / "one-channel.toml"
    path.write_text(text.replace("channels = { value = 8", "channels = { value = 1"), "utf-8")
    return str(path)


def test_what_follows_the_drive_stands_in_the_result_and_in_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["compare", "base", "--device", SMALL, "--workload", "randrw70-qd16"]
    assert main([*words, "--requests", "200"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "soft_free_percent 30" in shown
    found = tinytail.compare(
        ["base"], device=SMALL, workload="randrw70-qd16", requests=200
    ).results[0]
    codes = [item.code for item in found.adjusted]
    assert codes == ["gc_thresholds", "gc_thresholds", "gc_gate", "gc_gate"]
    assert "start quiet_channel → immediate, one_per_channel true → false" in shown
    soft = found.adjusted[0]
    assert (soft.section, soft.key, soft.wanted) == ("gc_trigger", "soft_free_percent", 30.0)
    assert isinstance(soft.used, float)
    assert str(soft.used) in soft.message


def test_strict_refuses_what_would_follow_the_drive() -> None:
    with pytest.raises(ConfigError, match=r"base does not run on .* as its file says: .*30"):
        tinytail.compare(["base"], device=SMALL, workload="randrw70-qd16", requests=9, strict=True)
    own = tinytail.compare(
        ["base"], device="ttflash-small", workload="randrw70-qd16", requests=99, strict=True
    )
    assert own.results[0].adjusted == ()


def remedy(error: str) -> list[str]:
    """The words of the command that a refusal gives."""
    _, command = error.split("This runs: ")
    return shlex.split(command)[1:]


def test_all_refusals_come_at_once_with_values_under_which_all_designs_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = one_channel(tmp_path)
    words = ["--device", device, "--workload", "randrw70-qd16", "--requests", "50"]
    designs = ["ttflash", "base", "base+gtr", "base+no-gc"]
    assert main(["compare", *designs, *words, "--reference", "ttflash"]) == 2
    *refusals, runs = capsys.readouterr().err.splitlines()
    assert len(refusals) == 2, refusals
    run = remedy(runs)
    # Reads around GC need stripes on any drive, and stripes need channels.
    assert run[:6] == ["compare", "ttflash", "base", "base+rain+gtr", "base+no-gc", "--device"]
    assert run[6] == device
    assert run[-4:] == ["--set", "geometry.channels=2", "--set", "geometry.chips_per_channel=4"]
    assert main(run) == 0, run


def test_designs_that_no_values_suit_together_have_a_command_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = catalog.fits

    def one_alone(device: str, designs: Sequence[str], **given: Any) -> tuple[catalog.Fit, ...]:
        if given["settings"] and len(designs) > 1:
            raise ConfigError("values that contradict each other")
        return fits(device, designs, **given)

    monkeypatch.setattr(catalog, "fits", one_alone)
    words = ["--device", "ttflash-small", "--workload", "randrw70-qd16", "--requests", "50"]
    assert main(["compare", "t-es", "hpdc-baseline+gc-par", *words]) == 2
    for line in capsys.readouterr().err.splitlines():
        assert main(remedy(line)) == 0, line


def test_a_remedy_keeps_designs_drive_and_load(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--device", "ttflash-small", "--workload", "randrw70-qd16", "--requests", "50"]
    assert main(["compare", "base", "ttflash", "t-es", *words]) == 2
    refusal, runs = capsys.readouterr().err.splitlines()
    assert "t-es can't run on ttflash-small" in refusal
    run = remedy(runs)
    assert run[:4] == ["compare", "base", "ttflash", "t-es"]
    assert run[4:8] == words[:4]
    assert run[-3:] == ["timing.erase_steps=2", "--set", "timing.erase_step_ns=1000000"]
    assert main(run) == 0, run


def test_a_remedy_takes_the_place_of_a_value_that_was_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--device", "hpdc-1t-small", "--workload", "randrw70-qd16", "--requests", "50"]
    given = ["--set", "device.ram.buffer_kib=16", "--set", "synthetic.queue_depth=4"]
    assert main(["compare", "ttflash", *words, *given]) == 2
    run = remedy(capsys.readouterr().err)
    assert run[-4:] == ["--set", "ram.buffer_kib=2048", "--set", "synthetic.queue_depth=4"]
    assert main(run) == 0, run


def test_of_whole_drives_and_designs_only_parity_without_a_buffer_is_refused() -> None:
    designs = [entry.name for entry in tinytail.list_designs() if entry.kind == "design"]
    whole = [entry.name for entry in tinytail.list_devices() if not entry.name.endswith("-small")]
    refused: dict[tuple[str, str], catalog.Refusal] = {}
    for device in whole:
        started = time.process_time()
        found = catalog.fits(device, designs)
        assert time.process_time() - started < 5
        refused |= {(fit.design, device): fit.refusal for fit in found if fit.refusal is not None}
    assert len(refused) == 30
    for (design, device), refusal in refused.items():
        assert "writes whole stripes" in refusal.message
        assert refusal.remedy is not None
        assert refusal.remedy.design == design
        (word,) = refusal.remedy.settings
        assert word.startswith("ram.buffer_kib="), device


def test_a_state_that_is_laid_out_needs_no_other_drive() -> None:
    fits = catalog.fits(
        "lowlatency-240g",
        ["erase-baseline", "erase-baseline+es"],
        state={"ageing": "statistical"},
    )
    assert [fit.refusal for fit in fits] == [None, None]


def test_an_overlay_without_a_design_is_not_the_drives_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--device", "ttflash-small", "--workload", "randrw70-qd16", "--requests", "50"]
    assert main(["compare", "no-gc", *words]) == 2
    error = capsys.readouterr().err
    assert "can't run on" not in error
    assert "This runs: tinytail compare base+no-gc" in error
    assert main(["designs", "t-es"]) == 0
    assert "\nalone: erase-baseline+t-es\n" in capsys.readouterr().out


def test_a_value_for_one_design_alone_goes_into_an_overlay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--device", "ttflash-small", "--workload", "randrw70-qd16", "--requests", "50"]
    given = ["--set", "place.stripe_width=4"]
    assert main(["compare", "base", "ttflash", *words, *given]) == 2
    error, pasted, then = capsys.readouterr().err.splitlines()
    assert "It is base that has no such value" in error
    subprocess.run(pasted, shell=True, check=True)
    design = then.removeprefix("The design is then ")
    assert main(["compare", "base", design, *words]) == 0
    rows = [(row.section, row.key, row.value) for row in catalog.describe_design(design).settings]
    assert ("place", "stripe_width", "4") in rows


def test_without_a_design_the_devices_own_one_runs() -> None:
    for device in ("hpdc-1t-small", SMALL):
        own = catalog.device_document(device)["defaults"]["design"]
        found = tinytail.compare(device=device, workload="randrw70-qd16", requests=99)
        assert [result.design for result in found.results] == [own]
    for entry in tinytail.list_devices():
        assert tinytail.describe_design(catalog.device_document(entry.name)["defaults"]["design"])


def test_designs_of_a_comparison_use_the_same_addresses() -> None:
    alone = tinytail.compare(["base"], device=SMALL, workload="randrw70-qd16", requests=300)
    both = tinytail.compare(
        ["base", "ttflash"], device=SMALL, workload="randrw70-qd16", requests=300
    )
    beside = tinytail.compare(
        ["base"], device=SMALL, workload="randrw70-qd16", requests=300, beside=["ttflash"]
    )
    assert "parity_capacity" in [item.code for item in both.results[1].adjusted]
    assert both.results[0].event_hash == beside.results[0].event_hash
    assert both.results[0].event_hash != alone.results[0].event_hash


def test_a_trace_beyond_a_reduced_capacity_is_refused_with_the_reason(tmp_path: Path) -> None:
    fits = {fit.design: fit.logical_bytes for fit in catalog.fits(SMALL, ["base", "ttflash"])}
    offset = fits["ttflash"]
    assert offset < fits["base"]
    trace = tmp_path / "trace.txt"
    trace.write_text(f"0 0 {offset // 512} 8 0\n1 0 0 8 1\n", "utf-8")
    with pytest.raises(WorkloadError, match="one page in 8 is parity"):
        tinytail.compare(["ttflash"], device=SMALL, workload=trace, time_unit="us")
    assert tinytail.compare(["base"], device=SMALL, workload=trace, time_unit="us").results
