"""Makes of a paper's experiments the runs that the engine is asked for, with files of their own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tinytail.certification import Plan
from tinytail.engine import catalog, native
from tinytail.engine.declared import values
from tinytail.engine.options import RunOptions, RunSpec, TraceOptions, Transform
from tinytail.errors import (
    ConfigError,
    TinytailError,
    UsageError,
    WorkloadError,
    installation,
    suggestion,
)
from tinytail.files import toml
from tinytail.files.regular import open_file
from tinytail.files.text import WRITTEN_BYTES_MAX, read_text
from tinytail.inputs import libraries, tables
from tinytail.inputs.names import part_of_file_name
from tinytail.reproduction import certified, served
from tinytail.reproduction.records import Experiment, Paper, Trace
from tinytail.reproduction.runs import Run

TRACES = "TINYTAIL_TRACES"
# Raised when what is kept of a run has another form.
KEPT_VERSION = 2


class Unavailable(Exception):  # noqa: N818
    """What a row needs is not there; its text says what."""


class Preparation:
    """What runs of a paper start from: its drives, designs and workloads, as files where need be.

    `given` are files that the user gives for recorded workloads, by the names of the paper's
    traces. Use it as a context: the files are in a folder of its own.

    Raises:
        UsageError: no trace of the paper is called that.
    """

    def __init__(self, paper: Paper, given: Mapping[str, str]) -> None:
        self._paper = paper
        self._given = dict(given)
        # Runs that are logged by their keys, and the causes by which reads count as hit.
        self.logged: dict[str, tuple[str, ...]] = {}
        for name in self._given:
            if name not in paper.traces:
                raise UsageError(
                    f'no trace of {paper.prefix} is called "{name}"'
                    + suggestion(name, paper.traces)
                )

    def __enter__(self) -> Preparation:
        self.folder = Path(tempfile.mkdtemp(prefix="tinytail-"))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def is_stand_in(self, trace: Trace) -> bool:
        """Whether something else is played in the place of this recording."""
        return trace.name not in self._given and (
            trace.real is None or _recording(trace.real) is None
        )

    def runs(self, experiment: Experiment) -> tuple[Run, ...]:
        """The runs of an experiment.

        Raises:
            Unavailable: something that it needs is not there.
        """
        logged = experiment.log or experiment.served
        if logged and not libraries.are_there("pyarrow"):
            remedy = installation("pyarrow")
            raise Unavailable(f"needs pyarrow to read the log; to install: {remedy}")
        if experiment.served is not None:
            return self._served(experiment)
        workload, options, workload_key = self._workload(experiment)
        runs = []
        for label in experiment.designs:
            place = experiment.elsewhere.get(label, {})
            device, device_key = self.device(place.get("device", experiment.device))
            design, design_key = self.design(place.get("design", label), experiment)
            parts = {
                "kept": KEPT_VERSION,
                "engine": self._engine,
                "device": device_key,
                "design": design_key,
                "workload": workload_key,
            }
            spec: RunSpec | Plan
            if experiment.certify is not None:
                spec = certified.plan(device, design, experiment.state, experiment.certify)
                parts |= {"certify": dict(experiment.certify), "state": dict(experiment.state)}
            else:
                spec = RunSpec(
                    **values(experiment, RunOptions),
                    device=device,
                    design=design,
                    workload=workload,
                    trace=options,
                    transform=self._transform(experiment),
                    state=experiment.state,
                )
                bare = replace(spec, device="", design="", workload="")
                parts |= {"log": experiment.log, "hit": experiment.hit}
                parts |= {"spec": bare.given()}
            runs.append(Run(experiment.name, label, spec, _digest(parts), experiment.cost_s))
            if experiment.log:
                self.logged[runs[-1].key] = experiment.hit
        return tuple(runs)

    def _served(self, experiment: Experiment) -> tuple[Run, ...]:
        runs = []
        for label in experiment.designs:
            spec = served.plan(experiment, label)
            if (missing := served.lacks(spec)) is not None:
                raise Unavailable(f"needs what measures on the wall clock: {missing}")
            parts = {"kept": KEPT_VERSION, "engine": self._engine, "served": served.digest(spec)}
            runs.append(Run(experiment.name, label, spec, _digest(parts), experiment.cost_s))
        return tuple(runs)

    def _transform(self, experiment: Experiment) -> Transform:
        scale = experiment.stand_in_scale_time
        given = dict(experiment.transform)
        if scale is not None and self.is_stand_in(self._paper.traces[str(experiment.workload)[1:]]):
            given["scale_time"] = scale
        return Transform(**given)

    @cached_property
    def _engine(self) -> str:
        """The native module's content: the engine and all devices, designs and workloads."""
        return native.identity()

    def device(self, given: str | Mapping[str, Any]) -> tuple[str, Any]:
        """A drive as the engine knows it, and what it depends on.

        Raises:
            Unavailable: the engine does not have it.
        """
        if isinstance(given, str):
            _there("device", given, catalog.describe_device)
            return given, given
        text = tables.changed("device", given)
        return _put("device.toml", text), text

    def design(self, label: str, experiment: Experiment) -> tuple[str, Any]:
        """A design with files for its `@` overlays, and what it depends on.

        Raises:
            Unavailable: the engine does not have it.
        """
        parts, keys = [], []
        for part in label.split("+"):
            if not part.startswith("@"):
                parts.append(part)
                keys.append(part)
                continue
            if part[1:] not in experiment.overlays:
                raise ConfigError(
                    f'experiment "{experiment.name}": unknown overlay "{part}"'
                    + suggestion(part[1:], experiment.overlays)
                )
            head = {"name": part[1:], "kind": "overlay", "summary": experiment.name}
            document = {**head, **experiment.overlays[part[1:]]}
            parts.append(_put(f"{part[1:]}.toml", toml.dumps(document)))
            keys.append(json.dumps(document, sort_keys=True))
        _there("design", "+".join(parts), catalog.describe_design)
        return "+".join(parts), keys

    def _workload(self, experiment: Experiment) -> tuple[str, TraceOptions, Any]:
        given = experiment.workload
        if isinstance(given, Mapping) and "requests" in given:
            # Requests one by one: a trace in nanoseconds and sectors.
            text = "".join(f"{line}\n" for line in given["requests"])
            path = self.file(text, f"{experiment.name}.trace")
            return path, TraceOptions(format="ascii", time_unit="ns", unit="sectors"), text
        if isinstance(given, Mapping):
            if "synthetic" in given and experiment.requests is not None:
                # Its length is the experiment's, which tiers may differ in.
                given = {"synthetic": {**given["synthetic"], "requests": experiment.requests}}
            text = toml.dumps({"summary": experiment.name, **given})
            return _put(f"{experiment.name}.toml", text), TraceOptions(), text
        said = TraceOptions(queue_depth=experiment.queue_depth)
        if not given.startswith("@"):
            _there("workload", given, catalog.describe_workload)
            return given, said, given
        path = self.trace(self._paper.traces[given[1:]])
        return path, said, [path if not Path(path).exists() else "", _content(path)]

    def trace(self, trace: Trace) -> str:
        """The workload that is played as this trace: the recording if it is there.

        Raises:
            Unavailable: neither the recording nor its stand-in is there.
        """
        if trace.name in self._given:
            path = self._given[trace.name]
            if not (Path(path).is_file() or tables.is_there(path)):
                raise WorkloadError(f"--trace {trace.name}: there is no file {path}")
            return path
        if trace.real is not None and not self.is_stand_in(trace):
            return trace.real
        if trace.stand_in is None:
            raise Unavailable(
                f"needs the recording of {trace.title}: {TRACES}, or --trace {trace.name}=FILE"
            )
        try:
            catalog.describe_workload(trace.stand_in)
        except TinytailError:
            raise Unavailable(
                f"needs the workload {trace.stand_in}, or the recording itself: "
                f"--trace {trace.name}=FILE"
            ) from None
        return trace.stand_in

    def file(self, text: str, name: str) -> str:
        """A file of this content; the same one for the same content."""
        folder = self.folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(text, "utf-8")
        return str(path)


