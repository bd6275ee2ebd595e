"""What the server's sessions wait for, sampled while the load runs, over a connection of the supervisor.

The server is asked at a random moment of each interval, so that a cycle of the server (a group commit, a timer) does
not always meet the same phase. Which virtual user a session belongs to is noted by its client when it connects.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hdbkit.config import Load, Target
from hdbkit.config.load import Waits
from hdbkit.contracts import SERVER, Session, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, InputError, TransactionError
from hdbkit.execution.beside import Beside
from hdbkit.files import JsonLines
from hdbkit.plan import RunPlan
from hdbkit.readings import BLOCKER, PoolMode
from hdbkit.results.columns import EVENT_LINES, WAIT_LINES
from hdbkit.servers import settings_account
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.statement import Statement

NUMBER = "session_number"
_WAITS, _FULL = ("session_waits", "session_waits_plain"), "session_waits_full"
"""The question and the one for an account that may not ask it; the one that is asked on request in their place."""
INSTRUMENTS_OFF, SET_INSTRUMENTS = "wait_instruments_off", "set_wait_instruments"
_OBSTACLE = "full_waits_obstacle"
_AGE = 6
"""The column with the age of a row that the server noted before it was asked."""
_UNSAMPLED = "what sessions wait for was not sampled"
_TURNED_OFF = "the server stopped recording some of it: it was restarted, or another run with waits=full ended"
_TIMEOUT_MS = 5_000
_AGAIN_S = 1.0
_HELD_NS = 1_000_000_000
"""A lock that is waited for so long is held by a session that is worth a name."""


def sampled(plan: RunPlan) -> bool:
    """Whether the waits of this run are sampled: the engine reports them, and the load asks for it."""
    return bool(plan.load.waits_hz and _questions(plan))


def _questions(plan: RunPlan) -> list[str]:
    return [name for name in _known(plan) if name not in database(plan.target).probed.unanswered]


def _known(plan: RunPlan) -> list[str]:
    known = _statements(plan.target)
    return [name for name in ((_FULL,) if _is_full(plan.load) else _WAITS) if name in known]


def _statements(target: Target) -> Mapping[str, Statement]:
    return statements(database(target).dialects, SERVER_STATEMENTS)


def _is_full(load: Load) -> bool:
    return load.waits is Waits.FULL and load.waits_hz > 0


def has_instruments(target: Target) -> bool:
    """Whether the server records some waits only while it is asked to."""
    return SET_INSTRUMENTS in _statements(target)


def needs_instruments(target: Target, load: Load) -> bool:
    """Whether the server has to be asked for this load."""
    return _is_full(load) and has_instruments(target)


def _arguments(target: Target, question: str, interval_s: float) -> dict[str, float]:
    """What a question takes, if anything."""
    return dict.fromkeys(_statements(target)[question].parameters, interval_s)


def instrument_session(target: Target) -> Session:
    """A session that may ask for it: of the account that changes the server's settings. Raises ``CannotConnect``."""
    options = SessionOptions(statement_timeout_ms=_TIMEOUT_MS, application="hdbkit waits")
    return database(target).connect(settings_account(target), SERVER, options)


def require_waits(target: Target, load: Load) -> None:
    """Check that what a load asks for can be sampled; nothing is changed. Raises ``InputError``."""
    if not _is_full(load):
        return
    engine, known = database(target), _statements(target)
    if _FULL not in known:
        raise InputError(f"{engine.title} reports its waits in one way only; omit waits=full")
    account = settings_account(target) if SET_INSTRUMENTS in known else target
    try:
        with closing(engine.connect(account)) as session:
            if _OBSTACLE in known and (rows := session.ask(_OBSTACLE)):
                raise InputError(f"waits is full, but {rows[0][0]}")
            if SET_INSTRUMENTS in known:
                session.ask(SET_INSTRUMENTS, enabled="YES", names="")  # only a denied one is an error
            session.ask(_FULL, **_arguments(target, _FULL, 1.0))
    except TransactionError as error:
        raise InputError(
            f"waits is full, but the account {account.user} may not sample them ({error.text}); name another in the "
            "target's control.user, or omit waits"
        ) from None


def numbers_sessions(plan: RunPlan) -> bool:
    """Whether clients note the number of each session; a pooler or a login per operation changes it all the time."""
    own = plan.pooling is None or plan.pooling.mode in (PoolMode.DIRECT, PoolMode.SESSION)
    return sampled(plan) and own and not plan.load.connect_per_operation


