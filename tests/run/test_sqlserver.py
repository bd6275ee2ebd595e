"""SQL Server's engine on Babelfish, which speaks its protocol: what the probe finds.

The conformance suite tries all rules on the same kind of server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Capability, Table
from hdbkit.databases import database, sql_session
from hdbkit.databases._dbapi_statements import compiled
from hdbkit.errors import TransactionError
from hdbkit.sql import folders, place_of, statements
from tests.babelfish import babelfish

KIND = "sqlserver"
SEEDED_END = "@seeded_error"
NEAR = re.compile(r"syntax error near '([^']*)' at line")
VALUE = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
SEEDED = [
    ("BEGIN TRANSACTION", "BEGIN TRANSACTON"),
    ("SET @turn = 1", "SETT @turn = 1"),
    ("SET @turn = @turn + 1", "SET @turn = @turn +"),
    ("WHERE turn = @turn", "WHERE WHERE turn = @turn"),
    ("OVER (ORDER BY", "OVR (ORDER BY"),
    ("DECLARE @turn INT,", "DECLARE @turn INT INT,"),
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


def own_texts() -> dict[str, str]:
    """Each command of SQL Server's folders, with variables in the place of values."""
    dialects = database(KIND).dialects
    found = {}
    for folder in folders(dialects):
        for name, statement in statements(dialects, folder).items():
            if not place_of(statement).startswith(KIND):
                continue
            words = dict.fromkeys(statement.words - {"fields"}, "a")
            whole = statement.partly_filled({**words, "milliseconds": 1})
            whole = replace(whole, text=whole.text.replace("{fields}", "f INT"))
            for place, one in enumerate(compiled(whole, "named").pieces):
                found[f"{folder}.{name}.{place}"] = VALUE.sub(r"@\1", one.text)
    return found


def test_every_statement_of_sql_server_is_t_sql(grammar: Callable[[str], str]) -> None:
    """Babelfish reads T-SQL by the grammar of ANTLR's collection first, also what it then cannot do.

    Statements in standard SQL are run by other tests.
    """
    refused = {name: at for name, text in own_texts().items() if (at := grammar(text)) != SEEDED_END}
    assert refused == {}
    assert len(own_texts()) > 40


@pytest.mark.parametrize(("good", "bad"), SEEDED)
def test_the_grammar_refuses_seeded_errors(grammar: Callable[[str], str], good: str, bad: str) -> None:
    text = own_texts()["tproc_c.create_routine_new_order.0"]
    assert good in text
    assert grammar(text) == SEEDED_END
    assert grammar(text.replace(good, bad, 1)) != SEEDED_END
