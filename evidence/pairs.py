"""Writes evidence/pairs.md: what every two techniques of the four papers do together.

What the pairs are stands in evidence/pairs/pairs.toml, what was measured in results.json beside it.
Measuring, which goes on where it was interrupted, and writing the page, from the root of the
repository:

    TINYTAIL_TRACES=../shared/traces .venv/bin/python evidence/pairs.py measure
    .venv/bin/python evidence/pairs.py
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "evidence" / "pairs"
PAGE = ROOT / "evidence" / "pairs.md"
RESULTS = FOLDER / "results.json"
# What the papers hold their techniques against.
COMPARATORS = {"CC", "CH"}
# Lines of the lists of the most and the least.
LISTED = 8
WORDS = {
    "yes": "independent",
    "x": "exclusive",
    "R": "required",
    "0": "no benefit",
    ">": "limit case",
}


@dataclass(frozen=True, slots=True)
class Technique:
    """A technique: what it consists of, and what shows that it acts."""

    code: str
    name: str
    source: str
    parts: tuple[str, ...]
    needs: tuple[str, ...]
    counters: tuple[str, ...]
    shifts: tuple[str, ...]
    blame: tuple[str, ...]
    holds: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two techniques.

    `outcome` is `legal`; `error` where the composition is refused; or `nothing` where one of them,
    `adds_nothing`, changes nothing beside the other.
    """

    first: str
    second: str
    symbol: str
    outcome: str
    meaning: str
    reason: str
    adds_nothing: str | None
    limit: dict[str, str] | None

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
                for key in ("parts", "needs", "counters", "shifts", "blame")
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
            reason = decided.get("reason", "")
            self.pairs.append(Pair(*codes, symbol, outcome, text, reason, nothing, limit))
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

    def _merged(self, codes: Iterable[str]) -> tuple[list[str], set[str]]:
        """The overlays of techniques, and the techniques whose counters are hidden."""
        chosen = sorted(self.closure(codes), key=self.order.index)
        parts = [part for code in chosen for part in self.techniques[code].parts]
        hidden: set[str] = set()
        for merge in self.merges:
            if set(merge["of"]) <= set(parts):
                place = parts.index(merge["of"][0])
                before = [part for part in parts[:place] if part not in merge["of"]]
                after = [part for part in parts[place:] if part not in merge["of"]]
                parts = [*before, merge["into"], *merge.get("more", ()), *after]
                hidden |= set(merge.get("hides", ()))
        return parts, hidden

    def composition(self, codes: Iterable[str]) -> str:
        """The design with techniques and all that they need, by paths from the root."""
        parts = [self.files["plain"], *self._merged(codes)[0]]
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

    def designs(self) -> list[frozenset[str]]:
        """Every set of techniques that a line of the page tells of, each once, in order."""
        found: dict[frozenset[str], None] = {}
        for pair in self.pairs:
            if pair.outcome != "error":
                sets = [self.around(pair), *(self.alone(pair, code) for code in pair.codes)]
                sets.append(self.closure(pair.codes))
                found |= {frozenset(codes): None for codes in sets if codes is not None}
        return list(found)


def located(name: str) -> str:
    """A file of the pairs, from the repository's root."""
    return (FOLDER / name).relative_to(ROOT).as_posix()


def bare(composition: str) -> str:
    """A composition without the paths of its files."""
    return "+".join(Path(part).name.removesuffix(".toml") for part in composition.split("+"))


# Measuring


def recorded() -> dict[str, Any]:
    """What has been measured."""
    if RESULTS.exists():
        found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
        return found
    return {"runs": {}}


def _outcome(result: Any) -> dict[str, Any]:
    def of(latencies: Any) -> dict[str, Any]:
        return {"count": latencies.count, "p9999_us": latencies.p9999_us}

    return {
        "read": of(result.read),
        "write": of(result.write),
        "write_amplification": result.write_amplification,
        "gcs": result.gc_count,
        "event_hash": result.event_hash,
        "stuck": False,
    }


