"""A chart for paper: its plotly figure drawn again by matplotlib, without pyplot and without a browser.

Knows what our charts use, and refuses what it does not know rather than leave it out: scatter (lines, markers, error
bars, closed bands, stacks of areas), bar and heatmap traces; linear, logarithmic and category axes; rectangles and
lines as shapes; texts as annotations. A pixel of the screen is 0.615 pt on paper, so that 13 px become 8 pt.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import Transform, blended_transform_factory

from hdbkit.charts.style import HEIGHT, colour
from hdbkit.later import graph_objects as go
from hdbkit.later import numpy as np

WIDTHS_IN: Final = {1: 3.5, 2: 7.16}
"""Widths in inches of one and of two columns of a paper."""
SAVING: Final[dict[Any, Any]] = {"pdf.fonttype": 42, "svg.hashsalt": "hdbkit"}
"""Fonts go whole into a PDF; the same chart gives the same file."""
_POINT_PX: Final = 8 / 13
_DASHES: Final = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.5)), "dashdot": "-.", "longdash": (0, (12, 3))}
_MARKERS: Final = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X"} | {
    "triangle-left": "<",
    "triangle-right": ">",
}
_HATCHES: Final = {"": "", "/": "////", "x": "xxxx", ".": "....", "\\": "\\\\\\\\", "-": "----"}
_BARS_WIDTH: Final = 0.8
_LETTER: Final = 0.55
"""How wide a letter is, as a share of the size of its font."""
_SIGN_WIDE: Final = 7
"""The width in characters of the sign of a legend's entry and of the space next to it."""

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class _Entry:
    """A line of the legend."""

    sign: Line2D | Patch
    name: str


def drawn_on_paper(figure: go.Figure, columns: int = 2, title: str = "") -> Figure:
    """``figure`` as wide as one or two columns of a paper, on white.

    Raises:
        NotImplementedError: it holds a trace, or a shape, of a kind that our charts do not use.
    """
    spec = figure.to_plotly_json()
    layout, title = spec["layout"], _plain(title)
    high = layout.get("height", HEIGHT) * _POINT_PX / 72 * (1 if columns == 2 else 0.8)
    size_pt = 8.0 if columns == 2 else 7.0
    with mpl.rc_context({"font.size": size_pt, "axes.labelsize": size_pt, "hatch.linewidth": 0.5}):
        made = Figure(figsize=(WIDTHS_IN[columns], high), layout="constrained", facecolor="white")
        axes = made.add_subplot()
        entries = [entry for trace in _stacked(spec["data"]) if (entry := _trace(axes, trace))]
        for shape in layout.get("shapes", ()):
            _shape(axes, shape)
        for note in layout.get("annotations", ()):
            _annotation(axes, note, layout["xaxis"])
        _axis(axes, "y", layout["yaxis"], size_pt)
        _axis(axes, "x", layout["xaxis"], size_pt)  # its room is what the names beside the other one leave
        _frame(axes)
        if layout.get("showlegend", len(entries) > 1) and entries:
            _legend(made, entries, size_pt, title)
        elif title:
            made.suptitle(title, x=0.01, ha="left", size=size_pt + 1.5, weight="bold", wrap=True)
    return made


def _stacked(traces: Sequence[Spec]) -> list[Spec]:
    """The traces; each bar, and each line of a stack, with the ``base`` on which it stands."""
    reached: dict[Any, float] = {}
    made: list[Spec] = []
    for trace in traces:
        if trace["type"] == "bar" or trace.get("stackgroup"):
            base = [reached.get(x, 0.0) for x in trace["x"]]
            reached |= {x: low + y for x, low, y in zip(trace["x"], base, trace["y"], strict=True)}
            made.append({**trace, "base": base})
        else:
            made.append(trace)
    return made


def _trace(axes: Axes, trace: Spec) -> _Entry | None:
    """Draw a trace; its line of the legend, where it has one."""
    draw = {"scatter": _scatter, "bar": _bar, "heatmap": _heatmap}.get(trace["type"])
    if draw is None:
        raise NotImplementedError(f"a trace of type {trace['type']} has no drawing on paper yet")
    sign = draw(axes, trace)
    shown = sign is not None and trace.get("name") and trace.get("showlegend", True)
    return _Entry(sign, _plain(trace["name"])) if sign is not None and shown else None


