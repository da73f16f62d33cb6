"""The commands `tinytail devices`, `tinytail designs` and `tinytail workloads`."""

from __future__ import annotations

from collections.abc import Sequence

from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import DesignName, DeviceName, Seed, SetWords, WorkloadName
from tinytail.comparison.details import claims_view, description_view, entries_view
from tinytail.engine import native
from tinytail.errors import UsageError
from tinytail.terminal.console import JsonOutput, print_error, stdout


def _show(
    kind: native.Kind,
    name: str | None,
    settings: Sequence[str],
    *,
    toml: bool,
) -> int:
    if name is None:
        if toml or settings:
            raise UsageError(f"name a {kind}: --toml and --set are about one of them")
        lists = {"device": native.devices, "design": native.designs, "workload": native.workloads}
        stdout().print(entries_view(lists[kind]()))
    elif toml:
        JsonOutput("-").write(native.file_text(kind, name, settings=settings))
    else:
        describe = {"device": native.device, "design": native.design, "workload": native.workload}
        stdout().print(description_view(describe[kind](name, settings=settings)))
    return OK


def devices(
    name: DeviceName | None = None, /, *, toml: bool = False, settings: SetWords = None
) -> int:
    """List the drives, or show one with the source of each number.

    Parameters
    ----------
    name
        Name of a drive or path of its file.
    toml
        Print it as a device file: a template for one of your own.
    settings
        A value that replaces one of its own, as SECTION.KEY=VALUE, such as host.queue_depth=64; may
        be given several times.
    """
    return _show("device", name, settings or (), toml=toml)


def designs(
    name: DesignName | None = None, /, *, toml: bool = False, settings: SetWords = None
) -> int:
    """List the designs and overlays, or show one, composed or not.

    Parameters
    ----------
    name
        Name of a design; overlays are added with plus signs, as in base+no-gc.
    toml
        Print it as a design file, as composed: a template for one of your own.
    settings
        A value that replaces one of its own, as SECTION.KEY=VALUE, such as gc.write_points=4; may
        be given several times.
    """
    return _show("design", name, settings or (), toml=toml)


def workloads(
    name: WorkloadName | None = None,
    /,
    *,
    check: bool = False,
    seed: Seed = 1,
    toml: bool = False,
    settings: SetWords = None,
) -> int:
    """List the workloads, or show one.

    Parameters
    ----------
    name
        Name of a workload or path of its file.
    check
        Generate the stand-in and show whether it is what it claims to be.
    seed
        Seed of whatever is random, for the check.
    toml
        Print it as a workload file, or a job file of fio: a template for one of your own.
    settings
        A value that replaces one of its own, as SECTION.KEY=VALUE, such as
        synthetic.read_share=0.5; may be given several times. Not with --check.
    """
    if not check:
        return _show("workload", name, settings or (), toml=toml)
    if toml or settings:
        raise UsageError("--check is of a stand-in as it is, without --toml and --set")
    if name is None:
        raise UsageError("--check needs the name of a stand-in")
    claims = native.workload_claims(name, seed=seed)
    stdout().print(claims_view(claims))
    broken = [claim.name for claim in claims if not claim.holds]
    if broken:
        print_error(f"{name} is not what it claims to be: {', '.join(broken)}")
        return RUN_FAILED
    return OK
