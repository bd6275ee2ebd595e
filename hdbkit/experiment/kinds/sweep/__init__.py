"""Sweeps: settings and factors in a grid, or as a search selects them.

``plan`` has the plan, ``deciding`` what follows from results, ``searching`` how the plan of a search grows,
``slicing`` configurations that alternate within runs.
"""

from __future__ import annotations

from hdbkit.experiment.kind import Kind
from hdbkit.experiment.kinds.sweep.deciding import decide
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.experiment.kinds.sweep.searching import required_rate_for
from hdbkit.experiment.plan import PlannedRun
from hdbkit.plan import RequiredRate
from hdbkit.results.experiment_folder import ExperimentFolder


class _Sweep(Kind[SweepPlan]):
    def following(self, plan: SweepPlan, folder: ExperimentFolder) -> SweepPlan:
        return decide(plan, folder)

    def required_rate(self, plan: SweepPlan, folder: ExperimentFolder, planned: PlannedRun) -> RequiredRate | None:
        return required_rate_for(plan, folder, planned)


KIND = _Sweep(SweepPlan)
