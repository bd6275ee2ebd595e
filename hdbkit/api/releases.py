"""Compares commits of a database server: each is built from a git checkout, started, and measured in turn.

All servers have the same data and settings and run side by side, so what changes on the machine meets all alike.

The search for the commit that made a server slower compares one commit after the other with the first. Each step is
an experiment of its own; the search has a folder, a journal and a process, in which the steps follow from the results
of those before. So a killed search continues with the step that was missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from typing import cast

import pandas as pd

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import DEFAULT_BLOCKS, Again
from hdbkit.api.compare import Comparison, of_sides
from hdbkit.api.executing import executed, executing, reader_of, resumed
from hdbkit.api.experiment_result import ExperimentResult
from hdbkit.api.running import OnRun, RunVerbs
from hdbkit.api.sides import counts_of, results_of_sides
from hdbkit.charts.chart import Chart
from hdbkit.config import Load, Preparation, Target, WorkloadSpec
from hdbkit.config.metric import Metric
from hdbkit.errors import InputError
from hdbkit.experiment import ExperimentStatus, Watcher, experiment_progress
from hdbkit.experiment.course import Course
from hdbkit.experiment.events import search_steps
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.sides import Commit, ReleasesPlan, Side, SlowCommitPlan, in_blocks
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.journal import Step
from hdbkit.servers import launcher, startable_kinds
from hdbkit.servers.source_builds import commit_of, commits_between, described_build, short, subject_of
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workspace import BareWorkspace

_SLOWER, _UNDECIDED = "slower", "undecided"
Decided = Callable[[Comparison], bool]


@dataclass(frozen=True)
class Release:
    """A commit of a server that was measured: as it was named, its digits, and its server's version."""

    ref: str
    commit: str
    version: str

    def __str__(self) -> str:
        digits = short(self.commit)
        return digits if self.ref.startswith(digits) else f"{self.ref} ({digits})"


@dataclass(frozen=True)
class Releases(ExperimentResult):
    """The comparisons of commits of a server with the first of them, ``base``.

    The intervals of all of them, after each number of blocks, hold together with 95 %: each has the confidence that
    Bonferroni's inequality needs.
    """

    base: Release
    others: tuple[Release, ...]
    pairs: tuple[Comparison, ...]
    """Of each of the others with the base."""
    search: Search | None = None
    """Of ``find_slow_commit``."""

    @property
    def measured(self) -> pd.DataFrame:
        return pd.concat([one.measured for one in self.pairs]).drop_duplicates("run_id")

    @property
    def comparisons(self) -> pd.DataFrame:
        return pd.concat([one.comparisons for one in self.pairs], ignore_index=True)

    @property
    def answer(self) -> str:
        """What a search found, or the verdict on each commit."""
        if self.search is not None:
            return f"{self.search.sentence}."
        return " ".join(f"{one}: {found.answer}" for one, found in zip(self.others, self.pairs, strict=True))

    @property
    def warnings(self) -> list[str]:
        """Those of all comparisons."""
        return list(dict.fromkeys(line for one in self.pairs for line in one.warnings))

    @property
    def notice(self) -> str:
        return self.pairs[0].notice

    @property
    def metric(self) -> Metric:
        return self.pairs[0].metric

    def charts(self) -> dict[str, Chart]:
        """Those of the comparison of the last commit with the base."""
        return self.pairs[-1].charts()

    def report(self) -> Path:
        """Write the report of each comparison; the path of the last commit's."""
        return self.reports()[-1]

    def reports(self) -> list[Path]:
        """Write the report of each comparison; their paths."""
        return [one.report() for one in self.pairs]


