"""SQL Server's engine on Babelfish, which speaks its protocol: what the probe finds.

The conformance suite tries all rules on the same kind of server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from hdbkit.config import Target, TprocCSpec, TprocHSpec
from hdbkit.contracts import Capability, Scope, SessionOptions, Table
from hdbkit.databases import database, sql_session
from hdbkit.errors import CannotConnect, InputError, NothingListens, Rejected, TransactionError
from hdbkit.execution.query_plans import Explainer
from hdbkit.sql import made
from hdbkit.workloads import workload
from tests.engines.sqlserver.server import babelfish
from tests.engines.sqlserver.tsql_texts import own_texts

SEEDED_END = "@seeded_error"
ENDS = {SEEDED_END, "SETT"}
"""Where a text that is read to its end is refused; after an atomic block nothing may follow."""
NEAR = re.compile(r"syntax error near '([^']*)' at line")
SEEDED = [
    ("BEGIN TRANSACTION", "BEGIN TRANSACTON"),
    ("SET @turn = 1", "SETT @turn = 1"),
    ("SET @turn = @turn + 1", "SET @turn = @turn +"),
    ("WHERE turn = @turn", "WHERE WHERE turn = @turn"),
    ("OVER (ORDER BY", "OVR (ORDER BY"),
    ("DECLARE @turn INT,", "DECLARE @turn INT INT,"),
]
SEEDED_NATIVE = [
    ("BEGIN ATOMIC WITH (", "BEGIN ATOMIC ("),
    ("SELECT DISTINCT s_i_id", "SELECT DISTINCT"),
    ("DECLARE @next INT", "DECLARE @next INT INT"),
]
pytest.importorskip("pyodbc", exc_type=ImportError, reason="pyodbc or unixODBC is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Target]:
    with babelfish() as target:
        yield target


def test_the_probe_finds_babelfish_and_its_statements(server: Target) -> None:
    engine = database(server)
    assert engine.dialects[-1] == "sqlserver_babelfish"
    assert database("sqlserver").dialects[-1] == "sqlserver_microsoft"
    assert Capability.READS_NEVER_WAIT in engine.capabilities
    assert Capability.READS_NEVER_WAIT not in database("sqlserver").capabilities


def test_what_is_read_of_the_server_is_read_without_its_missing_views(server: Target) -> None:
    engine = database(server)
    with closing(sql_session(server)) as session:
        assert "Babelfish for PostgreSQL" in engine.version(session)
        assert engine.counters(session) == {}
        assert engine.footprint(session) is None
        assert engine.disturbances(session) == []
        assert "user connections" in engine.settings_of(session)
        assert (engine.clock_s(session) or 0) > 1_700_000_000


def test_texts_are_loaded_as_they_are(server: Target) -> None:
    """Babelfish's OPENJSON returns the escapes of JSON; its variant of the load takes them back."""
    odd = 'a"b\\c\tü€\nd\re/'
    field = odd.replace("\\", r"\\").replace("\t", r"\t").replace("\n", r"\n").replace("\r", r"\r")
    with closing(sql_session(server)) as session:
        session.execute("CREATE TABLE odd (t VARCHAR(40) COLLATE Latin1_General_BIN2 NULL)")
        session.begin()
        assert session.load(Table("odd", ("t",)), [field.encode() + b"\n" + rb"\N" + b"\n"]) == 2
        session.commit()
        cursor = session.connection.execute("SELECT t FROM odd")  # type: ignore[attr-defined]
        assert sorted(map(str, *zip(*cursor.fetchall(), strict=True))) == sorted(["None", odd])


