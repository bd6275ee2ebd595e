"""What happened in a run, on its time axis: what the server did, faults, settings, pauses of the host, and notes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from hdbkit.analysis.run.records import table
from hdbkit.analysis.run.timeline import gauge, purges_s
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import many

COLUMNS = ("time_s", "kind", "text", "source")
OF_COUNTERS = {
    "checkpoints": "checkpoint",
    "autovacuums": "automatic vacuum",
    "deadlocks": "deadlock",
    "snapshots": "snapshot",
    "log_rewrites": "rewrite of the log",
}
"""Counters whose growth is an event. Where the server itself names events of a kind, the counter is left out."""
RESTART, PURGE = "restart of the server", "purge"
_PAUSE_S = 3.0
"""The supervisor samples the host each second: a longer gap between two samples is a pause of the load host."""
Row = tuple[float, str, str, str]


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
        *_pauses(folder),
        *((one.time_s, "note", one.text, "by hand") for one in manifest.annotations),
    ]
    return pd.DataFrame(sorted(rows), columns=list(COLUMNS))


def _of_server(folder: RunFolder) -> Iterator[Row]:
    found = table(folder, "events")
    for at_us, kind, text in [] if found is None else found[found["t_us"] >= 0].itertuples(index=False):
        yield at_us / 1e6, kind, text, "server"


def _of_counters(folder: RunFolder) -> Iterator[Row]:
    """When a sample first showed that a counter had grown, and by how much; purges of old row versions."""
    for at in purges_s(gauge(folder, "history_list_length")):
        yield at, PURGE, "the history list became shorter", "counters"
    for name, kind in OF_COUNTERS.items():
        samples = gauge(folder, name)
        grown = samples["value"].diff()
        for at, more in zip(samples["second"][grown > 0], grown[grown > 0], strict=True):
            if at > 0:
                yield float(at), kind, many(int(more), kind) if more > 1 else "", "counters"


def _settings(folder: RunFolder, manifest: Manifest) -> Iterator[Row]:
    """The settings that are applied within a run, once for each slice."""
    switches, slices = table(folder, "switches"), manifest.plan.slices
    if switches is None or slices is None:
        return
    ends_us = switches.groupby("slice")[["position", "t_end_us"]].max()
    for position, end_us in ends_us.itertuples(index=False):
        words = ", ".join(f"{name}={value}" for name, value in slices.settings[position].items())
        yield end_us / 1e6, "settings", words or "of the baseline", "settings"


def _pauses(folder: RunFolder) -> Iterator[Row]:
    """Times in which the load host, and so every client, did not run."""
    host = table(folder, "host")
    at_s = np.empty(0) if host is None else np.sort(host["t_us"].to_numpy()) / 1e6
    for begin, length in zip(at_s, np.diff(at_s), strict=False):
        if length > _PAUSE_S and begin >= 0:
            yield float(begin), "pause of the load host", f"nothing was sampled for {length:.1f} s", "host"
