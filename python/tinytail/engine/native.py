"""The native module with types: runs, traces, images, and all else that takes time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinytail import _native
from tinytail.engine import arguments, processes
from tinytail.engine.cache import place as cache_place
from tinytail.engine.options import ImageSpec, RunSpec, TraceOptions, Transform
from tinytail.errors import RunError

Control = _native.Control


if TYPE_CHECKING:
    Serving = _native.Serving
    Shared = _native.Shared


def version() -> str:
    """The version of tinytail."""
    return _native.version()


def page_layout(pages_per_block: int, times: list[tuple[int, float]]) -> dict[str, Any]:
    """The layout of the pages of a block that times of reads, or of programs, show.

    Raises:
        ConfigError: they show none, or not which of two.
    """
    found: dict[str, Any] = json.loads(_native.page_layout(pages_per_block, times))
    return found


def identity() -> str:
    """A digest of the native module: engine, devices, designs and workloads."""
    import hashlib

    module = _native.__file__
    if module is None:
        return version()
    with Path(module).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def sources() -> str:
    """Return a digest of the Python files of this package, which `identity` does not cover."""
    import hashlib

    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def describe_trace(
    path: str | os.PathLike[str],
    options: TraceOptions,
    transform: Transform,
    control: Control,
    spooled: str | None,
) -> dict[str, Any]:
    """The characteristics of a trace; see `tinytail.describe_trace`, which checks its arguments."""
    document = json.dumps(_reading(options, transform, spooled))
    info: dict[str, Any] = json.loads(_native.trace_info(os.fspath(path), document, control))
    return info


def check_beginning(path: str, options: TraceOptions, spooled: str) -> None:
    """Makes sure that the first bytes of a trace can be the beginning of one.

    Raises:
        WorkloadError: they cannot; says why.
    """
    _native.trace_beginning(path, json.dumps(_reading(options, Transform(), spooled)))


def convert_trace(
    workload: str,
    output: str,
    options: TraceOptions,
    transform: Transform,
    control: Control,
    spooled: str | None,
    *,
    requests: int | None,
    seed: int,
    force: bool,
    settings: Sequence[str] = (),
) -> dict[str, Any]:
    """Writes a workload as a trace; see `tinytail.convert_trace`, which checks its arguments."""
    document = _reading(options, transform, spooled)
    document |= {"requests": requests, "seed": seed, "force": force}
    if settings:
        document["settings"] = list(settings)
    conversion = json.dumps(document)
    written: dict[str, Any] = json.loads(
        _native.trace_convert(workload, output, conversion, control)
    )
    return written


def _reading(options: TraceOptions, transform: Transform, spooled: str | None) -> dict[str, Any]:
    return {
        "spooled": spooled,
        "trace": options.given(),
        "transform": transform.given(),
    }


def share(specs: Sequence[RunSpec], *, cache: bool = True, holds_last: bool = False) -> Shared:
    """What runs of one command share: each aged drive is made once.

    Args:
        specs: the runs, in the order in which they will be made.
        cache: aged drives are looked for in the user's cache, and kept there.
        holds_last: the last large drive that the cache does not keep stays in memory, as a copy
            for the runs that follow.

    Raises:
        UsageError: the limit of the cache is no number.
    """
    return _native.Shared(
        [json.dumps(spec.given()) for spec in specs],
        cache_place() if cache else None,
        holds_last,
    )


def run(spec: RunSpec, control: Control, shared: Shared | None = None) -> dict[str, Any]:
    """Runs one design, without the interpreter lock; returns the result document.

    A design with policies from files runs in a process of its own.

    Args:
        spec: the run.
        control: its progress and its switch.
        shared: what it shares with other runs; None if it stands alone.

    Raises:
        UsageError: the limit of the cache is no number.
        ConfigError: the device, design and workload do not go together.
        WorkloadError: the workload cannot be read.
        RunError: the run failed.
    """
    shared = share([spec]) if shared is None else shared
    given = spec.given()
    policies = processes.policies_of_files(spec.device, spec.design, spec.settings)
    if policies:
        _seen_from_elsewhere(given)
        text = processes.call("run", json.dumps(given), policies, control, shared)
    else:
        text = _native.run(json.dumps(given), control, shared)
    result: dict[str, Any] = json.loads(text)
    return result


def _seen_from_elsewhere(given: dict[str, Any]) -> None:
    """Gives an open file of this process the name that it has in another one."""
    if given.get("spooled"):
        own = f"/proc/{os.getpid()}/fd/"
        given["spooled"] = given["spooled"].replace("/proc/self/fd/", own)


def image_create(spec: ImageSpec, control: Control) -> dict[str, Any]:
    """Ages a drive and writes its image, without the interpreter lock; returns what it holds.

    Raises:
        ConfigError: a faulty device, design or starting state.
        WorkloadError: the workload cannot be read.
        RunError: the image cannot be written.
    """
    document = json.dumps(spec.given())
    policies = processes.policies_of_files(spec.device, spec.design, spec.settings)
    if policies:
        text = processes.call("image_create", document, policies, control)
    else:
        text = _native.image_create(document, control)
    info: dict[str, Any] = json.loads(text)
    return info


def image_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What an image holds, after a check of all its bytes: its making, its state and its layout.

    Raises:
        UsageError: an argument of the wrong type.
        ConfigError: the file is no image, is of another version, cut off or damaged.
    """
    info: dict[str, Any] = json.loads(_native.image_info(arguments.file(path)))
    return info


