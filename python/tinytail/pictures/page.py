"""The report: one HTML page that holds all it shows, drawn by plotly."""

from __future__ import annotations

import html as escaping
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from tinytail import units
from tinytail.files.controls import visible
from tinytail.inputs.tables import design_label
from tinytail.pictures import data
from tinytail.verdict import measurements
from tinytail.verdict.percentiles import PERCENTILES
from tinytail.verdict.rows import facts, table_rows
from tinytail.verdict.sentences import sentences, warnings

if TYPE_CHECKING:
    from tinytail.comparison.result import Comparison, DesignResult

INK = "#1a1a1a"
GRID = "#e3e3e3"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
# d3's format: commas between thousands and no trailing zeros.
COUNTS = {"tickformat": ",.2~f"}
NAME_CHARACTERS_MAX = 40
# More numbers of erases than these are drawn as steps instead of bars.
BARS_MAX = 30
# So many erases have a place on the axis even if no block has them.
ERASES_SHOWN = 4
BAR_HEIGHT = 30
# The percentiles that stand beside the names of designs.
TILES = ("p99", "p99.9", "p99.99")
ROW_HEIGHT = 128

INPUTS = {
    "real": "a recorded trace",
    "synthetic": "made by a generator",
    "stand-in": "made to be like a recorded trace in mix, sizes, rates and footprint; the figures "
    "are not the trace's",
}


def html(comparison: Comparison) -> str:
    """The page. The same comparison gives the same page."""
    causes, attributed = data.attribution(comparison)
    measured = {result.design for result in comparison.results}
    return render(
        "page.html.jinja",
        comparison=comparison,
        version=comparison.version,
        designs=[
            {"name": result.design, "style": data.style(position)}
            for position, result in enumerate(comparison.results)
        ],
        tiles=[_tile(result) for result in comparison.results],
        warnings=warnings(comparison),
        sentences=[
            described for described in sentences(comparison) if described.design in measured
        ],
        facts=facts(comparison),
        input_meaning=INPUTS.get(comparison.workload.input or "", ""),
        read=embed("latency-read", _latency(data.tails(comparison, "read"))),
        write=embed("latency-write", _latency(data.tails(comparison, "write"))),
        attribution=embed("attribution", _attribution(causes, attributed)),
        causes=causes,
        over_time=embed("over-time", _over_time(comparison)),
        windows=_windows(comparison),
        wear=embed("wear", _wear(comparison)),
        rows=table_rows(comparison),
        measured=measurements.tables(comparison),
        measured_meaning=measurements.meaning(comparison),
    )


def render(template: str, **content: Any) -> str:
    """A page from one of the templates beside this file, with plotly in it."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        loader=PackageLoader("tinytail.pictures", ""),
    )
    return environment.get_template(template).render(plotly=Markup(get_plotlyjs()), **content)


def embed(name: str, figure: go.Figure | None) -> Markup | None:
    """A figure as a part of a page; None if there is no figure."""
    if figure is None:
        return None
    options = {
        "displaylogo": False,
        # Nothing leaves the page.
        "showSendToCloud": False,
        "plotlyServerURL": "",
        "responsive": True,
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        "toImageButtonOptions": {"format": "svg", "filename": name},
    }
    # plotly escapes what could end a script; what it takes for markup is escaped by `safe`.
    text = to_html(
        figure, config=options, include_plotlyjs=False, full_html=False, div_id=f"figure-{name}"
    )
    return Markup(text)


def safe(text: str) -> str:
    """Text that plotly shows as it is and does not take for markup."""
    return escaping.escape(text, quote=False)


def short_name(design: str) -> str:
    """A design's name, shortened if it is long, as paths are."""
    design = design_label(design)
    if len(design) > NAME_CHARACTERS_MAX:
        design = f"…{design[-NAME_CHARACTERS_MAX:]}"
    return safe(design)


def _tile(result: DesignResult) -> list[tuple[str, str]]:
    read = result.read
    amplification = result.write_amplification
    return [
        *(
            (f"read {percentile.name}", units.latency(percentile.of(read)))
            for percentile in PERCENTILES
            if percentile.name in TILES
        ),
        ("GC-blocked reads", units.percent(result.gc_blocked_read_percent)),
        (
            "write amplification",
            units.MISSING if amplification is None else units.number(amplification),
        ),
    ]


