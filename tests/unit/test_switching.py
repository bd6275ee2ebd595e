"""Changes of settings by a client, between its operations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from hdbkit.contracts import Prepared, Session
from hdbkit.errors import ErrorClass, HdbkitError, TransactionError
from hdbkit.execution.pacing import Pacing
from hdbkit.execution.switching import SessionSwitch
from hdbkit.files import JsonLines, read_lines
from hdbkit.results.columns import SWITCH_LINES
from hdbkit.slices import SliceOrder, Slices

SLICES = Slices(
    configurations=(0, 1),
    settings=({"commit": "on", "memory": "1"}, {"commit": "off", "memory": "1"}),
    slice_s=10,
    seed=3,
    in_session=True,
)
PREPARED = cast(Prepared, None)


class FakeSession:
    """Notes what is set; fails with ``error`` once."""

    def __init__(self, error: ErrorClass | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.error = error

    def ask(self, operation: str, /, **arguments: Any) -> list[Any]:
        assert operation == "set_in_session"
        if self.error:
            error, self.error = self.error, None
            raise TransactionError(error, "1", "not now")
        self.asked.append((arguments["name"], arguments["value"]))
        return []


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[JsonLines]:
    with closing(JsonLines(SWITCH_LINES.of(tmp_path, 0))) as lines:
        yield lines


def switch(notes: JsonLines, begun_s: float, session: FakeSession, pacer: Pacing | None = None) -> SessionSwitch:
    """A switch in a run that began so many seconds ago."""
    started_ns = time.monotonic_ns() - round(begun_s * 1e9)
    made = SessionSwitch(SLICES, 7, started_ns, notes, pacer)
    made.attach(cast(Session, session))
    return made


@pytest.mark.parametrize("call", ["wait", "begin"])
def test_the_configuration_of_the_slice_is_set_once_and_noted(tmp_path: Path, notes: JsonLines, call: str) -> None:
    session = FakeSession()
    at = switch(notes, 25, session)  # in the third slice
    assert getattr(at, call)(PREPARED) == 0
    assert getattr(at, call)(PREPARED) == 0
    position = SliceOrder(SLICES).position(2)
    assert session.asked == list(SLICES.settings[position].items())
    (line,) = read_lines(SWITCH_LINES.of(tmp_path, 0))
    assert (line["virtual_user"], line["slice"], line["position"]) == (7, 2, position)
    assert line["due_ns"] < line["start_ns"] <= line["end_ns"]


def test_before_the_start_the_first_slice_is_set(notes: JsonLines) -> None:
    session = FakeSession()
    switch(notes, -1, session).wait(PREPARED)
    assert session.asked == list(SLICES.settings[SliceOrder(SLICES).position(0)].items())


def test_only_what_differs_is_set_in_the_next_slice(notes: JsonLines) -> None:
    session = FakeSession()
    short = SLICES.model_copy(update={"slice_s": 0.05})
    at = SessionSwitch(short, 0, time.monotonic_ns(), notes)
    at.attach(cast(Session, session))
    ended_s = time.monotonic() + 60
    while len(session.asked) < 5 and time.monotonic() < ended_s:
        at.wait(PREPARED)
    assert [name for name, _ in session.asked] == ["commit", "memory", "commit", "commit", "commit"]


def test_a_new_session_gets_everything_again(notes: JsonLines) -> None:
    first, second = FakeSession(), FakeSession()
    at = switch(notes, 5, first)
    at.wait(PREPARED)
    at.attach(cast(Session, second))
    at.wait(PREPARED)
    assert first.asked == second.asked != []


def test_a_lost_connection_is_left_to_the_operation_and_not_noted(tmp_path: Path, notes: JsonLines) -> None:
    session = FakeSession(ErrorClass.CONNECTION_LOST)
    switch(notes, 5, session).wait(PREPARED)
    assert session.asked == []
    assert read_lines(SWITCH_LINES.of(tmp_path, 0)) == []


def test_a_refused_value_ends_the_client(notes: JsonLines) -> None:
    with pytest.raises(HdbkitError, match=r"commit = \w+ cannot be set in a session: not now"):
        switch(notes, 5, FakeSession(ErrorClass.OTHER)).wait(PREPARED)


def test_a_pacer_keeps_its_times(notes: JsonLines) -> None:
    class Fixed:
        def __init__(self) -> None:
            self.ended_ns: list[int] = []

        def due_ns(self, prepared: Prepared) -> int:
            return 12

        def wait(self, prepared: Prepared) -> int:
            return 34

        def done(self, prepared: Prepared, end_ns: int) -> None:
            self.ended_ns.append(end_ns)

    pacer = Fixed()
    at = switch(notes, 5, FakeSession(), pacer)
    assert (at.due_ns(PREPARED), at.wait(PREPARED)) == (12, 34)
    at.done(PREPARED, 56)
    assert pacer.ended_ns == [56]