def _scatter(axes: Axes, trace: Spec) -> Line2D | Patch | None:
    if trace.get("fill") or trace.get("stackgroup"):
        return _area(axes, trace)
    x, y = ([float("nan") if value is None else value for value in trace[which]] for which in ("x", "y"))
    mode, line, marker = trace.get("mode", "lines"), trace.get("line", {}), trace.get("marker", {})
    ink = marker.get("color", line.get("color"))
    sign = Line2D([], [], color=line.get("color", ink), linestyle="none")
    for which in ("x", "y"):
        _error(axes, trace.get(f"error_{which}"), which, (x, y))
    if "lines" in mode:
        look: Any = {"linestyle": _DASHES[line.get("dash", "solid")], "linewidth": line.get("width", 2) * _POINT_PX}
        sign.set(**look)
        axes.plot(x, y, color=line["color"], alpha=trace.get("opacity", 1), **look)
    if "markers" in mode:
        symbols = marker.get("symbol", "circle")
        symbols = [symbols] * len(x) if isinstance(symbols, str) else symbols
        size = marker.get("size", 6) * _POINT_PX
        for symbol in dict.fromkeys(symbols):
            at = [i for i, one in enumerate(symbols) if one == symbol]
            axes.plot(
                [x[i] for i in at], [y[i] for i in at], _MARKERS[symbol], color=ink, markersize=size,
                alpha=marker.get("opacity", 1), markeredgewidth=0,
            )  # fmt: skip
        if isinstance(marker.get("symbol", ""), str):
            sign.set(marker=_MARKERS[symbols[0]] if symbols else "", markersize=size, markeredgewidth=0)
    return sign


def _area(axes: Axes, trace: Spec) -> Patch:
    """A closed band, or a layer of a stack."""
    hatch = _HATCHES[trace.get("fillpattern", {}).get("shape", "")]
    look: Any = {"facecolor": trace["fillcolor"], "hatch": hatch, "edgecolor": "white", "linewidth": 0}
    look["alpha"] = trace.get("opacity", 1)
    x, y = (np.array(trace[which], dtype=float) for which in ("x", "y"))
    if "base" in trace:
        axes.fill_between(x, trace["base"], trace["base"] + y, **look)
    else:
        axes.fill(x, y, **look)
    return Patch(**look)


def _error(axes: Axes, error: Spec | None, which: str, at: tuple[list[float], list[float]]) -> None:
    if error is None:
        return
    ends: Any = {f"{which}err": [error.get("arrayminus", error["array"]), error["array"]]}
    width = error.get("thickness", 2) * _POINT_PX
    axes.errorbar(*at, **ends, fmt="none", ecolor=error["color"], elinewidth=width, capsize=2)


def _bar(axes: Axes, trace: Spec) -> Patch:
    marker = trace["marker"]
    hatch = _HATCHES[marker.get("pattern", {}).get("shape", "")]
    look = {"facecolor": marker["color"], "hatch": hatch, "edgecolor": "white", "linewidth": 0}
    side: Literal["edge", "center"] = "edge" if "offset" in trace else "center"
    axes.bar(trace["x"], trace["y"], trace.get("width", _BARS_WIDTH), trace["base"], align=side, **look)
    return Patch(**look)


def _heatmap(axes: Axes, trace: Spec) -> None:
    low, high = (end for _, end in trace["colorscale"])
    colours = LinearSegmentedColormap.from_list("heat", [low, high])
    cells = [[float("nan") if value is None else float(value) for value in row] for row in trace["z"]]
    if "text" not in trace:  # its x and y are the edges of the cells
        axes.pcolormesh(trace["x"], trace["y"], cells, cmap=colours, vmin=trace.get("zmin"), vmax=trace.get("zmax"))
        return
    axes.pcolormesh(cells, cmap=colours, edgecolors="white", linewidth=1.5)
    for which, names in (("x", trace["x"]), ("y", trace["y"])):
        getattr(axes, f"set_{which}ticks")(
            [i + 0.5 for i in range(len(names))], [_plain(str(name)) for name in names]
        )
    for i, row in enumerate(trace["text"]):
        for j, text in enumerate(row):
            axes.text(j + 0.5, i + 0.5, _plain(text), ha="center", va="center", color=trace["textfont"]["color"])


def _reach(axes: Axes, thing: Spec) -> Transform:
    """Where a shape or an annotation is placed: by data or by the share of the axes, for each direction."""
    by = [axes.transData if thing.get(f"{which}ref", which) == which else axes.transAxes for which in ("x", "y")]
    return blended_transform_factory(*by)


def _shape(axes: Axes, shape: Spec) -> None:
    line = shape.get("line", {})
    below = 0.5 if shape.get("layer") == "below" else 1.5
    x, y = (shape["x0"], shape["x1"]), (shape["y0"], shape["y1"])
    where = _reach(axes, shape)
    if shape["type"] == "rect":
        look = {"facecolor": shape["fillcolor"], "linewidth": 0, "zorder": below, "alpha": shape.get("opacity", 1)}
        axes.add_patch(Rectangle((x[0], y[0]), x[1] - x[0], y[1] - y[0], transform=where, **look))
    elif shape["type"] == "line":
        dash, width = _DASHES[line.get("dash", "solid")], line.get("width", 1) * _POINT_PX
        axes.add_line(Line2D(x, y, transform=where, color=line["color"], ls=dash, lw=width, zorder=below))
    else:
        raise NotImplementedError(f"a shape of type {shape['type']} has no drawing on paper yet")


def _annotation(axes: Axes, note: Spec, across: Spec) -> None:
    """A text; plotly gives its place on a logarithmic axis as a logarithm."""
    x = 10 ** note["x"] if across.get("type") == "log" and note.get("xref", "x") == "x" else note["x"]
    tall = {"top": "top", "middle": "center", "bottom": "bottom"}[note.get("yanchor", "middle")]
    ground = {"facecolor": note["bgcolor"], "linewidth": 0, "pad": 1.5} if note.get("bgcolor") else None
    ink = note.get("font", {}).get("color", colour("ink"))
    axes.text(
        x, note["y"], _plain(note["text"]), transform=_reach(axes, note), color=ink, va=tall,
        ha=note.get("xanchor", "center"), bbox=ground,
    )  # fmt: skip