@dataclass(frozen=True)
class Search:
    """The search for the commit with which most of a slowdown came."""

    steps: tuple[Releases, ...]
    """The comparisons of the commits between, in the order in which they were measured."""
    left: tuple[str, ...]
    """The commits among which it is, oldest first: one if it was found, several where the noise hides it, none if
    the last commit is not slower than the first, or not known to be."""
    subjects: tuple[str, ...]
    """The first line of the message of each, behind the tag that it has or comes after."""
    undecided: str = ""
    """Why it is not known whether the last commit is slower than the first, and what would decide that."""

    @property
    def sentence(self) -> str:
        """What was found."""
        if not self.left:
            return self.undecided or "the last commit is not slower than the first; there is nothing to search for"
        named = ", ".join(f"{short(one)} ({line})" for one, line in zip(self.left, self.subjects, strict=True))
        if len(self.left) == 1:
            return f"most of the slowdown came with commit {named}"
        count = len(self.left)
        return f"most of the slowdown came with one of {count} commits; more blocks may narrow them down: {named}"


class ReleaseVerbs(RunVerbs):
    """Verbs that compare commits of a server, and search for the one that made it slower."""

    def plan_releases(
        self,
        checkout: Path | str,
        refs: Sequence[str],
        *,
        database: str | None = None,
        configure: Sequence[str] = (),
        blocks: int = DEFAULT_BLOCKS,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        virtual_users: Sequence[int] = (),
        settings: Mapping[str, object] | None = None,
        smallest_effect: float = 0.02,
        preparation: Preparation | None = None,
    ) -> ReleasesPlan:
        """Plan runs of commits of a server in turn, which ``releases`` executes in this process, and
        ``start_experiment`` in one of its own.

        Args:
            checkout: the folder of a git checkout with the source of the server.
            refs: tags, branches or commits; the first is the base.
            database: the kind of the server; by default the first that hdbkit can start.
            configure: further arguments of the command that configures a build: of a configure script, or of CMake.
            blocks: the number of runs of each commit at each user count.
            workload: the workload, whose schema is built on each server.
            load: the load of each run.
            virtual_users: the user counts.
            settings: settings of all servers.
            smallest_effect: the smallest relevant relative difference.
            preparation: how the servers are prepared before each run; by default as in a sweep.

        Raises:
            InputError: there is no such commit, or hdbkit cannot build this kind of server.

        Example:
            >>> hdbkit.start_experiment(hdbkit.plan_releases("source", ["v17", "v18"])).progress()  # doctest: +SKIP
        """
        source, kind, spec = (
            Path(checkout).expanduser().resolve(),
            database or startable_kinds()[0],
            specification(workload),
        )
        commits = _different(source, refs)
        if not launcher(kind).build_commands(source, configure, 1):
            raise InputError(f"hdbkit cannot build a server of kind '{kind}' from its source")
        experiment_id = new_experiment_id(datetime.now(UTC), "releases")
        return planned_sides(
            ReleasesPlan(
                experiment_id=experiment_id,
                configurations=(),
                runs=(),
                sides=(),
                virtual_users=counts_of({}, load, virtual_users, blocks),
                blocks=blocks,
                seed=experiment_id,
                prepared=preparation or Preparation(),
                checkout=source,
                database=kind,
                commits=commits,
                configure=tuple(configure),
                settings={name: str(value) for name, value in (settings or {}).items()},
                smallest_effect=smallest_effect,
            ),
            spec,
            workload_of(spec).load(load or Load()),
        )

    @executing(plan_releases)
    def releases(self, folder: ExperimentFolder) -> Releases:
        """Build commits of a server from a git checkout, run each in turn on a private server, and compare them.

        Builds are kept in the cache, so a commit is built once. The checkout is not changed. The arguments are those
        of :func:`plan_releases`.

        Raises:
            InputError: there is no such commit, or hdbkit cannot build this kind of server.
            ServerFailed: a build failed, or a server did not start; the text names the log of the build.
            HdbkitError: a schema failed a check, or a run failed.

        Example:
            >>> hdbkit.releases("source", ["REL_17_0", "REL_18_0"], blocks=8).comparisons  # doctest: +SKIP
        """
        plan = folder.read_plan(ReleasesPlan)
        first, *rest = results_of_sides(self, folder, plan).values()
        if not first or not all(rest):
            raise InputError(f"{folder.experiment_id} has not measured every commit yet; see: hdbkit experiments")
        names, confidence = [str(one) for one in plan.commits], 1 - (1 - plan.confidence) / len(rest)
        again = Again(
            resume=f"hdbkit resume {plan.experiment_id}",
            level=lambda blocks: 1 - (1 - plan.confidence_after(blocks)) / len(rest),
        )
        comparisons = (
            of_sides(
                {BASE: first, NEW: runs}, (f"{names[0]} (base)", f"{name} (new)"), self, plan.smallest_effect,
                again=again, confidence=confidence,
            )
            for name, runs in zip(names[1:], rest, strict=True)
        )  # fmt: skip
        base, *others = (
            Release(one.ref, one.commit, str(runs[0].manifest.server.version))
            for one, runs in zip(plan.commits, (first, *rest), strict=True)
        )
        return Releases(base, tuple(others), tuple(comparisons))

    def plan_slow_commit(self, first: ReleasesPlan, *, max_blocks: int | None = None) -> SlowCommitPlan:
        """Plan the search for the commit between two with which most of a slowdown came.

        ``find_slow_commit`` executes it in this process, and ``start_experiment`` in one of its own.

        Args:
            first: the comparison of both, an earlier and a later commit.
            max_blocks: up to this many where fewer do not decide; by default four times those of the plan.

        Raises:
            InputError: these are not two commits, or the later does not follow the earlier.

        Example:
            >>> planned = hdbkit.plan_slow_commit(hdbkit.plan_releases("source", ["v17", "v18"]))  # doctest: +SKIP
            >>> hdbkit.start_experiment(planned).wait().search.sentence  # doctest: +SKIP
        """
        if len(first.commits) != 2:
            raise InputError(f"a search needs two commits, an earlier and a later one, not {len(first.commits)}")
        commits_between(first.checkout, *(one.commit for one in first.commits))
        return SlowCommitPlan(
            experiment_id=new_experiment_id(datetime.now(UTC), "slow-commit"),
            configurations=first.configurations,
            runs=first.runs,
            first=first,
            max_blocks=max_blocks or 4 * first.blocks,
        )

    @executing(plan_slow_commit)
    def find_slow_commit(self, folder: ExperimentFolder) -> Releases:
        """Search for the commit between two with which most of a slowdown came.

        The arguments are those of :func:`plan_slow_commit`, the errors also those of :func:`releases`.

        Example:
            >>> planned = hdbkit.plan_releases("source", ["REL_17_0", "master"])  # doctest: +SKIP
            >>> hdbkit.find_slow_commit(planned).search.sentence  # doctest: +SKIP
        """
        plan = folder.read_plan(SlowCommitPlan)
        steps = iter(search_steps(plan, folder))

        def measured(_: ReleasesPlan, __: Decided) -> Releases:
            if (step := next(steps, None)) is None:
                raise InputError(
                    f"{folder.experiment_id} has not found the commit yet; continue it with: hdbkit resume "
                    f"{folder.experiment_id}"
                )
            return _read_releases(self, step)

        return search(plan, measured)


