"""What the page of a profile shows beside its finding: what changed, its segments and its runs."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.comparison.groups import Finished
from hdbkit.analysis.wording import percent
from hdbkit.charts.style import compact
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.report.environment import environment
from hdbkit.report.experiment_report import Evidence
from hdbkit.report.page import Figure
from hdbkit.report.tables import Table, cell, frame_table, heading, text_table
from hdbkit.results.kept import known_settings
from hdbkit.text import many


def profile_evidence(
    name: str,
    runs: pd.DataFrame,
    finished: Sequence[Finished],
    segments: pd.DataFrame,
    changes: Sequence[str],
    metric: Metric,
) -> Evidence:
    """The evidence of a profile.

    Args:
        name: its name.
        runs: a row per run, as ``api.Profile.runs``.
        finished: its runs, the newest last, without damaged ones.
        segments: those between change points.
        changes: a sentence for each change.
        metric: that of the runs.
    """
    counts = many(runs["virtual_users"].nunique(), "count")
    return Evidence(
        kicker=f"profile {name}",
        manifests=[manifest for _, manifest in finished],
        figures=[
            Figure("runs", f"{len(runs):,}", f"at {counts} of virtual users"),
            Figure("changes", f"{len(changes):,}", "change points and changes of the environment"),
            Figure("since", str(runs["started"].min())[:10], f"until {str(runs['started'].max())[:10]}"),
            Figure("error rate", "5 %", "probability of a false change point"),
        ],
        tables=[_changes_table(changes), _segments_table(segments, metric)],
        environment=environment(finished[-1][1], known_settings(finished[-1][0])) if finished else [],
        journal=[_runs_table(runs, metric)],
    )


def _runs_table(runs: pd.DataFrame, metric: Metric) -> Table:
    shown = runs[["run_id", "started", "virtual_users", "metric_value", "operations_per_s"]]
    texts = {name: shown[name].map(compact) for name in ("metric_value", "operations_per_s")}
    shown = shown.assign(started=shown["started"].map(_minute), **texts)
    return frame_table(shown.rename(columns={"metric_value": metric.name}), "The runs")


def _minute(at: object) -> str:
    """A time of the catalog without its seconds."""
    return str(at)[:16].replace("T", " ")


def _changes_table(changes: Sequence[str]) -> Table:
    rows = [[one] for one in changes] or [["Nothing changed."]]
    return text_table("What changed, newest first", ["when and how"], rows)


def _segments_table(segments: pd.DataFrame, metric: Metric) -> Table:
    rows = [
        [cell(row["virtual_users"]), _minute(row["since"]), cell(row["runs"]), metric.number(row["metric_value"]),
         cell(row["operations_per_s"]), cell(None) if pd.isna(row["ratio"]) else percent(row["ratio"], metric),
         row["cause"], row["what"]]
        for row in segments.to_dict("records")
    ]  # fmt: skip
    head = [
        "users",
        "since",
        "runs",
        f"mean {metric.heading}",
        heading("operations_per_s"),
        "change",
        "cause",
        "what differs",
    ]
    return Table("Segments without a change", head, rows, [True, False, True, True, True, True, False, False])
