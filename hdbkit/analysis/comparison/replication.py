"""What two groups of runs replicate: sessions, or blocks within one session; and what follows for their comparison.

Runs of one session share what their host was like, so runs alone replicate nothing of that. Three designs decide
(Kalibera and Jones 2013, ISMM, 63-74):

* both sides were measured in the same sessions: the difference within each session is one value;
* each side has sessions of its own, at least two: the mean of each session is one value;
* one session has both sides in turn: the difference within each block of neighbouring runs is one value. How the
  difference varies from session to session is then unknown.

Anything else is undecided: with one session per side, or all runs of one side first, a difference may come from the
sides or from the time at which they were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hdbkit.text import many, share

Floats = NDArray[np.float64]
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


def replication(runs: pd.DataFrame) -> Replication:
    """The design of a comparison.

    Args:
        runs: a row per run in the order of time: ``side`` (``BASE`` or ``NEW``), ``virtual_users`` (the counts that
            both sides have), ``session``, ``score`` (on the log scale); ``started`` and ``ended``, if they are known.
    """
    means = runs.groupby(["side", "session", "virtual_users"])["score"].mean().unstack("virtual_users")
    base, new = means.loc[BASE], means.loc[NEW]
    shared = base.index.intersection(new.index)
    if len(shared) >= 2 and 2 * len(shared) >= max(len(base), len(new)):
        apart = new.loc[shared].to_numpy(dtype=np.float64) - base.loc[shared].to_numpy(dtype=np.float64)
        words = f"{len(shared)} sessions with both sides{_always_first(runs[runs['session'].isin(shared)])}"
        return Replication(Unit.SHARED_SESSIONS, (apart,), words)
    if min(len(base), len(new)) >= 2:
        samples = new.to_numpy(dtype=np.float64), base.to_numpy(dtype=np.float64)
        return Replication(Unit.SESSIONS, samples, f"{many(len(base), 'session')} against {len(new)}")
    if len(shared) == 1:
        return _within(runs[runs["session"] == shared[0]])
    if len(base) == len(new) == 1:
        why = "with one session per side, a difference may come from the sessions instead of the sides"
    else:
        why = f"{BASE if len(base) == 1 else NEW} has one session, which has no run of the other side"
    return Replication(Unit.NONE, (), why)


def _always_first(runs: pd.DataFrame) -> str:
    """Which side preceded the other in every session, so that a trend within sessions counts as a difference."""
    position = pd.Series(range(len(runs)), runs.index).groupby([runs["session"], runs["side"]])
    first, last = position.min().unstack(), position.max().unstack()
    for side, other in ((BASE, NEW), (NEW, BASE)):
        if (last[side] < first[other]).all():
            return f", {side} first in each"
    return ""


def _within(runs: pd.DataFrame) -> Replication:
    """The design within one session: blocks of neighbouring runs."""
    columns = [_differences(part) for _, part in runs.groupby("virtual_users", sort=True)]
    blocks = max(map(len, columns))
    if blocks < 2:
        return Replication(Unit.NONE, (), "within their session the sides do not alternate at least twice")
    table = np.full((blocks, len(columns)), np.nan)
    for position, column in enumerate(columns):
        table[: len(column), position] = column
    together = _at_the_same_time(runs)
    how = ", both sides at the same time, each under the load of the other" if together else ""
    return Replication(Unit.BLOCKS, (table,), f"{blocks} blocks of one session{how}", together)


def _at_the_same_time(runs: pd.DataFrame) -> bool:
    """Whether each run was measured while one of the other side was, at least in part."""
    if "started" not in runs:
        return False
    begun, ended = (runs[name].to_numpy() for name in ("started", "ended"))
    overlap = (begun[:, None] < ended) & (begun < ended[:, None])
    other = runs["side"].to_numpy()[:, None] != runs["side"].to_numpy()
    return bool((overlap & other).any(axis=1).all())


def _differences(runs: pd.DataFrame) -> list[float]:
    """New - base of each block: a stretch of neighbouring runs that ends with the first run of the other side.

    What follows the last such stretch belongs to it.
    """
    blocks: list[dict[str, list[float]]] = []
    for side, score in zip(runs["side"], runs["score"], strict=True):
        if not blocks or all(blocks[-1].values()):
            blocks.append({BASE: [], NEW: []})
        blocks[-1][side].append(score)
    if len(blocks) > 1 and not all(blocks[-1].values()):
        last = blocks.pop()
        blocks[-1] = {side: values + last[side] for side, values in blocks[-1].items()}
    return [float(np.mean(one[NEW]) - np.mean(one[BASE])) for one in blocks if all(one.values())]


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
