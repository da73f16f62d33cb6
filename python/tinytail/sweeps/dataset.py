"""The dataset of a sweep: a folder that is added to, point by point, and read as one table.

`sweep.json` says what the sweep is. `points/design=NAME/` has rows in Parquet. What has ended since
the last of these files was written stands in `journal.jsonl`, a line for each point, so that a
process that is killed loses no point that has ended.

Each file has a checksum: those of Parquet in their names, `sweep.json` in itself, and the journal
in each line. No figure is read from a file that has changed since it was written.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tinytail.comparison.write_folder import checksum, fingerprint, manifest_checksum
from tinytail.engine import native
from tinytail.errors import OutputError, ResultsError, UsageError
from tinytail.files import whole
from tinytail.files.regular import check_file, open_file
from tinytail.files.text import RESULTS_BYTES_MAX, json_text, read_text
from tinytail.inputs.libraries import library
from tinytail.sweeps.axes import Axis, Grid
from tinytail.sweeps.plan import Plan
from tinytail.sweeps.rows import SCHEMA_VERSION, columns, row

MANIFEST = "sweep.json"
# The same once more, for when that is damaged.
COPY = "sweep.copy.json"
JOURNAL = "journal.jsonl"
POINTS = "points"
# What each line of the journal has.
RECORD = ("point", "design", "device", "workload", "seed", "requests", "values", "error", "result")
_CHECKSUM = re.compile(rb'\{"crc32":(\d+),')
_PART = re.compile(r"(\d+)-([0-9a-f]{8})")
NAME_BYTES_MAX = 255
# After so many points their rows go from the journal into files of their own.
ROWS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Definition:
    """What a dataset says that it is of.

    Attributes:
        grid: The axes of the sweep that was run last.
        designs: Its designs; empty if an axis names them.
        seed: The first seed.
        seeds: How many seeds each point is run with, from the first on.
        fixed: What all points have in common.
        tables: Texts of tables that stand for files, by name.
        version: The version that made it.
        build: A digest of the native module that made it.
    """

    grid: Grid
    designs: tuple[str, ...]
    seed: int
    seeds: int
    fixed: Mapping[str, Any]
    tables: Mapping[str, str] = field(default_factory=dict)
    version: str = field(default_factory=native.version)
    build: str = field(default_factory=native.identity)

    @classmethod
    def of(cls, plan: Plan) -> Definition:
        """What a sweep is."""
        return cls(plan.grid, plan.designs, plan.seed, plan.seeds, plan.fixed(), plan.tables())

    def to_dict(self) -> dict[str, Any]:
        """Return the document of `sweep.json`."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "version": self.version,
            "build": self.build,
            # Zipped axes are one group.
            "axes": [
                [{"name": axis.name, "values": list(axis.values)} for axis in group]
                for group in self.grid.groups
            ],
            "designs": list(self.designs),
            "seed": self.seed,
            "seeds": self.seeds,
            "fixed": dict(self.fixed),
            "tables": dict(self.tables),
            "columns": {column.name: column.meaning for column in columns(self.grid.axes)},
        }
        return document | {"crc32": manifest_checksum(document)}


def read_definition(folder: str | os.PathLike[str]) -> Definition:
    """Read what the dataset in a folder says that it is of.

    Raises:
        ResultsError: the folder holds no dataset, a damaged one, or one of another schema.
    """
    path = Path(folder) / MANIFEST
    try:
        return _definition(path)
    except FileNotFoundError:
        raise ResultsError(f"{folder} holds no sweep: there is no {MANIFEST}") from None
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    except _DAMAGES as error:
        raise ResultsError(f"{path} is damaged: {error}. {_remedy(path)}") from error


# What a file that is no definition raises.
_DAMAGES = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def _definition(path: Path) -> Definition:
    document = json.loads(read_text(path, RESULTS_BYTES_MAX))
    if document["schema_version"] != SCHEMA_VERSION:
        raise ResultsError(
            f"{path}: its schema is version {document['schema_version']}, and this program "
            f"reads version {SCHEMA_VERSION}"
        )
    if document["crc32"] != manifest_checksum(document):
        raise ValueError("its checksum differs")
    groups = [
        tuple(Axis(each["name"], tuple(each["values"])) for each in group)
        for group in document["axes"]
    ]
    if not all(axis.values for group in groups for axis in group):
        raise ValueError("an axis has no values")
    return Definition(
        Grid(tuple(groups)),
        tuple(document["designs"]),
        int(document["seed"]),
        int(document["seeds"]),
        document["fixed"],
        document["tables"],
        document["version"],
        document["build"],
    )


def _remedy(path: Path) -> str:
    """Say what brings a damaged definition back, so that no point is run again."""
    copy = path.with_name(COPY)
    try:
        _definition(copy)
    except (OSError, ResultsError, *_DAMAGES):
        return f"So is {copy}: the same sweep into another folder runs all points again"
    return f"Its copy is whole: {shlex.join(['cp', str(copy), str(path)])}"