def _axis(axes: Axes, which: Literal["x", "y"], spec: Spec, size_pt: float) -> None:
    axis = getattr(axes, f"{which}axis")
    set_limits = getattr(axes, f"set_{which}lim")
    logarithmic = spec.get("type") == "log"
    if logarithmic:
        getattr(axes, f"set_{which}scale")("log")
        axis.set_minor_locator(NullLocator())
    if spec.get("range"):
        set_limits(*(10**end if logarithmic else end for end in spec["range"]))
    elif spec.get("rangemode") == "tozero":
        set_limits(**{"bottom" if which == "y" else "left": 0})
    if spec.get("autorange") == "reversed":
        axis.set_inverted(True)
    _ticks(axes, which, spec, size_pt)
    title = spec.get("title", {}).get("text", "")
    getattr(axes, f"set_{which}label")(_plain(title), color=colour("muted"))
    axes.tick_params(which, labelsize=size_pt, labelcolor=colour("ink"), color=colour("grid"), length=2)
    if spec.get("showgrid", True):
        axes.grid(True, axis=which, color=colour("grid"), linewidth=0.5)
    if spec.get("showticklabels") is False:
        axis.set_tick_params(labelbottom=False, labelleft=False, length=0)


def _ticks(axes: Axes, which: Literal["x", "y"], spec: Spec, size_pt: float) -> None:
    """The given ticks, thinned out or turned where their texts would touch; otherwise as many as fit."""
    axis = getattr(axes, f"{which}axis")
    if spec.get("tickvals") is not None:
        texts = [_plain(str(text)) for text in spec.get("ticktext", spec["tickvals"])]
        crowded, logarithmic = which == "x" and _crowded(axes, texts, size_pt), spec.get("type") == "log"
        turned: Any = {}
        if crowded and logarithmic:
            texts = [text if (len(texts) - i) % 2 else "" for i, text in enumerate(texts)]
        elif crowded:
            turned = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
        axis.set_ticks(list(spec["tickvals"]), texts, **turned)
    elif spec.get("type") != "category":
        suffix = spec.get("ticksuffix", "")
        fit = int(_room_pt(axes, size_pt) / (10 * _LETTER * size_pt)) if which == "x" else 9
        axis.set_major_locator(MaxNLocator(min(max(fit, 2), 9), steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}{suffix}"))


def _crowded(axes: Axes, texts: Sequence[str], size_pt: float) -> bool:
    """Whether texts side by side below the axes would touch each other."""
    widest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return (widest + 1) * len(texts) * _LETTER * size_pt > _room_pt(axes, size_pt)


def _room_pt(axes: Axes, size_pt: float) -> float:
    """About how wide the axes will be: the figure without its margins and the names beside the axes."""
    names = [line for label in axes.get_yticklabels() for line in label.get_text().split("\n")]
    beside = max(map(len, names), default=0) * _LETTER * size_pt
    return float(0.85 * 72 * axes.figure.bbox.width / axes.figure.dpi - beside)


def _frame(axes: Axes) -> None:
    axes.set_axisbelow(True)
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=colour("grid"))


def _legend(figure: Figure, entries: Sequence[_Entry], size_pt: float, title: str) -> None:
    """Above the axes, in as many columns as the width has room for; the figure grows by what it takes.

    The figure's title is the legend's, since both at the upper edge would lie on each other.
    """
    room = int(figure.get_figwidth() * 72 / (_LETTER * size_pt))
    names = [_broken(entry.name, int(0.92 * room) - _SIGN_WIDE) for entry in entries]
    longest = max(len(line) for name in names for line in name.split("\n")) + _SIGN_WIDE
    side_by_side = max(1, min(len(entries), room // longest))
    titled = textwrap.fill(title, int(room / 1.35))
    high = [name.count("\n") + 1 for name in names]
    rows = max(int(part.sum()) for part in np.array_split(high, side_by_side))
    rows += titled.count("\n") + bool(titled)
    figure.set_figheight(figure.get_figheight() + (rows - 1) * 1.5 * size_pt / 72)
    figure.legend(
        [entry.sign for entry in entries], names, loc="outside upper left",
        ncols=side_by_side, frameon=False, fontsize=size_pt, handlelength=2.6, alignment="left",
        title=titled or None, title_fontproperties={"size": size_pt + 1.5, "weight": "bold"},
    )  # fmt: skip


def _broken(text: str, wide: int) -> str:
    """A text wrapped at this number of characters; existing line breaks stay."""
    return "\n".join(textwrap.fill(line, wide) for line in text.split("\n"))


def _plain(text: str) -> str:
    """A text of plotly as one of matplotlib: no mathematics, lines broken."""
    return text.replace("<br>", "\n").replace("$", r"\$")
