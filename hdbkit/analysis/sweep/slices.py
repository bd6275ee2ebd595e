"""What a reader of a sweep by slices must know: washout, dropped cycles, what a slice leaves behind for the next.

The order of slices is balanced, so that what the configuration of a slice leaves behind (a cache that it filled,
work that it put off) meets each other configuration equally often, itself included, and changes no ratio. It is
tested because it tells that slices are short: parts of each run are fitted by cycle, configuration and preceding
configuration, and the mean effect of each preceding one is compared with how much it differs between parts
(Student's t with Bonferroni's correction), which allows for correlated slices. With two configurations both slices
of a cycle follow the same one, so nothing can be estimated and no ratio is changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.autocorrelation import inflation
from hdbkit.analysis.sweep.observations import MIN_RUN_DF, grouped, slices_of
from hdbkit.analysis.sweep.verdicts import configuration_labels
from hdbkit.analysis.wording import change, percent
from hdbkit.caution import Caution, Kind
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy
from hdbkit.results.experiment_runs import STRETCH
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import SlicesResult
from hdbkit.slices import SliceOrder, Slices
from hdbkit.text import many, share, virtual_users

if TYPE_CHECKING:
    from numpy.typing import NDArray

Runs = Sequence[tuple[RunFolder, Manifest]]
CARRY_OVER_P: Final = 0.01
"""The probability of a warning where slices leave nothing behind."""
MANY_DROPPED: Final = 0.1
"""From this share of dropped cycles on they are a warning."""
VARYING_P: Final = 0.01
"""The probability of a warning where a change is the same in all runs."""
_MIN_PARTS = 4
_MAX_PARTS = 24


@dataclass(frozen=True)
class CarryOver:
    """The change of the metric's score in the slices after ``configuration``, as a ratio; ``p`` is of the test."""

    configuration: int
    ratio: float
    p: float


def slice_notes(runs: Runs, observations: pd.DataFrame) -> list[str]:
    """How the slices of a sweep were counted, and what intervals are made of, one phrase each.

    None for a sweep by runs, or without a usable run.
    """
    results = [one for one in _results(runs) if not one.unusable]
    if not results:
        return []
    slice_s = _planned(runs[0][1]).slice_s
    washouts_ms = sorted(1000 * one.washout_s for one in results if one.washout_s is not None)
    ends = dict.fromkeys(f"{one:.3g}" for one in (washouts_ms[0], washouts_ms[-1]))
    cycles, dropped = sum(one.cycles for one in results), sum(one.dropped for one in results)
    return [
        f"Slices of {slice_s:g} s, of which the first {' to '.join(ends)} ms (washout, measured in each run) do not "
        f"count: {many(cycles, 'cycle')} in {many(len(results), 'run')} count, {dropped:,} were dropped because a "
        "change of settings was missing or late",
        f"Intervals are made of how the ratio differs {_unit(observations)}",
    ]


def _unit(observations: pd.DataFrame) -> str:
    """Whether intervals are made of runs or of cycles, and from how many blocks on of runs."""
    if STRETCH not in observations:
        return "from run to run"
    groups = observations.groupby("virtual_users")["configuration"].nunique()
    blocks = 1 + math.ceil(MIN_RUN_DF / max(int((groups - 1).sum()), 1))
    return (
        "from cycle to cycle, so they hold for these runs; "
        f"from {blocks} blocks on they also contain what differs from run to run"
    )


