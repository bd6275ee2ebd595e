"""Sessions of TimesTen: what is sent, values, commits, and what errors mean."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest

import hdbkit
from hdbkit.config import Target
from hdbkit.contracts import OPERATIONS, Operation
from hdbkit.databases.timesten import TimesTenSession, shared_memory
from hdbkit.databases.timesten.connect import TIMESTEN_CLASSES
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.execution.server_host import kernel_parameters
from hdbkit.readings import HostNeeds
from hdbkit.sql import SERVER_STATEMENTS, folders, statements
from hdbkit.workloads.tproc_c import client
from hdbkit.workloads.tproc_c.contract import CONTRACTS
from tests.analytic import ANALYTIC, queries
from tests.analytic import WORDS as ANALYTIC_WORDS
from tests.engines.oracle.double import Answer, Module, failure
from tests.engines.oracle.sessions import ARGUMENTS as OF_ORACLE
from tests.engines.oracle.sessions import WHEN
from tests.engines.timesten.sessions import ENGINE, TARGET, WORK

ARGUMENTS: dict[str, Any] = {**OF_ORACLE, "name": "CkptRate", "apply_by": "reload"}
LACKING = (
    *("v$sysstat", "v$parameter", "v$session", "gv$", "user_tables", "user_indexes", "dbms_", "sys_context", "json_"),
    *("fetch first", "save exceptions", "savepoint", "systimestamp", "autonomous_transaction", "localtimestamp"),
    *("partition by", "tablespace", "clob", "pctfree", "generated", "nls_date_format", "alter system", "purge"),
)
"""What Oracle Database or the standard has and TimesTen lacks (SQL Reference; PL/SQL Developer's Guide, 8)."""


def operations() -> list[Operation]:
    listed = [*OPERATIONS, *CONTRACTS["tproc_c"]]
    known = {**statements(ENGINE.dialects, SERVER_STATEMENTS), **WORK.scope(ENGINE.dialects).statements}
    return [one for one in listed if one.name in known and one.name != "insert_row"]


@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.name)
def test_every_operation_is_sent_with_a_value_for_each_placeholder(
    operation: Operation, session: TimesTenSession, oracledb: Module
) -> None:
    """The double refuses missing and superfluous values, reserved words, words not filled, and wrong ends."""
    session.query(operation.name, **{name: ARGUMENTS.get(name, 1) for name in operation.parameters})
    assert oracledb.log
    assert all(one.autocommit for one in oracledb.log)


@pytest.mark.parametrize("operation", queries(ENGINE.dialects), ids=lambda one: one[0])
def test_every_operation_of_the_analytic_workload_is_sent_with_its_values(
    operation: tuple[str, dict[str, Any]], oracledb: Module
) -> None:
    name, given = operation
    with closing(ENGINE.connect(TARGET, ANALYTIC.scope(ENGINE.dialects))) as session:
        oracledb.forget()
        session.query(name, **given)
    assert {*oracledb.log[0].values} == {f"{one}_" for one in given if one not in ANALYTIC_WORDS}


def test_no_statement_uses_what_timesten_lacks() -> None:
    options = ("timesten/cache", "timesten/cache_full", "timesten/awt")
    for dialects in (ENGINE.dialects, (*ENGINE.dialects, *options)):
        for folder in (one for one in folders(dialects) if "hammerdb" not in one):
            for name, one in statements(dialects, folder).items():
                if not name.endswith("_partitioned"):
                    assert not [word for word in LACKING if word in one.text.lower()], f"{folder}.{name}"


def test_a_built_in_procedure_is_called_in_a_block() -> None:
    """OCI supports none that returns a result ("Built-In Procedures", TimesTen Reference)."""
    for name, one in statements(ENGINE.dialects, SERVER_STATEMENTS).items():
        if "CALL tt" in one.text:
            assert "BEGIN" in one.text, name


