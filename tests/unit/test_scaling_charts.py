"""Charts of results without a run folder: published results, and own results with the same columns."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bench import published
from hdbkit.charts import scaling_charts
from hdbkit.config import SweepSpec

ROOT = Path(__file__).parents[2]


def test_the_published_throughput_has_a_line_a_configuration_and_none_look_alike() -> None:
    chart = scaling_charts.throughput_over_users(published.cern_oltp(), published.metric())
    lines = chart.figure.data
    assert len(lines) == 8
    assert len({(one.line.color, one.line.dash, one.marker.symbol) for one in lines}) == 8
    assert len(chart.table) == 54, "two of the 56 places were not measured"
    assert "Oracle, NAS, BATCH 164,443 at 32" in chart.alternative
    assert chart.figure.layout.yaxis.type == "log"


def test_repeated_results_become_dots_and_the_line_goes_through_their_geometric_mean() -> None:
    own = pd.DataFrame({"label": "own", "virtual_users": [1, 1, 1, 2], "metric_value": [100.0, 400.0, 200.0, 300.0]})
    dots, line = scaling_charts.throughput_over_users(own, published.metric()).figure.data
    assert list(dots.y) == [100, 400, 200, 300]
    assert list(line.y) == [200, 300]


def test_a_performance_profile_is_drawn_as_steps() -> None:
    profile = published.profile(pd.DataFrame({"a": [1.0, 1.0], "b": [3.0, 1.0]}))
    chart = published.performance_profile(profile)
    assert list(chart.figure.data[1].x)[:3] == [1, 3, 3]
    assert list(chart.figure.data[1].y) == [50, 50, 100, 100]
    assert "Fastest of queries: a 100 %, b 50 %" in chart.alternative


def test_ways_are_reported_relative_to_the_first_of_their_group_and_count() -> None:
    ways = published.points("client language").assign(group="published")
    chart = published.beside_published(ways, published.metric())
    assert chart.table["ratio"].round(2).tolist() == [1, 1.03, 1, 7.44]
    assert "7.44 Tcl threads, 64 virtual users (published)" in chart.alternative


def test_every_chart_can_be_put_on_paper() -> None:
    queries = published.profile(published.cern_queries())
    ways = published.points("client language").assign(group="published")
    for chart in (
        scaling_charts.throughput_over_users(published.cern_oltp(), published.metric()),
        published.performance_profile(queries),
        published.beside_published(ways, published.metric()),
    ):
        assert chart.image("svg").startswith(b"<?xml")


def test_own_sweeps_are_drawn_in_the_form_of_the_published_figures() -> None:
    """The recording of the null engine has the design of ``params/sweep-timesten.yaml``."""
    runs = published.recorded_sweeps()
    chart = scaling_charts.throughput_over_users(runs, published.metric(), by="target")
    counts = set(SweepSpec.read(ROOT / "params" / "sweep-timesten.yaml").virtual_users)
    targets = ["AWT, full", "AWT, partial", "SWT, full"]
    assert sorted(chart.table["target"].unique()) == [f"null engine, {one}" for one in targets]
    assert set(chart.table["virtual_users"]) == counts
    assert set(published.cern_oltp()["virtual_users"]) == counts
    assert "null engine, AWT, full" in chart.alternative
