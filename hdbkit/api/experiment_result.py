"""What the results of all kinds of experiments have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.analysis.comparison.groups import values_by_users
from hdbkit.charts.chart import Chart
from hdbkit.config.metric import Metric
from hdbkit.errors import HdbkitError
from hdbkit.later import pandas as pd
from hdbkit.report.experiment_report import Evidence, experiment_card, experiment_report
from hdbkit.results.finding import Finding, MeasuredCell, Of, ScalingLaw, Verdict, finite, frame

_COMPARED = ("label", "virtual_users", "ratio", "low", "high", "verdict", "sentence")


class ExperimentResult(ABC):
    """The result of an experiment of any kind, from the runs that have ended.

    ``finding`` has what was found, the same for all kinds; each kind adds tables of its own for users:
    ``SweepResult``, ``Comparison``, ``Profile``, ``MaxRate``, ``Releases``.
    """

    @property
    @abstractmethod
    def finding(self) -> Finding:
        """What was found."""

    @property
    @abstractmethod
    def measured(self) -> pd.DataFrame:
        """A row per measured run: ``cell``, ``virtual_users``, ``metric_value``, ``operations_per_s``."""

    @property
    def every_run(self) -> pd.DataFrame:
        """A row per run, also of those without a result; by default the measured ones."""
        return self.measured

    @property
    @abstractmethod
    def report_file(self) -> Path:
        """Where its page is written."""

    @abstractmethod
    def evidence(self) -> Evidence:
        """What its page shows beside the finding."""

    @abstractmethod
    def charts(self) -> dict[str, Chart]:
        """The charts that its data allow, by their keys."""

    def charts_so_far(self) -> list[Chart]:
        """Those that read no single operations, while it is in progress; none by default."""
        return []

    def report(self) -> Path:
        """Write the one-page report; return its path."""
        return experiment_report(self.report_file, self)

    @property
    def metric(self) -> Metric:
        """The metric of its runs."""
        return self.finding.metric

    @property
    def answer(self) -> str:
        """The result in sentences."""
        return self.finding.answer

    @property
    def warnings(self) -> list[str]:
        """The reasons to doubt it, a sentence without its full stop each."""
        return list(self.finding.warnings)

    @property
    def notice(self) -> str:
        """The notice that each result of its workload carries."""
        return self.finding.notice

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell and count of virtual users.

        ``cell``, ``virtual_users``, ``runs``, ``metric_value`` (geometric mean of its runs), ``low`` and ``high`` (a
        95 % interval by itself, by the noise of all repeated runs), ``operations_per_s`` (mean, of all types).
        """
        runs = self.measured.rename(columns={"cell": "group"})
        means = values_by_users(runs).rename(columns={"group": "cell"})
        per_s = runs["operations_per_s"].astype(float).groupby([runs["group"].astype(str), runs["virtual_users"]])
        return means.join(per_s.mean(), on=["cell", "virtual_users"])

    @property
    def comparisons(self) -> pd.DataFrame:
        """One row per cell that is compared with another, and count of virtual users; empty where none is.

        ``cell``, ``baseline`` (the other cell), ``virtual_users``, ``ratio`` (of scores: above 1 is better), ``low``
        and ``high`` (simultaneous; NaN where nothing is replicated), ``verdict``, ``sentence``.
        """
        compared = [one for one in self.finding.of(Of.METRIC) if one.verdict is not Verdict.BASELINE]
        found = frame(compared, columns=_COMPARED).rename(columns={"label": "cell"})
        found.insert(1, "baseline", pd.Series([ratio.against for ratio in compared], dtype=object))
        return found

    def listing(self, *, everything: bool = False) -> tuple[pd.DataFrame, str]:
        """What a screen lists of it besides ratios and cells, and a note on that; empty by default."""
        return pd.DataFrame(), ""

    @property
    def difference_report(self) -> Callable[[], Path] | None:
        """Writes the page of the difference of the best cell and its baseline; None where none is better."""
        return None

    @property
    def _more_lines(self) -> tuple[str, ...]:
        """What a notebook shows below its notes."""
        return ()

    def __str__(self) -> str:
        """What ``print`` shows: the answer, what it costs, why, and what to do."""
        finding = self.finding
        prices = [f"{price.sentence}." for price in finding.prices]
        return "\n".join(filter(None, [finding.answer, *prices, finding.explanation, finding.advice]))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.finding.experiment_id or 'of stored runs'}: {self.answer}>"

    def _repr_html_(self) -> str:
        return experiment_card(self, *self._more_lines)

    def _ipython_display_(self) -> None:
        show(self._repr_html_(), repr(self), self.charts)


def measured_cells(cells: pd.DataFrame) -> tuple[MeasuredCell, ...]:
    """The rows of ``ExperimentResult.cells`` as values."""
    return tuple(
        MeasuredCell(
            label=str(row["cell"]), virtual_users=int(row["virtual_users"]), runs=int(row["runs"]),
            value=float(row["metric_value"]), **_finite(row, "low", "high", "operations_per_s"),
        )
        for row in cells.to_dict("records")
    )  # fmt: skip


def scaling_laws_of(laws: pd.DataFrame, by: str) -> tuple[ScalingLaw, ...]:
    """The rows of ``scalability.laws_table`` as values."""
    names = ("rate", "sigma", "kappa", "lack_of_fit", "peak", "low", "high")
    return tuple(
        ScalingLaw(label=str(row[by]), sentence=str(row["sentence"]), **_finite(row, *names))
        for row in laws.to_dict("records")
    )


def _finite(row: Mapping[Any, Any], *names: str) -> dict[str, Any]:
    return {name: finite(row[name]) for name in names}


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
