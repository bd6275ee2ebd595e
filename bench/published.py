"""Published reference results as frames, as public reports print them, and their charts, for the notebooks.

The sources are in ``notebooks/data/README.md``. The performance profile of solvers is that of E. D. Dolan and J. J.
More, "Benchmarking optimization software with performance profiles", Mathematical Programming 91 (2), 2002: each time
is divided by the best time on the same problem; a solver's profile at tau is the share of problems on which its ratio
is at most tau. At tau = 1 it is how often the solver wins, far to the right how often it ends at all.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.charts.chart import Chart
from hdbkit.charts.style import HEIGHT, MARKERS, colour, figure, log_axis, series
from hdbkit.config.metric import Metric
from hdbkit.errors import InputError
from hdbkit.text import virtual_users

_DATA = Path(__file__).parents[1] / "notebooks" / "data"


def metric() -> Metric:
    """The metric of the column ``metric_value`` of the published OLTP results."""
    return Metric.model_validate_json((_DATA / "metric.json").read_bytes())


def cern_oltp() -> pd.DataFrame:
    """CERN openlab 2013: a row per experiment and count of virtual users.

    Columns: experiment, system, configuration, virtual_users, tpm, metric_value (per minute), avg_response_ms,
    cpu_load (percent), disk_read_kb_s, disk_write_kb_s, and ``label``: system and configuration.
    """
    frame = _read("cern_2013_oltp")
    return frame.assign(label=frame["system"] + ", " + frame["configuration"])


def cern_queries() -> pd.DataFrame:
    """CERN openlab 2013: seconds of the 22 queries (rows) on three configurations (columns)."""
    frame = _read("cern_2013_tpch").set_index("query")
    return frame.rename(columns=lambda name: name.removesuffix("_s").replace("_", " "))


def recorded_sweeps() -> pd.DataFrame:
    """A recording of sweeps in the design of that report: of the null engine, whose figures are no database's.

    Columns: target, virtual_users, metric_value (per minute), block; a row per run, as :func:`hdbkit.runs` has them.
    """
    return _read("null_engine_sweeps")


def interpreter_lock() -> pd.DataFrame:
    """A recording of :func:`bench.threads.side_by_side`: its columns, and ``engine``."""
    return _read("interpreter_lock")


def points(comparison: str) -> pd.DataFrame:
    """The single results of one comparison, such as ``client language``.

    Columns: source, database, setting, virtual_users, metric_value, tpm (per minute; NaN where not printed), note.
    """
    frame = _read("published_points")
    return frame[frame["comparison"] == comparison].drop(columns="comparison").reset_index(drop=True)


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(_DATA / f"{name}.csv")


def ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Each time over the best of its row; ``times`` has one row per problem and one column per solver, NaN = failed.

    A failure is infinitely slower than the best; a problem that no solver solved is omitted.

    Raises:
        InputError: a time is not above 0.
    """
    if not bool(((times > 0) | times.isna()).all(axis=None)):
        raise InputError("a performance profile needs times above 0 (nothing for a failure)")
    solved = times[times.notna().any(axis=1)]
    return solved.div(solved.min(axis=1), axis=0).fillna(np.inf)


def profile(times: pd.DataFrame) -> pd.DataFrame:
    """The profiles, 0 to 1: one column per solver, one row per ``tau`` (index, from 1) at which one of them rises."""
    by_problem = ratios(times)
    finite = by_problem.to_numpy()[np.isfinite(by_problem.to_numpy())]
    taus = np.unique(np.append(finite, 1.0))
    shares = {name: (column.to_numpy()[:, None] <= taus).mean(axis=0) for name, column in by_problem.items()}
    return pd.DataFrame(shares, index=pd.Index(taus, name="tau"))


def performance_profile(profile: pd.DataFrame, what: str = "queries") -> Chart:
    """Performance profiles, as steps over tau; as :func:`profile` gives them."""
    fig = figure("time, as a multiple of the best (tau)", f"share of {what} (%)", height=HEIGHT + 40)
    last = float(profile.index.max()) * 1.2
    edges = [*map(float, profile.index), last]
    taus = [edges[0], *(tau for tau in edges[1:] for _ in (0, 1))][:-1]
    for index, (name, shares) in enumerate(profile.items()):
        look = series(index)
        fig.add_scatter(
            x=taus, y=[100 * float(share) for share in shares for _ in (0, 1)], mode="lines", name=str(name),
            line={"color": look["color"], "dash": look["dash"], "width": 2.5},
            hovertemplate=f"within %{{x:.3g}} x the best: %{{y:.0f}} %<extra>{name}</extra>",
        )  # fmt: skip
    fig.update_xaxes(**log_axis([1.01, last]))
    fig.update_yaxes(range=[0, 103], ticksuffix=" %")
    firsts = ", ".join(f"{name} {100 * share:.0f} %" for name, share in profile.iloc[0].items())
    within = profile.loc[: 10 * (1 + 1e-9)].iloc[-1]
    tens = ", ".join(f"{name} {100 * share:.0f} %" for name, share in within.items())
    words = f"Fastest of {what}: {firsts}. Within ten times the best: {tens}."
    return Chart("profile", f"On which share of {what} is each within a factor of the best?", fig, words, profile)


