"""Whether the engine still does what it did when the kept results were made.

evidence/reproduction has what the runs of the papers' rows did, and the hash of their events. This
makes runs again and compares. Which ones follows from the evidence: the cheapest, until each
technique in it was in two of different experiments. `make test` makes those that take seconds
(tests/python/project/test_kept_hashes.py); the other drives are the papers' own.

    .venv/bin/python experiments/kept_hashes.py [--small] [--list] [--record] [PATTERN ...]

Patterns such as 'gcpar/*/*ideal-gc' name runs by paper, experiment and design, in the place of
the sample; '*' means all. What plays a recorded trace is left out without TINYTAIL_TRACES, and says
so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tinytail.engine import catalog
from tinytail.reproduction.lab import Lab
from tinytail.reproduction.paper_files import papers
from tinytail.reproduction.prepare import TRACES, Unavailable
from tinytail.reproduction.records import Experiment, Paper
from tinytail.reproduction.session import facts
from tinytail.reproduction.store import Store
from tinytail.terminal.console import stderr
from tinytail.terminal.progress import reporter

EVIDENCE = Path(__file__).parent.parent / "evidence" / "reproduction"
# Experiments that each technique is in, if it is in as many.
EXPERIMENTS_OF_EACH = 2
# Of a run that `make test` makes, in seconds of CPU time.
SMALL_COST_S = 2.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that is kept.

    `facts` is what `file` says of it, with its hash in `line`. `techniques` are its drive, the
    parts of its design and every choice in words that it makes, in its design and starting state.
    """

    paper: Paper
    experiment: Experiment
    facts: Mapping[str, Any]
    file: Path
    line: int
    techniques: frozenset[str]

    @property
    def name(self) -> str:
        """What patterns name it by."""
        return f"{self.paper.name}/{self.experiment.name}/{self.facts['design']}"

    @property
    def recording(self) -> str | None:
        """The recorded workload that it plays, if it does."""
        workload = self.experiment.workload
        is_real = self.facts["input"] == "real" and isinstance(workload, str)
        return str(workload).removeprefix("@") if is_real else None

    def recorded(self) -> str:
        """The commit that brought the hash."""
        where = ["-L", f"{self.line},{self.line}", "--porcelain", "--", self.file.name]
        blame = ["git", "-C", str(self.file.parent), "blame", *where]
        told = subprocess.run(blame, capture_output=True, text=True, check=False).stdout
        summary = [line for line in told.splitlines() if line.startswith("summary ")]
        if not summary:
            return "a commit that is not known"
        return f"{told[:12]} ({summary[0].removeprefix('summary ')})"


def kept(folder: Path = EVIDENCE) -> list[Kept]:
    """All runs of the evidence."""
    found = []
    for paper in papers():
        file = folder / paper.name / "results.json"
        text = file.read_text("utf-8")
        lines = enumerate(text.splitlines(), start=1)
        hashes = [number for number, line in lines if line.lstrip().startswith('"event_hash"')]
        # It prepares files of overlays, and makes no runs.
        with Lab(paper, "full", Store(folder)) as lab:
            for run, line in zip(json.loads(text)["runs"], hashes, strict=True):
                experiment = paper.experiments[run["experiment"]]
                composition = lab.composition(experiment.name, run["design"])
                parts = [part for part in run["design"].split("+") if not part.startswith("@")]
                told = [
                    (f"[{s.section}] {s.key}", s.value)
                    for s in catalog.describe_design(composition).settings
                ]
                told += [(f"[state] {key}", str(value)) for key, value in experiment.state.items()]
                techniques = {f"on {run['device']}", *parts}
                techniques |= {f"{key} = {value}" for key, value in told if not _is_number(value)}
                found.append(Kept(paper, experiment, run, file, line, frozenset(techniques)))
    return found


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def sample(runs: Iterable[Kept]) -> list[Kept]:
    """The cheapest runs, until each technique is in two of different experiments if it ever is.

    Runs of recorded traces come last: they need what not everybody has.
    """
    seen: dict[str, set[str]] = defaultdict(set)
    chosen = []
    for run in sorted(runs, key=lambda run: (run.recording is not None, run.experiment.cost_s)):
        of = [seen[technique] for technique in run.techniques]
        name = run.experiment.name
        if any(len(names) < EXPERIMENTS_OF_EACH and name not in names for names in of):
            chosen.append(run)
            for names in of:
                names.add(name)
    return chosen


def small(runs: Iterable[Kept]) -> list[Kept]:
    """Those that take seconds."""
    return [run for run in runs if run.experiment.cost_s <= SMALL_COST_S]


