"""Shows results of a reproduction: as a table on the terminal, and as pages of documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinytail import humanize
from tinytail.reproduction.catalog import Paper, Row
from tinytail.reproduction.session import to_json
from tinytail.reproduction.verdicts import NO_UNIT, shown

# Below this width the rows of results are written one under the other.
TABLE_WIDTH_MIN = 120
STYLES = {"reproduced": "green", "deviates": "bold red", "not-run": "dim"}
COUNT_WORDS = ("reproduced", "deviates", "not-run")


def list_view(rows: Sequence[tuple[Paper, Row]], width: int) -> RenderableType:
    """What rows there are."""
    if width < TABLE_WIDTH_MIN:
        lines: list[Text] = []
        for _, row in rows:
            lines.append(Text.assemble((row.id, "bold"), f"  ({row.input}, section {row.section})"))
            lines.append(Text(f"  {row.quantity}: {_paper_value(row)}"))
            lines.append(Text(f"  accepted if {row.acceptance}"))
        return Group(*lines)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("row", no_wrap=True)
    for heading in ("section", "quantity", "paper", "accepted if", "input"):
        table.add_column(heading)
    for _, row in rows:
        cells = (row.section, row.quantity, _paper_value(row), row.acceptance, row.input)
        table.add_row(Text(row.id), *map(Text, cells))
    return table


def _paper_value(row: Row) -> str:
    return row.paper_value + ("" if row.unit in NO_UNIT else f" {row.unit}")


def list_document(rows: Sequence[tuple[Paper, Row]]) -> dict[str, Any]:
    """The same for JSON."""
    return {
        "rows": [
            {
                "id": row.id,
                "section": row.section,
                "quantity": row.quantity,
                "kind": row.kind,
                "paper_value": row.paper_value,
                "unit": row.unit,
                "acceptance": row.acceptance,
                "reading": row.reading,
                "input": row.input,
                "experiments": list(paper.experiments_of(row)),
            }
            for paper, row in rows
        ]
    }


def results_view(document: Mapping[str, Any], width: int) -> RenderableType:
    """The results: every row, then how many have each verdict."""
    rows = _table(document["rows"]) if width >= TABLE_WIDTH_MIN else _lines(document["rows"])
    parts: list[RenderableType] = [rows, Text()]
    for kind, verdicts in document["counts"].items():
        words = [f"{verdicts[word]} {word}" for word in COUNT_WORDS if verdicts[word]]
        parts.append(Text(f"{kind}: {', '.join(words)}"))
    for figure in document["figures"]:
        lacks = f", without {', '.join(figure['lacks'])}" if figure["lacks"] else ""
        parts.append(Text(f"{figure['title']}: {figure['file']}{lacks}"))
    parts += [Text(note) for note in document["notes"]]
    if document["partial"]:
        parts.append(Text("PARTIAL: interrupted; what was run is kept for the next time"))
    return Group(*parts)


def _cells(row: Mapping[str, Any]) -> tuple[str, str]:
    unit = row["unit"]
    paper = row["paper_value"] + ("" if unit in NO_UNIT else f" {unit}")
    return paper, shown(row["measured"], unit)


def _input(row: Mapping[str, Any]) -> str:
    stand_ins = [name for name in row["workloads"] if name.startswith("standin-")]
    if not stand_ins:
        return str(row["input"])
    return stand_ins[0] if len(stand_ins) == 1 else f"{len(stand_ins)} stand-ins"


def _table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("row", no_wrap=True)
    for heading in ("paper", "measured", "accepted if", "input", "verdict", "cause"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        paper, measured = _cells(row)
        verdict = Text(row["verdict"], style=STYLES[row["verdict"]])
        table.add_row(
            Text(row["id"]),
            Text(paper),
            Text(measured),
            Text(row["acceptance"]),
            Text(_input(row)),
            verdict,
            Text(row["cause"]),
        )
    return table


def _lines(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    lines: list[RenderableType] = []
    for row in rows:
        paper, measured = _cells(row)
        style = STYLES[row["verdict"]]
        lines.append(Text.assemble((row["verdict"], style), f"  {row['id']}  ({_input(row)})"))
        lines.append(Text(f"  paper {paper}; measured {measured}"))
        lines.append(Text(f"  accepted if {row['acceptance']}"))
        if row["cause"]:
            lines.append(Text(f"  {row['cause']}"))
    return Group(*lines)


def write(document: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes the results and a page for each paper; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    results.write_text(to_json(document), "utf-8")
    written = [results]
    for paper in document["papers"]:
        file = folder / f"{paper['name']}.md"
        file.write_text(page(document, paper["name"]), "utf-8")
        written.append(file)
    return written


def page(document: Mapping[str, Any], paper_name: str) -> str:
    """The page of one paper, from the results alone."""
    (paper,) = [each for each in document["papers"] if each["name"] == paper_name]
    prefix = f"{paper['prefix']}."
    rows = [row for row in document["rows"] if row["id"].startswith(prefix)]
    runs = [run for run in document["runs"] if run["paper"] == paper_name]
    drawn = [figure for figure in document["figures"] if figure["paper"] == paper_name]
    parts = [
        f"# {paper['title']}",
        f"{paper['source']}: what the paper says beside what tinytail measures, made by "
        f"`{document['command']}` at commit {document['commit']} from "
        "[results.json](results.json).",
        "Every value is a statement about a model. *Accepted if* was fixed before anything ran. "
        "The input is `real` for recorded traces, `synthetic` for requests made by rule and for "
        "the paper's own arithmetic, `stand-in` for workloads that are like a recorded one in "
        "what is known of it, and `context` for what other products did.",
        _counts(rows),
        *_deviations(rows),
        "## Rows",
        *(_section(heading, found) for heading, found in _by_input(rows)),
        *_figures(drawn),
        *_side_by_side(paper["side_by_side"], runs),
        *_runs(runs),
    ]
    return "\n\n".join(parts) + "\n"


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
    lines = ["| input | reproduced | deviates | not run |", "|---|--:|--:|--:|"]
    for kind in ("real", "synthetic", "stand-in", "context"):
        found = [row["verdict"] for row in rows if row["input"] == kind]
        if found:
            numbers = " | ".join(str(found.count(word)) for word in COUNT_WORDS)
            lines.append(f"| {kind} | {numbers} |")
    return "\n".join(lines)


def _deviations(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    found = [row for row in rows if row["verdict"] == "deviates"]
    if not found:
        return []
    lines = ["| row | paper | measured | cause |", "|---|---|---|---|"]
    for row in found:
        lines.append(_line(f"`{row['id']}`", *_cells(row), row["cause"]))
    return ["## Deviations", "\n".join(lines)]


def _section(heading: str, rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"### {heading}",
        "",
        "| row | quantity | paper | measured | accepted if | input | verdict |",
        "|---|---|---|---|---|---|---|",
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
        lines.append(_line(f"`{row['id']}`", quantity, *_cells(row), accepted, kind, verdict))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(cell: str) -> str:
    """Text that a cell of a table shows as it is."""
    for mark in ("\\", "|", "*", "<", "["):
        cell = cell.replace(mark, f"\\{mark}")
    return " ".join(cell.split())


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


def _side_by_side(
    tables: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Designs of several experiments beside each other, as far as they were run."""
    parts: list[str] = []
    for table in tables:
        found = {
            (run["experiment"], run["design"]): run
            for run in runs
            if run["experiment"] in table["experiments"]
        }
        if len({experiment for experiment, _ in found}) < 2:
            continue
        lines = [
            "| design | experiment | workload | victims % valid | mean | p99 | p99.9 | p99.99 | "
            "blocked % |",
            "|---|---|---|--:|--:|--:|--:|--:|--:|",
        ]
        for design in dict.fromkeys(design for _, design in found):
            for experiment in table["experiments"]:
                run, reference = (
                    found.get((experiment, each)) for each in (design, table["reference"])
                )
                if run is not None and reference is not None:
                    lines.append(_beside(run, reference))
        parts += [
            f"## {table['title']}",
            f"Read latencies as multiples of those of `{table['reference']}` in the same "
            "experiment.",
            "\n".join(lines),
        ]
    return parts


