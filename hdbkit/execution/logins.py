"""A new connection for each operation, as of applications without a pool of connections.

The scheduled start of an operation is when its login begins, or when it was due by the load's schedule. So its
response time contains the login, and its service time does not. The end of the connection is part of neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from hdbkit.contracts import Prepared, User
from hdbkit.execution.pacing import Pacing, sleep_until

_NOT_DRAWN = Prepared(0, lambda _: None, None, b"")
"""In place of an operation: it is drawn after the login, and only keying times depend on it, which these users
do not have."""


class Connecting(Protocol):
    """A virtual user, as its logins see it."""

    user: User

    def attempt(self) -> int | None:
        """Try to connect; None if connected, else when to retry, on the monotonic clock."""
        ...

    def reconnect(self) -> int | None:
        """Try again."""
        ...

    def close(self) -> None:
        """Close its connection."""
        ...


class Logins:
    """A virtual user that connects for each operation: to the measured loop, its workload's part and its pacing.

    Args:
        virtual_user: connects, and has the workload's part of each connection.
        inner: the schedule of its operations; None: a closed loop.
        fields: the control page.
        stopped: whether the run's stop time has passed.
    """

    def __init__(
        self, virtual_user: Connecting, inner: Pacing | None, fields: memoryview, stopped: Callable[[], bool]
    ) -> None:
        self._one, self._inner, self._fields, self._stopped = virtual_user, inner, fields, stopped
        self._scheduled_ns = 0

    def next_batch(self) -> Sequence[Prepared]:
        """Wait until an operation is due, log in and draw it; none if the run ends before."""
        self._one.close()
        due_ns = self._inner.wait(_NOT_DRAWN) if self._inner else 0
        self._scheduled_ns = due_ns or time.monotonic_ns()
        retry_ns = None if self._stopped() else self._one.attempt()
        while retry_ns is not None and not self._stopped():
            sleep_until(retry_ns, self._fields)
            retry_ns = self._one.reconnect()
        return () if self._stopped() else self._one.user.next_batch()[:1]

    def head(self, prepared: Prepared, raw: Any) -> bytes:
        """The head of a record, completed from the result."""
        return self._one.user.head(prepared, raw)

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation was due, or its login began."""
        return self._scheduled_ns

    wait = begin = due_ns

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """Close the connection, and pass the end of the operation on."""
        self._one.close()
        if self._inner:
            self._inner.done(prepared, end_ns)
