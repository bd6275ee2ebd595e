"""The search for the commit that made a server slower: it compares one commit after the other with the first.

Each step is an experiment of its own; the search has a folder, a journal and a process, in which the steps follow
from the results of those before. So a killed search continues with the step that was missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import sqrt
from typing import Protocol, cast

from hdbkit.api.compare import Comparison
from hdbkit.api.executing import executed, executing, resumed
from hdbkit.api.releases import Releases, ReleaseVerbs, Search, planned_sides
from hdbkit.api.running import OnRun
from hdbkit.errors import InputError
from hdbkit.experiment import ExperimentStatus, Watcher, experiment_progress
from hdbkit.experiment.course import Course
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.progress import search_steps
from hdbkit.experiment.sides import Commit, ReleasesPlan, SlowCommitPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.journal import Step
from hdbkit.servers.source_builds import commits_between, described, subject_of
from hdbkit.workspace import BareWorkspace

_SLOWER, _UNDECIDED = "slower", "undecided"
Decided = Callable[[Comparison], bool]


class SlowCommitVerbs(ReleaseVerbs):
    """Verbs that search for a commit."""

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
        return self._slow_commit(folder)

    def _slow_commit(self, folder: ExperimentFolder) -> Releases:
        """What a search has found. Raises ``InputError`` for one that has not ended."""
        plan = folder.read_plan(SlowCommitPlan)
        steps = iter(search_steps(plan, folder))

        def measured(_: ReleasesPlan, __: Decided) -> Releases:
            if (step := next(steps, None)) is None:
                raise InputError(
                    f"{folder.experiment_id} has not found the commit yet; continue it with: hdbkit resume "
                    f"{folder.experiment_id}"
                )
            return self._releases(step)

        return search(plan, measured)


def searched(
    workspace: BareWorkspace, folder: ExperimentFolder, watch: Watcher, watch_run: OnRun | None
) -> ExperimentFolder:
    """Execute the missing steps of a search; errors are those of :func:`hdbkit.experiment.start`."""
    plan, lab = folder.read_plan(SlowCommitPlan), cast(SlowCommitVerbs, workspace)
    course = Course(plan, folder, watch)

    def measured(planned: ReleasesPlan, decided: Decided) -> Releases:
        """The comparison of two commits, with more blocks as long as fewer do not decide."""
        step = experiment_folder(folder.root, planned.experiment_id)
        if not step.planned:
            course.waits(f"{planned.title}: {planned.experiment_id}")
            executed(lab, planned, watch, watch_run)
        elif experiment_progress(step).status is not ExperimentStatus.DONE:
            resumed(lab, step, (), None, watch, watch_run)
        found, count = lab._releases(step), step.read_plan(ReleasesPlan).blocks
        while not decided(found.pairs[0]) and count < plan.max_blocks:
            count = min(2 * count, plan.max_blocks)
            found = lab._releases(resumed(lab, step, (), count, watch, watch_run))
        return found

    with folder.executing(), course.noted():
        search(plan, measured)
        folder.append(Step.FINISHED)
    return folder


class Measured(Protocol):
    """Gives the result of a step, which was measured until it is decided."""

    def __call__(self, planned: ReleasesPlan, decided: Decided, /) -> Releases: ...


def search(plan: SlowCommitPlan, measured: Measured) -> Releases:
    """Halve the commits between the base and the last one until one is left."""
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
        two = (base, Commit(ref=described(first.checkout, commit), commit=commit))
        planned = _step(plan, len(steps) + 1, two)
        steps.append(measured(planned, lambda found: beyond(found, half) is not None))
        return beyond(steps[-1].pairs[0], half)

    left = bisected(commits, is_slow)
    subjects = tuple(f"{described(first.checkout, one)}: {subject_of(first.checkout, one)}" for one in left)
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
