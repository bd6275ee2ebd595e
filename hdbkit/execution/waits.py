"""What the server's sessions wait for, sampled while the load runs, over a connection of the supervisor.

The server is asked at a random moment of each interval, so that a cycle of the server (a group commit, a timer) does
not always meet the same phase. Which virtual user a session belongs to is noted by its client when it connects.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from hdbkit.contracts import SERVER, Session, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.execution.beside import Beside
from hdbkit.files import JsonLines
from hdbkit.plan import RunPlan
from hdbkit.readings import PoolMode
from hdbkit.sql import SERVER_STATEMENTS, statements

NUMBER = "session_number"
_WAITS = ("session_waits", "session_waits_plain")
"""The question, and the one for an account that may not ask it."""
_UNSAMPLED = "what sessions wait for was not sampled"
PATTERN = "*.sessions"
FILE = "waits.ndjson"
_TIMEOUT_MS = 5_000
_AGAIN_S = 1.0


def sampled(plan: RunPlan) -> bool:
    """Whether the waits of this run are sampled: the engine reports them, and the load asks for it."""
    return bool(plan.load.waits_hz and _questions(plan))


def _questions(plan: RunPlan) -> list[str]:
    return [name for name in _known(plan) if name not in database(plan.target).probed.unanswered]


def _known(plan: RunPlan) -> list[str]:
    known = statements(database(plan.target).dialects, SERVER_STATEMENTS)
    return [name for name in _WAITS if name in known]


def numbers_sessions(plan: RunPlan) -> bool:
    """Whether clients note the number of each session; a pooler or a login per operation changes it all the time."""
    own = plan.pooling is None or plan.pooling.mode in (PoolMode.DIRECT, PoolMode.SESSION)
    return sampled(plan) and own and not plan.load.connect_per_operation


def sessions_path(spools: Path, client: int) -> Path:
    """The file in which a client notes the numbers of its sessions."""
    return spools / PATTERN.replace("*", f"{client:05d}")


class WaitSampler(Beside):
    """Asks what sessions wait for until ``stop``; ends early where the server answers with an error."""

    def __init__(self, plan: RunPlan, spools: Path) -> None:
        super().__init__("hdbkit-waits", needed=sampled(plan))
        self._plan, self._spools, self._database = plan, spools, database(plan.target)
        self._questions = _questions(plan)
        self._session: Session | None = None
        without = plan.load.waits_hz and not self._questions and ", ".join(_known(plan))
        self.problem = f"{_UNSAMPLED}: the server cannot answer {without}" if without else ""
        """Why nothing was sampled, or not to the end; empty if all was."""

    def run(self) -> None:
        """Ask once in each interval."""
        lines, draw = JsonLines(self._spools / FILE), random.Random()  # the moments need no seed
        interval_s, begin_s = 1 / self._plan.load.waits_hz, time.monotonic()
        while not self.ended.wait(max(begin_s + draw.uniform(0, interval_s) - time.monotonic(), 0)):
            begin_s = max(begin_s + interval_s, time.monotonic() - interval_s)
            try:
                lines.try_to_add(self._asked())
            except HdbkitError as error:
                if self._session is not None and not self._lost():
                    del self._questions[0]
                    if self._questions:
                        continue
                    self.problem = f"{_UNSAMPLED} to the end: {error}"
                    break
                self.ended.wait(_AGAIN_S)  # the server is away: the run itself reports that
        self._close()
        lines.close()

    def _asked(self) -> dict[str, Any]:
        session = self._session = self._session or self._connected()
        sent_ns = time.monotonic_ns()
        rows = session.ask(self._questions[0])
        return {"sent_ns": sent_ns, "returned_ns": time.monotonic_ns(), "rows": rows}

    def _connected(self) -> Session:
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
