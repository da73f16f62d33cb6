"""Designs that suit a drive, found before anything is aged: refusals and the drive's own design."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tinytail import engine, toml
from tinytail.errors import ConfigError

Command = Callable[[tuple[str, ...], str], str]


def designs_or_own(
    designs: Sequence[str], device: str, settings: Sequence[str] = ()
) -> tuple[str, ...]:
    """The designs, or the one that is the device's own if there are none.

    Raises:
        ConfigError: there is no such drive, or its file is faulty.
    """
    if designs:
        return tuple(designs)
    return (str(engine.device_document(device, settings)["defaults"]["design"]),)


def check(
    device: str,
    designs: Sequence[str],
    *,
    command: Command,
    state: Mapping[str, engine.StateValue] | None = None,
    image: str | None = None,
    settings: Sequence[str] = (),
    strict: bool = False,
) -> tuple[engine.Fit, ...]:
    """Refuses designs that can't run on a device: all of them at once, each with what can.

    Args:
        device: name or path of the drive.
        designs: the compositions.
        command: the command line that runs designs on a device.
        state: values of the starting state that replace the device's.
        image: an image to start from.
        settings: values that replace those of the files.
        strict: whether a design must run as its file says.

    Raises:
        ConfigError: an unknown or faulty device, state, image or design; designs that can't run
            there; under `strict`, designs of which something follows the drive.
    """
    try:
        fits = engine.fits(device, designs, state=state, image=image, settings=settings)
    except ConfigError as error:
        raise ConfigError(f"{error}{_of_some(designs, settings, str(error))}") from None
    refused = _refusals(fits, device, settings, command)
    if strict:
        refused += [
            f"{fit.design} does not run on {device} as its file says: "
            + "; ".join(dict.fromkeys(item.message for item in fit.adjusted))
            + ". Without --strict it does."
            for fit in fits
            if fit.adjusted
        ]
    if refused:
        raise ConfigError("\n".join(refused))
    return fits


def _refusals(
    fits: Sequence[engine.Fit], device: str, settings: Sequence[str], command: Command
) -> list[str]:
    """Why designs can't run, with what can: as many of them as possible, or one's nearest."""
    refused = [(fit.design, fit.refusal) for fit in fits if fit.refusal is not None]
    said = [
        f"{design} can't run on {device}: {why.message}." if why.of_drive else f"{why.message}."
        for design, why in refused
    ]
    designs = tuple(fit.design for fit in fits)
    running = tuple(fit.design for fit in fits if fit.refusal is None)
    if refused and running:
        said.append(f"This runs: {command(running, device)}")
    elif len(refused) != 1:
        nearest = [why.design and command((why.design,), device) for _, why in refused]
        said = [
            f"{line} This runs: {instead}" if instead else line
            for line, instead in zip(said, nearest, strict=True)
        ]
    else:
        _, why = refused[0]
        if why.design is not None:
            said[0] += f" This runs: {command((why.design,), device)}"
        elif why.device is not None:
            said[0] += f" This runs: {command(designs, why.device)}"
    if len(designs) > 1 and refused and all(why.of_drive for _, why in refused):
        other = _drive_of_all(designs, device, settings)
        if other is not None:
            said.append(f"All of them run here: {command(designs, other)}")
    return said


def _drive_of_all(designs: Sequence[str], device: str, settings: Sequence[str]) -> str | None:
    """A drive that comes with tinytail on which all of these run; None if there is none."""
    # A twin for tests stands in for a twin, a whole drive for a whole one.
    is_twin = device.endswith("-small")
    for entry in engine.devices():
        if entry.name.endswith("-small") == is_twin:
            with suppress(ConfigError):
                fits = engine.fits(entry.name, designs, settings=settings)
                if all(fit.refusal is None for fit in fits):
                    return entry.name
    return None


def _of_some(designs: Sequence[str], settings: Sequence[str], message: str) -> str:
    """The end of an error about a given value that suits only some designs: how they get it."""
    for word in settings:
        refused = [design for design in designs if _refuses(design, word)]
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


def _refuses(design: str, word: str) -> bool:
    try:
        engine.design(design, settings=[word])
    except ConfigError:
        return True
    return False


def _toml(value: str) -> str:
    """A value as a file has it: a word may be given without its quotation marks."""
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return toml.value(value)
    return value
