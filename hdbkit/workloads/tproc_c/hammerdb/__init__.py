"""TPROC-C on a schema that HammerDB 4 to 6 made: its tables, its routines, its inputs; nothing of it is changed.

What differs from our own schema is here and in ``schemas/<engine>/tproc_c/hammerdb/``; all else is inherited.
HammerDB has two forms of its routines on PostgreSQL, which the catalog tells apart. With functions, its own driver
sends the text ``$8`` where a customer's last name belongs; here the name goes there, which is more work.
"""

from __future__ import annotations

from hdbkit.config import Load, WorkloadSpec
from hdbkit.contracts import Check, Session, User, UserPlan, Workload
from hdbkit.workloads.tproc_c import TprocC


class HammerDBTprocC(TprocC):
    """Contract: :class:`hdbkit.contracts.Workload`. It has no population and no definitions: HammerDB makes them."""

    title = "TPROC-C of HammerDB"

    def schema(self, session: Session) -> WorkloadSpec | None:
        """The schema that is there, its warehouses counted; None where there is none."""
        from hdbkit.workloads.tproc_c.hammerdb.schema import schema

        return schema(session)

    def user(self, session: Session, spec: WorkloadSpec, load: Load, plan: UserPlan) -> User:
        """A virtual user, ready to draw."""
        from hdbkit.workloads.tproc_c.hammerdb.user import HammerDBUser

        return HammerDBUser(session, spec, load, plan)

    def check(self, session: Session, spec: WorkloadSpec) -> list[Check]:
        """Row counts, keys, routines, and the conditions that HammerDB's population and routines keep."""
        from hdbkit.workloads.tproc_c.hammerdb.check import check

        return check(session, spec)


WORKLOAD: Workload = HammerDBTprocC()
