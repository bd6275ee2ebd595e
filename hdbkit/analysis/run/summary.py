"""The figures of a run, from the tables of its folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

from hdbkit.analysis.run.brackets import RUN_START
from hdbkit.analysis.run.counters import RUN_END, START, Growth, Reading, growth, moves_s, rate, readings, restarts_s
from hdbkit.analysis.run.host import (
    client_use,
    clients_us,
    growth_per_s,
    host_cpu_pct,
    mean_memory_bytes,
    others_cpu_pct,
    server_cpu_us,
    supervisor_cpu_us,
    throttled_pct,
)
from hdbkit.analysis.run.host_activity import host_use, of_load_host, of_server
from hdbkit.analysis.run.outages import outages
from hdbkit.analysis.run.quantiles import QUANTILES, RESPONSE_US, as_figures, counts, quantiles_of
from hdbkit.analysis.run.records import Window, operations_of, table, window_of
from hdbkit.analysis.run.server_work import full_page_rates, mean_waiting, replication_lag
from hdbkit.analysis.run.standstills import standstill
from hdbkit.analysis.run.waits import waits_result
from hdbkit.config.hosts import is_local
from hdbkit.config.metric import Measure
from hdbkit.later import pandas as pd
from hdbkit.readings import ENDS, OWN_COUNTS, REQUESTS
from hdbkit.results.columns import COUNTED, ERROR_CLASSES, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import DataSize, Latencies, LittlesLaw, OperationResult, RunResult


def summarize(folder: RunFolder, manifest: Manifest) -> RunResult:
    """The figures of a run, without those of its faults, slices, schedule and steps.

    Raises:
        DamagedResult: there is no measured window, or a file cannot be read.
    """
    window = window_of(manifest)
    histogram = counts(folder, window)
    users = _users(folder, window)
    counters = table(folder, "counters")
    grew = growth(counters)
    host, clients = table(folder, "host"), table(folder, "clients")
    by_outcome = {outcome: _sum(histogram, outcome) for outcome in Outcome}
    completed = by_outcome[Outcome.COMMITTED] + by_outcome[Outcome.ROLLED_BACK_BY_DESIGN]
    responses = counts(folder, window, RESPONSE_US) if manifest.paced else None
    operations = _by_operation(manifest, histogram, responses)
    judged = histogram if responses is None or not manifest.is_open else responses
    server_us, server_unknown = server_cpu_us(host, window, completed)
    found = RunResult(
        metric_value=_metric_value(manifest, window, judged, grew, operations),
        metric_unknown=_metric_unknown(manifest, operations),
        engine_tpm=_engine_tpm(counters, grew),
        window_s=window.duration_s,
        measured_s=_measured_s(manifest, window, grew),
        completed=completed,
        committed=by_outcome[Outcome.COMMITTED],
        rolled_back_by_design=by_outcome[Outcome.ROLLED_BACK_BY_DESIGN],
        failed=by_outcome[Outcome.FAILED],
        retries=int(histogram["retries"].sum()),
        operations_per_s=completed / window.duration_s,
        operations=operations,
        errors=_errors(histogram),
        client_cpu_us_per_operation=clients_us(clients, "cpu", users["n"]),
        client_waited_us_per_operation=clients_us(clients, "waited", users["n"]),
        client_and_supervisor_cpu_us_per_operation=_client_and_supervisor_us(host, clients, users["n"], window),
        server_cpu_us_per_operation=server_us,
        server_cpu_unknown=server_unknown,
        per_operation=client_use(clients),
        host_cpu_pct=host_cpu_pct(host, window),
        memory_used_bytes=mean_memory_bytes(host, window),
        disk_read_bytes_per_s=growth_per_s(host, "disk_read_bytes", window),
        disk_write_bytes_per_s=growth_per_s(host, "disk_write_bytes", window),
        others_cpu_pct=others_cpu_pct(host, clients, window, not is_local(manifest.plan.target.host)),
        throttled_pct=throttled_pct(host, window),
        load_host=host_use(of_load_host(folder), window),
        server_host=host_use(of_server(folder), window),
        littles_law=littles_law(users, window, manifest.plan.load.sessions),
        counters={name: one.value for name, one in grew.items()},
        waiting_locks=mean_waiting(counters),
        replication_lag_s=replication_lag(counters),
        server_restarts_s=restarts_s(counters),
        outages=outages(folder, window),
        server_moves_s=moves_s(counters),
        full_pages=full_page_rates(counters),
        standstill=standstill(folder, manifest, window),
        waits=waits_result(folder, manifest, window, operations),
        data=_data(counters),
        clients_lost=None if clients is None else int((clients["ended"] != "done").sum()),
    )
    return found if manifest.operations else _of_others(found)


def _client_and_supervisor_us(
    host: pd.DataFrame | None, clients: pd.DataFrame | None, done: pd.Series[int], window: Window
) -> float | None:
    client_us, supervisor_us = clients_us(clients, "cpu", done), supervisor_cpu_us(host, window, int(done.sum()))
    return None if client_us is None or supervisor_us is None else client_us + supervisor_us


def _of_others(found: RunResult) -> RunResult:
    """The figures of a load that another program sent, of which there is no record."""
    unknown = ("completed", "committed", "rolled_back_by_design", "failed", "retries", "operations_per_s")
    value = found.engine_tpm if found.metric_value is None else found.metric_value
    of_clients = ("client_cpu_us", "client_waited_us", "client_and_supervisor_cpu_us")
    costs = ("littles_law", *(f"{one}_per_operation" for one in of_clients))
    return found.model_copy(update={**dict.fromkeys((*unknown, *costs, "clients_lost"), None), "metric_value": value})


def _engine_tpm(counters: pd.DataFrame | None, grew: dict[str, Growth]) -> float | None:
    """Ended transactions per minute without hdbkit's own, else commands; None where the server counts neither."""
    known = readings(counters, START)
    ended = rate(grew, *([name for name in ENDS if name in known] or [REQUESTS]), per_s=60)
    own = rate(grew, OWN_COUNTS, per_s=60) or 0.0
    return None if ended is None else max(ended - own, 0.0)


