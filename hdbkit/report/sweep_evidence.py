"""What the page of a sweep shows beside its finding: what was tried, the server's work, plans, and the journal."""

from __future__ import annotations

from hdbkit.analysis.comparison.plans import changed_note
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.config import SweepSpec
from hdbkit.experiment.sweep_analysis import SweepAnalysis
from hdbkit.report.environment import environment
from hdbkit.report.experiment_report import Evidence
from hdbkit.report.page import Figure
from hdbkit.report.plan_tables import changed_plan_tables
from hdbkit.report.ratio_tables import files_table, verdict_table
from hdbkit.report.server_work import growth_table, work_by_configuration
from hdbkit.report.sweep_journal import events_table, order_table, settings_table, unrestored
from hdbkit.report.tables import Table
from hdbkit.results.experiment_runs import each_run
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import known_settings
from hdbkit.results.manifest import Manifest
from hdbkit.text import listed


def sweep_evidence(found: SweepAnalysis) -> Evidence:
    """The evidence of a sweep."""
    spec, metric, journal = found.plan.spec, found.metric, found.folder.journal.lines
    several = len({ratio.virtual_users for ratio in found.cell_ratios}) > 1
    words = "Every comparison with the baseline in words"
    return Evidence(
        kicker=found.experiment_id,
        manifests=found.manifests,
        users=spec.virtual_users,
        warnings=unrestored(journal, found.experiment_id),
        figures=_key_figures(found),
        details=[
            *work_by_configuration(found.manifests, found.labels),
            *growth_table(found.manifests),
            *files_table(spec.settings_file),
            *settings_table(spec.tried, journal),
        ],
        plans=changed_plan_tables(found.plans),
        plans_title=changed_note(found.plans),
        environment=_environment(spec, *found.finished[0]) if found.finished else [],
        journal=[
            *([verdict_table(found.cell_ratios, metric, words)] if several else []),
            order_table(found.runs, metric, found.labels, journal),
            events_table(journal),
        ],
    )


def _key_figures(found: SweepAnalysis) -> list[Figure]:
    spec, slices, runs = found.plan.spec, found.plan.slices, found.runs
    alternating = f", in slices of {slices.slice_s:g} s" if slices else ""
    order = "of a run, in which configurations alternate" if slices else "each in its own random order"
    blocks = runs[~runs["fresh"]]["block"].nunique()
    tried = f"of {listed(list(spec.grid))}{alternating}"
    return [
        Figure("runs measured", f"{len(each_run(usable(runs))):,}", f"of {len(each_run(runs)):,} planned"),
        Figure("configurations", f"{runs['configuration'].nunique():,}", tried),
        Figure("virtual users", ", ".join(f"{users:,}" for users in spec.virtual_users), "in turn"),
        Figure("blocks", f"{blocks:,}", order),
        Figure("smallest effect", f"{100 * spec.smallest_effect:g} %", "that matters"),
    ]


def _environment(spec: SweepSpec, folder: RunFolder, manifest: Manifest) -> list[Table]:
    """The environment of the first run, with the load of all runs and without the settings that were swept."""
    seed = f"{spec.load.seed} in block 1, plus 1 in each next block"
    load = spec.load.model_dump(mode="json") | {"virtual_users": spec.virtual_users, "seed": seed}
    kept = {name: setting for name, setting in known_settings(folder).items() if name not in spec.tried}
    return environment(manifest, kept, load)