_read_releases = reader_of(ReleaseVerbs.releases)


def _different(source: Path, refs: Sequence[str]) -> tuple[Commit, ...]:
    """The commits of a checkout, two or more. Raises ``InputError``."""
    commits = tuple(Commit(ref=ref, commit=commit_of(source, ref)) for ref in refs)
    if len({one.commit for one in commits}) < max(2, len(commits)):
        raise InputError(f"give two or more different commits, not {', '.join(refs) or 'none'}")
    return commits


def planned_sides(plan: ReleasesPlan, spec: WorkloadSpec, load: Load) -> ReleasesPlan:
    """The plan with a side for each commit; their targets are known when the servers run."""
    sides = tuple(
        Side(
            name=short(one.commit),
            target=Target(kind=plan.database, database=short(one.commit)),
            workload=spec,
            load=load,
            label=f"{plan.experiment_id}-{short(one.commit)}",
        )
        for one in plan.commits
    )
    runs = in_blocks(sides, plan.virtual_users, range(1, plan.blocks + 1), plan.seed)
    configurations = tuple({"commit": str(one)} for one in plan.commits)
    return plan.model_copy(update={"sides": sides, "runs": runs, "configurations": configurations})


def searched(
    workspace: BareWorkspace, folder: ExperimentFolder, watch: Watcher, watch_run: OnRun | None
) -> ExperimentFolder:
    """Execute the missing steps of a search; errors are those of :func:`hdbkit.experiment.start`."""
    plan, lab = folder.read_plan(SlowCommitPlan), cast(ReleaseVerbs, workspace)
    course = Course(plan, folder, watch)

    def measured(planned: ReleasesPlan, decided: Decided) -> Releases:
        """The comparison of two commits, with more blocks as long as fewer do not decide."""
        step = experiment_folder(folder.root, planned.experiment_id)
        if not step.planned:
            course.waits(f"{planned.title}: {planned.experiment_id}")
            executed(lab, planned, watch, watch_run)
        elif experiment_progress(step).status is not ExperimentStatus.DONE:
            resumed(lab, step, (), None, watch, watch_run)
        found, count = _read_releases(lab, step), step.read_plan(ReleasesPlan).blocks
        while not decided(found.pairs[0]) and count < plan.max_blocks:
            count = min(2 * count, plan.max_blocks)
            found = _read_releases(lab, resumed(lab, step, (), count, watch, watch_run))
        return found

    with folder.executing(), course.noted():
        search(plan, measured)
        folder.append(Step.FINISHED)
    return folder


