"""What the server did, and how the data grew, as tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from hdbkit.analysis.run_doubts import size
from hdbkit.analysis.server_deeds import deeds, found_in_cache_pct
from hdbkit.analysis.starts import data_by_block
from hdbkit.report.tables import UNKNOWN, Table, cell, number, text_table
from hdbkit.results.manifest import Manifest

TITLE = "What the server did"
_COMPARED = (
    *("log written (bytes)", "full-page images in the log", "pages read from files", "writes to files"),
    *("time waited for row locks (ms)", "deadlocks"),
)
"""The deeds that a sweep compares."""


def server_work(result: Mapping[str, Any]) -> list[Table]:
    """The deeds of the window, a transaction and in all; none where the server counts nothing but its commits."""
    rows = [[one.what, UNKNOWN if one.each is None else number(one.each), number(one.total)] for one in deeds(result)]
    for what, share in (
        ("found in the server's cache (%)", found_in_cache_pct(result)),
        ("sessions that wait for a lock, on average", result.get("waiting_locks")),
    ):
        rows += [[what, "", number(share)]] if share is not None else []
    data = result.get("data")
    if data and data["bytes_before"]:
        rows.append(["size of the data before the run", "", size(data["bytes_before"])])
        after = data["bytes_after"]
        rows += [["size of the data after it", "", size(after)]] if after else []
    head = ["by its own counters", "a transaction", "in the window"]
    return [Table(TITLE, head, rows, [False, True, True])] if rows else []


def work_by_configuration(manifests: Sequence[Manifest], labels: Mapping[int, str]) -> list[Table]:
    """The deeds of each configuration and count of virtual users, a transaction: means over its runs."""
    rows = [_of_run(manifest, labels) for manifest in manifests if manifest.plan.get("sweep")]
    frame = pd.DataFrame(rows)
    known = [name for name in frame.columns[2:] if frame[name].notna().any()]
    if not known:
        return []
    means = frame.groupby(["configuration", "virtual users"], sort=False)[known].mean().reset_index()
    shown = [[row[0], row[1], *(cell(one) for one in row[2:])] for row in means.itertuples(index=False)]
    return [text_table(f"{TITLE}, a transaction", [*means.columns], shown)]


def _of_run(manifest: Manifest, labels: Mapping[int, str]) -> dict[str, Any]:
    result, place = manifest.result, manifest.plan["sweep"]
    each = {one.what: one.each for one in deeds(result)}
    return {
        "configuration": labels.get(place["configuration"], UNKNOWN),
        "virtual users": manifest.plan["load"]["virtual_users"],
        **{what: each.get(what) for what in _COMPARED},
        "found in the server's cache (%)": found_in_cache_pct(result),
    }


def growth_table(manifests: Sequence[Manifest]) -> list[Table]:
    """The size of the data that each block of a sweep began and ended with, and the orders there."""
    rows = [
        [
            row["block"],
            _known(size, row["bytes_before"]),
            _known(size, row["bytes_after"]),
            _known(cell, row["orders_after"] - row["orders_before"]),
        ]
        for row in data_by_block(manifests).to_dict("records")
    ]
    head = ["block", "data before its first run", "data after its last run", "more orders"]
    return [text_table("Growth of the data", head, rows)] if rows else []


def _known(told: Any, value: float) -> str:
    return UNKNOWN if pd.isna(value) else str(told(value))
