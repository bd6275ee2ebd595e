"""What limits a run is what its sessions spend most of their time with, or processors that are busy."""

from __future__ import annotations

from typing import Any

import pytest

from hdbkit.analysis.run.bottleneck import bottleneck
from hdbkit.results.manifest import Manifest
from tests.unit.synthetic import changed, with_result, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return with_result(write_run(tmp_path_factory.mktemp("runs") / "a", users=4)).manifest


def sampled(run: Manifest, idle: float = 60.0, **sessions: float) -> Manifest:
    """The run with these mean numbers of sessions by class."""
    waits = [
        {"operation": "payment", "wait_class": name, "event": "", "table": "", "sessions": n, "ms": None}
        for name, n in sessions.items()
    ]
    used: dict[str, Any] = {"operations_per_s": 1000.0, "client_cpu_us_per_operation": 100.0, "others_cpu_pct": 1.0}
    cpu = {"user": 100 - idle, "system": 0.0, "iowait": 0.0, "steal": 0.0, "idle": idle}
    found = changed(run, waits={"samples": 100, "waits": waits, "others": []}, host_cpu_pct=cpu, **used)
    return found.model_copy(update={"host": found.host.model_copy(update={"cores": 2})})


@pytest.mark.parametrize(
    ("sessions", "resource"),
    [
        ({"lock": 2.5, "running": 1.0}, "locks: 2.5 of 4 sessions on average, most of all lock in payment"),
        ({"log": 1.9, "running": 1.8}, "the log: 1.9 of 4 sessions"),
        ({"running": 3.0}, "the time that each session works, as it uses one core at a time: 3 of 4 sessions"),
        ({"running": 0.5, "client": 0.2}, "clients and network: 3.5 of 4 sessions"),
    ],
)
def test_the_largest_share_of_sessions_is_named(run: Manifest, sessions: dict[str, float], resource: str) -> None:
    text = bottleneck(sampled(run, **sessions))
    assert text.startswith(f"Limited by {resource}")
    assert "The clients could send 20 times as much" in text  # two cores at 100 us for each of 1,000 per second


def test_busy_processors_limit_a_run_whatever_sessions_wait_for(run: Manifest) -> None:
    assert "Limited by the processors of" in bottleneck(sampled(run, idle=4.0, lock=3.0))
    assert "96 % busy" in bottleneck(sampled(run, idle=4.0, lock=3.0))


def test_nothing_is_stated_without_samples(run: Manifest) -> None:
    assert bottleneck(changed(run, waits=None)) == ""
