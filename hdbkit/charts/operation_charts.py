"""Charts of workloads whose operations are measured one by one: how long each took, and how much faster it became.

The frame ``times`` has a row per execution or run: ``group``, ``operation``, ``seconds``. Groups and operations are
drawn in the order in which they come.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from hdbkit.analysis.wording import CONFIDENCE, percent, percent_within
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import Limits, add_intervals, plain, ratio_axis
from hdbkit.charts.marks import AXIS_WORDS, MAX_DOTS, left_out, mark_one, name_rows
from hdbkit.charts.style import MAX_COLOURED, PATTERNS, colour, figure, series
from hdbkit.config.metric import Metric
from hdbkit.later import graph_objects as go
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio, frame
from hdbkit.text import many, number, plural, share

_HATCHED = {"fillmode": "overlay", "solidity": 0.2, "fgopacity": 1}
_BARS = 0.8
"""The width that the bars of one operation have together."""
_ROWS = 0.7
"""The height that the intervals of one operation have together."""


def profile(times: pd.DataFrame, noun: str, what: str) -> Chart:
    """A bar per operation and group, the geometric mean of its times, on which each of them is a dot.

    ``what`` is what a dot is: ``run``, ``query``.
    """
    groups, names = _in_order(times["group"]), _in_order(times["operation"])
    drawn = groups[:MAX_COLOURED]
    means = np.exp(np.log(times["seconds"]).groupby([times["operation"], times["group"]]).mean()).unstack()
    table = means.reindex(index=names, columns=groups)
    fig = figure(noun, "elapsed time (s)", barmode="overlay", showlegend=len(drawn) > 1)
    wide = _BARS / len(drawn)
    for index, group in enumerate(drawn):
        shift = wide * (index - (len(drawn) - 1) / 2)
        _add_bars(fig, index, group, table[group], shift, wide)
        if len(times) > len(names) * len(groups):
            of_it = times[times["group"] == group]
            _add_dots(fig, of_it, names, shift, MAX_DOTS // len(drawn))
    whole = [-0.5, len(names) - 0.5]
    fig.update_xaxes(tickvals=list(range(len(names))), ticktext=names, range=whole, showgrid=False, zeroline=False)
    fig.update_yaxes(rangemode="tozero")
    words = [*(_profile_words(group, table[group].dropna(), noun) for group in drawn)]
    if len(times) > len(names) * len(groups):
        words.append(f"Bars are geometric means; a dot is a {what}.")
    words.append(left_out(len(drawn), len(groups)))
    shown = table.rename(columns=lambda group: f"{group} (s)").rename_axis(None, axis=1).reset_index()
    return Chart("profile", f"How long did each {noun} take?", fig, " ".join(filter(None, words)), shown.round(6))


def _add_bars(fig: go.Figure, index: int, group: str, seconds: pd.Series[float], shift: float, wide: float) -> None:
    pattern = {"shape": PATTERNS[index % len(PATTERNS)], "fgcolor": colour("shade"), **_HATCHED}
    fig.add_bar(
        x=[at + shift for at in range(len(seconds))], y=[one or 0.0 for one in plain(seconds)], width=wide,
        name=group, text=[str(name) for name in seconds.index], textposition="none",
        marker={"color": series(index)["color"], "pattern": pattern, "line": {"width": 0}},
        hovertemplate="%{text}: %{y:,.3~g} s<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _add_dots(fig: go.Figure, times: pd.DataFrame, names: Sequence[str], shift: float, maximum: int) -> None:
    positions = {name: position + shift for position, name in enumerate(names)}
    known = times.head(maximum)
    fig.add_scatter(
        x=[positions[name] for name in known["operation"]], y=plain(known["seconds"]), mode="markers",
        showlegend=False,
        marker={"color": colour("ink"), "size": 5, "line": {"color": colour("shade"), "width": 1}},
        hovertemplate="%{y:,.3~g} s<extra></extra>",
    )  # fmt: skip


def _profile_words(group: str, seconds: pd.Series[float], noun: str) -> str:
    """The total of a group, and the operation with the largest part of it."""
    if seconds.empty:
        return f"{group} completed no {noun}."
    total, longest = float(seconds.sum()), str(seconds.idxmax())
    part = 100 * float(seconds.max()) / total
    return f"{group}: {number(total, 3)} s for {many(len(seconds), noun)}, {part:.0f} % of it for {longest}."


def ratio_chart(
    of_operations: Sequence[Ratio],
    overall: Sequence[Ratio],
    base: str,
    noun: str,
    metric: Metric,
    smallest: float,
    confidence: float = CONFIDENCE,
) -> Chart:
    """How many times as fast as with ``base`` each operation is, with its interval; the metric on top.

    A group is a label; ``overall`` are the ratios of the metric, one of each group.
    """
    table = frame([*overall, *of_operations], Of.OPERATION).rename(columns={"label": "group"})
    found = table[len(overall) :]
    groups, names = _in_order(found["group"]), _in_order(found["operation"])
    drawn = groups[: MAX_COLOURED - 1]
    rows = [metric.name, *names]
    tall = max(26, 13 * len(drawn))
    fig = figure(
        f"times as fast as {base} ({AXIS_WORDS})", "", height=120 + tall * len(rows), showlegend=len(drawn) > 1
    )
    mark_one(fig, smallest)
    shown = table[table["group"].isin(drawn) & table["ratio"].notna()]
    limits = Limits.of_ratios(shown["ratio"])
    for index, group in enumerate(drawn):
        shift = _ROWS * ((len(drawn) - 1) / 2 - index) / len(drawn)
        found_here = shown[shown["group"] == group]
        places = [len(rows) - 1 - rows.index(name) + shift for name in found_here["operation"]]
        texts = [
            f"{row['operation']}: {percent_within(row['ratio'], row['low'], row['high'], _judged(row, metric))}"
            for row in found_here.to_dict("records")
        ]
        look = series(index + 1)  # the first look of the palette is that of the base
        add_intervals(
            fig, places, found_here["ratio"], found_here, limits, ink=look["ink"], symbol=look["symbol"], size=8,
            words=len(drawn) == 1, name=group, text=texts, hovertemplate="%{text}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    name_rows(fig, rows)
    ends = limits.clip(shown)
    fig.update_xaxes(**ratio_axis([*shown["ratio"], *ends["low"], *ends["high"]]))
    words = [*(_ratio_words(group, found[found["group"] == group], noun, metric) for group in drawn)]
    words.append(
        f"Lines are {share(confidence)} intervals, which hold together over all {plural(noun)}; that of "
        f"{metric.name} is its own. The band is the smallest effect that matters, {100 * smallest:g} %."
    )
    words.append(limits.words(shown))
    words.append(left_out(len(drawn), len(groups)))
    columns = ["operation", "group", "ratio", "low", "high", "verdict"]
    question = f"Which {plural(noun)} became faster or slower?"
    return Chart("ratios", question, fig, " ".join(filter(None, words)), table[columns].round(4))


def _ratio_words(group: str, rows: pd.DataFrame, noun: str, metric: Metric) -> str:
    """How many operations of a group differ, and which of them most."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in rows["verdict"].value_counts().items())
    known = rows[rows["verdict"].isin(["faster", "slower"])].sort_values("ratio")
    ends = dict.fromkeys(known.index[[0, -1]]) if len(known) else []
    shown = [known.loc[at].to_dict() for at in ends]
    named = [f"{row['operation']} {percent(row['ratio'], _judged(row, metric))}" for row in shown]
    most = f" (the ends: {', '.join(named)})" if named else ""
    return f"{group}: of {many(len(rows), noun)} {counts}{most}."


def _judged(row: Mapping[Hashable, Any], metric: Metric) -> Metric:
    """What a row states a change of: the metric, or the mean time of an operation."""
    return metric if row["operation"] == metric.name else metric.of_operation(str(row["operation"]))


def _in_order(values: pd.Series[Any]) -> list[str]:
    return [str(one) for one in dict.fromkeys(values)]
