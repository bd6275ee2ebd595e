"""Connecting to Oracle Database: places, wallets, modes of the driver, refusals."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from hdbkit.config import Isolation, Target
from hdbkit.contracts import SessionOptions
from hdbkit.databases._oracledb.connect import oracle_parameters
from hdbkit.errors import CannotConnect, InputError, NoneFree, NothingListens, Rejected
from tests.engines.oracle.double import Answer, Module, failure
from tests.engines.oracle.sessions import ENGINE, TARGET, connected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("oracle://bench@db1:1522/PDB1", {"host": "db1", "port": 1522, "service_name": "PDB1"}),
        ("oracle://bench@db1/PDB1", {"host": "db1", "port": 1521, "service_name": "PDB1"}),
        ("oracle://bench@db1/?sid=ORCL", {"host": "db1", "port": 1521, "sid": "ORCL"}),
        ("oracle://bench@/SALES?config_dir=/etc/tns", {"dsn": "SALES", "config_dir": "/etc/tns"}),
        (
            "oracle://bench@db1/P?protocol=tcps&wallet=/w&server_dn_match=off&server=pooled&sdu=65535",
            {
                **{"host": "db1", "port": 1521, "service_name": "P", "protocol": "tcps", "wallet_location": "/w"},
                **{"ssl_server_dn_match": False, "server_type": "pooled", "sdu": 65535},
            },
        ),
    ],
)
def test_a_target_is_a_place_and_options_of_the_driver(url: str, expected: dict[str, Any], oracledb: Module) -> None:
    given = oracle_parameters(Target.parse(url), SessionOptions(application="hdbkit run"))
    always = {"user": "bench", "password": "s3cret", "tcp_connect_timeout": 10.0, "program": "hdbkit run"}
    assert given == {**always, **expected}


def test_the_password_of_a_wallet_is_in_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_WALLET_PASSWORD", "w")
    assert oracle_parameters(TARGET, SessionOptions())["wallet_password"] == "w"


def test_a_target_without_a_place_is_refused(oracledb: Module) -> None:
    with pytest.raises(InputError, match="names no database"):
        ENGINE.connect(Target.parse("oracle://bench@/"))


def test_thick_mode_loads_the_client_library_once(oracledb: Module) -> None:
    target = Target.parse("oracle://bench@db1/P?mode=thick&client_lib=/opt/ic&config_dir=/etc/tns")
    for _ in range(2):
        connected(target=target).close()
    assert oracledb.client == {"lib_dir": "/opt/ic", "config_dir": "/etc/tns"}
    assert ENGINE.driver_version() == "python-oracledb 26.1.0 (thick, client library 23.26.0.0.0)"


def test_thick_mode_after_thin_is_one_sentence(oracledb: Module) -> None:
    connected().close()
    with pytest.raises(CannotConnect, match="start a new one for mode=thick"):
        connected(target=Target.parse("oracle://bench@db1/P?mode=thick"))


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        ("ORA-01017", Rejected, "check account and password"),
        ("ORA-28000", Rejected, "unlock it"),
        ("ORA-01045", Rejected, "GRANT CREATE SESSION"),
        ("DPY-6001", CannotConnect, "a service that the listener has"),
        ("ORA-12514", CannotConnect, "a service that the listener has"),
        ("ORA-12541", NothingListens, "that the listener runs"),
        ("DPY-4026", CannotConnect, "config_dir"),
        ("ORA-12519", NoneFree, "processes"),
        ("DPI-1047", CannotConnect, "Instant Client"),
        ("DPY-9999", CannotConnect, "check host and port"),
    ],
)
def test_a_refused_connection_is_one_sentence_with_advice(
    code: str, kind: type[CannotConnect], advice: str, oracledb: Module
) -> None:
    oracledb.refusal = failure(code, "no, s3cret is wrong")
    with pytest.raises(CannotConnect) as caught:
        connected()
    assert type(caught.value) is kind
    assert caught.value.reason == f"{code}: no, ... is wrong"
    assert advice in caught.value.advice


def test_an_unknown_name_of_a_host_is_a_refused_connection(oracledb: Module) -> None:
    oracledb.refusal = OSError(-2, "Name or service not known")
    with pytest.raises(CannotConnect, match="Name or service not known; check host and port"):
        connected()


def test_the_real_driver_at_a_closed_port_and_without_a_client_library(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("oracledb", reason="the driver is not installed")
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    with pytest.raises(NothingListens, match=r"DPY-6005.*Connection refused; check host and port"):
        ENGINE.connect(Target.parse("oracle://bench@127.0.0.1:1/P"))
    with pytest.raises(CannotConnect, match=r"DPY-4026.*config_dir"):
        ENGINE.connect(Target.parse("oracle://bench@/NAME?config_dir=/no/such/folder"))
    with pytest.raises(CannotConnect, match="check host and port"):
        ENGINE.connect(Target.parse("oracle://bench@no.such.host.invalid/P"))


def test_a_new_session_has_formats_isolation_workers_and_a_timeout(oracledb: Module) -> None:
    options = SessionOptions(isolation=Isolation.SERIALIZABLE, parallel_workers=4, statement_timeout_ms=1500)
    with closing(connected(options)) as made:
        assert oracledb.texts == [
            "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' NLS_NUMERIC_CHARACTERS = '.,'",
            "ALTER SESSION SET ISOLATION_LEVEL = SERIALIZABLE",
            "ALTER SESSION FORCE PARALLEL QUERY PARALLEL 4",
        ]
        assert made.connection.call_timeout == 1500
        oracledb.answers = lambda *_: Answer([])
        assert [(one.ends, one.seconds, one.setter) for one in ENGINE.timeouts(made)] == [
            ("statements", 1.5, "hdbkit")
        ]
    assert oracledb.connections[0].closed
