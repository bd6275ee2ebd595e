"""What each query reads, as far as the server counts it: outside of the query's time, by two round trips."""

from __future__ import annotations

import struct
from typing import Final

from hdbkit.contracts import Session
from hdbkit.errors import InputError, TransactionError
from hdbkit.results.records import UNKNOWN

_COUNTS: Final = struct.Struct("<qqq")
_PUBLISH: Final = "publish_work"
Counts = tuple[int | None, ...]
"""Rows read, bytes read and temporary files; None if unknown."""


class Work:
    """The work of the operations of a session, one after the other.

    The work of a session that is ``alone`` is read from the counters of the whole server, which know more; that of
    others from their own. What the question itself reads is subtracted. A server that cannot say anything is asked
    no more.
    """

    size = _COUNTS.size

    def __init__(self, session: Session, *, alone: bool) -> None:
        self._session, self._question = session, "work_of_server" if alone else "work_of_session"
        self._before = self._asked()
        self._own = _more(self._asked(), self._before)
        self._is_counted = any(one is not None for one in self._before)

    def begin(self) -> None:
        """From now on work counts to the next operation."""
        if self._is_counted:
            self._before = self._asked()

    def end(self) -> bytes:
        """The counts of the operation that has ended, as in a record; the next one begins."""
        if not self._is_counted:
            return NOT_COUNTED
        now = self._asked()
        done, self._before = _more(_more(now, self._before), self._own), now
        return _COUNTS.pack(*(UNKNOWN if one is None else max(0, one) for one in done))

    def _asked(self) -> Counts:
        """The totals up to now; unknown after an error, as the next operation finds a lost connection by itself."""
        try:
            self._session.ask(_PUBLISH)
            (row,) = self._session.ask(self._question)
        except (InputError, TransactionError):
            return None, None, None
        return tuple(None if one is None else int(one) for one in row)


NOT_COUNTED: Final = _COUNTS.pack(UNKNOWN, UNKNOWN, UNKNOWN)


def _more(now: Counts, before: Counts) -> Counts:
    pairs = zip(now, before, strict=True)
    return tuple(None if one is None or other is None else one - other for one, other in pairs)
