"""The commands of `tinytail image`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from cyclopts import App
from rich.console import Group, RenderableType
from rich.text import Text

from tinytail import units
from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import JsonPath
from tinytail.cli.function import Given, command_of
from tinytail.engine import cache
from tinytail.files.text import json_text
from tinytail.images import create_image, describe_image, describe_image_cache
from tinytail.inputs import conflicts
from tinytail.terminal.console import checked_output, show_facts, show_results, stderr, stdout
from tinytail.terminal.progress import reporter
from tinytail.terminal.table import facts_view, wrapped

image = App(name="image", help="Make images of aged drives, and look into them.")


@image.command(
    name="create", usage="Usage: tinytail image create OUT --device D --design X [OPTIONS]"
)
@command_of(create_image)
def image_create(given: Given) -> int:
    """Age a drive and write it to a file, from which `tinytail compare --image` starts."""
    with reporter(stderr()) as progress:
        document = create_image(given.pop("out"), **given, progress=progress)
    stdout().print(facts_view(document.to_dict()))
    return OK


@image.command(name="info")
def image_info(file: str, /, *, json: JsonPath = None) -> int:
    """Show what an image holds, after a check of all its bytes.

    Parameters
    ----------
    file
        The image.
    json
        File for the same as JSON; - is standard output.
    """
    conflicts.check([("--json", json)], [("FILE", file)])
    return OK if show_facts(checked_output(json), describe_image(file).to_dict()) else RUN_FAILED


@image.command(name="cache")
def image_cache(*, clear: bool = False, json: JsonPath = None) -> int:
    """Show the aged drives that are kept for later runs, or remove them.

    A run whose drive takes long to age keeps it, and runs that start from the same state copy it.
    Nothing else depends on them: a drive that is removed is aged anew. What was used longest ago
    makes room. The environment variable TINYTAIL_CACHE_GIB says how much may be kept, 8 if it is
    not set; 0 turns the cache off.

    Parameters
    ----------
    clear
        Remove all of them.
    json
        File for the same as JSON; - is standard output.
    """
    output = checked_output(json)
    if clear:
        entries, size = cache.clear_image_cache()
        document = {"folder": str(cache.folder()), "removed": entries, "removed_bytes": size}
        return OK if show_facts(output, document) else RUN_FAILED
    found = describe_image_cache().to_dict()
    done = show_results(
        output,
        lambda: json_text(found),
        lambda console: cache_view(found, time.time(), console.width),
    )
    return OK if done else RUN_FAILED


def cache_view(found: Mapping[str, Any], now_unix_s: float, width: int) -> RenderableType:
    """The aged drives that are kept: a name for each, and below it what it is of."""
    entries = found["entries"]
    limit = units.memory(found["limit_bytes"])
    if not entries:
        return Text(f"No aged drives, of {limit} at most, in {found['folder']}")
    kept = units.counted(len(entries), "aged drive")
    head = f"{kept}, {units.memory(found['bytes'])} of {limit}, in {found['folder']}"
    lines = [Text(head, overflow="fold")]
    for entry in entries:
        name, facts = _kept_drive(entry, now_unix_s)
        lines += [Text(), *wrapped(Text(name, "bold"), width, indent=2)]
        lines += wrapped(Text(f"  {', '.join(facts)}"), width, indent=2)
    return Group(*lines)


def _kept_drive(entry: Mapping[str, Any], now_unix_s: float) -> tuple[str, list[str]]:
    """What a kept drive is called, and what is to be known of it."""
    size = units.memory(entry["bytes"])
    used = f"used {_ago(now_unix_s - entry['used_unix_s'])}"
    if "recipe" not in entry:
        return entry["file"], [size, "damaged", used]
    state = entry["recipe"]["state"]
    live = f"{units.percent(state['live_percent'])} live"
    ageing = f"aged by {state['ageing']} {units.percent(state['overwrite_percent'])}"
    made = f"made {_ago(now_unix_s - entry['made_unix_s'])}"
    name = f"{entry['device']} under {entry['design']}, seed {entry['seed']}"
    return name, [size, live, ageing, made, used]


def _ago(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "now"
