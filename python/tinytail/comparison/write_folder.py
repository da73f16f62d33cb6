"""Keeps results in a folder, from which `tinytail explain` tells why requests were slow.

The folder is written under a hidden name beside its own, which it gets when it is whole: whatever
goes wrong before, results that were kept there earlier stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinytail.comparison.result import Comparison, DesignResult, ResultsFolder
from tinytail.engine import arguments, native
from tinytail.engine.options import LogSpec, RequestTimelinesSpec, RunSpec
from tinytail.errors import OutputError, UsageError
from tinytail.files import whole
from tinytail.files.regular import open_file
from tinytail.files.text import RESULTS_BYTES_MAX, json_text, read_text
from tinytail.inputs import tables
from tinytail.inputs.names import part_of_file_name, without_multiplier

if TYPE_CHECKING:
    from tinytail.comparison.plan import Plan

FORMAT = "tinytail results"
# Raised when a folder of this version could be misread.
FORMAT_VERSION = 2
MANIFEST = "manifest.json"
RESULTS = "results.json"
LOG = "requests.parquet"
DESIGN_FILES = (LOG, "traced.parquet", "segments.parquet", "gcs.parquet")

REQUEST_TIMELINES = 1000
# Request timelines stay in memory until the run ends, some 10 KB each where requests are slow.
REQUEST_TIMELINES_MAX = 1_000_000
# File names may have 255 bytes on most file systems, and a character up to four.
NAME_CHARACTERS_MAX = 60
CHUNK_BYTES = 1 << 22
# Folders under way and replaced ones, beside the one whose name they have in theirs.
_HIDDEN = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.(?P<ending>tmp|old)")


def folder_names(designs: Iterable[str]) -> dict[str, str]:
    """A folder's name for each design, all of them different, on any file system.

    >>> folder_names(["base", "mine/base.toml", "Base"])
    {'base': 'base', 'mine/base.toml': 'base-2', 'Base': 'Base-3'}
    """
    taken = {MANIFEST, RESULTS}
    names = {}
    for design in designs:
        wanted = part_of_file_name(design).lstrip(".")[:NAME_CHARACTERS_MAX] or "design"
        name, number = wanted, 1
        while name.casefold() in taken:
            number += 1
            name = f"{wanted}-{number}"
        taken.add(name.casefold())
        names[design] = name
    return names


def checksum(content: bytes) -> int:
    """Return the checksum (CRC-32) of a text that is in memory."""
    return zlib.crc32(content)


def fingerprint(path: Path) -> dict[str, int]:
    """The size of a file and a checksum (CRC-32) of its content."""
    crc32, size = 0, 0
    with open_file(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            crc32 = zlib.crc32(chunk, crc32)
            size += len(chunk)
    return {"bytes": size, "crc32": crc32}


def manifest_checksum(manifest: Mapping[str, Any]) -> int:
    """The checksum of all that a manifest says beside it."""
    said = {key: value for key, value in manifest.items() if key != "crc32"}
    return checksum(json.dumps(said, sort_keys=True).encode())


def check_folder(given: str) -> None:
    """Makes sure, before anything runs, that results can be kept in a folder.

    Raises:
        UsageError: that is no name of a folder.
        OutputError: something else is there, or nothing can be written there.
    """
    if not given:
        raise UsageError("the name of the folder of --out is empty")
    if given == "-":
        raise UsageError("results are kept in a folder and cannot go to standard output")
    target = _target(given)
    # The native module takes paths as text.
    arguments.text("out", str(target))
    try:
        why = _hindrance(target)
        if why is None and not target.parent.is_dir():
            why = f"there is no directory {target.parent}"
        if why is None:
            probe = whole.hidden(target, "tmp")
            probe.mkdir()
            probe.rmdir()
    except OSError as error:
        why = error.strerror or str(error)
    if why is not None:
        raise OutputError(f"cannot keep results in {given}: {why}")


class Keeping:
    """A folder of results under way. As a context, it leaves nothing unfinished behind.

    Raises:
        OutputError: the folder cannot be made.
    """

    def __init__(self, plan: Plan) -> None:
        assert plan.out is not None
        self._plan = plan
        self._given = plan.out
        self._target = _target(plan.out)
        self._folder = whole.hidden(self._target, "tmp")
        self._names = folder_names(plan.designs)
        # Read now: a file that is altered while the designs run is not what they started from.
        self._inputs = _inputs(plan)
        _remove_abandoned(self._target.parent)
        try:
            self._folder.mkdir()
            self._lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            whole.lock(self._lock)
            for name in self._names.values():
                (self._folder / name).mkdir()
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise OutputError(f"cannot keep results in {self._given}: {error.strerror}") from error

    def __enter__(self) -> Keeping:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)

    def spec(self, spec: RunSpec) -> RunSpec:
        """A run that writes its log and its request timelines into the folder."""
        folder = self._folder / self._names[spec.design]
        words = [self._plan.command_alone(spec.design), "--out", shlex.quote(self._given)]
        slowest = self._plan.request_timelines
        if slowest is not None:
            words += ["--request-timelines", str(slowest)]
        return replace(
            spec,
            log=LogSpec(path=str(folder / LOG), command=" ".join(words)),
            request_timelines=RequestTimelinesSpec(
                path=str(folder), slowest=REQUEST_TIMELINES if slowest is None else slowest
            ),
        )

    def named(self, document: dict[str, Any]) -> dict[str, Any]:
        """A run's result, in which the folder has the name that it is going to have."""
        for part in ("log", "request_timelines"):
            described = document.get(part)
            for key in ("path", "error"):
                if described is not None and described[key] is not None:
                    described[key] = described[key].replace(
                        str(self._folder), str(Path(self._given))
                    )
        return document

    def finish(self, comparison: Comparison) -> ResultsFolder:
        """Completes the folder and gives it its name. Says why, if it cannot."""
        try:
            why = self._refusal(comparison)
            if why is None:
                self._write(comparison)
                self._publish()
        except OSError as error:
            why = error.strerror or str(error)
        if why is not None:
            why = f"the results are not kept in {self._given}: {why}"
        return ResultsFolder(self._given, why)

    def _refusal(self, comparison: Comparison) -> str | None:
        """Why a comparison is not to be kept; None if it is."""
        results = comparison.results
        for result in results:
            if any(
                part is not None and part.error for part in (result.log, result.request_timelines)
            ):
                return f"the files of {result.design} could not be written"
        if not any(result.read.count or result.write.count for result in results):
            return "nothing was measured"
        if comparison.partial and (_manifest(self._target) or {}).get("partial") is False:
            return "they are partial, and those that are there are whole and stay as they are"
        return None

    def _write(self, comparison: Comparison) -> None:
        kept = {result.design: result for result in comparison.results}
        for design, name in self._names.items():
            if design not in kept:
                shutil.rmtree(self._folder / name)
        files = [RESULTS]
        files += [f"{self._names[design]}/{name}" for design in kept for name in DESIGN_FILES]
        _write_whole(self._folder / RESULTS, comparison.to_json())
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "version": comparison.version,
            "engine": native.identity(),
            "partial": comparison.partial,
            "command": comparison.command,
            "comparison": plan_document(self._plan),
            "directory": os.fsencode(Path.cwd()).decode("utf-8", "replace"),
            "inputs": self._inputs,
            "tables": tables.texts(_named(self._plan)),
            "designs": [self._design(result) for result in kept.values()],
            "files": {name: fingerprint(self._folder / name) for name in files},
        }
        manifest["crc32"] = manifest_checksum(manifest)
        text = json_text(manifest)
        _write_whole(self._folder / MANIFEST, text)

    def _design(self, result: DesignResult) -> dict[str, Any]:
        return {
            "design": result.design,
            "folder": self._names[result.design],
            "event_hash": result.event_hash,
            "partial": result.partial,
        }

    def _publish(self) -> None:
        """Puts the folder in its place; an earlier one is removed only when that is done."""
        why = _hindrance(self._target)
        if why is not None:
            raise OSError(0, why)
        earlier = None
        if self._target.is_dir() and any(self._target.iterdir()):
            earlier = whole.hidden(self._target, "old")
            self._target.rename(earlier)
        try:
            self._folder.rename(self._target)
        except OSError:
            if earlier is not None:
                earlier.rename(self._target)
            raise
        if earlier is not None:
            shutil.rmtree(earlier, ignore_errors=True)


