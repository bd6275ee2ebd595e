"""Every chart of the project, from synthetic data; all runs have a ramp-up of 2 s."""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.by_operation import compared_by_operation
from hdbkit.analysis.comparison.history import segments
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.run.schedule import schedule_of
from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.statistics.detection import PooledNoise
from hdbkit.analysis.sweep.interactions import interactions
from hdbkit.analysis.sweep.operations import operation_verdicts
from hdbkit.api import PlannedPower
from hdbkit.arrivals import due_us
from hdbkit.charts.chart import Chart
from hdbkit.charts.compare_charts import compare_charts
from hdbkit.charts.history_chart import history_chart
from hdbkit.charts.run_charts import run_charts
from hdbkit.charts.scaling_charts import scaling_laws, throughput_over_users
from hdbkit.charts.schedule_charts import max_rate_chart
from hdbkit.charts.sweep_charts import whole_sweep
from hdbkit.config import Load
from hdbkit.results import columns
from hdbkit.results.finding import Finding
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.workloads.tproc_h import QUERY_TIME
from tests.unit.synthetic import (
    BASELINE,
    DETAILS,
    GRID,
    METRIC,
    changed,
    operations,
    server_host_of,
    sweep_of,
    sweep_runs,
    write_errors,
    write_queries,
    write_run,
    write_table,
)


def finished(path: Path, seed: int = 1, users: int = 4) -> tuple[RunFolder, Manifest]:
    """A run of 8 s with its result, and with deadlocks and other failures."""
    rows = operations(users, 10.5, seed, failed=0.003)
    failed = rows["outcome"] == 2
    rows.loc[failed, "error_class"] = np.random.default_rng(seed).choice([1, 2, 8], failed.sum())
    made = write_run(path, users=users, duration_s=8, rows=rows)
    write_errors(made.folder)
    write_table(made.folder.table("server_host"), server_host_of(10, busy=0.4), columns.SERVER_HOST)
    manifest = made.manifest.model_copy(update={"result": summarize(made.folder, made.manifest)})
    made.folder.write(manifest)
    return made.folder, manifest


_TIMES = {"p50_us": 800, "p95_us": 2000, "p99_us": 5000}
_STEPS = [
    {"step": f"4 s at {rate}/s", "start_s": 2, "end_s": 6, "offered_per_s": rate, "users": None, "failed": 0}
    | {"completed_per_s": 0.9 * rate, "service": _TIMES, "response": {key: rate * of for key, of in _TIMES.items()}}
    for rate in (100, 200)
]


