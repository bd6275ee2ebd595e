"""TPROC-C, the OLTP workload derived from TPC-C: population, inputs, transactions and checks."""

from __future__ import annotations

from collections.abc import Iterator

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.load import TRANSACTIONS
from hdbkit.contracts import Check, Part, Session, TableLoad, User, UserPlan, Workload
from hdbkit.workloads.tproc_c.tables import TABLES


class TprocC:
    """The workload as the rest of hdbkit sees it; heavy modules are imported where they are first used."""

    kind = "tproc_c"
    title = "TPROC-C"
    notice = (
        "derived from TPC-C and not comparable to published results, as it does not comply with the specification"
    )
    operations: tuple[str, ...] = TRANSACTIONS
    counted = "new_order"
    tables: tuple[str, ...] = tuple(TABLES)
    routines: tuple[str, ...] = TRANSACTIONS

    def parts(self, spec: WorkloadSpec) -> list[Part]:
        """The items, then one part a warehouse."""
        from hdbkit.workloads.tproc_c import population

        return population.parts(spec)

    def part(self, spec: WorkloadSpec, key: str) -> Iterator[TableLoad]:
        """What a part holds."""
        from hdbkit.workloads.tproc_c import population

        return population.part(spec, key)

    def schema(self, session: Session) -> WorkloadSpec | None:
        """What the schema was built as; None where there is none."""
        from hdbkit.workloads.tproc_c.schema import schema

        return schema(session)

    def user(self, session: Session, spec: WorkloadSpec, load: Load, plan: UserPlan) -> User:
        """A virtual user, ready to draw."""
        from hdbkit.workloads.tproc_c.user import TprocCUser

        return TprocCUser(session, spec, load, plan)

    def counted_total(self, session: Session) -> int:
        """The sum of ``d_next_o_id`` over all districts."""
        return int(session.query("count_new_orders")[0][0])

    def check(self, session: Session, spec: WorkloadSpec) -> list[Check]:
        """Row counts, indexes, routines and the consistency conditions of TPC-C 3.3.2."""
        from hdbkit.workloads.tproc_c import consistency

        return consistency.check(session, spec)


WORKLOAD: Workload = TprocC()
