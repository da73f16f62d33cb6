"""A stand-in for the native module that returns at once whatever a test tells it to."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tinytail.errors import ConfigError, WorkloadError

Run = Callable[[dict[str, Any], "FakeControl"], dict[str, Any]]


class FakeControl:
    """The contract of the native `Control`, whose counters a fake run sets."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.now = ("", 0, 0)

    def phase(self) -> str:
        return self.now[0]

    def done(self) -> int:
        return self.now[1]

    def total(self) -> int:
        return self.now[2]

    def cancel(self) -> None:
        self.cancelled.set()


def latency(count: int, scale: float) -> dict[str, Any]:
    figures = {"mean": 2, "p50": 1, "p90": 2, "p95": 3, "p99": 10, "p999": 80, "p9999": 200}
    document: dict[str, Any] = {"count": count}
    document |= {f"{name}_us": scale * factor for name, factor in figures.items()}
    return document | {"p99999_us": scale * 300, "max_us": scale * 400}


def shares(ns: dict[str, int], total_ns: float) -> dict[str, int]:
    """Times by cause in the same shares of another total."""
    was = sum(ns.values())
    return {cause: int(each * total_ns / was) for cause, each in ns.items()}


def series() -> dict[str, Any]:
    """Two windows, the second without anything."""
    counts = ("reads", "writes", "read_bytes", "write_bytes", "host_pages", "gc_pages", "gcs")
    figures = [f"read_{name}_us" for name in ("p50", "p99", "p999", "max")]
    figures += ["requests_per_second", "mb_per_second", "free_blocks_mean", "write_amplification"]
    document: dict[str, Any] = {"window_seconds": 0.0001, "free_blocks_min": [3, None]}
    return document | {name: [7, 0] for name in counts} | {name: [7.5, None] for name in figures}


def erased(drift: int, urgent_seconds: float | None = None) -> dict[str, Any]:
    """Erased pages with a drift."""
    ends = {"start_pages": 50_000, "end_pages": 50_000 + drift}
    return {
        **ends,
        "drift_pages": drift,
        "drift_percent": drift / 1000,
        "urgent_seconds": urgent_seconds,
    }


def state() -> dict[str, Any]:
    erased = {"free_percent": 5.0, "free_pages_min": 10, "free_pages_max": 20}
    aged = {"victim_valid_percent": 75.0, "aged_pages": 1000, "warm_up": "none"}
    return {"name": "steady", "live_percent": 70.0, **erased, **aged}


def throughput(changes: dict[str, Any]) -> dict[str, Any]:
    """Rates of 1.5 GB over all of the simulated time."""
    counts = (changes.get(kind, {}).get("count") for kind in ("read", "write"))
    pairs = zip(counts, (113_071, 13_972), strict=True)
    requests = sum(usual if count is None else count for count, usual in pairs)
    seconds = changes.get("simulated_seconds", 300.0)
    return {
        "requests": requests,
        "bytes": 1_500_000_000,
        "makespan_seconds": seconds,
        "arrivals_per_second": requests / seconds if seconds else None,
        "served_per_second": requests / seconds if seconds else None,
        "makespan_mb_per_second": 1500 / seconds if seconds else None,
        "die_busy_seconds": 60.0,
        "device_busy_mb_per_second": 1_600.0,
    }


