"""Small probes of the engine: a handful of requests on a few planes, in which one thing happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinytail.engine import catalog
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.logs import Logged
from tinytail.reproduction.measures import Values
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import Experiment, Measure
from tinytail.reproduction.store import Outcome

DEVICE = "ttflash-256g"
US = 1000
MS = 1_000_000

# A drive of 2 channels with 2 planes each, without buffer. It is filled in order to a half and not
# overwritten, so that logical pages 0, 4, 8, ... fill the first blocks of plane (0, 0). Its
# threshold lies where the last of 192 overwrites of the first block makes GC due: 2048 - 192 = 1856
# erased pages of 4096 are 45.3125 %. So one GC finds a block with 64 valid pages of 256.
ISOLATED_DEVICE = {
    "base": DEVICE,
    "set": {
        "geometry.channels": 2,
        "geometry.chips_per_channel": 2,
        "geometry.blocks_per_plane": 16,
        "ram.buffer_kib": 0,
        "state.live_percent": 50,
        "state.overwrite_percent": 0,
    },
}
ISOLATED_TRIGGER = {
    "gc_trigger": {"policy": "watermark", "soft_free_percent": 45.33, "hard_free_percent": 20.0}
}
OVERWRITES = 192
# Every millisecond, since a program takes 0.9.
OVERWRITE_NS = MS
PLANES = {"same plane": 0, "same channel": 2, "other channel": 1}
# A page of a plane that is not overwritten: the first of them is logical page 800 + its number.
QUIET_PAGE = 800
SECTORS = 8
END_NS = 600 * MS


def _isolated_gc(lab: Lab, design: str, reads: Sequence[tuple[int, str, int]]) -> Outcome:
    """One GC of 64 pages, with reads at times after it has begun: time, plane, sectors."""
    lines = [(i * OVERWRITE_NS, 4 * i * SECTORS, SECTORS, 0) for i in range(OVERWRITES)]
    lines += [
        (_gc_start_asked() + after, (QUIET_PAGE + PLANES[plane]) * SECTORS, sectors, 1)
        for after, plane, sectors in reads
    ]
    # The warm-up plays the same before, so the GC must end before the last request does.
    lines.append((END_NS, (QUIET_PAGE + PLANES["other channel"]) * SECTORS, SECTORS, 1))
    requests = [f"{at} 0 {sector} {sectors} {op}" for at, sector, sectors, op in sorted(lines)]
    return lab.probe(
        Experiment(
            name="isolated-gc",
            about="one GC of 64 valid pages",
            designs=(f"{design}+@isolated",),
            device=ISOLATED_DEVICE,
            workload={"requests": requests},
            overlays={"isolated": ISOLATED_TRIGGER},
            cost_s=0.1,
            verify=True,
            log=True,
        )
    )


def _gc_start_asked() -> int:
    """When the last overwrite ends if nothing delays it, and so GC begins, as the trace counts."""
    derived = catalog.device_derived(DEVICE)
    return (OVERWRITES - 1) * OVERWRITE_NS + int(derived["program_page_ns"])


def _requests(outcome: Outcome) -> tuple[Logged, ...]:
    if outcome.log is None or not outcome.log.requests:
        raise Unavailable("the run has no log")
    return outcome.log.requests


def _gc_began_ns(outcome: Outcome) -> int:
    """When the last of the overwrites ended."""
    writes = [request for request in _requests(outcome) if request.kind == "write"]
    return max(request.completed_ns for request in writes)


def _reads(outcome: Outcome) -> list[Logged]:
    """The reads of a probe, without the one that ends it."""
    reads = [request for request in _requests(outcome) if request.kind == "read"]
    return [read for read in reads if read.arrived_ns < END_NS]


def isolated_gc(lab: Lab) -> Values:
    """How long a GC of 64 pages copies and lasts, on a drive that does nothing else.

    Under channel-blocking a read of another plane on the channel starts when copying has ended;
    under plane-blocking a read of the plane itself starts when the GC has ended.
    """
    idle_ns = catalog.device_derived(DEVICE)["read_page_ns"]
    erase_ns = catalog.device_derived(DEVICE)["erase_ns"]
    channel = _isolated_gc(lab, "base", [(MS, "same channel", SECTORS)])
    plane = _isolated_gc(lab, "base+plane-blocking", [(MS, "same plane", SECTORS)])
    (beside,), (behind,) = _reads(channel), _reads(plane)
    copied = [each.result.techniques["gc: copied pages"] for each in (channel, plane)]
    return {
        "channel_blocking_ms": (beside.completed_ns - idle_ns - _gc_began_ns(channel)) / MS,
        "plane_blocking_ms": (behind.completed_ns - idle_ns - erase_ns - _gc_began_ns(plane)) / MS,
        "pages": copied[0] if copied[0] == copied[1] else copied,
    }


def lock_isolation(lab: Lab) -> Values:
    """Reads that arrive 1 ms into a GC: how long those of other planes take, in µs."""
    values: Values = {}
    for name, design in (
        ("plane", "base+plane-blocking"),
        ("channel", "base"),
        ("controller", "base+controller-blocking"),
    ):
        for place in ("same channel", "other channel"):
            outcome = _isolated_gc(lab, design, [(MS, place, SECTORS)])
            (read,) = _reads(outcome)
            values[f"{name}_{place.replace(' ', '_')}_us"] = read.latency_ns / US
    return values


def gc_under_load(lab: Lab, *, load_every_us: int) -> Values:
    """How long a GC lasts, idle and while reads of another plane keep its channel at work.

    It ends when a read of its own plane, which came while it ran, begins.
    """
    idle_ns = catalog.device_derived(DEVICE)["read_page_ns"]
    values: Values = {}
    for name, design in (("plane", "base+plane-blocking"), ("channel", "base")):
        for loaded in (False, True):
            load = [
                (MS + at * US, "same channel", SECTORS)
                for at in range(0, 70_000 if loaded else 0, load_every_us)
            ]
            # Half a page tells the read that ends with the GC from those of the load.
            outcome = _isolated_gc(lab, design, [(MS, "same plane", SECTORS // 2), *load])
            (behind,) = [read for read in _reads(outcome) if read.sectors == SECTORS // 2]
            half_ns = catalog.device_document(DEVICE)["timing"]["transfer_page_ns"] // 2
            ended = behind.completed_ns - (idle_ns - half_ns)
            key = f"{name}_{'loaded' if loaded else 'idle'}_ms"
            values[key] = (ended - _gc_began_ns(outcome)) / MS
    return values


def preemption_delay(lab: Lab) -> Values:
    """The longest time that one read waits for a preemptible GC, while it copies and erases.

    One read at a time comes to the GC's own plane, at different moments of the GC's cycle. A read
    that finds an erase waits for the die and not for a copy, which is how the two are told apart.
    """
    derived = catalog.device_derived(DEVICE)
    idle_ns = derived["read_page_ns"]
    copying, erasing = [], []
    # The cycle of a copy in eleven steps; then every 150 us around the erase, which begins when
    # 64 copies and the reads between them have ended.
    for step in range(11):
        after = 5 * MS + step * derived["copyback_page_ns"] // 10
        (read,) = _reads(_isolated_gc(lab, "base+preemptible", [(after, "same plane", SECTORS)]))
        copying.append(read.latency_ns - idle_ns)
    copies_ns = 64 * derived["copyback_page_ns"]
    for step in range(14):
        after = copies_ns + step * 150 * US
        (read,) = _reads(_isolated_gc(lab, "base+preemptible", [(after, "same plane", SECTORS)]))
        erasing.append(read.latency_ns - idle_ns)
    return {"copying_us": max(copying) / US, "erasing_us": max(erasing) / US}


def idle_read(lab: Lab) -> Values:
    """The latency of a 4 KB read when the drive does nothing else, in µs."""
    outcome = _play_reads(lab, "base", "ttflash-small", [[(QUIET_PAGE, 1)]])
    return {"value": max(read.latency_ns for read in _requests(outcome)) / US}


def _play_reads(
    lab: Lab,
    design: str,
    device: str | Mapping[str, Any],
    together: Sequence[Sequence[tuple[int, int]]],
    overlays: Mapping[str, Mapping[str, Any]] | None = None,
) -> Outcome:
    """Plays groups of reads, 10 ms apart; those of a group, page and pages, arrive together."""
    requests = [
        f"{group * 10 * MS} 0 {page * SECTORS} {pages * SECTORS} 1"
        for group, reads in enumerate(together)
        for page, pages in reads
    ]
    return lab.probe(
        Experiment(
            name="reads",
            about="reads that meet nothing but each other",
            designs=(design,),
            device=device,
            workload={"requests": requests},
            overlays=overlays or {},
            cost_s=0.1,
            verify=True,
            log=True,
        )
    )


# --- RAIN -----------------------------------------------------------------------------------------


def _width(lab: Lab, width: int) -> dict[str, Any]:
    """An overlay that sets the stripe width."""
    section, _, key = lab.paper.settings["stripe_width"].partition(".")
    return {section: {"policy": "rain", key: width}}


# Stripes of two pages, the narrowest, leave less than a half of the pages to data. Here it is 47 %.
NARROW_PERCENT = 112.7659574


def _rain_device(channels: int, chips: int) -> dict[str, Any]:
    return {
        "base": "ttflash-small",
        "set": {
            "geometry.channels": channels,
            "geometry.chips_per_channel": chips,
            "host.over_provisioning_percent": NARROW_PERCENT,
            "state.overwrite_percent": 0,
        },
    }


def stripe_boundary(lab: Lab) -> Values:
    """Pages on the busiest channel when LPNs 0 to 3 are read at once from four channels.

    The read takes its array time and one transfer for each of them.
    """
    timing = catalog.device_document("ttflash-small")["timing"]
    first_ns = timing["command_ns"] + timing["read_ns"][0]
    values: Values = {}
    for name, design, overlays in (
        ("rain", "ttflash+no-gc+@width", {"width": _width(lab, 4)}),
        ("no_rain", "base+no-gc", {}),
    ):
        outcome = _play_reads(lab, design, _rain_device(4, 4), [[(0, 4)]], overlays)
        (read,) = _requests(outcome)
        values[name] = (read.latency_ns - first_ns) // timing["transfer_page_ns"]
    return values


def _meet(
    lab: Lab, width: int, device: Mapping[str, Any], pairs: list[tuple[int, int]]
) -> list[str]:
    """Where two pages meet that are read at once: on a die, on a channel only, or nowhere."""
    outcome = _play_reads(
        lab,
        "ttflash+no-gc+@width",
        device,
        [[(first, 1), (second, 1)] for first, second in pairs],
        {"width": _width(lab, width)},
    )
    idle_ns = catalog.device_derived("ttflash-small")["read_page_ns"]
    transfer_ns = catalog.device_document("ttflash-small")["timing"]["transfer_page_ns"]
    reads = _requests(outcome)
    met = []
    for group in range(len(pairs)):
        slowest = max(read.latency_ns for read in reads[2 * group : 2 * group + 2])
        if slowest <= idle_ns:
            met.append("nowhere")
        else:
            met.append("channel" if slowest <= idle_ns + transfer_ns else "die")
    return met


def figure_4_placement(lab: Lab) -> Values:
    """Which of LPNs 0 to 5 share a channel or a die with N = 4 and four channels.

    Figure 4 puts 0, 1 and 2 on channels 0, 1 and 2 of group 0 and their parity on channel 3, and 3,
    4 and 5 into the next group with parity on channel 2: then 0 and 3 share a channel, 1 and 4 do,
    and 5 shares none, since it is where the first parity is. `die` counts shared dies.
    """
    pairs = [(first, second) for first in range(6) for second in range(first + 1, 6)]
    met = _meet(lab, 4, _rain_device(4, 4), pairs)
    shared = [f"{a}-{b}" for (a, b), where in zip(pairs, met, strict=True) if where == "channel"]
    return {"share_channel": " ".join(shared), "share_die": met.count("die")}


def groups_per_position(lab: Lab) -> Values:
    """How many plane groups the planes at one position of 32 channels make, with N = 8 and 16.

    With one plane on each channel the stripes go round the groups, so that the first page of
    stripe k lies on the die of stripe 0's first when k is the number of groups.
    """
    values: Values = {}
    for width in (8, 16):
        pairs = [(0, stripe * (width - 1)) for stripe in range(1, 9)]
        met = _meet(lab, width, _rain_device(32, 1), pairs)
        values[f"n{width}"] = met.index("die") + 1 if "die" in met else None
    return values


# Every plane starts 15 % of its pages short of its soft threshold, so that some plane of the group
# is always in GC once each has been programmed, although nobody writes any more.
DUE = {"gc_trigger": {"policy": "watermark", "soft_free_percent": 45.0, "hard_free_percent": 10.0}}
DUE_GEOMETRY = {
    "geometry.chips_per_channel": 1,
    "geometry.blocks_per_plane": 128,
    "state.free_percent": 30.0,
}
DUE_RAM = {"ram.buffer_kib": 64, "ram.flush_above_percent": 1}
# The stripe that is written has left the RAM by then: a page of it waits for at most the GC of its
# plane, which takes less than 25 ms.
READS_FROM_NS = 40 * MS
STRIPES_READ = 60


def _read_behind_gc(
    lab: Lab, design: str, *, width: int = 8, pages: int | None = None, reads: int = 150
) -> Outcome:
    """One stripe is written, and GC of its plane group goes on; then a read each millisecond.

    The reads are of other stripes, of neighbouring pages at all places, and meet nothing but GC: a
    full read takes 140 us. They end before the group has no more to collect.
    """
    stripe = width - 1
    pages = pages or stripe
    requests = [f"0 0 0 {stripe * SECTORS} 0"]
    for i in range(reads):
        page = (1 + 37 * i % STRIPES_READ) * stripe + 5 * i % (width - pages)
        requests.append(f"{READS_FROM_NS + i * MS} 0 {page * SECTORS} {pages * SECTORS} 1")
    small = {"geometry.channels": width, "host.over_provisioning_percent": NARROW_PERCENT}
    return lab.probe(
        Experiment(
            name="read-beside-gc",
            about="reads beside GC on a drive that is otherwise idle",
            designs=(f"{design}+@due+@width",),
            device={"base": "ttflash-small", "set": small | DUE_GEOMETRY | DUE_RAM},
            workload={"requests": requests},
            overlays={"due": DUE, "width": _width(lab, width)},
            cost_s=0.1,
            verify=True,
        )
    )


def full_stripe_extra(lab: Lab) -> Values:
    """Extra page reads for each page of a full-stripe read that GC blocks."""
    result = _read_behind_gc(lab, "ttflash").result
    rebuilt = lab.counter(result, "reconstructed")
    return {
        "value": lab.counter(result, "extra_reads") / rebuilt if rebuilt else None,
        "reconstructed": rebuilt,
    }


def partial_stripe_extra(lab: Lab) -> Values:
    """The same for reads of R pages, for every N up to 16 and every R; the rule is N - R."""
    cases, wrong = 0, 0
    for width in range(2, 17):
        for pages in range(1, width):
            outcome = _read_behind_gc(lab, "ttflash", width=width, pages=pages)
            rebuilt = lab.counter(outcome.result, "reconstructed")
            extra = lab.counter(outcome.result, "extra_reads")
            cases += 1
            wrong += int(rebuilt == 0 or extra != rebuilt * (width - pages))
    return {"cases": cases, "wrong": wrong}


def full_stripe_latency(lab: Lab) -> Values:
    """The slowest full-stripe read beside one GC of its group, GC-tolerant or not, in µs."""
    tolerant = _read_behind_gc(lab, "ttflash").result
    waiting = _read_behind_gc(lab, "pb").result
    return {
        "gc_tolerant_us": tolerant.read.max_us,
        "waiting_us": waiting.read.max_us,
        "reconstructed": lab.counter(tolerant, "reconstructed"),
    }


def parity_time(lab: Lab) -> Values:
    """Computing time of each reconstruction, in µs, from the blame of all reads."""
    result = _read_behind_gc(lab, "ttflash").result
    rebuilt = lab.counter(result, "reconstructed")
    compute_us = result.attribution.all_reads.ns.get("compute", 0) / US
    return {"value": compute_us / rebuilt if rebuilt else None}


# Time for a stripe to leave the buffer before the next comes, and for all to come to rest.
STRIPE_NS = 2 * MS
REST_NS = 1000 * MS
STRIPES_WRITTEN = 3000
STRIPE_PAGES = 7


def _write_stripes(lab: Lab) -> Outcome:
    """Write full stripes in order, and wait until the buffer flushes no more.

    The warm-up does the same before, so no stripe is under way when counting begins or ends.
    """
    sectors = STRIPE_PAGES * SECTORS
    requests = [f"{i * STRIPE_NS} 0 {i * sectors} {sectors} 0" for i in range(STRIPES_WRITTEN)]
    requests.append(f"{STRIPES_WRITTEN * STRIPE_NS + REST_NS} 0 0 {SECTORS} 1")
    return lab.probe(
        Experiment(
            name="stripes-in-order",
            about="full stripes in order, and then nothing until the buffer is at rest",
            designs=("ttflash",),
            device="ttflash-small",
            workload={"requests": requests},
            cost_s=0.5,
            verify=True,
        )
    )


def parity_ratio(lab: Lab) -> Values:
    """Parity pages written for each data page, of full stripes."""
    result = _write_stripes(lab).result
    parity, data = lab.counter(result, "parity_pages"), lab.counter(result, "data_pages")
    return {"value": parity / data if data else None, "data_pages": data}


def stripe_width(lab: Lab) -> Values:
    """N, as the parity of full stripes has it: a page in each N. Widths are whole numbers."""
    result = _write_stripes(lab).result
    parity, data = lab.counter(result, "parity_pages"), lab.counter(result, "data_pages")
    return {"value": round((data + parity) / parity) if parity else None}


def zero_blocked(lab: Lab) -> Values:
    """GC-blocked full-stripe reads, and how often rotation was violated meanwhile."""
    result = _read_behind_gc(lab, "ttflash", reads=1000).result
    return {
        "blocked_percent": result.gc_blocked_read_percent,
        "violations": lab.counter(result, "violations"),
        "gcs": result.gc_count,
    }


PROBES: dict[str, Measure] = {
    probe.__name__: probe
    for probe in (
        figure_4_placement,
        full_stripe_extra,
        full_stripe_latency,
        gc_under_load,
        groups_per_position,
        lock_isolation,
        idle_read,
        isolated_gc,
        parity_ratio,
        parity_time,
        partial_stripe_extra,
        preemption_delay,
        stripe_boundary,
        stripe_width,
        zero_blocked,
    )
}
