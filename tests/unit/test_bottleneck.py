"""What limits a run is what its sessions spend most of their time with, or processors that are busy."""

from __future__ import annotations

from typing import Any

import pytest

from hdbkit.analysis.run.bottleneck import Bottleneck, bottleneck
from hdbkit.results.manifest import LoadHostLine, Manifest
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


def found(run: Manifest) -> Bottleneck:
    limit = bottleneck(run)
    assert limit is not None
    return limit


@pytest.mark.parametrize(
    ("sessions", "resource", "text"),
    [
        ({"lock": 2.5, "running": 1.0}, "lock", "locks: 2.5 of 4 sessions on average, most of all lock in payment"),
        ({"log": 1.9, "running": 0.9}, "log", "the log: 1.9 of 4 sessions"),
        ({"running": 3.0}, "sessions", "the number of sessions"),
        ({"running": 0.5, "client": 0.2}, "network", "the network and the time between calls: 3.4 of 4 sessions"),
    ],
)
def test_the_largest_share_of_sessions_is_named(
    run: Manifest, sessions: dict[str, float], resource: str, text: str
) -> None:
    limit = found(sampled(run, **sessions))
    assert (limit.resource, limit.client_times) == (
        resource,
        20.0,
    )  # two cores at 100 us for each of 1,000 per second
    assert limit.sentence.startswith(f"Limited by {text}")
    assert sum(limit.evidence.values()) == pytest.approx(4)


def test_what_is_not_clear_of_the_second_is_not_named(run: Manifest) -> None:
    limit = found(sampled(run, log=1.9, running=1.8))
    assert limit.resource == "undecided"
    assert limit.sentence == (
        "It is undecided what limits the run: its time goes to the log 48 % and the number of sessions 45 %."
    )
    assert "longer run" in limit.advice


def test_several_full_cores_are_not_one(run: Manifest) -> None:
    cores = {"cores_busy_pct": [97.0] * 4 + [1.0] * 60, "cores_interrupts_pct": [0.0] * 64}
    assert found(changed(sampled(run, running=3.9), load_host=cores)).resource == "sessions"


def test_the_ceiling_of_the_clients_is_that_of_all_load_hosts_with_one_digit(run: Manifest) -> None:
    hosts = [
        LoadHostLine(
            number=n,
            name=f"h{n}",
            cores=2,
            first_client=n,
            clients=1,
            users=1,
            offset_ms=0,
            uncertainty_ms=0,
            drift_ppm=0,
        )
        for n in range(4)
    ]
    assert "could send more than 10 times as much" in str(found(sampled(run, lock=3.0)))
    slow = changed(sampled(run, lock=3.0), client_cpu_us_per_operation=1400.0)
    assert "could send about 1.4 times as much" in str(found(slow))
    assert "could send about 3 times as much" in str(found(slow.model_copy(update={"load_hosts": hosts})))


def test_busy_processors_limit_a_run_whatever_sessions_wait_for(run: Manifest) -> None:
    limit = found(sampled(run, idle=4.0, lock=3.0))
    assert limit.resource == "processors"
    assert "96 % busy (the clients 5 %, the server 5 %, other processes 1 %)" in str(limit)
    assert limit.advice == "Fewer other processes on that host would change that."


def test_more_processors_are_advised_only_where_clients_and_server_use_most_of_the_busy_time(run: Manifest) -> None:
    working = changed(sampled(run, idle=4.0), client_cpu_us_per_operation=300.0, server_cpu_us_per_operation=900.0)
    assert found(working).advice.startswith("More or faster processors")


@pytest.mark.parametrize(
    ("interrupts", "others", "sessions", "resource"),
    [
        (90.0, 48.0, {"lock": 3.0}, "processors"),
        (5.0, 1.0, {"running": 3.0}, "processors"),
        (5.0, 1.0, {"lock": 3.0}, "lock"),
        (5.0, 48.0, {"running": 3.0}, "sessions"),
    ],
)
def test_one_full_core_limits_a_run_by_interrupts_or_where_no_wait_tells_more(
    run: Manifest, interrupts: float, others: float, sessions: dict[str, float], resource: str
) -> None:
    cores = {"cores_busy_pct": [20.0, 99.0], "cores_interrupts_pct": [1.0, interrupts]}
    limit = found(changed(sampled(run, **sessions), load_host=cores, others_cpu_pct=others))
    assert limit.resource == resource
    named = f"core 1, which is 99 % busy ({interrupts:.0f} % with interrupts) while the others are 20 % busy"
    assert (named in limit.sentence) == (resource == "processors")
    even = {**cores, "cores_busy_pct": [80.0, 99.0]}
    assert found(changed(sampled(run, **sessions), load_host=even)).resource == max(
        sessions, key=lambda name: sessions[name]
    ).replace("running", "sessions")


def test_clients_limit_a_run_if_each_of_their_processes_is_busy(run: Manifest) -> None:
    busy = changed(sampled(run, lock=3.0), client_cpu_us_per_operation=1900.0)
    assert (found(busy).resource, found(busy).evidence["clients"]) == ("clients", 95)


def test_without_samples_it_is_undecided_and_stated_what_to_turn_on(run: Manifest) -> None:
    off = run.plan.load.model_copy(update={"waits_hz": 0})
    silent = run.model_copy(update={"plan": run.plan.model_copy(update={"load": off})})
    assert found(changed(silent, waits=None)).resource == "undecided"
    assert "waits_hz=10" in str(found(changed(silent, waits=None)))
    assert "Connect without a pooler" in str(found(sampled(run)))
