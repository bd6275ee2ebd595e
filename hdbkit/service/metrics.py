"""The figures of the running runs in the format of OpenMetrics, for Prometheus and what reads its format.

A run is read when it is asked for, however it was started; a run that nobody asks for costs nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from hdbkit.api import Workspace
from hdbkit.api.running import Running
from hdbkit.errors import DamagedResult, HdbkitError
from hdbkit.execution.live import LiveView, Tick

CONTENT_TYPE = CONTENT_TYPE_LATEST
_TOTALS = {
    "hdbkit_operations": "operations that did not fail, since the run was first asked for",
    "hdbkit_failed_operations": "operations that failed, since the run was first asked for",
    "hdbkit_retries": "retries, since the run was first asked for",
}
_GAUGES = {
    "hdbkit_metric": "the workload's metric since the last question",
    "hdbkit_virtual_users": "connected virtual users",
    "hdbkit_client_cpu_cores": "processors that the clients keep busy",
    "hdbkit_server_cpu_cores": "processors that the server keeps busy, if it is on this host",
}
_LATENCY = "hdbkit_latency_seconds"
METRIC_NAMES = (*(f"{name}_total" for name in _TOTALS), *_GAUGES, _LATENCY)
"""The metrics."""


@dataclass
class _Followed:
    """A running run: its labels, a view of it, and its totals."""

    labels: list[str]
    view: LiveView
    totals: list[float]

    def tick(self) -> Tick:
        tick = self.view.tick()
        grown = tick.operations_per_s * tick.seconds, tick.failed, tick.retries
        self.totals = [total + more for total, more in zip(self.totals, grown, strict=True)]
        return tick


class RunMetrics(Collector):
    """The metrics of all running runs of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._lock = workspace, threading.Lock()
        self._followed: dict[str, _Followed] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """What runs now, as a page of OpenMetrics."""
        with self._lock:
            page: bytes = generate_latest(self._registry)  # type: ignore[no-untyped-call]
        return page

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance, so that registering reads no run."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """The metrics of the moment."""
        totals = [CounterMetricFamily(name, about, labels=_labels()) for name, about in _TOTALS.items()]
        gauges = [GaugeMetricFamily(name, about, labels=_labels()) for name, about in _GAUGES.items()]
        about = "quantiles of the latency since the last question"
        latency = Metric(_LATENCY, about, "summary")
        for one in self._running():
            with suppress(DamagedResult, HdbkitError, OSError):  # it has no manifest yet, or has ended meanwhile
                tick = one.tick()
                for total, value in zip(totals, one.totals, strict=True):
                    total.add_metric(one.labels, value)
                now = tick.metric_value, tick.connected, tick.client_cpu_cores, tick.server_cpu_cores
                for gauge, value in zip(gauges, now, strict=True):
                    if math.isfinite(value):
                        gauge.add_metric(one.labels, value)
                for quantile, by_operation in (("0.5", tick.p50_us), ("0.95", tick.p95_us), ("0.99", tick.p99_us)):
                    for name, us in by_operation.items():
                        labels = dict(zip(_labels(), one.labels, strict=True)) | {
                            "operation": name,
                            "quantile": quantile,
                        }
                        latency.add_sample(_LATENCY, labels, us / 1e6)
        return [*totals, *gauges, latency]

    def _running(self) -> list[_Followed]:
        """The running runs; views of others are closed."""
        running = {one.run_id: one for one in self._workspace.running_runs()}
        for run_id in self._followed.keys() - running.keys():
            self._followed.pop(run_id).view.close()
        for run_id in running.keys() - self._followed.keys():
            with suppress(DamagedResult):  # removed since it was listed
                self._followed[run_id] = _followed(running[run_id])
        return list(self._followed.values())


def _followed(one: Running) -> _Followed:
    manifest = one.manifest
    labels = [one.run_id, manifest.plan.label or "", manifest.plan.target.kind, manifest.metric.rate.name]
    return _Followed(labels, one.live(), [0.0] * len(_TOTALS))


def _labels() -> list[str]:
    return ["run", "label", "engine", "metric"]
