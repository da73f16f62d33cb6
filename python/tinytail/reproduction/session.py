"""One reproduction from the rows that are wanted to the document of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tinytail.comparison.result import DesignResult
from tinytail.engine import native
from tinytail.engine.jobs import ProgressCallback
from tinytail.engine.methods import AttributionGroup
from tinytail.errors import UsageError, suggestion
from tinytail.inputs import tables
from tinytail.reproduction import sources
from tinytail.reproduction.figures import Format, draw_all
from tinytail.reproduction.judge import VERDICTS, evaluate, read_otherwise
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.prepare import Unavailable
from tinytail.reproduction.records import EVIDENCE_KINDS, Paper, Row, Tier
from tinytail.reproduction.store import Store
from tinytail.verdict.percentiles import LATENCIES

SCHEMA_VERSION = 2
INPUTS = ("real", "synthetic", "stand-in", "context")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be reproduced, and how.

    `words` are the names that were asked for. `traces` are files for recorded workloads by the
    names of the papers' traces. `figures` is the folder that figures are drawn into, one for each
    paper in it. With `kept_only` no runs are made but probes.
    """

    rows: Sequence[tuple[Paper, Row]]
    tier: Tier
    store: Store
    words: tuple[str, ...] = ()
    traces: Mapping[str, str] = field(default_factory=dict)
    jobs: int | None = None
    kept_only: bool = False
    figures: Path | None = None
    figure_format: Format = "svg"

    def papers(self) -> list[Paper]:
        """The papers whose rows are wanted."""
        return list({paper.name: paper for paper, _ in self.rows}.values())

    def rows_of(self, paper: Paper) -> list[Row]:
        """The rows of a paper that are wanted."""
        return [row for of, row in self.rows if of.name == paper.name]

    def is_whole(self, paper: Paper) -> bool:
        """Whether all rows of a paper are wanted."""
        return len(self.rows_of(paper)) == len(paper.rows)

    def experiments_of(self, paper: Paper) -> list[str]:
        """The experiments of a paper that are wanted, each once: with all rows, all of them."""
        if self.is_whole(paper):
            return list(paper.experiments)
        asked = {name for row in self.rows_of(paper) for name in paper.experiments_of(row)}
        return [name for name in paper.experiments if name in asked]

    def command(self) -> str:
        """The command line that does the same."""
        words = ["tinytail", "reproduce", *self.words, "--tier", self.tier]
        # Where files of the user lie is of no use to others.
        words += [f"--trace {name}={Path(path).name}" for name, path in self.traces.items()]
        words += ["--kept"] if self.kept_only else []
        return " ".join(words)


def check_traces(given: Mapping[str, str], papers: Sequence[Paper]) -> None:
    """Makes sure that each file is given for a trace that some paper has.

    Raises:
        UsageError: it is not, or there is no such file.
    """
    known = sorted({name for paper in papers for name in paper.traces})
    for name, path in given.items():
        if name not in known:
            raise UsageError(f'no trace is called "{name}"' + suggestion(name, known))
        if not (Path(path).is_file() or tables.is_there(path)):
            raise UsageError(f"--trace {name}: there is no file {path}")


def execute(wanted: Wanted, report: ProgressCallback | None = None) -> dict[str, Any]:
    """Runs what the rows need, judges them and draws figures; returns the document of results.

    Ctrl-C ends the runs; the document then has `partial`, and rows that lack a run are not run.
    """
    commit = sources.commit()
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "version": native.version(),
        "commit": commit,
        "command": wanted.command(),
        "tier": wanted.tier,
        "partial": False,
        "counts": {},
        "evidence_counts": {},
        "papers": [],
        "rows": [],
        "readings": [],
        "figures": [],
        "runs": [],
        "notes": [],
    }
    for paper in wanted.papers():
        traces = {name: path for name, path in wanted.traces.items() if name in paper.traces}
        with Lab(
            paper, wanted.tier, wanted.store, traces, wanted.jobs, kept_only=wanted.kept_only
        ) as lab:
            if not document["partial"]:
                document["partial"] = not lab.make(wanted.experiments_of(paper), report)
            _gather(document, paper, lab, wanted, commit)
            document["notes"] += lab.notes
    document["counts"] = counts(document["rows"], "input", INPUTS)
    document["evidence_counts"] = counts(document["rows"], "evidence", EVIDENCE_KINDS)
    return document


