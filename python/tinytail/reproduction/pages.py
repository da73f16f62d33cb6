"""Shows results of a reproduction: as a table on the terminal, and as pages of documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tinytail.files.text import json_text
from tinytail.reproduction.judge import shown, spelled, with_unit
from tinytail.reproduction.page_tables import (
    line_of,
    paper_tables,
    performance_figures,
    side_by_side,
    tenth,
    whole,
)
from tinytail.reproduction.records import EVIDENCE_KINDS, Paper, Row
from tinytail.reproduction.session import INPUTS, is_of, of_paper
from tinytail.terminal.table import list_table, wrapped
from tinytail.units import MISSING, counted
from tinytail.verdict.percentiles import latencies

# Below this width the rows of results are written one under the other.
TABLE_WIDTH_MIN = 120
# More rows than these are summed up, unless all are asked for.
ROWS_MAX = 20
REASONS_MAX = 5
STYLES = {"reproduced": "green", "deviates": "bold red", "not-run": "dim"}
SAYS_NOTHING = {
    "definition": " (inputs, arithmetic and rules: nothing of what the mechanism is worth)",
    "calibrated": " (inputs were fitted to these: they count for nothing)",
}
COUNT_WORDS = {"reproduced": "reproduced", "deviates": "deviating", "not-run": "not run"}


def list_view(rows: Sequence[tuple[Paper, Row]], width: int) -> RenderableType:
    """What rows there are."""
    if width < TABLE_WIDTH_MIN:
        lines: list[Text] = []
        for paper, row in rows:
            labels = f"{row.input}, {paper.evidence[row.id].kind}, section {row.section}"
            lines.append(Text.assemble((row.id, "bold"), f"  ({labels})"))
            lines.append(Text(f"  {spelled(row.quantity)}: {_paper_value(row)}"))
            lines.append(Text(f"  accepted if {spelled(row.acceptance)}"))
        return Group(*lines)
    table = list_table("row", "section", "quantity", "paper", "accepted if", "input", "evidence")
    for paper, row in rows:
        said = (row.section, row.quantity, _paper_value(row), row.acceptance, row.input)
        cells = map(spelled, said)
        table.add_row(Text(row.id), *map(Text, cells), Text(paper.evidence[row.id].kind))
    return table


def _paper_value(row: Row) -> str:
    return with_unit(row.paper_value, row.unit)


def list_document(rows: Sequence[tuple[Paper, Row]]) -> dict[str, Any]:
    """The same for JSON."""
    return {
        "rows": [
            row.to_dict()
            | paper.evidence[row.id].to_dict()
            | {"input": row.input, "experiments": list(paper.experiments_of(row))}
            for paper, row in rows
        ]
    }


def results_view(
    document: Mapping[str, Any], width: int, *, details: bool = False
) -> RenderableType:
    """The results: how many rows have each verdict, and each row if they are few or asked for."""
    rows = document["rows"]
    parts: list[RenderableType] = []
    if not details and len(rows) > ROWS_MAX:
        parts += _summary(document, width)
    else:
        parts.append(_table(rows) if width >= TABLE_WIDTH_MIN else _lines(rows))
    parts.append(Text())
    for kind, verdicts in (document["counts"] | document["evidence_counts"]).items():
        words = [f"{verdicts[key]} {word}" for key, word in COUNT_WORDS.items() if verdicts[key]]
        remark = SAYS_NOTHING.get(kind, "")
        parts.append(Text(f"{kind}: {', '.join(words)}{remark}"))
    for figure in document["figures"]:
        lacks = f", without {', '.join(figure['lacks'])}" if figure["lacks"] else ""
        parts.append(Text(f"{figure['title']}: {figure['file']}{lacks}"))
    parts += [Text(note) for note in document["notes"]]
    if document["partial"]:
        parts.append(Text("PARTIAL: interrupted; what was run is kept for the next time"))
    return Group(*parts)


def _summary(document: Mapping[str, Any], width: int) -> list[RenderableType]:
    """How many rows of each paper have each verdict, which deviate, and why some were not run."""
    table = list_table("paper", *COUNT_WORDS.values())
    for column in table.columns[1:]:
        column.justify = "right"
    for paper in document["papers"]:
        own = [row["verdict"] for row in document["rows"] if is_of(paper, row)]
        table.add_row(Text(paper["prefix"]), *(Text(str(own.count(word))) for word in COUNT_WORDS))
    deviating = [row["id"] for row in document["rows"] if row["verdict"] == "deviates"]
    reasons = Counter(row["cause"] for row in document["rows"] if row["verdict"] == "not-run")
    said = [f"Deviating: {', '.join(deviating)}."] if deviating else []
    said += [
        f"Not run, {counted(number, 'row')}: {reason}."
        for reason, number in reasons.most_common(REASONS_MAX)
    ]
    more = sum(reasons.values()) - sum(number for _, number in reasons.most_common(REASONS_MAX))
    said += [f"Not run for other reasons: {counted(more, 'row')}."] if more else []
    every = "Every row with the paper's value, the measured one and the cause: --details"
    lines = [line for each in [*said, every] for line in wrapped(Text(each), width, indent=2)]
    return [table, Text(), *lines]


def _cells(row: Mapping[str, Any]) -> tuple[str, str]:
    unit = row["unit"]
    return with_unit(row["paper_value"], unit), shown(row["measured"], unit)


def _input(row: Mapping[str, Any]) -> str:
    stand_ins = [name for name in row["workloads"] if name.startswith("standin-")]
    if not stand_ins:
        return str(row["input"])
    return stand_ins[0] if len(stand_ins) == 1 else f"{len(stand_ins)} stand-ins"


def _table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = list_table("row", "paper", "measured", "accepted if", "input", "verdict", "cause")
    for row in rows:
        paper, measured = _cells(row)
        verdict = Text(row["verdict"], style=STYLES[row["verdict"]])
        table.add_row(
            Text(row["id"]),
            Text(paper),
            Text(measured),
            Text(spelled(row["acceptance"])),
            Text(_input(row)),
            verdict,
            Text(spelled(row["cause"])),
        )
    return table


def _lines(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    lines: list[RenderableType] = []
    for row in rows:
        paper, measured = _cells(row)
        style = STYLES[row["verdict"]]
        lines.append(Text.assemble((row["verdict"], style), f"  {row['id']}  ({_input(row)})"))
        lines.append(Text(f"  paper {paper}; measured {measured}"))
        lines.append(Text(f"  accepted if {spelled(row['acceptance'])}"))
        if row["cause"]:
            lines.append(Text(f"  {spelled(row['cause'])}"))
    return Group(*lines)


def write(document: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes results and page of each paper; returns the files. Other papers' stay as they are."""
    written = []
    for paper in document["papers"]:
        own = of_paper(document, paper["name"])
        results = folder / paper["name"] / "results.json"
        results.parent.mkdir(parents=True, exist_ok=True)
        results.write_text(json_text(own), "utf-8")
        file = folder / f"{paper['name']}.md"
        file.write_text(page(own), "utf-8")
        written += [results, file]
    return written


