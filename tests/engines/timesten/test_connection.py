"""Connecting to TimesTen: DSNs, attributes, the client library, refusals."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from hdbkit.config import Isolation, Target
from hdbkit.contracts import SessionOptions
from hdbkit.databases.timesten.connect import timesten_parameters
from hdbkit.errors import CannotConnect, InputError, NoneFree, NotReady, Rejected
from tests.engines.oracle.double import Answer, Module, failure
from tests.engines.timesten.sessions import ENGINE, TARGET, connected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("timesten://bench@/sampledb", {"dsn": "localhost/sampledb:timesten_client", "password": "s3cret"}),
        ("timesten://bench@/s?connection=direct", {"dsn": "localhost/s:timesten_direct", "password": "s3cret"}),
        ("timesten://bench@/entry?connection=tns&config_dir=/etc/tns", {"dsn": "entry", "password": "s3cret"}),
        (
            "timesten://bench@/s?durable_commits=on&passthrough=1",
            {"dsn": "localhost/s:timesten_client", "password": "s3cret;DurableCommits=1;PassThrough=1"},
        ),
    ],
)
def test_a_target_is_a_dsn_and_attributes_follow_the_password(
    url: str, expected: dict[str, Any], oracledb: Module
) -> None:
    given = timesten_parameters(Target.parse(url), SessionOptions(application="hdbkit run"))
    assert given == {"user": "bench", "program": "hdbkit run", **expected}


def test_the_password_in_oracle_database_is_in_its_own_variable(
    oracledb: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_ORACLE_PASSWORD", "0ra")
    assert timesten_parameters(TARGET, SessionOptions())["password"] == "s3cret;OraclePWD=0ra"
    monkeypatch.setenv("HDBKIT_ORACLE_PASSWORD", "0;ra")
    with pytest.raises(InputError, match="semicolon") as caught:
        timesten_parameters(TARGET, SessionOptions())
    assert "0;ra" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["timesten://bench@db1/sampledb", "timesten://bench@db1:6625/sampledb", "timesten://b@/"]
)
def test_a_target_with_an_address_or_without_a_dsn_is_refused(url: str, oracledb: Module) -> None:
    with pytest.raises(InputError, match="must name a DSN and no address"):
        ENGINE.connect(Target.parse(url))


def test_a_proxy_is_refused(oracledb: Module) -> None:
    with pytest.raises(InputError, match="bypass the proxy"):
        ENGINE.behind_proxy(TARGET, 7)


def test_the_client_library_is_always_loaded_and_once(oracledb: Module) -> None:
    assert ENGINE.driver_version() == "python-oracledb 26.1.0 (thick, client library is loaded on connecting)"
    for _ in range(2):
        connected(target=Target.parse("timesten://bench@/s?client_lib=/opt/tt/lib")).close()
    assert oracledb.client == {"lib_dir": "/opt/tt/lib", "config_dir": None}
    assert ENGINE.driver_version() == "python-oracledb 26.1.0 (thick, client library 23.26.0.0.0)"


@pytest.mark.parametrize(
    ("code", "text", "kind", "advice"),
    [
        ("ORA-01017", "invalid username/password", Rejected, "check account and password"),
        ("ORA-57000", "TT0702: Connect failed because max number of connections exceeded", NoneFree, "Connections"),
        ("ORA-57000", "TT9994: Loading database into RAM in progress", NotReady, "until the database is loaded"),
        ("ORA-12154", "could not resolve", CannotConnect, "config_dir"),
        ("DPI-1047", "Cannot locate a 64-bit Oracle Client library", CannotConnect, "ttenv.sh"),
        ("ORA-57000", "Data source name not found", CannotConnect, "sys.odbc.ini"),
    ],
)
def test_a_refused_connection_is_one_sentence_with_advice(
    code: str, text: str, kind: type[CannotConnect], advice: str, oracledb: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_ORACLE_PASSWORD", "0ra")
    oracledb.refusal = failure(code, f"{text} (s3cret;OraclePWD=0ra)")
    with pytest.raises(CannotConnect) as caught:
        connected()
    assert type(caught.value) is kind
    assert caught.value.reason == f"{code}: {text} (...;OraclePWD=...)"
    assert advice in caught.value.advice


def test_the_real_driver_without_a_client_library(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("oracledb", reason="the driver is not installed")
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    with pytest.raises(CannotConnect, match=r"DPI-1047.*ttenv.sh"):
        ENGINE.connect(Target.parse("timesten://bench@/sampledb?client_lib=/no/such/folder"))


def test_a_new_session_has_isolation_and_a_timeout_of_locks(oracledb: Module) -> None:
    options = SessionOptions(isolation=Isolation.REPEATABLE_READ, lock_timeout_ms=1_240)
    with closing(connected(options)) as made:
        assert oracledb.texts == [
            "ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE",
            "BEGIN EXECUTE IMMEDIATE 'CALL ttLockWait(' || 1 || '.' || 3 || ')'; END;",
        ]
        assert made.connection.call_timeout == 0, "TimesTen has no timeouts of calls"
        assert made.client_path() == "oracledb client"


def test_a_missing_account_is_created_with_what_a_build_needs(oracledb: Module) -> None:
    commands = [("CREATE USER bench",), ("GRANT CREATE SESSION TO bench",)]
    oracledb.answers = lambda text, _: Answer(
        [(0,)] if "all_users" in text else commands if "CREATE USER" in text else None
    )
    assert ENGINE.provision(Target.parse("timesten://admin@/sampledb"), TARGET) == ["account bench"]
    assert oracledb.texts[-2:] == [one for (one,) in commands]
    assert "s3cret" not in " ".join(oracledb.texts)
