"""The commands of `tinytail certify`."""

from __future__ import annotations

from dataclasses import replace

from cyclopts import App

from tinytail.certification import Plan, certify_act, execute
from tinytail.certification.results import Certification
from tinytail.certification.view import certification_view
from tinytail.cli.codes import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.cli.flags import JsonPath
from tinytail.cli.function import Given, command_of
from tinytail.inputs import conflicts
from tinytail.terminal.console import checked_output, print_error, stderr, tell
from tinytail.terminal.progress import reporter

certify = App(name="certify", help="Rate drives as a certification test does.")


@certify.command(name="act", usage="Usage: tinytail certify act [DESIGN...] [OPTIONS]")
@command_of(certify_act)
def act(given: Given, *, json: JsonPath = None, details: bool = False) -> int:
    """Find the largest load of Aerospike's certification tool at which a drive passes its tests.

    Each drive is aged once; runs at different multipliers of the load start from there.

    Parameters
    ----------
    details
        Print the rule too, and how far each condition was from its limit.
    """
    plan = Plan.of(**given)
    read = conflicts.files_read(device=plan.device, designs=plan.designs)
    conflicts.check([("--json", json)], read)
    output = checked_output(json)
    fit = plan.fit()
    if fit.note is not None:
        stderr().print(f"note: {fit.note}", soft_wrap=True, markup=False)
        plan = replace(plan, jobs=fit.jobs)
    with reporter(stderr()) as report:
        certification = execute(plan, report)
    problems = tell(
        output,
        certification.to_json,
        lambda console: certification_view(certification, console.width, details=details),
    )
    for message, names in _by_message(certification).items():
        print_error(f"{', '.join(names)}: {message}")
    for problem in problems:
        print_error(str(problem))
    return _code(certification, failed=bool(problems))


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
