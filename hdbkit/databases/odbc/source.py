"""What an ODBC data source is: by the driver's own information, by its type names, and by statements that are tried.

Nothing is decided by the name of a product, except what products do that no driver tells: how they lock, and what the
numbers of their errors mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from hdbkit.contracts import Capability
from hdbkit.databases._base.dbapi_statements import compiled
from hdbkit.errors import ErrorClass
from hdbkit.sql import ANSI, SERVER_STATEMENTS, find, is_known

if TYPE_CHECKING:
    import pyodbc

ODBC: Final = "odbc"
UNPROBED_DIALECTS: Final[tuple[str, ...]] = (ANSI, ODBC)
"""The dialects of a source about which nothing is known."""
_RETURNING: Final = "odbc/returning"
_TRIED: Final[Mapping[str, tuple[str, ...]]] = {
    "try_from_nothing": ("odbc/dual", "odbc/sysdummy1", "odbc/rdb_database"),
    "try_limit": ("odbc/limit", "odbc/top"),
    "try_now": ("odbc/current_timestamp",),
    "try_concat": ("odbc/concat", "odbc/plus"),
    "try_substring": ("odbc/substring", "odbc/substr"),
    "try_typed": ("odbc/untyped",),
    "try_exact": ("odbc/round",),
    "try_dates": ("odbc/dates_as_text",),
    "try_for_update": ("odbc/unlocked",),
    "try_returning": (_RETURNING,),
}
"""By the statement that tries it: the dialects besides standard SQL, in this order."""
_BY_TYPE: Final = (
    (93, ("datetime2", "datetime")),  # SQL_TYPE_TIMESTAMP
    (-1, ("longtext", "clob", "text")),  # SQL_LONGVARCHAR
)
"""By ODBC's number of a type, the names of which the first is used; each has a dialect ``odbc/<name>``."""
_SEVERAL_ROWS: Final = ("try_rows_of_values", "try_named_rows_of_values", "try_constructed_rows_of_values")
_VALUES_PER_INSERT: Final = 500
"""The number of values of an INSERT of several rows: drivers fail at 999, 2,100 or 32,767, and gain nothing above."""
_EXPLICIT: Final = 1 | 2
"""SQL_BS_SELECT_EXPLICIT and SQL_BS_ROW_COUNT_EXPLICIT: batches of statements that return rows, or change some."""
_LEVELS: Final = 2 | 4 | 8
"""Read committed, repeatable read and serializable, as in SQL_TXN_ISOLATION_OPTION."""
_OF_PRODUCT: Final = frozenset(
    {
        Capability.ROW_LOCKS,
        Capability.WRITERS_WAIT,
        Capability.READS_NEVER_WAIT,
        Capability.SNAPSHOT_CONFLICTS,
        Capability.LOCK_ERRORS,
    }
)
"""What a server does is the same through every driver: taken from the engine of that name, if there is one."""
_MARIADB: Final = {
    1020: ErrorClass.SERIALIZATION,
    1205: ErrorClass.LOCK_TIMEOUT,
    1213: ErrorClass.DEADLOCK,
    1969: ErrorClass.STATEMENT_TIMEOUT,
    3024: ErrorClass.STATEMENT_TIMEOUT,
    2006: ErrorClass.CONNECTION_LOST,
    2013: ErrorClass.CONNECTION_LOST,
}
ODBC_ERRORS: Final[Mapping[str, Mapping[int, ErrorClass]]] = {
    "mariadb": _MARIADB,
    "mysql": _MARIADB,
    "microsoft sql server": {
        1205: ErrorClass.DEADLOCK,
        1222: ErrorClass.LOCK_TIMEOUT,
        3960: ErrorClass.SERIALIZATION,
    },
    "sqlite": {
        5: ErrorClass.LOCK_TIMEOUT,
        6: ErrorClass.LOCK_TIMEOUT,
        7: ErrorClass.RESOURCES,
        13: ErrorClass.RESOURCES,
        19: ErrorClass.CONSTRAINT,
    },
}
"""By product, its numbers of errors for which drivers give no SQLSTATE, or one that does not tell them apart."""


@dataclass(frozen=True)
class Source:
    """What was found out about a data source."""

    product: str
    """The name of the database system, as its driver gives it."""
    version: str
    driver: str
    """The driver's file and its version."""
    dialects: tuple[str, ...] = UNPROBED_DIALECTS
    catalog: str = ""
    schema: str = ""
    """Where tables are looked up; empty where the source has no such level."""
    isolation_levels: int = 0
    """The bits of SQL_TXN_ISOLATION_OPTION."""
    values_per_insert: int = 0
    batches: bool = False
    """Whether several statements can be sent at once, with a result for each."""
    prepares: bool = False
    """Whether statements can be prepared by name in SQL; used where there are batches."""
    exact_decimals: bool = True
    """Whether decimals are read as decimals; else as floating-point numbers."""
    typed_times: bool = True
    """Whether times are read as such; else as text."""
    snapshot_conflicts: bool = True
    """Whether a server that can report conflicts of snapshots does so."""

    @property
    def returns_changed(self) -> bool:
        """Whether a statement that changes a row can return it."""
        return _RETURNING in self.dialects

    @property
    def own_capabilities(self) -> frozenset[Capability]:
        """What the source has besides what all sources have."""
        several_levels = (self.isolation_levels & _LEVELS).bit_count() > 1
        found = {Capability.ISOLATION: several_levels, Capability.DECIMALS: self.exact_decimals}
        set_off = set() if self.snapshot_conflicts else {Capability.SNAPSHOT_CONFLICTS}
        return frozenset(one for one, has in found.items() if has) | _of_product(self.product) - set_off


