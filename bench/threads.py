"""The alternative that hdbkit does not use: all virtual users as threads of one process. For notebook 06 and tests.

The threads run the product's own client (:class:`hdbkit.execution.client.Client`) with its connection, loop and
spool, so that what differs is only that they share one interpreter and its lock.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.execution.client import Client, ClientPlan
from hdbkit.execution.control import ClientState, Control, Field
from hdbkit.plan import RunPlan
from hdbkit.results.columns import Outcome
from hdbkit.results.spool import is_committed, read_spools
from hdbkit.workloads import workload

_READY_S = 60.0
_HEAD_START_NS = 200_000_000


def side_by_side(target: Target, load: Load, blocks: int = 2) -> pd.DataFrame:
    """Measure threads and processes in turn, this number of times, on the same server.

    A row each, its medians: group, setting, virtual_users, metric_value, client_cpu_us (per operation), client_cores
    (processors busy with clients).
    """
    ways = {"Python threads": in_threads, "Python processes (hdbkit)": in_processes}
    measured = [{"setting": name, **way(target, load)} for _ in range(blocks) for name, way in ways.items()]
    rows = pd.DataFrame(measured).groupby("setting", sort=False).median().reset_index()
    return rows.assign(group="here, now", virtual_users=load.virtual_users)


def in_threads(target: Target, load: Load) -> dict[str, float]:
    """One window with all virtual users as threads of one new process; figures as :func:`in_processes`."""
    from hdbkit.workloads.present import present_schema  # not at the top: the new process does not need it

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as one:
        return one.submit(_measure, target, present_schema(target), load).result()


def in_processes(target: Target, load: Load) -> dict[str, float]:
    """A run of hdbkit: metric_value, client_cpu_us (per operation), client_cores (processors busy with clients)."""
    import hdbkit

    done = hdbkit.run(target, load=load, label="06 processes").summary
    cpu_us = done.client_cpu_us_per_operation or 0.0
    return {
        "metric_value": done.metric_value or 0.0,
        "client_cpu_us": cpu_us,
        "client_cores": cpu_us * (done.operations_per_s or 0.0) / 1e6,
    }


def _measure(target: Target, schema: WorkloadSpec, load: Load) -> dict[str, float]:
    plan = RunPlan(run_id="threads", target=target, workload=schema, load=load)
    with tempfile.TemporaryDirectory(prefix="hdbkit-threads-") as name:
        folder = Path(name)
        (folder / "spools").mkdir()
        page = Control.create(folder / "control.bin", load.virtual_users)
        clients = [Client(folder, plan, ClientPlan(user.index, (user,))) for user in plan.users]
        threads = [threading.Thread(target=_live, args=(client,), daemon=True) for client in clients]
        for thread in threads:
            thread.start()
        _wait_until_ready(page)
        page.fields[Field.START_AT_NS] = time.monotonic_ns() + _HEAD_START_NS
        time.sleep(_HEAD_START_NS / 1e9 + load.rampup_s)
        began_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
        time.sleep(load.duration_s)
        ended_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns() - cpu_ns
        page.fields[Field.STOP_AT_NS] = ended_ns
        for thread in threads:
            thread.join()
        return _figures(folder, schema, began_ns, ended_ns, cpu_ns)


def _live(client: Client) -> None:
    try:
        client.live()
    except Exception as error:
        client.fail(error)


def _wait_until_ready(page: Control) -> None:
    deadline = time.monotonic() + _READY_S
    while not all(state is ClientState.READY for state in page.states()):
        if ClientState.FAILED in page.states() or time.monotonic() > deadline:
            raise RuntimeError("a thread could not connect")
        time.sleep(0.01)


def _figures(folder: Path, schema: WorkloadSpec, began_ns: int, ended_ns: int, cpu_ns: int) -> dict[str, float]:
    work, completed, counted = workload(schema), 0, 0
    rate = work.metric.rate
    of_rate = [work.operations.index(name) for name in rate.operations]
    for _, records in read_spools(folder / "spools"):
        inside = records[(records["end_ns"] >= began_ns) & (records["end_ns"] < ended_ns)]
        completed += int(np.count_nonzero(inside["outcome"] != int(Outcome.FAILED)))
        counted += int(np.count_nonzero(is_committed(of_rate, inside)))
    window_ns = ended_ns - began_ns
    return {
        "metric_value": counted * rate.per_s * 1e9 / window_ns,
        "client_cpu_us": cpu_ns / 1e3 / completed if completed else float("nan"),
        "client_cores": cpu_ns / window_ns,
    }