def beside_published(results: pd.DataFrame, metric: Metric) -> Chart:
    """Throughput of ways to drive a load, each relative to the first of its group and count of users.

    ``results`` has a row per way: group (whose measurement), setting (the way), virtual_users, metric_value. Absolute
    figures of different machines do not compare, their ratios within one machine do.
    """
    first = results.groupby(["group", "virtual_users"], sort=False)["metric_value"].transform("first")
    table = results.assign(ratio=results["metric_value"] / first)
    rows: list[dict[Any, Any]] = table.to_dict("records")
    names = [f"{row['setting']}, {virtual_users(int(row['virtual_users']))} ({row['group']})" for row in rows]
    fig = figure("throughput, relative to the first of its group", "", height=110 + 58 * len(table), showlegend=False)
    fig.add_vline(1, line_color=colour("muted"), line_width=1)
    places = list(range(len(table) - 1, -1, -1))
    for index, group in enumerate(dict.fromkeys(table["group"])):
        at = [i for i, one in enumerate(table["group"]) if one == group]
        fig.add_scatter(
            x=[float(table["ratio"].iloc[i]) for i in at], y=[places[i] for i in at], mode="markers", name=group,
            marker={"color": series(index)["color"], "symbol": MARKERS[index % len(MARKERS)], "size": 13},
        )  # fmt: skip
    for place, row in zip(places, rows, strict=True):
        fig.add_annotation(
            x=row["ratio"],
            y=place + 0.33,
            text=f"{row['ratio']:.2f} ({metric.text(row['metric_value'])})",
            showarrow=False,
        )
    reach = float(table["ratio"].max())
    fig.update_xaxes(range=[-0.05 * reach, 1.2 * reach])
    fig.update_yaxes(
        tickvals=places,
        ticktext=[name.replace(" (", "<br>(") for name in names],
        range=[-0.6, len(table) - 0.2],
        showgrid=False,
    )
    words = "; ".join(f"{row['ratio']:.2f} {name}" for name, row in zip(names, rows, strict=True))
    return Chart("ways", "What does the client's language or model cost?", fig, f"Throughput: {words}.", table)


def relative(results: pd.DataFrame) -> Chart:
    """Throughput of ways to serve users, relative to the first, over the number of users.

    ``results`` is a frame of :func:`bench.threads.side_by_side`; bars are its 95 % intervals (several blocks).
    """
    fig = figure("virtual users", f"throughput, relative to {results['setting'].iloc[0]}")
    fig.add_hline(1, line_color=colour("muted"), line_width=1)
    words = []
    for index, (name, rows) in enumerate(results.groupby("setting", sort=False)):
        if index == 0:
            continue
        look, ratio = series(index), rows["ratio"].astype(float)
        high, low = ((rows[f"ratio_{end}"] - ratio).abs().fillna(0).tolist() for end in ("high", "low"))
        fig.add_scatter(
            x=rows["virtual_users"].tolist(), y=ratio.tolist(), mode="lines+markers", name=str(name),
            line={"color": look["color"], "dash": look["dash"], "width": 2.5},
            marker={"symbol": look["symbol"], "size": 9},
            error_y={"type": "data", "array": high, "arrayminus": low, "color": look["color"]},
        )  # fmt: skip
        most = rows.iloc[-1]
        interval = "" if math.isnan(most["ratio_low"]) else f" ({most['ratio_low']:.2f} to {most['ratio_high']:.2f})"
        words.append(f"{name} {most['ratio']:.2f}{interval} with {virtual_users(int(most['virtual_users']))}")
    fig.update_xaxes(**log_axis(results["virtual_users"]))
    return Chart("relative", "What do threads cost, and the interpreter lock?", fig, f"{'; '.join(words)}.", results)
