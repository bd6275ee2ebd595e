"""The noise of simulations: recorded between runs, or drawn.

``NOISES`` are those under which each statement is simulated: series in time, whose independent part has a standard
deviation of 1. Waves were known when the order of a sweep was chosen; of the others none was looked at while a method
was chosen or a constant set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import hdbkit
from bench.common import QUICK, machine, scratch
from hdbkit.servers import private_server

Floats = NDArray[np.float64]
Shape = tuple[int, int]
"""Series, values."""
Noise = Callable[[Shape, np.random.Generator], Floats]

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


def autoregressive(correlation: float, shape: Shape, draw: np.random.Generator) -> Floats:
    """Series of variance 1, (series, values), each value correlated with the one before."""
    values = draw.normal(size=shape)
    for place in range(1, shape[1]):
        values[:, place] = correlation * values[:, place - 1] + np.sqrt(1 - correlation**2) * values[:, place]
    return values


def gaussian(shape: Shape, draw: np.random.Generator) -> Floats:
    """Independent noise."""
    return draw.normal(size=shape)


def drifting(fall: float, shape: Shape, draw: np.random.Generator) -> Floats:
    """A straight fall from the first value to the last."""
    made: Floats = draw.normal(size=shape) - fall * np.linspace(0, 1, shape[1])
    return made


def random_walk(shape: Shape, draw: np.random.Generator) -> Floats:
    """Half of the variance of a step is a walk's."""
    walk: Floats = np.sqrt(0.5) * (draw.normal(size=shape) + np.cumsum(draw.normal(size=shape), axis=1))
    return walk


def heavy_tailed(shape: Shape, draw: np.random.Generator) -> Floats:
    """Student's t with 3 degrees of freedom, of variance 1."""
    made: Floats = draw.standard_t(3, shape) / np.sqrt(3)
    return made


def bursts(shape: Shape, draw: np.random.Generator) -> Floats:
    """One value in twelve begins a burst of one to five values that are lower by 6."""
    begins, lengths = draw.random(shape) < 1 / 12, draw.integers(1, 6, shape)
    places = np.arange(shape[1])
    ends = np.maximum.accumulate(np.where(begins, places + lengths, 0), axis=1)
    made: Floats = draw.normal(size=shape) - 6.0 * (places < ends)
    return made


def step(shape: Shape, draw: np.random.Generator) -> Floats:
    """A fall by 3 at a random place."""
    at = draw.integers(1, max(shape[1], 2), (shape[0], 1))
    return draw.normal(size=shape) - 3.0 * (np.arange(shape[1]) >= at)


def two_frequencies(change: float, shape: Shape, draw: np.random.Generator) -> Floats:
    """A processor with two frequencies, 4 apart, that changes with the probability ``change`` before each value."""
    changes = draw.random(shape) < change
    changes[:, 0] = draw.random(shape[0]) < 0.5
    return draw.normal(size=shape) - 4.0 * (np.cumsum(changes, axis=1) % 2)


def waves(shape: Shape, draw: np.random.Generator, shortest: float = 2, longest: float = 40) -> Floats:
    """Sines of a height of 3, of a random phase and a random period in values, on a log scale."""
    period = shortest * (longest / shortest) ** draw.random((shape[0], 1))
    phase = draw.uniform(0, 2 * np.pi, (shape[0], 1))
    made: Floats = draw.normal(size=shape) + 3 * np.sin(2 * np.pi * np.arange(shape[1]) / period + phase)
    return made


def decaying(shape: Shape, draw: np.random.Generator) -> Floats:
    """Higher by 8 at the start, which falls to a third in each tenth of the series."""
    made: Floats = draw.normal(size=shape) + 8 * np.exp(-np.linspace(0, 11, shape[1]))
    return made


NOISES: dict[str, Noise] = {
    "independent": gaussian,
    "drift": partial(drifting, 8),
    "walk": random_walk,
    "AR 0.7": partial(autoregressive, 0.7),
    "t, 3 df": heavy_tailed,
    "bursts": bursts,
    "step": step,
    "2 freq. sticky": partial(two_frequencies, 0.1),
    "2 freq. random": partial(two_frequencies, 0.5),
    "waves": waves,
    "decay": decaying,
}


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
