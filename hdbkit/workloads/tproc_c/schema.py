"""What the schema in a database was built as."""

from __future__ import annotations

from hdbkit.config import WorkloadSpec
from hdbkit.contracts import Session
from hdbkit.errors import SchemaProblem
from hdbkit.workloads.build_log import read_build_log
from hdbkit.workloads.tproc_c.tables import TABLES


def schema(session: Session) -> WorkloadSpec | None:
    """The spec of the complete schema; None where there is none.

    Raises:
        SchemaProblem: it is half built, or not ours.
    """
    log = read_build_log(session, "tproc_c", TABLES)
    if log.spec is not None and not log.finished:
        raise SchemaProblem(
            f"schema tproc_c is half built ({len(log.parts)} of {log.spec.warehouses + 1} parts are loaded); "
            "run: hdbkit build ... to resume, or: hdbkit drop ..."
        )
    return log.spec
