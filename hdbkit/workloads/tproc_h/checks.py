"""The check of a schema: tables, row counts and indexes (TPC-H 1.4 and 4.2.5)."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from hdbkit.config.specs.tproc_h import TprocHSpec
from hdbkit.contracts import Capability, Check, CheckSession, PlannedCheck
from hdbkit.workloads.checking import all_there
from hdbkit.workloads.tproc_h.tables import SUMMED, TABLES, lines_at, sums_at


def checks(spec: TprocHSpec, indexes: tuple[str, ...]) -> list[PlannedCheck]:
    """All checks of a schema that was built as ``spec``, with these indexes."""
    return [
        all_there("tables", tuple(TABLES), required=True),
        *(PlannedCheck(f"rows of {table}", partial(_rows, spec=spec, table=table)) for table in TABLES),
        all_there("indexes", indexes),
        *(
            PlannedCheck(f"sums of {table}", partial(_sums, table=table, known=known), needs=Capability.DECIMALS)
            for table in SUMMED
            if (known := sums_at(table, spec.scale_factor))
        ),
        PlannedCheck("lines of orders", _lines),
        PlannedCheck("orders of the build", _of_the_build),
    ]


def _rows(session: CheckSession, *, spec: TprocHSpec, table: str) -> Check:
    rows, name = int(session.ask(f"count_{table}")[0][0]), f"rows of {table}"
    expected = lines_at(spec.scale_factor) if table == "lineitem" else TABLES[table].rows_at(spec.scale_factor)
    if expected is None:
        about = TABLES[table].rows_at(spec.scale_factor)
        return Check(name, abs(rows - about) < 0.01 * about, f"{rows}, about {about} expected")
    return Check(name, rows == expected, f"{rows}, {expected} expected")


def _sums(session: CheckSession, *, table: str, known: tuple[Decimal, ...]) -> Check:
    """The sums of a table's decimals are those of the generator's rows."""
    found = tuple(Decimal(str(one)) for one in session.ask(f"sum_{table}")[0])
    wrong = [
        f"sum({column}) = {one}, {expected} expected"
        for column, one, expected in zip(SUMMED[table], found, known, strict=True)
        if one != expected
    ]
    return Check(f"sums of {table}", not wrong, "; ".join(wrong) or f"of {', '.join(SUMMED[table])}: as generated")


def _lines(session: CheckSession) -> Check:
    """An order's total is the sum of its lines, each rounded down to cents twice (TPC-H 4.2.3)."""
    ((broken,),) = session.ask("broken_orders")
    detail = "o_totalprice = sum of the lines' prices with discount and tax, to 15 cents: "
    return Check("lines of orders", not broken, detail + (f"broken in {broken} orders" if broken else "holds"))


def _of_the_build(session: CheckSession) -> Check:
    """Refresh functions insert orders under keys that the generator leaves free."""
    ((new,),) = session.ask("count_new_orders")
    detail = f"{new} orders are of refresh functions that were not undone" if new else "no others are there"
    return Check("orders of the build", not new, detail)
