"""The result of a sweep in one value: what its runs were, and all that follows from them.

Charts, reports, panels and users read it. It needs no driver and no server.
"""

from __future__ import annotations

from functools import cached_property

from hdbkit.analysis.comparison.plans import ChangedPlan, changed_note, changed_plans
from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.run.server_cost import COST_FIGURE, SERVER_COST, cost_note, costs_us
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.statistics.scalability import laws, laws_table
from hdbkit.analysis.statistics.sequential import Anytime, Spending
from hdbkit.analysis.sweep import warnings
from hdbkit.analysis.sweep.answers import answer, best_of, candidates_note, winner_answer
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.interactions import changed_effects, interactions
from hdbkit.analysis.sweep.latencies import latency_verdicts
from hdbkit.analysis.sweep.looks import decided_note
from hdbkit.analysis.sweep.observations import observations, sliced
from hdbkit.analysis.sweep.operations import operation_verdicts
from hdbkit.analysis.sweep.search import early_ends_note
from hdbkit.analysis.sweep.slices import slice_notes, slice_warnings
from hdbkit.analysis.sweep.together import RunFigure, judged_together
from hdbkit.analysis.sweep.winners import winners
from hdbkit.analysis.wording import interim_words, without_verdict
from hdbkit.config.metric import Measure, Metric
from hdbkit.experiment.kinds.sweep.deciding import judged, rule, spending
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.later import pandas as pd
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.experiment_runs import ENDED_EARLY, each_run, runs_frame
from hdbkit.results.finding import Of, Ratio, Verdict, frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import read_plans
from hdbkit.results.manifest import Manifest
from hdbkit.text import capital

_SPLIT_PLOT = (
    "The runs of a block with one schema share its build, so the intervals of comparisons between schemas are made "
    "of how blocks differ"
)
"""What replicates in a split-plot design."""


