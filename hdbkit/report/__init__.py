"""One self-contained HTML page for a run, sweep, comparison or profile, and cards for a notebook; all offline."""

from hdbkit.report.card import compare_card, run_card, sweep_card
from hdbkit.report.compare_report import compare_report
from hdbkit.report.history_report import history_report
from hdbkit.report.run_report import run_report
from hdbkit.report.sweep_report import sweep_report

__all__ = ["compare_card", "compare_report", "history_report", "run_card", "run_report", "sweep_card", "sweep_report"]
