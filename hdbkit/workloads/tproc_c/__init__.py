"""TPROC-C, the OLTP workload derived from TPC-C: population, inputs, transactions and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hdbkit.caution import Caution, Kind
from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.metric import DetailChart, Metric
from hdbkit.config.specs.tproc_c import READING, TRANSACTIONS, InputRules, Routines, TprocCLoad, TprocCSpec
from hdbkit.contracts import (
    NO_ROUTES,
    Access,
    Capability,
    Part,
    PlannedCheck,
    Route,
    Schema,
    Scope,
    Serial,
    Session,
    Table,
    TableLoad,
    ThinkTimes,
    User,
    UserPlan,
    Workload,
)
from hdbkit.errors import InputError
from hdbkit.sql import statements
from hdbkit.workloads.tproc_c.tables import COUNTING_TABLES, TPROC_C_TABLES, USES, by_privilege

NOPM = Metric(
    name="NOPM",
    title="new orders per minute",
    unit="NOPM",
    operations=("new_order",),
    per_s=60,
    counter="count_new_orders",
)
"""New orders per minute: the growth of the schema's own order numbers, without the orders rolled back by design."""
_WAITS: Mapping[str, ThinkTimes] = MappingProxyType(
    {
        "new_order": ThinkTimes(keying_s=18, thinking_s=12),
        "payment": ThinkTimes(keying_s=3, thinking_s=12),
        "order_status": ThinkTimes(keying_s=2, thinking_s=10),
        "delivery": ThinkTimes(keying_s=2, thinking_s=5),
        "stock_level": ThinkTimes(keying_s=2, thinking_s=5),
    }
)
"""Keying times and mean thinking times (TPC-C 5.2.5.7)."""
TERMINALS = 10
"""Users of a warehouse with keying and thinking times (TPC-C 4.2.1)."""
DETAILS = MappingProxyType({"w_id": "u4", "d_id": "u1", "o_id": "u4"})
"""The warehouse and district of a transaction, and the order that a new order made (0 unless asked for)."""

_DISTRICT = {"w_id": 1, "d_id": 1}
EXAMPLES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "new_order client_select_order_number": {**_DISTRICT, "c_id": 1},
        "new_order client_select_item": {"d_id": 1, "i_id": 1, "supply_w_id": 1},
        "payment client_select_named": {**_DISTRICT, "c_last": "BARBARBAR"},
        "payment client_select_payer": {**_DISTRICT, "c_id": 1},
        "order_status client_select_last_order": {**_DISTRICT, "c_id": 1},
        "order_status client_select_lines": {**_DISTRICT, "o_id": 1},
        "delivery client_select_oldest": _DISTRICT,
        "stock_level client_count_low_stock": {**_DISTRICT, "threshold": 15},
    }
)
"""The statements that a run explains: operation, statement and arguments."""


