"""A result in a few lines of HTML: what a notebook shows of a run, a sweep or a comparison, and keeps.

Without style and script, so that every page may show it, in its own colours, light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.experiment.sweep_analysis import SweepAnalysis
from hdbkit.report.compare_report import Sides
from hdbkit.report.compare_report import tables as compared_tables
from hdbkit.report.page import Figure, templates
from hdbkit.report.run_report import answer, figures, tables, warnings
from hdbkit.report.sweep_report import verdict_matrix, verdict_table
from hdbkit.report.tables import Table
from hdbkit.results.manifest import CheckLine, Manifest


def run_card(manifest: Manifest) -> str:
    """The result of a run with its checks."""
    return _card(
        answer(manifest),
        f"Run {manifest.run_id}: {manifest.notice}",
        lines=warnings(manifest),
        figures=figures(manifest) if manifest.result else [],
        tables=tables(manifest) if manifest.result else [],
        checks=manifest.checks,
    )


def sweep_card(found: SweepAnalysis, restored: str) -> str:
    """The answer of a sweep, the verdict on each configuration from the best to the worst, and what was restored."""
    verdicts, metric = found.verdicts, found.metric
    ranked = verdicts.assign(score=metric.score(verdicts["metric_value"])).sort_values("score", ascending=False)
    several = verdicts["virtual_users"].nunique() > 1
    table = verdict_matrix(verdicts, metric) if several else verdict_table(ranked, metric)
    lines = [*found.advice.splitlines(), *filter(None, [restored])]
    return _card(found.answer, f"Sweep {found.experiment_id}: {found.notice}", lines=lines, tables=[table])


def answer_card(answer: str, notice: str, warnings: Sequence[str]) -> str:
    """An answer with its warnings."""
    return _card(answer, notice, lines=[f"{one}." for one in warnings])


def compare_card(found: Sides) -> str:
    """The verdict of a comparison, those by virtual users and operation, both sides' figures, and what differed."""
    lines = [f"{one}." for one in found.warnings]
    return _card(found.answer, found.notice, lines=lines, tables=compared_tables(found))


def _card(
    answer: str,
    notice: str,
    *,
    lines: Sequence[str] = (),
    figures: Sequence[Figure] = (),
    tables: Sequence[Table] = (),
    checks: Sequence[CheckLine] = (),
) -> str:
    return (
        templates()
        .get_template("card.html")
        .render(
            answer=answer,
            notice=notice,
            lines=lines,
            figures=figures,
            tables=tables,
            checks=checks,
            failed=[check for check in checks if check.passed is False],
        )
    )
