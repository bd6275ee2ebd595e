"""The double as the driver, and a session on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from hdbkit.databases.timesten import TimesTenSession
from tests.engines.oracle.double import Module
from tests.engines.timesten.sessions import connected


@pytest.fixture
def oracledb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    module = Module()
    monkeypatch.setitem(sys.modules, "oracledb", module)
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    monkeypatch.delenv("HDBKIT_ORACLE_PASSWORD", raising=False)
    yield module


@pytest.fixture
def session(oracledb: Module) -> Iterator[TimesTenSession]:
    with closing(connected()) as made:
        oracledb.forget()
        yield made
