"""What two groups of runs replicate: sessions, or blocks within one session; and what follows for their comparison.

Runs of one session share what their host was like, so runs alone replicate nothing of that. Three designs decide
(Kalibera and Jones 2013, ISMM, 63-74):

* both sides were measured in the same sessions: the difference within each session is one value;
* each side has sessions of its own, at least two: the mean of each session is one value. Neighbouring sessions may be
  correlated, which counts where the sides are not in turn (``statistics.two_samples.correlated``);
* one session has both sides in turn: the difference within each block of neighbouring runs is one value. How the
  difference varies from session to session is then unknown. Waves on the host and what a run leaves for the next one
  are allowed for by two models (``statistics.carry_over``). Where both sides were measured at the same time instead,
  neighbouring differences may be correlated (``Correlation.of_series``).

Where one side comes first in each block, a trend is part of the differences. Within one session its slope, estimated
from one block to the next, is subtracted with an error of its own; within each of several sessions the slope of the
runs of the same side is.

Anything else is undecided: with one session per side, or all runs of one side first, a difference may come from the
sides or from the time at which they were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.carry_over import FEWEST_BLOCKS, few_blocks_note, followed
from hdbkit.analysis.statistics.two_samples import Correlation, Sample, correlated
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.text import many, share

BASE, NEW = "base", "new"
"""The sides, in the column ``side`` of ``sessions.runs_of``."""


class Unit(StrEnum):
    """What is replicated."""

    SHARED_SESSIONS = "shared sessions"
    SESSIONS = "sessions"
    BLOCKS = "blocks of one session"
    CYCLES = "cycles of slices"
    NONE = "none"


@dataclass(frozen=True)
class Replication:
    """The values that a comparison is made of.

    ``samples`` are those of ``two_samples``, (units, user counts): the differences new - base, or new and base. None
    where nothing is replicated.
    """

    unit: Unit
    samples: tuple[Floats, ...]
    words: str
    """What is replicated and how often: ``3 sessions against 3``; where nothing is, why not."""
    together: bool = False
    """Whether both sides of a block were measured at the same time."""
    correlation: Correlation = field(default_factory=Correlation)
    """What neighbouring units have in common."""
    trend: bool = False
    """Whether one side came first in each unit, so that a trend is subtracted."""
    after: Floats | None = None
    """Of blocks in turn, like ``samples``: the share of runs of new that followed one of new, less that of base."""

    @property
    def estimates(self) -> list[Sample]:
        """The means of its samples, whose errors allow for the correlation, and for what a run leaves behind."""
        made = [self.correlation.of(Sample.of(values)) for values in self.samples]
        if self.after is None:
            return made
        return [replace(made[0], again=Sample.of(self.samples[0], self.after))]

    def over_counts(self) -> Replication:
        """The same with the means over all user counts, (units, 1); units that lack a count are left out."""
        whole = [~np.isnan(values).any(axis=1) for values in self.samples]
        means = [values[all_] for values, all_ in zip(self.samples, whole, strict=True)]
        after = None if self.after is None else self.after[whole[0]].mean(axis=1, keepdims=True)
        return replace(self, samples=tuple(one.mean(axis=1, keepdims=True) for one in means), after=after)

    def condition(self, at: int) -> Replication:
        """The same of one user count alone."""
        after = None if self.after is None else self.after[:, [at]]
        return replace(self, samples=tuple(one[:, [at]] for one in self.samples), after=after)


def replication(runs: pd.DataFrame) -> Replication:
    """The design of a comparison.

    Args:
        runs: a row per run in the order of time: ``side`` (``BASE`` or ``NEW``), ``virtual_users`` (the counts that
            both sides have), ``session``, ``score`` (on the log scale); ``started``, ``ended`` and ``alternated``, if
            they are known.
    """
    if "alternated" in runs and (runs["alternated"] > 0).all():
        return _alternating(runs)
    means = runs.groupby(["side", "session", "virtual_users"])["score"].mean().unstack("virtual_users")
    base, new = pd.DataFrame(means.loc[BASE]), pd.DataFrame(means.loc[NEW])
    shared = base.index.intersection(new.index)
    if len(shared) >= 2 and 2 * len(shared) >= max(len(base), len(new)):
        return _in_shared(runs[runs["session"].isin(shared)], new.loc[shared] - base.loc[shared])
    if min(len(base), len(new)) >= 2:
        return _of_sessions(runs, new, base)
    if len(shared) == 1:
        return _within(runs[runs["session"] == shared[0]])
    if len(base) == len(new) == 1:
        why = "with one session per side, a difference may come from the sessions instead of the sides"
    else:
        why = f"{BASE if len(base) == 1 else NEW} has one session, which has no run of the other side"
    return Replication(Unit.NONE, (), why)


def _alternating(runs: pd.DataFrame) -> Replication:
    """The design of pairs of runs whose loads alternated, each pair at one count of users."""
    scores = runs.groupby(["virtual_users", "alternated", "side"])["score"].mean().unstack("side")
    apart = (scores[NEW] - scores[BASE]).dropna()
    columns = [of_count.to_numpy(dtype=np.float64) for _, of_count in apart.groupby("virtual_users")]
    words = f"{many(len(apart), 'pair')} of runs whose loads alternated"
    return Replication(Unit.BLOCKS, (side_by_side(columns),), words)


def in_blocks_of_plan(runs: pd.DataFrame) -> Replication:
    """The design whose units are the blocks of one experiment with both sides; ``runs`` have their ``block``.

    Blocks are units whatever the sessions are: an experiment that may end after each block fixes them beforehand.
    """
    placed, together = _placed(runs).sort_values("place", kind="stable"), _at_the_same_time(runs)
    placed = placed.assign(after=followed(placed["side"].to_numpy() == NEW))
    of_side = placed.groupby(["side", "block", "virtual_users"])[["score", "after"]].mean().unstack("virtual_users")
    apart = (pd.DataFrame(of_side.loc[NEW]) - pd.DataFrame(of_side.loc[BASE])).dropna()
    values, after = (apart[name].to_numpy(dtype=np.float64) for name in ("score", "after"))
    words = f"{many(len(apart), 'block')}, of which each difference is one value"
    return Replication(Unit.BLOCKS, (values,), words, after=None if together else after)


def _in_shared(runs: pd.DataFrame, apart: pd.DataFrame) -> Replication:
    """The design of sessions with both sides, whose differences are ``apart``."""
    words = f"{len(apart)} sessions with both sides"
    placed = _placed(runs)
    if first := _first_in_each(placed):
        cell = ["session", "virtual_users", "side"]
        centred = placed[["place", "score"]] - placed.groupby(cell)[["place", "score"]].transform("mean")
        sums = (centred["place"] * centred["score"]).groupby(placed["session"]).sum()
        slopes = sums / (centred["place"] ** 2).groupby(placed["session"]).sum()
        if slopes.isna().any():
            why = f"{first} came first in each of {words}, so a trend within sessions would count as a difference"
            return Replication(Unit.NONE, (), why)
        places = placed.groupby(cell)["place"].mean().unstack("side")
        apart = apart - (places[NEW] - places[BASE]).unstack("virtual_users").mul(slopes, axis=0)
        words += f", {first} first in each: the slope of each is subtracted"
    return Replication(Unit.SHARED_SESSIONS, (apart.to_numpy(dtype=np.float64),), words, trend=bool(first))


def _placed(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with their places in the order of time; those that start at the same time share one."""
    known = "started" in runs and runs["started"].notna().all()
    return runs.assign(place=runs["started"].rank() if known else np.arange(float(len(runs))))


