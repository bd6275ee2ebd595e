"""The error rates of verdicts with the real order of runs; running configurations one after another fails."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from bench.verdicts.judging import intervals
from bench.verdicts.noise import gaussian, recorded, waves
from bench.verdicts.sweeps import (
    NOISES,
    PLANNED,
    as_runs,
    at_looks,
    called,
    compare_with_judge,
    of_series,
    placed,
    runs_in_block,
    simulated,
    turns,
    wrong_beside_a_noisy_baseline,
    wrong_of_two,
)
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.config import SweepSpec, Target
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from tests.unit.sweeps import RATE, verdicts_of

VALUES = [f"{size}MB" for size in range(8)]
DRIFT = 0.04


def swept(seed: int, blocks: int = 3) -> pd.DataFrame:
    """Eight equal configurations in the order that is planned, with noise of 0.5 % and a drift of 4 %."""
    spec = SweepSpec(settings={"memory": VALUES}, virtual_users=[1], blocks=blocks, seed=seed)
    planned = plan_sweep(Target(kind="nulldb"), spec, "sweep-1").runs
    draw = np.random.default_rng(seed)
    logs = draw.normal(0, 0.005, len(planned)) - DRIFT * np.linspace(0, 1, len(planned))
    rows = [(one.number, one.block, one.configuration, 1, "done") for one in planned]
    frame = pd.DataFrame(rows, columns=["number", "block", "configuration", "virtual_users", "status"])
    return frame.assign(operations_per_s=1.0, metric_value=10_000 * np.exp(logs))


@pytest.fixture(autouse=True)
def _fewer_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer orders of runs than in the bench: they take most of the time."""
    monkeypatch.setattr("bench.verdicts.sweeps.ORDERS", 200)


def test_eight_equal_configurations_are_distinguished_in_about_5_percent_of_drifting_sweeps() -> None:
    sweeps = 60
    judged = (judge(swept(seed), RATE, smallest_effect=0.5) for seed in range(sweeps))
    reported = sum(any(ratio.verdict.differs for ratio in ratios) for ratios in judged)
    assert reported / sweeps <= 0.1  # without Dunnett's correction it is 0.12, in another order nearly 1


@pytest.mark.parametrize(("height", "period"), [(3, 2), (10, 2), (10, 3)])
def test_a_wave_is_seldom_a_difference_of_two(height: float, period: float) -> None:
    """Mirrored orders in pairs of blocks call 10 to 12 %, the model with what a run leaves alone 10 to 12 %."""
    assert wrong_of_two(8, gaussian, height=height, period=period) <= 6.5


@pytest.mark.parametrize("left", [1, 3])
def test_what_a_run_leaves_is_seldom_a_difference_of_two(left: float) -> None:
    """The mean over the blocks alone calls 9 and 35 %."""
    assert wrong_of_two(8, gaussian, left=left) <= 6.5


@pytest.mark.parametrize("blocks", [6, 8])
def test_a_difference_of_five_times_the_noise_between_two_is_found(blocks: int) -> None:
    draw = np.random.default_rng(46)
    timed = 0.01 * gaussian((2000, 2 * blocks), draw)
    low, _ = intervals(placed(timed, turns(2, blocks, 2000, draw), [0, 0.05]), PLANNED)
    assert (low > 0).mean() >= 0.95


def test_the_vectorized_simulation_judges_as_sweeps_are_judged() -> None:
    sweeps = simulated(recorded(), [0, 0, 0.01, 0.02], 5, 5, np.random.default_rng(1))
    compare_with_judge(sweeps)
    low, _ = intervals(sweeps, 0.95)
    faster = [verdict == "faster" for verdict in verdicts_of(judge(as_runs(sweeps), RATE))[1:]]
    assert faster == (low[0] > 0).tolist()


@pytest.mark.parametrize("size", [2, 4, 8])
def test_over_recorded_noise_at_most_5_percent_are_distinguished(size: int) -> None:
    sweeps = simulated(recorded(), [0] * size, 8, 2000, np.random.default_rng(size))
    assert called(sweeps).mean() <= 0.065


@pytest.mark.parametrize("name", ["drift of 15 %", "correlation 0.5", "one noise x 3", "3 % carried over"])
@pytest.mark.parametrize(("size", "blocks"), [(2, 4), (3, 8), (4, 5)])
def test_over_other_noise_at_most_5_percent_are_distinguished(name: str, size: int, blocks: int) -> None:
    assert called(NOISES[name](size, blocks, 1000, np.random.default_rng(1)), PLANNED).mean() <= 0.065


@pytest.mark.parametrize(("size", "blocks"), [(5, 4), (8, 8), (4, 8)])
def test_waves_of_two_blocks_make_no_difference(size: int, blocks: int) -> None:
    noise = partial(waves, shortest=2 * size, longest=2 * size)
    assert called(of_series(noise)(size, blocks, 1000, np.random.default_rng(43)), PLANNED).mean() <= 0.065


@pytest.mark.parametrize(("size", "blocks"), [(4, 3), (8, 5)])
def test_a_baseline_with_three_times_the_noise_makes_no_difference(size: int, blocks: int) -> None:
    assert wrong_beside_a_noisy_baseline(size, blocks, gaussian) <= 6


def test_a_drift_within_blocks_does_not_hide_a_difference() -> None:
    draw = np.random.default_rng(1)
    runs = 3 * runs_in_block(27)
    timed = 0.015 * draw.normal(size=(100, runs)) - 0.15 * np.linspace(0, 1, runs)
    low, high = intervals(placed(timed, turns(27, 3, 100, draw), [0.0] * 27), 0.96)
    assert np.median(high - low) / 2 < 0.06, "without the slope it is 0.08"


def test_what_is_not_done_would_be_seen() -> None:
    draw = np.random.default_rng(1)
    noise = draw.normal(0, 0.005, 500)
    assert called(simulated(noise, [0, 0], 8, 1000, draw, in_blocks=False)).mean() > 0.3
    assert called(simulated(noise, [0] * 8, 8, 1000, draw), family=False).mean() > 0.12


@pytest.mark.long
def test_looks_keep_5_percent_and_end_early() -> None:
    draw = np.random.default_rng(2)
    sweeps = simulated(recorded(), [0] * 4, 12, 2000, draw)
    levels = [Spending(12, (4, 8, 12)).level(blocks) for blocks in (4, 8, 12)]
    different, _ = at_looks(sweeps, [4, 8, 12], levels)
    assert different.mean() <= 0.065
    clear = simulated(draw.normal(0, 0.005, 500), [0, 0.1, -0.1], 12, 500, draw, drift=0)
    _, taken = at_looks(clear, [4, 8, 12], levels)
    assert taken.mean() < 6


@pytest.mark.parametrize("blocks", [3, 8])
def test_adding_blocks_while_something_is_undecided_keeps_5_percent(blocks: int) -> None:
    draw = np.random.default_rng(3)
    sweeps = placed(draw.normal(0, 0.03, (2000, 24 * blocks)), turns(3, 8 * blocks, 2000, draw), [0, 0, 0])
    looks = tuple(blocks * 2**place for place in range(4))
    levels = [Spending(blocks, looks[: place + 1]).level(look) for place, look in enumerate(looks)]
    spent = at_looks(sweeps, looks, levels)[0].mean()
    assert spent <= 0.05
    assert at_looks(sweeps, looks, [0.95] * 4)[0].mean() > 1.5 * spent
