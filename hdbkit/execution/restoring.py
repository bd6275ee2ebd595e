"""Brings the data back after a run whose load asks for it: by its supervisor, or by ``hdbkit recover``."""

from __future__ import annotations

from contextlib import closing

from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.plan import RunPlan
from hdbkit.workloads import workload


def restore_data(plan: RunPlan) -> list[str]:
    """Undo what a run changed, if its load asks for that; return a warning if that failed."""
    work, engine = workload(plan.workload), database(plan.target)
    restore = work.restoring(plan.load)
    if restore is None:
        return []
    options = SessionOptions(application="hdbkit restore", pooling=plan.pooling)
    try:
        with closing(engine.connect(plan.target, work.scope(engine.dialects), options)) as session:
            restore(session)
    except HdbkitError as error:
        return [f"the changes of the run could not be undone ({error}); drop and build the schema"]
    return []
