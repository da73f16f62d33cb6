"""Views are read-only: a policy that writes one is refused, or ends its own run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tinytail
from tinytail.errors import ConfigError, RunError

ROOT = Path(__file__).parents[3]
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


C = """
#include "tinytail_policy.h"

#define WRITES(name, what) \\
    int64_t name(const tinytail_view *view) { what; return view->candidates[0]; }

WRITES(valid_pages, ((int16_t *)view->valid_pages)[view->blocks - 1] = 3)
WRITES(erases, ((uint32_t *)view->erases)[view->candidates[0]] = 0)
WRITES(closed_at, ((uint64_t *)view->closed_at)[0] = 1)
WRITES(candidates, ((uint32_t *)view->candidates)[0] = 0)
WRITES(itself, ((tinytail_view *)view)->plane = 1)
WRITES(parameters, ((double *)view->parameters)[0] = 1)

int64_t waiting(const tinytail_view *view) {
    ((tinytail_waiting *)view->waiting)[0].urgent = 1;
    return 0;
}

/* Each number that the tables have of a plane. */
int64_t sums(const tinytail_view *view) {
    uint64_t all = 0;
    uint32_t first = view->plane * view->blocks_per_plane;
    for (uint32_t block = first; block < first + view->blocks_per_plane; block++)
        all += view->valid_pages[block] + view->erases[block] + view->closed_at[block];
    return view->candidates[all % view->candidate_count];
}
"""
SECTIONS = {
    **dict.fromkeys(("valid_pages", "erases", "closed_at", "candidates", "itself"), "victim"),
    "waiting": "order",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library whose functions write."""
    folder = tmp_path_factory.mktemp("writes")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "writes.c").write_text(C)
    include = ROOT / "crates/policies/include"
    made = folder / "libwrites.so"
    words: list[Any] = [
        compiler,
        "-w",
        "-shared",
        "-fPIC",
        "-I",
        include,
        "-o",
        made,
        folder / "writes.c",
    ]
    subprocess.run(words, check=True)
    return folder


def test_a_library_that_writes_its_view_ends_its_own_run(folder: Path) -> None:
    designs = [of_file(folder, SECTIONS[name], "libwrites.so", name) for name in SECTIONS]
    comparison = tinytail.compare(["base", *designs], **RUN)
    [alone] = tinytail.compare(["base"], **RUN).results
    [base] = comparison.results
    assert base.event_hash == alone.event_hash
    assert [error.design for error in comparison.errors] == designs
    for error in comparison.errors:
        assert "ended by signal 11 (SIGSEGV" in error.message
        assert "libwrites.so" in error.message


@tinytail.policy("victim")
def sums(view: Any, plane: int, candidates: Any) -> int:
    """As C has it."""
    first = plane * view.blocks_per_plane
    blocks = range(first, first + view.blocks_per_plane)
    total = sum(
        table[block]
        for table in (view.valid_pages, view.erases, view.closed_at)
        for block in blocks
    )
    return int(candidates[total % len(candidates)])


def test_what_a_library_reads_is_what_the_drive_has(folder: Path) -> None:
    """The tables are copies: each number of a plane decides here, at each question."""
    library = of_file(folder, "victim", "libwrites.so", "sums")
    found = tinytail.compare([library, ["base", {"victim": {"chain": [sums]}}]], **RUN)
    assert not found.errors
    first, second = found.results
    assert first.event_hash == second.event_hash
    assert first.gc_count > 50
    settings = {"state.ageing": "overwrite"}
    run: dict[str, Any] = {"device": "ttflash-small", "cuts": 6, "settings": settings}
    cut = tinytail.verify_power_cut([library, ["base", {"victim": {"chain": [sums]}}]], **run)
    assert cut.holds
    assert len({result.event_hash for result in cut.results}) == 1
