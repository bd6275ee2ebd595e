"""The thread that samples counters: a counter that returns no number is one sentence, and the thread goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hdbkit.config import ControlSpec, Load, Target, TprocCSpec
from hdbkit.config.passwords import TOKEN_VARIABLE
from hdbkit.contracts import Row
from hdbkit.databases._base.access import connect_timeout_s
from hdbkit.databases.nulldb import NullDatabase, NullSession
from hdbkit.errors import HdbkitError
from hdbkit.execution import host_counters
from hdbkit.execution import sampler as sampler_module
from hdbkit.execution.load_hosts import ClientFiles
from hdbkit.execution.sampler import WINDOW_EDGES, Replicas, Sampler
from hdbkit.execution.table_rows import Noted
from hdbkit.plan import RunPlan
from hdbkit.results import columns
from hdbkit.servers.agent_client import AgentClient
from hdbkit.workloads import workload


@pytest.fixture
def sampler(tmp_path: Path) -> Iterator[Sampler]:
    """A sampler of a null engine; its thread runs."""
    target = Target.parse(f"nulldb:///{tmp_path.name}")
    made = Sampler(
        RunPlan(run_id="r", target=target, workload=TprocCSpec(), load=Load()), tmp_path, 0.01, workload(TprocCSpec())
    )
    made.start()
    yield made
    made.stop()
    made.join(60)


@pytest.mark.parametrize("answer", [[], [(None,)], [("many",)]])
def test_a_counter_that_returns_no_number_is_reported(
    sampler: Sampler, monkeypatch: pytest.MonkeyPatch, answer: list[Row]
) -> None:
    monkeypatch.setattr(NullSession, "ask", lambda *_, **__: answer)
    with pytest.raises(HdbkitError, match=r"^the statement 'count_new_orders' returned no number$"):
        sampler.ask("start").result(60)


def test_the_host_is_sampled_before_an_edge_is_answered(
    sampler: Sampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NullSession, "ask", lambda *_, **__: [(1,)])
    middle_ns = sampler.ask("end").result(60)  # now the supervisor lets the clients disconnect
    sampled = [json.loads(line) for line in (tmp_path / "host.ndjson").read_text().splitlines()]
    assert sampled[-1]["t_ns"] >= middle_ns


def test_the_thread_survives_any_error_between_the_edges(sampler: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> list[Row]:
        raise ZeroDivisionError

    monkeypatch.setattr(NullSession, "ask", fails)
    sampler._quietly("")
    with pytest.raises(ZeroDivisionError):
        sampler.ask("start").result(60)


def test_a_statement_whose_time_is_unknown_is_read_between_the_edges(
    sampler: Sampler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = [(name, "select", 3, time_ms, *[None] * 5) for name, time_ms in (("one", None), ("other", 5.0))]
    monkeypatch.setattr(
        NullSession, "ask", lambda _, name, **__: totals if name == "statement_totals" else [("statement_totals",)]
    )
    monkeypatch.setattr(sampler_module, "statements", lambda *_: {"counts_statements", "statement_totals"})
    for edge in (WINDOW_EDGES[0], ""):
        sampler._sample_statements(edge, 1000)
    (*_, between) = map(json.loads, (tmp_path / columns.STATEMENT_LINES.name).read_text().splitlines())
    assert [row[3] for row in between["rows"]] == [None, 5.0]


def test_a_replica_that_hangs_delays_no_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = threading.Event()
    monkeypatch.setattr(Replicas, "_lag_s", lambda *_: frozen.wait(300))
    monkeypatch.setattr(NullSession, "ask", lambda *_, **__: [(1,)])
    target = Target.parse(f"nulldb:///{tmp_path.name}").with_(replicas=("db2",))
    load = Load(replica_reads=True)
    made = Sampler(
        RunPlan(run_id="r", target=target, workload=TprocCSpec(), load=load), tmp_path, 5, workload(TprocCSpec())
    )
    made.start()
    try:
        assert made.ask("start").result(60)
        assert made._replicas.lag() == {}
    finally:
        frozen.set()
        made.stop()
        made.join(60)
        made._replicas.join(60)


def test_any_error_of_a_replica_leaves_its_lag_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(NullDatabase, "connect", fails)
    target = Target.parse("nulldb:///x").with_(replicas=("db2",))
    plan = RunPlan(run_id="r", target=target, workload=TprocCSpec(), load=Load(replica_reads=True))
    assert Replicas(plan)._lag_s(0) is None


def test_the_timeout_of_a_connection_is_never_above_the_maximum_that_the_sampler_gives() -> None:
    target = Target.parse("postgresql://db1/x?connect_timeout=3600")
    assert [connect_timeout_s(target, limit) for limit in (None, 1)] == [3600, 1]


def test_a_sample_that_the_server_took_itself_has_its_own_time(tmp_path: Path) -> None:
    rows = [[7, "lock", "enq", None, 8, 0, 0.75], [0, "running", None, None, None, 1, 0.75]]
    (tmp_path / columns.WAIT_LINES.name).write_text(
        json.dumps({"sent_ns": 5_000_000_000, "returned_ns": 5_001_000_000, "rows": rows}) + "\n"
    )
    manifest: Any = SimpleNamespace(clock=SimpleNamespace(start_monotonic_ns=1_000_000_000))
    found = Noted(manifest, tmp_path, [ClientFiles(tmp_path)], {}).rows("waits")
    assert [(row["t_us"], row["class"], row["blocked_by"]) for row in found] == [
        (3_250_000, "lock", 8),
        (3_250_000, "sampler", -1),
    ]


@pytest.mark.parametrize(
    "answer",
    [{}, {"metrics": None}, {"metrics": [["a", "b"]]}, {"metrics": [["a", "", "1"]]}, {"metrics": [["a", "\x1b", 1]]},
     {"metrics": [["a", "", float("nan")]]}, {"metrics": [["cores_a", "", [1] * 9999]]}],
)  # fmt: skip
def test_an_agent_that_sends_no_figures_is_asked_no_more_and_reported(
    answer: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AgentClient, "get", lambda *_: answer)
    monkeypatch.setenv(TOKEN_VARIABLE, "token")
    target = Target(kind="nulldb", database="lab", control=ControlSpec(agent="https://127.0.0.1:9"))
    host = sampler_module.ServerHost(target, tmp_path)
    host.ended.set()
    host.run()
    assert "the database's host was not sampled to the end: the agent sent no figures of a host" in host.problem


def test_what_the_kernel_does_not_report_of_a_host_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"/proc/stat": {"cpu": ["100"] * 4}, "/proc/net/sockstat": {"UDP": ["inuse", "1"]}}
    monkeypatch.setattr(host_counters, "_lines", lambda path: found.get(path, {}))
    names = {name for name, _, _ in host_counters.HostReader().read()}
    assert {"cpu_user_s", "memory_used_bytes", "reading_s"} < names
    assert not {"context_switches", "tcp_sockets"} & names
