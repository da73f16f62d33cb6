"""The papers as data: their rows, experiments, traces, figures and deviations, read and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from typing import Any, Literal, TypeVar, get_args

from tinytail.errors import ConfigError, UsageError, suggestion
from tinytail.reproduction import conditions

Kind = Literal["exact", "approx", "ratio", "range", "ordering", "trend", "rule", "formula"]
RowInput = Literal["synthetic", "trace", "context"]
Tier = Literal["quick", "full"]
Measure = Callable[..., dict[str, conditions.Value]]

TIERS: tuple[Tier, ...] = get_args(Tier)
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class Row:
    """One number, order or rule of a paper.

    `acceptance` is what counts as reproduced, in words; `accept` the same as conditions, all of
    which must hold. `reading` says how words without numbers were read. `input` is `"trace"` for
    rows on recorded workloads or their stand-ins, `"synthetic"` for rows on requests made by rule
    and on the paper's own numbers, `"context"` for those about other products. `measure` names the
    function that measures (`use`) and its arguments; a row that has none says in `lacks` why.
    """

    id: str
    section: str
    quantity: str
    paper_value: str
    kind: Kind
    acceptance: str
    input: RowInput
    unit: str = "-"
    depends_on: str = "none"
    notes: str = ""
    reading: str = ""
    measure: Mapping[str, Any] | None = None
    accept: tuple[str, ...] = ()
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded workload of a paper, and what stands in for it where the recording is missing."""

    name: str
    title: str
    stand_in: str
    real: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """Runs that rows share: designs on one device under one workload.

    `about` says why the values that the paper leaves open are what they are. A device is a name or
    a table of a `base` and what differs from it (`set`); a workload is a name, `@` and the name of
    a trace, or the content of a workload file. `overlays` are design overlays of this experiment
    alone, which `designs` name with an `@`. `cost_s` is roughly what each run takes, in seconds of
    CPU time. `quick` holds what differs in the quick tier; without it, that tier leaves the
    experiment out.
    """

    name: str
    about: str
    designs: tuple[str, ...]
    device: str | Mapping[str, Any]
    workload: str | Mapping[str, Any]
    cost_s: float
    overlays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    state: Mapping[str, int | str] = field(default_factory=dict)
    transform: Mapping[str, Any] = field(default_factory=dict)
    requests: int | None = None
    seed: int = 1
    windows: int = 200
    verify: bool = False
    log: bool = False
    quick: Mapping[str, Any] | None = None

    def in_tier(self, tier: Tier) -> Experiment | None:
        """The experiment as that tier runs it; None if it leaves it out."""
        if tier == "full":
            return self
        if self.quick is None:
            return None
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return Experiment(**(given | _tuples(dict(self.quick))))


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper, drawn from runs; see `figures.py` for the kinds and their options."""

    name: str
    title: str
    kind: Literal["cdf", "bars", "timeline"]
    panels: Mapping[str, str]
    designs: tuple[str, ...]
    value: str = ""
    y_label: str = ""
    x_max_ms: float | None = None
    y_from_percent: float = 0.0
    relative_to: str | None = None
    log_scale: bool = False
    leave_out_sectors: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Experiments whose designs are shown beside each other, as multiples of a reference."""

    title: str
    experiments: tuple[str, ...]
    reference: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper. `prefix` begins the names of its rows.

    `counters` and `settings` are names of the engine's: patterns of how often something happened,
    and `section.key` of designs. They stand in one place, since they are not the paper's.
    """

    name: str
    prefix: str
    title: str
    source: str
    rows: Mapping[str, Row]
    experiments: Mapping[str, Experiment]
    traces: Mapping[str, Trace]
    counters: Mapping[str, str]
    settings: Mapping[str, str]
    figures: tuple[Figure, ...]
    deviations: Mapping[str, str]
    side_by_side: tuple[SideBySide, ...]
    measures: Mapping[str, Measure]

    def experiments_of(self, row: Row) -> tuple[str, ...]:
        """The experiments that a row's measure looks at: those that its arguments name."""
        texts = [text for text in _texts(row.measure or {}) if self._is_named(text)]
        return self.named(texts)

    def _is_named(self, text: str) -> bool:
        return text in self.experiments or text.endswith(".*")

    def named(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """The experiments of these names; `name.*` means the one of each trace.

        Raises:
            ConfigError: there is no such experiment.
        """
        found: list[str] = []
        for pattern in patterns:
            matching = (
                [name for name in self.experiments if name.startswith(pattern[:-1])]
                if pattern.endswith(".*")
                else [pattern] * (pattern in self.experiments)
            )
            if not matching:
                raise ConfigError(
                    f'{self.name}: unknown experiment "{pattern}"'
                    + suggestion(pattern, self.experiments)
                )
            found += [name for name in matching if name not in found]
        return tuple(found)


def _texts(value: Any) -> list[str]:
    """All texts in tables and lists."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value
    return (
        [text for each in inner for text in _texts(each)]
        if isinstance(value, Mapping | Sequence)
        else []
    )


@cache
def papers() -> tuple[Paper, ...]:
    """All papers, in the order of their folders' names.

    Raises:
        ConfigError: a faulty file.
    """
    folder = resources.files("tinytail.reproduction.papers")
    names = sorted(each.name for each in folder.iterdir() if each.joinpath("paper.toml").is_file())
    return tuple(_paper(folder.joinpath(name), name) for name in names)


def _paper(folder: Traversable, name: str) -> Paper:
    about = _read(folder, name, "paper.toml")
    traces = _records(Trace, about.pop("traces", {}), f"{name}/paper.toml", "name")
    experiments = _records(
        Experiment,
        _for_each_trace(_read(folder, name, "experiments.toml"), traces),
        f"{name}/experiments.toml",
        "name",
    )
    deviations = _read(folder, name, "deviations.toml")
    common = vars(import_module("tinytail.reproduction.measures"))["MEASURES"]
    own = vars(import_module(f"tinytail.reproduction.papers.{name}.measures"))["MEASURES"]
    paper = Paper(
        name=name,
        prefix=about.pop("prefix"),
        title=about.pop("title"),
        source=about.pop("source"),
        counters=about.pop("counters", {}),
        settings=about.pop("settings", {}),
        side_by_side=tuple(
            _records(
                SideBySide,
                {table.pop("title"): table for table in about.pop("side_by_side", [])},
                f"{name}/paper.toml",
                "title",
            ).values()
        ),
        rows=_records(Row, _read(folder, name, "rows.toml"), f"{name}/rows.toml", "id"),
        experiments=experiments,
        traces=traces,
        figures=tuple(
            _records(
                Figure, _read(folder, name, "figures.toml"), f"{name}/figures.toml", "name"
            ).values()
        ),
        deviations={row: str(entry["cause"]) for row, entry in deviations.items()},
        measures={**common, **own},
    )
    if about:
        raise ConfigError(f"{name}/paper.toml: unknown keys: {', '.join(about)}")
    _check(paper)
    return paper


def _read(folder: Traversable, paper: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(folder.joinpath(file).read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{paper}/{file}: {error}") from None


def _for_each_trace(
    document: Mapping[str, Any], traces: Mapping[str, Trace]
) -> dict[str, dict[str, Any]]:
    """Experiments that are to be made on several traces, one for each: `name.trace`."""
    made: dict[str, dict[str, Any]] = {}
    for name, table in document.items():
        wanted = table.pop("for_traces", None)
        if wanted is None:
            made[name] = table
            continue
        for trace in wanted:
            if trace not in traces:
                raise ConfigError(f'{name}: unknown trace "{trace}"' + suggestion(trace, traces))
            made[f"{name}.{trace}"] = {**table, "workload": f"@{trace}"}
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
        made[name] = kind(**{key: name}, **_tuples(table))
    return made


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _check(paper: Paper) -> None:
    """Holds the files of a paper against each other.

    Raises:
        ConfigError: they contradict each other.
    """
    for row in paper.rows.values():
        _check_row(paper, row)
    for experiment in paper.experiments.values():
        workload = experiment.workload
        if not isinstance(workload, str) or not workload.startswith("@"):
            continue
        if workload[1:] not in paper.traces:
            raise ConfigError(
                f'experiment "{experiment.name}": unknown trace "{workload[1:]}"'
                + suggestion(workload[1:], paper.traces)
            )
    for experiment in paper.experiments.values():
        if experiment.quick is not None:
            experiment.in_tier("quick")
    for row_id in paper.deviations:
        if row_id not in paper.rows:
            raise ConfigError(
                f'{paper.name}/deviations.toml: unknown row "{row_id}"'
                + suggestion(row_id, paper.rows)
            )
    for figure in paper.figures:
        paper.named(figure.panels)
    for table in paper.side_by_side:
        paper.named(table.experiments)


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
    use = row.measure.get("use")
    if use not in paper.measures:
        raise ConfigError(
            f'{where}: unknown measure "{use}"' + suggestion(str(use), paper.measures)
        )
    if not row.accept:
        raise ConfigError(f"{where} accepts whatever is measured")
    for condition in row.accept:
        conditions.check(condition)
    paper.experiments_of(row)


def select(wanted: Sequence[str]) -> list[tuple[Paper, Row]]:
    """The rows of these names or of names that begin with them; all if none is given.

    `ttflash.fig5` means `ttflash.fig5.order` and whatever else follows a dot.

    Raises:
        UsageError: no row has such a name.
    """
    rows = [(paper, row) for paper in papers() for row in paper.rows.values()]
    if not wanted:
        return rows
    names = {part for _, row in rows for part in _prefixes(row.id)}
    for name in wanted:
        if name not in names:
            raise UsageError(f'no row is called "{name}"' + _nearest(name, names))
    chosen = set(wanted)
    return [(paper, row) for paper, row in rows if chosen & set(_prefixes(row.id))]


def _prefixes(row_id: str) -> list[str]:
    parts = row_id.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _nearest(name: str, names: set[str]) -> str:
    hint = suggestion(name, sorted(names))
    if "did you mean" in hint:
        return hint
    return f"; {', '.join(paper.prefix for paper in papers())} begin their names; --list shows all"
