"""The optimizer's plans of the same queries on two sides: which differ, and where, line by line.

Two plans are alike if they differ in numbers only: costs, estimated rows and parameters of a query are no other plan.

The parameters of the queries follow from the seed, which is that of the block: only plans of one block are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from hdbkit.errors import DamagedResult
from hdbkit.results.kept import QueryPlan
from hdbkit.text import many

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile(r'(?<![\w])\d[\d,.]*(?:[eE][+-]?\d+)?|(?<="possible_keys": )\[.*\]')
"""What is no part of a plan: numbers, but not those of a name, and indexes that were considered."""
_SPACE = re.compile("[\\s\N{BOX DRAWINGS LIGHT HORIZONTAL}]+")


@dataclass(frozen=True)
class PlanPair:
    """The plans of an operation on both sides, in lines next to each other; a line may be empty."""

    operation: str
    lines: tuple[tuple[str, str], ...]
    differs: tuple[bool, ...]
    """For each pair of lines, whether they differ in more than numbers."""

    @property
    def alike(self) -> bool:
        """Whether both sides have the same plan."""
        return not any(self.differs)


def plan_pairs(base: Mapping[str, QueryPlan], new: Mapping[str, QueryPlan]) -> list[PlanPair]:
    """The operations of which both sides kept the plan, in their order."""
    return [_pair(name, base[name].text, new[name].text) for name in base if name in new]


def _pair(operation: str, base: str, new: str) -> PlanPair:
    sides = base.splitlines(), new.splitlines()
    shapes = shape(base), shape(new)
    lines: list[tuple[str, str]] = []
    differs: list[bool] = []
    for what, first, end, other_first, other_end in SequenceMatcher(None, *shapes, autojunk=False).get_opcodes():
        left, right = sides[0][first:end], sides[1][other_first:other_end]
        height = max(len(left), len(right))
        left, right = left + [""] * (height - len(left)), right + [""] * (height - len(right))
        lines += zip(left, right, strict=True)
        differs += [what != "equal"] * height
    return PlanPair(operation, tuple(lines), tuple(differs))


def shape(text: str) -> tuple[str, ...]:
    """The lines of a plan without its numbers; plans of equal shape are alike."""
    return tuple(_SPACE.sub(" ", _NUMBER.sub("#", line)).strip() for line in text.splitlines())


def plans_note(pairs: Sequence[PlanPair]) -> str:
    """How many plans differ, as a sentence without its full stop; empty where no plan is known."""
    if not pairs:
        return ""
    different = [one.operation for one in pairs if not one.alike]
    which = f": {', '.join(different)}" if 0 < len(different) < len(pairs) else ""
    return f"{len(different)} of {len(pairs)} plans of queries differ{which}"


Plans = Mapping[str, QueryPlan]
_FULL_SCANS = re.compile(
    r"Seq Scan on (\w+)|TABLE ACCESS (?:STORAGE )?FULL\W+(\w+)|\bSCAN (\w+)(?! USING)"
    r'|"table_name": "(\w+)",\s*"access_type": "ALL"'
)
"""How engines write a full scan of a table."""
_INDEXES = re.compile(r'\b(?:[Uu]sing|USING INDEX|Bitmap Index Scan on) (\w+)|"key": "(\w+)"')
"""How they write the use of an index."""


def other_plans(base: Sequence[Plans], new: Sequence[Plans]) -> list[str]:
    """The statements of which no run of one side has a plan of the other, each with what it changed to."""
    found = []
    for name in dict.fromkeys(name for one in base for name in one):
        sides = [{shape(one[name].text): one[name].text for one in side if name in one} for side in (base, new)]
        if not all(sides) or sides[0].keys() & sides[1].keys():
            continue
        found.append(f"{name} {_change(*(list(side.values()) for side in sides))}")
    return found


def changes_within(plans: Plans) -> list[tuple[float, str, str]]:
    """The plans that changed within a run: the second at which that was seen, the statement, and what it does now."""
    return [
        (before.until_s, name, _change([before.text], [after]))
        for name, one in plans.items()
        for before, after in zip(one.earlier, [*(each.text for each in one.earlier[1:]), one.text], strict=False)
    ]


def _change(old: Sequence[str], new: Sequence[str]) -> str:
    """What became of plans: the tables that they read in full, else the indexes that they use."""
    for pattern, verb in ((_FULL_SCANS, "reads all of"), (_INDEXES, "uses")):
        before, after = (
            {next(filter(None, one.groups())) for text in side for one in pattern.finditer(text)}
            for side in (old, new)
        )
        more, fewer = sorted(after - before), sorted(before - after)
        words = [f"now {verb} {', '.join(more)}"] if more else []
        words += [f"no longer {verb} {', '.join(fewer)}"] if fewer else []
        if words:
            return " and ".join(words)
    return "has another plan"


_BASELINE = 0


@dataclass(frozen=True)
class ChangedPlan:
    """A plan of a query that is not the baseline's, beside it, and the labels of the configurations that have it."""

    labels: tuple[str, ...]
    pair: PlanPair


def changed_plans(
    runs: pd.DataFrame, labels: Mapping[int, str], plans_of: Callable[[str], Plans]
) -> list[ChangedPlan]:
    """The plans that differ from the baseline's in more than numbers, at the largest count of users.

    Args:
        runs: one row per run, as ``results.experiment_runs.runs_frame`` gives it.
        labels: the labels of the configurations.
        plans_of: the plans of a run, by its id; may raise ``DamagedResult``, and is then as if the run had none.

    Returns:
        By query, a plan that several configurations have is listed once; empty where runs keep no plans.
    """
    found: dict[tuple[str, tuple[str, ...]], ChangedPlan] = {}
    for configuration, base, new in _alike(runs, plans_of):
        for pair in plan_pairs(base, new):
            if pair.alike:
                continue
            key = pair.operation, shape(new[pair.operation].text)
            before = found[key].labels if key in found else ()
            found[key] = ChangedPlan((*before, labels[configuration]), found[key].pair if before else pair)
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _alike(runs: pd.DataFrame, plans_of: Callable[[str], Plans]) -> Iterator[tuple[int, Plans, Plans]]:
    """By configuration, its plans in the first block that has both, after those of the baseline."""
    done = runs[(runs["status"] == "done") & (runs["virtual_users"] == runs["virtual_users"].max())]
    ids = {(int(row.configuration), int(row.block)): str(row.run_id) for row in done.itertuples()}
    baseline: dict[int, Plans] = {}
    seen: set[int] = set()
    for (configuration, block), run_id in sorted(ids.items()):
        if configuration == _BASELINE or configuration in seen or (_BASELINE, block) not in ids:
            continue
        seen.add(configuration)
        if block not in baseline:
            baseline[block] = _known(ids[_BASELINE, block], plans_of)
        if not baseline[block]:
            return
        yield configuration, baseline[block], _known(run_id, plans_of)


def _known(run_id: str, plans_of: Callable[[str], Plans]) -> Plans:
    with suppress(DamagedResult):
        return plans_of(run_id)
    return {}


def changed_note(changed: Sequence[ChangedPlan]) -> str:
    """The queries whose plan differs from the baseline's somewhere, without a full stop; empty if none does."""
    names = dict.fromkeys(one.pair.operation for one in changed)
    if not names:
        return ""
    return f"{many(len(names), 'query')} with a plan that differs from the baseline's: {', '.join(names)}"
