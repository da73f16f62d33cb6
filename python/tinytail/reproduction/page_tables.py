"""Tables of a paper's page beside its rows: the paper's own, and designs beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinytail import units
from tinytail.reproduction import conditions
from tinytail.reproduction.judge import VERDICTS, shown, with_unit
from tinytail.units import counted

# Causes of latency that are named on either side.
ATTRIBUTION_SHOWN = 4


def line_of(*cells: str) -> str:
    """A line of a table."""
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(cell: str) -> str:
    """Text that a cell of a table shows as it is."""
    for mark in ("\\", "|", "*", "<", "["):
        cell = cell.replace(mark, f"\\{mark}")
    return " ".join(cell.split())


def tenth(value: float | None) -> str:
    """A number to one place."""
    return units.MISSING if value is None else f"{value:.1f}"


def whole(value: float | None) -> str:
    """A number without places."""
    return units.MISSING if value is None else f"{value:,.0f}"


def performance_figures(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which performance figures of the paper are reproduced, and how far the others are off."""
    found = [row for row in rows if row["evidence"] == "performance"]
    if not found:
        return ["## Performance figures", "No row holds a figure of performance."]
    verdicts = [row["verdict"] for row in found]
    words = zip(("reproduced", "deviating", "not run"), map(verdicts.count, VERDICTS), strict=True)
    said = ", ".join(f"{number} {word}" for word, number in words if number)
    lines = [
        line_of("row", "what", "paper", "measured", "against the paper", "input", "verdict"),
        "|---|---|---|---|---|---|---|",
    ]
    for verdict in VERDICTS:
        for row in found:
            if row["verdict"] != verdict:
                continue
            paper = with_unit(row["paper_value"], row["unit"])
            cells = (row["quantity"], paper, *_against_paper(row))
            lines.append(line_of(f"`{row['id']}`", *cells, row["input"], verdict))
    about = (
        f"{counted(len(found), 'figure')} that the paper measured: {said}. Beside each stands how "
        "many times the paper's it is, or of percentages how many points more or less. What is "
        "accepted as reproduced stands with its row below, and is wide for some."
    )
    return ["## Performance figures", about, "\n".join(lines)]


def _against_paper(row: Mapping[str, Any]) -> tuple[str, str]:
    """What was measured of the paper's figures, and how that is to them."""
    measured = row["measured"]
    if measured is None:
        return units.MISSING, units.MISSING
    values = measured if isinstance(measured, dict) else {"value": measured}
    figures, distances = {}, []
    for expression, paper in row["figures"].items():
        value = conditions.worth(expression, values)
        figures[expression] = value
        if value is None:
            distances.append(units.MISSING)
        elif row["unit"].startswith("%"):
            distances.append(f"{value - paper:+.3g} points")
        else:
            distances.append(units.ratio(value, paper))
    if len(figures) == 1:
        return shown(next(iter(figures.values())), row["unit"]), distances[0]
    return shown(figures, row["unit"]), "; ".join(distances)


def paper_tables(
    tables: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The paper's tables, what was measured under what the paper has."""
    by_id = {row["id"]: row for row in rows}
    parts: list[str] = []
    for table in tables:
        columns = table["columns"]
        lines = [line_of("", *columns), "|---|" + "--:|" * len(columns)]
        for line in table["lines"]:
            found = [by_id[row_id] for row_id in line["rows"]]
            for name, numbers in line.get("given", {}).items():
                lines.append(line_of(f"{line['label']}, {name}", *numbers))
            lines.append(line_of(f"{line['label']}, paper", *(row["paper_value"] for row in found)))
            values = line.get("values", ["value"] * len(found))
            cells = [
                _value(row["measured"], value) for row, value in zip(found, values, strict=True)
            ]
            lines.append(line_of(f"{line['label']}, measured", *cells))
        parts += [f"### {table['title']}", "\n".join(lines)]
    return ["## Tables", *parts] if parts else []


def _value(measured: Any, name: str) -> str:
    """The value of that name; several with `/` between them."""
    if not isinstance(measured, dict):
        return shown(measured, "-")
    return " / ".join(shown(measured[each], "-") for each in name.split(" / "))


def side_by_side(
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
        names = table["percentiles"]
        headings = [name if name in ("mean", "max") else _percentile(name) for name in names]
        lines = [
            line_of("design", "experiment", "workload", "victims % valid", *headings, "blocked %"),
            "|---|---|---|--:|" + "--:|" * len(names) + "--:|",
        ]
        for design in dict.fromkeys(design for _, design in found):
            for experiment in table["experiments"]:
                run, reference = (
                    found.get((experiment, each)) for each in (design, table["reference"])
                )
                if run is not None and reference is not None:
                    lines.append(_beside(run, reference, names))
        parts += [
            f"## {table['title']}",
            f"Read latencies as multiples of those of `{table['reference']}` in the same "
            "experiment.",
            "\n".join(lines),
        ]
        if table["attribution"]:
            parts += _attribution(table, found)
    return parts


def _percentile(name: str) -> str:
    """How people write `p9999`.

    >>> _percentile("p50"), _percentile("p9999")
    ('p50', 'p99.99')
    """
    return name if len(name) <= 3 else f"{name[:3]}.{name[3:]}"


def _attribution(
    table: Mapping[str, Any], found: Mapping[tuple[str, str], Mapping[str, Any]]
) -> list[str]:
    """What the causes contribute more or less than under the reference, in µs for each read."""
    lines = [
        line_of("experiment", "design", "reads", "mean", "more", "less"),
        "|---|---|---|--:|---|---|",
    ]
    for (experiment, design), run in found.items():
        reference = found.get((experiment, table["reference"]))
        if design == table["reference"] or reference is None:
            continue
        for group, causes in run["attribution"].items():
            before = reference["attribution"][group]
            changes = {
                cause: causes.get(cause, 0.0) - before.get(cause, 0.0)
                for cause in sorted({*causes, *before})
            }
            total = sum(changes.values())
            sides = []
            for sign in (1, -1):
                of_sign = [(sign * us, cause) for cause, us in changes.items() if sign * us >= 0.05]
                largest = sorted(of_sign, reverse=True)[:ATTRIBUTION_SHOWN]
                sides.append(", ".join(f"{cause} {us:,.1f}" for us, cause in largest) or "–")
            lines.append(line_of(experiment, f"`{design}`", group, f"{total:+,.1f}", *sides))
    about = (
        "Which causes make a read slower or faster on average than under "
        f"`{table['reference']}`, in µs: of all reads, and of the slowest of either. The changes "
        "of all causes add up to that of the mean."
    )
    return [about, "\n".join(lines)]


def _beside(run: Mapping[str, Any], reference: Mapping[str, Any], names: Sequence[str]) -> str:
    ratios = [units.ratio(run[f"{name}_us"], reference[f"{name}_us"]) for name in names]
    return line_of(
        f"`{run['design']}`",
        run["experiment"],
        run["workload"],
        tenth(run["victim_valid_percent"]),
        *ratios,
        f"{run['gc_blocked_read_percent'] or 0:.3f}",
    )
