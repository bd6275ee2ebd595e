"""Several hosts: addresses tried in order, and reads on a replica with its lag."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import psycopg
import pytest

import hdbkit
from hdbkit.config import Load, Target, TprocCLoad
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, InputError
from hdbkit.readings import ServerRole
from hdbkit.servers import PrivateServer, control
from hdbkit.servers.place import free_port
from tests.run.agents import own_target
from tests.run.faults import until

ENGINE = database("postgresql")


@pytest.fixture
def primary(replica: Target, built: PrivateServer) -> Target:
    """The account on the primary, with its password in memory."""
    return replica.with_(port=built.target.port)


def role_at(target: Target) -> ServerRole:
    with closing(ENGINE.connect(target)) as session:
        return ENGINE.role(session)


def test_addresses_are_tried_in_their_order(primary: Target, replica: Target) -> None:
    nowhere = primary.with_(port=free_port())
    both = nowhere.with_(fallbacks=[f"127.0.0.1:{replica.port}", f"127.0.0.1:{primary.port}"])
    assert role_at(both) is ServerRole.STANDBY
    wants = {"read-write": ServerRole.PRIMARY, "standby": ServerRole.STANDBY, "prefer-standby": ServerRole.STANDBY}
    for wanted, role in wants.items():
        assert role_at(both.with_(options={"target_session_attrs": wanted})) is role
    one = primary.with_(fallbacks=[f"127.0.0.1:{nowhere.port}"], options={"target_session_attrs": "prefer-standby"})
    assert role_at(one) is ServerRole.PRIMARY


def test_without_a_usable_address_all_reasons_are_stated(replica: Target) -> None:
    port = free_port()
    options = {"target_session_attrs": "read-write"}
    target = replica.with_(fallbacks=[f"127.0.0.1:{port}"], options=options)
    with pytest.raises(CannotConnect) as refused:
        ENGINE.connect(target)
    assert (
        f"none of its addresses can be used (127.0.0.1:{replica.port}: the server accepts no changes, but "
        f"target_session_attrs requires it; 127.0.0.1:{port}: nothing listens on 127.0.0.1, port {port})"
    ) in str(refused.value)


def test_reads_are_performed_on_the_replica_and_its_lag_is_on_the_timeline(primary: Target, replica: Target) -> None:
    target = primary.with_(replicas=[f"127.0.0.1:{replica.port}"])
    load = TprocCLoad(
        virtual_users=2, rampup_s=0.2, duration_s=1.5, replica_reads=True, mix={"payment": 1, "stock_level": 1}
    )
    until(lambda: ask(primary, "SELECT count(*) FROM pg_stat_replication")[0] == 1, "the standby is connected")
    before = transactions(replica)
    result = hdbkit.run(target, load=load)
    done = {name: one.committed for name, one in result.summary.operations.items() if one.committed}
    assert done.keys() == {"payment", "stock_level"}
    assert result.summary.failed == 0
    assert transactions(replica) - before >= done["stock_level"]
    assert result.manifest.server.replicas == f"127.0.0.1:{replica.port}"
    assert result.summary.replication_lag_s.max >= 0
    assert "replication_lag" in result.charts()


def test_a_server_is_controlled_at_the_first_address_alone(built: PrivateServer, replica: Target) -> None:
    """A standby that answers at the second address hides a stopped server from nobody."""
    server = control(own_target(built).with_(fallbacks=(f"127.0.0.1:{replica.port}",)))
    built.stop()
    server.start()
    assert built.running


def transactions(target: Target) -> int:
    """The transactions of the server so far."""
    return int(ask(target, "SELECT sum(xact_commit) FROM pg_stat_database")[0])


def test_a_replica_must_be_named_and_be_one(primary: Target) -> None:
    load = Load(rampup_s=0, duration_s=1, replica_reads=True)
    with pytest.raises(InputError, match=r"names no replicas; add replicas: \[HOST:PORT\] to the target"):
        hdbkit.start(primary, load=load)
    with pytest.raises(InputError, match="accepts changes, so it is no replica"):
        hdbkit.start(primary.with_(replicas=[f"127.0.0.1:{primary.port}"]), load=load)


def ask(target: Target, text: str) -> tuple[Any, ...]:
    """What the server is asked, in one row."""
    place = {"host": target.host, "port": target.port, "user": target.user, "password": target.secret()}
    with psycopg.connect(**place, dbname=target.database, autocommit=True) as connection:
        return connection.execute(text).fetchone() or ()
