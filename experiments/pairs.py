"""What every two techniques of the four papers do together: each pair, played and told of.

What the pairs are stands in experiments/pairs/pairs.toml. The command makes the runs that FOLDER
does not have yet, on all processors, and goes on where it was interrupted. It then writes
FOLDER/pairs.md, a row for each pair, and FOLDER/results.json, and prints the summary that
evidence/pairs.md is. It takes about half an hour of one processor. From the root of a checkout that
is built:

    TINYTAIL_TRACES=../shared/traces .venv/bin/python experiments/pairs.py FOLDER > summary.md
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import tinytail
from tinytail.cli.codes import BAD_INPUT, INTERRUPTED, OK, RUN_FAILED
from tinytail.comparison.plan import Plan
from tinytail.comparison.result import DesignResult
from tinytail.engine import catalog, native
from tinytail.engine.jobs import Job, Runner, cpu_count
from tinytail.errors import kind_of
from tinytail.files.text import json_text
from tinytail.reproduction import sources
from tinytail.reproduction.store import Store
from tinytail.terminal.console import stderr
from tinytail.terminal.progress import reporter

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "experiments" / "pairs"
# What the papers compare their techniques with.
COMPARATORS = {"CC", "CH"}
LOADS = ("DTRS", "saturating")
# Each ages the drive otherwise, and draws another saturating load.
SEEDS = (1, 2, 3)
# Lines of the lists of the most and the least.
LISTED = 3
WIDTH = 118
# Gains and losses below are none.
SAME_PERCENT = 5
WORDS = {
    "yes": "independent",
    "x": "exclusive",
    "R": "required",
    "0": "no benefit",
    ">": "limit case",
}


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique: what it consists of, and what shows that it acts.

    `brings` are those of its `parts` that are no part of the technique, such as another order.
    """

    code: str
    name: str
    source: str
    parts: tuple[str, ...]
    needs: tuple[str, ...]
    brings: tuple[str, ...]
    counters: tuple[str, ...]
    shifts: tuple[str, ...]
    attribution: tuple[str, ...]
    holds: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two techniques.

    `outcome` is `legal`; `error` where the composition is refused; or `nothing` where one of them,
    `adds_nothing`, changes nothing beside the other. What is refused may be `missing`: nothing
    speaks against it, but it is not implemented.
    """

    first: str
    second: str
    symbol: str
    outcome: str
    meaning: str
    reason: str
    adds_nothing: str | None
    limit: dict[str, str] | None
    missing: bool

    @property
    def codes(self) -> tuple[str, str]:
        """Both."""
        return self.first, self.second

    @property
    def kind(self) -> str:
        """The symbol in words."""
        return WORDS.get(self.symbol, f"conditional ({self.symbol})")


class Catalog:
    """Techniques and pairs, as pairs.toml has them."""

    def __init__(self, path: Path = FOLDER / "pairs.toml") -> None:
        document = tomllib.loads(path.read_text("utf-8"))
        self.files: dict[str, str] = {
            key: document[key] for key in ("plain", "tiny", "tiny_load", "drive", "saturating")
        }
        self.techniques: dict[str, Technique] = {}
        for code, entry in document["techniques"].items():
            fields: dict[str, Any] = {
                key: tuple(entry.pop(key, ()))
                for key in ("parts", "needs", "brings", "counters", "shifts", "attribution")
            }
            # What is left over is a name, a source, and nothing that is not known.
            self.techniques[code] = Technique(code=code, **({"holds": ""} | fields | entry))
        self.merges: list[dict[str, Any]] = document["merges"]
        self.order: list[str] = document["matrix"]["order"]
        symbols = self._symbols(document["matrix"]["rows"])
        meanings = self._spread(document["meanings"], "text")
        decisions = self._spread(document["decisions"], "outcome")
        self.pairs = []
        for codes, symbol in symbols.items():
            decided = decisions.pop(codes, {})
            held = self.techniques[codes[0]].holds
            text = meanings.pop(codes)["text"].format(a=codes[0], b=codes[1], held=held)
            outcome = decided.get("outcome", "error" if symbol == "x" else "legal")
            nothing, limit = decided.get("adds_nothing"), decided.get("limit")
            reason, missing = decided.get("reason", ""), decided.get("missing", False)
            self.pairs.append(Pair(*codes, symbol, outcome, text, reason, nothing, limit, missing))
        if meanings or decisions:
            message = f"said of pairs that there are not: {sorted([*meanings, *decisions])}"
            raise ValueError(message)

    def _symbols(self, rows: str) -> dict[tuple[str, str], str]:
        symbols: dict[tuple[str, str], str] = {}
        for place, line in enumerate(rows.strip().splitlines()):
            code, *row = line.split()
            if code != self.order[place] or len(row) != len(self.order) - place - 1:
                message = f"the line of {code} in the matrix"
                raise ValueError(message)
            symbols |= {
                (code, other): symbol
                for other, symbol in zip(self.order[place + 1 :], row, strict=True)
            }
        return symbols

    def _spread(
        self, entries: list[dict[str, Any]], key: str
    ) -> dict[tuple[str, str], dict[str, Any]]:
        """An entry for each pair that it is about."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for entry in entries:
            left, right = (side.split(",") for side in entry["pairs"].split(" x "))
            for codes in itertools.product(left, right):
                first, second = sorted(codes, key=self.order.index)
                if first == second or (left == right and (first, second) in found):
                    continue
                if (first, second) in found:
                    message = f"{key} of {first} and {second} is said twice"
                    raise ValueError(message)
                found[first, second] = entry
        return found

    def closure(self, codes: Iterable[str]) -> set[str]:
        """Techniques and all that they need."""
        found: set[str] = set()
        waiting = list(codes)
        while waiting:
            code = waiting.pop()
            if code not in found:
                found.add(code)
                waiting += self.techniques[code].needs
        return found

    def brought(self, pair: Pair) -> tuple[str, ...]:
        """What the techniques of a pair bring, which is in all designs of the pair."""
        chosen = sorted(self.closure(pair.codes), key=self.order.index)
        return tuple(part for code in chosen for part in self.techniques[code].brings)

    def _merged(
        self, codes: Iterable[str], brought: Iterable[str] = ()
    ) -> tuple[list[str], set[str]]:
        """The overlays of techniques, and the techniques whose counters are hidden."""
        chosen = sorted(self.closure(codes), key=self.order.index)
        parts = [part for code in chosen for part in self.techniques[code].parts]
        parts += [part for part in brought if part not in parts]
        hidden: set[str] = set()
        for merge in self.merges:
            if set(merge["of"]) <= set(parts):
                place = parts.index(merge["of"][0])
                before = [part for part in parts[:place] if part not in merge["of"]]
                after = [part for part in parts[place:] if part not in merge["of"]]
                parts = [*before, merge["into"], *merge.get("more", ()), *after]
                hidden |= set(merge.get("hides", ()))
        return parts, hidden

    def composition(self, codes: Iterable[str], brought: Iterable[str] = ()) -> str:
        """The design with techniques and all that they need, by paths from the root."""
        parts = [self.files["plain"], *self._merged(codes, brought)[0]]
        return "+".join(located(part) if part.endswith(".toml") else part for part in parts)

    def counters(self, code: str, codes: Iterable[str]) -> tuple[str, ...]:
        """The counters that show a technique among others."""
        return () if code in self._merged(codes)[1] else self.techniques[code].counters

    def around(self, pair: Pair) -> set[str]:
        """What both of a pair need, without the two."""
        return self.closure(pair.codes) - set(pair.codes)

    def alone(self, pair: Pair, code: str) -> set[str] | None:
        """The techniques of a design with one of a pair; nothing if it needs the other."""
        (other,) = set(pair.codes) - {code}
        found = self.closure(self.around(pair) | {code})
        return None if other in found else found

    def sets(self, pair: Pair) -> list[set[str]]:
        """The techniques of each design of a pair: with neither, with each alone, with both."""
        if pair.outcome == "error":
            return []
        alone = [self.alone(pair, code) for code in pair.codes]
        found = [self.around(pair), *alone, self.closure(pair.codes)]
        return [codes for codes in found if codes is not None]

    def designs(self) -> list[str]:
        """Every design that a line of the page tells of, each once, in order."""
        found: dict[str, None] = {}
        for pair in self.pairs:
            brought = self.brought(pair)
            found |= {self.composition(codes, brought): None for codes in self.sets(pair)}
        return list(found)


