"""Runs whose configurations alternate, made of operations and changes of settings that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path

import numpy as np
import pandas as pd

from hdbkit.analysis.run.quantiles import QUANTILES
from hdbkit.analysis.run.slices import SliceTable, slices_result
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec
from hdbkit.config.metric import Metric
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.experiment.plan import run_plan
from hdbkit.plan import RunPlan
from hdbkit.results import columns
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.experiment_runs import run_facts
from hdbkit.results.journal import Step
from hdbkit.slices import ON_SERVER, SliceOrder, Slices
from tests.unit.sweeps import RATE
from tests.unit.synthetic import Synthetic, figures, write_run, write_table

SLICE_S = 0.1
SLICE_US = 100_000
PLAIN = {"wait_us": 0, "outcome": 0, "retries": 0, "error_class": 0, "w_id": 1, "d_id": 1, "o_id": 0}


def slices(count: int = 2, *, in_session: bool = True, slice_s: float = SLICE_S, seed: int = 1) -> Slices:
    """The slices of ``count`` configurations."""
    settings = tuple({"work_mem": f"{one + 1}MB"} for one in range(count))
    return Slices(
        configurations=tuple(range(count)), settings=settings, slice_s=slice_s, seed=seed, in_session=in_session
    )


def changes(
    planned: Slices, numbers: Sequence[int], users: Sequence[int] = (0,), took_us: int = 1000
) -> pd.DataFrame:
    """The changes of settings at the beginning of slices, each ``took_us`` late."""
    order, length_us = SliceOrder(planned), planned.slice_ns // 1000
    rows = [
        {
            "virtual_user": user, "slice": number, "position": order.position(number), "t_due_us": number * length_us,
            "t_start_us": number * length_us, "t_end_us": number * length_us + took_us,
        }
        for number in numbers
        for user in (users if planned.in_session else [ON_SERVER])
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(columns.SWITCHES))


def loop(
    end_s: float, latency_us: Callable[[int], int], users: int = 1, operation: Callable[[int], int] = lambda _: 0
) -> pd.DataFrame:
    """Closed loops without a gap: ``latency_us`` of an operation that starts at a time, in microseconds."""
    rows = []
    for user in range(users):
        at, number = 0, 0
        while at < end_s * 1e6:
            took = latency_us(at)
            rows.append({"virtual_user": user, "t_start_us": at, "latency_us": took, "operation": operation(number)})
            at, number = at + took, number + 1
    return pd.DataFrame(rows).assign(**PLAIN)


def sliced_run(
    path: Path,
    rows: pd.DataFrame,
    planned: Slices,
    switches: pd.DataFrame | None,
    *,
    users: int = 1,
    rampup_s: float = 0.2,
    duration_s: float = 0.8,
    metric: Metric = RATE,
) -> Synthetic:
    """A finished run with these operations and changes; by default its window has 8 slices, from number 2 on."""
    plan = RunPlan(
        run_id=path.name,
        target=Target(kind="nulldb", host="db1", database="bench"),
        workload=TprocCSpec(warehouses=max(users, 1)),
        load=Load(virtual_users=users, rampup_s=rampup_s, duration_s=duration_s),
        slices=planned,
    )
    made = write_run(path, rows=rows, plan=plan, metric=metric)
    if switches is not None:
        write_table(made.folder.table("switches"), switches, columns.SWITCHES)
    return made


def slice_frame(
    planned: Slices,
    cycles: int,
    ratios: Sequence[float],
    draw: np.random.Generator,
    noise: float = 0.05,
    left_behind: Sequence[float] = (),
) -> pd.DataFrame:
    """The table of slices of a run with these ratios of speed; ``left_behind`` is the ratio after each position."""
    size, order = len(planned.configurations), SliceOrder(planned)
    counted = np.array([*islice(filter(order.counts, count(1)), cycles)])
    number = (counted[:, None] * size + np.arange(size)).ravel()
    position = np.array([order.position(int(one)) for one in number])
    before = np.array([order.position(int(one) - 1) for one in number])
    after = np.array(left_behind or [1.0] * size)[before]
    value = 1000 * np.array(ratios)[position] * after * np.exp(draw.normal(0, noise, len(number)))
    kept = {"slice": number, "cycle": number // size, "position": position, "configuration": position}
    return pd.DataFrame(kept | {"metric_value": value, "operations_per_s": value})


def write_sliced_sweep(
    root: Path,
    ratios: Sequence[float],
    *,
    blocks: int = 3,
    cycles: int = 24,
    noise: float = 0.05,
    left_behind: Sequence[float] = (),
    done: int | None = None,
    seed: int = 1,
    unusable: Sequence[int] = (),
) -> ExperimentFolder:
    """A sweep in which ``len(ratios)`` configurations alternate in each run, of which the first ``done`` are done.

    The runs with these numbers are ``unusable``.
    """
    draw, planned = np.random.default_rng(seed), slices(len(ratios), slice_s=0.25)
    settings = {"work_mem": tuple(f"{one + 1}MB" for one in range(len(ratios)))}
    spec = SweepSpec(name="slices", settings=settings, virtual_users=(2,), blocks=blocks, load=Load(duration_s=60))
    whole = plan_sweep(Target(kind="nulldb"), spec, "20260102-000000-slices-abc")
    runs = [next(run for run in whole.runs if run.block == block) for block in range(1, blocks + 1)]
    runs = [run.model_copy(update={"number": number, "configuration": 0}) for number, run in enumerate(runs, 1)]
    plan = whole.model_copy(update={"runs": tuple(runs), "slices": planned})
    folder = experiment_folder(root, plan.experiment_id)
    folder.write_plan(plan)
    for run in runs[:done]:
        of_run = run_plan(plan, run, datetime(2026, 1, 2, tzinfo=UTC))
        made = write_run(root / of_run.run_id, rows=loop(1, lambda _: 50_000), plan=of_run, metric=RATE)
        assert of_run.slices is not None
        frame = slice_frame(of_run.slices, cycles, ratios, draw, noise, left_behind)
        names = [f"{name}_us" for name in QUANTILES]
        latencies = [
            (position, 0, 1000, *(1000 * ratios[position] * draw.normal(1, 0.01, 5)))
            for position in set(frame["position"])
        ]
        quantiles = pd.DataFrame(latencies, columns=["position", "operation", "n", *names])
        found = SliceTable(frame, 0.012, cycles, 1, "", quantiles)
        if run.number in unusable:
            found = SliceTable(frame.iloc[:0], None, 0, cycles, "no change of settings was recorded", quantiles[:0])
        write_table(made.folder.table("slices"), found.rows, columns.SLICES)
        result = figures(1000.0, slices=slices_result(found, made.manifest))
        manifest = made.manifest.model_copy(update={"result": result})
        made.folder.write(manifest)
        folder.append(Step.RUN_FINISHED, run.number, of_run.run_id, **run_facts(manifest))
    return folder
