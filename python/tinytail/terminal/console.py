"""Where results and messages go: the consoles, and JSON on standard output."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable
from typing import Any, cast

from rich import control
from rich.console import Console, RenderableType
from rich.text import Text

from tinytail.errors import OutputError
from tinytail.files.controls import VISIBLE
from tinytail.files.text import json_text
from tinytail.files.whole import FileOutput, cannot_write
from tinytail.terminal.table import facts_view

# Columns that are assumed where nobody says how many there are.
WIDTH_UNKNOWN = 80
# The name of the error handler by which characters that cannot be encoded are written in ASCII.
PLAINLY = "tinytail-plainly"
_PLAIN = str.maketrans("µ×–…≥≤±→·█▓▒░▞", "ux-~><~>.#=+:-")


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "replace").decode("ascii"), error.end


# What is shown on a console.
View = Callable[[Console], RenderableType]

codecs.register_error(PLAINLY, _plainly)
# Rich removes five control characters from each text that it is given, and lets a terminal obey the
# others. By its own table all of them become visible, from any input, before lines are wrapped.
cast("dict[int, str]", control._CONTROL_STRIP_TRANSLATE).update(VISIBLE)


class _QuietConsole(Console):
    """A console whose reader may leave early, as `head` does, without a word about it.

    What is left to do is still done: a closed pipe is not a reason to lose a results file.
    """

    def on_broken_pipe(self) -> None:
        """Sends everything that follows nowhere."""
        self.quiet = True
        discard_output()


def discard_output() -> None:
    """Points standard output to nowhere, so that nothing fails when the interpreter flushes it."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def stdout() -> Console:
    """A console on standard output."""
    return _console(stderr=False)


def stderr() -> Console:
    """A console on standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    # Rich leaves bold and dim in when NO_COLOR is set; without a colour system it leaves out all.
    plain = bool(os.environ.get("NO_COLOR"))
    # Some shells say that there are 0 columns where they do not know; Rich would show nothing.
    unknown = os.environ.get("COLUMNS", "").strip("0") == "" and "COLUMNS" in os.environ
    return _QuietConsole(
        stderr=stderr,
        highlight=False,
        color_system=None if plain else "auto",
        width=WIDTH_UNKNOWN if unknown else None,
    )


def plain_text(view: RenderableType, width: int) -> str:
    """What a console of so many columns would show, without colours."""
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(view)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_error(message: str) -> None:
    """Tells the user what is wrong. The message is not wrapped, so that paths can be copied."""
    stderr().print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


class JsonOutput:
    """The file named by `--json`; `-` is standard output."""

    def __init__(self, path: str) -> None:
        self.is_stdout = path == "-"
        self._file = FileOutput(path, "--json")

    def check(self) -> None:
        """Makes sure, before anything runs, that the results can be written.

        Raises:
            OutputError: they cannot.
        """
        if not self.is_stdout:
            self._file.check()
        elif sys.__stdout__ is None:
            raise cannot_write("standard output", OSError(0, "it is closed"))

    def write(self, text: str) -> None:
        """Writes the results; see `FileOutput.write`.

        Raises:
            OutputError: they cannot be written. A file that was there before is unaltered.
        """
        if not self.is_stdout:
            self._file.write(text.encode())
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output()
        except OSError as error:
            raise cannot_write("standard output", error) from error


def checked_output(path: str | None) -> JsonOutput | None:
    """Where JSON goes, if it is wanted.

    Raises:
        OutputError: it cannot be written there.
    """
    if path is None:
        return None
    output = JsonOutput(path)
    output.check()
    return output


def write_output(output: JsonOutput | None, text: Callable[[], str]) -> OutputError | None:
    """Writes results, if wanted; an error is returned, so that they are still shown."""
    if output is None:
        return None
    try:
        output.write(text())
    except OutputError as error:
        return error
    return None


def tell(output: JsonOutput | None, text: Callable[[], str], *views: View) -> list[OutputError]:
    """Shows results, and then writes them if wanted: who reads them there may be slow.

    Whatever of it fails, the rest is done. Returns what could not be shown or written.
    """
    console = console_beside(output)
    errors = []
    try:
        for view in views:
            console.print(view(console))
    except OSError as error:
        errors.append(cannot_write(f"standard {'error' if console.stderr else 'output'}", error))
        if not console.stderr:
            discard_output()
    problem = write_output(output, text)
    return errors if problem is None else [*errors, problem]


def show_results(output: JsonOutput | None, text: Callable[[], str], view: View) -> bool:
    """Shows results unless they go to standard output, and writes them if wanted.

    Returns:
        Whether that could be done; if not, the error has been told.
    """
    errors = tell(output, text, *([] if output is not None and output.is_stdout else [view]))
    for error in errors:
        print_error(str(error))
    return not errors


def console_beside(output: JsonOutput | None) -> Console:
    """Where results are shown that must be seen: standard output, unless JSON goes there."""
    return stderr() if output is not None and output.is_stdout else stdout()


def show_facts(output: JsonOutput | None, document: dict[str, Any]) -> bool:
    """Shows facts, one a line, or writes them as JSON; see `show_results`."""
    return show_results(output, lambda: json_text(document), lambda _: facts_view(document))
