"""Compares commits of a database server: each is built from a git checkout, started, and measured in turn.

All servers have the same data and settings and run side by side, so what changes on the machine meets all alike. The
search for the commit that made the server slower (``bisect``) compares one commit after the other with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import pandas as pd

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import DEFAULT_BLOCKS
from hdbkit.api.alternating import OnTurn, Work, measure_in_turn, new_label
from hdbkit.api.compare import Comparison, of_sides
from hdbkit.api.connection import ConnectionVerbs
from hdbkit.api.first_steps import require_sound
from hdbkit.api.result import Result
from hdbkit.api.running import OnTick, RunVerbs
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import InputError
from hdbkit.loading import BuildProgress
from hdbkit.servers import launcher, private_server, startable_kinds
from hdbkit.servers.source_builds import built, commit_of, commits_between, short, subject_of

CONFIDENCE = 0.95
"""The probability that all intervals of a comparison of commits hold."""
_SLOWER = "slower"


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
class Releases:
    """The comparisons of commits of a server with the first of them, ``base``.

    The intervals of all of them hold together with 95 %: each has the confidence that Bonferroni's inequality needs.
    """

    base: Release
    others: tuple[Release, ...]
    comparisons: tuple[Comparison, ...]
    """Of each of the others with the base."""
    search: Search | None = None
    """With ``bisect``."""

    @property
    def table(self) -> pd.DataFrame:
        """A row per commit: ``ref``, ``commit``, ``version``, ``metric`` (mean of its runs), ``ratio`` to the base,
        ``low``, ``high``, ``verdict``."""
        first = self.comparisons[0]
        rows = [{**_facts(self.base), "metric": _mean(first.base), "ratio": 1.0, "verdict": "base"}]
        for one, found in zip(self.others, self.comparisons, strict=True):
            ratio = found.ratio
            figures = {"ratio": ratio.ratio, "low": ratio.low, "high": ratio.high, "verdict": ratio.verdict}
            rows.append({**_facts(one), "metric": _mean(found.new), **figures})
        return pd.DataFrame(rows, columns=["ref", "commit", "version", "metric", "ratio", "low", "high", "verdict"])

    def report(self) -> list[Path]:
        """Write the report of each comparison; their paths."""
        return [one.report() for one in self.comparisons]


@dataclass(frozen=True)
class Search:
    """The search for the commit with which most of a slowdown came."""

    steps: tuple[Releases, ...]
    """The comparisons of the commits between, in the order in which they were measured."""
    left: tuple[str, ...]
    """The commits among which it is, oldest first: one if it was found, several where the noise hides it, none if
    the last commit is not shown to be slower than the first."""
    subjects: tuple[str, ...]
    """The first line of the message of each."""

    @property
    def sentence(self) -> str:
        """What was found."""
        if not self.left:
            return "the last commit is not shown to be slower than the first; there is nothing to search for"
        named = ", ".join(f"{short(one)} ({line})" for one, line in zip(self.left, self.subjects, strict=True))
        if len(self.left) == 1:
            return f"most of the slowdown came with commit {named}"
        count = len(self.left)
        return f"most of the slowdown came with one of {count} commits; more blocks may narrow them down: {named}"


class ReleaseVerbs(ConnectionVerbs, RunVerbs):
    """Verbs that compare versions of a server."""

    def releases(
        self,
        checkout: Path | str,
        refs: Sequence[str],
        *,
        database: str | None = None,
        configure: Sequence[str] = (),
        bisect: bool = False,
        blocks: int = DEFAULT_BLOCKS,
        max_blocks: int | None = None,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        virtual_users: Sequence[int] = (),
        settings: Mapping[str, object] | None = None,
        smallest_effect: float = 0.02,
        say: Callable[[str], None] = lambda _: None,
        build_progress: BuildProgress | None = None,
        watch: OnTurn = lambda _: None,
        watch_run: OnTick | None = None,
    ) -> Releases:
        """Build commits of a server from a git checkout, run each in turn on a private server, and compare them.

        Builds are kept in the cache, so a commit is built once. The checkout is not changed.

        Args:
            checkout: the folder of a git checkout with the source of the server.
            refs: tags, branches or commits; the first is the base. With ``bisect`` two, an earlier and a later one.
            database: the kind of the server; by default the first that hdbkit can start.
            configure: further arguments of the command that configures a build: of a configure script, or of CMake.
            bisect: search for the commit with which most of a slowdown came.
            blocks: the number of runs of each commit at each user count.
            max_blocks: of a search, up to this many where fewer do not decide; by default four times ``blocks``.
            workload: the workload, whose schema is built on each server.
            load: the load of each run.
            virtual_users: the user counts.
            settings: settings of all servers.
            smallest_effect: the smallest relevant relative difference.
            say: called with a line for each step.
            build_progress: called with the stage, rows and bytes of the build of a schema.
            watch: called after each run.
            watch_run: called several times per second with the present run.

        Raises:
            InputError: there is no such commit, or hdbkit cannot build this kind of server.
            ServerFailed: a build failed, or a server did not start; the text names the log of the build.
            HdbkitError: a schema failed a check, or a run failed.

        Example:
            >>> hdbkit.releases("source", ["REL_17_0", "REL_18_0"], blocks=8).table  # doctest: +SKIP
            >>> hdbkit.releases("source", ["REL_17_0", "master"], bisect=True).search.sentence  # doctest: +SKIP
        """
        source = Path(checkout).expanduser().resolve()
        asked = [Release(ref, commit_of(source, ref), "") for ref in refs]
        if len({one.commit for one in asked}) < max(2, len(asked)):
            raise InputError(f"give two or more different commits, not {', '.join(refs) or 'none'}")
        if bisect and len(asked) != 2:
            raise InputError(f"a search needs two commits, an earlier and a later one, not {len(asked)}")
        between = commits_between(source, asked[0].commit, asked[1].commit) if bisect else []
        with ExitStack() as opened:
            bench = _Bench(
                source, database or startable_kinds()[0], tuple(configure), workload, load, tuple(virtual_users),
                settings or {}, smallest_effect, say, build_progress, watch, watch_run, self,
            )  # fmt: skip
            base = bench.started(asked[0], opened)
            if not bisect:
                others = [bench.started(one, opened) for one in asked[1:]]
                return bench.measured(base, others, blocks, new_label("releases"))
            return _search(bench, base, asked[1], between, blocks, max_blocks or 4 * blocks)


@dataclass(frozen=True)
class _Bench:
    """What all commits have in common; starts and measures their servers."""

    source: Path
    kind: str
    configure: tuple[str, ...]
    workload: WorkloadSpec | Path | str | None
    load: Load | None
    virtual_users: tuple[int, ...]
    settings: Mapping[str, object]
    smallest_effect: float
    say: Callable[[str], None]
    build_progress: BuildProgress | None
    watch: OnTurn
    watch_run: OnTick | None
    lab: ReleaseVerbs

    def started(self, asked: Release, opened: ExitStack) -> tuple[Release, Target]:
        """A commit's server with the schema."""
        self.say(f"building {asked}")
        programs = built(launcher(self.kind), self.source, asked.commit, self.configure)
        server = opened.enter_context(private_server(self.kind, source=str(programs), settings=self.settings))
        connection = self.lab.connect(server.target)
        self.say(f"{connection.version} on {server.target.url}")
        require_sound(connection.build(workload=self.workload, progress=self.build_progress))
        return Release(asked.ref, asked.commit, connection.version), server.target

    def measured(
        self, base: tuple[Release, Target], others: Sequence[tuple[Release, Target]], blocks: int, label: str
    ) -> Releases:
        """Measure in turn until each has this many runs, and compare with the base."""
        works = {short(one.commit): Work(target) for one, target in (base, *others)}
        done = measure_in_turn(
            works, blocks, workload=self.workload, load=self.load, virtual_users=self.virtual_users, label=label,
            watch=self.watch, watch_run=self.watch_run, lab=self.lab,
        )  # fmt: skip
        confidence = 1 - (1 - CONFIDENCE) / len(others)
        names = [str(one) for one, _ in (base, *others)]
        first, *rest = done.values()
        comparisons = (
            of_sides(
                {BASE: first, NEW: runs}, (f"{names[0]} (base)", f"{name} (new)"), self.lab, self.smallest_effect,
                confidence=confidence,
            )
            for name, runs in zip(names[1:], rest, strict=True)
        )  # fmt: skip
        return Releases(base[0], tuple(one for one, _ in others), tuple(comparisons))


