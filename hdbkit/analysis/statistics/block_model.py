"""The model behind verdicts and effects: log score = configuration + block + noise, for each count of virtual users.

The score is that of the metric (more is better). The unit of replication is a run: one row, one number. Blocks take
up what changes from block to block, and with enough runs a slope over the run number what changes within them. Least
squares, so that a sweep with failed runs is judged by those that are left.

A configuration may be noisier than others. Each cell's variance is shrunk towards that of the whole sweep, the more
the less the cells differ beyond chance (Smyth 2004). Few runs hide such a difference, so two things are taken on the
safe side: the variance between cells is one standard error above its estimate, and no cell has less than its own
estimate; noisy ones have more (``of_noisy``). Degrees of freedom are those of a sum of such variances
(Satterthwaite 1946).

Where configurations alternate within runs, a block is a stretch of neighbouring cycles of a run, and the noise is
that within runs: intervals are about these runs. Variances are inflated by the correlation of the residuals along
each run (``autocorrelation``).

Where a block has two configurations alone, a second model has what a run leaves for the next (``carry_over``).

The runs of a block that share a build of a schema share what this build has (split plots; Yates 1935). A comparison
between schemas is made of its values in each block; degrees of freedom are blocks - 1. Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.autocorrelation import inflation
from hdbkit.analysis.statistics.carry_over import EffectEstimate, followed
from hdbkit.analysis.statistics.variances import moderated
from hdbkit.config.metric import Metric
from hdbkit.config.sweep_factors import schema_factors
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cell = tuple[int, int]
"""Virtual users and configuration."""
MIN_DF_FOR_DRIFT = 10
"""Minimum degrees of freedom for the drift over the run number to be part of the model."""
_RANK = 1e-10
"""Singular values below this share of the largest are 0."""
STANDARD_ERRORS = 0.5
"""How many are added to the correlation of neighbouring stretches, so that intervals err on the safe side."""
NOISIER_P = 0.15
"""The probability below which a cell that is noisier than the others is not judged by their noise."""
_MAX_LAMBDA = 0.95
_LAMBDA_STEPS = 20


def after_runs(runs: pd.DataFrame) -> pd.Series[float]:
    """What each run followed in the blocks of two configurations (``carry_over``), 0 in others; empty without any."""
    if "stretch" in runs or runs["number"].duplicated().any():
        return pd.Series(dtype="float64")
    executed = runs[runs["status"] != "planned"].sort_values("number")
    pairs = executed.groupby(["virtual_users", "block"])["configuration"].transform("nunique") == 2
    after = pd.Series(followed(executed["configuration"].to_numpy() != 0), executed.index)
    return after.where(pairs, 0.0) if pairs.any() else pd.Series(dtype="float64")


def usable(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that count: done, with a value above 0."""
    return runs[(runs["status"] == "done") & (runs["metric_value"] > 0)]


