"""The report of a profile's history: when did its metric change, and what changed in its environment?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.wording import percent
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import compact
from hdbkit.config.metric import Metric
from hdbkit.report.checks import checks_over_runs
from hdbkit.report.environment import environment, read_settings
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.tables import Table, cell, frame_table, heading, text_table
from hdbkit.results.folder import RunFolder, make_folder
from hdbkit.text import many


def history_report(
    path: Path,
    *,
    name: str,
    runs: pd.DataFrame,
    segments: pd.DataFrame,
    answer: str,
    changes: Sequence[str],
    charts: Sequence[Chart],
    folders: Sequence[RunFolder],
    metric: Metric,
) -> Path:
    """Write the report of a profile to ``path`` and return the path.

    Args:
        path: where; its folder is made if need be.
        name: of the profile.
        runs: a row per run: run_id, started, virtual_users, metric_value.
        segments: as ``analysis.comparison.history.segments`` gives them.
        answer: the history in one sentence.
        changes: a sentence for each change.
        charts: those of the profile.
        folders: its runs, the newest last; damaged ones are skipped.
        metric: what ``metric_value`` is.
    """
    finished = readable(folders)
    manifests = [manifest for _, manifest in finished]
    newest = finished[-1:]
    page = Page(
        kicker=f"profile {name}",
        question=f"When did {metric.name} change?",
        answer=answer,
        notice=manifests[-1].notice if manifests else "",
        command=shlex.join(["hdbkit", "history", name, "--report"]),
        figures=[
            Figure("runs", f"{len(runs):,}", f"at {many(runs['virtual_users'].nunique(), 'count')} of virtual users"),
            Figure("changes", f"{len(changes):,}", "change points and changes of the environment"),
            Figure("since", str(runs["started"].min())[:10], f"until {str(runs['started'].max())[:10]}"),
            Figure("error rate", "5 %", "probability of a false change point"),
        ],
        tables=[_changes_table(changes), _segments_table(segments, metric)],
        charts=charts,
        checks=checks_over_runs(manifests),
        environment=environment(newest[0][1], read_settings(newest[0][0])) if newest else [],
        journal=[_runs_table(runs, metric)],
    )
    make_folder(path.parent, exist_ok=True)
    return write_page(path, page)


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
