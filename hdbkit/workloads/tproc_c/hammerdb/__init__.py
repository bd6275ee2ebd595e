"""TPROC-C on a schema that HammerDB 4 to 6 made: its tables, its routines, its inputs; nothing of it is changed.

What differs from our own schema is here and in ``schemas/<engine>/tproc_c/hammerdb/``; all else is inherited.
HammerDB has two forms of its routines on PostgreSQL, which the catalog tells apart. With functions, its own driver
sends the text ``$8`` where a customer's last name belongs; here the name goes there, which is more work.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.specs.tproc_c import TRANSACTIONS, InputRules, Routines, TprocCLoad
from hdbkit.contracts import NO_ROUTES, Access, PlannedCheck, Route, Schema, Session, Table, User, UserPlan
from hdbkit.errors import InputError, SchemaProblem
from hdbkit.workloads.tproc_c import TprocC
from hdbkit.workloads.tproc_c.hammerdb.routines import ROUTINES, SCALE, USES, VERIFIED
from hdbkit.workloads.tproc_c.tables import COUNTED, by_privilege

START_DELAY_MS = 500
"""HammerDB starts its virtual users this far apart: its tables have few rows per page only once they have grown."""


class HammerDBTprocC(TprocC):
    """Contract: :class:`hdbkit.contracts.Workload`. It has no population and no definitions: HammerDB makes them."""

    title = "TPROC-C of HammerDB"
    group = "tproc_c.hammerdb"
    schema_name = ""
    preload: tuple[str, ...] = ("hdbkit.workloads.tproc_c.hammerdb.user",)
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
            {"SELECT": frozenset().union(COUNTED, SCALE, *verified)},
            frozenset(routine for name, routine in zip(TRANSACTIONS, ROUTINES, strict=True) if name in planned),
            by_privilege(USES[name] for name in planned),
        )

    def found(self, schema: Schema) -> WorkloadSpec | None:
        """The present schema with its number of warehouses; None if there is no schema."""
        from hdbkit.workloads.built import require_access, require_sight
        from hdbkit.workloads.tproc_c.hammerdb.schema import found_spec

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
        """A virtual user, ready to draw."""
        from hdbkit.workloads.tproc_c.hammerdb.user import HammerDBUser

        return HammerDBUser(session, self.spec, self.load(load), plan, routes)

    def checks(self, dialects: tuple[str, ...]) -> list[PlannedCheck]:
        """Row counts, keys, routines, and the conditions that HammerDB's population and routines keep."""
        from hdbkit.workloads.tproc_c.hammerdb.check import checks

        return checks(self.spec)


def _word(value: Any) -> str:
    """The value of an option, as a file has it."""
    return str(getattr(value, "value", value)).lower()
