"""Runs designs side by side, each in its own thread: the native module releases the interpreter."""

from __future__ import annotations

import os
import shlex
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tinytail import (
    arguments,
    caching,
    conflicts,
    engine,
    fitting,
    leftovers,
    memory,
    recording,
    replicates,
    spooling,
    states,
    transforms,
)
from tinytail.engine import STARVED_AFTER_S, STARVED_AFTER_S_MAX
from tinytail.errors import (
    ConfigError,
    Interrupted,
    RunError,
    TinytailError,
    UsageError,
    WorkloadError,
    suggestion,
)
from tinytail.keeping import STORIES, STORIES_MAX, Keeping, check_folder, stories_wanted
from tinytail.results import (
    Comparison,
    Configured,
    DesignError,
    DesignResult,
    ErrorKind,
    Workload,
)
from tinytail.tracing import NOTHING_SAID, AddressUnit, Event, TimeUnit, TraceOptions
from tinytail.transforms import Transform

POLL_SECONDS = 0.1
LOOK_SECONDS = 0.01
FIRST_LOOK_SECONDS = 0.0001
STUCK = "Requests stopped completing. "
WINDOWS = 200
WINDOWS_MAX = 10_000
SEEDS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison to be made; see `compare` for the meaning of each field."""

    designs: tuple[str, ...]
    device: str
    workload: str
    requests: int | None = None
    seed: int = 1
    jobs: int | None = None
    verify: bool = False
    reference: str | None = None
    state: Mapping[str, engine.StateValue] = field(default_factory=dict)
    image: str | None = None
    trace: TraceOptions = NOTHING_SAID
    transform: Transform = field(default_factory=Transform)
    log: str | None = None
    windows: int = WINDOWS
    out: str | None = None
    stories: int = STORIES
    timeline: str | None = None
    timeline_window: str | None = None
    no_warm_up: bool = False
    starved_after_s: int = STARVED_AFTER_S
    # The file that holds what a pipe gave, if the workload is one.
    spooled: str | None = None
    seeds: int = 1
    no_cache: bool = False
    settings: tuple[str, ...] = ()
    strict: bool = False
    beside: tuple[str, ...] = ()

    @property
    def reference_design(self) -> str:
        """The design that ratios are taken to."""
        return self.reference or self.designs[0]

    def command(self) -> str:
        """The command line that makes this comparison."""
        words = ["tinytail", "compare", *self.designs]
        words += ["--device", self.device, "--workload", self.workload, *self.trace.words()]
        options = {
            "--requests": self.requests,
            "--seed": self.seed,
            "--seeds": None if self.seeds == 1 else self.seeds,
            "--reference": self.reference,
            "--image": self.image,
            "--windows": None if self.windows == WINDOWS else self.windows,
            "--starved-after-s": (
                None if self.starved_after_s == STARVED_AFTER_S else self.starved_after_s
            ),
        }
        for option, value in options.items():
            if value is not None:
                words += [option, str(value)]
        words += self.transform.words()
        for key, given in self.state.items():
            words += ["--state", f"{key}={given}"]
        for word in self.settings:
            words += ["--set", word]
        if self.verify:
            words.append("--verify")
        if self.no_warm_up:
            words.append("--no-warm-up")
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
            OutputError: results cannot be kept in the folder that is wanted.
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
        engine.device(self.device, settings=self.settings)
        if self.image is not None:
            engine.image_info(self.image)
        if self.beside:
            engine.fits(self.device, self.beside, settings=self.settings)
        fitting.check(
            self.device,
            self.designs,
            command=lambda designs, device: replace(
                self, designs=designs, device=device, reference=self._reference_of(designs)
            ).command(),
            state=self.state,
            image=self.image,
            settings=self.settings,
            strict=self.strict,
        )
        if not spooling.is_trace(self.workload):
            engine.workload(self.workload, settings=self.settings)
        conflicts.check([*self._written(), *beside], self._read(), [("--out", self.out)])
        if self.out is not None:
            check_folder(self.out)
        for path in [*self.logs().values(), *self.timelines().values()]:
            leftovers.remove_files(Path(os.path.realpath(path)))

    def _reference_of(self, designs: Sequence[str]) -> str | None:
        return self.reference if self.reference in designs else None

    def fit(self) -> memory.Fit:
        """How many designs run at once: no more than fit into memory, unless `jobs` says so.

        Raises:
            ConfigError: not even one of them fits.
        """
        needs = [
            memory.drive_bytes(self.device, design, self.settings, verify=self.verify)
            for design in self.designs
        ]
        needs *= self.seeds
        beside = 0
        if self.no_cache or caching.place() is None:
            beside = memory.shared_bytes(self.device, self.designs, self.settings)
        return memory.fit(
            needs,
            blocks=lambda: memory.blocks_per_plane(self.device, self.settings),
            jobs=self.jobs,
            jobs_default=cpu_count(),
            beside=beside,
        )

    def configuration(self) -> tuple[Configured, ...]:
        """Device, designs and workload in full; a trace is described by the results alone."""
        device = engine.device(self.device, settings=self.settings)
        items = [Configured.of("device", device, self.state)]
        for design in self.designs:
            described = engine.design(design, settings=self.settings)
            items.append(Configured.of("design", described))
        if not spooling.is_trace(self.workload):
            # What is wrong with a file, the runs say.
            with suppress(TinytailError):
                described = engine.workload(self.workload, settings=self.settings)
                items.append(Configured.of("workload", described))
        return tuple(items)

    def logs(self) -> dict[str, str]:
        """The log file of each design; see `recording.file_names`.

        Raises:
            UsageError: a name that no log can have.
        """
        return recording.file_names("log", "Parquet file", ".parquet", self.log, self.designs)

    def timelines(self) -> dict[str, str]:
        """The timeline file of each design; see `recording.file_names`.

        Raises:
            UsageError: a name that no timeline can have; a window of no timeline.
        """
        if self.timeline is None and self.timeline_window is not None:
            raise UsageError("a timeline window was given, and no timeline is wanted")
        return recording.file_names(
            "timeline", "binary file", ".pftrace", self.timeline, self.designs
        )

    def _written(self) -> list[tuple[str, str | None]]:
        files = [("--log", path) for path in self.logs().values()]
        files += [("--timeline", path) for path in self.timelines().values()]
        return [*files, ("--out", self.out)]

    def _read(self) -> list[tuple[str, str | None]]:
        return conflicts.files_read(
            device=self.device, designs=self.designs, workload=self.workload, image=self.image
        )

    def _check_values(self) -> None:
        arguments.names("designs", self.designs)
        arguments.name("device", self.device)
        arguments.name("workload", self.workload)
        if self.requests is not None:
            arguments.whole_number("requests", self.requests, 1, arguments.U64_MAX)
        arguments.whole_number("seed", self.seed, 0, arguments.U64_MAX)
        self._check_seeds()
        if self.jobs is not None:
            arguments.whole_number("jobs", self.jobs, 1)
        arguments.flag("verify", self.verify)
        arguments.flag("no_warm_up", self.no_warm_up)
        arguments.flag("no_cache", self.no_cache)
        caching.limit_bytes()
        arguments.flag("strict", self.strict)
        arguments.names("beside", self.beside)
        arguments.whole_number("starved_after_s", self.starved_after_s, 1, STARVED_AFTER_S_MAX)
        arguments.state(self.state)
        arguments.settings(self.settings)
        if self.image is not None:
            arguments.file(self.image)
        if self.reference is not None:
            arguments.text("reference", self.reference)
        if self.log is not None:
            arguments.name("log", self.log)
        if self.timeline is not None:
            arguments.name("timeline", self.timeline)
        if self.timeline_window is not None:
            recording.timeline_window(arguments.text("timeline_window", self.timeline_window))
        arguments.whole_number("windows", self.windows, 1, WINDOWS_MAX)
        if self.out is not None:
            arguments.name("out", self.out)
            if self.log is not None:
                raise UsageError(
                    "out and log exclude each other: the folder of out has the log of every "
                    "request of each design, as requests.parquet"
                )
        arguments.whole_number("stories", self.stories, 0, STORIES_MAX)
        self.trace.check()
        self.transform.check()

    def _check_seeds(self) -> None:
        arguments.whole_number("seeds", self.seeds, 1, SEEDS_MAX)
        if self.seed + self.seeds - 1 > arguments.U64_MAX:
            raise UsageError(f"seed is {self.seed}, and {self.seeds} seeds from there go too far")
        files = {"log": self.log, "timeline": self.timeline, "out": self.out}
        for name, given in files.items():
            if self.seeds > 1 and given is not None:
                raise UsageError(
                    f"seeds and {name} exclude each other: {name} keeps what one run did; leave "
                    "out seeds, and say which one by seed"
                )

    def run_spec(self, design: str, smallest: str | None = None) -> engine.RunSpec:
        """What the run of one of the designs needs; `smallest` spares finding it out."""
        return engine.RunSpec(
            device=self.device,
            design=design,
            workload=self.workload,
            trace=self.trace,
            transform=self.transform,
            requests=self.requests,
            seed=self.seed,
            verify=self.verify,
            state=self.state,
            image=self.image,
            log=self._log_target(design),
            windows=self.windows,
            timeline=self._timeline_target(design),
            spooled=self.spooled,
            warm_up=not self.no_warm_up,
            starved_after_s=self.starved_after_s,
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
        fits = engine.fits(self.device, all_designs, state=self.state, settings=self.settings)
        return min(fits, key=lambda fit: fit.logical_bytes).design

    def _beside(self, design: str, smallest: str) -> tuple[str, ...]:
        if len(self.designs) == 1:
            return self.beside
        return () if design == smallest else (smallest,)

    def _log_target(self, design: str) -> engine.LogTarget | None:
        path = self.logs().get(design)
        if path is None:
            return None
        return engine.LogTarget(path, f"{self.command_alone(design)} --log {shlex.quote(path)}")

    def _timeline_target(self, design: str) -> engine.TimelineTarget | None:
        path = self.timelines().get(design)
        if path is None:
            return None
        command, window = f"{self.command_alone(design)} --timeline {shlex.quote(path)}", None
        if self.timeline_window is not None:
            window = recording.timeline_window(self.timeline_window)
            command += f" --timeline-window {shlex.quote(self.timeline_window)}"
        return engine.TimelineTarget(path, window, command)


@dataclass(frozen=True, slots=True)
class DesignProgress:
    """How far one design is.

    `done` and `total` count the steps of the phase; a total of 0 is not known.
    """

    design: str
    status: Literal["waiting", "running", "finished", "failed"]
    phase: str
    done: int
    total: int


ProgressCallback = Callable[[Sequence[DesignProgress]], None]


def wait_until(happened: Callable[[], bool], timeout_seconds: float) -> bool:
    """Waits until something has happened; False if the time ran out before.

    It sleeps and looks, at short intervals at first, so that short runs are not long waits. A join
    that Ctrl-C interrupts takes its thread for dead, and a wait for an event may be interrupted at
    the instant at which it has taken the event's lock and not yet noted that it must give it back:
    then neither it nor the thread that sets the event goes on.
    """
    began = time.monotonic()
    while not happened():
        passed = time.monotonic() - began
        if passed >= timeout_seconds:
            return False
        time.sleep(min(LOOK_SECONDS, FIRST_LOOK_SECONDS + passed / 4))
    return True


def in_thread(
    work: Callable[[engine.Control], dict[str, Any]],
    name: str,
    progress: ProgressCallback | None,
) -> dict[str, Any]:
    """Does a piece of work in a thread of its own, and heeds Ctrl-C meanwhile.

    Raises:
        TinytailError: what the work raised.
        KeyboardInterrupt: after the work has ended.
    """
    control = engine.Control()
    results: list[dict[str, Any]] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(control))
        # A panic of the native module is not an Exception, and an error in a thread reaches nobody.
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    def ended() -> bool:
        return bool(results or failures)

    threading.Thread(target=run, daemon=True).start()
    try:
        while not wait_until(ended, POLL_SECONDS):
            if progress is not None:
                done, total = control.done(), control.total()
                progress([DesignProgress(name, "running", control.phase(), done, total)])
    except BaseException:
        control.cancel()
        while not wait_until(ended, POLL_SECONDS):
            pass
        raise
    if failures:
        raise failures[0]
    return results[0]


@contextmanager
def spooled(
    workload: str | None, options: TraceOptions, progress: ProgressCallback | None
) -> Iterator[str | None]:
    """As `spooling.spooled`, for a workload, with the progress of commands."""

    def report(said: str, done_bytes: int) -> None:
        if progress is not None:
            progress([DesignProgress(said, "running", "reading", done_bytes, 0)])

    def check(path: str) -> None:
        engine.check_beginning(workload or "", options, path)

    with spooling.spooled(workload, check, report) as path:
        yield path


class _Job:
    """A design with a seed, and what came of it. Written by its worker, read by the main thread."""

    def __init__(
        self, design: str, seed: int, keeping: Keeping | None, shared: engine.Shared
    ) -> None:
        self.design = design
        self.seed = seed
        self._keeping = keeping
        self._shared = shared
        self.control = engine.Control()
        self.started = False
        self.ended = False
        self.result: DesignResult | None = None
        self.error: DesignError | None = None

    def run(self, spec: engine.RunSpec) -> None:
        """Runs the design. Every failure is kept: one in a thread would reach nobody."""
        self.started = True
        try:
            self._run(spec)
        except ConfigError as error:
            self._fail("config", str(error))
        except WorkloadError as error:
            self._fail("workload", str(error))
        except TinytailError as error:
            self._fail("run", str(error))
        # What the native module raises where it was cancelled before it had a result.
        except KeyboardInterrupt:
            self._fail("interrupted", "interrupted before it could run")
        # A panic of the native module is not an Exception.
        except BaseException as error:  # noqa: BLE001
            self._fail("internal", f"internal error ({type(error).__name__}): {error}")
        finally:
            self.ended = True

    def _run(self, spec: engine.RunSpec) -> None:
        if self._keeping is None:
            document = engine.run(spec, self.control, self._shared)
        else:
            kept = self._keeping.spec(spec)
            document = self._keeping.named(engine.run(kept, self.control, self._shared))
        self.result = DesignResult.from_dict(document)
        if self.result.stuck is not None:
            why = self.result.stuck.removeprefix(STUCK)
            self._fail("run", f"stopped: requests stopped completing. {why}")
        if self.result.unread is not None:
            self._fail("run", f"stopped: {self.result.unread}")
        for written in (self.result.log, self.result.stories, self.result.timeline):
            if self.error is None and written is not None and written.error is not None:
                self._fail("run", written.error)

    def _fail(self, kind: ErrorKind, message: str) -> None:
        self.error = DesignError(self.design, kind, message)

    def progress(self) -> DesignProgress:
        """A snapshot."""
        if self.error is not None:
            return DesignProgress(self.design, "failed", "", 0, 0)
        if self.result is not None:
            return DesignProgress(self.design, "finished", "", 0, 0)
        if not self.started:
            return DesignProgress(self.design, "waiting", "", 0, 0)
        control = self.control
        return DesignProgress(
            self.design, "running", control.phase(), control.done(), control.total()
        )


class _Pool:
    """Worker threads that take jobs in order until none is left or the pool is cancelled.

    The threads are daemons, so that a second Ctrl-C ends the program even if a run does not heed
    its cancellation at once.
    """

    def __init__(self, plan: Plan, keeping: Keeping | None) -> None:
        seeds = range(plan.seed, plan.seed + plan.seeds)
        # Designs that start from the same state come after each other.
        runs = [(design, seed) for seed in seeds for design in plan.designs]
        self._smallest = plan.smallest()
        specs = [
            replace(plan, seed=seed, seeds=1).run_spec(design, self._smallest)
            for design, seed in runs
        ]
        self.shared = engine.share(specs, cache=not plan.no_cache)
        self.jobs = [_Job(design, seed, keeping, self.shared) for design, seed in runs]
        self._plan = plan
        self._waiting = deque(self.jobs)
        self._cancelled = False
        self._workers = plan.fit().jobs

    def start(self) -> None:
        """Starts the threads."""
        for _ in range(self._workers):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while not self._cancelled:
            try:
                job = self._waiting.popleft()
            except IndexError:
                return
            plan = replace(self._plan, seed=job.seed, seeds=1)
            job.run(plan.run_spec(job.design, self._smallest))

    def progress(self) -> list[DesignProgress]:
        """How far each design is: with several seeds, as the run that is furthest behind."""
        return [_together([j.progress() for j in self.of(d)]) for d in self._plan.designs]

    def of(self, design: str) -> list[_Job]:
        """The jobs of a design, in the order of their seeds."""
        return [job for job in self.jobs if job.design == design]

    def wait(self, timeout_seconds: float) -> bool:
        """Waits until every job has ended that will; False if the time ran out before."""

        def all_ended() -> bool:
            return all(job.ended for job in self.jobs if job.started or not self._cancelled)

        return wait_until(all_ended, timeout_seconds)

    def cancel(self) -> None:
        """Asks all runs to end early and starts no other."""
        self._cancelled = True
        for job in self.jobs:
            job.control.cancel()


def _together(runs: Sequence[DesignProgress]) -> DesignProgress:
    first = runs[0]
    if len(runs) == 1:
        return first
    ended = sum(run.status in ("finished", "failed") for run in runs)
    running = [run for run in runs if run.status == "running"]
    if ended == len(runs):
        return next((run for run in runs if run.status == "failed"), first)
    if not running:
        return replace(first, status="running" if ended else "waiting", phase="", done=0, total=0)
    behind = running[-1]
    return replace(behind, phase=f"{behind.phase}, {ended} of {len(runs)} seeds done")


def cpu_count() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def execute(
    plan: Plan,
    progress: ProgressCallback | None = None,
    say: Callable[[str], None] = warnings.warn,
) -> Comparison:
    """Makes a comparison, whose errors and interruption are part of what is returned.

    Call `plan.check()` first. Ctrl-C cancels the runs and waits for what they have so far.
    A workload that comes from a pipe is read to its end before anything runs. What is to be said
    beside the results, such as that the cache cannot be written, goes to `say`.

    Raises:
        UsageError, RunError, WorkloadError: what comes from a pipe cannot be kept or is no trace.
        KeyboardInterrupt: by Ctrl-C while a pipe is read.
        OutputError: the folder for the results cannot be made. Nothing has run then.
    """
    with spooled(plan.workload, plan.trace, progress) as content:
        plan = replace(plan, spooled=content)
        if plan.out is None:
            return _execute(plan, progress, say, None)
        with Keeping(plan) as keeping:
            comparison = _execute(plan, progress, say, keeping)
            return replace(comparison, out=keeping.finish(comparison))


def _execute(
    plan: Plan,
    progress: ProgressCallback | None,
    say: Callable[[str], None],
    keeping: Keeping | None,
) -> Comparison:
    configuration = plan.configuration()
    pool = _Pool(plan, keeping)

    def report() -> None:
        if progress is not None:
            progress(pool.progress())

    try:
        pool.start()
        while not pool.wait(POLL_SECONDS):
            report()
        report()
    except KeyboardInterrupt:
        pool.cancel()
        while not pool.wait(POLL_SECONDS):
            pass
    except BaseException:
        pool.cancel()
        raise
    for note in pool.shared.take_notes():
        say(note)
    return _gather(plan, configuration, pool)


def _gather(plan: Plan, configuration: tuple[Configured, ...], pool: _Pool) -> Comparison:
    for job in pool.jobs:
        if job.result is None and job.error is None:
            job.error = DesignError(job.design, "interrupted", "interrupted before it could run")
    found = [_combined(pool.of(design)) for design in plan.designs]
    results = tuple(result for result in found if result is not None)
    errors = tuple(error for design in plan.designs for error in _errors(pool.of(design)))
    first = results[0] if results else None
    return Comparison(
        version=engine.version(),
        command=plan.command(),
        device=first.device if first else plan.device,
        workload=first.workload if first else Workload(plan.workload, None, None, None),
        state=states.common([result.state for result in results]),
        seed=plan.seed,
        partial=any(job.result is not None and job.result.interrupted for job in pool.jobs)
        or any(error.kind == "interrupted" for error in errors),
        reference=plan.reference_design,
        configuration=configuration,
        results=results,
        errors=errors,
        seeds=plan.seeds,
    )


def _combined(jobs: Sequence[_Job]) -> DesignResult | None:
    """The result of a design: of all its seeds that came to their end, or else of the first."""
    results = [job.result for job in jobs if job.result is not None]
    whole = [result for result in results if not result.partial]
    if len(whole) > 1:
        document = replicates.combined([result.document for result in whole])
        return DesignResult.from_dict(document)
    return next(iter(whole or results), None)


def _errors(jobs: Sequence[_Job]) -> list[DesignError]:
    """What went wrong with a design; what went wrong with every seed is said once."""
    failed = [(job.seed, job.error) for job in jobs if job.error is not None]
    if len({(error.kind, error.message) for _, error in failed}) == 1 and len(failed) == len(jobs):
        return [failed[0][1]]
    return [replace(error, message=f"seed {seed}: {error.message}") for seed, error in failed]


def compare(
    designs: Sequence[str | os.PathLike[str]] = (),
    *,
    device: str | os.PathLike[str],
    workload: str | os.PathLike[str],
    requests: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
    verify: bool = False,
    reference: str | None = None,
    time_unit: TimeUnit | None = None,
    ops: str | None = None,
    format: str | None = None,
    state: Mapping[str, engine.StateValue] | None = None,
    image: str | os.PathLike[str] | None = None,
    unit: AddressUnit | None = None,
    trace_device: str | None = None,
    event: Event | None = None,
    reorder_ms: int | None = None,
    queue_depth: int | None = None,
    columns: str | None = None,
    transform: Transform | None = None,
    log: str | os.PathLike[str] | None = None,
    windows: int = WINDOWS,
    out: str | os.PathLike[str] | None = None,
    stories: int | None = None,
    timeline: str | os.PathLike[str] | None = None,
    timeline_window: str | None = None,
    no_warm_up: bool = False,
    starved_after_s: int = STARVED_AFTER_S,
    seeds: int = 1,
    no_cache: bool = False,
    settings: arguments.Settings | None = None,
    strict: bool = False,
    beside: Sequence[str | os.PathLike[str]] = (),
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Runs each design on the same workload, on drives aged alike.

    Args:
        designs: names of designs; overlays are added with plus signs, as in `base+no-gc`. Without
            any, the design that the device names as its own.
        device: name of a drive or path of its file.
        workload: name of a workload, path of its file, or path of a trace.
        requests: how many requests to run; None for all that the workload has.
        seed: seed of whatever is random. The same input with the same seed gives the same result.
        jobs: how many designs may run at once; None for as many as there are processors, or fewer
            if no more fit into the memory that is free.
        verify: check every read against what was last written there.
        reference: the design that ratios are taken to; None for the first one.
        time_unit: unit of a trace's time column, for formats that do not fix it.
        ops: meaning of a trace's operation codes, such as `"write=0,read=1"`, for formats that do
            not fix it.
        format: name of a trace's format; found from its content if not given.
        state: values of the starting state that replace the device's, such as
            `{"ageing": "steady"}`.
        image: an image to start from instead of ageing; see `create_image`.
        unit: unit of a trace's addresses and sizes, for formats that do not fix it.
        trace_device: number or name of the only device of a trace that is played.
        event: the event that counts as a request, for formats that record several.
        reorder_ms: how late a line of a trace may be, in ms; later ones are errors.
        queue_depth: play a trace or a stand-in in closed loop, with so many requests always
            outstanding.
        columns: what the columns of a delimited text mean, with units, such as
            `"time:us,op,lba:sectors,len:bytes"`.
        transform: what is done to the requests of a trace or a stand-in before they are played.
        log: file or directory for a log of every request, in Parquet; with several designs or in
            a directory, each design has a file of its own.
        windows: the most windows that the series over time may have.
        out: folder in which everything is kept that `explain` needs: results, logs of every
            request, stories of the slowest. Not together with `log`. What became of it is in the
            comparison's `out`.
        stories: of how many of the slowest reads, and of how many writes, `out` keeps stories;
            None for 1000.
        timeline: file or directory for a timeline that opens in Perfetto; named as a log is.
        timeline_window: the simulated time that the timeline is of, such as `"2s..2.1s"`; None for
            all of the measured part.
        no_warm_up: measure from the starting state itself, as `serve` does, instead of playing a
            trace once before, or a generator until it has filled the write buffer.
        starved_after_s: simulated seconds that a write may spend in the device. One that takes
            longer ends the run, because writes that get nowhere would have it go on for ever.
        seeds: with how many seeds each design is run, from `seed` on; its figures are then means
            over them. Not together with `log`, `timeline` and `out`, which are of one run.
        no_cache: age anew, and keep no aged drive for later runs; see `image_cache`.
        settings: values that replace those of the files of device, designs and workload, by
            section and key, such as `{"gc.write_points": 4}`. Those of a design go for each design.
        strict: refuse designs of which something follows the drive, as `adjusted` names it.
        beside: designs that are not run, and whose capacity bounds the workload's addresses as if
            they were.
        progress: called about ten times a second, in this thread, with the state of each design.

    Returns:
        The comparison. A design that failed is in its `errors` if another one has a result.

    Raises:
        UsageError: arguments of the wrong type, out of range, or contradicting each other.
        ConfigError: an unknown or faulty device, design, workload or image, or ones that do not go
            together; a drive for which the memory that is free is not enough.
        WorkloadError: a workload that cannot be read.
        RunError: no design could be run to its end.
        OutputError: results cannot be kept in the folder `out`; found before anything runs.
        Interrupted: Ctrl-C; holds the partial comparison.
    """
    if progress is not None and not callable(progress):
        raise UsageError(f"progress must be a function, not {progress!r}")
    plan = Plan(
        designs=fitting.designs_or_own(
            arguments.names("designs", designs), arguments.name("device", device)
        ),
        device=arguments.name("device", device),
        workload=arguments.name("workload", workload),
        requests=(
            None
            if requests is None
            else arguments.whole_number("requests", requests, 1, arguments.U64_MAX)
        ),
        seed=arguments.whole_number("seed", seed, 0, arguments.U64_MAX),
        jobs=jobs,
        verify=verify,
        reference=reference,
        state={} if state is None else arguments.state(state),
        image=None if image is None else arguments.name("image", image),
        trace=TraceOptions(
            format=format,
            time_unit=time_unit,
            ops=ops,
            unit=unit,
            trace_device=trace_device,
            event=event,
            reorder_ms=reorder_ms,
            queue_depth=queue_depth,
            columns=columns,
        ),
        transform=transforms.checked(transform),
        log=None if log is None else arguments.name("log", log),
        windows=windows,
        out=None if out is None else arguments.name("out", out),
        stories=stories_wanted(stories, None if out is None else str(out)),
        timeline=None if timeline is None else arguments.name("timeline", timeline),
        timeline_window=timeline_window,
        no_warm_up=no_warm_up,
        starved_after_s=starved_after_s,
        seeds=arguments.whole_number("seeds", seeds, 1, SEEDS_MAX),
        no_cache=no_cache,
        settings=arguments.settings(settings),
        strict=strict,
        beside=arguments.names("beside", beside),
    )
    plan.check()
    comparison = execute(plan, progress)
    if comparison.partial:
        raise Interrupted(comparison)
    if not comparison.results:
        raise _exception(comparison.errors[0])
    return comparison


def _exception(error: DesignError) -> TinytailError:
    types = {"config": ConfigError, "workload": WorkloadError}
    return types.get(error.kind, RunError)(error.message)
