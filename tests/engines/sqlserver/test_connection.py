"""SQL Server: attributes of connections for both drivers, classes of errors, and answers of procedures."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from hdbkit.config import Isolation, Target
from hdbkit.contracts import SERVER, Capability, Table
from hdbkit.databases import database
from hdbkit.databases._base.dbapi_statements import Piece, ProcedureAnswer
from hdbkit.databases.sqlserver import SqlServer, _Found, _level
from hdbkit.databases.sqlserver.connect import chosen_driver, connection_string
from hdbkit.databases.sqlserver.session import SqlServerSession
from hdbkit.errors import CannotConnect, ErrorClass, InputError, MissingDriver, Rejected
from hdbkit.sql import SERVER_STATEMENTS, statements
from tests.engines.sqlserver.double import Module, failure
from tests.engines.sqlserver.sessions import TARGET

MICROSOFT, FREETDS = "ODBC Driver 18 for SQL Server", "FreeTDS"
ENGINE = SqlServer()


def text(url: str, driver: str, secret: str | None = None) -> str:
    return connection_string(Target.parse(url), driver, secret, "hdbkit")


def test_microsofts_driver_gets_its_own_words() -> None:
    url = "sqlserver://bench@db1/tpcc?encrypt=strict&trust_server_certificate=no&application_intent=ReadOnly"
    assert text(url, MICROSOFT, "a;b}c") == (
        "driver={ODBC Driver 18 for SQL Server};SERVER=tcp:db1,1433;Encrypt=strict;TrustServerCertificate=no;"
        "ApplicationIntent=ReadOnly;UID=bench;PWD={a;b}}c};DATABASE=tpcc;APP=hdbkit"
    )


def test_entra_signs_in_without_a_password() -> None:
    found = text("sqlserver://db1/tpcc?authentication=ActiveDirectoryMsi", MICROSOFT)
    assert "Authentication=ActiveDirectoryMsi" in found
    assert "PWD" not in found


def test_freetds_gets_its_own_words() -> None:
    assert text("sqlserver://bench@db1:1434/tpcc?encrypt=yes", FREETDS, "plain") == (
        "driver={FreeTDS};SERVER=db1;PORT=1434;TDS_Version=7.4;ClientCharset=UTF-8;Encryption=require;UID=bench;"
        "PWD=plain;DATABASE=tpcc;APP=hdbkit"
    )


def test_the_advice_for_a_name_that_cannot_be_verified_through_the_proxy_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyodbc", SimpleNamespace(drivers=lambda: [MICROSOFT, FREETDS], Error=OSError))
    with pytest.raises(InputError, match="name of the proxy instead of db1; set the options encrypt=yes and trust_"):
        ENGINE.behind_proxy(Target.parse("sqlserver://db1:1433/x"), 7)
    for options in ("encrypt=yes&trust_server_certificate=yes", "encrypt=no", "driver=FreeTDS"):
        assert ENGINE.behind_proxy(Target.parse(f"sqlserver://db1:1433/x?{options}"), 7).host == "127.0.0.1"


@pytest.mark.parametrize(
    "option", ["encrypt=strict", "authentication=ActiveDirectoryMsi", "trust_server_certificate=no"]
)
def test_what_freetds_cannot_do_is_refused(option: str) -> None:
    with pytest.raises(InputError, match="FreeTDS has no"):
        text(f"sqlserver://db1/tpcc?{option}", "/usr/lib/odbc/libtdsodbc.so")


def test_freetds_takes_no_password_that_needs_braces() -> None:
    with pytest.raises(InputError, match="FreeTDS cannot take a password") as met:
        text("sqlserver://bench@db1/tpcc", FREETDS, "a;b")
    assert "a;b" not in str(met.value)


def test_microsofts_newest_driver_is_preferred_and_a_named_one_used() -> None:
    target = Target.parse("sqlserver://db1/tpcc")
    assert chosen_driver(target, [FREETDS, "ODBC Driver 17 for SQL Server", MICROSOFT, "SQLite"]) == MICROSOFT
    assert chosen_driver(target, ["SQLite", FREETDS]) == FREETDS
    assert chosen_driver(target.with_(options={"driver": "own"}), [FREETDS]) == "own"
    with pytest.raises(InputError, match=r"\(installed: SQLite\); install Microsoft's msodbcsql18, or FreeTDS"):
        chosen_driver(target, ["SQLite"])


def test_a_misspelt_option_is_refused() -> None:
    target = Target.parse("sqlserver://db1/tpcc?encrypt=on")
    with pytest.raises(InputError, match="known values: yes, no, strict"):
        database("sqlserver").check_options(target)


@pytest.mark.parametrize(
    ("state", "message", "expected", "code"),
    [
        ("23000", "Violation of PRIMARY KEY (2627) (SQLExecDirectW)", ErrorClass.CONSTRAINT, "2627"),
        ("40001", "Transaction was deadlocked (1205) (SQLExecute)", ErrorClass.DEADLOCK, "1205"),
        ("42000", "Lock request time out (1222) (SQLExecDirectW)", ErrorClass.LOCK_TIMEOUT, "1222"),
        ("42000", "Snapshot isolation (3960) (SQLExecDirectW)", ErrorClass.SERIALIZATION, "3960"),
        ("42000", "canceling statement due to lock timeout (33557097) (SQLX)", ErrorClass.LOCK_TIMEOUT, "33557097"),
        ("42000", "no lock (sp_getapplock: -1) (50000) (SQLExecDirectW)", ErrorClass.LOCK_TIMEOUT, "50000"),
        ("42000", "no lock (sp_getapplock: -3) (50000) (SQLExecDirectW)", ErrorClass.DEADLOCK, "50000"),
        ("08S01", "Communication link failure (0) (SQLExecDirectW)", ErrorClass.CONNECTION_LOST, "08S01"),
        ("IMC06", "The connection is broken (0) (SQLExecDirectW)", ErrorClass.CONNECTION_LOST, "IMC06"),
        ("42000", "Incorrect syntax (102) (SQLExecDirectW)", ErrorClass.OTHER, "102"),
    ],
)
def test_the_class_of_an_error_is_that_of_its_number(
    state: str, message: str, expected: ErrorClass, code: str
) -> None:
    found, number, _ = ENGINE.described(Exception(state, f"[{state}] {message}"))
    assert (found, number) == (expected, code)


def test_a_procedure_answers_with_values_and_lines() -> None:
    """Also without a line."""
    heading = (False, 2, [(3001, "ABLE")])
    assert ProcedureAnswer((heading, (True, 3, [(1, "a", 10), (2, "b", 20)]))).row() == (
        3001,
        "ABLE",
        ("a", "b"),
        (10, 20),
    )
    assert ProcedureAnswer(((True, 3, []),)).row() == ((), ())


@pytest.mark.parametrize("dialect", ["sqlserver_microsoft", "sqlserver_babelfish"])
def test_rows_are_loaded_as_one_json_text_without_other_parameters(dialect: str) -> None:
    """A parameter that is null makes Microsoft's driver ask for its type, which ends a transaction on Babelfish."""
    sent: list[tuple[str, object]] = []

    class Cursor:
        def execute(self, text: str, *values: object) -> None:
            sent.append((text, *values))

        def nextset(self) -> bool:
            return False

    engine = SqlServer()
    engine.__dict__["found"] = _Found(dialect, frozenset())
    engine._target = Target.parse("sqlserver://db1/tpcc")
    session = SqlServerSession(SimpleNamespace(cursor=Cursor), engine, SERVER)
    table = Table("item", ("i_id", "i_name"), (), ("integer", "text"))
    lines = [b'1\ta"b', rb"2" + b"\t" + rb"\N"]
    session._insert_each(table, "", Piece("", (), False), Cursor(), lines)
    ((text, rows),) = sent
    assert text.count("?") == 1
    assert "[i_" not in text
    assert "i_id NVARCHAR(MAX) '$[0]', i_name NVARCHAR(MAX) '$[1]'" in text
    assert json.loads(str(rows)) == [["1", 'a"b'], ["2", None]]


