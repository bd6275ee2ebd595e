"""Measures sides in turn, or two together, within one session, so that what changes on the machine meets all alike.

A block has one run of each side at each count of virtual users, next to each other; which comes first changes from
block to block as in a sweep (``run_order``). Together both run at the same time: what disturbs the machine for
seconds then meets both alike as well, and each is measured under the load of the other.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hdbkit.analysis.comparison.groups import common_metric
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sessions import times_of
from hdbkit.api.result import Result
from hdbkit.api.running import OnTick, Running, RunVerbs
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import InputError, RunFailed
from hdbkit.plan import RunPlan, random_letters
from hdbkit.results.catalog import runs_under
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest, Status
from hdbkit.run_order import in_turn
from hdbkit.workloads import specification


@dataclass(frozen=True)
class Work:
    """What a side measures; without a workload or load of its own it takes the other side's."""

    target: Target
    workload: WorkloadSpec | None = None
    load: Load | None = None
    users: tuple[int, ...] = ()
    """The counts of virtual users of its runs, ascending; empty for a target."""


@dataclass(frozen=True)
class Settled:
    """What is measured; a side has the other side's where it has none of its own."""

    target: Target
    workload: WorkloadSpec | None
    load: Load

    def measured_by(self, plan: RunPlan, virtual_users: int | None = None) -> bool:
        """Whether a run with this plan measured this, at this count of virtual users or at whatever count."""
        pairs = [(self.load, plan.load), *([(self.workload, plan.workload)] if self.workload else [])]
        same = (
            getattr(own, name) == getattr(other, name, None)
            for own, other in pairs
            for name in own.model_fields_set - {"virtual_users"}
        )
        users = virtual_users or plan.load.virtual_users
        return plan.target.url == self.target.url and plan.load.virtual_users == users and all(same)


@dataclass(frozen=True)
class Turn:
    """Run ``number`` of ``runs`` of a comparison, from 1."""

    label: str
    number: int
    runs: int
    block: int
    side: str
    virtual_users: int
    result: Result
    measured: bool
    """Whether it was measured now; else it was kept from before."""


OnTurn = Callable[[Turn], None]


def work_of(runs: Sequence[Result]) -> Work:
    """What runs measured: the newest run's target, workload and load, at the user counts of all.

    Raises:
        InputError: they belong to a sweep, which alone can set their server again.
    """
    newest = max(runs, key=lambda one: one.run_id)
    plan = RunPlan.model_validate(newest.manifest.plan)
    if plan.sweep is not None:
        raise InputError(
            f"run {newest.run_id} belongs to sweep {plan.sweep.sweep_id}, whose settings are not applied here; "
            "give a target, or runs that belong to no sweep"
        )
    return Work(plan.target, plan.workload, plan.load, tuple(sorted({one.virtual_users for one in runs})))


def new_label(verb: str = "compare") -> str:
    """A label that no runs have."""
    return f"{verb}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{random_letters()}"


def require_word(label: str) -> None:
    """Raise ``InputError`` if a label is not one word."""
    if not re.fullmatch(r"[\w.:+-]+", label):
        raise InputError(f"a label is one word of letters, digits and . : + - _, not '{label}'")


def measure_in_turn(
    works: Mapping[str, Work],
    blocks: int,
    *,
    workload: WorkloadSpec | Path | str | None,
    load: Load | None,
    virtual_users: Sequence[int],
    label: str,
    watch: OnTurn,
    watch_run: OnTick | None,
    lab: RunVerbs,
    together: bool = False,
) -> dict[str, list[Result]]:
    """Measure both sides; the results of each in their order.

    Args:
        works: by side what it measures; there may be more than two, unless they are measured together.
        blocks: the number of runs of each side at each count.
        workload: replaces that of both sides.
        load: its given fields replace those of both sides.
        virtual_users: the counts; by default those that both sides have.
        label: of the runs, with the side appended. Runs that have it already are kept.
        watch: called after each run.
        watch_run: called several times per second with the present run.
        lab: the workspace for the runs.
        together: both run at the same time; a run is kept only beside the one that ran with it.

    Raises:
        InputError: a run cannot be started, runs of this label are of other work, or both sides are one target, which
            cannot be measured together.
        KeyboardInterrupt: stopped; finished runs are kept.
    """
    counts = _counts(works, load, virtual_users)
    if blocks < 1 or min(counts) < 1:
        raise InputError(f"give counts of virtual users and blocks of 1 or more, not {list(counts)}, {blocks}")
    require_word(label)
    settled = _settled(works, workload, load)
    if together and len({one.target.url for one in settled.values()}) < len(settled):
        raise InputError("both sides are the same target: its runs can be measured in turn, but not together")
    kept = {side: _kept(f"{label}-{side}", settled[side], lab) for side in works}
    if together:
        kept = _kept_together(kept)
    done: dict[str, list[Result]] = {side: [] for side in works}
    runs, number = len(works) * len(counts) * blocks, 0
    for block, users, order in _turns(label, blocks, counts, list(works)):
        waiting = {side: one for side in order for one in kept[side][::-1] if one.virtual_users == users}
        missing = [side for side in order if side not in waiting]
        works_of = {side: (settled[side], f"{label}-{side}") for side in missing}
        measured = _together(works_of, users, watch_run, lab) if together and missing else {}
        for side in order:
            result = waiting.get(side) or measured.get(side) or _run(*works_of[side], users, watch_run, lab)
            if side in waiting:
                kept[side].remove(result)
            done[side].append(result)
            common_metric({name: [(one.folder, one.manifest) for one in found] for name, found in done.items()})
            number += 1
            watch(Turn(label, number, runs, block, side, users, result, side not in waiting))
    return done


