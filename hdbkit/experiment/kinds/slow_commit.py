"""Searches for the commit that made a server slower: a plan that grows, step by step.

A step compares the base with one commit, in blocks of its own in which both are measured in turn: at first with the
last commit, then with the middle one of the commits that are left. A step has more blocks as long as fewer do not
decide. What follows depends on the results alone: the same results give the same plan, so that a killed search
continues as an uninterrupted one.

Each step has new servers of both of its commits. So the data and the server of the base are as old as those of the
commit, and no other server runs beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from typing import Literal, Self

from pydantic import Field, model_validator

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sessions import runs_of
from hdbkit.analysis.comparison.shared_operations import comparable_runs
from hdbkit.analysis.comparison.sides import compared
from hdbkit.config import Target
from hdbkit.errors import InputError
from hdbkit.experiment.kind import Kind, Say
from hdbkit.experiment.kinds.releases import Commit, CommitsPlan, ReleasesPlan, commit_servers
from hdbkit.experiment.sides import finished_runs, in_blocks
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.results.journal import Step
from hdbkit.servers.source_builds import described_build
from hdbkit.text import many


class SlowCommitPlan(CommitsPlan):
    """The plan of a search, with the steps that are known: ``commits`` are the base, and the commit of each step."""

    kind: Literal["slow-commit"] = "slow-commit"
    between: tuple[str, ...] = Field(description="the commits after the base up to the last one, oldest first")
    max_blocks: int = Field(description="of a step")
    steps: tuple[tuple[int, ...], ...] = Field(
        default=(), description="of each step, the numbers of its blocks after which it is judged"
    )

    @model_validator(mode="after")
    def _of_a_step_each(self) -> Self:
        if not len(self.commits) == len(self.sides) == len(self.configurations) == len(self.steps) + 1 > 1:
            raise ValueError("it has a base, and of each step a commit, a side and a configuration")
        return self

    @property
    def title(self) -> str:
        return f"the search for a slow commit between {' and '.join(map(str, self.commits[:2]))}"

    @property
    def design(self) -> None:
        """What is compared is not known before."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """Those of the last step: the servers of the steps before have ended."""
        return self.sides[0].target, self.sides[-1].target

    def at(self, targets: Sequence[Target]) -> Self:
        base, *others, last = self.sides
        first, second = (
            side.model_copy(update={"target": target}) for side, target in zip((base, last), targets, strict=True)
        )
        return self.model_copy(update={"sides": (first, *others, second)})

    def extended(self, blocks: int, done: int = 0) -> Self:
        """The same search with up to ``blocks`` blocks of a step. Raises ``InputError`` if it has more."""
        if blocks < self.max_blocks:
            raise InputError(
                f"a step of {self.experiment_id} already has up to {self.max_blocks} blocks; give that many or more, "
                f"not {blocks}"
            )
        return self.model_copy(update={"max_blocks": blocks})

    def with_commit(self, commit: Commit) -> Self:
        """The search with one more step, which compares this commit with the base."""
        base = self.sides[0]
        added = {
            "commits": (*self.commits, commit),
            "configurations": (*self.configurations, {"commit": str(commit)}),
            "sides": (*self.sides, self.side(commit, base.workload, base.load)),
            "steps": (*self.steps, ()),
        }
        return self.model_copy(update=added).with_blocks(self.blocks)

    def with_blocks(self, blocks: int) -> Self:
        """The search with so many blocks in its last step; existing runs do not change."""
        number, judged = len(self.steps) - 1, self.steps[-1]
        new = range(judged[-1] + 1 if judged else 1, blocks + 1)
        pair, seed = (self.sides[0], self.sides[-1]), f"{self.seed}-{number}"
        runs = tuple(
            run.model_copy(
                update={
                    "block": self._blocks_before(number) + run.block,
                    "configuration": number + 1 if run.configuration else 0,
                }
            )
            for run in in_blocks(pair, self.virtual_users, new, seed, len(self.runs))
        )
        steps = (*self.steps[:-1], (*judged, blocks))
        return self.model_copy(update={"runs": (*self.runs, *runs), "steps": steps})

    def step(self, number: int) -> ReleasesPlan:
        """A step, from 0, as the comparison of two commits; its runs have the numbers that they have here."""
        before, judged = self._blocks_before(number), self.steps[number]
        runs = tuple(
            run.model_copy(update={"block": run.block - before, "configuration": int(run.configuration > 0)})
            for run in self.runs
            if before < run.block <= before + judged[-1]
        )
        pair = {name: (getattr(self, name)[0], getattr(self, name)[number + 1]) for name in _PAIRS}
        own = {"blocks": judged[-1], "looks": judged[:-1], "seed": f"{self.seed}-{number}", "runs": runs}
        shared = {name: getattr(self, name) for name in CommitsPlan.model_fields if name != "kind"}
        return ReleasesPlan(**shared | pair | own)

    @property
    def last_step(self) -> ReleasesPlan:
        """The step that is measured, or was at last."""
        return self.step(len(self.steps) - 1)

    def _blocks_before(self, number: int) -> int:
        return sum(judged[-1] for judged in self.steps[:number])


_PAIRS = ("commits", "configurations", "sides")
"""What a plan has of each commit."""


def begun(first: ReleasesPlan, experiment_id: str, between: Sequence[str], max_blocks: int) -> SlowCommitPlan:
    """The plan of a search that begins with the comparison of two commits."""
    shared = {name: getattr(first, name) for name in CommitsPlan.model_fields if name != "kind"}
    own = {"experiment_id": experiment_id, "seed": experiment_id, "runs": (), "steps": ((),)}
    plan = SlowCommitPlan(**shared | own, between=tuple(between), max_blocks=max_blocks)
    workload, load = first.sides[0].workload, first.sides[0].load
    sides = tuple(plan.side(commit, workload, load) for commit in first.commits)
    return plan.model_copy(update={"sides": sides}).with_blocks(plan.blocks)


@dataclass(frozen=True)
class Decision:
    """What the results of the steps so far decide."""

    left: tuple[str, ...] = ()
    """The commits among which the slow one is, oldest first; none if the last commit is not known to be slower."""
    blocks: int | None = None
    """The number of blocks that the last step is to have, which is undecided."""
    commit: str | None = None
    """The commit that is to be compared next."""

    @property
    def is_final(self) -> bool:
        """Whether the search has ended."""
        return self.blocks is None and self.commit is None


def decision(plan: SlowCommitPlan, ratios: Sequence[Ratio]) -> Decision:
    """What the ratios of all steps decide: commits are halved until one is left, or a step stays undecided."""
    whole, *others = ratios
    done = plan.steps[-1][-1]
    more = min(2 * done, plan.max_blocks) if done < plan.max_blocks else None
    if whole.verdict is not Verdict.SLOWER:
        return Decision(blocks=more if whole.verdict is Verdict.UNDECIDED else None)
    commits = [one.commit for one in plan.commits[2:]]
    slow = {commit: beyond(ratio, sqrt(whole.ratio or 1.0)) for commit, ratio in zip(commits, others, strict=True)}
    left, commit = halved(plan.between, slow)
    return Decision(left, more if None in slow.values() else None, commit)


def beyond(ratio: Ratio, half: float) -> bool | None:
    """Whether a commit has most of the slowdown: its whole interval is below ``half``, or above it; else None."""
    low, high = ratio.interval
    if high < half:
        return True
    return False if low > half else None


def halved(commits: Sequence[str], slow: Mapping[str, bool | None]) -> tuple[tuple[str, ...], str | None]:
    """The commits among which the first slow one is, and which of them to measure next; None at the end.

    It ends with one commit, or with several where a measured one is neither slow nor not. The last of ``commits`` is
    known to be slow, and what comes before the first of them is not.
    """
    low, high = -1, len(commits) - 1
    following = None
    while high - low > 1:
        middle = (low + high) // 2
        if commits[middle] not in slow:
            following = commits[middle]
            break
        is_slow = slow[commits[middle]]
        if is_slow is None:
            break
        low, high = (low, middle) if is_slow else (middle, high)
    return tuple(commits[low + 1 : high + 1]), following


def ratio_of(step: ReleasesPlan, folder: ExperimentFolder) -> Ratio:
    """The commit of a step over the base. Raises ``InputError`` for runs without a value, and ``DamagedResult``."""
    sides = dict(zip((BASE, NEW), finished_runs(step, folder), strict=True))
    if not all(sides.values()):
        raise InputError(f"{step.title} has no finished run of one of them; see: hdbkit experiments")
    shared, metric, _ = comparable_runs({side: [(run, run.read()) for run in runs] for side, runs in sides.items()})
    return compared(runs_of(shared), metric, step.smallest_effect, step.confidence).ratio


class _SlowCommit(Kind[SlowCommitPlan]):
    def following(self, plan: SlowCommitPlan, folder: ExperimentFolder) -> SlowCommitPlan:
        """The plan with more blocks of the last step, or with the next one, once all its runs have ended."""
        if folder.journal.state.next_number <= len(plan.runs):
            return plan
        found = decision(plan, [ratio_of(plan.step(number), folder) for number in range(len(plan.steps))])
        if found.is_final:
            return plan
        if found.blocks:
            longer = plan.with_blocks(found.blocks)
            note = f"{plan.steps[-1][-1]} blocks do not decide {plan.last_step.title}; it has {found.blocks} now"
        else:
            assert found.commit is not None
            ref = described_build(plan.checkout, found.commit)
            longer = plan.with_commit(Commit(ref=ref, commit=found.commit))
            note = f"{many(len(found.left), 'commit')} left; next is {longer.last_step.title}"
        folder.write_plan(longer)
        folder.append(Step.DECIDED, note=note)
        return longer

    @contextmanager
    def servers(self, plan: SlowCommitPlan, say: Say) -> Iterator[SlowCommitPlan]:
        with commit_servers(plan, (plan.commits[0], plan.commits[-1]), say) as ready:
            yield ready


KIND = _SlowCommit(SlowCommitPlan)
