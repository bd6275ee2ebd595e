"""The events of a run: what the server names, what its counters show, settings, pauses, and notes by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import hdbkit
from hdbkit.databases._mysqlclient.database import latest_deadlock
from hdbkit.execution.table_rows import events_once
from hdbkit.results.kept import EarlierPlan, QueryPlan, write_plans
from tests.unit.synthetic import operations, with_result, write_run

_STATUS = """
=====================================
2026-11-27 23:50:31 0x7f53 INNODB MONITOR OUTPUT
=====================================
------------------------
LATEST DETECTED DEADLOCK
------------------------
2026-11-27 23:50:01 0x7f54
*** (1) TRANSACTION:
TRANSACTION 71, ACTIVE 1 sec starting index read
LOCK WAIT 3 lock struct(s), heap size 1128, 2 row lock(s)
MariaDB thread id 5, OS thread handle 1397, query id 30 localhost bench Updating
UPDATE a SET n = 1
WHERE id = 2
*** WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 9 page no 3 n bits 8 index PRIMARY of table `t`.`a` trx id 71 lock_mode X
*** (2) TRANSACTION:
MySQL thread id 6, OS thread handle 1398, query id 31 localhost bench Updating
UPDATE a SET n = 2 WHERE id = 1

*** WE ROLL BACK TRANSACTION (1)
------------
TRANSACTIONS
------------
"""


def test_events_are_in_the_order_of_their_times_and_those_that_the_server_names_replace_its_counters(
    tmp_path: Path,
) -> None:
    found = with_result(write_run(tmp_path / "20260101-000000-nulldb-w1-u1-aaaaaa", duration_s=4))
    result = hdbkit.Workspace(results=tmp_path).result()
    total = {"edge": "", "t_sent_us": 0}
    samples = [
        {**total, "name": name, "t_returned_us": 1_000_000 * second, "value": float(n)}
        for name in ("checkpoints", "deadlocks")
        for second, n in enumerate((7, 7, 10))
    ]
    counters = pd.concat([result.table("counters"), pd.DataFrame(samples)])
    counters.to_parquet(found.folder.table("counters"))
    pd.DataFrame({"t_us": [-5, 1_500_000], "kind": ["checkpoint"] * 2, "text": ["began"] * 2}).to_parquet(
        found.folder.table("events")
    )
    result.note("backup", at_s=0.5)
    assert result.events.to_numpy().tolist() == [
        [0.5, "note", "backup", "by hand"],
        [1.5, "checkpoint", "began", "server"],
        [2.0, "deadlock", "3 deadlocks", "counters"],
    ]
    result.note("", at_s=0.5)
    assert result.events["kind"].tolist() == ["checkpoint", "deadlock"]


def test_stalls_of_clients_and_changed_plans_are_events(tmp_path: Path) -> None:
    rows, end_us = operations(3, 12), [("", 0, 0), ("new_order", 3e6, 5.5e6), ("payment", 8e6, 9.5e6)]
    for user, (_, begin, end) in enumerate(end_us):
        still = (rows["virtual_user"] == user) | (begin == 8e6)
        rows = rows[~(still & (rows["t_start_us"] + rows["latency_us"]).between(begin, end))]
    found = with_result(write_run(tmp_path / "20260101-000000-nulldb-w1-u3-aaaaaa", users=3, duration_s=9, rows=rows))
    earlier = [EarlierPlan(until_s=6.5, text="Index Scan using a on b")]
    plans = {"q": QueryPlan(arguments={}, text="Seq Scan on b", content=None, earlier=earlier)}
    write_plans(found.folder.plans, plans)
    events = hdbkit.Workspace(results=tmp_path).result().events
    assert events["time_s"].round(1).tolist() == [3.0, 6.5, 8.0]
    assert events[["kind", "text"]].to_numpy().tolist() == [
        ["stall", "no transaction of client 1 ended for 2.5 s"],
        ["changed plan", "of q: it now reads all of b"],
        ["stall", "no transaction of 3 of 3 clients ended for 1.5 s"],
    ]


def test_an_event_that_the_server_names_again_is_one() -> None:
    seen = [{"t_us": t_us, "kind": "checkpoint", "text": "began"} for t_us in (1e6, 1.3e6, 9e6, 9.4e6)]
    assert [one["t_us"] for one in events_once(seen)] == [1_000_000, 9_000_000]


def test_a_deadlock_of_innodb_has_both_statements_and_its_age() -> None:
    (deadlock,) = latest_deadlock(_STATUS)
    assert (deadlock.kind, deadlock.age_s) == ("deadlock", 30)
    assert deadlock.text == "of UPDATE a SET n = 1 WHERE id = 2 and UPDATE a SET n = 2 WHERE id = 1"
    assert not latest_deadlock(_STATUS.replace("23:50:31", "23:59:31"))
