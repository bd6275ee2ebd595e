"""What the results of all kinds of experiments have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pandas as pd

from hdbkit.analysis.comparison.groups import values_by_users
from hdbkit.charts.chart import Chart
from hdbkit.config.metric import Metric
from hdbkit.errors import HdbkitError
from hdbkit.report.card import answer_card

COMPARED = ["cell", "baseline", "virtual_users", "ratio", "low", "high", "verdict", "sentence"]


class ExperimentResult(ABC):
    """The result of an experiment of any kind, from the runs that have ended.

    Each kind adds frames of its own: ``SweepResult``, ``Comparison``, ``Profile``, ``MaxRate``, ``Releases``.
    """

    @property
    @abstractmethod
    def measured(self) -> pd.DataFrame:
        """A row per measured run: ``cell``, ``virtual_users``, ``metric_value``, ``operations_per_s``."""

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell and count of virtual users.

        ``cell``, ``virtual_users``, ``runs``, ``metric_value`` (geometric mean of its runs), ``low`` and ``high`` (a
        95 % interval by itself, by the noise of all repeated runs), ``operations_per_s`` (mean, of all types).
        """
        runs = self.measured.rename(columns={"cell": "group"})
        found = values_by_users(runs).rename(columns={"group": "cell"})
        per_s = runs["operations_per_s"].astype(float).groupby([runs["group"].astype(str), runs["virtual_users"]])
        return found.join(per_s.mean(), on=["cell", "virtual_users"])

    @property
    def comparisons(self) -> pd.DataFrame:
        """One row per cell that is compared with another, and count of virtual users; empty where none is.

        ``cell``, ``baseline`` (the other cell), ``virtual_users``, ``ratio`` (of scores: above 1 is better), ``low``
        and ``high`` (simultaneous; NaN where nothing is replicated), ``verdict``, ``sentence``.
        """
        return pd.DataFrame(columns=COMPARED)

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

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """The metric of its runs."""

    @abstractmethod
    def charts(self) -> dict[str, Chart]:
        """The charts that its data allow, by their keys."""

    @abstractmethod
    def report(self) -> Path:
        """Write the one-page report; return its path."""

    @property
    def difference_report(self) -> Callable[[], Path] | None:
        """Writes the page of the difference of the best cell and its baseline; None where none is better."""
        return None

    def _repr_html_(self) -> str:
        return answer_card(self.answer, self.notice, self.warnings)

    def _ipython_display_(self) -> None:
        show(self._repr_html_(), repr(self), self.charts)


def show(card: str, words: str, charts: Callable[[], Mapping[str, Chart]]) -> None:
    """Show a result in a notebook: its card, and its first chart below it; in a terminal its words.

    The chart is left out where its files cannot be read.
    """
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    display({"text/html": card, "text/plain": words}, raw=True)  # type: ignore[no-untyped-call]
    if hasattr(get_ipython(), "kernel"):
        with suppress(HdbkitError):
            for chart in list(charts().values())[:1]:
                display(chart)  # type: ignore[no-untyped-call]