def located(name: str) -> str:
    """A file of the pairs, from the repository's root."""
    return (FOLDER / name).relative_to(ROOT).as_posix()


def bare(composition: str) -> str:
    """A composition without the paths of its files."""
    return "+".join(Path(part).name.removesuffix(".toml") for part in composition.split("+"))


def refusal(design: str) -> str:
    """Why a composition is refused on a drive that carries every technique."""
    (fit,) = catalog.fits(located(Catalog().files["tiny"]), [design])
    if fit.refusal is None:
        message = f"{design} is not refused"
        raise RuntimeError(message)
    return fit.refusal.message


# Measuring


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run: a design under a load."""

    design: str
    load: str
    plan: Plan

    @property
    def name(self) -> str:
        """What progress and errors call it."""
        return f"{bare(self.design)} on {self.load}, seed {self.plan.seed}"

    def key(self) -> str:
        """By what its result is kept: all that the result depends on."""
        named = (*self.design.split("+"), self.plan.device, self.plan.workload)
        parts = [native.identity(), self.design, self.load, f"{self.plan.seed}"]
        parts += [Path(part).read_text("utf-8") for part in named if part.endswith(".toml")]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def run(self, control: native.Control, store: Store, commit: str) -> None:
        """Makes the run and keeps what came of it. One that was interrupted is not kept."""
        result = DesignResult.from_dict(native.run(self.plan.run_spec(self.design), control))
        if not result.interrupted:
            store.put(self.key(), _outcome(result) | {"commit": commit})


def _outcome(result: DesignResult) -> dict[str, Any]:
    # What it served before a write got nowhere is no measure of it.
    if result.stuck is not None:
        return {"stuck": True}
    kinds = {"read": result.read, "write": result.write}
    return {
        **{kind: {"count": of.count, "p999_us": of.p999_us} for kind, of in kinds.items()},
        "write_amplification": result.write_amplification,
        "gcs": result.gc_count,
        "event_hash": result.event_hash,
        "stuck": False,
    }


def wanted(catalog: Catalog) -> list[Wanted]:
    """All runs that the page tells of."""
    device = located(catalog.files["drive"])
    fold = tinytail.Transform(fit="fold")
    found = []
    for seed, design in itertools.product(SEEDS, catalog.designs()):
        dtrs = Plan((design,), device, "dtrs", transform=fold, seed=seed)
        saturating = Plan((design,), device, located(catalog.files["saturating"]), seed=seed)
        found += [Wanted(design, "DTRS", dtrs), Wanted(design, "saturating", saturating)]
    return found


def measure(runs: Sequence[Wanted], store: Store) -> tuple[list[str], bool]:
    """Makes the runs that are not kept yet, and keeps each as soon as it is there.

    Returns:
        What went wrong, and whether it came to its end without Ctrl-C.
    """
    commit = sources.commit()
    runner = Runner(cpu_count())
    for each in runs:
        if store.get(each.key(), dict) is None:
            control = native.Control()
            runner.add(Job(each.name, partial(each.run, control, store, commit), control))
    with reporter(stderr()) as progress:
        finished = runner.run(lambda: progress([runner.progress("pairs")]))
    faults = [(job.name, job.error) for job in runner.jobs if job.error is not None]
    return [f"{name}: {kind_of(error)[1]}" for name, error in faults], finished


def gathered(catalog: Catalog, runs: Sequence[Wanted], store: Store) -> dict[str, Any]:
    """What is kept of the runs, by design and load one of each seed, and why pairs are refused."""
    refused = [pair.codes for pair in catalog.pairs if pair.outcome == "error"]
    errors = {"+".join(codes): refusal(catalog.composition(codes)) for codes in refused}
    bared = {codes: why.replace(f"{located('')}/", "") for codes, why in errors.items()}
    found: dict[str, Any] = {"errors": bared, "runs": {}}
    for each in runs:
        run = store.get(each.key(), dict)
        if run is not None:
            loads = found["runs"].setdefault(bare(each.design), {})
            loads.setdefault(each.load, []).append(run)
    return found


# The page


def _ms(us: float | None) -> str:
    if us is None or math.isinf(us):
        return "-" if us is None else "∞"
    ms = us / 1000
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def gain(ours: float, theirs: float) -> float | None:
    """How many times shorter a latency is than another; nothing where one of them has no end."""
    return None if math.isinf(ours) or math.isinf(theirs) else theirs / ours


Seeded = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured of a pair on one load, of reads or of writes: p99.9 of each seed, in us."""

    neither: Seeded
    first: Seeded | None
    second: Seeded | None
    both: Seeded

    @property
    def figures(self) -> str:
        """The four, in milliseconds: the middle one of the seeds."""
        found = (self.neither, self.first, self.second, self.both)
        return " / ".join(_ms(median(of) if of else None) for of in found)

    @property
    def gains(self) -> tuple[float | None, ...]:
        """How many times shorter it is with both than with neither, of each seed."""
        return tuple(map(gain, self.both, self.neither))

    @property
    def gains_beyond(self) -> tuple[float | None, ...]:
        """How many times shorter it is with both than with the better one alone."""
        alone = [figures for figures in (self.first, self.second) if figures is not None]
        better = map(min, zip(*alone, strict=True))
        return tuple(map(gain, self.both, better)) if alone else ()


