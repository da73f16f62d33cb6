"""Comparisons: what is to be compared and how, and the function that compares."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Unpack

from tinytail.comparison.result import Comparison, configured, configured_designs
from tinytail.comparison.run import execute
from tinytail.comparison.write_folder import REQUEST_TIMELINES_MAX, check_folder
from tinytail.engine import arguments, cache, catalog, memory, native
from tinytail.engine.declared import Whole, divided, values
from tinytail.engine.jobs import ProgressCallback, cpu_count
from tinytail.engine.options import (
    LogSpec,
    RunKeywords,
    RunOptions,
    RunSpec,
    TimelineSpec,
    TraceOptions,
    Transform,
)
from tinytail.engine.results import Configured
from tinytail.errors import Interrupted, TinytailError, UsageError, of_kind, suggestion
from tinytail.files.whole import FileOutput
from tinytail.inputs import conflicts, names, pipes, tables
from tinytail.inputs.designs import check_designs, designs_or_own

SEEDS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOptions(RunOptions):
    """How designs are compared, and what is kept of it.

    Attributes:
        seeds: With how many seeds each design is run, from the seed on. Figures are then means over
            the seeds, with intervals from how the seeds differ; else intervals are from blocks of
            the run. Not together with log, timeline and out, which are of one run.
        jobs: How many designs may run at once; as many as there are processors if not given, or
            fewer if no more fit into the memory that is free.
        reference: The design that ratios are taken to; the first one if not given.
        image: An image to start from instead of ageing; see `tinytail image create`.
        log: File for a log of every request, in Parquet. With several designs each puts its name
            before the file's ending; in a directory, each log is named after its design.
        out: Folder to keep everything in that `tinytail explain` needs: results, logs of every
            request and timelines of the slowest. One with earlier results is replaced when all went
            well. Not together with log.
        request_timelines: Of how many of the slowest reads, and of how many writes, the folder out
            keeps timelines; 1000 if not given.
        timeline: File for a timeline that opens in Perfetto (ui.perfetto.dev), commonly ending in
            .pftrace. Several designs and directories as for the log.
        timeline_window: The simulated time that the timeline is of, as FROM..TO, such as 2s..2.1s;
            all of the measured part if not given.
        no_cache: Age the drives anew, and keep none of them for later runs; see `tinytail image
            cache`.
        strict: Refuse designs of which something follows the drive; without it, that is done and
            named.
    """

    seeds: Annotated[int, Whole(1, SEEDS_MAX)] = 1
    jobs: Annotated[int, Whole(1)] | None = None
    reference: str | None = None
    image: str | None = None
    log: str | None = None
    out: str | None = None
    request_timelines: Annotated[int, Whole(0, REQUEST_TIMELINES_MAX)] | None = None
    timeline: str | None = None
    timeline_window: str | None = None
    no_cache: bool = False
    strict: bool = False


class ComparisonKeywords(RunKeywords, total=False):
    """The options of `ComparisonOptions` as keyword arguments, and those of `TraceOptions`."""

    seeds: int
    jobs: int | None
    reference: str | None
    image: str | os.PathLike[str] | None
    log: str | os.PathLike[str] | None
    out: str | os.PathLike[str] | None
    request_timelines: int | None
    timeline: str | os.PathLike[str] | None
    timeline_window: str | None
    no_cache: bool
    strict: bool


@dataclass(frozen=True, slots=True)
class Plan(ComparisonOptions):
    """A comparison to be made; see `compare` for the meaning of each field."""

    designs: tuple[str, ...]
    device: str
    workload: str
    state: Mapping[str, catalog.StateValue] = field(default_factory=dict)
    trace: TraceOptions = field(default_factory=TraceOptions)
    transform: Transform = field(default_factory=Transform)
    settings: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    # The file that holds what a pipe gave, if the workload is one.
    spooled: str | None = None

    @property
    def reference_design(self) -> str:
        """The design that ratios are taken to."""
        return self.reference or self.designs[0]

    def command(self) -> str:
        """The command line that makes this comparison."""
        words = ["tinytail", "compare", *self.designs]
        words += ["--device", self.device, "--workload", self.workload, *self.trace.words()]
        words += RunOptions(**values(self, RunOptions)).words()
        options = {
            "--seeds": None if self.seeds == 1 else self.seeds,
            "--reference": self.reference,
            "--image": self.image,
        }
        for option, value in options.items():
            if value is not None:
                words += [option, str(value)]
        words += self.transform.words()
        for key, given in self.state.items():
            words += ["--state", f"{key}={arguments.state_word(given)}"]
        for word in self.settings:
            words += ["--set", word]
        for design in self.beside:
            words += ["--beside", design]
        return shlex.join(words)

    def check(self, beside: conflicts.Named = ()) -> None:
        """Finds, before anything runs, whatever is wrong without reading the workload.

        Args:
            beside: what else is going to be written of the comparison: options and their paths.

        Raises:
            UsageError: no design, a design named twice, a reference that is not among the designs,
                a state beside an image, a value of the wrong type, a number out of range, or a file
                that would be written twice, or read and written.
            ConfigError: an unknown or faulty device, design, workload or image; designs that can't
                run on the device, all of them with what can.
            OutputError: what is wanted cannot be written at its place.
            WorkloadError: an unknown or faulty workload, or one whose trace is not there.
        """
        self._check_values()
        if not self.designs:
            raise UsageError("no design given; `tinytail designs` lists them")
        for position, design in enumerate(self.designs):
            if design in self.designs[:position]:
                raise UsageError(f'design "{design}" is given twice')
        if self.reference is not None and self.reference not in self.designs:
            raise UsageError(
                f'reference "{self.reference}" is not one of the designs compared'
                + suggestion(self.reference, self.designs)
            )
        if self.image is not None and self.state:
            raise UsageError("state and image exclude each other: an image has its own state")
        if self.image is not None and arguments.without_state(self.settings) != self.settings:
            raise UsageError("--set gives a value of the state, and an image has its own state")
        catalog.describe_device(self.device, settings=self.settings)
        if self.image is not None:
            native.image_info(self.image)
        if self.beside:
            catalog.fits(self.device, self.beside, settings=self.settings)
        check_designs(
            self.device,
            self.designs,
            command=lambda designs, settings: replace(
                self, designs=designs, settings=settings, reference=self._reference_of(designs)
            ).command(),
            state=self.state,
            image=self.image,
            settings=self.settings,
            strict=self.strict,
        )
        if not pipes.is_trace(self.workload):
            catalog.check_workload(self.workload, self.settings)
        conflicts.check([*self._written(), *beside], self._read(), [("--out", self.out)])
        if self.out is not None:
            check_folder(self.out)
        for what, files in (("log", self.logs()), ("timeline", self.timelines())):
            for path in files.values():
                FileOutput(path, f"--{what}", f"the {what}", regular=True).check()

    def _reference_of(self, designs: Sequence[str]) -> str | None:
        return self.reference if self.reference in designs else None

    def fit(self, pictures: int = 0) -> memory.Fit:
        """How many designs run at once: no more than fit into memory, unless `jobs` says so.

        Args:
            pictures: what drawing takes when they have run, in bytes.

        Raises:
            ConfigError: not even one of them fits.
        """
        needs = [
            memory.drive_bytes(self.device, design, self.settings, verify=self.verify)
            for design in self.designs
        ]
        needs *= self.seeds
        beside = 0
        if self.no_cache or cache.place() is None:
            beside = memory.shared_bytes(self.device, self.designs, self.settings)
        return memory.fit(
            needs,
            blocks=lambda: memory.blocks_per_plane(self.device, self.settings),
            jobs=self.jobs,
            jobs_default=cpu_count(),
            beside=beside,
            pictures=pictures,
        )

    def configuration(self) -> tuple[Configured, ...]:
        """Device, designs and workload in full; a trace is described by the results alone."""
        known = configured_designs(self.device, self.designs, self.state, self.settings)
        if not pipes.is_trace(self.workload):
            # What is wrong with a file, the runs say.
            with suppress(TinytailError):
                described = catalog.describe_workload(self.workload, settings=self.settings)
                return (*known, configured("workload", described))
        return known

    def logs(self) -> dict[str, str]:
        """The log file of each design; see `inputs.names.file_names`.

        Raises:
            UsageError: a name that no log can have.
        """
        return names.file_names("log", "Parquet file", ".parquet", self.log, self.designs)

    def timelines(self) -> dict[str, str]:
        """The timeline file of each design; see `inputs.names.file_names`.

        Raises:
            UsageError: a name that no timeline can have; a window of no timeline.
        """
        if self.timeline is None and self.timeline_window is not None:
            raise UsageError("a timeline window was given, and no timeline is wanted")
        return names.file_names("timeline", "binary file", ".pftrace", self.timeline, self.designs)

    def _written(self) -> list[tuple[str, str | None]]:
        files = [("--log", path) for path in self.logs().values()]
        files += [("--timeline", path) for path in self.timelines().values()]
        return [*files, ("--out", self.out)]

    def _read(self) -> list[tuple[str, str | None]]:
        return conflicts.files_read(
            device=self.device, designs=self.designs, workload=self.workload, image=self.image
        )

    def _check_values(self) -> None:
        self._check_seeds()
        cache.limit_bytes()
        arguments.state(self.state)
        if self.image is not None:
            arguments.file(self.image)
        if self.timeline_window is not None:
            names.timeline_window(self.timeline_window)
        if self.request_timelines is not None and self.out is None:
            raise UsageError("--request-timelines says what --out keeps, and no --out was given")
        if self.out is not None and self.log is not None:
            raise UsageError(
                "out and log exclude each other: the folder of out has the log of every "
                "request of each design, as requests.parquet"
            )

    def _check_seeds(self) -> None:
        if self.seed + self.seeds - 1 > arguments.U64_MAX:
            raise UsageError(f"seed is {self.seed}, and {self.seeds} seeds from there go too far")
        files = {"log": self.log, "timeline": self.timeline, "out": self.out}
        for name, given in files.items():
            if self.seeds > 1 and given is not None:
                raise UsageError(
                    f"seeds and {name} exclude each other: {name} keeps what one run did; leave "
                    "out seeds, and say which one by seed"
                )

    def run_spec(self, design: str, smallest: str | None = None) -> RunSpec:
        """What the run of one of the designs needs; `smallest` spares finding it out."""
        return RunSpec(
            **values(self, RunOptions),
            device=self.device,
            design=design,
            workload=self.workload,
            trace=self.trace,
            transform=self.transform,
            state=self.state,
            image=self.image,
            log=self._log_spec(design),
            timeline=self._timeline_spec(design),
            spooled=self.spooled,
            settings=self.settings,
            beside=self._beside(design, smallest or self.smallest()),
        )

    def command_alone(self, design: str) -> str:
        """The command line that runs one of the designs alone."""
        beside = self._beside(design, self.smallest())
        return replace(self, designs=(design,), reference=None, beside=beside).command()

    def smallest(self) -> str:
        """The design under which the drive is smallest: all use the addresses that it has then."""
        all_designs = [*self.designs, *self.beside]
        if len(all_designs) == 1:
            return all_designs[0]
        fits = catalog.fits(self.device, all_designs, state=self.state, settings=self.settings)
        return min(fits, key=lambda fit: fit.logical_bytes).design

    def _beside(self, design: str, smallest: str) -> tuple[str, ...]:
        if len(self.designs) == 1:
            return self.beside
        return () if design == smallest else (smallest,)

    def _log_spec(self, design: str) -> LogSpec | None:
        path = self.logs().get(design)
        if path is None:
            return None
        command = f"{self.command_alone(design)} --log {shlex.quote(path)}"
        return LogSpec(path=path, command=command)

    def _timeline_spec(self, design: str) -> TimelineSpec | None:
        path = self.timelines().get(design)
        if path is None:
            return None
        command, window = f"{self.command_alone(design)} --timeline {shlex.quote(path)}", None
        if self.timeline_window is not None:
            window = names.timeline_window(self.timeline_window)
            command += f" --timeline-window {shlex.quote(self.timeline_window)}"
        return TimelineSpec(path=path, window_ns=window, command=command)


def compare(
    designs: Sequence[tables.DesignNamed] = (),
    *,
    device: tables.Named,
    workload: tables.Named,
    state: Mapping[str, catalog.StateValue] | None = None,
    settings: arguments.Settings | None = None,
    beside: Sequence[tables.DesignNamed] = (),
    transform: Transform | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[ComparisonKeywords],
) -> Comparison:
    """Runs each design on the same workload, on drives aged alike.

    Args:
        designs: names of designs; overlays are added with plus signs, as in `base+no-gc`. A list
            is a design and its overlays, which may be tables: `["base", {"gc": {"write_points":
            4}}]`. Without any, the design that the device names as its own.
        device: name of a drive, path of its file, or a table: `{"base": "ttflash-256g", "set":
            {"geometry.channels": 4}}`.
        workload: name of a workload, path of its file or of a trace, or a table, with a base as
            above, or as a file says it: `{"synthetic": {...}}`.
        state: values of the starting state that replace the device's, such as
            `{"ageing": "steady"}`.
        settings: values that replace those of the files of device, designs and workload, by
            section and key, such as `{"gc.write_points": 4}`. Those of a design go for each design.
        beside: designs that are not run, and whose capacity bounds the workload's addresses as if
            they were.
        transform: what is done to the requests of a trace or a stand-in before they are played.
        progress: called about ten times a second, in this thread, with the state of each design.
        options: those of `ComparisonOptions`, `RunOptions` and `TraceOptions`: how designs are
            compared, how each run is made, and how a trace is read.

    Returns:
        The comparison. A design that failed is in its `errors` if another one has a result.

    Raises:
        UsageError: arguments of the wrong type, out of range, or contradicting each other.
        ConfigError: an unknown or faulty device, design, workload or image, or ones that do not go
            together; a drive for which the memory that is free is not enough.
        WorkloadError: a workload that cannot be read.
        RunError: no design could be run to its end.
        OutputError: what is wanted cannot be written at its place; found before anything runs.
        Interrupted: Ctrl-C; holds the partial comparison.
    """
    if progress is not None and not callable(progress):
        raise UsageError(f"progress must be a function, not {progress!r}")
    trace, given = divided(options, TraceOptions)
    for name in ("image", "log", "out", "timeline"):
        if given.get(name) is not None:
            given[name] = arguments.name(name, given[name])
    drive = tables.device(device)
    plan = Plan(
        **values(ComparisonOptions(**given), ComparisonOptions),
        designs=designs_or_own(tables.designs(designs), drive),
        device=drive,
        workload=tables.workload(workload),
        state={} if state is None else arguments.state(state),
        trace=trace,
        transform=Transform() if transform is None else transform,
        settings=arguments.settings(settings),
        beside=tables.designs(beside),
    )
    plan.check()
    comparison = execute(plan, progress)
    if comparison.partial:
        raise Interrupted(comparison)
    if not comparison.results:
        error = comparison.errors[0]
        raise of_kind(error.kind, error.message) from comparison.cause
    return comparison
