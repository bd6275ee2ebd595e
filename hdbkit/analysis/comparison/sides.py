"""Two groups of runs against each other: the ratio of their scores with its interval.

For runs that were not randomized together (a release against the one before it). The unit of replication is a
session, or a block of one session in which the sides alternate (``replication``), never a run; intervals on the log
scale are those of ``statistics.two_samples``. Groups with runs at several counts of virtual users are compared count
by count, by the noise pooled over all of them and with intervals that hold together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hdbkit.analysis.comparison.advice import Again, deciding
from hdbkit.analysis.comparison.contrasts import Contrast, at_every_look, contrasts
from hdbkit.analysis.comparison.replication import (
    BASE,
    NEW,
    Noise,
    Replication,
    Unit,
    in_blocks_of_plan,
    noise,
    replication,
)
from hdbkit.analysis.run.schedule import RATE_DECIDES, kept_its_rate
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.analysis.wording import WATCHED, Interval, found_from, percent, sentence, without_verdict
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
_ALONE = 0.95
"""The confidence of an interval that is the only one."""


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
    anytime: Anytime | None = None
    """Where its intervals hold at every number of blocks."""

    @property
    def level(self) -> float:
        """The level of intervals of further figures."""
        return self.anytime.level(len(self.design.samples[0])) if self.anytime else self.confidence

    @property
    def each(self) -> tuple[Ratio, ...]:
        """The ratio at each count of virtual users, or the one that there is."""
        return self.by_users or (self.ratio,)

    @property
    def basis(self) -> str:
        """What the interval is made of and the noise, without a full stop; empty if neither is known."""
        found = [] if self.design.unit is Unit.NONE else [self.design.words]
        if self.design.unit in (Unit.BLOCKS, Unit.CYCLES):
            found.append("how the sides compare in other sessions is not estimated")
        if self.anytime is not None:
            found.append(
                f"the intervals hold at every number of blocks with {share(self.confidence)}, whenever it ends"
            )
        elif self.confidence > _ALONE:
            level = share(self.confidence)
            found.append(
                f"intervals of {level} each, so that those of all comparisons and numbers of blocks hold with 95 %"
            )
        return "; ".join([*found, *filter(None, [self.noise.words])])

    def before_its_end(self, metric: Metric, interim: str) -> Compared:
        """The same before the number of blocks that judges it: without a verdict."""
        by_users = tuple(without_verdict(ratio, metric, interim) for ratio in self.by_users)
        return replace(self, ratio=without_verdict(self.ratio, metric, interim), by_users=by_users, advice="")

    @property
    def answer(self) -> str:
        """The verdict and what it is based on, as sentences; the advice is apart."""
        verdict = self.ratio.sentence.removesuffix(f"; {self.advice}")
        basis = f" {self.basis[0].upper()}{self.basis[1:]}." if self.basis else ""
        return f"{verdict}.{basis}"  # a name at the beginning stays as it is


def compared(
    runs: pd.DataFrame,
    metric: Metric,
    smallest_effect: float = 0.02,
    confidence: float = 0.95,
    again: Again | None = None,
    names: tuple[str, str] = (BASE, NEW),
    design: Replication | None = None,
    anytime: Anytime | None = None,
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
        design: what is replicated, if not what the order of the runs makes it.
        anytime: intervals that hold at every number of blocks, in place of ``confidence``; ``runs`` have their
            ``block`` then.
    """
    common = common_counts(runs)
    several = bool(common) and runs["virtual_users"].nunique() > 1
    same = scored(runs, metric)
    again = again or Again()
    if anytime is not None:
        design, confidence = in_blocks_of_plan(same), anytime.confidence
    design, seen = design or replication(same), noise(same)
    cells = same.groupby(["side", "virtual_users"])["score"].agg(["count", "mean"])
    plain = (cells["mean"][NEW] - cells["mean"][BASE]).to_numpy(dtype=float)
    overall = design.over_counts()

    def contrasted(design: Replication, plain: Floats) -> list[Contrast]:
        if anytime is not None:
            return at_every_look(design, plain, anytime)
        return contrasts(design.estimates, plain, confidence)

    (contrast,) = contrasted(overall, plain.mean(keepdims=True))
    if anytime is not None:
        wanted = "" if again.unfinished else f" --blocks {2 * max(len(overall.samples[0]), 1)}"
        advice = f"more blocks may decide: {again.resume}{wanted}"
    else:
        advice = deciding(overall, seen, contrast.estimate, smallest_effect, confidence, again)
    question = Question(
        metric, names, advice, smallest_effect, confidence, _why(design), at_every_look=anytime is not None
    )
    subject = f"{names[1]} (mean over {many(len(common), 'count')} of virtual users)" if several else names[1]
    runs_of_side = {side: int(cells["count"][side].sum()) for side in (BASE, NEW)}
    ratio = question.judged(
        subject,
        contrast,
        [float(cells["mean"][side].mean()) for side in (BASE, NEW)],
        virtual_users=None if several or not common else int(common[0]),
        base_runs=runs_of_side[BASE],
        runs=runs_of_side[NEW],
    )
    if not several:
        return Compared(ratio, (), design, seen, advice, smallest_effect, confidence, anytime)
    each = contrasted(design, plain)
    by_users = tuple(
        question.judged(
            f"{names[1]} at {virtual_users(int(count))}",
            contrast,
            [float(cells["mean"][side, count]) for side in (BASE, NEW)],
            virtual_users=int(count),
            base_runs=int(cells["count"][BASE, count]),
            runs=int(cells["count"][NEW, count]),
        )
        for count, contrast in zip(common, each, strict=True)
    )
    whole = _over_all(ratio, by_users)
    return Compared(whole, by_users, design, seen, advice, smallest_effect, confidence, anytime)


