"""A comparison as pictures: one HTML page to look at, and figures for a paper.

- `data.py`: what is drawn, as plain data, so that all show the same;
- `page.py`, `page.html.jinja`: the page, with plotly and Jinja;
- `paper.py`: figures as SVG and PDF, with matplotlib; `notebook.py`: what a notebook shows;
- `axes.py`: pictures on axes of one's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tinytail.errors import OutputError
from tinytail.files.whole import FileOutput
from tinytail.inputs.libraries import require

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures that are wanted of a comparison: a page, and a folder of figures for a paper."""

    report: str | None = None
    figures: str | None = None

    def check(self) -> None:
        """Makes sure, before anything runs, that the pictures can be made and written.

        Raises:
            UsageError: a library is missing; says what to install.
            OutputError: a place cannot be written to.
        """
        if self.report is not None:
            require("a report", "plotly", "jinja2")
            self._page(self.report).check()
        if self.figures is not None:
            check_figures(self.figures)

    def write(self, comparison: Comparison) -> list[OutputError]:
        """Makes the pictures; returns what could not be written. Files are whole or as before."""
        errors = []
        try:
            if self.report is not None:
                from tinytail.pictures import page

                self._page(self.report).write(page.html(comparison).encode())
        except OutputError as error:
            errors.append(error)
        try:
            if self.figures is not None:
                from tinytail.pictures import paper

                write_figures(self.figures, paper.draw(comparison))
        except OutputError as error:
            errors.append(error)
        return errors

    @staticmethod
    def _page(path: str) -> FileOutput:
        return FileOutput(path, "--report")


def check_figures(folder: str) -> None:
    """Makes sure that figures can be drawn and written to a folder.

    Raises:
        UsageError: a library is missing; says what to install.
        OutputError: the folder cannot be written to.
    """
    require("a figure", "matplotlib")
    _check_folder(folder)


def write_figures(folder: str, figures: Iterable[tuple[str, bytes]]) -> None:
    """Writes figures, by their files' names, to a folder, which is made if it is not there.

    Raises:
        OutputError: a figure could not be written.
    """
    path = Path(folder)
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise _no_figures(folder, error) from error
    for name, content in figures:
        FileOutput(str(path / name), "--figures").write(content)


def _check_folder(folder: str) -> None:
    path = Path(folder)
    try:
        if not folder:
            raise FileNotFoundError(0, "its name is empty")
        if not path.exists():
            path = path.absolute().parent
            if not path.is_dir():
                raise FileNotFoundError(0, f"there is no directory {path}")
        elif not path.is_dir():
            raise NotADirectoryError(0, "it is not a directory")
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(0, "the directory is read-only")
    except OSError as error:
        raise _no_figures(folder, error) from error


def _no_figures(folder: str, error: OSError) -> OutputError:
    name = folder or "the folder of --figures"
    return OutputError(f"cannot write figures to {name}: {error.strerror}")
