"""Runs the designs of a comparison side by side, and gathers what came of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tinytail.comparison.result import Comparison, DesignResult, compared_workload
from tinytail.comparison.write_folder import Keeping
from tinytail.engine import native
from tinytail.engine.jobs import DesignProgress, Job, ProgressCallback, Runner
from tinytail.engine.options import RunSpec
from tinytail.engine.results import ComparedWorkload, DesignError
from tinytail.errors import kind_of
from tinytail.inputs.pipes import spooled
from tinytail.verdict import seeds, states

if TYPE_CHECKING:
    from tinytail.comparison.plan import Plan

STUCK = "Requests stopped completing. "

Jobs = Sequence[Job[DesignResult]]


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
    smallest = plan.smallest()
    # Designs that start from the same state come after each other.
    specs = [
        replace(plan, seed=seed, seeds=1).run_spec(design, smallest)
        for seed in range(plan.seed, plan.seed + plan.seeds)
        for design in plan.designs
    ]
    shared = native.share(specs, cache=not plan.no_cache)
    runner = Runner(plan.fit().jobs)
    # The jobs of each design, in the order of their seeds.
    jobs: dict[str, list[Job[DesignResult]]] = {design: [] for design in plan.designs}
    for spec in specs:
        jobs[spec.design].append(runner.add(_job(spec, shared, keeping)))

    def say_notes() -> None:
        for note in shared.take_notes():
            say(note)

    def report() -> None:
        say_notes()
        if progress is not None:
            progress([together([_progress(job) for job in each]) for each in jobs.values()])

    runner.run(report)
    say_notes()
    found = [_combined(each) for each in jobs.values()]
    results = tuple(result for result in found if result is not None)
    errors = tuple(error for each in jobs.values() for error in _errors(plan.seed, each))
    first = results[0] if results else None
    return Comparison(
        version=native.version(),
        command=plan.command(),
        device=first.device if first else plan.device,
        workload=compared_workload(first)
        if first
        else ComparedWorkload(plan.workload, None, None, None),
        state=states.common([result.document["state"] for result in results]),
        seed=plan.seed,
        partial=any(job.result is not None and job.result.interrupted for job in runner.jobs)
        or any(error.kind == "interrupted" for error in errors),
        reference=plan.reference_design,
        configuration=configuration,
        results=results,
        errors=errors,
        seeds=plan.seeds,
        cause=next((job.error.__cause__ for job in runner.jobs if job.error is not None), None),
    )


def _job(spec: RunSpec, shared: native.Shared, keeping: Keeping | None) -> Job[DesignResult]:
    control = native.Control()

    def run() -> DesignResult:
        if keeping is None:
            return DesignResult.from_dict(native.run(spec, control, shared))
        document = native.run(keeping.spec(spec), control, shared)
        return DesignResult.from_dict(keeping.named(document))

    return Job(spec.design, run, control)


def _fault(job: Job[DesignResult]) -> DesignError | None:
    """Why a run that has ended has no result, or a doubtful one."""
    if job.result is None:
        return DesignError(job.name, *kind_of(job.error or KeyboardInterrupt()))
    why = why_stopped(job.result)
    return None if why is None else DesignError(job.name, "run", why)


def why_stopped(result: DesignResult) -> str | None:
    """Why a run did not come to its end, or could not write what it was to write."""
    if result.stuck is not None:
        return f"stopped: requests stopped completing. {result.stuck.removeprefix(STUCK)}"
    if result.unread is not None:
        return f"stopped: {result.unread}"
    written = (result.log, result.request_timelines, result.timeline)
    return next((each.error for each in written if each is not None and each.error), None)


def _progress(job: Job[DesignResult]) -> DesignProgress:
    shown = job.progress()
    return replace(shown, status="failed") if job.ended and _fault(job) is not None else shown


def together(runs: Sequence[DesignProgress]) -> DesignProgress:
    """How far a design is with all its seeds: as the run that is furthest behind."""
    first = runs[0]
    if len(runs) == 1:
        return first
    ended = sum(run.status in ("finished", "failed") for run in runs)
    running = [run for run in runs if run.status == "running"]
    if ended == len(runs):
        return next((run for run in runs if run.status == "failed"), first)
    if not running:
        return replace(first, status="running" if ended else "waiting", phase="", done=0, total=0)
    return replace(running[-1], detail=f"{ended} of {len(runs)} seeds done")


def _combined(jobs: Jobs) -> DesignResult | None:
    """The result of a design: of all its seeds that came to their end, or else of the first."""
    results = [job.result for job in jobs if job.result is not None]
    whole = [result for result in results if not result.partial]
    if len(whole) > 1:
        document = seeds.combined([result.document for result in whole])
        return DesignResult.from_dict(document)
    return next(iter(whole or results), None)


def _errors(seed: int, jobs: Jobs) -> list[DesignError]:
    """What went wrong with a design; what went wrong with every seed is said once."""
    failed = [(at, error) for at, job in enumerate(jobs, seed) if (error := _fault(job))]
    if len({(error.kind, error.message) for _, error in failed}) == 1 and len(failed) == len(jobs):
        return [failed[0][1]]
    return [replace(error, message=f"seed {at}: {error.message}") for at, error in failed]
