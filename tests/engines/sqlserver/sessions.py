"""Sessions of SQL Server on a double of its driver."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import SessionOptions
from hdbkit.databases.sqlserver import SqlServer
from hdbkit.databases.sqlserver.session import SqlServerSession
from hdbkit.workloads import workload
from tests.engines.sqlserver.double import Module, Result, result

TARGET = Target.parse("sqlserver://bench@db1/tpcc")
WORK = workload(TprocCSpec(warehouses=2))
WHEN = datetime(2026, 3, 4, 5, 6, 7)


def product(text: str, _: Sequence[Any]) -> list[Result] | None:
    """The answer of SQL Server to the probe."""
    return [result("version versions", (None, 0))] if "BabelfishVersion" in text else None


def engine(pyodbc: Module, target: Target = TARGET) -> SqlServer:
    """The engine of a server, which was probed."""
    made, answers, pyodbc.answers = SqlServer(target), pyodbc.answers, product
    assert made.found.dialect == "sqlserver_microsoft"
    pyodbc.answers = answers
    pyodbc.forget()
    return made


def connected(pyodbc: Module, options: SessionOptions | None = None, target: Target = TARGET) -> SqlServerSession:
    of = engine(pyodbc, target)
    made = of.connect(target, WORK.scope(of.dialects), options)
    assert isinstance(made, SqlServerSession)
    return made
