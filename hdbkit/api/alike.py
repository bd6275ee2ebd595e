"""Which stored runs and sweeps are like a planned sweep."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from hdbkit.experiment.sweep import SweepPlan

OF_A_RUN = frozenset({"virtual_users", "seed"})
"""Fields of a load that differ between the runs of a sweep."""


def alike(planned: SweepPlan, found: Mapping[str, Any], url: str = "", except_for: Set[str] = OF_A_RUN) -> bool:
    """Whether target, workload and load are those of the planned sweep; a scale that is not given may be any.

    Args:
        planned: the sweep.
        found: the plan of a run, or the specification of a sweep, as kept.
        url: that of its target; empty: ``found`` has the target.
        except_for: fields of the load that may differ.
    """
    url = url or type(planned.target).model_validate(found["target"]).url
    workload, load = planned.spec.workload, planned.spec.load.model_dump(mode="json", exclude=set(except_for))
    wanted = {} if workload is None else workload.model_dump(mode="json", exclude_unset=True)
    return url == planned.target.url and _agree(wanted, found.get("workload") or {}) and _agree(load, found["load"])


def _agree(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    return all(found[name] == value for name, value in wanted.items() if name in found)
