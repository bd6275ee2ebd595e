"""Redis as a cluster of three nodes: where keys are, what a transaction uses, how answers of nodes become one."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hdbkit.config import Load, Target, TprocCLoad, TprocCSpec
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, TransactionError
from hdbkit.execution.precheck import _capabilities
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c.conformance import conditions
from hdbkit.workloads.tproc_c.conformance.conditions import broken
from hdbkit.workloads.tproc_c.conformance.rules import Small, fill, runner

redis = pytest.importorskip("redis")
PROGRAM = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no server of Redis here; see: hdbkit doctor")

WORK = workload(TprocCSpec(warehouses=2))
SLOTS = ((0, 5460), (5461, 10922), (10923, 16383))
"""Of each node; warehouses 1 and 2 are on different ones."""
PATIENCE_S = 60.0
WAREHOUSE = b"tproc_c:{w1}:warehouse"


class AsSql:
    """A session with the methods that helpers of the conformance suite call; nothing can be undone here."""

    def __init__(self, session: Any) -> None:
        self.session, self.query = session, session.ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def begin(self) -> None: ...

    commit = rollback = begin


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def node(port: int, bus: int, folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir()
    options = {"port": port, "cluster-port": bus, "dir": folder, "bind": "127.0.0.1", "cluster-enabled": "yes"}
    options |= {"appendonly": "no", "logfile": folder / "log"}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return subprocess.Popen([str(PROGRAM), *words, "--save", ""], stdout=subprocess.DEVNULL)


def plain(port: int) -> Any:
    """A client of one node, when it is ready."""
    client = redis.Redis("127.0.0.1", port)
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            client.ping()
        except redis.ConnectionError:
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.02)
        else:
            return client


def joined(ports: list[int], buses: list[int]) -> None:
    """The nodes form a cluster, each with a third of the slots."""
    with ExitStack() as opened:
        sessions = [opened.enter_context(closing(plain(port))) for port in ports]
        for epoch, (session, (low, high)) in enumerate(zip(sessions, SLOTS, strict=True), 1):
            session.execute_command("CLUSTER SET-CONFIG-EPOCH", epoch)
            session.execute_command("CLUSTER ADDSLOTSRANGE", low, high)
        for port, bus in zip(ports[1:], buses[1:], strict=True):
            sessions[0].execute_command("CLUSTER MEET", "127.0.0.1", port, bus)
        end = time.monotonic() + PATIENCE_S
        while any(
            one.cluster("INFO")["cluster_state"] != "ok" or len(one.cluster("SLOTS")) < len(SLOTS) for one in sessions
        ):
            assert time.monotonic() < end, "the nodes did not join"
            time.sleep(0.05)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("cluster")
    ports = free_ports(6)
    nodes = [node(port, bus, folder / str(port)) for port, bus in zip(ports[:3], ports[3:], strict=True)]
    try:
        joined(ports[:3], ports[3:])
        yield Target(kind="redis", host="127.0.0.1", port=ports[1], options={"cluster": "on"})
    finally:
        for one in nodes:
            one.kill()
            one.wait()


@pytest.fixture
def session(target: Target) -> Iterator[Any]:
    """A session on an empty schema with its functions."""
    engine = database(target)
    with closing(engine.schema(target, WORK)) as schema:
        schema.create(WORK.record)
        schema.routines()
        yield AsSql(schema.session)
        schema.drop()


def keys(session: Any) -> list[set[bytes]]:
    """The keys of each node."""
    return [set(one.command("KEYS", "*")) for one in session.nodes]


def test_the_keys_of_a_warehouse_are_on_one_node_and_items_on_each(session: Any) -> None:
    fill(session)
    of_nodes = keys(session)
    at = [{number for number in (1, 2) if b"tproc_c:{w%d}:warehouse" % number in found} for found in of_nodes]
    assert sorted(map(len, at)) == [0, 1, 1]
    for number in (1, 2):
        holders = [found for found in of_nodes if any(b"{w%d}" % number in key for key in found)]
        assert len(holders) == 1
    assert [sum(b":item:" in key for key in found) for found in of_nodes] == [20, 20, 20]
    assert session.ask("count_item") == [(20,)]
    assert session.ask("count_stock") == [(40,)]
    assert sorted(session.ask("last_order_ids")) == [(w, d, 3000) for w in (1, 2) for d in (1, 2)]


def test_transactions_of_each_warehouse_do_what_they_do_on_one_server(session: Any, tmp_path: Path) -> None:
    fill(session)
    run, small = runner("stored", session), Small(session)
    for w_id in (1, 2):
        row = run("new_order", w_id, 1, 2, (7, 8, 7), (w_id,) * 3, (2, 1, 5))
        assert (row[0], row[9], str(row[7])) == (3001, (10, 49, 96), "54.28")
        assert run("payment", w_id, 1, w_id, 1, None, "ABLE", "3.21")[0] == 3
        assert run("order_status", w_id, 1, 2, None)[5] == 3001
        assert run("stock_level", w_id, 1, 50) == (1,)
        assert run("delivery", w_id, 9) == ((1,), (3001,))
        assert small.row("stock", s_w_id=w_id, s_i_id=7)["s_ytd"] == 7
    assert session.ask("count_orders") == [(2,)]
    assert session.ask("count_new_orders") == [(4 * 3001 + 2,)]
    assert session.ask("consistency_stock") == [(0,)]


def test_a_transaction_across_nodes_changes_nothing(session: Any) -> None:
    fill(session)
    before = keys(session)
    with pytest.raises(TransactionError, match="non local key"):
        runner("stored", session)("new_order", 1, 1, 1, (1, 2), (1, 2), (1, 1))
    with pytest.raises(TransactionError, match="non local key"):
        runner("stored", session)("payment", 1, 1, 2, 1, 1, None, "1.00")
    assert keys(session) == before
    assert Small(session).row("warehouse", w_id=1)["w_ytd"] == 0


def test_conditions_hold_over_all_nodes_and_what_breaks_one_is_found(session: Any) -> None:
    conditions.sound(session)
    assert broken(session) == set()
    (home,) = [one for one, found in zip(session.nodes, keys(session), strict=True) if WAREHOUSE in found]
    home.command("HINCRBY", WAREHOUSE, "w_ytd", 100)
    assert broken(session) == {"1", "8"}


def test_a_drop_leaves_no_key_and_no_function_on_any_node(target: Target) -> None:
    with closing(database(target).schema(target, WORK)) as schema:
        schema.create(WORK.record)
        schema.routines()
        fill(AsSql(schema.session))  # type: ignore[arg-type]
        assert schema.claim()
        assert schema.log().spec == WORK.record
        assert schema.drop()[:2] == ["function delivery", "function new_order"]
        assert keys(schema.session) == [set(), set(), set()]
        assert [one.functions() for one in schema.session.nodes] == [[], [], []]  # type: ignore[attr-defined]


def test_a_load_across_warehouses_is_refused_and_one_without_is_hinted_at(target: Target) -> None:
    engine = database(target)
    local = TprocCLoad(remote_warehouses=False)
    across, within = (
        [*_capabilities(SimpleNamespace(engine=engine, work=WORK, plan=SimpleNamespace(load=load)))]  # type: ignore[arg-type]
        for load in (Load(), local)
    )
    assert re.search(r"Redis Cluster has no transactions across shards.* --no-remote-warehouses", str(*across))
    assert within == []
    assert "no payment uses another warehouse" in WORK.hint(local)
    assert WORK.hint(Load()) == ""
    one = workload(TprocCSpec(warehouses=1))
    assert Capability.ACROSS_SHARDS not in one.needs(Load())


def test_the_servers_answers_are_those_of_one_node(target: Target) -> None:
    engine = database(target)
    with closing(engine.connect(target)) as session:
        assert engine.version(session).startswith("Redis Cluster ")
        assert engine.role(session).value == "primary"
        assert engine.settings_of(session)["cluster-enabled"]["value"] == "yes"
        assert session.client_path() == "redis-py to 3 nodes"


def test_a_cluster_of_valkey_is_named_so(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = database(target)
    with closing(engine.connect(target)) as session:
        monkeypatch.setattr(session, "ask", lambda _: [("Valkey", "9.1.2")])
        assert engine.version(session) == "Valkey Cluster 9.1.2"


def test_the_option_must_say_what_the_server_is(target: Target, tmp_path: Path) -> None:
    with pytest.raises(CannotConnect, match=r"the server belongs to a cluster; set .* option cluster"):
        database("redis").connect(target.with_(options={}))
    (port,) = free_ports(1)
    server = subprocess.Popen([str(PROGRAM), "--port", str(port), "--dir", str(tmp_path), "--save", ""])
    try:
        plain(port).close()
        alone = Target(kind="redis", host="127.0.0.1", port=port, options={"cluster": "on"})
        with pytest.raises(CannotConnect, match="the server belongs to no cluster; omit"):
            database(alone).connect(alone)
    finally:
        server.kill()
        server.wait()
