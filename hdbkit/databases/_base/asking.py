"""What sessions have in common that ask questions of hdbkit's own; see :mod:`hdbkit.awaiting`.

An engine states how a statement is cancelled in its server (``cancel``), and by which number the server knows the
session. Who holds what a session waits for is asked over another session, by ``Database.lock_holders``.
"""

from __future__ import annotations

import os
import socket
from contextlib import closing
from typing import Any, cast

from hdbkit.config import Target
from hdbkit.contracts import SERVER, Database, Session, SessionOptions

_CONNECT_S = 3


class AskingSession:
    """A session whose questions a signal or a limit ends. Contract: :class:`hdbkit.awaiting.Asking`."""

    is_own = True
    """Whether it is hdbkit's own, so that its transactions are waited for, too."""
    number = 0
    """The number of the session in its server; 0: not known, as behind a pooler."""
    _engine: Database | None = None
    _address: Target

    def reached_by(self, engine: Database, address: Target, options: SessionOptions) -> None:
        """Keep how another session with the same server is opened."""
        self._engine, self._address, self.is_own = engine, address, options.is_own

    def another(self) -> Session:
        """Another session with the same server, which answers at once or not at all."""
        assert self._engine is not None, "nobody stated how the session was opened"
        return self._engine.connect(self._address, SERVER, SessionOptions(connect_timeout_s=_CONNECT_S))

    def obstacle(self) -> str:
        """What the session waits for and who holds it, as the server tells it."""
        if self._engine is None:
            return ""
        with closing(self.another()) as session:
            return "; ".join(dict.fromkeys(map(str, self._engine.lock_holders(session, self.number))))

    def cancel(self) -> None:
        """Cancel what the session executes; by default the connection is closed instead."""
        self.disconnect()

    def disconnect(self) -> None:
        """Shut down the session's socket, if the driver reveals it."""
        shut_down(cast(Any, self).fileno())


def shut_down(descriptor: int) -> None:
    """End the connection of a socket, so that a driver's call fails instead of waiting."""
    with socket.socket(fileno=os.dup(descriptor)) as plain:
        plain.shutdown(socket.SHUT_RDWR)
