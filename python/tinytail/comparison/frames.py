"""Results as tables, with a row for each figure, window or request: Arrow, Polars and pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from tinytail.engine.results import Series
from tinytail.errors import ResultsError, UsageError
from tinytail.files.regular import check_file
from tinytail.inputs.libraries import library, require

if TYPE_CHECKING:
    from tinytail.comparison.result import DesignResult
    from tinytail.engine.methods import AttributionGroup

Frame = Literal["figures", "distribution", "attribution", "series", "requests"]
FRAMES: tuple[Frame, ...] = get_args(Frame)

_RUN = (
    *("gc_blocked_read_percent", "queue_blocked_read_percent", "write_amplification", "erases"),
    *("gc_count", "throughput.arrivals_per_second", "throughput.served_per_second"),
    *("throughput.makespan_mb_per_second", "simulated_seconds"),
)
_KINDS: tuple[Literal["read", "write"], ...] = ("read", "write")

Row = Mapping[str, Any]


def checked(table: str) -> Frame:
    """The name of a table.

    Raises:
        UsageError: there is no such table.
    """
    for name in FRAMES:
        if name == table:
            return name
    raise UsageError(f"table is {table!r}; allowed: {', '.join(FRAMES)}")


def arrow(results: Sequence[DesignResult], table: str) -> Any:
    """A table as `pyarrow.Table`.

    Raises:
        UsageError: there is no such table, pyarrow is missing, or the requests of a run were not
            logged.
        ResultsError: a log cannot be read.
    """
    name = checked(table)
    pa = library("pyarrow", "a table")
    if name == "requests":
        return _requests(results, pa)
    columns, rows = _TABLES[name]
    types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(column, types[kind]) for column, kind in columns.items()])
    # Of whole numbers some columns have means.
    found = [row for result in results for row in rows(result)]
    return pa.Table.from_pylist(found, schema=schema)


def _figures(result: DesignResult) -> Iterable[Row]:
    for kind in _KINDS:
        latency = result.read if kind == "read" else result.write
        for figure in latency.__dataclass_fields__:
            yield _figure(result, kind, figure, f"{kind}.{figure}")
    for name in _RUN:
        yield _figure(result, "run", name.rpartition(".")[2], name)


def _figure(result: DesignResult, kind: str, figure: str, name: str) -> Row:
    interval = result.intervals.get(name)
    return {
        "design": result.design,
        "kind": kind,
        "figure": figure,
        "value": result.figure(name),
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
    }


def _distribution(result: DesignResult) -> Iterable[Row]:
    columns = result.distribution
    for kind in _KINDS:
        latencies = columns.read_us if kind == "read" else columns.write_us
        for percent, us in zip(columns.percent, latencies, strict=True):
            yield {"design": result.design, "kind": kind, "percent": percent, "latency_us": us}


def _attribution(result: DesignResult) -> Iterable[Row]:
    attribution = result.attribution
    groups: list[tuple[str, float, AttributionGroup]] = [
        *(("read", 100.0, attribution.all_reads), ("write", 100.0, attribution.all_writes)),
        *(("read", tail.share_percent, tail) for tail in attribution.tails),
        *(("write", tail.share_percent, tail) for tail in attribution.write_tails),
    ]
    for kind, share, group in groups:
        for cause in group.ranked():
            yield {
                "design": result.design,
                "kind": kind,
                "slowest_percent": share,
                "requests": group.count,
                "cause": cause.cause,
                "percent": cause.percent,
                "mean_us": cause.mean_us,
            }


def _series(result: DesignResult) -> Iterable[Row]:
    series = result.series
    for window, start in enumerate(series.start_seconds):
        row: dict[str, Any] = {"design": result.design, "start_seconds": start}
        yield row | {name: getattr(series, name)[window] for name in _SERIES}


# Columns whose windows all have a number are counts.
_SERIES = {
    each.name: int if each.type == "tuple[int, ...]" else float
    for each in fields(Series)
    if each.name != "window_seconds"
}
_TABLES: dict[str, tuple[dict[str, type], Callable[[DesignResult], Iterable[Row]]]] = {
    "figures": (
        {"design": str, "kind": str, "figure": str, "value": float, "low": float, "high": float},
        _figures,
    ),
    "distribution": (
        {"design": str, "kind": str, "percent": float, "latency_us": float},
        _distribution,
    ),
    "attribution": (
        {
            **{"design": str, "kind": str, "slowest_percent": float, "requests": int},
            **{"cause": str, "percent": float, "mean_us": float},
        },
        _attribution,
    ),
    "series": (
        {"design": str, "start_seconds": float, **_SERIES},
        _series,
    ),
}


def _requests(results: Sequence[DesignResult], pa: Any) -> Any:
    """The logs of all requests, one after another, each with its design."""
    parquet = library("pyarrow.parquet", "a log")
    tables = []
    for result in results:
        log = result.log
        if log is None or log.error is not None:
            why = "no log was kept" if log is None else log.error
            raise UsageError(
                f"{result.design}: {why}; compare(..., log=FILE) keeps the requests of a run"
            )
        try:
            check_file(log.path)
            table = parquet.read_table(log.path, memory_map=True)
        except (OSError, pa.ArrowInvalid) as error:
            said = error.strerror if isinstance(error, OSError) else None
            raise ResultsError(f"{log.path}: {said or error}") from error
        design = pa.DictionaryArray.from_arrays(
            pa.nulls(len(table), pa.int32()).fill_null(0), [result.design]
        )
        tables.append(table.replace_schema_metadata(None).add_column(0, "design", design))
    return pa.concat_tables(tables, promote_options="default") if tables else pa.table({})


class Tables:
    """What has results, as tables."""

    __slots__ = ()

    def _results(self) -> Sequence[DesignResult]:
        raise NotImplementedError

    def to_arrow(self, table: Frame = "figures") -> Any:
        """A table of the results, as `pyarrow.Table`.

        Args:
            table: `"figures"`: design, kind (read, write or run), figure, value, and the ends low
                and high of its interval. `"distribution"`: design, kind, percent and latency_us.
                `"attribution"`: design, kind, slowest_percent (100 for all requests), requests,
                cause, percent and mean_us. `"series"`: design, start_seconds and a column for each
                of `Series`. `"requests"`: design and the columns of the log of every request, which
                must have been kept by `log` or `out`.

        Raises:
            UsageError: there is no such table, pyarrow is missing, or no log was kept.
            ResultsError: a log cannot be read.
        """
        return arrow(self._results(), table)

    def to_polars(self, table: Frame = "figures") -> Any:
        """A table of the results, as `polars.DataFrame`; see `to_arrow`.

        Raises:
            UsageError: there is no such table, a library is missing, or no log was kept.
            ResultsError: a log cannot be read.
        """
        polars = library("polars", "to_polars")
        return polars.from_arrow(self.to_arrow(table))

    def to_pandas(self, table: Frame = "figures") -> Any:
        """A table of the results, as `pandas.DataFrame`; see `to_arrow`.

        Raises:
            UsageError: there is no such table, a library is missing, or no log was kept.
            ResultsError: a log cannot be read.
        """
        require("to_pandas", "pandas")
        return self.to_arrow(table).to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table of figures for any library that takes Arrow's C stream, without a copy."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
