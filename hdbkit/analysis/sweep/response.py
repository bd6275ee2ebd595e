"""The response of the metric to the values of a numeric setting."""

from __future__ import annotations

from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.quantities import quantity
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy

MIN_VALUES = 3
"""Values that a setting needs for a curve."""


def numeric(values: pd.Series[str]) -> pd.Series[float] | None:
    """The amounts of a setting's values; None where one is no number or size, or there are fewer than three."""
    amounts = [quantity(str(one)) for one in values]
    if any(one is None for one in amounts):
        return None
    known = pd.Series([float(one.amount) for one in amounts if one is not None], index=values.index)
    return known if known.nunique() >= MIN_VALUES else None


def response_to(runs: pd.DataFrame, setting: str) -> pd.DataFrame:
    """A row for each value of a setting, in the order of its amount: value, amount, runs, metric_value, low, high.

    The geometric mean over all runs with this value, at all values of the other settings alike. What differs between
    blocks and the other settings is taken out before the interval is computed, so that it contains the noise of runs
    alone; each interval holds by itself. ``low`` and ``high`` are NaN where no degrees of freedom are left.

    Args:
        runs: usable runs of one count of virtual users, as ``results.experiment_runs.runs_frame`` gives them.
        setting: a numeric one (:func:`numeric`).
    """
    logs = pd.Series(np.log(runs["metric_value"].to_numpy(dtype=float)), index=runs.index)
    values, blocks = runs[setting].astype(str), runs["block"]
    cells = logs.groupby(runs["configuration"]).transform("mean")
    within = logs - cells
    residuals = within - within.groupby(blocks).transform("mean")
    df = len(runs) - runs["configuration"].nunique() - (blocks.nunique() - 1)
    deviation = float(np.sqrt((residuals**2).sum() / df)) if df > 0 else float("nan")
    t = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, df)) if df > 0 else float("nan")
    found = logs.groupby(values, sort=False).agg(["size", "mean"]).rename(columns={"size": "runs"})
    half = t * deviation / np.sqrt(found["runs"])
    table = pd.DataFrame(
        {
            "value": found.index,
            "amount": [float(one.amount) for name in found.index if (one := quantity(str(name))) is not None],
            "runs": found["runs"].to_numpy(),
            "metric_value": np.exp(found["mean"]).to_numpy(),
            "low": np.exp(found["mean"] - half).to_numpy(),
            "high": np.exp(found["mean"] + half).to_numpy(),
        }
    )
    return table.sort_values("amount", ignore_index=True)
