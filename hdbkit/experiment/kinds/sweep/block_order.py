"""The runs of a sweep's blocks, in order.

A block runs every configuration once at each number of virtual users, in a random order (``run_order``), so that what
changes on the machine affects all configurations alike; the baseline, with which all are compared, about as often as
the square root of their number. The order of a block and the seed of its runs depend only on the sweep's seeds and
the block's number, so that adding blocks does not change existing ones.

If factors require rebuilding the schema, a block groups its runs by schema, with the schemas in random order, to
minimize rebuilds: a split-plot design. The runs of a block that use the same schema share one build, so the unit of a
comparison between schemas is a block (``block_model``).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from hdbkit.config import SweepSpec
from hdbkit.config.sweep_factors import schema_factors
from hdbkit.experiment.plan import PlannedRun
from hdbkit.run_order import baseline_runs, in_turn

ComparedCell = tuple[int, int]
"""Virtual users and configuration, which are compared with the baseline."""


def runs_of_blocks(
    spec: SweepSpec,
    configurations: Sequence[Mapping[str, str]],
    blocks: Iterable[int],
    decided: Collection[ComparedCell] = (),
    first: int = 1,
) -> tuple[PlannedRun, ...]:
    """The runs of blocks of a grid, numbered from ``first``, without those whose comparisons are decided."""
    positions = (
        (block, *position) for block in blocks for position in block_order(spec, block, configurations, (), decided)
    )
    return numbered_runs(spec, positions, first)


def numbered_runs(
    spec: SweepSpec, positions: Iterable[tuple[int, int, int]], first: int, fresh: bool = False
) -> tuple[PlannedRun, ...]:
    """The runs at these blocks, configurations and numbers of virtual users."""
    return tuple(
        PlannedRun(
            number=number, block=block, configuration=configuration, virtual_users=users,
            seed=(spec.load.seed + block - 1) % 2**63, fresh=fresh,
        )
        for number, (block, configuration, users) in enumerate(positions, first)
    )  # fmt: skip


def block_order(
    spec: SweepSpec,
    block: int,
    configurations: Sequence[Mapping[str, str]],
    together: Sequence[str] = (),
    decided: Collection[ComparedCell] = (),
) -> list[tuple[int, int]]:
    """Configurations and numbers of virtual users of a block, in order.

    Runs with the same schema and equal values of ``together`` are consecutive. Without those whose comparisons are
    decided, and without the baseline where all are.
    """
    compared = list(itertools.product(range(1, len(configurations)), spec.virtual_users))
    open_ = [(configuration, users) for configuration, users in compared if (users, configuration) not in decided]
    counts = Counter(users for _, users in open_)
    baseline = {users: baseline_runs(counts[users]) for users in spec.virtual_users if counts[users] or not compared}
    positions = [*((0, users) for users, times in baseline.items() for _ in range(times)), *open_]
    of_each = [(*_schema(one), *(one[name] for name in together)) for one in configurations]
    schemas = list(dict.fromkeys(of_each))
    turns = dict(zip(schemas, in_turn(len(schemas), spec.seed, block), strict=True))
    order = zip(positions, in_turn(len(positions), spec.seed, block), strict=True)
    return [position for position, _ in sorted(order, key=lambda one: (turns[of_each[one[0][0]]], one[1]))]


def _schema(configuration: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(configuration.get(name) for name in schema_factors())
