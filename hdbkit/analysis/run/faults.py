"""What the faults of a run did: outage, dip and recovery of the throughput, errors, and lost commits.

A lost commit is one that the server had acknowledged and that its schema does not have after the run. It is found by
numbers that the schema gives without gaps, from 1: after a loss a number is given again, or is beyond the last one.
Where it cannot be known, the result is unknown with a reason, and never a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hdbkit.analysis.run.brackets import brackets
from hdbkit.analysis.run.failures import CLASS_NAMES, RETRIES, failures
from hdbkit.analysis.run.records import Window, metric_codes, operations_of, sql_text, window_of
from hdbkit.analysis.run.timeline import throughput
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import FaultLine, Manifest
from hdbkit.results.run_result import FaultEffect, RunResult
from hdbkit.text import many

BEFORE_S, MIN_BEFORE_S = 10, 0.5
"""The time before a fault, at most and at least, whose rate is what the throughput recovers to."""
RECOVERED = 0.9
"""The share of that rate that counts as recovered, in ``STEADY_S`` seconds in a row."""
STEADY_S = 3
NOTICED_S = 0.01
"""From here on, the time that hdbkit itself took is stated."""
_NO_NUMBERS = "the schema gives no numbers that show it"


def effects(folder: RunFolder, manifest: Manifest) -> list[FaultEffect]:
    """The effect of each fault, in their order."""
    window = window_of(manifest)
    course = throughput(folder, manifest).set_index("second")["rate"]
    course = course.reindex(range(window.end_us // 1_000_000), fill_value=0.0)  # its end may lie in an outage
    starts = [line.start_us / 1e6 for line in manifest.faults]
    found, earlier_s = [], window.start_us / 1e6
    for line, next_s in zip(manifest.faults, [*starts[1:], math.inf], strict=True):
        until_us = max(round(min(next_s * 1e6, window.end_us)), line.start_us + 1)
        one = _effect(folder, manifest, line, course, window, (earlier_s, until_us))
        recovered_s = math.inf if one.recovered_after_s is None else one.start_s + one.recovered_after_s
        found.append(one)
        over_s = one.end_s or until_us / 1e6
        earlier_s = max(recovered_s, over_s) if recovered_s * 1e6 <= until_us else over_s
    return found


def effect_text(effect: FaultEffect, metric: Metric) -> str:
    """What a fault did, in a sentence."""
    if effect.error:
        return f"{effect.fault}: it failed: {effect.error}"
    rate, success, recovered = metric.rate, effect.first_success_after_s, effect.recovered_after_s
    parts = [
        "no commit after it" if success is None else f"first success after {success:.3g} s",
        f"{effect.outage_s:.3g} s without a commit",
        _time_taken(effect),
        "" if effect.lowest_rate is None else f"lowest second {rate.text(effect.lowest_rate)}",
    ]
    if effect.rate_before:
        before = f"of the {rate.text(effect.rate_before)} before"
        back = "not in the window" if recovered is None else f"after {recovered:.3g} s"
        parts.append(f"back to {RECOVERED:.0%} {before} {back}".replace("%", " %"))
    errors = ", ".join(f"{name} {count:,}" for name, count in effect.errors.items())
    parts.append(f"failures: {errors or 'none'}")
    return f"{effect.fault}: {'; '.join(filter(None, parts))}"


def _time_taken(effect: FaultEffect) -> str:
    """How much time hdbkit itself took; empty if that cannot be noticed."""
    taken = {"to cause the fault": effect.cause_s or 0.0, "to undo it": effect.undo_s or 0.0}
    parts = [f"{seconds:.2g} s {text}" for text, seconds in taken.items() if seconds >= NOTICED_S]
    return f"hdbkit itself took {' and '.join(parts)}" if parts else ""


def lost_text(result: RunResult) -> str:
    """How many acknowledged commits the faults lost, in a sentence."""
    lost = result.lost_commits
    if lost is None:
        reason = result.lost_commits_unknown or _NO_NUMBERS
        return f"whether acknowledged commits were lost is unknown: {reason}"
    if not lost:
        return "no acknowledged commit was lost"
    return f"{many(lost, 'acknowledged commit')} {'was' if lost == 1 else 'were'} lost"


def course_of_faults(folder: RunFolder) -> pd.DataFrame:
    """Columns second, committed, and one per class of failures: operations per second over the whole run."""
    with operations_of(folder) as rows:
        done = rows.filter(f"outcome != {Outcome.FAILED.value}")
        ended: pd.DataFrame = done.aggregate(
            "(t_end_us // 1000000)::INTEGER AS second, count(*)::BIGINT AS committed",
            "(t_end_us // 1000000)::INTEGER",
        ).df()
    failed = failures(folder)
    lost = failed[failed["error_class"] != RETRIES].pivot_table(
        index="second", columns="error_class", values="count", aggfunc="sum"
    )
    both = ended.set_index("second").join(lost, how="outer")
    last = int(both.index.max()) if len(both) else 0  # the last second is not a whole one
    return both.reindex(range(last)).fillna(0).astype(int).rename_axis("second").reset_index()


def _effect(
    folder: RunFolder,
    manifest: Manifest,
    line: FaultLine,
    course: pd.Series[float],
    window: Window,
    between: tuple[float, int],
) -> FaultEffect:
    """The effect of a fault; ``between`` are the recovery from the one before (s), and when the effect ends (us)."""
    earlier_s, until_us = between
    start_s = line.start_us / 1e6
    after = course[(course.index >= math.floor(start_s)) & (course.index + 1 <= window.end_us / 1e6)]
    rate = _rate_before(folder, manifest, max(earlier_s, start_s - BEFORE_S), start_s)
    recovered_s = _recovered_s(after, rate) if rate else None
    span = after if recovered_s is None else after[after.index <= max(recovered_s, math.floor(start_s))]
    return FaultEffect(
        fault=line.fault,
        error=line.error,
        start_s=round(start_s, 3),
        end_s=None if line.end_us is None else round(line.end_us / 1e6, 3),
        cause_s=_seconds(line.start_us, line.effective_us),
        undo_s=_seconds(line.undo_us, line.end_us),
        first_success_after_s=_first_success_after_s(folder, line),
        rate_before=rate,
        lowest_rate=float(span.min()) if len(span) else None,
        recovered_after_s=None if recovered_s is None else round(max(recovered_s - start_s, 0.0), 3),
        errors=_errors(folder, line.start_us, until_us),
        outage_s=_outage_s(folder, line.start_us, until_us),
    )


def _seconds(from_us: int | None, to_us: int | None) -> float | None:
    return None if from_us is None or to_us is None else round((to_us - from_us) / 1e6, 3)


def _rate_before(folder: RunFolder, manifest: Manifest, from_s: float, to_s: float) -> float | None:
    """The metric's rate in this time; None if it is too short."""
    if to_s - from_s < MIN_BEFORE_S:
        return None
    counted = f"operation IN {metric_codes(manifest)} AND outcome = {Outcome.COMMITTED.value}"
    with operations_of(folder, Window(round(from_s * 1e6), round(to_s * 1e6))) as rows:
        ((n,),) = rows.filter(counted).aggregate("count(*)").fetchall()
    return float(n) * manifest.metric.rate.per_s / (to_s - from_s)


