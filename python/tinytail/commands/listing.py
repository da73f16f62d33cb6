"""The commands `tinytail devices`, `tinytail designs` and `tinytail workloads`."""

from __future__ import annotations

from collections.abc import Callable

from tinytail import engine
from tinytail.cli import OK, RUN_FAILED
from tinytail.engine import Description, Entry
from tinytail.errors import UsageError
from tinytail.flags import Seed
from tinytail.output import print_error, stdout
from tinytail.render import claims_view, description_view, entries_view


def _show(
    name: str | None,
    describe: Callable[[str], Description],
    list_all: Callable[[], list[Entry]],
) -> int:
    if name is None:
        stdout().print(entries_view(list_all()))
    else:
        stdout().print(description_view(describe(name)))
    return OK


def devices(name: str | None = None, /) -> int:
    """List the drives, or show one with the source of each number.

    Parameters
    ----------
    name
        Name of a drive or path of its file.
    """
    return _show(name, engine.device, engine.devices)


def designs(name: str | None = None, /) -> int:
    """List the designs and overlays, or show one, composed or not.

    Parameters
    ----------
    name
        Name of a design; overlays are added with plus signs, as in base+no-gc.
    """
    return _show(name, engine.design, engine.designs)


def workloads(name: str | None = None, /, *, check: bool = False, seed: Seed = 1) -> int:
    """List the workloads, or show one.

    Parameters
    ----------
    name
        Name of a workload or path of its file.
    check
        Generate the stand-in and show whether it is what it claims to be.
    seed
        Seed of whatever is random, for the check.
    """
    if not check:
        return _show(name, engine.workload, engine.workloads)
    if name is None:
        raise UsageError("--check needs the name of a stand-in")
    claims = engine.workload_claims(name, seed=seed)
    stdout().print(claims_view(claims))
    broken = [claim.name for claim in claims if not claim.holds]
    if broken:
        print_error(f"{name} is not what it claims to be: {', '.join(broken)}")
        return RUN_FAILED
    return OK