@dataclass(frozen=True)
class BlockModel:
    """The fitted model of the runs that count, in their order.

    The coefficients are those of cells, of which only contrasts have a meaning, and of the drift, if it is part of
    the model. ``gain`` makes them from the runs, (coefficients, runs). ``noise`` is the standard deviation of a run
    on the log scale, pooled, NaN without ``df``. ``residuals`` and ``leverage`` are those of the runs, ``cell`` their
    places in ``cells``. ``own`` and ``variances`` are each cell's variance of a run, as its residuals have it and
    as it is judged; ``cell_df`` the degrees of freedom of the latter. ``spread`` is the pooled variance of a row,
    inflated by its correlation with its neighbours. ``strata`` is the number of blocks. ``block`` is the block of
    each run, ``schema`` the schema of each cell, and ``apart`` the residuals with what runs share.
    ``again`` is the second model, with what a run leaves for the next, where a block has two configurations alone.
    """

    cells: Mapping[Cell, int]
    coefficients: Floats
    gain: Floats
    estimable: Floats
    noise: float
    df: int
    residuals: Floats
    leverage: Floats
    cell: NDArray[np.intp]
    own: Floats
    variances: Floats
    cell_df: Floats
    spread: float
    strata: int
    block: NDArray[np.intp]
    schema: NDArray[np.intp]
    apart: Floats
    again: BlockModel | None = None

    @classmethod
    def fitted(cls, runs: pd.DataFrame, metric: Metric) -> BlockModel:
        """The model of the usable ones among ``runs``.

        With a column ``stretch``, rows of one run that have the same stretch are a block of their own.
        """
        done, after = usable(runs), after_runs(runs)
        first = cls._of(done, metric, np.zeros((len(done), 0)))
        beside = np.asarray(after.reindex(done.index), dtype=np.float64)
        return replace(first, again=cls._of(done, metric, beside[:, None])) if len(after) and len(done) else first

    @classmethod
    def _of(cls, done: pd.DataFrame, metric: Metric, beside: Floats) -> BlockModel:
        """The model of these runs with columns ``beside`` cells and blocks."""
        pairs = list(zip(done["virtual_users"].tolist(), done["configuration"].tolist(), strict=True))
        cells = {cell: index for index, cell in enumerate(sorted(set(pairs)))}
        cell = np.array([cells[one] for one in pairs], dtype=np.intp)
        blocks = ["virtual_users", "block", *(["stretch"] if "stretch" in done else [])]
        stratum = np.asarray(done.groupby(blocks).ngroup(), dtype=np.intp)
        design = np.column_stack([cell[:, None] == np.arange(len(cells)), beside]).astype(np.float64)
        y = np.log(metric.score(done["metric_value"].to_numpy(dtype=np.float64)))
        within = _within(design, stratum)
        gain, leverage = _least_squares(within, stratum)
        if len(done) - round(float(leverage.sum())) >= MIN_DF_FOR_DRIFT:
            number = done["number"].to_numpy(dtype=np.float64)
            within = _within(np.column_stack([design, (number - number.mean()) / len(number)]), stratum)
            gain, leverage = _least_squares(within, stratum)
        coefficients = gain @ y
        apart = residuals = _within(y[:, None], stratum)[:, 0] - within @ coefficients
        if "stretch" in done and len(done):
            of_run = np.asarray(done.groupby(["virtual_users", "configuration", "number"]).ngroup(), dtype=np.intp)
            of_runs = _within(np.eye(of_run.max() + 1)[of_run], stratum)
            fit, leverage = _least_squares(of_runs, stratum)
            residuals = _within(y[:, None], stratum)[:, 0] - of_runs @ (fit @ y)
        df = len(done) - round(float(leverage.sum()))
        noise = float(np.sqrt(residuals @ residuals / df)) if df > 0 else float("nan")
        cell_df = np.bincount(cell, 1 - leverage, len(cells)).astype(np.float64)
        own = np.bincount(cell, residuals**2, len(cells)) / np.maximum(cell_df, 1e-9)
        variances, judged_df = moderated(own, cell_df, noise**2, df)
        variances, judged_df = of_noisy(variances, judged_df, own, cell_df, noise**2, df)
        factor, df_share = _inflation(done, cell, residuals) if "stretch" in done and df > 0 else (1.0, 1.0)
        return cls(
            cells, coefficients, gain, gain @ within, noise, max(round(df * df_share), min(df, 1)), residuals,
            leverage, cell, own, variances * factor, judged_df * df_share,
            noise**2 * factor, len(np.unique(stratum)), *_plots(done, cell, len(cells)), apart,
        )  # fmt: skip

    def difference(self, one: Cell, other: Cell) -> Floats | None:
        """The contrast ``one`` - ``other``; None when no chain of common blocks connects them."""
        if one not in self.cells or other not in self.cells:
            return None
        return self._estimable({one: 1.0, other: -1.0} if one != other else {})

    def from_mean(self, cell: Cell, others: Sequence[Cell]) -> Floats | None:
        """The contrast of a cell with the mean of ``others``, it among them; None as for ``difference``."""
        share = -1 / len(others)
        return self._estimable({**dict.fromkeys(others, share), cell: 1 + share})

    def _estimable(self, weights: Mapping[Cell, float]) -> Floats | None:
        """The contrast with these weights of cells, if no block effect is part of it."""
        contrast = np.zeros(len(self.coefficients))
        contrast[[self.cells[cell] for cell in weights]] = list(weights.values())
        return contrast if np.allclose(contrast @ self.estimable, contrast, atol=1e-8) else None

    def judged(self, more: float, worth: float) -> BlockModel:
        """The model with variances and degrees of freedom that are these multiples of its own."""
        again = self.again and self.again.judged(more, worth)
        variances, cell_df, df = self.variances * more, self.cell_df * worth, round(self.df * worth)
        return replace(self, variances=variances, cell_df=cell_df, df=df, again=again)

    @property
    def is_replicated(self) -> bool:
        """Whether each of its models has degrees of freedom for the noise."""
        return self.df > 0 and (self.again is None or self.again.is_replicated)

    def estimate(self, contrast: Floats) -> EffectEstimate:
        """A contrast's value, its standard error and its degrees of freedom."""
        found = self._estimate(contrast)
        if self.again is None:
            return found
        same = np.zeros(len(self.again.coefficients))
        same[: len(self.cells)] = contrast[: len(self.cells)]
        return replace(found, again=self.again.estimate(same))

    def _estimate(self, contrast: Floats) -> EffectEstimate:
        weights = contrast @ self.gain
        between = np.bincount(self.schema, contrast[: len(self.cells)])
        if np.abs(between).max() > 1e-9:
            of_blocks = np.bincount(self.block, weights * self.apart)
            blocks = max(len(np.unique(self.block[np.abs(weights) > 1e-12])), 2)
            error = np.sqrt(of_blocks @ of_blocks * blocks / (blocks - 1))
            columns = len(self.coefficients) - len(self.cells)
            return EffectEstimate(float(contrast @ self.coefficients), float(error), max(blocks - 1.0 - columns, 1.0))
        parts = np.bincount(self.cell, weights**2, len(self.cells)) * self.variances
        variance, uncertain = float(parts.sum()), float((parts**2 / np.maximum(self.cell_df, 1e-9)).sum())
        df = min(variance**2 / uncertain, self.df) if uncertain else float(self.df)
        return EffectEstimate(float(contrast @ self.coefficients), float(np.sqrt(variance)), df)

    def common_noise(self, contrasts: Sequence[Floats]) -> float:
        """The ``lambda`` of comparisons with one configuration (``dunnett``), from the noise that they share.

        The smallest share of any two, rounded down to a twentieth, is taken for all: intervals are a little wider.
        """
        weights = np.array(contrasts) @ self.gain
        variance = (weights * self.variances[self.cell]) @ weights.T
        apart = variance[~np.eye(len(contrasts), dtype=bool)]
        shared = max(float(apart.min()), 0.0) if len(apart) else 0.0
        least = np.sqrt(shared / max(float(np.diag(variance).max()), 1e-300))
        return rounded_lambda(float(least))


