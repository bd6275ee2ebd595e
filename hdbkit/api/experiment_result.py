"""What the results of all kinds of experiments have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from hdbkit.charts.chart import Chart
from hdbkit.report import answer_card


class ExperimentResult(ABC):
    """The result of an experiment of any kind, from the runs that have ended.

    Each kind adds frames of its own: ``SweepResult``, ``Comparison``, ``Profile``, ``MaxRate``, ``Releases``.
    """

    @property
    @abstractmethod
    def answer(self) -> str:
        """The result in sentences."""

    @property
    def warnings(self) -> list[str]:
        """The reasons to doubt it, a sentence without its full stop each."""
        return []

    @property
    def notice(self) -> str:
        """The notice that each result of its workload carries."""
        return ""

    @abstractmethod
    def charts(self) -> dict[str, Chart]:
        """The charts that its data allow, by their keys."""

    @abstractmethod
    def report(self) -> Path:
        """Write the one-page report; return its path."""

    def _repr_html_(self) -> str:
        return answer_card(self.answer, self.notice, self.warnings)
