"""A chart over a detail column of a workload: how often each value occurred, and how long its operations took."""

from __future__ import annotations

import pandas as pd

from hdbkit.analysis.run.records import operations_of
from hdbkit.analysis.run.windows import Window
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import colour, figure
from hdbkit.config.metric import DetailChart
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.text import many, number, plural

MAX_VALUES = 200
"""Values that are drawn, the most frequent first; the table has all."""


def detail_chart(folder: RunFolder, window: Window, asked: DetailChart, noun: str) -> Chart | None:
    """The operations of the window per value of a detail column, and their latency; None where none was recorded."""
    table = operations_by_value(folder, window, asked.column)
    if table.empty:
        return None
    drawn = table.nlargest(MAX_VALUES, "n").sort_values("value")
    texts = drawn["value"].astype(str)
    fig = figure(asked.axis, f"{plural(noun)} in the window", showlegend=False)
    fig.add_bar(
        x=texts.tolist(), y=drawn["n"].tolist(), marker={"color": colour("series-1"), "line": {"width": 0}},
        customdata=drawn[["p50_us", "p95_us"]].div(1000).round(4).to_numpy().tolist(),
        hovertemplate="%{x}: %{y:,}, p50 %{customdata[0]:.3g} ms, p95 %{customdata[1]:.3g} ms<extra></extra>",
    )  # fmt: skip
    crowded = len(drawn) > _MAX_TICKS
    ticks = texts.iloc[:: -(-len(drawn) // _MAX_TICKS)].tolist() if crowded else texts.tolist()
    fig.update_xaxes(type="category", tickvals=ticks, ticktext=ticks, showgrid=False)
    fig.update_yaxes(rangemode="tozero")
    p95 = table["p95_us"] / 1000
    words = (
        f"{many(len(table), 'value')}, with {table['n'].min():,} to {table['n'].max():,} {plural(noun)} each, "
        f"{number(table['n'].mean(), 3)} on average; 95 % of them took at most {number(p95.min(), 3)} to "
        f"{number(p95.max(), 3)} ms."
    )
    words += f" The {MAX_VALUES} most frequent are drawn; the table has all." if len(table) > MAX_VALUES else ""
    shown = pd.DataFrame(
        {asked.column: table["value"], "n": table["n"], "p50 (ms)": table["p50_us"] / 1000, "p95 (ms)": p95}
    )
    return Chart(asked.key, asked.question, fig, words, shown)


_MAX_TICKS = 25


def operations_by_value(folder: RunFolder, window: Window, column: str) -> pd.DataFrame:
    """Columns value (ascending), n, p50_us, p95_us of the completed operations of the window; empty without them."""
    with operations_of(folder, window) as rows:
        if column not in rows.columns:
            return pd.DataFrame(columns=["value", "n", "p50_us", "p95_us"])
        found: pd.DataFrame = (
            rows.filter(f"outcome <> {Outcome.FAILED.value}")
            .aggregate(
                f'"{column}" AS value, count(*)::BIGINT AS n, quantile_disc(latency_us, 0.5)::BIGINT AS p50_us, '
                "quantile_disc(latency_us, 0.95)::BIGINT AS p95_us",
                f'"{column}"',
            )
            .order("value")
            .df()
        )
    return found
