"""The verdict on each configuration of a sweep: faster, slower, equivalent, undecided, or why it has none.

Ratios to the baseline with simultaneous (Dunnett) intervals over all comparisons of the sweep, from a block model
whose unit of replication is a run. Never an interval made of seconds or operations of one run; without replication
or without residual degrees of freedom there is no interval at all, and the row states why. Where configurations
alternate within runs, the unit is a stretch of such a run (``observations``); still at least two runs are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hdbkit.analysis.statistics.block_model import BlockModel, Cell, usable
from hdbkit.analysis.statistics.carry_over import EffectEstimate
from hdbkit.analysis.statistics.dunnett import critical_value, equal_replication
from hdbkit.analysis.statistics.power import POWER, Critical, blocks_needed, least_found
from hdbkit.analysis.statistics.selection import candidates, shrunken
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.analysis.sweep.block_differences import block_differences
from hdbkit.analysis.wording import CONFIDENCE, Interval, found_from, label, needed_text, sentence
from hdbkit.config.metric import Measure, Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.experiment_runs import ENDED_EARLY, RUN_COLUMNS, STRETCH
from hdbkit.results.finding import Needed, Of, Ratio, Verdict, finite
from hdbkit.text import share, virtual_users

FASTEST = 3
"""The number of configurations that get fresh blocks at the end of a sweep."""


@dataclass(frozen=True)
class _Question:
    """What is computed once for all rows."""

    metric: Metric
    model: BlockModel
    estimates: Mapping[Cell, EffectEstimate]
    may_be_best: frozenset[Cell]
    shrunken: Mapping[Cell, float]
    """Each cell's log ratio to the baseline, shrunk."""
    critical: Callable[[float], Critical]
    """The critical values at the degrees of freedom of a contrast."""
    baseline: int
    smallest_effect: float
    reference: str
    """What ratios refer to, in words."""
    later: Callable[[int, float], Critical]
    """The critical values after a number of blocks; of their degrees of freedom this share is a contrast's."""
    anytime: Anytime | None = None
    """Gives the intervals where they hold at every number of blocks, in place of critical values."""


def judge(
    runs: pd.DataFrame,
    metric: Metric,
    baseline: int = 0,
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
    later: Callable[[int], float] | None = None,
    settled: Collection[Cell] = (),
    model: BlockModel | None = None,
    anytime: Anytime | None = None,
) -> list[Ratio]:
    """The verdict on each configuration at each count of virtual users, in this order.

    Args:
        runs: one row per run, as ``results.experiment_runs.runs_frame`` gives it, or per stretch of a run, as
            ``observations`` gives it.
        metric: what ``metric_value`` is.
        baseline: the configuration that all ratios refer to.
        smallest_effect: the smallest relative difference that matters, as a fraction.
        level: of the intervals of this look at the sweep (``sequential.Spending``); those of all looks then hold
            at once with 95 %.
        later: the level of a look after a larger number of blocks, for the advice; without it, ``level``.
        settled: comparisons that an earlier look decided (``looks``). The intervals are as wide as if they were still
            open, since which are open is known from the same runs.
        model: the fitted model of ``runs``, where its noise was judged together with that of other figures.
        anytime: intervals that hold at every number of blocks, of the differences within blocks, in place of those of
            the model.
    """
    model = model or BlockModel.fitted(runs, metric)
    question = _question(runs, metric, model, baseline, smallest_effect, level, later or (lambda _: level), settled)
    if anytime is not None:
        question = _at_every_look(question, anytime, runs)
    labels = configuration_labels(runs, baseline)
    cells = sorted({(int(u), int(c)) for u, c in zip(runs["virtual_users"], runs["configuration"], strict=True)})
    several = len({users for users, _ in cells}) > 1
    done = usable(runs)
    means = _means_of_runs(done, metric)
    per_s = done.groupby(["virtual_users", "configuration"])["operations_per_s"].mean().to_dict()
    ratios = []
    for cell in cells:
        users, configuration = cell
        subject = labels[configuration] + (f" at {virtual_users(users)}" if several else "")
        count, mean = means.get(cell, (0, None))
        ratios.append(
            Ratio(
                of=Of.METRIC,
                figure=metric.name,
                label=labels[configuration],
                against="the baseline",
                virtual_users=users,
                configuration=configuration,
                runs=count,
                base=means.get((users, baseline), (0, None))[1],
                value=mean,
                operations_per_s=finite(per_s.get(cell)),
                may_be_best=cell in question.may_be_best,
                these_runs=STRETCH in runs,
                shrunken_ratio=math.exp(question.shrunken[cell]) if cell in question.shrunken else None,
                **_judged(question, runs, done, cell, count, subject),
            )
        )
    return ratios


