"""The double as the driver, and a session on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from hdbkit.databases.sqlserver.session import SqlServerSession
from tests.engines.sqlserver.double import Module
from tests.engines.sqlserver.sessions import connected


@pytest.fixture
def pyodbc(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    module = Module()
    monkeypatch.setitem(sys.modules, "pyodbc", module)
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    yield module


@pytest.fixture
def session(pyodbc: Module) -> Iterator[SqlServerSession]:
    with closing(connected(pyodbc)) as made:
        pyodbc.forget()
        yield made
