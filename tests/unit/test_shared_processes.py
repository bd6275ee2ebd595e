"""Which users share a client process without being asked to."""

from __future__ import annotations

from typing import Any

import pytest

from hdbkit.config import Load, load_from, spec_from
from hdbkit.execution.shared_processes import with_shared_processes
from hdbkit.workloads import workload

WORK = workload(spec_from({}))
RESTING = {"virtual_users": 10, "sessions_per_user": 50, "keying_and_thinking": True}


def users_together(**more: Any) -> int:
    """How many users a client process serves."""
    return with_shared_processes(load_from({**RESTING, **more}), WORK).users_per_process


def test_users_whose_sessions_key_and_think_share_processes_evenly() -> None:
    assert [users_together(virtual_users=users) for users in (1, 2, 5, 6, 10, 11)] == [1, 2, 5, 3, 5, 4]
    assert [users_together(sessions_per_user=each) for each in (2, 100, 126)] == [10, 2, 1]


def test_a_process_serves_no_more_operations_than_it_can_at_once() -> None:
    assert [users_together(thinking_scale=0, keying_scale=scale) for scale in (0, 0.02, 1)] == [1, 1, 3]
    assert [users_together(keying_scale=scale, thinking_scale=scale) for scale in (0.2, 0.3, 0.6)] == [1, 2, 5]


@pytest.mark.parametrize(
    "more",
    [
        {"users_per_process": 1},
        {"sessions_per_user": 1},
        {"keying_and_thinking": False},
        {"cluster": "local:2"},
        {"fault": "kill client at 30 s"},
    ],
)
def test_a_user_has_a_process_of_its_own_wherever_that_is_asked_for_or_of_use(more: dict[str, Any]) -> None:
    assert users_together(**more) == 1


def test_the_load_is_otherwise_as_it_was() -> None:
    load = Load(**RESTING)
    assert with_shared_processes(load, WORK).given == {**load.given, "users_per_process": 5}
