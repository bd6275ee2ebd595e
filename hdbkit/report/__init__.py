"""Self-contained HTML pages for runs, sweeps, comparisons, profiles and searches, and cards for a notebook."""

from hdbkit.report.card import answer_card
from hdbkit.report.compare_report import compare_card, compare_report
from hdbkit.report.history_report import history_card, history_report
from hdbkit.report.max_rate_report import max_rate_card, max_rate_report
from hdbkit.report.run_report import answer as run_answer
from hdbkit.report.run_report import run_card, run_report
from hdbkit.report.sweep_report import sweep_card, sweep_report

__all__ = [
    "answer_card",
    "compare_card",
    "compare_report",
    "history_card",
    "history_report",
    "max_rate_card",
    "max_rate_report",
    "run_answer",
    "run_card",
    "run_report",
    "sweep_card",
    "sweep_report",
]
