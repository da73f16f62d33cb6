"""What the command `tinytail reproduce` does with its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinytail.cli.codes import INTERRUPTED, OK, RUN_FAILED
from tinytail.errors import UsageError
from tinytail.files.text import json_text
from tinytail.reproduction import figures, pages, session
from tinytail.reproduction.catalog import select
from tinytail.reproduction.records import Tier
from tinytail.reproduction.store import Store, default_store
from tinytail.reproduction.verdicts import NO_CAUSE
from tinytail.terminal.console import (
    JsonOutput,
    console_beside,
    print_error,
    stderr,
    stdout,
    write_output,
)
from tinytail.terminal.progress import reporter


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command, as they are given."""

    rows: tuple[str, ...]
    tier: Tier
    figures: str | None
    docs: str | None
    traces: tuple[str, ...]
    jobs: int | None
    fresh: bool
    kept: bool


def list_rows(options: Options, output: JsonOutput | None) -> int:
    """Shows the rows and runs nothing."""
    rows = select(options.rows)
    if output is not None:
        output.write(json_text(pages.list_document(rows)))
    if output is None or not output.is_stdout:
        console = stdout()
        console.print(pages.list_view(rows, console.width))
    return OK


def reproduce(options: Options, output: JsonOutput | None) -> int:
    """Runs, judges, shows and writes."""
    wanted = _wanted(options)
    with reporter(stderr()) as report:
        document = session.reproduce(wanted, report)
    problem = write_output(output, lambda: json_text(document))
    if options.docs is not None and not document["partial"]:
        pages.write(document, Path(options.docs))
    console = console_beside(output)
    console.print(pages.results_view(document, console.width))
    if options.figures is not None and not figures.can_be_drawn():
        print_error("figures need matplotlib: pip install matplotlib")
    if wanted.figures is not None and not document["figures"]:
        stderr().print(
            f"note: nothing was drawn into {wanted.figures}: nothing was run of which the papers "
            "have a figure",
            soft_wrap=True,
            markup=False,
        )
    if problem is not None:
        print_error(str(problem))
    if document["partial"]:
        return INTERRUPTED
    # What deviates for a known cause is no fault.
    unexplained = [row["id"] for row in document["rows"] if is_unexplained(row)]
    if unexplained:
        print_error(f"these deviate, and nothing says why: {', '.join(unexplained)}")
    return OK if problem is None and not unexplained else RUN_FAILED


def is_unexplained(row: Mapping[str, Any]) -> bool:
    """Whether a row deviates, and no cause is known."""
    return row["verdict"] == "deviates" and str(row["cause"]).startswith(NO_CAUSE)


def _wanted(options: Options) -> session.Wanted:
    """The options, checked before anything runs.

    Raises:
        UsageError: unknown rows or traces, or options that contradict each other.
    """
    rows = select(options.rows)
    if options.fresh and options.kept:
        raise UsageError("--fresh runs everything again, and --kept nothing: only one of them")
    papers = {paper.name: paper for paper, _ in rows}
    traces = _named(options.traces)
    session.check_traces(traces, list(papers.values()))
    folder = options.figures
    if options.docs is not None:
        if folder is not None:
            raise UsageError("--docs has its own figures: --figures goes with other output only")
        for paper in papers.values():
            if sum(of is paper for of, _ in rows) < len(paper.rows):
                raise UsageError(
                    f"--docs needs all rows of a paper: tinytail reproduce {paper.prefix}"
                )
        if not figures.can_be_drawn():
            raise UsageError("--docs needs matplotlib: pip install matplotlib")
        folder = options.docs
    for path in {options.docs, options.figures} - {None}:
        if path is not None and Path(path).exists() and not Path(path).is_dir():
            raise UsageError(f"{path} is not a folder")
    return session.Wanted(
        rows=rows,
        tier=options.tier,
        store=Store(default_store(), fresh=options.fresh),
        words=options.rows,
        traces=traces,
        jobs=options.jobs,
        kept_only=options.kept,
        figures=Path(folder) if folder is not None and figures.can_be_drawn() else None,
    )


def _named(words: tuple[str, ...]) -> dict[str, str]:
    """Files by the names of traces, from words such as `exchange=exchange.toml`."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, file = word.partition("=")
        if not (name and equals and file):
            raise UsageError(f'--trace must be NAME=FILE, such as dtrs=dtrs.toml, not "{word}"')
        if name in found:
            raise UsageError(f'--trace gives "{name}" twice')
        found[name] = file
    return found