class SweepAnalysis:
    """All that is found in the runs of a sweep; each part is computed when it is first asked for, and once."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder = folder
        self.plan = folder.read_plan(SweepPlan)

    @property
    def experiment_id(self) -> str:
        """The sweep's id."""
        return self.folder.experiment_id

    @cached_property
    def metric(self) -> Metric:
        """The metric of its runs."""
        return self.plan.metric

    @property
    def labels(self) -> dict[int, str]:
        """The label of each configuration."""
        return {ratio.configuration: ratio.label for ratio in self.cell_ratios if ratio.configuration is not None}

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per planned run: place, settings and outcome; see ``results.experiment_runs.runs_frame``.

        Where configurations alternate within runs, one row per run and configuration.
        """
        return runs_frame(self.folder)

    @cached_property
    def observations(self) -> pd.DataFrame:
        """The rows that verdicts, effects and interactions are made of: runs, or stretches of runs by slices."""
        rows = observations(self.folder, self.metric)
        return rows[~rows["fresh"]]

    @cached_property
    def cell_ratios(self) -> list[Ratio]:
        """Each configuration against the baseline, at each count of users.

        Where a look decided a comparison and later blocks did not run it, ratio and interval are those of this look.
        """
        return self._shown(judged(self.plan, self.folder.journal.state, self.observations))

    @cached_property
    def effect_ratios(self) -> list[Ratio]:
        """The main effect of each value of a setting, over all pairs of the grid."""
        return self._shown(main_effects(self.observations, self.metric, *self._grid, level=self.level))

    @cached_property
    def interaction_ratios(self) -> list[Ratio]:
        """Each two values of two settings: their joint effect to the product of both effects."""
        return self._shown(interactions(self.observations, self.metric, *self._grid, level=self.level))

    @property
    def _grid(self) -> tuple[list[str], dict[str, str], float]:
        """The settings, the values of the baseline, and the smallest effect."""
        return list(self.plan.spec.grid), self.plan.configurations[0], self.plan.spec.smallest_effect

    @cached_property
    def winner_ratios(self) -> list[Ratio]:
        """The configurations that were repeated in fresh blocks, the fastest first; none without such blocks."""
        runs = self.runs[self.runs["fresh"]]
        spent = spending(self.plan, self.folder.journal.state)
        level = spent.left(self.plan.ended_after or self.plan.spec.blocks)
        found = winners(self.cell_ratios, runs, self.metric, self.plan.spec.smallest_effect, level=level)
        left = runs.loc[runs["status"].isin(["planned", "running"]), "block"]
        if left.empty:
            return found
        first = int(runs["block"].min())
        interim = interim_words(int(left.min()) - first, int(runs["block"].max()) - first + 1)
        return [without_verdict(one, self.metric, interim) for one in found]

    @cached_property
    def quantile_ratios(self) -> list[Ratio]:
        """The p95 and p99 of the latency of each operation, in ms, by configuration and virtual users."""
        runs = self.grid_runs
        manifests = [manifest for manifest in self.manifests if manifest.run_id in set(runs["run_id"])]
        smallest = self.plan.spec.smallest_effect
        return self._shown(latency_verdicts(runs, manifests, smallest, level=self.level))

    @cached_property
    def operation_ratios(self) -> list[Ratio]:
        """The mean time of each operation, in s, where the metric is a mean over operations."""
        smallest = self.plan.spec.smallest_effect
        return self._shown(
            operation_verdicts(self.grid_runs, self.manifests, self.metric, smallest, level=self.level)
        )

    @cached_property
    def cost_ratios(self) -> list[Ratio]:
        """The server's CPU time per operation, in us; none by slices, or unless every run knows it."""
        done = set(self.grid_runs["run_id"])
        costs = costs_us([manifest for manifest in self.manifests if manifest.run_id in done])
        if costs.empty or sliced(self.grid_runs):
            return []
        values = costs.reindex(self.grid_runs["run_id"]).tolist()
        figure = RunFigure(Of.COST, COST_FIGURE, SERVER_COST, values)
        return self._shown(judged_together(self.grid_runs, [figure], self.plan.spec.smallest_effect, self.level))

    @property
    def _cost_of_best(self) -> Ratio | None:
        """The ratio of cost of the best configuration."""
        best = self.best
        at = best and (best.configuration, best.virtual_users)
        return next((ratio for ratio in self.cost_ratios if (ratio.configuration, ratio.virtual_users) == at), None)

    @property
    def ratios(self) -> list[Ratio]:
        """All of them."""
        return [
            *self.cell_ratios, *self.winner_ratios, *self.effect_ratios, *self.interaction_ratios,
            *self.operation_ratios, *self.quantile_ratios, *self.cost_ratios,
        ]  # fmt: skip

    @property
    def verdicts(self) -> pd.DataFrame:
        """One row per configuration and user count: ratio to the baseline, 95 % interval, verdict."""
        return frame(self.cell_ratios)

    @property
    def effects(self) -> pd.DataFrame:
        """One row per value of a setting: its main effect over all pairs of the grid, with its interval."""
        return frame(self.effect_ratios, Of.EFFECT)

    @property
    def interactions(self) -> pd.DataFrame:
        """One row per pair of values: joint effect relative to the product of both effects, with its interval."""
        return frame(self.interaction_ratios, Of.INTERACTION)

    @property
    def winners(self) -> pd.DataFrame:
        """One row per configuration repeated in fresh blocks, fastest first; empty without such blocks."""
        return frame(self.winner_ratios, Of.WINNER)

    @property
    def latencies(self) -> pd.DataFrame:
        """One row per operation, percentile (p95, p99), configuration and virtual users: the verdict, in ms."""
        return frame(self.quantile_ratios, Of.QUANTILE)

    @property
    def by_operation(self) -> pd.DataFrame:
        """One row per operation, configuration and user count, in s; empty if the metric is no mean over them."""
        return frame(self.operation_ratios, Of.OPERATION)

    @cached_property
    def plans(self) -> list[ChangedPlan]:
        """The optimizer's plans that differ from the baseline's, beside these; empty where runs keep no plans."""
        return changed_plans(self.grid_runs, self.labels, lambda run_id: read_plans(self._run(run_id).plans))

    @cached_property
    def scaling(self) -> pd.DataFrame:
        """One row per configuration with enough user counts: the Universal Scalability Law and its peak."""
        measured = usable(self.grid_runs)
        named = measured.assign(label=measured["configuration"].map(self.labels))
        rate = self.metric.measure is Measure.RATE
        return laws_table(laws(named, "label") if rate else {}, "label")

    @property
    def level(self) -> float:
        """The level of the intervals of the present look, so that those of all looks hold with 95 %."""
        ended = self.grid_runs[self.grid_runs["status"].isin(["done", "failed"])]
        return self.rule.level(int(ended["block"].max()) if len(ended) else 0)

    @cached_property
    def rule(self) -> Spending | Anytime:
        """The level of the intervals of all looks at its results, also when blocks are added."""
        return rule(self.plan, self.folder.journal.state)

    @cached_property
    def interim(self) -> str:
        """Its place before the next look, which alone gives verdicts; empty at a look.

        With a number of blocks only looks share the error rate. Intervals that hold at every number of blocks give a
        verdict after each.
        """
        if self.plan.until_decided is not None:
            return ""
        runs, looks = each_run(self.grid_runs), spending(self.plan, self.folder.journal.state).looks
        is_left = runs["status"].isin(["planned", "running"])
        left, ended = runs.loc[is_left, "block"], runs.loc[~is_left, "block"]
        if left.empty and self.folder.journal.state.finished:
            return ""
        done = int(runs["block"].max()) if left.empty else int(left.min()) - 1
        if done in looks and ended.max() == done:
            return ""
        return interim_words(done, next((look for look in looks if look > done), looks[-1]))

    def _shown(self, ratios: list[Ratio]) -> list[Ratio]:
        """The ratios as they may be shown: with verdicts at a look only."""
        return [without_verdict(ratio, self.metric, self.interim) for ratio in ratios]

    @cached_property
    def answer(self) -> str:
        """The strongest conclusion in one sentence: where the best have fresh blocks, that of these."""
        if self.interim:
            return f"{capital(self.interim)}; the next look gives verdicts."
        of_fresh = winner_answer(self.winner_ratios, self.plan.spec.winner_blocks)
        smallest = self.plan.spec.smallest_effect
        return of_fresh or answer(self.cell_ratios, self.metric, smallest, self.effect_ratios)

    @cached_property
    def best(self) -> Ratio | None:
        """The best configuration, in its fresh blocks where it has some; None if none has a ratio."""
        return best_of(self.winner_ratios or self.cell_ratios)

    @property
    def best_runs(self) -> tuple[list[str], list[str]] | None:
        """The runs of the baseline and of the best configuration, if it is faster and has runs of its own."""
        best = self.best
        if best is None or best.verdict is not Verdict.FASTER or self.plan.slices:
            return None
        done = self.runs[(self.runs["status"] == "done") & (self.runs["virtual_users"] == best.virtual_users)]
        base, new = (done.loc[done["configuration"] == of, "run_id"] for of in (0, best.configuration))
        return base.tolist(), new.tolist()

    @property
    def _why(self) -> list[str]:
        """The command that explains the difference of the best configuration."""
        if self.best is None or self.best_runs is None:
            return []
        base, new = (",".join(run_id.rpartition("-")[2] for run_id in side) for side in self.best_runs)
        return [f"To see why {self.best.label} is faster: hdbkit compare {base} {new} --report"]

    @cached_property
    def notes(self) -> list[str]:
        """Notes on the verdicts: looks, early ends, and effects that depend on another setting."""
        spec = self.plan.spec
        effects = changed_effects(self.interaction_ratios, self.effect_ratios, self.metric, spec.smallest_effect)
        split = [_SPLIT_PLOT] if len(self.plan.rebuilds) > 1 else []
        early = early_ends_note(self.runs)
        looks = self.rule.note(self.plan.ended_after, self.level)
        slices, decided = slice_notes(self._slice_runs, self.observations), decided_note(self.cell_ratios)
        wave = warnings.wave_note(self.runs, self.cell_ratios)
        return [
            *candidates_note(self.cell_ratios),
            *wave,
            *slices,
            *looks,
            *decided,
            *early,
            *split,
            *effects,
            *self._why,
            *cost_note(self._cost_of_best),
            *filter(None, [changed_note(self.plans)]),
        ]

    @property
    def notice(self) -> str:
        """The notice that every result of its workload carries; empty until a run is finished."""
        return next((one.notice for one in self.manifests), "")

    @cached_property
    def warnings(self) -> list[str]:
        """Reasons why the result may be unreliable, one phrase each; empty if there are none."""
        return [
            *warnings.sweep_warnings(self.runs, self.metric),
            *slice_warnings(self._slice_runs, self.observations, self.metric),
            *warnings.rate_warnings(self.manifests),
            *warnings.start_warnings(self.manifests),
        ]

    @property
    def advice(self) -> str:
        """Warnings, notes, and the command that would settle undecided verdicts; often empty."""
        lines = [warnings.warnings_text(self.warnings), *self.notes, self.next_step]
        return "\n".join(one for one in lines if one)

    @property
    def failed(self) -> int:
        """The number of planned runs without a result."""
        return int((~each_run(self.runs)["status"].isin(["done", ENDED_EARLY])).sum())

    @property
    def checks_failed(self) -> dict[str, int]:
        """The number of runs that failed each check, by name; empty if none did."""
        return warnings.failed_checks(self.runs)

    @property
    def grid_runs(self) -> pd.DataFrame:
        """The runs without those of the fresh blocks, which are judged separately."""
        return self.runs[~self.runs["fresh"]]

    @property
    def _slice_runs(self) -> list[tuple[RunFolder, Manifest]]:
        """The finished runs in which configurations alternate."""
        return self.finished if self.plan.slices else []

    @cached_property
    def next_step(self) -> str:
        """The command that would settle undecided verdicts; empty for a sweep that takes no more blocks."""
        if self.plan.until_decided is not None:
            ended = self.folder.journal.state.finished and self.plan.ended_after is None
            return f"to give it more time: {self._with_blocks(2 * self.plan.spec.blocks)}" if ended else ""
        fixed = self.plan.ended_after is not None or self.plan.winners or self.interim
        return "" if fixed else warnings.next_step(self.cell_ratios, self._with_blocks)

    @cached_property
    def finished(self) -> list[tuple[RunFolder, Manifest]]:
        """The runs that are done, each with its manifest; damaged ones are passed over."""
        done = each_run(self.runs.loc[self.runs["status"] == "done"])["run_id"]
        return readable([self._run(run_id) for run_id in done])

    @property
    def manifests(self) -> list[Manifest]:
        """Those of the runs that are done."""
        return [manifest for _, manifest in self.finished]

    def _run(self, run_id: str) -> RunFolder:
        return RunFolder(self.folder.root / run_id)

    @cached_property
    def command(self) -> str:
        """The command that repeats the sweep."""
        if self.plan.command:
            return self._with_blocks(self.plan.spec.blocks)
        return f"hdbkit sweep {self.plan.target.given} {self.folder.path / 'plan.json'}"

    def _with_blocks(self, blocks: int) -> str:
        return f"{self.plan.command or f'hdbkit resume {self.experiment_id}'} --blocks {blocks}"