def result(design: str = "base", scale: float = 140.0, **changes: Any) -> dict[str, Any]:
    """A result document that the published schema allows."""
    causes = {
        "die_gc_program": 5_000_000_000,
        "channel_host_read": 900_000_000,
        "array": 80_000_000,
        "transfer": 20_000_000,
        "command": 0,
    }
    nobody = {"queue_blocked": 0, "host_queue_ns": 0}
    waited = {"queue_blocked": 40, "host_queue_ns": 1_500_000_000}
    slowest = {"share_percent": 0.1, "count": 113, "latency_us_from": 53760.0, "ns": causes}
    slowest |= waited
    blocks = {"erases": [0, 1, 3], "blocks": [80, 40, 8]}
    document = {
        "design": design,
        "read": latency(113_071, scale),
        "write": latency(13_972, 2 * scale),
        "distribution": {
            "percent": [50.0, 99.0, 100.0],
            "read_us": [scale, 10 * scale, 400 * scale],
            "write_us": [2 * scale, 20 * scale, 800 * scale],
        },
        "intervals": {
            "read.p99_us": {
                **{"low": 9 * scale, "high": 12 * scale, "level_percent": 90},
                **{"method": "blocks", "n": 30},
            }
        },
        "gc_blocked_read_percent": 2.5,
        "gc_affected": {
            "percent": 2.6,
            "reads": {"count": 2_827, "percent": 2.2, "mean_us": 9_000.0},
            "writes": {"count": 500, "percent": 0.4, "mean_us": 11_000.0},
        },
        "plane_utilization_during_gc_percent": 100.0,
        "throughput": throughput(changes),
        "queue_blocked_read_percent": 0.0,
        "write_amplification": 4.1,
        "erases": 1234,
        "erased": erased(0),
        "gc": "real",
        "gc_count": 567,
        "gc_times": {
            "mean_us": 17_300.0,
            "max_us": 19_600.0,
            "turn_max_us": 21_000.0,
            "copy_mean_us": 15_300.0,
            "gate_wait_mean_us": 5_700.0,
            "gate_wait_max_us": 39_800.0,
        },
        "bursts": None,
        "rotation_violations": [],
        "findings": [],
        "wear": {"erases_most": 21, "erases_least": 18, "variation_percent": 3.1, "blocks": blocks},
        "attribution": {
            "all_reads": {"count": 113_071, "ns": causes, **waited},
            "slowest_reads": slowest,
            "tails": [
                slowest
                | {"share_percent": share, "count": count}
                | {"ns": shares(causes, count * 1250 * factor * scale)}
                for share, count, factor in ((1.0, 1131, 10), (0.1, 113, 80), (0.01, 11, 200))
            ],
            "all_writes": {"count": 13_972, "ns": {"buffer": 14_000_000}, **nobody},
            "write_tails": [
                slowest
                | {"share_percent": share, "count": count}
                | {"ns": {"buffer": int(count * 2500 * factor * scale)}}
                | nobody
                for share, count, factor in ((1.0, 140, 10), (0.1, 14, 80))
            ],
        },
        "series": series(),
        "techniques": {"victim/greedy": 567},
        "event_hash": "0123456789abcdef",
        "requests_per_cpu_second": 4_123_456.0,
        "cpu_seconds": 0.03,
        "ns_per_event": 61.2,
        "events": 762_258,
        "simulated_seconds": 300.0,
        "unmapped_read_pages": 0,
        "unmapped_read_percent": 0.0,
        "verified_page_reads": None,
        "partial": False,
        "stuck": None,
        "standstill": None,
        "device": "ttflash-256g",
        "workload": {"name": "dtrs", "input": "real", "detail": "127,043 requests of 300 s"}
        | {"pacing": "open"},
        "state": state(),
        "seed": 1,
        "version": "9.9.9",
        "notes": ["times are read as microseconds"],
        "adjusted": [],
        "log": None,
        "request_timelines": None,
        "timeline": None,
    }
    return copy.deepcopy(document | changes)


class FakeShared:
    """The contract of the native `Shared`."""

    def __init__(
        self, specs_json: list[str], cache: tuple[str, int] | None, holds_last: bool
    ) -> None:
        self.specs = [json.loads(spec) for spec in specs_json]
        self.cache = cache
        self.holds_last = holds_last

    def take_notes(self) -> list[str]:
        return []


