"""One self-contained HTML page for a run or a sweep; opens with the network off."""

from hdbkit.report.run_report import run_report
from hdbkit.report.sweep_report import sweep_report

__all__ = ["run_report", "sweep_report"]