def open_loop(path: Path) -> tuple[RunFolder, Manifest]:
    """A run of 8 s at a rate that it does not keep: of each user every second operation is served, ever later."""
    load = Load(rate=400, arrivals="uniform", virtual_users=2)
    served = [np.concatenate([*islice(due_us(load, 400, user), 3)])[::2] for user in range(2)]
    due = np.concatenate([one[one < 10_000_000] for one in served])
    rows = pd.DataFrame(dict.fromkeys([*columns.OPERATIONS, *DETAILS], np.zeros(len(due), np.int64)))
    users = np.repeat(range(2), [int((one < 10_000_000).sum()) for one in served])
    rows = rows.assign(virtual_user=users, t_start_us=due + due // 10, wait_us=due // 10, latency_us=800)
    made = write_run(path, users=2, duration_s=8, rows=rows, load={"rate": 400, "arrivals": "uniform"})
    found = schedule_of(made.folder, made.manifest)
    write_table(made.folder.table("schedule"), found.rows, columns.SCHEDULE)
    manifest = made.manifest.model_copy(update={"result": summarize(made.folder, made.manifest)})
    return made.folder, changed(manifest, schedule=found.result, steps=_STEPS)


def every_chart(root: Path) -> dict[str, Chart]:
    """By what they are of and their key, such as ``run latency``."""
    run, other = finished(root / "a-run"), finished(root / "another", seed=2, users=2)
    found = {f"run {chart.key}": chart for chart in run_charts(*run)}
    found |= {f"open-loop {chart.key}": chart for chart in run_charts(*open_loop(root / "open-loop"))}
    for name, users in (("sweep", (4,)), ("users-sweep", (1, 4))):
        runs = sweep_runs(users=users)
        ids = list(runs["run_id"])
        for run_id in ids:
            folder = RunFolder(root / run_id)
            folder.path.mkdir(exist_ok=True)
            folder.write(run[1].model_copy(update={"run_id": run_id}))
            folder.table("seconds").write_bytes(run[0].table("seconds").read_bytes())
        kept = readable([RunFolder(root / run_id) for run_id in ids])
        acting = interactions(runs, METRIC, list(GRID), BASELINE)
        charts = whole_sweep(sweep_of(root / name, runs, kept, interaction_ratios=acting))
        found |= {f"{name} {chart.key}": chart for chart in charts}
    found |= {f"compare {one.key}": one for one in compare_charts({"old": [run], "new": [other]})}
    found |= _of_queries(root)
    rows = [(n, u, 100.0 * u * k) for n, k in (("a", 1), ("b", 2)) for u in (1, 16) for k in (k, k * 1.1)]
    many = throughput_over_users(pd.DataFrame(rows, columns=["label", "virtual_users", "metric_value"]), METRIC)
    planned = PlannedPower(3, 1, (5,), PooledNoise(0.03, 0.02, 0.05), "3 recent sweeps")
    found |= {"plan power": planned.chart, "plan power assumed": PlannedPower(3, 1, (4, 8), None).chart}
    rates = pd.DataFrame({"rate": [50.0, 95.0, 105.0, 110.0], "value_ms": [2.0, 15.0, 40.0, float("nan")]})
    rates = rates.assign(run_id=["a", "b", "c", "d"], block=[0, 1, 1, 0], within=[True, True, False, False])
    names, words = ("transactions", "new_order"), "The highest rate is 99 transactions per second."
    found |= {"max rate": max_rate_chart(rates, (99.0, 95.0, math.inf), ("p95", 20.0), names, words)}
    return found | {"groups users": many, **{f"profile {one.key}": one for one in _profile_charts()}}


def _of_queries(root: Path) -> dict[str, Chart]:
    """The charts of runs, a comparison and a sweep whose 22 operations are measured one by one."""
    runs = sweep_runs(metric=QUERY_TIME)
    draw, kept, results = np.random.default_rng(2), [], {}
    for run_id, slow in zip(runs["run_id"], runs["metric_value"] / runs["metric_value"].min(), strict=True):
        times_s = {
            f"q{number:02d}": 0.02 * number**1.5 * slow ** (number / 11) * draw.normal(1, 0.01)
            for number in range(1, 23)
        }
        made = write_queries(root / f"q-{run_id}", times_s)
        kept.append((made.folder, made.manifest))
        results[run_id] = made.manifest.metric_value
    runs = runs.assign(metric_value=runs["run_id"].map(results), run_id="q-" + runs["run_id"])
    manifests = [manifest for _, manifest in kept]
    by_operation = operation_verdicts(runs, manifests, QUERY_TIME)
    charts = whole_sweep(sweep_of(root / "queries", runs, kept, QUERY_TIME, operation_ratios=by_operation))
    found = {f"queries-sweep {chart.key}": chart for chart in charts}
    sides = {BASE: kept[:3], NEW: kept[3:6]}
    listed = pd.DataFrame({"run_id": [one.run_id for one in manifests[:6]], "side": [BASE] * 3 + [NEW] * 3})
    listed = listed.assign(session=["a", "b", "c"] * 2, virtual_users=1, metric_value=list(results.values())[:6])
    ratio = compared(listed, QUERY_TIME)
    each = compared_by_operation(listed, manifests[:6], QUERY_TIME, ratio)
    finding = Finding(
        kind="comparison", question="", metric=QUERY_TIME, cells=(), ratios=tuple(each), best=ratio.ratio, answer="",
        smallest_effect=ratio.smallest_effect,
    )  # fmt: skip
    found |= {f"queries-compare {one.key}": one for one in compare_charts(sides, finding)}
    throughput = write_queries(root / "streams", {f"q{number:02d}": 0.1 * number for number in range(1, 23)}, users=3)
    for place, one in enumerate(kept[:6]):
        kept[place] = one[0], one[1].model_copy(update={"size": (0.1, 1.0)[place % 2], "scale": "scale factor 1"})
    several = compare_charts({"old": kept[:4], "new": kept[4:6]})
    found |= {f"queries-sizes {one.key}": one for one in several if one.key == "scale"}
    charts = run_charts(throughput.folder, throughput.manifest)
    return found | {f"queries {one.key}": one for one in charts if one.key == "profile"}


def _profile_charts() -> list[Chart]:
    """The law of scaling and the history of a profile of six counts in four nights, that fell after two."""
    draw = np.random.default_rng(1)
    rows = [
        (f"run-{night}-{users}", f"2026-01-0{night}T03:00:00+00:00", users, night,
         1000 * users / (1 + 0.05 * (users - 1) + 0.006 * users * (users - 1)) * draw.normal(1, 0.01))
        for night in range(1, 5)
        for users in (1, 2, 4, 8, 16, 32)
    ]  # fmt: skip
    runs = pd.DataFrame(rows, columns=["run_id", "started", "virtual_users", "block", "metric_value"])
    runs["operations_per_s"] = runs["metric_value"]
    releases = {
        run_id: {"server.version": "1" if block < 3 else "2"}
        for run_id, block in zip(runs["run_id"], runs["block"], strict=True)
    }
    law = scaling_laws(runs.assign(label="nightly"), METRIC)
    assert law is not None
    return [law, history_chart(runs, segments(runs, METRIC, releases), METRIC)]