@dataclass(frozen=True, slots=True)
class Again:
    """What came of a run: its facts, or why there are none.

    `lacks` is what is missing to make it.
    """

    run: Kept
    facts: Mapping[str, Any] | None = None
    failure: str = ""
    lacks: str = ""

    @property
    def same_hash(self) -> bool:
        """Whether all events are those that were kept."""
        return self.facts is not None and self.facts["event_hash"] == self.run.facts["event_hash"]

    @property
    def other_figures(self) -> list[str]:
        """The kept figures that are others now."""
        now = {} if self.facts is None else self.facts
        was = {key: value for key, value in self.run.facts.items() if not isinstance(value, str)}
        return [key for key, value in was.items() if key in now and now[key] != value]

    @property
    def difference(self) -> str | None:
        """What is not as it was, in words."""
        if self.lacks or (self.same_hash and not self.other_figures):
            return None
        was = f"kept by {self.run.recorded()}"
        if self.facts is None:
            return f"does not run any more, {was}: {self.failure}"
        figures = ", ".join(self.other_figures)
        if self.same_hash:
            return f"has the same events and other figures, {was}: the measuring changed: {figures}"
        changed = f"hash {self.run.facts['event_hash']}, {was}, is {self.facts['event_hash']} now"
        return f"{changed}; so are other figures: {figures}" if figures else changed


def make_again(runs: Sequence[Kept], *, shown: bool = False) -> Iterator[Again]:
    """Makes runs again, with nothing kept from before."""
    for paper in {run.paper.name: run.paper for run in runs}.values():
        of = [run for run in runs if run.paper is paper]
        designs: dict[str, list[str]] = defaultdict(list)
        for run in of:
            designs[run.experiment.name].append(run.facts["design"])
        wanted = {
            name: replace(paper.experiments[name], designs=tuple(chosen))
            for name, chosen in designs.items()
        }
        with (
            tempfile.TemporaryDirectory() as folder,
            Lab(replace(paper, experiments=wanted), "full", Store(Path(folder))) as lab,
        ):
            lacking = {run.experiment.name: _lacks(run, lab) for run in of}
            with reporter(stderr()) as report:
                there = [name for name, lacks in lacking.items() if not lacks]
                lab.make(there, report if shown else None)
            for run in of:
                yield _again(run, lab, lacking[run.experiment.name])


def _lacks(run: Kept, lab: Lab) -> str:
    if run.recording is None or not lab.inputs.is_stand_in(run.paper.traces[run.recording]):
        return ""
    return f"needs the recording {run.recording} in the folder that {TRACES} names"


def _again(run: Kept, lab: Lab, lacks: str) -> Again:
    if lacks:
        return Again(run, lacks=lacks)
    try:
        return Again(run, facts(lab.ending(run.experiment.name, run.facts["design"]).result))
    except Unavailable as error:
        return Again(run, failure=str(error))


def record(again: Iterable[Again]) -> int:
    """Writes the hashes of runs whose figures are as they were into the evidence."""
    written = 0
    for each in again:
        if each.facts is None or each.same_hash or each.other_figures:
            continue
        run = each.run
        lines = run.file.read_text("utf-8").split("\n")
        was, now = run.facts["event_hash"], each.facts["event_hash"]
        lines[run.line - 1] = lines[run.line - 1].replace(was, now)
        run.file.write_text("\n".join(lines), "utf-8")
        written += 1
    return written


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(words: Sequence[str]) -> int:
    """Makes runs again and says what differs. The exit code is 0 if nothing does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="runs instead of the sample")
    parser.add_argument("--small", action="store_true", help="only what takes seconds")
    parser.add_argument("--list", action="store_true", help="say which runs, and make none")
    about = "write changed hashes into the evidence where no figure changed"
    parser.add_argument("--record", action="store_true", help=about)
    given = parser.parse_args(words)
    every = kept()
    matching = [run for run in every if any(fnmatchcase(run.name, each) for each in given.patterns)]
    runs = matching if given.patterns else sample(every)
    runs = small(runs) if given.small else runs
    if given.list:
        covered = {technique for run in runs for technique in run.techniques}
        for run in runs:
            _say(f"{run.name}: {run.experiment.cost_s:g} s, {run.recorded()}")
        _say(f"{len(runs)} of {len(every)} runs, {len(covered)} techniques")
        return 0
    made = []
    for each in make_again(runs, shown=True):
        made.append(each)
        if each.lacks or each.difference:
            _say(f"{each.run.name}: {each.lacks or each.difference}")
    lacking = sum(bool(each.lacks) for each in made)
    same = sum(each.difference is None for each in made) - lacking
    _say(f"{same} of {len(made)} runs do the same; {lacking} were not made")
    if given.record:
        _say(f"{record(made)} hashes are written; where figures changed: tinytail reproduce --docs")
    return 0 if same and same + lacking == len(made) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
