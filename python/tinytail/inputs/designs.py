"""Designs that suit a drive, found before anything is aged: refusals and the drive's own design."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from tinytail.engine import catalog
from tinytail.errors import ConfigError
from tinytail.files import toml
from tinytail.inputs import tables

Command = Callable[[tuple[str, ...], tuple[str, ...]], str]


def designs_or_own(
    designs: Sequence[str], device: str, settings: Sequence[str] = ()
) -> tuple[str, ...]:
    """The designs, or the one that is the device's own if there are none.

    Raises:
        ConfigError: there is no such drive, or its file is faulty.
    """
    if designs:
        return tuple(designs)
    return (str(catalog.device_document(device, settings)["defaults"]["design"]),)


def check_designs(
    device: str,
    designs: Sequence[str],
    *,
    command: Command,
    state: Mapping[str, catalog.StateValue] | None = None,
    image: str | None = None,
    settings: Sequence[str] = (),
    strict: bool = False,
) -> tuple[catalog.Fit, ...]:
    """Refuses designs that can't run on a device: all of them at once, each with what can.

    Args:
        device: name or path of the drive.
        designs: the compositions.
        command: the command line that runs designs with values that are given.
        state: values of the starting state that replace the device's.
        image: an image to start from.
        settings: values that replace those of the files.
        strict: whether a design must run as its file says.

    Raises:
        ConfigError: an unknown or faulty device, state, image or design; designs that can't run
            there; under `strict`, designs of which something follows the drive.
    """
    try:
        fits = catalog.fits(device, designs, state=state, image=image, settings=settings)
    except ConfigError as error:
        message = f"{error}{_of_some(designs, settings, str(error))}"
        raise ConfigError(tables.without_places(message)) from None

    def runs(designs: Sequence[str], settings: Sequence[str]) -> bool:
        try:
            found = catalog.fits(device, designs, state=state, image=image, settings=settings)
        except ConfigError:
            return False
        return all(fit.refusal is None for fit in found)

    refused = _refusals(fits, runs, settings, device, command)
    if strict:
        refused += [
            f"{fit.design} does not run on {device} as its file says: "
            + "; ".join(dict.fromkeys(item.message for item in fit.adjusted))
            + ". Without --strict it does."
            for fit in fits
            if fit.adjusted
        ]
    if refused:
        raise ConfigError(tables.without_places("\n".join(refused)))
    return fits


def _refusals(
    fits: Sequence[catalog.Fit],
    runs: Callable[[Sequence[str], Sequence[str]], bool],
    settings: Sequence[str],
    device: str,
    command: Command,
) -> list[str]:
    """Why designs can't run, with what can: all of them, if the same values let them."""
    refused = [(fit.design, fit.refusal) for fit in fits if fit.refusal is not None]
    said = [
        f"{design} can't run on {device}: {why.message}." if why.of_drive else f"{why.message}."
        for design, why in refused
    ]
    designs: list[str] = []
    given = dict(zip(map(_key, settings), settings, strict=True))
    for fit in fits:
        if fit.refusal is None:
            designs.append(fit.design)
        elif fit.refusal.remedy is not None:
            designs.append(fit.refusal.remedy.design)
            given |= {_key(word): word for word in fit.refusal.remedy.settings}
    designs = list(dict.fromkeys(designs))
    if any(map(tables.has_table, (device, *designs))):
        # No command line has a table that a program gave.
        return said
    if refused and designs and runs(designs, tuple(given.values())):
        line = f"This runs: {command(tuple(designs), tuple(given.values()))}"
        return [f"{said[0]} {line}"] if len(fits) == 1 else [*said, line]
    remedies = [
        why.remedy and command((why.remedy.design,), why.remedy.settings) for _, why in refused
    ]
    return [
        f"{line} This runs: {remedy}" if remedy else line
        for line, remedy in zip(said, remedies, strict=True)
    ]


def _key(word: str) -> str:
    """The key of a value behind `--set`."""
    return word.partition("=")[0].strip().removeprefix("device.").removeprefix("design.")


def _of_some(designs: Sequence[str], settings: Sequence[str], message: str) -> str:
    """The end of an error about a given value that suits only some designs: how they get it."""
    for word in settings:
        refused = [design for design in designs if refuses(design, word)]
        others = [design for design in designs if design not in refused]
        section, dot, rest = word.strip().removeprefix("design.").partition(".")
        key, equals, value = rest.partition("=")
        if not (message.startswith(f"--set {word}:") and refused and others and dot and equals):
            continue
        setting = f"{key.strip()} = {_toml(value.strip())}"
        head = ('kind = "overlay"', f"summary = {toml.value(setting)}")
        lines = (*head, f"[{section.strip()}]", setting)
        file = f"{key.strip()}.toml"
        return (
            f". It is {' and '.join(refused)} that has no such value. For {', '.join(others)} "
            f"alone, make an overlay of it, and leave out --set {word}:\n"
            f"printf '%s\\n' {shlex.join(lines)} > {file}\n"
            f"The design is then {', '.join(f'{design}+{file}' for design in others)}"
        )
    return ""


def refuses(design: str, word: str) -> bool:
    """Whether a design has no such value as a word behind `--set` gives."""
    try:
        catalog.describe_design(design, settings=[word])
    except ConfigError:
        return True
    return False


def _toml(value: str) -> str:
    """A value as a file has it: a word may be given without its quotation marks."""
    try:
        toml.loads("", f"value = {value}")
    except ConfigError:
        return toml.value(value)
    return value
