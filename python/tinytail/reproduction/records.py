"""The papers as data: their rows, experiments, traces, figures and deviations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from tinytail.engine.options import RunOptions
from tinytail.errors import ConfigError, suggestion
from tinytail.reproduction import conditions

Kind = Literal["exact", "approx", "ratio", "range", "ordering", "trend", "rule", "formula"]
RowInput = Literal["synthetic", "trace", "context"]
EvidenceKind = Literal["performance", "relation", "definition", "calibrated"]
Tier = Literal["quick", "full"]
Measure = Callable[..., dict[str, conditions.Value]]

TIERS: tuple[Tier, ...] = get_args(Tier)
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)


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

    def to_dict(self) -> dict[str, str]:
        """What the paper says, as it stands in documents."""
        keys = ("id", "section", "quantity", "kind", "paper_value", "unit", "acceptance", "reading")
        return {key: getattr(self, key) for key in keys}


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded workload of a paper, and what stands in for it where the recording is missing.

    `real` plays the recording. One without `stand_in` is played from its recording or not at all.
    """

    name: str
    title: str
    stand_in: str | None = None
    real: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment(RunOptions):
    """Runs that rows share: designs on one device under one workload.

    `elsewhere` has designs that run on another device, by the labels under which `designs` names
    them: the `design` and its `device`.
    `about` says why the values that the paper leaves open are what they are. A device is a name or
    a table of a `base` and what differs from it (`set`); a workload is a name, `@` and the name of
    a trace, or the content of a workload file. `overlays` are design overlays of this experiment
    alone, which `designs` name with an `@`. `cost_s` is roughly what each run takes, in seconds of
    CPU time. `stand_in_scale_time` is the `scale_time` of a stand-in; a recording keeps its times.
    With `log`, every request is logged; `hit` are the causes of latency by which its log
    tells reads that were hit from others. With `certify`, each design is certified, instead of
    run once: arguments of `tinytail.certify_act`, whose load the workload must be. With `served`,
    each design is served in wall-clock time while nothing else is run: arguments of a
    `server.trial.Trial`, whose `personality` the workload names; or none, and the workload is the
    server's `bench`. With
    `queue_depth`, a trace or stand-in is played in closed loop. `quick` holds what differs in the
    quick tier; without it, that tier leaves the experiment out. The options of runs are inherited.
    """

    name: str
    about: str
    designs: tuple[str, ...]
    device: str | Mapping[str, Any]
    workload: str | Mapping[str, Any]
    cost_s: float
    overlays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    elsewhere: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    state: Mapping[str, float | str] = field(default_factory=dict)
    transform: Mapping[str, Any] = field(default_factory=dict)
    stand_in_scale_time: float | None = None
    log: bool = False
    hit: tuple[str, ...] = ()
    queue_depth: int | None = None
    certify: Mapping[str, Any] | None = None
    served: Mapping[str, Any] | None = None
    quick: Mapping[str, Any] | None = None

    def in_tier(self, tier: Tier) -> Experiment | None:
        """The experiment as that tier runs it; None if it leaves it out."""
        if tier == "full":
            return self
        if self.quick is None:
            return None
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return Experiment(**(given | tuples(dict(self.quick))))


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper, drawn from runs; see `figures.py` for the kinds and their options."""

    name: str
    title: str
    kind: Literal["cdf", "bars", "tails", "timeline", "curves"]
    panels: Mapping[str, str]
    designs: tuple[str, ...]
    value: str = ""
    requests: tuple[str, ...] = ("read",)
    percents: tuple[float, ...] = ()
    marks: tuple[Mapping[str, Any], ...] = ()
    hit: bool = False
    y_label: str = ""
    x_max_ms: float | None = None
    y_from_percent: float = 0.0
    relative_to: str | None = None
    measure: Mapping[str, Any] | None = None
    log_scale: bool = False
    leave_out_sectors: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    x: tuple[float, ...] = ()
    x_label: str = ""
    curves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Experiments whose designs are shown beside each other, as multiples of a reference.

    `percentiles` are figures of their reads' latencies. With `attribution`, what each cause
    contributes more or less than under the reference is shown too.
    """

    title: str
    experiments: tuple[str, ...]
    reference: str
    percentiles: tuple[str, ...] = ("mean", "p99", "p999", "p9999")
    attribution: bool = False


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper, shown with what was measured under the paper's numbers.

    `columns` are its headings. `lines` are its lines: each has a `label` and the names of the
    `rows` whose values it holds. It may have `values`, the names of what was measured of each row,
    several with ` / ` between them, and `given`: by their names other lines of numbers that the
    paper has, and that nothing is measured of.
    """

    title: str
    columns: tuple[str, ...]
    lines: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Deviation:
    """Why a row deviates. A `measure` is taken for it, whose values stand in the text in braces."""

    row: str
    cause: str
    measure: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a match of a row is evidence of; `papers/evidence.toml` has the rule for each kind.

    `figures` are the paper's numbers, by what of the measured values each is of. `why` says what is
    not evident from the row.
    """

    row: str
    kind: EvidenceKind
    figures: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same, as it stands in results beside what was measured."""
        return {
            "evidence": self.kind,
            "evidence_why": self.why,
            "figures": dict(self.figures),
        }


@dataclass(frozen=True, slots=True)
class Reading:
    """Another reading of what the paper leaves open, under which rows are measured once more.

    `about` says what is read otherwise. `rows` are the names of the rows. `overlay` is put on every
    design that they look at, and `experiments` has what is run in place of an experiment, each by
    the part of its name before the trace.
    """

    title: str
    about: str
    rows: tuple[str, ...]
    overlay: str = ""
    experiments: Mapping[str, str] = field(default_factory=dict)

    def experiment(self, name: str) -> str:
        """The experiment that is run in place of one.

        >>> other = Reading("fuller", "", (), experiments={"volumes": "fuller"})
        >>> other.experiment("volumes.hm_0"), other.experiment("one-die")
        ('fuller.hm_0', 'one-die')
        """
        series, dot, trace = name.partition(".")
        return f"{self.experiments.get(series, series)}{dot}{trace}"

    def design(self, label: str) -> str:
        """The design that is run in place of one."""
        return f"{label}+{self.overlay}" if self.overlay else label


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which the model is not what the paper says, or that the paper leaves open."""

    paper: str
    here: str
    reason: str