class Dataset:
    """The dataset of a sweep that is being made. Only one process at a time may add to it."""

    def __init__(self, folder: str, plan: Plan) -> None:
        """Opens the folder of a sweep, or makes it.

        Raises:
            UsageError: the folder holds another sweep, one of another version, or something else;
                another process adds to it.
            ResultsError: what it holds is damaged.
            OutputError: it cannot be written.
        """
        for design in plan.all_designs():
            name = _partition(design)
            if len(name) > NAME_BYTES_MAX:
                raise UsageError(
                    f"the design {design} has a name of {len(name)} bytes, and a folder's has "
                    f"{NAME_BYTES_MAX} at most: name its file by a shorter path"
                )
        self._folder = Path(folder)
        self._definition = Definition.of(plan)
        self._journal: FileIO | None = None
        self._records: list[dict[str, Any]] = []
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._check()
            # What has changed is refused before half a line is removed.
            for _ in _journal(self._folder):
                pass
            self._open()
            text = json_text(self._definition.to_dict())
            for name in (MANIFEST, COPY):
                whole.FileOutput(str(self._folder / name), "--out").write(text.encode())
        except OSError as error:
            self.close()
            raise whole.cannot_write(folder, error) from error
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        there = [each.name for each in self._folder.iterdir()]
        if not there:
            return
        if MANIFEST not in there and there != [JOURNAL]:
            raise UsageError(
                f"{self._folder} holds {sorted(there)[0]} and no {MANIFEST}: give another folder"
            )
        if MANIFEST not in there:
            return
        kept, wanted = read_definition(self._folder), self._definition
        if (kept.version, kept.build) != (wanted.version, wanted.build):
            raise UsageError(
                f"{self._folder} holds points of another build of tinytail ({kept.version}), which "
                "may differ: give another folder, or remove it"
            )
        difference = _difference(kept.fixed, wanted.fixed)
        if difference is not None:
            raise UsageError(
                f"{self._folder} holds another sweep: {difference}. Give another folder"
            )

    def _open(self) -> None:
        path = self._folder / JOURNAL
        if path.exists():
            check_file(path)
        self._journal = path.open("a+b", buffering=0)
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another process adds to {self._folder}") from None
        self._journal.seek(0)
        content = self._journal.read()
        # A process that was killed may have left half a line.
        end = content.rfind(b"\n") + 1
        self._journal.truncate(end)
        self._records = _unwritten(self._folder)

    @property
    def definition(self) -> Definition:
        """What the sweep is."""
        return self._definition

    def done(self) -> set[str]:
        """The points that have ended."""
        return ids(self._folder) | {each["point"] for each in self._records}

    def forget_failed(self) -> None:
        """Removes the rows of points that failed, so that they are run again."""
        self.flush()
        parquet = library("pyarrow.parquet", "a sweep")
        compute = library("pyarrow.compute", "a sweep")
        for path in _parts(self._folder):
            table = parquet.ParquetFile(path).read()
            kept = table.filter(compute.is_null(table["error"]))
            if 0 < len(kept) < len(table):
                self._write(path.parent, path.stem.partition("-")[0], kept)
            if len(kept) < len(table):
                path.unlink()

    def add(self, record: dict[str, Any]) -> None:
        """Keeps what came of a point, for good.

        Raises:
            OutputError: it cannot be written. What was kept before stays.
        """
        assert self._journal is not None
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
        line = b'{"crc32":%d,' % checksum(text) + text[1:] + b"\n"
        at = self._journal.seek(0, os.SEEK_END)
        try:
            # Nothing is buffered: what a full disk refuses would be written again at the end.
            if self._journal.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._full(error, at) from error
        self._records.append(record)
        if len(self._records) >= ROWS_MAX:
            self.flush()

    def _full(self, error: OSError, at: int) -> OutputError:
        """What is said when a line could not be written, of which nothing is left."""
        assert self._journal is not None
        os.truncate(self._folder / JOURNAL, at)
        return OutputError(
            f"cannot write results to {self._folder}: {error.strerror}. All points that ended "
            "before are kept; the same command goes on from there"
        )

    def flush(self) -> None:
        """Writes the rows of the journal into files of Parquet, and empties it.

        Raises:
            OutputError: they cannot be written. The journal has them still.
        """
        if not self._records:
            return
        pa = library("pyarrow", "a sweep")
        by_design: dict[str, list[dict[str, Any]]] = {}
        for record in self._records:
            by_design.setdefault(record["design"], []).append(
                row(record, self._definition.grid.axes)
            )
        try:
            for design, rows in by_design.items():
                folder = self._folder / POINTS / _partition(design)
                folder.mkdir(parents=True, exist_ok=True)
                known = [_PART.fullmatch(part.stem) for part in folder.iterdir()]
                number = 1 + max((int(each[1]) for each in known if each), default=0)
                schema = _schema(self._definition.grid.axes)
                schema = schema.remove(schema.get_field_index("design"))
                self._write(folder, f"{number:05}", pa.Table.from_pylist(rows, schema=schema))
            assert self._journal is not None
            self._journal.truncate(0)
        except OSError as error:
            raise OutputError(
                f"cannot write results to {self._folder}: {error.strerror}. All points that have "
                f"ended are in {JOURNAL}; the same command goes on from there"
            ) from error
        self._records = []

    def _write(self, folder: Path, number: str, table: Any) -> None:
        """Write rows into a file whose name ends in the checksum of its content."""
        parquet = library("pyarrow.parquet", "a sweep")
        temporary = folder / f"{number}.tmp"
        try:
            parquet.write_table(table, temporary, compression="zstd")
            checksum = fingerprint(temporary)["crc32"]
            temporary.replace(folder / f"{number}-{checksum:08x}.parquet")
        finally:
            temporary.unlink(missing_ok=True)

    def close(self) -> None:
        """Lets others add to the dataset."""
        if self._journal is not None:
            self._journal.close()


