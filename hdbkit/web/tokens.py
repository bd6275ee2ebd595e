"""Tokens: generated or given, stored only as a hash, and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict, deque

from hdbkit.errors import InputError

MIN_LENGTH = 20
_MAX_WRONG = 5
_WITHIN_S = 60.0
_MAX_ADDRESSES = 10_000


def new_token() -> str:
    """Generate a random token of 256 bits."""
    return secrets.token_urlsafe(32)


class Token:
    """Verifies a token without storing it."""

    def __init__(self, token: str) -> None:
        if len(token) < MIN_LENGTH:
            raise InputError(f"the token is shorter than {MIN_LENGTH} characters; omit it to have one generated")
        self._hash = hash_of(token)

    def is_right(self, given: str) -> bool:
        """Whether ``given`` is the token."""
        return hmac.compare_digest(hash_of(given), self._hash)


class WrongTokens:
    """Recent wrong tokens by address: after five within a minute, further ones wait until the minute is over."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """How many seconds further wrong tokens of this address are not considered; 0 if they are."""
        times, now = self._times.get(address), time.monotonic()
        if times is None or len(times) < _MAX_WRONG:
            return 0.0
        return max(times[0] + _WITHIN_S - now, 0.0)

    def note(self, address: str) -> None:
        """Record a wrong token from this address."""
        times = self._times.setdefault(address, deque(maxlen=_MAX_WRONG))
        times.append(time.monotonic())
        self._times.move_to_end(address)
        while len(self._times) > _MAX_ADDRESSES:
            self._times.popitem(last=False)


def hash_of(token: str) -> bytes:
    """The SHA-256 of a token, which is random: no slow hash is needed."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
