"""Threads beside the load of a run."""

from __future__ import annotations

import threading


class Beside(threading.Thread):
    """A thread that works until ``stop``, and then ends after its present question.

    Args:
        name: its name.
        needed: whether there is anything to do; if not, ``start`` does nothing.
        patience_s: how long ``stop`` waits for a server that does not answer; None: until it has ended.
    """

    def __init__(self, name: str, *, needed: bool = True, patience_s: float | None = 5.0) -> None:
        super().__init__(name=name, daemon=True)
        self._needed, self._patience_s, self.ended = needed, patience_s, threading.Event()

    def start(self) -> None:
        """Start to work, if there is anything to do."""
        if self._needed:
            super().start()

    def stop(self) -> None:
        """End after the present question."""
        self.ended.set()
        if self.is_alive():
            self.join(self._patience_s)
