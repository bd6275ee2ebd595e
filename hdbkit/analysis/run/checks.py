"""The checks of a result. Each line states in one sentence, with its numbers, whether the figures can be trusted.

``passed`` is None if a check could not be decided; its detail then states why. No check accesses the database:
the checks of a schema belong to its workload.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from hdbkit.analysis.run.brackets import brackets
from hdbkit.analysis.run.checked_run import Answer, CheckedRun, RunCheck
from hdbkit.analysis.run.cost_jumps import MIN_S, against_earlier, jumps_within, totals
from hdbkit.analysis.run.counters import is_set_back
from hdbkit.analysis.run.drift import MAX_DRIFT, MIN_SECONDS, drift
from hdbkit.analysis.run.failed_operations import MAX_REASONS, none_failed
from hdbkit.analysis.run.faults import lost_text
from hdbkit.analysis.run.host import pressure_pct, server_is_here
from hdbkit.analysis.run.recorded import seen_without_operation
from hdbkit.analysis.run.records import completed_by_part, operations_of, table, window_of
from hdbkit.analysis.run.schedule import schedule_of
from hdbkit.analysis.run.standstills import MIN_COMPLETED, sampling_gaps
from hdbkit.analysis.run.summary import summarize
from hdbkit.later import numpy as np
from hdbkit.later import scipy
from hdbkit.readings import ENDS, OWN_COUNTS
from hdbkit.results.columns import COUNTED
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import CheckLine, Manifest
from hdbkit.results.run_result import LittlesLaw
from hdbkit.text import many, number, percent_of, plural, share, with_article

MAX_PRESSURE_PCT = 20.0
MAX_UNCERTAIN_MS = 2.0
"""By how much times of other load hosts may be wrong at most."""
LAW_TOLERANCE = 0.02
MAX_UNRECORDED, MIN_UNRECORDED = 0.01, 5
"""The most samples of active sessions without an operation: as a share, and in all if there are few."""
SURE = 1e-4
"""A statistical check of inputs fails only where chance alone would do so once in ten thousand runs."""
MIX_TOLERANCE_PCT = 0.1
_WHOLE = 0.99
_MIN_USERS = 4
"""With fewer users, one long operation is a gap without a completed one."""


def check_run(folder: RunFolder, manifest: Manifest) -> list[CheckLine]:
    """Every check that applies to a run, in a fixed order.

    Raises:
        DamagedResult: there is no measured window, or a file cannot be read.
    """
    window = window_of(manifest)
    run = CheckedRun(folder, manifest, window, manifest.result or summarize(folder, manifest))
    # of the load of another program there are no records
    found = _checks(run) if manifest.operations else [("CPU pressure", _pressure)]
    lines = ((name, check(run)) for name, check in found)
    return [CheckLine(name=name, passed=passed, detail=detail) for name, (passed, detail) in lines]


def _bracketed(run: CheckedRun) -> Answer:
    lost = run.result.clients_lost or 0
    found = brackets(run.folder, run.manifest, lost)
    if not found:
        return None, "the schema's count was not read at the run's start and at both edges of the window"
    text = "; ".join(str(one) for one in found)
    if missing := [one for one in run.manifest.load_hosts if not one.is_complete]:
        users = many(sum(one.users for one in missing), "virtual user")
        return None, f"the records of {users} on {many(len(missing), 'load host')} are missing: {text}"
    return all(one.holds for one in found), f"acknowledged <= counted by the schema <= started: {text}"


def _accounted(run: CheckedRun) -> Answer:
    records, unknown = run.records.kept, run.records.unknown
    counted = {}
    if run.clients is not None:
        counted["the clients' counts"] = int(run.clients["operations"].sum())
    seconds = table(run.folder, "seconds")
    if seconds is not None:
        counted["the table of seconds"] = int(seconds[["committed", "rolled_back", "failed"]].to_numpy().sum())
    others = [f"{source} {n:,}" for source, n in counted.items()]
    text = f"of the whole run {records:,} records are kept; {', '.join(others) or 'nothing else counted them'}"
    if unknown:
        return False, f"{text}; {unknown:,} records have no known outcome"
    if any(n != records for n in counted.values()):
        return False, text
    return (True if counted else None), f"{text}; every record has its outcome"


def _rolled_back(run: CheckedRun, operation: str, expected: float) -> Answer:
    line = run.result.operations[operation]
    rolled = line.rolled_back or 0
    n = (line.committed or 0) + rolled
    if not n:
        return None, f"no {operation} ended in the window"
    low, high = _binomial_range(n, expected, SURE / 2)
    detail = (
        f"{rolled:,} of {n:,} {operation} ({100 * rolled / n:.2f} %) were rolled back; expected {low:,} to {high:,}"
    )
    return low <= rolled <= high, detail


def _binomial_range(n: int, share: float, tail: float) -> tuple[int, int]:
    """The least counts of ``n`` whose cumulative probabilities reach ``tail`` and 1 - ``tail``."""
    levels = np.array([tail, 1 - tail])
    counts = np.ceil(scipy.special.bdtrik(levels, n, share))
    below = np.maximum(counts - 1, 0)  # bdtrik is exact to rounding only
    low, high = np.where(scipy.special.bdtr(below, n, share) >= levels, below, counts)
    return int(low), int(high)


def _littles_law(run: CheckedRun) -> Answer:
    law = run.result.littles_law
    if run.manifest.pauses:
        return None, "operations begin by a schedule; the law is checked only for closed loops without pauses"
    if not run.result.completed or law is None or law.mean_us is None:
        return None, "nothing was completed in the window"
    longest_us = max(line.mean_us or 0 for line in run.result.operations.values())
    cut_us, duration_s = longest_us + run.records.over_the_edges_us / law.users, run.window.duration_s
    detail = (
        f"throughput x cycle time = {law.users_by_law:.2f} of {law.users} users; "
        f"{law.outside_pct:.1f} % of a user's time is outside the calls"
    )
    holds = law_holds(law, cut_us, duration_s) or law_holds(law, cut_us + 2 * _longest_pause_us(run), duration_s)
    return holds, detail


def _recorded(run: CheckedRun) -> Answer:
    slices = run.manifest.plan.slices
    if slices is not None and slices.in_session:
        return None, "sessions change their settings between operations"
    seen = seen_without_operation(run.folder, run.window)
    if seen is None:
        return None, "no session of the load was seen at work"
    detail = f"{seen.without:,} of {seen.active:,} samples of sessions that work or wait have no operation then"
    return seen.without <= max(MAX_UNRECORDED * seen.active, MIN_UNRECORDED), detail


def law_holds(law: LittlesLaw, cut_us: float, duration_s: float) -> bool:
    """Whether the law accounts for all users; the edges of the window may cut off ``cut_us`` of each."""
    return abs(law.ratio - 1) <= LAW_TOLERANCE + cut_us / 1e6 / duration_s


def _longest_pause_us(run: CheckedRun) -> float:
    """The longest time between two operations of a user: on a busy host all may wait that long at both edges."""
    pause = "t_start_us - lag(t_end_us) OVER (PARTITION BY virtual_user ORDER BY t_start_us) AS pause"
    with operations_of(run.folder) as rows:
        found = rows.project(pause).aggregate("coalesce(max(pause), 0)").fetchall()[0][0]
    return float(found)


def _schedule_kept(run: CheckedRun) -> Answer:
    found = run.result.schedule or schedule_of(run.folder, run.manifest).result
    backlog, p99_us = found.backlog, found.lateness.p99_us
    lateness = "none began" if p99_us is None else f"99 % of starts were at most {p99_us / 1000:,.1f} ms late"
    detail = (
        f"{found.achieved_per_s:,.1f} of {found.offered_per_s:,.1f} {plural(run.noun)}/s that were due; "
        f"{lateness}, {found.skipped:,} skipped, backlog {backlog.start:,} to {backlog.end:,}"
    )
    if run.window.duration_s < _WHOLE * run.manifest.plan.load.duration_s:
        planned_s = run.manifest.plan.load.duration_s
        detail += (
            f"; the window ended after {run.window.duration_s:.3g} of {planned_s:g} s, so these are rates until then"
        )
    if not found.saturated:
        return True, detail
    if lost := run.result.clients_lost:
        return False, f"{detail}: {many(lost, 'client')} ended early, so operations of its users did not begin"
    return False, f"{detail}: the load was saturated; use a lower rate, or more users if the server has capacity left"


def _pressure(run: CheckedRun) -> Answer:
    waited = pressure_pct(run.host, run.window)
    if waited is None:
        return None, "the kernel does not report CPU pressure (PSI)"
    text = f"some task waited for a core {waited:.1f} % of the time"
    if server_is_here(run.host):
        return None, f"{text}; server and clients share this host, so this does not show which of them waited"
    return waited <= MAX_PRESSURE_PCT, f"{text} on the clients' host; at most {MAX_PRESSURE_PCT:g} % is allowed"


def _no_jump(run: CheckedRun) -> Answer:
    parts = jumps_within(run.folder, run.manifest, run.window)
    before, runs = against_earlier(run.folder, run.manifest.model_copy(update={"result": run.result}))
    jumps = [*(parts or ()), *before]
    if jumps:
        named = "; ".join(str(one) for one in jumps)
        return False, f"{named}: a plan may have changed; compare plans (EXPLAIN) and analyze the tables"
    if parts is None and not runs:
        own = (
            "its parts consist of unlike operations" if run.manifest.one_by_one else f"it is shorter than {MIN_S:g} s"
        )
        return None, f"there is no earlier run of this configuration, and {own}"
    compared = [
        *([] if parts is None else ["within the run"]),
        *([f"against {many(runs, 'earlier run')}"] if runs else []),
    ]
    return True, f"no latency and no work of the server per {run.noun} jumped {' or '.join(compared)}"


def _disturbed(check: RunCheck) -> RunCheck:
    """``check``, undecided where a run that caused faults on purpose does not pass it."""

    def checked(run: CheckedRun) -> Answer:
        passed, detail = check(run)
        if passed is False and run.manifest.faults:
            return None, f"{detail}; the run caused faults on purpose"
        return passed, detail

    return checked


def _kept(run: CheckedRun) -> Answer:
    lost = run.result.lost_commits
    return (None if lost is None else lost == 0), lost_text(run.result)


def _caused(run: CheckedRun) -> Answer:
    faults = run.manifest.faults
    planned = len(run.manifest.plan.load.faults)
    bad = [f"{one.fault}: {one.error or 'it did not end'}" for one in faults if one.error or one.end_us is None]
    if bad:
        return False, "; ".join(bad)
    return len(faults) == planned, f"{len(faults)} of {planned} began and ended"


def _clients_ended(run: CheckedRun) -> Answer:
    if run.clients is None:
        return None, "how the clients ended was not recorded"
    planned, ended = run.planned_clients, run.clients["ended"]
    done = int((ended == "done").sum())
    if done == planned:
        return True, f"all {planned} clients ended as planned"
    others = ", ".join(f"{n} {how}" for how, n in ended[ended != "done"].value_counts().items())
    return False, f"{done} of {planned} clients ended as planned; {others or 'the others left no record'}"


def _load_hosts(run: CheckedRun) -> Answer:
    hosts = run.manifest.load_hosts
    users = sum(one.users for one in hosts)
    bad = [one for one in hosts if not one.is_complete or one.cut_offs]
    if not bad:
        return True, f"{many(len(hosts), 'load host')} with {many(users, 'virtual user')} were reached throughout"
    named = [
        f"{one.name} ({many(one.users, 'virtual user')}) "
        + (f"cut off for {one.cut_off_s:.1f} s" if one.is_complete else "lost, its records are missing")
        for one in bad
    ]
    more = f"; and {len(named) - MAX_REASONS} more" if named[MAX_REASONS:] else ""
    affected = sum(one.users for one in bad)
    return False, f"{affected:,} of {many(users, 'virtual user')} affected: {'; '.join(named[:MAX_REASONS])}{more}"


def _clocks(run: CheckedRun) -> Answer:
    hosts = run.manifest.load_hosts
    uncertain_ms = max(one.uncertainty_ms for one in hosts)
    drift_ppm = max(abs(one.drift_ppm) for one in hosts)
    began = [one.first_operation_ms for one in hosts if one.first_operation_ms is not None]
    first = f"; first operations from {min(began):.2f} to {max(began):.2f} ms after the common start" if began else ""
    detail = f"times of other hosts are uncertain by at most {uncertain_ms:.3f} ms, drift at most {drift_ppm:.1f} ppm"
    return uncertain_ms <= MAX_UNCERTAIN_MS, f"{detail}{first}; at most {MAX_UNCERTAIN_MS:g} ms is allowed"


def _engine_follows(run: CheckedRun) -> Answer:
    """Whether the server ended as many transactions for each that the schema counts in both halves of the window.

    Errors, retries, or another client of the server make a difference. A session of the server may report what it
    ended a second late, and what the schema counts is a random share of a mix.
    """
    counters, half_s = table(run.folder, "counters"), run.window.duration_s / 2
    names = set() if counters is None else set(counters["name"])
    ends = [one for one in ENDS if one in names]
    if counters is None or not ends or COUNTED not in names:
        return None, "the server counts no ended transactions"
    if any(is_set_back(counters, one) for one in ends):
        return None, "the server's counters were set back, as by a restart"
    if run.window.duration_s < MIN_SECONDS:
        return None, f"the window of {run.window.duration_s:.1f} s is too short: {MIN_SECONDS} s are needed"
    edges_us = np.linspace(run.window.start_us, run.window.end_us, 3)
    known = counters[np.isfinite(counters["value"])]
    own = totals(known, [OWN_COUNTS], edges_us) if OWN_COUNTS in names else 0.0
    ended, counted = totals(known, ends, edges_us) - own, totals(known, [COUNTED], edges_us)
    if counted.min() < _MIN_COUNTED:
        return None, f"the schema counted less than {_MIN_COUNTED} in a half of the window"
    first, second = ended / counted
    allowed = MAX_DRIFT + 2 / half_s + 4 * math.sqrt(2 / counted.min())
    detail = (
        f"the server ended {number(first)} transactions for each one that the schema counts in the first half of the "
        f"window, and {number(second)} in the second; {100 * allowed:.0f} % of difference are allowed"
    )
    return abs(math.log(second / first)) <= math.log1p(allowed) if first and second else None, detail


def _steady(run: CheckedRun) -> Answer:
    whole_s = round(run.window.duration_s)
    found = drift(completed_by_part(run.folder, run.window, whole_s)) if whole_s >= MIN_SECONDS else None
    if found is None:
        return None, f"the window of {run.window.duration_s:.1f} s is too short: {MIN_SECONDS} s are needed"
    word = "more" if found.change >= 0 else "less"
    detail = (
        f"the second half of the window completed {100 * abs(found.change):.1f} % {word} than the first "
        f"(95 % interval {percent_of(found.low)} to {percent_of(found.high)})"
    )
    limit = share(MAX_DRIFT)
    if found.steady is None:
        return (None, f"{detail}: the interval includes drifts below and above {limit}; a longer window would decide")
    return found.steady, f"{detail}; at most {limit} counts as steady"


def _no_standstill(run: CheckedRun) -> Answer:
    """A standstill fails the check from the share of the window on by which a drift does, and from four users on.

    The gaps of fewer users may be single long operations: in simulations with service times of heavy tails, one user
    had an unusual gap in up to 33 of 40 runs, four users in 1 of 40, sixteen in none.
    """
    gaps = sampling_gaps(run.folder, run.window)
    unsampled = f"; hdbkit's own samples have gaps: {', '.join(gaps)}" if gaps else ""
    longest = run.result.standstill
    if run.manifest.plan.side_slices is not None:
        return None, "the load pauses in the slices of the other side"
    if longest is None or not run.result.completed:
        return None, f"fewer than {MIN_COMPLETED} {plural(run.noun)} were completed{unsampled}"
    detail = f"no {run.noun} was completed {longest.text}{unsampled}"
    is_long = longest.length_s >= MAX_DRIFT * run.window.duration_s
    if not longest.unusual or not is_long or run.manifest.plan.load.sessions < _MIN_USERS:
        return True, detail
    return False, f"{detail}; the throughput is a mean over working and standing still"


def _mix(run: CheckedRun) -> Answer:
    names = list(run.result.operations)
    weights = np.array([run.manifest.mix.get(name, 0.0) for name in names])
    counts = np.array([run.result.operations[name].count for name in names], dtype=float)
    total = counts.sum()
    if not total:
        return None, f"no {run.noun} ended in the window"
    asked, got = 100 * weights / weights.sum(), 100 * counts / total
    worst = int(np.abs(got - asked).argmax())
    detail = f"largest deviation: {names[worst]} {got[worst]:.2f} %, planned {asked[worst]:.2f} %"
    if f"{got[worst]:.2f}" == f"{asked[worst]:.2f}":
        detail = "every share is as planned"
    if counts[weights == 0].any():
        return False, f"{plural(run.noun)} that were not planned; {detail}"
    drawn = weights > 0
    due = total * asked[drawn] / 100
    away = float(((counts[drawn] - due) ** 2 / due).sum())
    chance = float(scipy.special.chdtrc(int(drawn.sum()) - 1, away)) if drawn.sum() > 1 else 1.0
    return chance >= SURE or abs(got[worst] - asked[worst]) <= MIX_TOLERANCE_PCT, detail


def _of_even_loads(run: CheckedRun) -> Iterator[tuple[str, RunCheck]]:
    """Those of a load whose users do the same from its start to its end."""
    yield "Little's law", _disturbed(_littles_law)
    if run.folder.table("waits").is_file():
        yield "active sessions recorded", _disturbed(_recorded)
    yield "steady state", _disturbed(_steady)
    yield "no standstill", _disturbed(_no_standstill)


def _checks(run: CheckedRun) -> Iterator[tuple[str, RunCheck]]:
    """The name of each check that applies, and what decides it."""
    manifest = run.manifest
    if manifest.metric.counter:
        yield "schema's count bracketed by the clients", _bracketed
        yield f"engine TPM follows {manifest.metric.name}", _disturbed(_engine_follows)
    yield f"every {run.noun} accounted for", _accounted
    yield f"no {run.noun} failed", _disturbed(none_failed)
    yield "clients ended as planned", _disturbed(_clients_ended)
    if manifest.load_hosts:
        yield "load hosts reached", _load_hosts
        yield "clocks of the load hosts", _clocks
    if manifest.mix:
        yield "mix as asked", _mix
    for operation, expected in manifest.rollback_shares.items():
        yield (
            f"{share(expected)} of {operation} rolled back",
            partial(_rolled_back, operation=operation, expected=expected),
        )
    is_even = not manifest.plan.load.steps
    if is_even:
        yield f"no jump in the cost of {with_article(run.noun)}", _disturbed(_no_jump)
    if manifest.plan.load.fault:
        yield "faults caused", _caused
        yield "acknowledged commits kept", _kept
    if manifest.rate_per_s is not None:
        yield "schedule kept", _disturbed(_schedule_kept)
    if is_even and not manifest.one_by_one:  # lists end when they end, and consist of unlike operations
        yield from _of_even_loads(run)
    yield "CPU pressure", _pressure


_MIN_COUNTED = 100
