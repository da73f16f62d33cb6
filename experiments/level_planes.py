"""Whether saturating writes wear all planes alike, and GC moves what a page map of a plane says.

Each design that is complete, and each overlay on its design, runs on each drive under uniform
writes that never leave it idle: 4, 16 and 64 KiB, 32 at a time, all logical pages live. A row has

- the share of valid pages in victims, beside that of a page map of one plane, which has no time
  and no other plane (tests/python/helpers/page_map.py); where pages form stripes, or a die is
  collected as a whole, no page map of a plane says it;
- the law: write amplification times what victims have stale, over what is programmed besides GC;
  this and the shares are of the second half of the run, when no erased pages are left to live on;
- the erases of the most and of the least erased plane, and MB/s.

It holds if the shares are within 3 points, the law within 5 %, and the most erased plane has at
most 1.5 times the erases of the least erased one. Ends with 1 if a row fails.

RESULTS has a line for each run; what it has is not made again. A run of a small drive takes about a
second. A drive of full size has hundreds of times the pages, and takes as much longer: name it.

    .venv/bin/python experiments/level_planes.py RESULTS [--full | DESIGN, DRIVE or KiB ...]
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tinytail
from tinytail.engine import catalog

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python" / "helpers"))
from page_map import Shape, victims_valid_percent

SIZES_KIB = (4, 16, 64)
ERASES = 200
# A run that is too short is made again, longer; one whose planes differ too much is not endless.
TRIES = 3
MOST_TIMES = 3.0
POINTS = 3.0
LAW = 0.05
SPREAD = 1.5
# Blocks are not collected, or at no cost.
WITHOUT_GC = ("no-gc", "ideal-gc")


@dataclass(frozen=True)
class Row:
    """What a run did with its planes, and what a page map of one says."""

    design: str
    device: str
    kib: int
    settings: tuple[str, ...]
    # Why there is no run.
    refused: str = ""
    valid_percent: float = 0.0
    # None where a page map of a plane cannot say it.
    map_percent: float | None = None
    # Write amplification over what the law says it is; None where GC moves pages for their class.
    law: float | None = None
    erases_least: int = 0
    erases_most: int = 0
    mb_per_s: float = 0.0

    @property
    def faults(self) -> list[str]:
        """What does not hold."""
        faults = []
        if self.map_percent is not None and abs(self.valid_percent - self.map_percent) > POINTS:
            faults.append("victims")
        if self.law is not None and abs(self.law - 1) > LAW:
            faults.append("law")
        if self.erases_most > SPREAD * self.erases_least:
            faults.append("planes")
        return faults


@dataclass(frozen=True)
class Plane:
    """What a drive and a design have of each plane."""

    planes: int
    blocks: int
    pages_per_block: int
    page_bytes: int
    live: int
    victims: str
    choices: int
    # GC fills blocks of its own.
    apart: bool
    # Pages go one by one, and each plane is collected for itself.
    by_plane: bool

    @property
    def valid_guess(self) -> float:
        """The share of valid pages in victims of a plane that is collected in turn."""
        live, share = self.live / (self.blocks * self.pages_per_block), 0.5
        for _ in range(100):
            share = math.exp(-(1 - share) / live)
        return share


@functools.cache
def plane_of(design: str, device: str, settings: tuple[str, ...]) -> Plane:
    """Read what a drive and a design have of each plane."""
    document = catalog.device_document(device, settings)
    geometry, derived = document["geometry"], document["derived"]
    dies = geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"]
    planes, pages = dies * geometry["planes_per_die"], geometry["pages_per_block"]

    def value(section: str, key: str) -> Any:
        return catalog.design_value(design, section, key)

    first = value("victim", "chain")[0]
    return Plane(
        planes=planes,
        blocks=derived.get("usable_pages", derived["physical_pages"]) // planes // pages,
        pages_per_block=pages,
        page_bytes=geometry["page_bytes"],
        live=derived["logical_pages"] // planes,
        victims=first["policy"],
        choices=first.get("d", 0),
        apart=(value("gc", "write_points") or 1) > 1,
        by_plane=(value("gc_trigger", "of") != "die" or geometry["planes_per_die"] == 1)
        and value("place", "policy") not in ("rain", "superpage")
        and value("pairing", "policy") != "superpage_programs",
    )


def compositions() -> list[str]:
    """Each complete design, and each overlay on the design that it is for."""
    names = []
    for listing in tinytail.list_designs():
        if listing.kind == "design":
            names.append(listing.name)
        else:
            alone = catalog.describe_design(listing.name).alone
            names.append(alone or f"base+{listing.name}")
    return [name for name in names if not set(name.split("+")) & set(WITHOUT_GC)]


def play(
    design: str,
    device: str,
    kib: int,
    settings: Sequence[str] = (),
    *,
    erases: int | None = None,
) -> Row:
    """Write until each plane has had so many erases, and judge what the planes did.

    Without a number these are 200, or as many as the plane has blocks, if it has more.
    """
    given = ("state.live_percent=100", *settings)
    (fit,) = catalog.fits(device, [design], settings=given)
    if fit.refusal is not None:
        remedy = fit.refusal.remedy
        if remedy is None:
            return Row(design, device, kib, tuple(settings), refused=fit.refusal.message)
        design, given = remedy.design, tuple(dict.fromkeys((*given, *remedy.settings)))
    plane = plane_of(design, device, given)
    erases = erases or max(ERASES, plane.blocks)
    # A request writes at least a page; GC leaves the rest of a block to the host.
    pages_per_request = max(kib * 1024 / plane.page_bytes, 1)
    host_pages = plane.planes * plane.pages_per_block * erases * (1 - plane.valid_guess)
    for _ in range(TRIES):
        comparison = tinytail.compare(
            [design],
            device=device,
            workload="randwrite-qd32",
            settings=[*given, f"synthetic.block_bytes={kib * 1024}"],
            requests=int(host_pages / pages_per_request) + 1,
        )
        (result,) = comparison.results
        if result.wear.erases_least >= erases:
            break
        host_pages *= min(1.1 * erases / max(result.wear.erases_least, 1), MOST_TIMES)
    # Host pages, parity and padding, for each host page.
    copied = result.techniques["gc: copied pages"]
    host = sum(result.series.host_pages)
    others = (result.write_amplification or 0.0) - copied / max(host, 1)
    # At first the drive lives on erased pages: it is judged by the second half of what it wrote.
    seen, copied, collected, written = 0, 0, 0, 0
    for index, pages in enumerate(result.series.host_pages):
        seen += pages
        if 2 * seen > host:
            written += pages
            copied += result.series.gc_pages[index]
            collected += result.series.gcs[index]
    valid = copied / max(collected * plane.pages_per_block, 1)
    law = (others * written + copied) * (1 - valid) / max(others * written, 1)
    moves = (name for name in result.techniques if "return-to-fast moves" in name)
    by_class = any(result.techniques[name] for name in moves)
    shape = Shape(
        blocks=plane.blocks,
        pages_per_block=plane.pages_per_block,
        live=plane.live,
        threshold=result.erased.end_pages // plane.planes,
        victims=plane.victims,
        choices=plane.choices,
        apart=plane.apart,
    )
    return Row(
        design,
        device,
        kib,
        given[1:],
        valid_percent=100 * valid,
        map_percent=victims_valid_percent(shape) if plane.by_plane else None,
        law=None if by_class else law,
        erases_least=result.wear.erases_least,
        erases_most=result.wear.erases_most,
        mb_per_s=result.throughput.makespan_mb_per_second or 0.0,
    )


def made(results: Path) -> dict[tuple[str, str, int], Row]:
    """Read the rows that a file has."""
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    rows = [
        Row(**(entry | {"settings": tuple(entry["settings"])})) for entry in map(json.loads, lines)
    ]
    return {(row.device, row.design, row.kib): row for row in rows}


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Say each row in a line."""
    yield "| drive | design | KiB | added | valid % | map % | law | erases of a plane | MB/s | |"
    yield "|---|---|--:|---|--:|--:|--:|--:|--:|---|"
    for row in rows:
        cells = [row.device, row.design, str(row.kib), " ".join(row.settings)]
        if row.refused:
            cells += ["", "", "", "", "", "refused"]
        else:
            cells += [
                f"{row.valid_percent:.1f}",
                "-" if row.map_percent is None else f"{row.map_percent:.1f}",
                "-" if row.law is None else f"{row.law:.3f}",
                f"{row.erases_least:,} to {row.erases_most:,}",
                f"{row.mb_per_s:.0f}",
                ", ".join(row.faults) or "holds",
            ]
        yield "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str]) -> int:
    """Make the runs that are missing; print all that were asked for."""
    results, words = Path(arguments[0]), set(arguments[1:])
    full = "--full" in words
    words.discard("--full")
    asked = []
    drives = [listing.name for listing in tinytail.list_devices()]
    for device in drives:
        is_named = device in words
        if not is_named and (words & set(drives) or device.endswith("-small") == full):
            continue
        for design in compositions():
            if words & set(compositions()) and design not in words:
                continue
            asked += [
                (device, design, kib)
                for kib in SIZES_KIB
                if str(kib) in words or not words & {str(size) for size in SIZES_KIB}
            ]
    rows = made(results)
    for device, design, kib in asked:
        if (device, design, kib) not in rows:
            try:
                row = play(design, device, kib)
            except tinytail.TinytailError as fault:
                row = Row(design, device, kib, (), refused=str(fault))
            with results.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(row) | {"design": design}) + "\n")
            rows[device, design, kib] = dataclasses.replace(row, design=design)
    for line in table(rows[key] for key in asked):
        sys.stdout.write(line + "\n")
    return int(any(rows[key].faults for key in asked if not rows[key].refused))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
