"""Judges the tests of the core: changes it in one place at a time, and asks whether a test fails.

cargo-mutants lists the changes (mutants). Of these, 500 are drawn by a fixed seed, spread over the
rooms of the core by their lines of code, and judged in a random order, so that those judged so far
are a fair sample. The core's unit tests judge a mutant first, with few cases of each property and
then with all; what they let live is judged by the tests of whole runs, those of the simulator and
of theory. Verdicts are kept in
evidence/mutants.tsv, and evidence/mutants.md is made of them:

    python3 tools/mutants.py [--shard K/N] [--again] [--page]

It goes on where it stopped. A verdict holds until the code of its file changes. What is judged is
the last commit, in a copy of it. Excuses are written by hand, into the last column of the table.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import NormalDist
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python" / "helpers"))

from rust_sources import sources  # noqa: E402

TABLE = ROOT / "evidence" / "mutants.tsv"
PAGE = ROOT / "evidence" / "mutants.md"
CORE = Path("crates", "core", "src")

SEED = 1
COUNT = 500
LIVED = "lived"
CAUGHT = "caught"
# A change that does not compile is no mutant; another of its room takes its place.
NONE = "none"

# What judges, one after the other: its name, the tests as cargo knows them, and what it sets.
UNIT_TESTS = ["-p", "tinytail-core", "--lib"]
RUNS = ["-p", "tinytail-core", "-p", "tinytail-simulator", "--test", "theory", "--test", "all"]
STAGES: dict[str, tuple[list[str], dict[str, str]]] = {
    # The first of the cases that each property has; most mutants need no more.
    "few cases": (UNIT_TESTS, {"PROPTEST_CASES": "16"}),
    "all cases": (UNIT_TESTS, {}),
    "whole runs": (RUNS, {}),
}
# A mutant may take so many times the CPU time of the code as it is, and some seconds more.
CPU_TIMES, CPU_S = 5, 20
# What waits for nothing takes no CPU time. On a busy machine everything takes longer.
WALL_TIMES, WALL_S = 10, 60
MEMORY_BYTES = 8 << 30

# Compiling takes as long as the tests do: as little as can be is compiled anew.
ENVIRONMENT = {
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "256",
    "CARGO_PROFILE_RELEASE_INCREMENTAL": "true",
    # The cases of `make test`. A case that fails is enough: the smallest one is not looked for.
    "PROPTEST_RNG_SEED": "1",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of a file of the core.

    `name` says which file and what, without the line, so that it stays when others lines change.
    """

    name: str
    room: str
    file: str
    start: tuple[int, int]
    end: tuple[int, int]
    replacement: str

    def applied(self, text: str) -> str:
        """The text of its file with the change in it."""
        lines = text.split("\n")

        def at(place: tuple[int, int]) -> int:
            line, column = place
            return sum(len(each) + 1 for each in lines[: line - 1]) + column - 1

        return text[: at(self.start)] + self.replacement + text[at(self.end) :]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row of the table: what became of a mutant.

    `by` is the first test that failed, or what ended the tests instead. `code` is a digest of its
    file without comments, strings and tests.
    """

    room: str
    mutant: str
    line: int
    verdict: str
    stage: str
    by: str
    seconds: int
    commit: str
    code: str
    excuse: str = ""


COLUMNS = [each.name for each in fields(Verdict)]


def read_table(path: Path) -> dict[str, Verdict]:
    """The last verdict on each mutant."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        found = {}
        for number, row in enumerate(rows, 2):
            if None in row or None in row.values():
                raise SystemExit(f"{path}, line {number}: not {len(COLUMNS)} columns")
            numbers = {name: int(row[name]) for name in ("line", "seconds")}
            verdict = Verdict(**{**row, **numbers})
            found[verdict.mutant] = verdict
        return found


