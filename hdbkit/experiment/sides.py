"""Plans whose cells are sides: the targets of a comparison, the one of a profile, commits, or engines.

A block has one run of each side at each number of virtual users. The user counts come in random order, the sides of
a count next to each other, in an order of its own in each block (``run_order``), so that what changes on the machine
meets all alike. Together, the sides of a count run at the same time: what disturbs the machine for seconds then meets
both alike as well, and each is measured under the load of the other, unless their loads alternate in slices.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from pydantic import Field, model_validator

from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.wording import interim_words
from hdbkit.config import Preparation, Target
from hdbkit.config.model import ConfigModel
from hdbkit.config.specs import AnyLoad, AnyWorkload
from hdbkit.errors import InputError
from hdbkit.experiment.plan import MAX_RUNS, Cell, Design, ExperimentPlan, PlannedRun
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import ExperimentState, Step
from hdbkit.run_order import in_turn
from hdbkit.slices import SideSlices


class Side(ConfigModel):
    """What a side measures; the number of virtual users is that of each run."""

    name: str
    target: Target
    workload: AnyWorkload
    load: AnyLoad
    label: str = Field(description="label of its runs")


class SidesPlan(ExperimentPlan):
    """The plan of sides that are measured in turn."""

    sides: tuple[Side, ...]
    virtual_users: tuple[int, ...]
    blocks: int
    seed: str = Field(description="what the order of runs depends on, besides the number of the block")
    prepared: Preparation = Preparation()
    together: bool = Field(default=False, description="the sides run at the same time")
    slice_s: float | None = Field(
        default=None, gt=0, description="their loads alternate meanwhile, in slices of so many seconds"
    )
    looks: tuple[int, ...] = Field(
        default=(), description="the numbers of blocks before each time that some were added"
    )

    before: tuple[int, ...] = Field(
        default=(),
        description="the numbers of blocks, in all, at which earlier experiments under its label could end",
    )

    @model_validator(mode="after")
    def _of_its_sides(self) -> Self:
        if not all(0 <= run.configuration < len(self.sides) for run in self.runs):
            raise ValueError("its runs name sides that it does not have")
        return self

    @property
    def ends(self) -> tuple[int, ...]:
        """The numbers of blocks, with those of earlier experiments under its label, at which it could end."""
        done = self.before[-1] if self.before else 0
        return (*self.before, *(done + one for one in (*self.looks, self.blocks)))

    @property
    def confidence(self) -> float:
        """Of its intervals: the error rate is spent over each number of blocks at which it could end."""
        return Spending(self.ends[0], self.ends).level(self.ends[-1])

    def confidence_after(self, blocks: int) -> float:
        """The confidence after so many blocks, more than it has."""
        return Spending(self.ends[0], self.ends).after(self.ends[-1] - self.blocks + blocks)

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(dict.fromkeys(side.target for side in self.sides))

    def at(self, targets: Sequence[Target]) -> Self:
        """The same experiment on other descriptions of its targets."""
        now = dict(zip(self.targets, targets, strict=True))
        sides = [side.model_copy(update={"target": now[side.target]}) for side in self.sides]
        return self.model_copy(update={"sides": tuple(sides)})

    def cell(self, planned: PlannedRun) -> Cell:
        side = self.sides[planned.configuration]
        load = side.load.with_(virtual_users=planned.virtual_users, seed=planned.seed)
        return Cell(side.target, side.workload, load, label=side.label, tags=self.tags)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of its runs."""
        return ()

    @property
    def design(self) -> Design | None:
        return Design(len(self.sides) - 1, len(self.virtual_users), (self.blocks,))

    @property
    def preparation(self) -> Preparation:
        return self.prepared.before(self.sides[0].load)

    def turn(self, planned: PlannedRun) -> tuple[PlannedRun, ...]:
        """The runs of all sides at a count where they run together, else one."""
        size = len(self.sides) if self.together else 1
        first = (planned.number - 1) // size * size
        return self.runs[first : first + size]

    def side_slices(self, planned: PlannedRun, origin_ns: int) -> SideSlices | None:
        if self.slice_s is None:
            return None
        return SideSlices(
            configurations=tuple(range(len(self.sides))),
            slice_s=self.slice_s,
            seed=zlib.crc32(f"{self.seed}/{planned.block}/{planned.virtual_users}".encode()),
            side=planned.configuration,
            origin_ns=origin_ns,
        )

    def interim(self, state: ExperimentState) -> str:
        """Its place before the number of blocks that gives verdicts; empty there, and where each block gives them."""
        if self.until_decided is not None or state.next_number > len(self.runs):
            return ""
        return interim_words(self.runs[state.next_number - 1].block - 1, self.blocks)

    def extended(self, blocks: int, done: int = 0) -> Self:
        """The same experiment with a total of ``blocks`` blocks. Raises ``InputError`` if it has more."""
        if blocks < self.blocks:
            raise InputError(
                f"{self.experiment_id} already has {self.blocks} blocks; give that many or more, not {blocks}"
            )
        more = in_blocks(
            self.sides, self.virtual_users, range(self.blocks + 1, blocks + 1), self.seed, len(self.runs)
        )
        looks = (*self.looks, self.blocks) if more else self.looks
        return self.model_copy(update={"blocks": blocks, "runs": (*self.runs, *more), "looks": looks})


def finished_runs(plan: SidesPlan, folder: ExperimentFolder) -> list[list[RunFolder]]:
    """The finished runs of each side, in the order of the plan."""
    lines = folder.journal.state.runs
    found: list[list[RunFolder]] = [[] for _ in plan.sides]
    for planned in plan.runs:
        line = lines.get(planned.number)
        if line is not None and line.step is Step.RUN_FINISHED:
            found[planned.configuration].append(RunFolder(folder.root / line.run_id))
    return found


def in_blocks(
    sides: Sequence[Side], virtual_users: Sequence[int], blocks: Iterable[int], seed: str, done: int = 0
) -> tuple[PlannedRun, ...]:
    """The runs of blocks, numbered after the ``done`` ones. Raises ``InputError`` if there are too many."""
    runs = tuple(
        PlannedRun(number=number, block=block, configuration=side, virtual_users=users, seed=sides[side].load.seed)
        for number, (block, users, side) in enumerate(_positions(len(sides), virtual_users, blocks, seed), done + 1)
    )
    if done + len(runs) > MAX_RUNS:
        raise InputError(f"this would be {done + len(runs)} runs, more than the maximum of {MAX_RUNS}")
    return runs


def _positions(
    sides: int, virtual_users: Sequence[int], blocks: Iterable[int], seed: str
) -> Iterator[tuple[int, int, int]]:
    """Block, user count and side of each run, in order."""
    number = zlib.crc32(seed.encode())
    for block in blocks:
        for users in random.Random(f"{seed}/{block}").sample(list(virtual_users), len(virtual_users)):
            position = in_turn(sides, number + virtual_users.index(users), block)
            for side in sorted(range(sides), key=position.__getitem__):
                yield block, users, side