def _beside(run: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    names = ("mean_us", "p99_us", "p999_us", "p9999_us")
    ratios = [humanize.ratio(run[name], reference[name]) for name in names]
    return _line(
        f"`{run['design']}`",
        run["experiment"],
        run["workload"],
        _tenth(run["victim_valid_percent"]),
        *ratios,
        f"{run['gc_blocked_read_percent'] or 0:.3f}",
    )


def _runs(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    if not runs:
        return []
    lines = [
        "| experiment | design | workload | requests | erased % | live % | victims % valid | mean "
        "µs | p50 | p99 | p99.9 | p99.99 | blocked % | GCs |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for run in runs:
        figures = [
            *(_tenth(run[f"{name}_percent"]) for name in ("free", "live", "victim_valid")),
            *(_whole(run[f"{name}_us"]) for name in ("mean", "p50", "p99", "p999", "p9999")),
            f"{run['gc_blocked_read_percent'] or 0:.3f}",
            f"{run['gc_count']:,}",
        ]
        name = f"`{run['design']}`"
        lines.append(
            _line(run["experiment"], name, run["workload"], f"{run['requests']:,}", *figures)
        )
    about = (
        "Each run with the state in which it started, latencies of its reads in µs, and the share "
        "of them that a GC blocked. Why each is made as it is stands beside it in the data."
    )
    return ["## Runs", about, "\n".join(lines)]


def _tenth(value: float | None) -> str:
    return humanize.MISSING if value is None else f"{value:.1f}"


def _whole(value: float | None) -> str:
    return humanize.MISSING if value is None else f"{value:,.0f}"
