"""Two groups of runs against each other: the ratio of their scores with its interval.

For runs that were not randomized together (a release against the one before it). The unit of replication is a
session, or a block of one session in which the sides alternate (``replication``), never a run; intervals on the log
scale are those of ``statistics.two_samples``. Groups with runs at several counts of virtual users are compared count
by count, by the noise pooled over all of them and with intervals that hold together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.replication import BASE, NEW, Noise, Replication, Unit, noise, replication
from hdbkit.analysis.run.schedule import RATE_DECIDES, kept_its_rate
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.analysis.statistics.power import MAX_BLOCKS, Critical, blocks_needed
from hdbkit.analysis.statistics.two_samples import Sample, half_widths
from hdbkit.analysis.wording import WATCHED, Interval, blocks_text, change, percent, percents, sentence
from hdbkit.caution import Caution, Kind
from hdbkit.config.metric import Better, Metric
from hdbkit.errors import InputError
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, plural, share, virtual_users

_COLUMNS = ("virtual_users", "base_runs", "new_runs", "base", "new", "ratio", "low", "high", "verdict", "sentence")


SETTING = "setting."
"""The beginning of the name of a setting among the differences."""
CLIENT_PATH = "software.client_path"
"""How the clients spoke to the server: with the driver, or past it."""
DEFAULT_BLOCKS = 6
"""Blocks of a comparison whose sides are measured in turn, where no other number is known."""
MIN_BLOCKS = 4
"""The least number of blocks that is advised."""
_ALONE = 0.95
"""The confidence of an interval that is the only one."""
MANY_BLOCKS = 50
"""Beyond this many blocks in turn, both sides at the same time are advised where there are two servers."""


@dataclass(frozen=True)
class Ratio:
    """New over base: ``ratio`` (of scores), its interval (NaN without replication), verdict and sentence."""

    ratio: float
    low: float
    high: float
    verdict: str
    sentence: str


@dataclass(frozen=True)
class Compared:
    """New over base, and the replication that decides it."""

    ratio: Ratio
    """At the one count of virtual users, or the mean over all counts that both sides have."""
    by_users: pd.DataFrame
    """A row for each count that both sides have; empty where there is one count in all, or none in common.

    ``virtual_users``, ``base_runs``, ``new_runs``, ``base`` and ``new`` (geometric means of runs), ``ratio`` of
    scores, ``low`` and ``high`` (simultaneous; NaN where nothing is replicated), ``verdict``, ``sentence``.
    """
    design: Replication
    noise: Noise
    advice: str
    """What would decide an undecided comparison."""
    smallest_effect: float
    """The smallest relevant relative difference."""
    confidence: float
    """Of its intervals."""
    levels: tuple[float, float] = (math.nan, math.nan)
    """The metric of base and new whose ratio is ``ratio``: geometric means of runs, the replication allowed for."""

    @property
    def basis(self) -> str:
        """What the interval is made of and the noise, without a full stop; empty if neither is known."""
        found = [] if self.design.unit is Unit.NONE else [self.design.words]
        if self.design.unit is Unit.BLOCKS:
            found.append("how the sides compare in other sessions is not estimated")
        if self.confidence > _ALONE:
            level = share(self.confidence)
            found.append(
                f"intervals of {level} each, so that those of all comparisons and numbers of blocks hold with 95 %"
            )
        return "; ".join([*found, *filter(None, [self.noise.words])])

    @property
    def answer(self) -> str:
        """The verdict and what it is based on, as sentences; the advice is apart."""
        verdict = self.ratio.sentence.removesuffix(f"; {self.advice}")
        basis = f" {self.basis[0].upper()}{self.basis[1:]}." if self.basis else ""
        return f"{verdict}.{basis}"  # a name at the beginning stays as it is


@dataclass(frozen=True)
class Again:
    """How both sides are measured again."""

    command: str = ""
    """The command; the advice adds the number of blocks."""
    together: str = ""
    """That which measures them at the same time, where they are two servers."""
    resume: str = ""
    """That which gives more blocks to the experiment that measured them."""
    level: Callable[[int], float] | None = None
    """The confidence of the intervals after a number of blocks; by default that of the comparison."""


def compared(
    runs: pd.DataFrame,
    metric: Metric,
    smallest_effect: float = 0.02,
    confidence: float = 0.95,
    again: Again | None = None,
    names: tuple[str, str] = (BASE, NEW),
) -> Compared:
    """Compare the side ``NEW`` with the side ``BASE``.

    Args:
        runs: a row per run in the order of time, as ``replication.runs_of`` returns them: ``side``, ``session``,
            ``virtual_users``, ``metric_value`` (above 0).
        metric: what ``metric_value`` is.
        smallest_effect: the smallest relevant relative difference.
        confidence: of the intervals.
        again: for the advice.
        names: of both sides, for the sentences.
    """
    common = common_counts(runs)
    several = bool(common) and runs["virtual_users"].nunique() > 1
    same = scored(runs, metric)
    design, seen = replication(same), noise(same)
    cells = same.groupby(["side", "virtual_users"])["score"].agg(["count", "mean"])
    plain = (cells["mean"][NEW] - cells["mean"][BASE]).to_numpy(dtype=float)
    overall = over_counts(design)
    samples = [design.sample(values) for values in overall]
    ((estimate, half),) = contrasts(samples, plain.mean(keepdims=True), confidence)
    advice = _advice(design, overall, seen, estimate, smallest_effect, confidence, again or Again())
    judge = partial(judged_ratio, metric, advice, smallest_effect, confidence, names[0], _why(design))
    subject = f"{names[1]} (mean over {many(len(common), 'count')} of virtual users)" if several else names[1]
    ratio = judge(subject, estimate, half)
    middles = [float(cells["mean"][side].mean()) for side in (BASE, NEW)]
    whole = levels(metric, middles, estimate)
    if not several:
        none = pd.DataFrame(columns=list(_COLUMNS))
        return Compared(ratio, none, design, seen, advice, smallest_effect, confidence, whole)
    rows = []
    each = contrasts([design.sample(values) for values in design.samples], plain, confidence)
    for count, (estimate, half) in zip(common, each, strict=True):
        found = judge(f"{names[1]} at {virtual_users(int(count))}", estimate, half)
        counts = {f"{side}_runs": int(cells["count"][side, count]) for side in (BASE, NEW)}
        both = levels(metric, [float(cells["mean"][side, count]) for side in (BASE, NEW)], estimate)
        means = dict(zip((BASE, NEW), both, strict=True))
        rows.append({"virtual_users": int(count), **counts, **means, **vars(found)})
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    return Compared(ratio, table, design, seen, advice, smallest_effect, confidence, whole)


def levels(metric: Metric, means: Sequence[float], estimate: float) -> tuple[float, float]:
    """Values of both sides whose ratio is the estimated one, around the middle of their means (log scores).

    They are the geometric means of the runs, unless the estimate allows for sessions, blocks or a trend.
    """
    middle = sum(means) / 2
    base, new = (float(metric.from_score(math.exp(middle + part * estimate))) for part in (-0.5, 0.5))
    return base, new


def plain_names(names: tuple[str, str]) -> tuple[str, str]:
    """The names of both sides without the word which side each is, where they differ without it."""
    base, new = names[0].removesuffix(" (base)"), names[1].removesuffix(" (new)")
    return (base, new) if base != new else names


def common_counts(runs: pd.DataFrame) -> list[int]:
    """The counts of virtual users that both sides have, ascending."""
    users = [set(part["virtual_users"]) for _, part in runs.groupby("side")]
    return sorted(set.intersection(*users))


def scored(runs: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The runs at counts that both sides have, with scores on the log scale, as ``replication`` takes them.

    Without such a count all runs, as if they had one.
    """
    common = common_counts(runs)
    same = runs[runs["virtual_users"].isin(common)] if common else runs.assign(virtual_users=0)
    return same.assign(score=np.log(metric.score(same["metric_value"].astype(float))))


