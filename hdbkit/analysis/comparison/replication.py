"""What two groups of runs replicate: sessions, or blocks within one session; and what follows for their comparison.

Runs of one session share what their host was like, so runs alone replicate nothing of that. Three designs decide
(Kalibera and Jones 2013, ISMM, 63-74):

* both sides were measured in the same sessions: the difference within each session is one value;
* each side has sessions of its own, at least two: the mean of each session is one value. Neighbouring sessions may be
  correlated, which counts where the sides are not in turn (``statistics.two_samples.correlated``);
* one session has both sides in turn: the difference within each block of neighbouring runs is one value. How the
  difference varies from session to session is then unknown.

Where one side comes first more often, a trend is part of the differences. Within one session its slope, estimated
from one block to the next, is subtracted with an error of its own; within each of several sessions the slope of the
runs of the same side is.

Anything else is undecided: with one session per side, or all runs of one side first, a difference may come from the
sides or from the time at which they were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hdbkit.analysis.statistics import Floats
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
    """What neighbouring sessions have in common."""

    def sample(self, values: Floats) -> Sample:
        """The sample of these of its values, whose error allows for the correlation."""
        return self.correlation.of(Sample.of(values))


def replication(runs: pd.DataFrame) -> Replication:
    """The design of a comparison.

    Args:
        runs: a row per run in the order of time: ``side`` (``BASE`` or ``NEW``), ``virtual_users`` (the counts that
            both sides have), ``session``, ``score`` (on the log scale); ``started`` and ``ended``, if they are known.
    """
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
    return Replication(Unit.SHARED_SESSIONS, (apart.to_numpy(dtype=np.float64),), words)


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
    placed, together = _placed(runs), _at_the_same_time(runs)
    columns = [_blocks(part) for _, part in placed.groupby("virtual_users", sort=True)]
    blocks = max(map(len, columns))
    if blocks < 2:
        return Replication(Unit.NONE, (), "within their session the sides do not alternate at least twice")
    words = f"{blocks} blocks of one session"
    apart = _table([one[:, 0] for one in columns])
    if together:
        words += ", both sides at the same time, each under the load of the other: what else differs between "
        words += "their servers is part of the ratio"
        return Replication(Unit.BLOCKS, (apart,), words, together)
    if all(
        abs(one[:, 1].sum()) <= abs(one[:, 1]).max(initial=0) for one in columns
    ):  # as even as their number allows
        return Replication(Unit.BLOCKS, (apart,), words)
    slopes = _table([_slopes(one) for one in columns])
    if blocks == 2:
        return Replication(Unit.NONE, (), f"with one side first more often in {words}, a trend may be the difference")
    return Replication(Unit.BLOCKS, (apart, slopes), f"{words}, one side first more often: the slope is subtracted")


def _table(columns: Sequence[Floats]) -> Floats:
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

    What follows the last such stretch belongs to it. A row each: new - base of the scores and of the places, and the
    middle of both sides' scores and places.
    """
    blocks: list[dict[str, list[tuple[float, float]]]] = []
    for side, score, place in zip(runs["side"], runs["score"], runs["place"], strict=True):
        if not blocks or all(blocks[-1].values()):
            blocks.append({BASE: [], NEW: []})
        blocks[-1][side].append((score, place))
    if len(blocks) > 1 and not all(blocks[-1].values()):
        last = blocks.pop()
        blocks[-1] = {side: values + last[side] for side, values in blocks[-1].items()}
    means = [(np.mean(one[NEW], axis=0), np.mean(one[BASE], axis=0)) for one in blocks if all(one.values())]
    return np.array([(*(new - base), *((new + base) / 2)) for new, base in means]).reshape(-1, 4)


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
