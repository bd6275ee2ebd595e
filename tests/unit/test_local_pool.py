"""What a supervisor does once before it forks its clients: as a user that does not exist, and only where it may."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hdbkit import Load
from hdbkit.contracts import UserPlan
from hdbkit.execution import local_pool
from hdbkit.execution.local_pool import LocalPool


class Calls:
    """An engine, its session, a workload and its user, which note what is asked of them."""

    dialects: tuple[str, ...] = ()

    def __init__(self, *, listed: bool = False, refuses: bool = False) -> None:
        self.noted: list[Any] = []
        self._listed, self._refuses = listed, refuses

    def connect(self, target: Any, scope: Any, options: Any) -> Calls:
        if self._refuses:
            raise RuntimeError("an error of any kind")
        self.noted.append("connected")
        return self

    def listed(self, load: Any) -> bool:
        return self._listed

    def scope(self, dialects: Any) -> None:
        return None

    def user(self, session: Any, load: Any, plan: UserPlan) -> Calls:
        self.noted.append(plan.index)
        return self

    def next_batch(self) -> None:
        self.noted.append("drawn")

    def close(self) -> None:
        self.noted.append("closed")


def warmed_up(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(local_pool, "session_options", lambda _: None)
    pool = LocalPool.__new__(LocalPool)
    pool._plan = SimpleNamespace(target=None, load=Load(virtual_users=3))  # type: ignore[assignment]
    pool._warm_up(calls, calls, UserPlan(0, 1))  # type: ignore[arg-type]
    return calls.noted


def test_a_user_behind_the_last_connects_draws_and_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that sequences of the users' own begin at their first value."""
    assert warmed_up(Calls(), monkeypatch) == ["connected", 3, "drawn", "closed"]


def test_lists_of_operations_are_not_begun_and_clients_report_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert warmed_up(Calls(listed=True), monkeypatch) == []
    assert warmed_up(Calls(refuses=True), monkeypatch) == []