def test_a_new_order_is_one_round_trip_that_commits_itself(session: TimesTenSession, oracledb: Module) -> None:
    sets = {
        **{"o_id_": 3001, "o_entry_d_": WHEN, "w_tax_": Decimal("0.1"), "d_tax_": Decimal("0.05")},
        **{"c_discount_": Decimal(0), "c_last_": "BAR", "c_credit_": "GC", "total_": Decimal("23.5")},
        **{
            "i_names_": ["a"],
            "left_over_": [20],
            "brands_": ["G"],
            "prices_": [Decimal(1)],
            "amounts_": [Decimal(5)],
        },
    }
    oracledb.answers = lambda *_: Answer(sets=sets)
    session.prepare(["call_new_order"])
    (row,) = session.rows(session.perform(session.bind("call_new_order", (1, 2, 3, (7,), (1,), (5,)))))
    assert (row[0], row[1], str(row[7]), row[8:]) == (3001, WHEN, "23.50", (("a",), (20,), ("G",), (1,), (5,)))
    (sent,) = oracledb.log
    assert sent.autocommit
    assert sent.values["item_ids_"] == [7]


def test_a_payment_of_the_client_is_one_transaction_and_numbers_its_row(
    session: TimesTenSession, oracledb: Module
) -> None:
    oracledb.answers = lambda text, _: Answer([(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)] if "SELECT" in text else None)
    client.payment(session, (1, 2, 1, 2, 3, None, Decimal("12.50")))
    sent = [text.split()[0] for text in oracledb.texts]
    assert sent == ["BEGIN", "UPDATE", "UPDATE", "SELECT", "INSERT", "commit"]
    assert not any(one.autocommit for one in oracledb.log[:-1])
    assert "history_ids.NEXTVAL" in oracledb.texts[4]
    payment = statements(ENGINE.dialects, "tproc_c")["create_routine_payment"].text
    assert "h_data, h_id)" in payment
    assert "history_ids.NEXTVAL" in payment


def test_a_routine_with_errors_fails_although_its_command_succeeds(
    session: TimesTenSession, oracledb: Module
) -> None:
    """Whatever the driver warns of: the catalog decides."""
    oracledb.answers = lambda text, _: (
        Answer([("DELIVERY_ROUTINE, line 3: PLS-00201",)]) if "user_errors" in text else None
    )
    with pytest.raises(TransactionError, match="line 3: PLS-00201"):
        session.query("create_routine_delivery")


@pytest.mark.parametrize("text", ["item number is not valid", "TT8507: ORA-20001: item number is not valid"])
def test_an_unknown_item_is_a_rollback_by_design(text: str, session: TimesTenSession, oracledb: Module) -> None:
    code = "ORA-57000" if text.startswith("TT") else "ORA-20001"
    oracledb.answers = lambda sent, _: failure(code, text) if sent else None
    session.prepare(["call_new_order"])
    with pytest.raises(RolledBackByDesign):
        session.perform(session.bind("call_new_order", (1, 2, 3, (7,), (1,), (5,))))
    assert oracledb.texts[-1] == "rollback"
    assert session.connection.autocommit


