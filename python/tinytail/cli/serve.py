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
from tinytail.cli.flags import JsonPath
from tinytail.cli.function import Given, command_of
from tinytail.files.text import json_text
from tinytail.server.view import served_view
from tinytail.terminal.console import (
    checked_output,
    console_beside,
    print_error,
    stderr,
    write_output,
)


@command_of(server.serve, dilate=Annotated[float, Parameter(validator=Number(gte=1))])
def serve(given: Given, *, json: JsonPath = None) -> int:
    """Serve a drive as a real block device whose every I/O completes when the model says so.

    Clients speak NBD. Ctrl-C or SIGTERM ends it; then it tells how late completions left, and
    whether the figures that clients have measured can be trusted.
    """
    server.check_files(given, given["log"], json)
    output = checked_output(json)
    console = console_beside(output)
    no_delay = given["no_delay"]
    what = f"{given['design']} on {given['device']}"
    with _watcher(console, what, no_delay=no_delay) as watch:
        summary = server.serve(**given, watch=watch).to_dict()
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
    words = [units.counted(found["clients"], "client"), f"{late['count']:,} done"]
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