class WaitSampler(Beside):
    """Asks what sessions wait for until ``stop``; ends early where the server answers with an error."""

    def __init__(self, plan: RunPlan, spools: Path) -> None:
        super().__init__("hdbkit-waits", needed=sampled(plan))
        self._plan, self._spools, self._database = plan, spools, database(plan.target)
        self._questions = _questions(plan)
        self._interval_s = 1 / plan.load.waits_hz if plan.load.waits_hz else 0.0
        self._arguments = {one: _arguments(plan.target, one, self._interval_s) for one in self._questions}
        self._session: Session | None = None
        self._waiting: dict[Any, int] = {}
        self._noted_ns = 0
        without = plan.load.waits_hz and not self._questions and ", ".join(_known(plan))
        self.problem = f"{_UNSAMPLED}: the server cannot answer {without}" if without else ""
        """Why nothing was sampled, or not to the end; empty if all was."""

    def run(self) -> None:
        """Ask once in each interval."""
        lines, draw = JsonLines(self._spools / WAIT_LINES.name), random.Random()  # the moments need no seed
        self._events = JsonLines(self._spools / EVENT_LINES.name)
        interval_s, begin_s = self._interval_s, time.monotonic()
        apart_s, next_s = self._database.waits_apart_s, begin_s
        while not self.ended.wait(max(begin_s + draw.uniform(0, interval_s), next_s) - time.monotonic()):
            begin_s = max(begin_s + interval_s, time.monotonic() - interval_s)
            try:
                lines.try_to_add(self._asked())
                next_s = time.monotonic() + apart_s
            except HdbkitError as error:
                if self._session is not None and not self._lost():
                    del self._questions[0]
                    if self._questions:
                        continue
                    self.problem = f"{_UNSAMPLED} to the end: {error}"
                    break
                self.ended.wait(_AGAIN_S)  # the server is away: the run itself reports that
        if not self.problem and needs_instruments(self._plan.target, self._plan.load):
            self.problem = self._incomplete()
        self._close()
        lines.close()
        self._events.close()

    def _incomplete(self) -> str:
        """Why the server no longer records what it was asked to; empty if it does, or is away."""
        try:
            off = self._session is not None and self._session.ask(INSTRUMENTS_OFF)
        except HdbkitError:
            off = False
        return f"{_UNSAMPLED} in full to the end: {_TURNED_OFF}" if off else ""

    def _asked(self) -> dict[str, Any]:
        session = self._session = self._session or self._connected()
        sent_ns = time.monotonic_ns()
        found = session.ask(self._questions[0], **self._arguments[self._questions[0]])
        rows = [[*row[:_AGE], *map(float, row[_AGE:])] for row in found]
        with suppress(HdbkitError):
            self._note_holders(session, {tuple(row[:5]) for row in rows if row[1] == "lock"}, sent_ns)
        return {"sent_ns": sent_ns, "returned_ns": time.monotonic_ns(), "rows": rows}

    def _note_holders(self, session: Session, waiting: set[tuple[Any, ...]], now_ns: int) -> None:
        """Note who holds what a session waits for, if each sample of a second has the same wait; once a second.

        A wait is a session with the event, the table and the session that blocks it.
        """
        self._waiting = {wait: self._waiting.get(wait, now_ns) for wait in waiting}
        (number, *_), since_ns = min(self._waiting.items(), key=lambda item: item[1], default=((0,), now_ns))
        if now_ns < max(since_ns, self._noted_ns) + _HELD_NS:
            return
        self._noted_ns = now_ns
        if holders := self._database.lock_holders(session, int(number)):
            text = str(replace(holders[0], age_s=None))  # without its age, each holder is one event
            self._events.try_to_add({"t_ns": now_ns, "kind": BLOCKER, "text": text})

    def _connected(self) -> Session:
        if needs_instruments(self._plan.target, self._plan.load):
            return instrument_session(self._plan.target)
        options = SessionOptions(
            statement_timeout_ms=_TIMEOUT_MS, application="hdbkit waits", pooling=self._plan.pooling
        )
        return self._database.connect(self._plan.target, SERVER, options)

    def _lost(self) -> bool:
        """Whether the connection is lost; it is then closed."""
        try:
            assert self._session is not None
            self._session.ask(NUMBER)
        except HdbkitError:
            self._close()
            return True
        return False

    def _close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None