def p999(kept: dict[str, Any], design: str, load: str, kind: str) -> Seeded | None:
    """The 99.9th percentile of each seed in us; infinite where it got stuck, None where not run."""
    runs = kept["runs"].get(bare(design), {}).get(load, ())
    return tuple(math.inf if run["stuck"] else float(run[kind]["p999_us"]) for run in runs) or None


def line(catalog: Catalog, kept: dict[str, Any], pair: Pair, load: str, kind: str) -> Line | None:
    """What was measured of a pair."""

    def figure(codes: Iterable[str] | None) -> Seeded | None:
        if codes is None:
            return None
        return p999(kept, catalog.composition(codes, brought), load, kind)

    brought = catalog.brought(pair)
    neither, both = figure(catalog.around(pair)), figure(catalog.closure(pair.codes))
    if neither is None or both is None:
        return None
    first, second = (figure(catalog.alone(pair, code)) for code in pair.codes)
    return Line(neither, first, second, both)


def _times(gains: Sequence[float | None]) -> str:
    """The least and the largest gain of the seeds."""
    known = [times for times in gains if times is not None]
    if not known:
        return "-"
    shown = [f"{times:.2f}" if times >= 0.1 else f"{times:.1g}" for times in sorted(known)]
    return shown[0] if shown[0] == shown[-1] else f"{shown[0]} to {shown[-1]}"


