"""The address by which a server is known, and how a server that has ended is started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Session
from hdbkit.errors import NothingListens, ServerFailed
from hdbkit.servers.server_access import ServerAccess, host_of


@pytest.mark.parametrize("host", [None, "localhost", "LOCALHOST", "127.0.0.1", "::1", "/var/run/postgresql"])
def test_each_name_of_this_host_is_the_same_address(host: str | None) -> None:
    assert host_of(Target(kind="postgresql", host=host)) == "postgresql://localhost:"
    assert host_of(Target(kind="postgresql", host="DB1")) == "postgresql://db1:"


class StalePower:
    """A server that nothing can stop, since it has ended; its status command reports another process."""

    running = True

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self, ended: bool = False) -> None:
        self.calls.append("start" if ended else "nothing, since it seems to run")

    def start_ended(self, answers: Callable[[], bool]) -> None:
        assert not answers()
        self.start(ended=True)

    def stop(self) -> None:
        self.calls.append("stop")
        raise ServerFailed("there is no such process")

    def restart(self) -> None:
        self.stop()
        self.start()

    def last_log_lines(self) -> str:
        return ""


class Accessed(ServerAccess):
    """A server that listens once it was started."""

    @contextmanager
    def _session(self, target: Target | None = None) -> Iterator[Session]:
        assert isinstance(self.power, StalePower)
        if "start" not in self.power.calls:
            raise NothingListens("db1", "nothing listens", "start it")
        yield Answer()  # type: ignore[misc]


class Answer:
    """A session of a server that reports when it read its settings and was started."""

    def ask(self, *_: Any) -> list[tuple[Any, ...]]:
        return [(1, 2)]


def test_a_server_that_listens_no_more_is_started_whatever_its_status_command_reports() -> None:
    power = StalePower()
    Accessed(Target.parse("postgresql://db1/x").with_(may_restart=True), power=power)._start()
    assert power.calls == ["start"]
