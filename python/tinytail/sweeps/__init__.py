"""Sweeps: every combination of values along axes, run once and kept in a dataset."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Unpack

from tinytail.engine import arguments, catalog, native
from tinytail.engine.declared import Whole
from tinytail.engine.jobs import ProgressCallback
from tinytail.engine.options import RunKeywords, Transform
from tinytail.errors import Interrupted, UsageError
from tinytail.inputs import tables
from tinytail.inputs.libraries import require
from tinytail.sweeps.axes import AxisValues
from tinytail.sweeps.dataset import opened
from tinytail.sweeps.plan import SEEDS_MAX, Plan, Point, plan
from tinytail.sweeps.result import Sweep, read_sweep
from tinytail.sweeps.run import Stopped, Tally, check_call, run_here

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Stopped", "Sweep", "execute", "plan", "read_sweep", "sweep"]


def sweep(
    axes: Mapping[str, AxisValues],
    *,
    designs: Sequence[tables.DesignNamed] = (),
    device: tables.Named | None = None,
    workload: tables.Named | None = None,
    zip: Sequence[Sequence[str]] = (),
    state: Mapping[str, catalog.StateValue] | None = None,
    settings: arguments.Settings | None = None,
    image: str | os.PathLike[str] | None = None,
    seeds: Annotated[int, Whole(1, SEEDS_MAX)] = 1,
    out: str | os.PathLike[str] | None = None,
    jobs: Annotated[int, Whole(1)] | None = None,
    cluster: str | Client | None = None,
    retry_failed: bool = False,
    transform: Transform | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunKeywords],
) -> Sweep:
    """Runs designs at every combination of values along some axes.

    At each combination the designs are compared as `compare` does: on drives aged alike, with the
    addresses that all of them can hold. A point that fails has a row with its error.

    Args:
        axes: values by the name of what they vary: a value of a file, such as `gc.write_points`,
            an option of `compare`, such as `requests` or `scale_time`, or `design`, `device` or
            `workload`. Values are a list or a range: `{"from": 7, "to": 28, "step": 7}`, `{"from":
            1, "to": 64, "factor": 2}`, or `{"from": 1, "to": 64, "points": 4, "scale": "log"}`.
        designs: the designs at each combination, as for `compare`; without any, the device's own.
        device: the drive, as for `compare`, unless it is an axis.
        workload: the workload, as for `compare`, unless it is an axis.
        zip: lists of axes that take their first values together, then their second, and so on, in
            place of all their combinations.
        state: values of the starting state that replace the device's.
        settings: values that replace those of the files, and that are the same for all points.
        image: an image to start from instead of ageing.
        seeds: with how many seeds each point is run, from the seed on.
        out: the folder of the dataset. What it has already is not run again. Without it, nothing is
            kept.
        jobs: how many points run at once; as many as there are processors if not given, or fewer
            if no more fit into the memory that is free.
        cluster: the address of a scheduler of Dask, or a client of one, whose workers run the
            points in place of this machine.
        retry_failed: run points again that failed before.
        transform: what is done to the requests of a trace or a stand-in before they are played.
        progress: called about ten times a second, in this thread, with how far the sweep is.
        options: those of `RunOptions` but `windows`, and of `TraceOptions`: how runs are made, and
            how a trace is read.

    Returns:
        The points of the sweep.

    Raises:
        UsageError: arguments of the wrong type, out of range, or contradicting each other; an
            unknown axis; a folder that holds something else; a library is missing.
        ConfigError, WorkloadError: no combination can run.
        RunError: the cluster does not answer, lacks something, or has gone. What has ended stays.
        OutputError: the dataset cannot be written. What it has stays.
        Interrupted: Ctrl-C; holds the points that have ended.
    """
    if not (transform is None or isinstance(transform, Transform)):
        raise UsageError(f"transform must be a tinytail.Transform, not {transform!r}")
    made = plan(
        axes,
        designs=designs,
        device=device,
        workload=workload,
        zip=zip,
        state=state,
        settings=settings,
        image=image,
        seeds=seeds,
        **({} if transform is None else transform.given()),
        **options,
    )
    folder = None if out is None else arguments.name("out", out)
    found = execute(
        made, folder, jobs=jobs, cluster=cluster, retry_failed=retry_failed, progress=progress
    )
    if found.partial:
        raise Interrupted(found)
    return found


def execute(
    made: Plan,
    out: str | None = None,
    *,
    jobs: int | None = None,
    cluster: str | Client | None = None,
    retry_failed: bool = False,
    progress: ProgressCallback | None = None,
    say: Callable[[str], None] = warnings.warn,
    reads_interrupted: bool = True,
) -> Sweep:
    """Makes a sweep, whose interruption is part of what is returned; see `sweep`.

    Raises:
        Stopped: Ctrl-C, unless `reads_interrupted`: to read what there is takes long.
    """
    require("a sweep", "pyarrow")
    check_call(out, jobs, progress)
    if not (cluster is None or isinstance(cluster, str) or hasattr(cluster, "scheduler_info")):
        raise UsageError(f"cluster must be an address or a client of Dask, not {cluster!r}")
    for note in made.check():
        say(note)
    if cluster is not None:
        require("a cluster", "distributed")
        if jobs is not None:
            raise UsageError("jobs and cluster exclude each other: a cluster has its own workers")
    with opened(made, out, retry_failed=retry_failed) as (folder, dataset):
        tally = Tally(len(made))
        done = dataset.done()
        missing = _Missing(made, done, tally)
        if cluster is not None:
            from tinytail.sweeps.cluster import run_on_cluster

            finished = run_on_cluster(
                iter(missing), cluster, made, dataset.add, tally, progress, say
            )
        else:
            fit = made.fit(jobs)
            if fit.note is not None:
                say(fit.note)
            shared = native.share([], holds_last=fit.holds)
            finished = run_here(iter(missing), fit.jobs, dataset.add, tally, progress, say, shared)
        if not (finished or reads_interrupted):
            raise Stopped(len(done) + tally.ended)
        # What the plan was not asked for yet may be in the dataset.
        without = missing.others if finished else frozenset[str]()
        found = Sweep.of(folder, dataset.definition, without, is_kept=out is not None)
        return replace(found, partial=not finished)


class _Missing:
    """The points of a plan that a dataset does not have yet, which are found while they are run."""

    def __init__(self, plan: Plan, done: Set[str], tally: Tally) -> None:
        self._plan = plan
        self._done = done
        self._tally = tally
        # Points of the dataset that the plan has not had so far.
        self.others = set(done)

    def __iter__(self) -> Iterator[Point]:
        for point in self._plan:
            self.others.discard(point.id)
            if point.id in self._done:
                self._tally.skip()
            else:
                yield point
