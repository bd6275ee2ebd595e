"""How many requests a token may send: a bucket of each token, for reading and for starting jobs."""

from __future__ import annotations

import time
from collections import OrderedDict

_MAX_HOLDERS = 10_000


class Bucket:
    """Permits ``per_s`` requests per second of each holder, and ``burst`` at once."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s, self._burst = per_s, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, holder: str) -> float:
        """Take one request; 0 if it is permitted, else the seconds until one is."""
        now = time.monotonic()
        left, at = self._left.get(holder, (float(self._burst), now))
        left = min(left + (now - at) * self._per_s, self._burst)
        permitted = left >= 1
        self._left[holder] = (left - 1 if permitted else left, now)
        self._left.move_to_end(holder)
        while len(self._left) > _MAX_HOLDERS:
            self._left.popitem(last=False)
        return 0.0 if permitted else (1 - left) / self._per_s
