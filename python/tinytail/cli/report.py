"""The command `tinytail report`."""

from __future__ import annotations

from tinytail.cli.codes import OK, RUN_FAILED
from tinytail.comparison.read_json import read_results
from tinytail.errors import UsageError
from tinytail.inputs import conflicts
from tinytail.pictures import Pictures
from tinytail.terminal.console import print_error


def report_command(
    results: str,
    /,
    *,
    report: str | None = None,
    figures: str | None = None,
) -> int:
    """Make pictures of results that `tinytail compare --json` has written.

    Parameters
    ----------
    results
        The JSON file.
    report
        File for one HTML page of pictures, tables and the whole configuration.
    figures
        Folder for figures for a paper, each as SVG and as PDF.
    """
    if report is None and figures is None:
        raise UsageError("nothing to make: give --report FILE, --figures DIR or both")
    conflicts.check([("--report", report), ("--figures", figures)], [("RESULTS", results)])
    pictures = Pictures(report, figures)
    pictures.check()
    comparison = read_results(results)
    errors = pictures.write(comparison)
    for error in errors:
        print_error(str(error))
    return RUN_FAILED if errors else OK
