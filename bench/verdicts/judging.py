"""Simulated sweeps of complete blocks, and their verdicts: the formulas of ``hdbkit.analysis.sweep``, vectorized."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from bench.verdicts.noise import Floats
from hdbkit.analysis.statistics import block_model
from hdbkit.analysis.statistics.autocorrelation import inflation
from hdbkit.analysis.statistics.block_model import MIN_DF_FOR_DRIFT, STANDARD_ERRORS
from hdbkit.analysis.statistics.dunnett import TABULATED_DF, critical_value
from hdbkit.analysis.sweep.observations import MIN_RUN_DF


@dataclass(frozen=True)
class Sweeps:
    """Simulated sweeps: log throughputs and run numbers, each (sweeps, blocks, configurations).

    The first columns are the runs of the baseline, ``baseline`` of them in each block.
    With ``length`` blocks are stretches of runs in which configurations alternate, so many in each run; ``apart`` is
    by how much each configuration differs in each run, (sweeps, runs, configurations).
    """

    logs: Floats
    numbers: Floats
    length: int = 0
    apart: Floats | None = None
    baseline: int = 1

    def of(self, blocks: int) -> Sweeps:
        """Their first blocks."""
        return Sweeps(self.logs[:, :blocks], self.numbers[:, :blocks], self.length, baseline=self.baseline)

    @property
    def cell(self) -> NDArray[np.intp]:
        """The configuration of each column."""
        return np.maximum(np.arange(self.logs.shape[2]) - self.baseline + 1, 0)

    def __getitem__(self, some: slice) -> Sweeps:
        return replace(self, logs=self.logs[some], numbers=self.numbers[some])

    @property
    def truth(self) -> Floats | float:
        """What is claimed of equal configurations: with few runs, by how much they differ in these runs."""
        if self.apart is None or (self.apart.shape[1] - 1) * (self.apart.shape[2] - 1) >= MIN_RUN_DF:
            return 0.0
        means: Floats = self.apart.mean(axis=1)
        apart: Floats = means[:, 1:] - means[:, :1]
        return apart

    @property
    def by_run(self) -> Sweeps:
        """The runs in which configurations alternate, a block each."""
        sweeps, blocks, size = self.logs.shape
        runs = np.exp(self.logs).reshape(sweeps, blocks // self.length, self.length, size).mean(axis=2)
        numbers = np.broadcast_to(np.arange(1.0, runs.shape[1] + 1)[:, None], runs.shape)
        return Sweeps(np.log(runs), numbers)


@dataclass(frozen=True)
class Estimates:
    """The estimates of ``block_model`` for each ratio to configuration 0, (sweeps, configurations - 1).

    Of each sweep the correlation of the ratios, the variance of a row and the degrees of freedom of that.
    """

    values: Floats
    errors: Floats
    df: Floats
    correlation: Floats
    spread: Floats
    whole_df: Floats


def estimates(sweeps: Sweeps) -> Estimates:
    """``BlockModel`` of the units of ``observations``, for complete blocks, vectorized over sweeps."""
    if not sweeps.length:
        return _of_rows(sweeps)
    runs = _of_rows(sweeps.by_run)
    return runs if runs.whole_df[0] >= MIN_RUN_DF else _of_rows(sweeps)


def _of_rows(sweeps: Sweeps) -> Estimates:  # noqa: PLR0915 - the formulas of one model, in their order
    logs, (_, blocks, columns), cell = sweeps.logs, sweeps.logs.shape, sweeps.cell
    size, runs_of = int(cell[-1]) + 1, np.bincount(cell)
    series = blocks // sweeps.length if sweeps.length else 1
    means, df = by_cell(logs.mean(axis=1), cell) / runs_of, blocks * (columns - 1) - series * (size - 1)
    residuals = apart(logs.reshape(-1, sweeps.length or blocks, columns), cell).reshape(logs.shape)
    of_means = series / (blocks * runs_of[cell]) - series / (blocks * columns)
    leverage: Floats = np.broadcast_to(1 / columns + of_means, logs.shape)
    slope_weights = np.zeros((len(logs), size))
    if df >= MIN_DF_FOR_DRIFT and np.ptp(sweeps.numbers, axis=2).any():
        numbers = apart(sweeps.numbers, cell)
        squares = np.maximum((numbers**2).sum(axis=(1, 2)), 1e-9)  # 0 where all blocks have the same order
        slope = (numbers * logs).sum(axis=(1, 2)) / squares
        of_cells = by_cell(sweeps.numbers.mean(axis=1), cell) / runs_of
        away = of_cells - sweeps.numbers.mean(axis=(1, 2))[:, None]
        residuals, means = residuals - slope[:, None, None] * numbers, means - slope[:, None] * away
        leverage, df = leverage + numbers**2 / squares[:, None, None], df - 1
        slope_weights = away
    pooled = (residuals**2).sum(axis=(1, 2)) / df
    cell_df = by_cell((1 - leverage).sum(axis=1), cell)
    own = by_cell((residuals**2).sum(axis=1), cell) / cell_df
    prior = prior_df(np.maximum(own, 0.02 * pooled[:, None]), cell_df)[:, None]
    worth = np.minimum(prior, 1e12)
    shrunk = (worth * pooled[:, None] + cell_df * own) / (worth + cell_df)
    judged, judged_df = block_model.of_noisy(
        np.maximum(own, shrunk), np.where(np.isinf(prior), df, worth + cell_df),
        own, cell_df, pooled[:, None], df,
    )  # fmt: skip
    factor, df_share = inflations(residuals, sweeps.length)
    variance, judged_df, whole_df = judged * factor, judged_df * df_share, np.round(df * df_share)
    weights = contrasts(logs.shape, sweeps.baseline)
    if slope_weights.any():
        lead = (slope_weights[:, 1:] - slope_weights[:, :1]) / squares[:, None]
        weights = weights - lead[:, :, None, None] * numbers[:, None]
    parts = by_cell((weights**2).sum(axis=2), cell) * variance[:, None, :]
    total = parts.sum(axis=2)
    of_contrast = np.minimum(total**2 / (parts**2 / judged_df[:, None, :]).sum(axis=2), whole_df)
    flat = (weights * np.sqrt(variance)[:, None, None, cell]).reshape(len(logs), size - 1, -1)
    covariance = flat @ flat.transpose(0, 2, 1)
    beside = covariance[:, ~np.eye(size - 1, dtype=bool)].reshape(len(logs), -1)
    shared = np.maximum(beside.min(axis=1), 0) if size > 2 else np.zeros(len(logs))
    least = np.minimum(np.floor(np.sqrt(shared / total.max(axis=1)) * 20 + 1e-6) / 20, 0.95)
    whole = np.broadcast_to(whole_df[:, 0], len(logs))
    return Estimates(means[:, 1:] - means[:, :1], np.sqrt(total), of_contrast, least, pooled * factor[:, 0], whole)


def by_cell(values: Floats, cell: NDArray[np.intp]) -> Floats:
    """The sum of the last axis over the runs of each configuration; the first columns are those of the baseline."""
    times = int((cell == 0).sum())
    found: Floats = np.concatenate([values[..., :times].sum(axis=-1, keepdims=True), values[..., times:]], axis=-1)
    return found


def contrasts(shape: tuple[int, ...], baseline: int = 1) -> Floats:
    """The weight of each value in each ratio to configuration 0: (sweeps, ratios, blocks, columns)."""
    sweeps, blocks, columns = shape
    compared = columns - baseline
    weights = np.zeros((sweeps, compared, blocks, columns))
    weights[:, np.arange(compared), :, np.arange(baseline, columns)] = 1 / blocks
    weights[:, :, :, :baseline] = -1 / blocks / baseline
    return weights


def inflations(residuals: Floats, length: int) -> tuple[Floats, Floats]:
    """What the correlation along each run makes of variances and of degrees of freedom, for each sweep."""
    sweeps, blocks, size = residuals.shape
    if not length:
        return np.ones((sweeps, 1)), np.ones((sweeps, 1))
    runs = residuals.reshape(sweeps, -1, length, size)
    neighbours = (runs[:, :, 1:] * runs[:, :, :-1]).mean(axis=(1, 2, 3))
    plain = neighbours / (residuals**2).mean(axis=(1, 2))
    series = blocks // length * (size - 1)
    found = np.array([inflation(float(one), length, length, series, STANDARD_ERRORS) for one in plain])
    return found[:, :1], found[:, 1:]


def apart(values: Floats, cell: NDArray[np.intp]) -> Floats:
    """Values without the means of their configuration and block."""
    of_cells = by_cell(values.mean(axis=1, keepdims=True), cell) / np.bincount(cell)
    means = [values.mean(axis=axis, keepdims=True) for axis in (2, (1, 2))]
    found: Floats = values - of_cells[..., cell] - means[0] + means[1]
    return found


def prior_df(own: Floats, df: Floats) -> Floats:
    """The degrees of freedom of the common variance, one number per sweep; infinite where cells are alike."""
    logs = np.log(own) - scipy.special.digamma(df / 2) + np.log(df / 2)
    by_chance = scipy.special.polygamma(1, df / 2).mean(axis=1)
    beyond = logs.var(axis=1, ddof=1) - by_chance * (1 - np.sqrt(2 / (own.shape[1] - 1)))
    x = 0.5 + 1 / np.maximum(beyond, 1e-12)
    for _ in range(8):
        trigamma = scipy.special.polygamma(1, x)
        x += trigamma * (1 - trigamma / np.maximum(beyond, 1e-12)) / scipy.special.polygamma(2, x)
    return np.where(beyond > 0, 2 * x, np.inf)


def after_runs(sweeps: Sweeps) -> Estimates:
    """The second model of two configurations: the differences of blocks beside what their runs followed."""
    (count, blocks, _), later = sweeps.logs.shape, (sweeps.numbers[:, :, 1] > sweeps.numbers[:, :, 0])
    repeats = np.zeros((count, blocks))
    repeats[:, 1:] = -1.0 * (later[:, 1:] == later[:, :-1])
    varies = np.ptp(repeats, axis=1) > 0
    columns = [np.ones((count, blocks)), repeats]
    df = blocks - 1 - varies
    numbers = sweeps.numbers[:, :, 1] - sweeps.numbers[:, :, 0]
    drift = (df >= MIN_DF_FOR_DRIFT)[:, None] * numbers
    design = np.stack([*columns, drift], axis=2)
    difference = sweeps.logs[:, :, 1] - sweeps.logs[:, :, 0]
    inverse = np.linalg.pinv(np.einsum("sbp,sbq->spq", design, design), rcond=1e-9, hermitian=True)
    fit = np.einsum("spq,sbq,sb->sp", inverse, design, difference)
    left = difference - np.einsum("sbp,sp->sb", design, fit)
    df = df - (drift.any(axis=1))
    variance = (left**2).sum(axis=1) / np.where(df > 0, df, np.nan)
    errors = np.sqrt(variance * inverse[:, 0, 0])
    return Estimates(fit[:, :1], errors[:, None], df[:, None].astype(float), np.zeros(count), variance, df)


def intervals(sweeps: Sweeps, level: float, family: bool = True) -> tuple[Floats, Floats]:
    """Lower and upper ends of each ratio to configuration 0, (sweeps, configurations - 1), on the log scale."""
    low, high = zip(*(_intervals(model, level, family) for model in by_each_model(sweeps)), strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)


def by_each_model(sweeps: Sweeps) -> list[Estimates]:
    """The estimates of both models of two configurations, or of the one that there is."""
    two = not sweeps.length and sweeps.logs.shape[2] == 2
    return [estimates(sweeps), *([after_runs(sweeps)] if two else [])]


def _intervals(found: Estimates, level: float, family: bool) -> tuple[Floats, Floats]:
    compared = found.values.shape[1] if family else 1
    critical = np.zeros_like(found.df)
    for correlation in np.unique(found.correlation):
        here = found.correlation == correlation
        above = next(df for df in TABULATED_DF if df >= found.df[here].max())
        known = np.array([df for df in TABULATED_DF if df <= above])
        table = [critical_value([[correlation] * compared], int(df), level) for df in known]
        critical[here] = np.interp(1 / np.maximum(found.df[here], 1), 1 / known[::-1], table[::-1])
    half = critical * found.errors
    return found.values - half, found.values + half
