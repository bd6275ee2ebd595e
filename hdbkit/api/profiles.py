"""Profiles: series of runs over virtual users under one name, with their scaling and history."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from hdbkit.analysis.comparison.groups import Finished, common_metric
from hdbkit.analysis.comparison.history import change_sentences, environment_of, history_answer, segments
from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.statistics.scalability import MIN_BLOCKS, laws, laws_table
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.warnings import start_warnings
from hdbkit.api.executing import executing
from hdbkit.api.experiment_result import ExperimentResult, measured_cells, scaling_laws_of
from hdbkit.api.running import RunVerbs
from hdbkit.api.sides import counts_of, ends_of, require_word, settled
from hdbkit.charts.chart import Chart
from hdbkit.charts.history_chart import history_chart
from hdbkit.charts.intervals import times
from hdbkit.charts.scaling_charts import scaling_laws, throughput_over_users
from hdbkit.config import Load, Preparation, Target, WorkloadSpec
from hdbkit.config.metric import Measure, Metric
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.profile import ProfilePlan
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.sides import Side, in_blocks
from hdbkit.later import pandas as pd
from hdbkit.report.experiment_report import Evidence
from hdbkit.report.profile_evidence import profile_evidence
from hdbkit.results.catalog import list_runs, profiles_of
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Finding, Headline, More, finite
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import known_settings
from hdbkit.results.run_result import Figures
from hdbkit.text import many
from hdbkit.workloads import specification
from hdbkit.workspace import BareWorkspace

_COLUMNS = ["run_id", "started", "virtual_users", "block", "metric_value", "operations_per_s"]


class Segment(Figures):
    """A stretch of runs of a profile without a change."""

    virtual_users: int
    since: str
    run_id: str
    runs: int
    value: float = Field(description="the metric: geometric mean of its runs")
    operations_per_s: float | None
    ratio: float | None = Field(description="of scores, to the segment before")
    cause: str = Field(description="first, change point or environment")
    p: float | None
    what: str = Field(description="what differs in the environment")


class ProfileMore(More):
    """What only findings of profiles have."""

    profile: str
    changes: tuple[str, ...]
    segments: tuple[Segment, ...]


class Profile(ExperimentResult):
    """The runs of one profile that have a result, in order of time; their tag is ``profile:NAME``."""

    def __init__(self, name: str, workspace: BareWorkspace) -> None:
        self.name, self.workspace = name, workspace
        found = profiles_of(list_runs(self.workspace.results).runs)
        mine = found[found["profile"] == name].sort_values(["started", "run_id"])
        if mine.empty:
            known = ", ".join(sorted(found["profile"].unique())) or "none"
            raise InputError(f"there is no profile '{name}' (known: {known}); see: hdbkit profile --help")
        self.runs: pd.DataFrame = mine.assign(block=mine.groupby("virtual_users").cumcount() + 1)[_COLUMNS]
        """A row per run: run_id, started, virtual_users, block (n: the n-th run at its count), metric_value,
        operations_per_s (of all types)."""

    @cached_property
    def metric(self) -> Metric:
        """The metric of its runs. Raises ``InputError`` if the runs have different metrics."""
        return common_metric({self.name: self.finished})

    @cached_property
    def confidence(self) -> float:
        """Of the statements on its peak: the error rate is spent over all numbers of blocks that allow one."""
        ends = tuple(one for one in ends_of(self.workspace, ProfilePlan, "profile", self.name) if one >= MIN_BLOCKS)
        return Spending(ends[0], ends).level(ends[-1]) if ends else 0.95

    @property
    def measured(self) -> pd.DataFrame:
        return self.runs.assign(cell=self.name)

    @property
    def scaling(self) -> pd.DataFrame:
        """The Universal Scalability Law and its peak; empty with fewer than four counts, or without 1 among them."""
        rate = self.metric.measure is Measure.RATE
        named = self.runs.assign(profile=self.name)
        return laws_table(laws(named, "profile", self.confidence) if rate else {}, "profile")

    def charts(self) -> dict[str, Chart]:
        """The charts that its runs allow: users, scaling (the fitted law) and history (run by run)."""
        named = self.runs.assign(profile=self.name)
        law = scaling_laws(named, self.metric, "profile", confidence=self.confidence)
        found = [throughput_over_users(named, self.metric, "profile"), law]
        return {chart.key: chart for chart in [*found, history_chart(self.runs, self.segments, self.metric)] if chart}

    @cached_property
    def segments(self) -> pd.DataFrame:
        """The segments between change points, as returned by ``analysis.comparison.history.segments``."""
        found = {
            manifest.run_id: environment_of(manifest, known_settings(folder)) for folder, manifest in self.finished
        }
        return segments(self.runs[self.runs["run_id"].isin(found)], self.metric, found)

    @cached_property
    def finding(self) -> Finding:
        metric, manifests = self.metric, [manifest for _, manifest in self.finished]
        more = ProfileMore(
            profile=self.name,
            changes=tuple(self.changes),
            segments=tuple(map(_segment, self.segments.to_dict("records"))),
        )
        return Finding(
            kind="profile",
            question=f"When did {metric.name} change?",
            metric=metric,
            cells=measured_cells(self.cells),
            ratios=(),
            headline=self._headline(),
            answer=history_answer(self.name, self.segments, len(self.runs)),
            warnings=tuple(start_warnings(manifests)),
            notice=manifests[-1].notice if manifests else "",
            command=shlex.join(["hdbkit", "history", self.name, "--report"]),
            scaling=scaling_laws_of(self.scaling, "profile"),
            more=more,
        )

    def _headline(self) -> Headline:
        """The newest change, or the newest mean where there is none."""
        known = self.segments.dropna(subset=["ratio"])
        if len(known):
            last = known.sort_values("since").iloc[-1]
            at = str(last["since"])[:16].replace("T", " ")
            return Headline(
                verdict="faster" if last["ratio"] > 1 else "slower",
                value=times(float(last["ratio"])),
                of=f"{many(len(self.changes), 'change')}; the newest is of {at}",
            )
        newest = self.segments.sort_values("since").iloc[-1]
        runs, users = many(int(newest["runs"]), "run"), many(int(newest["virtual_users"]), "virtual user")
        value = self.metric.text(newest["metric_value"])
        return Headline(verdict="no change", value=value, of=f"mean of {runs} at {users}")

    @property
    def changes(self) -> list[str]:
        """One sentence per change point or change of the environment, newest first."""
        return change_sentences(self.segments, self.metric)

    @property
    def report_file(self) -> Path:
        return self.workspace.results / "profiles" / f"{self.name}.html"

    def evidence(self) -> Evidence:
        return profile_evidence(self.name, self.runs, self.finished, self.segments, self.changes, self.metric)

    @property
    def finished(self) -> list[Finished]:
        """Its runs in order of time, without damaged ones."""
        return readable([RunFolder(self.workspace.results / run_id) for run_id in self.runs["run_id"]])

    def __repr__(self) -> str:
        return f"<Profile {self.name}: {len(self.runs)} runs>"


def _segment(row: Mapping[Any, Any]) -> Segment:
    return Segment(
        virtual_users=int(row["virtual_users"]), since=str(row["since"]), run_id=str(row["run_id"]),
        runs=int(row["runs"]), value=float(row["metric_value"]), operations_per_s=finite(row["operations_per_s"]),
        ratio=finite(row["ratio"]), cause=str(row["cause"]), p=finite(row["p"]), what=str(row["what"]),
    )  # fmt: skip


class ProfileVerbs(RunVerbs):
    """Verbs about profiles."""

    def plan_profile(
        self,
        name: str,
        target: Target | str,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        *,
        virtual_users: Sequence[int] = (1, 2, 4, 8),
        blocks: int = 1,
        preparation: Preparation | None = None,
    ) -> ProfilePlan:
        """Plan runs of a profile, which ``profile`` executes in this process, and ``start_experiment`` in one of its
        own.

        Args:
            name: a word; the runs carry it as the tag ``profile:NAME`` and as their label.
            target, workload, load: as for :func:`run`.
            virtual_users: the user counts.
            blocks: the number of runs at each count.
            preparation: how the server is prepared before each run; by default as in a sweep: its data are restored
                where it can, its background work is done, and the hosts are idle.

        Raises:
            InputError: the schema is not there, or the name is not a single word.

        Example:
            >>> hdbkit.plan_profile("nightly", "lab", virtual_users=[1, 8], blocks=3).time_text  # doctest: +SKIP
        """
        require_word(name, "a profile's name")
        counts = counts_of({}, load, virtual_users, blocks)
        at = self.target(target)
        spec, driven = settled(self, at, specification(workload), load or Load())
        experiment_id = new_experiment_id(datetime.now(UTC), "profile")
        sides = (Side(name=name, target=at, workload=spec, load=driven, label=name),)
        return ProfilePlan(
            experiment_id=experiment_id,
            configurations=({},),
            runs=in_blocks(sides, counts, range(1, blocks + 1), experiment_id),
            sides=sides,
            virtual_users=counts,
            blocks=blocks,
            seed=experiment_id,
            prepared=preparation or Preparation(),
            name=name,
        )

    @executing(plan_profile, ProfilePlan)
    def profile(self, folder: ExperimentFolder) -> Profile:
        """Run a profile: in each block one run per user count, in random order.

        Repeat it under the same name, for example every night or for each release; ``history`` reports when it
        changed. The arguments are those of :func:`plan_profile`.

        Returns:
            The profile with all its runs, including earlier ones.

        Raises:
            InputError: a run cannot be started, or the name is not a single word.
            ExperimentFailed: a run failed; ``resume_experiment`` continues.
            KeyboardInterrupt: stopped; the finished runs belong to the profile, and ``resume_experiment`` continues.

        Example:
            >>> hdbkit.profile("nightly", "lab", virtual_users=[1, 2, 4, 8, 16], blocks=3).scaling  # doctest: +SKIP
        """
        return Profile(folder.read_plan(ProfilePlan).name, self)

    def history(self, name: str) -> Profile:
        """Load a profile with all its runs: change points over time, scaling law, report.

        Raises:
            InputError: there is no such profile.

        Example:
            >>> hdbkit.history("nightly").changes  # doctest: +SKIP
        """
        return Profile(name, self)

    def profiles(self) -> pd.DataFrame:
        """List all profiles; one row each: runs, user counts, start of the first and the last run."""
        found = profiles_of(list_runs(self.results).runs)
        grouped = found.groupby("profile")
        counts = grouped["virtual_users"].agg(lambda users: ", ".join(str(one) for one in sorted(set(users))))
        frame = pd.DataFrame({"runs": grouped.size(), "virtual_users": counts, "first": grouped["started"].min(),
                              "last": grouped["started"].max()})  # fmt: skip
        return frame.rename_axis("profile").reset_index()
