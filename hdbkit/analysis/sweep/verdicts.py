"""The verdict on each configuration of a sweep: faster, slower, equivalent, undecided, or why it has none.

Ratios to the baseline with simultaneous (Dunnett) intervals over all comparisons of the sweep, from a block model
whose unit of replication is a run. Never an interval made of seconds or operations of one run; without replication
or without residual degrees of freedom there is no interval at all, and the row states why. Where configurations
alternate within runs, the unit is a stretch of such a run (``observations``); still at least two runs are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.statistics.block_model import BlockModel, Cell, EffectEstimate, usable
from hdbkit.analysis.statistics.dunnett import critical_value, equal_replication
from hdbkit.analysis.statistics.power import Critical, Needed, blocks_needed
from hdbkit.analysis.statistics.selection import candidates, shrunken
from hdbkit.analysis.wording import CONFIDENCE, Interval, blocks_text, change, label, sentence
from hdbkit.config.metric import Measure, Metric
from hdbkit.results.experiment_runs import ENDED_EARLY, RUN_COLUMNS, STRETCH
from hdbkit.text import capital, share, virtual_users

NOT_RUN = "not run"
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


def judge(
    runs: pd.DataFrame,
    metric: Metric,
    baseline: int = 0,
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
    later: Callable[[int], float] | None = None,
    settled: Collection[Cell] = (),
    model: BlockModel | None = None,
) -> pd.DataFrame:
    """The verdict on each configuration at each count of virtual users.

    Args:
        runs: one row per run, as ``results.experiment_folder.runs_frame`` gives it, or per stretch of a run, as
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

    Returns:
        A row each with ``configuration``, ``virtual_users``, ``label``, ``runs`` (that count), ``metric_value``
        (their geometric mean), ``operations_per_s`` (mean, of all types), ``ratio`` (of scores: more than 1 is
        better), ``low``, ``high`` (NaN where there is none), ``verdict``, ``equivalent`` (two one-sided tests exclude
        +-smallest_effect), ``may_be_best`` (one of those among which the best at these virtual users is, with
        95 %), ``these_runs`` (the verdict is about these runs alone), ``shrunken_ratio`` (to the
        baseline; ``block_model.shrunken``), ``blocks_needed``, ``blocks_low`` and ``blocks_high`` (in all, for an
        undecided one, as ``power.blocks_needed`` gives them; NA when unknown) and ``sentence``.
    """
    model = model or BlockModel.fitted(runs, metric)
    question = _question(runs, metric, model, baseline, smallest_effect, level, later or (lambda _: level), settled)
    labels = configuration_labels(runs, baseline)
    cells = sorted({(int(u), int(c)) for u, c in zip(runs["virtual_users"], runs["configuration"], strict=True)})
    several = len({users for users, _ in cells}) > 1
    done = usable(runs)
    means = _means_of_runs(done, metric)
    per_s = done.groupby(["virtual_users", "configuration"])["operations_per_s"].mean().to_dict()
    rows = []
    for cell in cells:
        users, configuration = cell
        subject = labels[configuration] + (f" at {virtual_users(users)}" if several else "")
        count, mean = means.get(cell, (0, float("nan")))
        head = {"configuration": configuration, "virtual_users": users, "label": labels[configuration]}
        measured = {"runs": count, "metric_value": mean, "operations_per_s": per_s.get(cell, float("nan"))}
        shrunken_ratio = float(np.exp(question.shrunken.get(cell, float("nan"))))
        choice = {"may_be_best": cell in question.may_be_best, "shrunken_ratio": shrunken_ratio}
        choice |= {"these_runs": STRETCH in runs}
        rows.append(head | measured | choice | _row(question, runs, done, cell, count, subject))
    kinds = dict.fromkeys(_NEEDED, "Int64") | dict.fromkeys(_FLAGS, "bool")
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(kinds)


_FLAGS = ("equivalent", "may_be_best", "these_runs")
_NEEDED = ("blocks_needed", "blocks_low", "blocks_high")
_COLUMNS = (
    *("configuration", "virtual_users", "label", "runs", "metric_value", "operations_per_s"),
    *("ratio", "low", "high"),
    *("verdict", "equivalent", "may_be_best", "these_runs", "shrunken_ratio", *_NEEDED, "sentence"),
)


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
    estimates = {cell: model.estimate(contrast) for cell, contrast in contrasts.items()} if model.df > 0 else {}
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
        _later(contrasts, later, model, done, settled),
    )


def _critical(family: Sequence[Sequence[float]], df: float, level: float) -> Critical:
    return Critical(critical_value(family, df, level), critical_value(family, df, 2 * level - 1), df)


def _later(
    contrasts: Collection[Cell],
    level: Callable[[int], float],
    model: BlockModel,
    done: pd.DataFrame,
    settled: Collection[Cell],
) -> Callable[[int, float], Critical]:
    """The critical values after a number of blocks, in which every comparison runs that is not settled."""
    present = int(done["block"].max()) if contrasts else 0
    strata = model.strata / max(done.groupby(["virtual_users", "block"]).ngroups, 1)  # of each planned block
    groups = max(len({users for users, _ in contrasts}), 1)
    family = equal_replication(-(-len(contrasts) // groups), groups)
    open_ = sum(cell not in settled for cell in contrasts)

    @cache
    def later(blocks: int, known: float) -> Critical:
        df = model.df + open_ * (blocks - present) * strata
        return _critical(family, max(df * known, 1.0), level(blocks))

    return later


def _row(
    question: _Question, runs: pd.DataFrame, done: pd.DataFrame, cell: Cell, count: int, subject: str
) -> dict[str, Any]:
    users, configuration = cell
    no_interval = {"ratio": float("nan"), "low": float("nan"), "high": float("nan"), "equivalent": False}
    if not count:
        return no_interval | _unmeasured(runs, cell, subject)
    if configuration == question.baseline:
        one = {"ratio": 1.0, "low": 1.0, "high": 1.0, "equivalent": True}
        return one | {"verdict": "baseline", "sentence": f"{subject}: the reference of all ratios"}
    estimate = question.estimates.get(cell)
    if estimate is None:
        reason = _reason(question, done, cell, count)
        found = {"verdict": "undecided", "sentence": f"{subject}: undecided: {reason}"}
        plain = question.model.difference(cell, (users, question.baseline))
        ratio = {} if plain is None else {"ratio": float(np.exp(plain @ question.model.coefficients))}
        return no_interval | ratio | found
    return _decided(question, cell, estimate, done, subject)


def _unmeasured(runs: pd.DataFrame, cell: Cell, subject: str) -> dict[str, Any]:
    """Verdict and sentence without a run whose result can be used."""
    here = (runs["virtual_users"] == cell[0]) & (runs["configuration"] == cell[1])
    early = runs.loc[here & (runs["status"] == ENDED_EARLY), "note"]
    if len(early):
        return {"verdict": ENDED_EARLY, "sentence": f"{subject}: {early.iloc[-1]}"}
    if (runs.loc[here, "status"] == "planned").all():
        return {"verdict": NOT_RUN, "sentence": f"{subject}: not run"}
    return {"verdict": "failed", "sentence": f"{subject}: no run of it has a result that can be used"}


def _decided(
    question: _Question, cell: Cell, estimate: EffectEstimate, done: pd.DataFrame, subject: str
) -> dict[str, Any]:
    critical = question.critical(estimate.df)
    interval = Interval.around(question.metric, estimate.value, estimate.error, critical.differs, critical.alike)
    verdict = interval.verdict(question.smallest_effect)
    here = int(done[done["virtual_users"] == cell[0]]["block"].nunique())
    needed = _needed(question, estimate, here) if verdict == "undecided" else Needed(None, None, None)
    advice = (
        f"{blocks_text(needed.blocks, needed.low, needed.high)} would decide" if needed.blocks and needed.low else ""
    )
    text = sentence(subject, question.reference, interval, question.smallest_effect, advice=advice)
    return {
        "ratio": interval.ratio,
        "low": interval.low,
        "high": interval.high,
        "verdict": verdict,
        "equivalent": interval.equivalent(question.smallest_effect),
        **dict(zip(_NEEDED, (needed.blocks, needed.low, needed.high), strict=True)),
        "sentence": text,
    }


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
    if question.model.df < 1:
        return "too few runs to estimate the noise"
    return "it was never in one block with the baseline"


def _needed(question: _Question, estimate: EffectEstimate, present: int) -> Needed:
    """The total number of blocks that would decide, if the present ratio and noise are the true ones."""
    limits = [abs(float(np.log(question.metric.score(1 + side * question.smallest_effect)))) for side in (-1, 1)]
    noise = estimate.error * float(np.sqrt(present / 2))
    known = estimate.df / question.model.df
    return blocks_needed(
        estimate.value, min(limits), noise, estimate.df, present, lambda blocks: question.later(blocks, known)
    )


def needed_range(verdict: Mapping[Hashable, Any]) -> str:
    """The blocks that would decide an undecided row of :func:`judge`, in words; empty when unknown."""
    blocks, low, high = (None if pd.isna(verdict[name]) else int(verdict[name]) for name in _NEEDED)
    return "" if blocks is None or low is None else blocks_text(blocks, low, high)


def fastest(verdicts: pd.DataFrame) -> list[int]:
    """The configurations with the highest ratio to the baseline, as the mean over all counts of users; best first.

    One with a run that ended early is not among them: its interval was below them when it ended.
    """
    early = verdicts.loc[verdicts["verdict"] == ENDED_EARLY, "configuration"]
    compared = verdicts[(verdicts["verdict"] != "baseline") & verdicts["ratio"].notna()]
    compared = compared[~compared["configuration"].isin(early)]
    logs = pd.Series(np.log(compared["ratio"].astype(float)), compared.index)
    means = logs.groupby(compared["configuration"]).mean()
    return [int(str(one)) for one in means.sort_values(ascending=False).index[:FASTEST]]


def answer(
    verdicts: pd.DataFrame, metric: Metric, smallest_effect: float = 0.02, effects: pd.DataFrame | None = None
) -> str:
    """The strongest conclusion that a sweep supports, in one sentence.

    The verdict on a configuration comes first. Where none is faster and some are undecided, a setting's main effect
    may still be decided, because it uses all pairs of the grid.

    Args:
        verdicts: as :func:`judge` gives them.
        metric: what was measured.
        smallest_effect: the smallest relative difference that matters.
        effects: as ``effects.main_effects`` gives them.
    """
    compared = verdicts[~verdicts["verdict"].isin(["baseline", "failed", ENDED_EARLY, NOT_RUN])]
    faster = compared[compared["verdict"] == "faster"]
    undecided = compared[compared["verdict"] == "undecided"]
    count = len(verdicts)
    if compared.empty:
        return "No comparison is possible: no configuration besides the baseline has a result that can be used."
    if len(faster):
        return _faster_answer(faster, count, metric)
    if len(undecided):
        return _undecided_answer(undecided, len(compared), _decided_effect(effects))
    here = in_these_runs(verdicts)
    if (compared["verdict"] == "slower").all():
        return f"The baseline is the fastest of the {count}{here}: every other configuration is slower."
    return (
        f"No configuration is faster than the baseline{here} by more than {share(smallest_effect)}: "
        f"{(compared['verdict'] == 'equivalent').sum()} of {len(compared)} comparisons are equivalent, "
        f"{(compared['verdict'] == 'slower').sum()} are slower."
    )


def _faster_answer(faster: pd.DataFrame, count: int, metric: Metric) -> str:
    """The answer where some configurations are faster: the fastest, and what is left of its lead after the choice."""
    leader = faster.sort_values("ratio").iloc[-1]
    several = faster["configuration"].nunique()
    among = [f"the best of {several} that are faster"] if several > 1 else []
    found, left = (change(float(leader[name]), metric) for name in ("ratio", "shrunken_ratio"))
    if np.isfinite(leader["shrunken_ratio"]) and left != found:
        among.append(f"{left} after allowing for the choice among {count}")
    return f"{capital(', '.join([str(leader['sentence']), *among]))}."


def in_these_runs(verdicts: pd.DataFrame) -> str:
    """What limits verdicts that are about these runs alone: `` in these runs``; empty for others."""
    return " in these runs" if "these_runs" in verdicts and verdicts["these_runs"].any() else ""


def candidates_note(verdicts: pd.DataFrame) -> list[str]:
    """The configurations among which the best is, one phrase for each count of users where there are several."""
    several = verdicts["virtual_users"].nunique() > 1
    found = []
    for users, rows in verdicts.groupby("virtual_users"):
        labels = rows.loc[rows["may_be_best"], "label"].tolist()
        if 1 < len(labels) < len(rows):
            where = f" at {virtual_users(int(str(users)))}" if several else ""
            where += in_these_runs(rows)
            found.append(f"the best{where} is one of {len(labels)} with {share(CONFIDENCE)}: {'; '.join(labels)}")
    return found


def _undecided_answer(undecided: pd.DataFrame, compared: int, effect: str) -> str:
    """The answer where no configuration is faster and some are undecided; ``effect`` is a decided one, if any is."""
    if len(undecided) == compared == 1:
        return f"{capital(str(undecided.iloc[0]['sentence']))}."
    if not effect:
        return f"No configuration is shown to be faster than the baseline; {_open(undecided, compared)}."
    return (
        f"On average over the grid, {effect}, while no single configuration is shown to be faster than the baseline: "
        f"{_open(undecided, compared)}."
    )


def _decided_effect(effects: pd.DataFrame | None) -> str:
    """The sentence on the best effect that is faster and matters, else on the worst that is slower; may be empty."""
    if effects is None or effects.empty:
        return ""
    matters = effects[~effects["equivalent"]]
    for verdict, position in (("faster", -1), ("slower", 0)):
        found = matters[matters["verdict"] == verdict]
        overall = found[found["virtual_users"] == 0]
        if len(found):
            return str((overall if len(overall) else found).sort_values("ratio").iloc[position]["sentence"])
    return ""


def _open(undecided: pd.DataFrame, compared: int) -> str:
    advice = ""
    if undecided["blocks_needed"].notna().all():
        most = undecided.sort_values("blocks_needed").to_dict("records")[-1]
        advice = f", {needed_range(most)} would decide"
    return f"{len(undecided)} of {compared} comparisons {'is' if len(undecided) == 1 else 'are'} undecided{advice}"
