"""Sessions: stretches of consecutive measuring on one host, whose runs share what the host was like then.

What a reboot, a neighbour on the machine or a warm cache does to a run lasts for hours, so runs of one session are
alike beyond what their own noise would make them (Kalibera and Jones 2013, ISMM, 63-74: repeat on the highest level
that varies). A session ends with a pause of ``SESSION_GAP``, and with a reboot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from hdbkit.later import pandas as pd
from hdbkit.results.manifest import Manifest

SESSION_GAP = timedelta(hours=2)
"""A run that starts so long after the one before begins a session."""


def session_numbers(started: pd.Series[Any], ended: pd.Series[Any] | None = None) -> pd.Series[int]:
    """The number of each run's session on one host; ``started`` ascending, as times or their ISO texts.

    Without ``ended`` a pause is taken from one start to the next.
    """
    begin, end = (
        pd.to_datetime(one, utc=True, format="ISO8601") for one in (started, started if ended is None else ended)
    )
    return (begin - end.cummax().shift() >= SESSION_GAP).astype(int).cumsum()


def runs_of(sides: Mapping[str, Sequence[Manifest]]) -> pd.DataFrame:
    """The runs of several sides in the order of time, with their sessions.

    Args:
        sides: by the name of a side its runs, each with a value of its metric.

    Returns:
        A row per run: ``side``, ``run_id``, ``started``, ``ended``, ``virtual_users``, ``metric_value``, ``session``
        (text; runs of one session have the same, on whichever side they are), ``block`` (of its experiment; 0
        without one), ``alternated`` (the same number of two runs whose loads alternated; 0 of others).
    """
    rows = [
        {
            "side": side,
            "run_id": one.run_id,
            **times_of(one),
            "virtual_users": one.plan.load.virtual_users,
            "metric_value": _compared_value(one),
            "block": one.plan.experiment.block if one.plan.experiment else 0,
            "alternated": one.plan.side_slices.origin_ns if one.plan.side_slices else 0,
            "host": str(one.host.boot_id or one.host.name),
        }
        for side, manifests in sides.items()
        for one in manifests
    ]
    runs = pd.DataFrame(rows).sort_values(["started", "run_id"], kind="stable", ignore_index=True)
    numbers = pd.concat([session_numbers(part["started"], part["ended"]) for _, part in runs.groupby("host")])
    return runs.assign(session=runs["host"] + " " + numbers.astype(str)).drop(columns="host")


def _compared_value(manifest: Manifest) -> float:
    assert manifest.compared_value is not None
    return manifest.compared_value


def times_of(manifest: Manifest) -> dict[str, Any]:
    """When a run started, and when its window ended: ``started`` and ``ended``."""
    clock = manifest.clock
    begin = manifest.history[0].at if manifest.history else clock.start_wall if clock else None
    end = clock.start_wall + timedelta(microseconds=clock.window_end_us or 0) if clock else begin
    started, ended = (pd.to_datetime(at, utc=True) if at else pd.NaT for at in (begin, end))
    return {"started": started, "ended": ended}
