"""The outages of a run: when connections were lost, and nothing was completed for a while.

An outage lasts from the last operation completed before to the first completed after it. A connection that is lost
while other sessions go on is no outage; it is among the failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hdbkit.analysis.run.records import Window, operations_of
from hdbkit.errors import ErrorClass
from hdbkit.later import numpy as np
from hdbkit.results.columns import ERROR_CLASSES, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.run_result import Outage
from hdbkit.text import many

MIN_US: Final = 100_000
"""A shorter time without a completed operation is no outage."""
_LOST: Final = ERROR_CLASSES.index(ErrorClass.CONNECTION_LOST.value)


def outages(folder: RunFolder, window: Window) -> list[Outage]:
    """The outages that began before the window's end."""
    failed = f"outcome = {Outcome.FAILED.value}"
    with operations_of(folder) as rows:
        lost = rows.filter(f"{failed} AND error_class = {_LOST}").project("t_end_us").fetchnumpy()["t_end_us"]
        if not len(lost):
            return []
        bins = rows.filter(f"NOT ({failed})").aggregate(
            "min(t_end_us)::BIGINT AS first_us, max(t_end_us)::BIGINT AS last_us", f"t_end_us // {MIN_US // 2}"
        )
        done = bins.order("first_us").fetchnumpy()
    never_us = max(window.end_us, int(lost.max())) + MIN_US
    begins_us = np.concatenate([[0], done["last_us"]])
    ends_us = np.concatenate([done["first_us"], [never_us]])
    of_gap = np.bincount(np.searchsorted(ends_us, lost), minlength=len(ends_us))
    chosen = (of_gap > 0) & (ends_us - begins_us >= MIN_US) & (begins_us < window.end_us)
    found = zip(begins_us[chosen].tolist(), ends_us[chosen].tolist(), of_gap[chosen].tolist(), strict=True)
    return [
        Outage(start_s=start_us / 1e6, end_s=None if end_us == never_us else end_us / 1e6, lost=count)
        for start_us, end_us, count in found
    ]


def outages_text(found: Sequence[Outage], noun: str) -> str:
    """The outages in sentences; empty if there is none."""
    sentences = []
    for one in found:
        until = "on" if one.end_s is None else f"to {one.end_s:.2f} s"
        lost = f"{many(one.lost, noun)} lost {'its' if one.lost == 1 else 'their'} connection"
        sentences.append(f"No {noun} was completed from {one.start_s:.2f} s {until}, when {lost} (outage).")
    return " ".join(sentences)
