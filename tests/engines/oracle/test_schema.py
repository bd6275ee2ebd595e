"""Loads, counters and tables of Oracle Database."""

from __future__ import annotations

from contextlib import closing
from datetime import date, datetime
from decimal import Decimal

import pytest

from hdbkit.config import Cache, Target, TprocCSpec
from hdbkit.contracts import Table
from hdbkit.databases._oracledb.session import OracleSession
from hdbkit.errors import ErrorClass, InputError, ServerFailed, TransactionError
from hdbkit.servers import control, power
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import workload
from tests.engines.oracle.double import Answer, Module, failure
from tests.engines.oracle.sessions import ENGINE, TARGET, WHEN, connected

# -- loads --------------------------------------------------------------------------------------------


TABLE = Table("t", ("id", "amount", "at", "day", "note"), types=("integer", "decimal", "timestamp", "date", "text"))
LINES = [b"1\t2.50\t2026-03-04 05:06:07\t2026-03-04\ta\n2\t\\N\t\\N\t\\N\tb\n", b"3\t0.10\t\\N\t\\N\tc\\td\n"]


def test_a_load_is_arrays_with_known_types(session: OracleSession, oracledb: Module) -> None:
    session.rows_per_call = 2
    session.begin()
    assert session.load(TABLE, LINES) == 3
    session.commit()
    first, second, end = oracledb.log
    assert " ".join(first.text.split()) == (
        "INSERT INTO t (id, amount, at, day, note) VALUES (:id_, :amount_, :at_, :day_, :note_)"
    )
    assert first.types == (int, Decimal, datetime, datetime, None)
    assert first.values == [[1, Decimal("2.50"), WHEN, date(2026, 3, 4), "a"], [2, None, None, None, "b"]]
    assert second.values == [[3, Decimal("0.10"), None, None, "c\td"]]
    assert (first.autocommit, end.what) == (False, "commit")


def test_direct_path_is_one_insert_for_each_table(oracledb: Module) -> None:
    with closing(connected(target=Target.parse("oracle://bench@db1/P?load=direct"))) as made:
        oracledb.forget()
        made.begin()
        made.load(TABLE, LINES * 20_000)
    (sent,) = oracledb.log
    assert sent.text.startswith("INSERT /*+ APPEND_VALUES */ INTO t (")
    assert len(sent.values) == 60_000


