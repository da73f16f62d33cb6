"""The commands of `tinytail certify`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from cyclopts import App

from tinytail.certification import DEVICE, SCHEMES, Plan, execute
from tinytail.certification.results import Certification
from tinytail.certification.view import certification_view
from tinytail.cli.codes import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import DESIGNS, DeviceName, JsonPath, PositiveOrNone, Seed, SetWords, whole
from tinytail.engine.arguments import state_from_words
from tinytail.engine.results import RuleName
from tinytail.inputs import conflicts
from tinytail.terminal.console import (
    checked_output,
    console_beside,
    print_error,
    stderr,
    write_output,
)
from tinytail.terminal.progress import reporter

certify = App(name="certify", help="Rate drives as a certification test does.")


@certify.command(name="act", usage="Usage: tinytail certify act [DESIGN...] [OPTIONS]")
def certify_act(
    designs: Annotated[list[str] | None, DESIGNS] = None,
    /,
    *,
    device: DeviceName = DEVICE,
    rule: RuleName = "paper",
    duration_s: Annotated[int, whole(1)] = 60,
    max_multiplier: Annotated[int, whole(1)] = 64,
    resolution: Annotated[int, whole(1)] = 1,
    seed: Seed = 1,
    jobs: PositiveOrNone = None,
    state: list[str] | None = None,
    settings: SetWords = None,
    json: JsonPath = None,
    details: bool = False,
) -> int:
    """Find the largest load of Aerospike's certification tool at which a drive passes its tests.

    Each drive is aged once; runs at different multipliers of the load start from there.

    Parameters
    ----------
    designs
        Designs to rate; overlays are added with plus signs, as in base+t-es. Without any, the six
        schemes of Practical Erase Suspension.
    device
        Name of a drive (see `tinytail devices`) or path of its file.
    rule
        What a run must meet: the conditions of Practical Erase Suspension, with each kind's mean
        latency below that kind's own period (paper) or below that of large requests
        (paper-large-period); or what the tool asks for today (current).
    duration_s
        Length of the measured part of each run, in whole seconds of simulated time.
    max_multiplier
        The largest multiplier that is tried.
    resolution
        How far apart the multipliers may be that a rating lies between.
    seed
        Seed of whatever is random; the same seed gives the same results.
    jobs
        How many runs may go on at once; as many as there are processors if not given.
    state
        A value of the starting state that replaces the device's, as KEY=VALUE, such as
        ageing=steady; may be given several times.
    settings
        A value that replaces one of the files of device and designs, as SECTION.KEY=VALUE, such as
        gc.write_points=4; may be given several times.
    json
        File for all results as JSON; - is standard output, and the table then goes to standard
        error.
    details
        Print the rule too, and how far each condition was from its limit.
    """
    plan = Plan(
        designs=tuple(designs) if designs else SCHEMES,
        device=device,
        rule=rule,
        duration_s=duration_s,
        max_multiplier=max_multiplier,
        resolution=resolution,
        seed=seed,
        jobs=jobs,
        state=state_from_words(state or []),
        settings=tuple(settings or ()),
    )
    plan.check()
    read = conflicts.files_read(device=plan.device, designs=plan.designs)
    conflicts.check([("--json", json)], read)
    output = checked_output(json)
    fit = plan.fit()
    if fit.note is not None:
        stderr().print(f"note: {fit.note}", soft_wrap=True, markup=False)
        plan = replace(plan, jobs=fit.jobs)
    with reporter(stderr()) as report:
        certification = execute(plan, report)
    problem = write_output(output, certification.to_json)
    console = console_beside(output)
    console.print(certification_view(certification, console.width, details=details))
    for message, names in _by_message(certification).items():
        print_error(f"{', '.join(names)}: {message}")
    if problem is not None:
        print_error(str(problem))
    return _code(certification, failed=problem is not None)


def _by_message(certification: Certification) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for error in certification.errors:
        names.setdefault(error.message, []).append(error.design)
    return names


def _code(certification: Certification, *, failed: bool) -> int:
    if certification.partial:
        return INTERRUPTED
    if any(error.kind in ("config", "workload") for error in certification.errors):
        return BAD_INPUT
    return RUN_FAILED if certification.errors or failed else OK