def plan_document(plan: Plan) -> dict[str, Any]:
    """Every argument of a comparison, in a form from which it can be made again."""
    parts = ("log", "out", "timeline", "timeline_window", "spooled", "seeds")
    return {name: value for name, value in plan.given().items() if name not in parts}


def named_files(plan: Plan) -> set[str]:
    """Those of a comparison's arguments that name files: in its own words."""
    return {name for name in _named(plan) if Path(name).is_file()}


def _named(plan: Plan) -> set[str]:
    given = [plan.device, plan.workload, without_multiplier(plan.workload), plan.image or ""]
    given += [part for design in plan.designs for part in design.split("+")]
    return {name for name in given if name}


def _inputs(plan: Plan) -> dict[str, dict[str, int]]:
    found = {}
    for name in sorted(named_files(plan)):
        # What is wrong with it, the runs say.
        with suppress(OSError):
            found[name] = fingerprint(Path(name))
    return found


def _target(given: str) -> Path:
    # What a link points to is replaced, not the link.
    return Path(os.path.realpath(given))


def _remove_abandoned(parent: Path) -> None:
    """Removes what killed runs left in a directory: folders under way, and replaced ones.

    A replaced folder is removed only where the one that replaced it is in its place.
    """
    for path in parent.glob(".*.*"):
        found = _HIDDEN.fullmatch(path.name)
        if found is None or not (found["ending"] == "tmp" or (parent / found["name"]).is_dir()):
            continue
        if path.is_dir() and not path.is_symlink():
            whole.remove(path, _remove_if_ours)


