"""A new connection for each operation, and the end of a run at a lost connection."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from hdbkit.config import Load
from hdbkit.errors import CannotConnect, ConfigErrors
from hdbkit.execution.control import Field
from hdbkit.execution.usage import Usage
from hdbkit.execution.user import End
from hdbkit.execution.virtual_user import VirtualUser
from hdbkit.results.spool import read_spools
from tests.unit.test_turns import done, own_null_database, stop, users

__all__ = ["own_null_database"]
LOGIN_NS = 3_000_000


def logging_in(folder: Path, monkeypatch: pytest.MonkeyPatch, load: Load, **options: object) -> VirtualUser:
    """A connected user whose further logins take ``LOGIN_NS``."""
    (user,) = users(folder, 1, seconds=60, load=load, **options)
    connect = user.connect

    def slowly() -> None:
        time.sleep(LOGIN_NS / 1e9)
        connect()

    monkeypatch.setattr(user, "connect", slowly)
    return user


def records(folder: Path) -> np.ndarray:
    return np.concatenate([found for _, found in read_spools(folder)])


def test_response_time_contains_the_login_and_service_time_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = logging_in(tmp_path, monkeypatch, Load(connect_per_operation=True, iterations=20))
    sessions = []
    attempt = user.attempt

    def remembered() -> int | None:
        refused = attempt()
        sessions.append(user.session)
        return refused

    monkeypatch.setattr(user, "attempt", remembered)
    assert user.run(Usage()) is End.LIMIT
    found = records(tmp_path)
    assert len(found) == 20
    assert len({id(one) for one in sessions}) == 20, "each operation has a session of its own"
    assert (found["start_ns"] - found["scheduled_ns"] >= LOGIN_NS).all()
    assert (found["end_ns"] - found["start_ns"]).min() < LOGIN_NS
    assert (found["scheduled_ns"][1:] >= found["end_ns"][:-1]).all(), "a closed loop"
    assert np.unique(found["operation"]).size > 1, "each connection draws anew"


def test_a_login_of_an_open_loop_begins_when_its_operation_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Load(connect_per_operation=True, rate=200, arrivals="uniform", iterations=10)
    user = logging_in(tmp_path, monkeypatch, load)
    assert user.run(Usage()) is End.LIMIT
    found = records(tmp_path)
    assert set(np.diff(found["scheduled_ns"])) == {5_000_000}, "the schedule is kept"
    assert (found["start_ns"] - found["scheduled_ns"] >= LOGIN_NS).all()


def test_a_refused_login_is_tried_again_until_the_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = logging_in(tmp_path, monkeypatch, Load(connect_per_operation=True, iterations=5))
    connect, tried = user.connect, [0]

    def refuse_some() -> None:
        tried[0] += 1
        if tried[0] == 2:
            raise CannotConnect("nulldb:///turns", "too many connections", "use fewer")
        if tried[0] == 6:
            stop(user)
            raise CannotConnect("nulldb:///turns", "too many connections", "use fewer")
        connect()

    monkeypatch.setattr(user, "connect", refuse_some)
    user.run(Usage())
    assert tried == [6]
    assert done(tmp_path) == {0: 4}
    assert records(tmp_path)["start_ns"].max() < user.shared.fields[Field.STOP_AT_NS]


@pytest.mark.parametrize("reconnect", [True, False])
def test_a_lost_connection_stops_the_run_if_it_is_not_to_be_opened_again(tmp_path: Path, reconnect: bool) -> None:
    load = Load(reconnect=reconnect, iterations=3)
    (user,) = users(tmp_path, 1, seconds=60, load=load, error_rate=1, error_class="connection_lost")
    assert user.run(Usage()) is (End.LIMIT if reconnect else End.RAISED)
    assert done(tmp_path) == {0: 3 if reconnect else 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keying_and_thinking": True}, "connect_per_operation and keying_and_thinking exclude each other"),
        ({"replica_reads": True}, "connect_per_operation and replica_reads exclude each other"),
        ({"virtual_users": 4, "users_per_process": 2}, "omit users_per_process"),
        ({"sessions_per_user": 2}, "omit sessions_per_user"),
    ],
)
def test_options_that_need_open_connections_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigErrors, match=words):
        Load(connect_per_operation=True, **options)