@dataclass(frozen=True, slots=True)
class Tried:
    """Something that was tried in favour of rows that deviate, beside the other readings.

    `title` is what the paper leaves open and was played otherwise, `outcome` what came of it, and
    `by` the experiment, as a path from the root of the repository. `rows` are names of rows or
    patterns of them, after the paper's prefix: `fig12.*`.
    """

    title: str
    rows: tuple[str, ...]
    outcome: str
    by: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper. `prefix` begins the names of its rows.

    `counters` and `settings` are names of the engine's: patterns of how often something happened,
    and `section.key` of designs. They stand in one place, since they are not the paper's.
    `drawn_by` has commands that draw what follows from equations, by the beginning of rows' names.
    """

    name: str
    prefix: str
    title: str
    source: str
    rows: Mapping[str, Row]
    evidence: Mapping[str, Evidence]
    experiments: Mapping[str, Experiment]
    traces: Mapping[str, Trace]
    counters: Mapping[str, str]
    settings: Mapping[str, str]
    figures: tuple[Figure, ...]
    deviations: Mapping[str, Deviation]
    side_by_side: tuple[SideBySide, ...]
    tables: tuple[PaperTable, ...]
    measures: Mapping[str, Measure]
    readings: tuple[Reading, ...] = ()
    differences: tuple[Difference, ...] = ()
    tried: tuple[Tried, ...] = ()
    drawn_by: Mapping[str, str] = field(default_factory=dict)

    def tried_for(self, row_id: str) -> tuple[Tried, ...]:
        """What was tried in favour of a row."""
        short = row_id.removeprefix(f"{self.prefix}.")
        return tuple(
            each for each in self.tried if any(fnmatchcase(short, row) for row in each.rows)
        )

    def experiments_of(self, row: Row) -> tuple[str, ...]:
        """The experiments that a row looks at.

        They are those that the arguments of its measure name, and those that the cause of its
        deviation does.
        """
        deviation = self.deviations.get(row.id)
        looks = [row.measure or {}, (deviation.measure or {}) if deviation is not None else {}]
        return self.named(text for text in _texts(looks) if self._is_named(text))

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


def tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table whose lists cannot be changed."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
