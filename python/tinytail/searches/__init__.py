"""Searches: the combinations along axes that are best under constraints."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Unpack

from tinytail.engine import arguments, catalog
from tinytail.engine.declared import Whole
from tinytail.engine.jobs import ProgressCallback
from tinytail.engine.options import RunKeywords, Transform
from tinytail.errors import Interrupted, UsageError
from tinytail.inputs import tables
from tinytail.inputs.libraries import require
from tinytail.searches.goals import GOALS, Goals, goals_of
from tinytail.searches.result import Search, search_of
from tinytail.searches.runs import Runs
from tinytail.searches.trials import Optimizer
from tinytail.sweeps import judged
from tinytail.sweeps.axes import AxisValues, Grid
from tinytail.sweeps.dataset import opened
from tinytail.sweeps.plan import SEEDS_MAX, Plan, is_of_workload, plan
from tinytail.sweeps.run import check_call

__all__ = ["Search", "execute", "search"]


def search(
    axes: Mapping[str, AxisValues],
    *,
    least: Sequence[str] = (),
    greatest: Sequence[str] = (),
    constraints: Sequence[str] = (),
    beside: Sequence[tables.DesignNamed] = (),
    trials: Annotated[int, Whole(1)] = 100,
    requests_short: Annotated[int, Whole(1)] | None = None,
    confirm: Annotated[int, Whole(1)] = 8,
    designs: Sequence[tables.DesignNamed] = (),
    device: tables.Named | None = None,
    workload: tables.Named | None = None,
    zip: Sequence[Sequence[str]] = (),
    state: Mapping[str, catalog.StateValue] | None = None,
    settings: arguments.Settings | None = None,
    image: str | os.PathLike[str] | None = None,
    seeds: Annotated[int, Whole(1, SEEDS_MAX)] = 3,
    out: str | os.PathLike[str] | None = None,
    jobs: Annotated[int, Whole(1)] | None = None,
    retry_failed: bool = False,
    transform: Transform | None = None,
    progress: ProgressCallback | None = None,
    **options: Unpack[RunKeywords],
) -> Search:
    """Searches the combinations along some axes for the best under constraints.

    Short runs with the first seed try combinations, which Optuna chooses by what came of those
    before; all are tried if there are no more than `trials`. Long runs with other seeds confirm the
    best of them; designs of drives of one size use the addresses that all can hold. The front
    is made of the combinations that keep all constraints, lived on no borrowed space, and that no
    other one and no design beside them is better than in one objective and nowhere worse. Of two
    that chance alone tells apart in all objectives it has one.

    Args:
        axes: values by the name of what they vary, as for `sweep`; those of the workload and of the
            starting state are no choices of a design and may not vary.
        least: figures that are to be least, such as `"read.p999_us"`; see docs/guides/sweep.md.
        greatest: figures that are to be greatest, such as `"throughput.served_per_second"`.
        constraints: bounds of figures, such as `"write_amplification <= 2"`, or of a design's, such
            as `"erases <= 1.1 of base"`.
        beside: designs that are run as they are, and shown beside the front; if no constraint names
            one either, the first of the designs.
        trials: how many combinations are tried.
        requests_short: how many requests a short run has; a tenth of a long one's if not given, or
            20,000 if the workload says how many that are.
        confirm: how many combinations are confirmed.
        designs: the designs to choose from, as for `compare`; without any, the device's own.
        device: the drive, as for `compare`.
        workload: the workload, as for `compare`.
        zip: lists of axes that take their first values together, then their second, and so on.
        state: values of the starting state that replace the device's.
        settings: values that replace those of the files, and that are the same for all runs.
        image: an image to start from instead of ageing.
        seeds: with how many seeds each combination is confirmed.
        out: the folder of the dataset, which is that of a sweep. What it has already is not run
            again, whatever the goals were then. Without it, nothing is kept.
        jobs: how many runs are made at once; as many as there are processors if not given, or fewer
            if no more fit into the memory that is free.
        retry_failed: make runs again that failed before.
        transform: what is done to the requests of a trace or a stand-in before they are played.
        progress: called about ten times a second, in this thread, with how far the search is.
        options: those of `RunOptions` but `windows`, and of `TraceOptions`: how runs are made, and
            how a trace is read.

    Returns:
        What was found.

    Raises:
        UsageError: arguments of the wrong type, out of range, or contradicting each other; an
            unknown axis or figure; a folder that holds something else; a library is missing.
        ConfigError, WorkloadError: no combination can run, or a design beside them can't.
        RunError: a design beside them failed, or no combination has the figures.
        OutputError: the dataset cannot be written. What it has stays.
        Interrupted: Ctrl-C; holds what was found until then.
    """
    if not (transform is None or isinstance(transform, Transform)):
        raise UsageError(f"transform must be a tinytail.Transform, not {transform!r}")
    made, wanted = planned(
        axes,
        least=least,
        greatest=greatest,
        constraints=constraints,
        beside=beside,
        trials=trials,
        requests_short=requests_short,
        confirm=confirm,
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
    found = execute(made, wanted, folder, jobs=jobs, retry_failed=retry_failed, progress=progress)
    if found.partial:
        raise Interrupted(found)
    return found


def planned(
    axes: Mapping[str, Any],
    *,
    designs: Sequence[tables.DesignNamed] = (),
    seeds: int = 3,
    **given: Any,
) -> tuple[Plan, Goals]:
    """The plan and the goals of what a caller passes to `search`, checked as `plan` does."""
    is_list = isinstance(designs, Sequence) and not isinstance(designs, str)
    if is_list and len(designs) > 1 and isinstance(axes, Mapping) and "design" not in axes:
        axes, designs = {"design": list(designs), **axes}, ()
    of_goals = {name: given.pop(name) for name in GOALS if name in given}
    made = plan(axes, designs=designs, seeds=seeds, **given)
    for axis in made.grid.axes:
        if axis.name == "device":
            raise UsageError("a search is for one drive: give device, and search again for another")
        if is_of_workload(axis.name) or axis.name.partition(".")[0] == "state":
            raise UsageError(
                f"axis {axis.name} is no choice of a design: a search compares all on the same "
                "workload and from the same state. Give one value of it, and search again with "
                "another"
            )
    wanted = goals_of(made.options.get("requests"), **of_goals)
    if not wanted.references:
        wanted = replace(wanted, beside=made.all_designs()[:1])
    return made, wanted


def execute(
    made: Plan,
    wanted: Goals,
    out: str | None = None,
    *,
    jobs: int | None = None,
    retry_failed: bool = False,
    progress: ProgressCallback | None = None,
    say: Callable[[str], None] = warnings.warn,
) -> Search:
    """Makes a search, whose interruption is part of what is returned; see `search`."""
    require("a search", "optuna", "pyarrow")
    check_call(out, jobs, progress)
    for design in wanted.references:
        replace(made, grid=Grid(()), designs=(design,)).runnable()
    made.runnable()
    fit = made.fit(jobs)
    if fit.note is not None:
        say(fit.note)
    # The rows that `sweep show` takes for those of the sweep are those of the long runs.
    long = replace(made, seed=made.seed + 1)
    with opened(long, out, retry_failed=retry_failed) as (folder, dataset):
        runs = Runs(dataset, folder, made, fit, progress, say)
        found = search_of(
            wanted, Optimizer(made, wanted, runs).run(), folder, is_kept=out is not None
        )
        if out is not None:
            judged.write(folder, wanted.title, found.judged())
        return found
