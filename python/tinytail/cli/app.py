"""The commands of `tinytail`: each is imported when it is called for."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter

from tinytail.cli.codes import BAD_INPUT, MEANINGS, OK, RUN_FAILED
from tinytail.errors import RunError, TinytailError
from tinytail.terminal.console import PLAINLY, discard_output, print_error, stdout


def _version() -> str:
    from tinytail.engine import native

    return native.version()


app = App(
    name="tinytail",
    help="A laboratory for the tail latency of solid-state drives.",
    help_epilogue="Exit codes: "
    + "; ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items()),
    version=_version,
    version_flags=["--version", "-V"],
    version_format="plaintext",
    default_parameter=Parameter(negative=()),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
# Where each command is, and its usage if that has to be said.
_COMMANDS = {
    "compare": (
        "compare:compare",
        "compare [DESIGN...] --device D --workload W [OPTIONS]",
    ),
    "report": ("report:report_command", "report RESULTS [--report FILE] [--figures DIR]"),
    "diff": ("diff:diff", "diff BEFORE AFTER [OPTIONS]"),
    "devices": ("lists:devices", None),
    "designs": ("lists:designs", None),
    "workloads": ("lists:workloads", None),
    "trace": ("trace:trace", None),
    "image": ("image:image", None),
    "config": ("config:config", None),
    "completion": ("completion:completion", "completion bash|zsh|fish"),
    "analyze": ("analyze:analyze", None),
    "verify": ("verify:verify", None),
    "certify": ("certify:certify", None),
    "sweep": ("sweep:sweep", None),
    "search": ("search:search", "search SEARCH.toml [OPTIONS]"),
    "explain": ("explain:explain", "explain DIR [OPTIONS]"),
    "serve": (
        "serve:serve",
        "serve --device D --design X --nbd unix:PATH|tcp:HOST:PORT [OPTIONS]",
    ),
    "reproduce": ("reproduce:reproduce", "reproduce [ROW...] [OPTIONS]"),
    "bench": ("bench:bench", "bench [CASE...] [OPTIONS]"),
}
for _name, (_place, _usage) in _COMMANDS.items():
    _more = {} if _usage is None else {"usage": f"Usage: tinytail {_usage}"}
    app.command(f"tinytail.cli.{_place}", name=_name, **_more)


def _missing(error: MissingArgumentError) -> str:
    """Which option or argument is missing, or lacks its value, and what it is."""
    assert error.argument is not None
    assert error.app is not None
    name = error.argument.name
    what = "needs a value" if name in (error.root_input_tokens or ()) else "is missing"
    command = " ".join(("tinytail", *(error.command_chain or ())))
    described = error.app.assemble_argument_collection(parse_docstring=True)
    meanings = [each.parameter.help for each in described if each.name == name]
    meaning = " ".join((meanings[0] if meanings and meanings[0] else "see its help").split())
    return f"{name} {what}: {meaning.rstrip('.')} (`{command} --help` has more)"


def run(arguments: Sequence[str]) -> int:
    """Runs a command line and returns its exit code.

    Args:
        arguments: the words after the program's name.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show "µ" shows "u" instead of a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=PLAINLY)
    if not arguments or arguments[0] in app.help_flags:
        # Help shows what each command is for.
        app.resolved_commands()
    try:
        code = app(list(arguments), console=stdout(), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except MissingArgumentError as error:
        print_error(_missing(error))
        return BAD_INPUT
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
