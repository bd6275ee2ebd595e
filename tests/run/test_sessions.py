"""Virtual users with several sessions, in whole runs."""

from __future__ import annotations

import re
import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hdbkit
from hdbkit.config import Load, Target, TprocCLoad
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.execution import session_needs
from hdbkit.servers import PrivateServer
from tests.conftest import HdbkitCommand
from tests.run.agents import remote_target
from tests.run.conftest import NullTarget, operations
from tests.unit.own_workload import folder

SQL = """\
-- name: look
SELECT 1;
"""


def most_at_once(rows: pd.DataFrame) -> int:
    """The maximum number of operations in flight."""
    ends = rows["t_start_us"] + rows["latency_us"]
    edges = sorted([(at, 1) for at in rows["t_start_us"]] + [(at, -1) for at in ends])
    return int(np.cumsum([step for _, step in edges]).max())


def test_each_user_has_several_sessions_that_overlap(null_target: NullTarget) -> None:
    load = Load(virtual_users=2, sessions_per_user=15, rampup_s=0, duration_s=60, iterations=2)
    result = hdbkit.run(null_target(latency_us=30_000), load=load)
    rows = operations(result)
    assert rows.groupby("virtual_user").size().to_dict() == dict.fromkeys(range(30), 2)
    assert result.table("clients")[["users", "first_user"]].values.tolist() == [[15, 0], [15, 15]]
    for first in (0, 15):
        assert most_at_once(rows[rows["virtual_user"].between(first, first + 14)]) == 15
    assert "--sessions-per-user 15" in result.manifest.command


def test_sessions_do_the_same_however_they_are_divided(null_target: NullTarget) -> None:
    work = []
    for each in (1, 3):
        load = Load(
            virtual_users=3,
            sessions_per_user=2,
            users_per_process=each,
            rampup_s=0,
            duration_s=60,
            iterations=40,
            seed=3,
        )
        rows = operations(hdbkit.run(null_target(), load=load))
        work.append({user: own[["operation", "d_id"]].values.tolist() for user, own in rows.groupby("virtual_user")})
    assert len(work[0]) == 6
    assert work[0] == work[1]


def test_all_sessions_share_the_rate_of_an_open_loop(null_target: NullTarget) -> None:
    load = Load(virtual_users=2, sessions_per_user=10, rate=300, rampup_s=0.2, duration_s=1.5)
    result = hdbkit.run(null_target(latency_us=20_000), load=load)
    schedule = result.summary.schedule
    assert schedule.offered_per_s == pytest.approx(300, rel=0.3), "Poisson: 450 +- 21 are due"
    assert operations(result)["virtual_user"].nunique() == 20


def test_sessions_of_a_server_overlap_and_nothing_is_lost_or_counted_twice(built: PrivateServer) -> None:
    load = Load(sessions_per_user=8, rampup_s=0.2, duration_s=1, raise_error=True)
    result = hdbkit.run(built.target, load=load)
    rows = operations(result)
    assert set(rows["virtual_user"]) == set(range(8))
    assert most_at_once(rows) > 1
    assert not any("in one step" in one for one in result.manifest.warnings)
    assert not (result.checks["passed"] == False).any()  # noqa: E712


def test_keying_sessions_of_a_server_keep_their_schedule(built: PrivateServer) -> None:
    times = {"keying_and_thinking": True, "keying_scale": 0.01, "thinking_scale": 0.01}
    load = Load(sessions_per_user=8, rampup_s=0, duration_s=60, iterations=2, **times)
    rows = operations(hdbkit.run(built.target, load=load))
    assert rows.groupby("virtual_user").size().to_dict() == dict.fromkeys(range(8), 2)
    assert (rows["wait_us"] >= 0).all(), "none begins before it is due"