def write_rows(path: Path, verdicts: Iterable[Verdict], mode: str) -> None:
    """Writes verdicts: all of them ("w") or more of them ("a")."""
    head = mode == "w" or not path.exists()
    with path.open(mode, encoding="utf-8") as file:
        if head:
            file.write("\t".join(COLUMNS) + "\n")
        for verdict in verdicts:
            cells = (re.sub(r"\s+", " ", str(cell)) for cell in asdict(verdict).values())
            file.write("\t".join(cells) + "\n")


def mutants_of(listed: Iterable[Mapping[str, Any]]) -> list[Mutant]:
    """What cargo-mutants has listed."""
    found = []
    times: Counter[str] = Counter()
    for each in listed:
        file = Path(each["file"]).relative_to(CORE).as_posix()
        _, change = re.split(r":\d+:\d+: ", each["name"], maxsplit=1)
        name = re.sub(r"\s+", " ", f"{file}: {change}")
        times[name] += 1
        start, end = (
            (each["span"][at]["line"], each["span"][at]["column"]) for at in ("start", "end")
        )
        found.append(
            Mutant(
                f"{name} #{times[name]}" if times[name] > 1 else name,
                room_of(file),
                file,
                start,
                end,
                each["replacement"],
            )
        )
    return found


def room_of(file: str) -> str:
    """The room of a file of the core."""
    return file.partition("/")[0].removesuffix(".rs")


def key(purpose: str, mutant: Mutant) -> bytes:
    """A random number that a mutant has, whatever others there are."""
    return hashlib.sha256(f"{SEED} {purpose} {mutant.name}".encode()).digest()


def quotas(lines: Mapping[str, int], available: Mapping[str, int], count: int) -> dict[str, int]:
    """So many mutants, divided among rooms by their lines; no room has more than are available."""
    given = dict.fromkeys(available, 0)
    for _ in range(min(count, sum(available.values()))):
        # Sainte-Laguë: the room that is furthest behind its share.
        room = max(
            (room for room in given if given[room] < available[room]),
            key=lambda room: (lines[room] / (2 * given[room] + 1), room),
        )
        given[room] += 1
    return given


def draw(
    mutants: Iterable[Mutant], lines: Mapping[str, int], without: Collection[str], count: int
) -> list[Mutant]:
    """The mutants to judge, in the order in which they are judged."""
    rooms = defaultdict(list)
    for mutant in mutants:
        if mutant.name not in without:
            rooms[mutant.room].append(mutant)
    given = quotas(lines, {room: len(those) for room, those in rooms.items()}, count)
    drawn = [
        mutant
        for room, those in rooms.items()
        for mutant in sorted(those, key=lambda each: key("draw", each))[: given[room]]
    ]
    return sorted(drawn, key=lambda each: key("order", each))


def standing(verdicts: Mapping[str, Verdict], codes: Mapping[str, str]) -> dict[str, Verdict]:
    """The verdicts on files whose code is as it was."""
    return {
        name: verdict
        for name, verdict in verdicts.items()
        if codes.get(name.partition(": ")[0]) == verdict.code
    }


def left(
    drawn: Sequence[Mutant], verdicts: Mapping[str, Verdict], again: bool, commit: str
) -> list[Mutant]:
    """What is to be judged: what has no verdict; `again`, also what lived at another commit."""

    def lacks(mutant: Mutant) -> bool:
        verdict = verdicts.get(mutant.name)
        if verdict is None:
            return True
        lives = verdict.verdict == LIVED and not verdict.excuse
        return again and lives and verdict.commit != commit

    return [mutant for mutant in drawn if lacks(mutant)]