def base_layout(height: int, **more: Any) -> dict[str, Any]:
    """What all plots have in common, with more."""
    layout: dict[str, Any] = {
        "template": None,
        "height": height,
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "margin": {"l": 64, "r": 48, "t": 40, "b": 48},
        # Beside the picture, where no legend gets in its way.
        "modebar": {"orientation": "v"},
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#ffffff", "font": {"color": INK}, "namelength": -1},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return layout | more


def base_axis(title: str | None = None, **more: Any) -> dict[str, Any]:
    """What all axes have in common, with more."""
    axis = {
        "title": None if title is None else {"text": title, "standoff": 12},
        "gridcolor": GRID,
        "linecolor": "#8c8c8c",
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": "#8c8c8c",
        "automargin": True,
    }
    return axis | more


def _log_axis(values: Sequence[float], labels_max: int, **more: Any) -> dict[str, Any]:
    """A logarithmic axis of latencies in seconds."""
    found = data.log_axis(values, labels_max)
    if found is None:
        return base_axis(type="log", **more)
    ends = [math.log10(found.low), math.log10(found.high)]
    return base_axis(type="log", tickvals=found.ticks, ticktext=found.labels, range=ends, **more)


def _words(seconds: list[float] | list[float | None]) -> list[str]:
    return [units.latency(None if each is None else each / data.US) for each in seconds]


def _latency(tails: list[data.Tail]) -> go.Figure | None:
    if not tails:
        return None
    furthest = max([1.0, *(x for tail in tails for x in tail.x)])
    marked = [p for p in data.MARKED if data.tail_scale(p) <= furthest + data.ROUNDING]
    # The slowest request stands at the end, apart from the percentiles.
    end = furthest + data.MAX_GAP
    figure = go.Figure()
    for tail in tails:
        line = {"color": tail.style.colour, "dash": tail.style.dash, "width": 2.2}
        group = {"name": short_name(tail.design), "legendgroup": tail.design}
        figure.add_scatter(
            x=tail.x,
            y=tail.seconds,
            mode="lines",
            line=line,
            customdata=list(
                zip([f"p{p:g}" for p in tail.percent], _words(tail.seconds), strict=True)
            ),
            hovertemplate="%{customdata[0]}: %{customdata[1]}",
            **group,
        )
        figure.add_scatter(
            x=[end],
            y=[tail.max_seconds],
            mode="markers",
            marker={"color": tail.style.colour, "symbol": "diamond", "size": 9},
            customdata=_words([tail.max_seconds]),
            hovertemplate="max: %{customdata}",
            showlegend=False,
            **group,
        )
    figure.update_layout(
        base_layout(
            440,
            xaxis=base_axis(
                title="percentile of requests",
                tickvals=[*map(data.tail_scale, marked), end],
                ticktext=[*(f"p{p:g}" for p in marked), "max"],
                range=[0, end + 0.2],
                tickangle=0,
            ),
            yaxis=_log_axis(
                [each for tail in tails for each in (*tail.seconds, tail.max_seconds)],
                24,
                title="latency",
            ),
        )
    )
    return figure


def _attribution(causes: list[data.Cause], tails: list[data.AttributionTail]) -> go.Figure | None:
    if not tails:
        return None
    longest = max(bar.mean_seconds for tail in tails for bar in tail.bars) or data.US
    unit, unit_seconds = data.time_unit(longest)
    figure = go.Figure()
    times: list[list[float]] = []
    shares: list[list[float]] = []
    for cause in causes:
        for row, tail in enumerate(tails, 1):
            bars = [(y, bar) for y, bar in enumerate(tail.bars) if cause.key in bar.parts]
            seconds = [bar.parts[cause.key] for _, bar in bars]
            times.append([each / unit_seconds for each in seconds])
            shares.append([100 * bar.parts[cause.key] / bar.mean_seconds for _, bar in bars])
            figure.add_bar(
                x=times[-1],
                y=[y for y, _ in bars],
                orientation="h",
                name=safe(cause.name),
                showlegend=False,
                marker={
                    "color": cause.colour,
                    "line": {"color": "#ffffff" if cause.key else "#8c8c8c", "width": 0.6},
                    "pattern": _pattern(hatched=cause.hatched),
                },
                customdata=list(zip(_words(seconds), shares[-1], strict=True)),
                hovertemplate="%{customdata[0]}, %{customdata[1]:.1f} %",
                xaxis=nth_axis("x", row),
                yaxis=nth_axis("y", row),
            )
    for row, tail in enumerate(tails, 1):
        times.append([bar.mean_seconds / unit_seconds for bar in tail.bars])
        shares.append([100.0 for _ in tail.bars])
        figure.add_scatter(
            x=times[-1],
            y=list(range(len(tail.bars))),
            mode="text",
            text=[f" {_total(bar)}" for bar in tail.bars],
            textposition="middle right",
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
            xaxis=nth_axis("x", row),
            yaxis=nth_axis("y", row),
        )
    # What stands behind the longest bar has room in a narrow plot, too.
    room = 1.5
    longest *= room / unit_seconds
    time_axis = base_axis(title=f"mean time per read ({unit})", range=[0, longest])
    share_axis = base_axis(title="share of the time (%)", range=[0, 100 * room])
    _lay_out_attribution(figure, tails, (times, time_axis), (shares, share_axis))
    return figure


def _total(bar: data.Bar) -> str:
    mean = units.latency(bar.mean_seconds / data.US)
    return f"{mean} ({units.counted(bar.reads, 'read')})"


# The x values of each trace, and their axis.
_Shown = tuple[list[list[float]], dict[str, Any]]


def _pattern(*, hatched: bool) -> dict[str, Any]:
    hatch = {"shape": "/", "fillmode": "overlay", "fgcolor": "#ffffff", "size": 6, "solidity": 0.2}
    return hatch if hatched else {}


def _lay_out_attribution(
    figure: go.Figure,
    tails: list[data.AttributionTail],
    times: _Shown,
    shares: _Shown,
) -> None:
    _, time_axis = times
    heights = [BAR_HEIGHT * len(tail.bars) + 12 for tail in tails]
    gap = 34
    inner = sum(heights) + gap * (len(tails) - 1)
    layout = base_layout(inner + 76 + 56, barmode="stack", bargap=0.25)
    layout["margin"] |= {"t": 76, "b": 56}
    annotations = []
    top = 1.0
    for row, (tail, height) in enumerate(zip(tails, heights, strict=True), 1):
        bottom = max(0.0, top - height / inner)
        last = row == len(tails)
        shared = {} if row == 1 else {"matches": "x"}
        layout[nth_axis("xaxis", row)] = (
            time_axis
            | shared
            | {
                "anchor": nth_axis("y", row),
                "showticklabels": last,
                "title": time_axis["title"] if last else None,
            }
        )
        layout[nth_axis("yaxis", row)] = base_axis(
            domain=[bottom, top],
            anchor=nth_axis("x", row),
            range=[len(tail.bars) - 0.45, -0.55],
            tickvals=list(range(len(tail.bars))),
            ticktext=[short_name(bar.design) for bar in tail.bars],
            showgrid=False,
            fixedrange=True,
        )
        annotations.append(heading(tail.title, top))
        top = bottom - gap / inner
    layout["annotations"] = annotations
    named = [nth_axis("xaxis", row) for row in range(1, len(tails) + 1)]

    def button(label: str, shown: _Shown) -> dict[str, Any]:
        x, axis = shown
        changes: dict[str, Any] = {f"{name}.range": axis["range"] for name in named}
        changes[f"{named[-1]}.title.text"] = axis["title"]["text"]
        return {"label": label, "method": "update", "args": [{"x": x}, changes]}

    layout["updatemenus"] = [
        {
            "type": "buttons",
            "direction": "right",
            "x": 0,
            "xanchor": "left",
            "y": 1 + 28 / inner,
            "yanchor": "bottom",
            "pad": {"t": 0, "b": 0},
            "buttons": [button("mean time", times), button("share of the time", shares)],
        }
    ]
    figure.update_layout(layout)


def nth_axis(axis: str, number: int) -> str:
    """The name of an axis of one of several plots."""
    return axis if number == 1 else f"{axis}{number}"


def heading(text: str, y: float, more: str = "") -> dict[str, Any]:
    """What stands above a plot."""
    aside = f'  <span style="color:#595959">({safe(more)})</span>' if more else ""
    return {
        "text": f"<b>{safe(text)}</b>{aside}",
        "x": 0,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 13},
    }