def trace_info(**changes: Any) -> dict[str, Any]:
    """What the native module says of a trace with several devices, reads and writes."""
    sizes = [{"up_to_kib": 0.5 * 2**power, "requests": 1000 + power} for power in range(12)]
    kind: dict[str, Any] = {
        "requests": 113_070,
        "mean_kib": 55.6,
        "median_kib": 64.0,
        "max_kib": 1024.0,
    }
    kind |= {"pages": 1_600_000, "footprint_mib": 4316.0, "sizes": sizes}
    hottest = [
        {"pages_percent": pages, "accesses_percent": share}
        for pages, share in ((1, 20.0), (5, 41.5), (20, 70.0), (50, 90.0))
    ]
    device = {"requests": 60, "end_byte": 5 << 30, "offset_bytes": 0}
    document = {
        "path": "a.trace",
        "format": "ascii",
        "compression": "none",
        "time_unit": "us",
        "address_unit": "sectors",
        "columns": None,
        "ops": "write=0,read=1",
        "devices": [device | {"device": str(number)} for number in range(2038)],
        "notes": ["format ascii", "not played: 1 header line"],
        "doubts": [],
        "requests": 127_043,
        "duration_s": 300.0,
        "write_percent": 11.0,
        "read": kind,
        "write": kind | {"requests": 13_973},
        "trim": kind | {"requests": 0, "sizes": []},
        "iops_mean": 423.0,
        "iops_peak": 1011,
        "peak_to_mean": 2.39,
        "peak_to_mean_100ms": 12.0,
        "mb_per_s_mean": 24.0,
        "interarrival_cv": 2.0,
        "dispersion_1s": 3.0,
        "dispersion_100ms": 2.0,
        "interarrival": [{"up_to_us": 10.0**power, "gaps": 9000} for power in range(-2, 8)],
        "locality": {"pages": 65536, "sampled": True, "once_percent": 60.0, "hottest": hottest},
        "end_bytes": 154 << 30,
        "span_gib": 153.2,
        "footprint_mib": 5000.0,
        "overwrite_percent": 0.9,
        "sequential_percent": 84.7,
        "bursts": None,
        "findings": [],
    }
    return document | changes


def image_info(path: str, state: dict[str, Any]) -> dict[str, Any]:
    """What the native module says of an image."""
    about = {"tinytail": "1.2.3", "device": "ttflash-256g", "design": "base", "workload": None}
    where = {"path": path, "bytes": 1024, "image_version": 1}
    return where | about | {"seed": 1, "state": state, "aged": {}, "layout": {}}