def _remove_if_ours(path: Path) -> None:
    if _is_ours(path):
        shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    """Whether a hidden folder has nothing in it but what results are made of."""
    known = {MANIFEST, RESULTS, *DESIGN_FILES}
    names = [re.sub(r"^\.(.*)\.\d+-\d+\.tmp$", r"\1", each.name) for each in path.glob("**/*")]
    folders = {each.name for each in path.iterdir() if each.is_dir()}
    return all(name in known or name in folders for name in names)


def _hindrance(target: Path) -> str | None:
    """What keeps a folder of results from taking this place; None if nothing does."""
    if not target.exists():
        return None
    if not target.is_dir():
        return "it is not a directory"
    if target.is_mount():
        return "it is a mount point, which cannot be replaced; name a folder in it"
    if not any(target.iterdir()):
        return None
    manifest = _manifest(target)
    if manifest is None:
        return "there are other things in it, and it holds no results of tinytail"
    known = {target / name for name in (MANIFEST, *manifest.get("files", ()))}
    there = sorted(path for path in target.rglob("*") if not path.is_dir())
    foreign = [path for path in there if path not in known]
    if foreign:
        name = foreign[0].relative_to(target)
        return f"{name} is in it and does not belong to the results that it holds"
    return None


def read_manifest(folder: Path) -> Any:
    """The manifest of a folder of results, whatever it says.

    Raises:
        OSError: it cannot be read.
        ValueError, RecursionError: it is no JSON.
    """
    return json.loads(read_text(folder / MANIFEST, RESULTS_BYTES_MAX))


def _manifest(target: Path) -> dict[str, Any] | None:
    """The manifest of a folder of results, of whatever version; None if that has none."""
    try:
        manifest = read_manifest(target)
    except (OSError, ValueError, RecursionError):
        return None
    is_ours = isinstance(manifest, dict) and manifest.get("format") == FORMAT
    return manifest if is_ours and isinstance(manifest.get("files", {}), dict) else None


def _write_whole(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
