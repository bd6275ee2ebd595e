"""Run folders made of numbers that are known: what a run writes, without a run.

``write_run`` gives a folder in the public format (``results/columns.py``), its manifest, and the rows as a frame,
so that a test can compute the answer in its own way. The metric is TPROC-C's unless another one is given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.api.sweeping import SweepResult
from hdbkit.arrivals import rate_of
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec, load_from
from hdbkit.config.metric import Better, Measure, Metric
from hdbkit.config.specs.tproc_h import TprocHLoad, TprocHSpec
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.experiment.plan import run_plan
from hdbkit.plan import RunPlan
from hdbkit.results import columns
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Clock, HostFacts, Manifest, ServerFacts, Status
from hdbkit.results.run_result import OperationResult, RunResult
from hdbkit.results.seconds import Seconds
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c import NOPM
from hdbkit.workloads.tproc_h import QUERY_TIME

METRIC = NOPM
NAMES = ["new_order", "payment", "order_status", "delivery", "stock_level"]
MEAN_TIME = Metric(
    name="mean query time", title="geometric mean of the query times", unit="s", measure=Measure.GEOMETRIC_MEAN
)
P95 = Metric(
    name="p95", title="95 % quantile of payment", unit="ms", measure=Measure.QUANTILE, operations=("payment",)
)
DETAILS = {"w_id": "int32", "d_id": "uint8", "o_id": "int32"}
RECORD = np.dtype([("start_ns", "<i8"), ("end_ns", "<i8"), ("operation", "u1"), ("outcome", "u1"), ("retries", "u1")])
"""What the table of seconds is made of."""
MEAN_US = np.array([900.0, 500.0, 250.0, 1500.0, 700.0])
SETTINGS = {
    "buffers": {"value": "256", "unit": "MB", "default": "128", "changed": True},
    "durable": {"value": "on", "unit": None, "default": "on", "changed": False},
}


@dataclass(frozen=True)
class Synthetic:
    """A run folder, its manifest, and the rows of its transactions."""

    folder: RunFolder
    manifest: Manifest
    rows: pd.DataFrame

    @property
    def inside(self) -> pd.DataFrame:
        """The rows that end in the measured window."""
        clock = self.manifest.clock
        assert clock is not None
        end = self.rows["t_start_us"] + self.rows["latency_us"]
        return self.rows[(end >= clock.window_start_us) & (end < clock.window_end_us)]


def write_table(path: Path, frame: pd.DataFrame, format_: dict[str, str]) -> None:
    """A frame as a Parquet file with the columns and types of ``results.columns``."""
    schema = pa.schema([(name, _type(kind)) for name, kind in format_.items()])
    pq.write_table(pa.Table.from_pandas(frame[list(format_)], schema=schema, preserve_index=False), path)


def _type(kind: str) -> pa.DataType:
    return pa.list_(_type(kind[5:-1])) if kind.startswith("list<") else pa.type_for_alias(kind)


def operations(
    users: int, seconds: float, seed: int = 1, failed: float = 0.0, gap_us: int = 20, drift: float = 0.0
) -> pd.DataFrame:
    """Closed loops of ``users`` over ``seconds``: exponential latencies plus 100 us, ``gap_us`` between calls.

    ``failed`` is the share of failures, ``drift`` how much slower (relative) the run is at its end.
    """
    draw = np.random.default_rng(seed)
    parts = []
    for user in range(users):
        n = int(seconds * 1e6 / 700)
        kind = draw.choice(5, n, p=[0.45, 0.43, 0.04, 0.04, 0.04])
        latency = 100 + draw.exponential(MEAN_US[kind] - 100)
        latency = (latency * (1 + drift * np.arange(n) / n)).astype(np.int64)
        start = np.r_[0, np.cumsum(latency + gap_us)[:-1]]
        outcome = np.where(draw.random(n) < failed, 2, np.where((kind == 0) & (draw.random(n) < 0.01), 1, 0))
        parts.append(
            pd.DataFrame(
                {
                    "virtual_user": user,
                    "t_start_us": start,
                    "latency_us": latency,
                    "wait_us": 0,
                    "operation": kind,
                    "outcome": outcome,
                    "retries": (draw.random(n) < 0.001).astype(int),
                    "error_class": np.where(outcome == 2, 1, 0),
                    "w_id": user + 1,
                    "d_id": draw.integers(1, 11, n),
                    "o_id": 0,
                }
            )
        )
    rows = pd.concat(parts, ignore_index=True)
    return rows[rows["t_start_us"] + rows["latency_us"] < seconds * 1e6].reset_index(drop=True)


def seconds_of(rows: pd.DataFrame, operations: int = len(NAMES)) -> pd.DataFrame:
    """The table of seconds that belongs to the rows."""
    records = np.zeros(len(rows), RECORD)
    records["start_ns"] = rows["t_start_us"] * 1000
    records["end_ns"] = (rows["t_start_us"] + rows["latency_us"]) * 1000
    for name in ("operation", "outcome", "retries"):
        records[name] = rows[name]
    seconds = Seconds(operations)
    seconds.add(records, 0)
    return pd.DataFrame(seconds.columns())


def counters_of(rows: pd.DataFrame, start_us: int, end_us: int, before: int = 3000) -> pd.DataFrame:
    """The counter queries of a server that counts exactly; each takes 2 ms around its edge."""
    end = rows["t_start_us"] + rows["latency_us"]
    lines = []
    for edge, at in (("run_start", 0), ("start", start_us), ("", (start_us + end_us) // 2), ("end", end_us)):
        done = rows[end <= at]
        orders = int(((done["operation"] == 0) & (done["outcome"] == 0)).sum())
        totals = {
            columns.COUNTED: before + orders,
            "commits": int((done["outcome"] == 0).sum()),
            "rollbacks": int((done["outcome"] != 0).sum()),
            "wal_bytes": 1000 * len(done),
        }
        sent = max(0, at - 1000) if edge != "run_start" else -2000
        returned = at + 1000 if edge != "run_start" else 0
        lines += [
            {"t_sent_us": sent, "t_returned_us": returned, "edge": edge, "name": k, "value": v}
            for k, v in totals.items()
        ]
    return pd.DataFrame(lines)


def host_of(
    seconds: float, cores: int = 2, steal: float = 0.0, pressure: float = 0.1, throttled: float = 0.0
) -> pd.DataFrame:
    """One sample a second: 50 % user, 20 % system, 5 % iowait, ``steal``, the rest idle; the server half of user."""
    t = np.arange(0, int(seconds) + 1, dtype=float)
    shares = {"user": 0.5, "system": 0.2, "iowait": 0.05, "steal": steal, "idle": 0.25 - steal}
    frame = pd.DataFrame({"t_us": (t * 1e6).astype(np.int64)})
    for part, share in shares.items():
        frame[f"cpu_{part}_s"] = share * cores * t
    frame["cpu_pressure_s"] = pressure * t
    frame["cpu_throttled_s"] = throttled * t
    frame["server_cpu_s"] = 0.25 * cores * t
    frame["sessions_cpu_s"] = 0.2 * cores * t
    frame["sessions_waited_s"] = 0.1 * t
    frame["supervisor_cpu_s"] = 0.05 * t
    for name in list(columns.HOST)[12:]:
        frame[name] = (t * 1_000_000).astype(np.int64)
    for name, share in {"cores_busy_s": 0.7, "cores_interrupts_s": 0.1}.items():
        frame[name] = [[share * at] * cores for at in t]
    return frame.assign(threads_running=3.0, threads_blocked=0.0, reading_s=0.0004 * t)


def server_host_of(
    seconds: int,
    *,
    user: float = 0.5,
    system: float = 0.2,
    iowait: float = 0.05,
    steal: float = 0.0,
    busy: float = 0.0,
    cores: int = 2,
    busiest: float = 0.95,
    running: float = 3.0,
) -> pd.DataFrame:
    """What an agent reported each second of a host whose disk sda is ``busy``, beside a disk that does nothing.

    Core 0 is as busy as ``busiest``, with interrupts alone; the others are idle.
    """
    shares = {"user": user, "system": system, "iowait": iowait, "steal": steal}
    shares["idle"] = 1 - sum(shares.values())
    totals = {(f"cpu_{part}_s", ""): share * cores for part, share in shares.items()}
    totals |= {("disk_busy_s", "sda"): busy, ("disk_reads", "sda"): 10, ("disk_writes", "sda"): 100}
    totals |= {("disk_read_bytes", "sda"): 1e5, ("disk_write_bytes", "sda"): 2e6, ("disk_busy_s", "sdb"): 0}
    totals |= {("net_sent_bytes", "eth0"): 3e6, ("net_received_bytes", "eth0"): 1e6}
    totals |= {("context_switches", ""): 20e3, ("interrupts", ""): 9e3, ("soft_interrupts_net_rx", ""): 5e3}
    totals |= {("reading_s", ""): 0.0004, ("numa_local_pages", "node0"): 300, ("numa_other_pages", "node0"): 100}
    levels = {"memory_used_bytes": 2.0**31, "memory_cached_bytes": 2.0**30, "threads_running": running}
    rows = [
        {"t_us": 1_000_000 * at, "name": name, "device": device, "value": 1000 + rate * at}
        for at in range(seconds + 1)
        for (name, device), rate in totals.items()
    ]
    rows += [
        {"t_us": 1_000_000 * at, "name": name, "device": "", "value": value}
        for at in range(seconds + 1)
        for name, value in levels.items()
    ]
    rows += [
        {"t_us": 1_000_000 * at, "name": name, "device": "", "by_core": [busiest * at, *[0.0] * (cores - 1)]}
        for at in range(seconds + 1)
        for name in ("cores_busy_s", "cores_interrupts_s")
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(by_core=frame["by_core"].map(lambda one: one if isinstance(one, list) else []))


def clients_of(rows: pd.DataFrame, users: int, cpu_s: float = 1.0) -> pd.DataFrame:
    """Clients that all ended as planned and used ``cpu_s`` in the window, each; a transaction is 2 round trips."""
    done = rows.groupby("virtual_user").size().reindex(range(users), fill_value=0)
    return pd.DataFrame(
        {
            "client": range(users),
            "users": 1,
            "first_user": range(users),
            "pid": [1000 + user for user in range(users)],
            "cpu_start_s": 0.25,
            "cpu_end_s": 0.25 + cpu_s,
            "waited_start_s": 0.1,
            "waited_end_s": 0.2,
            "operations": done.to_numpy(),
            "context_switches": 3.0 * done.to_numpy(),
            "sent_bytes": 100.0 * done.to_numpy(),
            "received_bytes": 400.0 * done.to_numpy(),
            "sent_segments": 2.0 * done.to_numpy(),
            "ended": "done",
        }
    )


def figures(metric_value: float | None, **changes: Any) -> RunResult:
    """The result of a run of which nothing but the metric, and ``changes``, is of interest."""
    law = {"users_by_law": 1.0, "users": 1, "ratio": 1.0, "mean_us": None, "outside_pct": None}
    plain = {
        "metric_value": metric_value,
        "engine_tpm": None,
        "window_s": 1.0,
        **dict.fromkeys(("completed", "failed", "retries", "operations_per_s"), 0),
        **dict.fromkeys(("client_cpu_us_per_operation", "server_cpu_us_per_operation", "host_cpu_pct")),
        "operations": {},
        "errors": {},
        "per_operation": {},
        "littles_law": law,
        "counters": {},
    }
    return RunResult.model_validate({**plain, **changes})


def plan_of(**fields: Any) -> RunPlan:
    """The plan of a run of which only these fields are of interest."""
    plain = {"run_id": "a-run", "target": Target(kind="nulldb"), "workload": TprocCSpec(warehouses=1), "load": Load()}
    return RunPlan.model_validate({**plain, **fields})


def changed(manifest: Manifest, **changes: Any) -> Manifest:
    """The manifest with other figures in its result."""
    result = RunResult.model_validate({**dict(manifest.measured), **changes})
    return manifest.model_copy(update={"result": result})


def operation(**figures: Any) -> OperationResult:
    """The figures of an operation of which only these are of interest."""
    counts = dict.fromkeys(("count", "committed", "rolled_back", "failed", "retries"), 0)
    return OperationResult.model_validate({**counts, **figures})


def write_run(
    path: Path,
    *,
    users: int = 4,
    rampup_s: float = 2,
    duration_s: float = 20,
    seed: int = 1,
    rows: pd.DataFrame | None = None,
    host: pd.DataFrame | None = None,
    load: dict[str, Any] | None = None,
    metric: Metric = METRIC,
    noun: str = "",
    label: str | None = None,
    plan: RunPlan | None = None,
    names: Sequence[str] = NAMES,
    details: Mapping[str, str] = DETAILS,
    **changes: Any,
) -> Synthetic:
    """A finished run at ``path``; ``changes`` go to :func:`operations`, ``load`` to the plan's load.

    ``names`` are the operations, and ``details`` the detail columns, of ``rows``.

    A ``plan`` is that of the run, instead of the target, load and label that the other arguments make.
    """
    plan = plan or RunPlan(
        run_id=path.name,
        target=Target(kind="nulldb", host="db1", database="bench"),
        workload=TprocCSpec(warehouses=users),
        load=load_from({"virtual_users": users, "rampup_s": rampup_s, "duration_s": duration_s, **(load or {})}),
        label=label,
    )
    users, rampup_s, duration_s = plan.load.virtual_users, plan.load.rampup_s, plan.load.duration_s
    start_us, end_us = int(rampup_s * 1e6), int((rampup_s + duration_s) * 1e6)
    seconds = rampup_s + duration_s + 0.5
    rows = operations(users, seconds, seed, **changes) if rows is None else rows
    folder = RunFolder(path)
    folder.operations.mkdir(parents=True)
    for user, part in rows.groupby("virtual_user"):
        write_table(folder.operations / f"user-{user:05d}.parquet", part, columns.OPERATIONS | dict(details))
    write_table(folder.table("seconds"), seconds_of(rows, len(names)), columns.SECONDS)
    write_table(folder.table("counters"), counters_of(rows, start_us, end_us), columns.COUNTERS)
    write_table(folder.table("host"), host_of(seconds + 1) if host is None else host, columns.HOST)
    write_table(folder.table("clients"), clients_of(rows, users), columns.CLIENTS)
    folder.settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
    work = workload(plan.workload)
    manifest = Manifest(
        run_id=path.name,
        notice=work.notice,
        status=Status.DONE,
        plan=plan,
        operations=list(names),
        mix=work.mix(plan.load),
        rollback_shares=work.rollback_shares(plan.load),
        details=dict(details),
        metric=metric,
        paced=plan.load.paced,
        rate_per_s=rate_of(plan.workload, plan.load),
        workload_title=work.title,
        noun=noun or work.noun,
        scale=work.scale,
        detail_charts=list(work.detail_charts),
        lists=[(list(listed), times) for listed, times in work.listed(plan.load)],
        command=f"hdbkit run nulldb://db1/bench --users {users}",
        software={"hdbkit": "1.0.0", "python": "3.11"},
        host=HostFacts(processor="a <fast> one", cores=2),
        server=ServerFacts(version="nulldb 1 & more"),
        clock=Clock(
            start_monotonic_ns=0,
            start_wall=datetime(2026, 1, 1, tzinfo=UTC),
            window_start_us=start_us,
            window_end_us=end_us,
        ),
    )
    folder.write(manifest)
    return Synthetic(folder, manifest, rows)


def with_result(made: Synthetic) -> Synthetic:
    """The same run, with its result in its manifest."""
    manifest = made.manifest.model_copy(update={"result": summarize(made.folder, made.manifest)})
    made.folder.write(manifest)
    return replace(made, manifest=manifest)


def write_queries(
    path: Path, times_s: Mapping[str, float], *, users: int = 1, failed: Sequence[str] = ()
) -> Synthetic:
    """A run, with its result, in which each user executes each query once, the n-th one n times as slowly."""
    rows, names = [], list(times_s)
    for user in range(users):
        at = 0
        for number, (name, seconds) in enumerate(times_s.items()):
            taken = round(seconds * (user + 1) * 1e6)
            record = {"virtual_user": user, "t_start_us": at, "latency_us": taken, "wait_us": 0, "operation": number}
            outcome = {"outcome": 2, "error_class": 4} if name in failed else {"outcome": 0, "error_class": 0}
            rows.append({**record, **outcome, "retries": 0, "stream": user + 1, "rows": 10 * number})
            at += taken
    plan = RunPlan(
        run_id=path.name,
        target=Target(kind="nulldb", host="db1", database="bench"),
        workload=TprocHSpec(scale_factor=0.01),
        load=TprocHLoad(
            virtual_users=users,
            rampup_s=0,
            duration_s=1e-6 * max(r["t_start_us"] + r["latency_us"] for r in rows) + 1,
        ),
    )
    frame = pd.DataFrame(rows)
    return with_result(
        write_run(
            path,
            plan=plan,
            rows=frame,
            names=names,
            details={"stream": "uint16", "rows": "uint32"},
            metric=QUERY_TIME.model_copy(update={"operations": tuple(names)}),
        )
    )


def write_errors(folder: RunFolder, text: str = "something else") -> None:
    """Deadlocks of new_order, some of them retried, and other errors of payment."""
    kinds = {
        "error_class": ["deadlock", "other"],
        "code": ["40P01", "XX000"],
        "text": ["deadlock detected", text],
        "operation": ["new_order", "payment"],
        "count": [9, 12],
        "retried": [3, 0],
        "first_us": [1_500_000, 2_500_000],
        "last_us": [8_500_000, 9_500_000],
    }
    write_table(folder.table("errors"), pd.DataFrame(kinds), columns.ERRORS)


def write_sweep(root: Path, spec: SweepSpec) -> ExperimentFolder:
    """A finished sweep below the folder of all results, with its runs."""
    experiment_id = "20260102-000000-sweep-abc"
    planned, folder = plan_sweep(Target(kind="nulldb"), spec, experiment_id), experiment_folder(root, experiment_id)
    folder.write_plan(planned)
    for one in planned.runs:
        plan = run_plan(planned, one, datetime(2026, 1, 2, tzinfo=UTC))
        made = with_result(write_run(root / plan.run_id, plan=plan, seed=one.number))
        settings = {name: {"value": value} for name, value in planned.configurations[one.configuration].items()}
        made.folder.settings.write_text(json.dumps(SETTINGS | settings), encoding="utf-8")
        folder.append(Step.RUN_FINISHED, one.number, plan.run_id)
    return folder


GRID = {"buffers": ["64MB", "256MB"], "durable": ["on", "off"]}
BASELINE = {name: values[0] for name, values in GRID.items()}


def sweep_runs(
    blocks: int = 3, users: tuple[int, ...] = (4,), seed: int = 1, metric: Metric = METRIC
) -> pd.DataFrame:
    """The runs of a 2 x 2 sweep: ``durable=off`` is 1.4 times as fast, ``buffers=256MB`` 1.01."""
    draw = np.random.default_rng(seed)
    runs: list[dict[str, Any]] = []
    for block in range(1, blocks + 1):
        plan = [(c, u) for c in range(4) for u in users]
        for configuration, count in draw.permutation(plan).tolist():
            off, big = configuration % 2 == 1, configuration >= 2
            rate = 20_000 * count**0.5 * (1.4 if off else 1) * (1.01 if big else 1) * draw.normal(1, 0.01)
            runs.append(
                {
                    "number": len(runs) + 1,
                    "block": block,
                    "configuration": configuration,
                    "virtual_users": count,
                    "buffers": GRID["buffers"][big],
                    "durable": GRID["durable"][off],
                    "run_id": f"20260101-{len(runs):06d}-nulldb-c-w4-u{count}-abc",
                    "status": "done",
                    "metric_value": rate if metric.better is Better.HIGHER else 1e4 / rate,
                    "operations_per_s": rate,
                    "note": "",
                    "checks_failed": (),
                    "fresh": False,
                }
            )
    return pd.DataFrame(runs)


def sweep_of(
    root: Path,
    runs: pd.DataFrame,
    finished: Sequence[tuple[RunFolder, Manifest]] = (),
    metric: Metric = METRIC,
    **known: Any,
) -> SweepResult:
    """A sweep with these runs, their verdicts and effects, as ``sweep_runs`` gives them, and nothing else.

    ``known`` are further parts of it, such as ``interaction_ratios``, ``answer`` or ``next_step``.
    """
    users = tuple(int(one) for one in sorted(runs["virtual_users"].unique()))
    settings = {name: tuple(values) for name, values in GRID.items()}
    spec = SweepSpec(name="demo", settings=settings, virtual_users=users, blocks=max(2, int(runs["block"].max())))
    plan = plan_sweep(Target(kind="nulldb"), spec, "20260101-000000-demo-abc")
    folder = experiment_folder(root, plan.experiment_id)
    folder.write_plan(plan)
    result = SweepResult(folder)
    nothing = (
        "interaction_ratios",
        "winner_ratios",
        "quantile_ratios",
        "operation_ratios",
        "plans",
        "notes",
        "warnings",
    )
    texts = {"answer": "", "next_step": "", "command": ""}
    measured = {"metric": metric, "runs": runs, "finished": list(finished), "scaling": pd.DataFrame()}
    ratios = {"cell_ratios": judge(runs, metric), "effect_ratios": main_effects(runs, metric, list(GRID), BASELINE)}
    vars(result).update({name: [] for name in nothing} | texts | measured | ratios | known)
    return result