def slice_warnings(runs: Runs, observations: pd.DataFrame, metric: Metric) -> list[str]:
    """Reasons to doubt the result of a sweep by slices, one phrase each; none for a sweep by runs."""
    found: list[str] = [
        Caution(f"the slices of run {_number(manifest)} are not used: {result.unusable}", Kind.UNUSED_SLICES)
        for (_, manifest), result in zip(runs, _results(runs), strict=True)
        if result.unusable
    ]
    results = _results(runs)
    counted, dropped = sum(one.cycles for one in results), sum(one.dropped for one in results)
    if counted and dropped > MANY_DROPPED * (counted + dropped):
        text = (
            f"{share(dropped / (counted + dropped))} of the cycles were dropped because a change of settings was "
            "missing or late, as after long operations; use a longer slice_s"
        )
        found.append(Caution(text, Kind.DROPPED))
    labels = configuration_labels(observations) if runs else {}
    by_run = STRETCH not in observations
    found += [
        _varying_text(one, labels, metric, by_run) for one in varying(changes(runs, metric)) if one.p < VARYING_P
    ]
    left = sorted(
        (one for one in carry_over(runs, metric) if one.p < CARRY_OVER_P), key=lambda one: abs(np.log(one.ratio))
    )[-1:]
    return found + [
        Caution(
            f"slices after {labels.get(one.configuration, one.configuration)} are {change(one.ratio, metric)} than "
            "after the others; the order is balanced, so at most a twelfth of this is part of a comparison; a longer "
            "slice_s reduces it",
            Kind.CARRY_OVER,
        )
        for one in left
    ]


def carry_over(runs: Runs, metric: Metric) -> list[CarryOver]:
    """What each configuration leaves behind for the slice after it; empty where that cannot be estimated."""
    parts = [part for folder, manifest in runs for part in _parts(folder, manifest, metric, len(runs))]
    if len(parts) < _MIN_PARTS:
        return []
    effects = np.array(parts)
    means, errors = effects.mean(axis=0), effects.std(axis=0, ddof=1) / np.sqrt(len(effects))
    configurations = _planned(runs[0][1]).configurations
    t = np.abs(means) / np.maximum(errors, 1e-12)
    p = np.minimum(2 * scipy.special.stdtr(len(effects) - 1, -t) * len(means), 1.0)
    ratios = np.exp(means * len(means) / (len(means) - 1))  # against the mean of the others
    return [
        CarryOver(configuration, float(ratio), float(one))
        for configuration, ratio, one in zip(configurations, ratios, p, strict=True)
    ]


