"""What the documents say is so: commands run, links lead somewhere, keys and names are there."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, get_args

import pytest

import tinytail
from commands import RunCommand
from tinytail.cli.config import KINDS
from tinytail.engine.results import FindingCode
from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.records import Paper
from tinytail.verdict import causes

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")]
DOCUMENTS += sorted(ROOT.glob("docs/**/*.md")) + sorted(ROOT.glob("evidence/*.md"))
DOCUMENTS += sorted(ROOT.glob("evidence/reproduction/*.md"))
DOCUMENTS += [ROOT / "experiments/README.md", ROOT / "python/tinytail/DECISIONS.md"]
DOCUMENTS += sorted(ROOT.glob("crates/**/DECISIONS.md"))
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)


def consoles() -> Iterator[tuple[str, str, list[str]]]:
    """Each command in a `console` block, with its document and the output that it is to have."""
    for name in NAMES:
        for block in re.findall(
            r"^```console\n(.*?)^```$", text_of(name), re.DOTALL | re.MULTILINE
        ):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, *output = part.splitlines()
                yield name, line, output


def words(text: str) -> str:
    """Tables and messages are wrapped to the terminal's width; line breaks mean nothing."""
    return " ".join(text.split())


@pytest.mark.parametrize(("document", "line", "output"), list(consoles()))
def test_commands_do_what_the_documents_show(
    document: str,
    line: str,
    output: list[str],
    command: RunCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for shared in ("devices", "designs", "workloads", "docs", "evidence", "examples"):
        (tmp_path / shared).symlink_to(ROOT / shared)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program, *arguments = shlex.split(line)
    assert program == "tinytail", f"{document}: only tinytail's own commands are run"
    outcome = command(*arguments)
    fails = any(shown.startswith("error:") for shown in output)
    assert outcome.code == (2 if fails else 0), outcome.err
    said = words(outcome.out + outcome.err)
    for shown in output:
        assert shown == "..." or words(shown) in said, f"{document}: {shown}"


def test_there_are_commands_to_run() -> None:
    assert {name for name, _, _ in consoles()} >= {
        "README.md",
        "docs/reference/files.md",
        "docs/reference/results.md",
    }


def anchors(text: str) -> set[str]:
    """The anchors that headings have on the usual forges."""
    headings = re.findall(r"^#+ +(.+)$", without_code(text), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    folder = (ROOT / name).parent
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text_of(name))):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        found = (folder / path).resolve() if path else ROOT / name
        assert found.exists(), f"{target} is not there"
        assert found.is_relative_to(ROOT), f"{target} is outside the repository"
        if anchor:
            assert anchor in anchors(found.read_text("utf-8")), f"{target} has no such heading"


@pytest.mark.parametrize("name", NAMES)
def test_paths_that_are_mentioned_exist(name: str) -> None:
    # The example of how a technique is added names files that are for the reader to write.
    to_be_written = {"crates/core/src/techniques/victim/round_robin.rs", "designs/round-robin.toml"}
    roots = "crates|python|devices|designs|workloads|docs|examples|tests"
    for path in re.findall(rf"`((?:{roots})/[^`\s*]*)`", text_of(name)):
        assert path in to_be_written or (ROOT / path).exists(), f"{path} is not there"


def properties(schema: Any) -> Iterator[str]:
    """Every property name of a JSON Schema."""
    if isinstance(schema, list):
        for inner in schema:
            yield from properties(inner)
    elif isinstance(schema, dict):
        for key, inner in schema.items():
            if key == "properties":
                yield from inner
                yield from properties(list(inner.values()))
            else:
                yield from properties(inner)


def code_words(text: str) -> set[str]:
    """The words in code spans, and section headings such as `[gc_lock]`."""
    spans = re.findall(r"`([^`\n]+)`", without_code(text))
    headings = re.findall(r"^#+ \[([\w.]+)\]", text, re.MULTILINE)
    return {word for span in spans for word in re.findall(r"[\w\-]+", span)} | set(headings)


def test_every_key_of_the_files_is_explained() -> None:
    # A value with its source is explained once, not as keys.
    keys = set(properties({kind: tinytail.read_schema(kind) for kind in KINDS})) - {
        "value",
        "source",
    }
    explained = code_words(text_of("docs/reference/files.md")) | code_words(
        text_of("docs/reference/techniques.md")
    )
    assert keys - explained == set()


def test_types_and_page_of_results_are_made_from_their_schemas() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "keys.py"))
    assert made["page"]() == text_of("docs/reference/keys.md"), "run tools/keys.py"
    assert made["types"]() == text_of("python/tinytail/engine/results.py"), "run tools/keys.py"


def test_types_and_tables_of_options_are_made_from_their_schema() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "keys.py"))
    assert made["options"]() == text_of("python/tinytail/engine/options.py"), "run tools/keys.py"
    assert made["files"]() == text_of("docs/reference/files.md"), "run tools/keys.py"


def part_names() -> set[str]:
    """The causes that the core attributes latency to."""
    source = text_of("crates/core/src/attribution/parts.rs")
    names = re.search(r"PART_NAMES: \[&str; PARTS\] = \[(.*?)\];", source, re.DOTALL)
    assert names is not None
    return set(re.findall(r'"(\w+)"', names[1]))


def test_every_cause_of_latency_is_explained() -> None:
    assert len(part_names()) > 30
    assert part_names() - code_words(text_of("docs/reference/results.md")) == set()


def test_every_cause_of_latency_has_a_name_of_its_own() -> None:
    named = {causes.human_name(part) for part in part_names()}
    assert len(named) == len(part_names())


