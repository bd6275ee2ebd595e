"""Two groups of runs against each other: the ratio of their scores with its interval.

For runs that were not randomized together (a release against the one before it). Welch's interval on the log scale
with the Welch-Satterthwaite degrees of freedom; the unit of replication is a run, so one run per side has no
interval. Groups with runs at several counts of virtual users are compared count by count, by the noise pooled over
all of them and with intervals that hold together: the counts share only the estimate of the noise, for which the
studentized maximum modulus is exact (Stoline and Ury 1979).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.analysis.wording import Interval, change, many, percent, percents, plural, sentence, share, virtual_users
from hdbkit.config.metric import Better, Metric
from hdbkit.errors import InputError
from hdbkit.results.manifest import Manifest

_COLUMNS = (
    "virtual_users",
    "base_runs",
    "new_runs",
    "base",
    "new",
    "ratio",
    "low",
    "high",
    "verdict",
    "sentence",
)


SETTING = "setting."
"""The beginning of the name of a setting among the differences."""
CLIENT_PATH = "software.client_path"
"""How the clients spoke to the server: with the driver, or past it."""


@dataclass(frozen=True)
class Ratio:
    """New over base: ``ratio`` (of scores), its interval (NaN without replication), verdict and sentence."""

    ratio: float
    low: float
    high: float
    verdict: str
    sentence: str


def ratio_of(
    base: Sequence[float],
    new: Sequence[float],
    metric: Metric,
    smallest_effect: float = 0.02,
    confidence: float = 0.95,
) -> Ratio:
    """The ratio of ``new`` to ``base``, each the geometric mean of the values of its runs."""
    logs = [np.log(metric.score(np.asarray(side, dtype=float))) for side in (new, base)]
    estimate = float(logs[0].mean() - logs[1].mean())
    return _ratio(metric, estimate, _half_width(logs, confidence), "new", smallest_effect, confidence)


def ratios_by_users(
    base: pd.DataFrame, new: pd.DataFrame, metric: Metric, smallest_effect: float = 0.02, confidence: float = 0.95
) -> tuple[pd.DataFrame, Ratio]:
    """New over base at each count of virtual users that both sides have (one or more), and as the mean over them.

    Args:
        base: a row per run with ``virtual_users`` and ``metric_value`` (above 0); ``new`` likewise.
        metric: what ``metric_value`` is.

    Returns:
        A row each with ``virtual_users``, ``base_runs``, ``new_runs``, ``base`` and ``new`` (geometric means),
        ``ratio`` of scores, ``low``, ``high`` (simultaneous; NaN where no run was repeated), ``verdict``,
        ``sentence``; and the mean ratio with an interval of its own.
    """
    sides = [
        pd.Series(np.log(metric.score(side["metric_value"].astype(float))), side.index).groupby(side["virtual_users"])
        for side in (base, new)
    ]
    cells = [side.agg(["count", "mean", "var"]) for side in sides]
    common = cells[0].index.intersection(cells[1].index)
    df = int(sum((one["count"] - 1).sum() for one in cells))
    squares = sum(float(((one["count"] - 1) * one["var"].fillna(0)).sum()) for one in cells)
    noise = math.sqrt(squares / df) if df else math.nan
    (base_cells, new_cells) = (one.loc[common] for one in cells)
    estimates = (new_cells["mean"] - base_cells["mean"]).to_numpy(dtype=float)
    variances = (1 / new_cells["count"] + 1 / base_cells["count"]).to_numpy(dtype=float)
    critical = maximum_modulus(len(common), df, confidence) if df else math.nan
    rows = []
    for users, estimate, variance in zip(common, estimates, variances, strict=True):
        half = critical * noise * math.sqrt(variance)
        found = _ratio(
            metric, float(estimate), half, f"new at {virtual_users(int(users))}", smallest_effect, confidence
        )
        counts = {"base_runs": int(base_cells["count"][users]), "new_runs": int(new_cells["count"][users])}
        scores = {"base": base_cells["mean"][users], "new": new_cells["mean"][users]}
        means = {side: metric.from_score(math.exp(score)) for side, score in scores.items()}
        rows.append({"virtual_users": int(users), **counts, **means, **vars(found)})
    alone = float(scipy.special.stdtrit(df, (1 + confidence) / 2)) if df else math.nan
    half = alone * noise * math.sqrt(float(variances.sum())) / len(common)
    subject = f"new (mean over {len(common)} counts of virtual users)"
    mean = _ratio(metric, float(estimates.mean()), half, subject, smallest_effect, confidence)
    return pd.DataFrame(rows, columns=list(_COLUMNS)), mean


@dataclass(frozen=True)
class Gate:
    """Whether the metric became worse beyond a limit: ``fell``, ``held`` or ``undecided``; and why, as a sentence."""

    verdict: str
    sentence: str

    def fails(self, strict: bool = False) -> bool:
        """Whether a build must fail; ``strict``: also when it is not shown that it held."""
        return self.verdict == "fell" or (strict and self.verdict == "undecided")


def gate(found: pd.DataFrame, metric: Metric, below: float, confidence: float = 0.95) -> Gate:
    """The gate over one ratio or several, each with its interval (columns ``virtual_users``, ratio, low, high).

    ``below`` is the change that is still accepted, -0.02 for 2 % worse: 2 % less of a rate, 2 % more of a time. It
    *fell* where the whole interval of a ratio lies beyond that limit: a regression beyond the limit is shown, and by
    chance that happens in at most 2.5 % of builds that are exactly at the limit. It *held* where all intervals lie on
    the good side of the limit (not inferior). Else, and where no run was repeated, it is *undecided*.

    Raises:
        InputError: ``below`` is not above -1 and at most 0.
    """
    if not -1 < below <= 0:
        raise InputError(
            f"the limit of a gate must be above -1 and at most 0, such as -0.02 for 2 % worse, not {below}"
        )
    accepted = below if metric.better is Better.HIGHER else -below
    limit, limited = metric.score(1 + accepted), f"the limit of {100 * accepted:+.3g} %"
    if not found["high"].notna().all():
        return Gate(
            "undecided", f"undecided against {limited}: at least 2 runs per side are needed to estimate the noise"
        )
    worst, widest = (found.sort_values(end).iloc[0] for end in ("high", "low"))
    if worst["high"] < limit:
        words = f"{change(worst['ratio'], metric)} ({_within(worst, metric, len(found) > 1, confidence)})"
        return Gate("fell", f"regression beyond {limited}: {words}")
    within = _within(widest, metric, len(found) > 1, confidence)
    if widest["low"] >= limit:
        return Gate("held", f"no regression beyond {limited} ({within})")
    return Gate("undecided", f"undecided against {limited}: {within}; more runs per side would decide")


def _within(row: pd.Series[Any], metric: Metric, several: bool, confidence: float) -> str:
    ends = f"{share(confidence)} interval {percents(row['low'], row['high'], metric)}"
    return f"{ends} at {virtual_users(int(row['virtual_users']))}" if several else ends


def _ratio(
    metric: Metric, estimate: float, half: float, subject: str, smallest_effect: float, confidence: float
) -> Ratio:
    """A ratio from its logarithm and the half width of its interval, NaN without an interval."""
    ratio = math.exp(estimate)
    if math.isnan(half):
        text = f"{subject} against base {percent(ratio, metric)}: undecided: at least 2 runs per side are needed"
        return Ratio(ratio, math.nan, math.nan, "undecided", text)
    interval = Interval(metric, ratio, math.exp(estimate - half), math.exp(estimate + half))
    text = sentence(subject, "base", interval, smallest_effect, confidence)
    return Ratio(interval.ratio, interval.low, interval.high, interval.verdict(smallest_effect), text)


def _half_width(logs: Sequence[npt.NDArray[np.float64]], confidence: float) -> float:
    if min(len(side) for side in logs) < 2:
        return math.nan
    parts = [float(side.var(ddof=1)) / len(side) for side in logs]
    total = sum(parts)
    if total == 0:
        return 0.0
    df = total**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, logs, strict=True))
    return float(scipy.special.stdtrit(df, (1 + confidence) / 2)) * math.sqrt(total)


def settings_apart(differences: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The differences without settings that only one side has, and a sentence without its full stop about these.

    Two engines have hundreds of settings that the other lacks. The sentence is empty where there are none.
    """
    if differences.empty:
        return differences, ""
    lacking = (differences[["base", "new"]] == "") & differences.index.str.startswith(SETTING)[:, None]
    apart = lacking.any(axis=1)
    if not apart.any():
        return differences, ""
    only_base, only_new = int(lacking["new"].sum()), int(lacking["base"].sum())
    return differences[~apart], (
        f"{many(int(apart.sum()), 'setting')} of one side that the other does not have (base {only_base:,}, "
        f"new {only_new:,}) {'is' if apart.sum() == 1 else 'are'} not listed"
    )