def _rows(catalog: Catalog, kept: dict[str, Any], code: str) -> Iterator[str]:
    for pair in (pair for pair in catalog.pairs if pair.first == code):
        start = f"| {pair.first} + {pair.second} | {pair.kind} | "
        if pair.outcome == "error":
            why = f" {pair.reason}" if pair.reason else ""
            error = kept.get("errors", {}).get("+".join(pair.codes), "not measured")
            yield f"{start}{pair.meaning}{why} *Error:* {error} | | | | | |"
            continue
        cells = []
        for load, kind in (("DTRS", "read"), ("saturating", "read"), ("saturating", "write")):
            found = line(catalog, kept, pair, load, kind)
            cells.append(found.figures if found else "not measured")
            if kind == "read":
                gained = f"{_times(found.gains)} ({_times(found.gains_beyond)})" if found else ""
                cells.append(gained)
        reason = f" {pair.reason}" if pair.reason else ""
        yield f"{start}{pair.meaning}{reason} | {' | '.join(cells)} |"


def _legend(catalog: Catalog) -> str:
    lines = ["| code | technique | source | overlays |", "|---|---|---|---|"]
    for technique in catalog.techniques.values():
        names = " + ".join(f"`{part.removesuffix('.toml')}`" for part in technique.parts)
        needs = f", with {' and '.join(technique.needs)}" if technique.needs else ""
        lines.append(
            f"| {technique.code} | {technique.name} | {technique.source} | {names}{needs} |"
        )
    return "\n".join(lines) + "\n"


