"""The metric of one profile over time: segments without a change, and what separates them.

A profile is a series of runs over virtual users that is repeated under one name. Each count of users is a series of
its own in the order of time; where the environment differs from that of the run before, a segment ends whatever the
values are. Between these boundaries change points are searched (``change_points``).

Runs of one session (a night, an afternoon) share what its host was like then, so with several sessions their means
are the series, and a change is found between sessions only. With one session its runs are the series.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hdbkit.analysis.comparison.sessions import session_numbers
from hdbkit.analysis.statistics.change_points import MAX_SERIES, breaks
from hdbkit.analysis.wording import change, than
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.kept import KeptSetting
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, virtual_users

HOST_FACTS = {"name", "system", "processor", "cores", "memory_bytes"}
"""The facts of the clients' host that two runs must share to be comparable."""
_ERROR_RATE = 0.05
"""The false discovery rate of change points, over all user counts."""
_COLUMNS = (
    "virtual_users",
    "since",
    "run_id",
    "runs",
    "metric_value",
    "operations_per_s",
    "ratio",
    "cause",
    "p",
    "what",
)
Environment = dict[str, str]


def environment_of(manifest: Manifest, settings: Mapping[str, KeptSetting]) -> Environment:
    """What makes runs comparable: server and its version, settings that are not the default, host, schema and load.

    ``settings`` are those that the run kept. The seeds and the number of virtual users are not part of it.
    """
    plan = manifest.plan
    parts: dict[str, Mapping[str, Any]] = {
        "server": manifest.server.model_dump(include={"kind", "version"}),
        "host": manifest.host.model_dump(include=HOST_FACTS),
        "schema": {name: value for name, value in manifest.schema_facts.items() if name != "seed"},
        "load": plan.load.model_dump(mode="json", exclude={"seed", "virtual_users"}),
        "setting": {name: one.value for name, one in settings.items() if one.changed},
    }
    return {f"{part}.{name}": str(value) for part, values in parts.items() for name, value in values.items()}


def segments(runs: pd.DataFrame, metric: Metric, environments: Mapping[str, Environment]) -> pd.DataFrame:
    """The segments of each count of virtual users, in the order of time.

    Args:
        runs: one row per run: ``run_id``, ``started`` (text that sorts by time), ``virtual_users``, ``metric_value``
        (above 0), ``operations_per_s``.
        environments: by run_id, as :func:`environment_of` gives them.

    Returns:
        A row each with ``virtual_users``, ``since`` (start of its first run), ``run_id`` of that, ``runs`` (that
        count), ``metric_value`` (their geometric mean), ``operations_per_s`` (mean), ``ratio`` of scores to the
        segment before (NaN for the first), ``cause`` (first, change point, environment), ``p`` of a change point's
        test, ``what`` differs in the environment. At most the newest ``change_points.MAX_SERIES`` runs of a count are
        searched.
    """
    all_runs = runs.sort_values("started").assign(session=lambda one: session_numbers(one["started"]))
    series = {
        users: all_runs[all_runs["virtual_users"] == users].tail(MAX_SERIES).reset_index(drop=True)
        for users in sorted(all_runs["virtual_users"].astype(int).unique().tolist())
    }
    forced = {users: _boundaries(part, environments) for users, part in series.items()}
    stretches = [
        (users, *_units(part.iloc[start:end]))
        for users, part in series.items()
        for start, end in pairwise([0, *forced[users], len(part)])
    ]
    tested: dict[int, dict[int, float]] = {users: {} for users in series}
    found = breaks([values for _, _, values in stretches], _ERROR_RATE)
    for (users, places, _), changes in zip(stretches, found, strict=True):
        tested[users] |= {places[one.at]: one.p for one in changes}
    rows = [
        row for users, part in series.items() for row in _segments(users, part, metric, forced[users], tested[users])
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _boundaries(series: pd.DataFrame, environments: Mapping[str, Environment]) -> dict[int, str]:
    """The places at which the environment differs from that of the run before, and in what."""
    surroundings = [environments[run_id] for run_id in series["run_id"]]
    return {
        at: differing(before, after)
        for at, (before, after) in enumerate(pairwise(surroundings), 1)
        if before != after
    }


def _units(part: pd.DataFrame) -> tuple[list[int], list[float]]:
    """The place of the first run of each unit, and its mean on the log scale."""
    logs = part["metric_value"].astype(float).map(np.log)
    if part["session"].nunique() == 1:
        return part.index.tolist(), logs.tolist()
    firsts = part[~part["session"].duplicated()].index
    return firsts.tolist(), logs.groupby(part["session"]).mean().tolist()


def _segments(
    users: int, series: pd.DataFrame, metric: Metric, forced: Mapping[int, str], tested: Mapping[int, float]
) -> list[dict[str, Any]]:
    edges = sorted({0, *forced, *tested})
    rows: list[dict[str, Any]] = []
    for start, end in zip(edges, [*edges[1:], len(series)], strict=True):
        part = series.iloc[start:end]
        mean = float(np.exp(np.log(part["metric_value"].astype(float)).mean()))
        rows.append(
            {
                "virtual_users": users,
                "since": part["started"].iloc[0],
                "run_id": part["run_id"].iloc[0],
                "runs": len(part),
                "metric_value": mean,
                "operations_per_s": float(part["operations_per_s"].astype(float).mean()),
                "ratio": metric.score(mean / rows[-1]["metric_value"]) if rows else float("nan"),
                "cause": "environment" if start in forced else "change point" if start in tested else "first",
                "p": tested.get(start, float("nan")),
                "what": forced.get(start, ""),
            }
        )
    return rows


def differing(before: Environment, after: Environment) -> str:
    """What differs between two environments: ``server.version 17 -> 18, host.cores 4 -> 8``."""
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return ", ".join(f"{name} {before.get(name, 'default')} -> {after.get(name, 'default')}" for name in names)


def change_sentences(found: pd.DataFrame, metric: Metric) -> list[str]:
    """What changed, a sentence without its full stop for each segment after the first, newest first."""
    later = found[found["cause"] != "first"].sort_values("since", ascending=False)
    sentences = []
    for row in later.to_dict("records"):
        where = f"{str(row['since'])[:16].replace('T', ' ')}, {virtual_users(row['virtual_users'])}"
        change_words = f"{change(row['ratio'], metric)} {than(row['ratio'], metric)} before"
        moved = f"{change_words} ({many(row['runs'], 'run')} since)"
        why = f"the environment changed ({row['what']})" if row["what"] else f"change point (p = {row['p']:.3f})"
        sentences.append(f"{where}: {moved}: {why}")
    return sentences


def history_answer(name: str, found: pd.DataFrame, runs: int) -> str:
    """The history in one sentence."""
    points = int((found["cause"] == "change point").sum())
    forced = int((found["cause"] == "environment").sum())
    found_points = f"{many(points, 'change point')}" if points else "no change point"
    boundary = f", {many(forced, 'change')} of the environment" if forced else ""
    counts = many(found["virtual_users"].nunique(), "count")
    return f"The profile {name} has {found_points} in {many(runs, 'run')} at {counts} of virtual users{boundary}."
