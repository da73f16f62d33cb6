"""What a sweep runs: its fixed part, its axes, and the run at each of its points."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tinytail.engine import arguments, catalog, memory
from tinytail.engine.declared import divided
from tinytail.engine.jobs import cpu_count
from tinytail.engine.options import RunOptions, RunSpec, TraceOptions, Transform
from tinytail.errors import ConfigError, TinytailError, UsageError, suggestion
from tinytail.files.regular import open_file
from tinytail.files.schema import read_schema
from tinytail.inputs import conflicts, pipes, policy_files, tables
from tinytail.inputs.designs import designs_or_own, refuses
from tinytail.policies.policy import plain
from tinytail.sweeps.axes import Axis, Grid, grid

SEEDS_MAX = 1000
NAMED = ("design", "device", "workload")
# What the name of an axis begins with whose values are overlays.
OVERLAY = "+"
_RUN = tuple(each.name for each in fields(RunOptions) if each.name not in ("seed", "windows"))
_TRACE = tuple(each.name for each in fields(TraceOptions))
_TRANSFORM = tuple(each.name for each in fields(Transform))
# What an axis may vary beside values of files.
AXIS_OPTIONS = (*_RUN, *_TRACE, *_TRANSFORM)
# A series over time is not kept of each point.
_WINDOWS = 1
# So many combinations are looked through for one that can run.
_TRIED_MAX = 100
# So many values of an axis are looked at before anything runs.
_CHECKED_MAX = 1000


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep.

    Attributes:
        id: A digest of everything that decides the run; equal ids mean equal results.
        values: The values of the axes.
        design: The design, without what axes add to it.
        spec: The run.
        layout: Which of the sweep's drives it is of; those of one may start from the same state.
    """

    id: str
    values: Mapping[str, Any]
    design: str
    spec: RunSpec
    layout: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep to be made; see `sweep` for the meaning of each field.

    `designs` is empty where an axis names the designs, and so is `device` or `workload`. `beside`
    are designs that are not run, and whose capacity bounds the addresses as if they were.
    """

    grid: Grid
    designs: tuple[str, ...]
    device: str
    workload: str
    settings: tuple[str, ...]
    state: Mapping[str, catalog.StateValue]
    options: Mapping[str, Any]
    image: str | None
    seed: int
    seeds: int
    beside: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.grid) * max(1, len(self.designs)) * self.seeds

    def __iter__(self) -> Iterator[Point]:
        """Every point. Those that start from the same state come near each other."""
        ordered = Grid(tuple(sorted(self.grid.groups, key=lambda group: not _is_of_drive(group))))
        outer = sum(_is_of_drive(group) for group in ordered.groups)
        layouts = (
            (of_drive, seed)
            for of_drive in Grid(ordered.groups[:outer])
            for seed in range(self.seed, self.seed + self.seeds)
        )
        for layout, (of_drive, seed) in enumerate(layouts):
            for others in Grid(ordered.groups[outer:]):
                yield from self._points({**of_drive, **others}, seed, layout)

    def at(self, values: Mapping[str, Any]) -> list[Point]:
        """The points of one combination: those of all designs and seeds."""
        seeds = range(self.seed, self.seed + self.seeds)
        return [point for seed in seeds for point in self._points(values, seed, 0)]

    def spec_at(self, values: Mapping[str, Any]) -> RunSpec:
        """The run of the first design at a combination, with the first seed."""
        return self._spec(values, self.designs[0] if self.designs else values["design"], self.seed)

    def _points(self, values: Mapping[str, Any], seed: int, layout: int) -> Iterator[Point]:
        designs = self.designs or (values["design"],)
        specs = [self._spec(values, design, seed) for design in designs]
        smallest = self._smallest(specs)
        for design, spec in zip(designs, specs, strict=True):
            beside = () if smallest in (None, spec.design) else (smallest,)
            made = replace(spec, beside=beside)
            said = json.dumps(made.given(), sort_keys=True)
            named = {axis.name: values[axis.name] for axis in self.grid.axes}
            digest = hashlib.blake2s(said.encode(), digest_size=10).hexdigest()
            yield Point(digest, named, design, made, layout)

    def _spec(self, values: Mapping[str, Any], design: str, seed: int) -> RunSpec:
        options = {**self.options}
        words = [*self.settings]
        for name, value in values.items():
            if name in AXIS_OPTIONS:
                options[name] = value
            elif name.startswith(OVERLAY):
                design += f"+{value}" if value else ""
            elif name not in NAMED:
                words += arguments.settings({name: value})
        trace, options = divided(options, TraceOptions)
        transform, options = divided(options, Transform)
        return RunSpec(
            **options,
            device=values.get("device", self.device),
            design=design,
            workload=values.get("workload", self.workload),
            settings=tuple(sorted(words)),
            state=self.state,
            trace=trace,
            transform=transform,
            image=self.image,
            seed=seed,
            windows=_WINDOWS,
        )

    def _smallest(self, specs: Sequence[RunSpec]) -> str | None:
        """The design under which the drive is smallest: all use the addresses that it has then."""
        designs = tuple(dict.fromkeys([*(each.design for each in specs), *self.beside]))
        if len(designs) == 1:
            return None
        spec = specs[0]
        words = tuple(word for word in spec.settings if not is_of_workload(word.split("=")[0]))
        state = tuple(self.state.items())
        return _smallest(spec.device, designs, state, words)

    def fault(self, values: Mapping[str, Any]) -> TinytailError | None:
        """Why a combination can't run, as far as that is known without reading a workload."""
        return self._fault(values, self.designs or (values["design"],))

    def check(self) -> list[str]:
        """Finds, before anything runs, whatever is wrong with all values of an axis.

        Returns:
            What is to be said: values of axes with which nothing can run.

        Raises:
            UsageError, ConfigError, WorkloadError: an unknown axis, one that contradicts another,
                or a fixed part with which nothing can run.
        """
        start = self.runnable()
        notes = []
        for group in self.grid.groups:
            count = len(group[0].values)
            # Of very many, some that lie far apart.
            for place in range(0, count, -(-count // _CHECKED_MAX)):
                values = {axis.name: axis.values[place] for axis in group}
                at = {**start, **values}
                designs = self.designs or (at["design"],)
                faults = {each: self._fault(at, (each,)) for each in designs}
                refused = [each for each, fault in faults.items() if fault is not None]
                if refused:
                    said = ", ".join(f"{name} = {value}" for name, value in values.items())
                    notes.append(
                        f"{said} can't run with {', '.join(refused)}: these points are recorded as "
                        f"failed. {faults[refused[0]]}"
                    )
        return notes

    def runnable(self) -> dict[str, Any]:
        """The first combination that every design can run.

        Raises:
            UsageError, ConfigError, WorkloadError: there seems to be none; why the first can't.
        """
        first: TinytailError | None = None
        for values in chain(
            islice(self.grid, _TRIED_MAX), islice(self._one_by_one(), _CHECKED_MAX)
        ):
            fault = self.fault(values)
            if fault is None:
                return values
            first = first or fault
        assert first is not None
        raise first

    def _one_by_one(self) -> Iterator[dict[str, Any]]:
        """The first combination with each other value of each axis in turn."""
        for group in self.grid.groups:
            for place in range(len(group[0].values)):
                yield {**self._first(), **{axis.name: axis.values[place] for axis in group}}

    def _fault(self, values: Mapping[str, Any], designs: Sequence[str]) -> TinytailError | None:
        """Why a combination can't run, as far as that is known without reading a workload."""
        try:
            for design in designs:
                spec = self._spec(values, design, self.seed)
                catalog.check_settings(spec.settings)
                [fit] = catalog.fits(
                    spec.device,
                    [spec.design],
                    state=self.state,
                    image=self.image,
                    settings=spec.settings,
                )
                if fit.refusal is not None:
                    return ConfigError(
                        f"{spec.design} can't run on {spec.device}: {fit.refusal.message}."
                    )
            if not pipes.is_trace(spec.workload):
                catalog.check_workload(spec.workload, spec.settings)
        except TinytailError as error:
            return _of_axes(error, values, self.designs)
        return None

    def bytes_max(self) -> int:
        """About how much memory the largest point takes.

        Raises:
            ConfigError: an unknown or faulty device or design.
        """
        largest = memory.RUN
        verify = bool(self.options.get("verify")) or True in self._axis("verify")
        for values in Grid(tuple(filter(_is_of_size, self.grid.groups))):
            for design in self.all_designs():
                spec = self._spec({**self._first(), **values}, design, self.seed)
                # What is wrong with one of them, the run says.
                with suppress(ConfigError):
                    need = memory.drive_bytes(
                        spec.device, spec.design, spec.settings, verify=verify
                    )
                    largest = max(largest, need or 0)
        return largest

    def fit(self, jobs: int | None) -> memory.Fit:
        """How many points run at once: no more than fit into memory, unless `jobs` says so.

        It says too whether the last state of a large drive may stay in memory for the next points.

        Raises:
            ConfigError: not even one of them fits.
        """
        spec = self._spec(self._first(), self.all_designs()[0], self.seed)
        wanted = jobs or cpu_count()
        largest = self.bytes_max()
        return memory.fit(
            # Several of the largest may run at once.
            [largest] * min(len(self), wanted),
            blocks=lambda: memory.blocks_per_plane(spec.device, spec.settings),
            jobs=jobs,
            jobs_default=wanted,
            # The state that the next points copy.
            held=largest - memory.RUN,
        )

    def _first(self) -> dict[str, Any]:
        return {axis.name: axis.values[0] for axis in self.grid.axes}

    def _axis(self, name: str) -> tuple[Any, ...]:
        return next((axis.values for axis in self.grid.axes if axis.name == name), ())

    def fixed(self) -> dict[str, Any]:
        """What is the same for all points, by name, with a digest of each file that is read."""
        return {
            "axes": {axis.name: axis.type for axis in self.grid.axes},
            "device": self.device,
            "workload": self.workload,
            "settings": sorted(self.settings),
            "state": dict(self.state),
            "image": self.image,
            **dict(self.options),
            "files": {path: _digest(path) for path in self.files()},
        }

    def files(self) -> list[str]:
        """The files that the points read; tables that stand for files are none."""
        devices = self._axis("device") or (self.device,)
        workloads = self._axis("workload") or (self.workload,)
        designs = self._parts()
        named = [*conflicts.files_read(designs=designs, image=self.image)]
        for device in devices:
            named += conflicts.files_read(device=device)
        for workload in workloads:
            named += conflicts.files_read(workload=workload)
        values = (axis.values for axis in self.grid.axes)
        paths = dict.fromkeys(path for _, path in named if path)
        paths |= dict.fromkeys(policy_files.files((), self.settings, values))
        return [path for path in paths if Path(path).is_file()]

    def all_designs(self) -> tuple[str, ...]:
        """The designs, without what axes add to them."""
        return self.designs or self._axis("design")

    def _parts(self) -> list[str]:
        """The designs, and the overlays that axes add to them."""
        overlays = [axis.values for axis in self.grid.axes if axis.name.startswith(OVERLAY)]
        return [*self.all_designs(), *(each for of in overlays for each in of)]

    def policies_without_file(self) -> list[str]:
        """The policies of its designs that stand in no file, but are held by this program."""
        parts = [part for each in self._parts() for part in each.split("+")]
        values = (axis.values for axis in self.grid.axes)
        return policy_files.objects(parts, self.settings, values)

    def tables(self) -> dict[str, str]:
        """The texts of the tables that stand for files."""
        designs = self._parts()
        named = [*(self._axis("device") or [self.device])]
        named += self._axis("workload") or [self.workload]
        return tables.texts([*named, *(part for each in designs for part in each.split("+"))])


def command(spec: RunSpec) -> str:
    """The command line that makes the run of a point."""
    words = ["tinytail", "compare", spec.design, "--device", spec.device]
    words += ["--workload", spec.workload, *spec.trace.words(), *spec.transform.words()]
    given = {each.name: getattr(spec, each.name) for each in fields(RunOptions)}
    words += RunOptions(**given | {"windows": RunOptions().windows}).words()
    words += ["--image", spec.image] if spec.image is not None else []
    for key, value in spec.state.items():
        words += ["--state", f"{key}={arguments.state_word(value)}"]
    for word in spec.settings:
        words += ["--set", word]
    for design in spec.beside:
        words += ["--beside", design]
    return shlex.join(words)


def plan(
    axes: Mapping[str, Any],
    *,
    designs: Sequence[tables.DesignNamed] = (),
    device: tables.Named | None = None,
    workload: tables.Named | None = None,
    zip: Sequence[Sequence[str]] = (),
    state: Mapping[str, catalog.StateValue] | None = None,
    settings: arguments.Settings | None = None,
    image: str | os.PathLike[str] | None = None,
    seed: int = 1,
    seeds: int = 1,
    **options: Any,
) -> Plan:
    """The plan of what a caller passes to `sweep`, checked but for what the engine knows.

    Raises:
        UsageError: a value of the wrong type or out of range, an axis that contradicts another one
            or a fixed value, or no device, design or workload.
    """
    spanned = grid(axes, zip)
    spanned = Grid(tuple(tuple(map(_named, group)) for group in spanned.groups))
    names = [axis.name for axis in spanned.axes]
    for position, name in enumerate(names):
        _check_axis(name)
        if name in names[:position]:
            raise UsageError(f"axis {name} is given twice, with the kind of its file and without")
    for name in options:
        if name not in AXIS_OPTIONS:
            raise UsageError(f'there is no option "{name}"{suggestion(name, AXIS_OPTIONS)}')
    fixed = {"design": designs, "device": device, "workload": workload, **options}
    for name, value in fixed.items():
        if name in names and value:
            said = "designs" if name == "design" else name
            raise UsageError(f"axis {name} contradicts {said}, which is given beside it")
    for name in ("device", "workload"):
        if name not in names and fixed[name] is None:
            raise UsageError(f"no {name} is given, and no axis {name}")
    state = {} if state is None else arguments.state(state)
    words = arguments.settings(settings)
    taken = {_bare(word.partition("=")[0].strip()): "settings" for word in words}
    taken |= {f"state.{key}": "state" for key in state}
    for name in names:
        if name in taken:
            raise UsageError(f"axis {name} contradicts {taken[name]}, which has a value of it too")
        if image is not None and name.startswith("state."):
            raise UsageError(f"axis {name} contradicts the image, which has its own state")
    if image is not None and state:
        raise UsageError("state and image exclude each other: an image has its own state")
    drive = "" if device is None else tables.device(device)
    if not designs and "design" not in names and not drive:
        raise UsageError("no design is given; an axis of devices needs designs")
    chosen = () if "design" in names else designs_or_own(tables.designs(designs), drive)
    for position, design in enumerate(chosen):
        if design in chosen[:position]:
            raise UsageError(f'design "{design}" is given twice')
    if workload is not None and pipes.is_pipe(str(workload)):
        raise UsageError("a sweep reads its workload many times, and a pipe can be read once")
    made = Plan(
        grid=spanned,
        designs=chosen,
        device=drive,
        workload="" if workload is None else tables.workload(workload),
        settings=words,
        state=state,
        options={name: value for name, value in options.items() if value is not None},
        image=None if image is None else arguments.name("image", image),
        # What tables of other libraries can hold.
        seed=arguments.whole_number("seed", seed, 0, arguments.I64_MAX - SEEDS_MAX),
        seeds=arguments.whole_number("seeds", seeds, 1, SEEDS_MAX),
    )
    # Values of options are checked by their types.
    for axis in spanned.axes:
        for value in axis.values if axis.name in AXIS_OPTIONS else ():
            made._spec({**made._first(), axis.name: value}, "base", 1)
    return made


def _check_axis(name: str) -> None:
    if name in NAMED or name in AXIS_OPTIONS or "." in name or name.startswith(OVERLAY):
        return
    if name in ("seed", "seeds"):
        raise UsageError("seeds are no axis: give seeds, how many each point is run with")
    allowed = [*NAMED, *AXIS_OPTIONS]
    said = suggestion(name, allowed)
    if "allowed" in said:
        said += "; or a value of a file with its section, such as gc.write_points"
    raise UsageError(f'there is no axis "{name}"{said}')


def _named(axis: Axis) -> Axis:
    """The axis with the name that its value has in a file, and names in place of tables."""
    name = _bare(axis.name)
    make = {"device": tables.device, "workload": tables.workload, "design": tables.design}
    if name.startswith(OVERLAY):
        # An overlay as it stands behind a design; nothing where a combination has none.
        parts = (each and tables.design(["-", each]).removeprefix("-+") for each in axis.values)
        return Axis(name, tuple(parts))
    if name not in NAMED:
        return Axis(name, tuple(map(plain, axis.values)))
    return Axis(name, tuple(make[name](value) for value in axis.values))


def _bare(name: str) -> str:
    """A key without a word before its section that says what file has it."""
    first, dot, rest = name.partition(".")
    return rest if dot and first in NAMED and "." in rest else name


@lru_cache(maxsize=1)
def _sections() -> dict[str, str]:
    """Which kind of file has each section."""
    return {
        section: kind
        for kind in ("device", "design", "workload")
        for section in read_schema(kind)["properties"]
    }


def _is_of_drive(group: Sequence[Axis]) -> bool:
    """Whether zipped axes decide the drive, so that each of their values is aged for itself."""
    return any(
        axis.name == "device" or _sections().get(axis.name.partition(".")[0]) == "device"
        for axis in group
    )


def _is_of_size(group: Sequence[Axis]) -> bool:
    """Whether zipped axes decide how many pages the drive has."""
    return any(axis.name.partition(".")[0] in ("device", "geometry", "host") for axis in group)


def is_of_design(name: str) -> bool:
    """Whether an axis is a value of a design's file."""
    return _sections().get(_bare(name).partition(".")[0]) == "design"


def is_of_workload(name: str) -> bool:
    """Whether an axis, or a value behind `--set`, decides what the host does."""
    section = _bare(name.strip()).partition(".")[0]
    return name == "workload" or name in AXIS_OPTIONS or _sections().get(section) == "workload"


def logical_bytes(spec: RunSpec) -> int:
    """What the drive of a run holds for the host.

    Raises:
        ConfigError: there is no such drive or design, or it is faulty.
    """
    words = [word for word in spec.settings if not is_of_workload(word.partition("=")[0])]
    [fit] = catalog.fits(
        spec.device, [spec.design], state=spec.state, image=spec.image, settings=words
    )
    return fit.logical_bytes


@lru_cache(maxsize=4096)
def _smallest(
    device: str,
    designs: tuple[str, ...],
    state: tuple[tuple[str, catalog.StateValue], ...],
    settings: tuple[str, ...],
) -> str | None:
    """The design under which the drive is smallest; None if all have the same size.

    Those that can't run do not count.
    """
    sizes = {}
    for design in designs:
        with suppress(ConfigError):
            [fit] = catalog.fits(device, [design], state=dict(state), settings=settings)
            if fit.refusal is None:
                sizes[design] = fit.logical_bytes
    return min(sizes, key=sizes.__getitem__) if len(set(sizes.values())) > 1 else None


def _of_axes(
    error: TinytailError, values: Mapping[str, Any], designs: Sequence[str]
) -> TinytailError:
    """An error that speaks of an axis where it spoke of an option."""
    message = str(error)
    for name, value in values.items():
        if name in NAMED or name in AXIS_OPTIONS or name.startswith(OVERLAY):
            continue
        [word] = arguments.settings({name: value})
        head = f"--set {word}: "
        if message.startswith(head):
            said = f"axis {name}, {value}: {message.removeprefix(head)}"
            refused = [design for design in designs if refuses(design, word)]
            others = [design for design in designs if design not in refused]
            if refused and others:
                section, _, key = name.partition(".")
                part = f'["{others[0]}", {{ {section} = {{ {key} = {value} }} }}]'
                said += (
                    f". It is {' and '.join(refused)} that has no such value. Sweep the others "
                    f"alone, or give each value as a part of a design: designs = [{part}, ...]"
                )
            return type(error)(said)
    return error


def _digest(path: str) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
