"""Waits for a server's answer: a signal ends them, they have limits, and what they wait for is reported.

A driver waits in C for its server, where Python handles no signal. So each question of hdbkit's own is asked inside
:func:`awaited`. One thread of the process watches the open questions, and only while there are some. It acts on a
question when a signal arrives (by the descriptor to which Python writes signals at once), when its limit is reached,
or when a stop was requested for its thread. Then the server is asked over another connection to cancel the statement,
and a second later the connection is closed, whatever the server does. Either way the driver returns, and only then is
the signal delivered: the session is in order, and what became of the statement is known.

After some seconds the thread reports what is waited for and who holds it.
"""

from __future__ import annotations

import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final, Generic, Protocol, TypeVar

from hdbkit.errors import CannotConnect, ErrorClass, GivenUp, NoneFree, Rejected, TransactionError
from hdbkit.text import without_controls

ANSWER_LIMIT_S: Final = 60.0
"""How long the server may take to answer a question that needs no work."""
LOCK_TIMEOUT_MS: Final = 30_000
"""How long a statement of hdbkit's own waits for a lock; those of a load follow the load's own options."""
_REPORT_S = 5.0
_REPORT_AGAIN_S = 15.0
_CANCEL_S = 1.0
"""How long the server may take to end a statement that it was asked to cancel."""
_POLL_S = 0.25
"""The interval of looking for a request to stop that comes from a thread."""
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_T = TypeVar("_T")


class Asking(Protocol):
    """A session that asks a question; called from other threads than its own, while that waits in the driver."""

    is_own: bool
    """Whether hdbkit limits its waits for locks, rather than a load."""

    def cancel(self) -> None:
        """Have the server end what the session executes."""

    def disconnect(self) -> None:
        """Close the session's socket, so that the driver returns; does not wait."""

    def obstacle(self) -> str:
        """What the session waits for and who holds it, as a clause; empty if nothing is known."""


def to_stderr(text: str) -> None:
    """Write a line on standard error."""
    with suppress(OSError, ValueError):  # the terminal may be closed
        sys.stderr.write(f"hdbkit: {without_controls(text)}\n")
        sys.stderr.flush()


class _Channel(threading.local):
    """What belongs to a thread: whether it helps another wait, and what asks it to stop."""

    helps = False
    stopping: tuple[threading.Event, ...] = ()
    receivers: tuple[Callable[[str], None], ...] = ()


_channel = _Channel()
_report: Callable[[str], None] = to_stderr


def report_to(receive: Callable[[str], None]) -> Callable[[str], None]:
    """Send this process's lines about waits to ``receive``, which other threads call; return what received them."""
    global _report
    before, _report = _report, receive
    return before


@contextmanager
def stopped_by(event: threading.Event | None) -> Iterator[None]:
    """Setting ``event`` ends the questions of this thread that wait inside the block."""
    before = _channel.stopping
    if event is not None:
        _channel.stopping = (*before, event)
    try:
        yield
    finally:
        _channel.stopping = before


