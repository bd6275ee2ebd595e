"""SQL Server's engine on Babelfish, which speaks its protocol: what the probe finds.

The conformance suite tries all rules on the same kind of server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Capability, Table
from hdbkit.databases import database, sql_session
from tests.babelfish import babelfish

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