class FakeNative:
    """The functions of the native module. `runs` tells what a design's run does."""

    Shared = FakeShared

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.specs: list[dict[str, Any]] = []
        self.transforms: list[dict[str, Any]] = []
        self.conversions: list[tuple[str, str, dict[str, Any]]] = []
        self.known_designs = ["base", "ttflash", *(f"design-{letter}" for letter in "abcdefgh")]
        self.known_overlays = ["no-gc", "t-es"]

    def version(self) -> str:
        return "9.9.9"

    def _description(self, name: str, known: list[str], what: str) -> str:
        if name not in known:
            raise ConfigError(f'unknown {what} "{name}"; known: {", ".join(known)}')
        row = {"section": "timing", "key": "read_us", "value": 40, "source": "paper, table 1"}
        rows = [
            row,
            {"section": "geometry", "key": "page_bytes", "value": 4096, "source": "the same"},
        ]
        derived = [{"key": "physical_bytes", "value": 1024}, {"key": "logical_pages", "value": 200}]
        document = {"name": name, "summary": f"the {what} {name}", "rows": rows}
        return json.dumps({"defaults": {"design": "base"}} | document | {"derived": derived})

    def devices(self) -> str:
        return json.dumps([{"name": "ttflash-256g", "summary": "the drive of a paper"}])

    def settings_check(self, given: Sequence[str], without_workload: str | None) -> None:
        pass

    def device(self, name: str, _given: Sequence[str] = ()) -> str:
        return self._description(name, ["ttflash-256g"], "device")

    def device_document(self, name: str, _given: Sequence[str] = ()) -> str:
        description = json.loads(self.device(name))
        document: dict[str, Any] = {"name": description["name"]}
        for row in description["rows"]:
            document.setdefault(row["section"], {})[row["key"]] = row["value"]
        derived = {row["key"]: row["value"] for row in description.get("derived", [])}
        return json.dumps({"defaults": {"design": "base"}} | document | {"derived": derived})

    def fits(self, spec_json: str) -> str:
        spec = json.loads(spec_json)
        self.device(spec["device"])
        for design in spec["designs"]:
            self.design(design)
        nothing: dict[str, Any] = {"adjusted": [], "logical_bytes": 1024, "refusal": None}
        return json.dumps([nothing | {"design": design} for design in spec["designs"]])

    def designs(self) -> str:
        base = {"name": "base", "summary": "plain", "kind": "design"}
        return json.dumps([base, {"name": "no-gc", "summary": "never", "kind": "overlay"}])

    def design(self, name: str, _given: Sequence[str] = ()) -> str:
        first, *overlays = name.split("+")
        for overlay in overlays:
            self._description(overlay, self.known_overlays, "overlay")
        self._description(first, self.known_designs, "design")
        return self._description(name, [name], "design")

    def workloads(self) -> str:
        return json.dumps([{"name": "dtrs", "summary": "a real trace"}])

    def workload(self, name: str, _given: Sequence[str] = ()) -> str:
        return self._description(name, ["act", "dtrs"], "workload")

    def workload_check(self, name: str, given: Sequence[str]) -> None:
        self.workload(name, given)

    def trace_info(self, path: str, inspection_json: str, control: FakeControl) -> str:
        control.now = ("reading", 5, 10)
        inspection = json.loads(inspection_json)
        given = {"time_unit": inspection["trace"].get("time_unit"), "path": path}
        self.transforms.append(inspection["transform"])
        return json.dumps(trace_info() | given)

    def trace_convert(
        self, workload: str, output: str, conversion_json: str, control: FakeControl
    ) -> str:
        control.now = ("reading", 5, 10)
        self.conversions.append((workload, output, json.loads(conversion_json)))
        written = {"path": output, "sidecar": f"{output}.toml", "requests": 3}
        return json.dumps(written | {"compression": "none", "notes": []})

    def workload_claims(self, name: str, seed: int) -> str:
        if name != "standin-dtrs":
            raise WorkloadError(f"workload `{name}`: it claims nothing")
        claim = {"name": "write_percent", "value": 11.0, "tolerance_percent": 5.0}
        found = 11.1 if seed == 1 else 22.2
        return json.dumps([claim | {"found": found, "holds": seed == 1}])

    def config_check(self, path: str) -> str:
        if "faulty" in path:
            raise ConfigError(f'{path}:3:1: unknown key "chanels"; did you mean "channels"?')
        return json.dumps({"kind": "device", "findings": []})

    def run(self, spec_json: str, control: FakeControl, shared: FakeShared) -> str:
        spec = json.loads(spec_json)
        assert shared.specs
        self.specs.append(spec)
        run = self.runs.get(spec["design"])
        return json.dumps(result(spec["design"]) if run is None else run(spec, control))

    def image_create(self, spec_json: str, control: FakeControl) -> str:
        spec = json.loads(spec_json)
        self.specs.append(spec)
        run = self.runs.get(spec["design"])
        if run is not None:
            run(spec, control)
        return json.dumps(image_info(spec["out"], spec.get("state", {})))

    def image_info(self, path: str) -> str:
        if "faulty" in path:
            raise ConfigError(f"{path}: the image is cut off: it has 3 bytes of 1024")
        return json.dumps(image_info(path, {"live_percent": 40}))

    def image_fits(self, path: str, device: str, design: str, _given: Sequence[str] = ()) -> bool:
        """Overlays leave the layout as it is here."""
        self.device(device)
        made = next(spec["design"] for spec in self.specs if spec.get("out") == path)
        return bool(made.split("+")[0] == design.split("+")[0])

    def bench_cases(self) -> str:
        return json.dumps([["steady-gc", "steady-gc-controller"], ["ageing"]])

    def bench(self, case: str, _control: FakeControl) -> str:
        if case == "ageing":
            return json.dumps({"name": case, "cpu_seconds": 12.5, "peak_memory_bytes": None})
        document = {"name": case, "requests_per_cpu_second": 2e6, "ns_per_event": 60.0}
        return json.dumps(document | {"floor_ratio": 8.0, "peak_memory_bytes": None})