def test_findings_are_ranked_as_the_page_says() -> None:
    rows = re.search(
        r"^\| codes \|.*?\n\n", text_of("docs/reference/results.md"), re.DOTALL | re.MULTILINE
    )
    assert rows is not None
    ranked = re.findall(r"`(\w+)`", rows[0])
    assert ranked == list(get_args(FindingCode))


def interfaces() -> dict[str, set[str]]:
    """The techniques of each policy interface, by their names in design files."""
    found = re.findall(
        r"enum \w+Policy for \w+, dispatch_(\w+) \{\n(.*?)^    \}",
        text_of("crates/core/src/techniques/mod.rs"),
        re.DOTALL | re.MULTILINE,
    )
    return {
        section: set(re.findall(r'^ +"([\w-]+)" =>', rows, re.MULTILINE)) for section, rows in found
    }


def test_the_page_of_techniques_is_made_from_their_files() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "techniques.py"))["page"]()
    assert made == text_of("docs/reference/techniques.md"), "run tools/techniques.py"
    assert len(interfaces()) >= 8
    table = text_of("crates/core/src/techniques/DECISIONS.md")
    for interface, techniques in interfaces().items():
        assert re.search(rf"^\| `{interface}` \|", table, re.MULTILINE), (
            f"{interface} is not in the table of interfaces"
        )
        for technique in techniques:
            heading = rf"^### `{technique}`: .*\n\n\*\*What it does\.\*\*"
            assert re.search(heading, made, re.MULTILINE), f"{technique} has no manual"


def test_every_trace_format_is_explained(command: RunCommand) -> None:
    described = words(
        command("trace", "info", str(ROOT / "examples/tiny.trace"), "--format", "?").err
    )
    listed = re.search(r"expected one of ([-\w, ]+)", described)
    assert listed is not None, described
    formats = listed[1].split(", ")
    assert {"msr", "columns"} <= set(formats)
    document = text_of("docs/reference/formats.md")
    headings = " ".join(re.findall(r"^### (.+)$", document, re.MULTILINE)).split()
    for name in formats:
        assert name in headings, f"{name} has no section"
        assert f"`{name}`" in document


def test_the_index_of_experiments_is_made_from_their_first_lines() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "experiments.py"))["page"]()
    assert made == text_of("experiments/README.md"), "run tools/experiments.py"
    without = [line for line in made.splitlines() if line.endswith("|  |")]
    assert not without, "no page has the result"


def test_the_pages_of_options_and_functions_are_made_from_them() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert made["options"]() == text_of("docs/reference/options.md"), "run tools/reference.py"
    assert made["api"]() == text_of("docs/reference/api.md"), "run tools/reference.py"
    assert made["sweep"]() == text_of("docs/guides/sweep.md"), "run tools/reference.py"


def test_the_page_of_deviations_is_made_from_the_papers() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "deviations.py"))["page"]()
    assert made == text_of("evidence/deviations.md"), "run tools/deviations.py"


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_something_was_tried_in_favour_of_every_figure_that_deviates(paper: Paper) -> None:
    kept = json.loads(text_of(f"evidence/reproduction/{paper.name}/results.json"))
    read_otherwise = {row["row"] for reading in kept["readings"] for row in reading["rows"]}
    missing = [
        row["id"]
        for row in kept["rows"]
        if row["evidence"] in ("performance", "relation") and row["verdict"] == "deviates"
        if row["id"] not in read_otherwise and not paper.tried_for(row["id"])
    ]
    assert not missing
    for tried in paper.tried:
        assert (ROOT / tried.by).is_file(), tried.title


def test_the_exit_codes_are_those_of_the_command_line() -> None:
    from tinytail.cli import codes

    said = set(re.findall(r"^\| (\d+) \|", text_of("docs/reference/results.md"), re.MULTILINE))
    expected = {codes.OK, codes.RUN_FAILED, codes.BAD_INPUT, codes.INTERRUPTED}
    assert said == {str(code) for code in expected}


def test_the_picture_stands_alone_and_is_small() -> None:
    picture = text_of("docs/pictures/demo.svg")
    assert len(picture) < 100_000
    assert "@font-face" not in picture
    assert "url(http" not in picture
    assert all(design in picture for design in ("base", "ttflash", "base+no-gc"))
    # Bars have the names that they have now. tools/pictures/demo.py --check compares all.
    texts = [
        unescape(text).replace("\xa0", " ") for text in re.findall(r">([^<>]+)</text>", picture)
    ]
    shades = [index for index, text in enumerate(texts) if text in set("█▓▒░▞")]
    named = {texts[index + 1].strip() for index in shades if texts[index + 1].startswith(" ")}
    assert "GC programs" in named
    assert named <= {causes.group(part) for part in part_names()}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("README.md", "base+set-"),
        ("docs/start.md", "narrow, randrw70-qd16-"),
        ("docs/guides/python-policies.md", "base+set-"),
        ("docs/guides/explain.md", "die_gc_program"),
        ("docs/guides/sweep.md", "synthetic.queue_depth"),
        ("docs/guides/search.md", "base+preemptible"),
    ],
)
def test_the_python_of_a_page_runs_to_its_end(
    name: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"^```python\n(.*?)^```$", text_of(name), re.DOTALL | re.M):
        # Policies are read from their file.
        file = tmp_path / "block.py"
        file.write_text(block, "utf-8")
        runpy.run_path(str(file))
    out = capsys.readouterr().out
    assert said in out
    assert "STOPPED" not in out


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "compare.py"), run_name="__main__")
    assert "base+plane-blocking: " in capsys.readouterr().out