@contextmanager
def opened(plan: Plan, out: str | None, *, retry_failed: bool) -> Iterator[tuple[str, Dataset]]:
    """The dataset of a sweep and its folder; without `out`, one that is removed in the end.

    Whatever ends it, rows that the journal has are written into files.

    Raises:
        UsageError, ResultsError, OutputError: as `Dataset`.
    """
    with ExitStack() as stack:
        folder = out or stack.enter_context(tempfile.TemporaryDirectory(prefix="tinytail-"))
        dataset = Dataset(folder, plan)
        stack.callback(dataset.close)
        stack.callback(dataset.flush)
        if retry_failed:
            dataset.forget_failed()
        yield folder, dataset


class Rows:
    """Rows of a table, in an order, whose columns are read when something asks for them.

    A sweep may have a million rows of ninety columns, of which a table on a terminal needs six.
    `read` gives columns of the table; `order` has the positions of the rows.
    """

    def __init__(self, read: Callable[[Sequence[str]], Any], names: Sequence[str], order: Any):
        self._read = read
        self.column_names = list(names)
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, name: str) -> Any:
        return self.select([name])[name]

    def select(self, names: Sequence[str]) -> Any:
        """The table of some columns."""
        return self._read(names).take(self._order)

    def at(self, positions: Any) -> Rows:
        """The rows at some positions among these."""
        return Rows(self._read, self.column_names, self._order.take(positions))


class Files:
    """The files of a dataset as they are now; rows that are added later are not among them."""

    def __init__(self, folder: str | os.PathLike[str], axes: Sequence[Axis]) -> None:
        """Finds the files, and reads the journal.

        Raises:
            UsageError: pyarrow is missing.
            ResultsError: a file cannot be read.
        """
        self._pa = library("pyarrow", "a sweep")
        self._folder = Path(folder)
        self.schema = _schema(axes)
        self._parts = _dataset(self._folder, self.schema)
        rows = [row(each, axes) for each in _unwritten(self._folder)]
        self._journal = self._pa.Table.from_pylist(rows, schema=self.schema)

    def __len__(self) -> int:
        parts = 0 if self._parts is None else self._parts.count_rows()
        return int(parts) + len(self._journal)

    def read(self, names: Sequence[str], points: Sequence[str] | None = None) -> Any:
        """Return some columns of all rows, or of the rows of some points.

        Raises:
            ResultsError: a file cannot be read.
        """
        compute = library("pyarrow.compute", "a sweep")
        wanted = None if points is None else compute.field("point").isin(list(points))
        journal = (self._journal if wanted is None else self._journal.filter(wanted)).select(names)
        if self._parts is None:
            return journal
        try:
            parts = self._parts.to_table(columns=list(names), filter=wanted)
        except (OSError, self._pa.ArrowInvalid) as error:
            raise ResultsError(f"{self._folder}: {error}") from error
        return self._pa.concat_tables([parts, journal])


def read_table(
    folder: str | os.PathLike[str], axes: Sequence[Axis], names: Sequence[str] | None = None
) -> Any:
    """The rows of a dataset as `pyarrow.Table`, those of the journal as well.

    Args:
        folder: the dataset.
        axes: its axes.
        names: the columns; all if None.

    Raises:
        UsageError: pyarrow is missing.
        ResultsError: a file cannot be read.
    """
    files = Files(folder, axes)
    return files.read(files.schema.names if names is None else names)


def _unwritten(folder: Path) -> list[dict[str, Any]]:
    """The records of the journal that no file of Parquet has."""
    found = list(_journal(folder))
    kept = ids(folder) if found else set()
    return [each for each in found if each["point"] not in kept]


