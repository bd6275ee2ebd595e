"""Standstills: times in which no operation of the load was completed, though usually many are.

A throughput is a mean, which hides 20 s without a commit in a window of 40 s. The longest gap between two completed
operations of all users is compared with the usual one: the gap below which a tenth of the window's time lies. Where
operations end at random moments, a gap of 40 times that is expected in fewer than one of a million gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hdbkit.analysis.run.records import Window, operations_of, table
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.readings import BLOCKER
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Standstill
from hdbkit.text import number

if TYPE_CHECKING:
    import numpy.typing as npt

MIN_COMPLETED = 100
"""With fewer completed operations no gap is unusual."""
_LEAST_US, _TIMES, _SHARE = 1_000_000, 40, 0.1
_BIN_US = 100_000
_SAMPLED = ("host", "counters", "waits")
"""Tables that the supervisor samples, at least each second or as often as the load asks."""
_SAMPLING_GAP_US, _GAPS = 3_000_000, 4
"""A gap between samples is mentioned from this length on, and if it is so many times the usual one."""


def standstill(folder: RunFolder, manifest: Manifest, window: Window) -> Standstill | None:
    """The longest standstill of a window; None with few operations, a load that is not even or pauses, and lists.

    Of a window in which nothing was completed it is the whole.

    Raises:
        DamagedResult: a file cannot be read.
    """
    if not manifest.operations or manifest.one_by_one or manifest.plan.load.steps or manifest.plan.side_slices:
        return None
    with operations_of(folder, window) as rows:
        bins = (
            rows.filter(f"outcome <> {Outcome.FAILED.value}")
            .aggregate(
                "min(t_end_us)::DOUBLE AS first_us, max(t_end_us)::DOUBLE AS last_us, count(*)::BIGINT AS n",
                f"t_end_us // {_BIN_US}",
            )
            .order("first_us")
            .fetchnumpy()
        )
    first_us, last_us, n = bins["first_us"], bins["last_us"], bins["n"]
    if not n.sum():
        held = _waited_for(folder, window.start_us, window.end_us)
        whole = {"begin_s": window.start_us / 1e6, "length_s": window.duration_s, "usual_s": window.duration_s}
        return Standstill(**whole, unusual=False, waited_for=held)
    if n.sum() < MIN_COMPLETED:
        return None
    begins_us = np.r_[float(window.start_us), last_us]
    between_us = np.r_[first_us, float(window.end_us)] - begins_us
    several = n > 1
    inside_us = (last_us - first_us)[several]
    gaps_us = np.r_[between_us, inside_us / (n[several] - 1)]
    usual_us = _weighted_quantile(gaps_us, np.r_[between_us, inside_us], _SHARE)
    at = int(between_us.argmax())
    begin_us, length_us = float(begins_us[at]), float(between_us[at])
    unusual = length_us >= max(_LEAST_US, _TIMES * usual_us)
    return Standstill(
        begin_s=begin_us / 1e6,
        length_s=length_us / 1e6,
        usual_s=usual_us / 1e6,
        unusual=unusual,
        waited_for=_waited_for(folder, begin_us, begin_us + length_us) if unusual else "",
    )


def _weighted_quantile(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], share: float) -> float:
    order = np.argsort(values)
    passed = weights[order].cumsum()
    return float(values[order][np.searchsorted(passed, share * passed[-1])])


def _waited_for(folder: RunFolder, begin_us: float, end_us: float) -> str:
    """What the load's sessions waited for between two times, and which other session held it; empty if unknown."""
    waits = table(folder, "waits")
    if waits is None:
        return ""
    during = waits[waits["t_us"].between(begin_us, end_us) & (waits["virtual_user"] >= 0)]
    if during.empty:
        return ""
    names = during["event"].where(during["event"] != "", during["class"])
    on = (" on " + during["table"]).where(during["table"] != "", "")
    shares = (names + on).value_counts(normalize=True)
    most = f"{shares.index[0]} ({100 * shares.iloc[0]:.0f} % of the samples)"
    if noted := _noted(folder, begin_us, end_us):
        return f"sessions waited for {most}: {noted}"
    foreign = during.loc[(during["blocked_by"] >= 0) & (during["blocked_by_user"] < 0), "blocked_by"]
    held = f", held by session {foreign.mode().iloc[0]}, which is not of the load" if len(foreign) else ""
    return f"sessions waited for {most}{held}"


def _noted(folder: RunFolder, begin_us: float, end_us: float) -> str:
    """What was waited for and who held it, as the server said meanwhile."""
    events = table(folder, "events")
    if events is None:
        return ""
    noted = events[(events["kind"] == BLOCKER) & events["t_us"].between(begin_us, end_us)]
    return str(noted["text"].iloc[-1]) if len(noted) else ""


def sampling_gaps(folder: RunFolder, window: Window) -> list[str]:
    """The longest gap of each table that is sampled, where it is unusual: ``host 12.1 s from 31 s on``."""
    gaps = []
    for name in _SAMPLED:
        rows = table(folder, name)
        at_us = np.unique(_times(rows)) if rows is not None and len(rows) else np.empty(0)
        at_us = at_us[(at_us >= window.start_us) & (at_us < window.end_us)]
        apart_us = np.diff(np.r_[window.start_us, at_us, window.end_us])
        if len(at_us) and apart_us.max() >= max(_SAMPLING_GAP_US, _GAPS * np.median(apart_us)):
            at = int(apart_us.argmax())
            begin_us = np.r_[window.start_us, at_us][at]
            gaps.append(f"{name} {number(apart_us[at] / 1e6, 3)} s from {number(begin_us / 1e6, 3)} s on")
    return gaps


def _times(rows: pd.DataFrame) -> npt.NDArray[np.float64]:
    column = "t_us" if "t_us" in rows else "t_sent_us"
    return rows[column].to_numpy(dtype=np.float64)