def _first_in_each(placed: pd.DataFrame) -> str:
    """The side that preceded the other in every session, by its mean place; empty if none did."""
    places = placed.groupby(["session", "side"])["place"].mean().unstack()
    return next((one for one, other in ((BASE, NEW), (NEW, BASE)) if (places[one] < places[other]).all()), "")


def _of_sessions(runs: pd.DataFrame, new: pd.DataFrame, base: pd.DataFrame) -> Replication:
    """The design of sessions of each side, with the means of both."""
    words = f"{many(len(base), 'session')} against {len(new)}"
    place = pd.Series(range(len(runs))).groupby([runs["session"].to_numpy(), runs["side"].to_numpy()]).min()
    order = place.sort_values().index
    sides = pd.concat({NEW: new, BASE: base}).swaplevel()
    common = correlated(order.get_level_values(1) == NEW, sides.loc[order].to_numpy(dtype=np.float64))
    if common.variance > 1:
        words += ", not in turn: a trend from session to session would count as a difference"
    samples = new.to_numpy(dtype=np.float64), base.to_numpy(dtype=np.float64)
    return Replication(Unit.SESSIONS, samples, words, correlation=common)


def _within(runs: pd.DataFrame) -> Replication:
    """The design within one session: blocks of neighbouring runs."""
    placed, together = _placed(runs).sort_values("place", kind="stable"), _at_the_same_time(runs)
    placed = placed.assign(after=followed(placed["side"].to_numpy() == NEW))
    columns = [_blocks(part) for _, part in placed.groupby("virtual_users", sort=True)]
    blocks, least = max(map(len, columns)), 2 if together else FEWEST_BLOCKS
    if blocks < least:
        times = {2: "twice", FEWEST_BLOCKS: "three times"}[least]
        return Replication(Unit.NONE, (), f"within their session the sides do not alternate at least {times}")
    words = f"{blocks} blocks of one session"
    apart = side_by_side([one[:, 0] for one in columns])
    if together:
        words += ", both sides at the same time, each under the load of the other: what else differs between "
        words += "their servers is part of the ratio"
        return Replication(Unit.BLOCKS, (apart,), words, together, correlation=Correlation.of_series(apart))
    if not all((one[:, 1] > 0).all() or (one[:, 1] < 0).all() for one in columns):
        words += "".join(f", {note}" for note in filter(None, [few_blocks_note(blocks)]))
        return Replication(Unit.BLOCKS, (apart,), words, after=side_by_side([one[:, 4] for one in columns]))
    slopes = side_by_side([_slopes(one) for one in columns])
    words += ", one side first in each: the slope is subtracted"
    return Replication(Unit.BLOCKS, (apart, slopes), words, trend=True)


