"""The search for the commit that made a server slower: what the ratios of its steps decide, without a run."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import pytest
from pydantic import ValidationError

from hdbkit.api.executing import resumed_targets
from hdbkit.config import Load, TprocCSpec
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.releases import Commit, ReleasesPlan
from hdbkit.experiment.kinds.slow_commit import Decision, SlowCommitPlan, begun, beyond, decision, halved
from hdbkit.results.experiment_folder import experiment_folder
from hdbkit.results.finding import Of, Ratio, Verdict
from hdbkit.workspace import BareWorkspace

COMMITS = [f"commit-{number}" for number in range(1, 12)]


@pytest.mark.parametrize("first_slow", range(len(COMMITS)))
def test_the_first_slow_commit_is_found_with_few_measurements(first_slow: int) -> None:
    slow: dict[str, bool | None] = {}
    while (asked := halved(COMMITS, slow)[1]) is not None:
        slow[asked] = COMMITS.index(asked) >= first_slow
    assert halved(COMMITS, slow) == ((COMMITS[first_slow],), None)
    assert len(slow) <= 4
    assert COMMITS[-1] not in slow, "it is known to be slow"


def test_where_a_comparison_stays_undecided_all_commits_that_may_be_it_are_left() -> None:
    assert halved(COMMITS, {COMMITS[4]: True, COMMITS[1]: None}) == (tuple(COMMITS[:5]), None)


def test_the_only_commit_after_the_base_needs_no_measurement() -> None:
    assert halved(["one"], {}) == (("one",), None)


def ratio(verdict: str, low: float = 0.9, value: float = 1.0, high: float = 1.1) -> Ratio:
    """The ratio of a step, of which only these figures are of interest."""
    return Ratio(
        of=Of.METRIC, figure="NOPM", label="new", against="base", virtual_users=None, ratio=value, low=low, high=high,
        verdict=Verdict(verdict), sentence=verdict,
    )  # fmt: skip


SLOW = ratio("slower", 0.2, 0.25, 0.3)
"""Half of this slowdown is a ratio of 0.5."""


@pytest.mark.parametrize(
    ("verdicts", "blocks"),
    [(["undecided", "undecided", "undecided"], [4, 8, 9]), (["undecided", "equivalent"], [4, 8]), (["faster"], [4])],
)
def test_an_undecided_whole_gets_more_blocks_up_to_the_maximum(
    tmp_path: Path, verdicts: list[str], blocks: list[int]
) -> None:
    """Without a slowdown that is shown there is no search; blocks are added as long as that is undecided."""
    plan = planned(tmp_path)
    for verdict, count in zip(verdicts, blocks, strict=True):
        assert plan.steps[0][-1] == count
        found = decision(plan, [ratio(verdict)])
        plan = plan.with_blocks(found.blocks) if found.blocks else plan
    assert found == Decision()
    assert found.is_final


def test_a_step_ends_where_its_whole_interval_is_on_one_side_of_half_the_slowdown(tmp_path: Path) -> None:
    half = sqrt(SLOW.ratio)
    assert [beyond(ratio("slower", low, 0.5, high), half) for low, high in ((0.3, 0.49), (0.51, 1), (0.4, 0.6))] == [
        True,
        False,
        None,
    ]
    plan = planned(tmp_path)
    found = decision(plan, [SLOW])
    assert found == Decision(tuple(COMMITS), None, COMMITS[4])
    plan = plan.with_commit(Commit(ref="c", commit=COMMITS[4]))
    assert decision(plan, [SLOW, ratio("slower", 0.4, 0.5, 0.6)]) == Decision(tuple(COMMITS), 8, None)
    assert decision(plan, [SLOW, ratio("slower", 0.4, 0.45, 0.49)]).commit == COMMITS[1]
    assert decision(plan.with_blocks(9), [SLOW, ratio("slower", 0.4, 0.5, 0.6)]).is_final, "no more blocks"


def test_each_step_is_the_comparison_of_two_commits_in_blocks_of_its_own(tmp_path: Path) -> None:
    """It has the confidence of a comparison that was looked at after each number of blocks."""
    plan = planned(tmp_path).with_blocks(8).with_commit(Commit(ref="c", commit=COMMITS[4]))
    whole, step = plan.step(0), plan.last_step
    assert [run.number for run in (*whole.runs, *step.runs)] == [run.number for run in plan.runs]
    assert [len(set(one.commits)) for one in (whole, step)] == [2, 2]
    assert step.commits == (plan.commits[0], plan.commits[2])
    for one in (whole, step):
        blocks = [[run.configuration for run in one.runs if run.block == block + 1] for block in range(one.blocks)]
        assert all(sorted(block) == [0, 1] for block in blocks)
        assert 0 < sum(block[0] for block in blocks) < one.blocks, "which comes first changes"
    assert whole.confidence > step.confidence
    assert whole == whole.model_copy(update={"blocks": 4, "looks": (), "runs": whole.runs[:8]}).extended(8)
    assert plan.targets == (plan.sides[0].target, plan.sides[2].target)


def test_a_search_takes_more_blocks_of_a_step_but_not_fewer(tmp_path: Path) -> None:
    assert planned(tmp_path).extended(20).max_blocks == 20
    with pytest.raises(InputError, match="already has up to 9 blocks; give that many or more, not 8"):
        planned(tmp_path).extended(8)


def test_a_plan_from_elsewhere_has_a_commit_and_a_side_of_each_step(tmp_path: Path) -> None:
    """What reads it, such as the list of experiments, takes the first and the last of them."""
    plan = planned(tmp_path)
    assert SlowCommitPlan.model_validate_json(plan.model_dump_json()) == plan
    for name in ("commits", "sides", "configurations", "steps"):
        with pytest.raises(ValidationError, match=r"of each step a commit, a side|sides that it does not have"):
            SlowCommitPlan.model_validate_json(plan.model_copy(update={name: ()}).model_dump_json())


def test_what_somebody_else_planned_builds_nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout and the options of its build are of somebody else's choice, whatever targets are named."""
    with monkeypatch.context() as somebody:
        somebody.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
        folder = experiment_folder(tmp_path, "received")
        folder.write_plan(planned(tmp_path))
    received = experiment_folder(tmp_path, "received")
    with pytest.raises(InputError, match="builds programs from a checkout"):
        resumed_targets(
            received, ["nulldb:///a", "nulldb:///b"], accept=True, workspace=BareWorkspace(results=tmp_path)
        )


def test_a_plan_has_the_sides_that_its_runs_name(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    for configuration in (7, -1):
        run = plan.runs[0].model_copy(update={"configuration": configuration})
        with pytest.raises(ValidationError, match="name sides that it does not have"):
            type(plan).model_validate_json(plan.model_copy(update={"runs": (run,)}).model_dump_json())


def planned(root: Path) -> SlowCommitPlan:
    """A search between two commits, planned."""
    commits = tuple(Commit(ref=name, commit=name * 20) for name in ("aa", "bb"))
    first = ReleasesPlan(
        experiment_id="one", configurations=({"commit": "aa"}, {"commit": "bb"}), runs=(), sides=(), blocks=4,
        virtual_users=(1,), seed="one", checkout=root, database="nulldb", commits=commits, smallest_effect=0.02,
    )  # fmt: skip
    sides = tuple(first.side(one, TprocCSpec(warehouses=1), Load()) for one in commits)
    return begun(first.model_copy(update={"sides": sides}), "20261128-000000-slow-commit-a", COMMITS, max_blocks=9)
