"""Designs that suit a drive, found before anything is aged: refusals and the drive's own design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tinytail import engine
from tinytail.errors import ConfigError, UsageError


def designs_or_own(
    designs: Sequence[str], device: str, settings: Sequence[str] = ()
) -> tuple[str, ...]:
    """The designs, or the one that the device names as its own if there are none.

    Raises:
        ConfigError: there is no such drive, or its file is faulty.
        UsageError: there are none, and the device names none.
    """
    if designs:
        return tuple(designs)
    own = engine.device_document(device, settings).get("defaults", {}).get("design")
    if own is None:
        raise UsageError(
            f"no design given, and {device} names none as its own ([defaults] design); "
            "`tinytail designs` lists them"
        )
    return (str(own),)


def check(
    device: str,
    designs: Sequence[str],
    *,
    command: Callable[[str, str], str],
    state: Mapping[str, engine.StateValue] | None = None,
    image: str | None = None,
    settings: Sequence[str] = (),
    strict: bool = False,
) -> tuple[engine.Fit, ...]:
    """Refuses designs that can't run on a device: all of them at once, each with what can.

    Args:
        device: name or path of the drive.
        designs: the compositions.
        command: the command line that runs a design on a device.
        state: values of the starting state that replace the device's.
        image: an image to start from.
        settings: values that replace those of the files.
        strict: whether a design must run as its file says.

    Raises:
        ConfigError: an unknown or faulty device, state, image or design; designs that can't run
            there; under `strict`, designs of which something follows the drive.
    """
    fits = engine.fits(device, designs, state=state, image=image, settings=settings)
    refused = [_refusal(fit.design, device, fit.refusal, command) for fit in fits if fit.refusal]
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


def _refusal(
    design: str, device: str, refusal: engine.Refusal, command: Callable[[str, str], str]
) -> str:
    message = f"{design} can't run on {device}: {refusal.message}."
    if refusal.design is not None:
        return f"{message} This runs: {command(refusal.design, device)}"
    if refusal.device is not None:
        return f"{message} This runs: {command(design, refusal.device)}"
    return message
