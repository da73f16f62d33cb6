"""Makes the runs that rows need, each once, and keeps them for the next time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from tinytail.certification import Plan
from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog, memory, native
from tinytail.engine.declared import values
from tinytail.engine.jobs import ProgressCallback, Runner, cpu_count
from tinytail.engine.options import LogSpec, RunOptions, RunSpec, TraceOptions, Transform
from tinytail.errors import ConfigError, TinytailError, UsageError, WorkloadError, suggestion
from tinytail.files import toml
from tinytail.reproduction import certified, logs
from tinytail.reproduction.certified import Certified, Supervision
from tinytail.reproduction.records import Experiment, Paper, Tier, Trace
from tinytail.reproduction.runs import Control, Run
from tinytail.reproduction.store import Outcome, Store, kept_run

_Kept = TypeVar("_Kept")

TRACES = "TINYTAIL_TRACES"
# Raised when what is kept of a run has another form.
KEPT_VERSION = 2
FULL_TIER_ONLY = "runs in the full tier only"
NEVER_RUN = "not run yet in this result"
INTERRUPTED = "it was interrupted before it ended"


class Unavailable(Exception):  # noqa: N818
    """What a row needs is not there; its text says what."""


class Lab:
    """Runs experiments of one paper and hands out what came of them.

    `traces` are files that the user gives for recorded workloads, by the names of the paper's
    traces. With `kept_only` it makes no runs but probes. Use it as a context: it has files of its
    own.
    """

    def __init__(
        self,
        paper: Paper,
        tier: Tier,
        store: Store,
        traces: Mapping[str, str] | None = None,
        jobs: int | None = None,
        *,
        kept_only: bool = False,
    ) -> None:
        self.paper = paper
        self.tier: Tier = tier
        self.used: dict[str, Run] = {}
        self.notes: list[str] = []
        self._store = store
        self._given = dict(traces or {})
        self._jobs = jobs
        self.kept_only = kept_only
        self._outcomes: dict[str, Outcome] = {}
        self._certified: dict[str, Certified] = {}
        self._failures: dict[str, str] = {}
        self._runs: dict[str, tuple[Run, ...]] = {}
        for name in self._given:
            if name not in paper.traces:
                raise UsageError(
                    f'no trace of {paper.prefix} is called "{name}"'
                    + suggestion(name, paper.traces)
                )

    def __enter__(self) -> Lab:
        self._folder = Path(tempfile.mkdtemp(prefix="tinytail-"))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    # What measures ask for.

    def outcome(self, experiment: str, design: str) -> Outcome:
        """What came of a design in an experiment.

        Raises:
            Unavailable: it was not run, could not be, or got stuck.
        """
        run = self._run(experiment, design)
        outcome = self._outcome(run)
        if outcome.result.stuck is not None:
            raise Unavailable(f"the run of {run.label}: {outcome.result.stuck}")
        return outcome

    def ending(self, experiment: str, design: str) -> Outcome:
        """The same, and what was served until then if the run got stuck.

        Raises:
            Unavailable: it was not run, or could not be.
        """
        return self._outcome(self._run(experiment, design))

    def certification(self, experiment: str, design: str) -> Certified:
        """The ratings of a design in an experiment that certifies.

        Raises:
            Unavailable: it was not certified, or could not be.
        """
        run = self._run(experiment, design)
        if run.key not in self._certified:
            self._certified[run.key] = self._kept(run, Certified.from_dict)
        return self._certified[run.key]

    def _run(self, experiment: str, design: str) -> Run:
        for run in self.runs(experiment):
            if run.design == design:
                return run
        if design in self.paper.experiments[experiment].designs:
            raise Unavailable(FULL_TIER_ONLY)
        raise ConfigError(f'experiment "{experiment}" has no design "{design}"')

    def result(self, experiment: str, design: str) -> DesignResult:
        """The result of a design in an experiment.

        Raises:
            Unavailable: it was not run, or could not be.
        """
        return self.outcome(experiment, design).result

    def counter(self, result: DesignResult, name: str) -> int:
        """How often something happened in a run, by the name that the paper's data give it.

        Raises:
            Unavailable: the engine does not count it in this design.
        """
        wanted = self.paper.counters[name]
        found = [value for key, value in result.techniques.items() if re.fullmatch(wanted, key)]
        if not found:
            raise Unavailable(f'the engine has no counter "{wanted}" for {_shown(result.design)}')
        return sum(found)

    def composition(self, experiment: str, design: str) -> str:
        """A design of an experiment as the engine knows it, with files for the `@` overlays.

        Raises:
            Unavailable: the engine does not have it.
        """
        known = self.paper.experiments[experiment]
        label = known.elsewhere.get(design, {}).get("design", design)
        return self._design(label, known)[0]

    def device_of(self, experiment: str) -> dict[str, Any]:
        """The device of an experiment in this tier, as `engine.device_document` gives it.

        Raises:
            Unavailable: this tier leaves the experiment out.
        """
        in_tier = self.paper.experiments[experiment].in_tier(self.tier)
        if in_tier is None:
            raise Unavailable(FULL_TIER_ONLY)
        return catalog.device_document(self._device(in_tier.device)[0])

    def probe(self, experiment: Experiment) -> Outcome:
        """Runs a small experiment of one design at once; it is kept like all others.

        Raises:
            Unavailable: something that it needs is not there, or the run failed.
        """
        (run,) = self._prepare(experiment)
        if run.key not in self._outcomes and not self._is_kept(run):
            self._make(run, run.control())
        return self._outcome(run)

    def seen(self) -> list[Outcome]:
        """The outcomes that measures have looked at since `used` was emptied."""
        return [self._outcomes[key] for key in self.used]

    def is_stand_in(self, trace: Trace) -> bool:
        """Whether something else is played in the place of this recording."""
        return trace.name not in self._given and (
            trace.real is None or _recording(trace.real) is None
        )

    def needs(self, experiment: str) -> str | None:
        """What keeps an experiment from being run; None if nothing does."""
        try:
            self.runs(experiment)
        except Unavailable as missing:
            return str(missing)
        return None

    def _outcome(self, run: Run) -> Outcome:
        self.used[run.key] = run
        if run.key not in self._outcomes:
            self._outcomes[run.key] = self._kept(run, Outcome.from_dict)
        return self._outcomes[run.key]

    def _kept(self, run: Run, read: Callable[[dict[str, Any]], _Kept]) -> _Kept:
        kept = self._store.get(run.key, read)
        if kept is None:
            never = NEVER_RUN if self.kept_only else INTERRUPTED
            raise Unavailable(f"the run of {run.label}: {self._failures.get(run.key, never)}")
        return kept

    def _is_kept(self, run: Run) -> bool:
        read: Callable[[dict[str, Any]], object] = Outcome.from_dict
        if isinstance(run.spec, Plan):
            read = Certified.from_dict
        return self._store.get(run.key, read) is not None

    # What is run.

    def runs(self, experiment: str) -> tuple[Run, ...]:
        """The runs of an experiment in this tier.

        Raises:
            Unavailable: something that it needs is not there.
        """
        if experiment not in self._runs:
            if experiment not in self.paper.experiments:
                raise ConfigError(
                    f'unknown experiment "{experiment}"'
                    + suggestion(experiment, self.paper.experiments)
                )
            in_tier = self.paper.experiments[experiment].in_tier(self.tier)
            if in_tier is None:
                raise Unavailable(FULL_TIER_ONLY)
            self._runs[experiment] = self._prepare(in_tier)
        return self._runs[experiment]

    def make(self, experiments: Iterable[str], report: ProgressCallback | None = None) -> bool:
        """Makes the runs of these experiments that are not kept from before.

        Ctrl-C ends the runs under way without outcome; those that have ended are kept. A lab of
        kept runs only makes none.

        Returns:
            Whether all came to an end.
        """
        if self.kept_only:
            return True
        wanted: dict[str, Run] = {}
        for experiment in experiments:
            if self.needs(experiment) is None:
                wanted |= {run.key: run for run in self.runs(experiment)}
        needs = self._needs([run for run in wanted.values() if not self._is_kept(run)])
        if not needs:
            return True
        fit = self._fit(list(needs.values()))
        if fit.note is not None:
            self.notes.append(fit.note)
        runner = Runner(fit.jobs)
        for run in sorted(needs, key=lambda run: -run.cost_s):
            runner.add(run.job(self._make))

        def show() -> None:
            if report is not None:
                report([runner.progress(self.paper.prefix)])

        finished = runner.run(show)
        for job in runner.jobs:
            if not isinstance(job.error, KeyboardInterrupt | None):
                raise job.error
        return finished

    def _needs(self, runs: Iterable[Run]) -> dict[Run, int | None]:
        """The runs that fit into memory, each with what it takes. The others fail."""
        needs = {}
        for run in runs:
            try:
                need = run.memory_bytes()
                self._fit([need])
            except ConfigError as error:
                self._failures[run.key] = str(error)
            else:
                needs[run] = need
        return needs

    def _fit(self, needs: Sequence[int | None]) -> memory.Fit:
        # The drives are those of papers: none is to be made smaller.
        return memory.fit(needs, blocks=lambda: 0, jobs=self._jobs, jobs_default=cpu_count())

    def _prepare(self, experiment: Experiment) -> tuple[Run, ...]:
        if experiment.log and not logs.can_be_read():
            raise Unavailable("needs pyarrow to read the log: pip install pyarrow")
        workload, options, workload_key = self._workload(experiment)
        runs = []
        for label in experiment.designs:
            place = experiment.elsewhere.get(label, {})
            device, device_key = self._device(place.get("device", experiment.device))
            design, design_key = self._design(place.get("design", label), experiment)
            parts = {
                "kept": KEPT_VERSION,
                "engine": self._engine,
                "device": device_key,
                "design": design_key,
                "workload": workload_key,
            }
            spec: RunSpec | Plan
            if experiment.certify is not None:
                spec = certified.plan(device, design, experiment.state, experiment.certify)
                parts |= {"certify": dict(experiment.certify), "state": dict(experiment.state)}
            else:
                spec = RunSpec(
                    **values(experiment, RunOptions),
                    device=device,
                    design=design,
                    workload=workload,
                    trace=options,
                    transform=Transform(**experiment.transform),
                    state=experiment.state,
                )
                bare = replace(spec, device="", design="", workload="")
                parts |= {"log": experiment.log, "hit": experiment.hit}
                parts |= {"spec": bare.given()}
            runs.append(Run(experiment.name, label, spec, _digest(parts), experiment.cost_s))
            if experiment.log:
                self._logged[runs[-1].key] = experiment.hit
        return tuple(runs)

    @cached_property
    def _engine(self) -> str:
        """The native module's content: the engine and all devices, designs and workloads."""
        return native.identity()

    @cached_property
    def _logged(self) -> dict[str, tuple[str, ...]]:
        """Runs that are logged by their keys, and the causes by which reads count as hit."""
        return {}

    def _device(self, given: str | Mapping[str, Any]) -> tuple[str, Any]:
        if isinstance(given, str):
            _there("device", given, catalog.device)
            return given, given
        settings = [f"{key}={toml.value(value)}" for key, value in given["set"].items()]
        text = catalog.file_text("device", given["base"], settings=settings)
        if "name" in given:
            text = re.sub(r"^name = .*$", f"name = {toml.value(given['name'])}", text, count=1)
        return self.file(text, "device.toml"), text

    def _design(self, label: str, experiment: Experiment) -> tuple[str, Any]:
        parts, keys = [], []
        for part in label.split("+"):
            if not part.startswith("@"):
                parts.append(part)
                keys.append(part)
                continue
            if part[1:] not in experiment.overlays:
                raise ConfigError(
                    f'experiment "{experiment.name}": unknown overlay "{part}"'
                    + suggestion(part[1:], experiment.overlays)
                )
            head = {"name": part[1:], "kind": "overlay", "summary": experiment.name}
            document = {**head, **experiment.overlays[part[1:]]}
            parts.append(self.file(toml.dumps(document), f"{part[1:]}.toml"))
            keys.append(json.dumps(document, sort_keys=True))
        _there("design", "+".join(parts), catalog.design)
        return "+".join(parts), keys

    def _workload(self, experiment: Experiment) -> tuple[str, TraceOptions, Any]:
        given = experiment.workload
        if isinstance(given, Mapping) and "requests" in given:
            # Requests one by one: a trace in nanoseconds and sectors.
            text = "".join(f"{line}\n" for line in given["requests"])
            path = self.file(text, f"{experiment.name}.trace")
            return path, TraceOptions(format="ascii", time_unit="ns", unit="sectors"), text
        if isinstance(given, Mapping):
            if "synthetic" in given and experiment.requests is not None:
                # Its length is the experiment's, which tiers may differ in.
                given = {"synthetic": {**given["synthetic"], "requests": experiment.requests}}
            text = toml.dumps({"summary": experiment.name, **given})
            return self.file(text, f"{experiment.name}.toml"), TraceOptions(), text
        said = TraceOptions(queue_depth=experiment.queue_depth)
        if not given.startswith("@"):
            _there("workload", given, catalog.workload)
            return given, said, given
        path = self.trace(self.paper.traces[given[1:]])
        return path, said, [path if not Path(path).exists() else "", _content(path)]

    def trace(self, trace: Trace) -> str:
        """The workload that is played as this trace: the recording if it is there.

        Raises:
            Unavailable: neither the recording nor its stand-in is there.
        """
        if trace.name in self._given:
            path = self._given[trace.name]
            if not Path(path).is_file():
                raise WorkloadError(f"--trace {trace.name}: there is no file {path}")
            return path
        if trace.real is not None and not self.is_stand_in(trace):
            return trace.real
        if trace.stand_in is None:
            raise Unavailable(
                f"needs the recording of {trace.title}: {TRACES}, or --trace {trace.name}=FILE"
            )
        try:
            catalog.workload(trace.stand_in)
        except TinytailError:
            raise Unavailable(
                f"needs the workload {trace.stand_in}, or the recording itself: "
                f"--trace {trace.name}=FILE"
            ) from None
        return trace.stand_in

    def file(self, text: str, name: str) -> str:
        """A file of this content; the same one for the same content."""
        folder = self._folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(text, "utf-8")
        return str(path)

    def _make(self, run: Run, control: Control) -> None:
        """Makes a run and keeps its outcome, or why it has none."""
        log_path = self._folder / f"{run.key}.parquet"
        try:
            if isinstance(run.spec, Plan):
                assert isinstance(control, Supervision)
                self._certify(run, run.spec, control)
                return
            assert not isinstance(control, Supervision)
            spec = run.spec
            if run.key in self._logged:
                spec = replace(spec, log=LogSpec(path=str(log_path), command=run.label))
            document = native.run(spec, control)
            # A run that got stuck is an outcome: the same whenever it is made.
            if document["partial"] and document["stuck"] is None:
                self._failures[run.key] = document.get("unread") or INTERRUPTED
                return
            log = logs.read(log_path, self._logged[run.key]) if spec.log is not None else None
            self._outcomes[run.key] = Outcome(DesignResult.from_dict(document), log)
            self._keep(run, kept_run(document, log))
        except TinytailError as error:
            # Where a file of the lab's own lay is of no use to anybody.
            place = re.escape(str(self._folder)) + r"/[0-9a-f]{16}/"
            self._failures[run.key] = re.sub(place, "", str(error))
        except OSError as error:
            self._failures[run.key] = f"its log cannot be read: {error}"
        finally:
            log_path.unlink(missing_ok=True)

    def _certify(self, run: Run, plan: Plan, control: Supervision) -> None:
        """Certifies a design and keeps its ratings, or why it has none."""
        found = certified.certify(plan, control)
        if found is None:
            self._failures[run.key] = INTERRUPTED
            return
        self._certified[run.key] = found
        self._keep(run, found.to_dict())

    def _keep(self, run: Run, document: dict[str, Any]) -> None:
        """Keeps an outcome for the next time. A full disk is no reason to lose it this time."""
        try:
            self._store.put(run.key, document)
        except OSError as error:
            self.notes.append(f"{run.label} is not kept for the next time: {error}")


