"""TPROC-C on a schema that HammerDB 4 to 6 made: its tables, its routines, its inputs; nothing of it is changed.

What differs from our own schema is here and in ``schemas/<engine>/tproc_c/hammerdb/``; all else is inherited.
HammerDB has two forms of its routines on PostgreSQL, which the catalog tells apart. With functions, its own driver
sends the text ``$8`` where a customer's last name belongs; here the name goes there, which is more work.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.specs.tproc_c import TRANSACTIONS, InputRules, Routines, TprocCLoad, TprocCSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import (
    NO_ROUTES,
    Access,
    Arguments,
    Check,
    PlannedCheck,
    Route,
    Schema,
    Session,
    Table,
    User,
    UserPlan,
)
from hdbkit.errors import ErrorClass, InputError, RolledBackByDesign, SchemaProblem, TransactionError
from hdbkit.workloads.checking import all_there
from hdbkit.workloads.present import ELSEWHERE, has_tables, refuse_missing
from hdbkit.workloads.tproc_c import TprocC, tables
from hdbkit.workloads.tproc_c.consistency import CONDITIONS, condition, row_counts
from hdbkit.workloads.tproc_c.inputs import Inputs
from hdbkit.workloads.tproc_c.tables import COUNTING_TABLES, TPROC_C_TABLES, by_privilege
from hdbkit.workloads.tproc_c.user import NEW_ORDER, Bind, TprocCUser, TransactionCall, stored

START_DELAY_MS = 500
"""HammerDB starts its virtual users this far apart: its tables have few rows per page only once they have grown."""


class HammerDBTprocC(TprocC):
    """Contract: :class:`hdbkit.contracts.Workload`. It has no population and no definitions: HammerDB makes them."""

    title = "TPROC-C of HammerDB"
    group = "tproc_c.hammerdb"
    schema_name = ""
    preload: tuple[str, ...] = ("hdbkit.workloads.tproc_c.hammerdb",)
    tables: Mapping[str, Table] = MappingProxyType({})
    routines: tuple[str, ...] = ()
    grows = False

    def load(self, given: Load) -> TprocCLoad:
        """``given`` as HammerDB's routines take it: they draw much of their input themselves, by its rules."""
        load = super().load(given)
        required: dict[str, Any] = {
            "routines": Routines.STORED,
            "input_rules": InputRules.HAMMERDB,
            "remote_warehouses": True,
        }
        for name, only in required.items():
            value = getattr(load, name)
            if value not in (None, only) and name in load.model_fields_set:
                raise InputError(
                    f"a schema of HammerDB requires {name} {_word(only)}, not {_word(value)}; omit {name}"
                )
        delay_ms = START_DELAY_MS if load.start_delay_ms is None else load.start_delay_ms
        settled = {"routines": Routines.STORED, "input_rules": InputRules.HAMMERDB, "start_delay_ms": delay_ms}
        return load.model_copy(update=settled)

    def access(self, load: Load, dialects: tuple[str, ...] = ()) -> Access:
        """HammerDB's routines and what those of each version use; hdbkit looks for new orders, and counts them."""
        own = self.load(load)
        planned = [name for name, weight in own.weights.items() if weight]
        verified = [VERIFIED] if "new_order" in planned else []
        return Access(
            {"SELECT": frozenset().union(COUNTING_TABLES, SCALE, *verified)},
            frozenset(routine for name, routine in zip(TRANSACTIONS, ROUTINES, strict=True) if name in planned),
            by_privilege(_USES[name] for name in planned),
        )

    def found(self, schema: Schema) -> WorkloadSpec | None:
        """The present schema with its number of warehouses; None if there is no schema."""
        from hdbkit.workloads.built import require_access, require_sight

        require_sight(schema, self.access(Load()), least=Access({"SELECT": SCALE}))
        try:
            return found_spec(schema.session)
        except SchemaProblem:
            require_access(schema, self.access(Load()))
            raise

    def advice_to_build(self, command: str) -> str:
        """HammerDB builds it."""
        return "build it with HammerDB, or omit schema_from"

    def user(self, session: Session, load: Load, plan: UserPlan, routes: Mapping[str, Route] = NO_ROUTES) -> User:

        return HammerDBUser(session, self.spec, self.load(load), plan, routes)

    def checks(self, dialects: tuple[str, ...]) -> list[PlannedCheck]:
        """Row counts, keys, routines, and the conditions that HammerDB's population and routines keep."""

        return _checks(self.spec)


def _word(value: Any) -> str:
    """The value of an option, as a file has it."""
    return str(getattr(value, "value", value)).lower()


class HammerDBInputs(Inputs):
    """HammerDB's inputs in the order of its statements. Its routines draw a new order's lines themselves."""

    def new_order(self, count: int) -> list[Arguments]:
        """(w_id, max_w_id, d_id, c_id, ol_cnt)."""
        return [(w, self._warehouses, d, c, len(items)) for w, d, c, items, *_ in super().new_order(count)]

    def payment(self, count: int) -> list[Arguments]:
        """(w_id, d_id, c_w_id, c_d_id, byname, amount, c_last, c_id)."""
        return [
            (*home, byname, amount, c_last, c_id) for *home, c_id, byname, c_last, amount in super().payment(count)
        ]

    def _who(self, count: int) -> tuple[list[Any], ...]:
        """c_id, byname, c_last: a number is always given, a name only where the customer is asked for by it."""
        c_ids, names, by_name = self._customers(count)
        c_lasts = [name if named else "" for named, name in zip(by_name, names, strict=True)]
        return c_ids, [int(named) for named in by_name], c_lasts


