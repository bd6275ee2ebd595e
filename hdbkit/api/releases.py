"""Compares commits of a database server: each is built from a git checkout, started, and measured in turn.

All servers have the same data and settings and run side by side, so what changes on the machine meets all alike. The
search for the commit that made a server slower compares one commit after the other with the first
(``experiment.kinds.slow_commit``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from pydantic import Field

from hdbkit.analysis.comparison.advice import DEFAULT_BLOCKS, Again
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.api.compare import Comparison, of_sides
from hdbkit.api.executing import executing
from hdbkit.api.experiment_result import ExperimentResult, measured_cells
from hdbkit.api.running import RunVerbs
from hdbkit.api.sides import counts_of, results_of_sides
from hdbkit.charts.chart import Chart
from hdbkit.config import Load, Preparation, WorkloadSpec
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.releases import Commit, ReleasesPlan
from hdbkit.experiment.kinds.slow_commit import SlowCommitPlan, begun, decision
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.sides import in_blocks
from hdbkit.later import pandas as pd
from hdbkit.report.experiment_report import Evidence
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Finding, More, Verdict
from hdbkit.results.run_result import Figures
from hdbkit.servers import launcher, startable_kinds
from hdbkit.servers.source_builds import commit_of, commits_between, described_build, short, subject_of
from hdbkit.text import listed
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of


@dataclass(frozen=True)
class Release:
    """A commit of a server that was measured: as it was named, its digits, and its server's version."""

    ref: str
    commit: str
    version: str

    def __str__(self) -> str:
        digits = short(self.commit)
        return digits if self.ref.startswith(digits) else f"{self.ref} ({digits})"


@dataclass(frozen=True, repr=False)
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

    @cached_property
    def finding(self) -> Finding:
        findings, search = [pair.finding for pair in self.pairs], self.search
        ratios = [ratio for finding in findings for ratio in finding.ratios]
        for step in search.steps if search else ():
            ratios += step.pairs[0].compared.each
        why = [(one, finding.explanation) for one, finding in zip(self.others, findings, strict=True)]
        explained = [f"{one}: {text}" if len(why) > 1 else text for one, text in why if text]
        more = CommitsMore(
            commits=tuple(
                MeasuredCommit(ref=one.ref, commit=one.commit, version=one.version)
                for one in (self.base, *self.others)
            ),
            left=dict(zip(search.left, search.subjects, strict=True)) if search else {},
        )
        return findings[-1].model_copy(
            update={
                "question": f"Is {self.others[-1]} {'slower' if search else 'faster'} than {self.base}?",
                "cells": measured_cells(self.cells),
                "ratios": tuple(ratios),
                "answer": self.answer,
                "explanation": " ".join(explained),
                "advice": next((finding.advice for finding in reversed(findings) if finding.advice), ""),
                "notes": tuple(dict.fromkeys(line for finding in findings for line in finding.notes)),
                "warnings": tuple(dict.fromkeys(line for finding in findings for line in finding.warnings)),
                "is_open": bool(search and search.undecided),
                "more": more,
            }
        )

    @property
    def measured(self) -> pd.DataFrame:
        return pd.concat([pair.measured for pair in self.pairs]).drop_duplicates("run_id")

    @property
    def answer(self) -> str:
        """What a search found, or the verdict on each commit."""
        if self.search is not None:
            return f"{self.search.sentence}."
        return " ".join(f"{one}: {pair.answer}" for one, pair in zip(self.others, self.pairs, strict=True))

    def charts(self) -> dict[str, Chart]:
        """Those of the comparison of the last commit with the base."""
        return self.pairs[-1].charts()

    @property
    def report_file(self) -> Path:
        return self.pairs[-1].report_file

    def evidence(self) -> Evidence:
        """That of all comparisons; flame graphs, plans and environment are of the last commit and the base."""
        each = [pair.evidence() for pair in self.pairs]
        kicker = f"comparison of {listed([str(one) for one in self.others])} with {self.base}"
        return replace(
            each[-1],
            kicker=kicker if len(each) > 1 else each[-1].kicker,
            manifests=[manifest for one in each for manifest in one.manifests],
            figures=[*each[0].figures[:1], *(one.figures[1] for one in each)],
            tables=[table for one in each for table in one.tables],
            journal=[table for one in each for table in one.journal],
        )