def page(document: Mapping[str, Any]) -> str:
    """The page of a paper, from its results alone."""
    (paper,) = document["papers"]
    rows, runs, drawn = document["rows"], document["runs"], document["figures"]
    parts = [
        f"# {paper['title']}",
        f"{paper['source']}: what the paper says beside what tinytail measures, made by "
        f"`{document['command']}` at commit {document['commit']} from "
        f"[results.json]({paper['name']}/results.json).",
        "Every value is a statement about a model. *Accepted if* was fixed before anything ran. "
        "The input is `real` for recorded traces, `synthetic` for requests made by rule and for "
        "the paper's own arithmetic, `stand-in` for workloads that are like a recorded one in "
        "what is known of it, and `context` for what other products did. What a match is evidence "
        "of is a `performance` figure that the paper measured, or a `relation` of designs. A "
        "`definition`, which inputs, arithmetic or a rule of the design make true, says nothing of "
        "what the mechanism is worth, and a row by which inputs were `calibrated` counts for "
        "nothing. Which row is which was decided without a look at verdicts, in [evidence.toml]"
        "(../../python/tinytail/reproduction/papers/evidence.toml).",
        _counts(rows),
        *performance_figures(rows),
        *_deviations(rows),
        *_readings(document["readings"], rows),
        *paper_tables(paper["tables"], rows),
        "## Rows",
        *(_section(heading, found) for heading, found in _by_input(rows)),
        *_figures(drawn),
        *side_by_side(paper["side_by_side"], runs),
        *_runs(runs),
    ]
    return spelled("\n\n".join(parts)) + "\n"


