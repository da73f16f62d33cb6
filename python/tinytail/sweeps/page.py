"""A sweep as one HTML page: lines, heat maps and the front of several figures, by plotly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tinytail import units
from tinytail.engine import native
from tinytail.files.whole import FileOutput
from tinytail.pictures import data, page
from tinytail.sweeps import cells
from tinytail.sweeps.cells import Cell, Panel
from tinytail.sweeps.rows import FIGURES, shown
from tinytail.sweeps.view import errors, told

if TYPE_CHECKING:
    from tinytail.sweeps.result import Sweep

# What is shown beside the headline.
FIGURES_SHOWN = ("read.p50_us", "write.p99_us", "write_amplification", "erases")
AGAINST = "erases"
PANEL_HEIGHT = 300
LINE_HEIGHT = 18
TITLE_CHARACTERS_MAX = 40
CHARACTERS_MAX = 30
ROWS_MAX = 2000


def write(sweep: Sweep, path: str, figure: str, x: str | None, by: str | None) -> None:
    """Writes the page; see `Sweep.report`."""
    FileOutput(path, "--report").write(html(sweep, figure, x, by).encode())


def html(sweep: Sweep, headline: str, x: str | None = None, by: str | None = None) -> str:
    """The page. The same sweep gives the same page."""
    names = list(dict.fromkeys([headline, *FIGURES_SHOWN]))
    meanings = {column.name: column.meaning for column in FIGURES}
    parts = []
    for name in names:
        panels = [
            panel
            for panel in sweep.panels(name, x=x, by=by)
            if any(cell.mean is not None for cell in panel.cells.values())
        ][: cells.PANELS_MAX]
        if panels:
            parts.append(
                {
                    "name": name,
                    "meaning": meanings[name],
                    "lines": page.embed(f"lines-{name}", _lines(panels, name, sweep.seeds)),
                    "heat": page.embed(f"heat-{name}", _heat(panels, name, sweep.seeds)),
                }
            )
    return page.render(
        "sweep.html.jinja",
        sweep=sweep,
        varied=[axis for axis in sweep.axes if len(axis.values) > 1],
        shown=shown,
        points=units.counted(len(sweep), "point"),
        errors=[*sweep.notes(), *errors(sweep)],
        parts=parts,
        headline=headline,
        against=AGAINST,
        front=page.embed("front", _front(sweep, headline)),
        rows=list(_rows(sweep, names)),
        names=names,
        version=native.version(),
    )


def _lines(panels: Sequence[Panel], figure: str, seeds: int) -> go.Figure:
    picture = go.Figure()
    layout = _stacked([_title(panel.fixed) for panel in panels])
    means = [cell.mean for panel in panels for cell in panel.cells.values()]
    is_log = cells.spans_decades([each for each in means if each is not None])
    for number, panel in enumerate(panels, 1):
        by = (None,) if panel.by is None else panel.by.values
        for position, each in enumerate(by):
            _add_line(
                picture, panel, each, position, number, partial(told, figure=figure, seeds=seeds)
            )
        layout[page.nth_axis("xaxis", number)] |= _x_axis(panel)
        y_axis: dict[str, Any] = {"title": {"text": _unit(figure)}}
        layout[page.nth_axis("yaxis", number)] |= y_axis | ({"type": "log"} if is_log else {})
    picture.update_layout(layout)
    return picture


def _add_line(
    picture: go.Figure,
    panel: Panel,
    by: Any,
    position: int,
    number: int,
    words: Callable[[Cell], str],
) -> None:
    found = [
        (x, cell)
        for x, cell in zip(_x_values(panel), panel.column(by), strict=True)
        if cell is not None and cell.mean is not None
    ]
    style = data.style(position)
    means = [cell.mean or 0.0 for _, cell in found]
    name = "" if panel.by is None else page.short_name(shown(by))
    picture.add_scatter(
        x=[x for x, _ in found],
        y=means,
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash},
        name=name,
        legendgroup=name,
        showlegend=number == 1 and panel.by is not None and len(panel.by.values) > 1,
        error_y={
            "array": [0 if c.high is None else c.high - (c.mean or 0) for _, c in found],
            "arrayminus": [0 if c.low is None else (c.mean or 0) - c.low for _, c in found],
            "thickness": 1,
        },
        text=[words(cell) for _, cell in found],
        hovertemplate="%{x}: %{text}",
        xaxis=page.nth_axis("x", number),
        yaxis=page.nth_axis("y", number),
    )


def _heat(panels: Sequence[Panel], figure: str, seeds: int) -> go.Figure | None:
    if panels[0].by is None or len(panels[0].by.values) < 2 or len(panels[0].x.values) < 2:
        return None
    picture = go.Figure()
    layout = _stacked([_title(panel.fixed) for panel in panels])
    for number, panel in enumerate(panels, 1):
        assert panel.by is not None
        columns = [panel.column(value) for value in panel.by.values]
        picture.add_heatmap(
            x=[page.safe(shown(value)) for value in panel.x.values],
            y=[page.safe(_short(shown(value))) for value in panel.by.values],
            z=[[None if cell is None else cell.mean for cell in row] for row in columns],
            text=[[told(cell, figure, seeds) for cell in row] for row in columns],
            texttemplate="%{text}",
            hovertemplate="%{x}, %{y}: %{text}<extra></extra>",
            coloraxis="coloraxis",
            xaxis=page.nth_axis("x", number),
            yaxis=page.nth_axis("y", number),
        )
        layout[page.nth_axis("xaxis", number)] |= {
            "type": "category",
            "title": {"text": page.safe(panel.x.title)},
        }
        layout[page.nth_axis("yaxis", number)] |= {
            "type": "category",
            "title": {"text": page.safe(panel.by.title)},
        }
    layout["coloraxis"] = {"colorscale": "Viridis", "reversescale": True}
    layout["coloraxis"]["colorbar"] = {"title": {"text": _unit(figure), "side": "right"}}
    layout["margin"]["r"] = 130
    picture.update_layout(layout)
    return picture


def _front(sweep: Sweep, figure: str) -> go.Figure | None:
    found = sweep.choices(AGAINST, figure)[: cells.PANELS_MAX]
    if not found:
        return None
    picture = go.Figure()
    layout = _stacked([_title(choices.given) for choices in found])
    designs = next((axis.values for axis in sweep.axes if axis.name == "design"), (None,))
    labelled: set[str] = set()
    for number, choices in enumerate(found, 1):
        x_axis, y_axis = page.nth_axis("x", number), page.nth_axis("y", number)
        on_axes = {"xaxis": x_axis, "yaxis": y_axis}
        best = [choices.points[position] for position in choices.best]
        picture.add_scatter(
            x=[point[0] for point in best],
            y=[point[1] for point in best],
            mode="lines+markers",
            line={"shape": "hv", "color": "#8c8c8c"},
            marker={"symbol": "circle-open", "size": 14, "color": "#8c8c8c"},
            name="front",
            legendgroup="front",
            showlegend=number == 1,
            hoverinfo="skip",
            **on_axes,
        )
        for position, design in enumerate(designs):
            name = "points" if design is None else page.short_name(shown(design))
            colour = data.style(position).colour
            for is_refuted, symbol in ((False, "circle"), (True, "x")):
                chosen = [
                    (choices.points[at], cell)
                    for at, cell in enumerate(choices.x)
                    if (design is None or cell.place["design"] == design)
                    and (at in choices.refuted) is is_refuted
                ]
                if is_refuted and not chosen:
                    continue
                label = f"{name}, {choices.why}" if is_refuted else name
                picture.add_scatter(
                    x=[point[0] for point, _ in chosen],
                    y=[point[1] for point, _ in chosen],
                    mode="markers",
                    marker={"color": colour, "size": 8, "symbol": symbol},
                    name=label,
                    legendgroup=label,
                    showlegend=label not in labelled,
                    text=[_place(cell) for _, cell in chosen],
                    hovertemplate="%{text}<br>%{x:,}, %{y:,.4~g}<extra></extra>",
                    **on_axes,
                )
                labelled.add(label)
        layout[page.nth_axis("xaxis", number)]["title"] = {"text": _unit(AGAINST)}
        layout[page.nth_axis("yaxis", number)]["title"] = {"text": _unit(figure)}
        if cells.spans_decades([point[1] for point in choices.points]):
            layout[page.nth_axis("yaxis", number)]["type"] = "log"
    picture.update_layout(layout)
    return picture


def _title(fixed: Mapping[str, Any]) -> str:
    """What is fixed, a line each where they would not stand beside each other."""
    parts = [_short(f"{name} = {shown(value)}") for name, value in fixed.items()]
    beside = ", ".join(parts)
    return beside if len(beside) <= TITLE_CHARACTERS_MAX else "\n".join(parts)


def _short(text: str) -> str:
    """A text, shortened to what has room beside a plot."""
    return f"…{text[-CHARACTERS_MAX:]}" if len(text) > CHARACTERS_MAX else text


def _stacked(titles: Sequence[str]) -> dict[str, Any]:
    """The layout of panels below each other."""
    lines_max = max(title.count("\n") for title in titles) + 1
    gap = 66 + LINE_HEIGHT * lines_max
    inner = PANEL_HEIGHT * len(titles) + gap * (len(titles) - 1)
    layout = page.base_layout(inner + 130)
    layout["margin"] |= {"t": 52 + LINE_HEIGHT * lines_max, "b": 60}
    layout["legend"]["y"] = 1 + (8 + LINE_HEIGHT * lines_max) / inner
    layout["annotations"] = []
    top = 1.0
    for number, title in enumerate(titles, 1):
        bottom = max(0.0, top - PANEL_HEIGHT / inner)
        layout[page.nth_axis("xaxis", number)] = page.base_axis(
            anchor=page.nth_axis("y", number), domain=[0, 1]
        )
        layout[page.nth_axis("yaxis", number)] = page.base_axis(
            anchor=page.nth_axis("x", number), domain=[bottom, top]
        )
        if title:
            heading = page.heading(title, top)
            text = heading["text"].replace("\n", "<br>")
            layout["annotations"].append(heading | {"text": text, "align": "left"})
        top = bottom - gap / inner
    return layout


def _x_values(panel: Panel) -> list[Any]:
    if cells.is_of_numbers(panel.x):
        return list(panel.x.values)
    return [page.safe(shown(value)) for value in panel.x.values]


def _x_axis(panel: Panel) -> dict[str, Any]:
    kind = "log" if cells.has_equal_ratios(panel.x) else "linear"
    if not cells.is_of_numbers(panel.x):
        return {"type": "category", "title": {"text": page.safe(panel.x.title)}}
    ticks = {"tickvals": list(panel.x.values)} if len(panel.x.values) <= 12 else {}
    return {"type": kind, "title": {"text": page.safe(panel.x.title)}, **ticks}


def _unit(figure: str) -> str:
    return f"{figure.removesuffix('_us')} (µs)" if figure.endswith("_us") else figure


def _place(cell: Cell) -> str:
    return page.safe(", ".join(f"{name} = {shown(each)}" for name, each in cell.place.items()))


def _rows(sweep: Sweep, names: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Each combination, with its figures in words."""
    varied = [axis.name for axis in sweep.axes if len(axis.values) > 1]
    columns = [sweep.cells(name) for name in names]
    for found in list(zip(*columns, strict=True))[:ROWS_MAX]:
        place = [shown(found[0].place[name]) for name in varied]
        yield (
            place,
            [told(cell, name, sweep.seeds) for cell, name in zip(found, names, strict=True)],
        )
