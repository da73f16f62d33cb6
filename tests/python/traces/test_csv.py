"""Tables that Python's csv module writes are read as the tables themselves."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Literal

import pytest

import tinytail as tt
from soak import sample

NAMES = ("time_us", "op", "offset_bytes", "size_bytes", "process", "note", "queue")
TEXTS = ("java", "dd, of=x", 'the "fast" one', "a; b", "a b", "", "x\ty", "D:\\a.mdf", "1,024", "|")
DELIMITERS = (",", ";", "\t", "|")
QUOTINGS: tuple[Literal[0, 1, 2], ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)


def _table(draw: random.Random) -> list[tuple[int, str, int, int]]:
    """Return random requests: time in us, operation, address and size in bytes."""
    times = sorted(draw.sample(range(10**7), draw.randint(3, 30)))
    return [
        (time, draw.choice("RW"), draw.randrange(1 << 26) * 512, draw.randint(1, 4096) * 512)
        for time in times
    ]


def _written(draw: random.Random, path: Path, table: list[tuple[int, str, int, int]]) -> list[str]:
    """Write requests as CSV, with other columns between theirs; return the names in their order."""
    names = list(NAMES)
    draw.shuffle(names)
    delimiter, quoting = draw.choice(DELIMITERS), draw.choice(QUOTINGS)
    grouped = draw.random() < 0.4
    with path.open("w", newline="") as file:
        writer = csv.writer(
            file,
            delimiter=delimiter,
            quoting=quoting,
            lineterminator=draw.choice(["\n", "\r\n"]),
        )
        writer.writerow(names)
        for time, op, offset, size in table:
            values: dict[str, object] = {
                "time_us": time,
                "op": op,
                "offset_bytes": f"{offset:,}" if grouped else offset,
                "size_bytes": f"{size:,}" if grouped else float(size),
                "process": draw.choice(TEXTS),
                "note": draw.choice(TEXTS),
                "queue": draw.choice([0, 1.5, "3"]),
            }
            writer.writerow([values[name] for name in names])
    return names


def _read(path: Path, columns: str) -> list[tuple[int, str, int, int]]:
    out = path.with_suffix(".trace")
    tt.convert_trace(path, out, columns=columns, force=True)
    rows = [line.split() for line in out.read_text().splitlines()]
    return [
        (int(time) // 1000, "WR"[int(op)], int(sector) * 512, int(sectors) * 512)
        for time, _, sector, sectors, op in rows
    ]


@pytest.mark.soak
@pytest.mark.parametrize("seed", sample(range(400), 24))
def test_a_table_of_the_csv_module_is_read_as_it_is(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    table = _table(draw)
    names = _written(draw, tmp_path / "t.csv", table)
    roles = {
        "time_us": "time:us",
        "op": "op",
        "offset_bytes": "lba:bytes",
        "size_bytes": "len:bytes",
    }
    by_place = ",".join(roles.get(name, "_") for name in names)
    by_name = "time=time_us:us,op=op,lba=offset_bytes:bytes,len=size_bytes:bytes"
    # The first request is at 0.
    expected = [(time - table[0][0], *rest) for time, *rest in table]
    for columns in (by_place, by_name):
        assert _read(tmp_path / "t.csv", columns) == expected
    # What is proposed for it reads it, too.
    with pytest.raises(tt.WorkloadError) as refusal:
        tt.describe_trace(tmp_path / "t.csv")
    proposed = str(refusal.value).split("--columns ")[1].split()[0]
    assert _read(tmp_path / "t.csv", proposed) == expected


def test_a_line_with_more_fields_than_names_is_faulty(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time_us,op,offset_bytes,size_bytes\n0,R,4096,4096\n5,R,1,024,4096\n")
    with pytest.raises(tt.WorkloadError, match=r"line 3, column 5 \(beyond the last\)"):
        tt.describe_trace(path, columns="time:us,op,lba:bytes,len:bytes")