def test_babelfish_replaces_only_forms_of_sql_server() -> None:
    """Each replaced statement exists for SQL Server, with the same parameters; timeouts are the driver's there."""
    for folder in ("server", "tproc_c"):
        known = statements(ENGINE.dialects, folder)
        for name, statement in statements(("ansi", "sqlserver", "sqlserver_babelfish"), folder).items():
            if statement.text != getattr(known.get(name), "text", "") and name != "set_statement_timeout":
                assert statement.parameters == known[name].parameters, name


def test_repeatable_read_is_by_locks_or_by_snapshots() -> None:
    target = Target.parse("sqlserver://db1/tpcc?repeatable_read=snapshot")
    database("sqlserver").check_options(target)
    assert _level(target, Isolation.REPEATABLE_READ) == "SNAPSHOT"
    assert _level(target, Isolation.SERIALIZABLE) == "SERIALIZABLE"
    assert _level(Target.parse("sqlserver://db1/tpcc"), Isolation.REPEATABLE_READ) == "REPEATABLE READ"
    assert "repeatable_read" not in text("sqlserver://db1/tpcc?repeatable_read=snapshot", MICROSOFT)


def test_what_a_sweep_may_set_is_among_what_it_restores_and_what_a_run_records() -> None:
    known = statements(ENGINE.dialects, SERVER_STATEMENTS)
    for name in ("control_settings", "file_entries", "read_settings"):
        words = known[name].text.split()
        assert {"sys.configurations", "sys.database_scoped_configurations", "('OPTIMIZED_LOCKING',"} <= {*words}, name


