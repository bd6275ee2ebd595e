"""Servers and accounts as others configure them: another product, variables of drivers, limits, few privileges."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.caution import Kind
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.contracts import SERVER
from hdbkit.databases import database, product_named, sql_session
from hdbkit.errors import CannotConnect, InputError, NoAccess
from hdbkit.loading import build, drop
from hdbkit.loading.progress import Silent
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer, find_binaries, private_server
from hdbkit.workloads import specification
from tests.conftest import login_options
from tests.quick import QUICK
from tests.run.conftest import password_of
from tests.run.faults import wait_for

ONE, TWO = TprocCSpec(warehouses=1), TprocCSpec(warehouses=2)
SMALL = specification("params/workloads/key-value", parameters={"rows": 500})
VIEW = Load(virtual_users=1, rampup_s=0, duration_s=1, read_only=True)
KINDS = sorted({one.kind for one in find_binaries()} & {"postgresql", "mariadb", "mysql"})
Servers = Callable[[str], PrivateServer]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """A private server by its kind, started when it is first wanted."""
    with ExitStack() as block:

        @cache
        def of(kind: str) -> PrivateServer:
            if kind not in KINDS:
                pytest.skip(f"no server of {kind}")
            return block.enter_context(private_server(kind, settings=QUICK.get(kind)))

        yield of


def foreign(server: PrivateServer) -> Target:
    """The server as one that hdbkit did not start."""
    target = server.target.with_(password=SecretStr(password_of(server.target)), options=login_options(server.target))
    return target.with_(server_folder=None, password_file=None, may_change_settings=False, may_restart=False)


def found(target: Target, subject: str) -> pd.DataFrame:
    return hdbkit.doctor(target).query("subject == @subject")


@pytest.mark.parametrize(("kind", "named"), [("mysql", "mariadb"), ("mariadb", "mysql"), ("postgresql", "mariadb")])
def test_another_product_than_the_url_names_is_one_sentence(servers: Servers, kind: str, named: str) -> None:
    target = foreign(servers(kind)).with_(kind=named)
    with pytest.raises(CannotConnect, match=database(kind).title) as caught, product_named(target):
        database(target).connect(target)
    assert f"name it {kind}://" in str(caught.value)


def test_variables_of_libpq_do_not_change_the_server(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PGHOSTADDR", "PGDATABASE", "PGUSER", "PGOPTIONS", "PGTARGETSESSIONATTRS"):
        monkeypatch.setenv(variable, "standby")
    monkeypatch.setenv("PGGEQO", "off")
    target = foreign(servers("postgresql"))
    (applied,) = found(target, "environment").detail
    assert "PGGEQO" in applied and "PGHOSTADDR" not in applied
    with pytest.raises(CannotConnect, match=r"PGDATABASE.*ignored"):
        database(target).connect(target.with_(database="none"))
    with pytest.raises(InputError, match="states its port twice"):
        database(target).connect(target.with_(options={"port": "1"}))
    monkeypatch.setenv("PGSERVICE", "lab")
    with pytest.raises(InputError, match="PGSERVICE"):
        database(target).connect(target)


def test_only_the_password_of_an_option_file_is_used(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MYSQL_TCP_PORT", "1")
    target = foreign(servers("mariadb"))
    other = 'port = 1\nhost = 192.0.2.1\ninit-command = "no SQL"\n'
    (tmp_path / ".my.cnf").write_text(f'[client]\npassword = "{password_of(servers("mariadb").target)}"\n{other}')
    with closing(sql_session(target.with_(password=None))) as session:
        assert session.query("own_account", database="x")
    assert hdbkit.password_source(target.with_(password=None)) == str(tmp_path / ".my.cnf")


SET_FOR_A_SECOND = {
    "postgresql": ("statement_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout"),
    "mariadb": ("wait_timeout", "max_statement_time", "idle_transaction_timeout"),
    "mysql": ("wait_timeout",),
}


def administer(server: PrivateServer, *commands: str, database: str | None = None) -> None:
    with closing(sql_session(server.admin.with_(database=database or server.admin.database))) as session:
        for command in commands:
            session.execute(command.format(user=server.target.user, database=server.target.database))


@pytest.fixture
def limited(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Target]:
    """An account whose idle sessions and statements end soon."""
    server = servers(request.param)
    change, value = ("ALTER ROLE {user} SET", "'1s'") if request.param == "postgresql" else ("SET GLOBAL", "1")
    administer(server, *(f"{change} {name} = {value}" for name in SET_FOR_A_SECOND[request.param]))
    yield foreign(server)
    administer(server, *(f"{change} {name} = DEFAULT" for name in SET_FOR_A_SECOND[request.param]))


class Slow(Silent):
    """Delays a build for longer than an idle session lives."""

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        time.sleep(1.5)


@pytest.mark.parametrize("limited", KINDS, indirect=True)
def test_timeouts_of_an_account_end_no_work_of_hdbkit_and_no_session_that_waits(limited: Target) -> None:
    scopes = (SERVER, replace(SERVER, sql_mode="server"))  # that of SQL by users is one
    with ExitStack() as opened:
        waiting = [opened.enter_context(closing(sql_session(limited, scope))) for scope in scopes]
        assert build(limited, SMALL, progress=Slow()).passed
        assert all(session.ask("server_version") for session in waiting)
    assert limited.kind == "mysql" or "warning" in set(found(limited, "timeouts").state)
    assert "table entries" in drop(limited, SMALL)


@pytest.mark.parametrize(
    ("kind", "closed", "opened"),
    [
        (
            "postgresql",
            "ALTER DATABASE {database} SET default_transaction_read_only = on",
            "ALTER DATABASE {database} RESET default_transaction_read_only",
        ),
        ("mariadb", "SET GLOBAL tx_read_only = ON", "SET GLOBAL tx_read_only = OFF"),
        ("mysql", "SET GLOBAL transaction_read_only = ON", "SET GLOBAL transaction_read_only = OFF"),
    ],
)
def test_who_makes_transactions_read_only_is_named_with_the_command(
    servers: Servers, kind: str, closed: str, opened: str
) -> None:
    server, target = servers(kind), foreign(servers(kind))
    administer(server, closed)
    try:
        command = opened.format(database=target.database)
        with pytest.raises(InputError, match="read-only") as caught:
            build(target, SMALL)  # SQL of users keeps the server's defaults on each engine
        assert command in str(caught.value)
        assert kind != "postgresql" or command in "".join(found(target, "role").advice)
    finally:
        administer(
            server, *("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",) * (kind == "postgresql"), opened
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_grants_that_a_verb_prints_are_all_that_it_needs(servers: Servers, kind: str) -> None:
    server = servers(kind)
    admin = server.admin.with_(database=server.target.database)
    to = "{name}" if kind == "postgresql" else "'{name}'@'%'"
    word = "LOGIN PASSWORD" if kind == "postgresql" else "IDENTIFIED BY"

    def administer(*commands: str) -> None:
        with closing(sql_session(admin)) as session:
            for command in commands:
                session.execute(command)

    def follows(name: str, verb: Callable[[Target], object], *given: str) -> list[str]:
        """Let a new account try a verb, grant once what that prints, and try it again; the commands."""
        account = to.format(name=name)
        administer(f"CREATE USER {account} {word} 'of-the-test'", *(f"{one} TO {account}" for one in given))
        target = foreign(server).with_(user=name, password=SecretStr("of-the-test"))
        with pytest.raises(NoAccess) as caught:
            verb(target)
        commands = caught.value.advice.partition(": ")[2].split("; ")
        administer(*commands)
        verb(target)
        return commands

    sight = () if kind == "postgresql" else (f"GRANT SHOW VIEW ON {server.target.database}.*",)  # lets it connect
    built = follows("builder", lambda target: build(target, ONE), *sight)
    assert [one for one in built if "CREATE" in one]
    read = follows("reader", lambda target: hdbkit.connect(target).check(), *sight)
    follows("viewer", lambda target: hdbkit.start(target, load=VIEW).wait(), *sight)
    assert not [one for one in read if "INSERT" in one or "UPDATE" in one]
    with pytest.raises(NoAccess):
        build(foreign(server).with_(user="reader", password=SecretStr("of-the-test")), TWO)
    follows("dropper", lambda target: drop(target, ONE), *sight)


def test_a_workload_without_routines_needs_no_privilege_on_them(servers: Servers) -> None:
    server = servers("mariadb")
    build(foreign(server), SMALL)
    name = server.target.database
    with closing(sql_session(server.admin)) as session:
        session.execute("CREATE USER 'teller'@'%' IDENTIFIED BY 'of-the-test'")
        session.execute(f"GRANT SELECT, DROP ON {name}.* TO 'teller'@'%'")
    teller = foreign(server).with_(user="teller", password=SecretStr("of-the-test"))
    assert hdbkit.connect(teller).check(SMALL)["passed"].ne(False).all()
    assert "table entries" in drop(teller, SMALL)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_that_is_changed_while_a_run_measures_is_named(servers: Servers, kind: str) -> None:
    server = servers(kind)
    build(server.target, SMALL)
    table = "key_value.entries" if kind == "postgresql" else "entries"
    load = Load(virtual_users=1, rampup_s=0, duration_s=3)
    try:
        assert not [one for one in hdbkit.run(server.target, SMALL, load=load).warnings if one.kind is Kind.SCHEMA]
        running = hdbkit.start(server.target, SMALL, load=load)
        wait_for(running, Status.MEASURING)
        with closing(sql_session(server.target)) as session:
            session.execute(f"CREATE INDEX added_in_the_run ON {table} (content)")
            session.execute(f"ALTER TABLE {table} ADD COLUMN another integer")
        (warning,) = [one for one in running.wait().warnings if one.kind is Kind.SCHEMA]
        assert "column entries.another was added" in warning
        assert "added_in_the_run was added" in warning
    finally:
        drop(server.target, SMALL)
