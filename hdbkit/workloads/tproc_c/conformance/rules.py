"""Makes rules of functions that run transactions on a small database and compare what they find.

Its figures can be calculated by hand. Two warehouses with districts 1 and 2, five customers per district, items 1 to
20. Item i costs i.25; the first five items and every odd stock are ORIGINAL. Stock is 50 of each item, but 12 of item
7. Next order: 3001. No orders yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

from hdbkit.contracts import Bench, Capability, Rule, SqlSession, Table, Violation
from hdbkit.workloads.tproc_c.tables import TPROC_C_TABLES
from hdbkit.workloads.tproc_c.user import client_side

FIRST_NAMES = {1: "DORA", 2: "CARL", 3: "BERT", 4: "ANNA", 5: "EMIL"}
"""By customer; 1 to 4 are called ABLE, so that of ANNA, BERT, CARL, DORA the middle one rounded up is BERT, 3."""
NAMED, BAD_CREDIT = 3, 5


def fill(session: SqlSession) -> None:
    """Load the small database."""
    session.begin()
    loaded(session, "item", [item(i) for i in range(1, 21)])
    for w in (1, 2):
        loaded(session, "warehouse", [warehouse(w)])
        loaded(session, "stock", [stock(w, i) for i in range(1, 21)])
        loaded(session, "district", [district(w, d) for d in (1, 2)])
        loaded(session, "customer", [customer(w, d, c) for d in (1, 2) for c in FIRST_NAMES])
    session.commit()


def loaded(session: SqlSession, table: str, rows: Iterable[dict[str, Any]]) -> int:
    """Load rows given as ``{column: value}``; None is null."""
    given = list(rows)
    columns = tuple(given[0])
    lines = ("\t".join(r"\N" if row[c] is None else str(row[c]) for c in columns) for row in given)
    return session.load(Table(table, columns), ["".join(f"{line}\n" for line in lines).encode()])


def address(prefix: str) -> dict[str, str]:
    """The five columns of an address."""
    names = {"street_1": "1 Long Lane", "street_2": "Flat 2", "city": "Ely", "state": "NY", "zip": "123411111"}
    return {f"{prefix}_{name}": value for name, value in names.items()}


def item(i: int) -> dict[str, Any]:
    """A row of item."""
    data = "an ORIGINAL item" if i <= 5 else "an item"
    return {"i_id": i, "i_im_id": 1, "i_name": f"item {i}", "i_price": f"{i}.25", "i_data": data}


def stock(w: int, i: int) -> dict[str, Any]:
    """A row of stock."""
    row: dict[str, Any] = {"s_i_id": i, "s_w_id": w, "s_quantity": 12 if i == 7 else 50}
    row |= {f"s_dist_{d:02d}": f"warehouse {w} district {d:02d} .."[:24].ljust(24, ".") for d in range(1, 11)}
    data = "ORIGINAL stock" if i % 2 else "stock"
    return {**row, "s_ytd": 0, "s_order_cnt": 0, "s_remote_cnt": 0, "s_data": data}


def warehouse(w: int, ytd: int = 0) -> dict[str, Any]:
    """A row of warehouse."""
    return {"w_id": w, "w_name": f"WARE{w}", **address("w"), "w_tax": "0.1000", "w_ytd": ytd}


def district(w: int, d: int, ytd: int = 0, next_o_id: int = 3001) -> dict[str, Any]:
    """A row of district."""
    row = {"d_id": d, "d_w_id": w, "d_name": f"DIST{d}", **address("d"), "d_tax": "0.0500"}
    return {**row, "d_ytd": ytd, "d_next_o_id": next_o_id}


def customer(w: int, d: int, c: int, balance: int = 0, paid: int = 0) -> dict[str, Any]:
    """A row of customer."""
    last, credit = ("ABLE", "GC") if c != BAD_CREDIT else ("OUGHT", "BC")
    row = {"c_id": c, "c_d_id": d, "c_w_id": w, "c_first": FIRST_NAMES[c], "c_middle": "OE", "c_last": last}
    row |= {**address("c"), "c_phone": "1234567890123456", "c_since": "2026-01-02 03:04:05", "c_credit": credit}
    row |= {"c_credit_lim": "50000.00", "c_discount": "0.2000", "c_balance": balance, "c_ytd_payment": paid}
    return {**row, "c_payment_cnt": 0, "c_delivery_cnt": 0, "c_data": "x" * 480}


class Small:
    """Reads the database back, by column names."""

    def __init__(self, session: SqlSession) -> None:
        self.session = session

    def rows(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """The rows of a table whose columns have these values, in a fixed order."""
        found = [dict(zip(TPROC_C_TABLES[table].columns, row, strict=True)) for row in self.content(table)]
        return [row for row in found if all(row[name] == value for name, value in where.items())]

    def row(self, table: str, **where: Any) -> dict[str, Any]:
        """The only such row."""
        (found,) = self.rows(table, **where)
        return found

    def content(self, table: str) -> list[tuple[Any, ...]]:
        """Every row of a table."""
        return self.session.query(f"content_{table}")

    def everything(self) -> dict[str, Any]:
        """Every table; a point in time only as whether there is one."""
        return {table: timeless(self.content(table)) for table in TPROC_C_TABLES}


def timeless(value: Any) -> Any:
    """The value with every point in time in it made equal."""
    if isinstance(value, tuple | list):
        return tuple(map(timeless, value))
    return "some time" if isinstance(value, datetime) else value


STORED, CLIENT_WORK = "stored", "client"
_TABLES: Final = frozenset({Capability.TABLES})
_SQL: Final = frozenset({Capability.SQL})
WAYS: Final = {
    STORED: _TABLES | {Capability.ACROSS_SHARDS, Capability.STORED_ROUTINES},
    CLIENT_WORK: _TABLES | {Capability.ACROSS_SHARDS, Capability.CLIENT_ROUTINES},
}
"""How transactions can be run, and what each way needs."""
_SHOWN: Final = 200
"""The number of characters of a value in a message."""
RuleRun = Callable[..., tuple[Any, ...]]
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


def runner(way: str, session: SqlSession) -> RuleRun:
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
