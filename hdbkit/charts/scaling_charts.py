"""Charts of results that need no run folder: a metric over virtual users, and the law of its scaling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hdbkit.analysis.comparison.groups import values_by_users
from hdbkit.analysis.statistics.scalability import Scaling, laws, laws_table
from hdbkit.analysis.wording import highest_mean
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import plain
from hdbkit.charts.marks import MAX_LINES, in_rows, left_out, over_users
from hdbkit.charts.style import MAX_COLOURED, axis_title, colour, series
from hdbkit.config.metric import Better, Metric
from hdbkit.later import graph_objects as go
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd

_HIGHEST = 3.0
"""The band is drawn up to so many times the highest point of the law."""
_LOG_FROM = 20
"""From this ratio on between the highest and the lowest value their axis is logarithmic."""


def throughput_over_users(results: pd.DataFrame, metric: Metric, by: str = "label") -> Chart:
    """A metric over virtual users, a line per value of the column ``by``, with 95 % intervals of repeated runs.

    Rows instead of lines where all have one count of virtual users.

    Args:
        results: a row per run: ``by``, virtual_users, metric_value; those without a value are left out.
        metric: what ``metric_value`` is.
        by: the column whose values are compared.
    """
    runs = results.dropna(subset=["metric_value"]).assign(group=lambda one: one[by].astype(str))
    table = values_by_users(runs)
    names = list(dict.fromkeys(table["group"]))[:MAX_LINES]
    drawn = table[table["group"].isin(names)]
    counts = drawn["virtual_users"].unique()
    if len(counts) > 1:
        far = bool(drawn["metric_value"].max() > _LOG_FROM * drawn["metric_value"].min())
        fig = over_users(runs, drawn, "group", metric, log=far)
        higher = metric.better is Better.HIGHER
        what = "the throughput grow" if higher else f"{metric.name} change"
        question = f"How does {what} with virtual users?"
    else:
        fig, question = in_rows(runs, drawn, "group", metric), "Which is fastest?"
    scores = metric.score(table["metric_value"])
    best = table.loc[scores.groupby(table["group"], sort=False).idxmax()]
    figures = "; ".join(
        f"{one.group} {metric.number(float(one.metric_value))} at {one.virtual_users:,}" for one in best.itertuples()
    )
    words = [
        f"{highest_mean(metric).capitalize()} {axis_title(metric)} and its virtual users: {figures}.",
        "Bars are 95 % intervals, each by itself, by the noise of all repeated runs."
        if table["low"].notna().any()
        else "No run was repeated, so there are no intervals.",
        left_out(len(names), table["group"].nunique()),
    ]
    return Chart("users", question, fig, " ".join(filter(None, words)), table.rename(columns={"group": by}))


def scaling_laws(
    runs: pd.DataFrame, metric: Metric, by: str = "label", drawn: Sequence[str] = (), confidence: float = 0.95
) -> Chart | None:
    """The Universal Scalability Law of each value of ``by`` over its runs, with its band and its peak.

    Where the law does not fit, a curve through the means. None if the metric is not a rate, or no value has enough
    counts of virtual users (:mod:`hdbkit.analysis.statistics.scalability`).

    Args:
        runs: a row per run: ``by``, virtual_users, metric_value, and block, the runs that were done together.
        metric: what ``metric_value`` is.
        by: the column whose values are compared.
        drawn: those of its values that are drawn, by default the fastest.
        confidence: of the statements on a peak.
    """
    known = runs.dropna(subset=["metric_value"]).assign(group=lambda one: one[by].astype(str))
    found = laws(known, "group", confidence) if metric.better is Better.HIGHER else {}
    if not found:
        return None
    tops = known.groupby("group", sort=False)["metric_value"].max()
    drawn = [name for name in drawn or sorted(found, key=lambda name: -tops[name]) if name in found][:MAX_COLOURED]
    cells = values_by_users(known[known["group"].isin(drawn)]).assign(low=np.nan, high=np.nan)
    cells = cells.sort_values("group", key=lambda names: names.map(drawn.index), kind="stable")
    fig = over_users(known[known["group"].isin(drawn)], cells, "group", metric)
    fig.for_each_trace(lambda trace: trace.update(mode="markers", showlegend=False))
    for index, name in enumerate(drawn):
        fig.add_traces(_law_lines(name, found[name], series(index)))
    fig.add_traces(_law_signs([found[name] for name in drawn]))
    table = laws_table(found, by).round(6)
    return Chart("scaling", "Where does the throughput stop growing?", fig, _law_words(found, len(drawn)), table)


def _law_words(found: Mapping[str, Scaling], drawn: int) -> str:
    """The sentence of each law, once where it is the same for several; and what is drawn."""
    sentences: dict[str, list[str]] = {}
    for name, one in found.items():
        sentences.setdefault(one.sentence, []).append(name)
    each = "; ".join(f"{', '.join(names)}: {text}" for text, names in sentences.items())
    words = f"For all, {next(iter(sentences))}." if len(sentences) == 1 and len(found) > 1 else f"{each}."
    laws = [one for one in found.values() if one.fits]
    words += " Lines are the fitted law" if len(laws) == len(found) else " Lines are the fitted law where it fits"
    words += ", bands its 95 % confidence intervals by the noise of runs" if any(one.noise for one in laws) else ""
    words += ", vertical lines the peaks" if any(one.peak is not None for one in found.values()) else ""
    words += "." if len(laws) == len(found) else "; dotted lines connect the means where it does not."
    return words + (f" {drawn} are drawn; the table has all {len(found)}." if drawn < len(found) else "")


def _law_lines(name: str, found: Scaling, look: dict[str, Any]) -> list[go.Scatter]:
    """Band, curve and peak of one law; where it does not fit, a dotted curve through the means."""
    users = np.geomspace(1, found.counts[-1], 60)
    x, curve, lines = users.round(3).tolist(), found.curve(users), []
    band = found.band(users)
    if band:
        low, high = (plain(np.clip(one, 0, _HIGHEST * curve.max())) for one in band)
        lines.append(
            go.Scatter(
                x=[*x, *reversed(x)], y=[*high, *reversed(low)], mode="lines", hoverinfo="skip", fill="toself",
                line={"width": 0, "color": look["color"]}, fillcolor=look["color"], opacity=0.14, showlegend=False,
                legendgroup=name,
            )
        )  # fmt: skip
    lines.append(
        go.Scatter(
            x=x, y=plain(curve), mode="lines", name=name, showlegend=True, legendgroup=name, hoverinfo="skip",
            line={"color": look["color"], "dash": look["dash"] if found.fits else "dot", "width": 2},
        )
    )  # fmt: skip
    if found.peak is not None:
        top = float(found.law.throughput(np.array([found.peak]))[0])
        lines.append(
            go.Scatter(
                x=[found.peak, found.peak], y=[0, round(top)], mode="lines", showlegend=False, legendgroup=name,
                line={"color": look["color"], "dash": "dot", "width": 1},
                hovertemplate=f"peak %{{x:.0f}}<extra>{name}</extra>",
            )
        )  # fmt: skip
    return lines


def _law_signs(found: Sequence[Scaling]) -> list[go.Scatter]:
    """What marks, lines and bands are, for the legend alone: in grey, for they are so in every colour."""
    nowhere: dict[str, Any] = {"x": [None], "y": [None], "hoverinfo": "skip", "showlegend": True}
    muted, line = colour("muted"), {**nowhere, "mode": "lines"}
    mean = {"color": muted, "symbol": "circle", "size": 8}
    signs = [go.Scatter(**nowhere, name="mean of the runs", mode="markers", marker=mean)]
    if any(one.fits for one in found):
        signs.append(go.Scatter(**line, name="fitted law", line={"color": muted, "dash": "solid", "width": 2}))
    if not all(one.fits for one in found):
        between = {"color": muted, "dash": "dot", "width": 2}
        signs.append(go.Scatter(**line, name="through the means (the law does not fit)", line=between))
    if any(one.fits and one.noise for one in found):
        band = {"fill": "toself", "fillcolor": muted, "opacity": 0.3, "line": {"width": 0, "color": muted}}
        signs.append(go.Scatter(**line, **band, name="its 95 % interval"))
    if any(one.peak is not None for one in found):
        signs.append(go.Scatter(**line, name="its peak", line={"color": muted, "dash": "dot", "width": 1.5}))
    return signs
