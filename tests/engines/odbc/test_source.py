"""Targets of ODBC, and how a data source is explored: by what it understands, not by its name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.databases.odbc import odbc_connection_string
from hdbkit.databases.odbc.source import Source, explored
from hdbkit.errors import CannotConnect, InputError

pyodbc = pytest.importorskip("pyodbc", exc_type=ImportError, reason="pyodbc or unixODBC is not installed")


@pytest.mark.parametrize(
    ("url", "secret", "attributes"),
    [
        ("odbc://lab", None, "DSN=lab"),
        ("odbc://bench@lab", "a;b}c", "DSN=lab;UID=bench;PWD={a;b}}c}"),
        (
            "odbc://bench@/shop?driver=PostgreSQL Unicode&server=db1&port=5432",
            "plain-1",
            "driver={PostgreSQL Unicode};server=db1;port=5432;DATABASE=shop;UID=bench;PWD=plain-1",
        ),
        ("odbc:////data/x.db?driver=SQLite3&connect_timeout=3", None, "driver={SQLite3};DATABASE=/data/x.db"),
    ],
)
def test_a_target_is_the_attributes_of_a_connection(url: str, secret: str | None, attributes: str) -> None:
    assert odbc_connection_string(Target.parse(url), secret) == attributes


def test_a_target_names_a_data_source_or_a_driver() -> None:
    target = Target.parse("odbc:///shop?server=db1")
    with pytest.raises(InputError, match="names neither a data source nor a driver"):
        database(target).check_options(target)


def test_a_password_is_no_option() -> None:
    with pytest.raises(InputError, match="looks like a secret"):
        Target.parse("odbc:///shop?driver=X&PWD=secret")


def test_a_proxy_replaces_the_server_that_the_target_names() -> None:
    target = Target.parse("odbc:///shop?driver=X&Server=db1&port=5432")
    reached = database(target).behind_proxy(target, 99)
    assert reached.options == {"driver": "X", "Server": "127.0.0.1", "port": "99"}
    configured = Target.parse("odbc://lab")
    with pytest.raises(InputError, match="would bypass the proxy"):
        database(configured).behind_proxy(configured, 99)


def test_an_unknown_data_source_is_an_error_with_advice_and_without_the_password() -> None:
    target = Target.parse("odbc://bench@no_such_source").with_(password=SecretStr("not-this-one"))
    engine = database(target)
    for ask in (lambda: engine.connect(target), lambda: engine.dialects):
        with pytest.raises(CannotConnect, match="name a data source or driver that this host has") as met:
            ask()
        assert "not-this-one" not in str(met.value)


def test_a_configured_data_source_is_explored_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is all that the target has."""
    if "SQLite3" not in pyodbc.drivers():
        pytest.skip("the ODBC driver SQLite3 is not installed")
    file = tmp_path / "odbc.ini"
    file.write_text(f"[lab]\nDriver = SQLite3\nDatabase = {tmp_path / 'lab.db'}\n", encoding="utf-8")
    monkeypatch.setenv("ODBCINI", str(file))
    target = Target.parse("odbc://lab")
    engine = database(target)
    assert not engine.source.returns_changed, "the driver takes RETURNING, and passes no row on"  # type: ignore[attr-defined]
    assert "odbc/dates_as_text" in engine.dialects, "a cast to DATE gives the number of the year"
    with closing(engine.connect(target)) as session:
        assert engine.version(session).startswith("ODBC SQLite 3.")
        assert session.ask("list_tables") == []
        assert engine.settings_of(session)["product"]["value"] == "SQLite"


class Connection:
    """A data source that rejects statements with some words."""

    def __init__(self, rejected: tuple[str, ...], answers: dict[str, Any], types: dict[int, tuple[str, ...]]) -> None:
        self.rejected, self.answers, self.types = rejected, answers, types
        self.results: list[list[tuple[Any, ...]]] = []

    def getinfo(self, number: int) -> Any:
        names = {getattr(pyodbc, name): name for name in dir(pyodbc) if name.startswith("SQL_")}
        return self.answers.get(names[number], "")

    def execute(self, text: str, values: Sequence[int] = (1,)) -> Connection:
        if any(word in text for word in self.rejected):
            raise pyodbc.ProgrammingError("42000", "[42000] syntax error")
        self.results = [[(value,)] for value in values]
        return self

    def nextset(self) -> bool:
        return bool(self.results)

    def cursor(self) -> Connection:
        return self

    def getTypeInfo(self, number: int) -> Connection:  # noqa: N802  the driver's name
        self.results = [[(name,) for name in self.types.get(number, ())]]
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.results.pop(0)


def source(*rejected: str, types: dict[int, tuple[str, ...]] | None = None, **answers: Any) -> Source:
    connection: Any = Connection(rejected, {"SQL_ALTER_TABLE": 1, **answers}, types or {})
    return explored(connection)


def dialects(*rejected: str, **about: Any) -> tuple[str, ...]:
    return source(*rejected, **about).dialects[2:]


def test_a_source_that_understands_standard_sql_needs_no_more() -> None:
    assert dialects() == ()


def test_a_source_gets_the_first_variant_that_it_understands() -> None:
    assert dialects("FETCH") == ("odbc/limit",)
    assert dialects("FETCH", "LIMIT") == ("odbc/top",)
    assert dialects("||", "FROM 2 FOR", "FOR UPDATE") == ("odbc/concat", "odbc/substring", "odbc/unlocked")
    assert dialects("CAST(") == ("odbc/untyped",)
    assert dialects(SQL_ALTER_TABLE=0) == ("odbc/unique_index",)


def test_a_source_gets_the_first_type_that_it_has() -> None:
    assert dialects(types={93: ("TIMESTAMP", "DATETIME")}) == ("odbc/datetime",)
    assert dialects(types={93: ("timestamp",), -1: ("text", "LONGTEXT")}) == ("odbc/longtext",)


def test_batches_are_used_where_the_driver_states_them_and_they_work() -> None:
    assert source(SQL_BATCH_SUPPORT=3).batches
    assert not source(SQL_BATCH_SUPPORT=1).batches
    assert not source(";", SQL_BATCH_SUPPORT=3).batches


def test_several_rows_are_inserted_at_once_where_one_form_of_them_works() -> None:
    assert source("(VALUES (1)").values_per_insert == source("VALUES ROW").values_per_insert > 0
    assert source("VALUES").values_per_insert == 0


def test_what_products_do_is_that_of_the_engine_of_their_name() -> None:
    known, unknown = Source("SQLite", "3", "x"), Source("Product", "1", "x", isolation_levels=2 | 8)
    assert Capability.READS_NEVER_WAIT in known.own_capabilities
    assert Capability.ISOLATION not in known.own_capabilities
    assert unknown.own_capabilities == {Capability.ISOLATION, Capability.DECIMALS}