def _counts(works: Mapping[str, Work], load: Load | None, virtual_users: Sequence[int]) -> tuple[int, ...]:
    """The counts of virtual users: as given, else those that all runs of the sides have in common."""
    if virtual_users:
        return tuple(dict.fromkeys(virtual_users))
    if load is not None and "virtual_users" in load.model_fields_set:
        return (load.virtual_users,)
    known = [set(work.users) for work in works.values() if work.users]
    if not known:
        return (Load().virtual_users,)
    common = tuple(sorted(set.intersection(*known)))
    if not common:
        raise InputError("the sides have no count of virtual users in common; give the counts: --virtual-users 1,4")
    return common


def _settled(
    works: Mapping[str, Work], workload: WorkloadSpec | Path | str | None, load: Load | None
) -> dict[str, Settled]:
    """The sides with what replaces their workload and parts of their load."""
    given = {name: getattr(load, name) for name in load.model_fields_set} if load else {}
    own = [work for work in works.values() if work.load is not None]
    found = {}
    for side, work in works.items():
        source = work if work.load is not None or not own else own[0]
        spec = source.workload if workload is None else specification(workload)
        found[side] = Settled(work.target, spec, (source.load or Load()).with_(**given))
    return found


def _turns(
    label: str, blocks: int, counts: Sequence[int], sides: Sequence[str]
) -> Iterator[tuple[int, int, list[str]]]:
    """Block, user count and order of the sides; the same for the same label."""
    seed = zlib.crc32(label.encode())
    for block in range(1, blocks + 1):
        position = dict(zip(sides, in_turn(len(sides), seed, block), strict=True))
        for users in random.Random(f"{label}/{block}").sample(list(counts), len(counts)):
            yield block, users, sorted(position, key=position.__getitem__)


def _run(work: Settled, label: str, users: int, watch: OnTick | None, lab: RunVerbs) -> Result:
    load = work.load.with_(virtual_users=users)
    return _done(lab.run(work.target, work.workload, load, label=label, watch=watch))


def _together(
    works: Mapping[str, tuple[Settled, str]], users: int, watch: OnTick | None, lab: RunVerbs
) -> dict[str, Result]:
    """The results of simultaneous runs, one of each side with its label; ``watch`` is called with the first."""
    running: dict[str, Running] = {}
    try:
        for side, (work, label) in works.items():
            load = work.load.with_(virtual_users=users)
            running[side] = lab.start(work.target, work.workload, load, label=label)
        return {side: _done(one.wait(watch)) for side, one in running.items()}
    except BaseException:
        for one in running.values():
            if not one.status.ended:
                one.stop()
                with suppress(RunFailed):
                    one.wait()
        raise


def _done(result: Result) -> Result:
    if result.manifest.status is Status.STOPPED:
        raise KeyboardInterrupt(f"{result.run_id} was stopped, which also stops the comparison")
    return result


def _kept_together(kept: Mapping[str, Sequence[Result]]) -> dict[str, list[Result]]:
    """The kept runs that ran at the same time as one of the other side, in their order."""
    found: dict[str, list[Result]] = {BASE: [], NEW: []}
    for base in kept[BASE]:
        beside = [new for new in kept[NEW] if new not in found[NEW] and _overlap(base.manifest, new.manifest)]
        if beside:
            found[BASE].append(base)
            found[NEW].append(beside[0])
    return found


def _overlap(one: Manifest, other: Manifest) -> bool:
    """Whether two runs at one count of virtual users were measured at the same time, at least in part."""
    (begun, ended), (other_begun, other_ended) = (
        (times["started"], times["ended"]) for times in (times_of(one), times_of(other))
    )
    same = one.plan["load"]["virtual_users"] == other.plan["load"]["virtual_users"]
    return bool(same and begun < other_ended and other_begun < ended)


def _kept(label: str, work: Settled, lab: RunVerbs) -> list[Result]:
    """The complete runs of a label, oldest first. Raises ``InputError`` if one of them measured something else."""
    found = [Result(RunFolder(lab.results / run_id), lab) for run_id in reversed(runs_under(lab.results, label))]
    for one in found:
        if not work.measured_by(RunPlan.model_validate(one.manifest.plan)):
            raise InputError(
                f"run {one.run_id} has the label {label} and measured something else; give another label"
            )
    return [one for one in found if one.manifest.status is Status.DONE]
