"""Makes rules of functions that run transactions on the small database and compare what they find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hdbkit.contracts import Bench, Capability, Rule, SqlSession, Violation
from hdbkit.workloads.tproc_c.conformance.small import Small, fill
from hdbkit.workloads.tproc_c.user import client_side

STORED, CLIENT = "stored", "client"
_TABLES: Final = frozenset({Capability.TABLES})
_SQL: Final = frozenset({Capability.SQL})
WAYS: Final = {
    STORED: _TABLES | {Capability.ACROSS_SHARDS, Capability.STORED_ROUTINES},
    CLIENT: _TABLES | {Capability.ACROSS_SHARDS, Capability.CLIENT_ROUTINES},
}
"""How transactions can be run, and what each way needs."""
_SHOWN: Final = 200
"""The number of characters of a value in a message."""
Run = Callable[..., tuple[Any, ...]]
"""``run(name, *arguments)`` performs one transaction and returns its one row."""


class Rules(list[Rule]):
    """The rules of a module, in the order in which they are written."""

    def each_way(self, *cases: tuple[Any, ...]) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """A rule ``work(run, small, *case)`` on the small database, for each case and way to run transactions."""

        def add(work: Callable[..., None]) -> Callable[..., None]:
            for case in cases or ((),):
                for way in WAYS:
                    self._add(work, way, case)
            return work

        return add

    def _add(self, work: Callable[..., None], way: str, case: tuple[Any, ...]) -> None:
        def hold(bench: Bench) -> None:
            session = bench.emptied()
            fill(session)
            work(runner(way, bench.connect()), Small(session), *case)

        self.append(Rule(_named(work, ", ".join((*map(str, case), way))), hold, WAYS[way]))

    def alone(
        self, *needs: Capability, before: Callable[[SqlSession], None] = fill, by_sql: bool = True
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """A rule ``work(bench, session)``, whose session is on the tables as ``before`` has filled them.

        ``by_sql``: it sends statements or undoes what it did; else it also holds for engines without SQL.
        """

        def add(work: Callable[..., None]) -> Callable[..., None]:
            def hold(bench: Bench) -> None:
                session = bench.emptied()
                before(session)
                work(bench, session)

            self.append(Rule(_named(work), hold, _TABLES | (_SQL if by_sql else frozenset()) | {*needs}))
            return work

        return add


def _named(work: Callable[..., None], case: str = "") -> str:
    return f"{work.__name__.replace('_', ' ')}{f' ({case})' if case else ''}"


def runner(way: str, session: SqlSession) -> Run:
    """``run(name, *arguments)`` by stored routines, or as the client sends them."""

    def stored(name: str, *arguments: Any) -> tuple[Any, ...]:
        session.prepare([f"call_{name}"])
        (row,) = session.rows(session.perform(session.bind(f"call_{name}", arguments)))
        return row

    def by_client(name: str, *arguments: Any) -> tuple[Any, ...]:
        (row,) = getattr(client_side(session), name)(session, arguments)
        return tuple(row)

    return stored if way == STORED else by_client


def equal(found: Any, expected: Any) -> None:
    """Demand equal values. Raises ``Violation`` with both."""
    if found != expected:
        raise Violation(f"{_shown(found, expected)} instead of {_shown(expected, found)}")


def _shown(value: Any, other: Any) -> str:
    """A value as text, not too long; of a dictionary only what differs from the other."""
    if isinstance(value, dict) and isinstance(other, dict):
        value = {name: one for name, one in value.items() if other.get(name) != one}
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def true(condition: bool, demanded: str) -> None:
    """Demand a condition. Raises ``Violation`` with what is ``demanded``."""
    if not condition:
        raise Violation(f"it is not true that {demanded}")


def raised(error: type[Exception], work: Callable[..., object], *arguments: Any) -> Any:
    """The error of this type that ``work`` must raise. Raises ``Violation`` if it returns."""
    try:
        work(*arguments)
    except error as met:
        return met
    raise Violation(f"no {error.__name__} was raised")