def test_a_failed_load_rolls_back(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure("ORA-01653", "unable to extend table") if text else None
    session.begin()
    with pytest.raises(TransactionError) as caught:
        session.load(TABLE, LINES)
    assert caught.value.error_class is ErrorClass.RESOURCES
    assert "rollback" in oracledb.texts


# -- the server ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["ORA-00942", "ORA-01031"])
def test_a_question_without_its_privilege_has_no_answer(code: str, session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure(code) if text else None
    assert ENGINE.counters(session) == {}
    assert ENGINE.footprint(session) is None
    assert ENGINE.free_connections(session) is None


def test_another_error_of_a_question_is_an_error(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: failure("ORA-04031") if text else None
    with pytest.raises(TransactionError):
        ENGINE.counters(session)


def test_counters_are_of_all_instances_and_of_no_view_of_the_diagnostics_pack(
    session: OracleSession, oracledb: Module
) -> None:
    oracledb.answers = lambda *_: Answer([("commits", 12), ("rollbacks", 1), ("instances", 2)])
    assert ENGINE.counters(session) == {"commits": 12.0, "rollbacks": 1.0, "instances": 2.0}
    assert "gv$sysstat" in oracledb.texts[0]
    known = statements(ENGINE.dialects, SERVER_STATEMENTS).items()
    texts = " ".join(one.text for name, one in known if name not in ("take_snapshot", "session_waits_full")).lower()
    assert not [word for word in ("dba_hist", "dbms_workload", "v$active_session") if word in texts]


def test_log_switches_and_their_waits_are_counted_where_their_views_may_be_read(
    session: OracleSession, oracledb: Module
) -> None:
    rows = [("log_switches", 812), ("waited_log_switches_ms", 93.5)]
    oracledb.answers = lambda text, _: Answer(rows if "v$log " in text else [("commits", 12)])
    assert ENGINE.counters(session) == {"commits": 12.0, "log_switches": 812.0, "waited_log_switches_ms": 93.5}
    oracledb.answers = lambda text, _: failure("ORA-00942") if "v$log " in text else Answer([("commits", 12)])
    assert ENGINE.counters(session) == {"commits": 12.0}


def test_the_cache_is_emptied_by_the_servers_own_command(oracledb: Module) -> None:
    oracledb.answers = lambda *_: None
    power.empty(Cache.FLUSH, TARGET, control(TARGET))
    assert "ALTER SYSTEM FLUSH BUFFER_CACHE" in oracledb.texts
    oracledb.answers = lambda text, _: failure("ORA-01031", "insufficient privileges") if "FLUSH" in text else None
    with pytest.raises(ServerFailed, match=r"could not be emptied: .*insufficient privileges"):
        power.empty(Cache.FLUSH, TARGET, control(TARGET))


def test_a_true_cache_is_a_replica_at_a_service_of_its_own(oracledb: Module) -> None:
    target = TARGET.with_(replicas=("tc1:1522/SALES_TC",))
    oracledb.answers = lambda text, _: Answer([("read-only",)] if "TRUE CACHE" in text else [])
    with closing(ENGINE.connect(target.replica(0))) as session:
        assert ENGINE.is_replica(session)
    given = oracledb.connections[-1].parameters
    assert (given["host"], given["port"], given["service_name"]) == ("tc1", 1522, "SALES_TC")


def test_snapshots_of_the_repository_are_taken_on_request_with_the_notice_of_the_licence(
    session: OracleSession, oracledb: Module
) -> None:
    assert not ENGINE.snapshot_notice(TARGET)
    wanted = Target.parse("oracle://bench@db1/FREEPDB1?awr=snapshots")
    assert "licence of the Diagnostics Pack" in ENGINE.snapshot_notice(wanted)
    oracledb.answers = lambda *_: Answer(sets={"snapshot_": 1201})
    assert session.ask("take_snapshot") == [(1201,)]
    assert "control_management_pack_access" in oracledb.texts[0]


def test_the_version_names_the_pluggable_database(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda text, _: Answer([("FREEPDB1",)] if "CON_NAME" in text else [("23.9.0.25.07",)])
    assert ENGINE.version(session) == "Oracle Database 23.9.0.25.07 (PDB FREEPDB1)"


def test_a_schema_is_reserved_by_a_lock_of_the_server(session: OracleSession, oracledb: Module) -> None:
    oracledb.answers = lambda *_: Answer(sets={"claimed_": 1})
    assert session.query("claim_schema") == [(1,)]


def test_a_new_log_file_and_a_checkpoint_end_a_build_on_request(oracledb: Module) -> None:
    commands = ["ALTER SYSTEM SWITCH LOGFILE", "ALTER SYSTEM CHECKPOINT GLOBAL"]
    oracledb.answers = lambda text, _: Answer([(one,) for one in commands] if "CON_ID" in text else [])
    work = workload(TprocCSpec(warehouses=1, storage={"checkpoint": True}))
    with closing(ENGINE.schema(TARGET, work)) as schema:
        oracledb.forget()
        schema.finish()
    assert oracledb.texts[-2:] == commands


def test_a_build_that_may_not_do_its_checkpoint_does_not_begin(oracledb: Module) -> None:
    oracledb.answers = lambda *_: Answer([("GRANT ALTER SYSTEM TO BENCH",)])
    work = workload(TprocCSpec(warehouses=1, storage={"checkpoint": True}))
    with (
        closing(ENGINE.schema(TARGET, work)) as schema,
        pytest.raises(InputError, match="GRANT ALTER SYSTEM TO BENCH"),
    ):
        schema.create("{}")


STORED: dict[str, object] = {
    "partitions": 8,
    "tablespace": "fast",
    "index_tablespace": "fast_ix",
    "hash_clusters": True,
}


def built(oracledb: Module, **storage: object) -> list[str]:
    """What the creation of the tables and then of the indexes sends."""
    work = workload(TprocCSpec(warehouses=20, storage=storage))
    oracledb.answers = lambda text, _: Answer([] if text.startswith("SELECT") else None)
    with closing(ENGINE.schema(TARGET, work)) as schema:
        oracledb.forget()
        schema.create("{}")
        for step in schema.after_load():
            schema.do(step)
    return oracledb.texts


def test_tables_and_indexes_are_in_their_tablespaces(oracledb: Module) -> None:
    texts = built(oracledb, tablespace="fast", index_tablespace="fast_ix")
    tables = [text for text in texts if text.startswith("CREATE TABLE") and "build_" not in text]
    indexes = [text for text in texts if text.startswith(("CREATE INDEX", "ALTER TABLE"))]
    assert (len(tables), len(indexes)) == (9, 10)
    assert all(text.endswith("TABLESPACE fast") for text in tables)
    assert all(text.endswith("TABLESPACE fast_ix") for text in indexes)


def test_partitions_are_by_warehouse_and_their_indexes_too(oracledb: Module) -> None:
    texts = built(oracledb, partitions=8)
    parted = [text.split()[2] for text in texts if text.endswith("PARTITIONS 8")]
    assert sorted(parted) == ["history", "order_line", "orders"]
    assert len([text for text in texts if text.endswith("LOCAL")]) == 3


def test_a_server_without_partitions_is_one_sentence_before_anything_is_created(oracledb: Module) -> None:
    oracledb.answers = lambda text, _: Answer([("FALSE",)] if "v$option" in text else [])
    work = workload(TprocCSpec(warehouses=1, storage={"partitions": 8}))
    with (
        closing(ENGINE.schema(TARGET, work)) as schema,
        pytest.raises(InputError, match=r"lacks the option Partitioning .*; omit partitions"),
    ):
        schema.create("{}")
    assert not [text for text in oracledb.texts if text.startswith("CREATE")]


def test_hash_clusters_are_sized_for_the_scale(oracledb: Module) -> None:
    texts = built(oracledb, **STORED)
    clusters = {text.split()[2]: text for text in texts if text.startswith("CREATE CLUSTER")}
    keys = {name: int(text.partition("HASHKEYS ")[2].split()[0]) for name, text in clusters.items()}
    assert keys == {
        **{"item_cluster": 100_000, "warehouse_cluster": 20, "district_cluster": 200},
        **{"customer_cluster": 600_000, "stock_cluster": 2_000_000},
    }
    assert all("TABLESPACE fast " in text for text in clusters.values())
    assert len([text for text in texts if text.startswith("CREATE TABLE") and " CLUSTER " in text]) == 5


def test_clusters_of_a_killed_build_are_dropped_and_no_others(oracledb: Module) -> None:
    found = [("stock_cluster",), ("emp_dept_cluster",)]
    oracledb.answers = lambda text, _: Answer(found if "user_clusters" in text else [])
    with closing(ENGINE.schema(TARGET, workload(TprocCSpec(warehouses=1)))) as schema:
        assert schema.drop() == ["cluster stock_cluster"]
        schema.create("{}")
    assert [text for text in oracledb.texts if "DROP" in text] == ["DROP CLUSTER stock_cluster"] * 2


def test_a_missing_account_is_created_with_what_a_build_needs(oracledb: Module) -> None:
    oracledb.answers = lambda text, _: Answer(
        [(0,)] if "all_users" in text else [("CREATE x",)] if "CREATE USER" in text else None
    )
    assert ENGINE.provision(Target.parse("oracle://system@db1/P"), TARGET) == ["account bench"]
    assert oracledb.texts[-1] == "CREATE x"


def test_the_proxy_needs_a_host_and_no_verified_name() -> None:
    assert ENGINE.behind_proxy(TARGET, 7).url == "oracle://bench@127.0.0.1:7/FREEPDB1"
    for url in ("oracle://bench@/SALES", "oracle://bench@db1/P?protocol=tcps"):
        with pytest.raises(InputError, match="proxy"):
            ENGINE.behind_proxy(Target.parse(url), 7)
