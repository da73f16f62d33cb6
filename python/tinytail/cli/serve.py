"""The command `tinytail serve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console
from rich.live import Live
from rich.text import Text

from tinytail import server, units
from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.cli.flags import DesignName, DeviceName, JsonPath, Seed, SetWords
from tinytail.engine.arguments import state_from_words
from tinytail.files.text import json_text
from tinytail.server.view import served_view
from tinytail.terminal.console import (
    checked_output,
    console_beside,
    print_error,
    stderr,
    write_output,
)


def serve(
    *,
    device: DeviceName,
    design: DesignName,
    nbd: str,
    size: str | None = None,
    image: str | None = None,
    data: str | None = None,
    record: str | None = None,
    force: bool = False,
    log: str | None = None,
    seed: Seed = 1,
    state: list[str] | None = None,
    settings: SetWords = None,
    dilate: Annotated[float, Parameter(validator=Number(gte=1))] = 1.0,
    no_delay: bool = False,
    insecure: bool = False,
    client_memory: str | None = None,
    json: JsonPath = None,
) -> int:
    """Serve a drive as a real block device whose every I/O completes when the model says so.

    Clients speak NBD. Ctrl-C or SIGTERM ends it; then it tells how late completions left, and
    whether the figures that clients have measured can be trusted.

    Parameters
    ----------
    device
        Name of a drive (see `tinytail devices`) or path of its file.
    design
        Design of the drive; overlays are added with plus signs, as in base+no-gc.
    nbd
        Where to listen: unix:PATH or tcp:HOST:PORT. Without a host, tcp::PORT is the loopback.
        Others need --insecure.
    size
        What clients see, in bytes or such as 16G; all that a host can address if not given.
    image
        An image to start from instead of ageing; see `tinytail image create`.
    data
        File that holds the data, sparse, made if it is missing; in memory if not given.
    record
        File for a trace of the arriving I/O, which `tinytail compare` replays; compressed if its
        name ends in .zst or .gz.
    force
        Replace a recording that is there.
    log
        File for a log of every request, in Parquet, with its latency by the model.
    seed
        Seed of whatever is random.
    state
        A value of the starting state that replaces the device's, as KEY=VALUE, such as
        live_percent=80; may be given several times.
    settings
        A value that replaces one of the files of device and design, as SECTION.KEY=VALUE, such as
        gc.write_points=4; may be given several times.
    dilate
        How many times slower than the wall clock the drive's time passes, for a machine that is too
        slow.
    no_delay
        Nothing takes any time in the drive: what is left is what the machine itself takes.
    insecure
        Listen where other machines can reach the drive: whoever does can read and write it, without
        password and without encryption.
    client_memory
        What data of requests and replies may take, of all clients together, in bytes or such as
        256M, which it is if not given; at least 80M. Whoever finds no room waits.
    json
        File for the summary as JSON; - is standard output, and everything else then goes to
        standard error.
    """
    given = {"device": device, "design": design, "nbd": nbd, "image": image}
    server.check_files(given | {"data": data, "record": record}, log, json)
    output = checked_output(json)
    console = console_beside(output)
    with _watcher(console, f"{design} on {device}", no_delay=no_delay) as watch:
        summary = server.serve(
            device=device,
            design=design,
            nbd=nbd,
            size=size,
            image=image,
            data=data,
            record=record,
            force=force,
            log=log,
            seed=seed,
            state=state_from_words(state or []),
            settings=settings,
            dilate=dilate,
            no_delay=no_delay,
            insecure=insecure,
            client_memory=client_memory,
            watch=watch,
        )
    write_error = write_output(output, lambda: json_text(summary))
    console.print(served_view(summary, no_delay=no_delay))
    errors = [summary["error"], (summary["log"] or {}).get("error"), write_error]
    for error in filter(None, errors):
        print_error(str(error))
    return RUN_FAILED if any(errors) else OK


class _Watcher:
    """Says where clients find the drive, and on a terminal, in one line, how it stands."""

    def __init__(
        self,
        console: Console,
        messages: Console,
        line: Live | None,
        what: str,
        *,
        no_delay: bool,
    ) -> None:
        self._console = console
        self._messages = messages
        self._line = line
        self._what = what
        self._no_delay = no_delay
        self._phase: str | None = None
        self._announced = False
        self._described = 0

    def __call__(self, phase: str, found: dict[str, Any] | None) -> None:
        """Shows what is new since the last call."""
        if found is None:
            if phase != self._phase and phase != "reading":
                self._messages.print(f"{self._what}: {phase}", soft_wrap=True, markup=False)
            self._phase = phase
            return
        for note in found["notes"][self._described :]:
            self._messages.print(f"note: {note}", soft_wrap=True, markup=False)
        self._described = len(found["notes"])
        if not self._announced:
            self._announced = True
            where = found["place"]["uri"]
            self._console.print(f"{self._what}: serving at {where}", soft_wrap=True, markup=False)
            # Whoever waits for this line may read it from a pipe.
            self._console.file.flush()
        if self._line is not None:
            self._line.update(
                Text(_line(found, no_delay=self._no_delay), no_wrap=True, overflow="ellipsis"),
                refresh=True,
            )


def _line(found: dict[str, Any], *, no_delay: bool) -> str:
    late, invalid = found["lateness"]["all"], found["lateness"]["invalid"]
    clients = "1 client" if found["clients"] == 1 else f"{found['clients']} clients"
    words = [clients, f"{late['count']:,} done"]
    if late["count"] > 0:
        words += [
            f"late by {units.latency(late['p50_us'])} (median)",
            f"{units.latency(late['p99_us'])} (p99)",
            f"{units.latency(late['max_us'])} (max)",
        ]
        if not no_delay:
            words.append(f"{units.percent(late['late_percent'])} too late")
            words.append("INVALID" if invalid else "valid")
    return ", ".join(words)


@contextmanager
def _watcher(console: Console, what: str, *, no_delay: bool) -> Iterator[_Watcher]:
    messages = stderr()
    if not messages.is_terminal or messages.is_dumb_terminal:
        yield _Watcher(console, messages, None, what, no_delay=no_delay)
        return
    # Refreshed by hand: a thread of its own would take time from the one that serves.
    with Live(console=messages, auto_refresh=False, transient=True) as line:
        yield _Watcher(console, messages, line, what, no_delay=no_delay)