def search(plan: SlowCommitPlan, measured: Callable[[ReleasesPlan, Decided], Releases]) -> Releases:
    """Halve the commits between the base and the last one until one is left; ``measured`` measures a step."""
    first, steps = plan.first, list[Releases]()
    base, last = first.commits
    commits = commits_between(first.checkout, base.commit, last.commit)
    whole = measured(_step(plan, 0, first.commits), lambda found: found.ratio.verdict != _UNDECIDED)
    ratio = whole.pairs[0].ratio
    if ratio.verdict != _SLOWER:
        undecided = f"it is not known whether the last commit is slower than the first: {ratio.sentence}"
        return replace(whole, search=Search((), (), (), undecided if ratio.verdict == _UNDECIDED else ""))
    half = sqrt(ratio.ratio)

    def is_slow(commit: str) -> bool | None:
        two = (base, Commit(ref=described_build(first.checkout, commit), commit=commit))
        planned = _step(plan, len(steps) + 1, two)
        steps.append(measured(planned, lambda found: beyond(found, half) is not None))
        return beyond(steps[-1].pairs[0], half)

    left = bisected(commits, is_slow)
    subjects = tuple(f"{described_build(first.checkout, one)}: {subject_of(first.checkout, one)}" for one in left)
    return replace(whole, search=Search(tuple(steps), tuple(left), subjects))


def _step(plan: SlowCommitPlan, number: int, commits: tuple[Commit, ...]) -> ReleasesPlan:
    """The comparison of two commits as a step of the search."""
    experiment_id, side = plan.step_id(number), plan.first.sides[0]
    step = plan.first.model_copy(update={"experiment_id": experiment_id, "seed": experiment_id, "commits": commits})
    return planned_sides(step, side.workload, side.load)


def beyond(found: Comparison, half: float) -> bool | None:
    """Whether a commit has most of the slowdown: its whole interval is below ``half``, or above it; else None."""
    if found.ratio.high < half:
        return True
    return False if found.ratio.low > half else None


def bisected(commits: Sequence[str], is_slow: Callable[[str], bool | None]) -> list[str]:
    """The commits among which the first slow one is: one, or several where ``is_slow`` does not know.

    The last of ``commits`` is known to be slow, and what comes before the first of them is not.
    """
    low, high = -1, len(commits) - 1
    while high - low > 1:
        middle = (low + high) // 2
        slow = is_slow(commits[middle])
        if slow is None:
            break
        low, high = (low, middle) if slow else (middle, high)
    return list(commits[low + 1 : high + 1])
