"""How many planes may share one turn of GC, and how much RAM that needs: TTFLASH, Appendix A.

Under rotating GC at most one plane of a group collects at a time. Each second a plane spends a time
T_gc on its own GC, so that N planes in turn need N x T_gc; rotation holds while that is below one
second. The calculation is for one die, since a die runs one command at a time; on the TTFLASH
drives a die is a plane. It is worked out in three forms:

- `as printed`: the arithmetic of the paper's Table 3. It cuts the raw bandwidth to one decimal of
  10^6 bytes per second and goes on as if that were 2^20 bytes.
- `paper`: the paper's formula with exact numbers. GC copies v pages for each page written, where v
  is the valid share of a victim. The erase is left out.
- `self-consistent`: a victim with a share v of valid pages frees only 1 - v, so GC copies
  v / (1 - v) pages for each page written; parity adds a page to each N - 1; each block's erase is
  shared by the pages copied out of it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tinytail.engine import arguments, catalog, native
from tinytail.errors import UsageError
from tinytail.files.text import json_text

Form = Literal["as printed", "paper", "self-consistent"]
Load = Literal["raw bandwidth", "drive writes per day"]

MIB = 1 << 20
SECOND_NS = 1_000_000_000
MS_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """One value of the calculation: what it is, how it is worked out, and its unit."""

    symbol: str
    formula: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """The calculation in one form for one load, with every value on the way.

    `bound` is what N must stay below and `n_max` the largest whole N that does; it is 0 where even
    one plane has more to collect than time, and `bound` infinite where there is nothing to collect.
    `ram_mib` is the least size of the capacitor-backed RAM.
    """

    form: Form
    load: Load
    steps: tuple[Step, ...]
    bound: float
    n_max: int
    ram_mib: float

    def step(self, symbol: str) -> Step:
        """The value with this symbol.

        Raises:
            KeyError: there is none.
        """
        for step in self.steps:
            if step.symbol == symbol:
                return step
        raise KeyError(symbol)


@dataclass(frozen=True, slots=True)
class Die:
    """What Appendix A needs to know of a drive. Times in nanoseconds, sizes in bytes."""

    page_bytes: int
    pages_per_block: int
    bytes: int
    dies: int
    read_ns: float
    program_ns: float
    transfer_ns: int
    erase_ns: int

    @classmethod
    def of(cls, device: str) -> Die:
        """A die of a device.

        Raises:
            ConfigError: there is no such device, or its file is faulty.
        """
        document = catalog.device_document(device)
        geometry, timing = document["geometry"], document["timing"]
        shares = class_shares(timing)
        page, block = geometry["page_bytes"], geometry["pages_per_block"]
        return cls(
            page_bytes=page,
            pages_per_block=block,
            bytes=geometry["planes_per_die"] * geometry["blocks_per_plane"] * block * page,
            dies=geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"],
            read_ns=weighted_mean(timing["read_ns"], shares),
            program_ns=weighted_mean(timing["program_ns"], shares),
            transfer_ns=timing["transfer_page_ns"],
            erase_ns=timing["erase_step_ns"] * timing.get("erase_steps", 1),
        )


def class_shares(timing: dict[str, Any]) -> list[float]:
    """The share of each page class in a block, of the table `timing` of a device."""
    classes = len(timing["read_ns"])
    pattern: Sequence[int] = timing.get("page_class_pattern") or range(classes)
    return [list(pattern).count(each) / len(pattern) for each in range(classes)]


def weighted_mean(values: Sequence[float], shares: Sequence[float]) -> float:
    """The mean of values with their shares, which add up to 1."""
    return sum(value * share for value, share in zip(values, shares, strict=True))


@dataclass(frozen=True, slots=True)
class Rotation:
    """The whole calculation for a device, with what was assumed."""

    device: str
    dwpd: float
    day_hours: float
    valid: float
    width: int
    write_mib_s: float
    die: Die
    analyses: tuple[Analysis, ...]

    def analysis(self, form: Form, load: Load) -> Analysis:
        """The calculation in one form for one load.

        Raises:
            KeyError: that form has none.
        """
        for each in self.analyses:
            if (each.form, each.load) == (form, load):
                return each
        raise KeyError((form, load))

    @property
    def parity_percent(self) -> float:
        """The share of the pages that parity takes, in percent."""
        return 100 / self.width

    @property
    def device_mib_s(self) -> float:
        """What the drive writes each second of the day, in MiB."""
        return self.die.bytes * self.die.dies * self.dwpd / (self.day_hours * 3600) / MIB

    def to_dict(self) -> dict[str, Any]:
        """The calculation as a document for JSON; an unlimited bound is null."""
        return {
            "version": native.version(),
            "device": self.device,
            "dwpd": self.dwpd,
            "day_hours": self.day_hours,
            "valid": self.valid,
            "width": self.width,
            "write_mib_s": self.write_mib_s,
            "device_mib_s": self.device_mib_s,
            "parity_percent": self.parity_percent,
            "analyses": [
                {
                    "form": each.form,
                    "load": each.load,
                    "bound": each.bound if math.isfinite(each.bound) else None,
                    "n_max": each.n_max if math.isfinite(each.bound) else None,
                    "ram_mib": each.ram_mib,
                    "steps": [
                        {
                            "symbol": step.symbol,
                            "formula": step.formula,
                            "value": step.value if math.isfinite(step.value) else None,
                            "unit": step.unit,
                        }
                        for step in each.steps
                    ],
                }
                for each in self.analyses
            ],
        }

    def to_json(self) -> str:
        """The document of `to_dict` as JSON text."""
        return json_text(self.to_dict())


def analyze_rotation(
    *,
    device: str | os.PathLike[str] = "ttflash-256g",
    dwpd: float = 5.0,
    valid: float = 0.25,
    day_hours: float = 8.0,
    width: int = 8,
    write_mib_s: float | None = None,
) -> Rotation:
    """Works out the largest stripe width under which rotating GC holds, and the least RAM.

    The proof sketch of TTFLASH's Appendix A for any device: in the paper's form and in one that
    charges what a victim frees, parity and erases. Every value is shown with its unit.

    Args:
        device: name of a drive or path of its file.
        dwpd: how often the drive is written over each day.
        valid: the valid share of a victim's pages, from 0 to below 1.
        day_hours: into how many hours the writes of a day are pressed.
        width: the stripe width N, for parity and RAM.
        write_mib_s: the most that the host may write each second, in MiB; what the device's
            channels and dies allow if not given.

    Raises:
        UsageError: an argument of the wrong type or out of range.
        ConfigError: an unknown or faulty device.
    """
    name = arguments.name("device", device)
    arguments.number("dwpd", dwpd, 0, None)
    arguments.number("valid", valid, 0, 1)
    arguments.number("day_hours", day_hours, 0, None, open_below=True)
    if day_hours > 24:
        raise UsageError(f"day_hours must be at most 24, not {day_hours}")
    width = arguments.whole_number("width", width, 2, 65_536)
    if write_mib_s is None:
        write_mib_s = catalog.device_derived(name)["write_peak_mb_s"]
        peak = max(write_mib_s) if isinstance(write_mib_s, list) else write_mib_s
        write_mib_s = peak * 1e6 / MIB
    arguments.number("write_mib_s", write_mib_s, 0, None, open_below=True)
    die = Die.of(name)
    return Rotation(
        device=name,
        dwpd=dwpd,
        day_hours=day_hours,
        valid=valid,
        width=width,
        write_mib_s=write_mib_s,
        die=die,
        analyses=_analyses(_Worker(die, valid, width, write_mib_s), dwpd, day_hours),
    )


def _analyses(worker: _Worker, dwpd: float, day_hours: float) -> tuple[Analysis, ...]:
    """The calculation in its forms, for the raw bandwidth and for writes by the day."""
    die = worker.die
    raw_bytes_s = die.page_bytes * SECOND_NS / (die.program_ns + die.transfer_ns)
    daily_bytes_s = die.bytes * dwpd / (day_hours * 3600)
    of_all = _raw_steps(die, raw_bytes_s)
    raw: tuple[Load, list[Step], float] = ("raw bandwidth", of_all, raw_bytes_s)
    of_a_day = _daily_steps(die, dwpd, day_hours)
    daily: tuple[Load, list[Step], float] = ("drive writes per day", of_a_day, daily_bytes_s)
    return (
        worker.as_printed(raw_bytes_s),
        worker.paper(*raw),
        worker.paper(*daily),
        worker.self_consistent(*raw),
        worker.self_consistent(*daily),
    )


def _raw_steps(die: Die, bytes_s: float) -> list[Step]:
    return [
        Step("T_usrWrt", "T_prog + T_channel", (die.program_ns + die.transfer_ns) / 1000, "us"),
        Step("BW_pl", "S_page / T_usrWrt", bytes_s / 1e6, "MB/s"),
    ]


def _daily_steps(die: Die, dwpd: float, day_hours: float) -> list[Step]:
    bytes_s = die.bytes * dwpd / (day_hours * 3600)
    return [
        Step("S_pl", "planes x blocks x pages x S_page", die.bytes / (1 << 30), "GiB"),
        Step("BW_pl", "S_pl x DWPD / day", bytes_s / MIB, "MiB/s"),
    ]


@dataclass(frozen=True, slots=True)
class _Worker:
    die: Die
    valid: float
    width: int
    write_mib_s: float

    @property
    def copy_ns(self) -> float:
        return self.die.read_ns + self.die.program_ns

    def as_printed(self, bytes_s: float) -> Analysis:
        # 4.55 becomes 4.5.
        printed = math.floor(bytes_s / 1e5) / 10
        steps = [
            *_raw_steps(self.die, bytes_s),
            Step("BW_pl printed", "BW_pl cut to one decimal, read as MiB/s", printed, "MiB/s"),
        ]
        return self._paper_form("as printed", "raw bandwidth", steps, printed * MIB)

    def paper(self, load: Load, steps: list[Step], bytes_s: float) -> Analysis:
        return self._paper_form("paper", load, steps, bytes_s)

    def _paper_form(self, form: Form, load: Load, steps: list[Step], bytes_s: float) -> Analysis:
        pages_s = bytes_s / self.die.page_bytes
        copies_s = self.valid * pages_s
        gc_share = copies_s * self.copy_ns / SECOND_NS
        bound = math.inf if gc_share == 0 else 1 / gc_share
        ram = self.write_mib_s / self.width
        all_steps = [
            Step("T_copyback", "T_read + T_prog", self.copy_ns / 1000, "us"),
            *steps,
            Step("W_pg/s", "BW_pl / S_page", pages_s, "pages/s"),
            Step("CB_pg/s", "valid x W_pg/s", copies_s, "pages/s"),
            Step("T_gc/s", "CB_pg/s x T_copyback", gc_share * 1000, "ms/s"),
            Step("N bound", "1 / T_gc", bound, "planes"),
            Step("RAM", "write bandwidth x 1 s / N", ram, "MiB"),
        ]
        return Analysis(form, load, tuple(all_steps), bound, _below(bound), ram)

    def self_consistent(self, load: Load, steps: list[Step], bytes_s: float) -> Analysis:
        valid, block = self.valid, self.die.pages_per_block
        pages_s = bytes_s / self.die.page_bytes
        factor = valid / (1 - valid)
        with_parity_s = pages_s * self.width / (self.width - 1)
        copies_s = factor * with_parity_s
        # Each victim frees so many pages.
        erases_s = with_parity_s / (block * (1 - valid))
        copy_share = copies_s * self.copy_ns / SECOND_NS
        erase_share = erases_s * self.die.erase_ns / SECOND_NS
        gc_share = copy_share + erase_share
        bound = math.inf if gc_share == 0 else 1 / gc_share
        without_parity = bound * self.width / (self.width - 1)
        plain = math.inf if copy_share == 0 else self.width / (self.width - 1) / copy_share
        no_erase = math.inf if copy_share == 0 else 1 / copy_share
        gc_ns = valid * block * self.copy_ns + self.die.erase_ns
        ram = self.write_mib_s * gc_ns / SECOND_NS / self.width
        all_steps = [
            Step("T_copyback", "T_read + T_prog", self.copy_ns / 1000, "us"),
            *steps,
            Step("W_pg/s", "BW_pl / S_page", pages_s, "pages/s"),
            Step("copies per page", "valid / (1 - valid)", factor, "pages"),
            Step("N bound, copies alone", "1 / (W_pg/s x copies x T_copyback)", plain, "planes"),
            Step("W_pg/s with parity", "W_pg/s x N / (N - 1)", with_parity_s, "pages/s"),
            Step("CB_pg/s", "copies per page x W_pg/s with parity", copies_s, "pages/s"),
            Step("N bound, with parity", "1 / (CB_pg/s x T_copyback)", no_erase, "planes"),
            Step("erases/s", "W with parity / (block x (1 - valid))", erases_s, "blocks/s"),
            Step("T_gc/s", "CB x T_copyback + erases x T_erase", gc_share * 1000, "ms/s"),
            Step("N bound", "1 / T_gc", bound, "planes"),
            Step(
                "N max",
                "largest N with N x T_gc < 1 s, parity of that N",
                _with_own_parity(without_parity),
                "planes",
            ),
            Step("T_gc of a block", "valid x block x T_copyback + T_erase", gc_ns / MS_NS, "ms"),
            Step("RAM", "write bandwidth x T_gc of a block / N", ram, "MiB"),
        ]
        n_max = _with_own_parity(without_parity)
        return Analysis(
            "self-consistent",
            load,
            tuple(all_steps),
            bound,
            0 if math.isinf(n_max) else int(n_max),
            ram,
        )


def _below(bound: float) -> int:
    """The largest whole number below a bound; 0 for none and for an infinite one."""
    return 0 if math.isinf(bound) else max(0, math.ceil(bound) - 1)


def _with_own_parity(bound: float) -> float:
    """The largest N of at least 2 with N x N / (N - 1) below a bound that leaves parity out."""
    if math.isinf(bound):
        return math.inf
    # N^2 / (N - 1) lies between N + 1 and N + 2.
    width = max(0, math.floor(bound))
    while width >= 2 and width * width / (width - 1) >= bound:
        width -= 1
    return float(width if width >= 2 else 0)


def scrub_minutes(capacity_bytes: float, read_bytes_s: float) -> float:
    """How long it takes to read a whole drive once, in minutes. TTFLASH, section 7."""
    return capacity_bytes / read_bytes_s / 60