def changes(runs: Runs, metric: Metric) -> pd.DataFrame:
    """The configurations against the baseline along the runs of a sweep, in their order.

    Returns:
        A row per run, stretch of cycles and configuration but the baseline: ``number``, ``virtual_users``,
        ``configuration``, ``second`` (at which the stretch begins, of what counts of all runs with these virtual
        users), ``length_s``, ``cycles``, ``ratio`` (of scores: more than 1 is better).
    """
    parts, passed_s = [], dict[int, float]()
    for folder, manifest in sorted(runs, key=lambda one: _number(one[1])):
        slices, users = _planned(manifest), manifest.plan.load.virtual_users
        found = _against_baseline(folder, slices, metric)
        if found.empty:
            continue
        begun_s = passed_s.get(users, 0.0)
        second = found["first_cycle"] * slices.cycle_s
        found = found.assign(
            number=_number(manifest),
            virtual_users=users,
            second=begun_s + second - second.min(),
            length_s=found["cycles"] * slices.cycle_s,
        )
        passed_s[users] = float((found["second"] + found["length_s"]).max())
        parts.append(found)
    columns = ["number", "virtual_users", "configuration", "second", "length_s", "cycles", "ratio"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _against_baseline(folder: RunFolder, slices: Slices, metric: Metric) -> pd.DataFrame:
    """The stretches of a run as ratios to the baseline; those without a value of both are left out."""
    rows = slices_of(folder)
    found = grouped(rows, metric)
    found = found[found["metric_value"] > 0]
    base = found[found["configuration"] == slices.configurations[0]].set_index(STRETCH)
    others = found[found["configuration"] != slices.configurations[0]]
    ratio = metric.score(others["metric_value"] / others[STRETCH].map(base["metric_value"]))
    return others.assign(ratio=ratio).dropna(subset=["ratio"])


@dataclass(frozen=True)
class Varying:
    """How a configuration's ratio to the baseline differs between runs: the least, the greatest, p of the test."""

    configuration: int
    virtual_users: int
    low: float
    high: float
    p: float


def varying(changed: pd.DataFrame) -> list[Varying]:
    """Whether the change of each configuration is the same in all runs, by an F test of runs against stretches.

    ``changed`` as :func:`changes` gives it. The variance within runs is inflated by its correlation, and ``p`` is
    Bonferroni's over all rows.
    """
    groups = list(changed.groupby(["virtual_users", "configuration"]))
    found = []
    for (users, configuration), rows in groups:
        parts = [np.log(part["ratio"].to_numpy(dtype=np.float64)) for _, part in rows.groupby("number")]
        parts = [part for part in parts if len(part) > 1]
        count = sum(map(len, parts))
        if len(parts) < 2:
            continue
        means = np.array([part.mean() for part in parts])
        residuals = [part - mean for part, mean in zip(parts, means, strict=True)]
        squares, df = sum(float(one @ one) for one in residuals), count - len(parts)
        neighbours = sum(float(one[1:] @ one[:-1]) for one in residuals) / df
        factor, df_share = inflation(neighbours * count / max(squares, 1e-300), count, count / len(parts), 1, 0.5)
        sizes = np.array([len(part) for part in parts])
        between = float(sizes @ (means - np.average(means, weights=sizes)) ** 2) / (len(parts) - 1)
        p = float(scipy.special.fdtrc(len(parts) - 1, df * df_share, between / max(factor * squares / df, 1e-300)))
        ends = float(np.exp(means.min())), float(np.exp(means.max()))
        found.append(Varying(int(str(configuration)), int(str(users)), *ends, min(p * len(groups), 1.0)))
    return found


def _varying_text(one: Varying, labels: Mapping[int, str], metric: Metric, by_run: bool) -> Caution:
    which = f"{labels.get(one.configuration, one.configuration)} at {virtual_users(one.virtual_users)}"
    allowed = "its interval allows for that, more runs make it narrower"
    otherwise = "its interval holds for these runs, more runs show how much it varies"
    return Caution(
        f"the change of {which} differs between runs beyond chance ({percent(one.low, metric)} to "
        f"{percent(one.high, metric)}); {allowed if by_run else otherwise}",
        Kind.VARYING,
    )


def _planned(manifest: Manifest) -> Slices:
    assert manifest.plan.slices is not None
    return manifest.plan.slices


def _number(manifest: Manifest) -> int:
    assert manifest.plan.experiment is not None
    return manifest.plan.experiment.number


_NOT_COUNTED = SlicesResult(washout_s=None, cycles=0, dropped=0, unusable="they were not counted", configurations=[])


def _results(runs: Runs) -> list[SlicesResult]:
    return [(manifest.result and manifest.result.slices) or _NOT_COUNTED for _, manifest in runs]


def _parts(folder: RunFolder, manifest: Manifest, metric: Metric, runs: int) -> list[Floats]:
    """The effect of each preceding configuration in parts of a run, on the log scale; their mean is 0."""
    slices = _planned(manifest)
    size, order = len(slices.configurations), SliceOrder(slices)
    rows = slices_of(folder)
    rows = rows[rows["metric_value"] > 0]
    rows = rows[rows.groupby("cycle")["slice"].transform("size") == size]
    cycles, square = rows["cycle"].unique(), 2 * size
    if size < 3 or len(cycles) < square:
        return []
    count = min(len(cycles) // square, max(_MAX_PARTS // runs, 1))
    of_cycle = pd.Series(np.arange(len(cycles)) * count // len(cycles), cycles)
    before = np.array([order.position(max(int(one) - 1, 0)) for one in rows["slice"]])
    score = np.log(metric.score(rows["metric_value"].to_numpy(dtype=np.float64)))
    part, position = rows["cycle"].map(of_cycle).to_numpy(), rows["position"].to_numpy(dtype=int)
    return [
        _effects(
            score[part == one], rows["cycle"].to_numpy()[part == one], position[part == one], before[part == one]
        )
        for one in range(count)
    ]


def _effects(score: Floats, cycle: NDArray[Any], position: NDArray[Any], before: NDArray[Any]) -> Floats:
    """The effects of the preceding position, beside those of the position and of the cycle, by least squares."""
    size = int(position.max()) + 1
    design = np.column_stack([np.eye(size)[position], np.eye(size)[before], score])
    within = design - pd.DataFrame(design).groupby(cycle).transform("mean").to_numpy()
    found = np.asarray(np.linalg.lstsq(within[:, :-1], within[:, -1], rcond=1e-10)[0], dtype=np.float64)[size:]
    centred: Floats = found - found.mean()
    return centred