def comparison_warnings(differences: pd.DataFrame, sides: Mapping[str, Iterable[Manifest]]) -> list[str]:
    """What the ratio reflects beside the servers, a sentence without its full stop each.

    Args:
        differences: columns base and new by what differs, such as ``load.duration_s``.
        sides: the runs of each side by its name.
    """
    found = [line for name, manifests in sides.items() for line in _failures(name, list(manifests))]
    names = [str(name) for name in differences.index if str(name).startswith(("load.", "workload."))]
    work = [name for name in names if not name.endswith(".seed")]
    if work:
        found.append(
            f"The sides did not do the same work: {', '.join(work)} {'differ' if len(work) > 1 else 'differs'}"
        )
    host = [str(name) for name in differences.index if str(name).startswith("host.")]
    if host:
        found.append(f"The clients of the sides ran on different hosts ({', '.join(host)})")
    if CLIENT_PATH in differences.index:
        base, new = differences.loc[CLIENT_PATH]
        found.append(
            f"The sides used different client code ({base or 'unknown'}, {new or 'unknown'}), "
            "whose time is part of each latency"
        )
    return found


def _failures(side: str, manifests: Sequence[Manifest]) -> list[str]:
    """The failed operations and checks of a side: what fails is often fast."""
    failed = sum((one.result or {}).get("failed") or 0 for one in manifests)
    checks = sorted({line.name for one in manifests for line in one.checks if line.passed is False})
    found = [f"{side}: {failed:,} {plural(manifests[0].noun)} failed"] if failed else []
    return found + ([f"{side}: failed checks: {', '.join(checks)}"] if checks else [])
