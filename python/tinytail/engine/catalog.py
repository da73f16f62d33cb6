"""What there is by name: devices, designs and workloads, each in full, and what suits what."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from tinytail import _native
from tinytail.engine import arguments
from tinytail.engine.results import Adjustment, Setting

StateValue = float | str


Kind = Literal["device", "design", "workload"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list of devices, designs or workloads.

    `kind` says of a design whether it stands alone (`"design"`) or changes another one that it is
    added to with a plus sign (`"overlay"`); it is None for devices and workloads.
    """

    name: str
    summary: str
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """A device, design or workload in full.

    `derived` are the values that follow from `settings`, as pairs of name and value. `alone` is the
    composition for which an overlay stands where no design is before it; None where it may not.
    """

    name: str
    summary: str
    settings: tuple[Setting, ...]
    derived: tuple[tuple[str, str], ...]
    alone: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A configuration file that is right.

    `findings` are values that no known drive has, each in a sentence with its line. They are no
    faults: runs take them as they are.
    """

    kind: Literal["device", "design", "overlay", "workload"]
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A characteristic that a stand-in claims to have, beside the one that it has.

    The claim holds if `found` is within `tolerance_percent` of `value`.
    """

    name: str
    value: float
    tolerance_percent: float
    found: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """What runs on a device instead: a composition, with all values that are to be given."""

    design: str
    settings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a design can't run on a device, and what can, if anything is known.

    `of_drive` is false if the design can run on no drive; then the remedy is another, near to it.
    """

    message: str
    of_drive: bool
    remedy: Remedy | None


@dataclass(frozen=True, slots=True)
class Fit:
    """How a design suits a device: what of it follows the drive, and the bytes a host can use.

    `refusal` says why it can't run there, if it can't.
    """

    design: str
    adjusted: tuple[Adjustment, ...]
    logical_bytes: int
    refusal: Refusal | None


def _refusal(item: dict[str, Any]) -> Refusal:
    remedy = item["remedy"]
    if remedy is not None:
        remedy = Remedy(remedy["design"], tuple(remedy["settings"]))
    return Refusal(item["message"], item["of_drive"], remedy)


def _text(value: Any) -> str:
    """A configuration value as it would stand in the configuration file."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _entries(document: str) -> list[Entry]:
    return [
        Entry(name=item["name"], summary=item["summary"], kind=item.get("kind"))
        for item in json.loads(document)
    ]


_Read = Callable[[str, list[str]], str]


@lru_cache(maxsize=256)
def _built_in(read: _Read, name: str, settings: tuple[str, ...]) -> str:
    return read(name, list(settings))


def _document(read: _Read, name: str, settings: Sequence[str] = ()) -> str:
    """What the native module says of a device or a design.

    What is built in stays as it is; files may change, and their names end in `.toml`.
    """
    if ".toml" in name:
        return read(name, list(settings))
    return _built_in(read, name, tuple(settings))


@lru_cache(maxsize=256)
def _description(document: str) -> Description:
    item = json.loads(document)
    return Description(
        name=item["name"],
        summary=item["summary"],
        settings=tuple(
            Setting(row["section"], row["key"], _text(row["value"]), row["source"])
            for row in item["rows"]
        ),
        derived=tuple((row["key"], _text(row["value"])) for row in item.get("derived", [])),
        alone=item.get("alone"),
    )


def list_devices() -> list[Entry]:
    """The drives that come with tinytail."""
    return _entries(_native.devices())


def describe_device(name: str | os.PathLike[str], *, settings: Sequence[str] = ()) -> Description:
    """A drive in full, given by name or by the path of its file.

    Args:
        name: its name or path.
        settings: values that replace its own, such as `"host.queue_depth=64"`.

    Raises:
        ConfigError: there is no such drive, or its file or a value is faulty.
    """
    return _description(_document(_native.device, arguments.name("device", name), settings))


def device_document(name: str, settings: Sequence[str] = ()) -> dict[str, Any]:
    """A drive as it was read, by section and key.

    All values have their defaults, and `timing.transfer_page_ns` stands there however the file
    gives it. `derived` holds what follows from them.

    Raises:
        ConfigError: there is no such drive, or its file or a value is faulty.
    """
    document: dict[str, Any] = json.loads(_document(_native.device_document, name, settings))
    return document


def design_value(name: str, section: str, key: str) -> Any:
    """One value of a design; None if the design does not have it.

    Raises:
        ConfigError: there is no such design.
    """
    for row in json.loads(_document(_native.design, name))["rows"]:
        if (row["section"], row["key"]) == (section, key):
            return row["value"]
    return None


def device_derived(name: str, settings: Sequence[str] = ()) -> dict[str, Any]:
    """What follows from a device's values, by name.

    Raises:
        ConfigError: there is no such drive, or its file or a value is faulty.
    """
    derived: dict[str, Any] = device_document(name, settings)["derived"]
    return derived


def check_settings(settings: Sequence[str], *, without_workload: str | None = None) -> None:
    """Makes sure that values are of sections that there are.

    Args:
        settings: the values, such as `"gc.write_points=4"`.
        without_workload: why there is no workload that one of them could be of, if there is none.

    Raises:
        ConfigError: one of them is not; says why.
    """
    _native.settings_check(list(settings), without_workload)