def _metric_value(
    manifest: Manifest,
    window: Window,
    histogram: pd.DataFrame,
    grew: dict[str, Growth],
    operations: dict[str, OperationResult],
) -> float | None:
    """The value of the metric; None where it is not known, as when the schema's count was not read.

    ``histogram`` is of response times in an open loop, else of service times.
    """
    metric, names = manifest.metric, manifest.of_metric
    match metric.measure:
        case Measure.RATE:
            if metric.counter:
                return rate(grew, COUNTED, per_s=metric.per_s)
            if not manifest.operations:
                return None
            return metric.per_s * sum((operations[name].committed or 0) for name in names) / window.duration_s
        case Measure.QUANTILE:
            codes = [manifest.operations.index(name) for name in names]
            done = histogram[(histogram["outcome"] != Outcome.FAILED.value) & histogram["operation"].isin(codes)]
            latencies = done.groupby("latency_us", as_index=False)[["n"]].sum().assign(all=0)
            found = quantiles_of(latencies, ["all"], {"asked": metric.quantile}, every=True)
            return float(found["asked_us"].iloc[0]) / 1000 if len(found) else None
        case Measure.GEOMETRIC_MEAN:
            means_us = [mean_us for name in names if (mean_us := operations[name].mean_us)]
            if len(means_us) < len(names):
                return None
            return math.exp(sum(math.log(mean_us / 1e6) for mean_us in means_us) / len(means_us))
        case never:
            assert_never(never)


def _metric_unknown(manifest: Manifest, operations: dict[str, OperationResult]) -> str:
    """Which operations have no time, so that their geometric mean is unknown; empty if it is known."""
    if manifest.metric.measure is not Measure.GEOMETRIC_MEAN:
        return ""
    missing = [name for name in manifest.of_metric if not operations[name].mean_us]
    failed = [name for name in missing if operations[name].failed]
    others = [name for name in missing if not operations[name].failed]
    parts = ((failed, "failed and never completed"), (others, "not completed"))
    return "; ".join(f"{', '.join(names)}: {what}" for names, what in parts if names)


def _measured_s(manifest: Manifest, window: Window, grew: dict[str, Growth]) -> float | None:
    """The seconds that the metric's value refers to."""
    if manifest.metric.counter is None:
        return window.duration_s
    return grew[COUNTED].seconds if COUNTED in grew else None


