"""Every chart that the project draws, of synthetic data; all runs have a rampup of 2 s."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from hdbkit.analysis.details import readable
from hdbkit.analysis.summary import summarize
from hdbkit.charts.chart import Chart
from hdbkit.charts.compare_charts import compare_charts
from hdbkit.charts.run_charts import run_charts
from hdbkit.charts.scaling_charts import throughput_over_users
from hdbkit.charts.whole_sweep import whole_sweep
from hdbkit.results import columns
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from tests.unit.synthetic import GRID, sweep_frames, transactions, write_run, write_table


def finished(path: Path, seed: int = 1, users: int = 4) -> tuple[RunFolder, Manifest]:
    """A run of 8 s with its result, and with deadlocks and other failures."""
    rows = transactions(users, 10.5, seed, failed=0.003)
    failed = rows["outcome"] == 2
    rows.loc[failed, "error_class"] = np.random.default_rng(seed).choice([1, 2, 8], failed.sum())
    made = write_run(path, users=users, duration_s=8, rows=rows)
    kinds = {
        "error_class": ["deadlock", "other"],
        "code": ["40P01", "XX000"],
        "text": ["deadlock detected", "something else"],
        "transaction": ["new_order", "payment"],
        "count": [9, 12],
        "retried": [3, 0],
        "first_us": [1_500_000, 2_500_000],
        "last_us": [8_500_000, 9_500_000],
    }
    write_table(made.folder.table("errors"), pd.DataFrame(kinds), columns.ERRORS)
    manifest = made.manifest.model_copy(update={"result": summarize(made.folder, made.manifest)})
    made.folder.write(manifest)
    return made.folder, manifest


def every_chart(root: Path) -> dict[str, Chart]:
    """By what they are of and their key, such as ``run latency``."""
    run, other = finished(root / "a-run"), finished(root / "another", seed=2, users=2)
    found = {f"run {chart.key}": chart for chart in run_charts(*run)}
    for name, users in (("sweep", (4,)), ("users-sweep", (1, 4))):
        runs, verdicts, effects = sweep_frames(users=users)
        ids = list(runs["run_id"])
        for run_id in ids:
            folder = RunFolder(root / run_id)
            folder.path.mkdir(exist_ok=True)
            folder.write(run[1].model_copy(update={"run_id": run_id}))
            folder.table("seconds").write_bytes(run[0].table("seconds").read_bytes())
        kept = readable([RunFolder(root / run_id) for run_id in ids])
        charts = whole_sweep(runs, verdicts, effects, list(GRID), 0.02, kept)
        found |= {f"{name} {chart.key}": chart for chart in charts}
    found |= {f"compare {one.key}": one for one in compare_charts({"old": [run], "new": [other]})}
    rows = [(n, u, 100.0 * u * k) for n, k in (("a", 1), ("b", 2)) for u in (1, 16) for k in (k, k * 1.1)]
    many = throughput_over_users(pd.DataFrame(rows, columns=["label", "virtual_users", "nopm"]))
    return found | {"groups users": many}
