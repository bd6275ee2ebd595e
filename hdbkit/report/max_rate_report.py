"""The report of a search for the highest rate within a limit on latency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hdbkit.analysis.run.courses import readable
from hdbkit.charts.chart import Chart
from hdbkit.report.checks import checks_over_runs
from hdbkit.report.environment import environment, read_settings
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.tables import cell, frame_table
from hdbkit.results.folder import RunFolder, make_folder


def max_rate_report(
    path: Path,
    *,
    answer: str,
    command: str,
    found: tuple[float, float | None, float | None],
    limit: str,
    counted: str,
    runs: pd.DataFrame,
    charts: Sequence[Chart],
    within: Sequence[RunFolder],
) -> Path:
    """Write the report to ``path`` and return the path.

    Args:
        path: where; its folder is made if need be.
        answer: the result in one sentence.
        command: what repeats the search.
        found: the highest rate and the ends of its interval; None: unknown.
        limit: as it is written.
        counted: what the rate counts, in the plural.
        runs: a row per run in an open loop, as :attr:`hdbkit.api.MaxRate.runs` gives them.
        charts: those of the search.
        within: the runs within the limit, whose checks are listed: beyond it, schedules are not kept by intention.
    """
    finished = readable(within)
    manifests = [manifest for _, manifest in finished]
    rate, low, high = (cell(end) for end in found)
    page = Page(
        kicker=f"find-max {limit}",
        question=f"Which rate keeps {limit}?",
        answer=answer,
        notice=manifests[-1].notice,
        command=command,
        figures=[
            Figure(f"{counted}/s", rate, "the highest rate within the limit"),
            Figure("lower end", low, "certainly within the limit"),
            Figure("upper end", high, "certainly beyond the limit"),
            Figure("confidence", "95 %", "of the interval, at least"),
        ],
        charts=charts,
        checks=checks_over_runs(manifests),
        environment=environment(manifests[-1], read_settings(finished[-1][0])),
        journal=[frame_table(runs, "The runs in their order (block 0: search)")],
    )
    make_folder(path.parent, exist_ok=True)
    return write_page(path, page)
