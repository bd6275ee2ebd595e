"""Warnings of a run: reasons to doubt that it measured what was intended, though no check failed."""

from __future__ import annotations

from collections.abc import Mapping

from hdbkit.analysis.run.host import MAX_OTHERS_PCT, MAX_STEAL_PCT, MAX_THROTTLED_PCT
from hdbkit.analysis.run.host_activity import busy_pct
from hdbkit.analysis.run.server_work import found_in_cache_pct, server_work_of
from hdbkit.caution import Caution, Kind
from hdbkit.readings import IDLE_BUSY_PCT
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import HostUse, RunResult
from hdbkit.text import size_text

_MANY_IMAGES = 0.05
_FALLEN = 0.5
_LONG_HISTORY = 100_000
_WAITED_SHARE = 0.01
"""From this share of all users' time on, waits for log switches are named."""
_FULL_PCT = 95.0
"""From this share on, processors or a disk count as saturated."""


def run_warnings(manifest: Manifest) -> list[Caution]:
    """The warnings of a run: one sentence each without its full stop."""
    found = [_busy(manifest), _rounded(manifest), _paused(manifest), *manifest.warnings]
    found += [Caution(f"it {manifest.ended_early}", Kind.EARLY)] if manifest.ended_early else []
    if result := manifest.result:
        found += [
            _fit(manifest, result),
            _full_pages(manifest, result),
            _history(result),
            _evicted(result),
            _log_switches(manifest, result),
            _stood_still(manifest, result),
            _restarted(result),
            _moved(result),
        ]
        found += [_steal(result.host_cpu_pct, "load host", Kind.STEAL), _others(result.others_cpu_pct)]
        found += [_throttled(result.throttled_pct), *_server_host(result.server_host)]
    return [Caution.of(one) for one in found if one]


def _paused(manifest: Manifest) -> str:
    slices = manifest.plan.side_slices
    if slices is None:
        return ""
    return Caution(
        f"the load paused in the slices of {slices.slice_s:g} s of the other side, about half of the time, which its "
        "rates include; a comparison of both sides uses their slices alone",
        Kind.PAUSED,
    )


def _stood_still(manifest: Manifest, result: RunResult) -> str:
    longest = result.standstill
    if not longest or not longest.unusual or manifest.faults:
        return ""
    return Caution(f"no {manifest.noun} was completed {longest.text}", Kind.STANDSTILL)


def _restarted(result: RunResult) -> str:
    times = result.server_restarts_s
    if not times:
        return ""
    listed = " and ".join(f"{at:.0f} s" for at in times)
    return Caution(
        f"the server was restarted during the run, {listed} after its start: the result includes its recovery",
        Kind.RESTART,
    )


def _moved(result: RunResult) -> str:
    times = result.server_moves_s
    if not times:
        return ""
    listed = " and ".join(f"{at:.0f} s" for at in times)
    return Caution(
        f"another server answered from {listed} after the run's start on, so what the servers counted is unknown",
        Kind.MOVED,
    )


def _fit(manifest: Manifest, result: RunResult) -> str:
    """That the data are larger than the host's memory or the server's cache."""
    server = manifest.server
    data_bytes = result.data and result.data.bytes_before
    if not data_bytes or not server.cache_bytes:
        return ""
    memory_bytes = manifest.host.memory_bytes if server.on_this_host else None
    if memory_bytes and data_bytes > memory_bytes:
        return Caution(
            f"the data ({size_text(data_bytes)}) are larger than the memory of the host ({size_text(memory_bytes)}): "
            f"the disks are measured with the server{_reads(manifest.noun, result)}",
            Kind.MEMORY,
        )
    if data_bytes > server.cache_bytes:
        cache = f"{server.cache} ({size_text(server.cache_bytes)})"
        return Caution(
            f"the data ({size_text(data_bytes)}) are larger than {cache}: "
            f"the other pages are read from files, at best out of the system's memory{_reads(manifest.noun, result)}",
            Kind.CACHE,
        )
    return ""


def _reads(noun: str, result: RunResult) -> str:
    read = next((one.each for one in server_work_of(result) if one.what == "pages read from files"), None)
    hits = found_in_cache_pct(result)
    if read is None or hits is None:
        return ""
    return f" ({_two_digits(read)} per {noun}; {hits:.2f} % were in its cache)"


def _two_digits(value: float) -> str:
    """``0.031``, ``2,900``."""
    return f"{float(f'{value:.2g}'):,.4g}" if value < 1000 else f"{float(f'{value:.2g}'):,.0f}"


