"""The plan of a run: the seeds that it fixes."""

from __future__ import annotations

import pytest

from hdbkit.contracts import UserPlan
from hdbkit.plan import reconnect_seed, user_seed


@pytest.mark.parametrize("run_seed", [0, 1, 2**63 - 1])
def test_no_connection_of_any_user_draws_the_inputs_of_another(run_seed: int) -> None:
    users = [UserPlan(index, user_seed(run_seed, index)) for index in range(100)]
    seeds = [reconnect_seed(user, connection) for user in users for connection in range(100)]
    assert len(set(seeds)) == len(seeds)
    assert [reconnect_seed(user, 0) for user in users] == [user.seed for user in users]
    assert all(0 <= seed < 2**63 for seed in seeds)
