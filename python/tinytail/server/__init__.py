"""Serves a drive as a block device over NBD, in wall-clock time."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tinytail.engine import arguments, catalog, memory, native, processes
from tinytail.engine.answers import Served
from tinytail.errors import UsageError
from tinytail.files import whole
from tinytail.files.text import read_as
from tinytail.inputs import conflicts, tables

Watch = Callable[[str, "dict[str, Any] | None"], None]

# So often the thread that waits looks up: it shares the processors with the one that serves.
_LOOK_SECONDS = 0.2
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def size_bytes(value: object, what: str = "size") -> int:
    """A size in bytes from a number of bytes or a word such as `16G`; units are powers of 1024.

    >>> size_bytes("16G"), size_bytes("1.5MiB"), size_bytes("4096"), size_bytes(512)
    (17179869184, 1572864, 4096, 512)

    Raises:
        UsageError: it is no size.
    """
    if not isinstance(value, str):
        return arguments.whole_number(what, value, 1, arguments.I64_MAX)
    refusal = UsageError(
        f'{what} must be a number of bytes or such as 512M, 16G or 1T, not "{value}"'
    )
    word = value.strip().upper().removesuffix("IB").removesuffix("B")
    digits = word.rstrip("KMGT")
    unit = _UNITS.get(word[len(digits) :])
    try:
        found = float(digits) if "." in digits else int(digits)
    except ValueError:
        raise refusal from None
    if unit is None or not 0 < found * unit <= arguments.I64_MAX or found * unit % 1 != 0:
        raise refusal
    return int(found * unit)


def serve(
    *,
    device: tables.Named,
    design: tables.DesignNamed,
    nbd: str,
    size: int | str | None = None,
    image: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    record: str | os.PathLike[str] | None = None,
    force: bool = False,
    log: str | os.PathLike[str] | None = None,
    seed: int = 1,
    state: Mapping[str, catalog.StateValue] | None = None,
    settings: arguments.Settings | None = None,
    dilate: float = 1.0,
    no_delay: bool = False,
    insecure: bool = False,
    client_memory: int | str | None = None,
    stop: threading.Event | None = None,
    watch: Watch | None = None,
) -> Served:
    """Serves a drive until it is stopped, by `stop` or by Ctrl-C.

    Args:
        device: name of a drive, path of its file, or a table; see `compare`.
        design: name of a design; overlays are added with plus signs.
        nbd: where to listen: unix:PATH or tcp:HOST:PORT. Without a host, tcp::PORT is the loopback.
            Others need `insecure`.
        size: what clients see, in bytes or such as 16G; all that the drive has if not given.
        image: an image to start from instead of ageing; see `create_image`.
        data: the file that holds the data, sparse, made if it is missing; in memory if not given.
        record: file for a trace of the arriving I/O, which `compare` replays; compressed if its
            name ends in .zst or .gz.
        force: replace a recording that is there.
        log: file for a log of every request, in Parquet, with the latencies of the model.
        seed: seed of the ageing.
        state: values of the starting state that replace the device's.
        settings: values that replace those of the files of device and design, by section and key,
            such as `{"gc.write_points": 4}`.
        dilate: how many times slower than the wall clock the drive's time passes, for a machine
            that is too slow.
        no_delay: nothing takes any time in the drive, to measure the machine itself.
        insecure: listen where other machines can reach the drive: whoever does can read and write
            it, without password and without encryption.
        client_memory: what data of requests and replies may take, of all clients together, in bytes
            or such as 256M, which it is if not given; at least 80M. Whoever finds no room waits.
        stop: ends it when it is set.
        watch: called now and then, in this thread, with the phase and, once clients can come, a
            document of where they find it and how late completions have been.

    Returns:
        What came of it: lateness and whether the figures can be trusted, latencies by the model.

    Raises:
        UsageError: an argument of the wrong type or out of range.
        ConfigError: an unknown or faulty device, design, image, size, address or file of data.
        WorkloadError: a name that no recording can have.
        RunError: the system refused what is needed, or the drive could not go on.
    """
    words = arguments.settings(settings)
    why = "a served drive has clients in place of a workload"
    catalog.check_settings(words, without_workload=why)
    spec: dict[str, Any] = {
        "device": tables.device(device),
        "design": tables.design(design),
        "nbd": arguments.text("nbd", nbd),
        "size_bytes": None if size is None else size_bytes(size),
        "image": None if image is None else arguments.file(image),
        "data": None if data is None else arguments.file(data),
        "record": None if record is None else arguments.file(record),
        "force": arguments.flag("force", force),
        "seed": arguments.whole_number("seed", seed, 0, arguments.U64_MAX),
        "state": {} if state is None else arguments.state(state),
        "settings": list(words),
        "dilate": arguments.number("dilate", dilate, 1, None),
        "no_delay": arguments.flag("no_delay", no_delay),
        "insecure": arguments.flag("insecure", insecure),
        "client_memory_bytes": (
            None if client_memory is None else size_bytes(client_memory, "client_memory")
        ),
    }
    if force and record is None:
        raise UsageError("--force replaces a recording, and no --record was given")
    if no_delay and dilate != 1:
        raise UsageError("--no-delay takes all times away, and --dilate stretches them: only one")
    if log is not None:
        path = arguments.file(log)
        spec["log"] = {"path": path, "command": _command(spec) + f" --log {shlex.quote(path)}"}
    check_files(spec, log)
    memory.check(spec["device"], spec["design"], words)
    # What reads the summary at the end is imported before clients can come and take descriptors.
    importlib.import_module("msgspec")
    control = native.Control()
    serving = native.serving(spec, control)
    return read_as(Served, _wait(serving, control, json.dumps(spec), stop, watch))


def check_files(
    given: Mapping[str, Any], log: str | os.PathLike[str] | None, json: str | None = None
) -> None:
    """Makes sure that every file that serving writes is one of its own.

    Args:
        given: the arguments of `serve` that name files.
        log: the log of every request.
        json: the summary.

    Raises:
        UsageError: one file has two uses.
    """
    written = [(f"--{key}", given[key]) for key in ("data", "record")]
    if given["record"] is not None:
        written.append(("the sidecar file of --record", f"{given['record']}.toml"))
    written += [("--log", None if log is None else os.fspath(log)), ("--json", json)]
    if given["nbd"].startswith("unix:"):
        written.append(("--nbd", given["nbd"].removeprefix("unix:")))
    read = conflicts.files_read(
        device=given["device"], designs=[given["design"]], image=given["image"]
    )
    conflicts.check(written, read)
    if log is not None:
        whole.remove_files(Path(os.path.realpath(log)))


def _command(spec: Mapping[str, Any]) -> str:
    words = ["tinytail", "serve"]
    options = {
        "size_bytes": "--size",
        "no_delay": "--no-delay",
        "client_memory_bytes": "--client-memory",
    }
    for key, value in spec.items():
        option = options.get(key, f"--{key}")
        if key == "state":
            words += [word for name, given in value.items() for word in (option, f"{name}={given}")]
        elif key == "settings":
            words += [each for word in value for each in ("--set", word)]
        elif value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return shlex.join(words)


def _wait(
    serving: native.Serving | processes.Serving,
    control: native.Control,
    spec: str,
    stop: threading.Event | None,
    watch: Watch | None,
) -> dict[str, Any]:
    results: list[str] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(serving.serve(spec))
        # A panic of the native module is not an Exception, and an error in a thread reaches nobody.
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ended = False
    while not ended:
        try:
            while not results and not failures:
                if stop is not None and stop.is_set():
                    control.cancel()
                _look(serving, control, watch)
                time.sleep(_LOOK_SECONDS)
            ended = True
        except KeyboardInterrupt:
            # The way in which it is meant to end, wherever in the loop it comes.
            control.cancel()
        except BaseException:
            # What clients have written is made safe, whatever the one who watches has come to.
            control.cancel()
            thread.join()
            raise
    if failures:
        raise failures[0]
    document: dict[str, Any] = json.loads(results[0])
    return document


def _look(
    serving: native.Serving | processes.Serving, control: native.Control, watch: Watch | None
) -> None:
    if watch is not None:
        found = serving.look()
        watch(control.phase(), None if found is None else json.loads(found))