def _full_pages(manifest: Manifest, result: RunResult) -> str:
    """Of a list there is no ramp-up to extend, and its unlike operations have no common rate."""
    rates = result.full_pages
    if not rates or manifest.one_by_one or rates.first < _MANY_IMAGES or rates.last > _FALLEN * rates.first:
        return ""
    return Caution(
        "the window began before the full-page writes that follow a checkpoint had subsided "
        f"({_two_digits(rates.first)} per {manifest.noun} at its start, {_two_digits(rates.last)} at its end); "
        "set a longer rampup_s, or rampup_max_s",
        Kind.FULL_PAGES,
    )


def _history(result: RunResult) -> str:
    """That InnoDB's purge did not keep up; a list that became shorter in between has no growth."""
    grown = result.counters.get("history_list_length", 0)
    if grown < _LONG_HISTORY:
        return ""
    return Caution(
        f"the history list grew by {grown:,.0f} in the window, since purge did not keep up: the load, and runs after "
        "it, become slower. Run with --maintain, raise innodb_purge_threads "
        "and innodb_purge_batch_size, or set innodb_max_purge_lag, which delays changes instead",
        Kind.HISTORY,
    )


def _evicted(result: RunResult) -> str:
    """That a server which keeps its data in memory removed some of them."""
    keys = result.counters.get("evicted_keys", 0)
    if not keys:
        return ""
    return Caution(f"the server evicted {keys:,.0f} keys in the window: rows of the schema are missing", Kind.EVICTED)


def _log_switches(manifest: Manifest, result: RunResult) -> str:
    """That sessions waited for the next file of the redo log."""
    waited_s = result.counters.get("waited_log_switches_ms", 0) / 1000
    if waited_s <= _WAITED_SHARE * manifest.plan.load.sessions * result.window_s:
        return ""
    return Caution(
        f"sessions waited {waited_s:,.0f} s for {result.counters.get('log_switches', 0):,.0f} log switches in the "
        "window; make the files of the redo log larger, or add groups",
        Kind.LOG_SWITCHES,
    )


def _busy(manifest: Manifest) -> str:
    noted = manifest.plan.experiment
    if noted is None or noted.busy_pct is None or noted.busy_pct <= IDLE_BUSY_PCT:
        return ""
    return Caution(
        f"the host was {noted.busy_pct:.0f} % busy when the clients started, after a cool-down of "
        f"{noted.rested_s:.0f} s",
        Kind.BUSY,
    )


def _rounded(manifest: Manifest) -> str:
    noted = manifest.plan.experiment
    if noted is None or not noted.rounded:
        return ""
    listed = ", ".join(f"{name}={noted.settings.get(name)} to {value}" for name, value in noted.rounded.items())
    return Caution(f"the server rounded {listed}, which was measured", Kind.ROUNDED)


def _steal(shares: Mapping[str, float] | None, host: str, kind: Kind) -> str:
    """That a virtual machine did not get the CPU time that it asked for."""
    steal_pct = (shares or {}).get("steal", 0.0)
    if steal_pct <= MAX_STEAL_PCT:
        return ""
    return Caution(
        f"other machines took {steal_pct:.1f} % of the CPU time of the {host} (steal time); "
        f"at most {MAX_STEAL_PCT:g} % is acceptable",
        kind,
        steal_pct,
    )


def _others(share_pct: float | None) -> str:
    if share_pct is None or share_pct <= MAX_OTHERS_PCT:
        return ""
    return Caution(
        f"other processes used {share_pct:.0f} % of the CPU time of the load host; at most {MAX_OTHERS_PCT:g} % is "
        "acceptable",
        Kind.OTHERS,
        share_pct,
    )


def _throttled(share_pct: float | None) -> str:
    if share_pct is None or share_pct <= MAX_THROTTLED_PCT:
        return ""
    return Caution(
        f"a CPU quota of a control group paused clients or the server, over all cores for {share_pct:.0f} % of the "
        "window: throughput and latencies are those of the quota; raise it, or give them cores of their own",
        Kind.THROTTLED,
        share_pct,
    )


def _server_host(use: HostUse | None) -> list[str]:
    """Where the database's host itself was the limit, or shared; nothing without an agent."""
    if use is None:
        return []
    found, shares = [_steal(use.cpu_pct, "database's host", Kind.SERVER_STEAL)], use.cpu_pct or {}
    if shares and busy_pct(shares) >= _FULL_PCT:
        busy = f"{busy_pct(shares):.0f} % busy: they limit the throughput"
        found.append(Caution(f"the processors of the database's host were {busy}", Kind.SERVER_CPU))
    full = {name: disk["busy_pct"] for name, disk in use.disks.items() if disk.get("busy_pct", 0.0) >= _FULL_PCT}
    if full:
        named = " and ".join(f"{name} ({share:.0f} % of the time)" for name, share in full.items())
        found.append(
            Caution(
                f"a disk of the database's host was busy nearly all the time and may be the limit: {named}",
                Kind.SERVER_DISK,
            )
        )
    return found