def _over_all(mean: Ratio, by_users: Sequence[Ratio]) -> Ratio:
    """The mean over all counts of users; where the counts are decided in opposite directions it is no verdict."""
    decided = [ratio for ratio in by_users if ratio.verdict.differs]
    if len({ratio.verdict for ratio in decided}) < 2:
        return mean
    words = "; ".join(ratio.sentence for ratio in decided)
    text = f"{mean.label}: it depends on the number of virtual users: {words}"
    return mean.model_copy(update={"verdict": Verdict.UNDECIDED, "equivalent": False, "sentence": text})


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


def _why(design: Replication) -> str:
    """Why a ratio has no interval."""
    return design.words if design.unit is Unit.NONE else "this count of virtual users was not repeated"


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
    at_every_look: bool = False
    """Whether the intervals hold at every number of blocks."""

    def judged(self, subject: str, contrast: Contrast, means: Sequence[float], **fields: int | None) -> Ratio:
        """A ratio from the contrast of its logarithms.

        ``means`` are those of the log scores of both sides, ``fields`` further ones of the ratio.
        """
        base, value = levels(self.metric, means, contrast.estimate)
        reference = self.names[0]
        if math.isnan(contrast.ends[0]):
            ratio = math.exp(contrast.estimate)
            judged: dict[str, Any] = {"ratio": ratio, "verdict": Verdict.UNDECIDED}
            words = (
                f"{subject} against {reference} {percent(ratio, self.metric)}: undecided: {self.why}; {self.advice}"
            )
        else:
            interval = Interval.of(self.metric, contrast.estimate, contrast.ends, contrast.inner, self.at_every_look)
            judged = interval.judged(self.smallest_effect)
            if judged["verdict"] is Verdict.UNDECIDED and not self.at_every_look:
                judged["detectable"] = found_from(contrast.detectable, self.metric)
            words = sentence(
                subject, reference, interval, self.smallest_effect, self.confidence, self.advice,
                judged.get("detectable"),
            )  # fmt: skip
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
