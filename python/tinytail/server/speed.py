"""The bench case `serve`: how fast the server is without a model, and how late with one."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tinytail.errors import RunError
from tinytail.server.trial import serving

NAME = "serve"

_SECONDS = 5
_DRIVE = ("--device", "ttflash-small", "--design", "base", "--size", "256M")


def lacks() -> str | None:
    """What is missing on this machine for the case; None if nothing is."""
    fio = shutil.which("fio")
    if fio is None:
        return "fio is not installed"
    engines = subprocess.run([fio, "--enghelp"], capture_output=True, text=True, check=False)
    return None if "nbd" in engines.stdout.split() else "this fio has no engine for NBD"


def measure() -> dict[str, Any]:
    """Random reads of 4 KB by fio: as fast as they go, and from a drive with its delays.

    Raises:
        RunError: fio is missing, or something failed.
    """
    missing = lacks()
    if missing is not None:
        raise RunError(f'the case "{NAME}" needs fio with its engine for NBD: {missing}')
    iops, _ = _run(16, "--no-delay")
    late = {}
    for depth in (1, 16):
        _, summary = _run(depth)
        late[depth] = summary["lateness"]
    verdicts = ", ".join(
        f"{late[depth]['all']['late_percent']:.2f} % too late at depth {depth}" for depth in late
    )
    return {
        "name": NAME,
        "iops": iops,
        "late_us_depth_1": late[1]["all"]["p50_us"],
        "late_us_depth_16": late[16]["all"]["p50_us"],
        "detail": f"base on ttflash-small; fio's NBD engine, random reads of 4 KB; {verdicts}",
    }


def _run(depth: int, *words: str) -> tuple[float, dict[str, Any]]:
    with serving([*_DRIVE, *words]) as server:
        iops = _fio(server.folder, f"nbd+unix:///?socket={server.socket}", depth)
        return iops, server.stop()


def _fio(folder: Path, uri: str, depth: int) -> float:
    words = ["--name=bench", "--ioengine=nbd", f"--uri={uri}", "--rw=randread", "--bs=4k"]
    words += ["--size=256M", f"--iodepth={depth}", f"--runtime={_SECONDS}", "--time_based"]
    words += ["--randseed=1", "--output-format=json"]
    done = subprocess.run(["fio", *words], capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode != 0:
        raise RunError(f"fio failed: {done.stderr.strip() or done.stdout.strip()}")
    # Notes of fio may stand before its document.
    document = json.loads(done.stdout[done.stdout.index("{") :])
    return float(document["jobs"][0]["read"]["iops"])
