"""A failover within a run, by a real command of the target: the clients find the new primary."""

from __future__ import annotations

import sys
from pathlib import Path

import hdbkit
from hdbkit.config import Commands, ControlSpec, Load
from hdbkit.loading import build
from hdbkit.servers import private_server
from hdbkit.workloads import specification
from tests.run.conftest import password_of
from tests.run.faults import passed
from tests.run.standbys import standby

FAILOVER = """
import psycopg
from hdbkit.servers import PrivateServer

PrivateServer.attach({folder!r}).stop()
with psycopg.connect(**{standby!r}, autocommit=True) as connection:
    connection.execute("SELECT pg_promote()")
"""


def test_clients_go_to_the_new_primary_within_a_run(tmp_path: Path) -> None:
    script = tmp_path / "failover.py"
    with private_server("postgresql") as built:
        build(built.target, specification())
        with standby(built) as second:
            admin = {"host": second.host, "port": second.port, "user": "postgres", "dbname": second.database}
            admin["password"] = password_of(built.admin)
            script.write_text(FAILOVER.format(folder=str(built.folder), standby=admin))
            commands = Commands(failover=(sys.executable, str(script)))
            target = second.with_(
                port=built.target.port,
                fallbacks=[f"127.0.0.1:{second.port}"],
                options={"target_session_attrs": "read-write"},
                may_restart=True,
                control=ControlSpec(commands=commands),
            )
            load = Load(virtual_users=2, rampup_s=0.3, duration_s=30, fault="failover server at 3 s")
            result = hdbkit.run(target, load=load)
    (effect,) = result.summary.faults
    assert effect.errors["connection_lost"] >= 2
    assert effect.first_success_after_s > 0
    assert passed(result, "faults caused")
    assert result.summary.operations["new_order"].committed > 20