@pytest.mark.parametrize(
    ("code", "text", "expected", "known_as"),
    [
        # https://docs.oracle.com/en/error-help/tt/tt-06002 and so on
        ("ORA-57000", "TT6002: Lock request denied because of deadlock", ErrorClass.DEADLOCK, "TT-06002"),
        ("ORA-57000", "TT6003: Lock request denied because of time-out", ErrorClass.LOCK_TIMEOUT, "TT-06003"),
        ("ORA-00060", "TT-06002: deadlock", ErrorClass.DEADLOCK, "TT-06002"),
        ("ORA-00001", "TT0907: Unique constraint (ITEM_PK) violated", ErrorClass.CONSTRAINT, "TT-00907"),
        ("ORA-57000", "TT3001: Foreign key violation", ErrorClass.CONSTRAINT, "TT-03001"),
        ("ORA-57000", "TT5224: Oracle foreign key violation", ErrorClass.CONSTRAINT, "TT-05224"),
        ("ORA-57000", "TT0802: Database permanent space exhausted", ErrorClass.RESOURCES, "TT-00802"),
        ("ORA-57000", "TT6220: Permanent data region free space insufficient", ErrorClass.RESOURCES, "TT-06220"),
        ("ORA-57000", "TT6206: Heap is full", ErrorClass.RESOURCES, "TT-06206"),
        ("ORA-57000", "TT6005: not enough temp space available", ErrorClass.RESOURCES, "TT-06005"),
        ("ORA-57000", "TT0702: max number of connections exceeded", ErrorClass.RESOURCES, "TT-00702"),
        ("ORA-57000", "TT0994: Database connection terminated", ErrorClass.CONNECTION_LOST, "TT-00994"),
        ("ORA-57000", "TT0846: Database is invalid", ErrorClass.CONNECTION_LOST, "TT-00846"),
        # codes of Oracle Database without a number
        ("ORA-00001", "unique constraint violated", ErrorClass.CONSTRAINT, "ORA-00001"),
        ("ORA-01400", "cannot insert NULL", ErrorClass.CONSTRAINT, "ORA-01400"),
        ("ORA-03113", "end-of-file", ErrorClass.CONNECTION_LOST, "ORA-03113"),
        ("ORA-57000", "TT2206: Table HISTORY not found", ErrorClass.OTHER, "ORA-57000"),
    ],
)
def test_an_error_has_a_class_by_its_number_else_by_its_code(
    code: str, text: str, expected: ErrorClass, known_as: str, session: TimesTenSession, oracledb: Module
) -> None:
    session.is_own = False  # of a load, whose errors stay as the server words them
    oracledb.answers = lambda sent, _: failure(code, text) if sent else None
    session.begin()
    with pytest.raises(TransactionError) as caught:
        session.query("count_item")
    assert (caught.value.error_class, caught.value.code) == (expected, known_as)
    assert caught.value.text == f"{code}: {text}"
    lost = expected is ErrorClass.CONNECTION_LOST
    assert oracledb.connections[0].closed is lost
    assert (oracledb.texts[-1] == "rollback") is not lost


def test_every_number_is_tried_above() -> None:
    tried = {int(mark[3].removeprefix("TT-")) for mark in _cases() if mark[3].startswith("TT-")}
    assert tried == set(TIMESTEN_CLASSES)


def _cases() -> list[tuple[Any, ...]]:
    (mark,) = (
        one
        for one in test_an_error_has_a_class_by_its_number_else_by_its_code.pytestmark  # type: ignore[attr-defined]
        if one.name == "parametrize"
    )
    return list(mark.args[1])


# -- the server ---------------------------------------------------------------------------------------


def test_counters_are_those_of_sys_monitor(session: TimesTenSession, oracledb: Module) -> None:
    oracledb.answers = lambda *_: Answer([("commits", 12), ("rollbacks", 1), ("log_waits", 3)])
    assert ENGINE.counters(session) == {"commits": 12.0, "rollbacks": 1.0, "log_waits": 3.0}
    assert {"xact_commits", "xact_rollbacks", "ds_checkpoints", "log_buffer_waits"} <= {
        word.strip(",") for word in oracledb.texts[0].split()
    }


@pytest.mark.parametrize("code", ["ORA-00942", "ORA-01031"])
def test_a_question_without_its_privilege_has_no_answer(
    code: str, session: TimesTenSession, oracledb: Module
) -> None:
    oracledb.answers = lambda text, _: failure(code) if text else None
    assert ENGINE.counters(session) == {}
    assert ENGINE.footprint(session) is None


def test_the_version_has_five_parts(session: TimesTenSession, oracledb: Module) -> None:
    oracledb.answers = lambda *_: Answer([(22, 1, 1, 25, 0, 1)])
    assert ENGINE.version(session) == "TimesTen 22.1.1.25.0"


