"""A chart over a detail column of a workload: how often each value occurred, and how long its operations took."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from hdbkit.analysis.run.quantiles import supported
from hdbkit.analysis.run.records import Window, operations_of, sql_text
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import colour, figure
from hdbkit.config.metric import DetailChart
from hdbkit.later import pandas as pd
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.text import many, number, plural

_OF_VALUES = {"p50_us": 0.5, "p95_us": 0.95}
_MAX_VALUES = 200
"""Values that are drawn, the most frequent first; the table has all."""


def detail_chart(folder: RunFolder, window: Window, asked: DetailChart, noun: str) -> Chart | None:
    """The operations of the window per value of a detail column, and their latency; None where fewer than two
    values were recorded."""
    table = operations_by_value(folder, window, asked.column)
    if len(table) < 2:
        return None
    drawn = table.nlargest(_MAX_VALUES, "n").sort_values("value")
    texts = drawn["value"].astype(str)
    fig = figure(asked.axis, f"{plural(noun)} in the window", showlegend=False)
    fig.add_bar(
        x=texts.tolist(), y=drawn["n"].tolist(), marker={"color": colour("series-1"), "line": {"width": 0}},
        text=[_quantile_text(row) for row in drawn.to_dict("records")], textposition="none",
        hovertemplate="%{x}: %{y:,}%{text}<extra></extra>",
    )  # fmt: skip
    crowded = len(drawn) > _MAX_TICKS
    ticks = texts.iloc[:: -(-len(drawn) // _MAX_TICKS)].tolist() if crowded else texts.tolist()
    fig.update_xaxes(type="category", tickvals=ticks, ticktext=ticks, showgrid=False)
    fig.update_yaxes(rangemode="tozero")
    p95 = table["p95_us"] / 1000
    words = (
        f"{many(len(table), 'value')}, with {table['n'].min():,} to {table['n'].max():,} {plural(noun)} each, "
        f"{number(table['n'].mean(), 3)} on average."
    )
    if p95.notna().any():
        words += f" 95 % of them took at most {number(p95.min(), 3)} to {number(p95.max(), 3)} ms."
    words += f" The {_MAX_VALUES} most frequent are drawn; the table has all." if len(table) > _MAX_VALUES else ""
    shown = pd.DataFrame(
        {asked.column: table["value"], "n": table["n"], "p50 (ms)": table["p50_us"] / 1000, "p95 (ms)": p95}
    )
    return Chart(asked.key, asked.question, fig, words, shown)


_MAX_TICKS = 25


def _quantile_text(row: Mapping[Hashable, Any]) -> str:
    """What is known of a value's times: ``, p50 1.2 ms, p95 3.4 ms``."""
    known = {name: row[f"{name}_us"] / 1000 for name in ("p50", "p95") if pd.notna(row[f"{name}_us"])}
    return "".join(f", {name} {number(ms, 3)} ms" for name, ms in known.items())


def operations_by_value(folder: RunFolder, window: Window, column: str) -> pd.DataFrame:
    """Columns value (ascending), n, p50_us, p95_us of the completed operations of the window; empty without them.

    A quantile that ``n`` operations do not support is NaN.
    """
    with operations_of(folder, window) as rows:
        if column not in rows.columns:
            return pd.DataFrame(columns=["value", "n", "p50_us", "p95_us"])
        found: pd.DataFrame = (
            rows.filter(f"outcome <> {Outcome.FAILED.value}")
            .aggregate(
                f"{sql_text(column)} AS value, count(*)::BIGINT AS n, "
                "quantile_disc(latency_us, 0.5)::BIGINT AS p50_us, quantile_disc(latency_us, 0.95)::BIGINT AS p95_us",
                sql_text(column),
            )
            .order("value")
            .df()
        )
    known = {name: found[name].where(supported(found["n"], share)) for name, share in _OF_VALUES.items()}
    return found.assign(**known)
