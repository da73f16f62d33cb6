"""Writes evidence/deviations.md: where the model differs from the papers, and where figures do.

Run it after a paper's data or its kept results were changed, from the root of the repository:

    .venv/bin/python tools/deviations.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.records import Paper

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "evidence" / "deviations.md"
HEAD = """# Deviations from the papers

For each paper: in what the model is not what the paper says, or decides what the paper leaves
open, and then the figures that deviate, with their causes. [deviations.py](../tools/deviations.py)
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
    return [*lines, ""]


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.name} written")  # noqa: T201


if __name__ == "__main__":
    main()
