"""Writes what the papers' data say into kept results, and the pages of these again.

That is what a match of each row is evidence of, and which values stand in a paper's tables. Nothing
is run, measured or judged. Run it after these were changed, from the root of the repository:

    .venv/bin/python tools/evidence.py
"""

from __future__ import annotations

import json
from pathlib import Path

from tinytail.reproduction import pages
from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.records import Paper
from tinytail.reproduction.session import described

KEPT = Path(__file__).parent.parent / "evidence" / "reproduction"


def write(paper: Paper) -> None:
    """Writes the results and the page of a paper."""
    document = json.loads((KEPT / paper.name / "results.json").read_text("utf-8"))
    document["papers"] = [described(paper)]
    for position, row in enumerate(document["rows"]):
        evidence = paper.evidence[row["id"]].to_dict()
        # The paper's own words first, as in results that are new.
        document["rows"][position] = paper.rows[row["id"]].to_dict() | evidence | row | evidence
    pages.write(document, KEPT)


def main() -> None:
    """Writes those of all papers."""
    for paper in papers():
        write(paper)
        print(f"{paper.name} written")  # noqa: T201


if __name__ == "__main__":
    main()
