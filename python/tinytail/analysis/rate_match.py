"""What fast or slow pages for GC are worth under sustained load: The Harey Tortoise, 4.3.1.

While the host writes as fast as it can, a share of the chips collects so that blocks are reclaimed
at the rate at which they are filled. Equations 1 and 2 give what a chip does either way:

- ExternalWriteBW = pageSize / wLat
- GC_BW = reclaimed / (pgsMvd x mvLat + eLat), with pgsMvd pages moved for each block

and all chips together write chips x ExternalWriteBW x GC_BW / (ExternalWriteBW + GC_BW). Locality
is the share of a block that the host's own writes have invalidated. A move reads a page at the mean
read time. Three placements are compared: `fgc` gives GC the fast pages and the host the slow ones,
`sgc` the other way round, and `baseline` makes no difference. It is worked out in two forms:

- `printed`: a block reclaims its over-provisioned share, 20 % in the paper, however many pages were
  moved. All three placements then meet where that many pages are moved.
- `self-consistent`: a block reclaims what was not moved, so that they meet at half of the block.

Both assume that the preferred pages never run out. A chip is a die, which runs one operation at a
time; with three or more page classes the fastest and the slowest are the fast and slow pages.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Literal

from tinytail.analysis.rotation import class_shares, weighted_mean
from tinytail.engine import arguments, catalog, native
from tinytail.files.text import json_text

Form = Literal["printed", "self-consistent"]
Placement = Literal["baseline", "fgc", "sgc"]

PLACEMENTS: tuple[Placement, ...] = ("baseline", "fgc", "sgc")
LOCALITIES = range(101)


@dataclass(frozen=True, slots=True)
class Array:
    """What the model needs to know of a drive. Times in nanoseconds.

    `read_fast_ns` and `read_slow_ns` are of the pages that are fast and slow to program.
    """

    chips: int
    page_bytes: int
    pages_per_block: int
    read_ns: float
    read_fast_ns: float
    read_slow_ns: float
    program_ns: float
    program_fast_ns: float
    program_slow_ns: float
    erase_ns: int
    spare_percent: float

    @classmethod
    def of(cls, device: str) -> Array:
        """The array of a device; what is spare is a share of the good physical pages.

        Raises:
            ConfigError: there is no such device, or its file is faulty.
        """
        document = catalog.device_document(device)
        geometry, timing = document["geometry"], document["timing"]
        reads, programs = timing["read_ns"], timing["program_ns"]
        shares = class_shares(timing)
        fast = programs.index(min(programs))
        slow = programs.index(max(programs))
        derived = document["derived"]
        good = derived.get("usable_pages", derived["physical_pages"])
        return cls(
            chips=geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"],
            page_bytes=geometry["page_bytes"],
            pages_per_block=geometry["pages_per_block"],
            read_ns=weighted_mean(reads, shares),
            read_fast_ns=reads[fast],
            read_slow_ns=reads[slow],
            program_ns=weighted_mean(programs, shares),
            program_fast_ns=programs[fast],
            program_slow_ns=programs[slow],
            erase_ns=timing["erase_step_ns"] * timing.get("erase_steps", 1),
            # A capacity of whole pages is a share to a few digits.
            spare_percent=round(100 * (good - derived["logical_pages"]) / good, 2),
        )

    def programs_ns(self, placement: Placement) -> tuple[float, float]:
        """How long a program of the host takes under a placement, and one of GC."""
        match placement:
            case "fgc":
                return self.program_slow_ns, self.program_fast_ns
            case "sgc":
                return self.program_fast_ns, self.program_slow_ns
            case _:
                return self.program_ns, self.program_ns


@dataclass(frozen=True, slots=True)
class Rates:
    """What one placement achieves, in 10^6 bytes per second: a chip that writes, one that collects.

    `gc_chips_percent` is the share of the chips that collect so that both rates match, and `mb_s`
    what the whole array then writes for the host.
    """

    external_mb_s: float
    gc_mb_s: float
    gc_chips_percent: float
    mb_s: float


@dataclass(frozen=True, slots=True)
class Point:
    """The placements at one locality. A block of which `moved` pages are moved reclaims `freed`."""

    locality_percent: float
    moved: float
    freed: float
    baseline: Rates
    fgc: Rates
    sgc: Rates

    def gain(self, placement: Placement) -> float | None:
        """What a placement writes over what the baseline does; None where neither writes."""
        rates: Rates = getattr(self, placement)
        return rates.mb_s / self.baseline.mb_s if self.baseline.mb_s else None


@dataclass(frozen=True, slots=True)
class Curves:
    """The model in one form, from locality 0 to 100 %.

    FGC and SGC write equally much at `crossover`; FGC writes more below, SGC above. With reads as
    fast as the pages that GC prefers, in place of mean ones, they do so at
    `matched_reads_crossover_percent`. Both are None where all pages are alike.
    """

    form: Form
    formula: str
    points: tuple[Point, ...]
    crossover: Point | None
    matched_reads_crossover_percent: float | None

    @property
    def crossover_locality_percent(self) -> float | None:
        """Where FGC and SGC write equally much."""
        return None if self.crossover is None else self.crossover.locality_percent

    def at(self, locality_percent: float) -> Point:
        """The point at a locality that is drawn.

        Raises:
            KeyError: no point is there.
        """
        for point in self.points:
            if point.locality_percent == locality_percent:
                return point
        raise KeyError(locality_percent)


@dataclass(frozen=True, slots=True)
class RateMatching:
    """The model for a device in both forms, with what it rests on."""

    device: str
    array: Array
    printed: Curves
    self_consistent: Curves

    @property
    def forms(self) -> tuple[Curves, Curves]:
        """Both forms, the printed one first."""
        return self.printed, self.self_consistent

    def to_dict(self) -> dict[str, Any]:
        """The curves as a document for JSON; what does not exist is null."""
        array = self.array
        return {
            "version": native.version(),
            "device": self.device,
            "chips": array.chips,
            "page_bytes": array.page_bytes,
            "pages_per_block": array.pages_per_block,
            "spare_percent": array.spare_percent,
            "read_us": array.read_ns / 1000,
            "program_us": array.program_ns / 1000,
            "program_fast_us": array.program_fast_ns / 1000,
            "program_slow_us": array.program_slow_ns / 1000,
            "erase_us": array.erase_ns / 1000,
            "printed": _document(self.printed),
            "self_consistent": _document(self.self_consistent),
        }

    def to_json(self) -> str:
        """The document of `to_dict` as JSON text."""
        return json_text(self.to_dict())


def _document(curves: Curves) -> dict[str, Any]:
    points = curves.points
    crossover = curves.crossover
    document: dict[str, Any] = {
        "formula": curves.formula,
        "crossover_locality_percent": curves.crossover_locality_percent,
        "crossover_pages_moved": None if crossover is None else crossover.moved,
        "crossover_mb_s": None if crossover is None else crossover.fgc.mb_s,
        "matched_reads_crossover_locality_percent": curves.matched_reads_crossover_percent,
        "locality_percent": [point.locality_percent for point in points],
        "pages_moved": [point.moved for point in points],
        "pages_freed": [point.freed for point in points],
    }
    for placement in PLACEMENTS:
        rates: list[Rates] = [getattr(point, placement) for point in points]
        document[placement] = {
            "external_mb_s_of_a_chip": [each.external_mb_s for each in rates],
            "gc_mb_s_of_a_chip": [each.gc_mb_s for each in rates],
            "gc_chips_percent": [each.gc_chips_percent for each in rates],
            "mb_s": [each.mb_s for each in rates],
            "over_baseline": [point.gain(placement) for point in points],
        }
    return document


def analyze_rate_matching(
    *,
    device: str | os.PathLike[str] = "harey-8g",
    spare_percent: float | None = None,
) -> RateMatching:
    """Works out what the host can write under sustained load, by locality and placement.

    Equations 1 and 2 of The Harey Tortoise for any device, and the curves of its Fig. 6 over the
    locality of the writes: in the printed form, and in one that reclaims what was not moved.

    Args:
        device: name of a drive or path of its file.
        spare_percent: share of the physical pages that the host does not see, above 0
            and below 100; the device's if not given.

    Raises:
        UsageError: an argument of the wrong type or out of range.
        ConfigError: an unknown or faulty device.
    """
    name = arguments.name("device", device)
    array = Array.of(name)
    if spare_percent is not None:
        percent = arguments.number("spare_percent", spare_percent, 0, 100, open_below=True)
        array = replace(array, spare_percent=percent)
    return RateMatching(
        device=name,
        array=array,
        printed=_curves(array, "printed"),
        self_consistent=_curves(array, "self-consistent"),
    )


def _curves(array: Array, form: Form) -> Curves:
    spare = array.spare_percent
    # How many pages are moved for each that is reclaimed, where FGC and SGC write equally much:
    # program times trade places between host and GC, and with matched reads these do so, too.
    moved_per_freed = 1.0
    difference = array.program_slow_ns - array.program_fast_ns
    matched = difference + array.read_slow_ns - array.read_fast_ns
    crossover = None
    matched_percent = None
    if difference:
        crossover = _point(array, form, _crossover_percent(form, spare, moved_per_freed))
        if matched > 0:
            found = _crossover_percent(form, spare, difference / matched)
            matched_percent = found if found >= 0 else None
    formula = {
        "printed": f"{spare / 100:g} x pages / (pgsMvd x mvLat + eLat)",
        "self-consistent": "(pages - pgsMvd) / (pgsMvd x mvLat + eLat)",
    }[form]
    return Curves(
        form=form,
        formula=formula,
        points=tuple(_point(array, form, percent) for percent in LOCALITIES),
        crossover=crossover,
        matched_reads_crossover_percent=matched_percent,
    )


def _crossover_percent(form: Form, spare_percent: float, moved_per_freed: float) -> float:
    """The locality at which so many pages are moved for each that is reclaimed."""
    if form == "printed":
        return 100 - spare_percent * moved_per_freed
    return 100 / (1 + moved_per_freed)


def _point(array: Array, form: Form, locality_percent: float) -> Point:
    pages = array.pages_per_block
    moved = pages * (100 - locality_percent) / 100
    spare = array.spare_percent if form == "printed" else locality_percent
    freed = pages * spare / 100
    return Point(
        locality_percent,
        moved,
        freed,
        *(_rates(array, placement, moved, freed) for placement in PLACEMENTS),
    )


def _rates(array: Array, placement: Placement, moved: float, freed: float) -> Rates:
    host_ns, gc_ns = array.programs_ns(placement)
    # Bytes per nanosecond are 10^9 bytes per second.
    external = 1000 * array.page_bytes / host_ns
    cleaning_ns = moved * (array.read_ns + gc_ns) + array.erase_ns
    gc = 1000 * freed * array.page_bytes / cleaning_ns
    share = external / (external + gc)
    return Rates(external, gc, 100 * share, array.chips * gc * share)