def ids(folder: Path) -> set[str]:
    """The points whose rows are in files of Parquet."""
    pa = library("pyarrow", "a sweep")
    parquet = library("pyarrow.parquet", "a sweep")
    found: set[str] = set()
    for path in _parts(folder):
        try:
            found |= set(parquet.ParquetFile(path).read(["point"])["point"].to_pylist())
        except (OSError, KeyError, pa.ArrowException) as error:
            raise ResultsError(
                f"{path} is damaged: {error}. Without it its points are run again"
            ) from error
    return found


def _journal(folder: Path) -> Iterator[dict[str, Any]]:
    """Return what the journal has; the last line may be a part of one."""
    path = folder / JOURNAL
    try:
        with open_file(path) as file:
            content = file.read()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    *lines, rest = content.split(b"\n")
    # A process that was killed leaves the beginning of a line, and nothing behind a whole one.
    if rest and _record(rest[:-1]) is not None:
        lines.append(rest)
    for number, line in enumerate(lines, 1):
        try:
            text = _record(line)
            if text is None:
                raise ValueError("its checksum differs")
            record = json.loads(text)
            if not set(RECORD) <= set(record):
                raise ValueError("it is no point")
        except (ValueError, TypeError, RecursionError) as error:
            raise ResultsError(
                f"{path}, line {number}, is damaged: {error}. Without the line its point is run "
                "again"
            ) from error
        yield record


def _record(line: bytes) -> bytes | None:
    """Return the text of a point, without its checksum; None if that is another text's."""
    found = _CHECKSUM.match(line)
    if found is None:
        return None
    text = b"{" + line[found.end() :]
    return text if int(found[1]) == checksum(text) else None


def _partition(design: str) -> str:
    """The folder of a design's files."""
    return f"design={quote(design, safe='')}"


def _dataset(folder: Path, schema: Any) -> Any:
    """The files of Parquet as `pyarrow.dataset.Dataset`; None if there are none."""
    pa = library("pyarrow", "a sweep")
    dataset = library("pyarrow.dataset", "a sweep")
    paths = [str(path) for path in _parts(folder)]
    if not paths:
        return None
    by_design = dataset.partitioning(pa.schema([schema.field("design")]), flavor="hive")
    try:
        return dataset.dataset(
            paths, schema=schema, partitioning=by_design, partition_base_dir=str(folder / POINTS)
        )
    except (OSError, pa.ArrowInvalid) as error:
        raise ResultsError(f"{folder}: {error}") from error


def _parts(folder: Path) -> list[Path]:
    """Return the files of Parquet, all of which are as they were written."""
    found = sorted((folder / POINTS).glob("design=*/*.parquet"))
    for path in found:
        try:
            check_file(path)
            is_whole = _is_whole(path)
        except OSError as error:
            raise ResultsError(f"cannot read {path}: {error.strerror}") from error
        if not is_whole:
            raise ResultsError(
                f"{path} is damaged: its name does not end in the checksum of its content. Remove "
                "it, and the same command runs again the points that were in it, and no others"
            )
    return found


# The files that have been read and found whole: each with its size, and when it was written.
_WHOLE: set[tuple[Path, int, int]] = set()


def _is_whole(path: Path) -> bool:
    """Whether a file has the checksum that its name says."""
    status = path.stat()
    state = path.resolve(), status.st_size, status.st_mtime_ns
    if state not in _WHOLE:
        name = _PART.fullmatch(path.stem)
        if name is None or int(name[2], 16) != fingerprint(path)["crc32"]:
            return False
        _WHOLE.add(state)
    return True


def _schema(axes: Sequence[Axis]) -> Any:
    pa = library("pyarrow", "a sweep")
    types = {
        **{"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_()},
        "list<string>": pa.list_(pa.string()),
    }
    return pa.schema([(column.name, types[column.type]) for column in columns(axes)])


def _difference(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """The first thing in which two sweeps differ; None if their points go together."""
    was, are = kept["axes"], wanted["axes"]
    if sorted(was) != sorted(are):
        return f"its axes are {', '.join(was)}, not {', '.join(are)}"
    for name, kind in are.items():
        if was[name] != kind:
            return f"the values of axis {name} are of type {was[name]} there, and {kind} here"
    # Others are of values that were added or taken away.
    for path in set(kept["files"]) & set(wanted["files"]):
        if kept["files"][path] != wanted["files"][path]:
            return f"{path} has changed since"
    for name in {**kept, **wanted}:
        if name not in ("axes", "files") and kept.get(name) != wanted.get(name):
            return f"{name} is {_shown(kept.get(name))} there, and {_shown(wanted.get(name))} here"
    return None


def _shown(value: object) -> str:
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)