def _data(counters: pd.DataFrame | None) -> DataSize | None:
    """The size of the data, and the schema's count, before the first and after the last operation; None: not read."""
    before, after = readings(counters, RUN_START), readings(counters, RUN_END)
    if "data_bytes" not in before:
        return None
    return DataSize(
        bytes_before=_value(before, "data_bytes"),
        counted_before=_value(before, COUNTED),
        bytes_after=_value(after, "data_bytes"),
        counted_after=_value(after, COUNTED),
    )


def _value(taken: Mapping[str, Reading], name: str) -> float | None:
    return taken[name].value if name in taken else None


def _sum(histogram: pd.DataFrame, outcome: Outcome) -> int:
    return int(histogram["n"].to_numpy()[histogram["outcome"].to_numpy() == outcome.value].sum())


def _by_operation(
    manifest: Manifest, histogram: pd.DataFrame, responses: pd.DataFrame | None
) -> dict[str, OperationResult]:
    """Counts and latencies of each operation that was planned, is counted by the metric, or was executed.

    Response times besides where operations have a scheduled start.
    """
    operation, outcome, n, retries = (histogram[one].to_numpy() for one in ("operation", "outcome", "n", "retries"))
    service = _latencies(histogram)
    response = None if responses is None else _latencies(responses)
    lines: dict[str, OperationResult] = {}
    for index, name in enumerate(manifest.operations):
        mine = operation == index
        if not mine.any() and name not in (*manifest.planned, *manifest.of_metric):
            continue
        lines[name] = OperationResult(
            count=int(n[mine].sum()),
            committed=int(n[mine & (outcome == Outcome.COMMITTED.value)].sum()),
            rolled_back=int(n[mine & (outcome == Outcome.ROLLED_BACK_BY_DESIGN.value)].sum()),
            failed=int(n[mine & (outcome == Outcome.FAILED.value)].sum()),
            retries=int(retries[mine].sum()),
            response=None if response is None else response.get(index, Latencies()),
            **dict(service.get(index, Latencies())),
        )
    return lines


def _latencies(histogram: pd.DataFrame) -> dict[int, Latencies]:
    """The latencies of the completed ones of each operation."""
    done = histogram.loc[histogram["outcome"] != Outcome.FAILED.value, ["operation", "latency_us", "n"]]
    operation, spent_us = done["operation"].to_numpy(), done["latency_us"].to_numpy() * done["n"].to_numpy()
    found: dict[int, Latencies] = {}
    for row in quantiles_of(done, ["operation"], QUANTILES).to_dict("records"):
        index, n = int(row["operation"]), int(row["n"])
        mean_us = float(spent_us[operation == index].sum()) / n
        found[index] = Latencies(max_us=int(row["max_us"]), mean_us=mean_us, **as_figures(row, list(QUANTILES)))
    return found


def _errors(histogram: pd.DataFrame) -> dict[str, int]:
    failed = histogram[histogram["outcome"] == Outcome.FAILED.value]
    if failed.empty:
        return {}
    by_class = failed.groupby("error_class")["n"].sum()
    return {ERROR_CLASSES[int(code)] or "other": int(n) for code, n in by_class.items()}  # type: ignore[call-overload]


def _users(folder: RunFolder, window: Window) -> pd.DataFrame:
    """Each virtual user of the window: n, busy_us (inside calls), span_us (first start to last end)."""
    with operations_of(folder, window) as rows:
        found = rows.aggregate(
            "virtual_user, count(*)::BIGINT AS n, sum(latency_us)::BIGINT AS busy_us, "
            "(max(t_end_us) - min(t_start_us))::BIGINT AS span_us",
            "virtual_user",
        ).fetchnumpy()
    return pd.DataFrame(found).set_index("virtual_user").sort_index()


def littles_law(users: pd.DataFrame, window: Window, planned: int) -> LittlesLaw:
    """Little's law over the users of the window."""
    n, busy_us, span_us = (int(users[name].sum()) for name in ("n", "busy_us", "span_us"))
    gaps = n - len(users)
    if not n:
        return LittlesLaw(users_by_law=0.0, users=planned, ratio=0.0, mean_us=None, outside_pct=None)
    inside, outside = busy_us / n, (span_us - busy_us) / gaps if gaps else 0.0
    by_law = n / window.duration_s * (inside + outside) / 1e6
    return LittlesLaw(
        users_by_law=by_law,
        users=planned,
        ratio=by_law / planned,
        mean_us=inside,
        outside_pct=100 * outside / (inside + outside),
    )
