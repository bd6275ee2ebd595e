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
from typing import Any

from hdbkit.analysis.comparison.replication import BASE, NEW, Noise, Replication, Unit, noise, replication
from hdbkit.analysis.run.schedule import RATE_DECIDES, kept_its_rate
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.analysis.statistics.power import MAX_BLOCKS, Critical, blocks_needed
from hdbkit.analysis.statistics.two_samples import Sample, half_widths
from hdbkit.analysis.wording import WATCHED, Interval, blocks_text, percent, sentence
from hdbkit.caution import Caution, Kind
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio, Verdict
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, plural, share, virtual_users

SETTING = "setting."
"""The beginning of the name of a setting among the differences."""
CLIENT_PATH = "software.client_path"
"""How the clients spoke to the server: with the driver, or past it."""
DEFAULT_BLOCKS = 6
"""Blocks of a comparison whose sides are measured in turn, where no other number is known."""
_MIN_BLOCKS = 4
"""The least number of blocks that is advised."""
_ALONE = 0.95
"""The confidence of an interval that is the only one."""
MANY_BLOCKS = 50
"""Beyond this many blocks in turn, both sides at the same time are advised where there are two servers."""


@dataclass(frozen=True)
class Compared:
    """New over base, and the replication that decides it."""

    ratio: Ratio
    """At the one count of virtual users, or the mean over all counts that both sides have."""
    by_users: tuple[Ratio, ...]
    """One for each count that both sides have; empty where there is one count in all, or none in common."""
    design: Replication
    noise: Noise
    advice: str
    """What would decide an undecided comparison."""
    smallest_effect: float
    """The smallest relevant relative difference."""
    confidence: float
    """Of its intervals."""

    @property
    def each(self) -> tuple[Ratio, ...]:
        """The ratio at each count of virtual users, or the one that there is."""
        return self.by_users or (self.ratio,)

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
        runs: a row per run in the order of time, as ``sessions.runs_of`` returns them: ``side``, ``session``,
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
    question = Question(metric, names, advice, smallest_effect, confidence, _why(design))
    subject = f"{names[1]} (mean over {many(len(common), 'count')} of virtual users)" if several else names[1]
    runs_of_side = {side: int(cells["count"][side].sum()) for side in (BASE, NEW)}
    ratio = question.judged(
        subject,
        estimate,
        half,
        [float(cells["mean"][side].mean()) for side in (BASE, NEW)],
        virtual_users=None if several or not common else int(common[0]),
        base_runs=runs_of_side[BASE],
        runs=runs_of_side[NEW],
    )
    if not several:
        return Compared(ratio, (), design, seen, advice, smallest_effect, confidence)
    each = contrasts([design.sample(values) for values in design.samples], plain, confidence)
    by_users = tuple(
        question.judged(
            f"{names[1]} at {virtual_users(int(count))}",
            estimate,
            half,
            [float(cells["mean"][side, count]) for side in (BASE, NEW)],
            virtual_users=int(count),
            base_runs=int(cells["count"][BASE, count]),
            runs=int(cells["count"][NEW, count]),
        )
        for count, (estimate, half) in zip(common, each, strict=True)
    )
    return Compared(ratio, by_users, design, seen, advice, smallest_effect, confidence)


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
        run_noise, df, present = seen.run, seen.run_df, _MIN_BLOCKS - 1
    wanted, about = DEFAULT_BLOCKS, ""
    if df > 0 and run_noise > 0:
        limit = math.log1p(smallest_effect)
        level = again.level or (lambda _: confidence)
        needed = blocks_needed(
            estimate, limit, run_noise, df, present, lambda blocks: _critical(level(blocks), blocks)
        )
        if needed.blocks and needed.low:
            wanted = max(needed.blocks, _MIN_BLOCKS)
            high = needed.high and max(needed.high, _MIN_BLOCKS)
            about = f", about {blocks_text(wanted, max(needed.low, _MIN_BLOCKS), high)}"
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


def _critical(confidence: float, blocks: int) -> Critical:
    """The critical values of one interval over differences within blocks."""
    value = maximum_modulus(1, blocks - 1, confidence)
    return Critical(value, value, blocks - 1)


@dataclass(frozen=True)
class Question:
    """What the ratios of one figure of two sides have in common."""

    metric: Metric
    names: tuple[str, str]
    """Of base and new."""
    advice: str
    smallest_effect: float
    confidence: float
    """That the sentences state."""
    why: str
    """Why a ratio has no interval."""
    of: Of = Of.METRIC
    operation: str = ""
    quantile: str = ""

    def judged(
        self, subject: str, estimate: float, half: float, means: Sequence[float], **fields: int | None
    ) -> Ratio:
        """A ratio from its logarithm and the half width of its interval, NaN without an interval.

        ``means`` are those of the log scores of both sides, ``fields`` further ones of the ratio.
        """
        base, value = levels(self.metric, means, estimate)
        reference = self.names[0]
        if math.isnan(half):
            ratio = math.exp(estimate)
            judged: dict[str, Any] = {"ratio": ratio, "verdict": Verdict.UNDECIDED}
            words = (
                f"{subject} against {reference} {percent(ratio, self.metric)}: undecided: {self.why}; {self.advice}"
            )
        else:
            interval = Interval.around(self.metric, estimate, half, 1, 1)
            judged = interval.judged(self.smallest_effect)
            words = sentence(subject, reference, interval, self.smallest_effect, self.confidence, self.advice)
        counted: dict[str, Any] = {"virtual_users": None, **fields}
        return Ratio(
            of=self.of,
            figure=self.operation or self.metric.name,
            quantile=self.quantile,
            label=self.names[1],
            against=reference,
            base=base,
            value=value,
            sentence=words,
            **judged,
            **counted,
        )


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