class HammerDBUser(TprocCUser):
    """Contract: :class:`hdbkit.contracts.User`.

    HammerDB's procedures may roll back silently. A new order is therefore looked up afterwards.
    A payment or delivery that a deadlock undid so passes for committed, as in HammerDB; NOPM does not count it.
    """

    inputs = HammerDBInputs
    d_id_at = (2, 1, 1, None, 1)

    def _prepared(self, session: Session, load: TprocCLoad) -> list[TransactionCall]:
        kind = routine_kind(session)
        found = stored(session, calls(kind))
        if kind != "function":
            _, bind = found[NEW_ORDER]
            found[NEW_ORDER] = (
                (partial(_verified, session), bind) if kind == "transaction" else _looked_for(session, bind)
            )
        return found

    def order_id(self, raw: Any) -> int:
        """The number of the order where the routine returns it; else 0."""
        return int(self._rows(raw)[0][-1])


def _verified(session: Session, bound: Any) -> Any:
    """A new order whose packet looks for it as well: a null in place of its number is a rollback."""
    raw = session.perform(bound)
    if session.rows(raw)[0][-1] is None:
        raise RolledBackByDesign
    return raw


def _looked_for(session: Session, bind: Bind) -> TransactionCall:
    """A new order that is looked for after it took so long that the server may have refused it."""
    silent_after_s = session.ask("silent_after_ms")[0][0] / 1000

    def bind_both(arguments: Arguments) -> tuple[Any, Arguments]:
        return bind(arguments), arguments

    def perform(bound: tuple[Any, Arguments]) -> Any:
        call, (w_id, _, d_id, c_id, _) = bound
        start_s = time.monotonic()
        raw = session.perform(call)
        if time.monotonic() - start_s >= silent_after_s:
            o_id = session.rows(raw)[0][-1]
            if not session.ask("count_order", w_id=w_id, d_id=d_id, o_id=o_id, c_id=c_id)[0][0]:
                raise TransactionError(ErrorClass.DEADLOCK, "", "the procedure rolled the order back silently")
        return raw

    return perform, bind_both


def found_spec(session: Session) -> TprocCSpec | None:
    """The complete schema with its warehouses counted; None where no table of it is there.

    Raises:
        SchemaProblem: tables, rows or routines are missing, this account may not read them, or hdbkit built it.
    """
    if not has_tables(session, TPROC_C_TABLES):
        return None
    try:
        session.prepare(calls(routine_kind(session)))
        warehouses = int(session.ask("count_warehouse")[0][0])
    except TransactionError as error:
        raise SchemaProblem(
            f"the schema cannot be run as one of HammerDB 4 to 6: {error.text}; {ELSEWHERE}"
        ) from None
    if not warehouses:
        raise SchemaProblem("HammerDB's schema has no warehouse; build it with HammerDB")
    return TprocCSpec(warehouses=warehouses, schema_from=SchemaFrom.HAMMERDB)


def routine_kind(session: Session) -> str:
    """What HammerDB's routines are here, which is how they are called: ``function``, ``procedure``, ``transaction``.

    A transaction is a procedure that begins and ends one by itself. Raises ``SchemaProblem`` when some are missing.
    """
    there: dict[str, set[str]] = {}
    for name, kind in session.ask("list_routines"):
        there.setdefault(kind, set()).add(name)
    fullest = max(there, key=lambda kind: len(there[kind].intersection(ROUTINES)), default="")
    refuse_missing("routines", (name for name in ROUTINES if name not in there.get(fullest, ())))
    return fullest


def calls(kind: str) -> list[str]:
    """The named statements that call routines of a kind, in the order of ``TRANSACTIONS``."""
    return [f"call_{name}_{kind}" for name in TRANSACTIONS]


ROUTINES: Final = ("neword", "payment", "ostat", "delivery", "slev")
"""HammerDB's names of the transactions, in the order of ``TRANSACTIONS``."""
_USES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    **tables.USES,
    "new_order": {
        **tables.USES["new_order"],
        "SELECT": frozenset({"warehouse", "district", "customer", "item", "stock"}),
    },
    "delivery": {**tables.USES["delivery"], "SELECT": frozenset({"customer", "new_order", "orders", "order_line"})},
}
"""The tables that each transaction uses, by privilege."""
SCALE: Final = frozenset({"warehouse"})
"""The table whose rows are the scale of the schema."""
VERIFIED: Final = frozenset({"orders"})
"""The table in which hdbkit looks for an order that a routine may have rolled back silently."""


_KEYED: Final = tuple(table for table in TPROC_C_TABLES if table != "history")
_NOT_KEPT: Final = {
    10: "HammerDB's population has delivered lines that no balance holds",
    11: "HammerDB's deliveries do not count in c_delivery_cnt",
    12: "HammerDB's payments do not add to c_ytd_payment",
}
_STOCK_NOT_KEPT: Final = "HammerDB's new orders do not add to s_ytd, s_order_cnt and s_remote_cnt"


def _checks(spec: TprocCSpec) -> list[PlannedCheck]:
    """Row counts, keys, routines and conditions of TPC-C 3.3.2."""
    return [
        *row_counts(spec),
        all_there("keys", _KEYED),
        all_there("routines", ROUTINES),
        *(
            _undecided(f"condition {number}", meaning, _NOT_KEPT[number])
            if number in _NOT_KEPT
            else condition(number, spec.warehouses)
            for number, meaning in CONDITIONS.items()
        ),
        _undecided("stock", "s_ytd, s_order_cnt, s_remote_cnt = lines since the build", _STOCK_NOT_KEPT),
    ]


def _undecided(name: str, meaning: str, reason: str) -> PlannedCheck:
    found = Check(name, None, f"{meaning}: not decided, as {reason}")
    return PlannedCheck(name, lambda _: found)
