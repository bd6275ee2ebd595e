"""False alarms on series in time: change points of a history, and drift within a run."""

from __future__ import annotations

import numpy as np

from bench.common import show, title
from bench.verdicts.noise import SIMULATED, autoregressive
from hdbkit.analysis.run.drift import drift
from hdbkit.analysis.statistics.change_points import breaks

SERIES = SIMULATED // 4
CORRELATIONS = (0.0, 0.3, 0.5, 0.7)


def change_points() -> None:
    """Series without a change; a fall among many others."""
    draw = np.random.default_rng(6)
    title(f"Change points, {SERIES:,} series each")
    for runs in (10, 24, 60):
        for correlation in CORRELATIONS:
            made = autoregressive(correlation, (SERIES, runs), draw)
            called = [bool(breaks([one])[0]) for one in made]
            what = f"{runs} runs without a change, correlation {correlation:g}: reported"
            show(what, [100 * float(np.mean(called))], unit="%", at_most=5)
    found = []
    for _ in range(SERIES // 100):
        fallen = draw.normal(0, 0.03, 12) + np.log(0.6) * (np.arange(12) >= 6)
        found.append(bool(breaks([*draw.normal(0, 0.03, (60, 12)), fallen])[-1]))
    show("a fall by 40 % in one of 61 stretches: found", [100 * float(np.mean(found))], unit="%", at_least=95)


def steady_state() -> None:
    """Seconds of a run without a drift, and with one."""
    draw = np.random.default_rng(7)
    title(f"Drift within a run, seconds with a standard deviation of 5 %, {SERIES:,} runs each")
    for seconds in (10, 30, 60):
        for correlation in CORRELATIONS:
            made = 1 + 0.05 * autoregressive(correlation, (SERIES, seconds), draw)
            found = [one for one in map(drift, made) if one]
            away = np.mean([not one.low <= 0 <= one.high for one in found])
            failed = 100 * np.mean([one.steady is False for one in found])
            what = f"{seconds} s without a drift, correlation {correlation:g}: 0 excluded"
            show(what, [100 * float(away)], unit="%", at_most=6, note=f"the check fails in {failed:.1f} %")
        slope = 0.1 * np.linspace(1, -1, seconds)
        made = 1 + 0.02 * autoregressive(0.3, (SERIES // 4, seconds), draw) + slope
        found = [one for one in map(drift, made) if one]
        fails = 100 * float(np.mean([one.steady is False for one in found]))
        show(f"{seconds} s, -10 %, seconds of 2 %: the check fails", [fails], unit="%")


def main() -> None:
    """Print all figures."""
    change_points()
    steady_state()