def _means_of_runs(done: pd.DataFrame, metric: Metric) -> dict[Cell, tuple[int, float]]:
    """The number of runs of each cell, and the geometric mean of their values; stretches are put together to runs."""
    of_runs = done.assign(log=np.log(done["metric_value"].astype(float))).groupby(
        ["virtual_users", "configuration", "number"]
    )
    rate = metric.measure is Measure.RATE
    logs = of_runs["metric_value"].mean().astype(float).map(math.log) if rate else of_runs["log"].mean()
    found = logs.groupby(level=[0, 1]).agg(["size", "mean"])
    return {
        (int(users), int(one)): (int(count), float(np.exp(mean))) for (users, one), count, mean in found.itertuples()
    }


def configuration_labels(runs: pd.DataFrame, baseline: int = 0) -> dict[int, str]:
    """Each configuration by what differs from the baseline; the baseline itself is ``baseline``."""
    names = setting_columns(runs)
    first = runs.drop_duplicates("configuration").set_index("configuration")[names]
    values: dict[Hashable, dict[str, Any]] = {
        key: dict(zip(names, row, strict=True)) for key, *row in first.itertuples()
    }
    of_baseline = values.get(baseline)
    if of_baseline is None or not names:
        return {int(str(key)): "baseline" if key == baseline else f"configuration {key}" for key in values}
    return {int(str(key)): label(settings, of_baseline) for key, settings in values.items()}


def setting_columns(runs: pd.DataFrame) -> list[str]:
    """The columns of a runs frame that are settings."""
    return [str(name) for name in runs.columns if name not in (*RUN_COLUMNS, STRETCH)]


def _question(
    runs: pd.DataFrame,
    metric: Metric,
    model: BlockModel,
    baseline: int,
    smallest_effect: float,
    level: float,
    later: Callable[[int], float],
    settled: Collection[Cell],
) -> _Question:
    done = usable(runs)
    counts = done.groupby(["virtual_users", "configuration"])["number"].nunique().to_dict()
    contrasts = {}
    for users, configuration in model.cells:
        contrast = model.difference((users, configuration), (users, baseline))
        replicated = min(counts[users, configuration], counts.get((users, baseline), 0)) >= 2
        if configuration != baseline and contrast is not None and replicated:
            contrasts[users, configuration] = contrast
    estimates = (
        {cell: model.estimate(contrast) for cell, contrast in contrasts.items()} if model.is_replicated else {}
    )
    counts_compared = {users: [cell for cell in estimates if cell[0] == users] for users, _ in estimates}
    family, may_be_best, shrunken_logs = list[list[float]](), set[Cell](), dict[Cell, float]()
    for users, compared in counts_compared.items():
        open_ = [contrasts[cell] for cell in compared if cell not in settled]
        family.append([model.common_noise(open_ or [contrasts[cell] for cell in compared])] * len(compared))
        may_be_best |= {(users, one) for one in candidates(model, users, level)}
        logs = shrunken(model, users)
        shrunken_logs |= {(users, one): log - logs[baseline] for one, log in logs.items() if baseline in logs}
    return _Question(
        metric,
        model,
        estimates,
        frozenset(may_be_best),
        shrunken_logs,
        lambda df: _critical(family, df, level),
        baseline,
        smallest_effect,
        "the baseline in these runs" if STRETCH in runs else "the baseline",
        _later(contrasts, later, model, done, settled, baseline),
    )


def _at_every_look(question: _Question, anytime: Anytime, runs: pd.DataFrame) -> _Question:
    """The same question for intervals that hold at every number of blocks."""
    estimates = block_differences(runs, question.metric, question.estimates, question.baseline)
    return replace(question, estimates=estimates, anytime=anytime)


def _critical(family: Sequence[Sequence[float]], df: float, level: float) -> Critical:
    return Critical(critical_value(family, df, level), critical_value(family, df, 2 * level - 1), df)