def test_a_setting_is_changed_by_the_built_in_procedure_that_keeps_it(
    session: TimesTenSession, oracledb: Module
) -> None:
    command = "BEGIN EXECUTE IMMEDIATE 'CALL ttCkptConfig(NULL, NULL, 500)'; END;"
    oracledb.answers = lambda text, _: Answer([(command,)] if text.startswith("SELECT") else None)
    session.query("set_setting", name="CkptRate", value="500", apply_by="reload")
    assert oracledb.texts[-1] == command
    assert oracledb.log[0].values == {"name_": "CkptRate", "value_": "500", "apply_by_": "reload"}


def test_maintenance_flushes_user_managed_groups(session: TimesTenSession, oracledb: Module) -> None:
    command = "FLUSH CACHE GROUP ITEM_CACHE_FLUSH"
    oracledb.answers = lambda text, _: Answer([(command,)] if text.startswith("SELECT") else None)
    session.query("remove_old_rows")
    assert oracledb.texts[-1] == command


def test_snapshots_are_taken_on_request_with_the_command_that_makes_their_report(
    session: TimesTenSession, oracledb: Module
) -> None:
    assert not ENGINE.snapshot_notice(TARGET)
    wanted = Target.parse("timesten://bench@/sampledb?connection=direct&stats=snapshots")
    assert "ttStats -report -snap1" in ENGINE.snapshot_notice(wanted)
    oracledb.answers = lambda *_: Answer(sets={"snapshot_": 7})
    assert session.ask("take_snapshot") == [(7,)]


# -- the host of the database -------------------------------------------------------------------------


def test_the_shared_memory_is_that_of_the_documented_examples() -> None:
    """ttShmSize of the installation guide, with the default of PLSQL_MEMORY_SIZE; 155 semaphores and one each."""
    sizes = {"PermSize": 32768, "TempSize": 4096, "LogBufMB": 1024, "PLSQL_MEMORY_SIZE": 128}
    found, semaphores = shared_memory({**sizes, "Connections": 2048})
    assert 1 <= found / 39_991_547_720 < 1.001
    assert semaphores == 155 + 2048
    assert shared_memory({"Connections": 100})[1] == 255


def test_the_lines_of_the_kernel_are_those_of_the_documented_examples() -> None:
    """6 GiB are 3,072 huge pages; 48 GiB have this shmmax, and 21,000 semaphores this kernel.sem."""
    lines = [one.line for one in kernel_parameters(HostNeeds(6 << 30, 21_000, here=False), {})]
    assert any("vm.nr_hugepages = 3072 " in line for line in lines)
    lines = [one.line for one in kernel_parameters(HostNeeds(48 << 30, 21_000, here=False), {})]
    assert "in /etc/sysctl.conf: kernel.shmmax = 51539607552" in lines
    assert "in /etc/sysctl.conf: kernel.sem = 21000 53760000 2000 2560" in lines
    assert lines[-1].endswith("hard memlock 50331648")


def test_the_doctor_compares_the_database_with_its_host(oracledb: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [("PermSize", 32768), ("TempSize", 4096), ("LogBufMB", 1024), ("Connections", 2000)]
    oracledb.answers = lambda text, _: Answer(sizes if "LogBufMB" in text else [])
    kernel = {"kernel.shmmax": [1 << 34], "kernel.shmall": [1 << 40], "kernel.sem": [250, 32000, 32, 128]}
    monkeypatch.setattr("hdbkit.execution.host.kernel_limits", lambda _: kernel)
    direct = TARGET.with_(options={"connection": "direct"})
    frame = hdbkit.doctor(direct).query('subject == "server\'s host"')
    assert [line.split()[2] for line in frame["advice"]] == ["kernel.shmmax", "kernel.sem"]
    assert "kernel.sem = 2155 275840 32 128" in frame["advice"].iloc[1]
    (unread,) = hdbkit.doctor(TARGET).query('subject == "server\'s host"').to_dict("records")
    assert unread["state"] == "ok"
    assert "hdbkit agent" in unread["detail"]