def page(catalog: Catalog, kept: dict[str, Any]) -> str:
    """Every pair: what it means, and what was measured."""
    parts = ["# Every pair of techniques\n"]
    parts.append(
        f"p99.9 in ms, the middle one of {len(SEEDS)} seeds, of a design with neither, with the\n"
        "first alone, with the second, and with both. What a technique needs or brings is in\n"
        "all four; where one is what the other needs, there is no such design (-). Gain is how\n"
        "many times shorter it is with both than with neither, and in brackets, than with the\n"
        "better one alone, from the least to the largest of the seeds. ∞ is a drive that cannot\n"
        "serve the load: a write got nowhere for 10 s of simulated time while others went on. The\n"
        "summary says how it was measured.\n"
    )
    parts.append(f"## Techniques\n\n{_legend(catalog)}")
    for code in catalog.order[:-1]:
        title = f"## {code}: {catalog.techniques[code].name}\n"
        header = (
            "| pair | matrix | what it means | reads, DTRS | gain | reads, saturating | gain "
            "| writes, saturating |\n|---|---|---|---|---|---|---|---|"
        )
        parts.append(f"{title}\n{header}\n" + "\n".join(_rows(catalog, kept, code)) + "\n")
    return "\n".join(parts)


# The summary


def counts(catalog: Catalog) -> str:
    """How many pairs run, and how many are refused."""
    found = Counter(pair.outcome for pair in catalog.pairs)
    missing = sum(pair.missing for pair in catalog.pairs)
    rows = {
        "run, and both techniques act": found["legal"],
        "run, and one adds nothing to the other": found["nothing"],
        "exclude each other, and are refused with both keys named": found["error"] - missing,
        "are not implemented, and refused in the same way": missing,
    }
    return "\n".join(
        ["| pairs that | |", "|---|--:|", *(f"| {k} | {v} |" for k, v in rows.items())]
    )


def _beyond(catalog: Catalog, kept: dict[str, Any], load: str) -> list[tuple[Pair, Line]]:
    """What was measured of reads, of each pair of which each runs alone."""
    found = []
    for pair in catalog.pairs:
        if pair.outcome != "legal" or COMPARATORS.intersection(pair.codes):
            continue
        measured = line(catalog, kept, pair, load, "read")
        if measured and None not in (measured.first, measured.second):
            found.append((pair, measured))
    return found


def verdict(measured: Line) -> str:
    """Whether a pair gains or loses beyond the better of the two with every seed."""
    border = 1 + SAME_PERCENT / 100
    found = set()
    for times, both in zip(measured.gains_beyond, measured.both, strict=True):
        if times is None:
            found.add("lose" if math.isinf(both) else "gain")
        else:
            found.add("gain" if times > border else "lose" if times < 1 / border else "same")
    return found.pop() if len(found) == 1 else "differ"