class TprocC(Workload):
    """Contract: :class:`hdbkit.contracts.Workload`. Heavy modules are imported on first use."""

    spec: TprocCSpec
    title = "TPROC-C"
    notice = (
        "derived from TPC-C and not comparable to published results, as it does not comply with the specification"
    )
    noun = "transaction"
    operations: tuple[str, ...] = TRANSACTIONS
    reading = READING
    waits = _WAITS
    metric = NOPM
    serial: Serial | None = Serial("new_order", ("w_id", "d_id"), "o_id", "last_order_ids")
    details: Mapping[str, str] = DETAILS
    detail_charts: tuple[DetailChart, ...] = (
        DetailChart(
            key="warehouses",
            question="Is the load spread evenly over the warehouses?",
            column="w_id",
            axis="warehouse",
        ),
    )
    tables: Mapping[str, Table] = MappingProxyType(TPROC_C_TABLES)
    routines: tuple[str, ...] = TRANSACTIONS
    instead: Mapping[Capability, str] = MappingProxyType(
        {
            Capability.STORED_ROUTINES: "omit routines, or use client",
            Capability.ACROSS_SHARDS: "use --no-remote-warehouses (remote_warehouses: false)",
        }
    )
    grows = True
    preload: tuple[str, ...] = ("hdbkit.workloads.tproc_c.user",)
    group = "tproc_c"
    """Its folder of statements in ``schemas/<engine>``."""
    schema_name = "tproc_c"

    def __init__(self, spec: TprocCSpec) -> None:
        self.spec = spec
        self.scale = f"{spec.warehouses:,} warehouse{'' if spec.warehouses == 1 else 's'}"

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        return Scope(self.schema_name, statements(dialects, self.group))

    def load(self, given: Load) -> TprocCLoad:
        return given if isinstance(given, TprocCLoad) else TprocCLoad(**given.model_dump(exclude_unset=True))

    def settled(self, load: Load, capabilities: frozenset[Capability]) -> TprocCLoad:
        """Stored routines where the engine has them, unless the load says who sends the transactions."""
        own = self.load(load)
        if own.routines is not None:
            return own
        stored = Capability.STORED_ROUTINES in capabilities
        return own.with_(routines=Routines.STORED if stored else Routines.CLIENT)

    def mix(self, load: Load) -> dict[str, float]:
        """The weight of each transaction."""
        return self.load(load).weights

    def rollback_shares(self, load: Load) -> dict[str, float]:
        """1 % of new orders by the specification (TPC-C 2.4.1.4); other rules are not held to a share."""
        own = self.load(load)
        return {"new_order": 0.01} if own.input_rules is InputRules.SPEC and own.weights["new_order"] else {}

    def needs(self, load: Load) -> frozenset[Capability]:
        """Stored routines, or what a client can send."""
        own = self.load(load)
        sent = own.routines is Routines.CLIENT
        routines = frozenset({Capability.CLIENT_ROUTINES if sent else Capability.STORED_ROUTINES})
        return (
            routines | {Capability.ACROSS_SHARDS} if own.remote_warehouses and self.spec.warehouses > 1 else routines
        )

    def access(self, load: Load, dialects: tuple[str, ...] = ()) -> Access:
        """Tables and routines of the transactions in the mix, and the table of the order numbers."""
        own = self.load(load)
        planned = [name for name, weight in own.weights.items() if weight]
        used, counted = by_privilege(USES[name] for name in planned), {"SELECT": COUNTING_TABLES}
        if own.routines is Routines.CLIENT:
            return Access(by_privilege((used, counted)))
        return Access(counted, frozenset(planned), used)

    def details_from_results(self, load: Load) -> bool:
        """Whether order ids are recorded, which only the result of a new order contains; a fault run needs them."""
        own = self.load(load)
        return own.keep_order_ids or bool(own.faults)

    def hint(self, load: Load) -> str:
        """That users share home warehouses, or that none uses another one."""
        own = self.load(load)
        homes = self._shared_homes(own)
        text = "; ".join(filter(None, (homes, self._without_remote(own))))
        return Caution(text, Kind.LOCKS if homes else Kind.OTHER)

    def _without_remote(self, own: TprocCLoad) -> str:
        if own.remote_warehouses or self.spec.warehouses == 1:
            return ""
        return (
            "no order line and no payment uses another warehouse (remote_warehouses: false), which is less than "
            "TPC-C demands; compare the result only with such runs"
        )

    def _shared_homes(self, own: TprocCLoad) -> str:
        """Users of one warehouse wait for each other where they change rows: each payment its warehouse's row."""
        each = TERMINALS if own.keying_and_thinking else 1
        reads = {name for name, weight in own.weights.items() if weight} <= READING
        if reads or own.all_warehouses or own.sessions <= each * self.spec.warehouses:
            return ""
        sharing = "sessions" if own.sessions_per_user > 1 else "virtual users"
        return (
            f"{own.sessions:,} {sharing} share {self.scale}, so they wait for each other's row locks; "
            f"use at least {-(-own.sessions // each):,} warehouses to measure the server without these waits"
        )

    def examples(self, load: Load, plan: UserPlan) -> Mapping[str, Mapping[str, Any]]:
        """Every statement with a choice of access paths, as a client sends it; routines find their rows alike."""
        return EXAMPLES

    def parts(self, dialects: tuple[str, ...] = ()) -> list[Part]:
        """The items, then one part per warehouse."""
        from hdbkit.workloads.tproc_c import population

        return population.parts(self.spec)

    def part(self, key: str) -> Iterator[TableLoad]:
        """The rows of a part."""
        from hdbkit.workloads.tproc_c import population

        return population.part(self.spec, key)

    def found(self, schema: Schema) -> WorkloadSpec | None:
        from hdbkit.workloads.built import built_spec

        return built_spec(schema, self, advice=", or use --schema-from hammerdb if HammerDB created them")

    def user(self, session: Session, load: Load, plan: UserPlan, routes: Mapping[str, Route] = NO_ROUTES) -> User:
        """A virtual user, ready to draw."""
        from hdbkit.workloads.tproc_c.user import TprocCUser

        return TprocCUser(session, self.spec, self.load(load), plan, routes)

    def checks(self, dialects: tuple[str, ...]) -> list[PlannedCheck]:
        """Row counts, indexes, routines and the consistency conditions of TPC-C 3.3.2."""
        from hdbkit.workloads.tproc_c import consistency

        return consistency.checks(self.spec)


def workload(spec: WorkloadSpec) -> Workload:
    """TPROC-C on a schema of hdbkit's or of HammerDB's."""
    if not isinstance(spec, TprocCSpec):
        raise InputError(f"this is not a specification of TPROC-C: {spec!r}")
    if spec.by_hammerdb:
        from hdbkit.workloads.tproc_c.hammerdb import HammerDBTprocC

        return HammerDBTprocC(spec)
    return TprocC(spec)
