"""The commands `tinytail devices`, `tinytail designs` and `tinytail workloads`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import units
from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import DesignName, DeviceName, Seed, SetWords, WorkloadName
from tinytail.engine import catalog
from tinytail.engine.catalog import Claim, Description, Entry
from tinytail.errors import UsageError
from tinytail.terminal.console import JsonOutput, print_error, stdout
from tinytail.terminal.table import list_table


def _show(
    kind: catalog.Kind,
    name: str | None,
    settings: Sequence[str],
    *,
    toml: bool,
) -> int:
    if name is None:
        if toml or settings:
            raise UsageError(f"name a {kind}: --toml and --set are about one of them")
        lists = {
            "device": catalog.list_devices,
            "design": catalog.list_designs,
            "workload": catalog.list_workloads,
        }
        stdout().print(entries_view(lists[kind]()))
    elif toml:
        JsonOutput("-").write(catalog.file_text(kind, name, settings=settings))
    else:
        describe = {
            "device": catalog.describe_device,
            "design": catalog.describe_design,
            "workload": catalog.describe_workload,
        }
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

    Policies from files are read, and none of their code runs.

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
    claims = catalog.check_claims(name, seed=seed)
    stdout().print(claims_view(claims))
    broken = [claim.name for claim in claims if not claim.holds]
    if broken:
        print_error(f"{name} is not what it claims to be: {', '.join(broken)}")
        return RUN_FAILED
    return OK


def entries_view(entries: Iterable[Entry]) -> Table:
    """A list of devices, designs or workloads."""
    entries = list(entries)
    with_kind = any(entry.kind is not None for entry in entries)
    table = list_table("name", *(["kind"] if with_kind else []), "summary")
    for entry in entries:
        name = f"+{entry.name}" if entry.kind == "overlay" else entry.name
        kind = [entry.kind or ""] if with_kind else []
        table.add_row(*(Text(cell) for cell in (name, *kind, entry.summary)))
    return table


def description_view(description: Description) -> RenderableType:
    """A device, design or workload in full, each value with its source."""
    parts: list[RenderableType] = [
        Text.assemble((description.name, "bold"), f": {description.summary}")
    ]
    if description.alone is not None:
        parts.append(Text(f"alone: {description.alone}"))
    if description.settings:
        table = list_table("section", "key", "value", "source")
        section = None
        for setting in description.settings:
            shown = setting.section if setting.section != section else ""
            section = setting.section
            table.add_row(
                *(Text(cell) for cell in (shown, setting.key, setting.value, setting.source))
            )
        parts.append(table)
    if description.derived:
        table = list_table("derived", "value")
        for key, value in description.derived:
            table.add_row(Text(key), Text(value))
        parts.append(table)
    return Group(*parts)


def claims_view(claims: Iterable[Claim]) -> Table:
    """What a stand-in claims to be like, and what it is like."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("characteristic", no_wrap=True)
    for heading in ("claimed", "within", "found"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for claim in claims:
        table.add_row(
            Text(claim.name),
            units.exact_number(claim.value),
            f"{claim.tolerance_percent:g} %",
            units.exact_number(claim.found),
            "holds" if claim.holds else Text("does not hold", "bold red"),
        )
    return table
