"""Statements on the peak of throughput over virtual users, for simulated sweeps with a known curve."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.common import show, title
from bench.verdicts.noise import SIMULATED, Floats
from hdbkit.analysis.statistics.scalability import Law, scaling

USERS = np.array([1.0, 2, 4, 8, 16, 32, 64])
TRIALS = SIMULATED // 20
NOISES = (0.01, 0.03, 0.08)
BLOCKS = (3, 5, 8)
BLOCK_NOISE = 0.05


def sweep(logs: Floats, noise: float, blocks: int, draw: np.random.Generator) -> pd.DataFrame:
    """The runs of a simulated sweep; its blocks differ as a whole by ``BLOCK_NOISE``."""
    shape = (blocks, len(logs))
    values = logs + draw.normal(0, BLOCK_NOISE, (blocks, 1)) + draw.normal(0, noise, shape)
    return pd.DataFrame(
        {
            "block": np.arange(blocks).repeat(len(logs)),
            "virtual_users": np.tile(USERS.astype(int), blocks),
            "metric_value": np.exp(values).ravel(),
        }
    )


def main() -> None:
    """A plateau has no peak; a law's peak and the law lie in their intervals."""
    draw = np.random.default_rng(5)
    title(f"Throughput over 1 to 64 virtual users, {TRIALS:,} sweeps of each kind, 3 to 8 blocks, noise of 1 to 8 %")
    plateau, plateaus, rejected, peaks, curve = np.log(1000 * np.minimum(USERS, 8)), [], [], [], []
    laws = (Law(1000, 0.05, 0.001), Law(1000, 0.05, 0.004), Law(1000, 0.2, 0.005))
    for trial in range(TRIALS):
        noise, blocks, law = NOISES[trial % 3], BLOCKS[trial // 3 % 3], laws[trial // 9 % 3]
        flat = scaling(sweep(plateau, noise, blocks, draw))
        true = scaling(sweep(np.log(law.throughput(USERS)), noise, blocks, draw))
        assert flat is not None and true is not None
        plateaus.append(flat.peak is not None)
        rejected.append(not true.fits)
        peaks += [] if true.peak is None else [true.low <= law.peak <= true.high]
        if band := true.band(USERS):
            curve.append(np.mean((band[0] <= law.throughput(USERS)) & (law.throughput(USERS) <= band[1])))
    show("min(N, 8): a peak is reported", [100 * float(np.mean(plateaus))], unit="%", at_most=5)
    show("a true law: rejected", [100 * float(np.mean(rejected))], unit="%", at_most=6)
    note = f"{100 * len(peaks) / TRIALS:.0f} % of the sweeps have a statement"
    show("its peak lies in the interval", [100 * float(np.mean(peaks))], unit="%", at_least=93, note=note)
    show("the law lies in the band, mean over users", [100 * float(np.mean(curve))], unit="%", at_least=93)