def _by_input(
    rows: Sequence[Mapping[str, Any]],
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    headings = {
        "real": "On recorded traces",
        "synthetic": "On synthetic requests, and arithmetic",
        "stand-in": "On stand-ins",
        "context": "Context",
    }
    found = [
        (heading, [row for row in rows if row["input"] == kind])
        for kind, heading in headings.items()
    ]
    return [(heading, some) for heading, some in found if some]


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many rows of each input have each verdict, and how many of each evidence one."""
    lines = [
        line_of(
            *("input", "reproduced", "deviates", "not run"),
            *(f"{kind}, reproduced" for kind in EVIDENCE_KINDS),
        ),
        "|---|" + "--:|" * (len(COUNT_WORDS) + len(EVIDENCE_KINDS)),
    ]
    by_input = [(kind, [row for row in rows if row["input"] == kind]) for kind in INPUTS]
    for kind, found in (*by_input, ("all", rows)):
        if not found:
            continue
        verdicts = [row["verdict"] for row in found]
        numbers = [str(verdicts.count(word)) for word in COUNT_WORDS]
        for evidence in EVIDENCE_KINDS:
            own = [row["verdict"] for row in found if row["evidence"] == evidence]
            numbers.append(f"{own.count('reproduced')} of {len(own)}" if own else MISSING)
        lines.append(line_of(kind, *numbers))
    return "\n".join(lines)


def _deviations(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    found = [row for row in rows if row["verdict"] == "deviates"]
    if not found:
        return []
    lines = ["| row | paper | measured | cause |", "|---|---|---|---|"]
    for row in found:
        lines.append(line_of(f"`{row['id']}`", *_cells(row), row["cause"]))
    return ["## Deviations", "\n".join(lines)]


def _readings(
    readings: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Rows under other readings of what the paper leaves open, beside what they are judged by."""
    if not readings:
        return []
    by_id = {row["id"]: row for row in rows}
    parts = [
        "## Other readings",
        "The paper leaves open what these change. No row is judged by them.",
    ]
    for reading in readings:
        lines = ["| row | paper | as judged | read so | its verdict |", "|---|---|---|---|---|"]
        for found in reading["rows"]:
            row = by_id[found["row"]]
            verdict = found["verdict"] + (f": {found['lacks']}" if found["lacks"] else "")
            measured = shown(found["measured"], row["unit"])
            lines.append(line_of(f"`{row['id']}`", *_cells(row), measured, verdict))
        parts += [f"### {reading['title']}", reading["about"], "\n".join(lines)]
    return parts


def _section(heading: str, rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"### {heading}",
        "",
        "| row | quantity | paper | measured | accepted if | input | evidence | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        accepted = row["acceptance"]
        if row["reading"]:
            accepted += f" (read as: {row['reading']})"
        verdict = row["verdict"]
        if verdict == "not-run":
            verdict += f": {row['cause']}"
        quantity = f"{row['quantity']} ({row['section']})"
        workloads = f" ({', '.join(row['workloads'])})" if row["workloads"] else ""
        kind = f"{row['input']}{workloads}"
        evidence = row["evidence"] + (f": {row['evidence_why']}" if row["evidence_why"] else "")
        cells = (*_cells(row), accepted, kind, evidence, verdict)
        lines.append(line_of(f"`{row['id']}`", quantity, *cells))
    return "\n".join(lines)


def _figures(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    if not figures:
        return []
    parts = ["## Figures"]
    for figure in figures:
        said = f"On {', '.join(figure['inputs'])}."
        if figure["lacks"]:
            said += f" Not there: {', '.join(figure['lacks'])}."
        parts += [f"### {figure['title']}", f"![{figure['title']}]({figure['file']})", said]
    return parts


def _runs(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    if not runs:
        return []
    shown = latencies("mean", "p50", "p99", "p99.9", "p99.99")
    headings = ["requests", "erased %", "live %", "victims % valid", "mean µs"]
    headings += [*(each.name for each in shown[1:]), "blocked %", "GCs"]
    # Of results from before these were kept, there is nothing to show.
    longest = {"gc_max_us": "longest GC", "write_max_us": "longest write"}
    longest = {key: name for key, name in longest.items() if any(run.get(key) for run in runs)}
    headings += longest.values()
    lines = [
        line_of("experiment", "design", "workload", *headings),
        "|---|---|---|" + "--:|" * len(headings),
    ]
    for run in runs:
        cells = [
            f"{run['requests']:,}",
            *(tenth(run[f"{name}_percent"]) for name in ("free", "live", "victim_valid")),
            *(whole(run[each.key]) for each in shown),
            f"{run['gc_blocked_read_percent'] or 0:.3f}",
            f"{run['gc_count']:,}",
            *(whole(run.get(key)) for key in longest),
        ]
        name = f"`{run['design']}`" + (", stalled" if run.get("stuck") else "")
        lines.append(line_of(run["experiment"], name, run["workload"], *cells))
    about = (
        "Each run with the state in which it started, latencies of its reads in µs, and the share "
        "of them that a GC blocked. Why each is made as it is stands beside it in the data."
    )
    if any(run.get("stuck") for run in runs):
        about += " A run that stalled has what was served until it was ended."
    return ["## Runs", about, "\n".join(lines)]
