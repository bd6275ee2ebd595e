"""In a service, what its account keeps goes to the targets of the targets file alone, whatever address is typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hdbkit.config import Target, served
from hdbkit.config.withheld import also_reached, handed_on
from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.databases._base.access import password_of
from hdbkit.databases._mysqlclient.connect import _password as of_mysql
from hdbkit.databases.postgresql.connect import _connection_string
from hdbkit.databases.redis import _password as of_redis
from hdbkit.errors import CannotConnect
from tests.unit.test_clear_text import SECRET, asks_mysql, fake

TARGETS = """
lab: {url: "postgresql://bench@db1:5432/tpcc?sslmode=verify-full", control: {user: dba}}
pair: {url: "mysql://bench@db1,db2:3307/tpcc", replicas: ["db3"]}
cache: {url: "rediss://bench@db1/0"}
named: {url: "oracle://bench@/LAB"}
"""
KEPT = "postgresql://bench@db1:5432/tpcc?sslmode=verify-full"
ELSEWHERE = (
    # each differs in one thing from a target of the file
    "mysql://bench@db1:5432/tpcc?sslmode=verify-full",
    "postgresql://bench@db2:5432/tpcc?sslmode=verify-full",
    "postgresql://bench@db1.example:5432/tpcc?sslmode=verify-full",
    "postgresql://bench@db1:5433/tpcc?sslmode=verify-full",
    "postgresql://bench@db1/tpcc?sslmode=verify-full",
    "postgresql://other@db1:5432/tpcc?sslmode=verify-full",
    "postgresql://db1:5432/tpcc?sslmode=verify-full",
    "postgresql://bench@db1:5432/tpcc",
    "postgresql://bench@db1:5432/tpcc?sslmode=require",
    "postgresql://bench@db1:5432/tpcc?sslmode=verify-full&hostaddr=192.0.2.1",
    "postgresql://bench@db1:5432/tpcc?sslmode=verify-full&require_auth=password",
    "postgresql://bench@db1:5432,evil/tpcc?sslmode=verify-full",
    "postgresql://bench@evil,db1:5432/tpcc?sslmode=verify-full",
    "postgresql://bench@db1:5432/tpcc?sslmode=verify-full&replicas=evil",
    "postgresql://bench@db1:5432/tpcc?sslmode=verify-full&nodes=evil",
    "mysql://bench@db2:3307,db1:3308/tpcc",
    "mysql://bench@db1,db2:3307/tpcc?auth_plugin=mysql_clear_password",
    "mysql://bench@db1/tpcc?socket=/tmp/evil.sock",
    "redis://bench@db1/0",
    "redis://bench@db1/0?tls=off",
    "oracle://bench@/(DESCRIPTION=(ADDRESS=(HOST=evil)))",
    "oracle://bench@/OTHER",
    "postgresql://bench@db1:5432/host=evil?sslmode=verify-full",
    "postgresql://bench@db1%2Cevil:5432/tpcc?sslmode=verify-full",
)


@pytest.fixture(autouse=True)
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process of a service whose account keeps passwords everywhere."""
    targets = tmp_path / "targets.yaml"
    targets.write_text(TARGETS)
    for name in ("HDBKIT_PASSWORD", "HDBKIT_ADMIN_PASSWORD", "REDISCLI_AUTH", "TIMESTEN_ORACLE_PASSWORD"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.delenv("HDBKIT_PASSWORD_OF", raising=False)
    (tmp_path / ".my.cnf").write_text(f"[client]\npassword={SECRET}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HDBKIT_TARGETS", str(targets))
    for name, value in served.served_environment([]).items():
        monkeypatch.setenv(name, value)
    return targets


@pytest.mark.parametrize("text", ELSEWHERE)
def test_a_typed_address_gets_nothing_that_the_account_keeps(text: str) -> None:
    target = Target.parse(text)
    assert not target.secret()
    assert "go only to the targets of targets.yaml" in target.withheld
    others = (*target.each, *(target.replica(0) for _ in target.replicas), *(target.node(1) for _ in target.nodes))
    assert not any(one.secret() for one in others if one.url not in (KEPT, "mysql://bench@db2:3307/tpcc"))
    for found in (of_mysql(target), of_redis(target), password_of(target)):
        assert not found
    own_file = Target(**{**target.model_dump(), "password_file": Path(os.environ["HOME"], ".my.cnf")})
    assert not of_mysql(own_file)


@pytest.mark.parametrize("text", ELSEWHERE)
def test_a_typed_address_gets_no_password_of_an_administrator(text: str) -> None:
    control = Target(**{**Target.parse(text).model_dump(), "control": {"user": "root"}}).control_account
    assert not control.secret()


def test_libpq_finds_no_password_of_its_own_for_a_typed_address() -> None:
    text = _connection_string(Target.parse("postgresql://bench@evil/tpcc"), {}, SessionOptions()).decode()
    assert "password=''" in text
    assert f"passfile='{os.devnull}'" in text


@pytest.mark.parametrize(
    "text",
    [KEPT, KEPT.replace("tpcc", "other"), f"{KEPT}&connect_timeout=3", "mysql://bench@db2:3307/tpcc",
     "mysql://bench@db3,db1/tpcc", "rediss://bench@db1/0", "oracle://bench@/LAB", "lab", "pair", "cache", "named"],
)  # fmt: skip
def test_the_targets_of_the_file_get_it_by_their_name_or_their_address(text: str) -> None:
    target = Target.parse(text)
    assert (target.withheld, target.secret()) == ("", SECRET)
    assert [one.secret() for one in target.each] == [SECRET] * len(target.each)


def test_the_control_account_of_a_target_gets_its_own_password() -> None:
    assert Target.parse("lab").control_account.secret() == SECRET
    assert not Target.parse("pair").with_(control={"user": "root"}).control_account.secret()


def test_a_typed_password_and_one_that_was_handed_on_are_for_their_address_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed = Target.parse("postgresql://bench@evil/tpcc").with_(password="typed")
    assert typed.secret() == "typed"
    for name, value in handed_on(typed).items():
        monkeypatch.setenv(name, value)
    assert Target.parse("postgresql://bench@evil/tpcc").secret() == "typed"
    assert not Target.parse("postgresql://bench@other/tpcc").secret()
    assert handed_on(Target.parse("postgresql://bench@other/tpcc"))["HDBKIT_PASSWORD"] == ""
    also_reached(Target.parse("lab"), Target.parse("postgresql://bench@127.0.0.1:9/tpcc"))
    assert Target.parse("postgresql://bench@127.0.0.1:9/tpcc").withheld == ""


def test_outside_a_service_every_address_that_a_user_names_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(served.SERVED_VARIABLE)
    assert Target.parse("postgresql://bench@db9/tpcc").secret() == SECRET


def test_a_server_at_a_typed_address_is_sent_no_password_and_the_error_says_why() -> None:
    with fake(asks_mysql(b"mysql_clear_password")) as (port, peers):
        typed = Target.parse(f"mysql://bench@127.0.0.1:{port}/x?auth_plugin=mysql_clear_password")
        with pytest.raises(CannotConnect):
            database(typed).connect(typed)
        assert not any(SECRET.encode() in one.sent for one in peers)