def interval(hits: int, of: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share."""
    if of == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = hits / of
    centre = share + z * z / (2 * of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (centre - half) / (1 + z * z / of), (centre + half) / (1 + z * z / of)


def summary(verdicts: Iterable[Verdict]) -> str:
    """The share that was caught."""
    counted = [each for each in verdicts if not each.excuse]
    caught = sum(each.verdict == CAUGHT for each in counted)
    if not counted:
        return "No mutant has been judged."
    low, high = interval(caught, len(counted))
    return (
        f"{caught} of {len(counted)} caught: {caught / len(counted):.1%}, "
        f"95 % interval {low:.1%} to {high:.1%} (Wilson's)."
    )


def page(table: Path = TABLE) -> str:
    """The page."""
    verdicts = [each for each in read_table(table).values() if each.verdict != NONE]
    counted = [each for each in verdicts if not each.excuse]
    caught = [each for each in counted if each.verdict == CAUGHT]
    lived = [each for each in counted if each.verdict == LIVED]
    excused = [each for each in verdicts if each.excuse]
    commits = Counter(each.commit for each in verdicts)
    lines = [
        "# Mutants",
        "",
        "How good are the tests of the core? cargo-mutants changes the code in one place, and",
        f"a test must fail. {COUNT} such mutants are drawn by a fixed seed, spread over the rooms",
        "by their lines of code, and judged in a random order, so that those judged so far are a",
        "fair sample. The core's unit tests judge first, with few cases of each property and then",
        "with all; then the tests of whole runs (the simulator's, and those against theory); no",
        "other test is asked. A verdict holds until the code of its file changes.",
        "[mutants.py](../tools/mutants.py) makes this page from [mutants.tsv](mutants.tsv);",
        "`make mutants` goes on where it stopped.",
        "",
        f"**{summary(verdicts)}** {len(verdicts)} of {COUNT} were judged.",
        "",
        "| | mutants |",
        "|---|---|",
        *(f"| caught by {each} | {sum(v.stage == each for v in caught)} |" for each in STAGES),
        f"| lived | {len(lived)} |",
        f"| excused, since they change nothing | {len(excused)} |",
        "",
        "Commits: "
        + (", ".join(f"`{commit}` ({n})" for commit, n in commits.most_common()) or "none")
        + ".",
        "",
        "| room | judged | caught | lived | excused |",
        "|---|---|---|---|---|",
    ]
    for room in sorted({each.room for each in verdicts}):
        of_room = [
            sum(each.room == room for each in those) for those in (verdicts, caught, lived, excused)
        ]
        lines.append(f"| {room} | " + " | ".join(map(str, of_room)) + " |")
    lines += ["", "## Those that lived", ""]
    lines += [f"- {_shown(each)}" for each in sorted(lived, key=lambda each: each.mutant)]
    lines += ["", "## The excused", ""]
    lines += [
        f"- {_shown(each)}: {each.excuse}" for each in sorted(excused, key=lambda each: each.mutant)
    ]
    return re.sub(r"\n\n\n+", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _shown(verdict: Verdict) -> str:
    file, _, change = verdict.mutant.partition(": ")
    return f"`{file}:{verdict.line}`: `{change}`"


@dataclass(slots=True)
class Limits:
    """What the tests of a mutant may take."""

    cpu_s: int
    wall_s: float


class EndedFromOutsideError(Exception):
    """Somebody else has ended the tests, so that they say nothing."""


def failure(
    program: Sequence[str], folder: Path, environment: Mapping[str, str], limits: Limits
) -> str:
    """Runs a program of tests up to its first failure: the test's name, or what ended it, or ""."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    out_of_time = threading.Event()
    with subprocess.Popen(
        program,
        cwd=folder,
        env={**environment, "CARGO_MANIFEST_DIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=limit,
    ) as process:

        def end() -> None:
            os.killpg(process.pid, signal.SIGKILL)

        def stop() -> None:
            out_of_time.set()
            end()

        watch = threading.Timer(limits.wall_s, stop)
        watch.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.fullmatch(r"test (\S+)(?: - should panic)? \.\.\. FAILED\n?", line):
                    return found[1]
            code = process.wait()
        finally:
            watch.cancel()
            if process.poll() is None:
                end()
    if out_of_time.is_set() or code == -signal.SIGXCPU:
        return "no end"
    if -code in (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
        raise EndedFromOutsideError(f"signal {-code} ended the tests")
    return "" if code == 0 else f"exit code {code}"


@dataclass(slots=True)
class Copy:
    """A copy of a commit, in which mutants are built and tested."""

    tree: Path
    environment: dict[str, str]
    limits: dict[str, Limits] = field(default_factory=dict)

    def programs(self, stage: str) -> list[tuple[list[str], Path]] | None:
        """Builds the tests of a stage; nothing if the code is not Rust."""
        built = subprocess.run(
            [
                "cargo",
                "test",
                "--release",
                "--locked",
                "--no-run",
                "--message-format=json",
                *STAGES[stage][0],
            ],
            cwd=self.tree,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
        if built.returncode != 0:
            if any(
                each.get("message", {}).get("level") == "error" and each["message"]["spans"]
                for each in messages
            ):
                return None
            raise SystemExit(f"the tests cannot be built:\n{built.stderr}")
        tests = [
            each
            for each in messages
            if each["reason"] == "compiler-artifact"
            and each["profile"]["test"]
            and each["executable"]
        ]
        tests.sort(key=lambda each: each["executable"])
        return [([each["executable"]], Path(each["manifest_path"]).parent) for each in tests]

    def run(self, stage: str, limits: Limits) -> str | None:
        """What fails of a stage, or ""; nothing if the code is not Rust."""
        programs = self.programs(stage)
        if programs is None:
            return None
        environment = self.environment | STAGES[stage][1]
        failures = (failure(*program, environment, limits) for program in programs)
        return next(filter(None, failures), "")

    def measure(self) -> None:
        """Runs all tests on the code as it is, and sets limits by what they take."""
        for stage in STAGES:
            if not self.programs(stage):
                raise SystemExit(f"there is nothing to judge by ({stage}), or it does not compile")
            started, before = time.monotonic(), _cpu_s()
            try:
                by = self.run(stage, Limits(3600, 7200))
            except EndedFromOutsideError as error:
                raise SystemExit(f"{stage}: {error}; start again") from None
            if by:
                raise SystemExit(f"without any mutant a test fails ({stage}): {by}")
            cpu_s, wall_s = _cpu_s() - before, time.monotonic() - started
            limits = Limits(round(CPU_TIMES * cpu_s + CPU_S), WALL_TIMES * wall_s + WALL_S)
            self.limits[stage] = limits
            say(f"{stage}: {wall_s:.0f} s, of CPU time {cpu_s:.0f} s; at most {limits.cpu_s} s")

    def judge(self, mutant: Mutant) -> tuple[str, str, str]:
        """The verdict on a mutant, the stage that found it and by what."""
        path = self.tree / CORE / mutant.file
        text = path.read_text("utf-8")
        path.write_text(mutant.applied(text), "utf-8")
        try:
            for stage, limits in self.limits.items():
                by = self.run(stage, limits)
                if by is None:
                    return NONE, "", ""
                if by:
                    return CAUGHT, stage, by
            return LIVED, "", ""
        finally:
            path.write_text(text, "utf-8")


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def say(line: str) -> None:
    """Says how far it is, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def git(*arguments: str, folder: Path = ROOT) -> str:
    """What a command of git says."""
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def copy_of(commit: str, folder: Path) -> Copy:
    """The commit in a folder of its own, with what was built there before."""
    tree = folder / "tree"
    if tree.exists():
        git("checkout", "--force", "--detach", commit, folder=tree)
    else:
        git("worktree", "add", "--force", "--detach", str(tree), commit)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TINYTAIL_", "PROPTEST_", "CARGO_PROFILE_", "UPDATE_EXPECT"))
    }
    return Copy(tree, {**environment, **ENVIRONMENT, "CARGO_TARGET_DIR": str(folder / "build")})


def listed(tree: Path) -> list[Mutant]:
    """All mutants of the core, as cargo-mutants makes them."""
    beside = [str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "")]
    program = shutil.which("cargo-mutants", path=os.pathsep.join(beside))
    if program is None:
        raise SystemExit("cargo-mutants is missing: `make mutants` installs it")
    said = subprocess.run(
        [program, "mutants", "--list", "--json", "--package", "tinytail-core"],
        cwd=tree,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return mutants_of(json.loads(said))


def shard(text: str) -> tuple[int, int]:
    """Which part of how many: `2/3`."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not K/N, with K from 1 to N, such as 1/2")
    return int(found[1]), int(found[2])


def judge_all(part: tuple[int, int], again: bool) -> None:
    """Judges what is left, and keeps each verdict."""
    os.nice(10)
    commit = git("rev-parse", "--short=10", "HEAD")
    if git("status", "--porcelain", "--", "crates", "devices", "designs", "workloads"):
        say("What is not committed is not judged.")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    copy = copy_of(commit, target / "mutants" / f"{part[0]}-of-{part[1]}")
    code = sources(copy.tree / CORE)
    lines: Counter[str] = Counter()
    for file, text in code.items():
        lines[room_of(file)] += sum(1 for line in text.splitlines() if line.strip())
    codes = {
        file: hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:10]
        for file, text in code.items()
    }
    mutants = [each for each in listed(copy.tree) if each.file in code]
    while True:
        kept = read_table(TABLE)
        verdicts = standing(kept, codes)
        without = {name for name, each in verdicts.items() if each.verdict == NONE}
        drawn = draw(mutants, lines, without, COUNT)
        chosen = without | {each.name for each in drawn}
        verdicts = {name: each for name, each in verdicts.items() if name in chosen}
        if len(verdicts) < len(kept):
            lost = len(kept) - len(verdicts)
            say(f"{lost} verdicts are dropped: their code has changed, or they are not drawn now.")
            write_rows(TABLE, verdicts.values(), "w")
        todo = left(drawn[part[0] - 1 :: part[1]], verdicts, again, commit)
        if not todo:
            break
        other = sum(each.commit != commit for each in verdicts.values())
        say(
            f"{len(todo)} mutants are to be judged at {commit}, of {len(drawn)} drawn from "
            f"{len(mutants)}. {len(verdicts)} verdicts hold, {other} of them of other commits.",
        )
        if not copy.limits:
            copy.measure()
        judged = 0
        for number, mutant in enumerate(todo, 1):
            started = time.monotonic()
            try:
                found, stage, by = copy.judge(mutant)
            except EndedFromOutsideError as error:
                say(f"{number} of {len(todo)}: {mutant.name}: judged again later: {error}")
                continue
            seconds = round(time.monotonic() - started)
            place = (mutant.room, mutant.name, mutant.start[0])
            verdict = Verdict(*place, found, stage, by, seconds, commit, codes[mutant.file])
            write_rows(TABLE, [verdict], "a")
            judged += 1
            PAGE.write_text(page(), "utf-8")
            shown = f"{number} of {len(todo)}, {seconds} s: {mutant.name}: {found} {by}"
            say(shown.rstrip())
        if not judged:
            raise SystemExit(f"{len(todo)} mutants could not be judged: something ends their tests")
        # What does not compile has made room for others.
    PAGE.write_text(page(), "utf-8")
    say(summary(each for each in verdicts.values() if each.verdict != NONE))


def main() -> None:
    """Judges, or writes the page alone."""
    parser = argparse.ArgumentParser(description="Judges the tests of the core by mutants.")
    parser.add_argument(
        "--shard", type=shard, default=(1, 1), metavar="K/N", help="judge the K-th of N parts alone"
    )
    parser.add_argument(
        "--again", action="store_true", help="judge those again that lived at another commit"
    )
    parser.add_argument("--page", action="store_true", help="write the page from the table alone")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(), "utf-8")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        judge_all(options.shard, options.again)
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