def _over_time(comparison: Comparison) -> go.Figure | None:
    rows = data.over_time(comparison)
    if not comparison.results or not any(line.x for line in rows[0].lines):
        return None
    end = max(result.simulated_seconds for result in comparison.results) or data.US
    unit = data.time_unit(end)
    figure = go.Figure()
    gap = 30
    inner = ROW_HEIGHT * len(rows) + gap * (len(rows) - 1)
    layout = base_layout(inner + 110)
    layout["margin"] |= {"t": 62}
    layout["legend"]["y"] = 1 + 26 / inner
    layout["annotations"] = []
    top = 1.0
    for number, row in enumerate(rows, 1):
        axis = nth_axis("y", number)
        for line in row.lines:
            _add_line(figure, line, axis, row, unit, width=1.6, legend=number == 1)
        for line in row.second:
            _add_line(figure, line, axis, row, unit, width=0.8, legend=False)
        bottom = max(0.0, top - ROW_HEIGHT / inner)
        domain = [bottom, top]
        mode = "tozero" if row.from_zero else "normal"
        ends: dict[str, Any] = {"range": [0, 1]} if row.from_zero and row.is_zero else {}
        values = [y for line in row.lines for y in line.y if y is not None]
        layout[nth_axis("yaxis", number)] = (
            _log_axis(values, 6, domain=domain)
            if row.is_log
            else base_axis(domain=domain, rangemode=mode, nticks=5, **COUNTS, **ends)
        )
        aside = f"thick: least, thin: {row.second_title}" if row.second else ""
        layout["annotations"].append(heading(row.title, top, aside))
        top = bottom - gap / inner
    layout["xaxis"] = base_axis(
        title=f"simulated time since the measured part began ({unit[0]})",
        anchor=nth_axis("y", len(rows)),
        range=[0, 1.01 * end / unit[1]],
        showspikes=True,
        spikemode="across",
        spikethickness=1,
        spikedash="dot",
        spikecolor="#8c8c8c",
    )
    figure.update_layout(layout)
    return figure


