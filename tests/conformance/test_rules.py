"""Every engine does what the workload's rules demand; ``hdbkit engine check`` tries the same rules on any target."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Database, Rule, SessionOptions, SqlSession
from hdbkit.databases import database
from hdbkit.workloads.tproc_c.conformance import RULES
from tests.conformance.conftest import Tables, connected


class Bench:
    """Contract: :class:`hdbkit.contracts.Bench`, on the tables of the suite."""

    def __init__(self, target: Target, tables: Tables) -> None:
        self._target, self._tables = target, tables
        self.capabilities = database(target).capabilities
        self._open: list[SqlSession] = []

    def emptied(self) -> SqlSession:
        self._open.append(self._tables.emptied())
        return self._open[-1]

    def connect(self, options: SessionOptions | None = None) -> SqlSession:
        self._open.append(connected(self._target, options))
        return self._open[-1]

    def close(self) -> None:
        for session in self._open:
            session.close()


@pytest.fixture
def bench(target: Target, tables: Tables) -> Iterator[Bench]:
    made = Bench(target, tables)
    yield made
    made.close()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_an_engine_keeps(rule: Rule, engine: Database, bench: Bench) -> None:
    if missing := rule.needs - engine.capabilities:
        pytest.skip(f"no {', '.join(sorted(missing))}")
    rule.hold(bench)
