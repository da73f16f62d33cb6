"""Reads the papers from their folders, and chooses rows by their names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

from tinytail.errors import ConfigError, UsageError, suggestion
from tinytail.reproduction.records import (
    EVIDENCE_KINDS,
    Deviation,
    Difference,
    Evidence,
    Experiment,
    Figure,
    Paper,
    PaperTable,
    Reading,
    Row,
    SideBySide,
    Trace,
    Tried,
    tuples,
)

_Record = TypeVar("_Record")


@cache
def papers() -> tuple[Paper, ...]:
    """All papers, in the order of their folders' names.

    Raises:
        ConfigError: a faulty file.
    """
    folder = resources.files("tinytail.reproduction.papers")
    names = sorted(each.name for each in folder.iterdir() if each.joinpath("paper.toml").is_file())
    rows = {name: _rows(folder.joinpath(name), name) for name in names}
    evidence = evidence_of(
        _read(folder, "papers", "evidence.toml"),
        [row_id for own in rows.values() for row_id in own],
    )
    return tuple(_paper(folder.joinpath(name), name, rows[name], evidence) for name in names)


def evidence_of(document: dict[str, Any], rows: Sequence[str]) -> dict[str, Evidence]:
    """What a match of each row is evidence of.

    Raises:
        ConfigError: a row is missing, unknown or of an unknown kind.
    """
    file = "papers/evidence.toml"
    found = _records(Evidence, document, file, "row")
    for row_id, each in found.items():
        if row_id not in rows:
            raise ConfigError(f'{file}: unknown row "{row_id}"' + suggestion(row_id, rows))
        if each.kind not in EVIDENCE_KINDS:
            raise ConfigError(
                f'{file}: "{row_id}": unknown kind "{each.kind}"'
                + suggestion(each.kind, EVIDENCE_KINDS)
            )
    for row_id in rows:
        if row_id not in found:
            raise ConfigError(f'{file}: the row "{row_id}" has no kind')
    return found


def _rows(folder: Traversable, name: str) -> dict[str, Row]:
    return _records(Row, _read(folder, name, "rows.toml"), f"{name}/rows.toml", "id")


def _paper(
    folder: Traversable, name: str, rows: Mapping[str, Row], evidence: Mapping[str, Evidence]
) -> Paper:
    about = _read(folder, name, "paper.toml")
    known = _traces()
    experiments = _records(
        Experiment,
        _for_each_trace(_read(folder, name, "experiments.toml"), known),
        f"{name}/experiments.toml",
        "name",
    )
    common = vars(import_module("tinytail.reproduction.measures"))["MEASURES"]
    own = vars(import_module(f"tinytail.reproduction.papers.{name}.measures"))["MEASURES"]
    paper = Paper(
        name=name,
        prefix=about.pop("prefix"),
        title=about.pop("title"),
        source=about.pop("source"),
        counters=about.pop("counters", {}),
        settings=about.pop("settings", {}),
        drawn_by=about.pop("drawn_by", {}),
        side_by_side=_titled(SideBySide, about.pop("side_by_side", []), name),
        differences=tuple(Difference(**each) for each in about.pop("differences", [])),
        tried=_titled(Tried, about.pop("tried", []), name),
        readings=_titled(Reading, about.pop("readings", []), name),
        tables=_titled(PaperTable, about.pop("tables", []), name),
        rows=rows,
        evidence={row_id: evidence[row_id] for row_id in rows},
        experiments=experiments,
        traces=_played(experiments.values(), known),
        figures=tuple(
            _records(
                Figure, _read(folder, name, "figures.toml"), f"{name}/figures.toml", "name"
            ).values()
        ),
        deviations=_records(
            Deviation,
            _read(folder, name, "deviations.toml"),
            f"{name}/deviations.toml",
            "row",
        ),
        measures={**common, **own},
    )
    if about:
        raise ConfigError(f"{name}/paper.toml: unknown keys: {', '.join(about)}")
    return paper


def _read(folder: Traversable, paper: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(folder.joinpath(file).read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{paper}/{file}: {error}") from None


def _titled(kind: type[_Record], tables: list[dict[str, Any]], paper: str) -> tuple[_Record, ...]:
    """Tables of a list, which are told apart by their titles."""
    by_title = {table.pop("title"): table for table in tables}
    return tuple(_records(kind, by_title, f"{paper}/paper.toml", "title").values())


def _traces() -> dict[str, Trace]:
    """The recorded workloads of all papers."""
    folder = resources.files("tinytail.reproduction.papers")
    return _records(Trace, _read(folder, "papers", "traces.toml"), "papers/traces.toml", "name")


def _played(experiments: Iterable[Experiment], known: Mapping[str, Trace]) -> dict[str, Trace]:
    """The recorded workloads that experiments play.

    Raises:
        ConfigError: there is no such trace.
    """
    found: dict[str, Trace] = {}
    for experiment in experiments:
        workload = experiment.workload
        if not isinstance(workload, str) or not workload.startswith("@"):
            continue
        name = workload[1:]
        if name not in known:
            raise ConfigError(
                f'experiment "{experiment.name}": unknown trace "{name}"' + suggestion(name, known)
            )
        found[name] = known[name]
    return found


def _for_each_trace(
    document: Mapping[str, Any], traces: Mapping[str, Trace]
) -> dict[str, dict[str, Any]]:
    """Experiments that are to be made on several traces, one for each: `name.trace`.

    Their `stand_in_scale_times` is by trace.
    """
    made: dict[str, dict[str, Any]] = {}
    for name, table in document.items():
        wanted = table.pop("for_traces", None)
        scales = table.pop("stand_in_scale_times", {})
        if wanted is None:
            made[name] = table
            continue
        if odd := set(scales) - set(wanted):
            raise ConfigError(f"{name}: stand_in_scale_times has {odd.pop()}, not in for_traces")
        for trace in wanted:
            if trace not in traces:
                raise ConfigError(f'{name}: unknown trace "{trace}"' + suggestion(trace, traces))
            scale = {"stand_in_scale_time": scales[trace]} if trace in scales else {}
            made[f"{name}.{trace}"] = {**table, **scale, "workload": f"@{trace}"}
    return made


def _records(
    kind: type[_Record], document: Mapping[str, Any], file: str, key: str
) -> dict[str, _Record]:
    """The tables of a document as records that know their own name."""
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    needed = {
        name
        for name, each in known.items()
        if each.default is MISSING and each.default_factory is MISSING
    } - {key}
    made = {}
    for name, table in document.items():
        for given in table:
            if given not in known or given == key:
                raise ConfigError(
                    f'{file}: "{name}" has an unknown key "{given}"'
                    + suggestion(given, set(known) - {key})
                )
        if lacking := needed - set(table):
            raise ConfigError(f'{file}: "{name}" lacks {", ".join(sorted(lacking))}')
        made[name] = kind(**{key: name}, **tuples(table))
    return made


def select(wanted: Sequence[str]) -> list[tuple[Paper, Row]]:
    """The rows of these names or of names that begin with them; all if none is given.

    The whole name of a row means that row alone. A word that ends where a part of a name does means
    that part: `ttflash.fig1` is not `ttflash.fig10`. Any other means all names that begin so.

    Raises:
        UsageError: no row has a name that begins so.
    """
    rows = [(paper, row) for paper in papers() for row in paper.rows.values()]
    if not wanted:
        return rows
    ids = [row.id for _, row in rows]
    chosen = {row_id for name in wanted for row_id in _meant(name, ids)}
    return [(paper, row) for paper, row in rows if row.id in chosen]


def _meant(name: str, ids: Sequence[str]) -> list[str]:
    """The rows that a word means."""
    if name in ids:
        return [name]
    parts = {part for row_id in ids for part in _prefixes(row_id)}
    found = [row_id for row_id in ids if name and row_id.startswith(name)]
    if name in parts:
        found = [row_id for row_id in found if name in _prefixes(row_id)]
    if not found:
        raise UsageError(f'no row is called "{name}"' + _nearest(name, parts))
    return found


def _prefixes(row_id: str) -> list[str]:
    parts = row_id.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _nearest(name: str, names: set[str]) -> str:
    hint = suggestion(name, sorted(names))
    if "did you mean" in hint:
        return hint
    return f"; {', '.join(paper.prefix for paper in papers())} begin their names; --list shows all"
