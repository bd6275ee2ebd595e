"""The report of a search for the highest rate within a limit on latency."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pandas as pd

from hdbkit.analysis.comparison.groups import Finished
from hdbkit.analysis.run.latency_limit import Limit
from hdbkit.report.card import Card, Found, checks_over_runs, measured_by
from hdbkit.report.environment import environment
from hdbkit.report.page import Page, write_page
from hdbkit.report.tables import cell, frame_table
from hdbkit.results.folder import make_folder
from hdbkit.results.kept import known_settings


class RateFound(Found, Protocol):
    """What a search has found (``hdbkit.api.MaxRate``)."""

    @property
    def command(self) -> str:
        """The command that repeats the search."""

    @property
    def limit(self) -> Limit:
        """The limit on latency."""

    @property
    def ends(self) -> tuple[float, float | None, float | None]:
        """The highest rate and the ends of its interval; None: unknown."""

    @property
    def counted(self) -> str:
        """What the rate counts, in the plural."""

    @property
    def runs(self) -> pd.DataFrame:
        """A row per run in an open loop."""

    @property
    def within(self) -> list[Finished]:
        """The runs within the limit, whose checks are listed: beyond it, schedules are not kept by intention."""


def card(found: RateFound) -> Card:
    """The highest rate with its interval."""
    rate, low, high = (cell(end) for end in found.ends)
    manifests = [manifest for _, manifest in found.within]
    return Card(
        question=f"Which rate keeps {found.limit}?",
        answer=found.answer,
        verdict="found",
        value=f"{rate}/s",
        of=f"{found.counted} per second with {found.limit}",
        interval=f"95 % interval {low} to {high} per second",
        facts=measured_by(manifests),
        checks=checks_over_runs(manifests),
        warnings=found.warnings,
    )


def max_rate_card(found: RateFound) -> str:
    """The highest rate as a notebook shows it."""
    return card(found).in_notebook(found.notice)


def max_rate_report(path: Path, found: RateFound) -> Path:
    """Write the report to ``path`` and return the path."""
    manifests = [manifest for _, manifest in found.within]
    page = Page(
        kicker=f"find-max {found.limit}",
        card=card(found),
        notice=found.notice,
        command=found.command,
        charts=list(found.charts().values()),
        environment=environment(manifests[-1], known_settings(found.within[-1][0])),
        journal=[frame_table(found.runs, "The runs in their order (block 0: search)")],
    )
    make_folder(path.parent, exist_ok=True)
    return write_page(path, page)