def test_settings_are_of_sql_server_and_not_of_babelfish() -> None:
    assert Capability.SETTINGS in ENGINE.capabilities
    engine = SqlServer(Target.parse("sqlserver://db1/tpcc"))
    engine.__dict__["found"] = _Found("sqlserver_babelfish", frozenset())
    assert Capability.SETTINGS not in engine.capabilities


@pytest.mark.parametrize(
    ("state", "number", "said", "kind", "advice"),
    [
        ("28000", 18456, "Login failed for user", Rejected, "set HDBKIT_PASSWORD"),
        ("42000", 4060, "Cannot open database", Rejected, "there is no database 'tpcc'"),
        ("28000", 18470, "The account is disabled", Rejected, "ALTER LOGIN ... ENABLE"),
        ("08001", 20, "Encryption not supported on SQL Server.", CannotConnect, "encrypt of the target to no"),
        ("08001", -1, "SSL Provider: certificate verify failed", CannotConnect, "trust_server_certificate"),
        ("FA004", 0, "AADSTS50126: invalid s3cret", CannotConnect, "check the account and the option authentication"),
    ],
)
def test_a_refused_connection_is_one_sentence_with_advice(
    state: str, number: int, said: str, kind: type[CannotConnect], advice: str, pyodbc: Module
) -> None:
    pyodbc.refusal = failure(state, number, said)
    with pytest.raises(CannotConnect) as caught:
        SqlServer(TARGET).connect(TARGET)
    assert type(caught.value) is kind
    assert advice in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_host_without_an_odbc_driver_says_what_to_install(pyodbc: Module) -> None:
    pyodbc.installed = ["SQLite3"]
    with pytest.raises(InputError, match="apt-get install tdsodbc"):
        SqlServer(TARGET).connect(TARGET)


def test_a_missing_driver_of_python_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyodbc", None)
    with pytest.raises(MissingDriver, match=r"pip install 'hdbkit\[sqlserver\]'"):
        ENGINE.driver_version()
