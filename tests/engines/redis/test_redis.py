"""Redis as an engine: the expectations of the conformance suite on its functions and scripts, a build, a run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Target, TprocCLoad, TprocCSpec
from hdbkit.contracts import ApplyBy, Capability, Database, Rule, SessionOptions, Table
from hdbkit.databases import database
from hdbkit.engines.rule_check import try_rules
from hdbkit.errors import (
    CannotConnect,
    ErrorClass,
    InputError,
    NothingListens,
    Rejected,
    RolledBackByDesign,
    SchemaProblem,
    ServerFailed,
    TransactionError,
)
from hdbkit.execution.network import network_facts
from hdbkit.loading import build, drop
from hdbkit.readings import IDLE_SESSIONS
from hdbkit.servers import PrivateServer, control, find_binaries, private_server
from hdbkit.sql import SERVER_STATEMENTS, find
from hdbkit.workloads import workload
from hdbkit.workloads.checking import run_checks
from hdbkit.workloads.tproc_c.conformance import conditions, sessions, transactions
from hdbkit.workloads.tproc_c.conformance.conditions import broken
from hdbkit.workloads.tproc_c.conformance.rules import RuleRun, Small, fill, runner, timeless
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES
from tests.conformance.conftest import connected
from tests.conftest import shown

pytest.importorskip("redis")
pytestmark = pytest.mark.skipif(
    not [one for one in find_binaries() if one.kind == "redis"], reason="no server of Redis here; see: hdbkit doctor"
)

SPEC = TprocCSpec(warehouses=1)
WORK = workload(SPEC)
RULES = [
    rule
    for rule in (*transactions.RULES, *conditions.RULES, *sessions.OVERLAPPING)
    if Capability.SQL not in rule.needs
]
"""The rules that need no SQL."""


class AsSql:
    """A session with the methods that helpers of the conformance suite call; nothing can be undone here."""

    def __init__(self, session: Any) -> None:
        self.session, self.query = session, session.ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def begin(self) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


Connect = Callable[[], AsSql]


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateServer]:
    """A server without a log."""
    with private_server("redis", settings={"appendonly": "no"}) as server:
        yield server


@pytest.fixture(scope="module")
def server(private: PrivateServer) -> Target:
    """Its database 0."""
    return private.target


@pytest.fixture(scope="module")
def warehouse(server: Target) -> Target:
    """One warehouse in database 1, whose build continued a killed one; tests leave it complete."""
    target = server.with_(database="1")
    with closing(database("redis").schema(target, WORK)) as schema:
        schema.create(WORK.record)
        begun = (replace(load, chunks=islice(load.chunks, 1)) for load in WORK.part("warehouse-1"))
        schema.load("warehouse-1", begun, lambda *_: None)
        assert schema.log().parts["warehouse-1"] > 10_000
        schema.session.command("HDEL", "tproc_c:parts", "warehouse-1")  # type: ignore[attr-defined]
    assert build(target, SPEC).passed
    return target


@pytest.fixture
def engine() -> Database:
    return database("redis")


@pytest.fixture
def connect(server: Target, engine: Database) -> Iterator[Connect]:
    made: list[AsSql] = []

    def session() -> AsSql:
        made.append(AsSql(engine.connect(server, WORK.scope(engine.dialects))))
        return made[-1]

    yield session
    for one in made:
        one.close()


@pytest.fixture
def schema(server: Target, engine: Database, connect: Connect) -> AsSql:
    """A session on an empty schema with its functions."""
    session = connect()
    session.command("FLUSHDB")
    with closing(engine.schema(server, WORK)) as made:
        made.create(WORK.record)
        made.routines()
    return session


@pytest.fixture
def sound(schema: AsSql) -> AsSql:
    conditions.sound(schema)  # type: ignore[arg-type]
    return schema


@pytest.fixture
def small(schema: AsSql) -> Small:
    fill(schema)  # type: ignore[arg-type]
    return Small(schema)  # type: ignore[arg-type]


@pytest.fixture
def db(small: Small, connect: Connect) -> AsSql:
    return connect()


@pytest.fixture
def run(db: Any) -> RuleRun:
    return runner("stored", db)


class Bench:
    """Contract: :class:`hdbkit.contracts.Bench`."""

    def __init__(self, empty: AsSql, connect: Connect) -> None:
        self._empty, self._connect = empty, connect
        self.capabilities = database("redis").capabilities

    def emptied(self) -> Any:
        self._empty.command("FLUSHDB")
        return self._empty

    def connect(self, options: SessionOptions | None = None) -> Any:
        return self._connect()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_of_the_conformance_suite_is_kept(rule: Rule, schema: AsSql, connect: Connect) -> None:
    rule.hold(Bench(schema, connect))


def test_enough_rules_are_tried() -> None:
    assert len(RULES) >= 25


def test_the_check_of_an_engine_tries_them_and_leaves_no_key(server: Target, engine: Database) -> None:
    target = server.with_(database="2")
    tried = list(try_rules(target, WORK, [*RULES[:3], *conditions.RULES]))
    assert not [one for one in tried if one.kept is False]
    assert sum(one.kept is True for one in tried) >= 7
    with closing(engine.connect(target)) as session:
        assert session.command("DBSIZE") == 0  # type: ignore[attr-defined]


def test_functions_do_what_sql_does(run: RuleRun, small: Small, tmp_path: Path) -> None:
    """The same inputs give the same rows, with the same types, and leave the same tables as on an SQL engine."""
    other = Target(kind="sqlite", database=str(tmp_path / "other"))
    with closing(database("sqlite").schema(other, WORK)) as made:
        made.create(WORK.record)
        for step in made.after_load():
            made.do(step)
    with closing(connected(other)) as session:
        fill(session)
        rows = transactions._some_of_each(runner("client", session))
        assert timeless(transactions._some_of_each(run)) == timeless(rows)
        assert small.everything() == Small(session).everything()


@pytest.mark.parametrize(
    ("commands", "conditions"),
    [
        (["HINCRBY {w1}:warehouse w_ytd 100"], {"1", "8"}),
        (["HINCRBY {w1}:district:1 d_ytd 100"], {"1", "9"}),
        (["HINCRBY {w1}:district:1 d_next_o_id 1"], {"2"}),
        (["ZREM {w1}:new_order:1 2103"], {"3", "5", "11"}),
        (["ZREM {w1}:new_order:1 3000"], {"2", "5", "11"}),
        (["ZREM {w1}:new_order:1 2101"], {"5", "11"}),
        (["HSET {w1}:orders:1 2101 1|0|1|1|1"], {"5", "7"}),
        (["HDEL {w1}:orders:1 7"], {"4", "6", "11"}),
        (["HSET {w1}:order_line:1 2101:1 1|1|5|5|500|x"], {"7", "10", "12"}),
        (["HINCRBY {w1}:customer:1:2 c_balance -100", "HINCRBY {w1}:customer:1:2 c_ytd_payment 100"], {"10"}),
        (
            ["HINCRBY {w1}:customer:1:1 c_balance 500", "HINCRBY {w1}:customer:1:1 c_delivery_cnt 1"],
            {"10", "11", "12"},
        ),
        (["HINCRBY {w1}:stock:1 s_ytd 1"], {"stock"}),
        (["HINCRBY {w1}:stock:1 s_remote_cnt 1"], {"stock"}),
    ],
)
def test_what_breaks_a_condition_is_found(sound: Any, commands: list[str], conditions: set[str]) -> None:
    for text in commands:
        command, key, *words = text.split()
        sound.command(command, f"tproc_c:{key}", *words)
    assert broken(sound) == conditions


def test_a_missing_index_is_reported(sound: Any, engine: Database) -> None:
    sound.command("DEL", "tproc_c:{w1}:customer_by_name:1")
    (found,) = [one for one in run_checks(WORK.checks(engine.dialects), engine, sound) if one.name == "indexes"]
    assert (found.passed, found.detail) == (False, "missing: customer_by_name")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("new_order", (1, 1, 99, (1,), (1,), (1,))),
        ("payment", (1, 1, 1, 1, None, "NOBODY", "1.00")),
        ("payment", (9, 1, 1, 1, 1, None, "1.00")),
        ("payment", (1, 1, 1, 1, 1, None, "1,00")),
        ("order_status", (1, 1, 1, None)),
    ],
)
def test_a_function_that_fails_has_changed_nothing(
    run: RuleRun, small: Small, name: str, arguments: tuple[Any, ...]
) -> None:
    before = small.everything()
    with pytest.raises(TransactionError) as failed:
        run(name, *arguments)
    assert failed.value.error_class is ErrorClass.OTHER
    assert small.everything() == before
    assert run("delivery", 1, 1) == ((), ())


def test_changes_are_refused_if_what_they_watch_has_changed(small: Small, connect: Connect) -> None:
    first, other = connect(), runner("client", connect())
    first.read([("client_read_stock", (7, 1, "01"))])
    other("new_order", 1, 1, 1, (7,), (1,), (1,))
    before, write = small.everything(), [("client_write_stock", (7, 1, 99, 0, 0, 0))]
    with pytest.raises(TransactionError, match="a watched key was changed") as refused:
        first.change(write)
    assert refused.value.error_class is ErrorClass.SERIALIZATION
    assert small.everything() == before
    first.change(write)
    assert small.row("stock", s_w_id=1, s_i_id=7)["s_quantity"] == 99


@pytest.mark.parametrize("way", ["stored", "client"])
def test_a_transaction_conflicts_only_with_what_it_must_notice(small: Small, connect: Connect, way: str) -> None:
    other, watching = runner(way, connect()), connect()
    order, deliver = ("new_order", 1, 1, 2, (1,), (1,), (1,)), ("delivery", 1, 1)
    pay = ("payment", 1, 1, 1, 1, 1, None, Decimal(1))
    other(*order)
    for step, given, does, conflicts in (
        ("client_read_heading", (1, 1, 1), pay, False),
        ("client_read_last_order", (1, 1, 2), order, False),
        ("client_read_last_order", (1, 1, 2), deliver, True),
        ("client_watch_deliveries", (1,), order, False),
        ("client_watch_deliveries", (1,), deliver, True),
        ("client_read_heading", (1, 1, 1), order, True),
        ("client_read_heading", (1, 1, 1), deliver, False),
        ("client_read_payer", (1, 1, 1), pay, True),
    ):
        watching.read([(step, given)])
        other(*does)
        try:
            watching.change([])
        except TransactionError:
            assert conflicts, (step, does)
        else:
            assert not conflicts, (step, does)


def test_nothing_is_watched_after_an_error(small: Small, connect: Connect) -> None:
    first, other = connect(), runner("client", connect())
    other("new_order", 1, 1, 1, (7,), (1,), (1,))
    first.command("SET", "tproc_c:{w2}:warehouse", "no hash")
    with pytest.raises(TransactionError, match="WRONGTYPE"):
        first.read([("client_read_stock", (7, 1, "01")), ("client_read_heading", (2, 1, 1))])
    other("new_order", 1, 1, 1, (7,), (1,), (1,))
    first.change([("client_write_delivery", (1,))])
    with pytest.raises(RolledBackByDesign):
        runner("client", first)("new_order", 1, 1, 1, (1, 100_001), (1, 1), (1, 1))
    other("new_order", 1, 1, 1, (1,), (1,), (1,))
    first.change([("client_write_delivery", (1,))])


def test_orders_by_functions_and_clients_at_once_lose_nothing(small: Small, connect: Connect) -> None:
    """In one district, in which each order conflicts with every other."""

    def twenty(way: str) -> int:
        run, conflicts, done = runner(way, connect()), 0, 0
        while done < 20:
            try:
                run("new_order", 1, 1, 1, (1, 2, 7), (1, 2, 1), (1, 2, 3))
                done += 1
            except TransactionError as error:
                assert error.error_class is ErrorClass.SERIALIZATION
                conflicts += 1
        return conflicts

    with ThreadPoolExecutor(max_workers=4) as pool:
        conflicts = list(pool.map(twenty, ["client", "stored", "client", "client"]))
    assert conflicts[1] == 0
    assert [row["o_id"] for row in small.rows("orders")] == list(range(3001, 3081))
    assert small.row("stock", s_w_id=1, s_i_id=1)["s_order_cnt"] == 80
    assert small.session.query("consistency_stock") == [(0,)]


def test_memory_that_is_used_up_is_a_lack_of_resources(run: RuleRun, db: AsSql) -> None:
    db.command("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(TransactionError) as failed:
            run("new_order", 1, 1, 1, (1,), (1,), (1,))
    finally:
        db.command("CONFIG", "SET", "maxmemory", "0")
    assert failed.value.error_class is ErrorClass.RESOURCES


def test_settings_that_evict_rows_or_end_idle_sessions_are_named(server: Target, engine: Database) -> None:
    with closing(engine.connect(server)) as session:
        assert engine.disturbances(session) == []
        command = session.command  # type: ignore[attr-defined]
        command("CONFIG", "SET", "maxmemory", "100gb", "maxmemory-policy", "allkeys-lru", "timeout", "30")
        try:
            assert [one.setting for one in engine.disturbances(session)] == ["maxmemory-policy"]
            assert [(one.ends, one.seconds) for one in engine.timeouts(session)] == [(IDLE_SESSIONS, 30)]
        finally:
            command("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction", "timeout", "0")


def test_a_load_that_pauses_for_longer_than_its_sessions_may_be_idle_is_warned_of_and_its_errors_name_the_timeout(
    server: Target, warehouse: Target
) -> None:
    """The server closes a connection that was idle without a word."""
    load = TprocCLoad(virtual_users=2, rampup_s=0, duration_s=10, rate=1)

    def end_idle_sessions(after_s: int) -> None:
        with closing(database("redis").connect(server)) as session:
            session.command("CONFIG", "SET", "timeout", after_s)  # type: ignore[attr-defined]

    end_idle_sessions(1)
    try:
        result = hdbkit.run(warehouse, load=load)
    finally:
        end_idle_sessions(0)
    limit = "idle sessions end after 1 s, which the server (timeout) sets"
    assert f"{limit}, and users of this load pause for up to 20 s" in "; ".join(result.warnings)
    failed = result.checks.set_index("name").loc["no transaction failed"]
    assert not failed["passed"]
    assert re.search(rf"\d of \d lost connections? had been idle for longer: {re.escape(limit)}", failed["detail"])


def test_a_closed_connection_is_lost(run: RuleRun, db: AsSql, connect: Connect) -> None:
    connect().command("CLIENT", "KILL", "ID", db.command("CLIENT", "ID"))
    with pytest.raises(TransactionError) as failed:
        run("delivery", 1, 1)
    assert failed.value.error_class is ErrorClass.CONNECTION_LOST
    with pytest.raises(TransactionError, match="closed the connection"):
        db.command("PING")


def test_values_with_controls_and_backslashes_are_loaded_as_they_are(schema: AsSql) -> None:
    rows = b"1\t1\ta\\tb\\\\c\t1.5\t\\N\n2\t1\tx\t0.05\ty%d\n"
    assert schema.load(Table("item", TPROC_C_TABLES["item"].columns), [rows]) == 2
    assert schema.command("HGET", "tproc_c:item:1", "i_name") == b"a\tb\\c"
    assert schema.command("HMGET", "tproc_c:item:1", "i_price", "i_data") == [b"150", b""]
    assert schema.command("HMGET", "tproc_c:item:2", "i_price", "i_data") == [b"5", b"y%d"]


def test_a_load_without_a_column_is_refused(schema: AsSql) -> None:
    with pytest.raises(InputError, match="the rows have no column 'i_data'"):
        schema.load(Table("item", ("i_id", "i_im_id", "i_name", "i_price")), [b"1\t1\tx\t1\n"])


def test_a_load_that_fails_reports_it(schema: AsSql) -> None:
    schema.command("SET", "tproc_c:item:2", "no hash")
    rows = b"".join(b"%d\t1\tx\t1.00\tx\n" % number for number in range(1, 2000))
    with pytest.raises(TransactionError, match="WRONGTYPE"):
        schema.load(TPROC_C_TABLES["item"], [rows, rows])
    assert schema.ask("count_warehouse") == [(0,)]


def test_a_schema_is_claimed_by_one_process_until_it_closes(warehouse: Target, engine: Database) -> None:
    first, second = engine.schema(warehouse, WORK), engine.schema(warehouse, WORK)
    assert [first.claim(), first.claim(), second.claim()] == [True, True, False]
    first.close()
    with closing(second):
        assert second.claim()


@pytest.mark.parametrize("routines", ["stored", pytest.param("client", marks=pytest.mark.long)])
def test_a_run_counts_what_it_does_and_leaves_all_conditions(
    warehouse: Target, engine: Database, routines: str
) -> None:
    load = TprocCLoad(virtual_users=2, rampup_s=0, duration_s=60, iterations=200, routines=routines)
    result = hdbkit.run(warehouse, load=load)
    assert (result.metric_value or 0) > 0
    names = {f"schema: {one.name}" for one in WORK.checks(engine.dialects)}
    checks = result.checks.set_index("name")["passed"]
    assert names <= {*checks.index}
    assert checks[[*names]].all()


def test_a_schema_that_is_there_is_not_built_again(warehouse: Target) -> None:
    with pytest.raises(SchemaProblem, match="already built"):
        build(warehouse, SPEC)


def test_functions_of_another_version_are_found_and_renewed(warehouse: Target, engine: Database) -> None:
    with closing(engine.schema(warehouse, WORK)) as schema:
        assert schema.routine_problem(WORK.routines) == ""
        session = schema.session.nodes[0]  # type: ignore[attr-defined]
        code = session.loaded_code()
        session.command("FUNCTION", "LOAD", "REPLACE", code + "\n-- older")
        assert "of another version" in schema.routine_problem(WORK.routines)
        schema.routines()
        assert session.loaded_code() == code
        session.command("FUNCTION", "DELETE", session.library)
        assert "lacks the functions" in schema.routine_problem(WORK.routines)
        schema.routines()


def test_a_drop_removes_keys_and_functions_of_its_schema_only(server: Target, engine: Database) -> None:
    target = server.with_(database="3")
    with closing(engine.connect(target, WORK.scope(engine.dialects))) as session:
        session.command("SET", "tproc_c_of_another", "1")  # type: ignore[attr-defined]
        with closing(engine.schema(target, WORK)) as schema:
            schema.create(WORK.record)
            schema.routines()
            fill(AsSql(schema.session))  # type: ignore[arg-type]
        assert drop(target, SPEC)[:2] == ["function delivery", "function new_order"]
        assert session.command("KEYS", "*") == [b"tproc_c_of_another"]  # type: ignore[attr-defined]
        assert session.ask("list_routines") == []
    with pytest.raises(SchemaProblem, match="there is no schema"):
        drop(target, SPEC)


def test_a_server_that_closes_a_connection_for_a_long_answer_is_asked_on(
    private: PrivateServer, warehouse: Target, engine: Database
) -> None:
    with closing(engine.connect(private.admin)) as admin, closing(engine.connect(warehouse)) as session:
        setting = ("CONFIG", "SET", "client-output-buffer-limit")
        admin.command(*setting, "normal 256kb 0 0")  # type: ignore[attr-defined]
        found = network_facts(engine, session, warehouse)
        admin.command(*setting, "normal 0 0 0")  # type: ignore[attr-defined]
        assert (found.round_trip_ms is None, found.bandwidth_mb_per_s) == (False, None)
        assert engine.clock_s(session)


def test_what_the_server_is_asked(warehouse: Target, engine: Database) -> None:
    with closing(engine.connect(warehouse)) as session:
        assert engine.version(session).startswith("Redis ")
        assert engine.role(session).value == "primary"
        assert abs((engine.clock_s(session) or 0) - time.time()) < 3600
        assert (engine.free_connections(session) or 0) > 100
        assert (network_facts(engine, session, warehouse).bandwidth_mb_per_s or 0) > 0.1
        footprint = engine.footprint(session)
        assert footprint is not None
        assert 0 < footprint.data_bytes < footprint.cache_bytes
        counters = engine.counters(session)
        assert counters["commands"] > counters["functions"]
        assert "commits" not in counters
        assert engine.server_process(session)


def test_latencies_that_the_server_notes_are_events(server: Target, engine: Database) -> None:
    with closing(engine.connect(server)) as session:
        assert engine.recent_events(session) == []
        session.command("CONFIG", "SET", "latency-monitor-threshold", "1")  # type: ignore[attr-defined]
        session.command("EVAL", "for n = 1, 1e7 do end", 0)  # type: ignore[attr-defined]
        session.command("CONFIG", "SET", "latency-monitor-threshold", "0")  # type: ignore[attr-defined]
        (event,) = engine.recent_events(session)
        assert (event.kind, event.text[:13]) == ("latency", "command took ")
        assert event.age_s < 30


@pytest.mark.parametrize(
    ("info", "product"),
    [
        ("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n", "Redis 7.0.15"),
        ("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n", "Valkey 9.1.2"),
    ],
)
def test_the_product_is_named_with_its_own_version(server: Target, engine: Database, info: str, product: str) -> None:
    script = find(engine.dialects, SERVER_STATEMENTS, "product").text
    with closing(engine.connect(server)) as session:
        text = f"local function call() return ARGV[1] end\n{script}"
        [[name, version]] = session.command("EVAL", text, 0, info)  # type: ignore[attr-defined]
    assert f"{name.decode()} {version.decode()}" == product


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"port": 1}, NothingListens, "nothing listens"),
        ({"user": "nobody", "password": "wrong"}, Rejected, "wrong user or password"),
        ({"database": "99"}, Rejected, "no database of this number"),
    ],
)
def test_a_refused_connection_says_why(
    server: Target, engine: Database, changes: dict[str, Any], error: type[CannotConnect], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        engine.connect(server.with_(**changes))


def test_a_database_is_a_number(server: Target, engine: Database) -> None:
    with pytest.raises(InputError, match="databases are numbers"):
        engine.connect(server.with_(database="bench"))


def test_a_private_server_demands_the_password_of_its_accounts(private: PrivateServer, engine: Database) -> None:
    account = {"requirepeer": str(os.geteuid() if private.place.uid is None else private.place.uid)}
    stranger = Target(kind="redis", host="127.0.0.1", port=private.place.port, options=account)
    with pytest.raises(Rejected, match="password"), closing(engine.connect(stranger)) as session:
        session.command("PING")  # type: ignore[attr-defined]
    with pytest.raises(Rejected, match="wrong user or password"):
        engine.connect(stranger.with_(user="hdbkit", password="wrong"))
    with closing(engine.connect(private.target)) as session:
        assert session.command("PING") == b"PONG"  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def spare() -> Iterator[PrivateServer]:
    """A server with few data, which restarts at once."""
    with private_server("redis", settings={"appendonly": "no"}) as server:
        yield server


def test_settings_are_applied_verified_and_restored_and_no_restart_loses_data(spare: PrivateServer) -> None:
    """A log that was off is complete before the server starts with it."""
    it, before = control(spare.target), shown(spare.target, "maxmemory-policy")
    file = spare.settings_file.read_bytes()
    snapshot = it.snapshot()
    with closing(database("redis").connect(spare.target)) as session:
        session.command("SET", "kept", "1")  # type: ignore[attr-defined]
    assert it.apply({"maxmemory-policy": "allkeys-lru", "appendfsync": "always"}).applied_by is ApplyBy.RELOAD
    assert shown(spare.target, "appendfsync") == "always"
    change = it.apply({"appendonly": "on", "io-threads": "2"})
    assert (change.applied_by, shown(spare.target, "io-threads")) == (ApplyBy.RESTART, "2")
    it.restore(snapshot)
    assert spare.settings_file.read_bytes() == file
    assert [shown(spare.target, name) for name in ("maxmemory-policy", "appendonly", "io-threads")] == [
        *(before, "no", "1")
    ]
    with closing(database("redis").connect(spare.target)) as session:
        assert session.command("GET", "kept") == b"1"  # type: ignore[attr-defined]


def test_data_are_kept_and_restored(spare: PrivateServer) -> None:
    it = control(spare.target)
    with closing(database("redis").connect(spare.target)) as session:
        session.command("SET", "before", "1")  # type: ignore[attr-defined]
    it.keep_data()
    with closing(database("redis").connect(spare.target)) as session:
        session.command("SET", "before", "2")  # type: ignore[attr-defined]
    it.restore_data()
    it.drop_kept_data()
    with closing(database("redis").connect(spare.target)) as session:
        assert session.command("GET", "before") == b"1"  # type: ignore[attr-defined]


def test_settings_that_cannot_be_applied_are_refused(spare: PrivateServer) -> None:
    it = control(spare.target)
    assert "maxmemory-policy must be one of" in it.problems({"maxmemory-policy": ["often"]})[0]
    assert "never changed by hdbkit" in it.problems({"port": ["1"]})[0]
    assert "has no setting" in it.problems({"appendonlyy": ["on"]})[0]
    with pytest.raises(ServerFailed, match="the settings are as before"):
        it.apply({"client-output-buffer-limit": "nonsense"})


def test_maintenance_writes_the_log_anew(spare: PrivateServer) -> None:
    it = control(spare.target)
    snapshot = it.snapshot()
    it.apply({"appendonly": "yes"})
    with closing(database("redis").connect(spare.target)) as session:
        size = database("redis").counters(session)["log_bytes"]
        for _ in range(1000):
            session.command("SET", "again", "x" * 100)  # type: ignore[attr-defined]
        it.maintain()
        assert database("redis").counters(session)["log_bytes"] < size + 10_000
    it.restore(snapshot)
