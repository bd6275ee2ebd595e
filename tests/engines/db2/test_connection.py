"""Connecting to Db2: attributes, the probe, refusals, options of a session."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Capability, SessionOptions
from hdbkit.databases import database
from hdbkit.databases.db2 import DerbySession
from hdbkit.databases.db2.connect import db2_parameters
from hdbkit.errors import CannotConnect, InputError, MissingDriver, NoneFree, NothingListens, NotReady, Rejected
from tests.engines.db2.double import Module, failure, result
from tests.engines.db2.sessions import ENGINE, TARGET, connected

ALWAYS = {
    **{"PROTOCOL": "TCPIP", "UID": "bench", "PWD": "s3cret", "ConnectTimeout": "10", "ClientApplName": "hdbkit run"},
    **{"DescribeOutputLevel": "1", "EnableAcr": "false", "HOSTNAME": "db1", "DATABASE": "BENCH"},
}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("db2://bench@db1/BENCH", {"PORT": "50000"}),
        (
            "db2://bench@db1:50001/BENCH?security=ssl&certificate=/c.arm&schema=TPCC&authentication=SERVER_ENCRYPT",
            {
                **{"PORT": "50001", "Security": "ssl", "SSLServerCertificate": "/c.arm"},
                **{"Authentication": "SERVER_ENCRYPT"},
            },
        ),
    ],
)
def test_a_target_is_attributes_of_the_driver(url: str, expected: dict[str, str], ibm_db: Module) -> None:
    assert db2_parameters(Target.parse(url), SessionOptions(application="hdbkit run")) == {**ALWAYS, **expected}


def test_a_target_without_a_place_is_refused(ibm_db: Module) -> None:
    with pytest.raises(InputError, match="names no database"):
        ENGINE.connect(Target.parse("db2://bench@db1/"))


def test_a_password_that_the_driver_cannot_take_is_refused(ibm_db: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", "a;b")
    with pytest.raises(InputError, match="cannot take a password") as met:
        ENGINE.connect(TARGET)
    assert "a;b" not in str(met.value)


@pytest.mark.parametrize(
    ("code", "state", "text", "kind", "said"),
    [
        (
            -30082,
            "08001",
            'reason "24" s3cret',
            Rejected,
            r'user or password \(reason "24" \.\.\.\); check the account',
        ),
        (-30061, "08004", "SQL30061N", Rejected, "there is no database 'BENCH'"),
        (-1060, "08004", "SQL1060N", Rejected, "GRANT CONNECT ON DATABASE"),
        (-1040, "57030", "SQL1040N", NoneFree, "maxappls"),
        (-1032, "57019", "SQL1032N", NotReady, "db2start"),
        (-99999, "58005", "SQL99999N", CannotConnect, "SQL99999N; check host and port"),
    ],
)
def test_a_refused_connection_is_one_sentence_with_advice(
    code: int, state: str, text: str, kind: type[CannotConnect], said: str, ibm_db: Module
) -> None:
    ibm_db.refusal = failure(state, code, text)
    with pytest.raises(CannotConnect, match=said) as caught:
        connected()
    assert type(caught.value) is kind
    assert "s3cret" not in str(caught.value)


def test_a_missing_driver_or_client_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ibm_db", None)
    with pytest.raises(MissingDriver, match=r"pip install 'hdbkit\[db2\]'"):
        ENGINE.driver_version()


def test_the_probe_tells_db2_from_derby(ibm_db: Module) -> None:
    assert database(TARGET).dialects[-1] == "db2_luw"
    ibm_db.name = ""
    other = Target.parse("db2://bench@db2/BENCH")
    assert database(other).dialects[-1] == "db2_derby"
    assert Capability.STORED_ROUTINES not in database(other).capabilities
    assert isinstance(connected(target=other), DerbySession)


@pytest.mark.parametrize(("value", "waits"), [(0, True), (1, False)])
def test_readers_wait_where_the_database_is_configured_so(value: int, waits: bool, ibm_db: Module) -> None:
    ibm_db.answers = lambda text, _: [result("V", (value,))] if "cur_commit" in text else None
    assert (Capability.READS_NEVER_WAIT not in database(TARGET).capabilities) is waits


def test_a_new_session_has_isolation_timeouts_and_workers(ibm_db: Module) -> None:
    options = SessionOptions(
        isolation=Isolation.SERIALIZABLE, lock_timeout_ms=1500, statement_timeout_ms=2500, parallel_workers=4
    )
    assert database(TARGET).capabilities  # by a probe
    ibm_db.forget()
    with closing(connected(options)) as made:
        assert [one for one in ibm_db.texts if one != "commit"] == [
            "SET CURRENT ISOLATION = RR",
            "SELECT 'SET CURRENT DEGREE = ''' || TRIM(CHAR(4)) || '''' FROM SYSIBM.SYSDUMMY1",
            "SET CURRENT LOCK TIMEOUT 2",
        ]
        ibm_db.answers = lambda text, _: [result("E M S", ("waits for a lock", 2000, "hdbkit"))] if text else None
        found = [(one.ends, one.seconds, one.setter) for one in database(TARGET).timeouts(made)]
    assert found == [("statements", 3.0, "hdbkit"), ("waits for a lock", 2.0, "hdbkit")]
    assert ibm_db.connections[-1].closed


def test_the_schema_of_a_target_is_that_of_its_sessions(ibm_db: Module) -> None:
    connected(target=TARGET.with_(options={"schema": "TPCC"})).close()
    assert "SET SCHEMA TPCC" in ibm_db.texts


def test_the_real_driver_at_a_closed_port(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ibm_db", reason="the driver is not installed")
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    with pytest.raises(NothingListens, match=r"nothing listens on 127\.0\.0\.1:1; check host and port"):
        ENGINE.connect(Target.parse("db2://bench@127.0.0.1:1/BENCH"))
    with pytest.raises(CannotConnect, match=r"there is no host 'no-such-host\.invalid'"):
        ENGINE.connect(Target.parse("db2://bench@no-such-host.invalid/BENCH"))
