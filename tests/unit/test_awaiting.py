"""Questions that wait for a server: signals, limits, who holds what is waited for, forks; on a double of a driver."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hdbkit import awaiting
from hdbkit.awaiting import awaited, in_time, reported_to, stopped_by
from hdbkit.errors import ErrorClass, GivenUp, TransactionError
from hdbkit.readings import LockHolder

WAITED_S = 60


def after(events: list[threading.Event], do: Callable[[], Any]) -> None:
    """Do something in another thread once all events have happened."""

    def work() -> None:
        for one in events:
            one.wait(WAITED_S)
        do()

    threading.Thread(target=work, daemon=True).start()


class Driver:
    """A session whose call returns when its server answers, or its socket is closed, and at no signal."""

    is_own = True

    def __init__(self, cancels: bool = True, holds: str = "") -> None:
        self.ours, self.server = socket.socketpair()
        self._cancels, self._holds = cancels, holds
        self.waits, self.asked_to_cancel = threading.Event(), threading.Event()

    def ask(self, what: str = "statement x", limit_s: float | None = None) -> bytes:
        with awaited(self, what, limit_s):
            self.waits.set()
            answer = self.ours.recv(16)
            if answer != b"done":
                known = answer == b"locked"
                error = (
                    ErrorClass.LOCK_TIMEOUT if known else ErrorClass.OTHER if answer else ErrorClass.CONNECTION_LOST
                )
                raise TransactionError(error, "1", "as the server states it")
            return answer

    def cancel(self) -> None:
        self.asked_to_cancel.set()
        if self._cancels:
            self.server.send(b"cancelled")

    def disconnect(self) -> None:
        self.ours.shutdown(socket.SHUT_RDWR)

    def obstacle(self) -> str:
        return self._holds

    def signalled(self, number: int) -> None:
        """Once it waits, a signal comes."""
        threading.Thread(
            target=lambda: (self.waits.wait(WAITED_S), os.kill(os.getpid(), number)), daemon=True
        ).start()


@pytest.fixture
def driver() -> Iterator[Callable[..., Driver]]:
    made: list[Driver] = []

    def new(cancels: bool = True, holds: str = "") -> Driver:
        made.append(Driver(cancels, holds))
        return made[-1]

    yield new
    for one in made:
        one.ours.close()
        one.server.close()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaiting, "_CANCEL_S", 0.1)
    monkeypatch.setattr(awaiting, "_REPORT_S", 0.05)
    monkeypatch.setattr(awaiting, "_POLL_S", 0.02)


def test_an_interrupt_cancels_the_statement_in_the_server_and_says_so(driver: Callable[..., Driver]) -> None:
    waiting = driver()
    waiting.signalled(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match=r"^statement x was cancelled in the server$"):
        waiting.ask()
    assert waiting.asked_to_cancel.is_set()


def test_a_server_that_does_not_cancel_loses_the_connection(driver: Callable[..., Driver]) -> None:
    frozen = driver(cancels=False)
    frozen.signalled(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="did not confirm that it cancelled statement x; the connection was"):
        frozen.ask()


def test_a_handler_that_only_notes_a_signal_ends_the_question_too(driver: Callable[..., Driver]) -> None:
    noted: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: noted.append(number))
    try:
        waiting = driver()
        waiting.signalled(signal.SIGTERM)
        with pytest.raises(GivenUp, match="statement x was cancelled in the server"):
            waiting.ask()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert noted == [signal.SIGTERM]


def test_what_was_answered_in_spite_of_an_interrupt_is_not_reported_as_cancelled(
    driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = driver()
    monkeypatch.setattr(waiting, "cancel", lambda: waiting.server.send(b"done"))
    waiting.signalled(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as stopped:
        waiting.ask()
    assert not stopped.value.args
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_question_without_an_answer_in_time_is_given_up(driver: Callable[..., Driver]) -> None:
    with pytest.raises(GivenUp, match=r"^statement x had no answer within 0\.2 s; it waits for a lock on t$") as late:
        driver(holds="a lock on t").ask(limit_s=0.2)
    assert late.value.error_class is ErrorClass.STATEMENT_TIMEOUT
    with pytest.raises(GivenUp, match=r"had no answer within 0\.05 s") as lost:
        driver(cancels=False).ask(limit_s=0.05)
    assert lost.value.lost


def test_what_is_waited_for_is_reported_once_and_is_part_of_the_error(driver: Callable[..., Driver]) -> None:
    lines: list[str] = []
    waiting = driver(holds="a lock on t, held by session 9")

    def receive(text: str) -> None:
        lines.append(text)
        waiting.server.send(b"locked")

    with (
        reported_to(receive),
        pytest.raises(GivenUp, match=r"^statement x waited .* for a lock on t, held by session 9;"),
    ):
        waiting.ask()
    assert lines == ["statement x waits for a lock on t, held by session 9"]


def test_long_work_that_waits_for_nothing_is_not_reported_and_a_short_question_is(
    driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    works, silent, asked = driver(), driver(), threading.Event()

    def obstacle() -> str:
        asked.set()
        return ""

    def done(_: str) -> None:
        silent.server.send(b"done")

    monkeypatch.setattr(works, "obstacle", obstacle)
    after([asked], lambda: threading.Timer(0.1, works.server.send, [b"done"]).start())  # a line must not come
    with reported_to(lines.append):
        works.ask()
        assert lines == []
        with reported_to(done):
            silent.ask(limit_s=WAITED_S)
    assert lines == ["statement x waits: the server has not answered for 0 s"]


def test_an_event_ends_the_questions_of_a_thread_and_of_its_pool(driver: Callable[..., Driver]) -> None:
    stop, waiting = threading.Event(), [driver(), driver()]
    after([one.waits for one in waiting], stop.set)

    def fails(one: Driver) -> bool:
        with pytest.raises(GivenUp, match="was cancelled"):
            one.ask()
        return True

    with stopped_by(stop), awaiting.threads(2) as pool:
        assert list(pool.map(fails, waiting)) == [True, True]


def test_a_pool_whose_block_is_interrupted_does_not_wait_for_its_questions(driver: Callable[..., Driver]) -> None:
    waiting = driver()
    waiting.signalled(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), awaiting.threads(1) as pool:
        pool.submit(waiting.ask).result(WAITED_S)
    assert waiting.asked_to_cancel.wait(WAITED_S)


def test_a_process_that_forks_has_no_thread_of_the_watch_and_watches_on(driver: Callable[..., Driver]) -> None:
    waiting = driver()
    asking = threading.Thread(target=waiting.ask)
    asking.start()
    waiting.waits.wait(WAITED_S)
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        answer = b"-"
        try:
            again = driver()
            again.server.send(b"done")
            answer = b"%d" % len(awaiting._watch._open) + again.ask()
        finally:
            os.write(writing, answer)
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 16) == b"0done"
    waiting.server.send(b"done")
    asking.join(WAITED_S)
    assert not asking.is_alive()
    os.close(reading)
    os.close(writing)


def test_a_connect_that_is_not_answered_is_left_alone_and_a_late_connection_is_closed() -> None:
    answer, closed = threading.Event(), threading.Event()

    def connect() -> str:
        answer.wait(WAITED_S)
        return "connection"

    with pytest.raises(TimeoutError):
        in_time(connect, 0.05, lambda _: closed.set())
    assert not closed.is_set()
    answer.set()
    assert closed.wait(WAITED_S)


def test_an_interrupt_ends_a_connect_at_once() -> None:
    begun, answer = threading.Event(), threading.Event()

    def connect() -> None:
        begun.set()
        answer.wait(WAITED_S)

    after([begun], lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        in_time(connect, WAITED_S, lambda _: None)
    answer.set()


def test_a_connect_that_fails_fails_with_its_own_error() -> None:
    def connect() -> None:
        raise GivenUp(ErrorClass.OTHER, "", "reason")

    with pytest.raises(GivenUp, match="reason"):
        in_time(connect, WAITED_S, lambda _: None)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (
            ("a lock on t", "session 9", "bench", "psql", "idle in transaction", 720),
            "a lock on t, held by session 9 (psql of bench, idle in transaction for 12 minutes)",
        ),
        (
            ("a lock", "possibly session 9", "bench", "", "", None),
            "a lock, possibly held by session 9 (a session of bench)",
        ),
        (("a lock", "session 9", None, None, None, None), "a lock, held by session 9"),
        (("the end of a commit", "", "", "", "", None), "the end of a commit"),
    ],
)
def test_a_holder_is_named_as_far_as_the_server_tells(row: tuple[object, ...], text: str) -> None:
    assert str(LockHolder.of(*row)) == text
