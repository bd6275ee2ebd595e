"""A failover within a run: the clients find the new primary."""

from __future__ import annotations

import hdbkit
from hdbkit.build import build
from hdbkit.config import Load
from hdbkit.servers import private_server
from hdbkit.workloads import specification
from tests.run.conftest import password_of
from tests.run.faults import until
from tests.run.standbys import standby
from tests.run.test_topologies import ask


def test_clients_go_to_the_new_primary_within_a_run() -> None:
    with private_server("postgresql") as built:
        build(built.target, specification())
        with standby(built) as second:
            options = {"target_session_attrs": "read-write"}
            first = second.with_(port=built.target.port, fallbacks=[f"127.0.0.1:{second.port}"], options=options)
            running = hdbkit.start(first, load=Load(virtual_users=2, rampup_s=0.3, duration_s=60))
            until(lambda: running.status.value == "measuring", "it measures")
            built.stop()
            admin = second.with_(user="postgres", password=password_of(built.admin))
            ask(admin, "SELECT pg_promote()")
            orders = "SELECT sum(d_next_o_id) FROM tproc_c.district"
            (before,) = ask(admin, orders)
            until(lambda: ask(admin, orders)[0] > before + 20, "clients order at the new primary")
            running.stop()
            assert running.wait().summary["operations"]["new_order"]["committed"] > 20