def _search(
    bench: _Bench, base: tuple[Release, Target], last: Release, commits: Sequence[str], blocks: int, max_blocks: int
) -> Releases:
    """Halve the commits after the base, the last of which is ``last``, until one is left."""
    with ExitStack() as opened:
        whole = bench.measured(base, [bench.started(last, opened)], blocks, new_label("releases"))
    if whole.comparisons[0].ratio.verdict != _SLOWER:
        return replace(whole, search=Search((), (), ()))
    half, steps = sqrt(whole.comparisons[0].ratio.ratio), []

    def is_slow(commit: str) -> bool | None:
        one = Release(commit, commit, "")
        with ExitStack() as opened:
            started, label, count = bench.started(one, opened), new_label("releases"), blocks
            found = bench.measured(base, [started], count, label)
            while (slow := beyond(found.comparisons[0], half)) is None and count < max_blocks:
                count = min(2 * count, max_blocks)
                found = bench.measured(base, [started], count, label)
        steps.append(found)
        return slow

    left = bisected(commits, is_slow)
    subjects = tuple(subject_of(bench.source, one) for one in left)
    return replace(whole, search=Search(tuple(steps), tuple(left), subjects))


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


def _facts(one: Release) -> dict[str, object]:
    return {"ref": one.ref, "commit": short(one.commit), "version": one.version}


def _mean(runs: Sequence[Result]) -> float:
    return float(pd.Series([one.metric_value for one in runs], dtype=float).mean())
