"""A standby: the full mix is refused in one sentence, its read-only part runs, its lag is sampled."""

from __future__ import annotations

from contextlib import closing

import pytest

import hdbkit
from hdbkit.config import Load, Target, TprocCLoad
from hdbkit.contracts import UserPlan
from hdbkit.databases import database, sql_session
from hdbkit.errors import InputError
from hdbkit.servers import PrivateServer
from hdbkit.workloads import specification, workload


def test_the_full_mix_is_refused_in_one_sentence(replica: Target) -> None:
    with pytest.raises(InputError) as refused:
        hdbkit.run(replica, load=Load(rampup_s=0, duration_s=1))
    assert str(refused.value) == (
        f"the server of {replica.described} is a standby, and new_order, payment, delivery change its data; "
        "--read-only runs only order_status and stock_level, or name the primary"
    )


def test_the_read_only_part_runs_with_a_metric_of_its_own(replica: Target) -> None:
    load = Load(rampup_s=0, duration_s=1, read_only=True, raise_error=True)
    result = hdbkit.run(replica, load=load)
    assert result.metric.name == "reads/s"
    assert result.metric_value and result.metric_value > 0
    operations = result.summary.operations
    assert operations.keys() == {"order_status", "stock_level"}
    assert result.metric_value == pytest.approx(result.summary.operations_per_s)
    assert result.manifest.headline == "order_status"
    assert operations["order_status"].max_us > 0
    assert result.manifest.server.role == "standby"
    assert result.summary.replication_lag_s.max >= 0
    assert result.checks.set_index("name")["passed"]["mix as asked"]


def test_client_sql_of_the_read_only_part_runs_there_too(replica: Target) -> None:
    work = workload(specification(warehouses=1))
    load = work.load(TprocCLoad(read_only=True, routines="client"))
    with closing(sql_session(replica, work.scope(database(replica).dialects))) as session:
        for prepared in work.user(session, load, UserPlan(0, 1)).next_batch()[:20]:
            assert prepared.perform(prepared.bound)


def test_an_account_whose_transactions_are_read_only(built: PrivateServer) -> None:
    target = built.target.with_(options={"options": "-c default_transaction_read_only=on"})
    with pytest.raises(InputError, match=r"is read-only, and new_order, payment, delivery change its data"):
        hdbkit.start(target, load=Load(rampup_s=0, duration_s=1))