def described(paper: Paper) -> dict[str, Any]:
    """What stands of a paper in the document, whatever is measured."""
    return {
        "name": paper.name,
        "prefix": paper.prefix,
        "title": paper.title,
        "source": paper.source,
        "side_by_side": [asdict(table) for table in paper.side_by_side],
        "tables": [asdict(table) for table in paper.tables],
    }


def _gather(document: dict[str, Any], paper: Paper, lab: Lab, wanted: Wanted, commit: str) -> None:
    document["papers"].append(described(paper))
    for row in wanted.rows_of(paper):
        try:
            result = evaluate(paper, row, lab)
        except KeyboardInterrupt:
            document["partial"] = True
            break
        document["rows"].append(result.to_dict(commit))
    if wanted.is_whole(paper) and not document["partial"]:
        document["readings"] += [
            {"paper": paper.name, "title": reading.title, "about": reading.about}
            | {"rows": read_otherwise(paper, reading, lab)}
            for reading in paper.readings
        ]
    for experiment in wanted.experiments_of(paper):
        document["runs"] += _runs(paper, lab, experiment)
    if wanted.figures is not None:
        document["figures"] += draw_all(
            paper,
            lab,
            wanted.experiments_of(paper),
            wanted.figures / paper.name,
            wanted.figure_format,
        )


def _runs(paper: Paper, lab: Lab, experiment: str) -> list[dict[str, Any]]:
    """What the runs of an experiment were, with the state in which each started."""
    try:
        runs = lab.runs(experiment)
    except Unavailable:
        return []
    # Ratings are no runs, and what is measured on the wall clock is never the same twice.
    known = paper.experiments[experiment]
    if known.certify is not None or known.served is not None:
        return []
    attributed = any(
        experiment in each.experiments for each in paper.side_by_side if each.attribution
    )
    found: list[dict[str, Any]] = []
    for run in runs:
        try:
            result = lab.ending(experiment, run.design).result
        except Unavailable:
            continue
        found.append({"paper": paper.name, "experiment": experiment, "design": run.design})
        found[-1] |= facts(result)
        if attributed:
            found[-1]["attribution"] = _attribution(result)
    return found


def _attribution(result: DesignResult) -> dict[str, dict[str, float]]:
    """What each cause contributes to a read on average, in µs: of all, and of the slowest."""
    groups: dict[str, AttributionGroup] = {"all reads": result.attribution.all_reads}
    groups |= {f"slowest {tail.share_percent:g} %": tail for tail in result.attribution.tails}
    return {
        name: {share.cause: share.mean_us for share in group.ranked()}
        for name, group in groups.items()
    }


def facts(result: DesignResult) -> dict[str, Any]:
    """What is kept of a run."""
    read, state = result.read, result.state
    return {
        "device": result.device,
        "workload": result.workload.name,
        "input": result.workload.input,
        "requests": read.count + result.write.count,
        "seed": result.seed,
        "free_percent": None if state is None else state.free_percent,
        "live_percent": None if state is None else state.live_percent,
        "victim_valid_percent": None if state is None else state.victim_valid_percent,
        **{each.key: getattr(read, each.key) for each in LATENCIES},
        "write_max_us": result.write.max_us,
        "gc_max_us": None if result.gc_times is None else result.gc_times.max_us,
        "write_amplification": result.write_amplification,
        "stuck": result.stuck,
        "gc_blocked_read_percent": result.gc_blocked_read_percent,
        "gc_count": result.gc_count,
        "erases": result.erases,
        "event_hash": result.event_hash,
    }


def counts(
    rows: Sequence[Mapping[str, Any]], label: str, names: Sequence[str]
) -> dict[str, dict[str, int]]:
    """How many rows of each name that a label has have each verdict."""
    found = Counter((row[label], row["verdict"]) for row in rows)
    return {
        name: {verdict: found[name, verdict] for verdict in VERDICTS}
        for name in names
        if any(found[name, verdict] for verdict in VERDICTS)
    }


def is_of(paper: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a row is of a paper."""
    return str(row["id"]).startswith(f"{paper['prefix']}.")


def of_paper(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a document has of one paper."""
    (paper,) = [each for each in document["papers"] if each["name"] == name]
    rows = [row for row in document["rows"] if is_of(paper, row)]
    return dict(document) | {
        "counts": counts(rows, "input", INPUTS),
        "evidence_counts": counts(rows, "evidence", EVIDENCE_KINDS),
        "papers": [paper],
        "rows": rows,
        "readings": [reading for reading in document["readings"] if reading["paper"] == name],
        "figures": [figure for figure in document["figures"] if figure["paper"] == name],
        "runs": [run for run in document["runs"] if run["paper"] == name],
    }
