"""Two groups of runs against each other, figure by figure: times of operations, and quantiles of latencies.

What is replicated is the same as for the metric (``sides``). The noise of all figures is judged together
(``variances.judged_variances``), so that few blocks suffice. The intervals of all figures hold together: the error
rate is divided by their number (Bonferroni).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hdbkit.analysis.comparison.contrasts import contrasts
from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, replication
from hdbkit.analysis.comparison.sides import Compared, Question, scored
from hdbkit.analysis.run.quantiles import MARGINS
from hdbkit.analysis.run.records import mean_times_s
from hdbkit.analysis.run.server_cost import COST_FIGURE, SERVER_COST, costs_us
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.two_samples import Sample
from hdbkit.analysis.statistics.variances import judged_variances
from hdbkit.config.metric import Measure, Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio, Verdict
from hdbkit.results.manifest import Manifest


@dataclass(frozen=True)
class SideFigure:
    """A figure of each run of both sides; ``values`` are by run id, NaN where a run has none."""

    of: Of
    operation: str
    metric: Metric
    values: pd.Series[float]
    quantile: str = ""

    @property
    def name(self) -> str:
        """The figure in words: ``payment p95``."""
        return f"{self.operation} {self.quantile}".rstrip()


def compared_by_operation(
    runs: pd.DataFrame, manifests: Sequence[Manifest], metric: Metric, overall: Compared, confidence: float = 0.95
) -> list[Ratio]:
    """The comparison of each operation, in s; where the metric is no mean over operations, of its mean service time.

    Args:
        runs: a row per run, as ``sessions.runs_of`` returns them.
        manifests: those of the runs.
        metric: that of the runs.
        overall: the comparison of the metric.
        confidence: the probability that all intervals hold.
    """
    times = mean_times_s(manifests, every=not metric.by_operation)
    figures = [SideFigure(Of.OPERATION, name, metric.of_operation(name), times[name]) for name in map(str, times)]
    return _compared_each(runs, figures, overall, confidence)


def compared_cost(runs: pd.DataFrame, manifests: Sequence[Manifest], overall: Compared) -> Ratio | None:
    """The comparison of the server's CPU time per operation, in us; None unless it is known of every run."""
    costs = costs_us(manifests)
    if costs.empty:
        return None
    figure = SideFigure(Of.COST, COST_FIGURE, SERVER_COST, costs)
    (ratio,) = _compared_each(runs, [figure], overall, overall.level)
    return ratio


def compared_quantiles(
    runs: pd.DataFrame, latencies_us: pd.DataFrame, overall: Compared, confidence: float = 0.95
) -> list[Ratio]:
    """The comparison of quantiles of latencies, in ms; their sampling error in a run is part of the noise of runs.

    Args:
        runs: a row per run, as ``sessions.runs_of`` returns them.
        latencies_us: by run id, a column for each quantile, such as ``payment p95_us``; NaN where a run has none.
        overall: the comparison of the metric.
        confidence: the probability that all intervals hold.
    """
    known = latencies_us.where(latencies_us > 0)
    figures = []
    for column in map(str, known):
        operation, _, quantile = column.removesuffix("_us").rpartition(" ")
        latency = Metric(name="latency", title=column, unit="us", measure=Measure.QUANTILE)
        figures.append(SideFigure(Of.QUANTILE, operation, latency, known[column], quantile))
    ratios = _compared_each(runs, figures, overall, confidence)
    return [ratio.model_copy(update={"base": _ms(ratio.base), "value": _ms(ratio.value)}) for ratio in ratios]


def _ms(latency_us: float | None) -> float | None:
    return None if latency_us is None else latency_us / 1000


def _compared_each(
    runs: pd.DataFrame, figures: Sequence[SideFigure], overall: Compared, confidence: float
) -> list[Ratio]:
    """The comparison of each figure; the noise of all is judged together."""
    measured = [
        runs.assign(metric_value=runs["run_id"].map(figure.values)).dropna(subset=["metric_value"])
        for figure in figures
    ]
    both = {
        position: scored(of_figure, figures[position].metric)
        for position, of_figure in enumerate(measured)
        if {BASE, NEW} <= set(of_figure["side"])
    }
    samples = _moderated({position: replication(of_figure) for position, of_figure in both.items()})
    level = 1 - (1 - confidence) / max(len(figures), 1)
    ratios, sides = [], (overall.ratio.against, overall.ratio.label)
    for position, (figure, of_figure) in enumerate(zip(figures, measured, strict=True)):
        if position not in both:
            ratios.append(_of_one_side(figure, of_figure, sides))
            continue
        means = both[position].groupby(["side", "virtual_users"])["score"].mean().groupby("side").mean()
        (contrast,) = contrasts(samples[position], np.array([means[NEW] - means[BASE]]), level)
        smallest_effect = MARGINS[figure.quantile] * overall.smallest_effect
        question = Question(
            figure.metric, sides, overall.advice, smallest_effect, confidence, overall.design.words,
            figure.of, figure.operation, figure.quantile,
        )  # fmt: skip
        subject = sides[1] if figure.of is Of.COST else f"{figure.name} of {sides[1]}"
        ratios.append(question.judged(subject, contrast, means[[BASE, NEW]].tolist()))
    return ratios


def _of_one_side(figure: SideFigure, measured: pd.DataFrame, sides: tuple[str, str]) -> Ratio:
    """A figure that only one of the sides has, or none."""
    values = measured["metric_value"].astype(float)
    means = {str(side): statistics.geometric_mean(of_side) for side, of_side in values.groupby(measured["side"])}
    lacking = " or ".join(name for side, name in zip((BASE, NEW), sides, strict=True) if side not in means)
    return Ratio(
        of=figure.of,
        figure=figure.operation,
        quantile=figure.quantile,
        label=sides[1],
        against=sides[0],
        virtual_users=None,
        base=means.get(BASE),
        value=means.get(NEW),
        verdict=Verdict.UNDECIDED,
        sentence=f"{figure.name}: undecided: no run of {lacking} completed {figure.operation}",
    )


def _moderated(designs: Mapping[int, Replication]) -> dict[int, list[Sample]]:
    """The samples of each figure, with variances that are judged over all figures of the same side."""
    overall = {name: design.over_counts() for name, design in designs.items()}
    units, made = ({name: getattr(one, what) for name, one in overall.items()} for what in ("samples", "estimates"))
    for side in range(max(map(len, made.values()), default=0)):
        here = [name for name, found in made.items() if len(found) > side and found[side].df > 0]
        if not here:
            continue
        own, df = (np.array([getattr(made[name][side], what) for name in here]) for what in ("variance", "df"))
        variances, judged = judged_variances(own, df, _residuals([units[name][side] for name in here]))
        for name, variance, freedom in zip(here, variances.tolist(), judged.tolist(), strict=True):
            made[name][side] = made[name][side].judged(variance, freedom)
    return made


def _residuals(values: Sequence[Floats]) -> Floats:
    """What the units of each operation differ from their mean, (units, operations); 0 where there are fewer."""
    found = np.zeros((max(map(len, values)), len(values)))
    for position, one in enumerate(values):
        found[: len(one), position] = one[:, 0] - one.mean()
    return found
