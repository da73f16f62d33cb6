"""Remedies: what an error about a trace prints works as it stands, for each kind of refused file.

Each case is a file, the options with which it is refused, and what each remedy that the error
prints makes of it. The remedies are found in the text: commands between backquotes, and options
with their values. A refusal without a remedy names the reason and the place.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tinytail
from commands import RunCommand
from soak import sample

PROGRAMS = ("awk", "gzip", "iconv", "jq", "sed", "tr")
# A command for a shell, up to the backquote behind the file that it writes.
COMMAND = re.compile(rf"`((?:{'|'.join(PROGRAMS)}) [^`]*?> (\S+))`")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)(?: (?!--)([^\s`]+))?")
# Words of a sentence behind an option, as in `--columns says which`.
WORDS = {"and", "allows", "chooses", "has", "is", "leaves", "names", "reads", "says", "which"}
# What the user has to fill in.
PLACEHOLDER = re.compile(r"\b(?:N|NAME|FILE|TIME|OP|LBA|LEN|BYTES|READS|WRITES)\b")


@dataclass(frozen=True)
class Case:
    """A refused file.

    Attributes:
        name: Its name.
        content: What is in it.
        options: The options with which it is refused.
        remedies: For each remedy that the error prints, in order: requests, and seconds from the
            first to the last.
        said: What else the error says.
    """

    name: str
    content: str | bytes
    options: tuple[str, ...] = ()
    remedies: tuple[tuple[int, float], ...] = ()
    said: tuple[str, ...] = field(default=())


FTRACE = "             fio-2101    [000] .....  1500.000{time}: {event}\n"
NVME = (
    "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=16385, nsid=1, flags=0x0, meta=0x0, "
    "cmd=(nvme_cmd_{op} slba={slba}, len={len}, ctrl=0x0, dsmgmt=0, reftag=0)"
)
MSR = "1281663910241543{at:02d},hm,1,{op},{offset},{size},1331\n"
CASES = [
    Case(
        "only-bio.txt",
        "# tracer: nop\n"
        + FTRACE.format(time="100", event="block_bio_queue: 259,0 R 2048 + 8 [fio]")
        + FTRACE.format(time="300", event="block_bio_queue: 259,0 WS 4096 + 32 [fio]")
        + FTRACE.format(time="330", event="block_bio_complete: 259,0 R 2048 + 8 [0]")
        + FTRACE.format(time="500", event="block_bio_queue: 259,0 R 8192 + 8 [fio]"),
        remedies=((3, 400e-6),),
    ),
    Case(
        "q.txt",
        "  9,0    1        1     0.000000000   100  Q   R 2048 + 8 [fio]\n"
        "  9,0    1        2     0.000100000   100  Q  WS 4096 + 8 [fio]\n",
        remedies=((2, 100e-6),),
    ),
    Case(
        "i.txt",
        "  9,0    1        1     0.000000000   100  I   R 2048 + 8 [fio]\n"
        "  9,0    1        2     0.000100000   100  Q  WS 4096 + 8 [fio]\n",
        options=("--event", "D"),
        remedies=((1, 0.0),),
    ),
    Case(
        "nvme.txt",
        "# tracer: nop\n"
        + FTRACE.format(time="100", event=NVME.format(op="read", slba=256, len=7))
        + FTRACE.format(
            time="190", event="nvme_complete_rq: nvme0: disk=nvme0n1, qid=1, status=0x0"
        )
        + FTRACE.format(time="300", event=NVME.format(op="write", slba=1024, len=31)),
        # Of blocks of 512 bytes, and of 4096.
        remedies=((2, 200e-6), (2, 200e-6)),
        said=("does not say how large",),
    ),
    Case(
        "results.json",
        json.dumps({"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"iops": 1.5}}]}),
        said=("write_lat_log=NAME", "write_iolog=NAME"),
    ),
    Case(
        "own.json",
        json.dumps(
            {
                "run": {
                    "io": [
                        {"ts_us": 10 * n, "op": "RW"[n % 2], "lba": 8 * n, "bytes": 4096}
                        for n in range(5)
                    ]
                }
            }
        ),
        remedies=((5, 40e-6),),
    ),
    Case(
        "lines.json",
        "".join(
            json.dumps(
                {
                    "time_ms": n,
                    "kind": "it's",
                    "op": "read",
                    "offset_bytes": 4096 * n,
                    "length_bytes": 512,
                }
            )
            + "\n"
            for n in range(3)
        ),
        remedies=((3, 2e-3),),
    ),
    Case(
        "sums.json",
        json.dumps({"op": "read", "size": 4096}),
        said=("has the keys `op` and `size`, and none of them names an address",),
    ),
    Case(
        "app.log",
        "".join(
            f"ts_us={100 * n} level=info op={'read' if n else 'write'} offset_bytes={4096 * n}, "
            f'length_bytes="8192"; ok=1\n'
            for n in range(4)
        ),
        remedies=((4, 300e-6),),
    ),
    Case(
        "dated.log",
        "".join(
            f"2024-03-05 10:00:00,00{n} INFO "
            f"{{ op = Write, lba_sectors = {64 * n}, sectors = 16 }}\n"
            for n in range(3)
        ),
        remedies=((3, 2e-3),),
    ),
    Case(
        "devices.jsonl.gz",
        gzip.compress(
            "".join(
                json.dumps(
                    {
                        "ts_ns": 1709632800001480001 + 1000 * n,
                        "dev": f"sd{'ab'[n % 2]}",
                        "event": "submit" if n % 4 < 2 else "complete",
                        "op": "W",
                        "lba_sectors": 8 * (n // 4),
                        "sectors": 8,
                    }
                )
                + "\n"
                for n in range(16)
            ).encode()
        ),
        # Only those that were submitted, and all.
        remedies=((8, 13e-6), (16, 15e-6)),
        said=("event` (column 3) has `submit` and `complete`",),
    ),
    Case(
        "nested.json",
        json.dumps(
            {
                "run": 1,
                "io": [
                    {"at": {"us": n}, "rq": {"op": "R", "lba_sectors": n, "sectors": 1}}
                    for n in range(4)
                ],
            }
        ),
        remedies=((4, 3e-6),),
    ),
    Case(
        "untimed.jsonl",
        "".join(json.dumps({"op": "R", "lba_sectors": n, "sectors": 1}) + "\n" for n in range(4)),
        said=("none of its keys names a time",),
        remedies=((4, 0.0),),
    ),
    Case(
        "table.md",
        "| ts_us | op | offset_bytes | size_bytes |\n|---|---|---|---|\n"
        + "".join(f"| {n} | R | {4096 * n} | 512 |\n" for n in range(3)),
        remedies=((3, 2e-6),),
        said=("a table that is drawn with lines",),
    ),
    Case(
        "mysql.txt",
        "+-------+----+-------------+---------+\n| ts_us | op | lba_sectors | sectors |\n"
        + "+-------+----+-------------+---------+\n"
        + "".join(f"|     {n} | R  |          {n}  |       1 |\n" for n in range(3))
        + "+-------+----+-------------+---------+\n3 rows in set (0.00 sec)\n",
        remedies=((3, 2e-6),),
    ),
    Case(
        "iolog.txt",
        "/dev/sda add\n/dev/sda open\n/dev/sda write 0 4096\n/dev/sda read 0 512\n",
        remedies=((2, 0.0),),
        said=("fio's I/O log of version 2 without its first line",),
    ),
    Case(
        "completed.txt",
        "  8,0   0        1   0.001035000     7  C   R 11296 + 32 [0]\n",
        said=("A C event says when a request was complete", "no option can help"),
    ),
    Case(
        "sums.log",
        "level=info op=read size=4096\nlevel=info op=read size=8192\n",
        said=("has the keys `level`, `op` and `size`, and none of them names an address",),
    ),
    Case(
        "letters.txt",
        "0.0 0 2048 8 W\n1.5 0 4096 8 R\n",
        options=("--time-unit", "us"),
        remedies=((2, 1.5e-6),),
        said=("line 1 (`0.0 0 2048 8 W`), column 5", "found `W` (elsewhere `R`)"),
    ),
    Case(
        "one-fault.csv",
        MSR.format(at=10, op="Read", offset=0, size=4096)
        + MSR.format(at=20, op="Write", offset=8192, size=0)
        + MSR.format(at=40, op="Read", offset=4096, size=4096),
        remedies=((2, 3e-6),),
        said=("line 2, column 6 (Size): found `0`",),
    ),
    Case(
        "late.csv",
        MSR.format(at=40, op="Read", offset=0, size=4096)
        + MSR.format(at=10, op="Write", offset=8192, size=4096),
        options=("--format", "msr"),
        # A late line is put in its place.
        remedies=((2, 3e-6),),
    ),
    Case(
        "fixed.csv",
        MSR.format(at=10, op="Read", offset=0, size=4096)
        + MSR.format(at=20, op="Read", offset=0, size=4096),
        options=("--time-unit", "us"),
        # Ten units are 10 us then.
        remedies=((2, 10e-6),),
    ),
    Case(
        "wide.txt",
        "0 0 8 8 1\n".encode("utf-16-le"),
        said=("text in UTF-16",),
        remedies=((1, 0.0),),
    ),
    Case(
        "returns.txt",
        "0 0 8 8 1\r5 0 8 8 1\r",
        said=("whose lines end in carriage returns",),
        remedies=((2, 5e-6),),
    ),
    Case(
        "bt.txt",
        "Attaching 4 probes...\nTIME(ms)     COMM             PID    LAT(ms)\n611 bash 4179 10\n",
        said=(
            "line 2, `TIME(ms)",
            "bpftrace's biosnoop",
            "it has no addresses",
            "no option can help",
        ),
    ),
    Case(
        "ibm.csv",
        "# timestamp (ms), op type [Put:0, Get:1, Delete:2], object id, object size (byte)\n"
        "0,1,4101,8371\n103,1,4102,31\n",
        said=("line 1, `# timestamp (ms)", "objects have no addresses on a drive"),
    ),
    Case(
        "names.csv",
        "time_us,op,size\n1,R,4096\n2,W,4096\n",
        said=("`time_us`, `op` and `size`", "none of them is an address"),
    ),
    Case(
        "header.csv",
        "time_us,op,lba_sectors,len_bytes\n1,R,0,4096\n3,W,8,4096\n",
        remedies=((2, 2e-6),),
    ),
    Case("words.txt", "hello world\n", said=("first line, `hello world`", "no option can help")),
]


def remedies(text: str) -> list[tuple[str, list[str]]]:
    """The remedies of an error: a command, or nothing, and the options that go with it."""
    command = COMMAND.search(text)
    rest = COMMAND.sub("`", text)
    found: list[list[str]] = []
    end = None
    for match in OPTION.finditer(rest):
        name, value = match.group(1), (match.group(2) or "").rstrip(".,;)")
        if not value or value in WORDS or PLACEHOLDER.search(value):
            continue
        # Options that stand one behind the other belong together.
        if end is not None and rest[end : match.start()] == " ":
            found[-1] += [name, value]
        else:
            found.append([name, value])
        end = match.end()
    if command is not None and not found:
        found = [[]]
    return [(command.group(1) if command else "", options) for options in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_remedy_works_as_it_is_printed(
    case: Case, command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = case.content.encode() if isinstance(case.content, str) else case.content
    Path(case.name).write_bytes(content)
    refused = command("trace", "info", case.name, *case.options)
    assert refused.code == 2
    for said in case.said:
        assert said in refused.err
    found = remedies(refused.err)
    assert len(found) == len(case.remedies), refused.err
    for (line, options), (requests, seconds) in zip(found, case.remedies, strict=True):
        name, kept = case.name, list(case.options)
        if line:
            words = shlex.split(line)
            for program in (
                words[0],
                *(words[n + 1] for n, word in enumerate(words) if word == "|"),
            ):
                if shutil.which(program) is None:
                    pytest.skip(f"{program} is not installed")
            subprocess.run(["sh", "-c", line], check=True)
            name = line.rsplit("> ", 1)[1]
            kept = []
        if "--event" in options:
            kept = []
        if "--scale-time" in options:
            # What it stands in for is left out.
            kept = []
        # Without a unit of its own, this format asks for one.
        unit = ["--time-unit", "us"] if line.startswith(("tr ", "iconv ")) else []
        typed = command("trace", "info", name, *kept, *options, *unit, "--json", "out.json")
        assert typed.code == 0, f"{refused.err}\n{options}\n{typed.err}"
        info = json.loads(Path("out.json").read_text("utf-8"))
        assert (info["requests"], info["duration_s"]) == (requests, pytest.approx(seconds))
        # Whatever reads it, nothing that is a request is left out.
        if "--skip-faulty" in options:
            assert requests > 0


def test_no_error_proposes_to_leave_out_all_requests(command: RunCommand, tmp_path: Path) -> None:
    for lines in range(1, 6):
        path = tmp_path / "t.csv"
        path.write_text(
            "".join(MSR.format(at=10 + n, op="Erase", offset=0, size=512) for n in range(lines))
        )
        for options in ((), ("--format", "msr"), ("--skip-faulty", str(lines))):
            refused = command("trace", "info", str(path), *options)
            assert refused.code == 2
            assert "`--skip-faulty" not in refused.err, refused.err


NAMES = [workload.name for workload in tinytail.list_workloads()]


@pytest.mark.parametrize("name", sample(NAMES, 12))
def test_each_workload_is_looked_into_or_refused_with_the_commands_that_take_it(
    name: str, command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = command("trace", "info", name)
    if outcome.code == 0:
        assert "requests" in outcome.out
        return
    assert outcome.code == 2
    if "needs the trace" in outcome.err:
        # It is not part of the project.
        assert "TINYTAIL_TRACES" in outcome.err
        return
    typed = [shlex.split(line)[1:] for line in re.findall(r"`(tinytail [^`]*)`", outcome.err)]
    assert {words[0] for words in typed} >= {"workloads", "compare"}, outcome.err
    for words in typed:
        if words[0] == "trace":
            words += ["--requests", "100"]
        shorter = ["100" if word == "10000" else word for word in words]
        taken = command(*shorter)
        assert taken.code == 0, f"{words}\n{taken.err}"


def test_a_name_is_no_file_to_check_and_the_command_that_shows_it_is_named(
    command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("zipf", "base", "no-gc", "ttflash-small"):
        refused = command("config", "check", name)
        assert refused.code == 2
        (line,) = re.findall(r"`tinytail ([^`]*)`", refused.err)
        assert command(*line.split()).code == 0, line
    # A file of that name is one.
    Path("zipf").write_text("hello")
    assert "this is the name" not in command("config", "check", "zipf").err


def test_a_workload_file_is_taken_as_the_name_is(command: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("0 0 8 8 1\n10 0 16 8 0\n")
    (tmp_path / "w.toml").write_text(
        'summary = "two"\n[trace]\nfile = "t.trace"\n'
        'time_unit = { value = "us", source = "made up" }\n'
        "[transform]\nscale_time = 3\n"
    )
    out = tmp_path / "out.json"
    outcome = command("trace", "info", str(tmp_path / "w.toml"), "--json", str(out))
    assert outcome.code == 0, outcome.err
    info = json.loads(out.read_text("utf-8"))
    assert (info["requests"], info["duration_s"]) == (2, pytest.approx(30e-6))
    refused = command("trace", "info", "zipff")
    assert refused.code == 2
    assert "no workload and no file is called `zipff` (did you mean `zipf`?)" in refused.err