def side_by_side(columns: Sequence[Floats]) -> Floats:
    """The columns side by side, the shorter ones filled with NaN."""
    table = np.full((max(map(len, columns)), len(columns)), np.nan)
    for position, column in enumerate(columns):
        table[: len(column), position] = column
    return table


def _slopes(blocks: Floats) -> Floats:
    """What a trend adds to the mean difference of these blocks, as it is from each block to the next."""
    rises, steps = np.diff(blocks[:, 2]), np.diff(blocks[:, 3])
    made: Floats = rises / steps * blocks[:, 1].sum() / max(len(blocks), 1)
    return made


def _at_the_same_time(runs: pd.DataFrame) -> bool:
    """Whether each run was measured while one of the other side was, at least in part."""
    if "started" not in runs:
        return False
    begun, ended = (runs[name].to_numpy() for name in ("started", "ended"))
    overlap = (begun[:, None] < ended) & (begun < ended[:, None])
    other = runs["side"].to_numpy()[:, None] != runs["side"].to_numpy()
    return bool((overlap & other).any(axis=1).all())


def _blocks(runs: pd.DataFrame) -> Floats:
    """The blocks of one user count: stretches of neighbouring runs that end with the first run of the other side.

    What follows the last such stretch belongs to it. A row each: new - base of the scores and of the places, the
    middle of both sides' scores and places, and new - base of what their runs followed.
    """
    blocks: list[dict[str, list[tuple[float, ...]]]] = []
    for side, *values in zip(runs["side"], runs["score"], runs["place"], runs["after"], strict=True):
        if not blocks or all(blocks[-1].values()):
            blocks.append({BASE: [], NEW: []})
        blocks[-1][side].append(tuple(values))
    if len(blocks) > 1 and not all(blocks[-1].values()):
        last = blocks.pop()
        blocks[-1] = {side: values + last[side] for side, values in blocks[-1].items()}
    means = [(np.mean(one[NEW], axis=0), np.mean(one[BASE], axis=0)) for one in blocks if all(one.values())]
    apart = [(new - base, (new + base) / 2) for new, base in means]
    return np.array([(*away[:2], *middle[:2], away[2]) for away, middle in apart]).reshape(-1, 5)


@dataclass(frozen=True)
class Noise:
    """Standard deviations on the log scale: of a session's level, and of a run within its session (with its df).

    NaN where they cannot be estimated. With one run per session, user count and side, ``run`` is NaN and ``session``
    includes it.
    """

    session: float
    run: float
    run_df: int

    @property
    def words(self) -> str:
        """Both as text, such as ``noise: sessions 1 %, runs within a session 0.8 %``; empty where none is known."""
        if np.isnan(self.session):
            return "" if np.isnan(self.run) else f"noise of a run {share(self.run)}"
        if np.isnan(self.run):
            return f"noise of a session with its run {share(self.session)}"
        return f"noise of a session {share(self.session)}, of a run within it {share(self.run)}"


def noise(runs: pd.DataFrame) -> Noise:
    """The noise of sessions and of runs, pooled over sides and user counts, by analysis of variance.

    ``runs`` as for :func:`replication`.
    """
    cells = runs.groupby(["side", "virtual_users", "session"])["score"].agg(["count", "mean", "var"])
    of_run = _pooled(cells["var"], cells["count"])
    levels = cells.assign(share=1 / cells["count"]).groupby(["side", "virtual_users"])
    of_mean = _pooled(levels["mean"].var(), levels.size())
    by_runs = np.nan_to_num(of_run) * float(levels["share"].mean()[levels.size() > 1].mean())
    session = float(np.sqrt(np.maximum(of_mean - by_runs, 0.0)))
    return Noise(session, float(np.sqrt(of_run)), int((cells["count"] - 1).sum()))


def _pooled(variances: pd.Series[float], counts: pd.Series[int]) -> float:
    """Variances pooled by their degrees of freedom; NaN without any."""
    df = counts - 1
    return float((variances.fillna(0) * df).sum() / df.sum()) if df.sum() else float("nan")