def _recovered_s(after: pd.Series[float], rate: float) -> float | None:
    """The first second that begins ``STEADY_S`` whole ones that are recovered; None if there is none."""
    good = (after >= RECOVERED * rate).to_numpy()
    for at in range(len(good) - STEADY_S + 1):
        if good[at : at + STEADY_S].all():
            return float(after.index[at])
    return None


def _first_success_after_s(folder: RunFolder, line: FaultLine) -> float | None:
    if line.effective_us is None:
        return None
    done = f"outcome = {Outcome.COMMITTED.value} AND t_start_us >= {line.effective_us}"
    with operations_of(folder) as rows:
        ((end_us,),) = rows.filter(done).aggregate("min(t_end_us)").fetchall()
    return None if end_us is None else round((end_us - line.start_us) / 1e6, 3)


def _outage_s(folder: RunFolder, start_us: int, until_us: int) -> float:
    """The longest time without a commit in this time."""
    done = f"outcome = {Outcome.COMMITTED.value} AND t_end_us >= {start_us} AND t_end_us < {until_us}"
    with operations_of(folder) as rows:
        ends = np.sort(rows.filter(done).project("t_end_us").fetchnumpy()["t_end_us"])
    return round(float(np.diff(np.concatenate([[start_us], ends, [until_us]])).max()) / 1e6, 3)


def _errors(folder: RunFolder, start_us: int, end_us: int) -> dict[str, int]:
    """Failures by class that ended in this time."""
    failed = f"outcome = {Outcome.FAILED.value} AND t_end_us >= {start_us} AND t_end_us < {end_us}"
    with operations_of(folder) as rows:
        found = rows.filter(failed).aggregate("error_class::INTEGER, count(*)", "error_class").fetchall()
    return {CLASS_NAMES[code]: int(count) for code, count in sorted(found)}


def lost_commits(
    folder: RunFolder, manifest: Manifest, serials: Mapping[str, Any] | None, clients_lost: int
) -> tuple[int | None, str]:
    """How many acknowledged operations the schema does not have after the run; None, and why this is unknown.

    Args:
        folder: the run.
        manifest: its manifest.
        serials: ``operation``, the columns ``group`` and ``number``, and ``last``: rows of the columns of ``group``
            with their last number, as read after the run; None if they were not read.
        clients_lost: how many clients ended early.
    """
    if serials is None:
        return None, _NO_NUMBERS
    if any(edge.counted > edge.started for edge in brackets(folder, manifest, clients_lost)):
        reason = "the schema counted more than the clients started, so others changed it during the run"
        return None, reason
    number = serials["number"]
    columns = [*serials["group"], number]
    last = pd.DataFrame(serials["last"], columns=columns)
    names = ", ".join(map(sql_text, columns))
    with operations_of(folder) as rows:
        of_serial = f"operation = {manifest.operations.index(serials['operation'])}"
        kept = rows.filter(
            f"{of_serial} AND outcome = {Outcome.COMMITTED.value} AND {sql_text(number)} > 0"
        ).aggregate(f"{names}, count(*)::BIGINT AS n", names)
        numbers: pd.DataFrame = kept.df()
    if numbers.empty:
        reason = f"no committed {serials['operation']} returned its number"
        return None, reason
    known = numbers.merge(last, on=list(serials["group"]), how="left", suffixes=("", "_last"))
    beyond = known[number] > known[f"{number}_last"].fillna(-1)
    return int((known["n"] - 1).sum() + beyond.sum()), ""