@contextmanager
def reported_to(receive: Callable[[str], None]) -> Iterator[None]:
    """Send what the questions of this thread wait for to ``receive``, too; another thread calls it."""
    before, _channel.receivers = _channel.receivers, (*_channel.receivers, receive)
    try:
        yield
    finally:
        _channel.receivers = before


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """A pool whose threads ask questions; they are given up when the block ends with an error or an interrupt."""
    left, outer = threading.Event(), _channel.stopping

    def begin() -> None:
        _channel.stopping = (*outer, left)

    with ThreadPoolExecutor(count, initializer=begin) as pool:
        try:
            yield pool
        except BaseException:
            left.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Wait:
    """A question that waits for its answer."""

    def __init__(self, session: Asking, what: str, limit_s: float | None) -> None:
        self.session, self.what, self.limit_s = session, what, limit_s
        self.began = now = time.monotonic()
        self.end = math.inf if limit_s is None else now + limit_s
        self.is_quiet, self.stopping = _channel.helps, _channel.stopping
        self.receivers = _channel.receivers
        self.report_at = math.inf if self.is_quiet else now + _REPORT_S
        self.poll_s = _POLL_S if self.stopping else math.inf
        self.in_main = threading.current_thread() is threading.main_thread()
        self.reason = self.obstacle = ""
        self.disconnect_at = math.inf
        self.disconnected = self.is_over = self.is_reported = False
        self.canceller: threading.Thread | None = None

    @property
    def due(self) -> float:
        """When something is to be done for it, unless a signal comes before."""
        next_poll = time.monotonic() + self.poll_s
        return min(self.disconnect_at, *((self.end, self.report_at, next_poll) if not self.reason else ()), math.inf)

    def act(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        if self.reason:
            if now >= self.disconnect_at:
                self.disconnect_at, self.disconnected = math.inf, True
                with suppress(Exception):
                    self.session.disconnect()
        elif any(one.is_set() for one in self.stopping):
            self.give_up("stopped")
        elif now >= self.end:
            self.give_up("late")
        elif now >= self.report_at:
            self.report_at = now + _REPORT_AGAIN_S
            threading.Thread(target=self._explain, daemon=True).start()

    def give_up(self, reason: str) -> None:
        """Cancel the statement in the server, and soon disconnect."""
        if not self.reason:
            self.reason, self.disconnect_at = reason, time.monotonic() + _CANCEL_S
            self.canceller = threading.Thread(target=self._cancel, daemon=True)
            self.canceller.start()

    def _cancel(self) -> None:
        _channel.helps = True
        with suppress(Exception):
            self.session.cancel()

    def _explain(self) -> None:
        """Report once what is waited for; a long statement that waits for nothing is no news."""
        _channel.helps = True
        try:
            found = self.session.obstacle()
        except CannotConnect as error:
            answers = isinstance(error, Rejected | NoneFree)
            found = "" if answers else "the server, which answers no other session either"
        except Exception:
            found = ""
        if self.is_over or self.obstacle:
            return
        if found:
            self.obstacle = found
            self._say(f"{self.what} waits for {found}")
        elif self.limit_s is not None and not self.is_reported:
            waited_s = time.monotonic() - self.began
            self._say(f"{self.what} waits: the server has not answered for {waited_s:.0f} s")
        self.is_reported = True

    def _say(self, text: str) -> None:
        for receive in (_report, *self.receivers):
            with suppress(Exception):
                receive(text)

    def ended(self) -> None:
        """The driver has returned; what was sent to cancel it must not reach a later statement."""
        self.is_over = True
        if self.canceller:
            self.canceller.join(_CANCEL_S)

    @property
    def outcome(self) -> str:
        """What became of a statement that was stopped."""
        if self.disconnected:
            return f"the server did not confirm that it cancelled {self.what}; the connection was closed"
        return f"{self.what} was cancelled in the server"

    def failed(self, error: TransactionError) -> TransactionError:
        """The error as a reader needs it: what was waited for, and for how long."""
        waited_s = time.monotonic() - self.began
        if self.reason == "stopped":
            return GivenUp(error.error_class, error.code, self.outcome, lost=error.lost)
        if self.reason == "late":
            why = f"; it waits for {self.obstacle}" if self.obstacle else ""
            text = f"{self.what} had no answer within {self.limit_s:g} s{why}"
            return GivenUp(ErrorClass.STATEMENT_TIMEOUT, error.code, text, lost=error.lost)
        if self.session.is_own and error.error_class is ErrorClass.LOCK_TIMEOUT:
            obstacle = self.obstacle or "a lock, whose holder the server does not tell"
            text = f"{self.what} waited {waited_s:.0f} s for {obstacle}; end that transaction, or repeat this later"
            return GivenUp(error.error_class, error.code, text, lost=error.lost)
        return error


@contextmanager
def awaited(session: Asking, what: str, limit_s: float | None = ANSWER_LIMIT_S) -> Iterator[None]:
    """Wait in the block for the answer to one question of ``session``, in the way of this module.

    Args:
        session: whose question it is.
        what: names the question: ``statement drop_table``.
        limit_s: how long the answer may take; None if the work needs as long as it takes.

    Raises ``GivenUp`` in place of the ``TransactionError`` of the block, if it was given up. A signal is delivered at
    the end of the block; ``KeyboardInterrupt`` then states what became of the question.
    """
    wait = _Wait(session, what, limit_s)
    with _signals_noted(wait) as came:
        _watch.add(wait)
        if came:  # a signal that came before the watch knew of the question
            wait.give_up("stopped")
            _watch.wake()
        try:
            yield
        except TransactionError as error:
            better = wait.failed(error)
            if better is error:
                raise
            raise better from error
        finally:
            _watch.remove(wait)
            wait.ended()
    if came:
        _deliver(came, "")


@contextmanager
def _signals_noted(wait: _Wait) -> Iterator[list[int]]:
    """Note signals in the block and tell the watch at once; deliver them after an error of the block."""
    came: list[int] = []
    if not wait.in_main or wait.is_quiet:
        yield came
        return
    handled = {one: handler for one in _STOPS if callable(handler := signal.getsignal(one))}
    for one in handled:
        signal.signal(one, lambda number, _: came.append(number))
    descriptor = signal.set_wakeup_fd(_watch.descriptor(), warn_on_full_buffer=False)

    def restore() -> None:
        signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        if came:
            _watch.flush()
        for one, handler in handled.items():
            signal.signal(one, handler)

    try:
        yield came
    except BaseException:
        restore()
        if came:
            _deliver(came, wait.outcome if wait.reason else "")
        raise
    restore()


def _deliver(came: list[int], outcome: str) -> None:
    """Call the handlers of signals that came; what they raise states what became of the question."""
    try:
        for number in came:
            signal.raise_signal(number)
    except BaseException as stop:
        if outcome and not stop.args:
            stop.args = (outcome,)
        raise


class _Watch:
    """The thread that watches the open questions of a process; it is there only while there are some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[_Wait] = []
        self._pipe: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._wakes_at = math.inf
        self._pauses = False

    def descriptor(self) -> int:
        """What wakes the thread; signals are written to it."""
        with self._lock:
            return self._opened()[1]

    def _opened(self) -> tuple[int, int]:
        if self._pipe is None:
            self._pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        return self._pipe

    def add(self, wait: _Wait) -> None:
        """Watch a question."""
        with self._lock:
            self._open.append(wait)
            if self._thread is None:
                self._start()
            elif wait.due < self._wakes_at:
                self.wake()

    def remove(self, wait: _Wait) -> None:
        """Watch it no longer."""
        with self._lock:
            self._open.remove(wait)

    def flush(self) -> None:
        """Let no signal of a question that has ended count for the next."""
        with self._lock, suppress(BlockingIOError):
            os.read(self._opened()[0], 512)
        self.wake()

    def wake(self) -> None:
        """Have the thread look at what is due."""
        with suppress(OSError):
            os.write(self._opened()[1], b"\0")

    def _start(self) -> None:
        self._opened()
        self._thread = threading.Thread(target=self._run, name="hdbkit-awaiting", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._pauses or not self._open:
                    self._thread, self._wakes_at = None, math.inf
                    return
                self._wakes_at = min(one.due for one in self._open)
                reading = self._opened()[0]
            left_s = self._wakes_at - time.monotonic()
            ready = select.poll()
            ready.register(reading, select.POLLIN)
            came = b""
            if ready.poll(None if left_s == math.inf else max(0, math.ceil(1000 * left_s))):
                with suppress(BlockingIOError):
                    came = os.read(reading, 512)
            with self._lock:
                waits = list(self._open)
            for one in waits:
                if one.in_main and any(number in came for number in _STOPS):
                    one.give_up("stopped")
                one.act()

    def pause(self) -> None:
        """End the thread ahead of a fork: no thread of ours may be in a process that forks."""
        thread, self._pauses = self._thread, True
        if thread is not None and thread is not threading.current_thread():
            self.wake()
            thread.join()

    def go_on(self) -> None:
        """Watch again, behind a fork in its parent."""
        self._pauses = False
        with self._lock:
            if self._open and self._thread is None:
                self._start()

    def forget(self) -> None:
        """Watch nothing, in a fork: the questions are those of its parent."""
        if self._pipe is not None:
            for one in self._pipe:
                os.close(one)
            signal.set_wakeup_fd(-1)
        self.__init__()  # type: ignore[misc]


_watch = _Watch()
os.register_at_fork(before=_watch.pause, after_in_parent=_watch.go_on, after_in_child=_watch.forget)


def end_watch() -> None:
    """End the thread that watches questions, if none is open: a process with threads cannot become two."""
    _watch.pause()
    _watch.go_on()


class _Attempt(Generic[_T]):
    """Work in a thread of its own, whose result is discarded once nobody waits for it."""

    def __init__(self, work: Callable[[], _T], discard: Callable[[_T], object]) -> None:
        self._work, self._discard, self._helps = work, discard, _channel.helps
        self._lock, self.done = threading.Lock(), threading.Event()
        self.results: list[_T] = []
        self.errors: list[BaseException] = []
        self._abandoned = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        _channel.helps = self._helps
        try:
            result = self._work()
        except BaseException as error:
            self.errors.append(error)
        else:
            with self._lock:
                self.results.append(result)
                self._drop()
        self.done.set()

    def abandon(self) -> None:
        """Discard the result, whenever it comes."""
        with self._lock:
            self._abandoned = True
            self._drop()

    def _drop(self) -> None:
        if self._abandoned:
            for one in self.results:
                with suppress(Exception):
                    self._discard(one)


def in_time(work: Callable[[], _T], timeout_s: float, discard: Callable[[_T], object]) -> _T:
    """The result of ``work``, which waits in C without a socket that could be closed, such as a driver's connect.

    It is done in a thread of its own, which a signal or the timeout abandons; a result that comes later is discarded.

    Raises:
        TimeoutError: it took longer.
    """
    attempt, stopping, deadline = _Attempt(work, discard), _channel.stopping, time.monotonic() + timeout_s
    step_s = _POLL_S if stopping else timeout_s
    try:
        while not attempt.done.wait(min(step_s, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline or any(one.is_set() for one in stopping):
                raise TimeoutError
    except BaseException:
        attempt.abandon()
        raise
    attempt.thread.join()
    if attempt.errors:
        raise attempt.errors[0]
    return attempt.results[0]