def rounded_lambda(value: float) -> float:
    """A ``lambda`` of Dunnett's test, rounded down to a twentieth, so that few critical values are computed."""
    return min(float(np.floor(value * _LAMBDA_STEPS + 1e-6) / _LAMBDA_STEPS), _MAX_LAMBDA)


def _within(columns: Floats, stratum: NDArray[np.intp]) -> Floats:
    """Columns less their means over each block: what a fit with a level for each block leaves of them."""
    found: Floats = columns - pd.DataFrame(columns).groupby(stratum).transform("mean").to_numpy()
    return found


def _plots(done: pd.DataFrame, cell: NDArray[np.intp], cells: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The block of each run, and the schema of each cell at its count of virtual users."""
    names = ["virtual_users", *(name for name in done.columns if name in schema_factors())]
    schema = np.zeros(cells, dtype=np.intp)
    schema[cell] = done.groupby(names, dropna=False).ngroup()
    return np.asarray(done.groupby("block").ngroup(), dtype=np.intp), schema


def _least_squares(within: Floats, stratum: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The pseudo-inverse, (columns, runs), and the leverage of each run, with that of the levels of the blocks.

    Equal to a fit with a column for each block (Frisch and Waugh 1933, Econometrica 1, 387-401; Lovell 1963).
    """
    gain = np.asarray(np.linalg.pinv(within, rcond=_RANK) if len(within) else within.T, dtype=np.float64)
    leverage: Floats = (within * gain.T).sum(axis=1) + 1 / np.bincount(stratum)[stratum]
    return gain, leverage


def _inflation(done: pd.DataFrame, cell: NDArray[np.intp], residuals: Floats) -> tuple[float, float]:
    """What the correlation of neighbouring stretches of a run makes of variances and degrees of freedom."""
    numbers, stretches = (done[name].to_numpy(dtype=np.int64) for name in ("number", "stretch"))
    order = np.lexsort((stretches, numbers, cell))
    ordered, number = residuals[order], numbers[order]
    neighbours = (np.diff(cell[order]) == 0) & (np.diff(number) == 0)
    squares, count = float(ordered @ ordered), int(neighbours.sum())
    if not squares or not count:
        return 1.0, 1.0
    products = float((ordered[1:] * ordered[:-1])[neighbours].sum())
    plain = products / count / (squares / len(done))
    cells, runs_of_cells = len(np.unique(cell)), len(done) - count
    series = round(runs_of_cells * (1 - int(done["virtual_users"].nunique()) / cells))
    length = len(done) / runs_of_cells
    return inflation(plain, round(length), length, series, STANDARD_ERRORS)


def noisier_p(own: Floats, cell_df: Floats, pooled: Floats | float, df: int) -> Floats:
    """The probability that a cell has by chance a variance so much larger than all others together (F test)."""
    rest_df = np.maximum(df - cell_df, 1e-9)
    rest = np.maximum(pooled * df - own * cell_df, 0) / rest_df
    found = scipy.special.fdtrc(np.maximum(cell_df, 1e-9), rest_df, own / np.maximum(rest, 1e-300))
    return np.asarray(found, dtype=np.float64)


def of_noisy(
    variances: Floats, judged_df: Floats, own: Floats, cell_df: Floats, pooled: Floats | float, df: int
) -> tuple[Floats, Floats]:
    """The variances as they are judged and their degrees of freedom, where cells differ: those of noisy ones.

    A cell that is significantly noisier than the others has the degrees of freedom of its own runs alone. One that is
    noisier, but not significantly, is judged by a variance that is larger by as much as it is above the pooled one.
    """
    differ = judged_df < df
    noisy = differ & (noisier_p(own, cell_df, pooled, df) < NOISIER_P)
    wider = np.where(differ & ~noisy, np.maximum(own / np.maximum(pooled, 1e-300), 1.0), 1.0)
    return variances * wider, np.where(noisy, np.minimum(cell_df, judged_df), judged_df)