def _later(
    contrasts: Collection[Cell],
    level: Callable[[int], float],
    model: BlockModel,
    done: pd.DataFrame,
    settled: Collection[Cell],
    baseline: int,
) -> Callable[[int, float], Critical]:
    """The critical values after a number of blocks, in which every comparison runs that is not settled."""
    present = int(done["block"].max()) if contrasts else 0
    strata = model.strata / max(done.groupby(["virtual_users", "block"]).ngroups, 1)  # of each planned block
    groups = max(len({users for users, _ in contrasts}), 1)
    of_baseline = max(round(int((done["configuration"] == baseline).sum()) / max(model.strata, 1)), 1)
    family = equal_replication(-(-len(contrasts) // groups), groups, of_baseline)
    open_ = sum(cell not in settled for cell in contrasts) + groups * (of_baseline - 1)

    @cache
    def later(blocks: int, known: float) -> Critical:
        df = model.df + open_ * (blocks - present) * strata
        return _critical(family, max(df * known, 1.0), level(blocks))

    return later


def _judged(
    question: _Question, runs: pd.DataFrame, done: pd.DataFrame, cell: Cell, count: int, subject: str
) -> dict[str, Any]:
    """The fields of a ratio that state its verdict and what follows from it."""
    users, configuration = cell
    if not count:
        return _unmeasured(runs, cell, subject)
    if configuration == question.baseline:
        reference = {"ratio": 1.0, "low": 1.0, "high": 1.0, "equivalent": True}
        return reference | {"verdict": Verdict.BASELINE, "sentence": f"{subject}: the reference of all ratios"}
    estimate = question.estimates.get(cell)
    if estimate is None:
        reason = _reason(question, done, cell, count)
        undecided = {"verdict": Verdict.UNDECIDED, "sentence": f"{subject}: undecided: {reason}"}
        plain = question.model.difference(cell, (users, question.baseline))
        ratio = {} if plain is None else {"ratio": float(np.exp(plain @ question.model.coefficients))}
        return ratio | undecided
    return _decided(question, cell, estimate, done, subject)


def _unmeasured(runs: pd.DataFrame, cell: Cell, subject: str) -> dict[str, Any]:
    """Verdict and sentence without a run whose result can be used."""
    here = (runs["virtual_users"] == cell[0]) & (runs["configuration"] == cell[1])
    early = runs.loc[here & (runs["status"] == ENDED_EARLY), "note"]
    if len(early):
        return {"verdict": Verdict.ENDED_EARLY, "sentence": f"{subject}: {early.iloc[-1]}"}
    if (runs.loc[here, "status"] == "planned").all():
        return {"verdict": Verdict.NOT_RUN, "sentence": f"{subject}: not run"}
    return {"verdict": Verdict.FAILED, "sentence": f"{subject}: no run of it has a result that can be used"}


def _decided(
    question: _Question, cell: Cell, estimate: EffectEstimate, done: pd.DataFrame, subject: str
) -> dict[str, Any]:
    if question.anytime is not None:
        ends = question.anytime.ends(round(estimate.df) + 1, estimate)
        interval = Interval.of(question.metric, estimate.value, ends, ends, at_every_look=True)
        words = sentence(subject, question.reference, interval, question.smallest_effect)
        return {**interval.judged(question.smallest_effect), "sentence": words}
    interval = Interval.around(question.metric, estimate, question.critical)
    judged = interval.judged(question.smallest_effect)
    here = int(done[done["virtual_users"] == cell[0]]["block"].nunique())
    needed = _needed(question, estimate, here) if judged["verdict"] is Verdict.UNDECIDED else None
    advice = f"{needed_text(needed)} would decide with {share(POWER)}" if needed_text(needed) else ""
    seen = None
    if judged["verdict"] is Verdict.UNDECIDED:
        widths = [(question.critical(one.df).differs * one.error, one.error, one.df) for one in estimate.models]
        seen = found_from(max(least_found(*one) for one in widths), question.metric)
    words = sentence(subject, question.reference, interval, question.smallest_effect, advice=advice, detected=seen)
    return {**judged, "needed": needed, "detectable": seen, "sentence": words}


def _reason(question: _Question, done: pd.DataFrame, cell: Cell, count: int) -> str:
    """Why there is no interval."""
    users, _ = cell
    of_baseline = done[(done["virtual_users"] == users) & (done["configuration"] == question.baseline)]
    if of_baseline.empty:
        return "the baseline has no finished run to compare with"
    if done["block"].nunique() < 2:
        return "one block has no replication; at least 2 blocks are needed"
    if count < 2 or len(of_baseline) < 2:
        plural = "s" if count > 1 else ""
        return f"it has {count} finished run{plural} and the baseline {len(of_baseline)}; 2 each are needed"
    if not question.model.is_replicated:
        return "too few runs to estimate the noise"
    return "it was never in one block with the baseline"


def _needed(question: _Question, estimate: EffectEstimate, present: int) -> Needed:
    """The total number of blocks that would decide, if the present ratio and noise are the true ones."""
    limits = [abs(float(np.log(question.metric.score(1 + side * question.smallest_effect)))) for side in (-1, 1)]
    widest = max(estimate.models, key=lambda one: one.error)
    noise = widest.error * float(np.sqrt(present / 2))
    known = widest.df / question.model.df
    return blocks_needed(
        estimate.value, min(limits), noise, widest.df, present, lambda blocks: question.later(blocks, known)
    )


def fastest(ratios: Sequence[Ratio]) -> list[int]:
    """The configurations with the highest ratio to the baseline, as the mean over all counts of users; best first.

    One with a run that ended early is not among them: its interval was below them when it ended.
    """
    early = {ratio.configuration for ratio in ratios if ratio.verdict is Verdict.ENDED_EARLY}
    logs: dict[int, list[float]] = {}
    for ratio in ratios:
        of = ratio.configuration
        if of is not None and of not in early and ratio.verdict is not Verdict.BASELINE and ratio.ratio is not None:
            logs.setdefault(of, []).append(math.log(ratio.ratio))
    means = {configuration: sum(each) / len(each) for configuration, each in logs.items()}
    return sorted(means, key=lambda configuration: -means[configuration])[:FASTEST]
