"""Writes evidence/deviations.md: where the model differs from the papers, and where figures do.

Run it after a paper's data or its kept results were changed, from the root of the repository:

    .venv/bin/python tools/deviations.py
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.records import Paper

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "evidence" / "deviations.md"
# Rows that are named in a cell.
LISTED = 7
HEAD = """# Deviations from the papers

For each paper: in what the model is not what the paper says, or decides what the paper leaves
open, then the figures that deviate, with their causes, and then what was played in their
favour: other readings of the paper, and experiments. [deviations.py](../tools/deviations.py)
makes this page from the papers' data and from the last results. Decisions on what no paper says
stand in the `DECISIONS.md` of the module that they concern
([ARCHITECTURE.md](../ARCHITECTURE.md#decision-records) lists them).
"""


def page() -> str:
    """The page."""
    return "\n".join([HEAD, *("\n".join(_of(paper)) for paper in papers())])


def _of(paper: Paper) -> list[str]:
    lines = [f"## {paper.title}", "", f"{paper.source}.", ""]
    if paper.differences:
        lines += ["| the paper | here | reason |", "|---|---|---|"]
        for each in paper.differences:
            # Links in the data begin at the root of the repository.
            reason = re.sub(r"\]\((?!http)", "](../", each.reason)
            lines.append(f"| {each.paper} | {each.here} | {reason} |")
        lines.append("")
    kept = json.loads((ROOT / f"evidence/reproduction/{paper.name}/results.json").read_text())
    deviating = [row for row in kept["rows"] if row["verdict"] == "deviates"]
    lines += [
        f"{len(deviating)} of {len(kept['rows'])} rows deviate in the last results "
        f"([all of them](reproduction/{paper.name}.md), commit {kept['commit']}):",
        "",
        "| row | what | the paper | cause |",
        "|---|---|---|---|",
    ]
    for row in deviating:
        said = " ".join(
            str(row[key]) for key in ("paper_value", "unit") if row[key] not in ("-", "")
        )
        cells = (f"`{row['id']}`", row["quantity"], said or "-", row["cause"])
        lines.append("| " + " | ".join(str(each).replace("|", "\\|") for each in cells) + " |")
    return [*lines, "", *_tried(paper, kept, {row["id"] for row in deviating}), ""]


def _tried(paper: Paper, kept: dict[str, Any], deviating: set[str]) -> list[str]:
    """What was tried in favour of the rows that deviate."""
    lines = ["| tried in favour of | what | what came of it |", "|---|---|---|"]
    for reading in kept["readings"]:
        verdicts = {row["row"]: row["verdict"] for row in reading["rows"]}
        rows = [row for row in verdicts if row in deviating]
        won = [row for row in rows if verdicts[row] == "reproduced"]
        page = f"[other readings](reproduction/{paper.name}.md#other-readings)"
        came = f"{len(won)} of {len(rows)} reproduced ({page})"
        if won:
            came += f": {_short(paper, won)}"
        if rows:
            lines.append(f"| {_short(paper, rows)} | {reading['title']} | {came} |")
    for each in paper.tried:
        rows = [row for row in sorted(deviating) if each in paper.tried_for(row)]
        by = os.path.relpath(ROOT / each.by, PAGE.parent)
        if rows:
            what = f"[{Path(each.by).name}]({by})"
            lines.append(f"| {_short(paper, rows)} | {each.title} | {each.outcome} ({what}) |")
    return lines if len(lines) > 2 else []


def _short(paper: Paper, rows: list[str]) -> str:
    if len(rows) > LISTED:
        return f"{_short(paper, rows[:LISTED])} and {len(rows) - LISTED} others"
    return ", ".join(f"`{row.removeprefix(f'{paper.prefix}.')}`" for row in rows)


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.name} written")  # noqa: T201


if __name__ == "__main__":
    main()
