"""The noise of simulations: recorded between runs, or drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import hdbkit
from bench.common import QUICK, machine, scratch
from hdbkit.servers import private_server

Floats = NDArray[np.float64]

RECORDED = Path(__file__).parents[1] / "data" / "run_noise.csv"
SIMULATED = 2_000 if QUICK else 20_000
"""Simulated sweeps, runs or series for each rate."""


def recorded() -> Floats:
    """The recorded noise: log throughput of each run minus the median, in order of time."""
    values: Floats = pd.read_csv(RECORDED, comment="#")["log_ratio"].to_numpy(dtype=float)
    centred: Floats = values - values.mean()
    return centred


def scaled(deviation: float) -> Floats:
    """The recorded noise with another standard deviation."""
    noise: Floats = recorded() / recorded().std() * deviation
    return noise


def autoregressive(correlation: float, shape: tuple[int, int], draw: np.random.Generator) -> Floats:
    """Series of variance 1, (series, values), each value correlated with the one before."""
    values = draw.normal(size=shape)
    for place in range(1, shape[1]):
        values[:, place] = correlation * values[:, place - 1] + np.sqrt(1 - correlation**2) * values[:, place]
    return values


def record(runs: int = 50) -> None:
    """Record the noise between equal runs on a private server."""
    load = hdbkit.Load(virtual_users=2, rampup_s=0.5, duration_s=2)
    with scratch(), private_server("postgresql", settings={"autovacuum": "off"}) as own:
        connection = hdbkit.connect(own.target)
        connection.build(warehouses=1)
        hdbkit.run(own.target, load=load)
        metric_value = [hdbkit.run(own.target, load=load).metric_value for _ in range(runs)]
        how = f"{connection.version}, 1 warehouse, 2 virtual users, {load.duration_s:g} s each; {machine()}"
    logs = np.log(np.array([one for one in metric_value if one]))
    lines = [f"# log(NOPM / median) of {len(logs)} equal runs in the order of time: python -m bench.verdicts record"]
    lines += [f"# {how}", "run,log_ratio"]
    lines += [f"{number},{value:.5f}" for number, value in enumerate(logs - np.median(logs), 1)]
    RECORDED.write_text("\n".join(lines) + "\n")
