"""Opens a folder of kept results and checks that it is what was once written."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tinytail.comparison.plan import Plan
from tinytail.comparison.write_folder import (
    DESIGN_FILES,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    RESULTS,
    fingerprint,
    manifest_checksum,
    named_files,
    read_manifest,
)
from tinytail.engine import native
from tinytail.engine.options import RequestTimelinesSpec, RunSpec, TraceOptions, Transform
from tinytail.errors import ResultsError, UsageError, suggestion
from tinytail.files.text import RESULTS_BYTES_MAX, read_text
from tinytail.inputs import tables
from tinytail.inputs.names import without_multiplier


@dataclass(frozen=True, slots=True)
class KeptDesign:
    """A design whose results are kept. `partial` is true if its run did not come to its end."""

    name: str
    folder: Path
    event_hash: str
    partial: bool


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where planes lie, as far as timelines speak of it."""

    planes_per_die: int
    dies_per_channel: int
    pages_per_block: int

    def place(self, plane: int) -> str:
        """A plane with its channel and its die within that.

        >>> Geometry(planes_per_die=2, dies_per_channel=4, pages_per_block=64).place(13)
        'plane 13 (channel 1, die 2)'
        """
        channel, die = divmod(plane // self.planes_per_die, self.dies_per_channel)
        return f"plane {plane} (channel {channel}, die {die})"


@dataclass(frozen=True, slots=True)
class KeptResults:
    """An opened folder, whose files are all there; their contents are checked by `check`."""

    path: str
    manifest: dict[str, Any]
    designs: tuple[KeptDesign, ...]

    @property
    def version(self) -> str:
        """The version of tinytail that wrote it."""
        return str(self.manifest["version"])

    @property
    def partial(self) -> bool:
        """Whether the comparison was interrupted."""
        return bool(self.manifest["partial"])

    def design(self, name: str) -> KeptDesign:
        """One of the designs.

        Raises:
            UsageError: there is no such design; names the nearest.
        """
        for design in self.designs:
            if design.name == name:
                return design
        known = [design.name for design in self.designs]
        raise UsageError(
            f'{self.path} has no results of a design "{name}"' + suggestion(name, known)
        )

    def check(self, designs: Sequence[KeptDesign]) -> None:
        """Check the content of all files that belong to some designs against their checksums.

        Raises:
            ResultsError: a file has been altered.
        """
        names = [RESULTS]
        names += [f"{design.folder.name}/{name}" for design in designs for name in DESIGN_FILES]
        with ThreadPoolExecutor() as threads:
            list(threads.map(self._check_file, names))

    def _check_file(self, name: str) -> None:
        try:
            found = fingerprint(Path(self.path, name))
        except OSError as error:
            raise ResultsError(f"{Path(self.path, name)}: {error.strerror}") from error
        if found != self.manifest["files"][name]:
            raise ResultsError(
                f"{Path(self.path, name)}: it is not what was written: its checksum differs"
            )

    def geometry(self) -> Geometry:
        """Where the device's planes lie."""
        document = json.loads(read_text(Path(self.path, RESULTS), RESULTS_BYTES_MAX))
        values = {
            setting["key"]: int(setting["value"])
            for item in document["configuration"]
            if item["kind"] == "device"
            for setting in item["settings"]
            if setting["section"] == "geometry" and setting["value"].isdecimal()
        }
        dies = values["chips_per_channel"] * values["dies_per_chip"]
        return Geometry(values["planes_per_die"], dies, values["pages_per_block"])

    def plan(self) -> Plan:
        """The comparison that was made.

        Files are looked for from where it was made, if this is another place.
        """
        document = dict(self.manifest["comparison"])
        made_in = Path(self.manifest["directory"])
        elsewhere = made_in != Path.cwd()

        def located(name: str) -> str:
            known = {name, without_multiplier(name)} & self.manifest["inputs"].keys()
            return os.fspath(made_in / name) if elsewhere and known else name

        for key in ("device", "workload", "image"):
            if key in document:
                document[key] = located(document[key])
        document["designs"] = [
            "+".join(map(located, design.split("+"))) for design in document["designs"]
        ]
        # In other places the reference has another name, and a repetition does not need it.
        document["reference"] = None
        for key, kind in (("trace", TraceOptions), ("transform", Transform)):
            document[key] = kind(**document.get(key, {}))
        return Plan(**document)

    def run_spec(
        self, design: KeptDesign, request_timelines: RequestTimelinesSpec | None = None
    ) -> RunSpec:
        """The run of one of the designs again, from the same state and seed, without its log."""
        plan = self.plan()
        position = self.manifest["comparison"]["designs"].index(design.name)
        return replace(plan.run_spec(plan.designs[position]), request_timelines=request_timelines)

    def differences(self) -> list[str]:
        """What is known to be different now from when the results were written."""
        found = []
        if native.version() != self.version:
            found.append(
                f"they were written by tinytail {self.version}, this is {native.version()}"
            )
        elif native.identity() != self.manifest["engine"]:
            found.append(f"they were written by another build of tinytail {self.version}")
        made_in = Path(self.manifest["directory"])
        for name, written in self.manifest["inputs"].items():
            path = made_in / name
            try:
                if fingerprint(path) != written:
                    found.append(f"{path} has been altered")
            except OSError as error:
                found.append(f"{path}: {error.strerror}")
        named = named_files(self.plan())
        known = {os.fspath(made_in / name) for name in self.manifest["inputs"]}
        known |= set(self.manifest["inputs"])
        found += [f"{name} was not there" for name in sorted(named - known)]
        return found


def open_results(path: str) -> KeptResults:
    """Opens a folder that `compare --out` wrote, and makes sure that all its files are there.

    Raises:
        ResultsError: there is no such folder, or it is not one of these, of another version,
            incomplete or altered.
    """
    folder = Path(path)
    if not folder.exists():
        raise ResultsError(f"{path}: there is no such folder")
    if not folder.is_dir():
        raise ResultsError(f"{path}: not a folder of results, but a file")
    manifest = _manifest(folder, path)
    for name, written in manifest["files"].items():
        file = folder / name
        if not file.is_file():
            raise ResultsError(f"{path}: incomplete: {name} is missing")
        size = file.stat().st_size
        if size != written["bytes"]:
            raise ResultsError(
                f"{file}: it is not what was written: it has {size} bytes in place of "
                f"{written['bytes']}"
            )
    for name, text in manifest.get("tables", {}).items():
        tables.put(name, text)
    designs = tuple(
        KeptDesign(
            design["design"], folder / design["folder"], design["event_hash"], design["partial"]
        )
        for design in manifest["designs"]
    )
    return KeptResults(path, manifest, designs)


def _manifest(folder: Path, path: str) -> dict[str, Any]:
    file = folder / MANIFEST
    try:
        manifest = read_manifest(folder)
    except FileNotFoundError as error:
        raise ResultsError(
            f"{path}: not a folder of results: it has no {MANIFEST}; "
            "`tinytail compare --out DIR` writes one"
        ) from error
    except OSError as error:
        raise ResultsError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{file}: cut off or altered: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ResultsError(f"{path}: not a folder of results: {MANIFEST} is another program's")
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        raise ResultsError(
            f"{path}: its format has version {version}, and only {FORMAT_VERSION} can be read"
        )
    if manifest.get("crc32") != manifest_checksum(manifest):
        raise ResultsError(f"{file}: it is not what was written: its checksum differs")
    return manifest
