"""Control of a server by SQL: what it changes, what it restores, and what it leaves to others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Session
from hdbkit.errors import ErrorClass, ServerFailed, TransactionError
from hdbkit.servers.sql_control import SqlControl

DEFAULTS = {"capacity": "200", "capacity_max": "2000", "dirty_pct": "90", "cache": "8", "of_others": "1"}
HELPING = {"dirty_pct": "0", "capacity_max": "9000", "capacity": "9000"}
ALLOWING = Target.parse("nulldb:///x").with_(may_change_settings=True)


class Server:
    """A server that applies settings at once, and has entries of its own file; ``lost_at`` loses one session."""

    def __init__(self) -> None:
        self.protected_settings: dict[str, str] = {}
        self.running, self.entries = dict(DEFAULTS), dict[str, str]()
        self.set: list[str] = []
        self.lost_at = ""
        self.left = 2

    def counters(self, _: Session) -> dict[str, float]:
        return {"commits": 0.0, "rollbacks": 0.0}

    def ask(self, operation: str, /, **given: Any) -> list[tuple[Any, ...]]:
        if operation == "set_running_setting":
            self.set.append(given["name"])
            self.running[given["name"]] = given["value"]
            return []
        self.left -= operation == "rest_left"
        answers = {
            "rest_settings": list(HELPING.items()),
            "rest_left": [("pages", self.left)],
            "running_settings": list(self.running.items()),
            "file_entries": list(self.entries.items()),
            "settings_loaded_at": [(len(self.set), 0)],
            "control_settings": [
                (name, value, None, None, "reload", None, None, None, "size", "", value, None, False)
                for name, value in self.running.items()
            ],
        }
        return answers.get(operation, [])


class Opened:
    """A session of that server; once lost, it stays lost."""

    def __init__(self, server: Server) -> None:
        self.server, self.lost = server, False

    def ask(self, operation: str, /, **given: Any) -> list[tuple[Any, ...]]:
        if operation == self.server.lost_at:
            self.server.lost_at, self.lost = "", True
        if self.lost:
            raise TransactionError(ErrorClass.CONNECTION_LOST, "2013", "lost")
        return self.server.ask(operation, **given)


class Controlled(SqlControl):
    """The control of that server."""

    identity = "its server"

    def __init__(self, server: Server, target: Target = ALLOWING) -> None:
        super().__init__(target)
        self.server = server
        self._engine = server  # type: ignore[assignment]

    @contextmanager
    def _session(self, target: Target | None = None) -> Iterator[Session]:
        yield Opened(self.server)  # type: ignore[misc]


def test_without_permission_maintenance_changes_no_setting() -> None:
    server = Server()
    Controlled(server, Target.parse("nulldb:///x")).maintain()
    assert server.set == []


def test_maintenance_speeds_up_background_work_and_resets_what_it_set() -> None:
    server = Server()
    Controlled(server).maintain()
    assert server.set == [*HELPING, *reversed(HELPING)]
    assert server.running == DEFAULTS


@pytest.mark.parametrize("lost_at", ["rest_left", "set_running_setting"])
def test_a_session_lost_in_maintenance_leaves_no_setting_behind(lost_at: str) -> None:
    server = Server()
    server.lost_at = lost_at
    Controlled(server).maintain()
    assert server.running == DEFAULTS


def test_what_cannot_be_reset_fails_the_run_and_is_reset_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    it, rightly = Controlled(server), Controlled._set_running

    def fail(*_: Any) -> None:
        raise TransactionError(ErrorClass.CONNECTION_LOST, "2006", "gone")

    monkeypatch.setattr(Controlled, "_set_running", fail)
    with pytest.raises(ServerFailed, match="capacity, capacity_max, dirty_pct could not be reset after maintenance"):
        it.maintain()
    monkeypatch.setattr(Controlled, "_set_running", rightly)
    assert server.running == {**DEFAULTS, **HELPING}
    it.start()
    assert server.running == DEFAULTS
