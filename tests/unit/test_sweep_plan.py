"""The plan of a sweep before it starts."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import groupby, islice, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdbkit.api.sweeping import _completed
from hdbkit.config import Load, SweepSpec, Target, TprocHSpec, preparation
from hdbkit.contracts import ApplyBy, Setting
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.sweep.block_order import block_order
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep, with_winners
from hdbkit.experiment.plan import new_experiment_id, run_plan
from hdbkit.run_order import baseline_runs, in_turn, orders

TARGET = Target(kind="nulldb")
AT = datetime(2026, 11, 20, 21, 4, tzinfo=UTC)


def spec(**changes: object) -> SweepSpec:
    grid = {"memory": ["1GB", "2GB", "4GB"], "flush": [True, False]}
    return SweepSpec(**{"settings": grid, "virtual_users": [2, 8], "blocks": 4, **changes})


def plan_grid(grid: dict[str, list[str]]) -> tuple[dict[str, str], ...]:
    return plan_sweep(TARGET, spec(settings=grid), "s").configurations


def order(plan: SweepPlan) -> list[tuple[int, int, int]]:
    return [(one.block, one.configuration, one.virtual_users) for one in plan.runs]


def test_the_grid_is_full_and_the_baseline_comes_first() -> None:
    plan = plan_sweep(TARGET, spec(), "s")
    assert plan.configurations[0] == {"memory": "1GB", "flush": "on"}
    assert len({tuple(one.items()) for one in plan.configurations}) == 6


def test_the_baseline_is_what_the_spec_names() -> None:
    plan = plan_sweep(TARGET, spec(baseline={"memory": "4GB"}), "s")
    assert plan.configurations[0] == {"memory": "4GB", "flush": "on"}
    assert len(plan.configurations) == 6


def test_a_block_runs_everything_once_but_the_baseline_and_blocks_follow_each_other() -> None:
    """Five comparisons: the baseline twice at each count of users."""
    plan = plan_sweep(TARGET, spec(), "s")
    assert [one.number for one in plan.runs] == list(range(1, 7 * 2 * 4 + 1))
    blocks = [[place[1:] for place in block] for _, block in groupby(order(plan), key=lambda place: place[0])]
    assert len(blocks) == 4
    assert all(sorted(block) == sorted((c, u) for c in (0, *range(6)) for u in (2, 8)) for block in blocks)


@pytest.mark.parametrize(("compared", "times"), [(0, 1), (1, 1), (2, 1), (3, 2), (7, 3), (26, 5)])
def test_the_baseline_runs_as_often_as_the_root_of_its_comparisons(compared: int, times: int) -> None:
    assert baseline_runs(compared) == times


def test_the_baseline_runs_at_random_places_of_a_block() -> None:
    """Two of seven runs at one count: each place 2 / 7 of 1,400 blocks, a standard deviation of 17."""
    grid = {"size": [str(n) for n in range(6)]}
    orders = [block_order(spec(virtual_users=[1], seed=seed), 1, plan_grid(grid)) for seed in range(1400)]
    places = Counter(
        place for block in orders for place, (configuration, _) in enumerate(block) if configuration == 0
    )
    assert all(330 < places[place] < 470 for place in range(7))


def test_a_block_of_what_is_left_runs_the_baseline_for_what_is_left() -> None:
    """Three of four comparisons are decided at 2 users and all at 8."""
    configurations = plan_grid({"size": [str(n) for n in range(5)]})
    decided = [(2, one) for one in (1, 2, 3)] + [(8, one) for one in (1, 2, 3, 4)]
    assert sorted(block_order(spec(), 3, configurations, decided=decided)) == [(0, 2), (4, 2)]


def test_the_order_within_blocks_is_random_and_repeatable() -> None:
    plan = plan_sweep(TARGET, spec(), "s")
    blocks = [[place[1:] for place in block] for _, block in groupby(order(plan), key=lambda place: place[0])]
    assert len({tuple(block) for block in blocks}) == 4
    assert order(plan) == order(plan_sweep(TARGET, spec(), "other"))
    assert order(plan) != order(plan_sweep(TARGET, spec(seed=2), "s"))


@given(count=st.integers(1, 9), square=st.integers(0, 3), seed=st.integers(0, 2**40))
def test_in_cycles_each_has_every_turn_and_follows_each_other_equally_often(
    count: int, square: int, seed: int
) -> None:
    rows = count if count % 2 == 0 else 2 * count
    cycles = list(islice(orders(count, seed), square * rows, (square + 1) * rows))
    assert all(sorted(cycle) == list(range(count)) for cycle in cycles)
    assert Counter(pair for cycle in cycles for pair in enumerate(cycle)) == dict.fromkeys(
        product(range(count), repeat=2), rows // count
    )
    assert Counter(pair for cycle in cycles for pair in pairwise(cycle)) == dict.fromkeys(
        permutations(range(count), 2), rows // count
    )


@given(count=st.sampled_from([2, 3, 5, 7]), seed=st.integers(0, 2**40))
def test_a_cycle_begins_as_the_one_before_ended(count: int, seed: int) -> None:
    chained = [before[-1] == after[0] for before, after in pairwise(islice(orders(count, seed), 4 * count))]
    assert all(chained if count > 2 else [*chained[:3], *chained[4:]]), "of two, every fourth begins with either"


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6, 8])
def test_no_wave_meets_the_slices_of_two_in_one_phase(period: int) -> None:
    """The mean of a wave over the slices of one, less that of the other, along many cycles."""
    order = np.array([item for cycle in islice(orders(2, 3), 1000) for item in cycle])
    wave = np.exp(2j * np.pi * np.arange(len(order)) / period)
    assert abs(np.mean(wave * np.where(order, 1, -1))) < 0.1


def test_the_orders_of_three_come_twice_before_the_draw_begins_anew() -> None:
    for square in range(3):
        drawn = Counter(tuple(in_turn(3, 5, square * 12 + block)) for block in range(1, 13))
        assert drawn == dict.fromkeys(permutations(range(3)), 2)


def test_the_order_of_two_does_not_depend_on_that_of_the_blocks_before() -> None:
    """Each of the eight orders of three blocks as often as any other: 100 expected, a standard deviation of 9."""
    drawn = Counter(tuple(in_turn(2, seed, block)[0] for block in (1, 2, 3)) for seed in range(800))
    assert len(drawn) == 8
    assert all(60 < n < 140 for n in drawn.values())


@given(count=st.integers(1, 9), seed=st.integers(0, 2**40), block=st.integers(1, 60))
def test_each_has_a_turn_of_its_own_in_a_block(count: int, seed: int, block: int) -> None:
    assert sorted(in_turn(count, seed, block)) == list(range(count))


def test_every_order_of_three_is_drawn() -> None:
    """Each as often as any other: 600 draws, 100 expected of each, a standard deviation of 9."""
    drawn = Counter(tuple(in_turn(3, seed, 1)) for seed in range(600))
    assert len(drawn) == 6
    assert all(60 < n < 140 for n in drawn.values())


@given(before=st.integers(2, 6), more=st.integers(0, 6), seed=st.integers(0, 2**40))
def test_more_blocks_leave_the_earlier_ones_as_they_were(before: int, more: int, seed: int) -> None:
    plan = plan_sweep(TARGET, spec(blocks=before, seed=seed), "s")
    longer = plan.extended(before + more)
    assert longer.runs[: len(plan.runs)] == plan.runs
    assert len(longer.runs) == 14 * (before + more)


def test_blocks_that_were_planned_otherwise_stay_as_they_were() -> None:
    """A plan of an earlier version may have had its order from elsewhere."""
    plan = plan_sweep(TARGET, spec(), "s")
    other = tuple(one.model_copy(update={"configuration": 5 - one.configuration}) for one in plan.runs)
    longer = plan.model_copy(update={"runs": other}).extended(6)
    assert longer.runs[: len(other)] == other
    assert [one.number for one in longer.runs] == list(range(1, 14 * 6 + 1))


def test_winners_run_in_blocks_of_their_own() -> None:
    plan = plan_sweep(TARGET, spec(virtual_users=[1], winner_blocks=4), "s")
    fresh = with_winners(plan, [4]).runs[len(plan.runs) :]
    assert [sorted(one.configuration for one in block) for block in zip(fresh[::2], fresh[1::2], strict=True)] == [
        [0, 4]
    ] * 4
    assert [one.block for one in fresh] == [5, 5, 6, 6, 7, 7, 8, 8]


def test_blocks_are_never_taken_away() -> None:
    with pytest.raises(InputError, match="already has 4 blocks"):
        plan_sweep(TARGET, spec(), "s").extended(3)


def test_runs_of_a_block_have_one_seed_and_blocks_have_different_ones() -> None:
    plan = plan_sweep(TARGET, spec(load=Load(seed=41)), "s")
    seeds = {(planned.block, run_plan(plan, planned, AT).load.seed) for planned in plan.runs}
    assert sorted(seeds) == [(1, 41), (2, 42), (3, 43), (4, 44)]


def test_a_run_knows_its_place() -> None:
    plan = plan_sweep(TARGET, spec(load=Load(duration_s=7)), "s")
    planned = plan.runs[5]
    run = run_plan(plan, planned, AT)
    assert run.experiment is not None
    assert (run.experiment.experiment_id, run.experiment.number, run.experiment.block) == ("s", 6, planned.block)
    assert run.experiment.settings == plan.configurations[planned.configuration]
    assert (run.load.virtual_users, run.load.duration_s) == (planned.virtual_users, 7)
    assert f"-u{planned.virtual_users}-" in run.run_id


def test_the_duration_of_runs_without_a_window_is_not_known() -> None:
    unknown = spec(workload=TprocHSpec())
    plan = plan_sweep(TARGET, unknown, "s")
    assert (plan.estimated_s, plan.time_text) == (None, "its duration is known after the first run")
    with pytest.raises(InputError, match="remove time_budget_s"):
        plan_sweep(TARGET, unknown.with_(time_budget_s=3600), "s")


def test_the_time_is_estimated_from_the_phases() -> None:
    short = plan_sweep(TARGET, spec(load=Load(rampup_s=1, duration_s=2)), "s").estimated_s
    assert plan_sweep(
        TARGET, spec(load=Load(rampup_s=3, duration_s=5), cooldown_s=4), "s"
    ).estimated_s == pytest.approx(short + 56 * (2 + 3 + 4))


def test_the_cooldown_is_ten_seconds_or_the_window_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "REST_S", 10.0)
    loads = Load(rampup_s=0, duration_s=60), Load(rampup_s=0, duration_s=4)
    assert [spec(load=load).preparation.cooldown_s for load in loads] == [10.0, 4.0]
    assert [spec(load=load, cooldown_s=given).preparation.cooldown_s for load in loads for given in (0, 20)] == [
        0,
        20,
        0,
        20,
    ]
    assert "cooldown_s" not in SweepSpec(settings={"a": ["1", "2"]}).model_dump(exclude_defaults=True)


def test_a_sweep_without_end_is_refused() -> None:
    grid = {f"setting_{i}": list(range(10)) for i in range(9)}
    with pytest.raises(InputError, match="16000000000 runs"):
        plan_sweep(TARGET, spec(settings=grid, blocks=8), "s")


def test_a_plan_survives_its_file() -> None:
    plan = plan_sweep(TARGET, spec(), new_experiment_id(AT, "memory"))
    assert SweepPlan.model_validate_json(plan.model_dump_json()) == plan
    assert plan.experiment_id.startswith("20261120-210400-memory-")


def test_runs_of_one_second_have_ids_of_their_own() -> None:
    plan = plan_sweep(TARGET, spec(), "s")
    assert len({run_plan(plan, plan.runs[0], AT).run_id for _ in range(300)}) == 300


def test_a_longer_sweep_is_still_repeated_by_its_own_command() -> None:
    plan = plan_sweep(TARGET, spec(), "s", command="hdbkit demo")
    assert plan.extended(plan.spec.blocks + 1).command == "hdbkit demo"


def test_a_longer_sweep_obeys_the_bounds_of_a_new_one() -> None:
    with pytest.raises(InputError, match="blocks: must be 1000 or less"):
        plan_sweep(TARGET, spec(), "s").extended(2000)


def test_a_file_of_settings_keeps_what_the_server_has_of_the_settings_that_only_another_names() -> None:
    known = {
        "memory": Setting("memory", "16384", "8kB", None, ApplyBy.RESTART, kind="integer"),
        "port": Setting("port", "5432", None, None, ApplyBy.RESTART, kind="integer"),
    }
    files = {"own": {"port": "5432"}, "tuned": {"Memory": "1GB", "unknown": "1"}}
    engine = database("postgresql")
    whole = _completed(SweepSpec(settings_file=files), known, engine)
    assert whole.settings_file == {"own": {"memory": "128MB"}, "tuned": {"memory": "1GB", "unknown": "1"}}
    plan = plan_sweep(TARGET, whole, "s")
    assert [plan.settings_in(one) for one in (0, 1)] == list(whole.settings_file.values())
    assert plan.tried == {"memory": ("128MB", "1GB"), "unknown": ("1",)}
    with pytest.raises(InputError, match="own and tuned give the server the same settings"):
        _completed(SweepSpec(settings_file={"own": {"port": "5432"}, "tuned": {"memory": "128MB"}}), known, engine)
    text = Setting("text", "", None, None, ApplyBy.RELOAD, kind="string")
    for name in ("archive_command", "plperl.on_plperlu_init", "log_statement"):
        sweep = SweepSpec(settings_file={"own": {"memory": "1"}, "tuned": {name: "x"}})
        with pytest.raises(InputError, match=f"tuned changes {name}, which may name a program"):
            _completed(sweep, known | {name: text}, engine)