def _put(name: str, text: str) -> str:
    """A table that stands for a file of this name, in a folder that only its content has."""
    return tables.put(f"{hashlib.sha256(text.encode()).hexdigest()[:16]}/{name}", text)


def _there(what: str, name: str, look: Callable[[str], object]) -> None:
    try:
        look(name)
    except TinytailError as error:
        unknown = re.match(r"unknown (\w+) [`\"]([^`\"]+)", str(error))
        if unknown is not None:
            raise Unavailable(f"needs the {unknown[1]} {unknown[2]}") from None
        raise Unavailable(f"needs the {what} {part_of_file_name(name)}: {error}") from None


def _recording(workload: str) -> Path | None:
    """The file of the trace that a workload plays, if it is where traces are looked for."""
    folder = os.environ.get(TRACES)
    if not folder:
        return None
    try:
        settings = catalog.describe_workload(workload).settings
    except TinytailError:
        return None
    for setting in settings:
        if setting.key == "file":
            path = Path(folder) / setting.value
            return path if path.is_file() else None
    return None


def _content(workload: str) -> list[str]:
    """Digests of the files behind a workload: its own, and those of the traces that it plays."""
    path = Path(workload)
    if tables.is_there(workload):
        return [_digest(tables.read_table_text(workload))]
    if not path.is_file():
        recording = _recording(workload)
        return [] if recording is None else [_file_digest(recording)]
    found = [_file_digest(path)]
    if path.suffix == ".toml":
        folders = [path.parent, Path(os.environ.get(TRACES) or path.parent)]
        for name in _named_files(toml.loads(str(path), read_text(path, WRITTEN_BYTES_MAX))):
            found += [_file_digest(place / name) for place in folders if (place / name).is_file()]
    return found


def _named_files(table: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            found += [value["value"]] if key == "file" and "value" in value else _named_files(value)
        elif key == "file":
            found.append(str(value))
    return found


def _file_digest(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()