def image_fits(path: str, device: str, design: str, settings: Sequence[str] = ()) -> bool:
    """Whether runs of a design on a device may start from an image.

    Raises:
        ConfigError: the file is no image, or the device or the design is faulty.
    """
    return bool(_native.image_fits(path, device, design, list(settings)))


def serving(spec: Mapping[str, Any], control: Control) -> Serving | processes.Serving:
    """A drive that can be served.

    Args:
        spec: what will be served.
        control: its switch.

    Raises:
        RunError: the system is not Linux.
    """
    if not hasattr(_native, "Serving"):
        raise RunError("drives are served on Linux alone")
    policies = processes.policies_of_files(spec["device"], spec["design"], spec["settings"])
    return processes.Serving(policies, control) if policies else _native.Serving(control)


@dataclass(frozen=True, slots=True)
class PowerCase:
    """A design whose power is cut, on a device.

    `bit_errors` gives the device some, if it says nothing of them.
    """

    device: str
    design: str
    bit_errors: bool = False


def power_cases() -> tuple[PowerCase, ...]:
    """Every design and overlay on a small drive of its paper."""
    return tuple(PowerCase(**case) for case in json.loads(_native.power_cases()))


def power_cut(
    case: PowerCase, *, cuts: int, seed: int, control: Control, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Cuts the power of a drive at random events, without the interpreter lock.

    Raises:
        ConfigError: a faulty device or design, or ones that do not go together.
        RunError: the drive could not recover, or requests stopped completing.
    """
    given = {"cuts": cuts, "seed": seed, "settings": list(settings)}
    spec = json.dumps(asdict(case) | given)
    policies = processes.policies_of_files(case.device, case.design, settings)
    if policies:
        text = processes.call("power_cut", spec, policies, control)
    else:
        text = _native.power_cut(spec, control)
    result: dict[str, Any] = json.loads(text)
    return result


def bench_cases() -> tuple[list[str], list[str]]:
    """The names of the bench cases: those that are run if none is named, and the others."""
    default, by_name = json.loads(_native.bench_cases())
    return default, by_name


def bench(case: str, control: Control) -> dict[str, Any]:
    """Runs one bench case, without the interpreter lock; returns its document.

    Raises:
        RunError: the case failed.
    """
    result: dict[str, Any] = json.loads(_native.bench(case, control))
    return result
