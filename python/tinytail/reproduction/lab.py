"""Makes the runs that rows need, each once, and keeps them for the next time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from tinytail.certification import Plan
from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog, memory, native
from tinytail.engine.jobs import ProgressCallback, Runner, cpu_count
from tinytail.engine.options import LogSpec
from tinytail.errors import ConfigError, TinytailError, suggestion
from tinytail.inputs.names import part_of_file_name
from tinytail.reproduction import certified, logs, served
from tinytail.reproduction.certified import Certified, Supervision
from tinytail.reproduction.prepare import Preparation, Unavailable
from tinytail.reproduction.records import Experiment, Paper, Reading, Tier
from tinytail.reproduction.runs import Control, Run
from tinytail.reproduction.served import Served, ServedPlan
from tinytail.reproduction.store import Outcome, Store, kept_run

_Kept = TypeVar("_Kept")

FULL_TIER_ONLY = "runs in the full tier only"
NEVER_RUN = "not run yet in this result"
INTERRUPTED = "it was interrupted before it ended"


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
        self.inputs = Preparation(paper, traces or {})
        self._store = store
        self._jobs = jobs
        self.kept_only = kept_only
        self._outcomes: dict[str, Outcome] = {}
        self._certified: dict[str, Certified] = {}
        self._served: dict[str, Served] = {}
        self._failures: dict[str, str] = {}
        self._runs: dict[str, tuple[Run, ...]] = {}
        self._reading: Reading | None = None

    def __enter__(self) -> Lab:
        self.inputs.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.inputs.__exit__()

    @contextmanager
    def under(self, reading: Reading) -> Iterator[None]:
        """Hands out what another reading's runs gave, until the context ends."""
        self._reading = reading
        try:
            yield
        finally:
            self._reading = None

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

    def served(self, experiment: str, design: str) -> Served:
        """What came of a design in an experiment that serves drives, on the wall clock.

        Raises:
            Unavailable: it was not served, could not be, or was too late.
        """
        run = self._run(experiment, design)
        if run.key not in self._served:
            self._served[run.key] = self._kept(run, Served.from_dict)
        return self._served[run.key]

    def _run(self, experiment: str, design: str) -> Run:
        if self._reading is not None:
            experiment, design = self._reading.experiment(experiment), self._reading.design(design)
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
            raise Unavailable(
                f'the engine has no counter "{wanted}" for {part_of_file_name(result.design)}'
            )
        return sum(found)

    def composition(self, experiment: str, design: str) -> str:
        """A design of an experiment as the engine knows it, with files for the `@` overlays.

        Raises:
            Unavailable: the engine does not have it.
        """
        known = self.paper.experiments[experiment]
        label = known.elsewhere.get(design, {}).get("design", design)
        return self.inputs.design(label, known)[0]

    def device_of(self, experiment: str) -> dict[str, Any]:
        """The device of an experiment in this tier, as `engine.device_document` gives it.

        Raises:
            Unavailable: this tier leaves the experiment out.
        """
        if self._reading is not None:
            experiment = self._reading.experiment(experiment)
        in_tier = self.paper.experiments[experiment].in_tier(self.tier)
        if in_tier is None:
            raise Unavailable(FULL_TIER_ONLY)
        return catalog.device_document(self.inputs.device(in_tier.device)[0])

    def probe(self, experiment: Experiment) -> Outcome:
        """Runs a small experiment of one design at once; it is kept like all others.

        Raises:
            Unavailable: something that it needs is not there, or the run failed.
        """
        (run,) = self.inputs.runs(experiment)
        if run.key not in self._outcomes and not self._is_kept(run):
            self._make(run, run.control())
        return self._outcome(run)

    def seen(self) -> list[Outcome]:
        """The outcomes that measures have looked at since `used` was emptied."""
        return [self._outcomes[key] for key in self.used]

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
        elif run.alone:
            read = Served.from_dict
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
            self._runs[experiment] = self.inputs.runs(in_tier)
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
        # What is measured on the wall clock comes last, one at a time, with nothing beside it.
        for alone, workers in ((False, fit.jobs), (True, 1)):
            runner = Runner(workers)
            for run in sorted(needs, key=lambda run: -run.cost_s):
                if run.alone is alone:
                    runner.add(run.job(self._make))

            def show(runner: Runner = runner) -> None:
                if report is not None:
                    report([runner.progress(self.paper.prefix)])

            finished = runner.run(show)
            for job in runner.jobs:
                if not isinstance(job.error, KeyboardInterrupt | None):
                    raise job.error
            if not finished:
                return False
        return True

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

    def _make(self, run: Run, control: Control) -> None:
        """Makes a run and keeps its outcome, or why it has none."""
        log_path = self.inputs.folder / f"{run.key}.parquet"
        try:
            if isinstance(run.spec, Plan):
                assert isinstance(control, Supervision)
                self._certify(run, run.spec, control)
                return
            if isinstance(run.spec, ServedPlan):
                assert isinstance(control, Supervision)
                self._served[run.key] = served.serve(run.spec, control)
                self._keep(run, self._served[run.key].to_dict())
                return
            assert not isinstance(control, Supervision)
            spec = run.spec
            if run.key in self.inputs.logged:
                spec = replace(spec, log=LogSpec(path=str(log_path), command=run.label))
            document = native.run(spec, control)
            # A run that got stuck is an outcome: the same whenever it is made.
            if document["partial"] and document["stuck"] is None:
                self._failures[run.key] = document.get("unread") or INTERRUPTED
                return
            log = logs.read(log_path, self.inputs.logged[run.key]) if spec.log is not None else None
            self._outcomes[run.key] = Outcome(DesignResult.from_dict(document), log)
            self._keep(run, kept_run(document, log))
        except TinytailError as error:
            # Where a file of the lab's own lay is of no use to anybody.
            place = f"(?:{re.escape(str(self.inputs.folder))}/)?" + r"[0-9a-f]{16}/"
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
