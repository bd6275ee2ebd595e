"""The agent's token: made or given, kept as its hash alone, and compared without telling by the time it takes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque

from hdbkit.errors import InputError

SHORTEST = 20
_MOST_WRONG = 5
_WITHIN_S = 60.0
_MOST_ADDRESSES = 10_000


def new_token() -> str:
    """A token that nobody can guess: 256 bits."""
    return secrets.token_urlsafe(32)


class Token:
    """Knows the right token when it sees it, and cannot say it."""

    def __init__(self, token: str) -> None:
        if len(token) < SHORTEST:
            raise InputError(
                f"the token is shorter than {SHORTEST} characters; leave it out, and the agent makes one"
            )
        self._hash = _hash(token)

    def is_right(self, given: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(_hash(given), self._hash)


class WrongTokens:
    """Who gave wrong tokens lately: after five within a minute, an address is not listened to until that is over."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """How long this address has to wait; 0 when it is listened to."""
        times, now = self._times.get(address), time.monotonic()
        if times is None or len(times) < _MOST_WRONG:
            return 0.0
        return max(times[0] + _WITHIN_S - now, 0.0)

    def note(self, address: str) -> None:
        """It has given a wrong one."""
        times = self._times.setdefault(address, deque(maxlen=_MOST_WRONG))
        times.append(time.monotonic())
        self._times.move_to_end(address)
        while len(self._times) > _MOST_ADDRESSES:
            self._times.popitem(last=False)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