def _add_line(
    figure: go.Figure,
    line: data.Line,
    axis: str,
    row: data.Row,
    unit: tuple[str, float],
    *,
    width: float,
    legend: bool,
) -> None:
    words = (
        _words(line.y)
        if row.values == "seconds"
        else [units.MISSING if y is None else f"{y:,.6g}" for y in line.y]
    )
    figure.add_scatter(
        x=[x / unit[1] for x in line.x],
        y=line.y,
        mode="lines+markers",
        marker={"size": 3 if width > 1 else 1.5, "color": line.style.colour},
        line={"color": line.style.colour, "dash": line.style.dash, "width": width},
        customdata=words,
        hovertemplate=f"%{{x:,.6~g}} {unit[0]}: %{{customdata}}",
        name=short_name(line.design),
        legendgroup=line.design,
        showlegend=legend,
        yaxis=axis,
    )


def _windows(comparison: Comparison) -> list[str]:
    """What a point over time is, for each design."""
    widths = {}
    for result in comparison.results:
        merged = data.windows_merged(result.series)
        width = units.latency(result.series.window_seconds * merged / data.US)
        widths[result.design] = width
    if len(set(widths.values())) == 1:
        return sorted(set(widths.values()))
    return [f"{design}: {width}" for design, width in widths.items()]


def _wear(comparison: Comparison) -> go.Figure | None:
    lines = [line for line in data.wear(comparison) if line.x]
    if not lines:
        return None
    figure = go.Figure()
    distinct = {x for line in lines for x in line.x}
    as_bars = len(distinct) <= BARS_MAX
    for line in lines:
        words = {
            "customdata": [f"{y:,.0f}" for y in line.y if y is not None],
            "hovertemplate": "%{customdata} blocks erased %{x} times",
            "name": short_name(line.design),
        }
        if as_bars:
            fill = {"color": line.style.colour, "pattern": _pattern(hatched=line.style.hatched)}
            figure.add_bar(x=line.x, y=line.y, marker=fill, **words)
        else:
            stroke = {"color": line.style.colour, "dash": line.style.dash, "width": 2}
            figure.add_scatter(
                x=line.x, y=line.y, mode="lines", line=stroke | {"shape": "hvh"}, **words
            )
    x_axis = base_axis(title="erases of a block in the measured part", tickformat=",d")
    if as_bars and max(distinct) <= BARS_MAX:
        x_axis |= {"dtick": 1, "range": [-0.6, max(distinct | {ERASES_SHOWN}) + 0.6]}
    most = max(y for line in lines for y in line.y if y is not None)
    decades = range(math.ceil(math.log10(most)) + 1)
    y_axis = base_axis(
        title="blocks",
        type="log",
        # A bar of one block has to have a height.
        range=[math.log10(0.7), math.log10(most * 1.5)],
        tickvals=[10**decade for decade in decades],
        ticktext=[f"{10**decade:,}" for decade in decades],
    )
    figure.update_layout(base_layout(360, barmode="group", xaxis=x_axis, yaxis=y_axis))
    figure.update_layout(showlegend=True)
    return figure
