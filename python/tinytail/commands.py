"""The commands of `tinytail`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter
from cyclopts.validators import Number

from tinytail import bench as benches
from tinytail import conflicts, engine, imaging
from tinytail.analyzing import analyze
from tinytail.arguments import state_from_words
from tinytail.certifying.command import certify_act
from tinytail.cli import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.comparing import WINDOWS, WINDOWS_MAX, Plan, execute
from tinytail.engine import STARVED_AFTER_S, STARVED_AFTER_S_MAX, Description, Entry
from tinytail.errors import OutputError, RunError, TinytailError, UsageError
from tinytail.explaining.command import explain
from tinytail.flags import JsonPath, PositiveOrNone, Seed, TraceFlags, TransformOptions
from tinytail.keeping import STORIES_MAX, stories_wanted
from tinytail.output import (
    JsonOutput,
    checked_output,
    console_beside,
    discard_output,
    json_text,
    print_error,
    show_results,
    stderr,
    stdout,
    write_output,
)
from tinytail.progress import reporter
from tinytail.reading import read_results
from tinytail.render import (
    bench_view,
    claims_view,
    comparison_view,
    description_view,
    entries_view,
    facts_view,
)
from tinytail.reporting import Pictures
from tinytail.results import Comparison
from tinytail.serving import bench as serving_bench
from tinytail.serving.command import serve
from tinytail.tracing import NOTHING_SAID
from tinytail.transforms import Transform
from tinytail.verify_command import verify

app = App(
    name="tinytail",
    help="A laboratory for the tail latency of solid-state drives.",
    help_epilogue=(
        "Exit codes: 0 all went well; 1 a run failed or its results could not be written; "
        "2 bad input (arguments, configuration or files); 130 interrupted."
    ),
    version=engine.version,
    default_parameter=Parameter(negative=()),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
trace = App(name="trace", help="Look into block I/O traces, and write them.")
image = App(name="image", help="Make images of aged drives, and look into them.")
config = App(name="config", help="Check configuration files.")
certify = App(name="certify", help="Rate drives as a certification test does.")
app.command(trace)
app.command(image)
app.command(config)
app.command(analyze)
app.command(verify)
app.command(certify)
certify.command(certify_act, name="act", usage="Usage: tinytail certify act [DESIGN...] [OPTIONS]")
app.command(explain, usage="Usage: tinytail explain DIR [OPTIONS]")
app.command(
    serve,
    usage="Usage: tinytail serve --device D --design X --nbd unix:PATH|tcp:HOST:PORT [OPTIONS]",
)


@app.command(usage="Usage: tinytail compare DESIGN... --device D --workload W [OPTIONS]")
def compare(
    designs: Annotated[list[str], Parameter(name="DESIGN")],
    /,
    *,
    device: str,
    workload: str,
    requests: PositiveOrNone = None,
    seed: Seed = 1,
    jobs: PositiveOrNone = None,
    json: JsonPath = None,
    verify: bool = False,
    reference: str | None = None,
    state: list[str] | None = None,
    image: str | None = None,
    log: str | None = None,
    report: str | None = None,
    figures: str | None = None,
    windows: Annotated[int, Parameter(validator=Number(gte=1, lte=WINDOWS_MAX))] = WINDOWS,
    out: str | None = None,
    stories: Annotated[int | None, Parameter(validator=Number(gte=0, lte=STORIES_MAX))] = None,
    timeline: str | None = None,
    timeline_window: str | None = None,
    no_warm_up: bool = False,
    starved_after_s: Annotated[
        int, Parameter(validator=Number(gte=1, lte=STARVED_AFTER_S_MAX))
    ] = STARVED_AFTER_S,
    trace: TraceFlags = NOTHING_SAID,
    transform: TransformOptions = Transform(),  # noqa: B008
) -> int:
    """Run designs on the same workload, side by side, on drives aged alike.

    Prints one table of latencies, each with its ratio to the reference, and where the slowest reads
    spent their time.

    Parameters
    ----------
    designs
        Designs to compare; overlays are added with plus signs, as in base+no-gc.
    device
        Name of a drive (see `tinytail devices`) or path of its file.
    workload
        Name of a workload (see `tinytail workloads`), path of its file or of a job file of fio
        (*.fio), or path of a trace.
    requests
        How many requests to run; all that the workload has if not given.
    seed
        Seed of whatever is random; the same seed gives the same results.
    jobs
        How many designs may run at once; as many as there are processors if not given, or
        fewer if no more fit into the memory that is free.
    json
        File for all results as JSON; - is standard output, and the table then goes to standard
        error.
    verify
        Check every read against what was last written there.
    reference
        The design that ratios are taken to; the first one if not given.
    state
        A value of the starting state that replaces the device's, as KEY=VALUE, such as
        live_percent=80; may be given several times.
    image
        An image to start from instead of ageing; see `tinytail image create`.
    log
        File for a log of every request, in Parquet. With several designs each puts its name before
        the file's ending; in a directory, each log is named after its design.
    report
        File for the results as one HTML page of pictures, tables and the whole configuration.
    figures
        Folder for figures for a paper, each as SVG and as PDF.
    windows
        The most windows that the series over time in the results may have.
    out
        Folder to keep everything in that `tinytail explain` needs: results, logs of every request
        and stories of the slowest. One with earlier results is replaced when all went well.
    stories
        Of how many of the slowest reads, and of how many writes, --out keeps stories; 1000 if not
        given.
    timeline
        File for a timeline that opens in Perfetto (ui.perfetto.dev), commonly ending in .pftrace.
        Several designs and directories as for the log.
    timeline_window
        The simulated time that the timeline is of, as FROM..TO, such as 2s..2.1s; all of the
        measured part if not given.
    no_warm_up
        Start to measure from the starting state itself, as `tinytail serve` does, instead of
        playing a trace once before, or a generator until it has filled the write buffer.
    starved_after_s
        Simulated seconds that a write may spend in the device. One that takes longer ends the run,
        with what was served until then: writes that get nowhere would have it go on for ever. Where
        bursts are more than a drive keeps up with, a backlog may last longer.
    transform
        What is done to the requests of a trace or a stand-in.
    """
    plan = Plan(
        designs=tuple(designs),
        device=device,
        workload=workload,
        requests=requests,
        seed=seed,
        jobs=jobs,
        verify=verify,
        reference=reference,
        state=state_from_words(state or []),
        image=image,
        trace=trace,
        log=log,
        windows=windows,
        out=out,
        stories=stories_wanted(stories, out),
        timeline=timeline,
        timeline_window=timeline_window,
        no_warm_up=no_warm_up,
        starved_after_s=starved_after_s,
        transform=transform,
    )
    plan.check([("--json", json), ("--report", report), ("--figures", figures)])
    output = checked_output(json)
    pictures = Pictures(report, figures)
    pictures.check()
    fit = plan.fit()
    if fit.note is not None:
        stderr().print(f"note: {fit.note}", soft_wrap=True, markup=False)
        plan = replace(plan, jobs=fit.jobs)
    with reporter(stderr()) as progress:
        comparison = execute(plan, progress)
    write_error = write_output(output, comparison.to_json)
    console = console_beside(output)
    console.print(comparison_view(comparison, console.width))
    errors = [] if write_error is None else [write_error]
    if comparison.out is not None and comparison.out.error is not None:
        errors.append(OutputError(comparison.out.error))
    return _report_outcome(comparison, errors + pictures.write(comparison))


@app.command(
    name="report",
    usage="Usage: tinytail report RESULTS [--report FILE] [--figures DIR]",
)
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
    comparison = read_results(results)
    pictures.check()
    errors = pictures.write(comparison)
    for error in errors:
        print_error(str(error))
    return RUN_FAILED if errors else OK


def _report_outcome(comparison: Comparison, write_errors: Sequence[OutputError]) -> int:
    designs_by_message: dict[str, list[str]] = {}
    for error in comparison.errors:
        designs_by_message.setdefault(error.message, []).append(error.design)
    for message, designs in designs_by_message.items():
        print_error(f"{', '.join(designs)}: {message}")
    for write_error in write_errors:
        print_error(str(write_error))
    if comparison.partial:
        return INTERRUPTED
    if any(error.kind in ("config", "workload") for error in comparison.errors):
        return BAD_INPUT
    return RUN_FAILED if comparison.errors or write_errors else OK


def _show(
    name: str | None,
    describe: Callable[[str], Description],
    list_all: Callable[[], list[Entry]],
) -> int:
    if name is None:
        stdout().print(entries_view(list_all()))
    else:
        stdout().print(description_view(describe(name)))
    return OK


@app.command
def devices(name: str | None = None, /) -> int:
    """List the drives, or show one with the source of each number.

    Parameters
    ----------
    name
        Name of a drive or path of its file.
    """
    return _show(name, engine.device, engine.devices)


@app.command
def designs(name: str | None = None, /) -> int:
    """List the designs and overlays, or show one, composed or not.

    Parameters
    ----------
    name
        Name of a design; overlays are added with plus signs, as in base+no-gc.
    """
    return _show(name, engine.design, engine.designs)


@app.command
def workloads(name: str | None = None, /, *, check: bool = False, seed: Seed = 1) -> int:
    """List the workloads, or show one.

    Parameters
    ----------
    name
        Name of a workload or path of its file.
    check
        Generate the stand-in and show whether it is what it claims to be.
    seed
        Seed of whatever is random, for the check.
    """
    if not check:
        return _show(name, engine.workload, engine.workloads)
    if name is None:
        raise UsageError("--check needs the name of a stand-in")
    claims = engine.workload_claims(name, seed=seed)
    stdout().print(claims_view(claims))
    broken = [claim.name for claim in claims if not claim.holds]
    if broken:
        print_error(f"{name} is not what it claims to be: {', '.join(broken)}")
        return RUN_FAILED
    return OK


@trace.command
def info(
    file: str,
    /,
    *,
    options: TraceFlags = NOTHING_SAID,
    transform: TransformOptions = Transform(),  # noqa: B008
    json: JsonPath = None,
) -> int:
    """Show the characteristics of a trace: format, size, mix, rate, span and locality.

    Parameters
    ----------
    file
        The trace, plain or compressed with zstd or gzip.
    transform
        What is done to the requests before they are measured.
    json
        File for the characteristics as JSON; - is standard output.
    """
    conflicts.check([("--json", json)], [("FILE", file), ("FILE", f"{file}.toml")])
    output = checked_output(json)
    return _show_facts(engine.describe_trace(file, options, transform), output)


def _show_facts(document: dict[str, Any], output: JsonOutput | None) -> int:
    shown = show_results(output, lambda: json_text(document), lambda _: facts_view(document))
    return OK if shown else RUN_FAILED


@trace.command
def convert(
    workload: Annotated[str, Parameter(name="IN")],
    output: Annotated[str, Parameter(name="OUT")],
    /,
    *,
    requests: PositiveOrNone = None,
    seed: Seed = 1,
    force: bool = False,
    options: TraceFlags = NOTHING_SAID,
    transform: TransformOptions = Transform(),  # noqa: B008
) -> int:
    """Write the requests of a trace, transformed or not, as a trace that needs no options.

    The lines are those of MQSim, in ns and sectors; a sidecar file beside the trace says so.

    Parameters
    ----------
    workload
        A trace, a workload file, or the name of an open-loop workload.
    output
        The trace to be written; compressed if its name ends in .zst or .gz.
    requests
        How many requests are written at most; all if not given.
    seed
        Seed of whatever is random.
    force
        Replace files that are there.
    transform
        What is done to the requests.
    """
    document = engine.convert_trace(
        workload, output, options, transform, requests=requests, seed=seed, force=force
    )
    stdout().print(facts_view(document))
    return OK


@image.command(
    name="create", usage="Usage: tinytail image create OUT --device D --design X [OPTIONS]"
)
def image_create(
    out: str,
    /,
    *,
    device: str,
    design: str,
    seed: Seed = 1,
    state: list[str] | None = None,
    workload: str | None = None,
    trace: TraceFlags = NOTHING_SAID,
) -> int:
    """Age a drive and write it to a file, from which `tinytail compare --image` starts.

    Parameters
    ----------
    out
        The file; one that is there is replaced.
    device
        Name of a drive (see `tinytail devices`) or path of its file.
    design
        Design whose layout the drive has; overlays are added with plus signs, as in base+no-gc.
    seed
        Seed of whatever is random; the same seed gives the same image.
    state
        A value of the starting state that replaces the device's, as KEY=VALUE, such as
        live_percent=80; may be given several times.
    workload
        A workload whose pages are mapped too, as they are when it is run without image.
    """
    with reporter(stderr()) as report:
        document = imaging.create_image(
            out,
            device=device,
            design=design,
            seed=seed,
            state=state_from_words(state or []),
            workload=workload,
            **trace.to_document(),
            progress=report,
        )
    stdout().print(facts_view(document))
    return OK


@image.command(name="info")
def image_info(file: str, /, *, json: JsonPath = None) -> int:
    """Show what an image holds, after a check of all its bytes.

    Parameters
    ----------
    file
        The image.
    json
        File for the same as JSON; - is standard output.
    """
    conflicts.check([("--json", json)], [("FILE", file)])
    return _show_facts(engine.image_info(file), checked_output(json))


@config.command
def check(file: str, /) -> int:
    """Check a device, design or workload file, or a job file of fio.

    Parameters
    ----------
    file
        The file.
    """
    kind = engine.config_check(file)
    stdout().print(f"{file}: a valid {kind} file", soft_wrap=True, markup=False)
    return OK


@config.command
def schema() -> int:
    """Print the JSON Schema of device, design and workload files."""
    JsonOutput("-").write(json_text(engine.config_schema()))
    return OK


@app.command(usage="Usage: tinytail reproduce [ROW...] [OPTIONS]")
def reproduce(
    rows: Annotated[list[str] | None, Parameter(name="ROW")] = None,
    /,
    *,
    tier: Literal["quick", "full"] = "quick",
    json: JsonPath = None,
    list_rows: Annotated[bool, Parameter(name="--list")] = False,
    figures: str | None = None,
    docs: str | None = None,
    trace: list[str] | None = None,
    jobs: PositiveOrNone = None,
    fresh: bool = False,
    kept: bool = False,
) -> int:
    """Hold the papers' numbers against runs: row by row, with a verdict and its cause.

    What has been run is kept under the user's cache folder and not run again while engine, data and
    traces are the same.

    Parameters
    ----------
    rows
        Rows by their names or what these begin with, as in ttflash, ttflash.table2 or
        ttflash.table2.dtrs.p99; all if none is named.
    tier
        quick leaves out what takes longer than seconds.
    json
        File for the results as JSON; - is standard output, and the table then goes to standard
        error.
    list_rows
        List the rows and run nothing.
    figures
        Folder to draw the papers' figures into.
    docs
        Folder for results.json, a page for each paper, and figures.
    trace
        The recording of one of a paper's workloads, to be played instead of its stand-in, as
        NAME=FILE, such as exchange=exchange.toml; may be given several times.
    jobs
        How many runs may go on at once; as many as there are processors if not given.
    fresh
        Run everything again.
    kept
        Judge by the runs that are kept from before, and make none that takes longer than a probe;
        rows that lack one are not run.
    """
    from tinytail.reproduction import command

    conflicts.check(
        [("--json", json), ("--docs", docs), ("--figures", figures)],
        [("--trace", word.partition("=")[2]) for word in trace or ()],
    )
    output = checked_output(json)
    chosen = command.Options(
        rows=tuple(rows or ()),
        tier=tier,
        figures=figures,
        docs=docs,
        traces=tuple(trace or ()),
        jobs=jobs,
        fresh=fresh,
        kept=kept,
    )
    if list_rows:
        return command.list_rows(chosen, output)
    return command.reproduce(chosen, output)


@app.command(usage="Usage: tinytail bench [CASE...] [OPTIONS]")
def bench(
    cases: Annotated[list[str] | None, Parameter(name="CASE")] = None,
    /,
    *,
    json: JsonPath = None,
) -> int:
    """Measure the simulator's own speed and memory.

    Parameters
    ----------
    cases
        Cases to run, one after the other; without any, those that are quick, and `serve` where fio
        is installed. By name alone run ageing, statistical-layout, image, drive-sizes and
        run-lengths.
    json
        File for the results as JSON; - is standard output, and the table then goes to standard
        error.
    """
    names = benches.check(cases or [])
    messages = stderr()
    missing = serving_bench.lacks()
    if not cases and missing is not None:
        messages.print(f"{serving_bench.NAME}: left out: {missing}", markup=False)
        names.remove(serving_bench.NAME)
    output = checked_output(json)
    done: list[dict[str, Any]] = []
    error: TinytailError | None = None
    interrupted = False
    try:
        for name in names:
            messages.print(f"{name}: running", markup=False)
            done.append(benches.run_apart(name))
    except TinytailError as failure:
        error = failure
    except KeyboardInterrupt:
        interrupted = True
    partial = len(done) < len(names)
    write_error = write_output(output, lambda: benches.to_json(done, partial=partial))
    console = console_beside(output)
    console.print(bench_view(done))
    if interrupted:
        console.print(f"PARTIAL: interrupted after {len(done)} of {len(names)} cases")
    for problem in (error, write_error):
        if problem is not None:
            print_error(str(problem))
    if interrupted:
        return INTERRUPTED
    return RUN_FAILED if error is not None or write_error is not None else OK


def run(arguments: Sequence[str]) -> int:
    """Runs a command line and returns its exit code.

    Args:
        arguments: the words after the program's name.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show "µ" shows something else instead of a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = app(list(arguments), console=stdout(), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        print_error(str(error))
        return BAD_INPUT
    except BrokenPipeError:
        discard_output()
        return OK
    except RunError as error:
        print_error(str(error))
        return RUN_FAILED
    except TinytailError as error:
        print_error(str(error))
        return BAD_INPUT
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        print_error(f"{error.strerror or error}{place}")
        return RUN_FAILED
    return code if isinstance(code, int) else OK
