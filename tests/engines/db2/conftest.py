"""The double as the driver, and a session on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from hdbkit.databases._base.explored import engine_at
from hdbkit.databases.db2 import Db2Session
from tests.engines.db2.double import Module
from tests.engines.db2.sessions import connected


@pytest.fixture
def ibm_db(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    module = Module()
    monkeypatch.setitem(sys.modules, "ibm_db", module)
    monkeypatch.setenv("HDBKIT_PASSWORD", "s3cret")
    engine_at.cache_clear()
    yield module
    engine_at.cache_clear()


@pytest.fixture
def session(ibm_db: Module) -> Iterator[Db2Session]:
    with closing(connected()) as made:
        ibm_db.forget()
        yield made
