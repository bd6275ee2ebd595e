"""Synthetic sweeps with known effects, for the tests of statistics."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from hdbkit.config.metric import Better, Measure, Metric
from hdbkit.results.finding import Ratio, Verdict

RATE = Metric(name="TPS", title="operations per second", unit="TPS")
TIME = Metric(
    name="mean query time", title="geometric mean of the query times", unit="s", measure=Measure.GEOMETRIC_MEAN
)
P95 = Metric(name="p95", title="95 % quantile of the query times", unit="ms", measure=Measure.QUANTILE)


def synthetic_runs(
    ratios: list[float],
    blocks: int = 8,
    noise: float = 0.01,
    drift: float = 0.0,
    virtual_users: tuple[int, ...] = (4,),
    seed: int = 1,
    metric: Metric = RATE,
) -> pd.DataFrame:
    """A runs frame of two settings; ``ratios`` are those of speed, ``drift`` is its fall from first to last run."""
    draw = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    total = blocks * len(ratios) * len(virtual_users)
    for block in range(1, blocks + 1):
        cells = [(configuration, users) for configuration in range(len(ratios)) for users in virtual_users]
        draw.shuffle(cells)
        for configuration, users in cells:
            number = len(rows) + 1
            log_noise = draw.normal(0, noise) if noise else 0.0
            speed = 10_000 * users * ratios[configuration] * np.exp(log_noise - drift * number / total)
            rows.append(
                {
                    "number": number,
                    "block": block,
                    "configuration": configuration,
                    "virtual_users": users,
                    "run_id": f"run-{number}",
                    "status": "done",
                    "metric_value": speed if metric.better is Better.HIGHER else 1e4 / speed,
                    "operations_per_s": speed,
                    "note": "",
                    "checks_failed": (),
                    "fresh": False,
                    "flush": ("on", "off")[configuration % 2],
                    "memory": ("1GB", "2GB")[configuration // 2 % 2],
                }
            )
    return pd.DataFrame(rows)


def failed(runs: pd.DataFrame, lost: pd.Series) -> pd.DataFrame:
    """The same sweep in which the runs ``lost`` failed."""
    changed = runs.copy()
    changed.loc[lost, "status"] = "failed"
    changed.loc[lost, "metric_value"] = np.nan
    return changed


def ratio_of(ratios: Iterable[Ratio], configuration: int, virtual_users: int = 4) -> Ratio:
    """The ratio of a configuration at a count of virtual users."""
    return next(
        ratio for ratio in ratios if (ratio.configuration, ratio.virtual_users) == (configuration, virtual_users)
    )


def verdicts_of(ratios: Iterable[Ratio]) -> list[Verdict]:
    """The verdict of each."""
    return [ratio.verdict for ratio in ratios]


def covers(ratio: Ratio, true: float) -> bool:
    """Whether the interval has the true ratio inside."""
    low, high = ratio.interval
    return low < true < high
