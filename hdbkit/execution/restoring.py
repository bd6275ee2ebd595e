"""Undoes the changes of a run whose load asks for it: by its supervisor, else by ``hdbkit recover``.

That they are to be undone is noted in the run's folder ahead of the first operation, under the seal of the account.
"""

from __future__ import annotations

from contextlib import closing
from typing import Final

from hdbkit.contracts import SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.results.seal import drop_sealed, read_sealed, write_sealed
from hdbkit.workloads import workload

_KIND: Final = "changes"


def note_changes(folder: RunFolder, plan: RunPlan) -> None:
    """Note that the changes of a run are to be undone, if its load asks for that. Raises ``InputError``."""
    if workload(plan.workload).restoring(plan.load) is not None:
        write_sealed(folder.changes, _KIND, {"plan": plan.model_dump(mode="json")}, revocable=True)


def undo_changes(folder: RunFolder) -> list[str]:
    """Undo the changes of a run if that is due; return why it failed."""
    try:
        found, own = read_sealed(folder.changes, _KIND)
        if not own:
            return ["this account did not note the changes of the run; recover it as the account that ran it"]
        _restore(RunPlan.model_validate(found["plan"]))
    except FileNotFoundError:
        return []
    except (HdbkitError, ValueError, KeyError) as error:
        return [f"the changes of the run could not be undone ({error}); run: hdbkit recover {folder.run_id}"]
    drop_sealed(folder.changes)
    return []


def _restore(plan: RunPlan) -> None:
    work, engine = workload(plan.workload), database(plan.target)
    options = SessionOptions(application="hdbkit restore", pooling=plan.pooling)
    if restore := work.restoring(plan.load):
        with closing(engine.connect(plan.target, work.scope(engine.dialects), options)) as session:
            restore(session)