def over_counts(design: Replication) -> list[Floats]:
    """The samples of a design as means over all user counts, (units, 1); units that lack a count are left out."""
    return [values[~np.isnan(values).any(axis=1)].mean(axis=1, keepdims=True) for values in design.samples]


def contrasts(samples: Sequence[Sample], plain: Floats, confidence: float) -> list[tuple[float, float]]:
    """New - base of each condition, and the half width of its interval: NaN where only means of runs are known.

    ``samples`` are the differences, or base and new, or nothing; ``plain`` are the differences of the means of runs.
    """
    if not samples:
        return [(float(one), math.nan) for one in plain]
    means = samples[0].means - (samples[1].means if len(samples) > 1 else 0)
    estimates = np.where(np.isnan(means), plain, means)
    return list(zip(estimates.tolist(), half_widths(samples, confidence).tolist(), strict=True))


def _why(design: Replication) -> str:
    """Why a ratio has no interval."""
    return design.words if design.unit is Unit.NONE else "this count of virtual users was not repeated"


def _advice(
    design: Replication,
    values: Sequence[Floats],
    seen: Noise,
    estimate: float,
    smallest_effect: float,
    confidence: float,
    again: Again,
) -> str:
    """What would decide: more sessions, or a number of blocks within one session, or both at the same time."""
    if design.unit in (Unit.SESSIONS, Unit.SHARED_SESSIONS):
        return (
            f"more sessions of both sides would decide{', best in turn' if design.correlation.variance > 1 else ''}"
        )
    if design.unit is Unit.BLOCKS:
        of_blocks = Sample.of(values[0])
        run_noise, df, present = math.sqrt(of_blocks.variance / 2), of_blocks.df, len(values[0])
    else:
        run_noise, df, present = seen.run, seen.run_df, MIN_BLOCKS - 1
    wanted, about = DEFAULT_BLOCKS, ""
    if df > 0 and run_noise > 0:
        limit = math.log1p(smallest_effect)
        level = again.level or (lambda _: confidence)
        needed = blocks_needed(
            estimate, limit, run_noise, df, present, lambda blocks: _critical(level(blocks), blocks)
        )
        if needed.blocks and needed.low:
            wanted = max(needed.blocks, MIN_BLOCKS)
            high = needed.high and max(needed.high, MIN_BLOCKS)
            about = f", about {blocks_text(wanted, max(needed.low, MIN_BLOCKS), high)}"
        if again.together and not design.together and (not needed.blocks or needed.blocks > MANY_BLOCKS):
            blocks = f"more than {MAX_BLOCKS:,}" if not needed.blocks else f"about {wanted:,}"
            how = f"{again.together} --blocks {DEFAULT_BLOCKS}"
            return (
                f"in turn {blocks} blocks would be needed at this noise; measure both sides at the same time: {how}"
            )
        if not needed.blocks and design.unit is Unit.BLOCKS:
            return f"more than {MAX_BLOCKS:,} blocks would be needed at this noise; use longer runs or a quieter host"
    if again.resume:
        return f"more blocks would decide{about}: {again.resume} --blocks {max(wanted, present + 1)}"
    command = (design.together and again.together) or again.command
    how = f": {command} --blocks {wanted}" if command else ""
    first = "more blocks would decide" if design.unit is Unit.BLOCKS else "measure both sides in turn in one session"
    return f"{first}{about}{how}"


