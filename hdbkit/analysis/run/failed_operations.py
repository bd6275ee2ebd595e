"""The check that no operation failed: how many did, of which classes, and the most frequent errors."""

from __future__ import annotations

from hdbkit.analysis.run.checked_run import Answer, CheckedRun
from hdbkit.analysis.run.records import operations_of, table
from hdbkit.errors import ErrorClass
from hdbkit.results.columns import ERROR_CLASSES, LOGIN_REFUSED
from hdbkit.text import many

MAX_REASONS = 5
"""So many different errors are listed; the others are counted."""
_TO_THE_END_US = 2_000_000
"""A user that is refused tries again within a second."""
_LOST = ErrorClass.CONNECTION_LOST.value


def none_failed(run: CheckedRun) -> Answer:
    """Whether no operation failed in the window, and the server refused no login."""
    failed, errors, refused = run.result.failed, run.result.errors, _logins_refused(run)
    if refused and not failed:
        return False, refused
    if not failed:
        retries = f"{many(run.result.retries or 0, 'retry')} after deadlocks and serialization failures"
        return True, f"no {run.noun} failed; {retries}"
    classes = ", ".join(f"{name} {n:,}" for name, n in sorted(errors.items(), key=lambda one: -one[1]))
    failures = f"{many(failed, run.noun)} failed in the window: {classes}{_reasons(run)}"
    return False, "; ".join(filter(None, [refused, failures, _idle(run)]))


def _idle(run: CheckedRun) -> str:
    """That connections were lost after they had been idle for longer than the server allows; empty otherwise."""
    server, lost = run.manifest.server, run.result.errors.get(_LOST, 0)
    if not server.idle_timeout_s or not lost:
        return ""
    before = "coalesce(lag(t_end_us) OVER (PARTITION BY virtual_user ORDER BY t_start_us), 0)"
    with operations_of(run.folder) as rows:
        after = rows.project(f"error_class, t_end_us, t_start_us - {before} AS idle_us").filter(
            f"error_class = {ERROR_CLASSES.index(_LOST)} AND idle_us >= {1e6 * server.idle_timeout_s:.0f} "
            f"AND t_end_us >= {run.window.start_us} AND t_end_us < {run.window.end_us}"
        )
        ((count,),) = after.aggregate("count(*)").fetchall()
    if not count:
        return ""
    return f"{count:,} of {many(lost, 'lost connection')} had been idle for longer: {server.idle_timeout}"


def _logins_refused(run: CheckedRun) -> str:
    """That the server refused logins in the window, from when to when, in its own words; empty if it did not."""
    errors = table(run.folder, "errors")
    if errors is None:
        return ""
    window = run.window
    refused = errors[(errors["error_class"] == LOGIN_REFUSED) & (errors["last_us"] >= window.start_us)]
    refused = refused[refused["first_us"] <= window.end_us]
    if not len(refused):
        return ""
    first_us, last_us = refused["first_us"].min(), refused["last_us"].max()
    until = "to the end" if last_us >= window.end_us - _TO_THE_END_US else f"to {last_us / 1e6:,.1f} s"
    count, most = int(refused["count"].sum()), refused.sort_values("count")["text"].iloc[-1]
    return (
        f"{many(count, 'login')} refused, from {first_us / 1e6:,.1f} s {until} after its start: {_first_line(most)}"
    )


def _reasons(run: CheckedRun) -> str:
    """The most frequent error after which an operation was given up; of operations one by one the errors of each."""
    errors = table(run.folder, "errors")
    if errors is None:
        return ""
    final = errors[(errors["count"] > errors["retried"]) & (errors["text"] != "")]
    if not len(final):
        return ""
    if run.manifest.one_by_one:
        named = final.groupby("text")["operation"].agg(lambda names: ", ".join(sorted(set(names))))
        reasons = [f"; {names}: {_first_line(text)}" for text, names in named.sort_values().items()]
        return "".join(reasons[:MAX_REASONS]) + (
            f"; and {len(reasons) - MAX_REASONS} more" if reasons[MAX_REASONS:] else ""
        )
    most = (final["count"] - final["retried"]).groupby(final["text"]).sum().idxmax()
    return f"; most frequent error: {_first_line(most)}"


def _first_line(text: object) -> str:
    return str(text).splitlines()[0].rstrip(".")
