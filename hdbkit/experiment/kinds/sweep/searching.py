"""The plan of a search, which grows: each finished block determines the configurations of the next.

The longer plan is on disk before any of its runs begins, so that journal and resume work as in a grid. A run's own
plan contains the value that it must be able to reach, so that it ends early even if its sweep was killed.
"""

from __future__ import annotations

from hdbkit.analysis.sweep.search import log_ratios, next_configurations, required_rate
from hdbkit.config.sweep_grid import grid_from
from hdbkit.config.sweep_spec import Strategy
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, with_asked
from hdbkit.experiment.plan import PlannedRun
from hdbkit.plan import RequiredRate
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.journal import ExperimentState, Step


def with_next_block(plan: SweepPlan, folder: ExperimentFolder, state: ExperimentState) -> SweepPlan:
    """The plan with one more block once all its runs have ended; unchanged in a grid or after the search is over."""
    spec, last = plan.spec, plan.runs[-1].block
    if spec.strategy is Strategy.GRID or plan.winners or last >= spec.blocks:
        return plan
    if state.next_number <= len(plan.runs):
        return plan
    reached = log_ratios(runs_frame(folder), plan.metric)
    tried = [(configuration, reached.get(index)) for index, configuration in enumerate(plan.configurations)]
    seed = (spec.seed + last) % 2**32
    asked = next_configurations(spec.grid, grid_from(spec).configurations, tried, spec.asked, seed)
    if not asked:
        return plan
    longer = with_asked(plan, asked)
    folder.write_plan(longer)
    folder.append(Step.EXTENDED, blocks=last + 1, asked=[dict(one) for one in asked])
    return longer


def required_rate_for(plan: SweepPlan, folder: ExperimentFolder, planned: PlannedRun) -> RequiredRate | None:
    """The value that a run must be able to reach; None in a grid, for the baseline, and in the winners' blocks."""
    if plan.spec.strategy is Strategy.GRID or not plan.spec.end_early or planned.fresh or planned.configuration == 0:
        return None
    return required_rate(runs_frame(folder), plan.metric, planned.block, planned.configuration, planned.virtual_users)