def logical_bytes(name: str) -> int:
    """How many bytes of a drive the host sees.

    Raises:
        ConfigError: there is no such drive, or its file is faulty.
    """
    item = json.loads(_document(_native.device, name))
    derived = {row["key"]: row["value"] for row in item["derived"]}
    values = {(row["section"], row["key"]): row["value"] for row in item["rows"]}
    return int(derived["logical_pages"]) * int(values["geometry", "page_bytes"])


def list_designs() -> list[Entry]:
    """The designs, and the overlays that change them, that come with tinytail."""
    return _entries(_native.designs())


def describe_design(name: str | os.PathLike[str], *, settings: Sequence[str] = ()) -> Description:
    """A design in full, given by name; overlays are added with plus signs, as in `base+no-gc`.

    Args:
        name: its name or path.
        settings: values that replace its own, such as `"gc.write_points=4"`.

    Raises:
        ConfigError: there is no such design or overlay, or a value is faulty.
    """
    return _description(_document(_native.design, arguments.name("design", name), settings))


def fits(
    device: str,
    designs: Sequence[str],
    *,
    state: Mapping[str, StateValue] | None = None,
    image: str | None = None,
    settings: Sequence[str] = (),
) -> tuple[Fit, ...]:
    """How each of some designs suits a device. Nothing is aged for it.

    Raises:
        ConfigError: an unknown or faulty device, state or image, an unknown design.
    """
    spec: dict[str, Any] = {"device": device, "designs": list(designs)}
    spec |= {"state": dict(state or {}), "image": image, "settings": list(settings)}
    return tuple(
        Fit(
            item["design"],
            tuple(Adjustment(**adjustment) for adjustment in item["adjusted"]),
            item["logical_bytes"],
            None if item["refusal"] is None else _refusal(item["refusal"]),
        )
        for item in json.loads(_native.fits(json.dumps(spec)))
    )


def causes() -> dict[str, str]:
    """What a run may be without: names, and what takes no time then."""
    return {cause["name"]: cause["meaning"] for cause in json.loads(_native.causes())}


def list_workloads() -> list[Entry]:
    """The workloads that tinytail knows by name."""
    return _entries(_native.workloads())


def describe_workload(name: str | os.PathLike[str], *, settings: Sequence[str] = ()) -> Description:
    """A workload in full, given by name or by the path of its file.

    Args:
        name: its name or path.
        settings: values that replace its own, such as `"synthetic.read_share=0.5"`.

    Raises:
        WorkloadError: there is no such workload, or its file or a value is faulty.
        ConfigError: a value of no section that there is.
    """
    return _description(_native.workload(arguments.name("workload", name), list(settings)))


def check_workload(name: str, settings: Sequence[str] = ()) -> None:
    """Makes sure that a workload is right, and that the traces which its file names are there.

    Raises:
        WorkloadError: there is no such workload or trace, or its file or a value is faulty.
        ConfigError: a value of no section that there is.
    """
    _native.workload_check(name, list(settings))


def file_text(kind: Kind, name: str | os.PathLike[str], *, settings: Sequence[str] = ()) -> str:
    """A device, a design as composed, or a workload as the text of a file that says the same.

    Args:
        kind: which of them it is.
        name: its name or path.
        settings: values that replace its own.

    Raises:
        ConfigError, WorkloadError: there is no such thing, or its file or a value is faulty.
    """
    write = {
        "device": _native.device_file,
        "design": _native.design_file,
        "workload": _native.workload_file,
    }[kind]
    return write(arguments.name(kind, name), list(settings))


def check_claims(name: str | os.PathLike[str], *, seed: int = 1) -> tuple[Claim, ...]:
    """Generates a stand-in and holds what it claims to be like against what it is like.

    Args:
        name: name of a stand-in or path of its file.
        seed: seed of whatever is random.

    Raises:
        UsageError: an argument of the wrong type.
        WorkloadError: there is no such workload, its file is faulty, or it claims nothing.
    """
    seed = arguments.whole_number("seed", seed, 0, arguments.U64_MAX)
    document = _native.workload_claims(arguments.name("workload", name), seed)
    return tuple(Claim(**claim) for claim in json.loads(document))


def check_config(path: str | os.PathLike[str]) -> CheckedFile:
    """Checks a configuration file, and tells what kind it is and what of it is odd.

    Raises:
        ConfigError: the file is faulty; says where, what was found and what is allowed. The name of
            a device, a design or a workload is no file.
    """
    file = arguments.file(path)
    kind = None if Path(file).exists() else _kind_of_name(file)
    if kind is not None:
        message = f"{file}: this is the name of a {kind} and no file; `tinytail {kind}s {file}`"
        raise _native.ConfigError(f"{message} shows it")
    checked = json.loads(_native.config_check(file))
    return CheckedFile(checked["kind"], tuple(checked["findings"]))


def _kind_of_name(name: str) -> Kind | None:
    """Return what is listed by this name, or None."""
    lists: dict[Kind, Callable[[], list[Entry]]] = {
        "device": list_devices,
        "design": list_designs,
        "workload": list_workloads,
    }
    kinds = (kind for kind, listed in lists.items() if any(name == e.name for e in listed()))
    return next(kinds, None)