@pytest.mark.parametrize(
    ("given", "whose"),
    [({"sessions_per_user": 3}, "sessions"), ({"virtual_users": 3, "users_per_process": 3}, "virtual users")],
)
def test_transactions_of_several_steps_are_served_in_order(
    built: PrivateServer, given: dict[str, int], whose: str
) -> None:
    load = TprocCLoad(**given, routines="client", rampup_s=0, duration_s=60, iterations=5)
    result = hdbkit.run(built.target, load=load)
    assert most_at_once(operations(result)) == 1
    expected = (
        f"the {whose} of a client process are served in order, because each transaction of this load is performed "
        "in one step"
    )
    assert expected in result.manifest.warnings


def test_operations_at_several_addresses_are_performed_in_one_step(built: PrivateServer) -> None:
    target = remote_target(built).with_(nodes=("127.0.0.1",))
    load = Load(sessions_per_user=3, routing="payment: last", rampup_s=0, duration_s=60, iterations=5)
    warnings = hdbkit.run(target, load=load).manifest.warnings
    expected = (
        "during payment, a transaction that is performed in one step, the other sessions of a client process wait"
    )
    assert expected in warnings


def test_a_driver_that_waits_serves_sessions_in_order(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA user_version = 1")
    own = folder(tmp_path, yaml="operations:\n  look: {}\n", sql=SQL)
    for more in ({"sessions_per_user": 3}, {"virtual_users": 3, "users_per_process": 3}):
        load = Load(**more, rampup_s=0, duration_s=60, iterations=5)
        result = hdbkit.run(Target(kind="sqlite", database=str(path)), own, load=load)
        assert most_at_once(operations(result)) == 1
        assert any("in order, because the driver of SQLite waits" in one for one in result.manifest.warnings)


def test_wrong_numbers_of_sessions_are_one_sentence(command: HdbkitCommand, null_target: NullTarget) -> None:
    url = null_target().url
    for words, expected in (
        (("--sessions-per-user", 0), "sessions_per_user"),
        (("-u", 1000, "--sessions-per-user", 1000), "are 1000000 sessions, but 100000 are the maximum"),
    ):
        said = command("run", url, *words)
        assert said.code == 2
        assert expected in said.err


def test_what_the_host_does_not_allow_is_refused_before_the_start(
    null_target: NullTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target, load = null_target(connections=10**6), Load(virtual_users=10, sessions_per_user=10_000)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (hard, 5000))
    with pytest.raises(InputError, match=r"10 virtual users with 10000 sessions each in 10 .* need 20064 open files"):
        hdbkit.run(target, load=load)
    monkeypatch.undo()
    ports = tmp_path / "ports"
    ports.write_text("32768\t33000\n")
    monkeypatch.setattr(session_needs, "_PORTS", ports)
    there = Target(kind="postgresql", host="db1", database="lab")
    (problem,) = _ports_of(there, 300)
    assert re.search(r"300 sessions each need 300 ports .* but 233 are available; use fewer sessions", problem)
    assert _ports_of(there, 200) == []


def _ports_of(target: Target, sessions: int) -> list[str]:
    return [str(problem) for problem in session_needs.ports(target, Load(sessions_per_user=sessions))]


def test_the_server_must_allow_a_connection_for_each_session(null_target: NullTarget) -> None:
    with pytest.raises(
        InputError, match=r"2 virtual users with 6 sessions each need 13 more .* allows 12; use fewer s"
    ):
        hdbkit.run(null_target(connections=12), load=Load(virtual_users=2, sessions_per_user=6))


def test_all_problems_of_a_run_are_reported_together(null_target: NullTarget) -> None:
    load = Load(virtual_users=2, sessions_per_user=6, slow_plans_ms=5, cache="flush")
    with pytest.raises(ConfigErrors, match=r"^the run in .* has 3 errors; nothing was started:\n") as refused:
        hdbkit.run(null_target(connections=12), load=load)
    assert [problem.where for problem in refused.value.problems] == ["capabilities", "cache", "free connections"]
