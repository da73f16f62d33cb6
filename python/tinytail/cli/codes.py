"""What the exit codes of the command `tinytail` mean."""

from __future__ import annotations

OK = 0
RUN_FAILED = 1
# Of `tinytail diff`, as of diff(1).
DIFFERENT = 1
BAD_INPUT = 2
INTERRUPTED = 130
# The one table of exit codes; docs/reference/results.md shows it.
MEANINGS = {
    OK: "all went well",
    RUN_FAILED: "a run failed or got stuck, a claim does not hold, what was made could not be "
    "written, or tinytail diff found a difference",
    BAD_INPUT: "bad input: arguments, configuration, traces, images, results, drives too large for "
    "the memory, and places that cannot be written to",
    INTERRUPTED: "interrupted by Ctrl-C, SIGTERM or SIGHUP, which is how serve ends well, with 0",
}
