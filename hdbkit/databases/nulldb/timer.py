"""A timer of Linux that is readable when it is over: what a socket is to other engines."""

from __future__ import annotations

import ctypes
import os
import struct
import time

_SPEC = struct.Struct("@qqqq")
"""``struct itimerspec``: interval and first expiration, each in seconds and nanoseconds."""
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


class Timer:
    """A timer that runs once after each start."""

    def __init__(self) -> None:
        self._fd = _libc.timerfd_create(time.CLOCK_MONOTONIC, _FLAGS)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def fileno(self) -> int:
        """Its descriptor."""
        return int(self._fd)

    def start(self, seconds: float) -> None:
        """Run for so long; 0 is over at once."""
        whole_s, left_ns = divmod(max(1, round(seconds * 1e9)), 10**9)
        _libc.timerfd_settime(self._fd, 0, _SPEC.pack(0, 0, whole_s, left_ns), None)

    def is_over(self) -> bool:
        """Whether it has run out since its start; said once."""
        try:
            return bool(os.read(self._fd, 8))
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Close it."""
        os.close(self._fd)
