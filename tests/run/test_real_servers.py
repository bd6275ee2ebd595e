"""Servers and accounts as others configure them: another product, variables of drivers, limits, few privileges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.config import Target
from hdbkit.databases import database, product_named, sql_session
from hdbkit.errors import CannotConnect, InputError
from hdbkit.servers import PrivateServer, find_binaries, private_server
from tests.conftest import login_options
from tests.quick import QUICK
from tests.run.conftest import password_of

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
    found = hdbkit.doctor(target).set_index("subject")
    assert "PGGEQO" in found.detail["environment"]
    assert "PGHOSTADDR" not in found.detail["environment"]
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