def test_a_load_whose_transaction_was_lost_is_an_error(server: Target) -> None:
    """Otherwise its rows would be committed one command at a time, and a build could stay half-loaded."""
    with closing(sql_session(server)) as session:
        session.execute("CREATE TABLE lost (n INT NOT NULL)")
        session.begin()
        session.execute("ROLLBACK TRANSACTION")
        with pytest.raises(TransactionError, match="the transaction of a load has ended"):
            session.load(Table("lost", ("n",)), [b"1\n"])
        cursor = session.connection.execute("SELECT COUNT(*) FROM lost")  # type: ignore[attr-defined]
        assert cursor.fetchone()[0] == 0


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"password": SecretStr("wrong")}, Rejected, "the server refuses the user or password"),
        ({"database": "missing"}, Rejected, "there is no database 'missing'"),
        ({"port": 1}, NothingListens, "nothing listens on 127.0.0.1:1"),
        ({"options": {"driver": "/no/such/driver.so"}}, CannotConnect, "/no/such/driver.so"),
    ],
)
def test_a_refused_connection_is_one_sentence(
    changes: dict[str, Any], kind: type[CannotConnect], said: str, server: Target
) -> None:
    with pytest.raises(kind, match=re.escape(said)):
        sql_session(server.with_(**changes))


def test_orders_are_in_partitions_which_a_drop_removes(server: Target) -> None:
    spec = TprocHSpec(scale_factor=0.01, storage={"partitions": 3})  # type: ignore[call-arg]
    with closing(database(server).schema(server, workload(spec))) as schema:
        schema.create(spec.model_dump_json())
        rows = schema.session.connection.execute  # type: ignore[attr-defined]
        count = "SELECT COUNT(*) FROM sys.partitions WHERE object_id = OBJECT_ID('orders')"
        assert rows(count).fetchone()[0] == 3
        assert "table lineitem" in schema.drop()
        assert rows("SELECT COUNT(*) FROM sys.partition_functions").fetchone()[0] == 0


def test_tables_in_memory_are_refused_where_there_are_none(server: Target) -> None:
    spec = TprocCSpec(warehouses=1, storage={"memory_optimized": "SCHEMA_ONLY"})
    with pytest.raises(InputError, match="no memory-optimized tables; omit memory_optimized"):
        database(server).schema(server, workload(spec))


def test_a_plan_is_shown_and_nothing_is_executed(server: Target, tmp_path: Path) -> None:
    text = "SELECT name FROM sys.tables WHERE name <> :name AND object_id > :least"
    scope = Scope("", {"find": made("find", text, tmp_path)})
    given = {"find": {"name": "it's", "least": 3}}
    with closing(Explainer(database(server), server, scope, SessionOptions(), given)) as explainer:
        (found,) = explainer.plans().values()
    assert "cost=" in found.text and "it''s" in found.text
    assert "Parsing Time" not in found.text
    assert found.content is None


@pytest.fixture(scope="module")
def grammar(server: Target) -> Iterator[Callable[[str], str]]:
    """The word at which Babelfish's grammar refuses a text; a seeded error at its end keeps it from being run."""
    with closing(sql_session(server)) as session:

        def refused_at(text: str) -> str:
            with pytest.raises(TransactionError) as met:
                session.execute(f"{text}\nSETT {SEEDED_END} = 1")
            found = NEAR.search(met.value.text)
            assert found, f"{met.value.text}: {text}"
            return found[1]

        yield refused_at


def test_every_statement_of_sql_server_is_t_sql(grammar: Callable[[str], str]) -> None:
    """Babelfish reads T-SQL by the grammar of ANTLR's collection first, also what it then cannot do.

    Statements in standard SQL are run by other tests.
    """
    refused = {name: at for name, text in own_texts().items() if (at := grammar(text)) not in ENDS}
    assert refused == {}
    assert len(own_texts()) > 90


@pytest.mark.parametrize(("good", "bad"), SEEDED)
def test_the_grammar_refuses_seeded_errors(grammar: Callable[[str], str], good: str, bad: str) -> None:
    text = own_texts()["tproc_c.create_routine_new_order.0"]
    assert good in text
    assert grammar(text) == SEEDED_END
    assert grammar(text.replace(good, bad, 1)) != SEEDED_END


@pytest.mark.parametrize(("good", "bad"), SEEDED_NATIVE)
def test_the_grammar_refuses_seeded_errors_in_native_procedures(
    grammar: Callable[[str], str], good: str, bad: str
) -> None:
    text = own_texts()["options.tproc_c.create_routine_stock_level.0"]
    assert good in text
    assert grammar(text.replace(good, bad, 1)) not in ENDS