@dataclass(frozen=True)
class Gate:
    """Whether the metric became worse beyond a limit: ``fell``, ``held`` or ``undecided``; and why, as a sentence."""

    verdict: str
    sentence: str

    def fails(self, strict: bool = False) -> bool:
        """Whether a build must fail; ``strict``: also when it is not shown that it held."""
        return self.verdict == "fell" or (strict and self.verdict == "undecided")


def gate(
    found: pd.DataFrame,
    metric: Metric,
    below: float,
    advice: str = "more runs would decide",
    confidence: float = 0.95,
) -> Gate:
    """The gate over one ratio or several, each with its interval (columns ``virtual_users``, ratio, low, high).

    ``below`` is the change that is still accepted, -0.02 for 2 % worse: 2 % less of a rate, 2 % more of a time. It
    *fell* where the whole interval of a ratio lies beyond that limit: a regression beyond the limit is shown, and by
    chance that happens in at most 2.5 % of builds that are exactly at the limit. It *held* where all intervals lie on
    the good side of the limit (not inferior). Else, and where nothing is replicated, it is *undecided*; ``advice`` is
    the way out.

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
        return Gate("undecided", f"undecided against {limited}, without an interval; {advice}")
    worst, widest = (found.sort_values(end).iloc[0] for end in ("high", "low"))
    if worst["high"] < limit:
        words = f"{change(worst['ratio'], metric)} ({_within(worst, metric, len(found) > 1, confidence)})"
        return Gate("fell", f"regression beyond {limited}: {words}")
    within = _within(widest, metric, len(found) > 1, confidence)
    if widest["low"] >= limit:
        return Gate("held", f"no regression beyond {limited} ({within})")
    return Gate("undecided", f"undecided against {limited}: {within}; {advice}")


def _within(row: pd.Series[Any], metric: Metric, several: bool, confidence: float) -> str:
    ends = f"{share(confidence)} interval {percents(row['low'], row['high'], metric)}"
    return f"{ends} at {virtual_users(int(row['virtual_users']))}" if several else ends


def _critical(confidence: float, blocks: int) -> Critical:
    """The critical values of one interval over differences within blocks."""
    value = maximum_modulus(1, blocks - 1, confidence)
    return Critical(value, value, blocks - 1)


def judged_ratio(
    metric: Metric,
    advice: str,
    smallest_effect: float,
    confidence: float,
    reference: str,
    why: str,
    subject: str,
    estimate: float,
    half: float,
) -> Ratio:
    """A ratio from its logarithm and the half width of its interval, NaN without an interval."""
    ratio = math.exp(estimate)
    if math.isnan(half):
        text = f"{subject} against {reference} {percent(ratio, metric)}: undecided: {why}; {advice}"
        return Ratio(ratio, math.nan, math.nan, "undecided", text)
    interval = Interval.around(metric, estimate, half, 1, 1)
    text = sentence(subject, reference, interval, smallest_effect, confidence, advice)
    return Ratio(interval.ratio, interval.low, interval.high, interval.verdict(smallest_effect), text)


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
    found: list[str] = [
        line.after(f"{name}: ") for name, manifests in sides.items() for line in _of_side(list(manifests))
    ]
    names = [str(name) for name in differences.index if str(name).startswith(("load.", "workload."))]
    work = [name for name in names if not name.endswith(".seed")]
    if work:
        verb = "differ" if len(work) > 1 else "differs"
        found.append(Caution(f"The sides did not do the same work: {', '.join(work)} {verb}", Kind.OTHER_WORK))
    host = [str(name) for name in differences.index if str(name).startswith("host.")]
    if host:
        text = f"The clients of the sides ran on different hosts ({', '.join(host)})"
        found.append(Caution(text, Kind.OTHER_HOSTS))
    if CLIENT_PATH in differences.index:
        base, new = differences.loc[CLIENT_PATH]
        used = f"({base or 'unknown'}, {new or 'unknown'})"
        text = f"The sides used different client code {used}, whose time is part of each latency"
        found.append(Caution(text, Kind.CLIENT_CODE))
    return found


def _of_side(manifests: Sequence[Manifest]) -> list[Caution]:
    """What is to be known of a side: who measured it, failed operations and checks (what fails is often fast), a rate
    that decides its throughput."""
    failed = sum((one.result and one.result.failed) or 0 for one in manifests)
    checks = sorted({line.name for one in manifests for line in one.checks if line.passed is False})
    found = [Caution(f"{failed:,} {plural(manifests[0].noun)} failed", Kind.FAILED_OPERATIONS)] if failed else []
    if zero := sum(one.metric_value == 0 for one in manifests):
        runs = f"{zero} of {many(len(manifests), 'run')}"
        text = f"{manifests[0].metric.name} is 0 in {runs}; it counts as half an operation"
        found.append(Caution(text, Kind.ZERO))
    found += [Caution(f"failed checks: {', '.join(checks)}", Kind.CHECK)] if checks else []
    tools = sorted({one.measured_by for one in manifests} - {""})
    found += [Caution(f"measured by {tool}", Kind.OTHER_TOOL) for tool in tools]
    found += [WATCHED] if any(not one.operations and not one.measured_by for one in manifests) else []
    return found + ([RATE_DECIDES] if any(kept_its_rate(one) for one in manifests) else [])


# The changes of a comparison in one list: the metric, and each latency, with their intervals.

_NAMES = {"p50_us": "p50", "p95_us": "p95", "p99_us": "p99"}


def changes(figures: pd.DataFrame, ratio: Ratio, metric: Metric) -> pd.DataFrame:
    """Columns figure, ratio, low, high, judged: new against base, of figures that have an interval.

    A ratio is one of scores: above 1 the new side is better, so a latency that is halved has a ratio of 2. ``judged``
    is ``better`` or ``worse`` where the interval excludes 1, else ``not shown``. Empty where nothing is replicated.

    Args:
        figures: a row per figure with base, new, change, low, high, as ``api.Comparison.table`` has them.
        ratio: that of the metric's scores.
        metric: the metric of the runs.
    """
    rows = [(metric.name, ratio.ratio, ratio.low, ratio.high)]
    for name, row in figures.iterrows():
        operation, _, quantile = str(name).rpartition(" ")
        if quantile in _NAMES:
            scores = 1 / (1 + row[["change", "high", "low"]].astype(float))  # infinite where a low end is -100 %
            rows.append((f"{operation} {_NAMES[quantile]}", *scores))
    found = pd.DataFrame(rows, columns=["figure", "ratio", "low", "high"]).dropna(ignore_index=True)
    judged = pd.Series("not shown", index=found.index)
    return found.assign(judged=judged.mask(found["low"] > 1, "better").mask(found["high"] < 1, "worse"))
