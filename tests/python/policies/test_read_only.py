"""Views are read-only: a policy that writes one is refused, or ends its own run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tinytail
from tinytail.errors import ConfigError, RunError

RUN: dict[str, Any] = {
    "device": "ttflash-small",
    "workload": "hotcold-write",
    "requests": 2000,
    "state": {"ageing": "overwrite"},
}
HEAD = 'name = "mine"\nkind = "overlay"\nsummary = "mine"\n'
# An assignment, and the section of a policy that has what it assigns to.
ASSIGNMENTS = {
    "view.erases[candidates[0]] = 0": "victim",
    "view.valid_pages[0] = 3": "victim",
    "view.valid_pages[0] -= 1": "victim",
    "view.closed_at[:] = 0": "victim",
    "view.erases[1:3][0] = 7": "victim",
    "view.valid_pages.fill(0)": "victim",
    "view.erases.sort()": "victim",
    "candidates[0] = 0": "victim",
    "view.free_pages[0] = 0": "victim",
    "view.now_ns = 3": "victim",
    "view.plane = 3": "victim",
    "waiting[0].arrival = 0": "order",
    "waiting[0].urgent ^= 1": "order",
    "view.valid_pages[0] = 2": "order",
}
PYTHON = """
import tinytail


@tinytail.policy("{section}"{compiled})
def writes({arguments}):
    {assignment}
    return {answer}
"""


def design(folder: Path, assignment: str, *, compiled: bool) -> str:
    section = ASSIGNMENTS[assignment]
    is_victim = section == "victim"
    text = PYTHON.format(
        section=section,
        compiled=", compiled=True" if compiled else "",
        arguments="view, plane, candidates" if is_victim else "view, waiting",
        assignment=assignment,
        answer="candidates[0]" if is_victim else "0",
    )
    (folder / "writes.py").write_text(text)
    return of_file(folder, section, "writes.py", "writes")


def of_file(folder: Path, section: str, file: str, name: str) -> str:
    entry = f'policy = "custom"\nfile = "{file}"\nname = "{name}"\n'
    if section == "victim":
        entry = f'chain = [{{ policy = "custom", file = "{file}", name = "{name}" }}]\n'
    overlay = folder / f"{name}.toml"
    overlay.write_text(f"{HEAD}[{section}]\n{entry}")
    return f"base+{overlay}"


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_a_compiled_policy_that_assigns_to_its_view_is_refused(
    assignment: str, tmp_path: Path
) -> None:
    with pytest.raises(
        ConfigError, match=r"writes assigns to its view|numba cannot compile writes"
    ):
        tinytail.compare([design(tmp_path, assignment, compiled=True)], **RUN)


@pytest.mark.parametrize(
    "assignment", [each for each in ASSIGNMENTS if each[:15] != "candidates[0] ="]
)
def test_a_plain_policy_that_assigns_to_its_view_ends_its_run(
    assignment: str, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match=r"raised (TypeError|AttributeError): "):
        tinytail.compare([design(tmp_path, assignment, compiled=False)], **RUN)