def _gains(catalog: Catalog, kept: dict[str, Any]) -> Iterator[str]:
    """How many pairs gain and lose."""
    yield f"| load | gain | within {SAME_PERCENT} % | lose | seeds differ |"
    yield "|---|--:|--:|--:|--:|"
    for load in LOADS:
        found = Counter(verdict(measured) for _, measured in _beyond(catalog, kept, load))
        cells = " | ".join(f"{found[each]}" for each in ("gain", "same", "lose", "differ"))
        yield f"| {load} | {cells} |"


def _extremes(catalog: Catalog, kept: dict[str, Any]) -> Iterator[str]:
    """The pairs whose reads gain most beyond the better of the two, and those that lose most.

    Of those that gain or lose with every seed.
    """
    yield "| load | pair | neither / first / second / both, ms | than the better one, times |"
    yield "|---|---|---|--:|"
    for load in LOADS:
        beyond = [
            (median(known), pair, measured)
            for pair, measured in _beyond(catalog, kept, load)
            if verdict(measured) in ("gain", "lose")
            and len(known := [times for times in measured.gains_beyond if times]) == len(SEEDS)
        ]
        beyond.sort(key=lambda entry: -entry[0])
        for _, pair, measured in (*beyond[:LISTED], *beyond[-LISTED:]):
            row = f"{pair.first} + {pair.second} | {measured.figures} "
            yield f"| {load} | {row}| {_times(measured.gains_beyond)} |"


def _controls(catalog: Catalog, kept: dict[str, Any]) -> Iterator[str]:
    """Techniques that bring something, beside what that does alone."""

    def cell(codes: Iterable[str], brought: Iterable[str], load: str) -> str:
        found = p999(kept, catalog.composition(codes, brought), load, "read")
        return _ms(median(found) if found else None)

    yield f"| technique | {' | '.join(f'{load}, ms' for load in LOADS)} |\n|---|--:|--:|"
    for code in catalog.order:
        chosen = sorted(catalog.closure([code]), key=catalog.order.index)
        brought = [part for each in chosen for part in catalog.techniques[each].brings]
        if brought:
            nothing: list[str] = []
            designs = ((nothing, nothing), (nothing, brought), (chosen, brought))
            found = [[cell(*design, load) for design in designs] for load in LOADS]
            yield f"| {code} | {' | '.join(' / '.join(cells) for cells in found)} |"


def summary(catalog: Catalog, kept: dict[str, Any]) -> str:
    """The page that the repository keeps."""
    runs = [run for loads in kept["runs"].values() for seeds in loads.values() for run in seeds]
    codes = (f"{each.code} {each.name}" for each in catalog.techniques.values())
    made = {
        "COMMIT": " and ".join(sorted({run["commit"] for run in runs})),
        "RUNS": f"{len(runs)}",
        "SEEDS": f"{len(SEEDS)}",
        "COUNTS": counts(catalog),
        "CODES": textwrap.fill(", ".join(codes), WIDTH, break_on_hyphens=False),
        "GAINS": "\n".join(_gains(catalog, kept)),
        "EXTREMES": "\n".join(_extremes(catalog, kept)),
        "CONTROLS": "\n".join(_controls(catalog, kept)),
    }
    text = (FOLDER / "summary.md").read_text("utf-8")
    for name, value in made.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def main(arguments: list[str]) -> int:
    """Measures what is missing, writes the full results and prints the summary."""
    if len(arguments) != 1:
        sys.stderr.write("usage: experiments/pairs.py FOLDER\n")
        return BAD_INPUT
    folder = Path(arguments[0])
    store = Store(folder / "runs")
    catalog = Catalog()
    runs = wanted(catalog)
    faults, finished = measure(runs, store)
    if not finished:
        sys.stderr.write("interrupted: the same command goes on from here\n")
        return INTERRUPTED
    for fault in faults:
        sys.stderr.write(f"error: {fault}\n")
    if faults:
        return RUN_FAILED
    found = gathered(catalog, runs, store)
    (folder / "results.json").write_text(json_text(found), "utf-8")
    (folder / "pairs.md").write_text(page(catalog, found), "utf-8")
    sys.stdout.write(summary(catalog, found))
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