def _there(what: str, name: str, look: Callable[[str], object]) -> None:
    try:
        look(name)
    except TinytailError as error:
        unknown = re.match(r"unknown (\w+) [`\"]([^`\"]+)", str(error))
        if unknown is not None:
            raise Unavailable(f"needs the {unknown[1]} {unknown[2]}") from None
        raise Unavailable(f"needs the {what} {_shown(name)}: {error}") from None


def _shown(name: str) -> str:
    """A composition without the folders of its files."""
    return "+".join(Path(part).name.removesuffix(".toml") for part in name.split("+"))


def _recording(workload: str) -> Path | None:
    """The file of the trace that a workload plays, if it is where traces are looked for."""
    folder = os.environ.get(TRACES)
    if not folder:
        return None
    try:
        settings = catalog.workload(workload).settings
    except TinytailError:
        return None
    for setting in settings:
        if setting.key == "file":
            path = Path(folder) / setting.value
            return path if path.is_file() else None
    return None


def _content(workload: str) -> list[str]:
    """Digests of the files behind a workload: its own, and those of the traces that it plays."""
    path = Path(workload)
    if not path.is_file():
        recording = _recording(workload)
        return [] if recording is None else [_file_digest(recording)]
    found = [_file_digest(path)]
    if path.suffix == ".toml":
        folders = [path.parent, Path(os.environ.get(TRACES) or path.parent)]
        for name in _named_files(tomllib.loads(path.read_text("utf-8"))):
            found += [_file_digest(place / name) for place in folders if (place / name).is_file()]
    return found


def _named_files(table: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            found += [value["value"]] if key == "file" and "value" in value else _named_files(value)
        elif key == "file":
            found.append(str(value))
    return found


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()
