"""Targets of kinds that are a way to other kinds, such as ODBC: the servers and files of the suite, by their drivers.

Three drivers that differ in nearly everything: batches, decimals, locks, the numbers of errors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.errors import MissingDriver
from tests.run.conftest import password_of

OF_SOURCES: Final = frozenset({"odbc"})
"""The kinds that are a way to others."""
SOURCES: Final = ("odbc-postgresql", "odbc-sqlite", "odbc-mariadb")
_DRIVERS: Final = {"postgresql": "PostgreSQL Unicode", "mariadb": "MariaDB Unicode", "sqlite": "SQLite3"}
"""By kind, its ODBC driver as Debian names it."""


def source(name: str, servers: Callable[[str], Target], folder: Path) -> Target:
    """The target of a source, such as ``odbc-postgresql``; skips where its driver is missing."""
    way, _, kind = name.partition("-")
    driver = _DRIVERS[kind]
    try:
        database(way).driver_version()
    except MissingDriver as error:
        pytest.skip(str(error))
    import pyodbc

    if driver not in pyodbc.drivers():
        pytest.skip(f"the ODBC driver {driver} is not installed")
    if Capability.SERVER not in database(kind).capabilities:
        options = {"driver": driver, "journalmode": "WAL", "timeout": "60000"}
        return Target(kind=way, database=str(folder / "conformance"), options=options)
    to = servers(kind)
    options = {"driver": driver, "server": str(to.host), "port": str(to.port)}
    password = SecretStr(password_of(to))
    return Target(kind=way, database=to.database, user=to.user, options=options, password=password)
