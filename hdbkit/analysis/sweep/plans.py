"""The optimizer's plans that a sweep's configurations have in place of the baseline's, side by side with these.

The parameters of the queries follow from the seed, which is that of the block: only plans of one block are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd

from hdbkit.analysis.comparison.plans import PlanPair, plan_pairs, shape
from hdbkit.errors import DamagedResult
from hdbkit.results.query_plans import QueryPlan
from hdbkit.text import many

Plans = Mapping[str, QueryPlan]
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
        runs: one row per run, as ``results.experiment_folder.runs_frame`` gives it.
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