def explored(connection: pyodbc.Connection) -> Source:
    """What a data source is. Raises the driver's error if the connection breaks."""
    import pyodbc

    def information(what: str) -> Any:
        try:
            return connection.getinfo(getattr(pyodbc, what))
        except pyodbc.Error:
            return ""

    product = str(information("SQL_DBMS_NAME"))
    dialects = UNPROBED_DIALECTS
    for statement, variants in _TRIED.items():
        fitting = (one for one in ("", *variants) if _rows(connection, _with(dialects, one), statement) == [(1,)])
        dialects = _with(dialects, next(fitting, ""))
    for number, names in _BY_TYPE:
        dialects = _with(dialects, _first_type(connection, number, names))
    if not information("SQL_ALTER_TABLE"):
        dialects = _with(dialects, "odbc/unique_index")
    own = f"{ODBC}/{product.lower()}"
    if product and is_known(own):
        dialects = _with(dialects, own)
    batches = int(information("SQL_BATCH_SUPPORT") or 0) & _EXPLICIT == _EXPLICIT and _takes_batches(
        connection, dialects
    )
    several = any(_rows(connection, dialects, name) == [(1,)] for name in _SEVERAL_ROWS)
    return Source(
        product=product,
        version=str(information("SQL_DBMS_VER")),
        driver=f"{information('SQL_DRIVER_NAME')} {information('SQL_DRIVER_VER')}",
        dialects=dialects,
        catalog=str(information("SQL_DATABASE_NAME")),
        schema=str(_value(connection, dialects, "current_schema") or ""),
        isolation_levels=int(information("SQL_TXN_ISOLATION_OPTION") or 0),
        values_per_insert=_VALUES_PER_INSERT if several else 0,
        batches=batches,
        prepares=batches and _rows(connection, dialects, "try_prepare") == [(1,)],
        exact_decimals=isinstance(_value(connection, dialects, "read_decimal"), Decimal),
        typed_times=isinstance(_value(connection, dialects, "read_now"), datetime),
        snapshot_conflicts=_value(connection, dialects, "try_snapshot_conflicts") == 1,
    )


def _with(dialects: tuple[str, ...], more: str) -> tuple[str, ...]:
    return (*dialects, more) if more else dialects


def _rows(connection: pyodbc.Connection, dialects: tuple[str, ...], name: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, the last of its commands; none if the source rejects one."""
    import pyodbc

    try:
        cursor = connection.cursor()
        for text in find(dialects, SERVER_STATEMENTS, name).commands:
            cursor.execute(text)
        return [tuple(row) for row in cursor.fetchall()]
    except pyodbc.Error:
        return []


def _takes_batches(connection: pyodbc.Connection, dialects: tuple[str, ...]) -> bool:
    """Whether two statements with values give two results; some drivers state it and need an option for it."""
    import pyodbc

    (piece,) = compiled(find(dialects, SERVER_STATEMENTS, "try_value"), "qmark").pieces
    try:
        cursor = connection.execute(f"{piece.text};\n{piece.text}", [1, 2])
        results = [cursor.fetchall()]
        while cursor.nextset():
            results.append(cursor.fetchall())
    except pyodbc.Error:
        return False
    return [int(row[0]) for rows in results for row in rows] == [1, 2]


def _value(connection: pyodbc.Connection, dialects: tuple[str, ...], name: str) -> Any:
    rows = _rows(connection, dialects, name)
    return rows[0][0] if rows else None


def _first_type(connection: pyodbc.Connection, number: int, names: Iterable[str]) -> str:
    """The dialect of the first of the type names that the source has for a type of ODBC; empty if it has none."""
    import pyodbc

    with suppress(pyodbc.Error):
        there = {str(row[0]).lower() for row in connection.cursor().getTypeInfo(number).fetchall()}
        return next((f"{ODBC}/{name}" for name in names if name in there), "")
    return ""


def _of_product(product: str) -> frozenset[Capability]:
    from hdbkit.databases import database, kinds

    name = product.lower()
    return database(name).capabilities & _OF_PRODUCT if name in kinds() else frozenset()


def tables_of_source(connection: pyodbc.Connection, source: Source) -> list[tuple[str, ...]]:
    """The names of the tables in the source's schema, by the catalog function SQLTables."""
    found = connection.cursor().tables(tableType="TABLE").fetchall()
    here = (row for row in found if _is(row[0], source.catalog) and _is(row[1], source.schema))
    return sorted({(str(row[2]).lower(),) for row in here})


def indexes(connection: pyodbc.Connection, source: Source) -> list[tuple[str, ...]]:
    """The indexes of these tables, by SQLStatistics; a primary key is ``<table>_pk``, by SQLPrimaryKeys."""
    import pyodbc

    found: set[tuple[str, ...]] = set()
    for (table,) in tables_of_source(connection, source):
        rows = connection.cursor().statistics(table).fetchall()
        found |= {(str(row[5]).lower(),) for row in rows if row[5] and _is(row[1], source.schema)}
        with suppress(pyodbc.Error):
            if any(_is(row[1], source.schema) for row in connection.cursor().primaryKeys(table).fetchall()):
                found.add((f"{table}_pk",))
    return sorted(found)


def _is(given: str | None, wanted: str) -> bool:
    """Whether a catalog or schema is the wanted one; where a source has none, each is."""
    return not given or not wanted or given == wanted
