"""Draws docs/pictures/dtrs-timeline.svg: what the slowest read of Base on DTRS waited for.

The picture is made of a timeline alone, as SQL in Perfetto's trace processor finds it. Run it after
`make setup`, from the root of the repository:

    TINYTAIL_TRACES=../shared/traces .venv/bin/python tools/pictures/timeline.py
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot

import tinytail

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "dtrs-timeline.svg"
TraceProcessor = runpy.run_path(str(ROOT / "experiments" / "timeline_in_perfetto.py"))[
    "TraceProcessor"
]

# What is drawn as what, by how its name begins; the first that fits.
MEANINGS = {
    "host queue": "waits in the host for a place in the queue",
    "channel_locked": "waits for the channel that a GC locks",
    "channel_gc": "waits for the channel that a GC locks",
    "locked": "a GC locks the channel",
    "moving": "a GC moves pages",
    "GC": "reads and programs of a GC",
    "eras": "a GC erases",
    "read": "reads of the host",
    "program": "programs from the buffer",
    "": "anything else",
}
# A colour for each meaning; most eyes tell them apart.
COLOURS = dict(
    zip(
        dict.fromkeys(MEANINGS.values()),
        (
            *("#bbbbbb", "#ee6677", "#444444", "#aa3377", "#f0a030"),
            *("#e8d832", "#4477aa", "#228833", "#66ccee"),
        ),
        strict=True,
    )
)
MS = 1e6


def rows_of(trace: Path) -> tuple[dict[str, Any], list[tuple[str, list[dict[str, Any]]]]]:
    """The slowest read, and the rows of the picture: what was going on in its time, by track."""
    with TraceProcessor(trace) as processor:
        (read,) = processor.query(
            "select id, name, ts, dur from slice where category = 'read' order by dur desc limit 1"
        )
        segments = processor.query(
            "select iif(extract_arg(arg_set_id, 'debug.in_host'), 'host queue', name) as name, "
            "ts, dur, extract_arg(arg_set_id, 'debug.plane') as plane from slice "
            f"where parent_id = {read['id']} order by ts"
        )
        plane = next(s["plane"] for s in reversed(segments) if s["plane"] is not None)
        channel = processor.query(
            "select distinct process.name from process_track join process using (upid) "
            f"where process_track.name = 'plane {plane}'"
        )[0]["name"]
        tracks = [f"{channel} locked", channel, f"plane {plane}"]
        inside = f"ts < {read['ts'] + read['dur']} and ts + dur > {read['ts']} and dur > 0"
        rows = [(f"{read['name']} ({read['dur'] / MS:.1f} ms)", segments)]
        rows += [
            (
                track,
                processor.query(
                    "select slice.name, ts, dur from slice join track on track.id = track_id "
                    f"where track.name = '{track}' and {inside} order by ts"
                ),
            )
            for track in tracks
        ]
        gcs = processor.query(
            "select distinct process_track.name as name from slice "
            "join process_track on process_track.id = track_id join process using (upid) "
            f"where category = 'gc' and process.name = '{channel}' and {inside} order by ts"
        )
        rows += [
            (
                gc["name"],
                processor.query(
                    "select slice.name, ts, dur from slice join track on track.id = track_id "
                    f"where track.name = '{gc['name']}' and slice.category = 'gc_phase' "
                    f"and {inside} order by ts"
                ),
            )
            for gc in gcs
        ]
    return read, rows


def draw(read: dict[str, Any], rows: list[tuple[str, list[dict[str, Any]]]]) -> None:
    """Draws one row for each track."""
    mpl.rcParams["svg.hashsalt"] = "timeline"
    figure, axes = pyplot.subplots(figsize=(10, 0.8 + 0.5 * len(rows)), layout="constrained")
    named: dict[str, Any] = {}
    for row, (_, slices) in enumerate(rows):
        bars: dict[str, list[tuple[float, float]]] = {}
        for found in slices:
            key = next(key for key in MEANINGS if found["name"].startswith(key))
            begin = max(found["ts"], read["ts"]) - read["ts"]
            end = min(found["ts"] + found["dur"], read["ts"] + read["dur"]) - read["ts"]
            spans = bars.setdefault(key, [])
            # What is finer than a pixel is drawn as one.
            if spans and begin / MS - sum(spans[-1]) < 0.02:
                spans[-1] = (spans[-1][0], end / MS - spans[-1][0])
            else:
                spans.append((begin / MS, (end - begin) / MS))
        for key, spans in bars.items():
            meaning = MEANINGS[key]
            named[meaning] = axes.broken_barh(spans, (row - 0.35, 0.7), color=COLOURS[meaning])
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, read["dur"] / MS)
    axes.set_xlabel("ms since the read arrived")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=8
    )
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Runs Base and writes the picture."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "base.pftrace"
        tinytail.compare(["base"], device="ttflash-256g", workload="dtrs", timeline=trace)
        read, rows = rows_of(trace)
    draw(read, rows)
    text = PICTURE.read_text("utf-8")
    PICTURE.write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()), "utf-8")
    sys.stdout.write(f"{PICTURE.name}: {PICTURE.stat().st_size // 1024} KiB\n")


if __name__ == "__main__":
    main()
