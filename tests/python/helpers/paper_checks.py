"""Holds the files of a paper against each other: what a reproduction takes for granted."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, get_args

from tinytail.engine.results import Latency
from tinytail.errors import ConfigError, suggestion
from tinytail.reproduction import conditions, served
from tinytail.reproduction.records import Figure, Kind, Paper, PaperTable, Row, RowInput


def check(paper: Paper) -> None:
    """Holds the files of a paper against each other.

    Raises:
        ConfigError: they contradict each other.
    """
    for row in paper.rows.values():
        _check_row(paper, row)
    for experiment in paper.experiments.values():
        if experiment.certify is not None and experiment.workload != "act":
            raise ConfigError(
                f'experiment "{experiment.name}": what is certified is the load "act"'
            )
        if experiment.served is not None:
            for design in experiment.designs:
                served.digest(served.plan(experiment, design))
        if experiment.hit and not experiment.log:
            raise ConfigError(f'experiment "{experiment.name}": hit reads are found in a log only')
        for label, place in experiment.elsewhere.items():
            if label not in experiment.designs or set(place) != {"design", "device"}:
                raise ConfigError(
                    f'experiment "{experiment.name}": elsewhere has a design and a device for each '
                    f'label, which designs names: not "{label}"'
                )
        if experiment.quick is not None:
            experiment.in_tier("quick")
    for file, row_ids in (
        ("deviations.toml", list(paper.deviations)),
        (
            "paper.toml",
            [row for table in paper.tables for line in table.lines for row in line["rows"]],
        ),
    ):
        for row_id in row_ids:
            if row_id not in paper.rows:
                raise ConfigError(
                    f'{paper.name}/{file}: unknown row "{row_id}"' + suggestion(row_id, paper.rows)
                )
    for tried in paper.tried:
        for pattern in tried.rows:
            if not fnmatch.filter(paper.rows, f"{paper.prefix}.{pattern}"):
                raise ConfigError(
                    f'{paper.name}/paper.toml: "{tried.title}": no row matches "{pattern}"'
                )
    for table in paper.tables:
        _check_table(paper, table)
    for deviation in paper.deviations.values():
        if deviation.measure is not None:
            where = f'{paper.name}/deviations.toml: "{deviation.row}"'
            _check_measure(paper, deviation.measure, where)
    for figure in paper.figures:
        paper.named(figure.panels)
        _check_whole(paper, figure)
        if figure.measure is not None:
            where = f'{paper.name}/figures.toml: "{figure.name}"'
            if figure.kind != "bars" or figure.relative_to is not None:
                raise ConfigError(f"{where}: a measure is for bars that are relative to nothing")
            _check_measure(paper, figure.measure, where)
        for mark in figure.marks:
            _check_mark(paper, figure, mark)
    for beside in paper.side_by_side:
        paper.named(beside.experiments)
        for name in beside.percentiles:
            if f"{name}_us" not in Latency.__dataclass_fields__:
                raise ConfigError(f'{paper.name}/paper.toml: "{beside.title}": no figure "{name}"')


def _check_whole(paper: Paper, figure: Figure) -> None:
    """What is 100 % in a figure is among the designs of all its experiments."""
    where = f'{paper.name}/figures.toml: "{figure.name}"'
    if figure.relative_to is None:
        return
    if figure.kind not in ("bars", "curves"):
        raise ConfigError(f"{where}: relative_to is for bars and curves, not for {figure.kind}")
    for name in figure.panels:
        designs = paper.experiments[name].designs
        if figure.relative_to not in designs:
            raise ConfigError(
                f'{where}: relative_to: "{name}" has no design "{figure.relative_to}"'
                + suggestion(figure.relative_to, designs)
            )


def _check_mark(paper: Paper, figure: Figure, mark: Mapping[str, Any]) -> None:
    known = {"request": figure.requests, "percent": figure.percents, "design": figure.designs}
    where = f'{paper.name}/figures.toml: "{figure.name}"'
    if set(mark) != {*known, "us"}:
        raise ConfigError(f"{where}: a mark has {', '.join(known)} and us, not {', '.join(mark)}")
    for key, allowed in known.items():
        if mark[key] not in allowed:
            raise ConfigError(
                f"{where}: a mark is at the {key} {mark[key]}, which it does not draw"
            )


def _check_table(paper: Paper, table: PaperTable) -> None:
    for line in table.lines:
        if {"label", "rows"} - set(line) or set(line) - {"label", "rows", "given", "values"}:
            raise ConfigError(
                f'{paper.name}/paper.toml: "{table.title}": a line has label, rows and perhaps '
                f"given or values, not {', '.join(line)}"
            )
        for row_id in line["rows"]:
            _check_known(paper, row_id, "paper.toml")
        values = line.get("values", line["rows"])
        for cells in (line["rows"], values, *line.get("given", {}).values()):
            if len(cells) != len(table.columns):
                raise ConfigError(
                    f'{paper.name}/paper.toml: "{table.title}": "{line["label"]}" has '
                    f"{len(cells)} cells for {len(table.columns)} columns"
                )


def _check_known(paper: Paper, row_id: str, file: str) -> None:
    if row_id not in paper.rows:
        raise ConfigError(
            f'{paper.name}/{file}: unknown row "{row_id}"' + suggestion(row_id, paper.rows)
        )


def _check_measure(paper: Paper, measure: Mapping[str, Any], where: str) -> None:
    use = measure.get("use")
    if use not in paper.measures:
        raise ConfigError(
            f'{where}: unknown measure "{use}"' + suggestion(str(use), paper.measures)
        )


def _check_row(paper: Paper, row: Row) -> None:
    where = f'{paper.name}/rows.toml: "{row.id}"'
    if not row.id.startswith(f"{paper.prefix}."):
        raise ConfigError(f'{where} does not begin with "{paper.prefix}."')
    for value, allowed in ((row.kind, get_args(Kind)), (row.input, get_args(RowInput))):
        if value not in allowed:
            raise ConfigError(f'{where} says "{value}"' + suggestion(value, allowed))
    if (row.measure is None) != bool(row.lacks):
        raise ConfigError(f"{where} must have either a measure or say what it lacks")
    if row.measure is None:
        return
    _check_measure(paper, row.measure, where)
    if not row.accept:
        raise ConfigError(f"{where} accepts whatever is measured")
    for condition in row.accept:
        conditions.check(condition)
    paper.experiments_of(row)
