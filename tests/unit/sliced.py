"""Runs whose configurations alternate, made of operations and changes of settings that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.metric import Metric
from hdbkit.plan import RunPlan
from hdbkit.results import columns
from hdbkit.slices import SERVER, SliceOrder, Slices
from tests.unit.sweeps import RATE
from tests.unit.synthetic import Synthetic, write_run, write_table

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
            "virtual_user": user, "slice": number, "place": order.place(number), "t_due_us": number * length_us,
            "t_start_us": number * length_us, "t_end_us": number * length_us + took_us,
        }
        for number in numbers
        for user in (users if planned.in_session else [SERVER])
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
        workload=WorkloadSpec(warehouses=max(users, 1)),
        load=Load(virtual_users=users, rampup_s=rampup_s, duration_s=duration_s),
        slices=planned,
    )
    made = write_run(path, rows=rows, plan=plan, metric=metric)
    if switches is not None:
        write_table(made.folder.table("switches"), switches, columns.SWITCHES)
    return made
