"""A comparison as pictures: one HTML page to look at, and figures for a paper.

- `data.py`: what is drawn, as plain data, so that all show the same;
- `page.py`, `page.html.jinja`: the page, with plotly and Jinja;
- `paper.py`: figures as SVG and PDF, with matplotlib; `notebook.py`: what a notebook shows;
- `axes.py`: pictures on axes of one's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tinytail.engine import memory
from tinytail.errors import OutputError, RunError, TinytailError
from tinytail.files.whole import FileOutput, hidden
from tinytail.inputs.libraries import require

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison


# What drawing takes beside the program, of the address space: measured with four designs.
PAGE_BYTES = 64 << 20
FIGURES_BYTES = 224 << 20


class Pictures:
    """The pictures that are wanted of a comparison: a page, and a folder of figures for a paper."""

    def __init__(self, report: str | None = None, figures: str | None = None) -> None:
        self._page = None if report is None else FileOutput(report, "--report")
        self._figures = figures

    @property
    def size_bytes(self) -> int:
        """About how much memory drawing takes."""
        return PAGE_BYTES * (self._page is not None) + FIGURES_BYTES * (self._figures is not None)

    def check(self) -> None:
        """Makes sure, before anything runs, that the pictures can be made and written.

        Raises:
            UsageError: a library is missing; says what to install.
            OutputError: a place cannot be written to.
            ConfigError: the memory that is free is not enough.
        """
        memory.check_pictures(self.size_bytes)
        if self._page is not None:
            require("a report", "plotly", "jinja2")
            self._page.check()
        if self._figures is not None:
            check_figures(self._figures)

    def write(self, comparison: Comparison) -> list[TinytailError]:
        """Makes the pictures; returns what could not be written. Files are whole or as before."""
        errors: list[TinytailError] = []
        for make in (self._write_page, self._write_figures):
            try:
                with drawing():
                    make(comparison)
            except TinytailError as error:
                errors.append(error)
        return errors

    def _write_page(self, comparison: Comparison) -> None:
        if self._page is not None:
            from tinytail.pictures import page

            self._page.write(page.html(comparison).encode())

    def _write_figures(self, comparison: Comparison) -> None:
        if self._figures is not None:
            from tinytail.pictures import paper

            write_figures(self._figures, paper.draw(comparison))


@contextmanager
def drawing() -> Iterator[None]:
    """Whatever is drawn within: it may lack the memory for it.

    Raises:
        RunError: a library cannot be loaded or fails, as for want of memory.
    """
    try:
        yield
    except (ImportError, MemoryError, OSError, RuntimeError) as error:
        said = str(error) or "there is not enough memory"
        raise RunError(f"pictures cannot be drawn: {said}") from error


def check_figures(folder: str) -> None:
    """Makes sure that figures can be drawn and written to a folder.

    Raises:
        UsageError: a library is missing; says what to install.
        OutputError: the folder cannot be written to.
        ConfigError: the memory that is free is not enough.
    """
    memory.check_pictures(FIGURES_BYTES)
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
            if not path.absolute().parent.is_dir():
                raise FileNotFoundError(0, f"there is no directory {path.absolute().parent}")
            made = hidden(path.absolute(), "tmp")
            made.mkdir()
            made.rmdir()
        elif not path.is_dir():
            raise NotADirectoryError(0, "it is not a directory")
        else:
            made = hidden(path / "figure", "tmp")
            made.touch(exist_ok=False)
            made.unlink()
    except OSError as error:
        raise _no_figures(folder, error) from error


def _no_figures(folder: str, error: OSError) -> OutputError:
    name = folder or "the folder of --figures"
    return OutputError(f"cannot write figures to {name}: {error.strerror}")
