"""The plan of a run: the seeds that it fixes, and what its load hints at."""

from __future__ import annotations

from typing import Any

import pytest

from hdbkit.config import Target, TprocCLoad, TprocCSpec
from hdbkit.contracts import UserPlan
from hdbkit.plan import RunPlan, reconnect_seed, user_seed
from hdbkit.workloads import workload


@pytest.mark.parametrize("run_seed", [0, 1, 2**63 - 1])
def test_no_connection_of_any_user_draws_the_inputs_of_another(run_seed: int) -> None:
    users = [UserPlan(index, user_seed(run_seed, index)) for index in range(100)]
    seeds = [reconnect_seed(user, connection) for user in users for connection in range(100)]
    assert len(set(seeds)) == len(seeds)
    assert [reconnect_seed(user, 0) for user in users] == [user.seed for user in users]
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize(
    ("users", "options", "shares"),
    [
        (2, {}, False),
        (3, {}, True),
        (3, {"all_warehouses": True}, False),
        (3, {"read_only": True}, False),
        (3, {"mix": {"order_status": 1}}, False),
        (20, {"keying_and_thinking": True}, False),
        (21, {"keying_and_thinking": True}, True),
    ],
)
def test_users_that_share_home_warehouses_are_hinted_at(users: int, options: dict[str, Any], shares: bool) -> None:
    hint = workload(TprocCSpec(warehouses=2)).hint(TprocCLoad(virtual_users=users, **options))
    assert ("share 2 warehouses, so they wait for each other's row locks; use at least 3" in hint) is shares


@pytest.mark.parametrize(
    ("each", "pauses", "ahead"),
    [(1, False, 500), (10, False, 500), (50, False, 100), (5000, False, 32), (50, True, 32)],
)
def test_many_sessions_and_those_with_pauses_draw_fewer_operations_at_once(
    each: int, pauses: bool, ahead: int
) -> None:
    load = TprocCLoad(sessions_per_user=each, keying_and_thinking=pauses)
    target = Target(kind="nulldb", database="plan")
    plan = RunPlan(run_id="plan", target=target, workload=TprocCSpec(), load=load)
    assert {one.ahead for one in plan.users} == {ahead}