class MeasuredCommit(Figures):
    """A commit of a server that was measured."""

    ref: str
    commit: str
    version: str


class CommitsMore(More):
    """What only findings of commits have."""

    commits: tuple[MeasuredCommit, ...]
    left: dict[str, str] = Field(description="commits among which the slow one is, with the first line of each")


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
            return f"most of the slowdown came with commit {named}, with 95 % if one commit brought it"
        count = len(self.left)
        return (
            f"most of the slowdown came with one of {count} commits, with 95 % if one brought it; more blocks may "
            f"narrow them down: {named}"
        )


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
        plan = ReleasesPlan(
            experiment_id=experiment_id,
            configurations=tuple({"commit": str(one)} for one in commits),
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
        )
        driven = workload_of(spec).load(load or Load())
        sides = tuple(plan.side(one, spec, driven) for one in commits)
        runs = in_blocks(sides, plan.virtual_users, range(1, blocks + 1), plan.seed)
        return plan.model_copy(update={"sides": sides, "runs": runs})

    @executing(plan_releases, ReleasesPlan)
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
        return self._compared(folder, plan, plan.kind)

    def _compared(self, folder: ExperimentFolder, plan: ReleasesPlan, kind: str) -> Releases:
        """The comparisons of commits, of an experiment of ``kind``. Raises ``InputError`` before all are measured."""
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
                again=again, confidence=confidence, experiment_id=plan.experiment_id, kind=kind,
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
        experiment_id = new_experiment_id(datetime.now(UTC), "slow-commit")
        between = commits_between(first.checkout, *(one.commit for one in first.commits))
        return begun(first, experiment_id, between, max_blocks or 4 * first.blocks)

    @executing(plan_slow_commit, SlowCommitPlan)
    def find_slow_commit(self, folder: ExperimentFolder) -> Releases:
        """Search for the commit between two with which most of a slowdown came.

        The arguments are those of :func:`plan_slow_commit`, the errors also those of :func:`releases`.

        Example:
            >>> planned = hdbkit.plan_releases("source", ["REL_17_0", "master"])  # doctest: +SKIP
            >>> hdbkit.find_slow_commit(planned).search.sentence  # doctest: +SKIP
        """
        plan = folder.read_plan(SlowCommitPlan)
        unfinished = (
            f"{folder.experiment_id} has not found the commit yet; continue it with: hdbkit resume "
            f"{folder.experiment_id}"
        )
        if folder.journal.state.next_number <= len(plan.runs):
            raise InputError(unfinished)
        whole, *others = [self._compared(folder, plan.step(number), plan.kind) for number in range(len(plan.steps))]
        found = decision(plan, [one.pairs[0].ratio for one in (whole, *others)])
        if not found.is_final:
            raise InputError(unfinished)
        ratio = whole.pairs[0].ratio
        unknown = f"it is not known whether the last commit is slower than the first: {ratio.sentence}"
        undecided = unknown if ratio.verdict is Verdict.UNDECIDED else ""
        subjects = tuple(_subject(folder, plan.checkout, one) for one in found.left)
        return replace(whole, search=Search(tuple(others), found.left, subjects, undecided))


def _subject(folder: ExperimentFolder, checkout: Path, commit: str) -> str:
    """The tag and the first line of a commit; git reads no checkout that an experiment from elsewhere names.

    The configuration of a checkout may name programs, which git runs.
    """
    if not folder.is_own:
        return "not described, as this account did not write the experiment"
    return f"{described_build(checkout, commit)}: {subject_of(checkout, commit)}"


def _different(source: Path, refs: Sequence[str]) -> tuple[Commit, ...]:
    """The commits of a checkout, two or more. Raises ``InputError``."""
    commits = tuple(Commit(ref=ref, commit=commit_of(source, ref)) for ref in refs)
    if len({one.commit for one in commits}) < max(2, len(commits)):
        raise InputError(f"give two or more different commits, not {', '.join(refs) or 'none'}")
    return commits
