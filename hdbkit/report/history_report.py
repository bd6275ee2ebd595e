"""The report of a profile's history: when did its metric change, and what changed in its environment?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pandas as pd

from hdbkit.analysis.comparison.groups import Finished
from hdbkit.analysis.wording import percent
from hdbkit.charts.intervals import times
from hdbkit.charts.style import compact
from hdbkit.config.metric import Metric
from hdbkit.report.card import Card, Found, checks_over_runs, measured_by
from hdbkit.report.environment import environment
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.tables import Table, cell, frame_table, heading, text_table
from hdbkit.results.folder import make_folder
from hdbkit.results.kept import known_settings
from hdbkit.text import many


class History(Found, Protocol):
    """The history of a profile (``hdbkit.api.Profile``, which describes the frames)."""

    name: str
    runs: pd.DataFrame

    @property
    def segments(self) -> pd.DataFrame:
        """The segments between change points."""

    @property
    def changes(self) -> list[str]:
        """A sentence for each change."""

    @property
    def finished(self) -> list[Finished]:
        """Its runs, the newest last, without damaged ones."""


def history_report(path: Path, found: History) -> Path:
    """Write the report of a profile to ``path`` and return the path."""
    runs, metric, changes = found.runs, found.metric, found.changes
    newest = found.finished[-1:]
    page = Page(
        kicker=f"profile {found.name}",
        card=card(found, changes),
        notice=found.notice,
        command=shlex.join(["hdbkit", "history", found.name, "--report"]),
        figures=[
            Figure("runs", f"{len(runs):,}", f"at {many(runs['virtual_users'].nunique(), 'count')} of virtual users"),
            Figure("changes", f"{len(changes):,}", "change points and changes of the environment"),
            Figure("since", str(runs["started"].min())[:10], f"until {str(runs['started'].max())[:10]}"),
            Figure("error rate", "5 %", "probability of a false change point"),
        ],
        tables=[_changes_table(changes), _segments_table(found.segments, metric)],
        charts=list(found.charts().values()),
        environment=environment(newest[0][1], known_settings(newest[0][0])) if newest else [],
        journal=[_runs_table(runs, metric)],
    )
    make_folder(path.parent, exist_ok=True)
    return write_page(path, page)


def card(found: History, changes: Sequence[str]) -> Card:
    """The newest change of a profile."""
    metric, known = found.metric, found.segments.dropna(subset=["ratio"])
    last = known.sort_values("since").iloc[-1] if len(known) else None
    if last is not None:
        value, of = (
            times(float(last["ratio"])),
            f"{many(len(changes), 'change')}; the newest is of {_minute(last['since'])}",
        )
    else:
        newest = found.segments.sort_values("since").iloc[-1]
        value, of = (
            metric.text(newest["metric_value"]),
            f"mean of {many(int(newest['runs']), 'run')} at {many(int(newest['virtual_users']), 'virtual user')}",
        )
    manifests = [manifest for _, manifest in found.finished]
    return Card(
        question=f"When did {metric.name} change?",
        answer=found.answer,
        verdict="no change" if last is None else "faster" if last["ratio"] > 1 else "slower",
        value=value,
        of=of,
        facts=measured_by(manifests),
        checks=checks_over_runs(manifests),
        warnings=found.warnings,
    )


def history_card(found: History) -> str:
    """The history of a profile as a notebook shows it."""
    return card(found, found.changes).in_notebook("", [_changes_table(found.changes)])


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
