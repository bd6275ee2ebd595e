"""What happened in a run, on its time axis: of its server, plans, faults, settings, clients and host, and notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hdbkit.analysis.comparison.plans import changes_within
from hdbkit.analysis.run.records import operations_of, table
from hdbkit.analysis.run.timeline import gauge, halved_s
from hdbkit.errors import DamagedResult
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import read_plans
from hdbkit.results.manifest import Manifest
from hdbkit.text import many

_COLUMNS = ("time_s", "kind", "text", "source")
OF_COUNTERS = {
    "checkpoints": "checkpoint",
    "autovacuums": "automatic vacuum",
    "deadlocks": "deadlock",
    "snapshots": "snapshot",
    "log_rewrites": "rewrite of the log",
    "log_switches": "log switch",
    "log_waits": "wait for space in the log buffer",
}
"""Counters whose growth is an event. Where the server itself names events of a kind, the counter is left out."""
OF_GAUGES = {
    "history_list_length": (1000, "purge", "the history list became shorter"),
    "checkpoint_age_bytes": (8 << 20, "checkpoint", "the redo log since the last checkpoint became shorter"),
}
"""Gauges whose fall by half is an event, how high they stood at least, and its kind and text."""
RESTART = "restart of the server"
_PAUSE_S = 3.0
"""The supervisor samples the host each second: a longer gap between two samples is a pause of the load host."""
_STALL_US, _STALL_GAPS, _STALLS = 1_000_000, 20, 50
"""A stall of a client lasts this long at least, and so many of its mean times between operations; the longest are
events."""
_TOGETHER_US = 500_000
"""Stalls that begin within this time of each other are one."""
_Row = tuple[float, str, str, str]


def events(folder: RunFolder, manifest: Manifest) -> pd.DataFrame:
    """The events of a run in the order of their times: time_s (since its start), kind, text, source."""
    named = list(_of_server(folder))
    known = {kind for _, kind, _, _ in named}
    rows = [
        *named,
        *(one for one in _of_counters(folder) if one[1] not in known),
        *((at, RESTART, "", "counters") for at in manifest.measured.server_restarts_s or ()),
        *((one.start_us / 1e6, "fault", one.fault, "faults") for one in manifest.faults),
        *_settings(folder, manifest),
        *_plans(folder),
        *_stalls(folder, manifest),
        *_pauses(folder),
        *((one.time_s, "note", one.text, "by hand") for one in manifest.annotations),
    ]
    return pd.DataFrame(sorted(rows), columns=list(_COLUMNS))


def _of_server(folder: RunFolder) -> Iterator[_Row]:
    found = table(folder, "events")
    for at_us, kind, text in [] if found is None else found[found["t_us"] >= 0].itertuples(index=False):
        yield at_us / 1e6, kind, text, "server"


def _of_counters(folder: RunFolder) -> Iterator[_Row]:
    """When a sample first showed that a counter had grown, and by how much; gauges that fell by half."""
    for name, (least, kind, text) in OF_GAUGES.items():
        for at in halved_s(gauge(folder, name), least):
            yield at, kind, text, "counters"
    for name, kind in OF_COUNTERS.items():
        samples = gauge(folder, name)
        grown = samples["value"].diff()
        for at, more in zip(samples["second"][grown > 0], grown[grown > 0], strict=True):
            if at > 0:
                yield float(at), kind, many(int(more), kind) if more > 1 else "", "counters"


def _settings(folder: RunFolder, manifest: Manifest) -> Iterator[_Row]:
    """The settings that are applied within a run, once for each slice."""
    switches, slices = table(folder, "switches"), manifest.plan.slices
    if switches is None or slices is None:
        return
    ends_us = switches.groupby("slice")[["position", "t_end_us"]].max()
    for position, end_us in ends_us.itertuples(index=False):
        words = ", ".join(f"{name}={value}" for name, value in slices.settings[position].items())
        yield end_us / 1e6, "settings", words or "of the baseline", "settings"


def _plans(folder: RunFolder) -> Iterator[_Row]:
    """When it was seen that the plan of a statement had changed."""
    with suppress(DamagedResult):  # the report has a run without its plans, too
        for at_s, name, what in changes_within(read_plans(folder.plans)):
            yield at_s, "changed plan", f"of {name}: it {what}", "plans"


def _stalls(folder: RunFolder, manifest: Manifest) -> Iterator[_Row]:
    """Times in which no operation of a client ended, though it ends many more."""
    if not manifest.operations or manifest.one_by_one or manifest.clock is None:
        return
    clients = manifest.plan.load.clients
    with operations_of(folder) as rows:
        each = len(clients[0])
        bins = rows.aggregate(
            f"virtual_user // {each} AS client, min(t_end_us)::BIGINT AS first_us, max(t_end_us)::BIGINT AS last_us, "
            "count(*)::BIGINT AS ended",
            f"client, t_end_us // {_STALL_US}",
        ).df()
    bins = bins.sort_values(["client", "first_us"])
    of_client = bins.groupby("client")
    gaps = bins.assign(
        begin_us=of_client["last_us"].shift(), length_us=bins["first_us"] - of_client["last_us"].shift()
    )
    mean_us = (of_client["last_us"].max() - of_client["first_us"].min()) / of_client["ended"].sum()
    least_us = np.maximum(gaps["client"].map(mean_us) * _STALL_GAPS, _STALL_US)
    found = gaps[(gaps["length_us"] >= least_us) & (gaps["begin_us"] >= 0)].sort_values("begin_us")
    groups = (found["begin_us"].diff() > _TOGETHER_US).cumsum()
    together = found.groupby(groups).agg(
        begin_us=("begin_us", "min"),
        length_us=("length_us", "max"),
        client=("client", "first"),
        n=("client", "nunique"),
    )
    for begin_us, length_us, client, n in together.nlargest(_STALLS, "length_us").itertuples(index=False):
        who = f"client {int(client)}" if n == 1 else f"{int(n)} of {len(clients)} clients"
        text = f"no {manifest.noun} of {who} ended for {length_us / 1e6:.1f} s"
        yield begin_us / 1e6, "stall", text, "operations"


def _pauses(folder: RunFolder) -> Iterator[_Row]:
    """Times in which the load host, and so every client, did not run."""
    host = table(folder, "host")
    at_s = np.empty(0) if host is None else np.sort(host["t_us"].to_numpy()) / 1e6
    for begin, length in zip(at_s, np.diff(at_s), strict=False):
        if length > _PAUSE_S and begin >= 0:
            yield float(begin), "pause of the load host", f"nothing was sampled for {length:.1f} s", "host"