def refusal(design: str) -> str:
    """Why a composition is refused on a drive that carries every technique."""
    from tinytail import engine

    (fit,) = engine.fits(located(Catalog().files["tiny"]), [design])
    if fit.refusal is None:
        message = f"{design} is not refused"
        raise RuntimeError(message)
    return fit.refusal.message


def commit_of_the_checkout() -> str:
    """The commit that is checked out, with a mark if more than what is measured here differs."""
    made_here = [f":!{path.relative_to(ROOT)}" for path in (RESULTS, PAGE)]

    def said(*words: str) -> str:
        answer = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return answer.stdout.strip()

    changed = said("status", "--porcelain", "--untracked-files=no", "--", ".", *made_here)
    return said("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def measure(catalog: Catalog) -> None:
    """Plays what has not been played yet, and keeps each run as soon as it is there."""
    import tinytail

    loads: dict[str, dict[str, Any]] = {
        "dtrs": {"workload": "dtrs", "transform": tinytail.Transform(fit="fold")},
        "saturating": {"workload": located(catalog.files["saturating"])},
    }
    commit = commit_of_the_checkout()
    kept = recorded()
    kept["errors"] = {
        "+".join(pair.codes): refusal(catalog.composition(pair.codes)).replace(
            "evidence/pairs/", ""
        )
        for pair in catalog.pairs
        if pair.outcome == "error"
    }
    designs = [catalog.composition(codes) for codes in catalog.designs()]
    missing = [
        (design, load)
        for design in designs
        for load in loads
        if load not in kept["runs"].get(bare(design), {})
    ]
    began = time.monotonic()
    for done, (design, load) in enumerate(missing, 1):
        device = located(catalog.files["drive"])
        comparison = tinytail.compare([design], device=device, jobs=1, **loads[load])
        stuck = any(result.stuck for result in comparison.results)
        if (comparison.errors or comparison.partial) and not stuck:
            why = comparison.errors[0].message if comparison.errors else "ended early"
            message = f"{design} on {load}: {why}"
            raise RuntimeError(message)
        found = {"stuck": True} if stuck else _outcome(comparison.results[0])
        kept["runs"].setdefault(bare(design), {})[load] = found | {"commit": commit}
        text = json.dumps(kept, indent=1, sort_keys=True) + "\n"
        partial = RESULTS.with_suffix(".part")
        partial.write_text(text, "utf-8")
        partial.replace(RESULTS)
        left = (time.monotonic() - began) / done * (len(missing) - done)
        said = f"{done} of {len(missing)}, {left:.0f} s left: {bare(design)} on {LOADS[load]}"
        sys.stderr.write(f"{said}\n")


# The page


def _ms(us: float | None) -> str:
    if us is None or math.isinf(us):
        return "-" if us is None else "∞"
    ms = us / 1000
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def gain(ours: float, theirs: float) -> float | None:
    """How many times shorter a latency is than another; nothing where one of them has no end."""
    return None if math.isinf(ours) or math.isinf(theirs) else theirs / ours


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured of a pair on one load, of reads or of writes: p99.99 in microseconds."""

    neither: float
    first: float | None
    second: float | None
    both: float

    @property
    def figures(self) -> str:
        """The four, in milliseconds."""
        return " / ".join(map(_ms, (self.neither, self.first, self.second, self.both)))

    @property
    def gain(self) -> float | None:
        """How many times shorter it is with both than with neither."""
        return gain(self.both, self.neither)

    @property
    def gain_beyond(self) -> float | None:
        """How many times shorter it is with both than with the better one alone."""
        alone = [figure for figure in (self.first, self.second) if figure is not None]
        return gain(self.both, min(alone)) if alone else None


def line(catalog: Catalog, kept: dict[str, Any], pair: Pair, load: str, kind: str) -> Line | None:
    """What was measured of a pair."""

    def figure(codes: Iterable[str] | None) -> float | None:
        if codes is None:
            return None
        run = kept["runs"].get(bare(catalog.composition(codes)), {}).get(load)
        if not run:
            return None
        return math.inf if run["stuck"] else float(run[kind]["p9999_us"])

    neither, both = figure(catalog.around(pair)), figure(catalog.closure(pair.codes))
    if neither is None or both is None:
        return None
    first, second = (figure(catalog.alone(pair, code)) for code in pair.codes)
    return Line(neither, first, second, both)


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def _rows(catalog: Catalog, kept: dict[str, Any], code: str) -> Iterator[str]:
    for pair in (pair for pair in catalog.pairs if pair.first == code):
        start = f"| {pair.first} + {pair.second} | {pair.kind} | "
        if pair.outcome == "error":
            why = f" {pair.reason}" if pair.reason else ""
            error = kept.get("errors", {}).get("+".join(pair.codes), "not measured")
            yield f"{start}{pair.meaning}{why} *Error:* {error} | | | | | |"
            continue
        cells = []
        for load, kind in (("dtrs", "read"), ("saturating", "read"), ("saturating", "write")):
            found = line(catalog, kept, pair, load, kind)
            cells.append(found.figures if found else "not measured")
            if kind == "read":
                gain = f"{_times(found.gain)} ({_times(found.gain_beyond)})" if found else ""
                cells.append(gain)
        reason = f" {pair.reason}" if pair.reason else ""
        yield f"{start}{pair.meaning}{reason} | {' | '.join(cells)} |"


LOADS = {"dtrs": "the DTRS trace", "saturating": "the saturating load"}


def _extremes(catalog: Catalog, kept: dict[str, Any], load: str) -> Iterator[str]:
    """The pairs whose reads gain most beyond the better of the two, and those that lose most."""
    found = []
    for pair in catalog.pairs:
        if pair.outcome != "legal" or COMPARATORS.intersection(pair.codes):
            continue
        measured = line(catalog, kept, pair, load, "read")
        if measured and None not in (measured.first, measured.second, measured.gain_beyond):
            found.append((measured.gain_beyond or 0.0, pair, measured))
    found.sort(key=lambda entry: -entry[0])
    for title, entries in (("most", found[:LISTED]), ("least", found[-LISTED:][::-1])):
        yield f"Reads on {LOADS[load]} gain {title} from:\n"
        yield "| pair | neither / first / second / both, ms | than the better one, times |"
        yield "|---|---|---|"
        for times, pair, measured in entries:
            yield f"| {pair.first} + {pair.second} | {measured.figures} | {_times(times)} |"
        yield ""


def page(catalog: Catalog, kept: dict[str, Any], head: str) -> str:
    """The whole page."""
    runs = [run for loads in kept["runs"].values() for run in loads.values()]
    commits = "; ".join(sorted({run["commit"] for run in runs}))
    parts = [head.rstrip().replace("COMMIT", f"commit {commits}") + "\n"]
    lines = ["| code | technique | source | overlays |", "|---|---|---|---|"]
    for technique in catalog.techniques.values():
        names = " + ".join(f"`{part.removesuffix('.toml')}`" for part in technique.parts)
        needs = f", with {' and '.join(technique.needs)}" if technique.needs else ""
        lines.append(
            f"| {technique.code} | {technique.name} | {technique.source} | {names}{needs} |"
        )
    parts.append("## Techniques\n\n" + "\n".join(lines) + "\n")
    parts.append("## What stands out\n")
    parts += ["\n".join(_extremes(catalog, kept, load)) for load in LOADS]
    for code in catalog.order[:-1]:
        title = f"## {code}: {catalog.techniques[code].name}\n"
        header = (
            "| pair | matrix | what it means | reads, DTRS | gain | reads, saturating | gain "
            "| writes, saturating |\n|---|---|---|---|---|---|---|---|"
        )
        parts.append(f"{title}\n{header}\n" + "\n".join(_rows(catalog, kept, code)) + "\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> None:
    """Measures, or writes the page."""
    catalog = Catalog()
    if arguments == ["measure"]:
        measure(catalog)
    elif arguments:
        sys.exit("usage: evidence/pairs.py [measure]")
    head = (FOLDER / "head.md").read_text("utf-8")
    PAGE.write_text(page(catalog, recorded(), head), "utf-8")
    sys.stdout.write(f"{PAGE.name} written\n")


if __name__ == "__main__":
    main(sys.argv[1:])
